"""The classic problems: equations, starts, energies and exact solutions, each from its formula."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from mpmath import mp

import catena as ct
import harness
from catena.engine.build import build
from catena.problems.classic import eccentric_anomaly
from harness import ORDERS, problem

NAMES = ["harmonic", "pendulum", "kepler", "galactic", "henon_heiles"]


def rates(name: str, z: np.ndarray) -> np.ndarray:
    """The field that methods see, uncompiled: explicit Euler with dt = 1 adds it, and 2^-40 of it exactly."""
    of = problem(name)
    run = harness.driver(ct.ExplicitEuler(), of, dt=2.0**-40)
    run.z[...] = z
    run.advance(1)
    return ((run.z - z) + run.e) * 2.0**40


def written_out(name: str, z: np.ndarray) -> list[float]:
    """The equations of motion by hand."""
    if name == "harmonic":
        q, p = z
        return [p, -4 * q]
    if name == "pendulum":
        q, p = z
        return [p + math.cos(q) / 6, -math.sin(q) * (1 - p / 6)]
    if name == "kepler":
        x, y, px, py = z
        r = math.hypot(x, y)
        return [px, py, -x / r**3, -y / r**3]
    if name == "henon_heiles":
        x, y, px, py = z
        return [px, py, -x - 2 * x * y, -y - x * x + y * y]
    q1, q2, q3, p1, p2, p3 = z
    a, b, c, rotation = 1.25, 1.0, 0.75, 0.25
    d = 1 + q1**2 / a**2 + q2**2 / b**2 + q3**2 / c**2
    return [
        p1 + rotation * q2,
        p2 - rotation * q1,
        p3,
        rotation * p2 - 2 * q1 / (a**2 * d),
        -rotation * p1 - 2 * q2 / (b**2 * d),
        -2 * q3 / (c**2 * d),
    ]


@pytest.mark.parametrize("name", NAMES)
def test_the_equations_of_motion_are_those_of_the_energy(name):
    """At ten places; compared with derivatives by hand, to a few roundings."""
    generator = np.random.default_rng(1)
    size = len(problem(name).start.q) * 2
    for z in generator.uniform(0.2, 1.5, (10, size)):
        assert rates(name, z) == pytest.approx(written_out(name, z), rel=1e-14, abs=1e-14)


@pytest.mark.parametrize(
    ("name", "energy", "tolerance"),
    [("harmonic", 2.0, 0), ("pendulum", 0.8, 2e-16), ("kepler", -0.5, 0), ("galactic", 2.0, 9e-16)],
)
def test_the_energy_of_the_start(name, energy, tolerance):
    """A few roundings of the terms."""
    of = problem(name)
    assert of.system.energy_of(of.start) == pytest.approx(energy, abs=tolerance, rel=0)


def test_the_energy_of_the_henon_heiles_start():
    exact = (0.3**2 + 0.4**2) / 2 + (0.1**2 + 0.2**2) / 2 - 0.1**2 * 0.2 + 0.2**3 / 3
    of = problem("henon_heiles")
    assert of.system.energy_of(of.start) == pytest.approx(exact, abs=1e-16, rel=0)


def test_the_starts_are_the_closed_forms():
    with mpmath.workdps(30):
        larger_root = mp.mpf("0.625") + mp.sqrt(mp.mpf("0.625") ** 2 - 2 * (mp.mpf("0.02") + mp.log(5) - 2))
        assert mp.nstr(larger_root, 19) == "1.688837005904475599"
        assert abs(ct.problems.galactic().start.p[1] - larger_root) < 2.3e-16  # one rounding
        assert ct.problems.pendulum().start.q[0] == float(-mp.acos(mp.mpf(-0.8)))
    assert ct.problems.kepler(0.6).start.q.tolist() == [0.4, 0.0]
    assert ct.problems.kepler(0.6).start.p.tolist() == [0.0, 2.0]


@pytest.mark.parametrize(
    ("name", "separable", "quadratic"),
    [
        ("harmonic", True, True),
        ("pendulum", False, False),
        ("kepler", True, True),
        ("galactic", False, False),
        ("henon_heiles", True, True),
    ],
)
def test_what_is_recognised_of_an_energy(name, separable, quadratic):
    system = problem(name).system
    assert (system.separable, system.quadratic_kinetic) == (separable, quadratic)


def test_the_pendulum_rests_at_its_equilibrium():
    """q = 0, p = -1/6, H = -73/72."""
    system = problem("pendulum").system
    assert rates("pendulum", np.array([0.0, -1 / 6])) == pytest.approx([0, 0], abs=1e-16)
    assert system.energy_of(system.start(q=0.0, p=-1 / 6)) == pytest.approx(-73 / 72, abs=2e-16)


# Exact solutions -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("of", [ct.problems.harmonic(m=2.0, k=3.0, q=0.4, p=-1.0), ct.problems.kepler(0.6)])
def test_the_exact_solution_starts_at_the_start_and_obeys_the_equations(of):
    """Gauss(6) with small steps in 50 digits would do; here float64 to 1e-13 over one revolution and more."""
    state = of.exact(0.0)
    assert np.concatenate([state.q, state.p]) == pytest.approx(np.concatenate([of.start.q, of.start.p]), abs=1e-16)
    steps, t_end = 200, 7.0
    z = harness.final(ct.Gauss(6), of, dt=t_end / steps, steps=steps)
    end = of.exact(t_end)
    assert z == pytest.approx(np.concatenate([end.q, end.p]), abs=2e-13)


def test_the_exact_solution_of_kepler_has_the_tabulated_digits():
    """At t = 5, from Kepler's equation in 30 digits."""
    end = ct.problems.kepler(0.6).exact(5.0)
    exact = [-0.883770779386256561, -0.767113715592786520, 0.819382122398133161, -0.193987784610760060]
    assert np.concatenate([end.q, end.p]) == pytest.approx(exact, abs=5e-16)


