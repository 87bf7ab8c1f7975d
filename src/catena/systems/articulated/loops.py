"""Joints that close loops: their rows, and the multipliers that hold them at the level of accelerations.

A row Phi = 0 of `joints` between nodes I and J has the rate Phidot = f_I.v_I + t_I.omega_I + f_J.v_J + t_J.omega_J, and
Phiddot = (the same of the accelerations) + gamma. With the response of the tree to unit multipliers the rows become W lambda = -b.
Rows may follow from others; `charts` chooses which are kept, and only those have multipliers: W is positive definite.

par.tree_rows[r] = [kind, first, second, joint], par.tree_closures[k] = [node I, node J, places in z of image, angle and shift],
par.tree_closure_data[k] = [points (6), triad of I (9), pitch]; par.tree_chart = [number of rows kept, which rows, ...].
Scratch: par.tree_gradients[r], par.tree_matrix, par.tree_multipliers, par.tree_applied[i] (forces on the nodes).
"""

from __future__ import annotations

import math

from ..linkages.joints import DOT, PLANE, POINT, SCREW
from .kernels import respond
from .motion import APPLIED, TAU, XDOT, R, V, W, cross, turned

# par.tree_closures[k]
IMAGE_PLACE = 2
ANGLE_PLACE = 3
SHIFT_PLACE = 4
CLOSURES = 5

# par.tree_gradients[r]: f_I, t_I, f_J, t_J, then
GAMMA = 12
VALUE = 13
WIDTH = 14


def direction_in_child(z, k, which, par):
    """The image, in space, of a direction of the triad of joint k: Q_J image^-1 u."""
    m = par.tree_closures[k, IMAGE_PLACE]
    u = par.tree_closure_data[k, 6 + 3 * which : 9 + 3 * which]
    a = z[m]
    b = -z[m + 1]
    c = -z[m + 2]
    d = -z[m + 3]
    t1 = 2.0 * (c * u[2] - d * u[1])
    t2 = 2.0 * (d * u[0] - b * u[2])
    t3 = 2.0 * (b * u[1] - c * u[0])
    return turned(
        par.tree_nodes[par.tree_closures[k, 1]],
        u[0] + a * t1 + (c * t3 - d * t2), u[1] + a * t2 + (d * t1 - b * t3), u[2] + a * t3 + (b * t2 - c * t1),
    )  # fmt: skip


def turn_of(z, k, par):
    """The angle about the axis of joint k, with the full turns of the one that stands in z."""
    n = par.tree_nodes[par.tree_closures[k, 0]]
    data = par.tree_closure_data[k]
    x1, x2, x3 = direction_in_child(z, k, 1, par)
    u1, u2, u3 = turned(n, data[9], data[10], data[11])
    w1, w2, w3 = turned(n, data[12], data[13], data[14])
    angle = math.atan2(w1 * x1 + w2 * x2 + w3 * x3, u1 * x1 + u2 * x2 + u3 * x3)
    return angle + 2.0 * math.pi * math.floor((z[par.tree_closures[k, ANGLE_PLACE]] - angle) / (2.0 * math.pi) + 0.5)


