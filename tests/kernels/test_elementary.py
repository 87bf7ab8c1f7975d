"""Elementary functions of our own: accuracy against MPFR, special values, and the same bits compiled and in plain Python."""

from __future__ import annotations

import ast
import functools
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import catena
from catena.engine import cache, headers
from catena.engine.collector import collect
from catena.kernels.elementary import FUNCTIONS, coefficients
from catena.kernels.elementary.exponential import exp_in_lanes
from catena.kernels.elementary.trigonometric import cosine_and_sine
from catena.kernels.fused import multiply_add
from catena.kernels.marks import Written
from elementary_arguments import DOUBT, IN_NUMPY, TWO, Array, arguments, units_off, units_off_of_many
from processes import run_python

MEASURED = {
    "sin": 0.80, "cos": 0.81, "tan": 0.91, "asin": 0.65, "acos": 0.64, "atan": 0.83, "atan2": 0.82, "exp": 0.77, "log": 0.51,
    "sinh": 0.80, "cosh": 0.89, "tanh": 0.85, "asinh": 0.61, "acosh": 0.51, "atanh": 0.72, "pow": 0.75, "hypot": 0.51,
}  # fmt: skip
"""Errors in units in the last place: hundredths above the largest among ten million arguments. What the pages say is compared with it."""


def loop_over(names: list[str]) -> str:
    lines = ["def loop(number, x, y, out):"]
    for number, name in enumerate(names):
        call = f"math.{name}(x[i], y[i])" if name in TWO else f"math.{name}(x[i])"
        lines += [f"    if number == {number}:", "        for i in range(len(x)):", f"            out[i] = {call}"]
    return "\n".join([*lines, "    return 0", ""])


@functools.cache
def compiled() -> Callable[..., Any]:
    """All functions, each in a loop, through the collector and the strict header."""
    parts = collect(Written("loop", loop_over(list(FUNCTIONS)), __name__), {})
    array = headers.array_type(1)
    entry = headers.cpu_function("types.int64", ["types.int64", array, array, array])
    text = headers.module_text("elementary", parts, (), header=headers.CPU, entry=entry)
    assert not any(f"math.{name}(" in text for name in FUNCTIONS)
    return cache.load(text, "elementary functions").advance


def values(name: str, x: Array, y: Array) -> Array:
    out = np.empty(len(x))
    compiled()(list(FUNCTIONS).index(name), x, y, out)
    return out


def bits(numbers: Any) -> list[int]:
    """Bits of numbers, all that are none being alike."""
    array = np.array(numbers, dtype=float)
    return np.where(np.isnan(array), np.nan, array).view(np.int64).tolist()


def plain(name: str, x: Array, y: Array) -> list[float]:
    function = FUNCTIONS[name]
    pairs = zip(x.tolist(), y.tolist(), strict=True)
    return [function(a, b) if name in TWO else function(a) for a, b in pairs]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_no_value_is_wrong_by_a_unit_in_the_last_place(name):
    """Against MPFR with 130 bits, where one formula follows another and for huge angles, too."""
    x, y = arguments(name, 3000)
    off = units_off(name, values(name, x, y), x, y)
    worst = int(np.argmax(off))
    assert off[worst] <= MEASURED[name], (off[worst], x[worst], y[worst])


@pytest.mark.slow
@pytest.mark.parametrize("name", FUNCTIONS)
def test_ten_million_values_are_within_what_was_measured(name):
    """The same for 1e7 arguments."""
    worst, seen, seed = 0.0, 0, 0
    while seen < 10_000_000:
        x, y = arguments(name, 100_000, seed)
        seen, seed = seen + len(x), seed + 1
        off = units_off_of_many(name, values(name, x, y), x, y)
        worst = max(worst, off.max())
        assert worst <= MEASURED[name], (worst, x[off.argmax()], y[off.argmax()])
    print(name, seen, f"{worst:.3f}")


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_quick_look_at_many_values_finds_what_the_slow_one_does(name):
    """All that is more than half a unit off, and values that are wrong."""
    x, y = arguments(name, 2000, seed=4)
    found = values(name, x, y)
    slow, quick = units_off(name, found, x, y), units_off_of_many(name, found, x, y)
    assert (np.abs(np.maximum(quick, 0.5) - slow)[np.isfinite(slow)] < DOUBT).all() and quick.max() == slow.max()
    found[123] = np.nextafter(found[123], 3.3)
    assert units_off_of_many(name, found, x, y)[123] == units_off(name, found, x, y)[123] > 0.5


@pytest.mark.parametrize("name", FUNCTIONS)
def test_plain_python_has_the_bits_of_compiled_code(name):
    x, y = arguments(name, 400, seed=2)
    assert bits(values(name, x, y)) == bits(plain(name, x, y))


