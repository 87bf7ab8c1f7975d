"""Newton's method for the equilibrium of a chain.

Bending of a long chain is so soft (its lowest eigenvalue falls with n^-4) that stress which links happen to have makes K indefinite, and
bounds on displacements make steps crawl, because displacements add up along the chain. Hence, where one end is free:

- links are moved by strains, and the strain is bounded (`Poses.strained`);
- K takes the wrenches in balance with the forces, not those that the links have: this is the exact matrix in relative coordinates, in
  which the energy of links is a sum of separate terms;
- link stiffnesses K_b are made positive one by one: eigenvalues become max(|.|, a small part of their mean).

Where both ends are held, the bodies themselves are moved, and K is the full one, shifted until it is positive.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..systems.chains import block_band
from .poses import Poses
from .static_problem import Balance, StaticProblem, masked

Array = NDArray[np.float64]

MOST_STRAIN = 0.4  # in a step: of a link's length, and in radians
FLOOR = 2e-3  # of the mean eigenvalue of a link's stiffness: the least that is left of one
ENOUGH = 1e-4  # of the predicted decrease of the energy
HALVINGS = 25
FIRST_SHIFT = 1e-6  # of the mean diagonal element, in units of the mass
LEAST_SHIFT = 1e-9


@dataclass
class Newton:
    """Newton's iteration on one problem; `shift` is what it has learnt.

    Parameters
    ----------
    problem : what is solved
    length : of a link: strains are measured in it
    """

    problem: StaticProblem
    length: float
    shift: float = 0.0

    def step(self, balance: Balance) -> Balance | None:
        """The next poses with less energy, or with less residual where the energy cannot tell any more; None if there are none."""
        diagonal, right = self._matrix(balance)
        gradient = np.where(self.free(balance), balance.gradient, 0.0)
        p = self._solve(diagonal, right, -gradient)
        scale = min(1.0, MOST_STRAIN / self._strain(balance.poses, p))
        slope = float((gradient * p).sum())
        for halving in range(HALVINGS):
            found = self.problem.balance(self.moved(balance.poses, scale * p))
            if self._is_better(found, balance, scale * slope):
                if halving == 0:
                    self.shift = 0.0 if self.shift < LEAST_SHIFT else self.shift / 10.0
                return found
            scale *= 0.5
        return None

    def free(self, balance: Balance) -> NDArray[np.bool_]:
        """What is solved for."""
        return self.problem.gauge(balance.poses)

    def _is_better(self, found: Balance, before: Balance, predicted: float) -> bool:
        if not (np.isfinite(found.energy) and np.isfinite(found.residual)):
            return False
        noise = max(before.noise, found.noise)
        if -predicted < noise and found.residual < before.residual:
            return found.energy <= before.energy + 10.0 * noise
        return found.energy <= before.energy + ENOUGH * predicted + noise

    def _matrix(self, balance: Balance) -> tuple[Array, Array]:
        if self.problem.root is None:
            return masked(*self.problem.blocks(balance), self.free(balance))
        stiffness = positive(balance.values.stiffness)
        wrench = self.problem.wrenches(balance.poses)
        return masked(*self.problem.blocks(balance, stiffness=stiffness, wrench=wrench), self.free(balance))

    def _solve(self, diagonal: Array, right: Array, rhs: Array) -> Array:
        band = block_band.lower_band(diagonal, right)
        mass = self.problem.mass.ravel()
        while True:
            shifted = band.copy()
            shifted[0] += self.shift * mass
            factor = block_band.cholesky(shifted)
            if factor is not None:
                return block_band.solve(factor, rhs.ravel()).reshape(-1, 6)
            self.shift = max(4.0 * self.shift, FIRST_SHIFT * float(np.abs(band[0]).mean() / mass.mean()))

    def _strain(self, poses: Poses, p: Array) -> float:
        eta = poses.strains(p)
        eta[:, :3] /= self.length
        return float(max(np.abs(eta).max(), np.finfo(float).tiny))

    def moved(self, poses: Poses, xi: Array) -> Poses:
        """Links by their strains, or bodies, where both ends are held."""
        root = self.problem.root
        return poses.displaced(xi) if root is None else poses.strained(xi, root=root)


def positive(stiffness: Array) -> Array:
    """Link stiffnesses (links, 6, 6) with every eigenvalue replaced by its magnitude, and none below a part of their mean."""
    floor = FLOOR * np.trace(np.abs(stiffness), axis1=1, axis2=2) / 6.0
    try:
        np.linalg.cholesky(stiffness - floor[:, None, None] * np.eye(6))
    except np.linalg.LinAlgError:
        sizes, axes = np.linalg.eigh(stiffness)
        sizes = np.maximum(np.abs(sizes), FLOOR * np.abs(sizes).mean(axis=1, keepdims=True))
        return (axes * sizes[:, None]) @ axes.swapaxes(1, 2)
    return stiffness
