"""Hamiltonian: the energy as text, names of coordinates and momenta, parameters, further invariants."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Literal

from pydantic import Field

from ...systems.hamiltonian import Hamiltonian
from ...systems.sampled import TIME
from ..tables import Filled, InTime, Names, Numbers, SampledTable, StartTable, SystemTable, Text, register


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
    parameters: dict[str, InTime] = Field(
        {}, description="name -> value: a number, a text in t and the other parameters, or a table of times and values"
    )
    invariants: dict[str, str] = Field({}, description="name -> text of further conserved quantities")

    def texts(self) -> Iterator[Text]:
        names = [*self.q, *self.p, *self.parameters, TIME]
        numbers = self._numbers()
        yield Text(("energy",), self.energy, names, many_terms=True)
        for name, value in self.parameters.items():
            if isinstance(value, str):
                yield Text(("parameters", name), value, [TIME, *numbers])
        for name, text in self.invariants.items():
            yield Text(("invariants", name), text, names, many_terms=True)

    def watched_names(self) -> list[str]:
        return [*self.q, *self.p, *self._numbers()]

    def _numbers(self) -> list[str]:
        return [name for name, value in self.parameters.items() if not isinstance(value, (str, SampledTable))]

    def make(self) -> Hamiltonian:
        arguments = self.given()
        del arguments["kind"]
        return Hamiltonian(**arguments)
