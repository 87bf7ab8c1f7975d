"""Bodies that rows of joints hold: reactions, drives and thermal velocities of long linkages, against closed forms and dense matrices."""

import tracemalloc
from collections.abc import Sequence

import numpy as np
import pytest

import catena as ct
from catena.analysis.linkage_reactions import drive_rows
from catena.geometry import rotations
from catena.systems.base import System
from catena.systems.linkage import constraints
from catena.systems.linkage.held import Rows, solve_held, write_out

BOX = ct.Body.box((0.1, 0.2, 1.0), mass=1.0)
EPS = np.finfo(float).eps


def hang(n: int, forces: Sequence[ct.Driven] = (), gravity: tuple[float, float, float] = (0, 0, -10)) -> ct.Linkage:
    """n boxes of length 1 on parallel hinges, one below the other."""
    joints = [ct.Revolute(j - 1, j, at=((0, 0, -0.5 if j else 0.0), (0, 0, 0.5)), axis=(1, 0, 0)) for j in range(n)]
    return ct.Linkage([BOX] * n, joints, forces, gravity=gravity)


def test_reactions_of_a_long_chain_are_the_weights_below_to_round_off() -> None:
    """Sums of 100 weights, 100 eps; the normal equations of the multipliers, with the square of the condition number, gave 5e-11."""
    chain = hang(100)
    found = chain.reactions(chain.start())
    below = 10.0 * np.arange(100, 0, -1)
    assert np.abs(found.force[:, 2] / below - 1.0).max() < 100 * EPS
    assert np.abs(found.torque).max() < 100 * EPS * below[0]


def test_drives_of_a_long_arm_bear_the_moments_of_its_weight_to_round_off() -> None:
    """m g L^2/2 for the length L beyond each hinge: the arm is held out straight. The normal equations gave 8e-9."""
    arm = hang(100, [ct.Driven(k, "0") for k in range(100)], gravity=(0, 10, 0))
    beyond = np.arange(100.0, 0.0, -1.0)
    found = np.abs(arm.motor_torques(arm.start()))
    assert np.abs(found / (5.0 * beyond**2) - 1.0).max() < 100 * EPS


def test_reactions_and_thermal_velocities_of_long_linkages_need_no_dense_matrix() -> None:
    """One matrix of 6 x 400 rows and columns has 46 MB, and took minutes at 1000 bodies; what is found at sparse ones is 4 MB."""
    chain = hang(400)
    start = chain.start()
    chain.reactions(chain.maxwell(start, 1e-3, seed=1))  # imports
    tracemalloc.start()
    chain.reactions(chain.maxwell(start, 1e-3, seed=1))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 23e6


def four_bar(bodies: Sequence[ct.Body]) -> tuple[ct.Linkage, ct.State]:
    """A parallelogram of hinges in space, with a body on a ball joint and a second rod beside one side; three rows of each loop are redundant."""
    down = ((0, 0, 0.5), (0, 0, -0.5))
    joints = [
        ct.Revolute(-1, 0, at=((0, 0, 0), down[0]), axis=(0, 1, 0)),
        ct.Revolute(0, 1, at=(down[1], (-0.7, 0, 0)), axis=(0, 1, 0)),
        ct.Revolute(-1, 2, at=((1.4, 0, 0), down[0]), axis=(0, 1, 0)),
        ct.Spherical(1, 3, at=((0.2, 0.1, 0), down[0])),
        ct.Revolute(1, 2, at=((0.7, 0, 0), down[1]), axis=(0, 1, 0)),
        ct.Distance(0, 2, at=((0, 0, 0), (0, 0, 0)), length=1.4),
    ]
    linkage = ct.Linkage(bodies, joints)
    angles = {0: 0.4, 1: -0.4, 2: 0.4}
    return linkage, linkage.start(angles=angles, rates={0: 0.3, 1: -0.3, 2: 0.3}, project=True)


@pytest.mark.parametrize(
    "middle",
    [ct.Body.box((1.4, 0.1, 0.2), mass=3.0), ct.Body.from_particles([[-0.7, 0, 0], [0.7, 0, 0]], masses=[1.5, 1.5])],
)
def test_what_is_held_solves_the_dense_equations(middle: ct.Body) -> None:
    """[[M, A^T], [A, 0]] (x, l) = (f, g), with redundant rows, and a line on hinges across; 1e-12 of the terms. Without the rows it does not."""
    linkage, state = four_bar([BOX, middle, BOX, BOX])
    images = constraints.images_of(linkage, state.orientation)
    rows = constraints.joint_rows(linkage, state.position, state.orientation, images=images)
    dense, mass = write_out(rows, 4), constraints.mass_matrix(linkage, state.orientation)
    draw = np.random.default_rng(1)
    force, wanted = draw.normal(size=24), dense @ draw.normal(size=24)
    weights = constraints.weigh(linkage, state.orientation)

    def left(rows: Sequence[Rows]) -> tuple[float, float]:
        x, multipliers = solve_held(rows, weights, force, wanted)
        return float(np.abs(mass @ x + dense.T @ multipliers - force).max()), float(np.abs(dense @ x - wanted).max())

    assert max(left(rows)) < 1e-12
    # the smallest multipliers, torques over the longest arm: nothing of what the rows leave open
    arms = np.where(dense.reshape(-1, 4, 2, 3)[:, :, 0].any(axis=(1, 2)), 1.0, 1.4)
    null = np.linalg.svd(dense.T * arms)[2][np.linalg.matrix_rank(dense, tol=1e-9) :]
    assert len(null) >= 3
    assert np.abs(null @ (solve_held(rows, weights, force, wanted).multipliers / arms)).max() < 1e-12
    assert max(left([one._replace(values=-one.values if k == 4 else one.values) for k, one in enumerate(rows)])) > 0.1


