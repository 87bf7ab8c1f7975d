"""Frequencies of the rod of `chain.rod_limit()`: Galerkin's method with polynomials of degree 5, one element for each link.

The unknown fields have components in axes that do not turn along the rod: rigid motions are then linear in s, and exact. Polynomials
in axes that turn along lock: at 129 bodies the first frequency would be eleven times too high.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.polynomial import legendre

from ...arrays import Array
from ...geometry.rotations import hat
from .units import power_of_two, scale_matrices

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from .rod import RodLimit

DEGREE = 5
GAUSS_POINTS = DEGREE + 6
FEW = 1200  # unknowns up to which all eigenvalues are computed


def rod_frequencies(rod: RodLimit, begin: float, end: float, clamped: tuple[bool, bool], count: int) -> Array:
    """The lowest frequencies of the piece of rod from s = begin to end, rigid motions apart."""
    stiffness, mass = _matrices(rod, begin, end)
    size = stiffness.shape[0]
    kept = slice(6 if clamped[0] else 0, size - 6 if clamped[1] else size)
    stiffness, mass = stiffness[kept, kept].tocsc(), mass[kept, kept].tocsc()
    rigid = 0 if any(clamped) else 6
    values = _lowest(stiffness, mass, count + rigid, free=rigid > 0)
    return np.sqrt(np.abs(values[rigid:]))


def _lowest(stiffness: csr_array, mass: csr_array, count: int, *, free: bool) -> Array:
    from scipy.linalg import eigh
    from scipy.sparse.linalg import eigsh

    if stiffness.shape[0] <= FEW:
        return eigh(stiffness.toarray(), mass.toarray(), eigvals_only=True)[:count]
    # a free rod has K singular: a small shift below zero leaves the rigid motions apart from the others
    shift = -1e-10 * float(abs(stiffness).max() / abs(mass).max()) if free else 0.0
    unit = power_of_two(
        float(abs(stiffness).max() / abs(mass).max())
    )  # ARPACK takes what is below some 1e-11 for nothing
    some = np.cos(np.arange(stiffness.shape[0]) ** 2.0)
    return unit * np.sort(
        eigsh(
            stiffness / unit, count, mass, sigma=shift / unit, which="LM", v0=some, return_eigenvectors=False, tol=1e-13
        )
    )


def _matrices(rod: RodLimit, begin: float, end: float) -> tuple[csr_array, csr_array]:
    """K and M of a free piece of rod, sparse; six unknowns at each node."""
    from scipy.sparse import coo_array

    elements = int(np.ceil(end - begin))
    size = (end - begin) / elements
    points, weights = legendre.leggauss(GAUSS_POINTS)
    values, slopes = _shapes(points)
    slopes *= 2.0 / size
    shift, length = np.zeros((6, 6)), power_of_two(rod.rise)
    shift[:3, 3:] = hat(np.array([rod.rise / length, 0.0, 0.0]))
    strain = np.einsum("pi,ab->paib", slopes, np.eye(6)) + np.einsum("pi,ab->paib", values, shift)
    field = np.einsum("pi,ab->paib", values, np.eye(6))
    unknowns = 6 * (DEGREE + 1)
    strain, field = (part.reshape(GAUSS_POINTS, 6, unknowns) for part in (strain, field))
    s = begin + size * (np.arange(elements)[:, None] + 0.5 * (points + 1.0))
    scale = 0.5 * size * weights
    stiffness = np.linalg.inv(scale_matrices(rod.compliance_at(s), 1.0 / length))
    inertia = scale_matrices(rod.inertia_at(s), length)
    local = np.einsum("p,pai,epab,pbj->eij", scale, strain, stiffness, strain, optimize=True)
    masses = np.einsum("p,pai,epab,pbj->eij", scale, field, inertia, field, optimize=True)
    place = 6 * DEGREE * np.arange(elements)[:, None] + np.arange(unknowns)
    rows = np.broadcast_to(place[:, :, None], local.shape).ravel()
    columns = np.broadcast_to(place[:, None], local.shape).ravel()
    total = 6 * (elements * DEGREE + 1)
    whole, mass = (coo_array((part.ravel(), (rows, columns)), (total, total)).tocsr() for part in (local, masses))
    return whole, mass


def _shapes(points: Array) -> tuple[Array, Array]:
    """Lagrange polynomials of the Gauss-Lobatto nodes and their slopes, (points, nodes)."""
    top = np.zeros(DEGREE + 1)
    top[-1] = 1.0
    inner = legendre.legroots(legendre.legder(top))
    nodes = np.concatenate([[-1.0], inner, [1.0]])
    inverse = np.linalg.inv(legendre.legvander(nodes, DEGREE))
    slopes = np.stack([legendre.legval(points, legendre.legder(one)) for one in np.eye(DEGREE + 1)], axis=1)
    return legendre.legvander(points, DEGREE) @ inverse, slopes @ inverse
