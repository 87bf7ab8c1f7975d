"""Top: a body with a fixed point, and a potential: gravity, or a text in the elements of the rotation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal, TypeAlias

from pydantic import Discriminator, Field, Tag

from ...errors import InputError
from ...systems.sampled import TIME
from ...systems.top.attitude import ELEMENTS, Gravity
from ...systems.top.top import Form, Top
from ..bodies import Vector
from ..tables import Filled, InTime, Table, Text, register, texts_in_time
from .free_body import AttitudeTable

TEXT = "<text>"


class GravityTable(Table):
    """Uniform gravity."""

    kind: Literal["Gravity"]
    strength: InTime = Field(
        1.0, description="mass times gravity: a number, a text in t, or a table of times and values"
    )
    center: Vector = Field([0.0, 0.0, 1.0], description="centre of mass from the fixed point, in the body's axes")

    def make(self) -> Gravity:
        """The potential."""
        arguments = self.given()
        del arguments["kind"]
        return Gravity(**arguments)


def _way(value: object) -> str:
    return "Gravity" if isinstance(value, dict) else TEXT


AnyPotential: TypeAlias = Annotated[
    Annotated[Filled, Tag(TEXT)] | Annotated[GravityTable, Tag("Gravity")], Discriminator(_way)
]


@register
class TopTable(AttitudeTable):
    """A rigid body with a fixed point in a potential."""

    kind: Literal["Top"]
    potential: AnyPotential = Field(description="Gravity, or U as text in R11 .. R33 and parameters")
    parameters: dict[str, InTime] = Field(
        {}, description="name -> value, for a text: a number, a text in t, or a table of times and values"
    )
    form: Form = Field("quaternion", description="the canonical equations that implicit methods solve")
    J0: float = Field(1.0, gt=0, description="fourth inertia, of the multiplier form")

    def texts(self) -> Iterator[Text]:
        if isinstance(self.potential, str):
            yield Text(("potential",), self.potential, [*ELEMENTS, *self.parameters, TIME])
            for name, value in self.parameters.items():
                yield from texts_in_time(value, ("parameters", name))
        else:
            yield from texts_in_time(self.potential.strength, ("potential", "strength"))

    def make(self) -> Top:
        if isinstance(self.potential, str):
            parameters = self.given().get("parameters", {})
            return Top(self.make_body(), self.potential, self.form, parameters=parameters, J0=self.J0)
        if self.parameters:
            raise InputError(
                "parameters belong to a potential that is a text",
                where="parameters",
                do="remove them; Gravity has its own keys",
            )
        return Top(self.make_body(), self.potential.make(), self.form, J0=self.J0)
