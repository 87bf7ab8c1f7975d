"""Langevin dynamics: its map step by step against formulas, friction in every form, and what is refused.

Laws of ensembles are in `tests/physics/test_canonical_laws.py`. Here nothing is left to chance: the noise of a step is known, so the
stationary covariance of a linear system follows from its map, to round-off.
"""

from __future__ import annotations

import importlib
import math
from dataclasses import dataclass, replace

import numpy as np
import pytest
from mpmath import mp
from scipy.linalg import solve_discrete_lyapunov

import catena as ct
from catena.engine.build import build
from catena.engine.driver import Driver
from catena.engine.pairing import Pairing, can_treat
from catena.kernels import noise
from catena.kernels.marks import bind
from catena.kernels.noise import unit_number, words
from catena.kernels.summation import add
from catena.kernels.views import View, bath
from catena.methods.base import Stepper, method_from
from catena.methods.heat import constants
from catena.systems.base import System
from uncompiled import simulate

SPRING = ct.Hamiltonian("p**2/(2*m) + k*q**2/2", parameters={"k": 2.0, "m": 0.7})
KT, GAMMA = 0.6, 1.3
NoiseAtTheEnds = importlib.import_module("thermal_faults").NoiseAtTheEnds  # a broken twin


def drive(
    system: System, start: ct.State, method: ct.Langevin, dt: float, *, every: int = 1, member: int = 0
) -> Driver:
    """A run as plain Python."""
    program = build(system, method, compiled=False)
    return Driver(program, program.view.pack(start), t0=0.0, dt=dt, every=every, member=member)


def step_map(method: ct.Langevin, dt: float, draws: int) -> tuple[np.ndarray, np.ndarray]:
    """M and W of z' = M z + W xi for the spring, W a column for each normal of a step."""
    ends = []
    for z in ([0.0, 0.0], [1.0, 0.0], [0.0, 1.0]):
        run = drive(SPRING, SPRING.start(q=z[0], p=z[1]), method, dt)
        assert run.advance(1).status == 0
        ends.append(run.z.copy())
    columns = np.array(ends[1:]).T - ends[0][:, None]
    if draws == 1:
        xi = noise.normals(method.seed, 0, 0, 0, 0, noise.OF_HAMILTONIAN)[0]
        return columns, (ends[0] / xi)[:, None]
    first, second = (noise.normals(method.seed, 0, 0, k, 0, noise.OF_HAMILTONIAN)[0] for k in range(2))
    s = constants.find_stir(GAMMA, 0.5 * dt, KT, 0.7)
    after = np.array([0.0, s])  # the second bath comes last
    return columns, np.array([(ends[0] - second * after) / first, after]).T


@pytest.mark.parametrize("dt", [0.1, 0.5, 0.9])
def test_configurations_of_a_spring_have_no_bias_at_any_step(dt: float) -> None:
    """<q^2> = kT/k exactly; p at the end of the step has m kT (1 - (dt omega)^2/4) [leimkuhler2013]."""
    m, w = step_map(ct.Langevin(KT, GAMMA, seed=5), dt, 1)
    sigma = solve_discrete_lyapunov(m, w @ w.T)
    x = dt**2 * 2.0 / 0.7
    assert sigma[0, 0] == pytest.approx(KT / 2.0, rel=1e-12)
    assert sigma[1, 1] == pytest.approx(0.7 * KT * (1.0 - x / 4.0), rel=1e-12)
    inside = _inside(sigma, dt)
    assert inside == pytest.approx(0.7 * KT, rel=1e-12)


def _inside(sigma: np.ndarray, dt: float) -> float:
    """Variance of the momentum after the bath: through half kick and half drift, then c^2 of it and the noise."""
    kicked = np.array([[1.0, 0.0], [-0.5 * dt * 2.0, 1.0]])
    before = (kicked @ sigma @ kicked.T)[1, 1]
    c = 1.0 + constants.find_loss(GAMMA, dt)
    return float(c**2 * before + constants.find_stir(GAMMA, dt, KT, 0.7) ** 2)


def test_noise_at_the_ends_of_the_step_is_seen() -> None:
    """The twin: <q^2> = kT/k/(1 - (dt omega)^2/4), and its momenta at the end of the step are right."""
    dt = 0.5
    m, w = step_map(NoiseAtTheEnds(KT, GAMMA, seed=5), dt, 2)
    sigma = solve_discrete_lyapunov(m, w @ w.T)
    x = dt**2 * 2.0 / 0.7
    assert sigma[0, 0] == pytest.approx(KT / 2.0 / (1.0 - x / 4.0), rel=1e-12)
    assert sigma[1, 1] == pytest.approx(0.7 * KT, rel=1e-12)
    assert abs(sigma[0, 0] / (KT / 2.0) - 1.0) > 0.1


