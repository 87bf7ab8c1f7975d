"""Closed-form physics of tops and free bodies: nutation, steady precession, sleeping tops, Kovalevskaya's integral, flips."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

import catena as ct
from bodies import EPS, FREE, RIGID, TOPS, Problem, problem_of, run_to, top_problem, unit
from catena.engine.build import build
from catena.engine.driver import Driver
from catena.geometry import rotations
from catena.geometry.free_motion import free_motion, half_period

NUTATION = TOPS["nutation"]
ACCURATE = ct.Gauss(6)  # exact to round-off at dt = 0.1


def rows_of(method, of: Problem, *, dt: float, steps: int, every: int = 1) -> dict[str, np.ndarray]:
    """Samples of an uncompiled run, the start among them."""
    program = build(of.system, method, compiled=False)
    run = Driver(program, program.view.pack(of.start), t0=0.0, dt=dt, every=every)
    first = run.first_row().rows
    chunk = run.advance(steps)
    assert chunk.status == 0
    return of.system.columns(np.concatenate([first, chunk.rows]))


def vertical(rows: dict[str, np.ndarray]) -> np.ndarray:
    """n = R^T e_z at each sample."""
    return rotations.to_matrix(rows["orientation"])[:, 2]


def azimuth(rows: dict[str, np.ndarray]) -> np.ndarray:
    """Of the body's third axis in space, continuous."""
    axis = rotations.to_matrix(rows["orientation"])[:, :, 2]
    return np.unwrap(np.arctan2(axis[:, 1], axis[:, 0]))


# Lagrange ---------------------------------------------------------------------------------------------------------------


def cubic_of_lagrange():
    """Roots of udot^2 = f(u), its period 2 K(k)/lambda and the azimuth gained in it, in 30 digits from the start."""
    with mpmath.workdps(30):
        of = ct.problems.lagrange_top()
        a, g = mpmath.mpf(1), mpmath.mpf(3) / 2
        length = mpmath.sqrt(17)
        q = [4 / length, 1 / length, mpmath.mpf(0), mpmath.mpf(0)]
        n = [2 * (q[1] * q[3] - q[0] * q[2]), 2 * (q[2] * q[3] + q[0] * q[1]), 1 - 2 * (q[1] ** 2 + q[2] ** 2)]
        y = [mpmath.mpf(x) for x in of.start.angular_momentum.tolist()]
        p_z, e = sum(x * z for x, z in zip(n, y, strict=True)), (y[0] ** 2 + y[1] ** 2) / (2 * a) + g * n[2]
        u1, u2, u3 = sorted(
            mpmath.polyroots(
                [2 * g / a, -2 * e / a - (y[2] / a) ** 2, 2 * p_z * y[2] / a**2 - 2 * g / a, 2 * e / a - (p_z / a) ** 2]
            )
        )
        k2, rate = (u2 - u1) / (u3 - u1), mpmath.sqrt(g * (u3 - u1) / (2 * a))

        def gained(x):
            u = u1 + (u2 - u1) * mpmath.sin(x) ** 2
            return 2 * (p_z - y[2] * u) / (a * (1 - u * u)) / (rate * mpmath.sqrt(1 - k2 * mpmath.sin(x) ** 2))

        return (
            [float(u) for u in (u1, u2, u3)],
            float(2 * mpmath.ellipk(k2) / rate),
            float(mpmath.quad(gained, [0, mpmath.pi / 2])),
        )


def test_the_published_nutation_follows_from_the_cubic():
    roots, period, angle = cubic_of_lagrange()
    np.testing.assert_allclose(roots, NUTATION["roots"], rtol=1e-14)
    assert period == pytest.approx(NUTATION["period"], rel=1e-14)
    assert angle == pytest.approx(NUTATION["azimuth"], rel=1e-14)


def test_the_facts_of_the_problem_are_the_published_ones():
    facts = ct.problems.lagrange_top().facts
    np.testing.assert_allclose([facts["lowest_cosine"], facts["highest_cosine"]], NUTATION["roots"][:2], rtol=1e-14)
    assert facts["period"] == pytest.approx(NUTATION["period"], rel=1e-14)
    assert facts["azimuth_per_period"] == pytest.approx(NUTATION["azimuth"], rel=1e-14)


