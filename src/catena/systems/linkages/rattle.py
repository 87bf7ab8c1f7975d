"""Kernels of RATTLE for linked bodies: positions with multipliers at the start, velocities with multipliers at the end.

    M (dr - V0) = h^2 F(q0)/2 - Phi_r(q0) L,    Q0 (y+ - J W0) = torques at q0,    Phi(q1) = 0
    M (V1 - dr) = h^2 F(q1)/2 - Phi_r(q1) m,    Q1 (J W1 - y-) = torques at q1,    Phi_q(q1) (V1, W1) = 0
    y+- = (J c +- c x J c/2)/(1 + |c|^2/4),     Q1 = Q0 cay(c)

the Moser-Veselov step between half kicks, with the joints held at both levels [leimkuhler2004]. Velocities are taken times h. The
first line is solved by Newton's method, the second is linear.
"""

from ...geometry.quaternion import cayley, hold_length, turn_right
from ...kernel import slot
from ...summation import add
from ...views import OK, SINGULAR, STEP_TOO_LONG
from .blocks import deposit, move_pair, note_worst, torsion_slope
from .forces import between_points, load_values, point_tension, pull
from .layout import Joint, Link, Node, Pair, Scratch, Space, Tree
from .rows import angle_parts, angle_torque, cross, joint_wrench, pair_at, row_values, times, turned_by
from .steps import LARGEST_TURN, cayley_change, place, rank_check, unit, work_part


@slot
def velocity_correction(both, h, time, x, par):
    """The new velocities into par.delta; a status."""


def position_body(i, h, par, t, width, first):
    """Add the inertia of body i to the equations of the positions."""
    a = par.node[0, i]
    b = par.node[1, i]
    m = par.mass[i]
    for l in range(3):
        row = (first + l) * width
        t[row + first + l] += m
        t[row + width - 1] += m * (a[12 + l] - b[Node.MOVE + l]) + 0.5 * h * h * m * par.space[Space.GRAVITY + l]
    c1, c2, c3 = b[Node.TURN], b[Node.TURN + 1], b[Node.TURN + 2]
    j1, j2, j3 = par.moments[i, 0], par.moments[i, 1], par.moments[i, 2]
    k = 1.0 / (1.0 + 0.25 * (c1 * c1 + c2 * c2 + c3 * c3))
    y1, y2, y3 = cross(c1, c2, c3, j1 * c1, j2 * c2, j3 * c3)
    y1 = k * (j1 * c1 + 0.5 * y1)
    y2 = k * (j2 * c2 + 0.5 * y2)
    y3 = k * (j3 * c3 + 0.5 * y3)
    subtract_turned(a, y1 - j1 * a[15], y2 - j2 * a[16], y3 - j3 * a[17], first + 3, width - 1, t, width)
    for axis in range(3):
        w1, w2, w3 = unit(axis)
        d1, d2, d3 = cayley_change(c1, c2, c3, w1, w2, w3)
        u1, u2, u3 = cross(d1, d2, d3, j1 * c1, j2 * c2, j3 * c3)
        v1, v2, v3 = cross(c1, c2, c3, j1 * d1, j2 * d2, j3 * d3)
        along = 0.5 * (c1 * d1 + c2 * d2 + c3 * d3)
        d1 = k * (j1 * d1 + 0.5 * (u1 + v1) - along * y1)
        d2 = k * (j2 * d2 + 0.5 * (u2 + v2) - along * y2)
        d3 = k * (j3 * d3 + 0.5 * (u3 + v3) - along * y3)
        subtract_turned(a, -d1, -d2, -d3, first + 3, first + 3 + axis, t, width)


def velocity_body(i, h, par, t, width, first):
    """Add the inertia of body i to the equations of the velocities."""
    b = par.node[1, i]
    m = par.mass[i]
    for l in range(3):
        row = (first + l) * width
        t[row + first + l] += m
        t[row + width - 1] += m * b[Node.MOVE + l] + 0.5 * h * h * m * par.space[Space.GRAVITY + l]
    c1, c2, c3 = b[Node.TURN], b[Node.TURN + 1], b[Node.TURN + 2]
    j1, j2, j3 = par.moments[i, 0], par.moments[i, 1], par.moments[i, 2]
    k = 1.0 / (1.0 + 0.25 * (c1 * c1 + c2 * c2 + c3 * c3))
    y1, y2, y3 = cross(c1, c2, c3, j1 * c1, j2 * c2, j3 * c3)
    subtract_turned(
        b,
        -k * (j1 * c1 - 0.5 * y1),
        -k * (j2 * c2 - 0.5 * y2),
        -k * (j3 * c3 - 0.5 * y3),
        first + 3,
        width - 1,
        t,
        width,
    )
    subtract_turned(b, -j1, 0.0, 0.0, first + 3, first + 3, t, width)
    subtract_turned(b, 0.0, -j2, 0.0, first + 3, first + 4, t, width)
    subtract_turned(b, 0.0, 0.0, -j3, first + 3, first + 5, t, width)


