"""Symmetric block tridiagonal matrices with blocks 6 x 6, also periodic (rings): factors, solutions, negative
eigenvalues, the largest one.

A matrix is given by the diagonal blocks of the bodies, (n, 6, 6), and the blocks of body j by the next one: n - 1 for
an open chain, n for a ring. A ring is folded: pairs of bodies 0 and n - 1, 1 and n - 2, ... are coupled only to the
pairs before and after them, so the matrix becomes that of an open chain with blocks 12 x 12. Matrices are stored as
bands for LAPACK. Time and memory grow linearly with n.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..base import Array

CLOSE = 1e-13  # relative width of the interval around the largest eigenvalue
LANCZOS_STEPS = 24


class Band:
    """A matrix as a lower band for LAPACK; the blocks are described above."""

    def __init__(self, diagonal: Array, right: Array) -> None:
        self.diagonal = np.einsum("nii->ni", diagonal).ravel()
        self._places = _folded_places(len(diagonal)) if len(right) == len(diagonal) else None
        if self._places is not None:
            diagonal, right = fold(diagonal, right)
        self._lower = _lower_band(diagonal, right)

    def factor(self, shift: float | Array = 0.0) -> Factor | None:
        """The Cholesky factor of the matrix with `shift` added to its diagonal, or None if not positive definite."""
        from scipy.linalg.lapack import dpbtrf

        lower = self._lower.copy()
        lower[0, slice(None) if self._places is None else self._places] += shift
        found, info = dpbtrf(lower, lower=1)
        return Factor(found, self._places) if info == 0 else None


@dataclass(frozen=True)
class Factor:
    """A Cholesky factor, and the places of the coordinates of the bodies in it; None: in order."""

    lower: Array
    places: NDArray[np.int64] | None

    def solve(self, x: Array) -> Array:
        """The solution for right-hand sides (6 n,) or (6 n, m)."""
        from scipy.linalg.lapack import dpbtrs

        if self.places is None:
            return dpbtrs(self.lower, x, lower=1)[0]
        sides = np.zeros((self.lower.shape[1], *x.shape[1:]))
        sides[self.places] = x
        return dpbtrs(self.lower, sides, lower=1)[0][self.places]


def _lower_band(diagonal: Array, right: Array) -> Array:
    """Blocks (n, b, b) and (n - 1, b, b) of block j by block j + 1 as the lower band of LAPACK, (2 b, b n)."""
    n, b = diagonal.shape[:2]
    band = np.zeros((2 * b, n, b))
    for c in range(b):
        for r in range(c, b):
            band[r - c, :, c] = diagonal[:, r, c]
        for r in range(b):
            band[b + r - c, :-1, c] = right[:, c, r]
    return band.reshape(2 * b, b * n)


def fold(diagonal: Array, right: Array) -> tuple[Array, Array]:
    """A ring as an open chain of pairs of bodies; with an odd number, the middle body is paired with a unit matrix."""
    n = len(diagonal)
    m = (n + 1) // 2
    whole, beside = np.zeros((m, 12, 12)), np.zeros((m - 1, 12, 12))
    first, second = np.arange(m), n - 1 - np.arange(m)
    whole[:, :6, :6], whole[:, 6:, 6:] = diagonal[first], diagonal[second]
    whole[0, 6:, :6], whole[0, :6, 6:] = right[-1], right[-1].T
    beside[:, :6, :6], beside[:, 6:, 6:] = right[first[:-1]], right[second[1:]].swapaxes(1, 2)
    if n % 2:
        whole[-1, 6:, 6:] = np.eye(6)
        beside[-1, 6:, :6], beside[-1, 6:, 6:] = beside[-1, 6:, 6:].copy(), 0.0
    else:
        whole[-1, :6, 6:], whole[-1, 6:, :6] = right[m - 1], right[m - 1].T
    return whole, beside


def _folded_places(n: int) -> NDArray[np.int64]:
    """Places of the coordinates of the bodies of a ring in the folded matrix, (6 n,)."""
    bodies = np.arange(n)
    pair = np.minimum(bodies, n - 1 - bodies)
    start = 12 * pair + np.where(bodies == pair, 0, 6)
    return (start[:, None] + np.arange(6)).ravel()


def product(diagonal: Array, right: Array, v: Array) -> Array:
    """The matrix of these blocks times a vector (n, 6)."""
    n, links = len(diagonal), len(right)
    w = (diagonal @ v[:, :, None])[:, :, 0]
    w[: n - 1] += (right[: n - 1] @ v[1:, :, None])[:, :, 0]
    w[1:] += np.einsum("nij,ni->nj", right[: n - 1], v[:-1])
    if links == n:
        w[-1] += right[-1] @ v[0]
        w[0] += right[-1].T @ v[-1]
    return w


def assemble(diagonal: Array, right: Array) -> Array:
    """The dense matrix of these blocks."""
    n = len(diagonal)
    matrix = np.zeros((n, 6, n, 6))
    bodies = np.arange(n)
    left = bodies[: len(right)]
    beside = (left + 1) % n
    matrix[bodies, :, bodies] = diagonal
    matrix[left, :, beside] = right
    matrix[beside, :, left] = right.swapaxes(1, 2)
    return matrix.reshape(6 * n, 6 * n)


def largest_eigenvalue(diagonal: Array, right: Array) -> float:
    """The largest eigenvalue to round-off, by bisection: s is above it if s - K has a Cholesky factor.

    Some Lanczos steps give the first interval. Lanczos alone would need as many steps as there are bodies, because the
    frequencies of a long chain crowd below the highest one.
    """
    scale = float(np.abs(diagonal).max())
    if scale == 0.0:
        return 0.0
    low = _ritz_value(diagonal, right)
    width = 1e-4 * scale
    band = Band(-diagonal, -right)

    def is_above(s: float) -> bool:
        return band.factor(s) is not None

    while not is_above(low + width):
        low, width = low + width, 4.0 * width
    high = low + width
    while high - low > CLOSE * scale:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if is_above(middle) else (middle, high)
    return 0.5 * (low + high)


def extreme_vector(diagonal: Array, right: Array, eigenvalue: float) -> Array:
    """A unit vector (n, 6) of the largest eigenvalue, by inverse iteration."""
    band = Band(-diagonal, -right)
    shift = 1e-12 * float(np.abs(band.diagonal).max())
    factor = None
    while factor is None:
        factor, shift = band.factor(eigenvalue + shift), 4.0 * shift
    v = _some_vector(len(diagonal)).ravel()
    for _ in range(4):
        v = factor.solve(v)
        v /= np.linalg.norm(v)
    return v.reshape(-1, 6)


def negative_eigenvalues(diagonal: Array, right: Array) -> int:
    """Their number [haynsworth1968]: that of the Schur complements when one block after the other is eliminated."""
    if len(right) == len(diagonal):
        diagonal, right = fold(diagonal, right)
    count = 0
    left = diagonal[0]
    for j in range(len(diagonal)):
        if j > 0:
            left = diagonal[j] - right[j - 1].T @ np.linalg.solve(left, right[j - 1])
        count += int((np.linalg.eigvalsh(left) < 0.0).sum())
    return count


def _ritz_value(diagonal: Array, right: Array) -> float:
    """A lower bound of the largest eigenvalue, by Lanczos without reorthogonalisation, which only inner eigenvalues
    need."""
    v = _some_vector(len(diagonal))
    before, coupling = np.zeros_like(v), 0.0
    alphas: list[float] = []
    betas: list[float] = []
    for _ in range(LANCZOS_STEPS):
        w = product(diagonal, right, v) - coupling * before
        alphas.append(float((w * v).sum()))
        w -= alphas[-1] * v
        coupling = float(np.linalg.norm(w))
        if coupling <= np.finfo(float).eps * max(map(abs, alphas)):
            break
        betas.append(coupling)
        before, v = v, w / coupling
    betas = betas[: len(alphas) - 1]
    return float(np.linalg.eigvalsh(np.diag(alphas) + np.diag(betas, 1) + np.diag(betas, -1))[-1])


def _some_vector(n: int) -> NDArray[np.float64]:
    """A reproducible vector, not along any particular mode."""
    v = np.cos(np.arange(6 * n) ** 2.0).reshape(-1, 6)
    return v / np.linalg.norm(v)
