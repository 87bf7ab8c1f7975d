"""Bodies in a case: moments, a solid shape, particles or a mesh; and the bodies of a system."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias, get_args

from pydantic import BeforeValidator, Discriminator, Field, Tag, create_model

from ..systems.base import component_names
from ..systems.body import Body
from ..systems.many_bodies import fields_of, require_memory
from .tables import StartTable, Table, name_the_key

Vector = Annotated[list[float], Field(min_length=3, max_length=3)]
Quaternion = Annotated[list[float], Field(min_length=4, max_length=4)]
Matrix = Annotated[list[Vector], Field(min_length=3, max_length=3)]


def _form_of_orientation(value: object) -> str:
    """Which of the two forms of an orientation was meant."""
    return "<matrix>" if isinstance(value, list) and value and isinstance(value[0], list) else "<quaternion>"


Orientation: TypeAlias = Annotated[
    Annotated[Quaternion, Tag("<quaternion>")] | Annotated[Matrix, Tag("<matrix>")], Discriminator(_form_of_orientation)
]
ONE_ORIENTATION = "body to space: unit quaternion, scalar first, or the three rows of a rotation matrix"
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


EQUAL, LISTED = "<equal>", "<listed>"  # tags of the two ways to give bodies; no key has such a name
Shaped: TypeAlias = Moments | Box | Ellipsoid | Disc | Rod | Inertia | Particles | Tetrahedron | Mesh
BODIES = get_args(Shaped)


def _give_shape(value: object) -> object:
    """A body without a shape is given by its moments."""
    return {"shape": "moments"} | value if isinstance(value, dict) else value


AnyBody: TypeAlias = Annotated[
    Shaped, Field(discriminator="shape"), BeforeValidator(_give_shape, json_schema_input_type=Shaped)
]  # fmt: skip


def make_body(table: Table, where: str) -> Body:
    """The body; errors are reported at its key in the case."""
    with name_the_key(where):
        return Body.from_description(table.given())


def _count(body: type[Table]) -> type[Table]:
    count = (int, Field(gt=1, description="how many equal bodies"))
    return create_model(f"Equal{body.__name__}", __base__=body, __doc__=body.__doc__, count=count)


if TYPE_CHECKING:

    class EqualBodies(Table):
        """A body, and the number of copies."""

        count: int

else:
    COUNTED = reduce(or_, (_count(body) for body in BODIES))
    EqualBodies = Annotated[
        COUNTED, Field(discriminator="shape"), BeforeValidator(_give_shape, json_schema_input_type=COUNTED)
    ]
AnyBodies: TypeAlias = Annotated[
    Annotated[EqualBodies, Tag(EQUAL)] | Annotated[list[AnyBody], Tag(LISTED)],
    Discriminator(lambda value: LISTED if isinstance(value, list) else EQUAL),
]


def make_bodies(given: EqualBodies | list[Shaped]) -> list[Body]:
    """The bodies of a system: one table for each, or one for all with their number."""
    if isinstance(given, list):
        return [make_body(table, f"bodies.{j}") for j, table in enumerate(given)]
    arguments, count = given.given(), given.count
    del arguments["count"]
    require_memory(count, "bodies.count")
    return [Body.from_description(arguments)] * count


def names_of_bodies(count: int) -> list[str]:
    """Names of all components of the states of `count` bodies, as sections use them."""
    return list(component_names(fields_of(count)))[1:]  # without the time, which is first


class BodiesStart(StartTable):
    """[start] of several bodies: one row for each."""

    position: list[Vector] | None = Field(None, description="centres of mass, one for each body")
    orientation: list[Orientation] | None = Field(
        None, description="body to space: unit quaternions, scalar first, or rotation matrices; none turned if left out"
    )
    velocity: list[Vector] | None = Field(None, description="in space; or give momentum")
    momentum: list[Vector] | None = None
    angular_velocity: list[Vector] | None = Field(
        None, description="in the axes of the bodies; or give angular_momentum"
    )
    angular_momentum: list[Vector] | None = None
    time: float = Field(0.0, description="time of the start")
    check: bool = Field(True, description="false takes particles at any distance")
