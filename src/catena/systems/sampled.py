"""Functions of time from users: a text in t, or a table of samples with a cubic spline through it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from ..errors import InputError
from ..expressions import parse
from ..expressions.values import value_at
from ..kernels.marks import Numbers, within
from ..text.plain import Json
from .base import Array
from .numbers import finite_number, finite_numbers

TIME = "t"
KNOT, CUBIC, SQUARE, LINEAR, CONSTANT = 0, 1, 2, 3, 4  # columns of par.spline
LEAST_SAMPLES = 4  # of a spline without a kink at the first and last inner knot ("not-a-knot")


@dataclass(frozen=True, eq=False)
class Sampled:
    """A function of time as a table of samples: the cubic spline through them, with the "not-a-knot" condition at both
    ends.

    It can replace any text in t, and is stored with the run. It has two continuous derivatives, so a method of order
    above 3 keeps its order only if all knots are at ends of steps. The table is not extrapolated: a run must end within
    it.

    Parameters
    ----------
    times : (m,) increasing, four or more
    values : (m,)

    Examples
    --------
    >>> import catena as ct
    >>> push = ct.Sampled([0.0, 1.0, 2.0, 3.0, 4.0], [0.0, 1.0, 8.0, 27.0, 64.0])
    >>> push.at(1.5)
    3.375
    """

    times: ArrayLike
    values: ArrayLike

    smoothness: ClassVar[int] = 2  # continuous derivatives

    def __post_init__(self) -> None:
        times = finite_numbers(self.times, (None,), where="Sampled.times")
        values = finite_numbers(self.values, (None,), where="Sampled.values")
        if len(times) != len(values) or len(times) < LEAST_SAMPLES:
            raise InputError(
                f"{len(times)} times and {len(values)} values", where="Sampled",
                do=f"give as many values as times, {LEAST_SAMPLES} or more",
            )  # fmt: skip
        wrong = np.flatnonzero(np.diff(times) <= 0.0)
        if len(wrong):
            k = int(wrong[0]) + 1
            raise InputError(
                f"times[{k}] = {times[k]:g} is not after times[{k - 1}] = {times[k - 1]:g}", where="Sampled.times",
                do="give increasing times; a jump has two values at one time, and no spline goes through it",
            )  # fmt: skip
        for name, array in (("times", times), ("values", values)):
            array.flags.writeable = False
            object.__setattr__(self, name, array)

    @property
    def knots(self) -> Array:
        """The times of the samples."""
        assert isinstance(self.times, np.ndarray)
        return self.times

    @property
    def inner_knots(self) -> Array:
        """Times at which the third derivative jumps: all knots except the first two and the last two."""
        return self.knots[2:-2]

    @cached_property
    def rows(self) -> Array:
        """(m - 1, 5) for each piece, its start and its coefficients, cubic first."""
        from scipy.interpolate import CubicSpline

        spline = CubicSpline(self.knots, self.values)
        return np.column_stack([self.knots[:-1], spline.c.T])

    def at(self, t: float) -> float:
        """The value at a time within the table."""
        t = finite_number(t, "Sampled.at, t")
        if not self.knots[0] <= t <= self.knots[-1]:
            raise InputError(
                f"t = {t:g}, but the table has values from {self.knots[0]:g} to {self.knots[-1]:g} only", where="Sampled.at",
                do="ask for a time within the table",
            )  # fmt: skip
        return float(spline_value(t, 0, len(self.rows), self.rows))

    def describe(self) -> dict[str, Json]:
        """The description in a case."""
        return {"times": self.knots.tolist(), "values": np.asarray(self.values).tolist()}


InTime: TypeAlias = "float | str | Sampled"
GivenInTime: TypeAlias = "float | str | Sampled | Mapping[str, object]"


def in_time(given: object, where: str, names: Sequence[str] = ()) -> InTime:
    """A number, a text in t (and these names) that depends on t, or a table, from a user or a case.

    A text without t becomes a number.
    """
    if isinstance(given, Sampled):
        return given
    if isinstance(given, Mapping):
        if set(given) != {"times", "values"}:
            raise InputError(f"{dict(given)!r}", where=where, do="give times and values, or a text in t")
        try:
            return Sampled(given["times"], given["values"])
        except InputError as error:
            raise InputError(error.wrong, where=error.where.replace("Sampled", where), do=error.do) from None
    if isinstance(given, str):
        tree = parse(given, [TIME, *names], what=where)
        return given if tree.names else value_at(tree, {})
    return float(finite_numbers(given, (), where=where, do="give a number, a text in t, or Sampled(times, values)"))


def components(given: object, count: int, where: str) -> tuple[InTime, ...]:
    """This many numbers, texts in t or tables."""
    if isinstance(given, str) or not isinstance(given, (Sequence, np.ndarray)) or len(given) != count:
        raise InputError(f"{given!r}", where=where, do=f"give {count} numbers, texts in t, or tables")
    return tuple(in_time(one, f"{where}[{k}]") for k, one in enumerate(given))


def depends_on_time(given: object) -> bool:
    """Whether it is not a number."""
    return isinstance(given, (str, Sampled))


def describe_in_time(given: InTime) -> Json:
    """The description in a case."""
    return given.describe() if isinstance(given, Sampled) else given


def write_in_time(given: InTime, outputs: Sequence[str], number: int) -> list[str]:
    """Code for a text in t, or for table `number` in par.spline; further outputs are its derivatives."""
    if isinstance(given, Sampled):
        rows = f"par.spline_first[{number}], par.spline_first[{number + 1}], par.spline"
        return [f"{out} = {name}(t, {rows})" for out, (name, _) in zip(outputs, SPLINES, strict=False)]
    from ..expressions import jacobian, to_sympy, write_lines

    values = [to_sympy(parse(str(given), [TIME]))]
    for _ in outputs[1:]:
        values.append(jacobian([values[-1]], [TIME])[0][0])
    return write_lines(list(zip(outputs, values, strict=True)), {TIME: "t"})


def spline_arrays(tables: Sequence[Sampled]) -> dict[str, Numbers]:
    """par.spline, the pieces of all tables, and par.spline_first, the first row of each table, and the end."""
    first = np.cumsum([0, *(len(table.rows) for table in tables)])
    return {"spline": np.concatenate([table.rows for table in tables]), "spline_first": first.astype(np.int64)}


def span_of(tables: Sequence[Sampled]) -> tuple[float, float]:
    """The time span in which all tables have values."""
    starts, ends = [float(table.knots[0]) for table in tables], [float(table.knots[-1]) for table in tables]
    return max(starts, default=-math.inf), min(ends, default=math.inf)


# Kernels ------------------------------------------------------------------------------------------------------------


@within
def spline_piece(t, start, end, spline):
    """The row of the piece that contains t, by bisection; the first and the last piece extend beyond the table."""
    low = start
    high = end
    while high - low > 1:
        middle = (low + high) // 2
        if spline[middle, KNOT] <= t:
            low = middle
        else:
            high = middle
    return low


def spline_value(t, start, end, spline):
    """The value at t of the spline in rows start..end."""
    row = spline[spline_piece(t, start, end, spline)]
    x = t - row[KNOT]
    return ((row[CUBIC] * x + row[SQUARE]) * x + row[LINEAR]) * x + row[CONSTANT]


def spline_slope(t, start, end, spline):
    """Its first derivative."""
    row = spline[spline_piece(t, start, end, spline)]
    x = t - row[KNOT]
    return (3.0 * row[CUBIC] * x + 2.0 * row[SQUARE]) * x + row[LINEAR]


def spline_curvature(t, start, end, spline):
    """Its second derivative."""
    row = spline[spline_piece(t, start, end, spline)]
    return 6.0 * row[CUBIC] * (t - row[KNOT]) + 2.0 * row[SQUARE]


SPLINES = (("spline_value", spline_value), ("spline_slope", spline_slope), ("spline_curvature", spline_curvature))
