"""The step with both levels in the joints' increments and end velocities: the tables that a sweep along the tree works on.

For each joint u, next to its increment x: the rate of a hinge, the angular velocity (in space) of the child of a ball joint, the
velocities of a body that no joint carries, at the end of the step and times the step. Inwards over body i with children k and
parent p, gam and del in the axes of the body, E_k = (Q0_i^T Q0_k + Q1_i^T Q1_k)/2 [gonzalez1999]:

    Gam_i = M (dr - Vbar) + sum Gam_k,     gam_i = Qb^-1 Gam_i
    del_i = J (c - Wbar) - b x gam_i + sum [a_k x (E_k gam_k) + E_k del_k]             vanishes along a hinge, or wholly
    F_i = M (V1 - V0) - h^2 M g + sum F_k
    T_i = Qb [J (W1 - W0) + c x J Wbar] + Gam_i x rel_i - bbar x F_i + sum [abar_k x F_k - A_k x Gam_k + T_k]
    T_i + O_p x (Qb del_i)                                                             vanishes along a hinge, or wholly
    A_k = Qb_i (Wbar_i x a_k),   O_p = Qb_p Wbar_p,   rel_i = Vbar_i - Vbar_p - A_i

The table of a body holds (Gam, del, F, T) and its derivative by displacement, turn, velocity and angular velocity (in space) of the
end of that body. Left out of the derivative is what the small Gam and del would contribute, which vanish with the error
of the step.
"""

from ...kernel import within
from .layout import Joint, Link, Node, Scratch, Sweep, Tree, behind_change
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
from .rows import cross, times, transposed_times
from .solver import ground_forces, load_part
from .steps import cayley_change, mean_times, mean_torque_two_level, residual_two_level, spin_two_level, turn_two_level

ROW = 14  # numbers in a row of a table
DISPLACEMENT, TWIST, FORCE, TORQUE = 0, 3 * ROW, 6 * ROW, 9 * ROW  # Gam, del, F, T
RESIDUAL = 12  # column of the wrench; behind it what corrections add
STEP, GAIN, COLUMNS, INVERSE, SPACE_SPIN = behind_change(12)
TO_TWIST, TO_PARENT, TWIST_TO_PARENT = (
    Scratch.MAPS,
    Scratch.MAPS + 9,
    Scratch.MAPS + 18,
)  # (9 each) b x Qb^-1, a x (E Qb^-1), E


