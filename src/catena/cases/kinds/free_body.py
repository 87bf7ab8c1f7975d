"""FreeBody: a body, and an orientation with an angular velocity or momentum."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import Field

from ...systems.body import Body
from ...systems.free_body import FreeBody
from ..bodies import ONE_ORIENTATION, AnyBody, Orientation, Vector, make_body
from ..tables import StartTable, SystemTable, register


class AttitudeStart(StartTable):
    """[start] of a body that turns about a point."""

    orientation: Orientation = Field([1.0, 0.0, 0.0, 0.0], description=ONE_ORIENTATION)
    angular_velocity: Vector | None = Field(None, description="in the body's axes; or give angular_momentum")
    angular_momentum: Vector | None = Field(None, description="in the body's axes")
    time: float = Field(0.0, description="time of the start")

    def given(self) -> dict[str, Any]:
        at_rest = self.temperature is not None and self.angular_velocity is self.angular_momentum is None
        return super().given() | ({"angular_momentum": [0.0, 0.0, 0.0]} if at_rest else {})


class AttitudeTable(SystemTable):
    """A system whose state is the orientation and the angular momentum of one body."""

    start: ClassVar[type[StartTable]] = AttitudeStart

    body: AnyBody = Field(description="what turns")

    def watched_names(self) -> list[str]:
        return [*(f"orientation[{k}]" for k in range(4)), *(f"angular_momentum[{k}]" for k in range(3))]

    def make_body(self) -> Body:
        """The body."""
        return make_body(self.body, "body")


@register
class FreeBodyTable(AttitudeTable):
    """A free rigid body."""

    kind: Literal["FreeBody"]

    def make(self) -> FreeBody:
        return FreeBody(self.make_body())
