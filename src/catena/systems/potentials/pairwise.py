"""The base class of pair potentials V(r), and their sums."""

from __future__ import annotations

import dataclasses
import functools
import math
import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import FunctionType, ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...errors import InputError
from ...kernels import elementary
from ...kernels.marks import Filling, Kernel, Written
from ...registry import Registry
from ...text.plain import Json
from ..numbers import finite_number, real_array
from ..sampled import InTime, Sampled, depends_on_time, describe_in_time, in_time
from .wells import Well, find_well

if TYPE_CHECKING:
    from .link_potentials import Linkwise, Potential
    from .pair_table import PairTable

Quantity = Literal["energy", "force", "slope"]
NO_TYPE = "none"  # type of particles that do not interact
FEW = 64  # distances; for fewer, computing all at once does not pay
# for a smaller change of s, the quotient has lost more digits than it differs from the derivative in the middle
MEAN_OF_DIFFERENCES = """\
def mean_of_differences(s0, s1, at, par):
    if abs(s1 - s0) <= 1e-6 * s1:
        return force(0.5 * (s0 + s1), at, par)
    return -2.0 * (energy(s1, at, par) - energy(s0, at, par)) / (s1 - s0)
"""
Kind = TypeVar("Kind", bound="type[Pairwise] | type[PairTable] | type[Linkwise]")


class OfParameters(ABC):
    """Base class of pair and link potentials: frozen dataclasses whose kernels read constants from par."""

    __dataclass_fields__: ClassVar[dict[str, dataclasses.Field[object]]]
    timed: ClassVar[tuple[str, ...]] = ()  # parameters that may be a text in t or a table, in chains

    def _take(self, *names: str, **bounds: float) -> None:
        """Replace the given parameters of these names by numbers within bounds, or by functions of time."""
        for name in names:
            value = number_or_in_time(getattr(self, name), f"{type(self).__name__}.{name}", **bounds)
            object.__setattr__(self, name, value)

    @property
    @abstractmethod
    def constants(self) -> tuple[float, ...]:
        """The numbers that the kernels read from par.pair, or from par.link."""

    @property
    def smoothness(self) -> float:
        """Number of continuous derivatives of V; it limits the order at which a method converges."""
        return math.inf

    @abstractmethod
    def describe(self) -> dict[str, Json]:
        """The description in a case: JSON from which the same potential is made again."""

    def at(self, t: float) -> Self:
        """The potential with the values of its parameters at time t."""
        from .in_time import numbers_at

        return numbers_at(self, t)


class Pairwise(OfParameters):
    """Base class of the potentials V(r) of two particles: frozen dataclasses that add with +.

    A subclass gives `constants` and the kernels that read them; parameters change constants, never kernels, so that
    other values need no recompilation.
    """

    @abstractmethod
    def kernel(self, quantity: Quantity) -> Kernel:
        """Kernel (s, at, par) of s = r^2: V, A = -(dV/dr)/r or dA/ds; its constants are in par.pair from `at` on."""

    def mean_kernel(self) -> Kernel:
        """Kernel (s0, s1, at, par): the discrete A of energy-conserving steps, -2 (V1 - V0)/(s1 - s0); shorter for
        rational V."""
        uses = (("energy", self.kernel("energy")), ("force", self.kernel("force")))
        return Written("mean_of_differences", MEAN_OF_DIFFERENCES, __name__, uses)

    @property
    def reach(self) -> float:
        """Distance beyond which there is neither energy nor force; inf if it never ends."""
        return math.inf

    @cached_property
    def well(self) -> Well:
        """The resting distance, and the strength and range of the attraction there."""
        require_numbers(self)
        return self._find_well()

    @property
    def length(self) -> float:
        """Resting distance of the particles; 0 if there is none. Half of it is too close for a start."""
        return self.well.minimum

    @property
    def cohesion(self) -> float:
        """The largest attraction beyond that distance; 0 if nothing attracts, inf if it is unbounded."""
        return self.well.cohesion

    @property
    def torn_distance(self) -> float:
        """Distance at which the force has fallen to 1e-3 of the cohesion; inf if never, or if nothing attracts."""
        return self.well.reach

    def _find_well(self) -> Well:
        """By a formula, or by a search if there is none."""
        return find_well(self._plain_force())

    def energy(self, r: ArrayLike) -> NDArray[np.float64]:
        """V(r) for distances of any shape; nan where V is undefined."""
        return self._values("energy", r)

    def force(self, r: ArrayLike) -> NDArray[np.float64]:
        """-dV/dr, positive where the particles repel; nan where V is undefined."""
        return self._values("force", r)

    def is_defined(self, distance: float) -> bool:
        """Whether V has a value at a distance; it has none if two particles coincide."""
        return distance > 0.0 and bool(np.isfinite(self.energy(distance)))

    def between(self, first: int | str, second: int | str) -> Pairwise | None:
        """The potential between particles of two types: this one for all except "none"."""
        return None if NO_TYPE in (first, second) else self

    def describe(self) -> dict[str, Json]:
        """The description in a case: JSON from which `pair_potential_from` makes the same potential."""
        fields = dataclasses.fields(self)
        return {"kind": type(self).__name__} | {f.name: describe_in_time(getattr(self, f.name)) for f in fields}

    @classmethod
    def from_arguments(cls, arguments: Mapping[str, object]) -> Potential:
        """The potential from the JSON of `describe`, without its kind."""
        return cls(**arguments)

    def __add__(self, other: Pairwise) -> PotentialSum:
        return PotentialSum((self, other)) if isinstance(other, Pairwise) else NotImplemented

    def _plain(self, quantity: Quantity) -> Callable[[float], float]:
        """A kernel as a Python function of r; nan where it is undefined."""
        require_numbers(self)
        kernel = interpret(self.kernel(quantity))
        par = SimpleNamespace(pair=self.constants)
        return lambda r: value_or_nan(kernel, r * r, 0, par)

    def _plain_force(self) -> Callable[[float], float]:
        energy, force = self._plain("energy"), self._plain("force")
        # the derivative of a logarithm also exists where the logarithm does not
        return lambda r: math.nan if math.isnan(energy(r)) else force(r) * r

    def _values(self, quantity: Literal["energy", "force"], r: ArrayLike) -> NDArray[np.float64]:
        try:
            distances = real_array(r)
        except TypeError as refusal:
            raise InputError(
                f"r is not an array of numbers: it has {refusal}", where=type(self).__name__, do="give positive, finite distances"
            ) from None  # fmt: skip
        if not ((distances > 0) & np.isfinite(distances)).all():
            raise InputError(f"r = {r!r}", where=type(self).__name__, do="give positive, finite distances")
        require_numbers(self)
        plain = self._plain("energy") if quantity == "energy" else self._plain_force()
        flat = distances.ravel()
        found = np.full(flat.shape, np.nan)
        if flat.size > FEW:
            par = SimpleNamespace(pair=self.constants)
            energy, force = (at_once(interpret(self.kernel(part)), flat * flat, 0, par) for part in ("energy", "force"))
            if energy is not None and force is not None:
                found = np.where(np.isfinite(energy), energy if quantity == "energy" else force * flat, np.nan)
        odd = ~np.isfinite(found)  # also those that cannot be computed at once
        found[odd] = [plain(x) for x in flat[odd].tolist()]
        return found.reshape(distances.shape)[()]


