"""Every joint and every force between two bodies: what the steps keep, and the motion against an independent one."""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

import catena as ct
from catena.engine.build import build
from catena.engine.driver import Driver
from catena.geometry import rotations
from catena.systems.linkage.joints import JOINTS, Turned, joint_from
from linked import ANGULAR, KINDS, SPRING, difference, independent_motion, two_bodies
from places import read_reference
from uncompiled import simulate

METHODS = (ct.EnergyMomentum(), ct.EnergyMomentum(level="position"), ct.Rattle())
MOLECULE = read_reference("joint_form.toml")["molecule"]
ROUND_OFF = 1e-13  # energies and momenta are about 10, some hundred operations each
TIME = 0.08
ALL_FORCES = (
    SPRING,
    ct.SitePair(0, 1, ((0.1, 0.0, 0.3), (0.2, -0.1, 0.0)), potential=ct.Morse(2.0, 1.5, 0.8)),
    ct.Spring(-1, 1, ((0.4, 0.1, 2.0), (0.3, 0.2, 0.1)), k=5.0, length=1.0),
)
DRIVEN = (
    ct.Damper(0, 1, ((0.1, 0.4, 0.0), (-0.3, 0.2, 0.1)), c=3.0),
    ct.Load(1, (0.1, 0.2, 0.3), force=("3*sin(20*t)", 1.0, 0.0), torque=(0.0, 0.5, "cos(t)")),
)


def with_methods(kinds: Iterable[str]) -> list[Any]:
    """Every kind of joint with every method; the published step with some of them, since both levels share what is said of joints."""
    return [
        pytest.param(
            kind, method, id=f"{kind}-{method}",
            marks=pytest.mark.slow if method is METHODS[1] and kind not in ("Revolute", "Spherical", "Screw") else (),
        )
        for kind in kinds
        for method in METHODS
    ]  # fmt: skip


def worst(run: ct.Run, name: str) -> float:
    """Largest change of an invariant in a run."""
    values = np.asarray(run.data[name])
    return float(np.abs(values - values[0]).max())


@pytest.fixture(scope="module")
def motions() -> dict[str, ct.State]:
    """The state after TIME, by a general-purpose integrator on accelerations."""
    made = {}
    for kind in KINDS:
        linkage, start = two_bodies(kind)
        made[kind] = independent_motion(linkage, start, TIME)
    return made


@pytest.mark.parametrize(("kind", "method"), with_methods(KINDS))
def test_every_joint_is_held_and_its_motion_converges_with_order_two(kind, method, motions) -> None:
    """Residuals at round-off; energy (but for Rattle) and vertical momentum, too; halving dt quarters the error (3.98 to 4.03)."""
    linkage, start = two_bodies(kind)
    errors = []
    for steps in (2, 4):
        run = simulate(linkage, start, method, dt=TIME / steps, steps=steps)
        errors.append(difference(run.final, motions[kind]))
        assert worst(run, "vertical_momentum") < ROUND_OFF
        assert worst(run, "joint_position_residual") < 1e-14
        if method != ct.EnergyMomentum(level="position"):
            assert worst(run, "joint_velocity_residual") < ROUND_OFF
        if method.traits.promise({"energy"}) == "exact":
            assert worst(run, "energy") < ROUND_OFF
    assert 3.9 < errors[0] / errors[1] < 4.1


@pytest.mark.parametrize(("kind", "method"), with_methods(ANGULAR))
@pytest.mark.slow
def test_springs_pair_potentials_and_torsions_are_conservative_for_every_joint_with_an_angle(kind, method) -> None:
    forces = (*ALL_FORCES, ct.Torsion(1, "k*(1 - cos(3*theta)) + theta**2/5", {"k": 3.0}))
    linkage, start = two_bodies(kind, forces)
    reference = independent_motion(linkage, start, TIME)
    errors = []
    for steps in (2, 4):
        run = simulate(linkage, start, method, dt=TIME / steps, steps=steps)
        errors.append(difference(run.final, reference))
        if method.traits.promise({"energy"}) == "exact":
            assert worst(run, "energy") < ROUND_OFF
        assert worst(run, "vertical_momentum") < ROUND_OFF
    assert 3.8 < errors[0] / errors[1] < 4.2


@pytest.mark.parametrize("method", METHODS[:2], ids=str)
def test_dampers_and_loads_do_the_work_that_the_energy_loses(method) -> None:
    """The invariant `energy` subtracts their work; the dampers' is negative. The motion converges to the independent one."""
    linkage, start = two_bodies("Revolute", (*ALL_FORCES, *DRIVEN, ct.Torsion(1, "theta**2", damping=0.7)))
    reference = independent_motion(linkage, start, TIME)
    errors = []
    for steps in (2, 4):
        run = simulate(linkage, start, method, dt=TIME / steps, steps=steps)
        errors.append(difference(run.final, reference))
        assert worst(run, "energy") < ROUND_OFF
        assert float(run.data["damping_work"][-1]) < -1e-3
        assert run.audit()["damping_work"].worst == pytest.approx(-float(run.data["damping_work"][-1]))
        assert abs(float(run.data["load_work"][-1])) > 1e-3
    assert 3.8 < errors[0] / errors[1] < 4.2


