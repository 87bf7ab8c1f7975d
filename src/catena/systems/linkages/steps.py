"""Kernels of the conserving steps of linked bodies: unknowns, inertia, one Newton correction, the new state.

Unknowns x: for each body the increments dr (space) and c (Cayley vector in the body, Q1 = Q0 cay(c)) and, in the step with both
levels, h times the new velocity and angular velocity; then the multipliers of each joint. All velocities are taken times the step.

    published step:  Q1 = Q0 cay(c),  M (2 dr - 2 V0) = h^2 M g + ...,   Qb [2 J (c - W0) + c x J c] = torques,   Phi(q1) = 0
    both levels:     M (dr - Vbar), J (c - Wbar) by the second multiplier,  M (V1 - V0) = h^2 M g + ...,
                     Qb [J (W1 - W0) + c x J Wbar] = torques,   Phi(q1) = 0,  f(q1, V1, W1) = 0

with Qb the mean of the directors [nielsen2013, gonzalez1999].
"""

from ...geometry.quaternion import cayley, hold_length, rotation, turn_right
from ...kernel import size, slot
from ...summation import add
from ...views import OK, STEP_TOO_LONG
from .forces import between_points, load_values
from .layout import Force, ForceSort, Joint, Link, Node, Pair, RowSort, Scratch, Space, Tree
from .rows import angle_parts, cross, pair_at, times, turned_by

ROUNDING = 256.0 * 2.0**-52  # of positions and directors, with what adds up along a chain
LARGEST_TURN = 4.0  # of |c|^2: a quarter turn in one step; beyond it the root may be another one


@slot
def correction(both, h, time, x, par):
    """The Newton correction of x into par.delta; a status."""


@slot
def work_part(z, e, h, time, par):
    """Add to z the angles that matter, and what dampers and loads did, between the two nodes."""


def no_work(z, e, h, time, par):
    """No angle, damper or load."""


@size
def levels(par):
    """1 if positions and velocities are held, 0 if positions only."""
    return 1


@slot
def rank_part(par):
    """Choose the rows of loops that are independent."""


def all_rows(par):
    """Without loops all rows are independent."""


@slot
def rank_check(par):
    """OK if the rows that were left out hold at the end of the step, too."""


def nothing_left_out(par):
    """Without loops all rows are held."""
    return OK


def begin(z, h, par, x):
    """Prepare a step from z."""
    set_node(z, h, par)
    rank_part(par)


def set_node(z, h, par):
    """The node at the start of a step and its joints."""
    set_bodies(z, h, par)
    set_joints(z, par)


def set_bodies(z, h, par):
    """The bodies at the start of a step, and how far they reach."""
    reach = par.space[Space.ARM]
    for i in range(par.mass.shape[0]):
        set_body(z, h, i, par)
        for l in range(3):
            reach = max(reach, abs(par.node[0, i, l]))
    par.scratch[Scratch.REACH] = reach


def set_body(z, h, i, par):
    """Body i at the start of a step."""
    n = par.mass.shape[0]
    own = par.node[0, i]
    set_directors(z[3 * n + 4 * i : 3 * n + 4 * i + 4], own)
    for l in range(3):
        own[l] = z[3 * i + l]
        own[12 + l] = h * z[7 * n + 3 * i + l] / par.mass[i]
        own[15 + l] = h * z[10 * n + 3 * i + l] / par.moments[i, l]


def set_directors(q, own):
    """The directors of a node from its quaternion."""
    own[3], own[4], own[5], own[6], own[7], own[8], own[9], own[10], own[11] = rotation(q)


