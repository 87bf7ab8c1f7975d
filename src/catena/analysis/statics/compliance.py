"""x = K^-1 f of a chain near equilibrium: displacements of bodies under small wrenches.

The lowest eigenvalue of K falls with n^-4, its elements do not: an assembled K has lost 2 per cent of the lowest
frequency of a chain of 10 000 bodies, and every digit soon after. Following the wrenches does not cancel: sums of
wrenches from the free end, strains by the compliance of each link, sums of strains from the held end (`Sweep`). In
space axes these are plain cumulative sums,

    N_j = sum_{i>=j} F_i,    L_j = sum_{i>=j} (M_i + (r_i - r_j) x F_i),    w_j = sum_{i<=j} kappa_i,
    v_j = sum_{i<=j} (e_i + kappa_i x (r_j - r_i)),    (e, kappa)_j = K_b^-1 (N, L)_j.

This requires links without stress. Under load the wrenches are unknowns, too, [[-K_b^-1, B], [B^T, G]] (`Mixed`), or K
is assembled (`Assembled`). Motions of the whole chain that need no energy are removed from f and from x.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from ...arrays import Array
from ...systems.chain import block_band
from ...systems.chain.link_mechanics import geometric_blocks, transports
from .problem import EPS, Balance, StaticProblem, mask_blocks
from .units import power_of_two

MOST_MIXED = 20_000  # bodies: beyond it, the band of wrenches and displacements would take a gigabyte
HALF_BAND, HALF_BAND_OF_RING = 17, 35  # of alternating wrenches and displacements


class Compliance(ABC):
    """K^-1 without the motions that need no energy; subclasses solve for balanced wrenches (m, n, 6), in any gauge."""

    name: str

    def __init__(self, problem: StaticProblem, balance: Balance) -> None:
        # in an energy unit near that of a strained link: matrices that combine stiffnesses, compliances and ones lose
        # digits if these differ much
        self.energy = power_of_two(float(np.abs(balance.values.stiffness).max(initial=0.0)) or 1.0)
        self.problem, self.balance = problem.scaled(1.0 / self.energy), balance.scaled(1.0 / self.energy)
        self.free, self.mass = problem.free, problem.mass
        self.zero = orthonormal(problem.symmetries(balance.poses), self.mass)

    def leave_out(self, motions: Array) -> None:
        """Remove further motions (k, n, 6) whose energy is zero up to rounding: they would dominate K^-1."""
        if len(motions):
            self.zero = orthonormal(np.concatenate([self.zero, motions]), self.mass)

    def solve(self, f: Array) -> Array:
        """x (m, n, 6) for f (m, n, 6), by displacements in principal axes."""
        f = np.where(self.free, f, 0.0)
        f = f - np.einsum("mk,knc,nc->mnc", np.einsum("mnc,knc->mk", f, self.zero), self.zero, self.mass)
        x = np.where(self.free, self._balance(f / self.energy), 0.0)
        return x - np.einsum("mk,knc->mnc", np.einsum("mnc,nc,knc->mk", x, self.mass, self.zero), self.zero)

    def weighted(self, v: Array) -> Array:
        """M^1/2 K^-1 M^1/2 times vectors (m, 6 n)."""
        root = np.sqrt(self.mass)
        return (root * self.solve(root * v.reshape(-1, *self.mass.shape))).reshape(v.shape)

    @abstractmethod
    def error(self, eigenvalues: Array, largest: float) -> Array:
        """Expected relative error of frequencies with these omega^2."""

    @abstractmethod
    def _balance(self, f: Array) -> Array:
        """x (m, n, 6), in any gauge, for wrenches that are balanced."""


class Sweep(Compliance):
    """Links without stress: nothing is assembled or factorised."""

    name = "sweep"

    def __init__(self, problem: StaticProblem, balance: Balance) -> None:
        super().__init__(problem, balance)
        self.flexibility = np.linalg.inv(self.balance.values.stiffness[: len(self.mass) - 1])
        poses = balance.poses
        self.position, self.matrices = poses.position - poses.position[0], poses.matrices
        self._from_end = poses.position - poses.position[-1]
        self._solve_ends()

    def error(self, eigenvalues: Array, largest: float) -> Array:
        return np.full(len(eigenvalues), EPS * len(self.mass))

    def _clamp(self, f: Array) -> tuple[Array, Array]:
        """x with the first body clamped, and the wrench (m, 6) that the others exert on it, both in its axes."""
        force, moment = (np.einsum("nij,mnj->mni", self.matrices, part) for part in (f[:, :, :3], f[:, :, 3:]))
        n = np.cumsum(force[:, ::-1], axis=1)[:, ::-1]
        about_end = np.cumsum((moment + np.cross(self._from_end, force))[:, ::-1], axis=1)[:, ::-1]
        borne = np.concatenate([n, about_end - np.cross(self._from_end, n)], axis=2)
        own = self._turn(borne, back=True)
        eta = self._turn(np.concatenate([np.zeros_like(own[:, :1]), self._flex(own[:, 1:])], axis=1), back=False)
        turn = np.cumsum(eta[:, :, 3:], axis=1)
        moved = np.cumsum(eta[:, :, :3] - np.cross(eta[:, :, 3:], self.position), axis=1) + np.cross(
            turn, self.position
        )
        return self._turn(np.concatenate([moved, turn], axis=2), back=True), own[:, 0]

    def _flex(self, wrench: Array) -> Array:
        return np.einsum("nij,mnj->mni", self.flexibility, wrench)

    def _turn(self, x: Array, *, back: bool) -> Array:
        way = "nji,mnj->mni" if back else "nij,mnj->mni"
        return np.concatenate([np.einsum(way, self.matrices, part) for part in (x[:, :, :3], x[:, :, 3:])], axis=2)

    def _solve_ends(self) -> None:
        """Unknowns are the reactions of the last body, and the motion of the whole chain with the first one."""
        held = np.flatnonzero(~self.free[-1])
        pushes = np.zeros((len(held), *self.mass.shape))
        pushes[np.arange(len(held)), -1, held] = 1.0
        self._answers, at_first = self._clamp(pushes)
        self._rigid = self._whole()
        k, first = len(held), self.free[0]
        matrix = np.zeros((6 + k, 6 + k))
        matrix[:6, :k] = at_first.T * first[:, None]
        matrix[:6, k:] = np.diag(~first)
        matrix[6:, :k] = self._answers[:, -1, held].T
        matrix[6:, k:] = self._rigid[:, -1, held].T
        # forces and moments, shifts and turns: rows and columns scaled to one size, or the smaller ones would lose
        # their digits
        rows, columns = np.ones(6 + k), np.ones(6 + k)
        for _ in range(4):
            sizes = np.abs(matrix / rows[:, None] / columns)
            rows *= np.sqrt(np.where(sizes.any(axis=1), sizes.max(axis=1), 1.0))
            columns *= np.sqrt(np.where(sizes.any(axis=0), sizes.max(axis=0), 1.0))
        self._held = held
        self._ends = np.linalg.pinv(matrix / rows[:, None] / columns, rcond=1e-12) / columns[:, None] / rows

    def _whole(self) -> Array:
        """Displacements (6, n, 6) of all bodies if the whole chain moves rigidly with those of the first one."""
        axes = self.matrices[0].T
        turned = np.zeros((6, len(self.mass), 6))
        turned[:3, :, :3] = axes[:, None]
        turned[3:, :, :3] = np.cross(axes[:, None], self.position[None])
        turned[3:, :, 3:] = axes[:, None]
        return self._turn(turned, back=True)

    def _balance(self, f: Array) -> Array:
        k = len(self._held)
        for _ in range(2 if k else 1):  # again to correct the rounding of the first pass, now with the reactions
            x, on_first = self._clamp(f)
            sides = np.concatenate([-on_first * self.free[0], -x[:, -1, self._held]], axis=1)
            found = sides @ self._ends.T
            f = f.copy()
            f[:, -1, self._held] += found[:, :k]
        x = x + np.einsum("mk,knc->mnc", found[:, :k], self._answers)
        return x + np.einsum("mk,knc->mnc", found[:, k:], self._rigid)


class RingSweep(Sweep):
    """A ring of links without stress, cut open at its last link. Its wrench s closes the cut: A x_last + K_b^-1 s = 0.

    The first body is fixed: motions of the whole ring are removed afterwards.
    """

    def _solve_ends(self) -> None:
        poses, values = self.balance.poses, self.balance.values
        self._carried = transports(poses.d[-1:], poses.q[-1:])[0]
        self._last = np.linalg.inv(values.stiffness[-1])
        pushes = np.zeros((6, *self.mass.shape))
        pushes[:, -1] = self._carried
        self._answers, _ = self._clamp(pushes)
        opening = self._last + self._carried @ self._answers[:, -1].T
        # forces and moments: scaled to one size, or the smaller ones would lose their digits
        size = np.sqrt(np.diag(opening))
        self._closing = np.linalg.inv(opening / size[:, None] / size) / size[:, None] / size

    def _balance(self, f: Array) -> Array:
        f, wrench = f.copy(), np.zeros((len(f), 6))
        for _ in range(2):  # again to correct the rounding of the first pass, now with the wrench of the last link
            x, _ = self._clamp(f)
            missing = -(x[:, -1] @ self._carried.T + wrench @ self._last.T) @ self._closing.T
            wrench += missing
            f[:, -1] += missing @ self._carried
        return x + np.einsum("mk,knc->mnc", missing, self._answers)


class Mixed(Compliance):
    """Links under load: wrenches and displacements together, as a band matrix factorised with pivoting."""

    name = "mixed"

    def __init__(self, problem: StaticProblem, balance: Balance) -> None:
        super().__init__(problem, balance)
        self._hold(self.problem.gauge(self.balance.poses).astype(float))

    def leave_out(self, motions: Array) -> None:
        """As many coordinates are held: if a motion needs exactly no energy, the factors are infinite, or nearly so."""
        from scipy.linalg import qr

        super().leave_out(motions)
        _, _, order = qr(self.zero.reshape(len(self.zero), -1), mode="economic", pivoting=True)
        kept = self.free.astype(float)
        kept.reshape(-1)[order[: len(self.zero)]] = 0.0
        self._hold(kept)

    def _hold(self, kept: Array) -> None:
        """Factors of the matrix with the other coordinates held."""
        from scipy.linalg.lapack import dgbtrf

        problem, balance = self.problem, self.balance
        poses, n = balance.poses, len(self.mass)
        own, beside = geometric_blocks(poses.d, poses.q, balance.values.gradient)
        a = transports(poses.d, poses.q)
        self._kept = kept
        self._half = HALF_BAND_OF_RING if poses.closed else HALF_BAND
        band = np.zeros((3 * self._half + 1, 12 * n))
        # unknowns of a body are adjacent: the wrench of the link before it (none for the first body of an open chain),
        # then its displacement; a ring is folded flat, so that both neighbours of a body are among the two before and
        # the two after it
        bodies = np.arange(n)
        self._at = at = 12 * (np.minimum(2 * bodies, 2 * (n - 1 - bodies) + 1) if poses.closed else bodies)
        left, right = problem.sides
        diagonal = np.zeros((n, 6, 6))
        diagonal[left] = own
        diagonal += problem.traps.stiffness(poses)
        diagonal *= kept[:, :, None] * kept[:, None]
        diagonal[:, np.arange(6), np.arange(6)] += 1.0 - kept
        _fill(band, at + 6, at + 6, diagonal)
        if not poses.closed:
            _fill(band, at[:1], at[:1], np.eye(6)[None])
        _fill(band, at[right], at[right], np.negative(np.linalg.inv(balance.values.stiffness)))
        _both(band, at[right], at[right] + 6, np.eye(6) * kept[right, None])
        _both(band, at[right], at[left] + 6, -a * kept[left, None])
        _both(band, at[left] + 6, at[right] + 6, beside * kept[left, :, None] * kept[right, None])
        self._factor, self._pivots, info = dgbtrf(band, self._half, self._half)
        if info > 0:
            raise np.linalg.LinAlgError("singular")

    def error(self, eigenvalues: Array, largest: float) -> Array:
        # measured 3e-12, 2e-9 and 1.5e-7 at 65, 1001 and 4001 bodies, where w^2 is 6e-5, 1e-9 and 4e-12 of 1000
        return 0.03 * EPS * np.sqrt(len(self.mass)) * largest / np.maximum(np.abs(eigenvalues), EPS * largest)

    def _balance(self, f: Array) -> Array:
        from scipy.linalg.lapack import dgbtrs

        rows = self._at[:, None] + np.arange(6, 12)
        rhs = np.zeros((len(f), 12 * len(self.mass)))
        rhs[:, rows] = f * self._kept
        found = dgbtrs(self._factor, self._half, self._half, np.asfortranarray(rhs.T), self._pivots)[0]
        return found.T[:, rows]


class Assembled(Compliance):
    """The assembled K, shifted by a multiple of M if it is not positive: for what the others cannot treat."""

    name = "assembled"

    def __init__(self, problem: StaticProblem, balance: Balance, shift: float = 0.0) -> None:
        super().__init__(problem, balance)
        self.shift = shift
        free = problem.gauge(balance.poses)
        factor = block_band.Band(*mask_blocks(*self.problem.blocks(self.balance), free)).factor(
            shift / self.energy * (self.mass * free).ravel()
        )
        if factor is None:
            raise np.linalg.LinAlgError("not positive definite")
        self._factor, self._kept = factor, free

    def error(self, eigenvalues: Array, largest: float) -> Array:
        return EPS * largest / np.maximum(np.abs(eigenvalues), EPS * largest)

    def _balance(self, f: Array) -> Array:
        columns = np.asfortranarray((f * self._kept).reshape(len(f), -1).T)
        return self._factor.solve(columns).T.reshape(f.shape)


def orthonormal(motions: Array, mass: Array) -> Array:
    """Motions (k, n, 6) with v^T M v = 1, orthogonal to each other in M."""
    if not len(motions):
        return motions
    root = np.sqrt(mass).ravel()
    left, sizes, _ = np.linalg.svd((motions.reshape(len(motions), -1) * root).T, full_matrices=False)
    kept = left[:, sizes > 1e-9 * max(sizes[0], np.finfo(float).tiny)]
    return (kept.T / root).reshape(-1, *mass.shape)


def _fill(band: Array, rows: NDArray[np.int64], columns: NDArray[np.int64], blocks: Array) -> None:
    """Add blocks (m, 6, 6), with these first rows and columns, to a band in LAPACK's storage for pivoting."""
    diagonal = 2 * (len(band) // 3)
    for r in range(6):
        for c in range(6):
            band[diagonal + (rows + r) - (columns + c), columns + c] += blocks[:, r, c]


def _both(band: Array, rows: NDArray[np.int64], columns: NDArray[np.int64], blocks: Array) -> None:
    """Blocks, and their transposes on the other side of the diagonal."""
    blocks = np.broadcast_to(blocks, (len(rows), 6, 6))
    _fill(band, rows, columns, blocks)
    _fill(band, columns, rows, blocks.swapaxes(1, 2))