def subtract_turned(node, k1, k2, k3, row, column, t, width):
    """Subtract Q k from a column."""
    for l in range(3):
        q = node[3 + 3 * l : 6 + 3 * l]
        t[(row + l) * width + column] -= q[0] * k1 + q[1] * k2 + q[2] * k3


def position_joint(k, both, h, lam, par, t, width):
    """The block of joint k in the equations of the positions."""
    rattle_joint(k, 0, h, lam, par, t, width)


def velocity_joint(k, both, h, lam, par, t, width):
    """The block of joint k in the equations of the velocities."""
    rattle_joint(k, 1, h, lam, par, t, width)


def rattle_joint(k, phase, h, lam, par, t, width):
    """Multipliers act with the gradients of Phi at the start (phase 0) or at the end (1); rows are Phi or f at the end."""
    joint = par.joint[k]
    first = par.link[k, Link.FIRST_ROW]
    end = par.link[k, Link.END_ROW]
    row = par.row[first:end]
    sort = par.row_sort[first:end]
    m = end - first
    parent = 6 + m
    scratch = par.scratch
    a = scratch[Scratch.PAIR_A : Scratch.PAIR_A + Pair.WIDTH]
    b = scratch[Scratch.PAIR_B : Scratch.PAIR_B + Pair.WIDTH]
    c = scratch[Scratch.PAIR_C : Scratch.PAIR_C + Pair.WIDTH]
    unit = scratch[Scratch.UNIT : Scratch.UNIT + 12]
    out = scratch[Scratch.OUT : Scratch.OUT + 18]
    values = scratch[Scratch.VALUES : Scratch.VALUES + 12]
    base = scratch[Scratch.VALUES_BASE : Scratch.VALUES_BASE + 12]
    for l in range((parent + 6) * width):
        t[l] = 0.0
    pair_at(par.node[phase], par.link[k, Link.PARENT], par.link[k, Link.CHILD], a)
    pair_at(par.node[1], par.link[k, Link.PARENT], par.link[k, Link.CHILD], b)
    for case in range(m):
        for l in range(m):
            unit[l] = 0.0
        unit[case] = 1.0
        joint_wrench(
            joint,
            row,
            sort,
            a,
            a,
            unit,
            0,
            scratch[Scratch.MEAN : Scratch.MEAN + Pair.WIDTH],
            scratch[Scratch.COEFFICIENTS : Scratch.OUT],
            out,
        )
        deposit(out, scratch[Scratch.ZERO : Scratch.ZERO + 18], 1.0, 0, parent, 6 + case, t, width)
    for l in range(12):
        base[l] = 0.0
    for case in range(10):
        for l in range(Pair.WIDTH):
            c[l] = b[l]
        column = width - 1
        sign = -1.0
        if case > 0:
            sign = 1.0
            column = move_pair(c, 9 * phase + case - 1, parent) - 6 * phase
        row_values(joint, row, sort, c, values[0:6], values[6:12])
        for r in range(m):
            t[(6 + r) * width + column] = sign * (values[6 * phase + r] - base[6 * phase + r])
        if case == 0:
            for l in range(12):
                base[l] = values[l]
            if phase == 0:
                note_worst(k, m, values, scratch)
    for r in range(m):
        for l in range(3):
            t[(6 + r) * width + parent + l] = -t[(6 + r) * width + l]
    if par.link[k, Link.HAS_ANGLE] == 1:
        rattle_angle(k, phase, h, a, b, c, par, t, width)
    if phase == 0:  # the multipliers so far
        for r in range(parent + 6):
            for l in range(m):
                t[r * width + width - 1] -= t[r * width + 6 + l] * lam[l]


def rattle_angle(k, phase, h, a, b, c, par, t, width):
    """Add the torsion of joint k, and the advance of a screw, to its block."""
    m = par.link[k, Link.END_ROW] - par.link[k, Link.FIRST_ROW]
    parent = 6 + m
    joint = par.joint[k]
    pitch = joint[Joint.PITCH]
    u, w = angle_parts(joint, a)
    n1, n2, n3 = angle_torque(joint, a, a, u, w)
    pair_at(par.node[0], par.link[k, Link.PARENT], par.link[k, Link.CHILD], c)
    u0, w0 = angle_parts(joint, c)
    u1, w1 = angle_parts(joint, b)
    d = turned_by(u0, w0, u1, w1)
    torque = 0.0
    if par.link[k, Link.TORSION] >= 0:
        torque = 0.5 * h * h * torsion_slope(joint[Joint.THETA] + phase * d, par.link[k, Link.TORSION], par)
    for l in range(3):
        n = (n1, n2, n3)[l]
        t[(parent + 3 + l) * width + width - 1] -= torque * n
        t[(3 + l) * width + width - 1] += torque * n
        if pitch != 0.0:
            t[(parent + 3 + l) * width + 5 + m] -= pitch * n
            t[(3 + l) * width + 5 + m] += pitch * n
    if pitch != 0.0 and phase == 0:
        last = 5 + m
        t[last * width + width - 1] += pitch * (joint[Joint.THETA] + d) + joint[Joint.SHIFT]
        for change in range(6):
            for l in range(Pair.WIDTH):
                c[l] = b[l]
            column = move_pair(c, change, parent)
            u2, w2 = angle_parts(joint, c)
            t[last * width + column] -= pitch * (u1 * (w2 - w1) - w1 * (u2 - u1)) / (u1 * u1 + w1 * w1)


