"""Numbers that a user gives, as arrays: real ones only, and nothing is cast in silence."""

from __future__ import annotations

from typing import Any

import numpy as np

from .base import Array

REAL = "iuf"  # kinds of numpy types: whole numbers and floating point


def real_array(values: Any) -> Array:
    """The values as a new array of floats; TypeError if they are not real numbers.

    numpy would drop the imaginary part of complex numbers, read texts, take truth values and times for numbers, and
    show what is behind a mask.

    Examples
    --------
    >>> real_array([1, 2.5]).tolist()
    [1.0, 2.5]
    >>> real_array([1 + 2j])
    Traceback (most recent call last):
    TypeError: complex numbers
    """
    rows = values if isinstance(values, (list, tuple)) else (values,)
    if any(np.ma.is_masked(row) for row in rows):
        raise TypeError("masked values")
    try:
        array = np.asarray(values)
    except ValueError:
        raise TypeError("rows of different lengths") from None
    if array.dtype.kind in REAL or array.size == 0:
        return np.array(array, dtype=float)
    if array.dtype.kind == "O" and not any(
        value is None or isinstance(value, (str, bytes, bool)) for value in array.flat
    ):
        try:
            return np.array(array, dtype=float)  # fractions, decimals, numbers of sympy
        except (TypeError, ValueError):
            raise TypeError("what is no number") from None
    words = {"c": "complex numbers", "b": "truth values", "M": "dates", "m": "durations", "U": "texts", "S": "texts"}
    raise TypeError(words.get(array.dtype.kind, "what is no number"))


def real_number(value: Any) -> float:
    """The value as a float; TypeError if it is not one real number."""
    array = real_array(value)
    if array.shape != ():
        raise TypeError("several numbers")
    return float(array)