def test_lagranges_top_nutates_between_its_limits_and_returns_after_its_period():
    """Sampled at 64 points of the period: never beyond a limit; after one period height, its rate and y3 are back."""
    of = ct.problems.lagrange_top()
    rows = rows_of(ACCURATE, of, dt=NUTATION["period"] / 64, steps=64)
    u = vertical(rows)[:, 2]
    assert NUTATION["roots"][0] - 1e-14 < u.min() < u.max() < NUTATION["roots"][1] + 1e-14
    assert u.max() - u.min() > 0.99 * (NUTATION["roots"][1] - NUTATION["roots"][0])
    # u returns although R does not: udot = (n x omega)_3 too
    n, omega = vertical(rows), rows["angular_momentum"] / of.system.body.moments
    rate = np.cross(n, omega)[:, 2]
    assert abs(u[-1] - u[0]) < 1e-13 and abs(rate[-1] - rate[0]) < 1e-13
    assert abs(rate[32] - rate[0]) > 0.01, "half a period is not enough"
    turned = azimuth(rows)
    assert turned[-1] - turned[0] == pytest.approx(NUTATION["azimuth"], abs=1e-13)


@pytest.mark.slow
def test_turning_points_are_found_by_a_section():
    """The nutation rate vanishes at both limits, half a period apart: sections of n x omega, located to the method's accuracy."""
    of = ct.problems.lagrange_top()
    # with A = 1: udot = n1 y2 - n2 y1 in components of (q, y)
    n1, n2 = (
        "2*(orientation[1]*orientation[3] - orientation[0]*orientation[2])",
        "2*(orientation[2]*orientation[3] + orientation[0]*orientation[1])",
    )
    rate = f"({n1})*angular_momentum[1] - ({n2})*angular_momentum[0]"
    run = ct.simulate(
        of, method=ct.Splitting(6), dt=0.02, t_end=10.0, sections=[ct.Section("turning", rate, direction=0)]
    )  # fmt: skip
    found = run.sections["turning"]
    np.testing.assert_allclose(np.diff(found.time.values), NUTATION["period"] / 2, rtol=1e-10)
    u = np.sort(rotations.to_matrix(found.orientation.values)[:, 2, 2])
    np.testing.assert_allclose([u[0], u[-1]], NUTATION["roots"][:2], rtol=1e-11)


# Steady precession ---------------------------------------------------------------------------------------------------------


def precessing(rate: float, *, tilt: float = 0.6) -> Problem:
    """A = 1, g = 1.5, y3 = 3, started with y = (A Omega n1, A Omega n2, y3)."""
    n = np.array([0.0, math.sin(tilt), math.cos(tilt)])
    of = top_problem(
        (1.0, 1.0, 0.5),
        ct.Gravity(1.5, (0, 0, 1)),
        (rate * n[0], rate * n[1], 3.0),
        (math.cos(tilt / 2), math.sin(tilt / 2), 0, 0),
    )
    np.testing.assert_allclose(rotations.to_matrix(of.start.orientation)[2], n, atol=EPS)
    return of


def test_the_published_precessions_solve_their_quadratic():
    c = math.cos(0.6)
    rates = [(3.0 + s * math.sqrt(9.0 - 4 * 1.5 * c)) / (2 * c) for s in (1, -1)]
    np.testing.assert_allclose(rates, TOPS["precession"]["rates"], rtol=1e-14)


@pytest.mark.parametrize("rate", TOPS["precession"]["rates"], ids=["fast", "slow"])
def test_a_top_precesses_steadily(rate):
    """theta constant, the azimuth grows by Omega t."""
    rows = rows_of(ACCURATE, precessing(rate), dt=0.1, steps=40)
    assert np.abs(vertical(rows)[:, 2] - math.cos(0.6)).max() < 4e-13
    turned = azimuth(rows)
    np.testing.assert_allclose(turned - turned[0], rate * 0.1 * np.arange(41), atol=7e-13)


def test_at_another_rate_it_nutates():
    rows = rows_of(ACCURATE, precessing(TOPS["precession"]["rates"][1] + 1e-6), dt=0.1, steps=40)
    assert np.ptp(vertical(rows)[:, 2]) > 1e-8


# Sleeping top ----------------------------------------------------------------------------------------------------------------


def widest_tilt(y3: float) -> float:
    """Largest angle from the vertical until t = 30, started with 1e-6."""
    of = ct.problems.sleeping_top(y3=y3, tilt=1e-6)
    q = rows_of(ct.Splitting(6), of, dt=0.1, steps=300)["orientation"]
    return float((2 * np.hypot(q[:, 1], q[:, 2])).max())


def test_a_sleeping_top_is_stable_above_its_speed_only():
    """y3^2 > 4 A g = 6; linear growth exp(0.247 t) at 2.40 makes 4e-3 of 1e-6 in t = 30; above, the tilt beats below 5e-6."""
    assert ct.problems.sleeping_top().facts["stable_above"] == pytest.approx(math.sqrt(6.0), rel=1e-15)
    assert 1e-3 < widest_tilt(2.40) < 1e-2
    assert widest_tilt(2.50) < 5e-6