def test_what_is_recorded_is_what_happens_inside_the_steps() -> None:
    """An independent BAOAB with the same noise: states, and means of p^2/(m kT) and p^4 over each window of samples."""
    dt, every, steps = 0.3, 4, 20
    run = simulate(SPRING, SPRING.start(q=0.3, p=-0.4), ct.Langevin(KT, GAMMA, seed=9), dt=dt, steps=steps, every=every)
    q, p, c = 0.3, -0.4, math.exp(-GAMMA * dt)
    squares = []
    for k in range(steps):
        p -= 0.5 * dt * 2.0 * q
        q += 0.5 * dt * p / 0.7
        p = c * p + math.sqrt(0.7 * KT * (1 - c * c)) * noise.normals(9, 0, 0, k, 0, noise.OF_HAMILTONIAN)[0]
        squares.append(p * p / (0.7 * KT))
        q += 0.5 * dt * p / 0.7
        p -= 0.5 * dt * 2.0 * q
    data = run.data
    assert data.q.values[-1, 0] == pytest.approx(q, rel=1e-13)
    assert data.p.values[-1, 0] == pytest.approx(p, rel=1e-13)
    windows = np.array(squares).reshape(-1, every)
    assert np.isnan(data.equipartition.values[0]).all(), "no step has been made at the start"
    assert data.equipartition.values[1:, 0] == pytest.approx(windows.mean(axis=1), rel=1e-12)
    assert data.coordinate_temperature.values[1:, 0] == pytest.approx(windows.mean(axis=1), rel=1e-12)
    assert data.fourth_moment.values[1:] == pytest.approx((windows**2).mean(axis=1) / 3.0, rel=1e-12)


def uniform_bath(z, e, par, member, step):
    """A broken twin: noise with the right variance that is not normal, as some codes draw it."""
    w0, w1, _, _ = words(int(par.seed[0]), int(par.seed[1]), member, step, 0, 0)
    x = 2.0 * 1.7320508075688772 * (unit_number(w0, w1) - 0.5)
    add(z, e, 1, par.loss[0, 0] * z[1] + par.stir[0, 0] * x)


@dataclass(frozen=True)
class UniformNoise(ct.Langevin):
    """`uniform_bath` as a method."""

    name = "UniformNoise"

    def stepper(self, view: View) -> Stepper:
        made = super().stepper(view)
        return replace(made, kernel=bind(made.kernel.function, dict(made.kernel.fills) | {bath: uniform_bath}))


def test_uniform_noise_shows_in_the_fourth_moment_only() -> None:
    """Fresh momenta in each of 4000 steps: <p^4>/3 is 1 for normals and 0.6 for uniform numbers; the error of either is 0.06 or less."""
    start = SPRING.start(q=0.0, p=0.0)
    found = {}
    for method in (ct.Langevin, UniformNoise):
        run = drive(SPRING, start, method(KT, math.inf, seed=6), 0.1, every=4000)
        row = run.advance(4000).rows[0]
        found[method] = dict(zip(("equipartition", "temperature", "fourth"), row[-3:], strict=True))
    assert found[ct.Langevin]["fourth"] == pytest.approx(1.0, abs=4 * 0.06)
    assert found[UniformNoise]["fourth"] == pytest.approx(0.6, abs=4 * 0.02)
    for seen in found.values():
        assert seen["temperature"] == pytest.approx(1.0, abs=4 * math.sqrt(2 / 4000))


def test_coupled_momenta_get_noise_with_their_mass_matrix() -> None:
    """With gamma = inf the momenta after the bath are sqrt(kT) chol(M) xi, M the inverse of the matrix of the kinetic energy."""
    system = ct.Hamiltonian("p1**2/2 + p2**2 + p1*p2/2 + p3**2 - p2*p3/4", ["a", "b", "c"], ["p1", "p2", "p3"])
    inverse = np.array([[1.0, 0.5, 0.0], [0.5, 2.0, -0.25], [0.0, -0.25, 2.0]])
    run = drive(system, system.start(q=[0.0] * 3, p=[3.0, -1.0, 2.0]), ct.Langevin(KT, math.inf, seed=2), 0.1, member=4)
    run.advance(1)
    pairs = [noise.normals(2, 0, 4, 0, i, noise.OF_HAMILTONIAN) for i in range(2)]
    xi = np.array(pairs).ravel()[:3]
    wanted = math.sqrt(KT) * np.linalg.cholesky(np.linalg.inv(inverse)) @ xi
    assert run.z[3:] == pytest.approx(wanted, rel=1e-12)


