"""The joint form of a linkage: reference values, accelerations against multipliers for every joint, forces, loops, thin bodies."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import catena as ct
import linkages
from catena.analysis.least_squares import least_squares
from catena.engine.pairing import Pairing
from catena.geometry import rotations
from catena.methods.base import Method
from catena.running.plan import Problem
from catena.systems.linkage import constraints, joints
from catena.systems.linkage import start as starts
from catena.systems.linkage.joint_forces import Damper, Load, SitePair, Spring, Torsion
from catena.systems.linkage.joint_form.form import pack_state, unpack_state
from catena.systems.linkage.joint_form.layout import layout_of
from catena.systems.linkage.joints import (
    Cylindrical,
    Joint,
    Planar,
    Prismatic,
    Revolute,
    Rigid,
    Screw,
    Spherical,
    Universal,
)
from catena.systems.linkage.linkage import Linkage
from linkages import accelerations, accelerations_by_multipliers, random_tree, run_to, state_of
from places import read_reference

DATA = read_reference("joint_form.toml")
EPS = np.finfo(float).eps
DIFFERENCES = (
    1e-9  # what fourth-order differences of 1e-3 leave of accelerations of size 10 to 100; measured 4e-11 to 2e-10
)
EVERY: list[type[Joint]] = [Revolute, Spherical, Prismatic, Cylindrical, Universal, Planar, Screw, Rigid]
ALL_KINDS: list[type[Joint] | None] = [None, *EVERY, Revolute]
PARENTS = [-2, 0, 1, 2, 3, -1, 5, 6, 7, 2]


# Reference values, all with one compiled program ------------------------------------------------------------------------------


@pytest.mark.parametrize("case", DATA["chain"], ids=lambda case: case["name"])
@pytest.mark.slow
def test_hanging_chains_move_as_they_should(case: dict[str, Any]) -> None:
    """Steps of 0.01 are at round-off for Gauss(6): measured 4e-15 at both times."""
    chain, start = linkages.box_chain(getattr(joints, case["joint"]), [np.pi * turn for turn in case["turns"]])
    run = run_to(chain, start, ct.Gauss(6), dt=0.01, steps=100)
    assert np.abs(state_of(chain, run).position[-1] - case["one"]).max() <= case["tolerance"][0]
    run.advance(100)
    assert np.abs(state_of(chain, run).position[-1] - case["two"]).max() <= case["tolerance"][1]


@pytest.mark.slow
def test_the_molecule_moves_as_it_should() -> None:
    molecule, start = linkages.molecule()
    run = run_to(molecule, start, ct.Gauss(6), dt=0.02, steps=50)

    def fourth() -> np.ndarray:
        state = state_of(molecule, run)
        last = molecule.bodies[1].particles.positions[2]
        return state.position[1] + rotations.rotate(state.orientation[1], last)

    case = DATA["molecule"]
    assert np.abs(fourth() - case["one"]).max() <= case["tolerance"]
    run.advance(50)
    assert np.abs(fourth() - case["two"]).max() <= case["tolerance"]
    assert abs(run.z[layout_of(molecule).angles[0]] - case["angle"]) <= case["tolerance"]


def test_the_squeezing_mechanism_with_its_three_loops_moves_as_it_should() -> None:
    """Each loop is closed by three rows, one of which says nothing in the plane: rank 6 of 9. Measured 4e-14."""
    mechanism, start = linkages.squeezer()
    run = run_to(mechanism, start, ct.Gauss(6), dt=1e-4, steps=300)
    angles = [run.z[layout_of(mechanism).angles[k]] for k in range(7)]
    assert np.abs(np.array(angles) - DATA["squeezer"]["angles"]).max() <= DATA["squeezer"]["tolerance"]
    state = state_of(mechanism, run)
    images = constraints.images_of(mechanism, state.orientation)
    gap = constraints.residuals(mechanism, state.position, state.orientation, images=images, shifts=np.zeros(10))
    assert np.abs(gap).max() < 1e-13


def bare(problem: Problem) -> linkages.Bare:
    system = problem.system
    assert isinstance(system, Linkage)
    return linkages.Bare(system.bodies, system.joints, system.forces, system.gravity)


def test_the_four_bar_linkage_is_back_after_its_period() -> None:
    """The period by quadrature in 60 digits; its loop has five rows, two of which say something in the plane. Measured 1e-15."""
    problem = ct.problems.four_bar()
    run = run_to(linkage := bare(problem), problem.start, ct.Gauss(6), dt=DATA["four_bar"]["period"] / 100, steps=100)
    assert np.abs(state_of(linkage, run).position - problem.start.position).max() < DATA["four_bar"]["tolerance"]
    half = run_to(linkage, problem.start, ct.Gauss(6), dt=DATA["four_bar"]["period"] / 100, steps=50)
    assert np.abs(state_of(linkage, half).position - problem.start.position).max() > 0.1


def test_the_loop_of_six_bars_stays_closed() -> None:
    """Bricard's loop moves although its rows count as many as its freedoms: one depends on the others. Measured 6e-16."""
    problem = ct.problems.bricard()
    run = run_to(linkage := bare(problem), problem.start, ct.Gauss(6), dt=0.02, steps=100)
    state = state_of(linkage, run)
    images = constraints.images_of(linkage, problem.start.orientation)
    gap = constraints.residuals(linkage, state.position, state.orientation, images=images, shifts=np.zeros(6))
    assert np.abs(gap).max() < 1e-13
    assert np.abs(state.position - problem.start.position).max() > 0.5


