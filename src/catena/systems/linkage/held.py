"""How bodies move that rows of joints hold, and what the rows do to them, at one state:

    M x + A^T l = f,    A x = g

In principal axes M is diagonal. Displacements over a length of the linkage beside turns, and rows of length 1, make of it one sparse matrix, whose
factors grow with the number of bodies:

    [ D  B^T ]
    [ B   0  ]      D = M over its largest number; 0 for turns without a moment of inertia

Masses stand in D alone. Rows that they weigh hide what a light body passes on between heavy ones, and A M^-1 A^T has the square of the condition
number. Which rows are independent is a question of places, D = 1: all that close no loop are, and of the others those are kept that differ most.
They bear everything first; what they bear is then shared with the rows left out, so that all multipliers are as small as they can be, torques over the length.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..base import Array
from .joints import GROUND

if TYPE_CHECKING:
    from scipy.sparse import csr_array

RANK = 1e-10  # singular values below this part of the largest are zero
DEPENDENT = 1e-7  # what is left of a row of length 1 that others imply, as at the start of a step
SINGULAR = 1e-13  # smallest pivot, to the largest, where rows are independent
Flags: TypeAlias = NDArray[np.bool_]


class Rows(NamedTuple):
    """Some rows, (rows, 2, 6) by displacements and turns of parent and child in space; `closes`: others may imply them."""

    values: Array
    parent: int
    child: int
    closes: bool


class Weights(NamedTuple):
    """What bodies weigh.

    Attributes
    ----------
    axes : (n, 3, 3) from principal axes to space
    masses : (n, 6) the mass, three times, and the principal moments
    length : of the linkage, over which displacements are compared with turns and torques with forces
    """

    axes: Array
    masses: Array
    length: float

    @property
    def units(self) -> Array:
        """(6 n,): of displacements, 1 for turns."""
        return np.tile([*[self.length] * 3, 1.0, 1.0, 1.0], len(self.masses))

    def times(self, motion: Array) -> Array:
        """M x."""
        return _turn(self.axes, self.masses.ravel() * _turn(self.axes.swapaxes(1, 2), motion))


class HeldMotion(NamedTuple):
    """x, (6 n,), and the multipliers of all rows."""

    motion: Array
    multipliers: Array


def apply_rows(rows: Sequence[Rows], motion: Array) -> Array:
    """A x, for x (6 n,)."""
    values, bodies = _stack(rows)
    moving = np.vstack([motion.reshape(-1, 6), np.zeros((1, 6))])  # the last is the ground
    return (values * moving[bodies]).sum(axis=(1, 2))


def write_out(rows: Sequence[Rows], count: int) -> Array:
    """A, (rows, 6 n)."""
    values, bodies = _stack(rows)
    made = np.zeros((len(values), count + 1, 6))  # the last stands for the ground
    for side in range(2):
        made[np.arange(len(values)), bodies[:, side]] = values[:, side]
    return made[:, :count].reshape(len(made), 6 * count)


def _stack(rows: Sequence[Rows]) -> tuple[Array, NDArray[np.int_]]:
    """All of them, (rows, 2, 6), and the two bodies of each."""
    bodies = [(one.parent, one.child) for one in rows for _ in one.values]
    values = np.concatenate([np.zeros((0, 2, 6)), *(one.values for one in rows)])
    return values, np.array(bodies, dtype=int).reshape(-1, 2)


def solve_held(rows: Sequence[Rows], weights: Weights, force: Array, wanted: Array) -> HeldMotion:
    """The motion under `force` (6 n,) of which the rows are `wanted`, or nearest to that where they contradict one another."""
    (matrix, sizes, arms), units = _assemble(rows, weights), weights.units
    diagonal = weights.masses.ravel() * units**2
    heaviest = diagonal.max()
    diagonal /= heaviest
    idle = _find_idle(matrix, diagonal)
    diagonal[idle] = 1.0
    pushes = np.where(idle, 0.0, _turn(weights.axes.swapaxes(1, 2), force) * units / heaviest)
    kept, useless = _choose_rows(matrix, np.array([one.closes for one in rows for _ in one.values], dtype=bool))
    useless = np.linalg.qr(useless / (sizes * arms)[:, None])[0]
    wanted = wanted - useless @ (useless.T @ (wanted * arms)) / arms
    found = _solve(matrix[kept], diagonal, pushes, (wanted / sizes)[kept])
    multipliers, n = np.zeros(len(sizes)), len(pushes)
    multipliers[kept] = found[n:] * heaviest / sizes[kept]
    multipliers -= useless @ (useless.T @ (multipliers / arms)) * arms
    return HeldMotion(_turn(weights.axes, np.where(idle, 0.0, found[:n]) * units), multipliers)


def follow_rows(rows: Sequence[Rows], weights: Weights, motion: Array) -> Array:
    """(6 n,): turns without a moment of inertia, of least squares, after which the rows of `motion` change least; 0 where no row tells them."""
    (matrix, sizes, _), diagonal = _assemble(rows, weights), weights.masses.ravel()
    free = (diagonal == 0.0) & ~_find_idle(matrix, diagonal)
    turns, changes, found = matrix[:, free], apply_rows(rows, motion) / sizes, np.zeros(len(diagonal))
    if free.any():
        solve = _factorise(turns.T.tocsr(), np.ones(len(changes)), SINGULAR)
        if solve is None:  # a line and the next one turn together, and nothing tells how fast
            found[free] = -np.linalg.lstsq(turns.toarray(), changes, rcond=RANK)[0]
        else:
            found[free] = -solve(np.concatenate([changes, np.zeros(turns.shape[1])]))[len(changes) :]
    return _turn(weights.axes, found)


def _turn(axes: Array, motion: Array) -> Array:
    return np.einsum("jkl,jil->jik", axes, motion.reshape(-1, 2, 3)).ravel()


def _assemble(rows: Sequence[Rows], weights: Weights) -> tuple[csr_array, Array, Array]:
    """B; how long its rows were; and 1 for those that are lengths, whose multipliers are forces, the length of the linkage for others."""
    from scipy.sparse import csr_array

    values, bodies = _stack(rows)
    arms = np.where(values[:, :, :3].any(axis=(1, 2)), 1.0, weights.length)
    turned = (values.reshape(-1, 2, 2, 3) @ weights.axes[bodies]).reshape(-1, 2, 6)
    moves = bodies != GROUND  # whose sides of rows are no columns
    columns = 6 * bodies[moves][:, None] + np.arange(6)
    entries = (turned[moves] * weights.units[columns]).ravel()
    places = np.repeat(np.nonzero(moves)[0], 6), columns.ravel()
    made = csr_array((entries, places), shape=(len(values), weights.masses.size))
    made.eliminate_zeros()
    sizes = np.sqrt(np.asarray(made.power(2).sum(axis=1))).ravel()
    sizes = np.where(sizes > RANK * weights.length / arms, sizes, weights.length / arms)  # what is rounding stays small
    return made.multiply(1.0 / sizes[:, None]).tocsr(), sizes, arms


def _find_idle(matrix: csr_array, diagonal: Array) -> Flags:
    """Turns without a moment of inertia that move no row but by rounding."""
    lengths = np.zeros(len(diagonal))
    np.maximum.at(lengths, matrix.indices, np.abs(matrix.data))
    return np.asarray((diagonal == 0.0) & (lengths <= RANK * lengths.max(initial=0.0)), dtype=bool)


def _choose_rows(matrix: csr_array, closing: Flags) -> tuple[Flags, Array]:
    """Independent rows from which all others follow; and multipliers of all rows that do nothing together, a column for each row left out."""
    from scipy.linalg import qr

    n = matrix.shape[1]
    solve = _factorise(matrix[~closing], np.ones(n), SINGULAR)
    if solve is None:  # far from where the joints fit
        closing, parts = np.ones_like(closing), matrix.T.toarray()
    elif not closing.any():
        return ~closing, np.zeros((len(closing), 0))
    else:  # of each row that closes a loop: what is normal to those of the tree, and its parts along them
        right = np.zeros((n + np.count_nonzero(~closing), np.count_nonzero(closing)))
        right[:n] = matrix[closing].T.toarray()
        parts = solve(right)
    left, order = qr(parts[:n], mode="r", pivoting=True)
    rank = int((np.abs(np.diag(left)) > DEPENDENT).sum())
    along = np.linalg.solve(left[:rank, :rank], left[:rank, rank:])
    taken, others = np.split(np.flatnonzero(closing)[order], [rank])
    useless = np.zeros((len(closing), len(others)))
    useless[others], useless[taken] = np.eye(len(others)), -along
    useless[~closing] = parts[n:, order[:rank]] @ along - parts[n:, order[rank:]]
    kept = ~closing
    kept[taken] = True
    return kept, useless


def _solve(matrix: csr_array, diagonal: Array, pushes: Array, wanted: Array) -> Array:
    """Motion and multipliers of independent rows. Turns that neither a moment nor a row tells are as small as they can be."""
    from scipy.linalg import null_space
    from scipy.sparse import csr_array, vstack

    thin, rows = np.flatnonzero(diagonal == 0.0), matrix
    if len(thin) and _factorise(matrix[:, thin].T.tocsr(), np.ones(matrix.shape[0]), SINGULAR) is None:
        loose = null_space(matrix[:, thin].toarray(), rcond=DEPENDENT).T
        still = np.zeros((len(loose), len(diagonal)))
        still[:, thin] = loose
        rows = vstack([matrix, csr_array(still)]).tocsr()
    solve = _factorise(rows, diagonal, 0.0)
    assert solve is not None
    return solve(np.concatenate([pushes, wanted, np.zeros(rows.shape[0] - len(wanted))]))[: len(pushes) + len(wanted)]


def _factorise(rows: csr_array, diagonal: Array, least: float) -> Callable[[Array], Array] | None:
    """What solves [[D, B^T], [B, 0]] x = b, with one correction; None where a pivot is not above `least` of the largest."""
    from scipy.sparse import block_array, diags_array
    from scipy.sparse.linalg import splu

    matrix = block_array([[diags_array(diagonal), rows.T], [rows, None]]).tocsc()
    try:
        factors = splu(matrix)
    except RuntimeError:  # exactly singular
        return None
    pivots = np.abs(factors.U.diagonal())
    if not pivots.min() > least * pivots.max():
        return None

    def solve(right: Array) -> Array:
        found = factors.solve(right)
        return np.asarray(found + factors.solve(right - matrix @ found))

    return solve
