"""Joints that close loops: their rows at the level of accelerations, held by multipliers.

A row Phi = 0 of `joints` between nodes I and J has the rate Phidot = f_I.v_I + t_I.omega_I + f_J.v_J + t_J.omega_J, and
Phiddot = (the same of the accelerations) + gamma. With the response of the tree to unit multipliers the rows become W lambda = -b.
Rows may depend on others: W is positive semidefinite, a Cholesky factorisation with pivots finds its rank, and the smallest multipliers
are taken. Where the loop no longer closes exactly, dependent rows contradict each other a little; a choice among them would make the
accelerations jump with the choice.

par.tree_rows[r] = [kind, first, second, joint], par.tree_closures[k] = [node I, node J, place of the image in z],
par.tree_closure_data[k] = [points (6), triad of I (9), pitch]; par.tree_multipliers is scratch.
"""

from __future__ import annotations

import math

from ..linkages.joints import DOT, PLANE, POINT, SCREW
from .kernels import respond
from .motion import APPLIED, TAU, XDOT, R, V, W, cross, turned

RANK = 1e-11  # pivots below this part of the largest belong to dependent rows
WIDTH = 13  # of a row: f_I, t_I, f_J, t_J, gamma


def scratch(rows: int, nodes: int) -> int:
    """Length of par.tree_multipliers: the rows, W, b, spare for the solution, the forces on the nodes."""
    return rows * (WIDTH + rows + 4 + rows) + 9 * nodes


def direction_in_child(z, k, which, par):
    """The image, in space, of a direction of the triad of joint k: Q_J image^-1 u."""
    m = par.tree_closures[k, 2]
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


def write_row(z, r, par, row):
    """f_I, t_I, f_J, t_J and gamma of row r."""
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
        row[12] = (o1 - w1) * (b1 + c1) + (o2 - w2) * (b2 + c2) + (o3 - w3) * (b3 + c3)
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
    if kind >= PLANE:
        d1 = m[R] + b1 - n[R] - a1
        d2 = m[R + 1] + b2 - n[R + 1] - a2
        d3 = m[R + 2] + b3 - n[R + 2] - a3
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
            gamma -= pitch * (c1 * (w1 - o1) + c2 * (w2 - o2) + c3 * (w3 - o3))
            row[3] += pitch * u1
            row[4] += pitch * u2
            row[5] += pitch * u3
            row[9] -= pitch * u1
            row[10] -= pitch * u2
            row[11] -= pitch * u3
        c1, c2, c3 = cross(o1, o2, o3, c1, c2, c3)
        gamma += c1 * d1 + c2 * d2 + c3 * d3
    row[12] = gamma


def along_row(r, row, par):
    """The row applied to the accelerations."""
    k = par.tree_rows[r, 3]
    n = par.tree_nodes[par.tree_closures[k, 0]]
    m = par.tree_nodes[par.tree_closures[k, 1]]
    total = 0.0
    for l in range(6):
        total += row[l] * n[XDOT + l] + row[6 + l] * m[XDOT + l]
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
    """Multipliers such that all rows have no acceleration, then the response to everything."""
    count = par.tree_rows.shape[0]
    nodes = par.tree_links.shape[0]
    rows = par.tree_multipliers[0 : WIDTH * count]
    w = par.tree_multipliers[WIDTH * count : (WIDTH + count) * count]
    b = par.tree_multipliers[(WIDTH + count) * count : (WIDTH + count + 1) * count]
    spare = par.tree_multipliers[(WIDTH + count + 1) * count : (WIDTH + 2 * count + 4) * count]
    kept = par.tree_multipliers[(WIDTH + 2 * count + 4) * count :]  # the applied forces, while unit multipliers act
    respond(par, 1.0)
    for r in range(count):
        row = rows[WIDTH * r : WIDTH * r + WIDTH]
        write_row(z, r, par, row)
        b[r] = -(row[12] + along_row(r, row, par))
    for i in range(nodes):
        for l in range(6):
            kept[9 * i + l] = par.tree_nodes[i, APPLIED + l]
            par.tree_nodes[i, APPLIED + l] = 0.0
        for l in range(3):
            kept[9 * i + 6 + l] = par.tree_nodes[i, TAU + l]
            par.tree_nodes[i, TAU + l] = 0.0
    for r in range(count):
        row = rows[WIDTH * r : WIDTH * r + WIDTH]
        pull_along(r, row, 1.0, par)
        respond(par, 0.0)
        for s in range(count):
            w[count * s + r] = along_row(s, rows[WIDTH * s : WIDTH * s + WIDTH], par)
        pull_along(r, row, -1.0, par)
    solve_semidefinite(w, count, b, spare)
    for i in range(nodes):
        for l in range(6):
            par.tree_nodes[i, APPLIED + l] = kept[9 * i + l]
        for l in range(3):
            par.tree_nodes[i, TAU + l] = kept[9 * i + 6 + l]
    for r in range(count):
        pull_along(r, rows[WIDTH * r : WIDTH * r + WIDTH], b[r], par)
    respond(par, 1.0)


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


