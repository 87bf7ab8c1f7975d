"""Tables of a sweep along a tree: what a body, with all that it carries, asks of its joint, and how that changes with its motion.

Published step: each joint must supply the force F and the torque T about its point,

    F_i = F(inertia, weight, loads of i) + sum F_k,     T_i = K_i - bbar x F_i + sum (abar_k x F_k + T_k)

and is free where nbar.T = 0 (hinge; nbar the mean of the axis at both ends) or T = 0 (ball joint): the published equations without
their multipliers [nielsen2013]. `recursion_levels` tells what both levels add. The table of a body holds (F, T), or (Gam, del, F, T), in
`rows` rows of rows + 2 numbers: derivatives by displacement and turn, or also by velocity and angular velocity, (in space) of the end
of that body; the wrench itself; what corrections beyond the joint add to it. Taken through a joint to the parent it stays
exact, as in the articulated-body method [featherstone1983].
"""

from ....geometry.vectors import (
    ZERO,
    add,
    add3,
    clear,
    cross,
    dot,
    load3,
    load_down,
    mean,
    negative,
    scaled,
    store3,
    subtract,
    sum_from,
)
from ....kernels import elementary as math
from ....kernels.marks import choice, optional, within
from ..layout import EQUATIONS, Joint, Link, Node, Scratch, Sweep, Tree, behind_change
from .blocks import note_residual, torsion_mean
from .particles import push_body
from .recursion_elimination import shift_torque
from .recursion_levels import hand_twist, hinge_twist, take_twist
from .rows import both_levels, to_space
from .solver import ground_forces, load_part
from .steps import cayley_change, residual_of_body, tangent_of_body

SMALL_ANGLE = 1e-4  # below it a series is exact


@choice
def acts_on_bodies():
    """1 if loads or forces of the ground act on bodies, else 0."""
    return 1


@choice
def particles_push():
    """1 if particles act on bodies, else 0."""
    return 0


@within
def mean_at(row, first):
    """Mean of a vector at the start of the step, at `first`, and at the end, behind it."""
    return mean(load3(row, first), load3(row, first + 3))


@within
def add_body(i, h, time, par, table, fresh):
    """Add the wrench of body i alone to its table, and its derivative in space if `fresh`."""
    rows = 6 + 6 * both_levels()
    t = par.block
    clear(t, rows)
    residual_of_body(i, h, par, t, 1, 0)
    for r in range(rows):
        table[(rows + 2) * r + rows] -= t[r]
    if fresh:
        tangent_of_body(i, 1, par, table, rows + 2, 0)
    if particles_push():  # without derivatives
        push_body(i, -h * h, par, table, (rows - 6) * (rows + 2) + rows, rows + 2)
    if acts_on_bodies():
        add_acting(i, h, time, par, table, fresh)


@within
def add_acting(i, h, time, par, table, fresh):
    """Loads and forces of the ground on body i, and their derivatives in space if `fresh`."""
    rows = 6 + 6 * both_levels()
    width = rows + 1
    t = par.block
    clear(t, rows * width)
    load_part(i, h, time, par, t, width, 0)
    ground_forces(i, h, par, t, width)
    for r in range(rows):
        table[(rows + 2) * r + rows] -= t[width * r + rows]
        if fresh:
            add_space_row(par.node[1, i], t, width * r, table, (rows + 2) * r)


@within
def add_space_row(b, t, first, table, to):
    """Derivatives by turn and angular velocity in the body, t, as such in space: dW = Q1^T dOm + W x Q1^T turn."""
    turn = load3(t, first + 3)
    if both_levels():
        spin = load3(t, first + 9)
        turn = add(turn, cross(spin, load3(b, Node.SPIN)))
        add3(table, to + 6, load3(t, first + 6))
        add3(table, to + 9, to_space(b, spin))
    add3(table, to, load3(t, first))
    add3(table, to + 3, to_space(b, turn))


