"""Symmetric block tridiagonal matrices of blocks 6 x 6: factors, solutions, the number of negative eigenvalues, the largest one.

They are kept as bands for LAPACK. Time and memory grow with the number of bodies.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..base import Array

WIDTH = 12  # rows of the lower band: the diagonal and eleven below it
CLOSE = 1e-13  # relative width at which the largest eigenvalue is known
LANCZOS_STEPS = 24


def lower_band(diagonal: Array, right: Array) -> Array:
    """Blocks (n, 6, 6) and (n - 1, 6, 6) of block j by block j + 1 as the lower band of LAPACK, (12, 6 n)."""
    n = len(diagonal)
    band = np.zeros((WIDTH, n, 6))
    for c in range(6):
        for r in range(c, 6):
            band[r - c, :, c] = diagonal[:, r, c]
        for r in range(6):
            band[6 + r - c, :-1, c] = right[:, c, r]
    return band.reshape(WIDTH, 6 * n)


def cholesky(band: Array) -> Array | None:
    """The factor of a lower band, or None where the matrix is not positive definite."""
    from scipy.linalg.lapack import dpbtrf

    factor, info = dpbtrf(band, lower=1)
    return factor if info == 0 else None


def solve(factor: Array, x: Array) -> Array:
    """The solution with a factor of `cholesky`; x (6 n,) or (6 n, m)."""
    from scipy.linalg.lapack import dpbtrs

    return dpbtrs(factor, x, lower=1)[0]


def product(diagonal: Array, right: Array, v: Array) -> Array:
    """The matrix of these blocks times a vector (n, 6)."""
    w = (diagonal @ v[:, :, None])[:, :, 0]
    w[:-1] += (right @ v[1:, :, None])[:, :, 0]
    w[1:] += np.einsum("nij,ni->nj", right, v[:-1])
    return w


def assembled(diagonal: Array, right: Array) -> Array:
    """The dense matrix of these blocks."""
    n = len(diagonal)
    matrix = np.zeros((n, 6, n, 6))
    bodies = np.arange(n)
    matrix[bodies, :, bodies] = diagonal
    matrix[bodies[:-1], :, bodies[1:]] = right
    matrix[bodies[1:], :, bodies[:-1]] = right.swapaxes(1, 2)
    return matrix.reshape(6 * n, 6 * n)


def largest_eigenvalue(diagonal: Array, right: Array) -> float:
    """To round-off, by bisection: s is above it if s - K has a Cholesky factor.

    Some steps of Lanczos say where to look. They alone would take as many steps as there are bodies: the frequencies of a long chain
    crowd below the highest one.
    """
    scale = float(np.abs(diagonal).max())
    if scale == 0.0:
        return 0.0
    low = _ritz_value(diagonal, right)
    width = 1e-4 * scale
    band = -lower_band(diagonal, right)

    def is_above(s: float) -> bool:
        shifted = band.copy()
        shifted[0] += s
        return cholesky(shifted) is not None

    while not is_above(low + width):
        low, width = low + width, 4.0 * width
    high = low + width
    while high - low > CLOSE * scale:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if is_above(middle) else (middle, high)
    return 0.5 * (low + high)


def extreme_vector(diagonal: Array, right: Array, eigenvalue: float) -> Array:
    """A unit vector (n, 6) of the largest eigenvalue, by inverse iteration."""
    band = -lower_band(diagonal, right)
    size = float(np.abs(band[0]).max())
    shift = 1e-12 * size
    factor = None
    while factor is None:
        shifted = band.copy()
        shifted[0] += eigenvalue + shift
        factor, shift = cholesky(shifted), 4.0 * shift
    v = _some_vector(len(diagonal)).ravel()
    for _ in range(4):
        v = solve(factor, v)
        v /= np.linalg.norm(v)
    return v.reshape(-1, 6)


def negative_eigenvalues(diagonal: Array, right: Array) -> int:
    """How many there are [haynsworth1968]: those of the blocks that are left when one block after the other is eliminated."""
    count = 0
    left = diagonal[0]
    for j in range(len(diagonal)):
        if j > 0:
            left = diagonal[j] - right[j - 1].T @ np.linalg.solve(left, right[j - 1])
        count += int((np.linalg.eigvalsh(left) < 0.0).sum())
    return count


def _ritz_value(diagonal: Array, right: Array) -> float:
    """A lower bound of the largest eigenvalue, by Lanczos without reorthogonalisation: that spoils inner eigenvalues only."""
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
    """Definite, and along no mode in particular."""
    v = np.cos(np.arange(6 * n) ** 2.0).reshape(-1, 6)
    return v / np.linalg.norm(v)
