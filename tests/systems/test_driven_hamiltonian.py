"""Hamiltonians that depend on time: t is a coordinate, and its momentum takes up the work.

Orders on driven problems are measured with those of all problems (tests/methods/test_order.py, references in 30 digits).
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.interpolate import CubicSpline

import catena as ct
import harness
import uncompiled
from catena.engine.pairing import can_treat

TIMES = np.linspace(0.0, 5.0, 11)
PUSH = ct.Sampled(TIMES, np.sin(1.3 * TIMES))


def pushed(parameter, **more) -> ct.Hamiltonian:
    return ct.Hamiltonian("p**2/2 - cos(q) - f*q", parameters={"f": parameter}, **more)


def test_without_time_nothing_is_added():
    """An autonomous energy is stepped as before: no clock, no work."""
    system = ct.Hamiltonian("p**2/2 - cos(q)")
    assert [i.name for i in system.invariants] == ["energy"]
    assert system.view("canonical").dimension == 2
    assert system.view("split").fills.keys() == pushed(0.5).view("split").fills.keys()
    assert pushed("1/2").describe() == pushed(0.5).describe()  # a text without t is a number


@pytest.mark.parametrize(
    "method", [m for m in harness.examples() if m.traits.symplectic and m.traits.order in (2, 6)], ids=str
)
def test_a_driven_step_is_symplectic_in_all_coordinates(method):
    """The derivative of a step by q, t, p, p_t keeps the form in 50 digits."""
    of = harness.problem("driven_pendulum")
    if can_treat(of.system, method):
        harness.check_symplectic(method, of)
        if method.traits.symmetric:
            harness.check_symmetric(method, of)


def test_energy_less_work_is_kept_and_energy_is_not():
    """Mathieu's equation between two tongues: H swings by half its size, H - W by the error of the method, without drift."""
    of = harness.problem("mathieu")
    system = of.system.with_parameters(a=2.5)
    run = uncompiled.simulate(system, of.start, ct.Splitting(6), dt=0.1, steps=2000, every=5)
    balance, work = run.data.energy.values, run.data.work.values
    assert np.ptp(balance) < 1e-7 and np.ptp(work) > 0.3
    t, q, p = run.data.time.values, run.data.q.values[:, 0], run.data.p.values[:, 0]
    energy = p**2 / 2 + (2.5 - 0.8 * np.cos(2 * t)) * q**2 / 2
    assert np.abs(energy - (balance + work)).max() < 1e-13
    row = run.audit()["energy"]
    assert (row.promised, row.verdict) == ("bounded", "bounded")


def test_a_balance_that_is_quadratic_is_exact():
    """H = p^2/2 - t q is quadratic in q, t, p, p_t: Gauss methods keep H + p_t to round-off."""
    system = ct.Hamiltonian("p**2/2 + q**2/2 - t*q")
    run = uncompiled.simulate(system, system.start(q=0.3, p=0.1), ct.Gauss(2), dt=0.1, steps=300)
    row = run.audit()["energy"]
    assert (row.promised, row.verdict) == ("exact", "exact")


def followed(end: float) -> np.ndarray:
    """q, p and p_t at the end, from scipy's spline in scipy's integrator, from knot to knot, where it is smooth."""
    spline = CubicSpline(TIMES, np.sin(1.3 * TIMES))

    def rates(t, z):
        return [z[1], -np.sin(z[0]) + spline(t), spline(t, 1) * z[0]]

    z = np.array([0.4, 0.0, 0.0])
    for a, b in pairwise([*TIMES[end > TIMES], end]):
        z = solve_ivp(rates, (a, b), z, method="DOP853", rtol=1e-13, atol=1e-14).y[:, -1]
    return z


@pytest.mark.filterwarnings("ignore:.*cubic spline")
@pytest.mark.parametrize(("counts", "motion", "work"), [((48, 96), 6, 6), ((143, 287), 4, 3)], ids=["ends", "inside"])
def test_knots_inside_steps_limit_the_order(counts, motion, work):
    """Within 0.15, of Gauss(3): six where all knots are ends of steps; else four, and three of the work."""
    system, exact = pushed(PUSH), followed(4.8)
    errors = []
    for count in counts:
        run = uncompiled.simulate(system, system.start(q=0.4, p=0.0), ct.Gauss(3), dt=4.8 / count, steps=count)
        errors.append(np.abs([run.final.q[0] - exact[0], -float(run.data.work[-1]) - exact[2]]))
    slopes = np.log(errors[0] / errors[1]) / np.log(counts[1] / counts[0])
    assert np.abs(slopes - (motion, work)).max() < 0.15, slopes


def test_a_table_is_followed_as_its_spline():
    """Knots are ends of steps, so the order is that of the method."""
    system, z = pushed(PUSH), followed(5.0)
    run = uncompiled.simulate(system, system.start(q=0.4, p=0.0), ct.Gauss(4), dt=0.1, steps=50)
    found = [run.final.q[0], run.final.p[0], -float(run.data.work[-1])]
    assert np.abs(found - z).max() < 2e-12
    again = type(system)(**{k: v for k, v in system.describe().items() if k != "kind"})
    assert again.describe() == system.describe()