@within
def turn_arm(table, own, sign, first):
    """Add the derivative of sign abar x F by a turn of the arm at own[first]: sign/2 (turn x a) x F."""
    rows = 6 + 6 * both_levels()
    width = rows + 2
    a = load3(own, first)
    f = scaled(0.5 * sign, load_down(table, (rows - 6) * width + rows, width))
    along = dot(a, f)
    for l in range(3):
        at = (rows - 3 + l) * width + 3
        add3(table, at, scaled(own[first + l], f))
        table[at + l] -= along


@within
def joint_equations(i, k, h, x, par, table, fresh):
    """The torque about joint k, which carries body i (and the twist), and what of it must vanish."""
    rows = 6 + 6 * both_levels()
    width = rows + 2
    force = (rows - 6) * width
    torque = (rows - 3) * width
    own = par.sweep[i]
    freedom = par.tree[i, Tree.FREEDOM]
    if both_levels():
        take_twist(i, k, par, table, fresh)
    shift_torque(table, negative(mean_at(own, Sweep.CHILD_ARM_START)), force, torque, width, fresh)
    if fresh:
        turn_arm(table, own, -1.0, Sweep.CHILD_ARM)
        rate = x[x.shape[0] // 2 + par.tree[i, Tree.UNKNOWN]] if freedom == 1 and both_levels() else 0.0
        carry(table, own, freedom, rate, par.sweep[par.link[k, Link.PARENT]])
    if freedom == 1:
        hinge_equations(i, k, h, x, par, table, fresh)
    elif freedom == 3:
        for at in range(3 * width, rows * width, 6 * width):
            for l in range(3):
                note_residual(k, table[at + width * l + rows], par.scratch)


@within
def hinge_equations(i, k, h, x, par, table, fresh):
    """T along the mean axis; with both levels first del along the axis, and then T + O_p x (Qb del) along the mean axis."""
    rows = 6 + 6 * both_levels()
    width = rows + 2
    torque = (rows - 3) * width
    last = width * (rows // 6 - 1)  # the equation of T
    own = par.sweep[i]
    equations = par.scratch[Scratch.EQUATIONS : Scratch.EQUATIONS + EQUATIONS]
    u = mean_at(own, Sweep.AXIS_START)
    f, g = ZERO, ZERO
    if both_levels():
        f, g = hinge_twist(i, k, u, par)
    for l in range(0 if fresh else rows, width):
        total = dot(u, load_down(table, torque + l, width))
        if both_levels():
            d = load_down(table, 3 * width + l, width)
            equations[l] = dot(f, d)
            total = sum_from(total, g, d)
        equations[last + l] = total
    acting, slope, by_parent = hinge_torque(k, h, x[par.tree[i, Tree.UNKNOWN]], par, own)
    equations[last + rows] += acting
    for at in range(rows, last + width, width):
        note_residual(k, equations[at], par.scratch)
    if fresh:
        _, _, COLUMNS, INVERSE, _ = behind_change(rows)
        for m in range(rows // 6):
            column = COLUMNS + rows * m
            total = dot(u, load3(own, column + rows - 3))
            if both_levels():
                d = load3(own, column + 3)
                own[INVERSE + m] = dot(f, d)
                total = sum_from(total, g, d)
            own[INVERSE + 2 * (rows // 6 - 1) + m] = total
        own[INVERSE + 2 * (rows // 6 - 1)] += slope
        # the mean axis turns with the parent
        turned = cross(load3(own, Sweep.AXIS), load_down(table, torque + rows, width))
        add3(equations, last + 3, add(scaled(0.5, turned), by_parent))


@optional
def hinge_torque(k, h, t, par, own):
    """What the torsion of hinge k adds to its equation; its derivatives by the angle and by the turn of the parent."""
    return 0.0, 0.0, ZERO


def torsion_torque(k, h, t, par, own):
    """(V1 - V0)/angle along the mean axis, as its work demands: times (angle/t) (1 - t c_p.N0/4)/(1 + |c_p|^2/4)."""
    above = load3(par.sweep[par.link[k, Link.PARENT]], Sweep.SPACE_TURN)
    n = load3(own, Sweep.AXIS_START)
    angle = 2.0 * math.atan(0.5 * t)
    torque, slope = torsion_mean(k, par.joint[k, Joint.THETA], angle, h, par)
    if abs(t) < SMALL_ANGLE:
        ratio, ratio_slope = 1.0 - angle * angle / 12.0, -angle / 6.0
    else:
        ratio = angle / t
        ratio_slope = (1.0 - ratio * (1.0 + 0.25 * t * t)) / t
    along = dot(above, n)
    k0 = 1.0 / (1.0 + 0.25 * dot(above, above))
    lever = k0 * (ratio - 0.25 * angle * along)
    k1 = -0.25 * torque * k0 * angle
    k2 = 0.25 * along * k1 - 0.5 * torque * lever
    by_parent = add(scaled(k1, subtract(n, scaled(0.5, cross(n, above)))), scaled(k2, above))
    return torque * lever, slope * lever + torque * k0 * (ratio_slope - 0.25 * along), by_parent


@within
def carry(table, own, freedom, rate, above):
    """The derivatives by the joint, into COLUMNS, and by the parent where the joint stays.

    A turn of the joint displaces the body by turn x (-b), one of the parent by turn x (a - b); in V = V_p + Om_p x a - Om x b
    arms turn, too, and the axis of a hinge turns with the parent. At a ball joint turn and angular velocity are those of the child,
    whatever the parent does, so that only the joint's point ties it to the parent.
    """
    rows = 6 + 6 * both_levels()
    _, _, COLUMNS, INVERSE, SPACE_SPIN = behind_change(rows)
    count = rows // 2
    a = load3(own, Sweep.PARENT_ARM)
    b = load3(own, Sweep.CHILD_ARM)
    n = load3(own, Sweep.AXIS)
    for level in range(rows // 6):
        for part in range(6):
            m = (rows + 2) * (6 * level + part)
            d = load3(table, m)
            carried = d
            v = ZERO
            by_spin = ZERO
            if both_levels():
                v = load3(table, m + 6)
                carried = add(d, cross(v, load3(above, SPACE_SPIN)))
                d = add(d, cross(v, load3(own, SPACE_SPIN)))
                by_spin = add(cross(v, b), load3(table, m + 9))
            by_turn = add(cross(d, b), load3(table, m + 3))
            if freedom == 3:
                to = (COLUMNS if part < 3 else INVERSE - 3 * count) + 3 * count * level + count * part
                store3(own, to, by_turn)
                if both_levels():
                    store3(own, to + 3, by_spin)
                continue
            if freedom == 1:
                own[COLUMNS + 6 * level + part] = dot(by_turn, n)
                if both_levels():
                    own[COLUMNS + rows + 6 * level + part] = dot(by_spin, n)
            by_parent = add(by_turn, cross(a, carried))
            if both_levels():
                by_parent = add(by_parent, scaled(rate, cross(n, by_spin)))
                store3(table, m + 9, add(by_spin, cross(a, v)))
            store3(table, m + 3, by_parent)


@within
def point_to_parent(table, own, above):
    """The derivatives by displacement (and velocity) of the joint's point in the parent, as those by the parent."""
    rows = 6 + 6 * both_levels()
    _, _, _, _, SPACE_SPIN = behind_change(rows)
    a = load3(own, Sweep.PARENT_ARM)
    for level in range(rows // 6):
        for axis in range(3):
            m = (rows + 2) * (6 * level + axis)
            d = load3(table, m)
            if both_levels():
                v = load3(table, m + 6)
                d = add(d, cross(v, load3(above, SPACE_SPIN)))
                store3(table, m + 9, cross(a, v))
            store3(table, m + 3, cross(a, d))


@within
def add_to_parent(i, k, par, table, below, fresh):
    """Add the table of body i, with the torque (and twist) about the parent's centre, to that of the parent."""
    rows = 6 + 6 * both_levels()
    width = rows + 2
    own = par.sweep[i]
    parent = par.link[k, Link.PARENT]
    if fresh and par.tree[i, Tree.FREEDOM] == 3:
        point_to_parent(table, own, par.sweep[parent])
    if both_levels():
        hand_twist(i, k, par, table, below, fresh)
    shift_torque(table, mean_at(own, Sweep.PARENT_ARM_START), (rows - 6) * width, (rows - 3) * width, width, fresh)
    if fresh:
        turn_arm(table, own, 1.0, Sweep.PARENT_ARM)
        add_columns(table, below, rows, 0)
    else:
        add_columns(table, below, rows, rows)


@within
def add_columns(table, below, rows, start):
    """Add F and T, and Gam, to those of the parent, in the columns from `start`."""
    width = rows + 2
    for r in range(rows):
        if not both_levels() or r < 3 or r >= 6:  # not del
            for l in range(width * r + start, width * (r + 1)):
                below[l] += table[l]


@within
def spread(i, x, par):
    """Correct what the joint that carries body i does; the correction of the body into CHANGE: displacement, turn (and velocities)."""
    rows = 6 + 6 * both_levels()
    STEP, _, _, _, SPACE_SPIN = behind_change(rows)
    own = par.sweep[i]
    at = par.tree[i, Tree.UNKNOWN]
    rate = x.shape[0] // 2 + at
    freedom = par.tree[i, Tree.FREEDOM]
    c = load3(own, Sweep.SPACE_TURN)
    if freedom == 6:
        store3(x, at + 3, add(c, cayley_change(negative(c), load3(own, Sweep.CHANGE + 3))))
        add3(x, at, load3(own, Sweep.CHANGE))
        if both_levels():
            add3(x, rate, load3(own, Sweep.CHANGE + 6))
            add3(x, rate + 3, load3(own, Sweep.CHANGE + 9))
        return
    above = par.sweep[par.link[par.tree[i, Tree.CARRIER], Link.PARENT]]
    arm = load3(own, Sweep.PARENT_ARM)
    turn = load3(above, Sweep.CHANGE + 3)
    swung = cross(turn, arm)
    point = add(swung, load3(above, Sweep.CHANGE))  # displacement of the joint's point, and its velocity
    speed = ZERO
    spin = ZERO
    if both_levels():
        spin = load3(above, Sweep.CHANGE + 9)
        speed = add(load3(above, Sweep.CHANGE + 6), cross(spin, arm))
        speed = add(speed, cross(load3(above, SPACE_SPIN), swung))
    add_step(own, above, point, speed, freedom)
    if freedom == 1:
        n = load3(own, Sweep.AXIS)
        if both_levels():
            spin = add(spin, add(scaled(own[STEP + 1], n), scaled(x[rate], cross(turn, n))))
            x[rate] += own[STEP + 1]
        turn = add(turn, scaled(own[STEP], n))
        x[at] += (1.0 + 0.25 * x[at] * x[at]) * own[STEP]
    elif freedom == 3:
        turn = load3(own, STEP)
        store3(x, at, add(c, cayley_change(negative(c), turn)))
        if both_levels():
            spin = load3(own, STEP + 3)
            add3(x, rate, spin)
    arm = load3(own, Sweep.CHILD_ARM)
    back = cross(turn, arm)
    store3(own, Sweep.CHANGE, subtract(point, back))
    store3(own, Sweep.CHANGE + 3, turn)
    if both_levels():
        store3(own, Sweep.CHANGE + 6, subtract(subtract(speed, cross(spin, arm)), cross(load3(own, SPACE_SPIN), back)))
        store3(own, Sweep.CHANGE + 9, spin)


@within
def add_step(own, above, point, speed, freedom):
    """Add to STEP what the correction of the parent, or of the joint's point in it, makes of the joint's."""
    rows = 6 + 6 * both_levels()
    STEP, GAIN, _, _, _ = behind_change(rows)
    if freedom == 1:
        for m in range(rows // 6):
            for l in range(rows):
                own[STEP + m] += own[GAIN + rows * m + l] * above[Sweep.CHANGE + l]
    elif freedom == 3:
        for m in range(rows // 2):
            g = GAIN + rows // 2 * m
            total = dot(load3(own, g), point)
            if both_levels():
                total = sum_from(total, load3(own, g + 3), speed)
            own[STEP + m] += total
