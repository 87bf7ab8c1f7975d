"""Where the nodes of a tree of elementary joints are and how they move, from the ground outward.

Velocities x_i = (v_i, omega_i) of the centre of node i follow from those of its parent and its own rates u: x_i = X x_p + S u,
xdot_i = X xdot_p + S udot + c, in space axes; X = [[1, -hat(arm)], [0, 1]], its last block 0 where the rates are absolute.
par.tree_nodes has a row of scratch for each node, the ground first.
"""

from __future__ import annotations

import math

from ...geometry.quaternion import normalised_rotation

SINGLE = 0
BALL = 1
TRANSLATION = 2

# par.tree_links[i]: integers of a node; -1: there is none
PARENT = 0
KIND = 1
COORDINATE = 2  # place in z
RATE = 3  # place in z
IMAGE = 4  # place in z
SHIFT = 5  # place in z
LINKS = 6

# par.tree_data[i]: numbers of a node
A = 0
B = 3
AXIS = 6
TURN = 9
ADVANCE = 10
MASS = 11
MOMENTS = 12
HELD = 15
DATA = 18

# par.tree_nodes[i]: scratch
R = 0
ORIENTATION = 3
Q = 7
V = 16
W = 19
ARM = 22
C = 25
S = 31  # S_k at S + 6 k
P = 49  # 6 x 6
APPLIED = 85  # p without what children add
BIAS = 91
U = 97
INVERSE = 115  # D^-1, 3 x 3
TAU = 124
E = 127
UDOT = 130
XDOT = 133
HANDED = 139  # 6 x 6
SCRATCH = 175


def turned(n, x, y, z):
    """Q (x, y, z) for the matrix Q of a node."""
    return (
        n[Q] * x + n[Q + 1] * y + n[Q + 2] * z,
        n[Q + 3] * x + n[Q + 4] * y + n[Q + 5] * z,
        n[Q + 6] * x + n[Q + 7] * y + n[Q + 8] * z,
    )


def cross(a1, a2, a3, b1, b2, b3):
    """a x b."""
    return a2 * b3 - a3 * b2, a3 * b1 - a1 * b3, a1 * b2 - a2 * b1


def orient(n, q0, q1, q2, q3):
    """Set the orientation of a node."""
    n[ORIENTATION] = q0
    n[ORIENTATION + 1] = q1
    n[ORIENTATION + 2] = q2
    n[ORIENTATION + 3] = q3
    n[Q], n[Q + 1], n[Q + 2], n[Q + 3], n[Q + 4], n[Q + 5], n[Q + 6], n[Q + 7], n[Q + 8] = normalised_rotation(
        n[ORIENTATION : ORIENTATION + 4]
    )


def product(p0, p1, p2, p3, q0, q1, q2, q3):
    """The quaternion p * q."""
    return (
        p0 * q0 - p1 * q1 - p2 * q2 - p3 * q3,
        p0 * q1 + p1 * q0 + p2 * q3 - p3 * q2,
        p0 * q2 + p2 * q0 + p3 * q1 - p1 * q3,
        p0 * q3 + p3 * q0 + p1 * q2 - p2 * q1,
    )


def place_nodes(z, par):
    """Positions, velocities, S and c of all nodes, from the ground outward."""
    for i in range(1, par.tree_links.shape[0]):
        link = par.tree_links[i]
        data = par.tree_data[i]
        n = par.tree_nodes[i]
        above = par.tree_nodes[link[PARENT]]
        if link[KIND] == TRANSLATION:
            place_translation(z, link, n)
        else:
            if link[KIND] == BALL:
                place_ball(z, link, data, n, above)
            else:
                place_single(z, link, data, n, above)


def place_translation(z, link, n):
    """A massless node that moves along the axes of space."""
    for k in range(18):
        n[S + k] = 0.0
    for k in range(3):
        n[R + k] = z[link[COORDINATE] + k]
        n[V + k] = z[link[RATE] + k]
        n[W + k] = 0.0
        n[ARM + k] = 0.0
        n[C + k] = 0.0
        n[C + 3 + k] = 0.0
        n[S + 7 * k] = 1.0
    orient(n, 1.0, 0.0, 0.0, 0.0)


def place_ball(z, link, data, n, above):
    """The orientation is absolute, the rates are the angular velocity in the body."""
    at = link[COORDINATE]
    rate = link[RATE]
    orient(n, z[at], z[at + 1], z[at + 2], z[at + 3])
    p1, p2, p3 = turned(above, data[A], data[A + 1], data[A + 2])
    b1, b2, b3 = turned(n, data[B], data[B + 1], data[B + 2])
    w1, w2, w3 = turned(n, z[rate], z[rate + 1], z[rate + 2])
    set_motion(n, above, p1, p2, p3, b1, b2, b3, w1, w2, w3)
    n[ARM] = p1
    n[ARM + 1] = p2
    n[ARM + 2] = p3
    for k in range(3):
        d1 = n[Q + k]
        d2 = n[Q + 3 + k]
        d3 = n[Q + 6 + k]
        free = 1.0 - data[HELD + k]
        c1, c2, c3 = cross(b1, b2, b3, d1, d2, d3)
        n[S + 6 * k] = free * c1
        n[S + 6 * k + 1] = free * c2
        n[S + 6 * k + 2] = free * c3
        n[S + 6 * k + 3] = free * d1
        n[S + 6 * k + 4] = free * d2
        n[S + 6 * k + 5] = free * d3


