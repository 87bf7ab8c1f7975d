"""Motors and stops of joints: their torques, what they do in both forms of a linkage, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from test_driven_linkage import ABOUT, pendulum

import catena as ct
import uncompiled
from catena.analysis.linkage_reactions import accelerations
from catena.engine.build import build
from catena.errors import CapabilityError, InputError, StepFailure
from catena.geometry import rotations
from catena.kernels.marks import choice
from catena.systems.base import system_from
from catena.systems.linkage.director_form import motors

pytestmark = pytest.mark.filterwarnings("ignore:.*will press against the stop")  # so that they are met

TARGET = ct.Motor(0, target="0.8*sin(2*t)", kp=6.0, kd=0.7)
PUSHED = ct.Motor(0, torque="0.5*cos(3*t)")
STOPS = ct.Limit(0, -0.2, 0.45, stiffness=30.0, damping=4.0)
ALL = (TARGET, PUSHED, STOPS)


def reference(end: float) -> float:
    """The angle of a pendulum under all three, by Runge-Kutta of order 8 from stop to stop."""

    def slope(t: float, x: Any) -> tuple[float, float]:
        theta, rate = x
        beyond = theta - np.clip(theta, -0.2, 0.45)
        torque = -6.0 * (theta - 0.8 * np.sin(2 * t)) - 0.7 * (rate - 1.6 * np.cos(2 * t)) + 0.5 * np.cos(3 * t)
        return rate, (torque - 30.0 * beyond - 4.0 * abs(beyond) * rate) / ABOUT

    found = solve_ivp(slope, (0.0, end), (0.4, 0.5), "DOP853", rtol=1e-12, atol=1e-13, max_step=0.002)
    return float(found.y[0, -1])


@pytest.mark.parametrize("force", ALL, ids=["target", "torque", "stops"])
def test_torques_have_the_derivatives_that_newton_uses(force: Any) -> None:
    """By theta and by the rate, against differences of order 4: 1e-9."""
    step, offsets, weights = 1e-3, np.array([-2, -1, 1, 2]), np.array([1, -8, 8, -1]) / 12
    system, _ = pendulum(force, gravity=(0, 0, 0))
    par = parameters(system, time=0.3)
    for theta in (-0.7, 0.1, 0.9):
        _, by_theta, by_rate = together(force, theta, 1.3, par)
        moved = [together(force, theta + step * k, 1.3, par)[0] for k in offsets]
        faster = [together(force, theta, 1.3 + step * k, par)[0] for k in offsets]
        assert by_theta == pytest.approx(weights @ moved / step, abs=1e-9)
        assert by_rate == pytest.approx(weights @ faster / step, abs=1e-9)
        assert force.torque_at(theta, 1.3, 0.3) == pytest.approx(together(force, theta, 1.3, par)[0], abs=1e-14)


def parameters(system: ct.Linkage, time: float) -> Any:
    from types import SimpleNamespace

    force = system.forces[0]
    return SimpleNamespace(torsion=force.constants, signal=system.signals.at(time))  # type: ignore[union-attr]


def together(force: Any, theta: float, rate: float, par: Any) -> tuple[float, float, float]:
    """The torque of one force, with that of its potential."""
    total = np.zeros(3)
    for quantity in ("motor_torque", "drag_torque"):
        if quantity in force.quantities:
            total += force.kernel(quantity)(theta, rate, 0, 0, par)
    if "torsion_slope" in force.quantities:
        total -= (motors.limit_slope(theta, 0, par), motors.limit_curvature(theta, 0, par), 0.0)
    return float(total[0]), float(total[1]), float(total[2])


def test_a_target_pulls_like_the_spring_that_it_is() -> None:
    """Without kd the torque is the slope of kp/2 (theta - target)^2, by differences of order 4."""
    motor = ct.Motor(0, target="sin(t)", kp=5.0)
    step, offsets, weights = 1e-3, np.array([-2, -1, 1, 2]), np.array([1, -8, 8, -1]) / 12
    energies = 2.5 * (0.7 + step * offsets - np.sin(0.4)) ** 2
    assert motor.torque_at(0.7, 9.0, 0.4) == pytest.approx(-weights @ energies / step, abs=1e-9)


@pytest.mark.parametrize(
    "method", [pytest.param(ct.EnergyMomentum("position"), marks=pytest.mark.slow), ct.Gauss(2)], ids=str
)
def test_motors_and_stops_move_a_pendulum_as_a_reference_does(method: Any) -> None:
    """Second order, also through the stops: the error falls by four."""
    system, start = pendulum(*ALL, gravity=(0, 0, 0))
    exact, errors = reference(0.8), []
    for count in (16, 32):
        run = uncompiled.simulate(system, start, method, dt=0.8 / count, steps=count, every=count)
        errors.append(abs(system.angles(run.final)[0] - exact))
    assert errors[1] < 3e-4
    assert errors[1] < 0.45 * errors[0]


@pytest.mark.parametrize("level", ["position", pytest.param("both", marks=pytest.mark.slow)])
def test_energy_less_the_work_of_motors_is_exact(level: str) -> None:
    system, start = pendulum(*ALL)
    data = uncompiled.simulate(system, start, ct.EnergyMomentum(level), dt=0.1, steps=8).data
    assert float(np.abs(data.load_work).max()) > 0.05
    assert float(np.abs(data.damping_work).max()) > 1e-4
    assert float(np.abs(data.energy - data.energy[0]).max()) < 1e-13


@choice
def at_both_ends():
    return 1


def test_wrong_work_of_a_motor_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    system, start = pendulum(*ALL)
    monkeypatch.setattr(motors, "kicks", at_both_ends)  # the torque at the wrong places
    data = uncompiled.simulate(system, start, ct.EnergyMomentum("position"), dt=0.1, steps=4).data
    assert float(np.abs(data.energy - data.energy[0]).max()) > 1e-3


@pytest.mark.slow
def test_a_motor_without_brake_is_symplectic() -> None:
    """The energy less the work is off by dt^2."""
    system, start = pendulum(ct.Motor(0, target="0.8*sin(2*t)", kp=6.0), PUSHED)
    sizes = []
    for dt in (0.04, 0.02):
        energy = uncompiled.simulate(system, start, ct.Rattle(), dt=dt, steps=round(2.0 / dt)).data.energy.values
        sizes.append(np.abs(energy - energy[0]).max())
    assert 3.6 < sizes[0] / sizes[1] < 4.4, sizes
    with pytest.raises(CapabilityError, match="dampers"):
        ct.simulate(pendulum(TARGET)[0], start, ct.Rattle(), dt=0.01, steps=1)


@pytest.mark.slow
@pytest.mark.parametrize("method", [ct.EnergyMomentum(), ct.Gauss(3)], ids=str)
def test_motors_in_a_loop_balance(method: Any) -> None:
    """One on a joint of the tree, stops on the joint that closes it.

    In the step in which a stop is met, Gauss(3) takes its spring for there already: it is off by what it would hold at the beginning of
    that step, whatever dt is.
    """
    problem = ct.problems.four_bar()
    ring: Any = problem.system
    last = len(ring.joints) - 1
    forces = [
        ct.Motor(0, target="0.5*sin(3*t)", kp=20.0, kd=1.0), ct.Motor(last, torque="2*t"),
        ct.Limit(last, -0.01, 0.01, stiffness=50.0, damping=1.0),
    ]  # fmt: skip
    system = ct.Linkage(ring.bodies, ring.joints, forces, gravity=ring.gravity)
    run = uncompiled.simulate(system, problem.start, method, dt=0.01, steps=10)
    assert float(np.abs(run.data.load_work).max()) > 1e-3
    changes = np.abs(np.diff(run.data.energy.values))
    if method != ct.EnergyMomentum():
        met = int(changes.argmax())
        before = uncompiled.simulate(system, problem.start, method, dt=0.01, steps=met).final
        away = 0.01 - abs(system.angles(before, problem.start)[last])
        assert changes[met] == pytest.approx(0.5 * 50.0 * away**2, rel=1e-3)
        changes[met] = 0.0
    assert changes.max() < 1e-12


RAIL = (
    ct.Motor(1, target="0.6 + 0.2*sin(2*t)", kp=40.0, kd=3.0), ct.Motor(0, torque="0.3*cos(t)"),
    ct.Limit(1, 0.0, 0.53, stiffness=80.0, damping=5.0), ct.Torsion(1, "2*theta", damping=0.4),
)  # fmt: skip


def turning_rail(*forces: Any) -> tuple[ct.Linkage, ct.State]:
    """A slide along an arm that turns about the vertical; the slide stands at 0.5 on it."""
    arm, slide = ct.Body(3.0, (0.5, 0.5, 0.5)), ct.Body(2.0, (0.1, 0.2, 0.3))
    joints = [
        ct.Revolute(-1, 0, axis=(0, 0, 1), image=(1, 0, 0, 0)),
        ct.Prismatic(0, 1, axis=(1, 0, 0), image=(1, 0, 0, 0)),
    ]
    system = ct.Linkage([arm, slide], joints, forces, gravity=(0, 0, 0))
    velocity = [(0, 0, 0), (0, 0.5 * 1.5, 0)]
    return system, system.start([(0, 0, 0), (0.5, 0, 0)], velocity=velocity, angular_velocity=[(0, 0, 1.5)] * 2)


def sliding(t: float, x: Any) -> tuple[float, ...]:
    """Lagrange's equations with T = (0.8 + 2 s^2)/2 phi'^2 + s'^2."""
    _, s, turn, rate = x
    beyond = s - np.clip(s, 0.0, 0.53)
    force = -40.0 * (s - 0.6 - 0.2 * np.sin(2 * t)) - 3.0 * (rate - 0.4 * np.cos(2 * t)) - 2.0 - 0.4 * rate
    force -= 80.0 * beyond + 5.0 * abs(beyond) * rate
    return turn, rate, (0.3 * np.cos(t) - 4.0 * s * rate * turn) / (0.8 + 2.0 * s * s), force / 2.0 + s * turn * turn


