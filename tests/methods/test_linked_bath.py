"""Linked bodies in a heat bath: the noise that the joints leave, against mechanics in joint coordinates, and the law of their angles.

The kernels hold joints by rows and multipliers. Here velocities are those of hinge angles, v = B u, and nothing is held: momenta that
fit are M B u, the mass matrix of the angles is B^T M B, momenta of the angles are B^T p.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from scipy import linalg

import catena as ct
from catena.engine.build import build
from catena.engine.driver import Driver
from catena.geometry import rotations
from catena.kernels import noise

KT = 0.7
AXES = np.array([[1.0, 0.0, 0.0], [0.0, 0.6, 0.8], [0.8, 0.0, -0.6]])
BODIES = [ct.Body(mass=1.0 + 0.5 * k, moments=(0.3, 0.4 + 0.1 * k, 0.55)) for k in range(3)]
UPPER, LOWER = (0.0, 0.0, 0.5), (0.1, 0.0, -0.5)


def hinges(count: int = 3, **more: object) -> ct.Linkage:
    """Hinges with axes of different directions, the first on the ground."""
    joints = [
        ct.Revolute(k - 1, k, at=((0, 0, 0) if k == 0 else LOWER, UPPER), axis=tuple(AXES[k])) for k in range(count)
    ]
    return ct.Linkage(BODIES[:count], joints, **({"gravity": (0.0, 0.0, -1.0)} | more))


def turned_start(linkage: ct.Linkage, angles: tuple[float, ...]) -> ct.State:
    q = np.array([1.0, 0.0, 0.0, 0.0])
    made = []
    for axis, angle in zip(AXES, angles, strict=False):
        q = rotations.multiply(q, rotations.from_vector(angle * axis))
        made.append(q)
    return linkage.start(orientation=made)


def columns(state: ct.State) -> np.ndarray:
    """B (6 n, n): velocities of bodies in space, three linear and three angular each, for unit rates of the hinges."""
    n = len(state.position)
    made = np.zeros((n, 2, 3, n))
    for k in range(n):
        parent = np.array([1.0, 0, 0, 0]) if k == 0 else state.orientation[k - 1]
        axis = rotations.rotate(parent, AXES[k])
        point = state.position[k] + rotations.rotate(state.orientation[k], np.array(UPPER))
        for i in range(k, n):
            made[i, 0, :, k] = np.cross(axis, state.position[i] - point)
            made[i, 1, :, k] = axis
    return made.reshape(6 * n, n)


def masses(state: ct.State) -> np.ndarray:
    """M (6 n, 6 n) in space."""
    made = np.zeros((6 * len(state.position),) * 2)
    for j, q in enumerate(state.orientation):
        r = rotations.to_matrix(q)
        made[6 * j : 6 * j + 3, 6 * j : 6 * j + 3] = BODIES[j].mass * np.eye(3)
        made[6 * j + 3 : 6 * j + 6, 6 * j + 3 : 6 * j + 6] = r @ BODIES[j].tensor @ r.T
    return made


def in_space(state: ct.State) -> np.ndarray:
    """(6 n,) momenta."""
    spins = [rotations.rotate(q, y) for q, y in zip(state.orientation, state.angular_momentum, strict=True)]
    return np.hstack([state.momentum, spins]).ravel()


def drawn(state: ct.State, stream: int, step: int, member: int, seed: int) -> np.ndarray:
    """sqrt(kT) M^1/2 xi with the normals of each body, in space."""
    made = []
    for j, q in enumerate(state.orientation):
        xi = np.array([x for k in range(3) for x in noise.normals(seed, 0, member, step, j, stream + k)])
        body = BODIES[j]
        turn = body.frame_matrix @ (np.sqrt(body.moments) * xi[3:])
        made.append(np.hstack([math.sqrt(body.mass) * xi[:3], rotations.rotate(q, turn)]))
    return math.sqrt(KT) * np.concatenate(made)


def fitting(state: ct.State, momenta: np.ndarray) -> np.ndarray:
    """The part of momenta that the hinges leave: M B (B^T M B)^-1 B^T p."""
    b, m = columns(state), masses(state)
    return m @ b @ np.linalg.solve(b.T @ m @ b, b.T @ momenta)


def drive(linkage: ct.Linkage, start: ct.State, method: ct.Langevin, dt: float, member: int = 0) -> Driver:
    program = build(linkage, method, compiled=False)
    return Driver(program, program.view.pack(start), t0=0.0, dt=dt, every=1, member=member)


def test_fresh_momenta_are_the_noise_that_the_joints_leave() -> None:
    """gamma = inf, a step so short that nothing moves: M^1/2 xi projected in the metric of the masses. The plain projection, without them, is another."""
    linkage = hinges()
    start = turned_start(linkage, (0.4, -0.9, 1.3))
    run = drive(linkage, start, ct.Langevin(KT, math.inf, seed=5), 1e-12, member=3)
    row = run.advance(1).rows[0]
    made = run.program.view.unpack(run.z, 0.0)
    xi = drawn(start, noise.MOMENTA, 0, 3, 5)
    wanted = fitting(start, xi)
    assert in_space(made) == pytest.approx(wanted, abs=1e-10)
    b, m = columns(start), masses(start)
    plain = b @ np.linalg.solve(b.T @ b, b.T @ xi)
    assert np.abs(plain - wanted).max() > 0.1
    # what is recorded: momentum times velocity of each hinge, and their sum
    rates = np.linalg.solve(b.T @ m @ b, b.T @ xi)
    shares = (b.T @ wanted) * rates / KT
    recorded = dict(zip(("equipartition", "0", "1", "2", "fourth"), row[-5:], strict=True))
    assert [recorded[k] for k in "012"] == pytest.approx(shares, rel=1e-9)
    assert recorded["equipartition"] == pytest.approx(shares.mean(), rel=1e-9)
    assert recorded["fourth"] == pytest.approx(shares.sum() ** 2 / 15.0, rel=1e-9)


def test_friction_without_noise_slows_all_hinges_alike() -> None:
    """kT = 0, nothing moves: p exp(-gamma dt), whatever the joints; they need no part of it."""
    linkage = hinges()
    start = linkage.maxwell(turned_start(linkage, (0.4, -0.9, 1.3)), KT, seed=2)
    dt = 1e-9
    run = drive(linkage, start, ct.Langevin(0.0, 0.5 / dt, seed=5), dt)
    run.advance(1)
    assert in_space(run.program.view.unpack(run.z, 0.0)) == pytest.approx(math.exp(-0.5) * in_space(start), abs=1e-7)


RATES = np.array([[0.3] * 3 + [0.3] * 3, [2.0] * 3 + [2.0] * 3, [0.0] * 6])  # of bodies, 1/dt


def braked(state: ct.State, rates: np.ndarray, of: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """M f(rates) (6 n, 6 n) in space, f of the rates of each body along its axes."""
    made = np.zeros((6 * len(state.position),) * 2)
    for j, q in enumerate(state.orientation):
        turn = rotations.to_matrix(q) @ BODIES[j].frame_matrix
        linear, angular = of(rates[j, :3]), of(rates[j, 3:])
        made[6 * j : 6 * j + 3, 6 * j : 6 * j + 3] = BODIES[j].mass * np.diag(linear)
        made[6 * j + 3 : 6 * j + 6, 6 * j + 3 : 6 * j + 6] = turn @ np.diag(BODIES[j].moments * angular) @ turn.T
    return made


def tanh_half(rates: np.ndarray) -> np.ndarray:
    return np.tanh(0.5 * rates)


@pytest.mark.parametrize(
    ("friction", "rates"),
    [
        ((0.3, 2.0, 0.0), RATES),
        ((0.3, math.inf, 0.0), np.where(RATES == 2.0, math.inf, RATES)),
        (ct.Friction(translation=0.7, rotation=1.9), np.tile([0.7] * 3 + [1.9] * 3, (3, 1))),
        (ct.Friction(rotation=(0.2, 0.9, 1.9)), np.tile([0.0] * 3 + [0.2, 0.9, 1.9], (3, 1))),
    ],
    ids=["of bodies", "infinite", "of kinds", "of axes"],
)
def test_several_rates_are_a_step_in_the_rates_of_the_hinges(friction: object, rates: np.ndarray) -> None:
    """(A + S) u' = (A - S) u + B^T 2 sqrt(kT M X) xi with A = B^T M B, S = B^T M X B, X = tanh(rate dt/2), where nothing moves."""
    linkage, dt = hinges(), 1e-10
    start = linkage.maxwell(turned_start(linkage, (0.4, -0.9, 1.3)), KT, seed=2)
    scaled = (
        ct.Friction(np.divide(friction.translation, dt), np.divide(friction.rotation, dt))
        if isinstance(friction, ct.Friction)
        else np.divide(friction, dt)
    )
    run = drive(linkage, start, ct.Langevin(KT, scaled, seed=5), dt, member=3)
    run.advance(1)
    b, m = columns(start), masses(start)
    a, s = b.T @ m @ b, b.T @ braked(start, rates, tanh_half) @ b
    # sqrt(M X) xi with xi along the axes of each body: sqrt(kT M) xi is `drawn`
    root = braked(start, rates, lambda r: np.sqrt(tanh_half(r))) @ np.linalg.inv(m)
    pushed = b.T @ (2.0 * root @ drawn(start, noise.MOMENTA, 0, 3, 5))
    before = np.linalg.solve(a, b.T @ in_space(start))
    wanted = m @ b @ np.linalg.solve(a + s, (a - s) @ before + pushed)
    made = run.program.view.unpack(run.z, 0.0)
    assert in_space(made) == pytest.approx(wanted, abs=1e-8)
    # which keeps the law: covariance kT A^-1 of the rates of the hinges
    step = np.linalg.solve(a + s, a - s)
    noise_root = np.linalg.solve(a + s, b.T @ (2.0 * braked(start, rates, lambda r: np.sqrt(tanh_half(r)))))
    law = np.linalg.inv(a)
    assert step @ law @ step.T + noise_root @ np.linalg.inv(m) @ noise_root.T == pytest.approx(
        law, rel=1e-11, abs=1e-13
    )


