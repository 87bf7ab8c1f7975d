"""Frequencies of the rod of `chain.rod_limit()`, from the largest eigenvalues omega^-2 of its compliance G = K^-1.

The lowest omega^2 falls with the fourth power of the length, the elements of K do not: an assembled K leaves three
digits of the lowest frequency of 400 links. Here nothing is assembled, as in `compliance`: wrenches are integrals of
forces from the free end, strains follow by F(s), and displacements are integrals of strains from the clamped end,

    N = int_s f,    L = int_s (m + h e1 x N),    eta = F (N, L),
    theta = int^s kappa,    u = int^s (gamma - h e1 x theta),

at Gauss points of every link, where the two integrations are exactly adjoint: this is Galerkin's method with a
polynomial of degree 9 for the strains of each link. Components are in axes that do not rotate along the rod. If both
ends are clamped, the right one exerts an additional wrench; if both are free, the forces are those of a motion without
momentum. All omega^-2 have the rounding error of the largest: a frequency has an error of about eps (omega/omega_1)^2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.polynomial import legendre

from ...arrays import Array
from ...geometry.rotations import hat
from .units import power_of_two, scale_matrices

if TYPE_CHECKING:
    from .rod import RodLimit

GAUSS_POINTS = 10
FEW = 1200  # unknowns up to which all eigenvalues are computed
CONVERGED = 1e-12  # the next step of the method gains more than a digit
ROUNDING = 2e-15  # relative to the largest eigenvalue


def rod_frequencies(rod: RodLimit, begin: float, end: float, clamped: tuple[bool, bool], count: int) -> Array:
    """The lowest frequencies of the piece of rod from s = begin to end, without rigid motions."""
    piece = RodPiece(rod, begin, end, clamped)
    return 1.0 / np.sqrt(_largest(piece, min(count, piece.size - (0 if any(clamped) else 6))))


class RodPiece:
    """The compliance of a piece of rod. Forces, strains, displacements are (elements, points, 6, m), m at a time.

    Attributes
    ----------
    size : of coordinates H^T x, M = H H^T, of displacements
    between_ends : (6, 6) relative motion of the ends under wrenches on them, both about the middle
    unit : length unit of all this
    """

    def __init__(self, rod: RodLimit, begin: float, end: float, clamped: tuple[bool, bool]) -> None:
        elements = int(np.ceil(end - begin))
        size = (end - begin) / elements
        points, weights = legendre.leggauss(GAUSS_POINTS)
        self._inside, self._weights = 0.5 * size * _integrals(points), 0.5 * size * weights[:, None, None]
        s = begin + size * (np.arange(elements)[:, None] + 0.5 * (points + 1.0))
        self.unit = length = power_of_two(rod.rise)
        self._along = hat(np.array([rod.rise / length, 0.0, 0.0]))
        self._compliance = scale_matrices(rod.compliance_at(s), 1.0 / length)
        self._root = np.linalg.cholesky(scale_matrices(rod.inertia_at(s), length)) * np.sqrt(self._weights)
        self.shape, self.size = (*s.shape, 6, -1), 6 * s.size
        self._mirrored = clamped == (False, True)
        rigid = np.tile(np.eye(6), (*s.shape, 1, 1))
        rigid[:, :, :3, 3:] = -(s - 0.5 * (begin + end))[:, :, None, None] * self._along
        # the wrench of a rod with loads at its ends only has the form of a rigid motion, with force for rotation and
        # moment for shift
        self._borne = np.roll(rigid, 3, axis=(2, 3))
        self.between_ends, self._closed = self._work(self._borne, self._compliance @ self._borne), all(clamped)
        self._rigid = np.linalg.qr(self._coordinates(rigid))[0][:, : 0 if any(clamped) else 6]

    def apply(self, y: Array) -> Array:
        """H^T G H y with M = H H^T, on vectors (size, m)."""
        y = self._without_rigid(y)
        force = self._root @ y.reshape(self.shape) / self._weights
        return self._without_rigid(self._coordinates(self._displacement(self._strain(force))))

    def _strain(self, force: Array) -> Array:
        n = self._beyond(force[:, :, :3])
        wrench = np.concatenate([n, self._beyond(force[:, :, 3:] + self._along @ n)], axis=2)
        for _ in range(2 if self._closed else 0):  # again to correct the rounding of the first pass
            parted = self._work(self._borne, self._compliance @ wrench)
            wrench = wrench - self._borne @ np.linalg.solve(self.between_ends, parted)
        return np.asarray(self._compliance @ wrench, dtype=float)

    def _displacement(self, strain: Array) -> Array:
        turn = self._before(strain[:, :, 3:])
        return np.concatenate([self._before(strain[:, :, :3] - self._along @ turn), turn], axis=2)

    def _before(self, field: Array) -> Array:
        """The integral from the clamped end."""
        found, whole = self._integral(field)
        return found - whole if self._mirrored else found

    def _beyond(self, field: Array) -> Array:
        """The integral to the other end: the adjoint."""
        found, whole = self._integral(field)
        return -found if self._mirrored else whole - found

    def _integral(self, field: Array) -> tuple[Array, Array]:
        """The integral from the left end to each point, and to the right end."""
        flat = field.reshape(*field.shape[:2], -1)
        found = self._inside @ flat
        sums = np.cumsum((self._weights[:, 0] * flat).sum(axis=1), axis=0)
        found[1:] += sums[:-1, None]
        return found.reshape(field.shape), sums[-1].reshape(field.shape[2:])

    def _work(self, wrench: Array, strain: Array) -> Array:
        return np.tensordot(self._weights * wrench, strain, axes=([0, 1, 2], [0, 1, 2]))

    def _coordinates(self, displacement: Array) -> Array:
        """H^T x."""
        return np.asarray(self._root.swapaxes(-1, -2) @ displacement).reshape(self.size, -1)

    def _without_rigid(self, y: Array) -> Array:
        return y - self._rigid @ (self._rigid.T @ y)


def _largest(piece: RodPiece, count: int) -> Array:
    """Eigenvalues, largest first, by block Lanczos: a single vector would find only one of two bending directions."""
    if piece.size <= max(FEW, 3 * count):
        return np.asarray(np.linalg.eigvalsh(piece.apply(np.eye(piece.size)))[::-1][:count], dtype=float)
    # deterministic, and not aligned with any mode
    width = 8 + count // 8
    block: Array = np.cos(np.arange(piece.size * width, dtype=float) ** 2).reshape(piece.size, width)
    basis: Array = np.empty((piece.size, 0))
    matrix: Array = np.empty((0, 0))
    last: Array = np.empty(0)
    while True:
        for _ in range(2):
            block = np.linalg.qr(block - basis @ (basis.T @ block))[0]
        basis, block = np.hstack([basis, block]), piece.apply(block)
        matrix = np.pad(matrix, (0, width))
        matrix[:, -width:] = basis.T @ block
        values = np.asarray(np.linalg.eigvalsh(matrix, "U")[::-1][:count], dtype=float)
        if len(last) == count and (np.abs(values - last) <= CONVERGED * values + ROUNDING * values[0]).all():
            return values
        last = values


def _integrals(points: Array) -> Array:
    """Integrals, from -1 to each of these points of [-1, 1], of the polynomial with given values there."""
    degree = len(points) - 1
    whole = np.stack([legendre.legval(points, legendre.legint(one, lbnd=-1)) for one in np.eye(degree + 1)], axis=1)
    return np.asarray(whole @ np.linalg.inv(legendre.legvander(points, degree)), dtype=float)