def test_a_slide_is_pushed_and_stopped_on_an_arm_that_turns() -> None:
    """Against the equations of Lagrange; second order through the stops, and the same accelerations by multipliers."""
    system, start = turning_rail(*RAIL)
    exact = solve_ivp(sliding, (0, 0.2), (0, 0.5, 1.5, 0), "DOP853", rtol=1e-12, atol=1e-13, max_step=0.002).y[:, -1]
    run = uncompiled.simulate(system, start, ct.Gauss(2), dt=0.02, steps=10)
    outputs = system.outputs(run)
    assert np.abs(outputs.angle.values[-1] - exact[:2]).max() < 2e-5
    assert np.abs(outputs.speed.values[-1] - exact[2:]).max() < 3e-4
    assert exact[1] > 0.54
    assert float(abs(run.data.load_work[-1])) > 0.1
    free = outputs.angle.values[:, 1] < 0.53
    assert float(np.abs(run.data.energy.values - run.data.energy.values[0])[free].max()) < 1e-7
    found = accelerations(system, run.final)[0].reshape(2, 2, 3)
    turn, _, turned, slid = sliding(run.final.time, [*outputs.angle.values[-1], *outputs.speed.values[-1]])
    along = system.joints[1].triad[0] @ rotations.to_matrix(run.final.orientation[0]).T
    centripetal = slid - outputs.angle.values[-1, 1] * turn**2
    assert found[1, 0] @ along == pytest.approx(centripetal, abs=1e-11)
    assert found[1, 1, 2] == pytest.approx(turned, abs=1e-11)
    assert outputs.motor_power.values[-1, 1] == outputs.motor_torque.values[-1, 1] * outputs.speed.values[-1, 1]