def test_several_rates_slow_hinges_as_the_exponential_of_their_matrix() -> None:
    """kT = 0, so slow that nothing moves: u(t) = exp(-A^-1 Z t) u(0), A = B^T M B, Z = B^T M G B; errors fall by 4 on halving dt.

    A projection after exact decays of the bodies, which is exact for one rate, has the first order only.
    """
    linkage, t = hinges(gravity=(0.0, 0.0, 0.0)), 0.8
    start = turned_start(linkage, (0.4, -0.9, 1.3))
    warm = linkage.maxwell(start, 1e-14, seed=2)
    b, m = columns(start), masses(start)
    a = b.T @ m @ b
    before = np.linalg.solve(a, b.T @ in_space(warm))
    z = b.T @ braked(start, RATES, lambda rates: rates) @ b
    wanted = m @ b @ (linalg.expm(-np.linalg.solve(a, z) * t) @ before)
    errors, naive = [], []
    for steps in (4, 8, 16):
        run = drive(linkage, warm, ct.Langevin(0.0, (0.3, 2.0, 0.0), seed=5), t / steps)
        run.advance(steps)
        made = in_space(run.program.view.unpack(run.z, 0.0))
        errors.append(np.abs(made - wanted).max() / np.abs(wanted).max())
        p = in_space(warm)
        for _ in range(steps):
            p = fitting(start, braked(start, RATES, lambda r: np.exp(-r * t / steps)) @ np.linalg.solve(m, p))  # noqa: B023
        naive.append(np.abs(p - wanted).max() / np.abs(wanted).max())
    assert errors[2] < 1e-3
    assert all(3.6 < x / y < 4.4 for x, y in pairwise(errors)), errors
    assert all(1.7 < x / y < 2.3 for x, y in pairwise(naive)), naive


