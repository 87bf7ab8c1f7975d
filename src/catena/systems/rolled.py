"""The kernels of a Hamiltonian with many terms: one loop for each form of term, over tables of variables and constants.

With z = (q, p) a term is f(x0, x1, ...; c0, c1, ...), where x0 is z[place] with the place from a table. Only the forms
f are derived and compiled, so neither effort grows with the number of terms, and the code of 10 bodies is that of 20.

Arrays: `spans` holds n/2, then for each form the number of its terms and the starts of its tables; `places` holds the
variables of each term; `values` holds the constants that are equal in all terms of a form, then those of each term,
then the parameters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypedDict

from ..errors import InputError
from ..expressions import Tree, derivative_cost, jacobian, to_sympy, write_lines
from ..expressions.parser import LARGEST_COST
from ..expressions.terms import Constants, Operation, Shape, shapes_of

if TYPE_CHECKING:
    import sympy

MOST_SHAPES = 200
"""Largest number of forms of an energy; each takes about half a second to compile, however many terms it has."""

LONGEST_PIECE = 120
"""Approximate lines of a function; longer kernels are split, because compile time grows faster than linearly."""


@dataclass(frozen=True)
class Loop:
    """A form of term in the energy or another invariant, with its number among all forms."""

    number: int
    shape: Shape
    half: int

    @cached_property
    def slots(self) -> range:
        """The variables x0, x1, ..."""
        return range(len(self.shape.variables[0]))

    @property
    def names(self) -> list[str]:
        """Names of its variables in the term."""
        return [f"x{k}" for k in self.slots]

    def is_momentum(self, slot: int) -> bool:
        """Whether a variable is a momentum."""
        return self.shape.variables[0][slot] >= self.half

    @cached_property
    def value(self) -> sympy.Expr:
        """The term."""
        return to_sympy(self.shape.tree)

    @cached_property
    def gradient(self) -> list[sympy.Expr]:
        """The derivatives of the term by its variables."""
        return jacobian([self.value], self.names)[0]

    @cached_property
    def hessian(self) -> list[list[sympy.Expr]]:
        """Its second derivatives."""
        return jacobian(self.gradient, self.names)

    def moves(self, expression: sympy.Expr) -> bool:
        """Whether an expression contains a variable."""
        return any(symbol.name in self.names for symbol in expression.free_symbols)

    def pairs(self, *, momenta: tuple[bool, bool]) -> list[tuple[int, int]]:
        """Pairs of slots of these kinds whose mixed derivative is not zero."""
        return [
            (a, b)
            for a in self.slots
            for b in self.slots
            if (self.is_momentum(a), self.is_momentum(b)) == momenta and self.hessian[a][b] != 0
        ]


class Tables(TypedDict, total=False):
    """The tables of the loops of an energy; empty for straight-line code.

    `spans` and `places` of the variables, `values` as indices of constants, and the constants.
    """

    spans: list[int]
    places: list[int]
    values: list[int]
    constants: list[Operation]


class Rolled:
    """The loops of an energy and further invariants, and their tables."""

    def __init__(self, trees: Sequence[Tree], q: Sequence[str], p: Sequence[str]) -> None:
        self.half = len(q)
        variables = {name: (k, "qp"[k >= self.half]) for k, name in enumerate([*q, *p])}
        self.constants = Constants()
        self.loops: list[list[Loop]] = []
        count = 0
        for tree in trees:
            try:
                shapes = shapes_of(tree, variables, self.constants)
            except (ArithmeticError, ValueError):
                raise InputError(
                    f"{tree.what} has a constant that is no finite double", where=tree.what, do="scale the units"
                ) from None
            _check_cost(tree, shapes)
            self.loops.append([Loop(count + k, shape, self.half) for k, shape in enumerate(shapes)])
            count += len(shapes)
        everything = [loop for loops in self.loops for loop in loops]
        self.same = sorted({number for loop in everything for number in loop.shape.same.values()})

    @cached_property
    def separable(self) -> bool:
        """Whether no term mixes positions and momenta."""
        return not any(loop.pairs(momenta=(False, True)) for loop in self.loops[0])

    @cached_property
    def quadratic_kinetic(self) -> bool:
        """Whether it is separable with constant second derivatives by momenta."""
        return self.separable and not any(
            loop.moves(loop.hessian[a][b]) for loop in self.loops[0] for a, b in loop.pairs(momenta=(True, True))
        )

    def tags(self, loops: Sequence[Loop]) -> tuple[str, ...]:
        """The form of a sum as a function of (q, p): that of all its terms."""
        if not any(loop.moves(slope) for loop in loops for slope in loop.gradient):
            return ("linear", "bilinear", "quadratic")
        if any(loop.moves(entry) for loop in loops for row in loop.hessian for entry in row):
            return ()
        alike = [pair for loop in loops for kind in (False, True) for pair in loop.pairs(momenta=(kind, kind))]
        return ("quadratic",) if alike else ("bilinear", "quadratic")

    def tables(self) -> Tables:
        """`spans` and `places`; `values` as indices of constants, and the constants."""
        spans, places, values = [self.half], list[int](), list(self.same)
        for loop in (loop for loops in self.loops for loop in loops):
            shape = loop.shape
            spans += [len(shape.variables), len(places), len(values)]
            places += [place for row in shape.variables for place in row]
            varying = [k for k in range(len(shape.constants[0])) if f"c{k}" not in shape.same]
            values += [row[k] for row in shape.constants for k in varying]
        return {"spans": spans, "places": places, "values": values, "constants": self.constants.describe()}

    def kernels(self) -> dict[str, str]:
        """The functions by name; long ones consist of pieces, name_0, name_1, ..."""
        energy = self.loops[0]
        texts = _kernel("velocity", "z, par, out", _zero("0", "half"), [self._gradient(loop, True) for loop in energy])
        texts |= _kernel(
            "momentum_rate", "z, par, out", _zero("half", "2 * half"), [self._gradient(loop, False) for loop in energy]
        )
        texts["field"] = "def field(z, par, out):\n    velocity(z, par, out)\n    momentum_rate(z, par, out)"
        texts |= _kernel(
            "jacobian", "z, par, out", _zero("0", "4 * half * half"), [self._second(loop) for loop in energy]
        )
        texts |= self._measure()
        if self.quadratic_kinetic:
            loops = [self._inverse_mass(loop) for loop in energy] + [self._commutator(loop) for loop in energy]
            texts |= _kernel("commutator_kick", "z, e, s, par, out", _zero("0", "half"), loops, ["return 0"])
        return texts

    def _over(self, loop: Loop, outputs: list[tuple[str, sympy.Expr]], tail: list[str]) -> list[str]:
        """A loop over the terms of a form: compute the outputs, then execute the tail."""
        if not outputs:
            return []
        used = {symbol.name for _, expression in outputs for symbol in expression.free_symbols}
        shape, slots = loop.shape, len(loop.slots)
        varying = [f"c{k}" for k in range(len(shape.constants[0])) if f"c{k}" not in shape.same]
        load = {f"x{k}": f"z[i{k}]" for k in loop.slots}
        load |= {name: f"par.values[{self.same.index(number)}]" for name, number in shape.same.items()}
        load |= {name: f"par.values[{_entry('table', len(varying), v)}]" for v, name in enumerate(varying)}
        body = write_lines(outputs, load) + tail
        wanted = [k for k in loop.slots if f"x{k}" in used or any(f"i{k}" in line for line in tail)]
        first = 1 + 3 * loop.number
        return [
            *([f"at = par.spans[{first + 1}]"] if wanted else []),
            *([f"table = par.spans[{first + 2}]"] if used & set(varying) else []),
            f"for k in range(par.spans[{first}]):",
            *(f"    i{k} = par.places[{_entry('at', slots, k)}]" for k in wanted),
            *(f"    {line}" for line in body),
        ]

    def _gradient(self, loop: Loop, momenta: bool) -> list[str]:
        """H_p for the momenta, -H_q for the positions."""
        wanted = [k for k in loop.slots if loop.is_momentum(k) == momenta and loop.gradient[k] != 0]
        into, sign = ("- half", "+") if momenta else ("+ half", "-")
        return self._over(
            loop, [(f"g{k}", loop.gradient[k]) for k in wanted], [f"out[i{k} {into}] {sign}= g{k}" for k in wanted]
        )

    def _second(self, loop: Loop) -> list[str]:
        """The Jacobian of the field: H_p and -H_q by all variables; each entry of the symmetric Hessian once."""
        outputs, tail = [], []
        for a in loop.slots:
            for b in range(a, len(loop.slots)):
                if loop.hessian[a][b] == 0:
                    continue
                outputs.append((f"h{a}_{b}", loop.hessian[a][b]))
                for row, column in {(a, b), (b, a)} if a != b else {(a, b)}:
                    into, sign = ("- half", "+") if loop.is_momentum(row) else ("+ half", "-")
                    tail.append(f"out[2 * half * (i{row} {into}) + i{column}] {sign}= h{a}_{b}")
        return self._over(loop, outputs, sorted(tail))

    def _inverse_mass(self, loop: Loop) -> list[str]:
        """M^-1 times the force in the second half of `out`, into the first half."""
        pairs = loop.pairs(momenta=(True, True))
        return self._over(
            loop, [(f"h{a}_{b}", loop.hessian[a][b]) for a, b in pairs],
            [f"out[i{a} - half] += h{a}_{b} * out[i{b}]" for a, b in pairs],
        )  # fmt: skip

    def _commutator(self, loop: Loop) -> list[str]:
        """The kick by -s times the gradient of V_q.M^-1 V_q, whose flow is that of {V, {V, T}}."""
        pairs = loop.pairs(momenta=(False, False))
        products: dict[int, list[str]] = {}
        for a, b in pairs:
            products.setdefault(a, []).append(f"h{a}_{b} * out[i{b}]")
        return self._over(
            loop, [(f"h{a}_{b}", loop.hessian[a][b]) for a, b in pairs],
            [f"add(z, e, i{a} + half, 2.0 * s * ({' + '.join(terms)}))" for a, terms in products.items()],
        )  # fmt: skip

    def _measure(self) -> dict[str, str]:
        """Sums of thousands of terms, with separate rounding errors (Neumaier's sum without branches)."""
        texts: dict[str, str] = {}
        lines = ["def measure(z, par, out, scale):"]
        for i, loops in enumerate(self.loops):
            lines += ["    total, rest = 0.0, 0.0"]
            bodies = [self._over(loop, [("term", loop.value)], _sum(i, loop.moves(loop.value))) for loop in loops]
            for k, piece in enumerate(_pieces(bodies)):
                name = f"measure_{i}_{k}"
                inside = [f"def {name}(z, par, scale, total, rest):", *piece, "return total, rest"]
                texts[name] = "\n    ".join(inside)
                lines.append(f"    total, rest = {name}(z, par, scale, total, rest)")
            lines.append(f"    out[{i}] = total + rest")
        return texts | {"measure": "\n".join(lines)}


def _sum(i: int, moves: bool) -> list[str]:
    """Add a term to invariant i; its size counts if the term varies, see `catena.running.auditing.size`."""
    return [
        "after = total + term",
        "part = after - total",
        "rest += (total - (after - part)) + (term - part)",
        "total = after",
        *([f"scale[{i}] = max(scale[{i}], abs(term))"] if moves else []),
    ]


def _entry(first: str, width: int, column: int) -> str:
    """Index of an entry in row k of a table."""
    return " + ".join([first, f"{width} * k" if width > 1 else "k", *([str(column)] if column else [])])


def _zero(start: str, end: str) -> list[str]:
    return [f"for k in range({start}, {end}):", "    out[k] = 0.0"]


def _kernel(
    name: str, arguments: str, head: list[str], loops: list[list[str]], tail: Sequence[str] = ()
) -> dict[str, str]:
    """A function made of `head`, the loops and `tail`."""
    half = "half = par.spans[0]"
    pieces = _pieces([loop for loop in loops if loop])
    if len(pieces) <= 1:
        return {name: "\n    ".join([f"def {name}({arguments}):", half, *head, *(pieces or [[]])[0], *tail])}
    texts = {
        f"{name}_{k}": "\n    ".join([f"def {name}_{k}({arguments}):", half, *piece]) for k, piece in enumerate(pieces)
    }
    calls = [f"{piece}({arguments})" for piece in texts]
    return texts | {name: "\n    ".join([f"def {name}({arguments}):", half, *head, *calls, *tail])}


def _pieces(loops: Sequence[list[str]]) -> list[list[str]]:
    """Consecutive loops, split where the lines become too many."""
    pieces: list[list[str]] = []
    for loop in loops:
        if not pieces or len(pieces[-1]) + len(loop) > LONGEST_PIECE:
            pieces.append([])
        pieces[-1] += loop
    return pieces


def _check_cost(tree: Tree, shapes: Sequence[Shape]) -> None:
    """Refuse an energy that would take too long to derive: terms that are too complicated, or too many forms."""
    cost = sum(derivative_cost(shape.tree.nodes) for shape in shapes)
    kinds = f"{len(shapes)} differently built terms" if len(shapes) > 1 else "one term"
    do = "write it as a sum of many terms that are built alike, or of smaller ones"
    if cost > LARGEST_COST:
        raise InputError(
            f"{tree.what} is too involved: the second derivatives of its {kinds} have about {cost} operands, "
            f"the limit is {LARGEST_COST}", where=tree.what, do=do,
        )  # fmt: skip
    if len(shapes) > MOST_SHAPES:
        raise InputError(
            f"{tree.what} is too involved: it has {kinds}, the limit is {MOST_SHAPES}", where=tree.what, do=do
        )
