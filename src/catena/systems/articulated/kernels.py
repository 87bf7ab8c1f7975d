"""Accelerations of linked bodies in the coordinates of their joints, by articulated-body inertias [featherstone1983].

Gauss's principle for the whole tree [kneller1994] is solved from the tips inward and back, x = X x_p + S u as in `articulated_motion`:

    U = P S,  D = S^T U,  e = tau - S^T p,   P_p += X^T (P - U D^-1 U^T) X,   p_p += X^T (p + P c + U D^-1 (e - U^T c))
    udot = D^-1 (e - U^T t),  xdot = t + S udot,  t = X xdot_p + c

P begins as the inertia of the node and p as (-m g - f, omega x I omega - torque).
"""

from __future__ import annotations

from ...kernel import slot
from ..linkages.layout import Space
from .motion import (
    APPLIED,
    ARM,
    BALL,
    BIAS,
    COORDINATE,
    HANDED,
    HELD,
    INVERSE,
    KIND,
    MASS,
    MOMENTS,
    PARENT,
    RATE,
    SINGLE,
    TAU,
    UDOT,
    XDOT,
    C,
    E,
    P,
    Q,
    S,
    U,
    W,
    cross,
    place_nodes,
    product,
)


@slot
def apply_forces(z, par):
    """Add what acts on the nodes to APPLIED and TAU."""


@slot
def hold_loops(z, par):
    """Add the forces that hold closed loops to APPLIED, then `respond` to all."""


def freedoms(link):
    """Number of rates of a node."""
    if link[KIND] != SINGLE:
        return 3
    return 1 if link[RATE] >= 0 else 0


def weigh_nodes(par):
    """Own inertia P and own part of p (weight and gyroscopic torque) of all nodes; TAU = 0."""
    for i in range(par.tree_links.shape[0]):
        data = par.tree_data[i]
        n = par.tree_nodes[i]
        for k in range(36):
            n[P + k] = 0.0
        for k in range(3):
            n[P + 7 * k] = data[MASS]
            n[APPLIED + k] = -data[MASS] * par.space[Space.GRAVITY + k]
            n[TAU + k] = 0.0
            for l in range(3):
                n[P + 6 * (3 + k) + 3 + l] = (
                    n[Q + 3 * k] * data[MOMENTS] * n[Q + 3 * l]
                    + n[Q + 3 * k + 1] * data[MOMENTS + 1] * n[Q + 3 * l + 1]
                    + n[Q + 3 * k + 2] * data[MOMENTS + 2] * n[Q + 3 * l + 2]
                )
        w1 = n[W]
        w2 = n[W + 1]
        w3 = n[W + 2]
        l1 = n[P + 21] * w1 + n[P + 22] * w2 + n[P + 23] * w3
        l2 = n[P + 27] * w1 + n[P + 28] * w2 + n[P + 29] * w3
        l3 = n[P + 33] * w1 + n[P + 34] * w2 + n[P + 35] * w3
        n[APPLIED + 3], n[APPLIED + 4], n[APPLIED + 5] = cross(w1, w2, w3, l1, l2, l3)


def invert_three(n, data):
    """INVERSE = D^-1 for D = S^T U of a node with three rates, by D = L diag L^T; a rate that does not exist gets 1."""
    d11 = 0.0
    d21 = 0.0
    d22 = 0.0
    d31 = 0.0
    d32 = 0.0
    d33 = 0.0
    for k in range(6):
        d11 += n[S + k] * n[U + k]
        d21 += n[S + 6 + k] * n[U + k]
        d22 += n[S + 6 + k] * n[U + 6 + k]
        d31 += n[S + 12 + k] * n[U + k]
        d32 += n[S + 12 + k] * n[U + 6 + k]
        d33 += n[S + 12 + k] * n[U + 12 + k]
    if data[HELD] == 1.0:
        d11 = 1.0
    if data[HELD + 1] == 1.0:
        d22 = 1.0
    if data[HELD + 2] == 1.0:
        d33 = 1.0
    l21 = d21 / d11
    l31 = d31 / d11
    g2 = d22 - l21 * d21
    l32 = (d32 - l31 * d21) / g2
    g3 = d33 - l31 * d31 - l32 * l32 * g2
    # rows of L^-1
    m31 = l32 * l21 - l31
    n[INVERSE] = 1.0 / d11 + l21 * l21 / g2 + m31 * m31 / g3
    n[INVERSE + 1] = -l21 / g2 - m31 * l32 / g3
    n[INVERSE + 2] = m31 / g3
    n[INVERSE + 3] = n[INVERSE + 1]
    n[INVERSE + 4] = 1.0 / g2 + l32 * l32 / g3
    n[INVERSE + 5] = -l32 / g3
    n[INVERSE + 6] = n[INVERSE + 2]
    n[INVERSE + 7] = n[INVERSE + 5]
    n[INVERSE + 8] = 1.0 / g3


