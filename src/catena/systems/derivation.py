"""From an energy H(q, p) to the kernels of its motion: gradient, Hessian, and what they tell about H.

Derived once with sympy and kept on disk, so that a second process neither parses nor derives. A small energy becomes straight
lines of code; one of many variables or terms becomes loops (`rolled`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

from ..disk_cache import remembered
from ..expressions import Tree, derivative_cost, jacobian, parse, to_sympy, write_lines
from ..expressions.parser import LARGEST_COST
from . import rolled

if TYPE_CHECKING:
    import sympy

Symbols = Sequence["sympy.Symbol"]

MOST_STRAIGHT = 32
"""Variables up to which the derivatives are written out: the Hessian alone is n**2 lines."""


@dataclass(frozen=True)
class Derived:
    """The kernels of a Hamiltonian as texts, and what was recognised.

    Attributes
    ----------
    separable : H = T(p) + V(q)
    quadratic_kinetic : separable, and T has constant second derivatives
    tags : for each invariant, energy first, what it is ("linear", "bilinear", "quadratic")
    kernels : name -> text of a function
    tables : of an energy in loops, see `rolled`; empty for straight lines
    """

    separable: bool
    quadratic_kinetic: bool
    tags: tuple[tuple[str, ...], ...]
    kernels: dict[str, str]
    tables: rolled.Tables = field(default_factory=rolled.Tables)


def derive(
    energy: str, q: Sequence[str], p: Sequence[str], parameters: Sequence[str], invariants: Mapping[str, str]
) -> Derived:
    """The kernels of H = energy and of further invariants, from the disk if they were derived before.

    Raises
    ------
    InputError : a text is refused (`catena.expressions.parse`), or too involved
    """
    texts = {"energy": energy, **{f"invariants.{name}": text for name, text in invariants.items()}}
    request = json.dumps(["derivation", list(texts.values()), list(q), list(p), list(parameters)])
    made = remembered(request, lambda: json.dumps(asdict(_derive(texts, q, p, parameters))), also=rolled.__name__)
    found = json.loads(made)
    return Derived(**found | {"tags": tuple(map(tuple, found["tags"]))})


def _derive(texts: Mapping[str, str], q: Sequence[str], p: Sequence[str], parameters: Sequence[str]) -> Derived:
    names = [*q, *p, *parameters]
    trees = [parse(text, names, what=what, many_terms=True) for what, text in texts.items()]
    if 2 * len(q) > MOST_STRAIGHT or any(derivative_cost(tree.nodes) > LARGEST_COST for tree in trees):
        return _in_loops(trees, q, p)
    return _in_lines(trees, q, p, parameters)


def _in_loops(trees: Sequence[Tree], q: Sequence[str], p: Sequence[str]) -> Derived:
    made = rolled.Rolled(trees, q, p)
    tags = tuple(made.tags(loops) for loops in made.loops)
    return Derived(made.separable, made.quadratic_kinetic, tags, made.kernels(), made.tables())


def _in_lines(trees: Sequence[Tree], q: Sequence[str], p: Sequence[str], parameters: Sequence[str]) -> Derived:
    import sympy

    positions = [sympy.Symbol(name, real=True) for name in q]
    momenta = [sympy.Symbol(name, real=True) for name in p]
    variables = set(positions + momenta)
    half = len(q)

    constants = Constants(variables)
    kept = [constants.hoisted(to_sympy(tree)) for tree in trees]
    gradient = jacobian([kept[0]], [*q, *p])[0]
    field = gradient[half:] + [-slope for slope in gradient[:half]]
    hessian = jacobian(field, [*q, *p])

    separable = all(hessian[i][j] == 0 for i in range(half) for j in range(half))
    quadratic = separable and all(
        not hessian[i][half + j].free_symbols & variables for i in range(half) for j in range(half)
    )
    written = Written([*q, *p], parameters, constants)
    kernels = {
        **written.motion(field, hessian),
        "measure": written.measure(kept, variables),
        "constants": written.constants(),
    }
    if quadratic:
        kernels["commutator_kick"] = written.commutator_kick(field[half:], hessian)
    tags = tuple(_tags(expression, positions, momenta) for expression in kept)
    return Derived(separable, quadratic, tags, kernels)


class Written:
    """The kernels of expressions in straight lines, as text: z holds the variables, par.values the parameters and constants."""

    def __init__(self, variables: Sequence[str], parameters: Sequence[str], constants: Constants) -> None:
        self.parameters = parameters
        self.hoisted = constants
        self.n = len(variables)
        self.half = self.n // 2
        fixed = {name: f"par.values[{k}]" for k, name in enumerate(parameters)}
        fixed |= {symbol.name: f"par.values[{len(parameters) + k}]" for k, symbol in enumerate(constants.symbols)}
        self.load = {name: f"z[{k}]" for k, name in enumerate(variables)} | fixed
        self.scalars = {name: f"z{k}" for k, name in enumerate(variables)} | fixed

    def function(
        self, name: str, arguments: str, outputs: list[tuple[str, sympy.Expr]], tail: str = "",
        names: Mapping[str, str] | None = None,
    ) -> str:  # fmt: skip
        """`def name(arguments)` that computes the outputs, then does the tail."""
        lines = write_lines(outputs, names or self.load) + ([tail] if tail else [])
        return "\n".join([f"def {name}({arguments}):", *(f"    {line}" for line in lines or ["pass"])])

    def motion(self, field: Sequence[sympy.Expr], hessian: Sequence[Sequence[sympy.Expr]]) -> dict[str, str]:
        """The vector field whole, by halves and in registers, and its Jacobian."""
        n, half = self.n, self.half
        whole = [(f"out[{i}]", rate) for i, rate in enumerate(field)]
        slopes = [(f"out[{i * n + j}]", hessian[i][j]) for i in range(n) for j in range(n)]
        registers = ", ".join([f"z{k}" for k in range(n)] + ["par"])
        returned = f"return ({', '.join(f'r{i}' for i in range(n))},)"
        return {
            "field_end": f"def field_end(b, par):\n    return (b + 1) * {half}",
            "field": self.function("field", "z, par, out", whole),
            "velocity": self.function("velocity", "z, par, out", whole[:half]),
            "momentum_rate": self.function("momentum_rate", "z, par, out", whole[half:]),
            "jacobian": self.function("jacobian", "z, par, out", slopes),
            "registers": self.function(
                "registers", registers, [(f"r{i}", rate) for i, rate in enumerate(field)], returned, self.scalars
            ),
        }

    def measure(self, kept: Sequence[sympy.Expr], moving: set[sympy.Symbol]) -> str:
        """The quantities kept, and what an error is compared with.

        A constant adds nothing to the motion, so nothing to the size of its terms.
        """
        import sympy

        terms = [
            (i, term)
            for i, expression in enumerate(kept)
            for term in sympy.Add.make_args(expression)
            if term.free_symbols & moving
        ]
        measured = [(f"out[{i}]", expression) for i, expression in enumerate(kept)]
        magnitudes = [(f"term{k}", term) for k, (_, term) in enumerate(terms)]
        tail = "\n    ".join(f"scale[{i}] = max(scale[{i}], abs(term{k}))" for k, (i, _) in enumerate(terms))
        return self.function("measure", "z, par, out, scale", measured + magnitudes, tail)

    def constants(self) -> str:
        """The subexpressions of parameters alone."""
        outputs = [(f"out[{k}]", expression) for k, expression in enumerate(self.hoisted.expressions)]
        return self.function(
            "constants", "values, out", outputs, names={name: f"values[{k}]" for k, name in enumerate(self.parameters)}
        )

    def commutator_kick(self, rate: Sequence[sympy.Expr], hessian: Sequence[Sequence[sympy.Expr]]) -> str:
        """The flow of {V, {V, T}}: along the gradient of V_q.M^-1 V_q."""
        half = self.half
        squared = [
            2 * sum(hessian[half + i][j] * hessian[j][half + k] * rate[k] for j in range(half) for k in range(half))
            for i in range(half)
        ]
        kicks = "\n    ".join([*(f"add(z, e, {half + i}, -s * w_{i})" for i in range(half)), "return 0"])
        slopes = [(f"w_{i}", slope) for i, slope in enumerate(squared)]
        return self.function("commutator_kick", "z, e, s, par, out", slopes, kicks)


class Constants:
    """Subexpressions of parameters alone: computed once, not in every evaluation."""

    def __init__(self, variables: set[sympy.Symbol]) -> None:
        self.variables = variables
        self.symbols: list[sympy.Symbol] = []
        self.expressions: list[sympy.Expr] = []

    def hoisted(self, expression: sympy.Expr) -> sympy.Expr:
        """The expression with its parameter-only parts replaced by symbols."""
        if not expression.free_symbols & self.variables:
            return self._constant(expression)
        if expression.is_Add or expression.is_Mul:
            fixed = [a for a in expression.args if not a.free_symbols & self.variables]
            moving = [self.hoisted(a) for a in expression.args if a.free_symbols & self.variables]
            return expression.func(self._constant(expression.func(*fixed)), *moving)
        return expression.func(*map(self.hoisted, expression.args)) if expression.args else expression

    def _constant(self, expression: sympy.Expr) -> sympy.Expr:
        import sympy

        if expression.is_Symbol or not expression.free_symbols:
            return expression
        if expression not in self.expressions:
            self.expressions.append(expression)
            self.symbols.append(sympy.Symbol(f"constant {len(self.symbols)}", real=True))  # a space: no user's name
        return self.symbols[self.expressions.index(expression)]


def _tags(expression: sympy.Expr, positions: Symbols, momenta: Symbols) -> tuple[str, ...]:
    """What kind of function of (q, p) this is, judged by its first and second derivatives."""
    names = [x.name for x in (*positions, *momenta)]
    moving = {*positions, *momenta}
    first = jacobian([expression], names)[0]
    if all(not d.free_symbols & moving for d in first):
        return ("linear", "bilinear", "quadratic")
    second = jacobian(first, names)
    if any(d.free_symbols & moving for row in second for d in row):
        return ()
    half = len(positions)
    same = [second[i][j] for i in range(2 * half) for j in range(2 * half) if (i < half) == (j < half)]
    return ("bilinear", "quadratic") if all(d == 0 for d in same) else ("quadratic",)
