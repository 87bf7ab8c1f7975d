"""Elementary functions for programs in plain Python: each is compiled when it is first called."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache

from catena.engine.build import compile_function
from catena.engine.collector import stem_of
from catena.kernels.elementary import FUNCTIONS

OFTEN = ("sin", "cos", "exp", "log")  # functions that tests call many times


def quick_functions() -> dict[str, Callable[..., float]]:
    """Name in generated texts -> the compiled function."""
    return {stem_of(FUNCTIONS[name]): _quick(FUNCTIONS[name]) for name in OFTEN}


def _quick(kernel: Callable[..., float]) -> Callable[..., float]:
    @cache
    def compiled() -> Callable[..., float]:
        numbers = ["types.float64"] * len(inspect.signature(kernel).parameters)
        return compile_function(kernel, "types.float64", numbers, kernel.__name__)

    def function(*numbers: float) -> float:
        return compiled()(*numbers)

    return function
