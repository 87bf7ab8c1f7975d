"""Mass properties: second moments of bodies, and their principal axes.

The second-moment matrix S = int X X^T dm about the centre of mass determines everything; the inertia tensor is
Theta = tr(S) 1 - S. In principal axes S = diag(d1, d2, d3) and I1 = d2 + d3 (cyclic), d1 = (I2 + I3 - I1)/2.
A body exists if and only if all d_k >= 0; the vanishing ones decide whether it is solid, planar, linear or a point.

Sums are correctly rounded (`math.fsum`), products do not use BLAS, and the eigenvalue problem is solved by Jacobi's
method in plain arithmetic: the same bits on every machine, and small d_k keep their digits [Demmel & Veselic 1992].
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array
from ..errors import InputError
from .rotations import apply

EPS = sys.float_info.epsilon
DIAGONAL = 4.0 * EPS  # off-diagonal elements below this part of the trace do not count: the input axes are kept
ROUNDING = 8.0 * EPS  # possible relative error of a given moment, or of a given coordinate relative to the size
EQUAL_MOMENTS = 8.0 * EPS  # largest difference of two moments that count as equal, relative to the smaller one
SWEEPS = 30  # limit for Jacobi's method; it converges quadratically, 5 to 10 are needed
KINDS = ("point", "linear", "planar", "solid")


@dataclass(frozen=True)
class Principal:
    """Principal axes: second moments d, moments of inertia I, and the axes as columns, in input coordinates."""

    second_moments: Array
    moments: Array
    axes: Array

    @property
    def kind(self) -> str:
        """Solid, planar, linear or point: three, two, one or no second moment is positive."""
        return KINDS[int(np.count_nonzero(self.second_moments))]


def center(positions: Array, masses: Array) -> tuple[float, Array, Array]:
    """Mass, centre of mass, and positions relative to it, of particles (n, 3) with masses (n,)."""
    mass = _sum(masses.tolist())
    center = np.array([_sum((masses * x).tolist()) / mass for x in positions.T])
    # particles in a plane x_k = const stay in it exactly, whatever the rounding of the sum
    center = np.where((positions == positions[0]).all(axis=0), positions[0], center)
    relative = positions - center
    # far from the origin the centre itself is rounded; a correction comes from the differences, which are exact
    rest = np.array([_sum((masses * x).tolist()) / mass for x in relative.T])
    rest = np.where((relative == relative[0]).all(axis=0), 0.0, rest)
    return mass, center + rest, relative - rest


def second_moment(points: Array, weights: Array) -> Array:
    """S = sum w X X^T of points (n, 3) with weights (n,)."""
    return _symmetric(lambda i, j: _sum((weights * points[:, i] * points[:, j]).tolist()))


def refuse_open(faces: NDArray[np.int64], where: str) -> None:
    """Triangles (m, 3) must contain every edge once in each direction: a closed, oriented surface."""
    edges = np.stack([faces, np.roll(faces, -1, axis=1)], axis=-1).reshape(-1, 2)
    count = int(faces.max()) + 1
    code, reverse = edges @ np.array([count, 1]), edges @ np.array([1, count])
    same = np.isin(code, code[edges[:, 0] == edges[:, 1]])
    unique, times = np.unique(code, return_counts=True)
    again = np.isin(code, unique[times > 1])
    alone = ~np.isin(reverse, code)
    for fault, wrong, do in (
        (same, "joins a vertex to itself", "remove triangles that use a vertex twice"),
        (again, "is run through twice in this direction", "orient all triangles alike, and let only two share an edge"),
        (alone, "belongs to one triangle only", "close the surface; merge vertices that are at the same place"),
    ):
        if fault.any():
            k = int(np.argmax(fault))
            a, b = edges[k].tolist()
            raise InputError(f"the edge from vertex {a} to vertex {b} {wrong}", where=f"{where}[{k // 3}]", do=do)


def mesh_volume(triangles: Array) -> tuple[float, Array, Array]:
    """Volume inside closed triangles (n, 3, 3), its centroid, and the triangles relative to it.

    Signed tetrahedra from the mean vertex to each triangle (a, b, c): volume det(a, b, c)/6, centroid (a + b + c)/4.
    A volume within the rounding error of its pieces is 0.
    """
    middle = np.array([_sum(x.tolist()) / x.size for x in triangles.reshape(-1, 3).T])
    relative = triangles - middle  # from far away the tetrahedra would nearly cancel
    volumes = _tetrahedra(relative)
    volume, total = _sum(volumes.tolist()), _sum(np.abs(volumes).tolist())
    if not abs(volume) > ROUNDING * total:
        return 0.0, middle, relative
    rest = np.array([_sum((volumes * x).tolist()) / (4.0 * volume) for x in relative.sum(axis=1).T])
    return volume, middle + rest, relative - rest


def mesh_second_moment(triangles: Array) -> Array:
    """S, at density 1, of the interior of closed triangles (n, 3, 3) about the origin.

    A tetrahedron (0, a, b, c) has V/20 [(a + b + c)(a + b + c)^T + a a^T + b b^T + c c^T].
    """
    volumes = _tetrahedra(triangles) / 20.0
    corners = np.concatenate([triangles, triangles.sum(axis=1, keepdims=True)], axis=1)
    weights = np.repeat(volumes, 4)
    return second_moment(corners.reshape(-1, 3), weights)


def refuse_unrepresentable(second_moments: Array, extents: Array, where: str) -> None:
    """Refuse a body so small or large that its second moments leave the range of doubles."""
    lost = (extents > 0.0) & (second_moments < sys.float_info.min)
    if lost.any() or not (second_moments < 0.25 * sys.float_info.max).all():
        raise InputError(
            f"the second moments {_text(second_moments)} of this body cannot be represented", where=where,
            do="choose other units of length or mass",
        )  # fmt: skip


def inertia_tensor(s: Array) -> Array:
    """Theta = tr(S) 1 - S; each diagonal element is a sum of two, so there is no cancellation."""
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = s.tolist()
    return np.array([[yy + zz, -xy, -xz], [-xy, xx + zz, -yz], [-xz, -yz, xx + yy]]) + 0.0


def principal_of_second_moments(d: Array) -> Principal:
    """A body whose principal axes are the input axes, from its second moments d >= 0."""
    return Principal(d, np.diag(inertia_tensor(np.diag(d))).copy(), np.eye(3))


def principal_of_moments(moments: Array, where: str) -> Principal:
    """A body whose principal axes are the input axes, from its moments; refuses moments that no body has."""
    i1, i2, i3 = moments.tolist()
    # correctly rounded: a needle with I = (1, 1, 1e-20) has d1 = d2 = 5e-21, not 0
    d = 0.5 * np.array([_sum((i2, i3, -i1)), _sum((i3, i1, -i2)), _sum((i1, i2, -i3))])
    _refuse_negative(d, moments, where, lambda k: f"axis {k + 1}")
    if 0.0 in moments and max(i1, i2, i3) > 0.0:  # a line: the two other moments are the same number
        on_line = moments == 0.0
        length = float(d[on_line].max())
        return Principal(np.where(on_line, length, 0.0), np.where(on_line, 0.0, length), np.eye(3))
    return Principal(np.maximum(d, 0.0), moments.copy(), np.eye(3))


def principal_of_tensor(tensor: Array, where: str) -> Principal:
    """Principal axes of an inertia tensor about the centre of mass; refuses a tensor that no body has."""
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = tensor.tolist()
    diagonal = [_sum((yy, zz, -xx)) / 2, _sum((zz, xx, -yy)) / 2, _sum((xx, yy, -zz)) / 2]
    s = np.array([[diagonal[0], -xy, -xz], [-xy, diagonal[1], -yz], [-xz, -yz, diagonal[2]]])
    if not _find_coupled(s).any():
        return principal_of_moments(np.diag(tensor), where)
    d, axes = (np.diag(s), np.eye(3)) if keeps_axes(s) else _order(*diagonalise(s))
    moments = np.diag(inertia_tensor(np.diag(d)))
    _refuse_negative(d, moments, where, lambda k: f"principal axis {_text(axes[:, k])}")
    # rounding the elements of a rotated tensor shifts every d_k by this much: a smaller one may not be positive
    return _without_rounding(d, axes, np.full(3, ROUNDING * moments.max()))


def principal_of_points(points: Array, measure: Callable[[Array], Array], *, floor: float, where: str) -> Principal:
    """Principal axes of a body made of points (..., 3) about its centre of mass.

    Parameters
    ----------
    measure : points -> S in the axes of the points
    floor : the second moment caused by rounding the given coordinates
    where : names the body in errors

    Notes
    -----
    The points are rotated into the axes found and measured again: the thickness of a rotated plate is then that of its
    points, with all digits, while the eigenvalues of S in the input axes have lost it below eps tr(S).
    """
    s = measure(points)
    if keeps_axes(s):
        d, axes, coupled = np.diag(s), np.eye(3), _find_coupled(s)
    else:
        axes = diagonalise(s)[1]
        again = diagonalise(measure(apply(axes.T, points)))[1]
        axes = apply(again.T, axes)
        d, axes = _order(np.diag(measure(apply(axes.T, points))), axes)
        coupled = _find_mixed(axes)
    _refuse_negative(d, np.diag(inertia_tensor(np.diag(d))), where, lambda k: f"principal axis {_text(axes[:, k])}")
    return _without_rounding(d, axes, np.where(coupled, floor, 0.0))


def keeps_axes(s: Array) -> bool:
    """Whether S is diagonal up to rounding, so that the input axes count as principal."""
    off = max(abs(s[0, 1]), abs(s[0, 2]), abs(s[1, 2]))
    return bool(off == 0.0 or off < DIAGONAL * (s[0, 0] + s[1, 1] + s[2, 2]))


def diagonalise(matrix: Array) -> tuple[Array, Array]:
    """Eigenvalues (3,) and eigenvectors (columns) of a symmetric matrix, by Jacobi's cyclic method, not sorted."""
    _, exponent = math.frexp(float(np.max(np.abs(matrix))))
    a = [[math.ldexp(x, -exponent) for x in row] for row in matrix.tolist()]  # squares stay in range
    v = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    for _ in range(SWEEPS):
        if a[0][1] == a[0][2] == a[1][2] == 0.0:
            break
        for p, q, r in ((0, 1, 2), (0, 2, 1), (1, 2, 0)):
            if a[p][q] == 0.0:
                continue
            x = (a[q][q] - a[p][p]) / (2.0 * a[p][q])
            t = math.copysign(1.0 / (abs(x) + math.sqrt(x * x + 1.0)), x)
            c = 1.0 / math.sqrt(t * t + 1.0)
            s = t * c
            a[p][p] -= t * a[p][q]
            a[q][q] += t * a[p][q]
            a[p][q] = a[q][p] = 0.0
            a[r][p], a[r][q] = c * a[r][p] - s * a[r][q], s * a[r][p] + c * a[r][q]
            a[p][r], a[q][r] = a[r][p], a[r][q]
            for row in v:
                row[p], row[q] = c * row[p] - s * row[q], s * row[p] + c * row[q]
    return np.array([math.ldexp(a[k][k], exponent) for k in range(3)]), np.array(v)


