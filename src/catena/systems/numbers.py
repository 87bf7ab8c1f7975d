"""Numbers from users as arrays: only real ones, and nothing is converted silently."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias, TypeGuard

import numpy as np

from ..errors import InputError
from .base import Array

REAL = "iuf"  # kinds of numpy types: whole numbers and floating point
NO_NUMBERS = (bool, np.timedelta64)  # although they are subclasses of integers
SHOWN = 40  # characters of a value in a message

Shape = tuple[int | None, ...]
Vector: TypeAlias = Sequence[float] | Array  # a few numbers, as users give them


def real_array(values: object) -> Array:
    """The values as a new array of floats; TypeError if they are not real numbers.

    numpy would drop the imaginary part of complex numbers, parse texts, accept truth values and times as numbers, and
    use the values behind a mask.

    Examples
    --------
    >>> real_array([1, 2.5]).tolist()
    [1.0, 2.5]
    >>> real_array([1 + 2j])
    Traceback (most recent call last):
    TypeError: complex numbers
    """
    if _has_masked(values):
        raise TypeError("masked values")
    try:
        array = np.asarray(values)
    except ValueError:
        raise TypeError("rows of different lengths") from None
    if array.dtype.kind in REAL or array.size == 0:
        return np.array(array, dtype=float)
    if array.dtype.kind == "O" and not any(
        value is None or isinstance(value, (str, bytes, bool, np.bool_, np.datetime64, np.timedelta64))
        for value in array.flat
    ):
        try:
            return np.array(array, dtype=float)  # fractions, decimals, numbers of sympy
        except (TypeError, ValueError):
            raise TypeError("what is no number") from None
        except OverflowError:
            raise TypeError("a number beyond the doubles") from None
    words = {"c": "complex numbers", "b": "truth values", "M": "dates", "m": "durations", "U": "texts", "S": "texts"}
    raise TypeError(words.get(array.dtype.kind, "what is no number"))


def _has_masked(values: object) -> bool:
    """Whether any element is masked, also in nested lists."""
    if isinstance(values, (list, tuple)):
        return any(_has_masked(row) for row in values)
    return np.ma.is_masked(values)


def finite_numbers(values: object, *shapes: Shape, where: str, do: str = "", rows: str = "") -> Array:
    """The values as finite real numbers in one of these shapes; InputError that says what is wrong with them, and where.

    Parameters
    ----------
    shapes : None stands for any count but zero; without shapes, any shape is accepted
    where : where they are given; the word after the last dot names them
    do : what to give instead; "": numbers in these shapes
    rows : what each row belongs to ("body"), if messages are to count rows

    Examples
    --------
    >>> finite_numbers([1, 2, 3], (3,), where="Body.moments").tolist()
    [1.0, 2.0, 3.0]
    """
    if type(values) is np.ndarray and values.dtype == np.float64 and not shapes and are_finite(values):
        return values.copy()  # the usual case: a motion in closed form takes less time than all the checks below

    def refused(wrong: str) -> InputError:
        return InputError(
            wrong, where=where, do=do or f"give {' or '.join(map(_in_words, shapes)) or 'finite numbers'}"
        )

    try:
        array = real_array(values)
    except (TypeError, ValueError) as trouble:
        kind = "a number" if shapes == ((),) else f"an array of numbers: it has {trouble}"
        raise refused(f"{_name(values, where)} is not {kind}") from None
    if shapes and not any(_fits(array.shape, shape) for shape in shapes):
        raise refused(f"{_name(values, where)} has shape {array.shape}")
    if are_finite(array):
        return array
    wrong, name = np.argwhere(~np.isfinite(array)).tolist(), where.rpartition(".")[2]
    if rows and array.ndim:
        j = wrong[0][0]
        raise InputError(
            f"{name} of {rows} {j} is not finite: {array[j].tolist()}", where=f"{where}[{j}]", do="give finite numbers"
        )
    seen = f"element {wrong[0]} of {name} is not finite: {array[tuple(wrong[0])]}"
    raise refused(seen if array.ndim else f"{name} = {array} is not finite")


def _name(values: object, where: str) -> str:
    """The name of values in messages: the word after the last dot of `where`, and the values if short."""
    name, text = where.rpartition(".")[2], repr(values)
    return f"{name} = {text}" if len(text) <= SHOWN and "\n" not in text else name


def are_finite(array: Array) -> bool:
    """Whether all numbers are finite."""
    return np.count_nonzero(np.isfinite(array)) == array.size  # a third of the time of `all`


def _fits(shape: tuple[int, ...], wanted: Shape) -> bool:
    """Whether a shape is the wanted one, without a count of zero."""
    return len(shape) == len(wanted) and all(n in (None, m) and m > 0 for n, m in zip(wanted, shape, strict=True))


def _in_words(shape: Shape) -> str:
    counts = ["n" if n is None else str(n) for n in shape]
    if counts in ([], ["1"]):
        return "a finite number"
    return f"{' x '.join(counts)} finite numbers"


def finite_number(value: object, where: str) -> float:
    """The value as a finite float; InputError, with this place, if it is not one."""
    return float(finite_numbers(value, (), where=where))


def is_whole(value: object) -> TypeGuard[int]:
    """Whether it is a whole number."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, NO_NUMBERS)


def whole_number(value: object, where: str, do: str, *, least: int | None = None, most: int | None = None) -> int:
    """The value as an integer within these bounds; otherwise InputError, with this place and what to give instead."""
    if is_whole(value) and (least is None or value >= least) and (most is None or value <= most):
        return int(value)
    raise InputError(f"{where.rpartition('.')[2]} = {value!r}", where=where, do=do)


def each_of(given: Iterable[object], where: str, such_as: str) -> list[object]:
    """What is in a list, or a row like one; InputError, with this place, for a text, for what is no list, and for an empty one."""
    items = list(given) if isinstance(given, Iterable) and not isinstance(given, str) else []
    if not items:
        raise InputError(
            f"{where.rpartition('.')[2]} = {given!r} is no list", where=where, do=f"give one, such as {such_as}"
        )
    return items


def number_of_one(value: object, count: int, where: str) -> int:
    """An index below `count`, from 0, or negative from the end; InputError, with this place, if it is out of range."""
    if is_whole(value) and -count <= value < count:
        return int(value) % count
    name = where.rpartition(".")[2]
    raise InputError(f"there is no {name} {value!r}", where=where, do=f"choose from 0 to {count - 1}")
