"""The published step in the joints' increments: the tables that a sweep along the tree works on.

Each joint must supply the force F and the torque T about its point,

    F_i = F(inertia, weight, loads of i) + sum F_k,     T_i = K_i - bbar x F_i + sum (abar_k x F_k + T_k)

and is free where nbar.T = 0 (hinge; nbar the mean of the axis at both ends) or T = 0 (ball joint): the published equations without
their multipliers [nielsen2013]. The table of a body holds (F, T) and its derivative by the displacement and turn (in space) of
the end of that body; taken through a joint to the parent it stays exact, as in the articulated-body method [featherstone1983].
"""

from ...kernel import within
from .layout import Link, Node, Scratch, Sweep, Tree, behind_change
from .recursion import (
    acted_upon,
    get,
    mean,
    note_residual,
    put,
    put_rate,
    shift_torque,
    turn_arm,
)
from .recursion_torsion import hinge_torque
from .rows import cross, times
from .solver import ground_forces, load_part
from .steps import cayley_change, mean_torque_published, residual_published, turn_published

ROW = 8  # numbers in a row of a table
FORCE, TORQUE = 0, 3 * ROW
RESIDUAL = 6  # column of the wrench; behind it what corrections add
STEP, GAIN, COLUMNS, INVERSE, _ = behind_change(6)


def guess(par, x):
    """x of a motion without forces."""
    par.scratch[Scratch.FACTORED] = 0.0
    for i in range(par.mass.shape[0]):
        put_rate(i, par, x, 0)


@within
def end_velocity(i, x, par):
    """Increments are means of the velocities at both ends times the step."""
    a = par.node[0, i]
    b = par.node[1, i]
    for l in range(3):
        b[12 + l] = 2.0 * b[Node.MOVE + l] - a[12 + l]
        b[15 + l] = 2.0 * b[Node.TURN + l] - a[15 + l]


@within
def add_body(i, h, time, par, table, fresh):
    """The wrench of body i alone, and its derivative in space if `fresh`."""
    a = par.node[0, i]
    b = par.node[1, i]
    t = par.block
    for r in range(6):
        t[r] = 0.0
    residual_published(i, h, par, t, 1, 0)
    for r in range(6):
        table[ROW * r + RESIDUAL] -= t[r]
    if fresh:
        j = par.moments[i]
        k1, k2, k3 = mean_torque_published(j, a, b)
        for l in range(3):
            table[ROW * l + l] += 2.0 * par.mass[i]
            w1, w2, w3 = get(b, Node.DIRECTORS + 3 * l)  # an axis of space in the body
            f1, f2, f3 = turn_published(j, a, b, k1, k2, k3, w1, w2, w3)
            table[TORQUE + 3 + l] += f1
            table[TORQUE + ROW + 3 + l] += f2
            table[TORQUE + 2 * ROW + 3 + l] += f3
    if acted_upon(par) == 1:
        add_acting(i, h, time, par, table, fresh)


@within
def add_acting(i, h, time, par, table, fresh):
    """Loads and forces of the ground on body i, and their derivatives in space if `fresh`."""
    q = par.node[1, i, 3:12]
    t = par.block
    for l in range(42):
        t[l] = 0.0
    load_part(i, 0, h, time, par, t, 7, 0)
    ground_forces(i, 0, h, par, t, 7)
    for r in range(6):
        table[ROW * r + RESIDUAL] -= t[7 * r + 6]
        if fresh:
            d1, d2, d3 = get(t, 7 * r + 3)  # by turns about the axes of the body
            for l in range(3):
                table[ROW * r + l] += t[7 * r + l]
                table[ROW * r + 3 + l] += d1 * q[3 * l] + d2 * q[3 * l + 1] + d3 * q[3 * l + 2]


@within
def joint_equations(i, k, h, x, par, table, fresh):
    """The torque about joint k, which carries body i, and what of it must vanish."""
    own = par.sweep[i]
    equations = par.scratch[Scratch.EQUATIONS : Scratch.EQUATIONS + 28]
    freedom = par.tree[i, Tree.FREEDOM]
    start = 0 if fresh else RESIDUAL
    m1, m2, m3 = mean(own, Sweep.CHILD_ARM_START)
    shift_torque(table, -m1, -m2, -m3, FORCE, TORQUE, ROW, fresh)
    if fresh:
        turn_arm(table, own, -1.0, Sweep.CHILD_ARM, FORCE, TORQUE, ROW)
        carry(table, own, freedom)
    if freedom == 1:
        u1, u2, u3 = mean(own, Sweep.AXIS_START)
        for l in range(start, ROW):
            equations[l] = u1 * table[TORQUE + l] + u2 * table[TORQUE + ROW + l] + u3 * table[TORQUE + 2 * ROW + l]
        torque, slope, p1, p2, p3 = hinge_torque(k, h, x[par.tree[i, Tree.UNKNOWN]], par, own)
        equations[RESIDUAL] += torque
        note_residual(k, equations[RESIDUAL], par.scratch)
        if fresh:  # the mean axis turns with the parent
            n1, n2, n3 = get(own, Sweep.AXIS)
            t = TORQUE + RESIDUAL
            g1, g2, g3 = cross(n1, n2, n3, table[t], table[t + ROW], table[t + 2 * ROW])
            equations[3] += 0.5 * g1 + p1
            equations[4] += 0.5 * g2 + p2
            equations[5] += 0.5 * g3 + p3
            own[INVERSE] = u1 * own[COLUMNS + 3] + u2 * own[COLUMNS + 4] + u3 * own[COLUMNS + 5] + slope
    elif freedom == 3:
        for r in range(3):
            note_residual(k, table[TORQUE + ROW * r + RESIDUAL], par.scratch)


