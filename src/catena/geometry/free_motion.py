"""The exact motion of a free rigid body on arrays: for single evaluations, not for the compiled loop."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Array
from ..errors import InputError
from ..kernels.views import NOT_FINITE
from . import free_rotation, rotations
from .free_rotation import Orbit


def free_motion(moments: ArrayLike, y0: ArrayLike, *, q0: ArrayLike, times: ArrayLike) -> tuple[Array, Array]:
    """Angular momentum and orientation of a free body at given times, in any order.

    Errors are about eps (1 + |omega| |t|), however long the time, also near a separatrix and for nearly equal moments.
    The quaternion is the continuous one that starts at q0/|q0|, even if the times are far apart.

    Parameters
    ----------
    moments : (3,) principal moments of inertia, positive
    y0 : (3,) angular momentum at time 0, body frame
    q0 : (4,) orientation at time 0, body to space, scalar first, of any length but zero
    times : (m,)

    Returns
    -------
    y : (m, 3) angular momentum, body frame
    q : (m, 4) orientation

    Examples
    --------
    >>> y, q = free_motion([0.376, 0.627, 1.0], [0.0, 0.6, -0.8], q0=[1, 0, 0, 0], times=[0.0, 40.0])
    >>> y[1].round(12).tolist()
    [0.054593680517, -0.593030709319, -0.803326899744]

    References
    ----------
    [jacobi1850]
    """
    orbit = _prepare(moments, y0)
    start = _numbers(q0, 4, "q0")
    if not start.any():
        raise InputError("q0 is zero, which is no orientation", where="q0", do="give [1, 0, 0, 0] for none")
    instants = _numbers(times, None, "times").tolist()
    rows = np.array([free_rotation.evaluate(orbit, t) for t in instants]).reshape(-1, 7)
    return rows[:, :3], rotations.multiply(rotations.normalise(start), rows[:, 3:])


def half_period(moments: ArrayLike, y0: ArrayLike) -> float:
    """Time after which the momentum, relative to the axis it circulates about, is opposite.

    For a body that rotates about its middle axis, this is the time from one flip to the next. Infinite for steady
    motion, and on the separatrix, where there is no next flip.

    Examples
    --------
    >>> round(half_period([1.0, 1.5, 2.0], [2**-20, 1.0, 2**-22]), 12)
    124.867756061726
    """
    orbit = _prepare(moments, y0)
    if orbit[Orbit.KIND] == free_rotation.STEADY or orbit[Orbit.HALF_PERIOD] == 0.0:
        return math.inf
    return orbit[Orbit.HALF_PERIOD] / abs(orbit[Orbit.RATE])


def _prepare(moments: ArrayLike, y0: ArrayLike) -> list[float]:
    i1, i2, i3 = _numbers(moments, 3, "moments").tolist()
    y1, y2, y3 = _numbers(y0, 3, "y0").tolist()
    if min(i1, i2, i3) <= 0.0:
        raise InputError(
            f"the moments are {[i1, i2, i3]}", where="moments",
            do="give three positive ones; any value does for the axis of a line that does not spin about it",
        )  # fmt: skip
    orbit = [0.0] * Orbit.WIDTH
    status = free_rotation.prepare(i1, i2, i3, y1, y2, y3, orbit)
    if status == NOT_FINITE:
        raise InputError(
            f"the sum of {[i1, i2, i3]} or of {[y1, y2, y3]} is beyond the largest number", where="moments, y0",
            do="choose larger units",
        )  # fmt: skip
    if status != 0:
        raise InputError(
            f"{[y1, y2, y3]} is too near the unstable rotation for numbers to tell when it turns over", where="y0",
            do=f"choose components that are zero, or above {free_rotation.NEAREST:g} of the largest",
        )  # fmt: skip
    return orbit


def _numbers(values: ArrayLike, count: int | None, where: str) -> Array:
    array = np.asarray(values, dtype=float)
    if array.ndim != 1 or (count is not None and array.size != count) or not np.isfinite(array).all():
        wanted = "a sequence of finite numbers" if count is None else f"{count} finite numbers"
        raise InputError(f"{where} = {array.tolist()} is not {wanted}", where=where, do=f"give {wanted}")
    return array