def set_motion(n, above, p1, p2, p3, b1, b2, b3, w1, w2, w3):
    """r, v, omega and the centripetal part of c, for the arms p in the parent and b in the node."""
    o1 = above[W]
    o2 = above[W + 1]
    o3 = above[W + 2]
    n[R] = above[R] + (p1 - b1)
    n[R + 1] = above[R + 1] + (p2 - b2)
    n[R + 2] = above[R + 2] + (p3 - b3)
    n[W] = w1
    n[W + 1] = w2
    n[W + 2] = w3
    f1, f2, f3 = cross(o1, o2, o3, p1, p2, p3)
    g1, g2, g3 = cross(w1, w2, w3, b1, b2, b3)
    n[V] = above[V] + (f1 - g1)
    n[V + 1] = above[V + 1] + (f2 - g2)
    n[V + 2] = above[V + 2] + (f3 - g3)
    f1, f2, f3 = cross(o1, o2, o3, f1, f2, f3)
    g1, g2, g3 = cross(w1, w2, w3, g1, g2, g3)
    n[C] = f1 - g1
    n[C + 1] = f2 - g2
    n[C + 2] = f3 - g3
    n[C + 3] = 0.0
    n[C + 4] = 0.0
    n[C + 5] = 0.0


def place_single(z, link, data, n, above):
    """A hinge, a slide, a screw or a weld: turn * x about the axis, advance * x along it."""
    x = 0.0
    rate = 0.0
    if link[COORDINATE] >= 0:
        x = z[link[COORDINATE]]
        rate = z[link[RATE]]
    half = 0.5 * data[TURN] * x
    s = math.sin(half)
    q = n[ORIENTATION : ORIENTATION + 4]
    q[0], q[1], q[2], q[3] = product(
        above[ORIENTATION], above[ORIENTATION + 1], above[ORIENTATION + 2], above[ORIENTATION + 3],
        math.cos(half), s * data[AXIS], s * data[AXIS + 1], s * data[AXIS + 2],
    )  # fmt: skip
    if link[IMAGE] >= 0:
        m = link[IMAGE]
        q[0], q[1], q[2], q[3] = product(q[0], q[1], q[2], q[3], z[m], z[m + 1], z[m + 2], z[m + 3])
    orient(n, q[0], q[1], q[2], q[3])
    d1, d2, d3 = turned(above, data[AXIS], data[AXIS + 1], data[AXIS + 2])
    p1, p2, p3 = turned(above, data[A], data[A + 1], data[A + 2])
    b1, b2, b3 = turned(n, data[B], data[B + 1], data[B + 2])
    along = data[ADVANCE] * x
    if link[SHIFT] >= 0:
        along += z[link[SHIFT]]
    p1 += along * d1
    p2 += along * d2
    p3 += along * d3
    spin = data[TURN] * rate
    speed = data[ADVANCE] * rate
    set_motion(
        n, above, p1, p2, p3, b1, b2, b3, above[W] + spin * d1, above[W + 1] + spin * d2, above[W + 2] + spin * d3
    )
    n[ARM] = p1 - b1
    n[ARM + 1] = p2 - b2
    n[ARM + 2] = p3 - b3
    n[V] += speed * d1
    n[V + 1] += speed * d2
    n[V + 2] += speed * d3
    # zeta = omega_p x n thetadot; Coriolis 2 omega_p x n xdot
    y1, y2, y3 = cross(above[W], above[W + 1], above[W + 2], d1, d2, d3)
    c1, c2, c3 = cross(y1, y2, y3, b1, b2, b3)
    n[C] += 2.0 * speed * y1 - spin * c1
    n[C + 1] += 2.0 * speed * y2 - spin * c2
    n[C + 2] += 2.0 * speed * y3 - spin * c3
    n[C + 3] = spin * y1
    n[C + 4] = spin * y2
    n[C + 5] = spin * y3
    c1, c2, c3 = cross(d1, d2, d3, b1, b2, b3)
    n[S] = data[ADVANCE] * d1 - data[TURN] * c1
    n[S + 1] = data[ADVANCE] * d2 - data[TURN] * c2
    n[S + 2] = data[ADVANCE] * d3 - data[TURN] * c3
    n[S + 3] = data[TURN] * d1
    n[S + 4] = data[TURN] * d2
    n[S + 5] = data[TURN] * d3