def guess(par, x):
    """x of a motion without forces."""
    par.scratch[Scratch.FACTORED] = 0.0
    for i in range(par.mass.shape[0]):
        put_rate(i, par, x, 0)
        put_rate(i, par, x, x.shape[0] // 2)


@within
def end_velocity(i, x, par):
    """What the joints' rates give to body i."""
    at = x.shape[0] // 2 + par.tree[i, Tree.UNKNOWN]
    freedom = par.tree[i, Tree.FREEDOM]
    own = par.sweep[i]
    b = par.node[1, i]
    k = par.tree[i, Tree.CARRIER]
    if k < 0:
        put(b, 12, get(x, at))
        w1, w2, w3 = get(x, at + 3)
    else:
        parent = par.link[k, Link.PARENT]
        e1, e2, e3 = get(par.sweep[parent], SPACE_SPIN)
        w1, w2, w3 = e1, e2, e3
        if freedom == 1:
            n1, n2, n3 = get(own, Sweep.AXIS)
            w1 += x[at] * n1
            w2 += x[at] * n2
            w3 += x[at] * n3
        elif freedom == 3:
            w1, w2, w3 = get(x, at)
        v1, v2, v3 = get(par.node[1, parent], 12)
        a1, a2, a3 = get(own, Sweep.PARENT_ARM)
        b1, b2, b3 = get(own, Sweep.CHILD_ARM)
        f1, f2, f3 = cross(e1, e2, e3, a1, a2, a3)
        g1, g2, g3 = cross(w1, w2, w3, b1, b2, b3)
        put(b, 12, (v1 + f1 - g1, v2 + f2 - g2, v3 + f3 - g3))
    put(own, SPACE_SPIN, (w1, w2, w3))
    put(b, 15, transposed_times(b[3:12], w1, w2, w3))


@within
def add_body(i, h, time, par, table, fresh):
    """The wrench of body i alone, and its derivative in space if `fresh`."""
    a = par.node[0, i]
    b = par.node[1, i]
    t = par.block
    for r in range(12):
        t[r] = 0.0
    residual_two_level(i, h, par, t, 1, 0)
    for r in range(12):
        table[ROW * r + RESIDUAL] -= t[r]
    if fresh:
        j = par.moments[i]
        m = par.mass[i]
        k1, k2, k3 = mean_torque_two_level(j, a, b)
        for l in range(3):
            table[DISPLACEMENT + ROW * l + l] += m
            table[DISPLACEMENT + ROW * l + 6 + l] -= 0.5 * m
            table[FORCE + ROW * l + 6 + l] += m
            w1, w2, w3 = get(
                b, Node.DIRECTORS + 3 * l
            )  # an axis of space in the body; a turn about it changes W by W x w, too
            u1, u2, u3 = cross(b[15], b[16], b[17], w1, w2, w3)
            d1, d2, d3, f1, f2, f3 = turn_two_level(j, a, b, k1, k2, k3, w1, w2, w3, u1, u2, u3)
            add_column(table, 3 + l, d1, d2, d3, f1, f2, f3)
            d1, d2, d3, f1, f2, f3 = spin_two_level(j, a, b, w1, w2, w3)
            add_column(table, 9 + l, d1, d2, d3, f1, f2, f3)
    if acted_upon(par) == 1:
        add_acting(i, h, time, par, table, fresh)


@within
def add_column(table, column, d1, d2, d3, f1, f2, f3):
    """Add changes of del and T to a column."""
    table[TWIST + column] += d1
    table[TWIST + ROW + column] += d2
    table[TWIST + 2 * ROW + column] += d3
    table[TORQUE + column] += f1
    table[TORQUE + ROW + column] += f2
    table[TORQUE + 2 * ROW + column] += f3


@within
def add_acting(i, h, time, par, table, fresh):
    """Loads and forces of the ground on body i, and their derivatives in space if `fresh`."""
    t = par.block
    for l in range(156):
        t[l] = 0.0
    load_part(i, 1, h, time, par, t, 13, 0)
    ground_forces(i, 1, h, par, t, 13)
    for r in range(12):
        table[ROW * r + RESIDUAL] -= t[13 * r + 12]
        if fresh:
            add_space_row(par.node[1, i], t, 13 * r, table, ROW * r)


@within
def add_space_row(b, t, first, table, to):
    """Derivatives by turn and angular velocity in the body, t, as such in space: dW = Q1^T dOm + W x Q1^T turn."""
    w1, w2, w3 = get(t, first + 9)
    f1, f2, f3 = cross(w1, w2, w3, b[15], b[16], b[17])
    f1, f2, f3 = times(b[3:12], t[first + 3] + f1, t[first + 4] + f2, t[first + 5] + f3)
    w1, w2, w3 = times(b[3:12], w1, w2, w3)
    for l in range(3):
        table[to + l] += t[first + l]
        table[to + 3 + l] += (f1, f2, f3)[l]
        table[to + 6 + l] += t[first + 6 + l]
        table[to + 9 + l] += (w1, w2, w3)[l]


@within
def set_maps(i, parent, joint, par):
    """How the joint that carries body i takes Gam and del to its point and to the parent."""
    q0 = par.node[0, i, 3:12]
    q1 = par.node[1, i, 3:12]
    p0 = par.node[0, parent, 3:12]
    p1 = par.node[1, parent, 3:12]
    c1, c2, c3 = get(par.node[1, i], Node.TURN)
    b1, b2, b3 = get(joint, Joint.CHILD_POINT)
    a1, a2, a3 = get(joint, Joint.PARENT_POINT)
    maps = par.scratch
    for r in range(3):
        for l in range(3):
            maps[TWIST_TO_PARENT + 3 * r + l] = 0.5 * (
                p0[r] * q0[l] + p0[3 + r] * q0[3 + l] + p0[6 + r] * q0[6 + l]
                + p1[r] * q1[l] + p1[3 + r] * q1[3 + l] + p1[6 + r] * q1[6 + l]
            )  # fmt: skip
    for l in range(3):  # columns of Qb^-1 = (1 - skew(c)/2) Q0^T
        g1, g2, g3 = get(q0, 3 * l)
        f1, f2, f3 = cross(c1, c2, c3, g1, g2, g3)
        g1 -= 0.5 * f1
        g2 -= 0.5 * f2
        g3 -= 0.5 * f3
        f1, f2, f3 = cross(b1, b2, b3, g1, g2, g3)
        maps[TO_TWIST + l] = f1
        maps[TO_TWIST + 3 + l] = f2
        maps[TO_TWIST + 6 + l] = f3
        g1, g2, g3 = times(maps[TWIST_TO_PARENT : TWIST_TO_PARENT + 9], g1, g2, g3)
        f1, f2, f3 = cross(a1, a2, a3, g1, g2, g3)
        maps[TO_PARENT + l] = f1
        maps[TO_PARENT + 3 + l] = f2
        maps[TO_PARENT + 6 + l] = f3


@within
def mean_spin(a, b):
    """Wbar of a body."""
    return 0.5 * (a[15] + b[15]), 0.5 * (a[16] + b[16]), 0.5 * (a[17] + b[17])


@within
def parent_arm_rate(parent, joint, par):
    """A = Qb (Wbar x a) of the parent."""
    w1, w2, w3 = mean_spin(par.node[0, parent], par.node[1, parent])
    a1, a2, a3 = get(joint, Joint.PARENT_POINT)
    f1, f2, f3 = cross(w1, w2, w3, a1, a2, a3)
    return mean_times(par.node[0, parent], par.node[1, parent], f1, f2, f3)


@within
def joint_equations(i, k, h, x, par, table, fresh):
    """Twist and torque at joint k, which carries body i, and what of them must vanish."""
    own = par.sweep[i]
    joint = par.joint[k]
    parent = par.link[k, Link.PARENT]
    freedom = par.tree[i, Tree.FREEDOM]
    start = 0 if fresh else RESIDUAL
    set_maps(i, parent, joint, par)
    maps = par.scratch[TO_TWIST : TO_TWIST + 9]
    for l in range(start, ROW):
        f1, f2, f3 = times(
            maps, table[DISPLACEMENT + l], table[DISPLACEMENT + ROW + l], table[DISPLACEMENT + 2 * ROW + l]
        )
        table[TWIST + l] -= f1
        table[TWIST + ROW + l] -= f2
        table[TWIST + 2 * ROW + l] -= f3
    a1, a2, a3 = parent_arm_rate(parent, joint, par)
    for l in range(3):
        part = 0.5 * (par.node[0, i, 12 + l] + par.node[1, i, 12 + l])
        part -= 0.5 * (par.node[0, parent, 12 + l] + par.node[1, parent, 12 + l])
        if l == 0:
            a1 -= part
        elif l == 1:
            a2 -= part
        else:
            a3 -= part
    shift_torque(table, a1, a2, a3, DISPLACEMENT, TORQUE, ROW, fresh)  # Gam x rel
    m1, m2, m3 = mean(own, Sweep.CHILD_ARM_START)
    shift_torque(table, -m1, -m2, -m3, FORCE, TORQUE, ROW, fresh)
    if fresh:
        turn_arm(table, own, -1.0, Sweep.CHILD_ARM, FORCE, TORQUE, ROW)
        carry(
            table,
            own,
            freedom,
            x[x.shape[0] // 2 + par.tree[i, Tree.UNKNOWN]] if freedom == 1 else 0.0,
            par.sweep[parent],
        )
    if freedom == 1:
        hinge_equations(i, k, h, x, par, table, fresh)
    elif freedom == 3:
        for r in range(3):
            note_residual(k, table[TWIST + ROW * r + RESIDUAL], par.scratch)
            note_residual(k, table[TORQUE + ROW * r + RESIDUAL], par.scratch)


@within
def hinge_equations(i, k, h, x, par, table, fresh):
    """del along the axis, and T + O_p x (Qb del) along the mean axis."""
    own = par.sweep[i]
    parent = par.link[k, Link.PARENT]
    equations = par.scratch[Scratch.EQUATIONS : Scratch.EQUATIONS + 28]
    start = 0 if fresh else RESIDUAL
    n1, n2, n3 = get(own, Sweep.AXIS)
    u1, u2, u3 = mean(own, Sweep.AXIS_START)
    w1, w2, w3 = mean_spin(par.node[0, parent], par.node[1, parent])
    w1, w2, w3 = mean_times(par.node[0, parent], par.node[1, parent], w1, w2, w3)
    w1, w2, w3 = cross(u1, u2, u3, w1, w2, w3)
    f1, f2, f3 = transposed_times(par.node[0, i, 3:12], w1, w2, w3)
    g1, g2, g3 = transposed_times(par.node[1, i, 3:12], w1, w2, w3)
    g1, g2, g3 = 0.5 * (f1 + g1), 0.5 * (f2 + g2), 0.5 * (f3 + g3)
    f1, f2, f3 = transposed_times(par.node[1, i, 3:12], n1, n2, n3)  # the axis in the child
    for l in range(start, ROW):
        d1, d2, d3 = table[TWIST + l], table[TWIST + ROW + l], table[TWIST + 2 * ROW + l]
        equations[l] = f1 * d1 + f2 * d2 + f3 * d3
        equations[ROW + l] = (
            u1 * table[TORQUE + l] + u2 * table[TORQUE + ROW + l] + u3 * table[TORQUE + 2 * ROW + l]
            + g1 * d1 + g2 * d2 + g3 * d3
        )  # fmt: skip
    torque, slope, p1, p2, p3 = hinge_torque(k, h, x[par.tree[i, Tree.UNKNOWN]], par, own)
    equations[ROW + RESIDUAL] += torque
    note_residual(k, equations[RESIDUAL], par.scratch)
    note_residual(k, equations[ROW + RESIDUAL], par.scratch)
    if fresh:
        for m in range(2):
            column = COLUMNS + 12 * m
            d1, d2, d3 = get(own, column + 3)
            t1, t2, t3 = get(own, column + 9)
            own[INVERSE + m] = f1 * d1 + f2 * d2 + f3 * d3
            own[INVERSE + 2 + m] = u1 * t1 + u2 * t2 + u3 * t3 + g1 * d1 + g2 * d2 + g3 * d3
        own[INVERSE + 2] += slope
        # the mean axis turns with the parent
        t = TORQUE + RESIDUAL
        d1, d2, d3 = cross(n1, n2, n3, table[t], table[t + ROW], table[t + 2 * ROW])
        equations[ROW + 3] += 0.5 * d1 + p1
        equations[ROW + 4] += 0.5 * d2 + p2
        equations[ROW + 5] += 0.5 * d3 + p3


@within
def carry(table, own, freedom, rate, above):
    """The derivatives by the joint, into COLUMNS, and by the parent where the joint stays.

    A turn of the joint displaces the body by turn x (-b), one of the parent by turn x (a - b); in V = V_p + Om_p x a - Om x b
    arms turn, too, and the axis of a hinge turns with the parent. At a ball joint turn and angular velocity are those of the child,
    whatever the parent does, so that only the joint's point ties it to the parent.
    """
    a1, a2, a3 = get(own, Sweep.PARENT_ARM)
    b1, b2, b3 = get(own, Sweep.CHILD_ARM)
    n1, n2, n3 = get(own, Sweep.AXIS)
    w1, w2, w3 = get(own, SPACE_SPIN)
    e1, e2, e3 = get(above, SPACE_SPIN)
    for level in range(2):
        for part in range(6):
            m = ROW * (6 * level + part)
            d1, d2, d3 = get(table, m)
            v1, v2, v3 = get(table, m + 6)
            f1, f2, f3 = cross(v1, v2, v3, w1, w2, w3)
            f1, f2, f3 = cross(d1 + f1, d2 + f2, d3 + f3, b1, b2, b3)
            f1 += table[m + 3]
            f2 += table[m + 4]
            f3 += table[m + 5]
            g1, g2, g3 = cross(v1, v2, v3, b1, b2, b3)
            g1 += table[m + 9]
            g2 += table[m + 10]
            g3 += table[m + 11]
            if freedom == 3:
                to = (COLUMNS if part < 3 else INVERSE - 18) + 18 * level + 6 * part
                put(own, to, (f1, f2, f3))
                put(own, to + 3, (g1, g2, g3))
            else:
                if freedom == 1:
                    own[COLUMNS + 6 * level + part] = f1 * n1 + f2 * n2 + f3 * n3
                    own[COLUMNS + 12 + 6 * level + part] = g1 * n1 + g2 * n2 + g3 * n3
                p1, p2, p3 = cross(v1, v2, v3, e1, e2, e3)
                p1, p2, p3 = cross(a1, a2, a3, d1 + p1, d2 + p2, d3 + p3)
                h1, h2, h3 = cross(n1, n2, n3, g1, g2, g3)
                put(table, m + 3, (f1 + p1 + rate * h1, f2 + p2 + rate * h2, f3 + p3 + rate * h3))
                h1, h2, h3 = cross(a1, a2, a3, v1, v2, v3)
                put(table, m + 9, (g1 + h1, g2 + h2, g3 + h3))


@within
def point_to_parent(table, own, above):
    """The derivatives by displacement and velocity of the joint's point in the parent, as those by the parent."""
    a1, a2, a3 = get(own, Sweep.PARENT_ARM)
    e1, e2, e3 = get(above, SPACE_SPIN)
    for level in range(2):
        for axis in range(3):
            m = ROW * (6 * level + axis)
            d1, d2, d3 = get(table, m)
            v1, v2, v3 = get(table, m + 6)
            p1, p2, p3 = cross(v1, v2, v3, e1, e2, e3)
            put(table, m + 3, cross(a1, a2, a3, d1 + p1, d2 + p2, d3 + p3))
            put(table, m + 9, cross(a1, a2, a3, v1, v2, v3))


@within
def add_to_parent(i, k, par, table, below, fresh):
    """Add the table of body i, with twist and torque about the parent's centre, to that of the parent."""
    own = par.sweep[i]
    parent = par.link[k, Link.PARENT]
    start = 0 if fresh else RESIDUAL
    if fresh and par.tree[i, Tree.FREEDOM] == 3:
        point_to_parent(table, own, par.sweep[parent])
    a1, a2, a3 = parent_arm_rate(parent, par.joint[k], par)
    shift_torque(table, -a1, -a2, -a3, DISPLACEMENT, TORQUE, ROW, fresh)
    m1, m2, m3 = mean(own, Sweep.PARENT_ARM_START)
    shift_torque(table, m1, m2, m3, FORCE, TORQUE, ROW, fresh)
    if fresh:
        turn_arm(table, own, 1.0, Sweep.PARENT_ARM, FORCE, TORQUE, ROW)
    to = par.scratch[TO_PARENT : TO_PARENT + 9]
    twist = par.scratch[TWIST_TO_PARENT : TWIST_TO_PARENT + 9]
    for l in range(start, ROW):
        f1, f2, f3 = times(
            to, table[DISPLACEMENT + l], table[DISPLACEMENT + ROW + l], table[DISPLACEMENT + 2 * ROW + l]
        )
        g1, g2, g3 = times(twist, table[TWIST + l], table[TWIST + ROW + l], table[TWIST + 2 * ROW + l])
        below[TWIST + l] += f1 + g1
        below[TWIST + ROW + l] += f2 + g2
        below[TWIST + 2 * ROW + l] += f3 + g3
        for r in range(3):
            below[DISPLACEMENT + ROW * r + l] += table[DISPLACEMENT + ROW * r + l]
            below[FORCE + ROW * r + l] += table[FORCE + ROW * r + l]
            below[TORQUE + ROW * r + l] += table[TORQUE + ROW * r + l]


@within
def spread(i, x, par):
    """Correct increment and rate of the joint that carries body i; what it does to the body into CHANGE."""
    own = par.sweep[i]
    at = par.tree[i, Tree.UNKNOWN]
    rate = x.shape[0] // 2 + at
    freedom = par.tree[i, Tree.FREEDOM]
    c1, c2, c3 = get(own, Sweep.SPACE_TURN)
    if freedom == 6:
        f1, f2, f3 = get(own, Sweep.CHANGE + 3)
        d1, d2, d3 = cayley_change(-c1, -c2, -c3, f1, f2, f3)
        put(x, at + 3, (c1 + d1, c2 + d2, c3 + d3))
        for l in range(3):
            x[at + l] += own[Sweep.CHANGE + l]
            x[rate + l] += own[Sweep.CHANGE + 6 + l]
            x[rate + 3 + l] += own[Sweep.CHANGE + 9 + l]
        return
    above = par.sweep[par.link[par.tree[i, Tree.CARRIER], Link.PARENT]]
    f1, f2, f3 = get(above, Sweep.CHANGE + 3)
    g1, g2, g3 = get(above, Sweep.CHANGE + 9)
    a1, a2, a3 = get(own, Sweep.PARENT_ARM)
    e1, e2, e3 = get(above, SPACE_SPIN)
    r1, r2, r3 = cross(f1, f2, f3, a1, a2, a3)
    p1, p2, p3 = cross(e1, e2, e3, r1, r2, r3)
    s1, s2, s3 = cross(g1, g2, g3, a1, a2, a3)
    v1, v2, v3 = get(above, Sweep.CHANGE + 6)
    v1, v2, v3 = v1 + s1 + p1, v2 + s2 + p2, v3 + s3 + p3  # the joint's point: velocity and displacement
    r1, r2, r3 = r1 + above[Sweep.CHANGE], r2 + above[Sweep.CHANGE + 1], r3 + above[Sweep.CHANGE + 2]
    if freedom == 1:
        for m in range(2):
            for l in range(12):
                own[STEP + m] += own[GAIN + 12 * m + l] * above[Sweep.CHANGE + l]
        n1, n2, n3 = get(own, Sweep.AXIS)
        h1, h2, h3 = cross(f1, f2, f3, n1, n2, n3)
        u = x[rate]
        g1 += own[STEP + 1] * n1 + u * h1
        g2 += own[STEP + 1] * n2 + u * h2
        g3 += own[STEP + 1] * n3 + u * h3
        f1 += own[STEP] * n1
        f2 += own[STEP] * n2
        f3 += own[STEP] * n3
        x[at] += (1.0 + 0.25 * x[at] * x[at]) * own[STEP]
        x[rate] += own[STEP + 1]
    elif freedom == 3:
        for m in range(6):
            g = GAIN + 6 * m
            own[STEP + m] += (
                own[g] * r1 + own[g + 1] * r2 + own[g + 2] * r3 + own[g + 3] * v1 + own[g + 4] * v2 + own[g + 5] * v3
            )
        f1, f2, f3 = get(own, STEP)
        g1, g2, g3 = get(own, STEP + 3)
        d1, d2, d3 = cayley_change(-c1, -c2, -c3, f1, f2, f3)
        put(x, at, (c1 + d1, c2 + d2, c3 + d3))
        put(x, rate, (x[rate] + g1, x[rate + 1] + g2, x[rate + 2] + g3))
    b1, b2, b3 = get(own, Sweep.CHILD_ARM)
    w1, w2, w3 = get(own, SPACE_SPIN)
    d1, d2, d3 = cross(f1, f2, f3, b1, b2, b3)
    put(own, Sweep.CHANGE, (r1 - d1, r2 - d2, r3 - d3))
    put(own, Sweep.CHANGE + 3, (f1, f2, f3))
    d1, d2, d3 = cross(w1, w2, w3, d1, d2, d3)
    h1, h2, h3 = cross(g1, g2, g3, b1, b2, b3)
    put(own, Sweep.CHANGE + 6, (v1 - h1 - d1, v2 - h2 - d2, v3 - h3 - d3))
    put(own, Sweep.CHANGE + 9, (g1, g2, g3))
