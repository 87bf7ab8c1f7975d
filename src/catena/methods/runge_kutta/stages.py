"""The stage equations of implicit Runge-Kutta methods: stages from increments, increments from stages, sweeps.

    Y_i = z + (e + sum_j mu_ij L_j),      L_i = dt b_i f(Y_i)

The stages are stored side by side: each variable has a row with its value at all stages, and a row with its increments.
An operation on all stages is then a loop over one row, which the compiler vectorises. `lanes`, the length of a row, is
the number of stages or slightly more: the padding stages have weight 0 and stay at z + e.

tab: s rows mu_ij, one for each j; s rows of the extrapolation, one for each j; the weights b. carry: L, then the rest.
work: a row for the largest change of each stage; for each variable a row Y and a row L; a state, a rate, the weights of
the fields, their relative changes in the last sweep and in the one before; the number of sweeps, the variable that
changed most, and the changes of the last sweeps.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ...errors import CapabilityError
from ...kernels import views
from ...kernels.lanes import ON_LANES, on_lanes, side_by_side
from ...kernels.marks import Filling, Numbers, Slot, Written, bind, inline, size, slot
from ...kernels.views import View, dimension, field, field_count, field_end, has_clock, momentum_rate, velocity
from ..base import zeros_at_a_line
from .tableaux import Collocation

MOST_FIELDS = 8
NOTHING = 1e-140  # a field smaller than this counts as zero: changes in units of it would overflow
OUT_OF_SCALE = 1e3  # relative change of a field whose magnitude is zero
REMEMBERED = 8  # changes of the last sweeps, for the message of a failed step
VECTOR = 4  # fewest lanes for which the compiler vectorises a loop over them
LONGEST_STRAIGHT = 400  # lines of the field, all stages together; beyond that straight-line code compiles too slowly


@size
def stage_count(tab):
    """Number of stages."""
    return (tab.shape[0] - 1) // 2


@size
def lane_count(tab):
    """Length of a row of stages."""
    return tab.shape[1]


@slot
def continue_increments(n, tab, work, carry):
    """L from the polynomial of the last step."""


@slot
def move_stages(z, e, start, end, tab, work):
    """Y of the variables start..end from L; returns their largest change."""


@slot
def rates(z, start, end, dt, par, tab, work):
    """L of the variables start..end (here all variables) from Y."""


@slot
def velocity_rates(z, start, end, dt, par, tab, work):
    """L of the variables start..end (here the positions) from Y."""


@slot
def momentum_rates(z, start, end, dt, par, tab, work):
    """L of the variables start..end (here the momenta) from Y."""


@slot
def sweep(z, e, dt, par, tab, work):
    """L from Y, then Y from L; returns the largest and the smallest relative change of a field."""


@slot
def evaluate(z, par, out):
    """The field, or the part of it that is needed."""


def rates_through_memory(z, start, end, dt, par, tab, work):
    """L from Y, one stage after the other: for systems of any size."""
    n = dimension(z)
    s = stage_count(tab)
    lanes = lane_count(tab)
    state = work[(2 * n + 1) * lanes : (2 * n + 1) * lanes + n]
    rate = work[(2 * n + 1) * lanes + n : (2 * n + 1) * lanes + 2 * n]
    for i in range(s):
        for k in range(n):
            state[k] = work[(2 * k + 1) * lanes + i]
        evaluate(state, par, rate)
        weight = dt * tab[2 * s, i]
        for k in range(start, end):
            work[(2 * k + 2) * lanes + i] = weight * rate[k]


def begin(z, e, par, tab, work, carry):
    """L from the last step, or zero if there is none; Y from it, and the weight 1 / magnitude of each field."""
    n = dimension(z)
    lanes = lane_count(tab)
    if carry[n * lanes] != 0.0:
        continue_increments(n, tab, work, carry)
    else:
        for k in range(n):
            for i in range(lanes):
                work[(2 * k + 2) * lanes + i] = 0.0
    start = 0
    for b in range(field_count(par)):
        end = field_end(b, par)
        for k in range(start, end):
            for i in range(lanes):
                work[(2 * k + 1) * lanes + i] = 0.0
        magnitude = move_stages(z, e, start, end, tab, work)  # a change from zero
        # a field that is zero so far (a start from rest) gets its weight after the first evaluation
        work[(2 * n + 1) * lanes + 2 * n + b] = 1.0 / magnitude if magnitude > NOTHING else 0.0
        work[(2 * n + 1) * lanes + 2 * n + MOST_FIELDS + b] = math.inf
        start = end


def count_used(z, tab):
    """Size of `work` for the kernels of this module."""
    return (2 * dimension(z) + 1) * lane_count(tab) + 2 * dimension(z) + 3 * MOST_FIELDS + 2 + REMEMBERED


def note(sweeps, change, z, tab, work):
    """Record the relative change of a sweep."""
    here = count_used(z, tab) - REMEMBERED
    work[here - 2] = sweeps
    work[here + sweeps % REMEMBERED] = change


def blame(change, z, par, tab, work):
    """Record the variable with the largest relative change in the last Newton correction of all stages."""
    n = dimension(z)
    worst = -1.0
    start = 0
    for b in range(field_count(par)):
        end = field_end(b, par)
        weight = work[(2 * n + 1) * lane_count(tab) + 2 * n + b]
        for i in range(stage_count(tab)):
            for k in range(start, end):
                if not weight * abs(change[i * n + k]) <= worst:  # also true for nan
                    worst = weight * abs(change[i * n + k])
                    work[count_used(z, tab) - REMEMBERED - 1] = k
        start = end


def relative(b, change, z, tab, work):
    """The change of field b in units of its magnitude."""
    here = (2 * dimension(z) + 1) * lane_count(tab) + 2 * dimension(z) + b
    if work[here] == 0.0 and change > 0.0:
        work[here] = 1.0 / change
    if has_clock() == 1:
        # from rest, the first evaluation, before any clock moves, may contain only rounding errors
        misjudged = change * work[here] > OUT_OF_SCALE
        if misjudged:
            work[here] = 1.0 / change
    return change * work[here]


def move_fields(z, e, par, tab, work):
    """Y from L; the largest and the smallest relative change, as `extremes` finds them."""
    start = 0
    for b in range(field_count(par)):
        end = field_end(b, par)
        move_field(b, start, end, z, e, tab, work)
        start = end
    return extremes(z, par, tab, work)


def move_field(b, start, end, z, e, tab, work):
    """Y from L for field b, the variables start..end; records its relative change and the previous one."""
    here = (2 * dimension(z) + 1) * lane_count(tab) + 2 * dimension(z) + MOST_FIELDS
    work[here + MOST_FIELDS + b] = work[here + b]
    work[here + b] = relative(b, move_stages(z, e, start, end, tab, work), z, tab, work)


def extremes(z, par, tab, work):
    """The largest relative change of a field, and the largest over pairs (positions, momenta) of the smaller one.

    Not the smallest of all fields: bodies that do not rotate leave their quaternions unchanged whatever their centres
    do. And not of one sweep only: from rest, positions and momenta change alternately, and one of the two is always
    unchanged, even if they diverge.
    """
    here = (2 * dimension(z) + 1) * lane_count(tab) + 2 * dimension(z) + MOST_FIELDS
    fields = field_count(par)
    half = fields // 2
    largest = 0.0
    for b in range(fields):
        largest = max(largest, work[here + b])
    smallest = largest if half == 0 else 0.0
    for b in range(half):  # the last of an odd number belongs to no pair
        position = max(work[here + b], work[here + MOST_FIELDS + b])
        momentum = max(work[here + half + b], work[here + MOST_FIELDS + half + b])
        smallest = max(smallest, min(position, momentum))
    return largest, smallest


@inline
def whole_sweep(z, e, dt, par, tab, work):
    """All rates, then all stages."""
    rates(z, 0, dimension(z), dt, par, tab, work)
    return move_fields(z, e, par, tab, work)


@inline
def rates_by_halves(z, start, end, dt, par, tab, work):
    """All rates, each half by its own kernel, so that the field as a whole need not be compiled."""
    n = dimension(z)
    velocity_rates(z, 0, n // 2, dt, par, tab, work)
    momentum_rates(z, n // 2, n, dt, par, tab, work)


@inline
def sweep_by_halves(z, e, dt, par, tab, work):
    """The positions, then the momenta at the new positions.

    If H_p does not depend on q, one such sweep reduces the error as much as two whole ones.
    """
    n = dimension(z)
    half = n // 2
    velocity_rates(z, 0, half, dt, par, tab, work)
    start = 0
    for b in range(field_count(par)):
        end = field_end(b, par)
        if start == half:
            momentum_rates(z, half, n, dt, par, tab, work)
        move_field(b, start, end, z, e, tab, work)
        start = end
    return extremes(z, par, tab, work)


def note_sweep(work: NDArray[np.float64], n: int, tab: NDArray[np.float64]) -> tuple[int, list[float]]:
    """The variable that changed most, and the relative changes of the last sweeps of a failed step, oldest first.

    A sweep that changes nothing ends the iteration, so if a step fails after one, it met nan, which comparisons let
    through.
    """
    here = count_used(np.empty(n), tab) - REMEMBERED
    sweeps = int(work[here - 2])
    last = range(max(2, sweeps + 1 - REMEMBERED), sweeps + 1)
    changes = [float(work[here + k % REMEMBERED]) for k in last]
    return int(work[here - 1]), [math.nan if change == 0.0 else change for change in changes]


def lanes_for(s: int) -> int:
    """Stages in a row: 1, 2, 4, or a multiple of 8, so that rows fill vector registers completely."""
    return s if s <= 2 else 4 if s <= 4 else -(-s // 8) * 8


def table(t: Collocation) -> NDArray[np.float64]:
    """tab of a tableau."""
    s = t.stages
    tab = zeros_at_a_line((2 * s + 1) * lanes_for(s)).reshape(2 * s + 1, -1)
    tab[:s, :s], tab[s : 2 * s, :s], tab[2 * s, :s] = t.mu.T, t.extrapolation.T, t.b
    return tab


def fills(view: View, s: int, *, together: bool = False) -> Mapping[Slot, Filling]:
    """Fillings of the slots and sizes of this module for s stages on this view.

    `together`: the kernels of the view are called on lanes.
    """
    n, lanes = view.dimension, lanes_for(s)
    fields = view.fills.get(field_count, 0)  # in joint form, where par holds their number, there are at most six
    if isinstance(fields, int) and fields > MOST_FIELDS:
        raise CapabilityError(
            f"it has {fields} fields, and stages keep the changes of {MOST_FIELDS}", do="join fields of like magnitude"
        )
    given: dict[Slot, Filling] = {
        stage_count: s,
        lane_count: lanes,
        continue_increments: _continuation(s, lanes),
        move_stages: _stages(s, lanes),
    }
    given[rates] = bind(rates_through_memory, {evaluate: field})
    registers = view.fills.get(views.registers)
    on_lanes = registers is not None and not isinstance(registers, Written) and lanes >= VECTOR
    # on lanes the latency of a sweep counts: two halves one after the other take at least a quarter longer, and save
    # one sweep in fifteen
    if view.name == "canonical" and not on_lanes:
        given[sweep] = sweep_by_halves
        if not view.literal:
            given[rates] = rates_by_halves
        parts = {velocity_rates: (velocity, range(n // 2)), momentum_rates: (momentum_rate, range(n // 2, n))}
    else:
        given[sweep] = whole_sweep
        parts = {rates: (field, range(n))}
    straight = isinstance(registers, Written) and lanes * registers.text.count("\n") <= LONGEST_STRAIGHT
    for part, (kernel, variables) in parts.items():
        if together:
            given[part] = bind(_rates_at_once(view, s), {evaluate: kernel})
        elif straight and isinstance(registers, Written):
            inlined = {views.registers: replace(registers, inline=True)}
            given[part] = bind(_straight_rates(s, lanes, n, variables), inlined)
        elif on_lanes:
            given[part] = _lane_rates(s, lanes, n, variables)
        else:
            given[part] = bind(rates_through_memory, {evaluate: kernel})
    return given


def _straight_rates(s: int, lanes: int, n: int, variables: range) -> Written:
    """L from Y in scalars, with all reads before all writes: arrays may alias, scalars do not."""
    lines = ["def straight_rates(z, start, end, dt, par, tab, work):"]
    lines += [f"    weight{i} = dt * tab[{2 * s}, {i}]" for i in range(lanes)]
    for i in range(lanes):
        state = ", ".join(f"work[{(2 * k + 1) * lanes + i}]" for k in range(n))
        lines.append(f"    {', '.join(f'r{i}_{k}' for k in range(n))}, = registers({state}, par)")
    lines += [f"    work[{(2 * k + 2) * lanes + i}] = weight{i} * r{i}_{k}" for k in variables for i in range(lanes)]
    return Written("straight_rates", "\n".join(lines), __name__, (("registers", views.registers),))


def _lane_rates(s: int, lanes: int, n: int, variables: range) -> Written:
    """The same as a loop over lanes, which the compiler vectorises: for fields too long to write out for each stage."""
    lines = ["def lane_rates(z, start, end, dt, par, tab, work):", "    held = held_parameters(par)"]
    lines += [f"    for i in range({lanes}):"]
    state = ", ".join(f"work[{(2 * k + 1) * lanes} + i]" for k in range(n))
    lines += [f"        {', '.join(f'r{k}' for k in range(n))}, = registers({state}, held)"]
    lines += [f"        work[{(2 * k + 2) * lanes} + i] = r{k}" for k in variables]
    lines += [f"    weight{i} = dt * tab[{2 * s}, {i}]" for i in range(lanes)]
    for k in variables:
        first = (2 * k + 2) * lanes
        lines += [f"    r{i} = weight{i} * work[{first + i}]" for i in range(lanes)]
        lines += [f"    work[{first + i}] = r{i}" for i in range(lanes)]
    uses = (("registers", views.registers), ("held_parameters", views.held_parameters))
    return Written("lane_rates", "\n".join(lines), __name__, uses)


def stands_side_by_side(view: View, s: int) -> bool:
    """Whether to evaluate all stages at once if the kernels allow it: there are enough stages, and it is faster."""
    return view.side_by_side is not None and lanes_for(s) >= VECTOR


def lane_scratch(view: View, s: int) -> Mapping[str, Numbers]:
    """Arrays for evaluating all stages at once: the scratch of the equations for each stage, stages and rates."""
    lanes, own = lanes_for(s), view.scratch()
    rows = {"stage_values": np.zeros((view.dimension, lanes)), "stage_rates": np.zeros((view.dimension, lanes))}
    return rows | {ON_LANES + name: np.repeat(own[name][..., None], lanes, axis=-1) for name in view.side_by_side or ()}


def _rates_at_once(view: View, s: int) -> Written:
    """L from Y, all stages at once: the equations of one stage, on lanes instead of numbers.

    Padding lanes have no effect.
    """
    lanes = lanes_for(s)
    arrays = "".join(f", side_by_side(par.{ON_LANES}{name})" for name in view.side_by_side or ())
    lines = ["def rates_at_once(z, start, end, dt, par, tab, work):", "    values = par.stage_values"]
    lines += ["    rates = par.stage_rates", "    for k in range(dimension(z)):", f"        for i in range({lanes}):"]
    lines += [f"            values[k, i] = work[(2 * k + 1) * {lanes} + i]"]
    lines += [f"    evaluate(side_by_side(values), on_lanes(par{arrays}), side_by_side(rates))"]
    lines += [f"    weight{i} = dt * tab[{2 * s}, {i}]" for i in range(s)]
    lines += ["    for k in range(start, end):"]
    lines += [f"        increment{i} = weight{i} * rates[k, {i}]" for i in range(s)]
    lines += [f"        work[(2 * k + 2) * {lanes} + {i}] = increment{i}" for i in range(s)]
    uses = tuple((used.__name__, used) for used in (evaluate, dimension, side_by_side, on_lanes))
    return Written("rates_at_once", "\n".join(lines), __name__, uses)


def _continuation(s: int, lanes: int) -> Written:
    lines = ["def continue_increments(n, tab, work, carry):", *_rows(s, first=s), "    for k in range(n):"]
    lines += [f"        l{j} = carry[k * {lanes} + {j}]" for j in range(s)]
    lines += [f"        guess{i} = {_combination(s, i)}" for i in range(lanes)]
    lines += [f"        work[(2 * k + 2) * {lanes} + {i}] = guess{i}" for i in range(lanes)]
    return Written("continue_increments", "\n".join(lines), __name__)


def _stages(s: int, lanes: int) -> Written:
    """Y from L, row by row, and the largest change."""
    lines = ["def move_stages(z, e, start, end, tab, work):", *_rows(s, first=0)]
    lines += [f"    work[{i}] = 0.0" for i in range(lanes)]
    lines += ["    for k in range(start, end):", "        before = z[k]", "        rest = e[k]"]
    lines += [f"        l{j} = work[(2 * k + 2) * {lanes} + {j}]" for j in range(s)]
    lines += [f"        old{i} = work[(2 * k + 1) * {lanes} + {i}]" for i in range(lanes)]
    lines += [f"        largest{i} = work[{i}]" for i in range(lanes)]
    lines += [f"        y{i} = before + (rest + {_combination(s, i)})" for i in range(lanes)]
    lines += [f"        change{i} = abs(y{i} - old{i})" for i in range(lanes)]
    lines += [f"        largest{i} = change{i} if change{i} > largest{i} else largest{i}" for i in range(lanes)]
    lines += [f"        work[(2 * k + 1) * {lanes} + {i}] = y{i}" for i in range(lanes)]
    lines += [f"        work[{i}] = largest{i}" for i in range(lanes)]
    lines += ["    largest = 0.0", f"    for i in range({lanes}):"]
    lines += ["        largest = work[i] if work[i] > largest else largest", "    return largest"]
    return Written("move_stages", "\n".join(lines), __name__)


def _rows(s: int, *, first: int) -> list[str]:
    """Coefficients, read before anything is written: arrays may alias, and would be read again for each variable."""
    return [f"    row{j}_{i} = tab[{first + j}, {i}]" for j in range(s) for i in range(lanes_for(s))]


def _combination(s: int, i: int) -> str:
    """sum_j row_j[i] l_j, in pairs: short chains of additions, small rounding errors."""
    terms = [f"row{j}_{i} * l{j}" for j in range(s)]
    while len(terms) > 1:
        terms = [f"({' + '.join(terms[j : j + 2])})" for j in range(0, len(terms), 2)]
    return terms[0]