def test_starts_have_momenta_that_fit_the_joints() -> None:
    linkage = hinges()
    start = turned_start(linkage, (0.4, -0.9, 1.3))
    warm = linkage.maxwell(start, KT, seed=8, member=4)
    assert np.array_equal(warm.position, start.position) and np.array_equal(warm.orientation, start.orientation)
    assert in_space(warm) == pytest.approx(fitting(start, drawn(start, noise.STARTS, 0, 4, 8)), abs=1e-13)
    assert np.abs(in_space(warm) - drawn(start, noise.STARTS, 0, 4, 8)).max() > 0.1


def test_energy_of_a_step_without_friction_is_that_of_rattle() -> None:
    """Friction 0 is Rattle to the bit; with the bath the same motion, kicks at the ends and free halves between, keeps joints to round-off."""
    linkage = hinges(2)
    start = linkage.maxwell(turned_start(linkage, (0.4, -0.9)), KT, seed=2)
    free = drive(linkage, start, ct.Langevin(1.0, 0.0), 0.02)
    plain = drive(linkage, start, ct.Rattle(), 0.02)  # type: ignore[arg-type]
    free.advance(5), plain.advance(5)
    assert np.array_equal(free.z, plain.z)
    run = drive(linkage, start, ct.Langevin(KT, 2.0, seed=1), 0.02)
    rows = run.advance(20).rows
    data = linkage.columns(rows[:, : linkage.public_width + linkage.invariant_width])
    assert (
        np.abs(data["joint_position_residual"]).max() < 1e-13 and np.abs(data["joint_velocity_residual"]).max() < 1e-12
    )


