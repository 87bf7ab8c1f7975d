"""Potentials whose parameters depend on time: texts in t, or sampled tables, instead of numbers.

A chain evaluates such a potential at each time with the values of its parameters then, and its clock accumulates dV/dt
= sum_i dV/dp_i p_i' (page "Driven systems"). Constants and rates are derived from what the potential already has: its
constants and the kernel of its energy, which are run with symbols for the parameters.
"""

from __future__ import annotations

import dataclasses
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import SimpleNamespace
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from ...errors import CapabilityError, InputError
from ...expressions import parse
from ...expressions.values import value_at
from ...kernels.marks import Filling, Kernel
from ...text.plain import Json
from ..sampled import TIME, InTime, Sampled, depends_on_time, span_of
from .elastic import Elastic
from .link_potentials import ROTATION, LinkKernel, LinkSum, Linkwise, MixedPotential, Potential
from .pair_table import PairTable
from .pairwise import OfParameters, Pairwise, PotentialSum, Quantity, interpret, list_timed_values
from .wells import Well

if TYPE_CHECKING:
    import sympy


class Piece(NamedTuple):
    """A formula of a potential, and its domain: comparisons of the squared distance with expressions, with results."""

    where: tuple[tuple[str, sympy.Expr, bool], ...]
    value: sympy.Expr


One = TypeVar("One", bound="OfParameters")
Kind = TypeVar("Kind", bound="Pairwise | Linkwise")
LATER = (0.0, 0.1, 1.0, 10.0)
SQUARE = "s"  # the square of a distance, in expressions


def numbers_at(potential: One, t: float) -> One:
    """The potential with the values of its parameters at time t."""
    numbers = {name: number_at(value, t) for name, value in list_timed_values(potential).items()}
    return _with_numbers(potential, numbers)


def _with_numbers(potential: One, numbers: Mapping[str, object]) -> One:
    return dataclasses.replace(potential, **_fields(potential, numbers, _with_numbers))


def _with_symbols(potential: One, symbols: Mapping[str, object]) -> One:
    """The potential with symbols instead of numbers: nothing is checked, and only its constants may be used."""
    twin = object.__new__(type(potential))
    twin.__dict__.update({name: value for name, value in vars(potential).items() if name != "constants"})
    twin.__dict__.update(_fields(potential, symbols, _with_symbols))
    text = getattr(potential, "constants_kernel", None)
    if text is not None:
        ordered = tuple(twin.__dict__["parameters"].values())
        twin.__dict__["_constants"] = (*ordered, *interpret(text, _functions())(ordered))
    return twin


def number_at(value: InTime, t: float) -> float:
    """The value of a parameter at time t."""
    if isinstance(value, Sampled):
        return value.at(t)
    return value_at(parse(value, [TIME]), {TIME: t}) if isinstance(value, str) else value


def _fields(
    potential: OfParameters,
    values: Mapping[str, object],
    make: Callable[[Pairwise, Mapping[str, object]], Pairwise],
) -> dict[str, object]:
    """The fields of a potential with other values of the parameters that may depend on time, named as in
    `list_timed_values`.

    `make` sets these values in potentials inside it.
    """

    def inside(inner: Pairwise, prefix: str) -> Pairwise:
        return make(inner, {own.removeprefix(prefix): value for own, value in values.items() if own.startswith(prefix)})

    found: dict[str, object] = {}
    for name in potential.timed:
        given = getattr(potential, name)
        if isinstance(given, Mapping):
            found[name] = {key: values[key] for key in given}
        elif isinstance(given, Pairwise):
            found[name] = inside(given, f"{name}.")
        elif isinstance(given, tuple) and given and isinstance(given[0], Pairwise):
            found[name] = tuple(inside(inner, f"{name}[{k}].") for k, inner in enumerate(given))
        elif isinstance(given, tuple):
            found[name] = tuple(values[f"{name}[{k}]"] for k in range(len(given)))
        else:
            found[name] = values[name]
    return found