def _without_rounding(d: Array, axes: Array, rounding: Array) -> Principal:
    """The principal axes, with zeros for the d_k within the rounding error."""
    principal = principal_of_second_moments(np.where(d > rounding, d, 0.0))
    return Principal(principal.second_moments, principal.moments, axes)


def _order(d: Array, axes: Array) -> tuple[Array, Array]:
    """Moments ascending (d descending), largest components positive, except in the last axis: det = +1."""
    order = np.argsort(-d, kind="stable")
    d, axes = d[order], axes[:, order]
    size = np.abs(axes)
    largest = np.argmax(size >= (1.0 - ROUNDING) * size.max(axis=0), axis=0)  # the first of equal ones
    axes = axes * np.sign(axes[largest, range(3)])
    if np.dot(np.cross(axes[:, 0], axes[:, 1]), axes[:, 2]) < 0.0:
        axes[:, 2] *= -1.0
    return d, axes + 0.0


def _find_coupled(s: Array) -> Array:
    """Which input axes are not exactly principal. The d_k of one that is does not mix with others, however small."""
    return np.count_nonzero(s - np.diag(np.diag(s)), axis=0) > 0


def _find_mixed(axes: Array) -> Array:
    """Which columns are not input axes."""
    return np.count_nonzero(axes, axis=0) > 1


