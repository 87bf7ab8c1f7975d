"""Poses of the bodies of a chain in statics: positions and principal rotations, computed along the chain link by link.

Displacements add up along a chain, so each link is moved by its strain, and the bodies follow: d += Q eta_u,
Q <- Q exp(hat eta_t), then r and R from the root on. Rotations are orthogonalised each time; otherwise their errors
would double with every step of Newton's method.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...geometry import rotations
from ...systems.base import Array, State
from ...systems.chain.chain import Chain
from ...systems.chain.link_mechanics import principal_rotations, relative_poses, transports
from .units import unit_length


@dataclass(frozen=True)
class Poses:
    """Positions (n, 3) and principal rotations (n, 3, 3) of all bodies; d (links, 3) and Q (links, 3, 3) of all links; in `unit_length`."""

    position: Array
    matrices: Array
    d: Array
    q: Array

    @classmethod
    def of_state(cls, chain: Chain, state: State) -> Poses:
        """The poses of a state."""
        return cls.of_bodies(
            state.position / unit_length(chain), principal_rotations(chain, state), closed=chain.closed
        )

    @classmethod
    def of_bodies(cls, position: Array, matrices: Array, *, closed: bool = False) -> Poses:
        """Links from bodies, including the link that closes a ring."""
        return cls(position, matrices, *relative_poses(position, matrices, closed=closed))

    @property
    def closed(self) -> bool:
        """Whether the bodies form a ring."""
        return len(self.d) == len(self.position)

    @classmethod
    def of_links(cls, d: Array, q: Array, position: Array, matrix: Array, *, root: int = 0) -> Poses:
        """Bodies from links, with the root (0 or -1) at this place."""
        if root == 0:
            turned = scan_products(np.concatenate([matrix[None], q]))
            steps = np.einsum("nij,nj->ni", turned[:-1], d)
            return cls(position + np.concatenate([np.zeros((1, 3)), np.cumsum(steps, axis=0)]), turned, d, q)
        turned = scan_products(np.concatenate([matrix[None], q[::-1].swapaxes(1, 2)]))[::-1]
        steps = np.einsum("nij,nj->ni", turned[:-1], d)
        back = np.cumsum(steps[::-1], axis=0)[::-1]
        return cls(position - np.concatenate([back, np.zeros((1, 3))]), turned, d, q)

    def state(self, chain: Chain, time: float = 0.0) -> State:
        """A state at rest with these poses."""
        frames = chain.alike.each(lambda body: body.frame_matrix)
        rest = np.zeros((len(self.position), 3))
        orientation = rotations.from_matrix(self.matrices @ frames.swapaxes(1, 2))
        fields = {"position": unit_length(chain) * self.position, "orientation": orientation}
        return State({**fields, "momentum": rest, "angular_momentum": rest.copy()}, time)

    def strains(self, xi: Array) -> Array:
        """eta = xi_b - A xi_a of all links, (links, 6), for displacements (n, 6)."""
        left, right = (xi, np.roll(xi, -1, axis=0)) if self.closed else (xi[:-1], xi[1:])
        return right - np.einsum("nij,nj->ni", transports(self.d, self.q), left)

    def strained(self, xi: Array, *, root: int) -> Poses:
        """Move each link by its strain; the root is displaced itself."""
        return self.strained_by(self.strains(xi), xi[root], root=root)

    def strained_by(self, eta: Array, xi: Array, *, root: int) -> Poses:
        """Move links by strains (n - 1, 6), the root by a displacement (6,)."""
        d = self.d + np.einsum("nij,nj->ni", self.q, eta[:, :3])
        q = orthogonal(self.q @ turn_matrices(eta[:, 3:]))
        place = self.position[root] + self.matrices[root] @ xi[:3]
        matrix = orthogonal(self.matrices[root] @ turn_matrices(xi[3:]))
        return Poses.of_links(d, q, place, matrix, root=root)

    def displaced(self, xi: Array) -> Poses:
        """Move each body separately: for rings, and for chains held at both ends, which strains would not close."""
        position = self.position + np.einsum("nij,nj->ni", self.matrices, xi[:, :3])
        return Poses.of_bodies(position, orthogonal(self.matrices @ turn_matrices(xi[:, 3:])), closed=self.closed)

    def with_last(self, position: Array, matrix: Array) -> Poses:
        """Move the last body to another place."""
        places, matrices = self.position.copy(), self.matrices.copy()
        places[-1], matrices[-1] = position, matrix
        return replace(Poses.of_bodies(places, matrices))


def turn_matrices(vectors: Array) -> Array:
    """exp(hat theta) of rotation vectors (..., 3)."""
    return rotations.to_matrix(rotations.from_vector(vectors))


def orthogonal(matrices: Array) -> Array:
    """Orthogonalise nearly orthogonal matrices (..., 3, 3): R (3 - R^T R)/2, twice."""
    for _ in range(2):
        matrices = 0.5 * matrices @ (3.0 * np.eye(3) - matrices.swapaxes(-1, -2) @ matrices)
    return matrices


def scan_products(factors: Array) -> Array:
    """Cumulative products of rotations (n, 3, 3): within rows of sqrt(n) of them side by side, then row after row."""
    n = len(factors)
    width = max(1, int(np.sqrt(n)))
    rows = -(-n // width)
    padded = np.concatenate([factors, np.broadcast_to(np.eye(3), (rows * width - n, 3, 3))]).reshape(rows, width, 3, 3)
    for k in range(1, width):
        padded[:, k] = padded[:, k - 1] @ padded[:, k]
    for row in range(1, rows):
        padded[row] = padded[row - 1, -1] @ padded[row]
    return orthogonal(padded.reshape(-1, 3, 3)[:n])