def set_joints(z, par):
    """Angles of the joints at the start of a step, and the images of their directions in their children."""
    n = par.mass.shape[0]
    joints = par.link.shape[0]
    for k in range(joints):
        image = z[13 * n + 4 * k : 13 * n + 4 * k + 4]
        r = rotation(image)
        for l in range(3):
            par.joint[k, Joint.AXIS_IMAGE + l] = (
                r[l] * par.joint[k, Joint.TRIAD + 0 + 0]
                + r[3 + l] * par.joint[k, Joint.TRIAD + 0 + 1]
                + r[6 + l] * par.joint[k, Joint.TRIAD + 0 + 2]
            )
            par.joint[k, Joint.SECOND_IMAGE + l] = (
                r[l] * par.joint[k, Joint.TRIAD + 3 + 0]
                + r[3 + l] * par.joint[k, Joint.TRIAD + 3 + 1]
                + r[6 + l] * par.joint[k, Joint.TRIAD + 3 + 2]
            )
        par.joint[k, Joint.THETA] = z[13 * n + 4 * joints + k]
        par.joint[k, Joint.SHIFT] = z[13 * n + 5 * joints + k]
        for row in range(par.link[k, Link.FIRST_ROW], par.link[k, Link.END_ROW]):
            which = par.row_sort[row, RowSort.IMAGE]
            if which >= 0:
                for l in range(3):
                    par.row[row, 3 + l] = (
                        r[l] * par.joint[k, Joint.TRIAD + 3 * which + 0]
                        + r[3 + l] * par.joint[k, Joint.TRIAD + 3 * which + 1]
                        + r[6 + l] * par.joint[k, Joint.TRIAD + 3 * which + 2]
                    )


def guess(par, x):
    """x of a motion without forces."""
    n = par.mass.shape[0]
    size = 6 + 6 * levels(par)
    for i in range(n):
        for l in range(3):
            v = par.node[0, i, 12 + l]
            w = par.node[0, i, 15 + l]
            x[size * i + l] = v
            x[size * i + 3 + l] = w
            if levels(par) == 1:
                x[size * i + 6 + l] = v
                x[size * i + 9 + l] = w
    for k in range(size * n, size * n + par.row.shape[0] * (1 + levels(par))):
        x[k] = 0.0


def place(par, x):
    """The node at the end of the step."""
    n = par.mass.shape[0]
    size = 6 + 6 * levels(par)
    for i in range(n):
        a = par.node[0, i]
        b = par.node[1, i]
        own = x[size * i : size * i + size]
        turned(a[3:12], own[3], own[4], own[5], b[3:12])
        for l in range(3):
            par.node[1, i, Node.TURN + l] = own[3 + l]
            b[Node.MOVE + l] = own[l]
            b[l] = a[l] + own[l]
            if levels(par) == 1:
                b[12 + l] = own[6 + l]
                b[15 + l] = own[9 + l]
            else:
                b[12 + l] = 2.0 * own[l] - a[12 + l]
                b[15 + l] = 2.0 * own[3 + l] - a[15 + l]


def turned(q, c1, c2, c3, out):
    """out = Q cay(c) = Q + Q (skew(c) + skew(c)^2/2)/(1 + |c|^2/4), nine numbers row by row."""
    k = 1.0 / (1.0 + 0.25 * (c1 * c1 + c2 * c2 + c3 * c3))
    for l in range(3):
        x1 = q[3 * l]
        x2 = q[3 * l + 1]
        x3 = q[3 * l + 2]
        # a row x of Q times skew(c) is x x c
        y1, y2, y3 = cross(x1, x2, x3, c1, c2, c3)
        z1, z2, z3 = cross(y1, y2, y3, c1, c2, c3)
        out[3 * l] = x1 + k * (y1 + 0.5 * z1)
        out[3 * l + 1] = x2 + k * (y2 + 0.5 * z2)
        out[3 * l + 2] = x3 + k * (y3 + 0.5 * z3)


def cayley_change(c1, c2, c3, w1, w2, w3):
    """Change of c for a turn w of the end, in the body: (1 + skew(c)/2 + c c^T/4) w; for c and w in space give -c."""
    d1, d2, d3 = cross(c1, c2, c3, w1, w2, w3)
    along = 0.25 * (c1 * w1 + c2 * w2 + c3 * w3)
    return w1 + 0.5 * d1 + along * c1, w2 + 0.5 * d2 + along * c2, w3 + 0.5 * d3 + along * c3


def unit(axis):
    """An axis of the body."""
    return 1.0 if axis == 0 else 0.0, 1.0 if axis == 1 else 0.0, 1.0 if axis == 2 else 0.0


