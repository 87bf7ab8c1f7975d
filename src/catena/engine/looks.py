"""Looks at a run between its samples, at steps without any period, so that no period of the motion can hide from them.

One step in each 256 is looked at, chosen by the multiples of the golden ratio, and more at the start: which steps these
are depends on their numbers alone, not on samples, chunks or resuming. A look measures the invariants and the
magnitudes of their terms, and changes nothing else. `looks` has a column for each number of the invariants and a row
for each of

    lowest, highest, latest values; latest sizes of their largest terms, the sum of these over time (in steps), steps.
"""

from __future__ import annotations

import math

import numpy as np

from ..arrays import Array
from ..kernels.marks import apart
from ..kernels.views import measure

STRIDE = 256  # steps per look; the cost is too small to measure ...
EARLY = 8  # ... but at the start, looks are more frequent for the sake of short runs: at least 4 while k doubles
GOLDEN = 0.6180339887498949  # the number farthest from all fractions: no period matches its multiples
LOWEST, HIGHEST, LATEST, SIZES, TOTAL, STEPS = 0, 1, 2, 3, 4, 5  # rows of `looks`, see `take_look`
KINDS = 6


def look_after(k):
    """The first step after step k at which a run is looked at: one in each stride."""
    stride = stride_at(k)
    j = k // stride
    if look_at(j, stride) > k:
        return look_at(j, stride)
    stride = stride_at((j + 1) * stride)
    return look_at(k // stride + 1, stride)


def stride_at(k):
    """Stride around step k. The steps at which it doubles are multiples of the doubled stride."""
    stride = 1
    while stride < STRIDE and k >= EARLY * stride:
        stride *= 2
    return stride


def look_at(j, stride):
    """The step of look number j: its place in the stride is the fractional part of a multiple of the golden ratio."""
    phase = GOLDEN * j
    return stride * j + int(stride * (phase - math.floor(phase)))


@apart
def take_look(z, par, stride, looks):
    """Measure into `looks`; rows: lowest, highest, latest values; latest sizes of terms, their sum over time; steps."""
    for i in range(looks.shape[1]):
        looks[SIZES, i] = 0.0
    measure(z, par, looks[LATEST], looks[SIZES])
    for i in range(looks.shape[1]):
        looks[LOWEST, i] = min(looks[LOWEST, i], looks[LATEST, i])
        looks[HIGHEST, i] = max(looks[HIGHEST, i], looks[LATEST, i])
        looks[TOTAL, i] += stride * looks[SIZES, i]
        looks[STEPS, i] += stride


def unseen(invariants: int) -> Array:
    """`looks` of a run before the first look."""
    looks = np.zeros((KINDS, invariants))
    looks[LOWEST], looks[HIGHEST] = np.inf, -np.inf
    return looks


def find_deviation(worst: Array, start: Array, looks: Array) -> Array:
    """Largest deviation from the start (..., k): that of the samples, or one seen between them in looks (..., 6, k)."""
    with np.errstate(over="ignore", invalid="ignore"):  # if the start has no energy
        above, below = looks[..., HIGHEST, :] - start, start - looks[..., LOWEST, :]
    return np.maximum(worst, np.maximum(above, below))


def usual_size(looks: Array, scale: Array) -> Array:
    """Mean over time of the largest term of each invariant (..., k), from looks (..., 6, k); its scale if none."""
    steps = looks[..., STEPS, :]
    return np.where(steps > 0.0, looks[..., TOTAL, :] / np.maximum(steps, 1.0), scale)