@pytest.mark.parametrize("kind", ["Prismatic", "Planar", "Screw"])
@pytest.mark.parametrize(("unit", "mass"), [(1.0, 2.0**-70), (2.0**-33, 2.0**-86), (2.0**-33, 1.0), (2.0**30, 2.0**80)])
def test_joints_move_alike_in_any_unit(unit: float, mass: float, kind: str) -> None:
    """Atoms in metres and kilograms: rounding of the rows of joints was taken for masses, and no step was found, or one that was off by 1e-6.

    Powers of two leave nothing but other pivots; a step of another length differs.
    """

    def moved(unit: float, mass: float, dt: float = 0.05) -> np.ndarray:
        joint = getattr(ct, kind)(
            -1, 0, at=unit * np.array([(1.0, -0.6, 0.5), (-0.2, -0.5, -0.6)]), axis=(0.8, 0.4, -0.4)
        )
        if kind == "Screw":
            joint = dataclasses.replace(joint, pitch=0.3 * unit)
        tensor = mass * unit**2 * np.array([[3.0, 0.2, 0.1], [0.2, 2.5, -0.3], [0.1, -0.3, 1.5]])
        hinge = ct.Revolute(0, 1, at=unit * np.array([(0.1, 0.2, 0.3), (-0.4, 0.5, 0.1)]), axis=(0.1, 0.5, 0.9))
        bodies = [ct.Body.from_inertia(3.0 * mass, tensor), ct.Body.from_inertia(2.0 * mass, 0.5 * tensor)]
        linkage = ct.Linkage(bodies, [joint, hinge], gravity=(0.3 * unit, 0.2 * unit, -9.0 * unit))
        start = linkage.start(
            velocity=unit * np.array([(1, 2, 3), (3, 2, 1)]), angular_velocity=[(1, -1, 2), (0, 1, 1)], project=True
        )
        run = simulate(linkage, start, ct.EnergyMomentum(), dt=dt, steps=2)
        return np.concatenate([run.final.position / unit, run.final.momentum / (mass * unit)])

    wanted = moved(1.0, 1.0)
    np.testing.assert_allclose(moved(unit, mass), wanted, rtol=0, atol=1e-12)
    assert np.abs(moved(unit, mass, 0.0501) - wanted).max() > 1e-4


def test_rattle_refuses_dampers() -> None:
    linkage, start = two_bodies("Revolute", DRIVEN)
    with pytest.raises(ct.CapabilityError, match="dampers"):
        simulate(linkage, start, ct.Rattle(), dt=0.01, steps=1)


def test_the_work_of_a_constant_force_is_force_times_way() -> None:
    linkage, start = two_bodies("Spherical", (ct.Load(1, (0.1, 0.2, 0.3), force=(2.0, -1.0, 0.5)),))
    run = simulate(linkage, start, ct.EnergyMomentum(), dt=0.05, steps=3)
    point = np.array((0.1, 0.2, 0.3))
    ends = [s.position[1] + rotations.rotate(s.orientation[1], point) for s in (start, run.final)]
    assert float(run.data["load_work"][-1]) == pytest.approx(
        np.array((2.0, -1.0, 0.5)) @ (ends[1] - ends[0]), abs=1e-14
    )


def test_a_screw_advances_with_its_turn_through_many_revolutions() -> None:
    """d = pitch * theta with theta counted through full turns, 2.6 of them; the orientation tells theta up to full turns."""
    body = ct.Body(mass=1.0, moments=(0.2, 0.3, 0.4))
    linkage = ct.Linkage([body], [ct.Screw(-1, 0, axis=(0, 0, 1), pitch=0.3)], gravity=(0, 0, 0))
    start = linkage.start(velocity=[(0.0, 0.0, 3.0)], angular_velocity=[(0.0, 0.0, 10.0)])
    run = simulate(linkage, start, ct.EnergyMomentum(), dt=0.05, steps=33)
    advance, q = float(run.final.position[0, 2]), run.final.orientation[0]
    assert advance > 0.3 * 2.5 * 2.0 * math.pi
    assert math.sin(advance / 0.3 - 2.0 * math.atan2(q[3], q[0])) == pytest.approx(0.0, abs=1e-12)
    assert worst(run, "joint_position_residual") < 1e-14


