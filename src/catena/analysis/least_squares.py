"""The equations of linked bodies as a least-squares problem [kneller1994]: dense, for small systems.

It is the dense counterpart of the recursion. The velocities of all bodies are x = C u with the rates u of the joints,
so xdot = C udot + Cdot u. By Gauss's principle udot minimises |M^(1/2) (C udot + Cdot u - a)|, where M a are the
applied forces: by QR, or by the normal equations C^T M C udot = C^T M (a - Cdot u), the same solution with the square
of the condition number.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..systems.base import Array, State
from ..systems.linkage.joint_form import motion
from ..systems.linkage.joint_form.form import pack_state
from ..systems.linkage.joint_form.kernels import weigh_nodes
from ..systems.linkage.joint_form.layout import layout_of
from ..systems.linkage.joint_form.nodes import Node
from ..systems.linkage.joint_form.tables import joint_form_par

if TYPE_CHECKING:
    from ..systems.linkage.linkage import Linkage


@dataclass(frozen=True)
class LeastSquares:
    """The problem at one state, with gravity as the only force.

    Attributes
    ----------
    matrix : (6 n, rates) M^(1/2) C; rows are velocity and angular velocity of each body, columns the rates in the order
        of the joints
    right : (6 n,) M^(1/2) (a - Cdot u)
    """

    matrix: Array
    right: Array

    def by_qr(self) -> Array:
        """udot, from the matrix itself."""
        q, r = np.linalg.qr(self.matrix)
        return np.asarray(np.linalg.solve(r, q.T @ self.right), dtype=float)

    def by_normal_equations(self) -> Array:
        """udot, from C^T M C."""
        return np.asarray(np.linalg.solve(self.matrix.T @ self.matrix, self.matrix.T @ self.right), dtype=float)

    def condition(self) -> float:
        """Condition number of C^T M C: the square of that of M^(1/2) C."""
        return float(np.linalg.cond(self.matrix)) ** 2


def least_squares(linkage: Linkage, state: State) -> LeastSquares:
    """The least-squares problem of a tree at a state.

    Rates that do not exist (the spin of a line) have no column.
    """
    layout = layout_of(linkage)
    par = joint_form_par(linkage)
    motion.place_nodes(pack_state(linkage, state), par)
    weigh_nodes(tuple(linkage.gravity_at(state.time)), par)
    free = np.array([not held for node in layout.nodes for held in node.held[: node.rates]], dtype=bool)
    c, bias = node_motions(linkage, par.tree_nodes)[:, :, free], np.zeros((len(layout.nodes), 6))
    matrix, right = [np.zeros((6, int(free.sum())))] * linkage.count, [np.zeros(6)] * linkage.count
    for k, node in enumerate(layout.nodes[1:], 1):
        row = par.tree_nodes[k]
        bias[k] = _carry(node, row) @ bias[node.parent] + row[motion.Node.C : motion.Node.C + 6]
        if node.body >= 0:
            root = _square_root(row[motion.Node.P : motion.Node.P + 36].reshape(6, 6))
            acting = -row[motion.Node.APPLIED : motion.Node.APPLIED + 6]
            matrix[node.body] = root @ c[k]
            right[node.body] = np.linalg.lstsq(root, acting, rcond=None)[0] - root @ bias[k]
    return LeastSquares(np.concatenate(matrix), np.concatenate(right))


def node_motions(linkage: Linkage, rows: Array) -> Array:
    """C, (nodes, 6, rates): velocity and angular velocity of each node, in space, for a unit of each rate.

    Parameters
    ----------
    rows : par.tree_nodes, after `place_nodes`
    """
    nodes = layout_of(linkage).nodes
    c, column = np.zeros((len(nodes), 6, sum(node.rates for node in nodes))), 0
    for k, node in enumerate(nodes[1:], 1):
        c[k] = _carry(node, rows[k]) @ c[node.parent]
        own = slice(column, column + node.rates)
        c[k, :, own] = rows[k, motion.Node.S : motion.Node.S + 6 * node.rates].reshape(-1, 6).T
        column = own.stop
    return c


def _carry(node: Node, row: Array) -> Array:
    return _carry_motion(row[motion.Node.ARM : motion.Node.ARM + 3], turns=node.kind != motion.BALL)


def _carry_motion(arm: Array, *, turns: bool) -> Array:
    """X: the motion of a node fixed to its parent."""
    x, y, z = arm
    matrix = np.eye(6)
    matrix[:3, 3:] = [[0.0, z, -y], [-z, 0.0, x], [y, -x, 0.0]]
    matrix[3:, 3:] *= float(turns)
    return matrix


def _square_root(mass: Array) -> Array:
    """The symmetric root of a positive semidefinite matrix."""
    values, vectors = np.linalg.eigh(mass)
    return (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
