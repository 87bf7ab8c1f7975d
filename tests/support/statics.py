"""Chains at rest for the tests: the reference values, and the matrices of a chain by an independent, slow way."""

from __future__ import annotations

from typing import Any

import numpy as np

import catena as ct
from catena.analysis.statics.poses import Poses, turn_matrices
from catena.analysis.statics.problem import StaticProblem
from places import read_reference

REFERENCE = read_reference("statics.toml")
MIXED = ct.Chain(
    [ct.Body.tetrahedron(), ct.Body.from_particles([[0.1, 0.5, 0.2], [0.3, -0.4, 0.7], [-0.5, 0.1, -0.3]])] * 2,
    [ct.LennardJones(5.0, 1.0), ct.BendTwist(10.0, 2.0, 3.0, (1.1, 0.6, 0.4)),
     ct.Morse(5.0, 3.0, 1.1) + ct.LinkPotential("k*(d1 - 1)**2 + sqrt(1 + d2**2 + d3**2)*(2 - Q11)", {"k": 2.0})],
    right=ct.Force((0.7, 0.2, -0.1)),
)  # fmt: skip


def helix(n: int = 8, **options: Any) -> ct.Problem:
    """The helix at rest."""
    return ct.problems.helix_chain(n, amp=0.0, **options)


def stretched(right: str, factor: float = 1.02) -> tuple[ct.Chain, ct.State]:
    """Eight bodies of the helix, pulled apart along the axis, with the last one fixed there."""
    problem = helix(8, right=right)
    return problem.system, problem.system.start(problem.start.position * [factor, 1.0, 1.0], problem.start.orientation)


def disturbed(chain: ct.Chain, start: ct.State, size: float, seed: int) -> ct.State:
    """A state with random displacements of all free coordinates."""
    chance = np.random.default_rng(seed)
    poses = Poses.of_state(chain, start)
    xi = size * chance.normal(size=(chain.count, 6)) * StaticProblem.of(chain, None, "test").free
    return poses.displaced(xi).state(chain)


def energy_at(problem: StaticProblem, poses: Poses, xi: np.ndarray) -> float:
    """The energy for displacements (n, 6) of the bodies."""
    position = poses.position + np.einsum("nij,nj->ni", poses.matrices, xi[:, :3])
    moved = Poses.of_bodies(position, poses.matrices @ turn_matrices(xi[:, 3:]), closed=poses.closed)
    return problem.balance(moved).energy


def slope_at(problem: StaticProblem, poses: Poses, xi: np.ndarray, t: float) -> float:
    """dE/dt at t along r + t R u, R exp(t hat theta), from the gradient there."""
    turned = turn_matrices(t * xi[:, 3:])
    position = poses.position + t * np.einsum("nij,nj->ni", poses.matrices, xi[:, :3])
    gradient = problem.balance(Poses.of_bodies(position, poses.matrices @ turned, closed=poses.closed)).gradient
    velocity = np.concatenate([np.einsum("nji,nj->ni", turned, xi[:, :3]), xi[:, 3:]], axis=1)
    return float((gradient * velocity).sum())
