"""Reductions: what is kept of the samples of a member instead of the samples: means, extremes, histograms, crossings,
or a user's kernel.

They are computed inside the loop, so memory does not grow with the number of samples: the start and every `every`-th
step count.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields

import numpy as np

from ...engine import reducing
from ...errors import InputError, unknown_word
from ...expressions import parse, to_sympy, write_lines
from ...kernels.marks import Kernel, Written
from ...systems.base import Array, System
from ...systems.numbers import finite_number
from ...text.plain import Json
from ..plan import positive_integer

MOST_BINS = 10_000


@dataclass(frozen=True)
class Reduction(ABC):
    """Base class: the quantity, the numbers kept of it for each member, and the results made from these.

    Parameters
    ----------
    text : expression in the names of the state, the invariants, t and the parameters
    """

    text: str

    def __post_init__(self) -> None:
        if not isinstance(self.text, str):
            raise InputError(f"{self.text!r} is not a text", where="reduce", do='write an expression, such as "q1**2"')

    @abstractmethod
    def _take(self) -> Kernel:
        """Kernel (value, t, kept), see `catena.engine.reducing`."""

    @abstractmethod
    def first(self) -> list[float]:
        """The numbers kept before the first sample."""

    @abstractmethod
    def columns(self, kept: Array) -> dict[str, Array]:
        """The results (members, ...), by the suffix of their names, from the numbers kept (members, n)."""

    def describe(self) -> dict[str, Json]:
        """As JSON, from which `reduction_from` makes it again."""
        return {"kind": type(self).__name__, **{f.name: getattr(self, f.name) for f in fields(self)}}


@dataclass(frozen=True)
class Mean(Reduction):
    """The mean over all samples.

    Examples
    --------
    >>> import catena as ct
    >>> pendulum = ct.problems.pendulum()
    >>> many = ct.ensemble(pendulum, [pendulum.start] * 2, steps=500, reduce={"speed": ct.Mean("p**2")})
    >>> many.reduced.speed.sizes["member"]
    2
    """

    def _take(self) -> Kernel:
        return reducing.take_mean

    def first(self) -> list[float]:
        return [0.0, 0.0, 0.0]

    def columns(self, kept: Array) -> dict[str, Array]:
        return {"": kept[:, 1] / np.maximum(kept[:, 0], 1.0)}  # no division by zero before the first sample


@dataclass(frozen=True)
class Extremes(Reduction):
    """The lowest and the highest value, and when they first occurred: `name_low`, `name_low_time`, `name_high`, `name_high_time`."""

    def _take(self) -> Kernel:
        return reducing.take_extremes

    def first(self) -> list[float]:
        return [np.inf, np.nan, -np.inf, np.nan]

    def columns(self, kept: Array) -> dict[str, Array]:
        return {
            behind: kept[:, place] for place, behind in enumerate(("_low", "_low_time", "_high", "_high_time"))
        }  # fmt: skip


@dataclass(frozen=True)
class Histogram(Reduction):
    """Number of samples in each of the bins of equal width between low and high: `name`; and `name_below`, `name_above`.

    Parameters
    ----------
    text : the quantity
    low, high : the ends; low belongs to the first bin, high to none
    bins : number of bins
    """

    low: float
    high: float
    bins: int = 50

    def __post_init__(self) -> None:
        super().__post_init__()
        low, high = finite_number(self.low, "Histogram.low"), finite_number(self.high, "Histogram.high")
        if not low < high:
            raise InputError(f"low = {low:g} is not below high = {high:g}", where="Histogram", do="exchange them")
        if positive_integer(self.bins, "Histogram.bins") > MOST_BINS:
            raise InputError(f"bins = {self.bins}", where="Histogram.bins", do=f"use {MOST_BINS} at most")

    def _take(self) -> Kernel:
        return reducing.take_histogram

    def first(self) -> list[float]:
        return [self.low, self.bins / (self.high - self.low), *[0.0] * (self.bins + 2)]

    def columns(self, kept: Array) -> dict[str, Array]:
        return {"": kept[:, 3:-1], "_below": kept[:, 2], "_above": kept[:, -1]}


@dataclass(frozen=True)
class LastCrossing(Reduction):
    """When the quantity last crossed zero (nan if never), and how often: `name_time`, `name_count`.

    Between two samples the quantity is interpolated linearly; a `Section` of a single run locates crossings to the accuracy of the
    method.

    Parameters
    ----------
    text : the quantity
    direction : +1 upwards, -1 downwards, 0 both
    """

    direction: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.direction not in (-1, 0, 1):
            raise InputError(f"direction = {self.direction!r}", where="LastCrossing", do="choose +1, -1 or 0")

    def _take(self) -> Kernel:
        return reducing.take_crossing

    def first(self) -> list[float]:
        return [float(self.direction), 0.0, 0.0, 0.0, 0.0, np.nan]

    def columns(self, kept: Array) -> dict[str, Array]:
        return {"_time": kept[:, 5], "_count": kept[:, 4]}


@dataclass(frozen=True)
class Custom(Reduction):
    """A reduction by your own kernel: `name` (members, size), the numbers that it keeps.

    Parameters
    ----------
    text : the quantity
    kernel : a plain function (value, t, kept) in a file, written like a kernel: numbers, `math`, no allocation; it updates kept
    initial : the numbers kept before the first sample
    """

    kernel: Callable[[float, float, Array], object]
    initial: tuple[float, ...] = (0.0,)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not callable(self.kernel):
            raise InputError(f"{self.kernel!r} is no function", where="Custom.kernel", do="give a function of a module")
        if not isinstance(self.initial, (tuple, list, np.ndarray)) or not len(self.initial):
            raise InputError(
                f"initial = {self.initial!r} keeps nothing", where="Custom.initial", do="give the numbers, one at least, as (0.0,)"
            )  # fmt: skip

    def _take(self) -> Kernel:
        return self.kernel

    def first(self) -> list[float]:
        return [finite_number(number, "Custom.initial") for number in self.initial]

    def columns(self, kept: Array) -> dict[str, Array]:
        return {"": kept}

    def describe(self) -> dict[str, Json]:
        raise InputError(
            "a kernel of your own cannot be stored: who resumed it would run code that the store names",
            where="ensemble.reduce, ensemble.out", do="keep the ensemble in memory, or use reductions of catena",
        )  # fmt: skip


KINDS: dict[str, type[Reduction]] = {kind.__name__: kind for kind in (Mean, Extremes, Histogram, LastCrossing)}


def reduction_from(described: Mapping[str, object]) -> Reduction:
    """The reduction from the JSON of `describe`, or from a case."""
    arguments = dict(described)
    kind = str(arguments.pop("kind", None))
    if kind not in KINDS:
        raise unknown_word(f"kind = {kind!r} is no reduction", kind, KINDS, "reduce")
    made: Callable[..., Reduction] = KINDS[kind]
    try:
        return made(**arguments)
    except TypeError as wrong:
        raise InputError(f"{kind}: {wrong}", where="reduce", do="see the documentation of catena") from None


@dataclass(frozen=True)
class Reductions:
    """All reductions of an ensemble, by name, for one kind of system."""

    named: Mapping[str, Reduction] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, one in self.named.items():
            if not (isinstance(name, str) and name.isidentifier() and name.isascii()):
                raise InputError(
                    f"{name!r} cannot name a reduction", where="ensemble.reduce", do="use letters, digits and _"
                )
            if not isinstance(one, Reduction):
                raise InputError(
                    f"{name} = {one!r} is not a reduction", where="ensemble.reduce", do='give one, such as ct.Mean("q1")'
                )  # fmt: skip
        _require_different_names(self.named)

    @classmethod
    def of(cls, given: object) -> Reductions:
        """From the argument of a user: None, or a dictionary."""
        if given is not None and not isinstance(given, Mapping):
            raise InputError(
                f"reduce = {given!r} has no names", where="ensemble.reduce", do='give a dictionary, such as {"mean": ct.Mean("q1")}'
            )  # fmt: skip
        return cls(dict(given or {}))

    def first(self) -> Array:
        """All numbers kept before the first sample."""
        return np.array([number for one in self.named.values() for number in one.first()])

    def columns(self, kept: Array) -> dict[str, Array]:
        """All results, by name, from the numbers kept (members, n)."""
        found: dict[str, Array] = {}
        place = 0
        for name, one in self.named.items():
            width = len(one.first())
            found |= _name(name, one, kept[:, place : place + width])
            place += width
        return found

    def kernel(self, system: System) -> Written:
        """The kernel (row, t, par, kept) that adds a sample to all of them."""
        known = names_in_rows(system)
        outputs = [
            (f"value{number}", to_sympy(parse(one.text, list(known), what=f"reduce.{name}")))
            for number, (name, one) in enumerate(self.named.items())
        ]
        lines, uses, place = write_lines(outputs, known), [], 0
        for number, one in enumerate(self.named.values()):
            width = len(one.first())
            lines.append(f"take{number}(value{number}, t, kept[{place}:{place + width}])")
            uses.append((f"take{number}", one._take()))
            place += width
        text = "\n".join(["def reduce_row(row, t, par, kept):", *(f"    {line}" for line in lines)])
        return Written("reduce_row", text, __name__, tuple(uses))

    def describe(self) -> list[Json]:
        """As JSON, in their order."""
        return [{"name": name, **one.describe()} for name, one in self.named.items()]

    @classmethod
    def made_from(cls, described: Sequence[Mapping[str, object]]) -> Reductions:
        """The reductions from the JSON of `describe`."""
        without = [{key: value for key, value in one.items() if key != "name"} for one in described]
        return cls({str(one["name"]): reduction_from(rest) for one, rest in zip(described, without, strict=True)})


def _name(name: str, one: Reduction, kept: Array) -> dict[str, Array]:
    """The results of one of them, by name."""
    return {name + behind: values for behind, values in one.columns(kept).items()}


def dims_of(column: str, values: Array) -> tuple[str, ...]:
    """Names of the axes of a column after that of the members."""
    return (f"{column}_bin",) * (values.ndim - 1)


def _require_different_names(reductions: Mapping[str, Reduction]) -> None:
    """A reduction named `a` may make `a_low`, which may also be the name of another, or of its bins."""
    made_by: dict[str, str] = {}
    for name, one in reductions.items():
        made = _name(name, one, np.array([one.first()]))
        for made_name in [*made, *(dim for column, values in made.items() for dim in dims_of(column, values))]:
            if made_name in made_by:
                raise InputError(
                    f"the reductions {made_by[made_name]} and {name} both make {made_name}", where="ensemble.reduce",
                    do="call one of them otherwise",
                )  # fmt: skip
            made_by[made_name] = name


def names_in_rows(system: System) -> dict[str, str]:
    """Names that reductions may use: name -> code on (row, t, par); those of sections, and the invariants."""
    known, place = dict(system.names()), system.public_width
    for invariant in system.invariants:
        for index in np.ndindex(*invariant.shape):
            name = f"{invariant.name}[{','.join(map(str, index))}]" if index else invariant.name
            known.setdefault(name, f"row[{place}]")
            place += 1
    return known
