"""How bodies move that rows of joints hold, and what the rows do to them, at one state:

    M x + A^T l = f,    A x = g

With x = W y, W W^T = M^-1, and rows of length 1 this is, for all rows that close no loop, one sparse matrix whose factors grow with the number of bodies,

    [ D  B^T ]
    [ B   0  ]      D = 1, and 0 for turns without a moment of inertia.

A W W^T A^T alone has the square of its condition number. Rows that close loops border it, and may be redundant: the smallest multipliers are taken.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..base import Array
from .joints import GROUND

if TYPE_CHECKING:
    from scipy.sparse import csc_array, csr_array

RANK = 1e-10  # singular values of rows below this part of the largest are zero
SINGULAR = 1e-13  # smallest pivot, to the largest, where rows tell how everything turns
Flags: TypeAlias = NDArray[np.bool_]


class Rows(NamedTuple):
    """Some rows, (rows, 2, 6) by displacements and turns of parent and child in space; `closes`: others may imply them."""

    values: Array
    parent: int
    child: int
    closes: bool


class HeldMotion(NamedTuple):
    """x, (6 n,), and the multipliers of all rows."""

    motion: Array
    multipliers: Array


def apply_rows(rows: Sequence[Rows], motion: Array) -> Array:
    """A x, for x (6 n,)."""
    moving = np.vstack([motion.reshape(-1, 6), np.zeros((1, 6))])  # the last is the ground
    values = [one.values[:, 0] @ moving[one.parent] + one.values[:, 1] @ moving[one.child] for one in rows]
    return np.concatenate(values) if values else np.zeros(0)


def write_out(rows: Sequence[Rows], count: int) -> Array:
    """A, (rows, 6 n)."""
    made, first = np.zeros((sum(len(one.values) for one in rows), count + 1, 6)), 0  # the last stands for the ground
    for one in rows:
        own = slice(first, first + len(one.values))
        first = own.stop
        made[own, one.parent], made[own, one.child] = one.values[:, 0], one.values[:, 1]
    return made[:, :count].reshape(len(made), 6 * count)


def solve_held(rows: Sequence[Rows], roots: Array, inertial: Array, force: Array, wanted: Array) -> HeldMotion:
    """The motion under `force` (6 n,) of which the rows are `wanted`.

    Parameters
    ----------
    roots : (n, 6, 6) W of each body
    inertial : (n, 6) D
    """
    (matrix, sizes), diagonal = _assemble(rows, roots), inertial.ravel()
    pushes = np.einsum("jkl,jk->jl", roots, force.reshape(-1, 6)).ravel()
    idle = _find_idle(matrix, diagonal)
    pushes[idle] = 0.0
    closing = np.array([one.closes for one in rows for _ in one.values], dtype=bool)
    found = _solve_scaled(matrix, np.where(idle, 1.0, diagonal), closing, pushes, wanted / sizes, sizes)
    moved = np.einsum("jkl,jl->jk", roots, np.where(idle, 0.0, found.motion).reshape(-1, 6))
    return HeldMotion(moved.ravel(), found.multipliers)


def follow_rows(rows: Sequence[Rows], roots: Array, inertial: Array, motion: Array) -> Array:
    """(6 n,): turns without a moment of inertia, of least squares, after which the rows of `motion` change least; 0 where no row tells them."""
    (matrix, sizes), diagonal = _assemble(rows, roots), inertial.ravel()
    free = (diagonal == 0.0) & ~_find_idle(matrix, diagonal)
    turns, changes, found = matrix[:, free], apply_rows(rows, motion) / sizes, np.zeros(len(diagonal))
    if free.any():
        solve = _factorise(turns.T.tocsr(), np.ones(len(changes)))
        if solve is None:  # a line and the next one turn together, and nothing tells how fast
            found[free] = -np.linalg.lstsq(turns.toarray(), changes, rcond=RANK)[0]
        else:
            found[free] = -solve(np.concatenate([changes, np.zeros(turns.shape[1])]))[len(changes) :]
    return np.einsum("jkl,jl->jk", roots, found.reshape(-1, 6)).ravel()


def _assemble(rows: Sequence[Rows], roots: Array) -> tuple[csr_array, Array]:
    """A W with rows of length 1, and how long they were: rounding is told from what is small in any unit."""
    from scipy.sparse import csr_array

    values, places, columns, first = [np.zeros(0)], [np.zeros(0, int)], [np.zeros(0, int)], 0
    for one in rows:
        own = np.arange(first, first + len(one.values))
        first += len(own)
        for side, body in ((0, one.parent), (1, one.child)):
            if body != GROUND:
                values.append((one.values[:, side] @ roots[body]).ravel())
                places.append(np.repeat(own, 6))
                columns.append(np.tile(np.arange(6 * body, 6 * body + 6), len(own)))
    entries = np.concatenate(values), (np.concatenate(places), np.concatenate(columns))
    made = csr_array(entries, shape=(first, 6 * len(roots)))
    made.eliminate_zeros()
    sizes = np.sqrt(np.asarray(made.power(2).sum(axis=1))).ravel()
    sizes[sizes == 0.0] = 1.0
    return made.multiply(1.0 / sizes[:, None]).tocsr(), sizes


def _find_idle(matrix: csr_array, diagonal: Array) -> Flags:
    """Turns without a moment of inertia that move no row but by rounding."""
    lengths = np.zeros(len(diagonal))
    np.maximum.at(lengths, matrix.indices, np.abs(matrix.data))
    return np.asarray((diagonal == 0.0) & (lengths <= RANK * lengths.max(initial=0.0)), dtype=bool)


def _solve_scaled(
    matrix: csr_array, diagonal: Array, closing: Flags, pushes: Array, wanted: Array, sizes: Array
) -> HeldMotion:
    tree, loops = matrix[~closing], matrix[closing]
    solve = _factorise(tree, diagonal)
    if solve is None:  # only a loop, or nothing, tells how a line or a point turns
        whole = _border(matrix, diagonal).toarray()
        least = np.linalg.lstsq(whole, np.concatenate([pushes, wanted]), rcond=RANK)[0]
        return HeldMotion(least[: len(diagonal)], least[len(diagonal) :] / sizes)
    n, multipliers = len(diagonal), np.zeros(len(wanted))
    found = solve(np.concatenate([pushes, wanted[~closing]]))
    if loops.shape[0]:
        answers = solve(np.vstack([loops.T.toarray(), np.zeros((tree.shape[0], loops.shape[0]))]))
        left = loops @ answers[:n]
        strengths, directions = np.linalg.eigh(0.5 * (left + left.T))
        told = strengths > RANK  # rows have the length 1
        along = (directions[:, told].T @ (loops @ found[:n] - wanted[closing])) / strengths[told]
        multipliers[closing] = directions[:, told] @ along
        found -= answers @ multipliers[closing]
    multipliers[~closing] = found[n:]
    multipliers /= sizes
    if loops.shape[0] and not told.all():
        idle = np.zeros((len(wanted), int((~told).sum())))
        idle[closing], idle[~closing] = directions[:, ~told], -answers[n:] @ directions[:, ~told]
        idle = np.linalg.qr(idle / sizes[:, None])[0]
        multipliers -= idle @ (idle.T @ multipliers)
    return HeldMotion(found[:n], multipliers)


def _border(rows: csr_array, diagonal: Array) -> csc_array:
    """[[D, B^T], [B, 0]]."""
    from scipy.sparse import block_array, diags_array

    return block_array([[diags_array(diagonal), rows.T], [rows, None]]).tocsc()


def _factorise(rows: csr_array, diagonal: Array) -> Callable[[Array], Array] | None:
    """What solves [[D, B^T], [B, 0]] x = b, with one correction; None where it is singular."""
    from scipy.sparse.linalg import splu

    matrix = _border(rows, diagonal)
    try:
        factors = splu(matrix)
    except RuntimeError:  # exactly singular
        return None
    pivots = np.abs(factors.U.diagonal())
    if not pivots.min() > SINGULAR * pivots.max():
        return None

    def solve(right: Array) -> Array:
        found = factors.solve(right)
        return np.asarray(found + factors.solve(right - matrix @ found))

    return solve
