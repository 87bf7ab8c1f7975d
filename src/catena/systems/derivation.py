"""From an energy H(q, p) to the kernels of its motion: gradient, Hessian, and the structure of H.

sympy derives them once; they are cached on disk, so that a second process neither parses nor derives. A small energy
becomes straight-line code; one with many variables or terms becomes loops (`rolled`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

from ..disk_cache import remember
from ..errors import CapabilityError
from ..expressions import Tree, derivative_cost, jacobian, parse, to_sympy, write_lines
from ..expressions.parser import LARGEST_COST
from . import rolled
from .sampled import TIME

if TYPE_CHECKING:
    import sympy

Symbols = Sequence["sympy.Symbol"]

MOST_STRAIGHT = 32
"""Number of variables up to which derivatives become straight-line code: the Hessian alone is n**2 lines."""


@dataclass(frozen=True)
class Derived:
    """The kernels of a Hamiltonian as text, and the recognised structure.

    Attributes
    ----------
    separable : H = T(p) + V(q)
    quadratic_kinetic : separable, and T has constant second derivatives
    tags : for each invariant, energy first, its form ("linear", "bilinear", "quadratic")
    kernels : name -> text of a function
    tables : of an energy in loops, see `rolled`; empty for straight-line code
    driven : whether the energy depends on t, which is then the last coordinate, with a momentum
    kinetic_in_time : whether only the t in the kinetic energy keeps H from being separable
    """

    separable: bool
    quadratic_kinetic: bool
    tags: tuple[tuple[str, ...], ...]
    kernels: dict[str, str]
    tables: rolled.Tables = field(default_factory=rolled.Tables)
    driven: bool = False
    kinetic_in_time: bool = False


def derive(
    energy: str,
    q: Sequence[str],
    p: Sequence[str],
    parameters: Sequence[str],
    invariants: Mapping[str, str],
    *,
    sampled: Sequence[str] = (),
) -> Derived:
    """The kernels of H = energy and of further invariants, from the cache on disk if possible.

    An energy that depends on t is derived as H(q, p, t) + p_t with t as the last coordinate: dt/dt = 1, and its
    momentum accumulates the work, dp_t/dt = -H_t, so that H + p_t is conserved [hairer2006] section VI. Parameters in
    `sampled` are functions of t whose values and derivatives come from splines.

    Raises
    ------
    InputError : a text is refused (`catena.expressions.parse`), or too complicated
    """
    texts = {"energy": energy, **{f"invariants.{name}": text for name, text in invariants.items()}}
    request = json.dumps(["derivation", list(texts.values()), list(q), list(p), list(parameters), list(sampled)])
    made = remember(
        request, lambda: json.dumps(asdict(_derive(texts, q, p, parameters, sampled))), also=rolled.__name__
    )
    found = json.loads(made)
    return Derived(**found | {"tags": tuple(map(tuple, found["tags"]))})


def _derive(
    texts: Mapping[str, str], q: Sequence[str], p: Sequence[str], parameters: Sequence[str], sampled: Sequence[str]
) -> Derived:
    names = [*q, *p, *parameters, *sampled, TIME]
    trees = [parse(text, names, what=what, many_terms=True) for what, text in texts.items()]
    driven = bool({TIME, *sampled} & {name for tree in trees for name in tree.names})
    if driven:
        momentum = find_unused_name("p_t", names)
        q, p, names = [*q, TIME], [*p, momentum], [*names, momentum]
        further = dict(list(texts.items())[1:])
        texts = {"energy": f"({texts['energy']}) + {momentum}", "work": f"-{momentum}", **further}
        trees = [parse(text, names, what=what, many_terms=True) for what, text in texts.items()]
    if 2 * len(q) > MOST_STRAIGHT or any(derivative_cost(tree.nodes) > LARGEST_COST for tree in trees):
        if sampled:
            raise CapabilityError(
                f"an energy of this size is derived by the shapes of its terms, and {sampled[0]} is a table",
                where=f"Hamiltonian.parameters.{sampled[0]}", do="give it as a text in t",
            )  # fmt: skip
        return _in_loops(trees, q, p, driven)
    return _in_lines(trees, q, p, parameters, sampled, driven)


def find_unused_name(wanted: str, names: Sequence[str]) -> str:
    """The wanted name, or a similar one that is not used yet."""
    while wanted in names:
        wanted += "_"
    return wanted


def _field_end(half: str, driven: bool) -> str:
    """Fields: q and p, or q, t, p and p_t: t grows, so changes of q would look small beside it."""
    ends = f"(b // 2 + 1) * {half} - 1 + b % 2" if driven else f"(b + 1) * {half}"
    return f"def field_end(b, par):\n    return {ends}"


def _in_loops(trees: Sequence[Tree], q: Sequence[str], p: Sequence[str], driven: bool) -> Derived:
    made = rolled.Rolled(trees, q, p)
    tags = tuple(made.tags(loops) for loops in made.loops)
    kernels = made.kernels() | {"field_end": _field_end("par.spans[0]", driven)}
    return Derived(made.separable, made.quadratic_kinetic, tags, kernels, made.tables(), driven)


def _in_lines(
    trees: Sequence[Tree],
    q: Sequence[str],
    p: Sequence[str],
    parameters: Sequence[str],
    sampled: Sequence[str],
    driven: bool,
) -> Derived:
    import sympy

    positions = [sympy.Symbol(name, real=True) for name in q]
    momenta = [sympy.Symbol(name, real=True) for name in p]
    through = Splines(sampled)
    variables = {*positions, *momenta, *through.symbols}
    half = len(q)

    constants = Constants(variables)
    kept = [constants.hoisted(to_sympy(tree)) for tree in trees]
    gradient = through.jacobian([kept[0]], [*q, *p])[0]
    field = gradient[half:] + [-slope for slope in gradient[:half]]
    hessian = through.jacobian(field, [*q, *p])

    separable = all(hessian[i][j] == 0 for i in range(half) for j in range(half))
    quadratic = separable and all(
        not hessian[i][half + j].free_symbols & variables for i in range(half) for j in range(half)
    )
    written = Written([*q, *p], parameters, constants, through)
    kernels = {
        "field_end": _field_end(str(half), driven),
        **written.motion(field, hessian),
        "measure": written.measure(kept, variables),
        "constants": written.constants(),
    }
    if quadratic:
        kernels["commutator_kick"] = written.commutator_kick(field[half:], hessian)
    tags = tuple(_tags(expression, positions, momenta, through) for expression in kept)
    in_time = driven and not separable and all(hessian[i][j] == 0 for i in range(half) for j in range(half - 1))
    return Derived(separable, quadratic, tags, kernels, driven=driven, kinetic_in_time=in_time)


class Written:
    """The kernels of expressions as straight-line code: z: variables, par.values: parameters and constants."""

    def __init__(
        self, variables: Sequence[str], parameters: Sequence[str], constants: Constants, through: Splines
    ) -> None:
        self.parameters = parameters
        self.hoisted = constants
        self.n = len(variables)
        self.half = self.n // 2
        fixed = {name: f"par.values[{k}]" for k, name in enumerate(parameters)}
        fixed |= {symbol.name: f"par.values[{len(parameters) + k}]" for k, symbol in enumerate(constants.symbols)}
        self.load = {name: f"z[{k}]" for k, name in enumerate(variables)} | fixed | through.load(f"z[{self.half - 1}]")
        self.scalars = {name: f"z{k}" for k, name in enumerate(variables)} | fixed | through.load(f"z{self.half - 1}")

    def function(
        self, name: str, arguments: str, outputs: list[tuple[str, sympy.Expr]], tail: str = "",
        names: Mapping[str, str] | None = None,
    ) -> str:  # fmt: skip
        """`def name(arguments)` that computes the outputs, then executes the tail."""
        lines = write_lines(outputs, names or self.load) + ([tail] if tail else [])
        return "\n".join([f"def {name}({arguments}):", *(f"    {line}" for line in lines or ["pass"])])

    def motion(self, field: Sequence[sympy.Expr], hessian: Sequence[Sequence[sympy.Expr]]) -> dict[str, str]:
        """The complete vector field, by halves and in registers, and its Jacobian."""
        n, half = self.n, self.half
        whole = [(f"out[{i}]", rate) for i, rate in enumerate(field)]
        slopes = [(f"out[{i * n + j}]", hessian[i][j]) for i in range(n) for j in range(n)]
        registers = ", ".join([f"z{k}" for k in range(n)] + ["par"])
        returned = f"return ({', '.join(f'r{i}' for i in range(n))},)"
        return {
            "field": self.function("field", "z, par, out", whole),
            "velocity": self.function("velocity", "z, par, out", whole[:half]),
            "momentum_rate": self.function("momentum_rate", "z, par, out", whole[half:]),
            "jacobian": self.function("jacobian", "z, par, out", slopes),
            "registers": self.function(
                "registers", registers, [(f"r{i}", rate) for i, rate in enumerate(field)], returned, self.scalars
            ),
        }

    def measure(self, kept: Sequence[sympy.Expr], moving: set[sympy.Symbol]) -> str:
        """The conserved quantities, and the scales with which errors are compared.

        A constant contributes nothing to the motion, so nothing to the size of the terms.
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


