"""The joints of a case, and the forces on linked bodies."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias, TypeVar

from pydantic import Field

from ..systems.linkage.joint_forces import FORCES as registered_forces
from ..systems.linkage.joints import JOINTS as registered_joints
from ..systems.sampled import TIME
from .bodies import Quaternion, Vector
from .positions import Path
from .potentials import AnyPotential, texts_of
from .tables import Filled, InTime, InTimeVector, Table, Text, name_the_key, tables_of, texts_in_time

Points = Annotated[list[Vector], Field(min_length=2, max_length=2)]
ORIGINS = [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]


class JointTable(Table):
    """Two bodies that are linked."""

    parent: int = Field(ge=-1, description="number of a body, -1 for the ground")
    child: int = Field(ge=0, description="number of a body")
    at: Points = Field(ORIGINS, description="the points that are held together: in the parent's and the child's axes")
    name: Filled | None = Field(None, description="by which starts, outputs and pictures call it")


class DistanceTable(JointTable):
    """A massless rod between two points."""

    kind: Literal["Distance"]
    length: float = Field(1.0, gt=0, description="of the rod")


class TurnedTable(JointTable):
    """A joint that also holds directions."""

    image: Quaternion | None = Field(None, description="orientation of the child, seen from the parent, at angle 0")


class AxisTable(TurnedTable):
    """A joint with an axis."""

    axis: Vector = Field([0.0, 0.0, 1.0], description="direction in the parent's axes")


class SphericalTable(JointTable):
    """Ball and socket."""

    kind: Literal["Spherical"]


class RigidTable(TurnedTable):
    """The child is fixed to the parent."""

    kind: Literal["Rigid"]


class RevoluteTable(AxisTable):
    """A hinge."""

    kind: Literal["Revolute"]


class UniversalTable(AxisTable):
    """A cardan joint."""

    kind: Literal["Universal"]


class PrismaticTable(AxisTable):
    """A slider."""

    kind: Literal["Prismatic"]


class CylindricalTable(AxisTable):
    """Slides along the axis and turns about it."""

    kind: Literal["Cylindrical"]


class PlanarTable(AxisTable):
    """Moves in a plane and turns about its normal."""

    kind: Literal["Planar"]


class ScrewTable(AxisTable):
    """Advances along the axis while it turns."""

    kind: Literal["Screw"]
    pitch: float = Field(0.0, description="advance per radian")


JOINTS = tables_of(
    registered_joints,
    (SphericalTable, DistanceTable, RevoluteTable, PrismaticTable, CylindricalTable, UniversalTable, PlanarTable, ScrewTable, RigidTable),
)  # fmt: skip
if TYPE_CHECKING:  # joints of other packages are known only at run time
    AnyJoint = Table
else:
    AnyJoint = Annotated[reduce(or_, JOINTS), Field(discriminator="kind")]


class BetweenTable(Table):
    """A force between points of two bodies."""

    i: int = Field(ge=-1, description="number of a body, -1 for the ground")
    j: int = Field(ge=-1)
    at: Points = Field(ORIGINS, description="the points, in the axes of body i and of body j")


class SpringTable(BetweenTable):
    """A spring."""

    kind: Literal["Spring"]
    k: float = Field(1.0, ge=0, description="stiffness")
    length: float = Field(0.0, ge=0, description="natural length")


class DamperTable(BetweenTable):
    """A damper."""

    kind: Literal["Damper"]
    c: float = Field(1.0, ge=0, description="force per rate of the distance")


class SitePairTable(BetweenTable):
    """A pair potential between two points."""

    kind: Literal["SitePair"]
    potential: AnyPotential


class TorsionTable(Table):
    """A potential of the angle of a joint."""

    kind: Literal["Torsion"]
    joint: int = Field(ge=0, description="number of a joint with an angle, or of a slider")
    potential: Filled = Field("0", description="V as text in theta, t and the parameters")
    parameters: dict[str, float] = Field({}, description="name -> value")
    damping: float = Field(0.0, ge=0, description="torque per angular velocity")


class LoadTable(Table):
    """A force at a point of a body, and a torque on it."""

    kind: Literal["Load"]
    body: int = Field(0, ge=0, description="number of the body")
    at: Vector = Field([0.0, 0.0, 0.0], description="where the force acts, in the body's axes")
    force: InTimeVector = Field([0.0, 0.0, 0.0], description="in space; numbers, texts in t, or tables")
    torque: InTimeVector = Field([0.0, 0.0, 0.0], description="in space; numbers, texts in t, or tables")


class MotorTable(Table):
    """A motor of a joint: a torque, or a target with kp and kd."""

    kind: Literal["Motor"]
    joint: int = Field(ge=0, description="number of a joint with an angle, or of a slider")
    torque: InTime | None = Field(None, description="a number, a text in t, or a table")
    target: InTime | None = Field(None, description="angle to follow: a number, a text in t, or a table")
    kp: float = Field(0.0, ge=0, description="torque per angle")
    kd: float = Field(0.0, ge=0, description="torque per angular velocity")
    effort: float | None = Field(None, ge=0, description="largest torque")


class LimitTable(Table):
    """Elastic stops of a joint."""

    kind: Literal["Limit"]
    joint: int = Field(ge=0, description="number of a joint with an angle, or of a slider")
    low: float = Field(-math.pi, description="angle of the first stop")
    high: float = Field(math.pi, description="angle of the second stop")
    stiffness: float = Field(1.0, ge=0, description="torque per angle beyond a stop")
    damping: float = Field(0.0, ge=0, description="torque per angle beyond a stop and angular velocity")


class DrivenTable(Table):
    """A joint with prescribed motion."""

    kind: Literal["Driven"]
    joint: int = Field(ge=0, description="number of a joint with an angle, or of a slider")
    path: InTime = Field(0.0, description="angle or displacement: a number, a text in t, or a table")


class ExternalTable(Table):
    """A potential of the position of particles."""

    kind: Literal["External"]
    potential: Filled = Field("0", description="U as text in x, y, z, t and the parameters")
    types: list[str | int] | None = Field(None, description="of the particles that feel it; all if left out")
    parameters: dict[str, float] = Field({}, description="name -> value")


class AngleTable(Table):
    """A potential of the angle at the second of three particles."""

    kind: Literal["Angle"]
    atoms: list[int] = Field(min_length=3, max_length=3, description="numbers of particles, through all bodies")
    potential: Filled = Field("0", description="V as text in theta, t and the parameters")
    parameters: dict[str, float] = Field({}, description="name -> value")


class DihedralTable(Table):
    """A potential of the dihedral angle of four particles."""

    kind: Literal["Dihedral"]
    atoms: list[int] = Field(min_length=4, max_length=4, description="numbers of particles, through all bodies")
    potential: Filled = Field("0", description="V as text in phi, t and the parameters, with the period 2 pi")
    parameters: dict[str, float] = Field({}, description="name -> value")


FORCES = tables_of(
    registered_forces,
    (
        SpringTable,
        DamperTable,
        SitePairTable,
        TorsionTable,
        LoadTable,
        MotorTable,
        LimitTable,
        DrivenTable,
        ExternalTable,
        AngleTable,
        DihedralTable,
    ),
)
if TYPE_CHECKING:
    AnyForce = Table
else:
    AnyForce = Annotated[reduce(or_, FORCES), Field(discriminator="kind")]
AnyLoad: TypeAlias = Annotated[LoadTable, Field()]
Made = TypeVar("Made")


def force_texts(forces: Sequence[Table], path: Path) -> Iterator[Text]:
    """The expressions inside forces."""
    for number, force in enumerate(forces):
        if isinstance(force, TorsionTable):
            yield Text((*path, number, "potential"), force.potential, ["theta", TIME, *force.parameters])
        elif isinstance(force, ExternalTable | AngleTable | DihedralTable):
            place = {ExternalTable: ["x", "y", "z"], AngleTable: ["theta"], DihedralTable: ["phi"]}[type(force)]
            yield Text((*path, number, "potential"), force.potential, [*place, TIME, *force.parameters])
        elif isinstance(force, SitePairTable):
            yield from texts_of(force.potential, (*path, number, "potential"))
        elif isinstance(force, DrivenTable):
            yield from texts_in_time(force.path, (*path, number, "path"))
        elif isinstance(force, MotorTable):
            yield from texts_in_time(force.torque, (*path, number, "torque"))
            yield from texts_in_time(force.target, (*path, number, "target"))
        elif isinstance(force, LoadTable):
            yield from texts_in_time(force.force, (*path, number, "force"))
            yield from texts_in_time(force.torque, (*path, number, "torque"))


def make_objects(key: str, make: Callable[[dict[str, object]], Made], tables: Sequence[Table]) -> list[Made]:
    """The objects of a list of tables under a key."""
    found = []
    for number, table in enumerate(tables):
        with name_the_key(f"{key}.{number}"):
            found.append(make(table.given()))
    return found
