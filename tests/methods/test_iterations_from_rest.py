"""Implicit equations solved from rest: fields that are zero at the start have no size yet by which a change could be judged."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from scipy.optimize import root

import catena as ct
from catena.engine.build import build
from catena.engine.driver import Driver
from catena.geometry import rotations
from catena.methods.base import Method
from catena.methods.runge_kutta import iteration
from catena.methods.runge_kutta.tableaux import gauss, radau_iia, sun_geng
from references import collocation_step
from uncompiled import simulate

mp.mp.dps = 40

# Stages of Runge-Kutta methods -----------------------------------------------------------------------------------------

TABLEAUX = {
    "Gauss, fixed point": (ct.Gauss(2, solver="fixed-point"), gauss(2)),
    "Gauss, Newton": (ct.Gauss(2, solver="newton"), gauss(2)),
    "Radau, fixed point": (ct.RadauIIA(3, solver="fixed-point"), radau_iia(3)),
    "Radau, Newton": (ct.RadauIIA(3, solver="newton"), radau_iia(3)),
    "Sun": (ct.SunGeng(), sun_geng()),
    "midpoint": (ct.ImplicitMidpoint(), gauss(1)),
    "Euler": (ct.ImplicitEuler(), radau_iia(1)),
}
FIELDS: dict[str, Any] = {  # energy, (q, p) at the start, field
    "pendulum": ("p**2/2 - cos(q)", (1.0, 0.0), lambda y: [y[1], -mp.sin(y[0])]),
    "everything zero": ("p**2/2 + q + q**3", (0.0, 0.0), lambda y: [y[1], -1 - 3 * y[0] ** 2]),
    "not separable": (
        "p**2*(1 + q**2)/2 + q + q**3", (0.0, 0.0), lambda y: [y[1] * (1 + y[0] ** 2), -1 - (3 * y[0] + y[1] ** 2) * y[0]]
    ),
    "flat": ("p**4/4 + q**2/2", (1.0, 0.0), lambda y: [y[1] ** 3, -y[0]]),
    "almost at rest": ("p**2/2 - cos(q)", (1.0, 1e-20), lambda y: [y[1], -mp.sin(y[0])]),
    "hardly at all": ("p**2/2 - cos(q)", (1.0, 1e-300), lambda y: [y[1], -mp.sin(y[0])]),
}  # fmt: skip


def assert_solved(method: Method, field: str, expected: list[Any], dt: float) -> None:
    """Both variables to a few roundings of what the step does to them."""
    energy, (q, p), _ = FIELDS[field]
    final = simulate(ct.Hamiltonian(energy, ["q"], ["p"]), ct.State({"q": [q], "p": [p]}), method, dt=dt, steps=1).final
    for value, exact in zip((final.q[0], final.p[0]), expected, strict=True):
        assert abs(value - float(exact)) <= 4e-16 * abs(float(exact))


@pytest.mark.parametrize("name", TABLEAUX)
@pytest.mark.parametrize("field", FIELDS)
def test_the_stages_of_a_first_step_are_solved(field, name) -> None:
    method, tableau = TABLEAUX[name]
    _, start, rate = FIELDS[field]
    for dt in (0.1, 1e-4):
        assert_solved(method, field, collocation_step(tableau, rate, list(map(mp.mpf, start)), mp.mpf(dt)), dt)


def test_one_sweep_is_seen_to_be_too_little(monkeypatch) -> None:
    """A twin that is content with the first change."""
    monkeypatch.setattr(iteration, "GO_ON", iteration.DONE)
    method, tableau = TABLEAUX["Gauss, fixed point"]
    _, start, rate = FIELDS["pendulum"]
    with pytest.raises(AssertionError):
        assert_solved(method, "pendulum", collocation_step(tableau, rate, list(map(mp.mpf, start)), mp.mpf(0.1)), 0.1)


def euler_step(rate: Any, q: Any, p: Any, h: Any, *, implicit: str) -> tuple[Any, Any]:
    """A symplectic Euler step with q or p implicit."""
    if implicit == "p":
        p = mp.findroot(lambda x: x - p - h * rate([q, x])[1], p + h * rate([q, p])[1], tol=1e-60)
        return q + h * rate([q, p])[0], p
    q = mp.findroot(lambda x: x - q - h * rate([x, p])[0], q + h * rate([q, p])[0], tol=1e-60)
    return q, p + h * rate([q, p])[1]


@pytest.mark.parametrize("variant", ["A", "B"])
def test_half_implicit_steps_are_solved(variant) -> None:
    """Both halves of a Verlet step that is implicit, so both Euler steps."""
    _, (q, p), rate = FIELDS["not separable"]
    for part in ("pq", "qp")[variant == "B"]:
        q, p = euler_step(rate, mp.mpf(q), mp.mpf(p), mp.mpf(0.05), implicit=part)
    assert_solved(ct.StormerVerlet(variant), "not separable", [q, p], 0.1)


# One body: tops, free bodies, bodies that change their size --------------------------------------------------------------

TOP = ct.Top(ct.Body(1.0, (2.0, 3.0, 4.0)), ct.Gravity(9.81, (0.3, 0.4, 1.2)))
BENT = ct.Top(ct.Body(1.0, (2.0, 3.0, 4.0)), "3*R33 + 2*R31**2 + R32*R33**3")


def some_tops(top: ct.Top, size: float, count: int) -> Iterator[ct.State]:
    """States with an angular momentum of this size."""
    random = np.random.default_rng(0)
    for _ in range(count):
        turn = rotations.normalise(random.normal(size=4))
        yield top.start(turn, angular_momentum=size * random.normal(size=3))


def energy(top: ct.Top, z: np.ndarray) -> float:
    """Of a stepped state; U is about 10."""
    return float(top.potential.energy_at(rotations.to_matrix(z[:4])) + (z[4:7] ** 2 / (2.0 * top.body.moments)).sum())


@pytest.mark.parametrize("dt", [0.1, 1e-3])
@pytest.mark.parametrize("top", [TOP, BENT], ids=["gravity", "another potential"])
def test_the_conserving_step_of_a_top_is_solved_from_rest_and_near_it(top, dt) -> None:
    """Over a turn of 1e-5 the difference of U is known to 1e-11 of itself: that may not fail the step."""
    program = build(top, ct.QuatEM(), compiled=False)
    for size in (0.0, 1e-300, 1e-20, 1e-12, 1e-4):
        for start in some_tops(top, size, 12):
            driver = Driver(program, program.view.pack(start), t0=0.0, dt=dt, every=1)
            before = energy(top, driver.z)
            assert driver.advance(1).status == 0
            assert abs(energy(top, driver.z) - before) < 1e-14


@pytest.mark.parametrize("dt", [0.1, 1e-3])
def test_the_conserving_step_of_a_top_has_the_root_of_its_equations(dt) -> None:
    """For gravity the discrete gradient is the gradient: q1 = q0 c, y1 = R(c)^T y0 + (h/N) R(b)^T tau, solved by scipy."""
    moments = np.array((2.0, 3.0, 4.0))
    for start in some_tops(TOP, 0.0, 5):
        q0 = start.orientation

        def momentum(y: np.ndarray, q0: np.ndarray = q0) -> np.ndarray:
            a = 0.125 * dt * y / moments  # h w/4, w the mean angular velocity from rest
            norm = 1.0 + a @ a
            half = np.array([1.0, *a]) / np.sqrt(norm)
            tau = TOP.potential.torque_at(rotations.to_matrix(rotations.multiply(q0, half)))
            return dt / norm * (rotations.to_matrix(half).T @ tau)

        y = root(lambda y: y - momentum(y), np.zeros(3), tol=1e-15).x
        y = momentum(momentum(y))
        final = simulate(TOP, start, ct.QuatEM(), dt=dt, steps=1).final
        assert np.abs(final.angular_momentum - y).max() < 1e-13 * np.abs(y).max()


@pytest.mark.parametrize("dt", [0.1, 1e-3])
@pytest.mark.parametrize("size", [0.0, 1e-300, 1e-20])
def test_a_body_that_changes_its_size_is_solved_from_rest(size, dt) -> None:
    """Equations of `energy_momentum_scaling` on l and s, solved by scipy; a push on the scale and a moment act."""
    moments, at, force, moment = np.array((2.0, 3.0, 4.0)), np.array((0.3, 0.1, 0.5)), np.array((1.0, 2.0, -3.0)), 0.4
    body = ct.ScalingBody(
        ct.Body(1.0, moments), forces=[ct.Load(0, at, force=force, torque=(moment, 0.0, 0.0))], scaling_force=-0.3
    )
    start = body.start(angular_velocity=(size, -size, size))
    l0, kappa = size * np.array((2.0, -3.0, 4.0)), 0.5 * moments.sum()

    def turned(c: np.ndarray, x: np.ndarray) -> np.ndarray:
        """cay(c) x."""
        k = 0.5 * np.array([[0.0, -c[2], c[1]], [c[2], 0.0, -c[0]], [-c[1], c[0], 0.0]])
        return np.linalg.solve(np.eye(3) - k, (np.eye(3) + k) @ x)

    def missing(x: np.ndarray) -> np.ndarray:
        l1, s1 = x[:3] * dt, 1.0 + x[3] * dt**2
        c = dt * (l0 + l1) / (2.0 * moments * s1)
        arm = 0.5 * (at + turned(c, at))
        push = (l1**2 / moments).sum() + (l0**2 / moments).sum() * s1
        kick = push / (2.0 * s1**2) + force @ arm - 0.3
        turning = 0.5 * (1.0 + s1) * np.cross(arm, force) + (moment, 0.0, 0.0)
        return np.array([*(turned(c, l1) - l0 - dt * turning) / dt, x[3] - 0.5 * x[4], x[4] - kick / kappa])

    found = root(missing, np.zeros(5), tol=1e-15, method="hybr").x
    final = simulate(body, start, ct.EnergyMomentum(), dt=dt, steps=1).final
    assert np.abs(final.angular_momentum / dt - found[:3]).max() < 1e-14
    assert abs(final.scale_rate / dt - found[4]) < 1e-14
    assert abs((final.scale - 1.0) / dt**2 - found[3]) < 1e-15 / dt**2


STILL = [
    ct.DMV(2),
    ct.DMV(10),
    ct.DMV("exact"),
    ct.Jacobi(),
    ct.ImplicitMidpoint(),
    ct.ThreeRotations(),
    ct.Gauss(2),
    ct.Rattle(),
]


@pytest.mark.parametrize("method", STILL, ids=str)
def test_a_free_body_at_rest_stays(method) -> None:
    body = ct.FreeBody(ct.Body(moments=(1.0, 2.0, 2.5)))
    turn = rotations.normalise(np.array((0.5, 0.1, -0.7, 0.2)))
    final = simulate(body, body.start(turn, angular_momentum=(0.0, 0.0, 0.0)), method, dt=0.1, steps=2).final
    assert not final.angular_momentum.any()
    assert np.abs(final.orientation - turn).max() < 1e-15


# Driven from rest ------------------------------------------------------------------------------------------------------


def hanging(force: str) -> tuple[ct.Linkage, ct.State]:
    """A pendulum that hangs straight but for a rounding error, and is pushed aside."""
    joint = ct.Revolute(-1, 0, at=((0, 0, 0), (0, 0, 0.5)), axis=(1, 0, 0))
    push = ct.Load(0, force=(0.0, force, 0.0))
    linkage = ct.Linkage([ct.Body.box((0.1, 0.1, 1.0), mass=1.0)], [joint], gravity=(0, 0, -9.81), forces=[push])
    a = 1e-13
    turned = [[np.cos(a / 2), np.sin(a / 2), 0, 0]]
    return linkage, linkage.start(position=[[0, 0.5 * np.sin(a), -0.5 * np.cos(a)]], orientation=turned)


def nearly_resting(force: str) -> tuple[ct.Hamiltonian, ct.State]:
    system = ct.Hamiltonian(f"p**2/2 - cos(q) - q*({force})")
    return system, system.start(q=1e-13, p=0.0)


@pytest.mark.parametrize("made", [hanging, nearly_resting])
@pytest.mark.parametrize("method", [ct.Gauss(2), ct.RadauIIA(2)], ids=str)
def test_a_force_that_comes_up_from_nothing_is_followed(made, method):
    """Before a clock moves, the first sweep sees rounding errors of 1e-13; taken for the size of the motion, they let every change look like a flight."""
    system, start = made("sin(3*t)")
    run = simulate(system, start, method, dt=0.01, steps=3)
    push = 3 * 0.03**2 / 2  # momentum; the torque of half a length, and the moment about the end
    size = run.final.momentum[0, 1] if made is hanging else run.final.p[0]
    expected = push * 0.25 / (0.01 / 12 + 1 / 12 + 0.25) if made is hanging else push
    assert size == pytest.approx(expected, rel=0.01)


@pytest.mark.parametrize(
    "force",
    [ct.Motor(0, torque="t**2"), ct.Motor(0, target="t**2", kp=5.0, kd=1.0), ct.Load(0, force=(0, "t", 0))],
    ids=repr,
)
@pytest.mark.parametrize("method", [ct.Gauss(2), ct.Gauss(3, solver="newton"), ct.RadauIIA(2)], ids=str)
def test_what_comes_up_by_turns_does_not_fly_away(force, method):
    """Without gravity, from rest: first the clock changes, then a velocity, then an angle, each from nothing. Against small explicit steps."""
    joint = ct.Revolute(-1, 0, at=((0, 0, 0), (0, 0, 0.5)), axis=(1, 0, 0))
    system = ct.Linkage([ct.Body.box((0.2, 0.2, 1.0), mass=2.0)], [joint], [force], (0, 0, 0))
    run = simulate(system, system.start(), method, dt=0.02, steps=10)
    fine = simulate(system, system.start(), ct.RK4(), dt=0.005, steps=40)
    assert run.final.position[0, 1] == pytest.approx(fine.final.position[0, 1], rel=5e-3)
