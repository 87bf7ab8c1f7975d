"""Newton's method for the equilibrium of a chain.

Bending of a long chain is so soft (its lowest eigenvalue falls with n^-4) that any present stress in links makes K
indefinite, and bounds on displacements make steps tiny, because displacements add up along the chain. Hence, if one end
is free:

- links are moved by strains, and the strain is bounded (`Poses.strained`);
- K uses the wrenches in balance with the forces, not the present ones: this is the exact matrix in relative
  coordinates, in which the energy of links is a sum of separate terms;
- link stiffnesses K_b are made positive one by one.

If both ends are held, and in a ring, the bodies themselves are moved, and K is the full matrix. If it is not positive,
a part of the stress is left out: without stress K is always positive, and stress that softens a chain far from its
equilibrium (a load that would buckle it if it were still straight) may stiffen it there. Shifts by the masses would
have to be enormous: slender rods have hardly any moment of inertia about their axis.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...arrays import Array
from ...systems.chain import block_band
from .at_rest import is_better
from .poses import Poses
from .problem import Balance, StaticProblem, mask_blocks

MOST_STRAIN = 0.4  # in a step: relative to a link's length, and in radians
FLOOR = 2e-3  # of the diagonal: lower bound for modified eigenvalues of a link
SINGULAR = 1e-12  # of the diagonal: counts as zero
NONE = 1e-150  # counts as no stiffness at all
HALVINGS = 25
CORRECTIONS = 2
STRESS = (1.0, 0.5, 0.25, 0.1, 0.03, 0.0)  # parts of it that are tried until the matrix is positive
SLIGHT = (0.0, 1e-12, 1e-10, 1e-8)  # of the diagonal
FIRST_SHIFT = 1e-6  # of the diagonal


@dataclass
class Newton:
    """Newton's iteration on one problem.

    Parameters
    ----------
    problem : the static problem
    length : of a link: the unit of strains
    slight : 1 once a slight shift was needed: no shift may succeed by chance of rounding, and then leads far along
        motions without energy
    """

    problem: StaticProblem
    length: float
    slight: int = 0

    def step(self, balance: Balance) -> Balance | None:
        """The next poses with less energy, or less residual where the energy is lost in rounding; None if none."""
        gradient = np.where(self.free(balance), balance.gradient, 0.0)
        p = self._solve(balance, -gradient)
        scale = min(1.0, MOST_STRAIN / self._strain(balance.poses, p))
        slope = float((gradient * p).sum())
        for _ in range(HALVINGS):
            found = self.problem.balance(self.moved(balance.poses, scale * p))
            if not is_better(found, balance, scale * slope):
                found = self._correct(found)
            if is_better(found, balance, scale * slope):
                return found
            scale *= 0.5
        return None

    def settled(self, balance: Balance, shifts: tuple[float, ...] = (FIRST_SHIFT,)) -> Balance | None:
        """One correction of a nearly reached balance, damped along motions of almost no energy.

        It uses the first of the shifts (parts of the diagonal) that makes the matrix positive; None if the balance is
        unstable.
        """
        free = self.free(balance)
        band = block_band.Band(*mask_blocks(*self.problem.blocks(balance), free))
        for shift in shifts:
            factor = band.factor(shift * np.abs(band.diagonal))
            if factor is not None:
                p = factor.solve(np.where(free, -balance.gradient, 0.0).ravel()).reshape(-1, 6)
                return self.problem.balance(self.moved(balance.poses, p))
        return None

    def _correct(self, found: Balance) -> Balance:
        """Shift links until they bear the required force: a second-order correction, needed as in [maratos1978].

        Stretch and shear of a slender rod are so stiff that the path of least energy curves sharply as its links
        rotate; a straight step along it would have to be very short.
        """
        root = self.problem.root
        for _ in range(CORRECTIONS if root is not None and np.isfinite(found.energy) else 0):
            missing = self.problem.wrenches(found.poses) - found.values.gradient
            eta = np.zeros_like(missing)
            shift = np.linalg.solve(positive(found.values.stiffness[:, :3, :3]), missing[:, :3, None])[:, :, 0]
            eta[:, :3] = np.clip(shift, -MOST_STRAIN * self.length, MOST_STRAIN * self.length)
            assert root is not None
            found = self.problem.balance(found.poses.strained_by(eta, np.zeros(6), root=root))
        return found

    def free(self, balance: Balance) -> NDArray[np.bool_]:
        """The coordinates to solve for."""
        return self.problem.gauge(balance.poses)

    def _solve(self, balance: Balance, rhs: Array) -> Array:
        """Solve with the matrix, or with the part of the stress that leaves it positive; shifted as a last resort."""
        problem, free = self.problem, self.free(balance)
        held = problem.root is None
        wrench = balance.values.gradient if held else problem.wrenches(balance.poses)
        stiffness = positive(balance.values.stiffness)
        for tried, part in enumerate((None, *STRESS) if held else STRESS):
            blocks = problem.blocks(balance) if part is None else problem.blocks(
                balance, stiffness=stiffness, wrench=part * wrench
            )  # fmt: skip
            band = block_band.Band(*mask_blocks(*blocks, free))
            # a motion without energy may seem to lead down: without half of the stress, steps along all others would be
            # far too short
            for shift in (0.0,) if tried else SLIGHT[self.slight :]:
                factor = band.factor(shift * np.abs(band.diagonal))
                if factor is not None:
                    self.slight = max(self.slight, int(shift > 0.0))
                    return factor.solve(rhs.ravel()).reshape(-1, 6)
        return self._shift(band, rhs)

    def _shift(self, band: block_band.Band, rhs: Array) -> Array:
        shift = FIRST_SHIFT * np.abs(band.diagonal)
        while True:
            factor = band.factor(shift)
            if factor is not None:
                return factor.solve(rhs.ravel()).reshape(-1, 6)
            shift *= 4.0

    def _strain(self, poses: Poses, p: Array) -> float:
        eta = poses.strains(p)
        eta[:, :3] /= self.length
        return float(max(np.abs(eta).max(), np.finfo(float).tiny))

    def moved(self, poses: Poses, xi: Array) -> Poses:
        """Move links by their strains; or bodies, in a ring or if both ends are held."""
        root = self.problem.root
        return poses.displaced(xi) if root is None else poses.strained(xi, root=root)


def positive(stiffness: Array) -> Array:
    """Link stiffnesses (links, 6, 6), or blocks of them, made positive.

    Where one is not positive, its eigenvalues after scaling to a unit diagonal are replaced by their magnitudes, with a
    lower bound. Positive ones are unchanged, however soft: a slender rod bends 10 000 times more easily than it
    stretches.
    """
    size = np.abs(np.einsum("nii->ni", stiffness))
    largest = np.maximum(size.max(axis=1, keepdims=True), NONE)
    size = np.where(size > SINGULAR * largest, size, largest)  # a line has no stiffness against rotation about itself
    unit = np.sqrt(size[:, :, None] * size[:, None])
    scaled = stiffness / unit
    try:
        np.linalg.cholesky(scaled)
    except np.linalg.LinAlgError:
        sizes, axes = np.linalg.eigh(scaled)
        bad = sizes[:, 0] <= SINGULAR
        sizes = np.maximum(np.abs(sizes[bad]), FLOOR)
        made = stiffness.copy()
        made[bad] = unit[bad] * ((axes[bad] * sizes[:, None]) @ axes[bad].swapaxes(1, 2))
        return made
    return stiffness
