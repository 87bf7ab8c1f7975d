"""The exact motion of a free body at arrays of times, compiled: one preparation, then one evaluation for each time."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .engine.build import compiled_function
from .errors import InputError
from .geometry.free_rotation import ORBIT, evaluate, prepare
from .geometry.quaternion import multiply_right, to_space

Array = NDArray[np.float64]


def evaluate_at(moments, z, frame, times, orbit, orientations, momenta):
    """Orientation and momentum in the given axes at times after z = (q, y), which is in principal axes; a status."""
    status = prepare(moments[0], moments[1], moments[2], z[4], z[5], z[6], orbit)
    if status != 0:
        return status
    for i in range(times.shape[0]):
        y1, y2, y3, r0, r1, r2, r3 = evaluate(orbit, times[i])
        q = orientations[i]
        for k in range(4):
            q[k] = z[k]
        multiply_right(q, r0, r1, r2, r3)
        multiply_right(q, frame[0], -frame[1], -frame[2], -frame[3])
        momenta[i, 0], momenta[i, 1], momenta[i, 2] = to_space(frame, y1, y2, y3)
    return 0


@cache
def _compiled() -> Callable[..., Any]:
    return compiled_function(evaluate_at, "types.int64", (1, 1, 1, 1, 1, 2, 2), "exact free rotation")


def free_motion_at(moments: Array, z: Array, frame: Array, times: Array) -> tuple[Array, Array]:
    """(m, 4) orientations and (m, 3) momenta in the given axes, at m times after the stepped state z = (q, y)."""
    orientations, momenta = np.empty((len(times), 4)), np.empty((len(times), 3))
    arrays = (np.array(array, dtype=float) for array in (moments, z, frame, times))
    if _compiled()(*arrays, np.empty(ORBIT), orientations, momenta) != 0:
        raise InputError(
            "the momentum is too near the unstable axis to tell when the body leaves it", where="exact",
            do="start on the axis, or farther from it",
        )  # fmt: skip
    return orientations, momenta
