"""Kernels that write the Newton matrix of one joint, with the torsion on it, into a small dense block.

Unknowns of a body: position, turn (in the body), velocity, angular velocity; without the last two in the published step. The rows
and columns of a block are those of the child, then one for each multiplier, then those of the parent; the last column is minus the
residual. Equations of a body, in the order of its unknowns [gonzalez1999]:

    M (dr - Vbar) = f_V* G,   J (c - Wbar) = f_W* G,   M (V1 - V0) = h^2 F - Phi_r* L - f_r* G,   and the same for torques

in the published step only the last two. What multipliers do is affine in each part of the pair alone, so a difference over a
unit step in one part is its exact derivative.
"""

from ...kernel import slot
from .layout import Joint, Link, Pair, Scratch
from .rows import angle_parts, angle_torque, joint_wrench, over_sine, pair_at, products, row_values, turned_by

SMALL_TURN = 1e-5  # below it a difference quotient of a torsion is its derivative in the middle


@slot
def torsion_energy(theta, which, par):
    """V(theta) of torsion number `which`."""


@slot
def torsion_slope(theta, which, par):
    """dV/dtheta."""


@slot
def torsion_curvature(theta, which, par):
    """d^2V/dtheta^2."""


@slot
def angle_part(k, both, h, lam, par, t, width):
    """Add what depends on the angle of joint k to its block."""


def no_angle(k, both, h, lam, par, t, width):
    """No angle matters."""


def turn_right_by_axis(q, axis):
    """Q += Q skew(e_axis) for nine numbers Q, row by row: the direction of a turn about an axis of the body."""
    m = (axis + 1) % 3
    n = (axis + 2) % 3
    for l in range(3):
        before = q[3 * l + m]
        q[3 * l + m] += q[3 * l + n]
        q[3 * l + n] -= before


def move_pair(c, change, parent):
    """Change one number of a pair by one: a turn of J or I, D, E, W_J or W_I; the column of the block it belongs to."""
    part = change // 3
    axis = change % 3
    if part == 0:
        turn_right_by_axis(c[9:18], axis)
        products(c)
        return 3 + axis
    if part == 1:
        turn_right_by_axis(c[0:9], axis)
        products(c)
        return parent + 3 + axis
    if part == 2:
        c[18 + axis] += 1.0
        products(c)
        return axis
    if part == 3:
        c[21 + axis] += 1.0
        return 6 + axis
    if part == 4:
        c[27 + axis] += 1.0
        return 9 + axis
    c[24 + axis] += 1.0
    return parent + 9 + axis


def deposit(out, base, sign, both, parent, column, t, width):
    """Put sign (out - base), a wrench of `joint_wrench`, into a column of the block t."""
    low = 6 * both
    for l in range(3):
        d = sign * (out[l] - base[l])
        t[(low + l) * width + column] = d
        t[(parent + low + l) * width + column] = -d
        t[(low + 3 + l) * width + column] = sign * (out[15 + l] - base[15 + l])
        t[(parent + low + 3 + l) * width + column] = sign * (out[12 + l] - base[12 + l])
        if both == 1:
            d = sign * (out[3 + l] - base[3 + l])
            t[l * width + column] = -d
            t[(parent + l) * width + column] = d
            t[(3 + l) * width + column] = -sign * (out[9 + l] - base[9 + l])
            t[(parent + 3 + l) * width + column] = -sign * (out[6 + l] - base[6 + l])


def note_worst(k, m, values, scratch):
    """Remember joint k if its rows are farther off than those of the joints before."""
    for r in range(m):
        if abs(values[r]) > scratch[Scratch.WORST + 1]:
            scratch[Scratch.WORST] = k
            scratch[Scratch.WORST + 1] = abs(values[r])


def joint_block(k, both, h, lam, par, t, width):
    """The block of joint k at the nodes of `par.node`, into t; lam are its multipliers now.

    Cases: the wrench as it is, for each multiplier alone, and with one number of the pair at the end changed by one.
    """
    joint = par.joint[k]
    first = par.link[k, Link.FIRST_ROW]
    end = par.link[k, Link.END_ROW]
    row = par.row[first:end]
    sort = par.row_sort[first:end]
    m = end - first
    size = 6 + 6 * both
    rows = m * (1 + both)
    parent = size + rows
    scratch = par.scratch
    a = scratch[Scratch.PAIR_A : Scratch.PAIR_A + Pair.WIDTH]
    b = scratch[Scratch.PAIR_B : Scratch.PAIR_B + Pair.WIDTH]
    c = scratch[Scratch.PAIR_C : Scratch.PAIR_C + Pair.WIDTH]
    unit = scratch[Scratch.UNIT : Scratch.UNIT + 12]
    out = scratch[Scratch.OUT : Scratch.OUT + 18]
    zero = scratch[Scratch.ZERO : Scratch.ZERO + 18]
    base = scratch[Scratch.BASE : Scratch.BASE + 18]
    values = scratch[Scratch.VALUES : Scratch.VALUES + 12]
    values_base = scratch[Scratch.VALUES_BASE : Scratch.VALUES_BASE + 12]
    for l in range((parent + size) * width):
        t[l] = 0.0
    pair_at(par.node[0], par.link[k, Link.PARENT], par.link[k, Link.CHILD], a)
    pair_at(par.node[1], par.link[k, Link.PARENT], par.link[k, Link.CHILD], b)
    for l in range(12):
        values_base[l] = 0.0
    for case in range(1 + rows + 9 * (1 + both)):
        change = case - 1 - rows
        for l in range(Pair.WIDTH):
            c[l] = b[l]
        for l in range(rows):
            unit[l] = lam[l]
        column = width - 1
        sign = -1.0
        reference = zero
        if case > 0:
            sign = 1.0
            column = size + case - 1
            if change < 0:
                for l in range(rows):
                    unit[l] = 0.0
                unit[case - 1] = 1.0
            else:
                column = move_pair(c, change, parent)
                reference = base
        joint_wrench(
            joint,
            row,
            sort,
            a,
            c,
            unit,
            both,
            scratch[Scratch.MEAN : Scratch.MEAN + Pair.WIDTH],
            scratch[Scratch.COEFFICIENTS : Scratch.OUT],
            out,
        )
        if change >= 0 or case == 0:
            row_values(joint, row, sort, c, values[0:6], values[6:12])
            for r in range(m):
                t[(size + r) * width + column] = sign * (values[r] - values_base[r])
                if both == 1:
                    t[(size + m + r) * width + column] = sign * (values[6 + r] - values_base[6 + r])
        deposit(out, reference, sign, both, parent, column, t, width)
        if case == 0:
            for l in range(18):
                base[l] = out[l]
            for l in range(12):
                values_base[l] = values[l]
            note_worst(k, m, values, scratch)
    for r in range(parent + size):  # D and E belong to the parent, too, with the other sign
        for l in range(3):
            t[r * width + parent + l] = -t[r * width + l]
            if both == 1:
                t[r * width + parent + 6 + l] = -t[r * width + 6 + l]
    if par.link[k, Link.HAS_ANGLE] == 1:
        angle_part(k, both, h, lam, par, t, width)