def body_published(i, h, par, t, width, first):
    """Add the inertia of body i, published step."""
    residual_published(i, h, par, t, width, first)
    tangent_published(i, par, t, width, first)


def residual_published(i, h, par, t, width, first):
    """Add the inertia and weight of body i to the last column, published step."""
    a = par.node[0, i]
    b = par.node[1, i]
    m = par.mass[i]
    for l in range(3):
        t[(first + l) * width + width - 1] += (
            2.0 * m * (a[12 + l] - b[Node.MOVE + l]) + h * h * m * par.space[Space.GRAVITY + l]
        )
    k1, k2, k3 = mean_torque_published(par.moments[i], a, b)
    torque_residual(a, b, k1, k2, k3, first + 3, t, width)


def mean_torque_published(j, a, b):
    """2 J (c - W0) + c x J c, in the body."""
    c1, c2, c3 = b[Node.TURN], b[Node.TURN + 1], b[Node.TURN + 2]
    p1, p2, p3 = j[0] * c1, j[1] * c2, j[2] * c3
    k1, k2, k3 = cross(c1, c2, c3, p1, p2, p3)
    return k1 + 2.0 * (p1 - j[0] * a[15]), k2 + 2.0 * (p2 - j[1] * a[16]), k3 + 2.0 * (p3 - j[2] * a[17])


def tangent_published(i, par, t, width, first):
    """Add the derivative of the inertia of body i, published step."""
    a = par.node[0, i]
    b = par.node[1, i]
    j = par.moments[i]
    k1, k2, k3 = mean_torque_published(j, a, b)
    for axis in range(3):
        t[(first + axis) * width + first + axis] += 2.0 * par.mass[i]
        w1, w2, w3 = unit(axis)
        f1, f2, f3 = turn_published(j, a, b, k1, k2, k3, w1, w2, w3)
        column = first + 3 + axis
        t[(first + 3) * width + column] += f1
        t[(first + 4) * width + column] += f2
        t[(first + 5) * width + column] += f3


def turn_published(j, a, b, k1, k2, k3, w1, w2, w3):
    """Change of the torque Qb k, published step, for a turn w of the end in the body."""
    c1, c2, c3 = b[Node.TURN], b[Node.TURN + 1], b[Node.TURN + 2]
    d1, d2, d3 = cayley_change(c1, c2, c3, w1, w2, w3)
    u1, u2, u3 = cross(c1, c2, c3, j[0] * d1, j[1] * d2, j[2] * d3)
    v1, v2, v3 = cross(d1, d2, d3, j[0] * c1, j[1] * c2, j[2] * c3)
    d1 = 2.0 * j[0] * d1 + u1 + v1
    d2 = 2.0 * j[1] * d2 + u2 + v2
    d3 = 2.0 * j[2] * d3 + u3 + v3
    return turned_torque(a, b, k1, k2, k3, d1, d2, d3, w1, w2, w3)


def turned_torque(a, b, k1, k2, k3, d1, d2, d3, w1, w2, w3):
    """Change of Qb k for a change d of k and a turn w of the end: Qb d + Q1 (w x k)/2."""
    g1, g2, g3 = cross(w1, w2, w3, k1, k2, k3)
    f1, f2, f3 = times(a[3:12], d1, d2, d3)
    g1, g2, g3 = times(b[3:12], d1 + g1, d2 + g2, d3 + g3)
    return 0.5 * (f1 + g1), 0.5 * (f2 + g2), 0.5 * (f3 + g3)


def mean_times(a, b, x1, x2, x3):
    """Mean directors of two nodes of a body, times a vector of the body."""
    f1, f2, f3 = times(a[3:12], x1, x2, x3)
    g1, g2, g3 = times(b[3:12], x1, x2, x3)
    return 0.5 * (f1 + g1), 0.5 * (f2 + g2), 0.5 * (f3 + g3)