def solve_semidefinite(w, n, b, spare):
    """b becomes the least-squares solution of w x = b for a symmetric positive semidefinite w, the smallest one.

    Rows are scaled to a diagonal of ones (lengths and angles are mixed), then w = L L^T with the largest pivot first and as many
    columns in L as w has rank: x = L (L^T L)^-2 L^T b. spare: 3 n + n^2 numbers.
    """
    order = spare[0:n]
    scale = spare[n : 2 * n]
    for i in range(n):
        order[i] = i
        d = w[i * n + i]
        scale[i] = 1.0 / math.sqrt(d) if d > 0.0 else 0.0
    for i in range(n):
        b[i] *= scale[i]
        for j in range(n):
            w[i * n + j] *= scale[i] * scale[j]
    rank = n
    for k in range(n):
        m = k
        for i in range(k + 1, n):
            if w[i * n + i] > w[m * n + m]:
                m = i
        if not w[m * n + m] > RANK:
            rank = k
            break
        exchange(w, n, b, order, k, m)
        pivot = math.sqrt(w[k * n + k])
        w[k * n + k] = pivot
        for i in range(k + 1, n):
            w[i * n + k] /= pivot
        for i in range(k + 1, n):
            for j in range(k + 1, i + 1):
                w[i * n + j] -= w[i * n + k] * w[j * n + k]
                w[j * n + i] = w[i * n + j]
    if rank == n:
        substitute_back(w, n, n, b)
    else:
        g = spare[3 * n : 3 * n + n * n]
        found = spare[2 * n : 3 * n]
        for i in range(rank):
            found[i] = 0.0
            for k in range(i, n):
                found[i] += w[k * n + i] * b[k]
            for j in range(i + 1):
                total = 0.0
                for k in range(i, n):
                    total += w[k * n + i] * w[k * n + j]
                g[i * n + j] = total
        factorise(g, n, rank)
        substitute_back(g, n, rank, found)
        substitute_back(g, n, rank, found)
        for k in range(n):
            b[k] = 0.0
            for i in range(min(k + 1, rank)):
                b[k] += w[k * n + i] * found[i]
    found = spare[2 * n : 3 * n]
    for i in range(n):
        m = int(order[i])
        found[m] = scale[m] * b[i]
    for i in range(n):
        b[i] = found[i]


def factorise(g, n, rank):
    """The lower triangle of a positive definite matrix becomes its Cholesky factor; rows are n numbers apart."""
    for i in range(rank):
        for j in range(i + 1):
            total = g[i * n + j]
            for k in range(j):
                total -= g[i * n + k] * g[j * n + k]
            g[i * n + j] = math.sqrt(total) if i == j else total / g[j * n + j]


def substitute_back(w, n, rank, b):
    """b becomes the solution of L L^T x = b, L the lower triangle of w."""
    for i in range(rank):
        for j in range(i):
            b[i] -= w[i * n + j] * b[j]
        b[i] /= w[i * n + i]
    for i in range(rank - 1, -1, -1):
        for j in range(i + 1, rank):
            b[i] -= w[j * n + i] * b[j]
        b[i] /= w[i * n + i]


def exchange(w, n, b, order, k, m):
    """Exchange rows and columns k and m."""
    if k == m:
        return
    for j in range(n):
        kept = w[k * n + j]
        w[k * n + j] = w[m * n + j]
        w[m * n + j] = kept
    for j in range(n):
        kept = w[j * n + k]
        w[j * n + k] = w[j * n + m]
        w[j * n + m] = kept
    kept = b[k]
    b[k] = b[m]
    b[m] = kept
    kept = order[k]
    order[k] = order[m]
    order[m] = kept
