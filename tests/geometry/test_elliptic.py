"""Elliptic integrals and functions, against mpmath at 30 digits and more."""

from __future__ import annotations

import inspect
import math
import random
from typing import Any

import mpmath
import pytest
from mpmath import mp, mpf

from catena.geometry import elliptic
from catena.geometry.elliptic import TABLE, carlson_rc, carlson_rf, carlson_rj, fill_means, jacobi

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


# Carlson's integrals


def test_rc_has_all_digits():
    """A few roundings; measured 1.0 eps."""
    for e in [0.0, -EPS, 0.99999e-3, 1.00001e-3, 1.0, 30.0, 1e8, 1e200, *(10.0**-k for k in range(1, 18))]:
        assert relative(carlson_rc(e), mp.elliprc(1, 1 + mpf(e))) < 3, e


@pytest.mark.parametrize("decades", [0.1, 1, 5, 30, 140])
def test_rf_has_all_digits_over_many_orders_of_magnitude(decades):
    """Measured 2.8 eps."""
    rng = random.Random(1)
    for k in range(40):
        x, y, z = magnitudes(rng, 3, decades)
        if k % 4 == 0:
            x = 0.0
        assert relative(carlson_rf(x, y, z), mp.elliprf(x, y, z)) < 6, (x, y, z)


@pytest.mark.parametrize("decades", [0.1, 1, 5, 30, 90])
def test_rj_has_all_digits_over_many_orders_of_magnitude(decades):
    """Measured 3.4 eps."""
    rng = random.Random(2)
    for k in range(40):
        x, p, y, z = sorted(magnitudes(rng, 4, decades))
        if k % 4 == 0:
            x = 0.0
        if k % 4 == 1:
            y, z = z, y
        assert relative(carlson_rj(x, y, z, p), mp.elliprj(x, y, z, p)) < 6, (x, y, z, p)


@pytest.mark.parametrize("complement", COMPLEMENTS)
@pytest.mark.parametrize("c1", [1.0, 0.5, 1e-3, 1e-8])
def test_rj_has_all_digits_where_the_free_body_needs_it(complement, c1):
    """R_J(cn^2, dn^2, 1, cn^2 + c1 k'^2 sn^2) from cn = 0 to 1, for k' down to 1e-140; measured 2.6 eps."""
    for cn2 in [0.0, 0.01 * complement, complement, math.sqrt(complement), 0.3, 1.0]:
        dn2, p = cn2 + complement * (1 - cn2), cn2 + c1 * complement * (1 - cn2)
        assert relative(carlson_rj(cn2, dn2, 1.0, p), mp.elliprj(cn2, dn2, 1, p)) < 6, (cn2, dn2, p)


def truncation(looser: float) -> float:
    """Largest relative error of R_F and R_J in arithmetic of 30 digits, duplication stopped `looser` times earlier."""
    names: dict[str, Any] = {"math": mp}
    exec(inspect.getsource(elliptic).replace("from ..kernels import elementary as math\n", ""), names)
    names["carlson_rc"] = lambda e: mp.elliprc(1, 1 + e)
    names["RF_SPREAD"] /= looser
    names["RJ_SPREAD"] /= looser
    rng = random.Random(3)
    worst = mpf(0)
    for _ in range(150):
        x, p, y, z = sorted(mpf(value) for value in magnitudes(rng, 4, 2))
        worst = max(worst, abs(names["carlson_rf"](x, y, z) / mp.elliprf(x, y, z) - 1))
        worst = max(worst, abs(names["carlson_rj"](x, y, z, p) / mp.elliprj(x, y, z, p) - 1))
    return float(worst)


def test_duplication_goes_as_far_as_a_float_can_tell():
    """A tail of degree 7 leaves out the power 8 of the spread: stopping 4 times earlier loses 4^8 = 65536."""
    assert truncation(1.0) < 1e-17
    assert truncation(4.0) > 1e-15


# The arithmetic-geometric mean and Jacobi's functions


def table_of(complement: float) -> list[float]:
    table = [math.nan] * (3 + TABLE)
    fill_means(complement, table, 3)
    return table


def quarter_period(complement: float) -> Any:
    """K, in digits enough for 1 - k'^2."""
    with mpmath.workdps(30 + int(-math.log10(complement))):
        return mp.ellipk(1 - mpf(complement))


@pytest.mark.parametrize("complement", COMPLEMENTS)
def test_the_mean_gives_the_quarter_period(complement):
    """K = pi/(2 mean), down to k' = 1e-140; measured 1.2 eps."""
    table = table_of(complement)
    assert relative(0.5 * math.pi / table[4], quarter_period(complement)) < 2
    assert table[3] <= elliptic.MOST_LEVELS - 2


@pytest.mark.parametrize("complement", [1e-12, 1e-15])
def test_a_quarter_period_from_the_parameter_itself_is_wrong(complement):
    """The broken twin: k'^2 = 1 - k^2 with k^2 a float."""
    assert relative(0.5 * math.pi / table_of(1.0 - (1.0 - complement))[4], quarter_period(complement)) > 1e3


def exact_jacobi(u: float, complement: float, tangent: float) -> tuple[Any, Any, Any]:
    """sn, cn, dn by Newton's method for F(sn, cn, dn) = u with F from Carlson's R_F.

    The unknown is v in sn = tanh v, cn = 1/cosh v, of which F is almost a linear function also where k' is tiny.
    """
    m1, v = mpf(complement), mp.asinh(mpf(tangent))
    for _ in range(20):
        sn, cn = mp.tanh(v), mp.sech(v)
        dn = mp.sqrt(cn * cn + m1 * sn * sn)
        correction = (sn * mp.elliprf(cn * cn, dn * dn, 1) - mpf(u)) * dn / cn
        v -= correction
        if abs(correction) < 1e-25 * abs(v):  # converges quadratically
            return sn, cn, dn
    raise AssertionError("Newton's method did not converge")


def jacobi_error(u: float, complement: float, table: list[float]) -> float:
    """Largest error of sn, cn, dn in units of eps times (value + its change with a relative change of u)."""
    values = jacobi(u, table, 3)
    with mpmath.workdps(40):
        sn, cn, dn = exact = exact_jacobi(u, complement, values[0] / values[1])
        change = (cn * dn, sn * dn, (1 - mpf(complement)) * sn * cn)
        return max(
            float(abs(mpf(value) - right) / (abs(right) + abs(u * slope))) / EPS
            for value, right, slope in zip(values, exact, change, strict=True)
        )


@pytest.mark.parametrize("complement", COMPLEMENTS)
def test_jacobi_functions_are_those_of_an_argument_a_few_eps_away(complement):
    """Over |u| <= K, most densely at both ends; measured 2.4 eps."""
    table = table_of(complement)
    quarter = float(quarter_period(complement))
    ends = [f * quarter for f in (1e-20, 1e-9, 1e-3, 0.1, 0.3, 0.5, 0.7, 0.9, 0.999, 1 - 1e-7)]
    for u in [*ends, *(-u for u in ends[::3]), 1e-300, 0.99e-8, 1.01e-8]:
        assert jacobi_error(u, complement, table) < 8, u
    assert jacobi(0.0, table, 3) == (0.0, 1.0, 1.0)


def test_jacobi_functions_from_the_parameter_itself_are_wrong():
    """The broken twin of the above, at k' = 1e-7 near the end of the quarter period."""
    complement = 1e-14
    u = 0.9 * float(quarter_period(complement))
    assert jacobi_error(u, complement, table_of(complement)) < 8
    assert jacobi_error(u, complement, table_of(1.0 - (1.0 - complement))) > 1e3
