"""Every method converges with the order it declares: globally in float64, in one step in 50 digits."""

from __future__ import annotations

from functools import cache

import mpmath
import numpy as np
import pytest
from mpmath import mp

import broken
import catena as ct
import harness
from harness import HIGHEST_MEASURED, ORDERS, Precise, pairs, problem, slow_where

PROBLEMS = [name for name in ORDERS if name != "late"]


def measurable(method) -> bool:
    return method.traits.has_order and method.traits.order <= HIGHEST_MEASURED


ONE_OF_A_FAMILY = (ct.StormerVerlet(), ct.Gauss(3), ct.Nystrom6(), ct.Splitting(6), ct.RK4())


def is_long(method, of) -> bool:
    """In three dimensions plain Python takes half the time of all problems; the pendulum is not separable, either.

    With a driving force the same kernels have one coordinate more.
    """
    if of.name == "pendulum":  # whose sine takes long in plain Python
        return method not in (*ONE_OF_A_FAMILY, ct.ImplicitEuler())
    if of.name == "galactic":
        return method not in (ct.RK4(), ct.ImplicitMidpoint(), ct.Gauss(3))
    return of.name in harness.DRIVEN and not (of.name == "driven_pendulum" and method in ONE_OF_A_FAMILY)


@pytest.mark.parametrize(("method", "of"), slow_where(pairs(*PROBLEMS, where=measurable), is_long))
def test_the_error_at_the_end_falls_with_the_declared_order(method, of):
    """Within 0.15, from the finest four errors above 1e-12, which lie a factor 4 apart (measured: mostly 0.01)."""
    harness.check_order(method, of)


@pytest.mark.parametrize("row", ORDERS["late"], ids=lambda row: f"{row['method']}-{row['problem']}")
def test_what_is_said_to_be_late_is_late(row):
    """An exception that is no longer needed has to go."""
    method = next(m for m in harness.examples() if str(m) == row["method"])
    study = harness.order_study(method, problem(row["problem"]))
    assert abs(study.slope - study.order) >= harness.ORDER_TOLERANCE, str(study)


@pytest.mark.parametrize(
    ("twin", "name"),
    [
        (broken.MisprintedRK4(), "pendulum"),
        (broken.MisprintedGauss(), "pendulum"),
        pytest.param(broken.MisprintedComposition(), "pendulum", marks=pytest.mark.slow),
        (broken.LopsidedVerlet(), "henon_heiles"),
        (broken.BackwardVerlet(), "henon_heiles"),
    ],
    ids=str,
)
def test_one_wrong_coefficient_is_seen(twin, name):
    with pytest.raises(AssertionError):
        harness.check_order(twin, problem(name))


def test_an_order_that_is_declared_too_low_is_seen():
    """A claim may also be too modest."""

    class Modest(ct.RK4):
        name = "Modest"

        @property
        def traits(self):
            from dataclasses import replace

            return replace(super().traits, order=3)

    with pytest.raises(AssertionError):
        harness.check_order(Modest(), problem("henon_heiles"))


# One step in 50 digits ---------------------------------------------------------------------------------------------
#
# The error of one step falls with order + 1. The reference are Taylor series of the equations, written here by hand.


def pendulum_rates(t, z):
    q, p = z
    return [p + mp.cos(q) / 6, -mp.sin(q) * (1 - p / 6)]


def henon_heiles_rates(t, z):
    x, y, px, py = z
    return [px, py, -x - 2 * x * y, -y - x * x + y * y]


RATES = {"pendulum": pendulum_rates, "henon_heiles": henon_heiles_rates}
LENGTHS = [2.0 ** (-k / 4) for k in range(31)]
LOCAL_CEILING, LOCAL_FLOOR = 1e-4, 1e-16  # float64 coefficients fulfil their order conditions to 1e-17 or so
LOCAL_TOLERANCE = 0.03  # of the slope; measured 0.01, but for order 12


@cache
def exact_step(name: str, h: float) -> np.ndarray:
    """The solution after h, by Taylor series of mpmath."""
    with mpmath.workdps(25):
        start = Precise(ct.RK4(), problem(name)).start()
        return np.array(mpmath.odefun(RATES[name], 0, list(start))(mp.mpf(h)))


def local_slope(method, of, lengths=LENGTHS) -> float:
    """Slope of the error of one step, from the smallest three between ceiling and floor."""
    points: list[tuple[float, float]] = []
    with mpmath.workdps(harness.DIGITS):
        program = Precise(method, of)
        for h in lengths:
            error = float(harness.largest(program.steps(program.start(), h) - exact_step(of.name, h)))
            if error < LOCAL_FLOOR:
                break
            points += [(h, error)] if error < LOCAL_CEILING else []
    assert len(points) >= 3
    h, error = np.log(np.array(points[-3:])).T
    return float(np.polyfit(h, error, 1)[0])


@pytest.mark.parametrize(("method", "of"), pairs("henon_heiles", where=lambda m: m.traits.has_order))
def test_the_error_of_one_step_falls_with_one_order_more(method, of):
    """This reaches orders that leave nothing to see between ceiling and round-off of a run."""
    assert local_slope(method, of) == pytest.approx(method.traits.order + 1, rel=LOCAL_TOLERANCE)


def test_the_error_of_one_step_shows_the_order_of_a_method_that_is_late_in_a_run():
    slope = local_slope(ct.SunGeng(), problem("pendulum"), lengths=[0.2, 0.15, 0.1])
    assert slope == pytest.approx(6, rel=LOCAL_TOLERANCE)


@pytest.mark.parametrize(
    "twin", [broken.MisprintedRK4(), broken.MisprintedGauss(), broken.MisprintedComposition()], ids=str
)
def test_one_wrong_coefficient_is_seen_in_one_step(twin):
    assert local_slope(twin, problem("henon_heiles")) != pytest.approx(twin.traits.order + 1, rel=LOCAL_TOLERANCE)