SPHERE = ct.FreeBody(ct.Body(moments=(1.5, 1.5, 1.5)))


def test_three_rates_about_the_axes_of_a_body_without_noise() -> None:
    """kT = 0, a sphere: y_k(t) = y_k(0) exp(-gamma_k t), in discrete time too; round-off of 50 steps."""
    rates = (0.2, 0.7, 2.0)
    run = drive(
        SPHERE, SPHERE.start(angular_momentum=(1.0, -2.0, 0.5)), ct.Langevin(0.0, ct.Friction(rotation=rates)), 0.05
    )
    run.advance(50)
    wanted = np.array([1.0, -2.0, 0.5]) * np.exp(-2.5 * np.array(rates))
    assert run.z[4:] == pytest.approx(wanted, rel=1e-13)


def test_a_resistance_with_axes_of_its_own_is_the_same_in_every_frame() -> None:
    """Z = R diag(gamma I) R^T for a sphere: y decays as in the frame of Z. The twin applies the rates in the frame of the body."""
    turn = np.array([[0.6, -0.8, 0.0], [0.8, 0.6, 0.0], [0.0, 0.0, 1.0]])
    rates = np.array([0.2, 0.7, 2.0])
    z = turn @ np.diag(1.5 * rates) @ turn.T
    y = np.array([1.0, -2.0, 0.5])
    run = drive(SPHERE, SPHERE.start(angular_momentum=y), ct.Langevin(0.0, ct.Friction(resistance=z.tolist())), 0.05)
    run.advance(50)
    wanted = turn @ (np.exp(-2.5 * rates) * (turn.T @ y))
    assert run.z[4:] == pytest.approx(wanted, rel=1e-12)
    assert np.abs(np.exp(-2.5 * rates) * y - wanted).max() > 0.01


def dragged(friction: ct.Friction, dt: float, steps: int, orientation: tuple[float, ...]) -> np.ndarray:
    """Velocity of a body on a loose tether that a force pulls, kT = 0."""
    body = ct.Body(mass=2.0, moments=(1.0, 1.0, 1.0))
    chain = ct.Chain([body, body], ct.BendTwist(0.0, 0.0, 0.0, (0, 0, 1)), right=ct.Force((0.3, -0.2, 0.5)))
    start = chain.start(position=[[0, 0, 0], [0, 0, 1]], orientation=[[1, 0, 0, 0], orientation])
    run = drive(chain, start, ct.Langevin(0.0, friction), dt)
    assert run.advance(steps).status == 0
    return run.program.view.unpack(run.z, 0.0).momentum[1] / 2.0


@pytest.mark.parametrize("dt", [0.1, 0.2])
def test_drag_along_the_axes_of_a_body_turns_with_it(dt: float) -> None:
    """kT = 0: velocity R diag(dt coth(gamma dt/2)/(2 m)) R^T F, which is 1/(m gamma) up to (gamma dt)^2/12; twin: axes of space."""
    q = np.array([0.5, 0.5, -0.5, 0.5])
    r = np.array([[0.0, -1.0, 0.0], [0.0, 0.0, -1.0], [1.0, 0.0, 0.0]])
    rates = np.array([0.8, 3.0, 1.5])
    f = np.array([0.3, -0.2, 0.5])
    found = dragged(ct.Friction(translation=tuple(rates), rotation=1.0), dt, 400, tuple(q))
    mobility = dt / (4.0 * np.tanh(0.5 * rates * dt))
    assert found == pytest.approx(r @ (mobility * (r.T @ f)), rel=1e-12)
    assert found == pytest.approx(r @ ((r.T @ f) / (2.0 * rates)), rel=1.1 * (3.0 * dt) ** 2 / 12.0)
    assert np.abs(found - f / (2.0 * rates)).max() > 0.05


