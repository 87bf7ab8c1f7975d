"""The longest stable step: stability of kick-drift methods on the harmonic oscillator."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from ...arrays import Array

RESOLUTION = 0.01  # narrower intervals of weak instability are ignored
ROUND_OFF = 1e-12
DIGITS = 5


def merge(weights: Array) -> tuple[Array, Array]:
    """Kicks and drifts of kick-drift-kick steps with these weights, with adjacent half kicks merged."""
    return 0.5 * (np.append(weights, 0.0) + np.append(0.0, weights)), weights


def stability_limit(kicks: Array, drifts: Array, commutators: Array | None = None) -> float:
    """Largest dt omega up to which the powers of the step stay bounded: |trace| <= 2.

    Commutators are those of kicks with [V, [V, T]], whose flow over v dt^3 is the kick -2 v (dt omega)^3 q here.

    Below the limit, resonances of the stages leave gaps in which a mode grows slowly: 3.164 to 3.169, by 2.4e-3 a step,
    for the splitting of order 4; 3.142 and 6.35, by less than 7e-4, for that of order 6. They are narrower than the
    resolution.

    Examples
    --------
    >>> stability_limit(np.array([0.5, 0.5]), np.array([1.0]))
    2.0
    """
    cubes = np.zeros_like(kicks) if commutators is None else commutators
    return _limit(tuple(kicks.tolist()), tuple(drifts.tolist()), tuple(cubes.tolist()))


@cache
def _limit(kicks: tuple[float, ...], drifts: tuple[float, ...], cubes: tuple[float, ...]) -> float:
    def stable(x: Array) -> NDArray[np.bool_]:
        q, p = np.array([np.ones_like(x), np.zeros_like(x)]), np.array([np.zeros_like(x), np.ones_like(x)])
        for b, v, a in zip(kicks, cubes, (*drifts, 0.0), strict=True):
            p = p - (b * x + 2.0 * v * x**3) * q
            q = q + a * x * p
        return np.abs(q[0] + p[1]) <= 2.0 + ROUND_OFF

    # no product of m kicks and drifts is stable beyond 2 m
    grid = np.arange(1, round(2.0 * len(drifts) / RESOLUTION) + 2) * np.float64(RESOLUTION)
    last = int(np.argmin(stable(grid)))
    low, high = grid[last] - RESOLUTION, grid[last]
    while high - low > 0.1**DIGITS / 4:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if stable(np.array([middle]))[0] else (low, middle)
    return round(float(low), DIGITS)
