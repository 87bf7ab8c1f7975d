"""Top: a body with a fixed point, and a potential: gravity, or a text in the elements of the rotation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag

from ...errors import InputError
from ...systems.attitude import ELEMENTS, Gravity
from ...systems.top import Form, Top
from ..tables import Filled, Table, register
from .free_body import AttitudeTable, Vector

TEXT = "<text>"


class GravityTable(Table):
    """Uniform gravity."""

    kind: Literal["Gravity"]
    strength: float = Field(1.0, description="mass times gravity")
    center: Vector = Field([0.0, 0.0, 1.0], description="centre of mass from the fixed point, in the body's axes")

    def make(self) -> Gravity:
        """The potential."""
        arguments = self.given()
        del arguments["kind"]
        return Gravity(**arguments)


def _way(value: Any) -> str:
    return "Gravity" if isinstance(value, dict) else TEXT


AnyPotential: Any = Annotated[
    Annotated[Filled, Tag(TEXT)] | Annotated[GravityTable, Tag("Gravity")], Discriminator(_way)
]


@register
class TopTable(AttitudeTable):
    """A rigid body with a fixed point in a potential."""

    kind: Literal["Top"]
    potential: AnyPotential = Field(description="Gravity, or U as text in R11 .. R33 and parameters")
    parameters: dict[str, float] = Field({}, description="name -> value, for a text")
    form: Form = Field("quaternion", description="the canonical equations that implicit methods solve")

    def texts(self) -> Iterator[tuple[tuple[str, ...], str]]:
        if isinstance(self.potential, str):
            yield ("potential",), self.potential

    def names(self) -> list[str]:
        return [*ELEMENTS, *self.parameters]

    def make(self) -> Top:
        if isinstance(self.potential, str):
            return Top(self.make_body(), self.potential, self.form, parameters=self.parameters)
        if self.parameters:
            raise InputError(
                "parameters belong to a potential that is a text",
                where="parameters",
                do="remove them; Gravity has its own keys",
            )
        return Top(self.make_body(), self.potential.make(), self.form)