def special_arguments() -> tuple[Array, Array]:
    some = [0.0, 5e-324, 2.0**-1022, 1e-300, 0.5, 1.0, 2.0, 3.0, 709.9, 745.2, 2.0**53, 2.0**53 - 1, 1e308, math.inf]
    signed = [*some, *(-number for number in some), math.nan]
    x, y = np.meshgrid(signed, signed)
    return x.ravel(), y.ravel()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_zeros_infinities_and_what_is_no_number(name):
    """As the C standard (annex F) has it, zeros with their signs; numpy calls that library. Nothing is a nan that is a number there."""
    x, y = special_arguments()
    if name not in TWO:
        x = np.unique(x[np.abs(x) != 0.0]).tolist()
        x = np.array([*x, 0.0, -0.0])
        y = x
    with np.errstate(all="ignore"):
        library = getattr(np, IN_NUMPY.get(name, name))
        expected = library(x, y) if name in TWO else library(x)
    found = values(name, x, y)
    clear = ~np.isfinite(expected) | (expected == 0.0)
    assert bits(found[clear]) == bits(expected[clear])
    assert (np.isfinite(found) == np.isfinite(expected)).all()
    np.testing.assert_array_max_ulp(found[~clear], expected[~clear], 3)
    assert bits(found) == bits(plain(name, x, y))


def test_both_at_once_have_the_bits_of_each():
    x = arguments("sin", 300)[0].tolist()
    cosines, sines = zip(*map(cosine_and_sine, x), strict=True)
    assert bits(cosines) == bits([FUNCTIONS["cos"](a) for a in x])
    assert bits(sines) == bits([FUNCTIONS["sin"](a) for a in x])


@functools.cache
def exp_that_fills_the_place_of_the_other() -> Callable[..., Any]:
    """A text that calls `math.exp`, as that of a potential does, where `exp_in_lanes` stands in its place."""
    array = headers.array_type(1)
    parts = collect(Written("loop", loop_over(["exp"]), __name__), {FUNCTIONS["exp"]: exp_in_lanes})
    entry = headers.cpu_function("types.int64", ["types.int64", array, array, array])
    text = headers.module_text("lanes", parts, (), header=headers.CPU, entry=entry)
    assert "power_of_e" not in text
    return cache.load(text, "exp in lanes").advance


def changed(name: str, at: int, change: float) -> tuple[float, ...]:
    """The coefficients of that name, one of which is wrong."""
    return tuple(c * (1.0 + change) if k == at else c for k, c in enumerate(getattr(coefficients, name)))


def exp_of_lanes(x: Array) -> Array:
    out = np.empty(len(x))
    exp_that_fills_the_place_of_the_other()(0, x, x, out)
    return out


def test_the_exp_of_lanes_is_not_wrong_by_a_unit_in_the_last_place_either():
    """Measured 0.75 among six million arguments; plain Python has its bits."""
    x = np.concatenate([arguments("exp", 3000)[0], np.random.default_rng(3).uniform(-12.0, 12.0, 3000)])
    x = x[np.abs(x) < 700.0]
    found = exp_of_lanes(x)
    assert len(x) > 5000 and units_off("exp", found, x, x).max() <= 0.76
    assert bits(found) == bits([exp_in_lanes(number) for number in x.tolist()])


def test_the_exp_of_lanes_ends_at_seven_hundred():
    """Zero there or infinite, as the other one is a little later; nothing stays nothing."""
    x = np.array([0.0, -0.0, 5e-324, 699.99, 700.0, 709.9, 1e308, math.inf, -699.99, -700.0, -745.2, -1e308, -math.inf])
    expected = [1.0] * 3 + [FUNCTIONS["exp"](699.99)] + [math.inf] * 4 + [FUNCTIONS["exp"](-699.99)] + [0.0] * 4
    np.testing.assert_array_max_ulp(exp_of_lanes(x), np.array(expected), 1)
    assert bits(exp_of_lanes(x)) == bits([exp_in_lanes(number) for number in x.tolist()])
    assert math.isnan(exp_of_lanes(np.array([math.nan]))[0]) and math.isnan(exp_in_lanes(math.nan))


@pytest.mark.parametrize(
    ("name", "wrong"),
    [("EXP_LANE", changed("EXP_LANE", 3, 1e-11)), ("LOG_2_WHOLE_2", coefficients.LOG_2_WHOLE_2 * 1.1)],
    ids=["EXP_LANE", "LOG_2_WHOLE_2"],
)
def test_a_wrong_constant_of_the_exp_of_lanes_is_noticed(name, wrong, monkeypatch):
    x = np.linspace(-600.0, 600.0, 400)
    assert units_off("exp", np.array([exp_in_lanes(number) for number in x.tolist()]), x, x).max() <= 0.76
    monkeypatch.setattr(coefficients, name, wrong)
    assert units_off("exp", np.array([exp_in_lanes(number) for number in x.tolist()]), x, x).max() > 0.9