POTENTIALS: Registry[type[Any]] = Registry("potential", group="catena.potentials", home=__package__)
register = POTENTIALS.register


def potential_from(description: object) -> Potential:
    """The potential of any kind, of pairs, links, or both, from the JSON of `describe` or from a case."""
    if not isinstance(description, Mapping) or not isinstance(description.get("kind"), str):
        raise InputError(
            f"{description!r} describes no potential", where="potential",
            do='write it as {"kind": "LennardJones", "epsilon": 1.0, "sigma": 1.0}',
        )  # fmt: skip
    kind, arguments = POTENTIALS.described(description)
    return kind.from_arguments(arguments)


class Summed(OfParameters):
    """Base class of sums of potentials, of pairs or of links."""

    terms: tuple[OfParameters, ...]

    @property
    def constants(self) -> tuple[float, ...]:
        return tuple(constant for term in self.terms for constant in term.constants)

    @property
    def smoothness(self) -> float:
        return min(term.smoothness for term in self.terms)

    def describe(self) -> dict[str, Json]:
        return {"kind": "PotentialSum", "terms": [term.describe() for term in self.terms]}


@register
@dataclass(frozen=True)
class PotentialSum(Summed, Pairwise):
    """V_1 + V_2 + ..., made by `+`.

    Examples
    --------
    >>> from catena.systems.potentials.pair_potentials import LennardJones, Yukawa
    >>> charged = LennardJones(1.0, 1.0) + Yukawa(2.0, 0.5)
    >>> round(float(charged.energy(1.0)), 6)
    1.213061
    """

    terms: tuple[Pairwise, ...]
    timed = ("terms",)

    def __post_init__(self) -> None:
        terms: list[Pairwise] = []
        for term in self.terms:
            if not isinstance(term, Pairwise):
                raise InputError(f"{term!r} is no pair potential", where="PotentialSum", do="add potentials of r")
            terms += term.terms if isinstance(term, PotentialSum) else [term]
        if not terms:
            raise InputError("a sum of no potentials", where="PotentialSum.terms", do="give at least one")
        object.__setattr__(self, "terms", tuple(terms))

    def kernel(self, quantity: Quantity) -> Written:
        return self._sum(f"sum_{quantity}", "s", [term.kernel(quantity) for term in self.terms])

    def mean_kernel(self) -> Written:
        return self._sum("sum_mean", "s0, s1", [term.mean_kernel() for term in self.terms])

    def _sum(self, name: str, places: str, kernels: Sequence[Kernel]) -> Written:
        """The sum of the kernels of the terms."""
        calls, uses, width = [], [], 0
        for number, (term, kernel) in enumerate(zip(self.terms, kernels, strict=True)):
            uses.append((f"term{number}", kernel))
            calls.append(f"term{number}({places}, at + {width}, par)")
            width += len(term.constants)
        return Written(name, f"def {name}({places}, at, par):\n    return {' + '.join(calls)}", __name__, tuple(uses))

    @property
    def reach(self) -> float:
        return max(term.reach for term in self.terms)

    @property
    def length(self) -> float:
        """The smallest length of the terms that have one."""
        return min((term.length for term in self.terms if term.length > 0), default=0.0)

    @classmethod
    def from_arguments(cls, arguments: Mapping[str, object]) -> Potential:
        """The sum of the terms: with tables or link potentials among them it is not a sum of pair potentials."""
        terms = arguments["terms"]
        if not isinstance(terms, (list, tuple)) or not terms:
            raise InputError(f"terms = {terms!r}", where="PotentialSum.terms", do="give a list of potentials")
        return functools.reduce(operator.add, map(potential_from, terms))


