"""Taylor series of high order, with order and steps chosen from a tolerance: accurate to round-off.

The field of the system is recorded once as a list of operations (`series_nodes`), from which the kernels of the series
are written (`series_text`). The series determine the steps; samples are evaluated on the series and change nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf
from typing import Any

import numpy as np

from ...errors import CapabilityError, InputError
from ...kernels import fours
from ...kernels.fused import as_double, as_integer, counted, multiply_add
from ...kernels.lanes import chosen, holds
from ...kernels.marks import Filling, Slot, Written, bind, size, slot
from ...kernels.summation import put_back, save
from ...kernels.views import (
    BUFFER_FULL,
    NOT_CONVERGED,
    NOT_FINITE,
    NOT_LOCATED,
    STOPPED,
    View,
    crossing_count,
    dimension,
    field_count,
    field_end,
    observe_part,
    step,
)
from ..base import Exact, Method, Stepper, Traits, register
from .series_nodes import record
from .series_text import Writer

ROUND_OFF = 1e-17
"""Tolerance without truncation error: at 1e-16 that of a Kepler orbit still has a sign, and grows linearly."""

LARGEST = 0.5  # tolerance
ORDERS = ((1e-8, 15), (1e-13, 18), (0.0, 21))  # lower bounds of the tolerance; three orders more or less cost a tenth
MOST_EXPANSIONS = 1_000_000  # between two samples
MOST_VARIABLES = 64

FOURS = (
    fours.load_four, fours.load_same, fours.store_four, fours.same_four, fours.join_four, fours.parts_of_four, fours.add_four,
    fours.subtract_four, fours.multiply_four, fours.fuse_four,
)  # fmt: skip

# carry: whether it is known, the time since the last expansion in two numbers, how far it reaches, how many were made,
# the compensation of the state there, the table, whose row 0 is that state
KNOWN = 0
SINCE = 1
SINCE_LOW = 2
REACH = 3
MADE = 4
FIRST_LOW = 8


# tab: order and tolerance in row 0, 1/n in row 1
# work: a state, z and e, and the number of expansions in the last dt


@slot
def coefficients(t, order, inverses, par):
    """Fill the table t with the series of the solution, up to h^order, from its row 0; inverses[n] is 1/n."""


@slot
def arrive(t, order, h, low, z, e):
    """The state at h of the series in t into z + e; `low` is the compensation of row 0 of t, the state at 0."""


@size
def row_width(t):
    """Numbers in a row of the table; always replaced by a literal."""
    return t.shape[0]


def table_place(n):
    """Index in `carry` where the table begins: after `low`, aligned to 64 bytes.

    Its row 0 is the state of the last expansion.
    """
    return FIRST_LOW + (n + 7) // 8 * 8


def taylor_step(z, e, dt, par, tab, work, carry):
    """The state dt later, on the last expansion or on new ones."""
    n = dimension(z)
    order = int(tab[0, 0])
    low = carry[FIRST_LOW : table_place(n)]
    table = carry[table_place(n) :]
    work[2 * n] = 0.0
    if holds(carry[KNOWN] == 0.0):
        for k in range(n):
            table[k] = z[k]
            low[k] = e[k]
        carry[SINCE] = 0.0
        carry[SINCE_LOW] = 0.0
        carry[REACH] = expand(table, tab, par)
        carry[MADE] = 1.0
        carry[KNOWN] = 1.0
    pass_time(carry, dt)
    for _ in range(MOST_EXPANSIONS):
        reach = carry[REACH]
        if not holds(reach > 0.0):
            return NOT_FINITE
        there = abs(carry[SINCE]) <= reach
        if holds(there):
            break
        h = math.copysign(reach, carry[SINCE])
        arrive(table, order, h, low, work[0:n], work[n : 2 * n])
        for k in range(n):  # on lanes, a member that has arrived stays where it is and repeats the same expansion
            table[k] = chosen(there, table[k], work[k])
            low[k] = chosen(there, low[k], work[n + k])
        pass_time(carry, chosen(there, 0.0, -h))
        carry[REACH] = expand(table, tab, par)
        carry[MADE] += chosen(there, 0.0, 1.0)
        work[2 * n] += chosen(there, 0.0, 1.0)
    if not holds(abs(carry[SINCE]) <= carry[REACH]):
        return NOT_CONVERGED
    arrive(table, order, carry[SINCE], low, z, e)
    return 0


def rewind_series(carry):
    """Go back to the first expansion if there is no other: a crossing within its reach is a root of polynomials."""
    carry[SINCE] = 0.0
    carry[SINCE_LOW] = 0.0
    if carry[MADE] != 1.0:
        carry[KNOWN] = 0.0


def observe_series(z, e, t, dt, par, tab, work, marks, copies, spare, crossings):
    """Look for crossings in the dt from time t; if it contains several series, compute them again one by one."""
    n = dimension(z)
    if dt == 0.0 or work[2 * n] < 2.0:
        status = observe_part(z, e, t, dt, par, tab, work, marks, copies, spare, crossings)
        return hand_over(status, marks)
    rest = copies.shape[0] - 2 * n
    there = copies[rest : rest + n]
    low = copies[rest + n :]
    passed = 0.0
    result = 0
    for _ in range(MOST_EXPANSIONS):
        if int(marks[0]) + crossing_count(marks) > crossings.shape[0]:
            return NOT_LOCATED
        put_back(there, low, copies)
        spare[KNOWN] = 0.0
        if step(there, low, 0.0, par, tab, work, spare) != 0:
            return NOT_LOCATED
        h = dt - passed
        is_last = spare[REACH] >= abs(h)
        if is_last:
            status = observe_part(z, e, t + passed, h, par, tab, work, marks, copies[:rest], spare, crossings)
        else:
            h = math.copysign(spare[REACH], dt)
            if step(there, low, h, par, tab, work, spare) != 0:
                return NOT_LOCATED
            status = observe_part(there, low, t + passed, h, par, tab, work, marks, copies[:rest], spare, crossings)
            save(there, low, copies)
            passed += h
        if status == NOT_LOCATED:
            return NOT_LOCATED
        if status == STOPPED:
            result = STOPPED
        if is_last:
            return hand_over(result, marks)
    return NOT_LOCATED


def hand_over(status, marks):
    """A status that makes the caller collect the crossings, if there are any: the next dt may need the whole buffer."""
    return BUFFER_FULL if status == 0 and marks[0] > 0.0 else status


def pass_time(carry, dt):
    """Add dt to the time since the expansion, without rounding error."""
    before = carry[SINCE]
    after = before + dt
    shadow = after - before
    rest = carry[SINCE_LOW] + ((before - (after - shadow)) + (dt - shadow))
    carry[SINCE] = after + rest
    carry[SINCE_LOW] = rest - (carry[SINCE] - after)


def expand(table, tab, par):
    """Compute the series from row 0 of the table; returns how far it reaches, 0 if it is not finite."""
    coefficients(table, int(tab[0, 0]), tab[1], par)
    begin = field_end(0, par)
    reach = field_reach(table, tab, 0, begin)
    for b in range(1, field_count(par)):
        end = field_end(b, par)
        reach = min(reach, field_reach(table, tab, begin, end))
        begin = end
    return length_of(reach) if holds(reach > -math.inf) else 0.0


def field_reach(table, tab, begin, end):
    """log2 of the reach of a field: there its last two terms stay below the tolerance times its size [jorba2005].

    h = min over j = p - 1, p of (tolerance max|z_0|/max|z_j|)^(1/j); if z_0 vanishes, the first coefficient that does
    not vanish takes its place. -inf if they are not finite.
    """
    size = largest(table, 0, begin, end)
    order = int(tab[0, 0])
    inverse = tab[1, order - 1]
    next_inverse = tab[1, order]
    if not holds(size != 0.0):
        first = 0.0 * size
        for k in range(1, order - 1):
            at_rest = size == 0.0
            first = chosen(at_rest, float(k), first)
            size = chosen(at_rest, largest(table, k, begin, end), size)
        inverse = 1.0 / (order - 1 - first)
        next_inverse = 1.0 / (order - first)
    before = largest(table, order - 1, begin, end)
    last = largest(table, order, begin, end)
    if not holds(before < math.inf) or not holds(last < math.inf):
        return -math.inf
    return shorter(tab[0, 1], size, before, inverse, last, next_inverse)


def largest(table, k, begin, end):
    """The largest coefficient of order k of the variables from `begin` to `end`; nan if their sum is not finite."""
    row = k * row_width(table)
    found = abs(table[row + begin])
    total = found
    for i in range(begin + 1, end):
        x = abs(table[row + i])
        found = max(found, x)
        total += x
    return chosen(total < math.inf, found, math.nan)


def shorter(tolerance, size, before, inverse, last, next_inverse):
    """The smaller of two lengths, as log2; a term that vanishes sets no limit."""
    reach = math.inf
    if before > 0.0 and size > 0.0:
        reach = log_two(tolerance * (size / before)) * inverse
    if last > 0.0 and size > 0.0:
        reach = min(reach, log_two(tolerance * (size / last)) * next_inverse)
    return reach


def length_of(reach):
    """2^reach, if it has a bound."""
    return two_to(reach) if reach < math.inf else reach


MANTISSA = (1 << 52) - 1
HALF = 1022 << 52  # the exponent of numbers from 1/2 to 1, at its place in their bits
SMALLEST = 2.0**-1022


def log_two(x):
    """log2 of x to 8e-4, without a library: the same bits on every machine.

    -1074, that of the smallest number, at and near 0.
    """
    if not x >= SMALLEST:
        return -1074.0
    bits = as_integer(x)
    m = as_double(bits & MANTISSA | HALF)
    return ((bits >> 52) - 1022) - 3.13623207 + m * (6.0223243 + m * (-4.10721963 + m * 1.22160228))


def two_to(x):
    """2^x to 1e-4, in the same way."""
    within = max(-1000.0, min(x, 1000.0))
    whole = math.floor(within)
    f = within - whole
    return as_double((int(whole) + 1023) << 52) * (0.99990029 + f * (0.69632477 + f * (0.22469316 + f * 0.07896726)))


@register
@dataclass(frozen=True)
class Taylor(Method):
    """Power series of the solution, of high order, with steps as long as they allow; dt is the interval between samples.

    z(t + h) = sum z_k h^k, h = min over j = p - 1, p of (tolerance |z_0|/|z_j|)^(1/j), p = 15, 18 or 21 by the tolerance.

    Samples and sections are evaluated on the series: they change neither the steps nor the result. In a dt that holds several
    series, signs are compared at the end of each. Not symplectic, but with `tolerance=None` only rounding errors remain,
    compensated and without bias: over 10^4 Kepler periods the energy wanders by 3e-14. Choose it for the highest accuracy, for
    short runs, and where steps must vary; prefer `Splitting` for long runs at moderate accuracy, `Lagrange` for symmetric
    tops. For Hamiltonians, bodies and tops whose equations do not branch.

    Parameters
    ----------
    tolerance : truncation error of a step, relative to each field of the state; None for round-off

    Examples
    --------
    >>> import catena as ct
    >>> of = ct.problems.kepler(e=0.6)
    >>> run = ct.simulate(of, method=ct.Taylor(), dt=0.5, t_end=50.0)
    >>> bool(abs(run.data.energy + 0.5).max() < 2e-15)
    True

    References
    ----------
    [jorba2005], [biscani2021]
    """

    needs = ("field",)
    tolerance: float | None = None

    def __post_init__(self) -> None:
        if self.tolerance is None:
            return
        if not isinstance(self.tolerance, int | float) or not 0.0 < self.tolerance < 1.0:
            raise InputError(
                f"tolerance = {self.tolerance!r}", where="Taylor.tolerance",
                do="give a number between 0 and 1, or None for round-off",
            )  # fmt: skip

    @property
    def order(self) -> int:
        """Order of the series."""
        return next(order for least, order in ORDERS if self._tolerance >= least)

    @property
    def _tolerance(self) -> float:
        return ROUND_OFF if self.tolerance is None else max(self.tolerance, ROUND_OFF)

    def other_tolerances(self) -> tuple[Taylor, Taylor]:
        factors = (1e-2, 1e2) if self._tolerance > ROUND_OFF else (1e2, 1e4)  # no tolerance is better than round-off
        better, worse = (min(max(self._tolerance * factor, ROUND_OFF), LARGEST) for factor in factors)
        return Taylor(better), Taylor(worse)

    @property
    def traits(self) -> Traits:
        rounds = self._tolerance == ROUND_OFF
        kinds = (
            "energy",
            "linear",
            "bilinear",
            "quadratic",
            "unit",
            "casimir",
            "spatial_momentum",
            "vertical",
            "axial",
            "general",
        )
        keeps = tuple(map(Exact, kinds)) if rounds else ()
        return Traits(self.order, False, False, True, keeps, ("jorba2005", "biscani2021"), inf, adaptive=True)

    def stepper(self, view: View) -> Stepper:
        if view.scratch():
            raise CapabilityError("its field keeps numbers on the way, which power series cannot follow")
        if view.dimension > MOST_VARIABLES:
            raise CapabilityError(f"power series of {view.dimension} variables are too long to compile")
        tab = np.zeros((2, self.order + 1))
        tab[0, :2] = self.order, self._tolerance
        tab[1, 1:] = 1.0 / np.arange(1, self.order + 1)
        return Stepper(
            taylor_step, tab, 2 * view.dimension + 1, 0, recorded=self._record, rewind=rewind_series, observe=observe_series
        )  # fmt: skip

    def _record(self, stepper: Stepper, field_with: Callable[[Any], Any], par: Any, n: int) -> Stepper:
        """The stepper with kernels written for this field."""
        writer = Writer(record(field_with, par, n))
        provided = (multiply_add, counted, *FOURS)
        uses: tuple[tuple[str, Filling], ...] = tuple((function.__name__, function) for function in provided)
        layout = writer.layout
        fills: dict[Slot, Filling] = {
            coefficients: Written("coefficients", writer.coefficients(), __name__, uses),
            arrive: Written("arrive", writer.arrival(), __name__, uses),
            row_width: layout.width, dimension: n,
        }  # fmt: skip
        carry = table_place(n) + (self.order + 1) * layout.width
        return replace(stepper, kernel=bind(taylor_step, fills), carry=carry, recorded=None)

    @property
    def program(self) -> str:
        return self.name  # order and tolerance are numbers of `tab`, so one compilation serves all

    def advice(self) -> str:
        return "look for a collision or a singular point near this time; or use a smaller dt, if it holds a million series or a thousand crossings"
