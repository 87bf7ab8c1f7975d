"""Tweezers in statics: springs V = k/2 |x - A|^2 from points of bodies to fixed anchors.

Displacements are those of `link_mechanics`: r + R u, R exp(hat theta), in principal axes. With the arm a of the point
in the body and s = R^T (x - A)

    x - A = R (s + u + theta x a + theta x (theta x a)/2 + ...)

so the gradient is k (s, a x s), and the second derivatives are k J^T J + k [(s a^T + a s^T)/2 - (s.a) 1] in the
rotations, J = (1, -hat a).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...arrays import Array
from ...errors import CapabilityError
from ...geometry.rotations import hat
from ...systems.chain.chain import Chain
from ...systems.chain.ends import Tweezers
from ...systems.sampled import depends_on_time
from .poses import Poses
from .units import unit_length


@dataclass(frozen=True)
class Traps:
    """All tweezers of a chain: numbers of bodies (m,), stiffnesses (m,), anchors (m, 3), and arms (m, 3) in principal axes; in `unit_length`."""

    bodies: NDArray[np.int64]
    k: Array
    anchors: Array
    arms: Array

    @classmethod
    def of(cls, chain: Chain) -> Traps:
        """CapabilityError if an anchor moves."""
        found, unit = [], unit_length(chain)
        for j, end in ((0, chain.left), (-1, chain.right), *chain.loads):
            if isinstance(end, Tweezers) and end.k > 0.0:
                if any(map(depends_on_time, end.anchor)):
                    raise CapabilityError(
                        f"{end} moves with time: there is no equilibrium to look for", where="Tweezers.anchor",
                        do="give numbers for the anchor",
                    )  # fmt: skip
                body = j % chain.count
                arm = chain.bodies[body].frame_matrix.T @ np.array(end.at)
                found.append((body, end.k * unit**2, np.array(end.anchor) / unit, arm / unit))
        return cls(
            np.array([body for body, *_ in found], dtype=np.int64), np.array([k for _, k, *_ in found]),
            np.array([anchor for *_, anchor, _ in found], dtype=float).reshape(-1, 3),
            np.array([arm for *_, arm in found]).reshape(-1, 3),
        )  # fmt: skip

    def __len__(self) -> int:
        return len(self.k)

    def stretches(self, poses: Poses) -> Array:
        """s, (m, 3)."""
        back = poses.matrices[self.bodies].swapaxes(1, 2)
        return np.einsum("mij,mj->mi", back, poses.position[self.bodies] - self.anchors) + self.arms

    def forces(self, poses: Poses) -> Array:
        """Forces on the bodies, in space, (n, 3)."""
        made = np.zeros((len(poses.position), 3))
        pulls = -self.k[:, None] * np.einsum("mij,mj->mi", poses.matrices[self.bodies], self.stretches(poses))
        np.add.at(made, self.bodies, pulls)
        return made

    def energies(self, poses: Poses) -> Array:
        """V of each spring."""
        return 0.5 * self.k * (self.stretches(poses) ** 2).sum(axis=1)

    def add_gradient(self, poses: Poses, gradient: Array) -> None:
        """Add the gradient to that of the bodies, (n, 6)."""
        s = self.stretches(poses)
        np.add.at(gradient, self.bodies, self.k[:, None] * np.hstack([s, np.cross(self.arms, s)]))

    def stiffness(self, poses: Poses, *, stressed: bool = True) -> Array:
        """(n, 6, 6): second derivatives; or, without the contribution of stress, the part that is never negative."""
        made = np.zeros((len(poses.position), 6, 6))
        for body, k, a, s in zip(self.bodies, self.k, self.arms, self.stretches(poses), strict=True):
            j = np.hstack([np.eye(3), -hat(a)])
            made[body] += k * j.T @ j
            if stressed:
                made[body, 3:, 3:] += k * (0.5 * (np.outer(s, a) + np.outer(a, s)) - (s @ a) * np.eye(3))
        return made

    def noise(self, poses: Poses) -> float:
        """Error of the largest force or torque from rounding positions."""
        size = np.abs(poses.position[self.bodies]).max(initial=0.0) + np.abs(self.anchors).max(initial=0.0)
        return float(np.max(self.k * (1.0 + np.abs(self.arms).max(axis=1)), initial=0.0) * size)
