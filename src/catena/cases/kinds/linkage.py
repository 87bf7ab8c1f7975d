"""Linkage: bodies, the joints between them and to the ground, and forces."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from ...systems.base import System
from ...systems.linkage.joint_forces import force_from
from ...systems.linkage.joints import joint_from
from ...systems.linkage.linkage import Form, Linkage
from ..bodies import AnyBody, BodiesStart, Vector, make_body, names_of_bodies
from ..joints import AnyForce, AnyJoint, force_texts, make_objects
from ..potentials import AnyPotential, make_pairs, texts_of
from ..tables import InTimeVector, StartTable, SystemTable, Text, register, texts_in_time

Coordinates = list[float | list[float]] | dict[str, float | list[float]]
Bodies = Annotated[list[AnyBody], Field(min_length=1)]


class LinkageStart(BodiesStart):
    """[start] of a linkage: what is left out follows from the joints."""

    position: list[Vector] | None = Field(None, description="centres of mass; from the joints if left out")
    velocity: list[Vector] | None = Field(None, description="in space; from the joints if left out; or give momentum")
    angles: Coordinates | None = Field(
        None, description="where joints stand: one for each, or by name; (displacement, angle) of those that do both"
    )
    rates: Coordinates | None = Field(None, description="how fast they move, given in the same ways")
    project: bool = Field(False, description="take the nearest state that fits the joints")


@register
class LinkageTable(SystemTable):
    """Rigid bodies linked by joints."""

    start: ClassVar[type[StartTable]] = LinkageStart

    kind: Literal["Linkage"]
    bodies: Bodies = Field(alias="body", description="one table [[system.body]] for each")
    joints: list[AnyJoint] = Field([], alias="joint", description="one table [[system.joint]] for each")
    forces: list[AnyForce] = Field([], alias="force", description="one table [[system.force]] for each")
    gravity: InTimeVector = Field(
        [0.0, 0.0, -9.81], description="acceleration in space; numbers, texts in t, or tables"
    )
    form: Form | None = Field(None, description="director or joint; left out, what the method needs")
    pairs: AnyPotential | None = Field(
        None, description="potential between the particles of all bodies, or a PairTable"
    )
    exclude: int = Field(1, ge=0, description="bodies that so many joints connect, or fewer, do not interact")

    def texts(self) -> Iterator[Text]:
        yield from force_texts(self.forces, ("force",))
        yield from texts_in_time(self.gravity, ("gravity",))
        if self.pairs is not None:
            yield from texts_of(self.pairs, ("pairs",))

    def watched_names(self) -> list[str]:
        return names_of_bodies(len(self.bodies))

    def make(self) -> Linkage:
        bodies = [make_body(table, f"body.{j}") for j, table in enumerate(self.bodies)]
        joints, forces = make_objects("joint", joint_from, self.joints), make_objects("force", force_from, self.forces)
        pairs = None if self.pairs is None else make_pairs(self.pairs, "pairs")
        gravity = self.given().get("gravity", (0.0, 0.0, -9.81))
        return Linkage(bodies, joints, forces, gravity, self.form, pairs=pairs, exclude=self.exclude)

    @classmethod
    def implied(cls, system: System) -> dict[str, object]:
        """The number of bodies."""
        assert isinstance(system, Linkage)
        return {"n": system.count}
