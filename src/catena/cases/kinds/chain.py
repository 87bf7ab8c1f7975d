"""Chain: bodies made of particles, the potential of their links, what holds or pulls the ends."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal, TypeAlias, get_args

from pydantic import Field

from ...systems.base import State, System
from ...systems.chain.chain import Chain, Form
from ..bodies import AnyBodies, BodiesStart, Vector, make_bodies, names_of_bodies
from ..positions import Path
from ..potentials import AnyPotential, Potentials, make_pairs, make_potential, texts_of
from ..tables import InTime, InTimeVector, StartTable, SystemTable, Table, Text, register, texts_in_time


class FreeTable(Table):
    """Nothing acts on the end body but its neighbour and gravity."""

    kind: Literal["Free"]


class ClampedTable(Table):
    """The end body is held in place and orientation."""

    kind: Literal["Clamped"]


class ForceTable(Table):
    """A force on a point of the body."""

    kind: Literal["Force"]
    force: InTimeVector = Field(description="in space; numbers, texts in t, or tables")
    at: Vector = Field([0.0, 0.0, 0.0], description="where it acts, in the body's axes")


class TweezersTable(Table):
    """A spring from a point of the body to a point that may move."""

    kind: Literal["Tweezers"]
    k: float = Field(ge=0, description="stiffness")
    anchor: InTimeVector = Field(description="in space; numbers, texts in t, or tables")
    at: Vector = Field([0.0, 0.0, 0.0], description="the point, in the body's axes")


class TorqueTable(Table):
    """A torque on the body."""

    kind: Literal["Torque"]
    torque: InTimeVector = Field(description="in space; numbers, texts in t, or tables")


class MovedTable(Table):
    """The end body follows a prescribed motion."""

    kind: Literal["Moved"]
    position: InTimeVector | None = Field(None, description="of its centre of mass; it stays if left out")
    orientation: list[InTime] | None = Field(
        None, min_length=4, max_length=4, description="a quaternion, scalar first; not turned if left out"
    )


class LoadedForce(ForceTable):
    """A force on a body of the chain."""

    body: int = Field(description="number of the body; -1 is the last")


class LoadedTweezers(TweezersTable):
    """Tweezers on a body of the chain."""

    body: int = Field(description="number of the body; -1 is the last")


class LoadedTorque(TorqueTable):
    """A torque on a body of the chain."""

    body: int = Field(description="number of the body; -1 is the last")


AnyChainLoad: TypeAlias = Annotated[LoadedForce | LoadedTweezers | LoadedTorque, Field(discriminator="kind")]


class DisplacedTable(Table):
    """The position of the end body is fixed, but it turns freely."""

    kind: Literal["Displaced"]
    position: Vector | None = Field(None, description="where it is held; where it starts if left out")


OneEnd: TypeAlias = FreeTable | ClampedTable | ForceTable | DisplacedTable | MovedTable | TweezersTable | TorqueTable
ENDS = get_args(OneEnd)
AnyEnd: TypeAlias = Annotated[OneEnd, Field(discriminator="kind")]


class RingTable(Table):
    """Bodies on a circle, twisted evenly."""

    spacing: float = Field(gt=0, description="distance of neighbours")
    linking_number: int = Field(0, description="turns of the bodies about the circle on the way round")
    axis: Vector = Field([1.0, 0.0, 0.0], description="the direction in the bodies that lies along the circle")


class ChainStart(BodiesStart):
    """[start] of a chain: a row or a ring with equal spacing, or every body apart."""

    straight: float | None = Field(None, gt=0, description="spacing of a row along x; or give ring or position")
    ring: RingTable | None = Field(None, description="a circle of the bodies of a closed chain; or give position")

    def make(self, system: System) -> State:
        assert isinstance(system, Chain)
        arguments = self.given()
        spacing, ring = arguments.pop("straight", None), arguments.pop("ring", None)
        if spacing is not None:
            arguments = {"position": system.straight(spacing, check=False).position} | arguments
        if ring is not None:
            calm = system.ring(**ring, check=False)
            arguments = {"position": calm.position, "orientation": calm.orientation} | arguments
        return system.start(arguments.pop("position", []), **arguments)


def in_time_texts(table: Table, path: Path) -> Iterator[Text]:
    """The texts in t of an end or a load."""
    for name, value in table:
        if isinstance(value, list):
            yield from texts_in_time(value, (*path, name))


@register
class ChainTable(SystemTable):
    """A chain of rigid bodies whose neighbours interact."""

    start: ClassVar[type[StartTable]] = ChainStart

    kind: Literal["Chain"]
    bodies: AnyBodies = Field(description="a body with its count, or a list of bodies")
    potential: Potentials = Field(description="one for all links, or a list with one for each")
    left: AnyEnd = Field(ClampedTable(kind="Clamped"), description="what holds or pulls the first body")
    right: AnyEnd = Field(FreeTable(kind="Free"), description="what holds or pulls the last body")
    gravity: InTimeVector = Field([0.0, 0.0, 0.0], description="acceleration in space; numbers, texts in t, or tables")
    form: Form = Field("quaternion", description="the equations that are stepped")
    J0: float = Field(1.0, gt=0, description="fourth inertia, of the multiplier form")
    closed: bool = Field(False, description="true links the last body to the first; then there are no ends")
    loads: list[AnyChainLoad] = Field([], description="what acts on bodies besides: Force, Tweezers, Torque")
    pairs: AnyPotential | None = Field(None, description="potential between the particles of bodies that no link joins")
    exclude: int = Field(1, ge=0, description="bodies that so many links connect, or fewer, have no such pairs")

    def texts(self) -> Iterator[Text]:
        yield from texts_of(self.potential, ("potential",))
        if self.pairs is not None:
            yield from texts_of(self.pairs, ("pairs",))
        for name in ("left", "right"):
            yield from in_time_texts(getattr(self, name), (name,))
        for number, load in enumerate(self.loads):
            yield from in_time_texts(load, ("loads", number))
        yield from texts_in_time(self.gravity, ("gravity",))

    def watched_names(self) -> list[str]:
        return names_of_bodies(len(self.bodies) if isinstance(self.bodies, list) else self.bodies.count)

    def make(self) -> Chain:
        apart = {"kind", "bodies", "potential", "pairs"}
        given = {name: value for name, value in self.given().items() if name not in apart}
        pairs = None if self.pairs is None else make_pairs(self.pairs, "pairs")
        return Chain(make_bodies(self.bodies), make_potential(self.potential, "potential"), pairs=pairs, **given)

    @classmethod
    def implied(cls, system: System) -> dict[str, object]:
        """The chain itself, and its number of bodies."""
        assert isinstance(system, Chain)
        return {"n": system.count, "system": system}