def _refuse_negative(d: Array, moments: Array, where: str, name: Callable[[int], str]) -> None:
    """Refuse a violation of the triangle inequality I_k <= I_i + I_j beyond rounding."""
    for k in range(3):
        if not d[k] >= -ROUNDING * moments.max():
            others = " + ".join(f"I{i + 1}" for i in range(3) if i != k)
            total = _sum(moments[[i for i in range(3) if i != k]].tolist())
            raise InputError(
                f"no body has the moments {_text(moments)}: I{k + 1} = {moments[k]:.17g} is larger than "
                f"{others} = {total:.17g}",
                where=f"{where}, {name(k)}",
                do=f"make I{k + 1} at most {others} (equal for a body that is flat along this axis)",
            )


def _tetrahedra(triangles: Array) -> Array:
    """Signed volumes of the tetrahedra (0, a, b, c)."""
    a, b, c = triangles[:, 0].T, triangles[:, 1].T, triangles[:, 2].T
    return (
        a[0] * (b[1] * c[2] - b[2] * c[1]) + a[1] * (b[2] * c[0] - b[0] * c[2]) + a[2] * (b[0] * c[1] - b[1] * c[0])
    ) / 6.0  # fmt: skip


def _sum(values: Iterable[float]) -> float:
    """The correctly rounded sum; nan if it leaves the range of doubles."""
    try:
        return math.fsum(values)
    except (OverflowError, ValueError):
        return math.nan


def _symmetric(element: Callable[[int, int], float]) -> Array:
    xx, xy, xz, yy, yz, zz = (element(i, j) for i in range(3) for j in range(i, 3))
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def _text(values: Array) -> str:
    return "(" + ", ".join(f"{x:.6g}" for x in values.tolist()) + ")"
