"""Taylor series of high order with steps and order from a tolerance: an integrator that is right to round-off.

The field of the system is recorded once as a list of operations (`series_nodes`), from which the kernels of the series are
written (`series_text`). Steps are those that the series allow; samples are evaluated on them and change nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf
from typing import Any

import numpy as np

from ...errors import CapabilityError, InputError
from ...kernels.fused import counted, multiply_add
from ...kernels.marks import Filling, Slot, Written, bind, size, slot
from ...kernels.summation import add
from ...kernels.views import NOT_CONVERGED, NOT_FINITE, View, dimension, field_count, field_end
from ..base import Exact, Method, Stepper, Traits, register
from .series_nodes import record
from .series_text import Writer

ROUND_OFF = 1e-17
"""Tolerance at which no error of truncation is left: at 1e-16 that of a Kepler orbit still has a sign, and grows linearly."""

ORDERS = ((1e-8, 15), (1e-13, 18), (0.0, 21))  # down to which tolerance; three more or less cost a tenth
MOST_EXPANSIONS = 1_000_000  # between two samples
MOST_VARIABLES = 64

# carry: whether it is known, the time since the last expansion in two numbers, how far it reaches, how many were made, z and e there,
# the table
KNOWN = 0
SINCE = 1
SINCE_LOW = 2
REACH = 3
MADE = 4
FIRST_STATE = 8


@slot
def coefficients(t, order, par):
    """The series of the solution in the table t, up to h^order, from its row 0."""


@slot
def increments(t, order, h, out):
    """z(h) - z(0) of the series in t, into out."""


@size
def row_width(t):
    """Numbers in a row of the table; always replaced by a literal."""
    return t.shape[0]


@size
def series_place(t):
    """Where the series begins in a row; always replaced by a literal."""
    return 0


@size
def inverse_place(t):
    """Where 1/n stands in row n; always replaced by a literal."""
    return 0


def table_place(n):
    """Where the table begins in `carry`: after z and e, at a multiple of 64 bytes."""
    return FIRST_STATE + (2 * n + 7) // 8 * 8


def taylor_step(z, e, dt, par, tab, work, carry):
    """The state dt later, on the last expansion or on new ones."""
    n = dimension(z)
    order = int(tab[0, 0])
    base = carry[FIRST_STATE : FIRST_STATE + n]
    low = carry[FIRST_STATE + n : FIRST_STATE + 2 * n]
    table = carry[table_place(n) :]
    if carry[KNOWN] == 0.0:
        for k in range(n):
            base[k] = z[k]
            low[k] = e[k]
        for k in range(1, order + 1):
            table[k * row_width(table) + inverse_place(table)] = 1.0 / k
        carry[SINCE] = 0.0
        carry[SINCE_LOW] = 0.0
        carry[REACH] = expand(base, table, order, tab[0, 1], par)
        carry[MADE] = 1.0
        carry[KNOWN] = 1.0
    pass_time(carry, dt)
    for _ in range(MOST_EXPANSIONS):
        reach = carry[REACH]
        if not reach > 0.0:
            return NOT_FINITE
        if abs(carry[SINCE]) <= reach:
            break
        h = math.copysign(reach, carry[SINCE])
        increments(table, order, h, work)
        for k in range(n):
            add(base, low, k, work[k])
        pass_time(carry, -h)
        carry[REACH] = expand(base, table, order, tab[0, 1], par)
        carry[MADE] += 1.0
    if abs(carry[SINCE]) > carry[REACH]:
        return NOT_CONVERGED
    increments(table, order, carry[SINCE], work)
    for k in range(n):
        z[k] = base[k]
        e[k] = low[k]
        add(z, e, k, work[k])
    return 0


def rewind_series(carry):
    """Back to the first expansion, if it is the last: a crossing within its reach is a root of its polynomials."""
    carry[SINCE] = 0.0
    carry[SINCE_LOW] = 0.0
    if carry[MADE] != 1.0:
        carry[KNOWN] = 0.0


def pass_time(carry, dt):
    """Add to the time since the expansion, without loss."""
    before = carry[SINCE]
    after = before + dt
    shadow = after - before
    rest = carry[SINCE_LOW] + ((before - (after - shadow)) + (dt - shadow))
    carry[SINCE] = after + rest
    carry[SINCE_LOW] = rest - (carry[SINCE] - after)


def expand(base, table, order, tolerance, par):
    """The series at `base`, and how far it reaches; 0 if it is not finite."""
    n = dimension(base)
    for k in range(n):
        table[series_place(table) + k] = base[k]
    coefficients(table, order, par)
    reach = math.inf
    begin = 0
    for b in range(field_count(par)):
        end = field_end(b, par)
        reach = min(reach, field_reach(table, order, tolerance, begin, end))
        begin = end
    if not reach > -math.inf:
        return 0.0
    return two_to(reach) if reach < math.inf else reach


def field_reach(table, order, tolerance, begin, end):
    """log2 of how far the last two terms of a field stay below the tolerance times its size [jorba2005]; -inf if they are not finite.

    h = min over j = p - 1, p of (tolerance max|z_0|/max|z_j|)^(1/j); where z_0 vanishes, the first coefficient that does not takes its
    place.
    """
    first = 0
    size = largest(table, 0, begin, end)
    while size == 0.0 and first < order - 2:
        first += 1
        size = largest(table, first, begin, end)
    reach = math.inf
    for j in range(order - 1, order + 1):
        last = largest(table, j, begin, end)
        if not last < math.inf:
            return -math.inf
        if last > 0.0 and size > 0.0:
            reach = min(reach, log_two(tolerance * (size / last)) / (j - first))
    return reach


def largest(table, k, begin, end):
    """The largest coefficient of order k of the variables from `begin` to `end`; nan if one is."""
    found = 0.0
    row = k * row_width(table) + series_place(table)
    for i in range(begin, end):
        x = abs(table[row + i])
        if not x <= found:
            found = x
    return found


def log_two(x):
    """log2 of x to 8e-4, without a library: the same bits on every machine; that of the smallest number for 0."""
    if x == 0.0:
        return -1074.0
    m, e = math.frexp(x)
    return e - 3.13623207 + m * (6.0223243 + m * (-4.10721963 + m * 1.22160228))


def two_to(x):
    """2^x to 1e-4, alike."""
    whole = math.floor(max(-1000.0, min(x, 1000.0)))
    f = max(-1000.0, min(x, 1000.0)) - whole
    return math.ldexp(0.99990029 + f * (0.69632477 + f * (0.22469316 + f * 0.07896726)), int(whole))


@register
@dataclass(frozen=True)
class Taylor(Method):
    """Power series of the solution, of high order, with steps as long as they allow; dt is the interval between samples.

    z(t + h) = sum z_k h^k, h = min over j = p - 1, p of (tolerance |z_0|/|z_j|)^(1/j), p = 15, 18 or 21 by the tolerance.

    Samples and sections are evaluated on the series: they change neither the steps nor the result. Not symplectic, but with
    `tolerance=None` only rounding errors are left, compensated and without a bias: energies of 10^4 Kepler periods wander by
    2e-14. Choose it for the highest accuracy, for short runs, and where steps must vary; prefer `Splitting` for long runs at moderate
    accuracy, `Lagrange` for symmetric tops. For Hamiltonians, bodies and tops whose equations do not branch.

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
        """Of the series."""
        return next(order for least, order in ORDERS if self._tolerance >= least)

    @property
    def _tolerance(self) -> float:
        return ROUND_OFF if self.tolerance is None else max(self.tolerance, ROUND_OFF)

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
        tab = np.array([[float(self.order), self._tolerance]])
        return Stepper(taylor_step, tab, view.dimension, 0, packed=True, recorded=self._recorded, rewind=rewind_series)

    def _recorded(self, stepper: Stepper, field_with: Callable[[Any], Any], par: Any, n: int) -> Stepper:
        """The stepper with kernels written for this field."""
        writer = Writer(record(field_with, par, n))
        uses = (("multiply_add", multiply_add), ("counted", counted))
        layout = writer.layout
        fills: dict[Slot, Filling] = {
            coefficients: Written("coefficients", writer.coefficients(), __name__, uses),
            increments: Written("increments", writer.increments(), __name__, uses),
            row_width: layout.width, series_place: layout.series, inverse_place: layout.inverse, dimension: n,
        }  # fmt: skip
        carry = table_place(n) + (self.order + 2) * layout.width
        return replace(stepper, kernel=bind(taylor_step, fills), carry=carry, recorded=None)

    @property
    def program(self) -> str:
        return self.name  # order and tolerance are numbers of `tab`: one compilation serves all

    def advice(self) -> str:
        return "look for a collision or a singular point near this time"
