"""Motions in closed form at arrays of times, compiled: one preparation, then one evaluation for each time."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
from numpy.typing import NDArray

from ..engine.build import compiled_function
from ..errors import InputError
from ..geometry import free_rotation, lagrange_motion
from ..geometry.lagrange_orbit import Orbit
from ..geometry.quaternion import multiply_right, to_space

Array = NDArray[np.float64]


def free_body_at(moments, z, frame, times, orbit, orientations, momenta):
    """Orientation and momentum in the given axes at times after z = (q, y), which is in principal axes; a status."""
    status = free_rotation.prepare(moments[0], moments[1], moments[2], z[4], z[5], z[6], orbit)
    if status != 0:
        return status
    for i in range(times.shape[0]):
        y1, y2, y3, r0, r1, r2, r3 = free_rotation.evaluate(orbit, times[i])
        q = orientations[i]
        for k in range(4):
            q[k] = z[k]
        multiply_right(q, r0, r1, r2, r3)
        multiply_right(q, frame[0], -frame[1], -frame[2], -frame[3])
        momenta[i, 0], momenta[i, 1], momenta[i, 2] = to_space(frame, y1, y2, y3)
    return 0


def symmetric_top_at(top, z, frame, times, orbit, orientations, momenta):
    """The same of a symmetric top, given by its axis, the moments across and along it, and gravity."""
    status = lagrange_motion.prepare(int(top[0]), top[1], top[2], top[3], z[0:4], z[4:7], orbit)
    if status != 0:
        return status
    for i in range(times.shape[0]):
        q = orientations[i]
        q[0], q[1], q[2], q[3], y1, y2, y3 = lagrange_motion.evaluate(orbit, times[i])
        multiply_right(q, frame[0], -frame[1], -frame[2], -frame[3])
        momenta[i, 0], momenta[i, 1], momenta[i, 2] = to_space(frame, y1, y2, y3)
    return 0


@cache
def _compiled(kernel: Callable[..., int]) -> Callable[..., int]:
    return compiled_function(kernel, "types.int64", (1, 1, 1, 1, 1, 2, 2), f"exact motion: {kernel.__name__}")


def free_motion_at(moments: Array, z: Array, frame: Array, times: Array) -> tuple[Array, Array]:
    """(m, 4) orientations and (m, 3) momenta in the given axes, at m times after the stepped state z = (q, y)."""
    return _evaluated(free_body_at, free_rotation.ORBIT, moments, z, frame, times)


def lagrange_motion_at(top: Array, z: Array, frame: Array, times: Array) -> tuple[Array, Array]:
    """The same of a symmetric top, given by its axis, the moments across and along it, and gravity."""
    return _evaluated(symmetric_top_at, Orbit.WIDTH, top, z, frame, times)


def _evaluated(kernel: Callable[..., int], width: int, *given: Array) -> tuple[Array, Array]:
    arrays = [np.array(array, dtype=float) for array in given]
    count = len(arrays[-1])
    orientations, momenta = np.empty((count, 4)), np.empty((count, 3))
    if _compiled(kernel)(*arrays, np.empty(width), orientations, momenta) != 0:
        raise InputError(
            "the start is too near the unstable axis to tell when the body leaves it", where="exact",
            do="start on the axis, or farther from it",
        )  # fmt: skip
    return orientations, momenta
