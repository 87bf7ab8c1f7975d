"""ScalingBody: a body that may change its size, and what constrains it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Literal

from pydantic import Field

from ...systems.linkage.joint_forces import force_from
from ...systems.scaling.scaling_body import Constraint, ScalingBody
from ..bodies import ONE_ORIENTATION, AnyBody, Orientation, Vector, make_body
from ..joints import AnyLoad, force_texts, make_objects
from ..tables import StartTable, SystemTable, Text, register


class ScalingStart(StartTable):
    """[start] of a body that may change its size."""

    orientation: Orientation = Field(
        [1.0, 0.0, 0.0, 0.0], description=f"{ONE_ORIENTATION}; its squared length is the scale"
    )
    position: Vector = Field([0.0, 0.0, 0.0], description="centre of mass")
    velocity: Vector | None = Field(None, description="in space; or give momentum")
    momentum: Vector | None = None
    angular_velocity: Vector | None = Field(None, description="in the body's axes; or give angular_momentum")
    angular_momentum: Vector | None = None
    scale: float | None = Field(
        None, gt=0, description="size, 1 for the body as given; from the quaternion if left out"
    )
    scale_rate: float = Field(0.0, description="rate of the scale")
    time: float = Field(0.0, description="time of the start")


@register
class ScalingBodyTable(SystemTable):
    """A rigid body that may also change its size."""

    start: ClassVar[type[StartTable]] = ScalingStart

    kind: Literal["ScalingBody"]
    body: AnyBody = Field(description="the body at scale 1")
    constraint: Constraint = Field("none", description="none, equality (scale 1) or unilateral (scale at most 1)")
    restitution: float = Field(1.0, ge=0, le=1, description="part of the rate that an impact gives back")
    forces: list[AnyLoad] = Field([], alias="force", description="one table [[system.force]] for each")
    scaling_force: float = Field(0.0, description="constant force on the scale")

    def texts(self) -> Iterator[Text]:
        yield from force_texts(self.forces, ("force",))

    def watched_names(self) -> list[str]:
        widths = {"position": 3, "orientation": 4, "momentum": 3, "angular_momentum": 3}
        vectors = [f"{name}[{k}]" for name, width in widths.items() for k in range(width)]
        return [*vectors, "scale", "scale_rate"]

    def make(self) -> ScalingBody:
        forces = make_objects("force", force_from, self.forces)
        return ScalingBody(make_body(self.body, "body"), self.constraint, self.restitution, forces, self.scaling_force)
