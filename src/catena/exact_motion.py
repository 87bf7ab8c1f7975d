"""The exact motion of a free body at arrays of times, compiled: one preparation, then one evaluation for each time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .engine.build import compiled_function
from .errors import InputError
from .geometry.free_rotation import ORBIT, evaluate, prepare

Array = NDArray[np.float64]


def evaluate_at(moments, y, times, orbit, rows):
    """Rows (y1, y2, y3, r0, r1, r2, r3) at the times; a status."""
    status = prepare(moments[0], moments[1], moments[2], y[0], y[1], y[2], orbit)
    if status != 0:
        return status
    for i in range(times.shape[0]):
        y1, y2, y3, r0, r1, r2, r3 = evaluate(orbit, times[i])
        rows[i, 0] = y1
        rows[i, 1] = y2
        rows[i, 2] = y3
        rows[i, 3] = r0
        rows[i, 4] = r1
        rows[i, 5] = r2
        rows[i, 6] = r3
    return 0


def free_motion_at(moments: Array, y: Array, times: Array) -> Array:
    """(m, 7): angular momentum and rotation relative to the start, at m times after it."""
    rows = np.empty((len(times), 7))
    function = compiled_function(evaluate_at, "types.int64", (1, 1, 1, 1, 2), "exact free rotation")
    orbit = np.empty(ORBIT)
    arrays = (np.array(array, dtype=float) for array in (moments, y, times))
    if function(*arrays, orbit, rows) != 0:
        raise InputError(
            "the momentum is too near the unstable axis to tell when the body leaves it", where="exact",
            do="start on the axis, or farther from it",
        )  # fmt: skip
    return rows