def test_the_growth_is_that_of_the_linear_theory():
    """Between t = 20 and 30 at y3 = 2: the tilt obeys x'' + (y3^2/4 - A g) x = 0 in the rotating frame, rate sqrt(1.5 - 1)."""
    of = ct.problems.sleeping_top(y3=2.0, tilt=1e-12)
    q = rows_of(ct.Splitting(6), of, dt=0.1, steps=200)["orientation"]
    tilt = 2 * np.hypot(q[:, 1], q[:, 2])
    assert math.log(tilt[200] / tilt[100]) / 10.0 == pytest.approx(math.sqrt(0.5), rel=1e-5)


# Kovalevskaya -----------------------------------------------------------------------------------------------------------------


def kovalevskaya_integral(rows: dict[str, np.ndarray], moments, g, *, sign: float) -> np.ndarray:
    """|(w1 + i w2)^2 + sign (Gx + i Gy)/I3 (n1 + i n2)|^2."""
    w, n = rows["angular_momentum"] / moments, vertical(rows)
    z = (w[:, 0] + 1j * w[:, 1]) ** 2 + sign * (g[0] + 1j * g[1]) / moments[2] * (n[:, 0] + 1j * n[:, 1])
    return np.abs(z) ** 2


def test_kovalevskayas_integral_is_constant_with_its_sign():
    """Until t = 20; with the sign of the opposite convention for gravity it is not constant at all (2.7)."""
    moments, g = (2.6, 2.6, 1.3), (0.8, 0.6, 0.0)
    of = top_problem(moments, ct.Gravity(1.0, g), (0.5, 1.0, 0.75), (2, 1, 0, 1))
    rows = rows_of(ACCURATE, of, dt=0.1, steps=200)
    right, wrong = (kovalevskaya_integral(rows, moments, g, sign=sign) for sign in (-1.0, 1.0))
    assert right[0] == pytest.approx(TOPS["kovalevskaya"]["value"], rel=1e-14)
    np.testing.assert_allclose(rows["kovalevskaya"], right, atol=1e-15)
    assert np.ptp(right) < 2e-14
    assert np.ptp(wrong) > 1.0


def test_a_top_that_is_not_kovalevskayas_does_not_keep_it():
    moments, g = (2.6, 2.6, 1.31), (0.8, 0.6, 0.0)
    of = top_problem(moments, ct.Gravity(1.0, g), (0.5, 1.0, 0.75), (2, 1, 0, 1))
    rows = rows_of(ACCURATE, of, dt=0.1, steps=200)
    assert np.ptp(kovalevskaya_integral(rows, moments, g, sign=-1.0)) > 1e-3


# Flips about the middle axis ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("flip", RIGID["flip"], ids=lambda flip: str(flip["moments"]))
def test_the_half_period_is_the_published_one(flip):
    assert half_period(flip["moments"], flip["y0"]) == pytest.approx(flip["half_period"], rel=1e-14)


@pytest.mark.parametrize(
    ("flip", "tolerance"),
    [(RIGID["flip"][0], 1e-4), (RIGID["flip"][1], 1e-8), (RIGID["flip"][2], 1e-12)],
    ids=["1e-12", "1e-7", "book"],
)
def test_the_middle_component_changes_sign_every_half_period(flip, tolerance):
    """A run with DMV(10). The energy's rounding, relative to its distance from the separatrix (1 - k^2 = 3e-12, 2e-7, 0.7), shifts
    the next flip by about eps/(1 - k^2): hence the tolerances."""
    system = ct.FreeBody(ct.Body(moments=flip["moments"]))
    middle = int(np.argsort(flip["moments"])[1])
    t_end = 2.2 * flip["half_period"]
    run = ct.simulate(
        system, system.start(angular_momentum=flip["y0"]), method=ct.DMV(10), dt=t_end / 4096, steps=4096,
        sections=[ct.Section("flips", f"angular_momentum[{middle}]", direction=0)],
    )  # fmt: skip
    times = run.sections["flips"].time.values
    assert len(times) == 2
    assert times[1] - times[0] == pytest.approx(flip["half_period"], abs=tolerance)


def test_after_two_half_periods_the_momentum_is_back():
    """But not the orientation: y is periodic, R is not."""
    case = FREE["B1"]
    period = 2 * half_period(case["moments"], case["y0"])
    end = run_to(ct.DMV(12), problem_of(case), period, 200)
    assert np.abs(end.angular_momentum - case["y0"]).max() < 1e-12
    assert abs(float(end.orientation @ unit(*case["q0"]))) < 0.999
    y, q = free_motion(case["moments"], case["y0"], q0=case["q0"], times=[period])
    assert np.abs(y[0] - case["y0"]).max() < 1e-14 and abs(abs(float(end.orientation @ q[0])) - 1) < 1e-12
