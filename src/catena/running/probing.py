"""A probe with half the step: whether the error of a run is what the order of its method predicts.

If the error of an invariant is large enough to be suspicious (`catena.running.auditing.size`), a short part of the run
is repeated twice from one of its samples, with the step of the run and with half of it: the part in which the quantity
changes most. As long as the step is short enough for the motion, the error of a method of order p shrinks by 2^p. If it
shrinks far more, the step is too long for the order to mean anything, and the result is no approximation.

Both repetitions together make at most 5 % of the steps of the run, which itself is not changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..engine.driver import Driver
from ..kernels.views import OK
from ..systems.base import Array, Invariant, State

if TYPE_CHECKING:
    from ..engine.build import Program
    from .runs import Run

COST = 20  # steps of the run for each step of the probe
FEWEST = 8  # steps with the dt of the run: with fewer, the error may happen to vanish just there
POINTS = 64  # at which both repetitions are compared
FACTOR = 4.0  # times what the order predicts: an error that shrinks by more does not follow the order
TINY = float(np.finfo(np.float64).tiny)
SAME = 1e-9  # of the scale: a sample whose recomputed invariants differ by more cannot be a start


def beyond_order(run: Run, program: Program, doubtful: Sequence[Invariant]) -> list[str]:
    """Names of the invariants whose error is not what the order predicts; see `order_ratios`."""
    return [name for name, ratio in order_ratios(run, program, doubtful).items() if ratio > FACTOR]


def order_ratios(run: Run, program: Program, doubtful: Sequence[Invariant]) -> dict[str, float]:
    """Error of each invariant in a part of the run, over 2^p times the error with half the step: about 1 if the order p
    explains it.

    Parameters
    ----------
    run, program : a run, and the loop that made it
    doubtful : invariants with a suspicious error; the first decides which part of the run is repeated

    Returns
    -------
    name -> ratio; empty if it cannot be measured: no order, too few steps, or samples from which the run cannot
    continue
    """
    traits = run.plan.pairing.promises.traits
    steps = run.steps // (3 * COST)
    if not traits.has_order or steps < FEWEST or run.plan.control is not None:  # samples do not hold torques of motors
        return {}
    sample = most_changing(run.data[doubtful[0].name].values, max(1, steps // run.plan.every))
    whole, half = (_make_again(run, program, sample, steps, parts) for parts in (1, 2))
    if whole is None or half is None:
        return {}
    found = {}
    for one in doubtful:
        change, shorter = (np.ptp(rows[one.name].reshape(-1, one.width), axis=0) for rows in (whole, half))
        found[one.name] = float((change / np.maximum(2.0**traits.order * shorter, TINY)).max())
    return found


def most_changing(values: Array, length: int) -> int:
    """The sample from which the repetition starts: within the `length` samples over which the values (n, ...) change
    most, the one whose value is nearest to that of the start of the run, because that is the correct value."""
    columns = values.reshape(len(values), -1)
    if length == 1:
        return int(np.abs(np.diff(columns, axis=0)).max(axis=1).argmax())
    starts = np.arange(0, max(1, len(columns) - length), length)
    high, low = (larger.reduceat(columns, starts, axis=0) for larger in (np.maximum, np.minimum))
    first = int(starts[(high - low).max(axis=1).argmax()])
    return first + int(np.abs(columns[first : first + length] - columns[0]).max(axis=1).argmin())


def _make_again(run: Run, program: Program, sample: int, steps: int, parts: int) -> dict[str, Array] | None:
    """The columns of `steps` steps after a sample, each in `parts` parts; None if they fail or differ from the run."""
    row = run.data.isel(time=sample)
    time = float(run.plan.times(sample * run.plan.every))
    start = program.view.pack(State({field.name: row[field.name].values for field in run.system.fields}, time))
    driver = Driver(program, start, t0=time, dt=run.plan.dt / parts, every=parts * max(1, steps // POINTS))
    first, chunk = driver.first_row(), driver.advance(parts * steps)
    columns = run.system.columns(np.concatenate([first.rows, chunk.rows]))
    apart = max(float(np.abs(columns[one.name][0] - row[one.name].values).max()) for one in run.system.invariants)
    begins = first.status == OK and apart <= SAME * driver.scale.max()
    return columns if begins and chunk.status == OK else None
