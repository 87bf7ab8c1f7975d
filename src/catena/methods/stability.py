"""How long a step may be: the stability of kick-drift methods on the harmonic oscillator."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

RESOLUTION = 0.01
ROUND_OFF = 1e-12


def merged(weights: Array) -> tuple[Array, Array]:
    """Kicks and drifts of kick-drift-kick steps with these weights, neighbouring half kicks taken together."""
    return 0.5 * (np.append(weights, 0.0) + np.append(0.0, weights)), weights


def stability_limit(kicks: Array, drifts: Array) -> float:
    """Largest dt omega, to two digits, up to which the powers of the step stay bounded: |trace| <= 2."""

    def stable(x: float) -> bool:
        step = np.eye(2)
        for b, a in zip(kicks, np.append(drifts, 0.0), strict=True):
            step = np.array([[1.0, a * x], [0.0, 1.0]]) @ np.array([[1.0, 0.0], [-b * x, 1.0]]) @ step
        return abs(np.trace(step)) <= 2.0 + ROUND_OFF

    count = 0
    while stable((count + 1) * RESOLUTION):
        count += 1
    return round(count * RESOLUTION, 2)