@pytest.mark.parametrize("given", ["rates", "zeta"])
def test_drag_coefficients_are_rates_times_masses(given: str) -> None:
    """Z diagonal in principal axes, equal for translations: the plain bath, the same constants to the last digit or two."""
    friction = ct.Friction(translation=0.5, rotation=(0.2, 0.4, 0.8))
    zeta = np.diag([1.0, 1.0, 1.0, 0.2, 0.4, 0.8])
    chosen = friction if given == "rates" else ct.Friction(resistance=zeta.tolist())
    body = ct.Body(mass=2.0, moments=(1.0, 1.0, 1.0))
    chain = ct.Chain([body, body], ct.BendTwist(1.0, 0.0, 0.0, (0, 0, 1)))
    view = chain.view("split")
    assert view is not None
    timed = ct.Langevin(0.5, chosen).stepper(view).timed
    assert timed is not None
    made = timed(0.1)
    rates = np.array([0.5, 0.5, 0.5, 0.2, 0.4, 0.8])
    assert made["loss"][1] == pytest.approx(np.expm1(-0.1 * rates), rel=1e-15)
    assert made["stir"][1] == pytest.approx(
        np.sqrt(-np.expm1(-0.2 * rates) * 0.5 * np.array([2, 2, 2, 1, 1, 1])), rel=1e-15
    )
    assert not made["loss"][0].any() and not made["stir"][0].any(), "a clamped body has no bath"


def test_matrices_of_a_resistance_keep_the_law_of_the_momenta() -> None:
    """E M E^T + L L^T/kT = M, whatever Z is; without the noise's own axes it is not."""
    rng = np.random.default_rng(3)
    z = (a := rng.normal(size=(6, 6))) @ a.T
    body = ct.Body(mass=2.0, moments=(0.7, 1.1, 1.3))
    chain = ct.Chain([body, body], ct.BendTwist(1.0, 0.0, 0.0, (0, 0, 1)), left=ct.Free())
    timed = Pairing.of(chain, ct.Langevin(0.5, ct.Friction(resistance=z.tolist()))).stepper.timed
    assert timed is not None
    made = timed(0.3)
    decay, noise_ = np.eye(6) + made["loss_matrix"][1], made["stir_matrix"][1]
    m = np.diag([2.0, 2.0, 2.0, 0.7, 1.1, 1.3])
    assert np.abs(decay @ m @ decay.T + noise_ @ noise_.T / 0.5 - m).max() < 1e-14
    assert np.abs(decay @ m @ decay.T + np.diag(np.diag(noise_ @ noise_.T)) / 0.5 - m).max() > 0.01


@pytest.mark.parametrize("rate", [1e-12, 0.3, 40.0])
def test_constants_are_correctly_rounded(rate: float) -> None:
    with mp.workdps(60):
        x = mp.mpf(rate) * mp.mpf(0.05)
        assert constants.find_loss(rate, 0.05) == float(mp.expm1(-x))
        assert constants.find_stir(rate, 0.05, 0.3, 1.7) == float(
            mp.sqrt(-mp.expm1(-2 * x) * mp.mpf(0.3) * mp.mpf(1.7))
        )


def _systems() -> dict[str, tuple[System, ct.State, float]]:
    helix = ct.problems.helix_chain(4, amp=0.1)
    top = ct.Top(ct.Body(moments=(1.0, 0.8, 0.5)), ct.Gravity(1.5, (0, 0, 1)))
    return {
        "tiles": (helix.system, helix.start, 0.01),
        "top": (top, top.start((0.96, 0.28, 0, 0), angular_momentum=(0.3, 0.1, -0.2)), 0.1),
        "coordinates": (SPRING, SPRING.start(q=1.0, p=0.5), 0.2),
    }


@pytest.mark.parametrize("name", list(_systems()))
def test_without_friction_it_is_the_splitting_to_the_bit(name: str) -> None:
    system, start, dt = _systems()[name]
    ends = []
    for method in (ct.Langevin(1.0, 0.0, seed=3), ct.Langevin(1.0, ct.Friction(), seed=3), ct.Splitting(2)):
        run = simulate(system, start, method, dt=dt, steps=3)
        ends.append(np.concatenate([field.ravel() for field in run.final.fields.values()]))
        assert "equipartition" not in run.data
    assert np.array_equal(ends[0], ends[2]) and np.array_equal(ends[1], ends[2])
    assert ct.Langevin(1.0, 0.0).traits.symplectic and not ct.Langevin(1.0, 1.0).traits.symplectic


