"""Chain: bodies made of particles, the potential of their links, what holds or pulls the ends."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal, TypeAlias, get_args

from pydantic import Field

from ...systems.base import State, System
from ...systems.chain.chain import Chain, Form
from ...systems.chain.ends import end_from
from ..bodies import ORIENTATIONS, AnyBodies, Orientation, Vector, make_bodies
from ..potentials import Potentials, make_potential, texts_of
from ..tables import StartTable, SystemTable, Table, Text, register


class FreeTable(Table):
    """Nothing acts on the end body but its neighbour and gravity."""

    kind: Literal["Free"]


class ClampedTable(Table):
    """The end body is held in place and orientation."""

    kind: Literal["Clamped"]


class ForceTable(Table):
    """A constant force pulls the end body."""

    kind: Literal["Force"]
    force: Vector


class DisplacedTable(Table):
    """The end body is held at a place, but turns freely."""

    kind: Literal["Displaced"]
    position: Vector | None = Field(None, description="where it is held; where it starts if left out")


OneEnd: TypeAlias = FreeTable | ClampedTable | ForceTable | DisplacedTable
ENDS = get_args(OneEnd)
AnyEnd: TypeAlias = Annotated[OneEnd, Field(discriminator="kind")]


class RingTable(Table):
    """Bodies on a circle, twisted evenly."""

    spacing: float = Field(gt=0, description="distance of neighbours")
    linking_number: int = Field(0, description="turns of the bodies about the circle on the way round")
    axis: Vector = Field([1.0, 0.0, 0.0], description="the direction in the bodies that lies along the circle")


class ChainStart(StartTable):
    """[start] of a chain: a row or a ring with equal spacing, or every body apart."""

    straight: float | None = Field(None, gt=0, description="spacing of a row along x; or give ring or position")
    ring: RingTable | None = Field(None, description="a circle of the bodies of a closed chain; or give position")
    position: list[Vector] | None = Field(None, description="centres of mass, one for each body")
    orientation: list[Orientation] | None = Field(None, description=ORIENTATIONS)
    velocity: list[Vector] | None = Field(None, description="in space; or give momentum")
    momentum: list[Vector] | None = None
    angular_velocity: list[Vector] | None = Field(
        None, description="in the axes of the bodies; or give angular_momentum"
    )
    angular_momentum: list[Vector] | None = None
    time: float = Field(0.0, description="time of the start")
    check: bool = Field(True, description="false takes particles at any distance")

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


@register
class ChainTable(SystemTable):
    """A chain of rigid bodies whose neighbours interact."""

    start: ClassVar[type[StartTable]] = ChainStart

    kind: Literal["Chain"]
    bodies: AnyBodies = Field(description="a body with its count, or a list of bodies")
    potential: Potentials = Field(description="one for all links, or a list with one for each")
    left: AnyEnd = Field(ClampedTable(kind="Clamped"), description="what holds or pulls the first body")
    right: AnyEnd = Field(FreeTable(kind="Free"), description="what holds or pulls the last body")
    gravity: Vector = Field([0.0, 0.0, 0.0], description="acceleration in space")
    form: Form = Field("quaternion", description="the equations that are stepped")
    J0: float = Field(1.0, gt=0, description="fourth inertia, of the multiplier form")
    closed: bool = Field(False, description="true links the last body to the first; then there are no ends")

    def texts(self) -> Iterator[Text]:
        yield from texts_of(self.potential, ("potential",))

    def watched_names(self) -> list[str]:
        count = len(self.bodies) if isinstance(self.bodies, list) else self.bodies.count
        widths = {"position": 3, "orientation": 4, "momentum": 3, "angular_momentum": 3}
        return [f"{name}[{j},{k}]" for name, width in widths.items() for j in range(count) for k in range(width)]

    def make(self) -> Chain:
        ends = {
            side: end_from(getattr(self, side).given(), side)
            for side in ("left", "right")
            if side in self.model_fields_set
        }
        return Chain(
            make_bodies(self.bodies), make_potential(self.potential, "potential"), gravity=self.gravity, form=self.form, J0=self.J0,
            closed=self.closed, **ends,
        )  # fmt: skip

    @classmethod
    def implied(cls, system: System) -> dict[str, object]:
        """As many bodies, held as they are."""
        assert isinstance(system, Chain)
        if system.closed:
            return {"n": system.count}
        return {"n": system.count} | {side: type(getattr(system, side)).__name__.lower() for side in ("left", "right")}
