"""Long runs in a picture: the largest error of each stretch is drawn, and the words beside it say so."""

from __future__ import annotations

import numpy as np

from ..arrays import Array

ERROR_POINTS = 1000  # an error that swings through zero fills the axes with more


def largest(time: Array, error: Array) -> tuple[Array, Array, str]:
    """Time and error thinned to the largest error of each stretch, and the words that say so."""
    length = -(-len(error) // ERROR_POINTS)
    if length == 1:
        return time, error, ""
    starts = np.arange(0, len(error), length)
    return time[starts], np.maximum.reduceat(error, starts), f"\n(largest of every {length} samples)"


def after_start(values: Array) -> Array:
    """All but the first, if there are more: the deviation of a start from itself is zero, which has no logarithm."""
    return values[1:] if len(values) > 1 else values