def write_row(z, r, par, row):
    """f_I, t_I, f_J, t_J, gamma and Phi of row r."""
    kind = par.tree_rows[r, 0]
    first = par.tree_rows[r, 1]
    k = par.tree_rows[r, 3]
    n = par.tree_nodes[par.tree_closures[k, 0]]
    m = par.tree_nodes[par.tree_closures[k, 1]]
    data = par.tree_closure_data[k]
    o1 = n[W]
    o2 = n[W + 1]
    o3 = n[W + 2]
    w1 = m[W]
    w2 = m[W + 1]
    w3 = m[W + 2]
    for l in range(WIDTH):
        row[l] = 0.0
    u1, u2, u3 = turned(n, data[6 + 3 * first], data[7 + 3 * first], data[8 + 3 * first])
    if kind == DOT:
        x1, x2, x3 = direction_in_child(z, k, par.tree_rows[r, 2], par)
        t1, t2, t3 = cross(u1, u2, u3, x1, x2, x3)
        a1, a2, a3 = cross(o1, o2, o3, u1, u2, u3)
        b1, b2, b3 = cross(a1, a2, a3, x1, x2, x3)
        a1, a2, a3 = cross(w1, w2, w3, x1, x2, x3)
        c1, c2, c3 = cross(u1, u2, u3, a1, a2, a3)
        row[GAMMA] = (o1 - w1) * (b1 + c1) + (o2 - w2) * (b2 + c2) + (o3 - w3) * (b3 + c3)
        row[VALUE] = u1 * x1 + u2 * x2 + u3 * x3
        row[3] = t1
        row[4] = t2
        row[5] = t3
        row[9] = -t1
        row[10] = -t2
        row[11] = -t3
        return
    a1, a2, a3 = turned(n, data[0], data[1], data[2])
    b1, b2, b3 = turned(m, data[3], data[4], data[5])
    if kind == POINT:
        u1 = 1.0 if first == 0 else 0.0
        u2 = 1.0 if first == 1 else 0.0
        u3 = 1.0 if first == 2 else 0.0
    x1, x2, x3 = cross(o1, o2, o3, a1, a2, a3)
    y1, y2, y3 = cross(w1, w2, w3, b1, b2, b3)
    c1, c2, c3 = cross(o1, o2, o3, x1, x2, x3)
    d1, d2, d3 = cross(w1, w2, w3, y1, y2, y3)
    gamma = u1 * (d1 - c1) + u2 * (d2 - c2) + u3 * (d3 - c3)
    row[0] = -u1
    row[1] = -u2
    row[2] = -u3
    row[3], row[4], row[5] = cross(u1, u2, u3, a1, a2, a3)
    row[6] = u1
    row[7] = u2
    row[8] = u3
    row[9], row[10], row[11] = cross(b1, b2, b3, u1, u2, u3)
    d1 = m[R] + b1 - n[R] - a1
    d2 = m[R + 1] + b2 - n[R + 1] - a2
    d3 = m[R + 2] + b3 - n[R + 2] - a3
    row[VALUE] = u1 * d1 + u2 * d2 + u3 * d3
    if kind >= PLANE:
        t1, t2, t3 = cross(u1, u2, u3, d1, d2, d3)
        row[3] += t1
        row[4] += t2
        row[5] += t3
        c1, c2, c3 = cross(o1, o2, o3, u1, u2, u3)
        gamma += 2.0 * c1 * (m[V] + y1 - n[V] - x1)
        gamma += 2.0 * c2 * (m[V + 1] + y2 - n[V + 1] - x2)
        gamma += 2.0 * c3 * (m[V + 2] + y3 - n[V + 2] - x3)
        if kind == SCREW:
            pitch = data[15]
            row[VALUE] -= z[par.tree_closures[k, SHIFT_PLACE]] + pitch * turn_of(z, k, par)
            gamma -= pitch * (c1 * (w1 - o1) + c2 * (w2 - o2) + c3 * (w3 - o3))
            row[3] += pitch * u1
            row[4] += pitch * u2
            row[5] += pitch * u3
            row[9] -= pitch * u1
            row[10] -= pitch * u2
            row[11] -= pitch * u3
        c1, c2, c3 = cross(o1, o2, o3, c1, c2, c3)
        gamma += c1 * d1 + c2 * d2 + c3 * d3
    row[GAMMA] = gamma


def along_row(r, row, at, par):
    """The row applied to the velocities (at = V) or the accelerations (at = XDOT)."""
    k = par.tree_rows[r, 3]
    n = par.tree_nodes[par.tree_closures[k, 0]]
    m = par.tree_nodes[par.tree_closures[k, 1]]
    total = 0.0
    for l in range(6):
        total += row[l] * n[at + l] + row[6 + l] * m[at + l]
    return total