def torque_residual(a, b, k1, k2, k3, row, t, width):
    """Subtract Qb k from the last column."""
    for l in range(3):
        q = b[3 + 3 * l : 6 + 3 * l]
        p = a[3 + 3 * l : 6 + 3 * l]
        t[(row + l) * width + width - 1] -= 0.5 * ((q[0] + p[0]) * k1 + (q[1] + p[1]) * k2 + (q[2] + p[2]) * k3)


def body_two_level(i, h, par, t, width, first):
    """Add the inertia of body i, step with both levels."""
    residual_two_level(i, h, par, t, width, first)
    tangent_two_level(i, par, t, width, first)


def residual_two_level(i, h, par, t, width, first):
    """Add the inertia and weight of body i to the last column, step with both levels."""
    a = par.node[0, i]
    b = par.node[1, i]
    m = par.mass[i]
    last = width - 1
    for l in range(3):
        t[(first + l) * width + last] -= m * (b[Node.MOVE + l] - 0.5 * (a[12 + l] + b[12 + l]))
        t[(first + 3 + l) * width + last] -= par.moments[i, l] * (b[Node.TURN + l] - 0.5 * (a[15 + l] + b[15 + l]))
        t[(first + 6 + l) * width + last] -= m * (b[12 + l] - a[12 + l]) - h * h * m * par.space[Space.GRAVITY + l]
    k1, k2, k3 = mean_torque_two_level(par.moments[i], a, b)
    torque_residual(a, b, k1, k2, k3, first + 9, t, width)


def mean_torque_two_level(j, a, b):
    """J (W1 - W0) + c x J Wbar, in the body."""
    p1, p2, p3 = 0.5 * j[0] * (a[15] + b[15]), 0.5 * j[1] * (a[16] + b[16]), 0.5 * j[2] * (a[17] + b[17])
    k1, k2, k3 = cross(b[Node.TURN], b[Node.TURN + 1], b[Node.TURN + 2], p1, p2, p3)
    return k1 + j[0] * (b[15] - a[15]), k2 + j[1] * (b[16] - a[16]), k3 + j[2] * (b[17] - a[17])


def tangent_two_level(i, par, t, width, first):
    """Add the derivative of the inertia of body i, step with both levels."""
    a = par.node[0, i]
    b = par.node[1, i]
    j = par.moments[i]
    m = par.mass[i]
    k1, k2, k3 = mean_torque_two_level(j, a, b)
    for axis in range(3):
        row = (first + axis) * width
        t[row + first + axis] += m
        t[row + first + 6 + axis] -= 0.5 * m
        t[(first + 6 + axis) * width + first + 6 + axis] += m
        w1, w2, w3 = unit(axis)
        d1, d2, d3, f1, f2, f3 = turn_two_level(j, a, b, k1, k2, k3, w1, w2, w3, 0.0, 0.0, 0.0)
        for level in range(2):
            column = first + 3 + 6 * level + axis
            t[(first + 3) * width + column] += d1
            t[(first + 4) * width + column] += d2
            t[(first + 5) * width + column] += d3
            t[(first + 9) * width + column] += f1
            t[(first + 10) * width + column] += f2
            t[(first + 11) * width + column] += f3
            d1, d2, d3, f1, f2, f3 = spin_two_level(j, a, b, w1, w2, w3)


def turn_two_level(j, a, b, k1, k2, k3, w1, w2, w3, u1, u2, u3):
    """Change of J (c - Wbar) and of the torque Qb k, both levels, for a turn w of the end and a change u of W1, in the body."""
    d1, d2, d3 = cayley_change(b[Node.TURN], b[Node.TURN + 1], b[Node.TURN + 2], w1, w2, w3)
    p1, p2, p3 = 0.5 * j[0] * (a[15] + b[15]), 0.5 * j[1] * (a[16] + b[16]), 0.5 * j[2] * (a[17] + b[17])
    v1, v2, v3 = cross(d1, d2, d3, p1, p2, p3)
    g1, g2, g3 = spin_torque(j, b, u1, u2, u3)
    f1, f2, f3 = turned_torque(a, b, k1, k2, k3, v1 + g1, v2 + g2, v3 + g3, w1, w2, w3)
    return j[0] * (d1 - 0.5 * u1), j[1] * (d2 - 0.5 * u2), j[2] * (d3 - 0.5 * u3), f1, f2, f3


