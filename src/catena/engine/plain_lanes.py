"""Numbers of several members side by side in plain Python: the counterpart of `catena.engine.lane_types`.

It serves tests: the same text gives the same bits and is refused for the same reasons.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from functools import wraps
from types import ModuleType, SimpleNamespace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ..kernels import fused, lanes
from . import plain_python

Result = TypeVar("Result")
Place = int | slice | tuple[int | slice, ...]


class Lanes(tuple[float, ...]):
    """One number for each of several members, or the truth of a comparison in each."""

    __slots__ = ()
    __array_ufunc__ = None  # numpy numbers would treat it as an array

    def __bool__(self) -> bool:
        raise TypeError("lanes differ: nothing is true of all of them unless `holds` finds it so")


def _numbers(value: object, count: int) -> Sequence[object]:
    return value if isinstance(value, Lanes) else [value] * count


def by_lane(function: Callable[..., float | tuple[float, ...]]) -> Callable[..., object]:
    """Make a function of numbers usable on lanes: it is called for one after the other; tuples become tuples of lanes.

    A function that also takes arrays is called as it is.
    """

    @wraps(function)
    def called(*given: object) -> object:
        count = next((len(one) for one in given if isinstance(one, Lanes)), 0)
        if not count or not all(isinstance(one, (Lanes, int, float)) for one in given):
            return function(*given)
        made = [function(*numbers) for numbers in zip(*(_numbers(one, count) for one in given), strict=True)]
        numbers = [one for one in made if not isinstance(one, tuple)]
        tuples = [one for one in made if isinstance(one, tuple)]
        return tuple(map(Lanes, zip(*tuples, strict=True))) if tuples else Lanes(numbers)

    return called


def _operators() -> None:
    two = ("add", "sub", "mul", "truediv", "lt", "le", "gt", "ge", "eq", "ne")
    for name in two:
        setattr(Lanes, f"__{name}__", by_lane(getattr(operator, name)))
    for name in two[:4]:
        swapped: Callable[[object, object], object] = by_lane(getattr(operator, name))
        setattr(Lanes, f"__r{name}__", lambda a, b, do=swapped: do(b, a))
    for name in ("neg", "abs"):
        setattr(Lanes, f"__{name}__", by_lane(getattr(operator, name)))


_operators()

largest, smallest = by_lane(max), by_lane(min)
multiply_add = by_lane(fused.multiply_add)
_alike = ("sqrt", "fabs", "copysign")
lane_math = SimpleNamespace(**{name: value for name, value in vars(math).items() if not name.startswith("_")})
for _name in _alike:
    setattr(lane_math, _name, by_lane(getattr(math, _name)))


def holds(condition: object) -> bool:
    """`catena.kernels.lanes.holds`."""
    return all(condition) if isinstance(condition, Lanes) else bool(condition)


def chosen(condition: object, a: object, b: object) -> object:
    """`catena.kernels.lanes.chosen`."""
    return by_lane(lanes.chosen)(condition, a, b)


class LaneArray:
    """An array whose last index is the lane, as an array of lanes."""

    def __init__(self, numbers: NDArray[np.float64]) -> None:
        self._numbers = numbers
        self.shape = numbers.shape[:-1]

    def __getitem__(self, place: Place) -> Lanes | LaneArray:
        found = self._numbers[place]
        return Lanes(found.tolist()) if found.ndim == 1 else LaneArray(found)

    def __setitem__(self, place: Place, value: float | Lanes) -> None:
        self._numbers[place] = value


def interpret_on_lanes(text: str) -> ModuleType:
    """A generated text on lanes as a module of plain Python functions."""
    module = plain_python.interpret(text)
    module.__dict__["math"] = lane_math
    quick = {name: by_lane(function) for name, function in plain_python.quick.items()}
    module.__dict__.update({name: function for name, function in quick.items() if name in module.__dict__})
    return module


def side_by_side(numbers: NDArray[np.float64]) -> Lanes | LaneArray:
    """An array of numbers whose last index is the lane, as an array of lanes; one Lanes if 1-dimensional."""
    return Lanes(numbers.tolist()) if numbers.ndim == 1 else LaneArray(numbers)


def room(count: int, lanes: int) -> LaneArray:
    """An array of `count` lanes."""
    return LaneArray(np.zeros((max(1, count), lanes)))