class Moving(ABC, Generic[Kind]):
    """A potential that depends on time, as a chain uses it: its numbers at one time, and their rates. Base class of the
    two kinds.

    Attributes
    ----------
    given : the potential with its texts and tables
    """

    given: Kind

    @cached_property
    def now(self) -> Kind:
        """The potential with its numbers at the first time."""
        return self.at_first(self.given)

    @property
    def constants(self) -> tuple[float, ...]:
        """The constants at the first time."""
        return self.now.constants

    @property
    def smoothness(self) -> float:
        """Number of continuous derivatives by the distance."""
        return self.now.smoothness

    @property
    def torn_distance(self) -> float:
        """The distance at the first time."""
        return self.now.torn_distance

    def describe(self) -> dict[str, Json]:
        """The description of the given potential."""
        return self.given.describe()

    @property
    def timed_parameters(self) -> dict[str, InTime]:
        """All parameters that may depend on time, by name."""
        return list_timed_values(self.given)

    @property
    def tables(self) -> tuple[Sampled, ...]:
        """The tables among them."""
        return tuple(value for value in self.timed_parameters.values() if isinstance(value, Sampled))

    def at_first(self, potential: One) -> One:
        """The numbers at the time nearest to 0 at which all tables have values; slightly later without tables, since V
        may start from zero.

        Wells and frequencies are evaluated there.
        """
        low, high = span_of(self.tables)
        refusals: list[InputError] = []
        for later in LATER:
            try:
                return numbers_at(potential, min(max(0.0, low) + later, high))
            except InputError as refusal:
                refusals.append(refusal)
        raise refusals[0]

    def constants_of(self, symbols: Mapping[str, sympy.Symbol]) -> list[sympy.Expr]:
        """The constants of the kernels, as expressions in the parameters."""
        import sympy

        return [sympy.sympify(constant) for constant in _with_symbols(self.given, symbols).constants]

    def energy_of(self, symbols: Mapping[str, sympy.Symbol]) -> list[Piece]:
        """V, as expressions in the parameters and the squared distance, or d and Q, each with its domain."""
        constants = self.constants_of(symbols)
        try:
            return self._energy(constants)
        except (TypeError, AttributeError) as branch:
            raise CapabilityError(
                f"{self.given} cannot depend on time: its energy is more than one formula ({branch})",
                where="Chain.potential", do="write it as a PairPotential or LinkPotential",
            ) from None  # fmt: skip

    @abstractmethod
    def _energy(self, constants: Sequence[sympy.Expr]) -> list[Piece]: ...


@dataclass(frozen=True)
class MovingPair(Moving[Pairwise], Pairwise):
    """A pair potential that depends on time; all other properties are those of its numbers at one time."""

    given: Pairwise

    def kernel(self, quantity: Quantity) -> Kernel:
        return self.now.kernel(quantity)

    def _find_well(self) -> Well:
        return self.now.well

    @property
    def length(self) -> float:
        """The length, which is not always that of the well: a sum has the smallest of its terms."""
        return self.now.length

    @property
    def reach(self) -> float:
        """Infinite, since the reach may grow."""
        return math.inf

    def _energy(self, constants: Sequence[sympy.Expr]) -> list[Piece]:
        kernel = interpret(self.now.kernel("energy"), _functions())
        return pieces_of(lambda s: kernel(s, 0, SimpleNamespace(pair=constants)))


@dataclass(frozen=True)
class MovingLink(Moving[Linkwise], Linkwise):
    """A link potential that depends on time."""

    given: Linkwise

    def part(self, name: LinkKernel) -> Kernel:
        return self.now.part(name)

    @property
    def strained(self) -> tuple[list[str], tuple[tuple[str, Filling], ...]]:
        """Lines before its rate, and the kernels that they call: none unless it is a formula in a strain."""
        return self.now.strained if isinstance(self.now, Elastic) else ([], ())

    def _energy(self, constants: Sequence[sympy.Expr]) -> list[Piece]:
        import sympy

        if isinstance(self.now, Elastic):
            return [Piece((), self.now.in_strain(constants))]
        names = ("d1", "d2", "d3", *(name.lower() for name in ROTATION))
        kernel = interpret(self.now.part("link_energy"), _functions())
        found = kernel(*(sympy.Symbol(name, real=True) for name in names), 0, SimpleNamespace(link=constants))
        return [Piece((), sympy.sympify(found))]