def gather_inertia(par):
    """U, D^-1 and the inertia that each node feels, from the tips inward."""
    for i in range(par.tree_links.shape[0] - 1, 0, -1):
        link = par.tree_links[i]
        n = par.tree_nodes[i]
        f = freedoms(link)
        for k in range(f):
            for a in range(6):
                total = 0.0
                for b in range(6):
                    total += n[P + 6 * a + b] * n[S + 6 * k + b]
                n[U + 6 * k + a] = total
        if f == 1:
            d = 0.0
            for a in range(6):
                d += n[S + a] * n[U + a]
            n[INVERSE] = 1.0 / d
        if f == 3:
            invert_three(n, par.tree_data[i])
        if link[PARENT] > 0:
            hand_inward(n, par.tree_nodes[link[PARENT]], f, 0.0 if link[KIND] == BALL else 1.0)


def hand_inward(n, above, f, turns):
    """P_p += X^T (P - U D^-1 U^T) X, X = [[1, -hat(arm)], [0, turns]]."""
    x = n[ARM]
    y = n[ARM + 1]
    z = n[ARM + 2]
    for a in range(6):
        row = n[HANDED + 6 * a : HANDED + 6 * a + 6]
        for b in range(6):
            row[b] = n[P + 6 * a + b]
        for k in range(f):
            share = 0.0
            for l in range(f):
                share += n[U + 6 * l + a] * n[INVERSE + 3 * l + k]
            for b in range(6):
                row[b] -= share * n[U + 6 * k + b]
        c1, c2, c3 = cross(x, y, z, row[0], row[1], row[2])
        row[3] = c1 + turns * row[3]
        row[4] = c2 + turns * row[4]
        row[5] = c3 + turns * row[5]
    for b in range(6):
        u1 = n[HANDED + b]
        u2 = n[HANDED + 6 + b]
        u3 = n[HANDED + 12 + b]
        c1, c2, c3 = cross(x, y, z, u1, u2, u3)
        above[P + b] += u1
        above[P + 6 + b] += u2
        above[P + 12 + b] += u3
        above[P + 18 + b] += c1 + turns * n[HANDED + 18 + b]
        above[P + 24 + b] += c2 + turns * n[HANDED + 24 + b]
        above[P + 30 + b] += c3 + turns * n[HANDED + 30 + b]


def respond(par, moving):
    """udot and xdot of all nodes under APPLIED and TAU, with (moving = 1) or without (0) the part c of the motion itself."""
    for i in range(1, par.tree_links.shape[0]):
        n = par.tree_nodes[i]
        for k in range(6):
            n[BIAS + k] = n[APPLIED + k]
    for i in range(par.tree_links.shape[0] - 1, 0, -1):
        link = par.tree_links[i]
        n = par.tree_nodes[i]
        f = freedoms(link)
        for k in range(f):
            total = n[TAU + k]
            for a in range(6):
                total -= n[S + 6 * k + a] * n[BIAS + a]
            n[E + k] = total
        if link[PARENT] > 0:
            push_inward(n, par.tree_nodes[link[PARENT]], f, 0.0 if link[KIND] == BALL else 1.0, moving)
    for i in range(1, par.tree_links.shape[0]):
        link = par.tree_links[i]
        n = par.tree_nodes[i]
        follow(n, par.tree_nodes[link[PARENT]], freedoms(link), 1.0 if link[KIND] == SINGLE else 0.0, moving)