def least(chain: ct.Linkage, orientation: np.ndarray, rows: np.ndarray, off: np.ndarray) -> np.ndarray:
    """(6 n,): what changes the rows by -off and costs the least, masses as weights; by least squares of dense matrices."""
    roots = np.linalg.inv(np.linalg.cholesky(constraints.mass_matrix(chain, orientation))).T
    return -roots @ np.linalg.lstsq(rows @ roots, off, rcond=1e-10)[0]


def test_thermal_velocities_of_many_bodies_are_those_of_the_dense_matrix() -> None:
    """The nearest in kinetic energy that follow the joints and the drive; 1e-11, a condition number of 1e4 with factor 5."""
    chain = hang(70, [ct.Driven(3, "0.4*t")])
    start = chain.start()
    found = chain.maxwell(start, 0.5, seed=2)
    drawn = constraints.velocities_of_momenta(chain, System.maxwell(chain, start, 0.5, seed=2))
    images = constraints.images_of(chain, start.orientation)
    rows = constraints.joint_rows(chain, start.position, start.orientation, images=images)
    dense = write_out([*rows, *drive_rows(chain, start)], 70)
    told = np.append(np.zeros(len(dense) - 1), 0.4)
    nearest = drawn + least(chain, start.orientation, dense, dense @ drawn - told)
    assert np.abs(found.momentum - nearest.reshape(-1, 2, 3)[:, 0]).max() < 1e-11
    assert np.abs(found.momentum - chain.maxwell(start, 0.5, seed=3).momentum).max() > 0.1


def test_many_bodies_are_projected_as_dense_matrices_tell() -> None:
    """Positions and velocities beside the joints come back to the same place as by Newton's method with least squares."""
    chain, draw = hang(70), np.random.default_rng(3)
    rest = chain.start()
    given = {"position": rest.position + 1e-3 * draw.normal(size=(70, 3)), "velocity": draw.normal(size=(70, 3))}
    found = chain.start(**given, project=True)
    images, r, q = constraints.images_of(chain, rest.orientation), given["position"].copy(), rest.orientation
    for _ in range(6):
        phi = constraints.residuals(chain, r, q, images=images, shifts=np.zeros(70))
        change = least(chain, q, constraints.gradients(chain, r, q, images=images), phi).reshape(-1, 2, 3)
        r, q = r + change[:, 0], rotations.multiply(rotations.from_vector(change[:, 1]), q)
    v = np.stack([given["velocity"], np.zeros((70, 3))], axis=1).ravel()
    images = constraints.images_of(chain, q)
    rows = constraints.gradients(chain, r, q, images=images)
    v = v + least(chain, q, rows, rows @ v)
    assert np.abs(found.position - r).max() < 1e-11
    assert np.abs(found.momentum - v.reshape(-1, 2, 3)[:, 0]).max() < 1e-9
    assert np.abs(found.position - given["position"]).max() > 1e-4


def test_lines_on_many_hinges_turn_as_the_joints_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spins without a momentum are those of the rates that the start was given; 1e-12 of the fastest. Dense matrices find them, too."""
    line = ct.Body.from_particles([[0, 0, -0.5], [0, 0, 0.5]])
    axes = [(1, 0, 0), (0, 1, 0)]
    joints = [ct.Revolute(j - 1, j, at=((0, 0, -0.5 if j else 0.0), (0, 0, 0.5)), axis=axes[j % 2]) for j in range(70)]
    chain, draw = ct.Linkage([line] * 70, joints), np.random.default_rng(4)
    angles, rates = 0.3 * draw.normal(size=(2, 70))
    state = chain.start(angles=angles, rates=rates)
    bent = [constraints.turn_vectors(state.orientation, joint.parent, joint.axis) for joint in joints]
    told = np.cumsum(rates[:, None] * np.array(bent), axis=0)
    sparse = constraints.velocities(chain, state).reshape(-1, 2, 3)[:, 1]
    assert np.abs(sparse - told).max() < 1e-12 * np.abs(told).max()
    monkeypatch.setattr(constraints, "MANY", 70)
    dense = constraints.velocities(chain, state).reshape(-1, 2, 3)[:, 1]
    assert np.abs(dense - told).max() < 1e-12 * np.abs(told).max()
    spun = constraints.velocities_of_momenta(chain, state).reshape(-1, 2, 3)[:, 1]
    assert np.abs(spun - told).max() > 0.01 * np.abs(told).max()