class Splines:
    """Parameters that are functions of t: symbols for their values and derivatives, and the chain rule through them."""

    def __init__(self, names: Sequence[str]) -> None:
        import sympy

        self.names = tuple(names)
        # f, f' and f'': names of users contain no quote
        self.rows = [[sympy.Symbol(name + "'" * order, real=True) for order in range(3)] for name in names]

    @property
    def symbols(self) -> set[sympy.Symbol]:
        """All symbols."""
        return {symbol for row in self.rows for symbol in row}

    def jacobian(self, expressions: Sequence[sympy.Expr], names: Sequence[str]) -> list[list[sympy.Expr]]:
        """Derivatives with respect to these names; the one with respect to t includes the splines."""
        slopes = jacobian(expressions, names)
        if TIME in names:
            column = list(names).index(TIME)
            for row in self.rows:
                for inner, outer in ((row[0], row[1]), (row[1], row[2])):
                    for slope, more in zip(slopes, jacobian(expressions, [inner.name]), strict=True):
                        slope[column] += more[0] * outer
        return slopes

    def load(self, time: str) -> dict[str, str]:
        """Code that evaluates the splines at a time."""
        return {
            symbol.name: f"spline_{what}({time}, par.spline_first[{k}], par.spline_first[{k + 1}], par.spline)"
            for k, row in enumerate(self.rows)
            for symbol, what in zip(row, ("value", "slope", "curvature"), strict=True)
        }


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
            self.symbols.append(sympy.Symbol(f"constant {len(self.symbols)}", real=True))  # no user's name has a space
        return self.symbols[self.expressions.index(expression)]


def _tags(expression: sympy.Expr, positions: Symbols, momenta: Symbols, through: Splines) -> tuple[str, ...]:
    """The form of this function of (q, p), from its first and second derivatives."""
    names = [x.name for x in (*positions, *momenta)]
    moving = {*positions, *momenta, *through.symbols}
    first = through.jacobian([expression], names)[0]
    if all(not d.free_symbols & moving for d in first):
        return ("linear", "bilinear", "quadratic")
    second = through.jacobian(first, names)
    if any(d.free_symbols & moving for row in second for d in row):
        return ()
    half = len(positions)
    same = [second[i][j] for i in range(2 * half) for j in range(2 * half) if (i < half) == (j < half)]
    return ("bilinear", "quadratic") if all(d == 0 for d in same) else ("quadratic",)
