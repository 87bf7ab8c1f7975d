"""Functions that generated modules have in common are one function; those that differ in anything are not."""

from __future__ import annotations

from types import FunctionType

import numpy as np
import pytest

from catena.engine.sharing import namedtuple, share, without_compiling

TEXT = """
from numpy import array
table = array([1.0, 2.0])
@mark
def inner(x):
    return x + 0.0
@mark
def outer(x, par):
    return inner(x) * table[0] + abs(par.values[0])
"""


class Made:
    def __init__(self, function: FunctionType) -> None:
        self.function = function


def made(text: str, how: str = "one way") -> dict[str, Made]:
    names = {"mark": share(Made, how)}
    exec(text, names)
    return names  # type: ignore[return-value]


def test_the_same_function_of_two_modules_is_one() -> None:
    first, second = made(TEXT), made("# elsewhere\n\n" + TEXT)
    assert first["inner"] is second["inner"]
    assert first["outer"] is second["outer"]


@pytest.mark.parametrize(
    ("old", "new"),
    [("+ 0.0", "+ -0.0"), ("+ 0.0", "+ 0"), ("x + ", "x - "), ("return x", "return x if x > 0 else x"), ("inner(x):", "inner(x=1.0):")],
)  # fmt: skip
def test_what_differs_anywhere_below_is_another(old: str, new: str) -> None:
    first, second = made(TEXT), made(TEXT.replace(old, new))
    assert first["inner"] is not second["inner"]
    assert first["outer"] is not second["outer"], "it calls another"


@pytest.mark.parametrize(
    ("old", "new"), [("1.0, 2.0", "1.0, 2.5"), ("table[0]", "table[1]"), ("par.values", "par.more")]
)
def test_tables_and_names_tell_functions_apart(old: str, new: str) -> None:
    first, second = made(TEXT), made(TEXT.replace(old, new))
    assert first["inner"] is second["inner"]
    assert first["outer"] is not second["outer"]


def test_another_decoration_makes_another_function() -> None:
    assert made(TEXT)["inner"] is not made(TEXT, "another way")["inner"]


def test_a_function_that_calls_what_comes_later_is_never_shared() -> None:
    text = "@mark\ndef early(x):\n    return late(x)\n"
    assert made(text)["early"] is not made(text)["early"]


def test_parts_stay_plain_where_the_code_of_the_entry_is_there() -> None:
    with without_compiling():
        assert isinstance(made(TEXT)["inner"], FunctionType)
    assert isinstance(made(TEXT)["inner"], Made)


def test_classes_of_parameters_are_one_for_all_modules() -> None:
    assert namedtuple("Pair_of_a_test", ("a", "b")) is namedtuple("Pair_of_a_test", ("a", "b"))
    assert namedtuple("Pair_of_a_test", ("a", "b")) is not namedtuple("Pair_of_a_test", ("a", "c"))


def test_compiled_functions_are_shared_and_compute_what_they_should() -> None:
    from catena.engine.cache import load

    header = """
import math
from catena.engine.sharing import namedtuple, share
from numba import njit, types
_fn = share(njit(error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True), "fn")
"""
    body = """
@_fn
def slope_of_a_test(x):
    return FACTOR * x
@_fn
def both_of_a_test(x):
    return slope_of_a_test(x) + 1.0
@njit(types.void(types.float64[::1]), error_model="numpy")
def entry(x):
    x[0] = both_of_a_test(x[0])
"""
    values = []
    for factor in (2.0, 3.0, 2.0):
        module = load(f"# {len(values)}\n{header}\nFACTOR = {factor}\n{body}", "a test")
        x = np.array([5.0])
        module.entry(x)
        values.append((x[0], module.both_of_a_test))
    assert [value for value, _ in values] == [11.0, 16.0, 11.0]
    assert values[0][1] is values[2][1] is not values[1][1]