def test_the_true_anomaly_is_not_the_time():
    """A published formula puts them equal: the right ellipse, but at t = 5 the planet is elsewhere."""
    position = (0.155139, -0.524451)
    radius = 0.64 / (1 + 0.6 * math.cos(5.0))
    assert (radius * math.cos(5.0), radius * math.sin(5.0)) == pytest.approx(position, abs=1e-6)
    assert np.abs(ct.problems.kepler(0.6).exact(5.0).q - position).max() > 0.2


@pytest.mark.parametrize("e", [0.0, 0.3, 0.6, 0.79, 0.81, 0.95, 0.999])
def test_keplers_equation_is_solved_to_round_off(e):
    for t in np.linspace(-math.pi, math.pi, 101):
        anomaly = eccentric_anomaly(float(t), e)
        assert anomaly - e * math.sin(anomaly) == pytest.approx(t, abs=5e-16)


@pytest.mark.parametrize("e", [0.0, 0.6, 0.9])
def test_the_exact_orbit_is_periodic_and_keeps_energy_and_angular_momentum(e):
    of = ct.problems.kepler(e)
    for t in np.linspace(-20.0, 20.0, 41):
        state = of.exact(float(t))
        assert of.system.energy_of(state) == pytest.approx(-0.5, abs=2e-14 / (1 - e))
        momentum = state.q[0] * state.p[1] - state.q[1] * state.p[0]
        assert momentum == pytest.approx(math.sqrt(1 - e * e), abs=1e-15)


@pytest.mark.parametrize("e", [-0.1, 1.0, math.nan])
def test_an_eccentricity_that_is_no_ellipse_is_refused(e):
    with pytest.raises(ct.InputError, match=r"kepler\.e"):
        ct.problems.kepler(e)


@pytest.mark.parametrize("name", [name for name in ORDERS if name != "late"])
def test_the_ends_of_the_order_studies_are_reached_by_a_method_of_order_12(name):
    """Gauss(6) with 160 steps, and Kepler's equation where there is one: 15 digits were kept."""
    reference = ORDERS[name]
    z = harness.final(ct.Gauss(6), problem(name), dt=reference["t_end"] / 160, steps=160)
    assert z == pytest.approx(reference["end"], abs=2e-14)
    exact = problem(name).exact
    if exact is not None:
        end = exact(reference["t_end"])
        assert np.concatenate([end.q, end.p]) == pytest.approx(reference["end"], abs=2e-15)


def test_every_problem_runs_with_the_default_method_of_its_system():
    for name in NAMES:
        of = problem(name)
        kind, arguments = of.system.default_method
        program = build(of.system, getattr(ct, kind)(**arguments), compiled=False)
        assert program.view.dimension == 2 * len(of.start.q)
