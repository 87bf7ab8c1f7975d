"""Thinning of long runs for pictures: each interval shows its largest error, and the legend says so."""

from __future__ import annotations

import numpy as np

from ..arrays import Array

ERROR_POINTS = 1000  # with more, an error that oscillates about zero fills the axes


def largest(time: Array, error: Array) -> tuple[Array, Array, str]:
    """Time and error thinned to the largest error of each interval, and the words that say so."""
    length = -(-len(error) // ERROR_POINTS)
    if length == 1:
        return time, error, ""
    starts = np.arange(0, len(error), length)
    return time[starts], np.maximum.reduceat(error, starts), f"\n(largest of every {length} samples)"


def after_start(values: Array) -> Array:
    """All but the first value, if there are more: the deviation of the start is zero, which has no logarithm."""
    return values[1:] if len(values) > 1 else values