def pieces_of(energy: Callable[[sympy.Symbol], object]) -> list[Piece]:
    """All formulas of a function of the squared distance s that branches by comparing s with something."""
    import sympy

    class Asked(sympy.Symbol):  # type: ignore[misc]
        """A symbol s that answers comparisons with a given sequence of results, then with False."""

        def __ge__(self, other: object) -> bool:
            return answer(">=", other)

        def __gt__(self, other: object) -> bool:
            return answer(">", other)

        def __le__(self, other: object) -> bool:
            return answer("<=", other)

        def __lt__(self, other: object) -> bool:
            return answer("<", other)

    def answer(sign: str, other: object) -> bool:
        reply = answered[len(asked)] if len(asked) < len(answered) else False
        asked.append((sign, sympy.sympify(other).xreplace({s: plain}), reply))
        return reply

    s, plain = Asked(SQUARE, positive=True), sympy.Symbol(SQUARE, positive=True)
    found: list[Piece] = []
    unanswered: list[tuple[bool, ...]] = [()]
    while unanswered:
        answered, asked = unanswered.pop(), list[tuple[str, sympy.Expr, bool]]()
        value = sympy.sympify(energy(s)).xreplace({s: plain})
        found.append(Piece(tuple(asked), value))
        replies = tuple(yes for *_, yes in asked)
        unanswered += [(*replies[:k], True) for k in range(len(answered), len(replies))]
    return found


def follow(potential: Potential) -> Potential:
    """The potential with its time-dependent parts as `Moving`; the same object if there are none."""
    if isinstance(potential, MixedPotential):
        pairs, links = follow(potential.pairs), follow(potential.links)
        assert isinstance(pairs, Pairwise | PairTable) and isinstance(links, Linkwise)
        same = pairs is potential.pairs and links is potential.links
        return potential if same else MixedPotential(pairs, links)
    if isinstance(potential, PairTable):
        made = {types: None if one is None else _follow_pair(one) for types, one in potential.pairs.items()}
        return potential if all(made[types] is one for types, one in potential.pairs.items()) else PairTable(made)
    return _follow_pair(potential) if isinstance(potential, Pairwise) else _follow_link(potential)


def _follow_pair(potential: Pairwise) -> Pairwise:
    if isinstance(potential, PotentialSum):
        terms = tuple(map(_follow_pair, potential.terms))
        return potential if all(map(_is, terms, potential.terms)) else PotentialSum(terms)
    return MovingPair(potential) if _moves(potential) else potential


def _follow_link(potential: Linkwise) -> Linkwise:
    if isinstance(potential, LinkSum):
        terms = tuple(map(_follow_link, potential.terms))
        if all(map(_is, terms, potential.terms)):
            return potential
        if potential.links is not None:
            raise CapabilityError(
                "a sum of a potential for each link and of one that depends on time", where="Chain.potential",
                do="give the one that depends on time alone, or for each link by itself",
            )  # fmt: skip
        return LinkSum(terms)
    return MovingLink(potential) if _moves(potential) else potential


def _moves(potential: Pairwise | Linkwise) -> bool:
    return any(map(depends_on_time, list_timed_values(potential).values()))


def _is(one: object, other: object) -> bool:
    return one is other


def _functions() -> SimpleNamespace:
    """Functions on symbols, by the names that kernels use."""
    import sympy

    names = ("sqrt", "exp", "log", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh")
    return SimpleNamespace(**{name: getattr(sympy, name) for name in names}, pow=lambda base, power: base**power)