def spin_two_level(j, a, b, u1, u2, u3):
    """The same for a change u of W1 alone."""
    g1, g2, g3 = spin_torque(j, b, u1, u2, u3)
    f1, f2, f3 = mean_times(a, b, g1, g2, g3)
    return -0.5 * j[0] * u1, -0.5 * j[1] * u2, -0.5 * j[2] * u3, f1, f2, f3


def spin_torque(j, b, u1, u2, u3):
    """J u + c x J u/2, in the body."""
    e1, e2, e3 = j[0] * u1, j[1] * u2, j[2] * u3
    f1, f2, f3 = cross(b[Node.TURN], b[Node.TURN + 1], b[Node.TURN + 2], e1, e2, e3)
    return e1 + 0.5 * f1, e2 + 0.5 * f2, e3 + 0.5 * f3


def correct(z, h, par, x):
    """One Newton correction of x in place; its size, relative to the motion in the step, or -1 if there is none."""
    n = par.mass.shape[0]
    size = 6 + 6 * levels(par)
    time = z[13 * n + 6 * par.link.shape[0]]
    place(par, x)
    blame(par)
    par.scratch[Scratch.WORST] = -1.0
    par.scratch[Scratch.WORST + 1] = 0.0
    if correction(levels(par), h, time, x, par) != 0:
        return -1.0
    moved = 0.0
    twisted = 0.0
    scale = (
        h
        * h
        * (abs(par.space[Space.GRAVITY + 0]) + abs(par.space[Space.GRAVITY + 1]) + abs(par.space[Space.GRAVITY + 2]))
    )
    for i in range(n):
        own = x[size * i : size * i + size]
        d = par.delta[size * i : size * i + size]
        c1 = own[3]
        c2 = own[4]
        c3 = own[5]
        f1, f2, f3 = cross(c1, c2, c3, d[3], d[4], d[5])
        along = 0.25 * (c1 * d[3] + c2 * d[4] + c3 * d[5])
        d[3] += 0.5 * f1 + along * c1
        d[4] += 0.5 * f2 + along * c2
        d[5] += 0.5 * f3 + along * c3
        for l in range(size):
            own[l] += d[l]
            if (l // 3) % 2 == 0:
                if not abs(d[l]) <= moved:
                    moved = abs(d[l])
            elif not abs(d[l]) <= twisted:
                twisted = abs(d[l])
            scale = max(scale, abs(own[l]))
    for l in range(size * n, x.shape[0]):
        x[l] += par.delta[l]
    if not (moved < 1e300 and twisted < 1e300):
        return -1.0
    if is_noise(moved, twisted, par):
        return 0.0
    return max(moved, twisted) / scale if scale > 0.0 else 1.0


def is_noise(moved, twisted, par):
    """Whether a correction says nothing: the points of a joint cannot meet better than positions and directors are known."""
    reach = par.scratch[Scratch.REACH]
    return moved <= ROUNDING * reach and twisted <= ROUNDING * max(1.0, reach)


def accept(z, e, h, par, x):
    """The state at the end of the step, if no body turns by more than a quarter turn; a status."""
    n = par.mass.shape[0]
    joints = par.link.shape[0]
    size = 6 + 6 * levels(par)
    for i in range(n):
        c = x[size * i + 3 : size * i + 6]
        if not c[0] * c[0] + c[1] * c[1] + c[2] * c[2] <= LARGEST_TURN:
            return STEP_TOO_LONG
    place(par, x)
    status = rank_check(par)
    if status != OK:
        return status
    extra = 13 * n + 6 * joints
    work_part(z, e, h, z[extra], par)
    for i in range(n):
        own = x[size * i : size * i + size]
        b = par.node[1, i]
        a = par.node[0, i]
        for l in range(3):
            add(z, e, 3 * i + l, own[l])
            add(z, e, 7 * n + 3 * i + l, par.mass[i] * (b[12 + l] - a[12 + l]) / h)
            add(z, e, 10 * n + 3 * i + l, par.moments[i, l] * (b[15 + l] - a[15 + l]) / h)
        q1, q2, q3, q4 = cayley(0.5 * own[3], 0.5 * own[4], 0.5 * own[5])
        turn_right(z[3 * n + 4 * i : 3 * n + 4 * i + 4], e[3 * n + 4 * i : 3 * n + 4 * i + 4], q1, q2, q3, q4)
        hold_length(z[3 * n + 4 * i : 3 * n + 4 * i + 4], e[3 * n + 4 * i : 3 * n + 4 * i + 4])
    add(z, e, extra, h)
    return OK


def work_between_nodes(z, e, h, time, par):
    """Add to z the angles that matter, and what dampers and loads did, between the two nodes."""
    n = par.mass.shape[0]
    joints = par.link.shape[0]
    extra = 13 * n + 6 * joints
    for k in range(joints):
        if par.link[k, Link.HAS_ANGLE] == 1:
            pair_at(
                par.node[0],
                par.link[k, Link.PARENT],
                par.link[k, Link.CHILD],
                par.scratch[Scratch.PAIR_A : Scratch.PAIR_A + Pair.WIDTH],
            )
            pair_at(
                par.node[1],
                par.link[k, Link.PARENT],
                par.link[k, Link.CHILD],
                par.scratch[Scratch.PAIR_B : Scratch.PAIR_B + Pair.WIDTH],
            )
            u0, w0 = angle_parts(par.joint[k], par.scratch[Scratch.PAIR_A : Scratch.PAIR_A + Pair.WIDTH])
            u1, w1 = angle_parts(par.joint[k], par.scratch[Scratch.PAIR_B : Scratch.PAIR_B + Pair.WIDTH])
            d = turned_by(u0, w0, u1, w1)
            add(z, e, 13 * n + 4 * joints + k, d)
            if par.link[k, Link.TORSION] >= 0:
                add(z, e, extra + 1, -par.joint[k, Joint.DAMPING] * d * d / h)
    for f in range(par.force_sort.shape[0]):
        if par.force_sort[f, ForceSort.KIND] == 1:
            s0 = between_points(f, par.node[0], par, par.scratch[Scratch.START_GAP : Scratch.START_GAP + 3])
            s1 = between_points(f, par.node[1], par, par.scratch[Scratch.START_GAP + 3 : Scratch.START_GAP + 6])
            d = s1**0.5 - s0**0.5
            add(z, e, extra + 1, -par.force[f, Force.STIFFNESS] * d * d / h)
    for i in range(n):
        f = par.tree[i, Tree.LOAD]
        a = par.node[0, i]
        b = par.node[1, i]
        while f >= 0:
            load_values(time + 0.5 * h, f, par, par.scratch[Scratch.LOADED : Scratch.LOADED + 6])
            x = par.load[f, 6:9]
            p1, p2, p3 = times(a[3:12], x[0], x[1], x[2])
            r1, r2, r3 = times(b[3:12], x[0], x[1], x[2])
            c1, c2, c3 = times(
                a[3:12], par.node[1, i, Node.TURN + 0], par.node[1, i, Node.TURN + 1], par.node[1, i, Node.TURN + 2]
            )
            value = par.scratch[Scratch.LOADED : Scratch.LOADED + 6]
            add(z, e, extra + 2, value[0] * (b[Node.MOVE] + r1 - p1) + value[3] * c1)
            add(z, e, extra + 2, value[1] * (b[Node.MOVE + 1] + r2 - p2) + value[4] * c2)
            add(z, e, extra + 2, value[2] * (b[Node.MOVE + 2] + r3 - p3) + value[5] * c3)
            f = par.load_next[f]


def blame(par):
    """Remember the joint that was worst in the last correction that had numbers, for the message about a failed step."""
    if par.scratch[Scratch.WORST] >= 0.0:
        par.scratch[Scratch.BLAMED] = par.scratch[Scratch.WORST]
        par.scratch[Scratch.BLAMED + 1] = par.scratch[Scratch.WORST + 1]