def test_knots_within_steps_are_told_of():
    with pytest.warns(ct.CatenaWarning, match="cubic spline.*t = 1"):
        uncompiled.simulate(pushed(PUSH), pushed(PUSH).start(q=0.4, p=0.0), ct.Gauss(3), dt=0.3, steps=5)


def test_a_wrong_slope_of_the_table_is_seen(monkeypatch):
    """A twin whose clock takes up the wrong work: the balance is lost."""
    from catena.systems import sampled

    monkeypatch.setattr(sampled, "LINEAR", sampled.CONSTANT)
    system = pushed(PUSH)
    run = uncompiled.simulate(system, system.start(q=0.4, p=0.0), ct.Gauss(3), dt=0.1, steps=50)
    assert np.ptp(run.data.energy.values) > 1e-3


def test_many_coordinates_are_driven_in_loops():
    """Twenty masses in a row, derived by the shapes of their terms: the same motion as the matrix exponential's."""
    n = 20
    q, p = [f"q{k}" for k in range(n)], [f"p{k}" for k in range(n)]
    springs = " + ".join(f"({a} - {b})**2/2" for a, b in zip(["0", *q], [*q, "0"], strict=True))
    energy = " + ".join(f"{m}**2/2" for m in p) + f" + {springs} - {q[-1]}*cos(1.9*t)"
    system = ct.Hamiltonian(energy, q, p)
    run = uncompiled.simulate(system, system.start(q=np.zeros(n), p=np.zeros(n)), ct.Splitting(6), dt=0.05, steps=40)
    stiffness = 2 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1)
    squares, modes = np.linalg.eigh(stiffness)
    omega, t = np.sqrt(squares), 2.0
    exact = modes @ (modes[-1] * (np.cos(1.9 * t) - np.cos(omega * t)) / (squares - 1.9**2))
    assert np.abs(run.final.q - exact).max() < 1e-10
    assert np.ptp(run.data.energy.values) < 1e-8


def test_a_driven_run_that_was_stopped_ends_with_the_same_bytes(tmp_path):
    system = pushed("0.3*sin(1.7*t)")
    start = system.start(q=1.0, p=0.2)
    whole = ct.simulate(system, start, ct.Splitting(6), dt=0.1, steps=200, out=tmp_path / "whole.zarr")
    ct.simulate(system, start, ct.Splitting(6), dt=0.1, steps=77, out=tmp_path / "part.zarr")
    rest = ct.resume(tmp_path / "part.zarr", steps=200)
    for name in ("q", "p", "energy", "work"):
        assert whole.data[name].values.tobytes() == rest.data[name].values.tobytes()


@pytest.mark.parametrize(
    ("make", "wrong"),
    [
        (lambda: ct.Hamiltonian("p**2/2 + t**2", q="t"), "'t' is the time"),
        (lambda: pushed("0.3*sin(1.7*s)"), "unknown name s"),
        (lambda: ct.Hamiltonian("p**2/2 + q*t", invariants={"work": "p"}), "'work'"),
        (lambda: ct.Sampled([0, 1, 1, 2], [0, 0, 1, 1]), r"times\[2\] = 1 is not after"),
        (lambda: ct.Sampled([0, 1, 2], [0, 0, 1]), "3 times"),
        (lambda: ct.Sampled([0, 1, 2, 3], [0, math.nan, 1, 2]), "not finite"),
        (lambda: pushed("1/t").start(q=0.1, p=0.2), "division by 0"),
        (lambda: uncompiled.simulate(pushed(PUSH), pushed(PUSH).start(q=0.4, p=0.0), ct.RK4(), dt=0.1, steps=60), "a table has values"),
    ],
)  # fmt: skip
def test_bad_input_is_told(make, wrong):
    with pytest.raises(ct.InputError, match=wrong):
        make()


def test_a_kinetic_energy_that_depends_on_time_has_no_splitting():
    system = ct.Hamiltonian("p**2/(2 + sin(t)) + q**2/2")
    with pytest.raises(ct.CapabilityError, match="kinetic energy depends on t"):
        uncompiled.simulate(system, system.start(q=0.4, p=0.0), ct.Splitting(4), dt=0.1, steps=60)
    assert can_treat(system, ct.Gauss(3))


@pytest.mark.parametrize("t", [-0.1, 4.1, float("nan"), "now", [1.0, 2.0]])
def test_a_table_has_no_values_beyond_its_ends(t: object) -> None:
    table = ct.Sampled([0.0, 1.0, 2.0, 3.0, 4.0], [0.0, 1.0, 8.0, 27.0, 64.0])
    assert table.at(4.0) == pytest.approx(64.0)
    with pytest.raises(ct.InputError, match=r"Sampled\.at"):
        table.at(t)  # type: ignore[arg-type]
