"""Kernels that write the Newton matrix of one joint, with the torsion on it, into a small dense block.

Unknowns of a body: position, turn (in the body), velocity, angular velocity; without the last two in the published step. The rows
and columns of a block are those of the child, then one for each multiplier, then those of the parent; the last column is minus the
residual. Equations of a body, in the order of its unknowns [gonzalez1999]:

    M (dr - Vbar) = f_V* G,   J (c - Wbar) = f_W* G,   M (V1 - V0) = h^2 F - Phi_r* L - f_r* G,   and the same for torques

in the published step only the last two. What multipliers do is affine in each part of the pair alone, so a difference over a
unit step in one part is its exact derivative.
"""

from ....geometry.vectors import add, add_down, clear, copy, load3, negative, scaled, store_down, subtract
from ....kernels import elementary as math
from ....kernels.marks import Table, optional, slot
from ..layout import Joint, Link, Pair, Scratch, Values, Wrench
from .clock import torsion_energy
from .motors import has_motors, mean_push
from .rows import angle_parts, angle_torque, both_levels, pairs_of, products, turn_by, values_near, wrench_of

COLUMNS = Table(
    (3, 3, 0, 6, 9, 9)
)  # of its body, to which the parts of a pair belong: turns of J and I, D, E, W_J, W_I
SMALL_TURN = 1e-5  # below it a difference quotient of a torsion is its derivative in the middle


@slot
def torsion_slope(theta, which, par):
    """dV/dtheta."""


@slot
def torsion_curvature(theta, which, par):
    """d^2V/dtheta^2."""


@optional
def angle_part(k, h, lam, a, b, c, par, t, width):
    """Add what depends on the angle of joint k, with the pairs a and b at both nodes, to its block; c is room for a pair."""


def turn_right_by_axis(q, axis):
    """Q += Q skew(e_axis) for nine numbers Q, row by row: the direction of a turn about an axis of the body."""
    m = (axis + 1) % 3
    n = (axis + 2) % 3
    for l in range(3):
        before = q[3 * l + m]
        q[3 * l + m] += q[3 * l + n]
        q[3 * l + n] -= before


def move_pair(c, change, parent):
    """Change one number of a pair by one, in the order of COLUMNS; the column of the block it belongs to."""
    part = change // 3
    axis = change % 3
    if part == 0:
        turn_right_by_axis(c[Pair.CHILD_AXES :], axis)
    elif part == 1:
        turn_right_by_axis(c[Pair.PARENT_AXES :], axis)
    else:
        c[Pair.GAP + change - 6] += 1.0
    if part < 3:
        products(c)
    return COLUMNS[part] + axis + (parent if part == 1 or part == 5 else 0)


def deposit(sign, parent, column, t, width, scratch):
    """Put sign times what a wrench of a joint has changed by into a column of the block t."""
    low = 6 * both_levels()
    gap = scaled(sign, change(Wrench.ON_GAP, scratch))
    store_down(t, low * width + column, width, gap)
    store_down(t, (low + 3) * width + column, width, scaled(sign, change(Wrench.CHILD_TORQUE, scratch)))
    store_down(t, (parent + low) * width + column, width, negative(gap))
    store_down(t, (parent + low + 3) * width + column, width, scaled(sign, change(Wrench.PARENT_TORQUE, scratch)))
    if both_levels():
        speed = scaled(sign, change(Wrench.ON_SPEED, scratch))
        store_down(t, column, width, negative(speed))
        store_down(t, 3 * width + column, width, scaled(-sign, change(Wrench.ON_CHILD_SPIN, scratch)))
        store_down(t, parent * width + column, width, speed)
        store_down(t, (parent + 3) * width + column, width, scaled(-sign, change(Wrench.ON_PARENT_SPIN, scratch)))


def change(at, scratch):
    """What a vector of the scratch OUT has changed by from that of BASE."""
    return subtract(load3(scratch, Scratch.OUT + at), load3(scratch, Scratch.BASE + at))


def note_residual(k, residual, scratch):
    """Remember joint k if this equation of it is farther off than all before."""
    if abs(residual) > scratch[Scratch.WORST + 1]:
        scratch[Scratch.WORST] = k
        scratch[Scratch.WORST + 1] = abs(residual)


def unit_wrench(k, case, a, b, par):
    """`wrench_of` for multiplier number `case` alone."""
    unit = par.scratch[Scratch.UNIT : Scratch.UNIT + Values.WIDTH]
    clear(unit, Values.WIDTH)
    unit[case] = 1.0
    wrench_of(k, a, b, unit, par)


def joint_block(k, h, lam, par, t, width):
    """The block of joint k at the nodes of `par.node`, into t; lam are its multipliers now.

    Cases: the wrench for each multiplier alone, as it is, and with one number of the pair at the end changed by one.
    """
    m = par.link[k, Link.END_ROW] - par.link[k, Link.FIRST_ROW]
    size = 6 + 6 * both_levels()
    rows = m * (1 + both_levels())
    parent = size + rows
    scratch = par.scratch
    a, b, c = pairs_of(k, par.node[0], par)
    clear(t, (parent + size) * width)
    keep_nothing(scratch)
    for case in range(rows):
        unit_wrench(k, case, a, b, par)
        deposit(1.0, parent, size + case, t, width, scratch)
    for change in range(-1, 9 * (1 + both_levels())):
        copy(b, c, Pair.WIDTH)
        column = width - 1
        if change >= 0:
            column = move_pair(c, change, parent)
        sign = 1.0 if change >= 0 else -1.0
        wrench_of(k, a, c, lam, par)
        deposit(sign, parent, column, t, width, scratch)
        values_near(k, b, c, par)
        for level in range(1 + both_levels()):
            deposit_values(m, Values.RATE * level, size + m * level, column, sign, scratch, t, width)
        if change < 0:
            keep(k, m, scratch)
    for r in range(parent + size):  # D and E belong to the parent, too, with the other sign
        for at in range(0, size, 6):
            for l in range(at, at + 3):
                t[r * width + parent + l] = -t[r * width + l]
    if par.link[k, Link.HAS_ANGLE] == 1:
        angle_part(k, h, lam, a, b, c, par, t, width)