@within
def carry(table, own, freedom):
    """The derivatives by the joint, into COLUMNS, and by the parent where the joint stays.

    A turn of the joint displaces the body by turn x (-b), one of the parent by turn x (a - b). At a ball joint the turn is that of the
    child, whatever the parent does, so that only the joint's point ties it to the parent.
    """
    a1, a2, a3 = get(own, Sweep.PARENT_ARM)
    b1, b2, b3 = get(own, Sweep.CHILD_ARM)
    n1, n2, n3 = get(own, Sweep.AXIS)
    for r in range(6):
        m = ROW * r
        d1, d2, d3 = get(table, m)
        f1, f2, f3 = cross(d1, d2, d3, b1, b2, b3)
        f1 += table[m + 3]
        f2 += table[m + 4]
        f3 += table[m + 5]
        if freedom == 3:
            put(own, (COLUMNS if r < 3 else INVERSE - 9) + 3 * r, (f1, f2, f3))
        else:
            if freedom == 1:
                own[COLUMNS + r] = f1 * n1 + f2 * n2 + f3 * n3
            g1, g2, g3 = cross(a1, a2, a3, d1, d2, d3)
            put(table, m + 3, (f1 + g1, f2 + g2, f3 + g3))


@within
def point_to_parent(table, own):
    """The derivative by the joint's point in the parent, as one by the parent: a turn moves the point by turn x a."""
    a1, a2, a3 = get(own, Sweep.PARENT_ARM)
    for r in range(3):
        d1, d2, d3 = get(table, ROW * r)
        put(table, ROW * r + 3, cross(a1, a2, a3, d1, d2, d3))


@within
def add_to_parent(i, k, par, table, below, fresh):
    """Add the table of body i, with the torque about the parent's centre, to that of the parent."""
    own = par.sweep[i]
    if fresh and par.tree[i, Tree.FREEDOM] == 3:
        point_to_parent(table, own)
    m1, m2, m3 = mean(own, Sweep.PARENT_ARM_START)
    shift_torque(table, m1, m2, m3, FORCE, TORQUE, ROW, fresh)
    if fresh:
        turn_arm(table, own, 1.0, Sweep.PARENT_ARM, FORCE, TORQUE, ROW)
        for l in range(6 * ROW):
            below[l] += table[l]
    else:
        for r in range(6):
            below[ROW * r + RESIDUAL] += table[ROW * r + RESIDUAL]
            below[ROW * r + RESIDUAL + 1] += table[ROW * r + RESIDUAL + 1]


@within
def spread(i, x, par):
    """Correct the increment of the joint that carries body i; the displacement and turn of the body into CHANGE."""
    own = par.sweep[i]
    at = par.tree[i, Tree.UNKNOWN]
    freedom = par.tree[i, Tree.FREEDOM]
    c1, c2, c3 = get(own, Sweep.SPACE_TURN)
    if freedom == 6:
        for l in range(3):
            x[at + l] += own[Sweep.CHANGE + l]
        f1, f2, f3 = get(own, Sweep.CHANGE + 3)
        d1, d2, d3 = cayley_change(-c1, -c2, -c3, f1, f2, f3)
        put(x, at + 3, (c1 + d1, c2 + d2, c3 + d3))
        return
    above = par.sweep[par.link[par.tree[i, Tree.CARRIER], Link.PARENT]]
    f1, f2, f3 = get(above, Sweep.CHANGE + 3)
    a1, a2, a3 = get(own, Sweep.PARENT_ARM)
    b1, b2, b3 = get(own, Sweep.CHILD_ARM)
    r1, r2, r3 = cross(f1, f2, f3, a1, a2, a3)
    p1, p2, p3 = (
        above[Sweep.CHANGE] + r1,
        above[Sweep.CHANGE + 1] + r2,
        above[Sweep.CHANGE + 2] + r3,
    )  # the joint's point
    if freedom == 1:
        d = own[STEP]
        for l in range(6):
            d += own[GAIN + l] * above[Sweep.CHANGE + l]
        n1, n2, n3 = get(own, Sweep.AXIS)
        f1 += d * n1
        f2 += d * n2
        f3 += d * n3
        x[at] += (1.0 + 0.25 * x[at] * x[at]) * d
    elif freedom == 3:
        f1, f2, f3 = times(own[GAIN : GAIN + 9], p1, p2, p3)
        f1 += own[STEP]
        f2 += own[STEP + 1]
        f3 += own[STEP + 2]
        d1, d2, d3 = cayley_change(-c1, -c2, -c3, f1, f2, f3)
        put(x, at, (c1 + d1, c2 + d2, c3 + d3))
    s1, s2, s3 = cross(f1, f2, f3, b1, b2, b3)
    put(own, Sweep.CHANGE, (p1 - s1, p2 - s2, p3 - s3))
    put(own, Sweep.CHANGE + 3, (f1, f2, f3))