def position_force(f, both, h, par, t, width, first, second):
    """Half a kick of force f at the start."""
    kick_points(f, 0, h, par, t, width, first, second)


def velocity_force(f, both, h, par, t, width, first, second):
    """Half a kick of force f at the end."""
    kick_points(f, 1, h, par, t, width, first, second)


def kick_points(f, phase, h, par, t, width, first, second):
    """Half a kick of force f at a node."""
    node = par.node[phase]
    d = par.scratch[Scratch.START_GAP : Scratch.START_GAP + 3]
    p = par.scratch[Scratch.START_GAP + 6 : Scratch.START_GAP + 18]
    s = between_points(f, node, par, d)
    a = 0.5 * h * h * point_tension(f, s, par)
    x = par.force[f, 0:3]
    y = par.force[f, 3:6]
    i = par.force_sort[f, 1]
    j = par.force_sort[f, 2]
    p[3], p[4], p[5] = times(node[i, 3:12], x[0], x[1], x[2])
    p[9], p[10], p[11] = times(node[j, 3:12], y[0], y[1], y[2])
    pull(t, width, width - 1, -a * d[0], -a * d[1], -a * d[2], p, 0, first, second)


def position_load(i, both, h, time, par, t, width, first):
    """Half a kick of the loads on body i at the start."""
    kick_loads(i, 0, h, time, par, t, width, first)


def velocity_load(i, both, h, time, par, t, width, first):
    """Half a kick of the loads on body i at the end."""
    kick_loads(i, 1, h, time + h, par, t, width, first)


def kick_loads(i, phase, h, time, par, t, width, first):
    """Half a kick of the loads on body i at a node."""
    f = par.tree[i, Tree.LOAD]
    value = par.scratch[Scratch.LOADED : Scratch.LOADED + 6]
    q = par.node[phase, i, 3:12]
    k = 0.5 * h * h
    while f >= 0:
        load_values(time, f, par, value)
        x = par.load[f, 6:9]
        a1, a2, a3 = times(q, x[0], x[1], x[2])
        c1, c2, c3 = cross(a1, a2, a3, value[0], value[1], value[2])
        row = first * width + width - 1
        t[row] += k * value[0]
        t[row + width] += k * value[1]
        t[row + 2 * width] += k * value[2]
        t[row + 3 * width] += k * (c1 + value[3])
        t[row + 4 * width] += k * (c2 + value[4])
        t[row + 5 * width] += k * (c3 + value[5])
        f = par.load_next[f]


def accept(z, e, h, par, x):
    """The state at the end of the step, if no body turns by more than a quarter turn; a status."""
    n = par.mass.shape[0]
    extra = 13 * n + 6 * par.link.shape[0]
    for i in range(n):
        c = x[6 * i + 3 : 6 * i + 6]
        if not c[0] * c[0] + c[1] * c[1] + c[2] * c[2] <= LARGEST_TURN:
            return STEP_TOO_LONG
    place(par, x)
    status = rank_check(par)
    if status != OK:
        return status
    for i in range(n):
        for l in range(12, 18):
            par.node[1, i, l] = 0.0
    if velocity_correction(0, h, z[extra], x, par) != 0:
        return SINGULAR
    work_part(z, e, h, z[extra], par)
    for i in range(n):
        a = par.node[0, i]
        new = par.delta[6 * i : 6 * i + 6]
        q = z[3 * n + 4 * i : 3 * n + 4 * i + 4]
        error = e[3 * n + 4 * i : 3 * n + 4 * i + 4]
        for l in range(3):
            add(z, e, 3 * i + l, x[6 * i + l])
            add(z, e, 7 * n + 3 * i + l, par.mass[i] * (new[l] - a[12 + l]) / h)
            add(z, e, 10 * n + 3 * i + l, par.moments[i, l] * (new[3 + l] - a[15 + l]) / h)
        q1, q2, q3, q4 = cayley(0.5 * x[6 * i + 3], 0.5 * x[6 * i + 4], 0.5 * x[6 * i + 5])
        turn_right(q, error, q1, q2, q3, q4)
        hold_length(q, error)
    add(z, e, extra, h)
    return OK