def push_inward(n, above, f, turns, moving):
    """p_p += X^T (p + P c + U D^-1 (e - U^T c))."""
    for k in range(f):
        n[UDOT + k] = n[E + k]
        for a in range(6):
            n[UDOT + k] -= moving * n[U + 6 * k + a] * n[C + a]
    for a in range(6):
        total = n[BIAS + a]
        for b in range(6):
            total += moving * n[P + 6 * a + b] * n[C + b]
        n[XDOT + a] = total
    for k in range(f):
        rate = 0.0
        for l in range(f):
            rate += n[INVERSE + 3 * k + l] * n[UDOT + l]
        for a in range(6):
            n[XDOT + a] += n[U + 6 * k + a] * rate
    c1, c2, c3 = cross(n[ARM], n[ARM + 1], n[ARM + 2], n[XDOT], n[XDOT + 1], n[XDOT + 2])
    for a in range(3):
        above[BIAS + a] += n[XDOT + a]
    above[BIAS + 3] += c1 + turns * n[XDOT + 3]
    above[BIAS + 4] += c2 + turns * n[XDOT + 4]
    above[BIAS + 5] += c3 + turns * n[XDOT + 5]


def follow(n, above, f, turns, moving):
    """udot = D^-1 (e - U^T t), xdot = t + S udot, t = X xdot_p + c."""
    c1, c2, c3 = cross(above[XDOT + 3], above[XDOT + 4], above[XDOT + 5], n[ARM], n[ARM + 1], n[ARM + 2])
    n[XDOT] = above[XDOT] + c1 + moving * n[C]
    n[XDOT + 1] = above[XDOT + 1] + c2 + moving * n[C + 1]
    n[XDOT + 2] = above[XDOT + 2] + c3 + moving * n[C + 2]
    for a in range(3, 6):
        n[XDOT + a] = turns * above[XDOT + a] + moving * n[C + a]
    for k in range(f):
        for a in range(6):
            n[E + k] -= n[U + 6 * k + a] * n[XDOT + a]
    for k in range(f):
        n[UDOT + k] = 0.0
        for l in range(f):
            n[UDOT + k] += n[INVERSE + 3 * k + l] * n[E + l]
    for k in range(f):
        for a in range(6):
            n[XDOT + a] += n[S + 6 * k + a] * n[UDOT + k]


def respond_to_all(z, par):
    """A tree without loops."""
    respond(par, 1.0)


def accelerate(z, par):
    """Positions, velocities and accelerations of all nodes."""
    place_nodes(z, par)
    weigh_nodes(par)
    apply_forces(z, par)
    gather_inertia(par)
    hold_loops(z, par)


def articulated_field(z, par, out):
    """Rates of the coordinates and of the rates; images and shifts stay."""
    accelerate(z, par)
    for k in range(z.shape[0]):
        out[k] = 0.0
    for i in range(1, par.tree_links.shape[0]):
        link = par.tree_links[i]
        n = par.tree_nodes[i]
        at = link[COORDINATE]
        rate = link[RATE]
        for k in range(freedoms(link)):
            out[rate + k] = n[UDOT + k]
            if link[KIND] != BALL:
                out[at + k] = z[rate + k]
        if link[KIND] == BALL:
            out[at], out[at + 1], out[at + 2], out[at + 3] = product(
                z[at], z[at + 1], z[at + 2], z[at + 3], 0.0, 0.5 * z[rate], 0.5 * z[rate + 1], 0.5 * z[rate + 2]
            )
    carry_along(z, par, out)


@slot
def carry_along(z, par, out):
    """Rates of what is stepped besides the tree: the time, the angles of joints that close loops."""


def carry_nothing(z, par, out):
    """Nothing is."""


def articulated_field_end(b, par):
    """Places in z where a field ends."""
    return par.field_ends[b]