def torsion_mean(k, theta, d, h, par):
    """h^2 times the mean torque of the torsion of joint k while its angle goes from theta to theta + d, and its derivative by d."""
    which = par.link[k, Link.TORSION]
    if which < 0:
        return 0.0, 0.0
    damping = par.joint[k, Joint.DAMPING]
    if abs(d) < SMALL_TURN:
        slope = torsion_slope(theta + 0.5 * d, which, par)
        near = torsion_slope(theta + 0.5 * d + SMALL_TURN, which, par)
        return h * h * slope + h * damping * d, 0.5 * h * h * (near - slope) / SMALL_TURN + h * damping
    mean = (torsion_energy(theta + d, which, par) - torsion_energy(theta, which, par)) / d
    return h * h * mean + h * damping * d, h * h * (torsion_slope(theta + d, which, par) - mean) / d + h * damping


def angle_block(k, both, h, lam, par, t, width):
    """Add what depends on the angle of joint k: its torsion, and the advance of a screw."""
    m = par.link[k, Link.END_ROW] - par.link[k, Link.FIRST_ROW]
    size = 6 + 6 * both
    parent = size + m * (1 + both)
    turn_child = 6 * both + 3
    turn_parent = parent + turn_child
    a = par.scratch[Scratch.PAIR_A : Scratch.PAIR_A + Pair.WIDTH]
    b = par.scratch[Scratch.PAIR_B : Scratch.PAIR_B + Pair.WIDTH]
    c = par.scratch[Scratch.PAIR_C : Scratch.PAIR_C + Pair.WIDTH]
    pitch = par.joint[k, Joint.PITCH]
    u0, w0 = angle_parts(par.joint[k], a)
    u1, w1 = angle_parts(par.joint[k], b)
    d = turned_by(u0, w0, u1, w1)
    ratio, ratio_slope = over_sine(d)
    torque, torque_slope = torsion_mean(k, par.joint[k, Joint.THETA], d, h, par)
    if pitch != 0.0:
        torque -= pitch * lam[m - 1]
        t[(size + m - 1) * width + width - 1] += pitch * (par.joint[k, Joint.THETA] + d) + par.joint[k, Joint.SHIFT]
    u = 0.5 * (u0 + u1)
    w = 0.5 * (w0 + w1)
    n1, n2, n3 = angle_torque(par.joint[k], a, b, u, w)
    length = u1 * u1 + w1 * w1
    for l in range(3):
        n = (n1, n2, n3)[l]
        t[(turn_parent + l) * width + width - 1] -= torque * ratio * n
        t[(turn_child + l) * width + width - 1] += torque * ratio * n
        if pitch != 0.0:
            t[(turn_parent + l) * width + size + m - 1] -= pitch * ratio * n
            t[(turn_child + l) * width + size + m - 1] += pitch * ratio * n
    for part in range(2):
        for axis in range(3):
            for l in range(42):
                c[l] = b[l]
            column = 3 + axis
            if part == 0:
                turn_right_by_axis(c[9:18], axis)
            else:
                turn_right_by_axis(c[0:9], axis)
                column += parent
            products(c)
            u2, w2 = angle_parts(par.joint[k], c)
            du = u2 - u1
            dw = w2 - w1
            dtheta = (u1 * dw - w1 * du) / length
            p1, p2, p3 = angle_torque(par.joint[k], a, c, u, w)
            q1, q2, q3 = angle_torque(par.joint[k], a, b, 0.5 * du, 0.5 * dw)
            along = (torque_slope * ratio + torque * ratio_slope) * dtheta
            for l in range(3):
                change = (
                    torque * ratio * ((p1, p2, p3)[l] - (n1, n2, n3)[l] + (q1, q2, q3)[l]) + along * (n1, n2, n3)[l]
                )
                t[(turn_parent + l) * width + column] += change
                t[(turn_child + l) * width + column] -= change
            if pitch != 0.0:
                t[(size + m - 1) * width + column] -= pitch * dtheta