@pytest.mark.parametrize("method", METHODS[:2], ids=str)
def test_a_root_that_turns_by_more_than_a_quarter_turn_is_not_taken(method) -> None:
    """3 rad in one step: its root is c = 3, a turn by 2 atan(3/2) = 1.97 rad; two halves turn by 4 atan(3/4) = 2.57 rad."""
    wheel = ct.Linkage([ct.Body(moments=(0.2, 0.3, 0.4))], [ct.Revolute(-1, 0, axis=(0, 0, 1))], gravity=(0, 0, 0))
    start = wheel.start(angular_velocity=[(0.0, 0.0, 30.0)])
    q = simulate(wheel, start, method, dt=0.1, steps=1).final.orientation[0]
    assert 2.0 * math.atan2(q[3], q[0]) == pytest.approx(4.0 * math.atan(0.75), abs=1e-14)


@pytest.mark.parametrize("kind", ["Revolute", "Screw"])
def test_newton_converges_quadratically(kind) -> None:
    """Exact tangents: once below 1e-3, a correction is followed by less than 30 times its square, or by round-off."""
    linkage, start = two_bodies(kind, (*ALL_FORCES, ct.Torsion(1, "3*(1 - cos(3*theta))")))
    program = build(linkage, ct.EnergyMomentum(), compiled=False)
    name = next(name for name in vars(program.module) if name.endswith("director_form_steps_correct"))
    original, sizes = getattr(program.module, name), []

    def watched(*arguments):
        sizes.append(original(*arguments))
        return sizes[-1]

    setattr(program.module, name, watched)
    # whose corrections are those of shorter steps
    program.module.methods_conserving_energy_momentum_follow = lambda z, h, par, x, kept: 0
    driver = Driver(program, program.view.pack(start), t0=0.0, dt=0.02, every=1)
    assert driver.advance(1).status == 0
    assert len(sizes) >= 3
    for before, after in itertools.pairwise(sizes):
        assert before > 1e-3 or after < max(30.0 * before**2, 1e-13)


@pytest.mark.parametrize(
    ("kernel", "wrong", "invariant"),
    [
        ("director_form_forces_mean_tension", lambda f, s0, s1, h, par: (h * h * 40.0 * (1.0 - 0.6 / math.sqrt(s1)), 0.0), "energy"),
        ("director_form_blocks_over_sine", lambda d: (1.0, 0.0), "energy"),
    ],
    ids=["spring at the end of the step", "angle without d/sin d"],
)  # fmt: skip
def test_a_wrong_discrete_derivative_loses_energy(kernel, wrong, invariant) -> None:
    """The twin of the conservation above: a force taken at one end, or an angle gradient without its factor."""
    linkage, start = two_bodies("Revolute", (SPRING, ct.Torsion(1, "3*(1 - cos(3*theta))")))
    program = build(linkage, ct.EnergyMomentum(), compiled=False)
    name = next(name for name in vars(program.module) if name.endswith(kernel))
    setattr(program.module, name, wrong)
    driver = Driver(program, program.view.pack(start), t0=0.0, dt=0.02, every=1)
    before = driver.first_row().rows[0, linkage.public_width]
    after = driver.advance(4).rows[-1, linkage.public_width]
    assert abs(after - before) > 1e5 * ROUND_OFF


@pytest.mark.slow
def test_the_molecule_moves_as_its_four_atoms_do() -> None:
    """Four particles with five distances, extrapolated; order eight with dt = 1/50 is at round-off."""
    problem = ct.problems.molecule()
    method = ct.Composition(ct.EnergyMomentum(), "kahanli8")
    run = ct.simulate(problem, method=method, dt=0.02, steps=100, every=50)
    last = problem.system.bodies[1].particles.positions[2]
    fourth = run.data.position.values[:, 1] + rotations.rotate(run.data.orientation.values[:, 1], last)
    for row, name in ((1, "one"), (2, "two")):
        assert np.abs(fourth[row] - MOLECULE[name]).max() < 3e-14
    assert problem.system.outputs(run).angle.values[2, 0] == pytest.approx(MOLECULE["angle"], abs=3e-14)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_every_joint_is_held_over_ten_thousand_steps(kind) -> None:
    """A walk of 1e4 steps of energies and momenta of about 100: 1e-11."""
    linkage, start = two_bodies(kind)
    run = ct.simulate(linkage, start, method=ct.EnergyMomentum(), dt=0.01, steps=10_000, every=20)
    assert worst(run, "energy") < 1e-10
    assert worst(run, "vertical_momentum") < 1e-10
    assert worst(run, "joint_position_residual") < 1e-12
    assert worst(run, "joint_velocity_residual") < 1e-11


@pytest.mark.parametrize("kind", list(JOINTS), ids=lambda kind: kind.__name__)
def test_a_joint_made_from_its_description_is_the_same_to_the_last_bit(kind: Any) -> None:
    """A resumed run has the axes and images of the run that was stored: dividing by the length twice gives other digits in one of three."""
    random = np.random.default_rng(3)
    for _ in range(50):
        given = {"axis": random.normal(size=3)} if kind.has_axis else {}
        if issubclass(kind, Turned):
            given["image"] = rotations.normalise(random.normal(size=4))
        joint = kind(-1, 0, **given)
        assert joint_from(json.loads(json.dumps(joint.describe()))) == joint
