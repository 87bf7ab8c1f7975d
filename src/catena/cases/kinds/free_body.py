"""FreeBody: a body, and an orientation with an angular velocity or momentum. What a body is stands here for all kinds."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field

from ...errors import InputError
from ...systems.body import Body
from ...systems.free_body import FreeBody
from ..tables import StartTable, SystemTable, Table, register

Vector = Annotated[list[float], Field(min_length=3, max_length=3)]
Quaternion = Annotated[list[float], Field(min_length=4, max_length=4)]
MASS = Field(1.0, gt=0, description="mass")


class Moments(Table):
    """A body given by its principal moments of inertia."""

    shape: Literal["moments"] = "moments"
    moments: Vector = Field(description="principal moments, about the fixed point or the centre of mass")
    mass: float = MASS


class Box(Table):
    """A solid box."""

    shape: Literal["box"]
    size: Vector = Field(description="edges along the axes")
    mass: float = MASS


class Ellipsoid(Table):
    """A solid ellipsoid."""

    shape: Literal["ellipsoid"]
    semi_axes: Vector = Field(description="semi-axes along the axes")
    mass: float = MASS


class Disc(Table):
    """A solid cylinder about axis 3."""

    shape: Literal["disc"]
    radius: float = Field(ge=0)
    thickness: float = Field(0.0, ge=0)
    mass: float = MASS


class Rod(Table):
    """A thin rod along axis 3."""

    shape: Literal["rod"]
    length: float = Field(ge=0)
    mass: float = MASS


class Inertia(Table):
    """A body given by its inertia tensor."""

    shape: Literal["inertia"]
    tensor: Annotated[list[Vector], Field(min_length=3, max_length=3, description="three rows")]
    mass: float = Field(gt=0, description="mass")


class Particles(Table):
    """Point masses."""

    shape: Literal["particles"]
    positions: Annotated[list[Vector], Field(min_length=1, description="one place for each")]
    masses: float | list[float] = Field(1.0, description="one number for all, or one for each")
    types: list[str | int] | None = Field(None, description="by which pair potentials tell particles apart")


class Tetrahedron(Table):
    """A solid tetrahedron; without vertices, four particles."""

    shape: Literal["tetrahedron"]
    vertices: Annotated[list[Vector], Field(min_length=4, max_length=4)] | None = None
    mass: float | None = Field(None, gt=0, description="mass of the solid one")


class Mesh(Table):
    """The inside of a closed surface of triangles."""

    shape: Literal["mesh"]
    vertices: list[Vector]
    faces: list[Annotated[list[int], Field(min_length=3, max_length=3)]]
    density: float = Field(1.0, gt=0)


BODIES = (Moments, Box, Ellipsoid, Disc, Rod, Inertia, Particles, Tetrahedron, Mesh)


def _shaped(value: Any) -> Any:
    """A body without a shape is given by its moments."""
    return {"shape": "moments"} | value if isinstance(value, dict) else value


AnyBody: Any = Annotated[
    reduce(or_, BODIES), Field(discriminator="shape"), BeforeValidator(_shaped, json_schema_input_type=reduce(or_, BODIES))
]  # fmt: skip


class AttitudeStart(StartTable):
    """[start] of a body that turns about a point."""

    orientation: Quaternion = Field([1.0, 0.0, 0.0, 0.0], description="unit quaternion, body to space, scalar first")
    angular_velocity: Vector | None = Field(None, description="in the body's axes; or give angular_momentum")
    angular_momentum: Vector | None = Field(None, description="in the body's axes")
    time: float = Field(0.0, description="time of the start")


class AttitudeTable(SystemTable):
    """A system whose state is the orientation and the angular momentum of one body."""

    start: ClassVar[type[StartTable]] = AttitudeStart

    body: AnyBody = Field(description="what turns")

    def watched_names(self) -> list[str]:
        return [*(f"orientation[{k}]" for k in range(4)), *(f"angular_momentum[{k}]" for k in range(3))]

    def make_body(self) -> Body:
        """The body; what is wrong with it is said of its key in the case."""
        try:
            return Body.from_description(self.body.given())
        except InputError as error:
            raise InputError(error.wrong, where=f"body.{error.where.rsplit('.', 1)[-1]}", do=error.do) from None


@register
class FreeBodyTable(AttitudeTable):
    """A free rigid body."""

    kind: Literal["FreeBody"]

    def make(self) -> FreeBody:
        return FreeBody(self.make_body())