def test_a_cold_bath_with_little_friction_converges_to_rattle_with_order_two() -> None:
    """kT = 0 and a friction of 1e-12: kick, half motion, half motion, kick differ from Rattle by dt^3 per step; the ratio over one is 8."""
    linkage = hinges(2)
    start = linkage.maxwell(turned_start(linkage, (0.4, -0.9)), KT, seed=2)
    gaps = []
    for dt in (0.04, 0.02):
        ends = []
        for method in (ct.Langevin(0.0, 1e-12), ct.Rattle()):
            run = drive(linkage, start, method, dt)  # type: ignore[arg-type]
            run.advance(1)
            ends.append(run.z[:14].copy())
        gaps.append(np.abs(ends[0] - ends[1]).max())
    assert 6.0 < gaps[0] / gaps[1] < 10.0


RING = ct.Linkage(
    BODIES[:2],
    [
        ct.Revolute(-1, 0, at=((0, 0, 0), UPPER), axis=(1, 0, 0)),
        ct.Revolute(0, 1, at=((0, 0, -0.5), UPPER), axis=(1, 0, 0)),
        ct.Revolute(-1, 1, at=((0, 0, -2.0), (0, 0, -0.5)), axis=(1, 0, 0)),
    ],
)


@pytest.mark.parametrize(
    ("system", "method", "message"),
    [
        (RING, ct.Langevin(1.0, 1.0), "joints close loops"),
        (hinges(2), ct.Langevin([1.0, 2.0], 1.0), "give one temperature"),
        (hinges(2), ct.Langevin(1.0, ct.Friction(translation=(1.0, 1.0, 2.0))), "rates that do not mix axes"),
        (hinges(2), ct.Langevin(1.0, 1.0, rotor=ct.DMV(2)), "leave rotor out"),
        (hinges(2, forces=[ct.Damper(-1, 1, at=((0, 0, 0), (0, 0, 0)), c=1.0)]), ct.Langevin(1.0, 1.0), "dampers"),
        (hinges(2, form="joint"), ct.Langevin(1.0, 1.0), 'form="director"'),
        (hinges(2), ct.HybridMonteCarlo(1.0), "Langevin"),
    ],
    ids=["loop", "two temperatures", "axes of translation", "rotor", "damper", "joint form", "monte carlo"],
)  # fmt: skip
def test_what_has_no_bath_says_why(system: ct.Linkage, method: ct.Langevin, message: str) -> None:
    with pytest.raises(ct.CapabilityError) as refused:
        build(system, method, compiled=False)
    assert message in str(refused.value)
    assert "view" not in str(refused.value)