def test_the_mechanism_starts_with_the_known_accelerations() -> None:
    mechanism, start = linkages.squeezer()
    found = accelerations(mechanism, pack_state(mechanism, start))
    assert abs(found[0, 1, 2] - 14222.44391995) < 1e-7
    assert abs(found[1, 1, 2] - found[0, 1, 2] + 10666.83293997) < 1e-7


# Accelerations ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [1, 2])
def test_the_recursion_agrees_with_multipliers_on_a_tree_of_all_joints(seed: int) -> None:
    linkage, z, still = random_tree(ALL_KINDS, PARENTS, seed)
    state = unpack_state(linkage, z, 0.0)
    images = constraints.images_of(linkage, still.orientation)
    expected = accelerations_by_multipliers(linkage, state, images)
    assert np.abs(accelerations(linkage, z) - expected).max() < DIFFERENCES * np.abs(expected).max()
    assert np.abs(accelerations(linkage, z, moving=False) - expected).max() > 0.1


@pytest.mark.parametrize("kind", EVERY)
def test_a_joint_of_every_kind_closes_a_loop(kind: type[Joint]) -> None:
    """A second joint between the first and the last body of a tree; its image is the start's."""
    linkage, start = linkages.closed_by(kind)
    tree = Linkage(linkage.bodies, linkage.joints[:-1], gravity=linkage.gravity)
    q = start.orientation
    expected = accelerations_by_multipliers(linkage, start, constraints.images_of(linkage, q))
    found = accelerations(linkage, pack_state(linkage, start))
    assert np.abs(found - expected).max() < DIFFERENCES * np.abs(expected).max()
    without = accelerations(tree, pack_state(tree, start))
    assert np.abs(without - expected).max() > 1e-3


def test_rows_that_depend_on_others_change_nothing() -> None:
    """A second, parallel hinge on the same axis is as good as none, whatever its place along the axis."""
    rng = linkages.RNG(3)
    body = ct.Body.from_particles(rng.normal(size=(6, 3)))
    axis = np.array([0.0, 0.6, 0.8])
    hinges = [Revolute(-1, 0, at=(d * axis, np.array([0.3, 0.1, 0.2]) + d * axis), axis=axis) for d in (0.0, 1.7)]
    single, double = Linkage([body], hinges[:1]), Linkage([body], hinges)
    start = single.start(angular_velocity=[1.3 * axis])
    one, two = (accelerations(linkage, pack_state(linkage, start)) for linkage in (single, double))
    assert np.abs(one - two).max() < 1e-12 * np.abs(one).max()


