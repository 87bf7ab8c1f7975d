"""Potentials of a chain that depend on time: kernels recompute their constants for each force, and accumulate dV/dt."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...expressions import jacobian, parse, to_sympy, write_lines
from ...kernels import views
from ...kernels.marks import Filling, Numbers, Slot, Written, bind
from ..base import Array
from ..potentials.elastic import STRAIN, STRESS
from ..potentials.in_time import SQUARE, MovingLink, MovingPair, Piece
from ..potentials.link_potentials import ARGUMENTS, LinkSum
from ..potentials.pairwise import Pairwise, PotentialSum
from ..sampled import SPLINES, TIME, InTime, Sampled, depends_on_time
from . import forces as chain_forces
from . import links as chain_links
from . import moving_kernels as kernels

if TYPE_CHECKING:
    import sympy

    from .interactions import Interactions


@dataclass(frozen=True)
class Part:
    """A potential that depends on time: array and first place of its constants, number, first place in par.moving."""

    potential: MovingPair | MovingLink
    array: str
    place: int
    number: int
    first: int

    @property
    def symbols(self) -> dict[str, sympy.Symbol]:
        """Symbols of its parameters, by name."""
        import sympy

        names = self.potential.timed_parameters
        return {name: sympy.Symbol(f"p{self.first + k}", real=True) for k, name in enumerate(names)}


class MovingPotentials:
    """All potentials of a chain that depend on time.

    par.moving and par.moving_slope hold their parameters and the rates of these; par.pair and par.link are then
    scratch, filled from par.pair_given and par.link_given, which hold the fixed constants.

    Parameters
    ----------
    interactions : of the chain

    Attributes
    ----------
    values : the parameters of all parts
    tables : the tables among them, in order
    """

    def __init__(self, interactions: Interactions) -> None:
        self.interactions = interactions
        self.parts: list[Part] = []
        for array, place, number, potential in _moving(interactions):
            first = sum(len(part.potential.timed_parameters) for part in self.parts)
            self.parts.append(Part(potential, array, place, number, first))
        self.values: list[InTime] = [value for part in self.parts for value in part.potential.timed_parameters.values()]
        self.tables = tuple(value for value in self.values if isinstance(value, Sampled))

    def __len__(self) -> int:
        return len(self.parts)

    def arrays(self) -> dict[str, Numbers]:
        """The arrays that the kernels read in par, instead of the constants."""
        given = self.interactions.arrays
        numbers: Array = np.array([0.0 if depends_on_time(value) else value for value in self.values], dtype=float)
        return {"pair_given": given["pair"], "link_given": given["link"], "moving_given": numbers}

    def scratch(self) -> dict[str, Numbers]:
        """The arrays that they write to."""
        given, count = self.interactions.arrays, len(self.values)
        constants: dict[str, Numbers] = {name: np.zeros(len(given[name])) for name in ("pair", "link")}
        return constants | {"moving": np.zeros(count), "moving_slope": np.zeros(count)}

    def constants(self, first_table: int) -> Written:
        """`set_constants`; `first_table` is the number of the first table of these potentials."""
        lines = ["def set_constants(t, par):"]
        for array in ("pair", "link", "moving"):
            lines += [
                f"    for k in range(par.{array}.shape[0]):", f"        par.{array}[k] = par.{array}_given[k]",
            ]  # fmt: skip
        number = first_table
        for k, value in enumerate(self.values):
            targets = f"par.moving[{k}]", f"par.moving_slope[{k}]"
            if isinstance(value, Sampled):
                rows = f"par.spline_first[{number}], par.spline_first[{number + 1}], par.spline"
                lines += [f"    {out} = {name}(t, {rows})" for out, (name, _) in zip(targets, SPLINES[:2], strict=True)]
                number += 1
            elif isinstance(value, str):
                text = to_sympy(parse(value, [TIME]))
                slope = jacobian([text], [TIME])[0][0]
                lines += _indent(write_lines([*zip(targets, (text, slope), strict=True)], {TIME: "t"}))
        for part in self.parts:
            changing = self._changing(part)
            outputs = [
                (f"par.{part.array}[{part.place + k}]", constant)
                for k, constant in enumerate(part.potential.constants_of(part.symbols))
                if constant.free_symbols & changing
            ]
            lines += _indent(write_lines(outputs, self._loads))
        return Written("set_constants", "\n".join(lines), __name__, SPLINES)

    def rate(self) -> Filling:
        """`potential_rate`: the sum of dV/dt over all links, by the loop that sums their energies."""
        pairs, links = self._rates("pair"), self._rates("link")
        fills: dict[Slot, Filling] = {views.pair_energy: self._choice("pair_rate", "s, which, par", "s, par", pairs)}
        if self.interactions.has_bonds:
            of_link = self._choice("link_rate", f"which, {ARGUMENTS}, par", f"{ARGUMENTS}, par", links)
            fills[chain_forces.bond_energy] = bind(chain_links.energy_of_link, {chain_links.link_energy: of_link})
        return bind(kernels.rate_of_links, fills)

    @property
    def _loads(self) -> dict[str, str]:
        count = len(self.values)
        return {f"p{k}": f"par.moving[{k}]" for k in range(count)} | {
            f"w{k}": f"par.moving_slope[{k}]" for k in range(count)
        }

    def _changing(self, part: Part) -> set[sympy.Symbol]:
        values = part.potential.timed_parameters
        return {symbol for name, symbol in part.symbols.items() if depends_on_time(values[name])}

    def _rates(self, array: str) -> dict[int, list[Written]]:
        """dV/dt of the parts of each potential, by number."""
        import sympy

        found: dict[int, list[Written]] = {}
        for number, part in enumerate(self.parts):
            if part.array != array:
                continue
            changing = sorted(self._changing(part), key=lambda symbol: symbol.name)
            rates = [sympy.Symbol(symbol.name.replace("p", "w"), real=True) for symbol in changing]
            places = {SQUARE: "s"} if array == "pair" else {name: name for name in ARGUMENTS.split(", ")}
            lines = [f"def rate{number}({'s' if array == 'pair' else ARGUMENTS}, par):"]
            before, uses = part.potential.strained if isinstance(part.potential, MovingLink) else ([], ())
            if before:
                lines += _indent([f"at = {part.place}", *before])
                places |= {name: name for name in (*STRAIN, *STRESS)}
            for piece in part.potential.energy_of(part.symbols):
                slopes = jacobian([piece.value], [symbol.name for symbol in changing])[0]
                total = sympy.Add(*(slope * rate for slope, rate in zip(slopes, rates, strict=True)))
                lines += self._piece(piece, total, places)
            text = "\n".join(lines)
            found.setdefault(part.number, []).append(Written(f"rate{number}", text, __name__, uses))
        return found

    def _piece(self, piece: Piece, total: sympy.Expr, places: dict[str, str]) -> list[str]:
        """Lines that return a value where a formula of a potential applies; the last formula covers the rest."""
        loads = places | self._loads
        inside = [*write_lines([("value", total)], loads), "return value"]
        edges = [(f"edge{k}", edge) for k, (_, edge, _) in enumerate(piece.where)]
        asked = [f"{'' if yes else 'not '}s {sign} edge{k}" for k, (sign, _, yes) in enumerate(piece.where)]
        if not asked:
            return _indent(inside)
        return _indent([*write_lines(edges, loads), f"if {' and '.join(asked)}:", *_indent(inside)])

    @staticmethod
    def _choice(name: str, given: str, handed: str, rates: dict[int, list[Written]]) -> Written:
        """The rate of the potential that acts; 0 for a constant one."""
        lines, uses = [f"def {name}({given}):"], []
        for number, parts in rates.items():
            calls = " + ".join(f"{part.name}({handed})" for part in parts)
            lines += [f"    if which == {number}:", f"        return {calls}"]
            uses += [(part.name, part) for part in parts]
        return Written(name, "\n".join([*lines, "    return 0.0"]), __name__, tuple(uses))


def _moving(interactions: Interactions) -> Iterator[tuple[str, int, int, MovingPair | MovingLink]]:
    """For each potential that depends on time: array and place of constants, number of the whole potential,
    potential."""
    place = 0
    for number, pair in enumerate(interactions.pair_set.potentials):
        for term in _terms(pair):
            if isinstance(term, MovingPair):
                yield "pair", place, number, term
            place += len(term.constants)
    place = 0
    for number, bond in zip(interactions.bond_set.numbers, interactions.distinct_bonds, strict=True):
        if bond.links is not None:
            place += bond.table.size
            continue
        for link in bond.terms if isinstance(bond, LinkSum) else (bond,):
            if isinstance(link, MovingLink):
                yield "link", place, number, link
            place += link.table.size


def _terms(potential: Pairwise | None) -> tuple[Pairwise, ...]:
    if potential is None:
        return ()
    return potential.terms if isinstance(potential, PotentialSum) else (potential,)


def _indent(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]