def keep_nothing(scratch):
    """Compare the next wrenches and values with nothing."""
    clear(scratch[Scratch.BASE :], Wrench.WIDTH + Values.WIDTH)


def keep(k, m, scratch):
    """Compare further wrenches and values of joint k with the last ones, and note the worst of its m rows."""
    copy(scratch[Scratch.OUT :], scratch[Scratch.BASE :], Wrench.WIDTH + Values.WIDTH)
    for r in range(m):
        note_residual(k, scratch[Scratch.VALUES + Values.PHI + r], scratch)


def deposit_values(m, start, row, column, sign, scratch, t, width):
    """Put sign times what m values from `start` on have changed by into a column of the block t, from `row` on."""
    for r in range(m):
        change = scratch[Scratch.VALUES + start + r] - scratch[Scratch.VALUES_BASE + start + r]
        t[(row + r) * width + column] = sign * change


def torsion_mean(k, theta, d, h, par):
    """h^2 times the mean of what resists the turn of joint k while its angle goes from theta to theta + d, and its derivative by d."""
    which = par.link[k, Link.TORSION]
    if which < 0:
        return 0.0, 0.0
    damping = par.joint[k, Joint.DAMPING]
    push = 0.0
    push_slope = 0.0
    if has_motors():
        push, push_slope = mean_push(which, theta, d, h, par)
    if abs(d) < SMALL_TURN:
        mean = torsion_slope(theta + 0.5 * d, which, par)
        near = torsion_slope(theta + 0.5 * d + SMALL_TURN, which, par)
        change = 0.5 * h * h * (near - mean) / SMALL_TURN
    else:
        mean = (torsion_energy(theta + d, which, par) - torsion_energy(theta, which, par)) / d
        change = h * h * (torsion_slope(theta + d, which, par) - mean) / d
    return h * h * mean + h * damping * d - push, change + h * damping - push_slope


def over_sine(d):
    """d / sin(d), and its derivative."""
    s = math.sin(d)
    if abs(s) < 0.05 and math.cos(d) > 0.0:
        t = s * s
        value = 1.0 + t * (1.0 / 6.0 + t * (3.0 / 40.0 + t * (15.0 / 336.0 + t * 105.0 / 3456.0)))
        return value, s * (1.0 / 3.0 + t * (3.0 / 10.0 + t * 15.0 / 56.0)) * math.cos(d)
    return d / s, (s - d * math.cos(d)) / (s * s)


def angle_block(k, h, lam, a, b, c, par, t, width):
    """Add what depends on the angle of joint k: its torsion, and the advance of a screw."""
    m = par.link[k, Link.END_ROW] - par.link[k, Link.FIRST_ROW]
    size = 6 + 6 * both_levels()
    parent = size + m * (1 + both_levels())
    advance = (size + m - 1) * width
    joint = par.joint[k]
    pitch = joint[Joint.PITCH]
    u0, w0 = angle_parts(joint, a)
    u1, w1 = angle_parts(joint, b)
    d = turn_by(u0, w0, u1, w1)
    ratio, ratio_slope = over_sine(d)
    torque, torque_slope = torsion_mean(k, joint[Joint.THETA], d, h, par)
    if pitch != 0.0:
        torque -= pitch * lam[m - 1]
        t[advance + width - 1] += pitch * (joint[Joint.THETA] + d) + joint[Joint.SHIFT]
    u = 0.5 * (u0 + u1)
    w = 0.5 * (w0 + w1)
    n = angle_torque(joint, a, b, u, w)
    add_couple(t, width - 1, parent, width, scaled(torque * ratio, n))
    if pitch != 0.0:
        add_couple(t, size + m - 1, parent, width, scaled(pitch * ratio, n))
    for change in range(6):
        copy(b, c, Pair.WIDTH)
        column = move_pair(c, change, parent)
        u2, w2 = angle_parts(joint, c)
        du = u2 - u1
        dw = w2 - w1
        dtheta = (u1 * dw - w1 * du) / (u1 * u1 + w1 * w1)
        moved = add(subtract(angle_torque(joint, a, c, u, w), n), angle_torque(joint, a, b, 0.5 * du, 0.5 * dw))
        along = (torque_slope * ratio + torque * ratio_slope) * dtheta
        add_couple(t, column, parent, width, negative(add(scaled(torque * ratio, moved), scaled(along, n))))
        if pitch != 0.0:
            t[advance + column] -= pitch * dtheta


def add_couple(t, column, parent, width, torque):
    """Add a torque on the child, and its opposite on the parent, to a column."""
    row = 6 * both_levels() + 3
    add_down(t, row * width + column, width, torque)
    add_down(t, (parent + row) * width + column, width, negative(torque))