def pull_along(r, row, strength, par):
    """The force of a multiplier."""
    k = par.tree_rows[r, 3]
    n = par.tree_nodes[par.tree_closures[k, 0]]
    m = par.tree_nodes[par.tree_closures[k, 1]]
    for l in range(6):
        n[APPLIED + l] -= strength * row[l]
        m[APPLIED + l] -= strength * row[6 + l]


def respond_with_loops(z, par):
    """Multipliers such that the rows kept have no acceleration, then the response to everything."""
    count = par.tree_chart[0]
    kept = par.tree_chart[1 : 1 + count]
    w = par.tree_matrix
    b = par.tree_multipliers
    respond(par, 1.0)
    if count == 0:
        return
    for i in range(count):
        row = par.tree_gradients[kept[i]]
        write_row(z, kept[i], par, row)
        b[i] = -(row[GAMMA] + along_row(kept[i], row, XDOT, par))
    put_forces_aside(par)
    for i in range(count):
        row = par.tree_gradients[kept[i]]
        pull_along(kept[i], row, 1.0, par)
        respond(par, 0.0)
        for j in range(count):
            w[count * j + i] = along_row(kept[j], par.tree_gradients[kept[j]], XDOT, par)
        pull_along(kept[i], row, -1.0, par)
    factorise(w, count)
    substitute_back(w, count, b)
    for i in range(par.tree_links.shape[0]):
        for l in range(6):
            par.tree_nodes[i, APPLIED + l] = par.tree_applied[i, l]
        for l in range(3):
            par.tree_nodes[i, TAU + l] = par.tree_applied[i, 6 + l]
    for i in range(count):
        pull_along(kept[i], par.tree_gradients[kept[i]], b[i], par)
    respond(par, 1.0)


def put_forces_aside(par):
    """Keep the forces on the nodes while unit multipliers act."""
    for i in range(par.tree_links.shape[0]):
        for l in range(6):
            par.tree_applied[i, l] = par.tree_nodes[i, APPLIED + l]
            par.tree_nodes[i, APPLIED + l] = 0.0
        for l in range(3):
            par.tree_applied[i, 6 + l] = par.tree_nodes[i, TAU + l]
            par.tree_nodes[i, TAU + l] = 0.0


def twist_about_axis(c, torque, par):
    """A torque about the axis of the joint that closes loop c, on its child and against its parent; returns the rate of turning about it."""
    n = par.tree_nodes[par.tree_closures[c, 0]]
    m = par.tree_nodes[par.tree_closures[c, 1]]
    data = par.tree_closure_data[c]
    u1, u2, u3 = turned(n, data[6], data[7], data[8])
    n[APPLIED + 3] += torque * u1
    n[APPLIED + 4] += torque * u2
    n[APPLIED + 5] += torque * u3
    m[APPLIED + 3] -= torque * u1
    m[APPLIED + 4] -= torque * u2
    m[APPLIED + 5] -= torque * u3
    return u1 * (m[W] - n[W]) + u2 * (m[W + 1] - n[W + 1]) + u3 * (m[W + 2] - n[W + 2])


def factorise(w, n):
    """The lower triangle of a positive definite matrix becomes its Cholesky factor."""
    for i in range(n):
        for j in range(i + 1):
            total = w[i * n + j]
            for k in range(j):
                total -= w[i * n + k] * w[j * n + k]
            w[i * n + j] = math.sqrt(total) if i == j else total / w[j * n + j]


def substitute_back(w, n, b):
    """b becomes the solution of L L^T x = b, L the lower triangle of w."""
    for i in range(n):
        for j in range(i):
            b[i] -= w[i * n + j] * b[j]
        b[i] /= w[i * n + i]
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            b[i] -= w[j * n + i] * b[j]
        b[i] /= w[i * n + i]