def test_bodies_outside_of_the_bath_are_not_touched_by_it() -> None:
    """Rates 0 for the first two of three free bodies without links: their momenta stay what they were."""
    body = ct.Body(mass=2.0, moments=(0.7, 1.1, 1.3))
    chain = ct.Chain([body] * 3, ct.BendTwist(0.0, 0.0, 0.0, (0, 0, 1)), left=ct.Free())
    start = chain.start(position=[[0, 0, k] for k in range(3)], momentum=[[0.1, 0.2, 0.3]] * 3)
    run = drive(chain, start, ct.Langevin(1.0, (0.0, 0.0, 2.0), seed=1), 0.1)
    run.advance(5)
    p = run.program.view.unpack(run.z, 0.0).momentum
    assert np.array_equal(p[:2], [[0.1, 0.2, 0.3]] * 2)
    assert np.abs(p[2] - [0.1, 0.2, 0.3]).min() > 1e-3


def test_what_does_not_exist_gets_no_noise() -> None:
    """A clamped body, a line about itself and a point: exactly nothing, at the end of each step."""
    solid, line = ct.Body(mass=1.0, moments=(1.0, 2.0, 2.5)), ct.Body(mass=1.0, moments=(1.0, 1.0, 0.0))
    point = ct.Body(mass=1.0, moments=(0.0, 0.0, 0.0))
    chain = ct.Chain([solid, solid, line, point], ct.BendTwist(10.0, 0.0, 0.0, (0, 0, 1)))
    run = simulate(chain, chain.straight(1.0), ct.Langevin(1.0, 1.0, seed=1), dt=0.1, steps=6, every=2)
    p, y = run.data.momentum.values[-1], run.data.angular_momentum.values[-1]
    assert not p[0].any() and not y[0].any() and not y[3].any()
    assert abs(y[2, 2]) < 1e-15, "that of turning into the axes in which it was given"
    assert p[1:].all() and y[1].all() and y[2, :2].all()
    recorded = run.data.body_temperature.values[1:]
    assert not recorded[:, 0].any() and recorded[:, 1:].all()