def tie_forces(linkage: Linkage, state: ct.State) -> np.ndarray:
    """(n, 2, 3) of what `FORCES` say, written out once more."""
    made = np.zeros((linkage.count, 2, 3))
    v = constraints.velocities(linkage, state).reshape(-1, 2, 3)

    def point(body: int, at: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        if body < 0:
            return np.array(at), np.zeros(3), np.zeros(3)
        arm = rotations.rotate(state.orientation[body], at)
        return state.position[body] + arm, v[body, 0] + np.cross(v[body, 1], arm), arm

    def push(body: int, force: np.ndarray, arm: np.ndarray) -> None:
        if body >= 0:
            made[body] += force, np.cross(arm, force)

    for force in linkage.forces:
        if isinstance(force, Load):
            _, _, arm = point(force.body, force.at)
            push(force.body, np.array([2 * np.sin(3 * state.time), 0.4, -0.3]), arm)
            made[force.body, 1] += (0.1, -0.2, state.time**2)
        elif isinstance(force, Torsion):
            joint = linkage.joints[force.joint]
            axis = rotations.rotate(state.orientation[joint.parent], joint.axis)  # type: ignore[attr-defined]
            rate = axis @ (v[joint.child, 1] - v[joint.parent, 1])
            angle = linkage.angles(state)[force.joint]
            torque = (-1.4 * 3 * np.sin(3 * angle) - 0.7 * rate) * axis
            made[joint.child, 1] += torque
            made[joint.parent, 1] -= torque
        else:
            x, vx, ax = point(force.i, force.at[0])
            y, vy, ay = point(force.j, force.at[1])
            d, length = y - x, np.linalg.norm(y - x)
            if isinstance(force, Spring):
                size = force.k * (length - force.length)
            elif isinstance(force, Damper):
                size = force.c * (vy - vx) @ d / length
            else:
                size = 2.0 * 0.9 * (length - 0.4) ** 3 * 2.0  # d/dr of 0.9 (r - 0.4)^4
            push(force.i, size * d / length, ax)
            push(force.j, -size * d / length, ay)
    return made


FORCES = (
    Spring(0, 4, at=((0.1, 0.2, 0.3), (-0.3, 0.2, 0.5)), k=7.0, length=0.6),
    Spring(-1, 2, at=((1.0, 1.0, 1.0), (0.2, 0.2, 0.1)), k=3.0),
    Damper(3, 1, at=((0.4, 0.1, 0.0), (0.0, 0.1, 0.9)), c=1.1),
    SitePair(2, 4, at=((0.3, 0.0, 0.0), (0.0, 0.3, 0.0)), potential=ct.PairPotential("0.9*(r - 0.4)**4")),
    Load(3, at=(0.5, -0.5, 0.2), force=("2*sin(3*t)", 0.4, -0.3), torque=(0.1, -0.2, "t**2")),
    Torsion(0, "k*(1 - cos(3*theta))", {"k": 1.4}, damping=0.7),
)


def test_forces_of_every_kind_act_as_written_down() -> None:
    kinds: list[type[Joint] | None] = [None, Revolute, Spherical, Cylindrical, Universal]
    linkage, z, still = random_tree(kinds, [-2, 0, 1, 2, 1], 11, forces=FORCES)
    z[layout_of(linkage).time] = 0.8
    state = unpack_state(linkage, z, 0.8)
    asked = starts.count_from_start(linkage, still)
    images = constraints.images_of(linkage, still.orientation)
    expected = accelerations_by_multipliers(linkage, state, images, tie_forces(asked, state))
    found = accelerations(linkage, z)
    assert np.abs(found - expected).max() < DIFFERENCES * np.abs(expected).max()
    without = accelerations_by_multipliers(linkage, state, images)
    assert np.abs(found - without).max() > 1.0


def test_a_torsion_on_the_joint_that_closes_a_loop_counts_full_turns() -> None:
    """Two bodies on coaxial hinges; the relative angle of the closing joint is the difference of the others."""
    hinge = {"axis": (0.0, 0.0, 1.0)}
    bodies = [ct.Body(1.0, (1.0, 1.2, 0.8)), ct.Body(1.0, (1.0, 1.1, 0.5))]
    joints_ = [Revolute(-1, 0, **hinge), Revolute(-1, 1, **hinge), Revolute(0, 1, **hinge)]
    spring = Torsion(2, "k*theta**2/2", {"k": 0.4})
    linkage = Linkage(bodies, joints_, [spring], gravity=(0, 0, 0))
    start = linkage.start(angular_velocity=[(0, 0, -4.0), (0, 0, 6.5)])
    run = run_to(linkage, start, ct.Gauss(4), dt=0.1, steps=8, compiled=False)
    rate = np.sqrt(0.4 * (1 / 0.8 + 1 / 0.5))  # of the relative angle, a harmonic oscillator
    expected = 10.5 / rate * np.sin(rate * 0.8)
    assert expected > 2 * np.pi
    assert abs(run.z[layout_of(linkage).angles[2]] - expected) < 1e-10


# States, invariants -------------------------------------------------------------------------------------------------------------


def test_a_state_survives_being_stepped() -> None:
    """Bodies to coordinates of the joints and back: positions of ten bodies in a row lose some eps each."""
    linkage, z, still = random_tree(ALL_KINDS, PARENTS, 4)
    state = unpack_state(linkage, z, 0.0)
    again = starts.count_from_start(linkage, still)
    back = unpack_state(again, pack_state(again, state), 0.0)
    for name, array in state.fields.items():
        sign = (
            np.where((array * back.fields[name]).sum(axis=-1, keepdims=True) < 0, -1, 1) if name == "orientation" else 1
        )
        assert np.abs(sign * back.fields[name] - array).max() < 200 * EPS * max(1.0, np.abs(array).max()), name


def test_a_screw_without_pitch_stays_where_it_is_along_its_axis() -> None:
    """Its points need not meet: how far they are apart at the start is kept."""
    body = ct.Body.from_particles(linkages.RNG(8).normal(size=(6, 3)))
    screw = Linkage([body], [Screw(-1, 0, at=((0, 0, 1), (0.2, 0, 0)), axis=(0, 0, 1))])
    start = screw.start([(-0.2, 0.0, 1.4)], angular_velocity=[(0, 0, 2.0)], velocity=[(0, -0.4, 0)])
    back = unpack_state(screw, pack_state(screw, start), 0.0)
    assert np.abs(back.position - start.position).max() < 4 * EPS
    assert np.abs(back.momentum - start.momentum).max() < 20 * EPS


def test_a_free_tree_keeps_energy_momentum_and_its_joints() -> None:
    """Gauss(4) with dt 0.02: its error in the energy is below 1e-10; RK4 loses more than 1e-8."""
    molecule, start = linkages.molecule(of=Linkage)
    runs = {}
    for method in (ct.Gauss(4), ct.RK4()):
        run = run_to(molecule, start, method, dt=0.02, steps=0, compiled=False)
        rows = np.concatenate([run.first_row().rows, run.advance(15).rows])
        runs[str(method)] = molecule.columns(rows)
    good, bad = runs["Gauss(4)"], runs["RK4()"]
    assert abs(good["energy"][0] - 185.323011788213) < 1e-12
    assert np.ptp(good["energy"]) < 1e-10
    assert np.ptp(bad["energy"]) > 1e-8
    assert np.ptp(good["total_momentum"], axis=0).max() < 1e-11
    assert np.ptp(good["total_angular_momentum"], axis=0).max() < 1e-10
    assert np.abs(good["joint_position_residual"]).max() < 20 * EPS
    assert np.abs(good["joint_velocity_residual"]).max() < 100 * EPS
    assert np.abs(good["unit_residual"]).max() < 20 * EPS


def test_the_work_of_dampers_and_loads_is_counted() -> None:
    """Energy less their work stays, at the accuracy of the method."""
    kinds: list[type[Joint] | None] = [None, Revolute, Spherical, Cylindrical, Universal]
    linkage, z, _ = random_tree(kinds, [-2, 0, 1, 2, 1], 11, forces=FORCES)
    program_start = unpack_state(linkage, z, 0.0)
    run = run_to(linkage, program_start, ct.Gauss(4), dt=0.01, steps=0, compiled=False)
    found = linkage.columns(np.concatenate([run.first_row().rows, run.advance(6).rows]))
    assert np.ptp(found["energy"]) < 1e-7 * np.abs(found["energy"]).max()
    work = found["damping_work"][-1], found["load_work"][-1]
    assert work[0] < -1e-3 and abs(work[1]) > 1e-3


def test_no_promise_is_made_for_what_is_not_quadratic_in_joint_coordinates() -> None:
    """Gauss keeps quadratic invariants, but momenta are none here. The director form promises all."""
    molecule, _ = linkages.molecule(of=Linkage)
    gauss, conserving = (Pairing.of(molecule, method).promises.kept for method in (ct.Gauss(4), ct.EnergyMomentum()))
    for name in ("energy", "total_momentum", "total_angular_momentum"):
        assert (gauss[name], conserving[name]) == ("none", "exact")


def test_joints_hold_in_their_own_coordinates_whatever_the_method() -> None:
    """But for quaternions, whose length residuals see: the molecule is free in space, the chain is not."""
    chain, _ = linkages.box_chain(Revolute, [1.5, 0.9], of=Linkage)
    molecule, _ = linkages.molecule(of=Linkage)
    for name in ("joint_position_residual", "joint_velocity_residual"):
        for method in (ct.Gauss(4), ct.RK4()):
            assert Pairing.of(chain, method).promises.kept[name] == "exact"
            assert Pairing.of(molecule, method).promises.kept[name] == "needed"
        assert Pairing.of(molecule, ct.EnergyMomentum()).promises.kept[name] == "exact"


# Thin bodies ----------------------------------------------------------------------------------------------------------------------


def test_rods_on_ball_joints_have_no_spin_and_move_like_point_masses() -> None:
    """A spherical pendulum of two thin rods against rods with a small moment about themselves that do not spin."""

    def pendulum(thickness: float) -> Linkage:
        rod = ct.Body(2.0, (0.5, 0.5, thickness))
        arms = [((0, 0, 0), (0, 0, 0.7)), ((0, 0, -0.7), (0, 0, 0.7))]
        return Linkage([rod, rod], [Spherical(k - 1, k, at=arms[k]) for k in range(2)])

    found = []
    for thickness in (0.0, 1e-9):
        linkage = pendulum(thickness)
        start = linkage.start(
            orientation=[linkages.turned(0, 0.9), linkages.turned(0, 2.0)],
            angular_velocity=[(0.3, 0.8, 0), (0.1, -0.5, 0)],
        )
        found.append(accelerations(linkage, pack_state(linkage, start)))
    assert np.abs(found[0][:, 0] - found[1][:, 0]).max() < 1e-7
    run = run_to(
        pendulum(0.0),
        pendulum(0.0).start(orientation=[linkages.turned(0, 0.9)] * 2),
        ct.Gauss(3),
        dt=0.02,
        steps=5,
        compiled=False,
    )
    assert np.isfinite(run.z).all()


# One least-squares problem ----------------------------------------------------------------------------------------------------------


def rates_of_joints(linkage: Linkage, z: np.ndarray) -> np.ndarray:
    """udot by the recursion, in the order of the joints."""
    from catena.engine.build import build

    program = build(linkage, ct.RK4(), compiled=False)
    out, layout = np.zeros_like(z), layout_of(linkage)
    field = next(v for name, v in vars(program.module).items() if name.endswith("_articulated_field"))
    field(z, program.new_par(), out)
    places = [(layout.links[k, 3], node) for k, node in enumerate(layout.nodes) if node.rates]
    return np.concatenate([out[at : at + node.rates][~np.array(node.held[: node.rates])] for at, node in places])


def test_gauss_principle_for_all_bodies_at_once_gives_the_rates_of_the_recursion() -> None:
    """QR and normal equations; the latter lose the square of the condition number, here 1e4 times eps."""
    linkage, z, still = random_tree(ALL_KINDS, PARENTS, 6)
    again = starts.count_from_start(linkage, still)
    state = unpack_state(linkage, z, 0.0)
    problem = least_squares(again, state)
    recursion = rates_of_joints(again, pack_state(again, state))
    scale = np.abs(recursion).max()
    assert np.abs(problem.by_qr() - recursion).max() < 1e-12 * scale
    assert np.abs(problem.by_normal_equations() - recursion).max() < 1e-16 * problem.condition() * scale * 10
    assert problem.condition() > 100


def test_a_rod_on_a_ball_joint_has_two_columns_and_with_a_third_the_matrix_would_be_singular() -> None:
    rod = Linkage([ct.Body.rod(2.0, mass=3.0)], [Spherical(-1, 0, at=((0, 0, 0), (0, 0, 1.0)))])
    start = rod.start(orientation=[linkages.turned(0, 1.0)], angular_velocity=[(0.4, 0.6, 0.0)])
    problem = least_squares(rod, start)
    assert problem.matrix.shape == (6, 2) and problem.condition() < 1.0 + 1e-12
    assert np.abs(problem.by_qr() - rates_of_joints(rod, pack_state(rod, start))).max() < 1e-13


RUNGE_KUTTA = [
    ct.ExplicitEuler(), ct.ImplicitEuler(), ct.ImplicitMidpoint(), ct.RadauIIA(2), ct.SunGeng(), ct.RK4(), ct.Gauss(2),
    ct.Composition(ct.ImplicitMidpoint(), "suzuki4"),
]  # fmt: skip


@pytest.mark.parametrize("method", RUNGE_KUTTA, ids=str)
def test_every_runge_kutta_method_steps_the_joint_form_with_its_order(method: Method) -> None:
    """From 4 and 8 steps to t = 0.2: the ratio of errors is 2^order within a third of an order."""
    chain, start = linkages.box_chain(Revolute, [1.5, 0.9], of=Linkage)

    def end(method: Method, steps: int) -> np.ndarray:
        return state_of(chain, run_to(chain, start, method, dt=0.2 / steps, steps=steps, compiled=False)).position

    exact = end(ct.Gauss(4), 2)
    coarse, fine = (np.abs(end(method, steps) - exact).max() for steps in (4, 8))
    assert abs(np.log2(coarse / fine) - method.traits.order) < 1 / 3
