"""Elliptic integrals, against mpmath at 30 digits and more."""

from __future__ import annotations

import inspect
import math
import random
from typing import Any

import mpmath
import pytest
from mpmath import mp, mpf

from catena.geometry import elliptic
from catena.geometry.elliptic import carlson_rf, complete, first_kind

EPS = 2.0**-52
COMPLEMENTS = [10.0**-k for k in (0, 1, 2, 4, 8, 16, 24, 32, 50, 100, 200, 280)] + [0.5, 1 - 1e-3, 1 - 1e-8, 1 - EPS]


@pytest.fixture(autouse=True)
def thirty_digits():
    with mpmath.workdps(30):
        yield


def relative(value: float, exact: Any) -> float:
    """|value/exact - 1| in units of eps."""
    return float(abs(mpf(value) / exact - 1)) / EPS


def magnitudes(rng: random.Random, count: int, decades: float) -> list[float]:
    return [10.0 ** rng.uniform(-decades, decades) for _ in range(count)]


@pytest.mark.parametrize("decades", [0.1, 1, 5, 30, 140])
def test_rf_has_all_digits_over_many_orders_of_magnitude(decades):
    """Measured 2.8 eps."""
    rng = random.Random(1)
    for k in range(40):
        x, y, z = magnitudes(rng, 3, decades)
        if k % 4 == 0:
            x = 0.0
        assert relative(carlson_rf(x, y, z), mp.elliprf(x, y, z)) < 6, (x, y, z)


def truncation(looser: float) -> float:
    """Largest relative error of R_F in arithmetic of 30 digits, duplication stopped `looser` times earlier."""
    names: dict[str, Any] = {"math": mp}
    exec(inspect.getsource(elliptic).replace("from ..kernels import elementary as math\n", ""), names)
    names["SPREAD"] /= looser
    rng = random.Random(3)
    worst = mpf(0)
    for _ in range(150):
        x, y, z = (mpf(value) for value in magnitudes(rng, 3, 2))
        worst = max(worst, abs(names["carlson_rf"](x, y, z) / mp.elliprf(x, y, z) - 1))
    return float(worst)


def test_duplication_goes_as_far_as_a_float_can_tell():
    """A tail of degree 7 leaves out the power 8 of the spread: stopping 4 times earlier loses 4^8 = 65536."""
    assert truncation(1.0) < 1e-17
    assert truncation(4.0) > 1e-15


def quarter_period(complement: float) -> Any:
    """K, in digits enough for 1 - k'^2."""
    with mpmath.workdps(30 + int(-math.log10(complement))):
        return mp.ellipk(1 - mpf(complement))


@pytest.mark.parametrize("complement", COMPLEMENTS)
def test_the_mean_gives_the_quarter_period(complement):
    """Down to k' = 1e-140."""
    assert relative(complete(complement), quarter_period(complement)) < 2


def test_the_levels_of_the_mean_are_enough(monkeypatch):
    """The broken twin stops at half of them."""
    monkeypatch.setattr(elliptic, "MOST_LEVELS", elliptic.MOST_LEVELS // 2)
    assert relative(complete(1e-280), quarter_period(1e-280)) > 1e3


@pytest.mark.parametrize("complement", [1e-12, 1e-15])
def test_a_quarter_period_from_the_parameter_itself_is_wrong(complement):
    """The broken twin: k'^2 = 1 - k^2 with k^2 a float."""
    assert relative(complete(1.0 - (1.0 - complement)), quarter_period(complement)) > 1e3


@pytest.mark.parametrize("complement", COMPLEMENTS)
def test_the_integral_of_the_first_kind_has_all_digits(complement):
    with mpmath.workdps(30 + int(-math.log10(complement))):
        for tangent_square in (0.0, 1e-30, 1e-3, 1.0, 7.0, 1e5):
            exact = mp.ellipf(mp.atan(mp.sqrt(mpf(tangent_square))), 1 - mpf(complement))
            assert abs(first_kind(tangent_square, complement) - exact) <= 6 * EPS * exact, tangent_square
