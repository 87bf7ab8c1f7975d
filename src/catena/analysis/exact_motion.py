"""Motions in closed form at arrays of times, compiled: one preparation, then one evaluation for each time."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from ..arrays import Array
from ..engine.build import compile_function
from ..errors import InputError
from ..geometry import free_rotation, lagrange_motion
from ..geometry.lagrange_orbit import Orbit
from ..geometry.quaternion import multiply_right, to_space
from ..kernels import elementary as math
from ..kernels.views import NOT_FINITE, OK


def free_body_at(moments, z, t0, frame, times, orbit, orientations, momenta):
    """Orientation and momentum in the given axes at times, from z = (q, y) at t0, given in principal axes; a status."""
    if not are_finite(z, times):
        return NOT_FINITE
    status = free_rotation.prepare(moments[0], moments[1], moments[2], z[4], z[5], z[6], orbit)
    if status != 0:
        return status
    for i in range(times.shape[0]):
        y1, y2, y3, r0, r1, r2, r3 = free_rotation.evaluate(orbit, times[i] - t0)
        q = orientations[i]
        for k in range(4):
            q[k] = z[k]
        multiply_right(q, r0, r1, r2, r3)
        multiply_right(q, frame[0], -frame[1], -frame[2], -frame[3])
        momenta[i, 0], momenta[i, 1], momenta[i, 2] = to_space(frame, y1, y2, y3)
    return 0


def symmetric_top_at(top, z, t0, frame, times, orbit, orientations, momenta):
    """The same for a symmetric top, given by its axis, the moments across and along it, and gravity."""
    if not are_finite(z, times):
        return NOT_FINITE
    status = lagrange_motion.prepare(int(top[0]), top[1], top[2], top[3], z[0:4], z[4:7], orbit)
    if status != 0:
        return status
    is_turned = frame[0] != 1.0
    for i in range(times.shape[0]):
        q = orientations[i]
        y = momenta[i]
        q[0], q[1], q[2], q[3], y[0], y[1], y[2] = lagrange_motion.evaluate(orbit, times[i] - t0)
        if is_turned:
            multiply_right(q, frame[0], -frame[1], -frame[2], -frame[3])
            y[0], y[1], y[2] = to_space(frame, y[0], y[1], y[2])
    return 0


def are_finite(z, times):
    """Whether all numbers are."""
    finite = True
    for k in range(z.shape[0]):
        finite = finite and abs(z[k]) < math.inf
    for i in range(times.shape[0]):
        finite = finite and abs(times[i]) < math.inf
    return finite


@cache
def _compile(kernel: Callable[..., int]) -> Callable[..., int]:
    return compile_function(
        kernel, "types.int64", (1, 1, "types.float64", 1, 1, 1, 2, 2), f"exact motion: {kernel.__name__}"
    )


class ClosedForm:
    """A motion in closed form of one body. An evaluation takes microseconds, so its arguments are gathered once.

    Called with a stepped state z = (q, y), its time and m times, it returns (m, 4) orientations and (m, 3) momenta in
    the axes in which the body was given. Raises FloatingPointError if a number is not finite; the compiled code checks
    this at no cost.
    """

    def __init__(self, kernel: Callable[..., int], width: int, constants: Array, frame: Array) -> None:
        self._evaluate, self._width = _compile(kernel), width
        self._constants, self._frame = np.array(constants, dtype=float), np.array(frame, dtype=float)

    def __call__(self, z: Array, t0: float, times: Array) -> tuple[Array, Array]:
        count = len(times)
        orientations, momenta, orbit = np.empty((count, 4)), np.empty((count, 3)), np.empty(self._width)
        status = self._evaluate(self._constants, z, t0, self._frame, times, orbit, orientations, momenta)
        if status == NOT_FINITE:
            raise FloatingPointError("a time or a number of the state is not finite")
        if status != OK:
            raise InputError(
                "the start is too near the unstable axis to tell when the body leaves it", where="exact",
                do="start on the axis, or farther from it",
            )  # fmt: skip
        return orientations, momenta


def free_motion(moments: Array, frame: Array) -> ClosedForm:
    """The motion of a free body."""
    return ClosedForm(free_body_at, free_rotation.Orbit.WIDTH, moments, frame)


def symmetric_motion(top: Array, frame: Array) -> ClosedForm:
    """The motion of a symmetric top, given by its axis, the moments across and along it, and gravity."""
    return ClosedForm(symmetric_top_at, Orbit.WIDTH, top, frame)
