"""Generalised forces of a tree, and their derivatives by the positions and the rates of its joints, without solving for anything.

With everything accelerated by xdot the joints of a tree are asked for S^T F - tau (`slopes`), which vanishes in a motion. Here it is found for
two choices of xdot: the accelerations of the motion, and none at all. In the first case its derivatives are the matrices of the
linearised equations, M dudot + B du + A dphi = 0. In the second, and at rest, it is minus the force on each joint coordinate, the slope of the
potential energy, and its derivatives are the stiffness: the second derivatives of that energy, but for turns of a ball, which do not
commute; there the symmetric part is the one along the exponential map.
"""

from typing import Any

from ....kernels.marks import bind, optional
from ..director_form.clock import gravity_now
from .kernels import accelerate, apply_forces, begin_bias, gather_drive, hand_bias, weigh_nodes
from .loops import Row, pull_along, write_row
from .motion import Node, clear, copy, freedoms, place_nodes
from .slopes import fill_columns, respond_to_change


@optional
def hold_rows(z, par):
    """Add the forces of known multipliers that hold closed loops to APPLIED."""


@optional
def change_rows(z, par):
    """Add what these forces change by to APPLIED."""


def find_push(z, par, out):
    """out: the force on each joint coordinate at rest, -dV/dphi; those of node i begin at par.newton_rows[i]."""
    rest(z, par)
    gather_push(par)
    for i in range(1, par.tree_links.shape[0]):
        copy(par.tree_nodes[i], Node.E, out, par.newton_rows[i], freedoms(par.tree_links[i]))


def find_stiffness(z, par, out):
    """out[0]: d^2 V/dphi^2 at rest, with the forces of the multipliers; out[1], where there is one: what the force loses by each rate."""
    rest(z, par)
    hold_rows(z, par)
    fill_matrices(z, par, out)


def find_motion(z, par, out):
    """out[0] = A and out[1] = B of M dudot + B du + A dphi = 0 about the motion of a tree."""
    accelerate(z, par)
    fill_matrices(z, par, out)


def rest(z, par):
    """What acts on the nodes, and no acceleration."""
    place_nodes(z, par)
    weigh_nodes(gravity_now(par), par)
    apply_forces(z, par)
    for i in range(par.tree_links.shape[0]):
        clear(par.tree_nodes[i], Node.UDOT, 9)  # and XDOT


def change_push(z, at, which, par):
    """`respond_to_change` with what S^T F - tau changes by in place of udot."""
    change_rows(z, par)
    gather_push(par)
    for i in range(1, par.tree_links.shape[0]):
        for k in range(freedoms(par.tree_links[i])):
            par.tree_nodes[i, Node.UDOT + k] = -par.tree_nodes[i, Node.E + k]


fill_matrices: Any = bind(fill_columns, {respond_to_change: change_push})


def gather_push(par):
    """E = TAU - S^T p, where p is APPLIED and what the nodes farther out hand on; from the tips inward."""
    begin_bias(par)
    for i in range(par.tree_links.shape[0] - 1, 0, -1):
        gather_drive(i, par)
        hand_bias(i, Node.BIAS, par)


def hold_kept_rows(z, par):
    """`hold_rows` where loops are: the multipliers stand in par.tree_gradients."""
    for i in range(par.tree_chart[0]):
        r = par.tree_chart[1 + i]
        row = par.tree_gradients[r]
        write_row(z, r, par, row)
        pull_along(r, row, row[Row.MULTIPLIER], par)
