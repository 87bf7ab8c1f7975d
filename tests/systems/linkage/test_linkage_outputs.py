"""Angles and reactions of joints along a run, against the impulses that the steps themselves put through the joints."""

from __future__ import annotations

import numpy as np
import pytest

import catena as ct
from catena.geometry import rotations
from linked import two_bodies
from uncompiled import simulate

LEVELS = {"both": ct.EnergyMomentum(), "position": ct.EnergyMomentum(level="position")}
TIME = 0.12


def moving_chain() -> tuple[ct.Linkage, ct.State]:
    """Three boxes on ball joints that already turn at the start."""
    problem = ct.problems.hanging_chain("spherical", 3)
    turning = [(1.0, 0.5, 0.3), (-2.0, 1.0, 0.7), (0.5, -1.5, 1.0)]
    return problem.system, problem.system.start(orientation=problem.start.orientation, angular_velocity=turning)


def through_joints(run: ct.Run) -> np.ndarray:
    """(intervals, joints, 3): mean force of each joint of a chain, from the momentum that the bodies below it gained."""
    gained = np.diff(run.data.momentum.values, axis=0) / run.plan.dt
    pulled = gained - np.array([body.mass * run.system.gravity for body in run.system.bodies])
    return np.cumsum(pulled[:, ::-1], axis=1)[:, ::-1]


def at(run: ct.Run, time: float) -> int:
    return round(time / run.plan.dt)


@pytest.mark.parametrize("method", LEVELS.values(), ids=LEVELS)
def test_reactions_are_the_mean_of_the_multipliers_of_two_neighbouring_intervals(method) -> None:
    """Both are of order two: halving dt quarters the difference (3.9 to 4.1)."""
    system, start = moving_chain()
    errors = []
    for dt in (0.02, 0.01):
        run = simulate(system, start, method, dt=dt, steps=round(TIME / dt) + 1)
        k = at(run, TIME)
        mean = through_joints(run)[k - 1 : k + 1].mean(axis=0)
        errors.append(np.abs(system.outputs(run).reaction_force.values[k] - mean).max())
    assert 3.7 < errors[0] / errors[1] < 4.3, errors


def test_the_multipliers_of_single_published_steps_alternate_and_reactions_do_not() -> None:
    """Second differences of a reaction of some 300: of order dt, changing sign at every step; those of `outputs` of order dt^2."""
    system, start = moving_chain()
    sizes = []
    for dt in (0.02, 0.01):
        run = simulate(system, start, LEVELS["position"], dt=dt, steps=round(TIME / dt))
        bends = np.diff(through_joints(run)[:, 0, 2], n=2)
        assert (bends[1:] * bends[:-1] < 0.0).all()
        smooth = np.diff(system.outputs(run).reaction_force.values[:, 0, 2], n=2)
        assert (smooth[1:] * smooth[:-1] < 0.0).sum() <= 1
        sizes.append((np.abs(bends).max(), np.abs(smooth).max()))
    (rough, smooth), (finer_rough, finer_smooth) = sizes
    assert 1.5 < rough / finer_rough < 2.7
    assert 3.4 < smooth / finer_smooth < 4.6


@pytest.mark.parametrize("kind", ["Universal", "Prismatic", "Screw"])
def test_the_torque_of_a_joint_turns_its_child(kind) -> None:
    """Momentum and spin of the last body by central differences of states; order two, as above."""
    linkage, start = two_bodies(kind, ())
    errors = []
    for dt in (0.02, 0.01):
        run = simulate(linkage, start, ct.EnergyMomentum(), dt=dt, steps=round(TIME / dt) + 1)
        k, data, found = at(run, TIME), run.data, linkage.outputs(run)
        q = data.orientation.values[:, 1]
        spin = rotations.rotate(q, data.angular_momentum.values[:, 1])
        gained, turned = ((x[k + 1] - x[k - 1]) / (2.0 * dt) for x in (data.momentum.values[:, 1], spin))
        force, torque = found.reaction_force.values[k, 1], found.reaction_torque.values[k, 1]
        arm = rotations.rotate(q[k], np.array(linkage.joints[1].at[1]))
        errors.append(
            max(
                np.abs(force + linkage.bodies[1].mass * linkage.gravity - gained).max(),
                np.abs(torque + np.cross(arm, force) - turned).max(),
            )
        )
    assert 3.7 < errors[0] / errors[1] < 4.3, errors


def test_a_universal_joint_remembers_the_direction_that_it_had_at_the_start() -> None:
    """`outputs` knows the start, and `reactions` must be told; asked about a later state alone it takes that for the start."""
    linkage, start = two_bodies("Universal", ())
    run = simulate(linkage, start, ct.EnergyMomentum(), dt=0.02, steps=20)
    along = linkage.outputs(run).reaction_torque.values[-1, 1]
    assert linkage.reactions(run.final, start).torque[1] == pytest.approx(along, abs=1e-12)
    assert np.abs(linkage.reactions(run.final).torque[1] - along).max() > 0.01


def test_angles_and_torsions_count_full_turns() -> None:
    """A wheel beside its axle: theta = (w/f) sin(f t) up to 2.7 turns, and the axle pulls it by m (a - g).

    The step, 0.3 rad long, is off by 0.06 rad; a turn that is missed would be 6.3, and 1.7 in the tangential force.
    """
    wheel = ct.Body(mass=2.0, moments=(0.5, 0.5, 0.9))
    axle = ct.Revolute(-1, 0, ((0, 0, 0), (-0.3, 0, 0)), axis=(0, 0, 1))
    spring = ct.Torsion(0, "k*theta**2/2", {"k": 0.7})
    linkage = ct.Linkage([wheel], [axle], [spring], gravity=(0, 0, -9.81))
    start = linkage.start(angular_velocity=[(0, 0, 15.0)])
    run = simulate(linkage, start, ct.EnergyMomentum(), dt=0.02, steps=75)
    inertia = 0.9 + 2.0 * 0.3**2
    f = np.sqrt(0.7 / inertia)
    theta = 15.0 / f * np.sin(f * run.data.time.values)
    found = linkage.outputs(run)
    assert theta.max() > 4.0 * np.pi
    assert np.abs(found.angle.values[:, 0] - theta).max() < 0.1
    q = run.data.orientation.values[:, 0]
    out, along = (rotations.rotate(q, np.array(u)) for u in ((1.0, 0, 0), (0, 1.0, 0)))
    rate = (run.data.angular_momentum.values[:, 0, 2] / 0.9)[:, None]
    turned = found.angle.values
    expected = 2.0 * (0.3 * (-0.7 * turned / inertia * along - rate**2 * out) + np.array((0, 0, 9.81)))
    assert np.abs(found.reaction_force.values[:, 0] - expected).max() < 1e-10
    assert linkage.angles(run.final, start)[0] == pytest.approx(np.angle(np.exp(1j * turned[-1, 0])), abs=1e-12)


def test_outputs_have_the_names_of_their_dimensions() -> None:
    linkage, start = two_bodies("Revolute", ())
    outputs = linkage.outputs(simulate(linkage, start, ct.EnergyMomentum(), dt=0.02, steps=2))
    made = outputs.dataset()
    assert repr(outputs).startswith("LinkageOutputs of 3 samples and 2 joints: angle, speed, ")
    assert dict(made.sizes) == {"time": 3, "joint": 2, "xyz": 3}
    assert np.isnan(made.angle.values[:, 0]).all()
    assert np.isfinite(made.angle.values[:, 1]).all()
    assert made.time.values.tolist() == [0.0, 0.02, 0.04]