@pytest.mark.slow
def test_newton_knows_how_the_force_on_a_slide_changes() -> None:
    """kp dt^2/m = 80: without the right slope no step converges, as fixed-point iteration shows."""
    system, start = turning_rail(ct.Motor(1, target=0.45, kp=4e5, kd=200.0), ct.Limit(1, 0.0, 0.47, stiffness=1e5))
    run = uncompiled.simulate(system, start, ct.Gauss(2, solver="newton"), dt=0.02, steps=4)
    assert run.counts["newton_steps"] == 4
    with pytest.raises(StepFailure):
        uncompiled.simulate(system, start, ct.Gauss(2, solver="fixed-point"), dt=0.02, steps=4)


def test_slides_are_acted_upon_in_joint_form_only() -> None:
    system, start = turning_rail(*RAIL)
    assert system.default_method[0] == "Gauss"
    with pytest.raises(CapabilityError, match="slides"):
        ct.simulate(system, start, ct.EnergyMomentum(), dt=0.01, steps=1)
    with pytest.raises(InputError, match="no single number"):
        ct.Linkage([ct.Body(1.0, (1, 1, 1))], [ct.Spherical(-1, 0)], [ct.Motor(0, torque=1.0)])


def test_effort_bounds_a_torque() -> None:
    strong = ct.Motor(0, target=1.0, kp=100.0, effort=3.0)
    assert strong.torque_at(0.0, 0.0, 0.0) == 3.0
    assert strong.torque_at(2.0, 0.0, 0.0) == -3.0
    assert strong.torque_at(0.99, 0.0, 0.0) == pytest.approx(1.0)


def test_motors_are_made_again_from_their_descriptions() -> None:
    times = np.linspace(0, 1, 5)
    system, _ = pendulum(*ALL, ct.Motor(0, target=ct.Sampled(times, times**2), kp=1.0, effort=2.0))
    assert system_from(system.describe()).describe() == system.describe()


def test_what_a_motor_lacks_is_named() -> None:
    for wrong, match in (
        ({"kp": 1.0}, "target"), ({"torque": 1.0, "target": 1.0, "kp": 1.0}, "both"), ({"target": "t"}, "kp"),
        ({"torque": "t", "kp": 1.0}, "target"), ({"torque": "x + t"}, "x"), ({"target": "t", "kp": -1.0}, "kp"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=match):
            ct.Motor(0, **wrong)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="not after"):  # a path with a jump
        ct.Motor(0, target=ct.Sampled([0, 1, 1, 2], [0, 0, 1, 1]), kp=1.0)
    with pytest.raises(InputError, match="not below"):
        ct.Limit(0, 1.0, 0.5)
    with pytest.raises(CapabilityError, match="Motor"):
        pendulum(TARGET, gravity=(0, 0, -1))[0].equilibrium()


@pytest.mark.parametrize("method", [ct.EnergyMomentum("position"), ct.Gauss(2)], ids=str)
def test_a_driven_run_goes_on_from_a_checkpoint_to_the_same_bytes(method: Any) -> None:
    """All that the future depends on is in the arrays of a checkpoint: time, angles and works among them."""
    system, start = pendulum(*ALL)
    program = build(system, method, compiled=False)
    uncompiled.check_goes_on(program, start, dt=0.05, steps=3)