def test_an_angle_beside_a_multiple_of_pi_needs_all_parts_of_pi():
    """Remainders of what is nearest to a multiple of pi/2; with two parts of it their sines are wrong."""

    def careless(x: float) -> float:
        n = round(x * coefficients.TWO_OVER_PI)
        return multiply_add(-n, coefficients.HALF_PI_2, multiply_add(-n, coefficients.HALF_PI_1, x))

    x = np.array([k * math.pi for k in range(2, 2_000_000, 20_011)])
    assert units_off("sin", values("sin", x, x), x, x).max() < MEASURED["sin"]
    signs = np.array([(-1.0) ** round(v / math.pi) for v in x])
    assert units_off("sin", signs * [math.sin(careless(v)) for v in x.tolist()], x, x).max() > 10.0


def test_a_wrong_digit_of_two_over_pi_is_noticed(monkeypatch):
    """The last of those that meet the fraction of a huge angle."""
    x = np.array([1e22, 1.7e308, 6381956970095103 * 2.0**797])
    assert units_off("sin", np.array(plain("sin", x, x)), x, x).max() < MEASURED["sin"]
    digits = list(coefficients.TWO_OVER_PI_DIGITS)
    monkeypatch.setattr(coefficients, "TWO_OVER_PI_DIGITS", tuple(d ^ 1 for d in digits))
    assert units_off("sin", np.array(plain("sin", x, x)), x, x).max() > 1.0


@pytest.mark.parametrize("function", ["sin", "cos"])
def test_a_wrong_coefficient_is_noticed(function, monkeypatch):
    x, name = np.linspace(0.3, 0.78, 200), function.upper()
    monkeypatch.setattr(coefficients, name, changed(name, 1, 1e-12))
    assert units_off(function, np.array(plain(function, x, x)), x, x).max() > MEASURED[function]


def test_fused_multiply_add_in_plain_python_rounds_once():
    """Against MPFR: products and sums that cancel, halves of a unit in the last place, and small and large numbers."""
    import gmpy2

    rng = np.random.default_rng(5)
    a, b = rng.standard_normal((2, 4000)) * 10.0 ** rng.choice([0, 0, 90, -90, 130, -160], (2, 4000))
    with np.errstate(over="ignore"):
        c = rng.choice([0.0, 1.0, -1.0, 2.0**-53, 1e-20, 1e200], 4000) * a * b
    c[::7] = np.nextafter(-(a * b), 1.0)[::7]
    for numbers in zip(a.tolist(), b.tolist(), c.tolist(), strict=True):
        with gmpy2.context(gmpy2.ieee(64)):
            expected = float(gmpy2.fma(*map(gmpy2.mpfr, numbers)))
        assert multiply_add(*numbers) == expected, numbers


def kernels_that_call_the_library() -> list[str]:
    """Modules of the rooms of kernels in which a function without annotations, as kernels are, calls a function of the library."""
    found = []
    root = Path(catena.__file__).parent
    for room in ("geometry", "kernels", "methods", "systems"):
        for path in sorted((root / room).rglob("*.py")):
            tree = ast.parse(path.read_text())
            if not any(isinstance(n, ast.Import) and any(a.name == "math" for a in n.names) for n in tree.body):
                continue
            for function in (n for n in tree.body if isinstance(n, ast.FunctionDef) and n.returns is None):
                called = {f"{ast.unparse(n.func)}" for n in ast.walk(function) if isinstance(n, ast.Call)}
                found += [f"{path.stem}.{function.name}" for name in FUNCTIONS if f"math.{name}" in called]
    return found


def test_kernels_call_no_function_of_the_library():
    assert kernels_that_call_the_library() == []


def test_a_kernel_that_imports_math_gets_our_functions():
    """One of another package, say; and what has no other bits on another machine stays that of Python."""
    text = "def kernel(x):\n    return math.sin(math.sqrt(x)) + math.floor(x)\n"
    parts = collect(Written("kernel", text, __name__), {})
    assert parts[-2].name == "kernels_elementary_trigonometric_sin"
    assert "math.sqrt(" in parts[-1].text and "math.floor(" in parts[-1].text and "math.sin" not in parts[-1].text


def test_the_page_on_round_off_has_these_figures():
    page = (Path(__file__).parents[2] / "docs/theory/round_off.md").read_text(encoding="utf-8")
    told = dict(re.findall(r"^\| `(\w+)` \| (0\.\d+) \|$", page, re.MULTILINE))
    assert {name: float(units) for name, units in told.items()} == MEASURED


@pytest.mark.slow
def test_constants_are_those_that_the_script_makes():
    script = Path(__file__).parents[2] / "benchmarks/elementary_coefficients.py"
    run_python(
        "import runpy, sys; sys.argv = [sys.argv[1], '--check']; runpy.run_path(sys.argv[0], run_name='__main__')",
        str(script),
    )