def interpret(kernel: Filling, functions: ModuleType | SimpleNamespace = elementary) -> FunctionType:
    """A kernel as a plain Python function: the text of a generated one is executed as it is.

    With `functions=numpy` it takes arrays, unless it branches on them; its functions may then differ in the last digit.
    """
    if isinstance(kernel, Written):
        return _plain(kernel) if functions is elementary else _run(kernel, functions)
    assert isinstance(kernel, FunctionType)
    if functions is elementary:
        return kernel
    known = kernel.__globals__
    called = [name for name in kernel.__code__.co_names if isinstance(known.get(name), FunctionType)]
    changed = {"math": functions} | {name: interpret(known[name], functions) for name in called}
    return FunctionType(kernel.__code__, known | changed)


def value_or_nan(function: Callable[..., float], *arguments: object) -> float:
    """The value of a kernel that Python runs; nan where it is undefined."""
    try:
        return float(function(*arguments))
    except (ZeroDivisionError, ValueError, OverflowError):
        return math.nan


def _run(kernel: Written, functions: ModuleType | SimpleNamespace) -> FunctionType:
    namespace: dict[str, object] = {"math": functions}
    namespace |= {name: interpret(used, functions) for name, used in kernel.uses}
    exec(compile(kernel.text, "<written>", "exec"), namespace)
    made = namespace[kernel.name]
    assert isinstance(made, FunctionType)
    return made


@functools.lru_cache(
    maxsize=128
)  # cached: every run evaluates the energy of its start, which takes less time than making the function
def _plain(kernel: Written) -> FunctionType:
    return _run(kernel, elementary)


def at_once(
    kernel: FunctionType, s: NDArray[np.float64], number: int, par: SimpleNamespace
) -> NDArray[np.float64] | None:
    """A kernel of s = r^2 at many places by one call, if it consists of arithmetic only; otherwise None."""
    try:
        with np.errstate(all="ignore"):
            return np.broadcast_to(kernel(s, number, par), s.shape)
    except (TypeError, ValueError):  # functions of `math`, and branches, take only one number
        return None


def check(value: object, where: str, *, least: float | None = None, above: float | None = None) -> float:
    """A finite number within its bounds."""
    number = finite_number(value, where)
    if above is not None and not number > above:
        raise InputError(f"{where.split('.')[-1]} = {number:g}", where=where, do=f"give a number above {above:g}")
    if least is not None and not number >= least:
        raise InputError(f"{where.split('.')[-1]} = {number:g}", where=where, do=f"give a number from {least:g} on")
    return number


def number_or_in_time(value: object, where: str, **bounds: float) -> InTime:
    """A finite number within its bounds; or a text in t, or a table, whose values are checked when they are used."""
    if isinstance(value, (str, Sampled, Mapping)):
        value = in_time(value, where)
    return value if isinstance(value, (str, Sampled)) else check(value, where, **bounds)


def list_timed_values(potential: OfParameters) -> dict[str, InTime]:
    """The parameters of a potential that may depend on time, by name, vectors by components, with inner potentials."""
    found: dict[str, InTime] = {}
    for name in potential.timed:
        given = getattr(potential, name)
        if isinstance(given, Mapping):
            found |= given
        elif isinstance(given, Pairwise):
            found |= {f"{name}.{own}": value for own, value in list_timed_values(given).items()}
        elif isinstance(given, tuple) and given and isinstance(given[0], Pairwise):
            for k, inner in enumerate(given):
                found |= {f"{name}[{k}].{own}": value for own, value in list_timed_values(inner).items()}
        elif isinstance(given, tuple):
            found |= {f"{name}[{k}]": part for k, part in enumerate(given)}
        else:
            found[name] = given
    return found


def require_numbers(potential: Pairwise | Linkwise) -> None:
    """InputError if a potential depends on time but its values are needed."""
    for name, value in list_timed_values(potential).items():
        if depends_on_time(value):
            raise InputError(
                f"{name} depends on time", where=type(potential).__name__, do="ask at a time: potential.at(t)"
            )
