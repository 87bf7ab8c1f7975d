"""Hamiltonian: the energy as text, names of coordinates and momenta, parameters, further invariants."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Literal

from pydantic import Field

from ...systems.hamiltonian import Hamiltonian
from ..tables import Filled, Names, Numbers, StartTable, SystemTable, Text, register


class HamiltonianStart(StartTable):
    """[start] of a Hamiltonian."""

    q: Numbers = Field(description="coordinates, one number for each")
    p: Numbers = Field(description="momenta, one number for each")
    time: float = Field(0.0, description="time of the start")


@register
class HamiltonianTable(SystemTable):
    """A Hamiltonian system, given by its energy."""

    start: ClassVar[type[StartTable]] = HamiltonianStart

    kind: Literal["Hamiltonian"]
    energy: Filled = Field(description="H as text in the names of q, p and parameters")
    q: Names = Field(["q"], description="names of the coordinates")
    p: Names = Field(["p"], description="names of their momenta")
    parameters: dict[str, float] = Field({}, description="name -> value")
    invariants: dict[str, str] = Field({}, description="name -> text of further conserved quantities")

    def texts(self) -> Iterator[Text]:
        yield Text(("energy",), self.energy, self.watched_names(), many_terms=True)
        for name, text in self.invariants.items():
            yield Text(("invariants", name), text, self.watched_names(), many_terms=True)

    def watched_names(self) -> list[str]:
        return [*self.q, *self.p, *self.parameters]

    def make(self) -> Hamiltonian:
        arguments = self.given()
        del arguments["kind"]
        return Hamiltonian(**arguments)