def test_a_member_has_noise_of_its_own_and_a_run_is_member_zero() -> None:
    start = SPRING.start(q=0.0, p=0.0)
    ends = [drive(SPRING, start, ct.Langevin(1.0, 1.0, seed=8), 0.1, member=k) for k in (0, 0, 1, 2**32 - 1)]
    for run in ends:
        run.advance(2)
    assert np.array_equal(ends[0].z, ends[1].z)
    assert len({float(run.z[1]) for run in ends}) == 3


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ct.Langevin(-1.0, 1.0), "temperature = -1.0"), (lambda: ct.Langevin(math.nan, 1.0), "temperature = nan"),
        (lambda: ct.Langevin(math.inf, 1.0), "temperature = inf"), (lambda: ct.Langevin(True, 1.0), "temperature = True"),
        (lambda: ct.Langevin(1.0, -0.1), "friction = -0.1"), (lambda: ct.Langevin(1.0, "much"), "friction = 'much'"),
        (lambda: ct.Langevin(1.0, (1.0, -2.0)), r"friction = -2.0\n  at Langevin.friction\[1\]"),
        (lambda: ct.Langevin(1.0, 1.0, seed=2**64), "seed = 18446744073709551616"), (lambda: ct.Langevin(1.0, 1.0, seed=-1), "seed = -1"),
        (lambda: ct.Langevin(1.0, 1.0, seed=1.5), "seed = 1.5"), (lambda: ct.Friction(translation=(1.0, 2.0)), "2 rates are given"),
        (lambda: ct.Friction(translation=1.0, resistance=np.eye(6)), "both rates and a resistance"),
        (lambda: ct.Friction(resistance=np.eye(4)), r"the shape \(4, 4\)"), (lambda: ct.Friction(resistance=-np.eye(6)), "drives some motion"),
        (lambda: ct.Friction(resistance=np.triu(np.ones((6, 6)))), "not symmetric"),
        (lambda: ct.Langevin(1.0, {"drag": 1.0}), "friction has no 'drag'"), (lambda: ct.Langevin(1.0, 1.0, rotor=ct.RK4()), "not a rotor"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(make, message: str) -> None:
    with pytest.raises(ct.InputError, match=message):
        make()


PENDULUM = ct.problems.pendulum()
NOT_POSITIVE = ct.Hamiltonian("p1**2/2 - p2**2/2 + q1**2", ["q1", "q2"], ["p1", "p2"])
MASSLESS = ct.Hamiltonian("p1**2/2 + q1**2 + q2**2", ["q1", "q2"], ["p1", "p2"])
SCALING = ct.ScalingBody(ct.Body(moments=(2.0, 3.0, 4.0)))
TILTED = ct.FreeBody(ct.Body.from_inertia(1.0, [[1.0, 0.2, 0.0], [0.2, 1.5, 0.1], [0.0, 0.1, 2.0]]))


@pytest.mark.parametrize(
    ("system", "method", "message"),
    [
        (PENDULUM.system, ct.Langevin(1.0, 1.0), "it needs a kinetic energy of momenta alone, quadratic in them"),
        (PENDULUM.system, ct.HybridMonteCarlo(1.0), "it needs a kinetic energy of momenta alone, quadratic in them"),
        (ct.Hamiltonian("p**4 + q**2"), ct.Langevin(1.0, 1.0), "quadratic in the momenta"),
        (ct.Hamiltonian("p**2/2 + p + q**2"), ct.Langevin(1.0, 1.0), "linear in them"),
        (ct.Hamiltonian("p**2/2 + (q - t)**2"), ct.Langevin(1.0, 1.0), "it is driven by the time"),
        (NOT_POSITIVE, ct.Langevin(1.0, 1.0), "does not grow with p2"), (MASSLESS, ct.Langevin(1.0, 1.0), "does not grow with p2"),
        (SCALING, ct.Langevin(1.0, 1.0), "it needs a kinetic energy of momenta alone, quadratic in them"),
        (SPRING, ct.Langevin(1.0, (1.0, 2.0)), "2 rates are given for 1 coordinates"),
        (SPRING, ct.Langevin((1.0, 2.0), 1.0), "2 temperatures are given for 1 coordinates"),
        (SPRING, ct.Langevin(1.0, ct.Friction(rotation=1.0)), "coordinates have no axes"),
        (TILTED, ct.Langevin(1.0, ct.Friction(translation=1.0, rotation=1.0)), "this body only turns"),
        (SPHERE, ct.Langevin(1.0, ct.Friction(resistance=np.eye(6))), "6 rows, a body here has 3 momenta"),
        (TILTED, ct.Langevin(1.0, ct.Friction(rotation=(1.0, 2.0, 3.0))), "three rates of rotation belong to principal axes"),
    ],
)  # fmt: skip
def test_what_a_system_cannot_do_is_said(system: System, method: ct.Langevin, message: str) -> None:
    assert not can_treat(system, method)
    with pytest.raises(ct.CapabilityError, match=message):
        Pairing.of(system, method)


def test_sections_events_and_compositions_are_refused_with_the_reason() -> None:
    start = SPRING.start(q=1.0, p=0.0)
    for watched in ({"sections": [ct.Section("zero", "q")]}, {"events": [ct.Event("zero", "q")]}):
        with pytest.raises(ct.CapabilityError, match="between two steps its path is not defined"):
            ct.simulate(SPRING, start, ct.Langevin(1.0, 1.0), dt=0.1, steps=5, **watched)
    with pytest.raises(ct.InputError, match="not symmetric"):
        ct.Composition(ct.Langevin(1.0, 1.0), "suzuki4")


def test_a_blow_up_says_what_to_do() -> None:
    """A wall q^12 whose start is harmless, and a step that one collision at kT = 50 does not bear."""
    wall = ct.Hamiltonian("p**2/2 + q**12")
    with pytest.raises(ct.StepFailure, match="a close approach at this temperature needs one far below") as failed:
        simulate(wall, wall.start(q=0.1, p=0.0), ct.Langevin(50.0, 1.0, seed=3), dt=0.3, steps=200)
    assert "smaller dt" in str(failed.value)


def test_a_step_beyond_the_limit_of_stability_is_refused() -> None:
    helix = ct.problems.helix_chain(4, amp=0.1)
    with pytest.raises(ct.InputError, match="is unstable for Langevin"):
        ct.simulate(helix.system, helix.start, ct.Langevin(0.1, 1.0), dt=1.0, steps=5)


@pytest.mark.parametrize(
    "method",
    [
        ct.Langevin(0.5, 1.0, seed=2**64 - 1), ct.Langevin((0.5, 0.7), (0.0, math.inf)), ct.Langevin(0.5, math.inf),
        ct.Langevin(0.5, ct.Friction(translation=0.1, rotation=(0.2, 0.2, 0.4)), rotor=ct.DMV(10)),
        ct.Langevin(0.5, ct.Friction(resistance=np.diag([1.0, 1, 1, 2, 2, 2]))),
    ],
)  # fmt: skip
def test_a_description_makes_the_same_method_again(method: ct.Langevin) -> None:
    import json

    described = json.loads(json.dumps(method.describe(), allow_nan=False))
    assert method_from(described) == method
