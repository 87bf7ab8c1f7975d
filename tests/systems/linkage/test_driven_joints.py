"""Joints whose motion is prescribed: what is carried along, the torque that it takes, loops, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import catena as ct
import uncompiled
from catena.errors import InputError, StepFailure
from catena.running import plan
from catena.systems.base import system_from

MASS, ARM, MOMENT = 1.3, 0.6, 0.4
PATH = "0.4*sin(2*t) + 0.1*t**2"


def crank(*more: Any, path: Any = PATH) -> tuple[ct.Linkage, ct.State]:
    """Two bodies on hinges about x; the first is driven, the second swings from its end, 1.2 away from the first hinge."""
    upper, lower = ct.Body(MASS, (MOMENT, 0.5, 0.3)), ct.Body(0.7, (0.2, 0.3, 0.25))
    joints = [
        ct.Revolute(-1, 0, at=((0, 0, 0), (0, 0, ARM)), axis=(1, 0, 0), image=(1, 0, 0, 0)),
        ct.Revolute(0, 1, at=((0, 0, -ARM), (0, 0, 0.5)), axis=(1, 0, 0), image=(1, 0, 0, 0)),
    ]
    system = ct.Linkage([upper, lower], joints, [ct.Driven(0, path), *more], gravity=(0, 0, -9.0))
    return system, system.start()


def told(t: float) -> tuple[float, float, float]:
    return (
        0.4 * np.sin(2 * t) + 0.1 * t**2, 0.8 * np.cos(2 * t) + 0.2 * t, -1.6 * np.sin(2 * t) + 0.2,
    )  # fmt: skip


def swing(t: float, x: Any) -> tuple[float, float]:
    """Absolute angle of the lower body: I phi'' + m l (L (a'' cos(a - phi) - a'^2 sin(a - phi)) + g sin phi) = 0."""
    a, da, dda = told(t)
    carried = 1.2 * (dda * np.cos(a - x[0]) - da**2 * np.sin(a - x[0]))
    return x[1], -0.7 * 0.5 * (carried + 9.0 * np.sin(x[0])) / (0.2 + 0.7 * 0.25)


def torque(t: float, phi: float, dphi: float) -> float:
    """d/dt of the angular momentum about the first hinge, less the torque of gravity."""
    a, da, dda = told(t)
    ddphi = swing(t, (phi, dphi))[1]
    upper = (MOMENT + MASS * ARM**2) * dda + MASS * 9.0 * ARM * np.sin(a)

    # force of the lower body on the joint, in the plane (y, z), from its acceleration
    def arm(angle: float, rate: float, gain: float, length: float) -> Any:
        along, across = np.array([np.sin(angle), -np.cos(angle)]), np.array([np.cos(angle), np.sin(angle)])
        return length * (gain * across - rate**2 * along)

    force = 0.7 * (arm(a, da, dda, 1.2) + arm(phi, dphi, ddphi, 0.5) + np.array([0.0, 9.0]))
    y, z = 1.2 * np.sin(a), -1.2 * np.cos(a)
    return float(upper + y * force[1] - z * force[0])


def test_a_body_swings_from_a_driven_one_as_a_reference_does() -> None:
    """Runge-Kutta of order 8 with tolerance 1e-13; Gauss(3) at dt = 0.04: 1e-10 (measured)."""
    system, start = crank()
    run = uncompiled.simulate(system, start, ct.Gauss(3), dt=0.04, steps=10, every=10)
    found = solve_ivp(swing, (0.0, 0.4), (0.0, 0.8), "DOP853", rtol=1e-13, atol=1e-14)
    phi, dphi = found.y[:, -1]
    a, da, _ = told(0.4)
    assert system.angles(run.final, start)[0] == pytest.approx(a, abs=1e-13)
    assert system.angles(run.final, start)[1] == pytest.approx(phi - a, abs=1e-9)
    outputs = system.outputs(run)
    assert float(outputs.speed[-1, 0]) == pytest.approx(da, abs=1e-13)
    assert float(outputs.motor_torque[-1, 0]) == pytest.approx(torque(0.4, phi, dphi), abs=1e-8)
    energy = run.data.energy.values
    assert abs(energy[-1] - energy[0]) < 1e-8
    assert abs(float(run.data.load_work[-1])) > 0.1


def test_a_drive_that_is_wrong_is_noticed() -> None:
    """Another path gives another torque and another motion: the reference tells them apart."""
    system, start = crank(path="0.4*sin(2*t) + 0.1001*t**2")
    assert abs(system.motor_torques(start)[0] - torque(0.0, 0.0, 0.8)) > 1e-5
    assert abs(crank()[0].motor_torques(crank()[1])[0] - torque(0.0, 0.0, 0.8)) < 1e-12


def four_bar(path: str, joint: int = 0) -> tuple[ct.Linkage, ct.State]:
    problem = ct.problems.four_bar()
    ring: Any = problem.system
    joints = ring.begun(problem.start).joints
    system = ct.Linkage(ring.bodies, joints, [ct.Driven(joint, path)], gravity=ring.gravity)
    start = problem.start
    return system, system.start(start.position, start.orientation, project=True)


def test_a_crank_moves_a_four_bar() -> None:
    """Nothing is left to choose: the loop stays closed, and the torque is what the energy balance asks for."""
    system, start = four_bar("0.3*t**2")
    run = uncompiled.simulate(system, start, ct.Gauss(3), dt=0.02, steps=8)
    data = run.data
    assert float(np.abs(data.joint_position_residual).max()) < 1e-12
    assert float(np.abs(data.energy - data.energy[0]).max()) < 1e-9
    assert float(np.abs(data.load_work).max()) > 1e-4
    np.testing.assert_allclose(system.angles(run.final, start)[0], 0.3 * 0.16**2, atol=1e-13)
    outputs = system.outputs(run)
    power, work = outputs.motor_power[:, 0].values, data.load_work.values
    simpson = 0.02 / 3 * (power[:-2:2] + 4 * power[1:-1:2] + power[2::2]).cumsum()
    np.testing.assert_allclose(simpson, work[2::2], atol=2e-7)


@pytest.mark.slow
def test_a_path_that_a_loop_cannot_follow_ends_the_run() -> None:
    """The rocker is told to turn on where the crank is stretched."""
    system, start = four_bar("3*t", joint=2)
    with pytest.raises(StepFailure, match=r"singular|closed position"):
        uncompiled.simulate(system, start, ct.Gauss(2), dt=0.05, steps=40)


def test_a_slider_is_driven() -> None:
    """Force m (a'' + g) along the axis, by its definition."""
    slider = ct.Prismatic(-1, 0, axis=(0, 0, 1))
    system = ct.Linkage([ct.Body(2.0, (1, 1, 1))], [slider], [ct.Driven(0, "sin(t)")], gravity=(0, 0, -9.0))
    run = uncompiled.simulate(system, system.start(), ct.Gauss(3), dt=0.1, steps=3)
    assert run.final.position[0, 2] == pytest.approx(np.sin(0.3), abs=1e-14)
    assert system.motor_torques(run.final)[0] == pytest.approx(2.0 * (9.0 - np.sin(0.3)), abs=1e-12)
    assert float(np.abs(run.data.energy - run.data.energy[0]).max()) < 1e-8


def test_drives_are_made_again_from_their_descriptions() -> None:
    times = np.linspace(0.0, 1.0, 6)
    system, _ = crank(path=ct.Sampled(times, times**3))
    assert system_from(system.describe()).describe() == system.describe()


def test_what_cannot_be_driven_is_named() -> None:
    with pytest.raises(InputError, match="driven twice"):
        crank(ct.Driven(0, "t"))
    with pytest.raises(InputError, match="no joint 7"):
        crank(ct.Driven(7, "t"))
    with pytest.raises(InputError, match="only adds to the torque"):
        crank(ct.Motor(0, torque=1.0))
    with pytest.raises(InputError, match="y"):
        crank(path="y + t")
    ring: Any = ct.problems.four_bar().system
    with pytest.raises(InputError, match="closes a loop"):
        ct.Linkage(ring.bodies, ring.joints, [ct.Driven(len(ring.joints) - 1, "t")])
    hinge = ct.Revolute(-1, 0, at=((0, 0, 0), (0, 0, ARM)), axis=(1, 0, 0))
    late = ct.Linkage([ct.Body(1.0, (1, 1, 1))], [hinge], [ct.Driven(0, "1 + t")])
    with pytest.raises(InputError, match="image"):
        late.start()
    system, start = crank()
    still = ct.State({name: values.copy() for name, values in start.fields.items()}, 0.0)
    still.momentum[:] = 0.0
    still.angular_momentum[:] = 0.0
    for method in (ct.Gauss(2), ct.EnergyMomentum()):
        with pytest.raises(InputError, match=r"told to stand at 0 and to move at 0\.8"):
            uncompiled.simulate(system, still, method, dt=0.1, steps=1)


def test_paths_and_targets_that_cannot_be_followed_are_refused_before_a_step() -> None:
    """A path without a value at the start; one more drive than a loop has freedoms; a target behind a stop."""
    with pytest.raises(InputError, match="path of joint 0 is not defined at t = 0"):
        crank(path="log(t)")
    with pytest.raises(InputError, match="two values at one time"):
        crank(path=ct.Sampled([0.0, 1.0, 1.0, 2.0], [0.0, 0.0, 1.0, 1.0]))
    problem = ct.problems.four_bar()
    ring: Any = problem.system
    joints = ring.begun(problem.start).joints
    told_twice = ct.Linkage(ring.bodies, joints, [ct.Driven(0, "t"), ct.Driven(1, "2*t")], ring.gravity)
    with pytest.raises(InputError, match="contradict a loop"):
        told_twice.start(problem.start.position, problem.start.orientation, project=True)
    stops = ct.Limit(1, -0.5, 0.5, 100.0, 1.0)
    with pytest.raises(InputError, match=r"has the target 2, but its stops are at -0\.5 and 0\.5"):
        crank(ct.Motor(1, target=2.0, kp=5.0, kd=1.0), stops)
    assert crank(ct.Motor(1, target=0.3, kp=5.0, kd=1.0), stops)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("0.001/(t - 0.105) + 0.001/0.105", r"path of joint 0 jumps from -0.19\d+ at t = 0.1 to 0.2\d+ at t = 0.11"),
        ("sqrt(0.105 - t) - sqrt(0.105)", "path of joint 0 has no value at t = 0.11"),
    ],
)
def test_a_path_that_jumps_is_refused_before_a_step(path: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nobody looked, the step that fails tells of it, and what was recorded stays."""
    hinge = ct.Revolute(-1, 0, at=((0, 0, 0), (0, 0, 0.5)))
    system = ct.Linkage([ct.Body.box((0.2, 0.2, 1.0))], [hinge], [ct.Driven(0, path)])
    with pytest.raises(InputError, match=message):
        uncompiled.simulate(system, system.start(project=True), ct.Gauss(2), dt=0.01, steps=20)
    assert uncompiled.simulate(system, system.start(project=True), ct.Gauss(2), dt=0.01, steps=9)
    if "sqrt" in path:
        monkeypatch.setattr(plan, "MOST_LOOKS", 1)
        with pytest.raises(StepFailure, match=message) as failed:
            uncompiled.simulate(system, system.start(project=True), ct.Gauss(2), dt=0.01, steps=20)
        assert failed.value.step == 11 and len(failed.value.run.data.time) == 11  # type: ignore[union-attr]
        assert "smooth path" in failed.value.do


def test_paths_that_turn_full_circles_do_not_jump() -> None:
    """An angle that is told between -pi and pi is the same one."""
    hinge = ct.Revolute(-1, 0, at=((0, 0, 0), (0, 0, 0.5)))
    system = ct.Linkage([ct.Body.box((0.2, 0.2, 1.0))], [hinge], [ct.Driven(0, "atan2(sin(9*t), cos(9*t))")])
    assert uncompiled.simulate(system, system.start(project=True), ct.Gauss(2), dt=0.02, steps=20)
