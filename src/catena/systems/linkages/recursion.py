"""Kernels of a tree of hinges, ball joints and rigid joints in the increments of its joints, which leave no multipliers.

Unknowns of a step: t = 2 tan(angle/2) of a hinge, the Cayley vector (in space) of the child of a ball joint, displacement and Cayley vector
of a body that no joint carries. Outwards along the tree they give the end of the step:

    hinge: c = c_p o t N0,     a o b = (a + b + a x b/2)/(1 - a.b/4),     dr = dr_p + c_p x abar - c x bbar

with N0 the axis at the start of the step, abar and bbar the mean arms from the centres of parent and child to the joint; nothing
is a difference of positions, so no digit is lost [nielsen2013].
"""

from ...geometry.quaternion import cayley, hold_length, rotation, turn_right
from ...kernel import inline, size, slot, within
from ...summation import add
from ...views import OK, STEP_TOO_LONG
from .layout import TABLE, Joint, Link, Node, Scratch, Space, Sweep, Tree, behind_change
from .rows import cross, times, transposed_times
from .solver import eliminate, substitute
from .steps import LARGEST_TURN, blame, set_body, set_directors, turned, work_part

ROUNDED = 2.0**-53  # of turns, and to the size of positions: states cannot tell them
FALLING = 0.05  # corrections that fall by less want new derivatives
SETTLING = 2.0**-6  # of what rounding does to the directions of a joint, taken back in each step


@slot
def angles_part(z, par):
    """Set the angles of the joints, if they matter."""


def no_angles(z, par):
    """No angle matters."""


@slot
def end_velocity(i, x, par):
    """The velocities of body i at the end of the step, where it is placed already."""


@slot
def add_body(i, h, time, par, table, fresh):
    """Add the wrench of body i alone to its table, at the end of each row; with its derivatives if `fresh`."""


@slot
def joint_equations(i, k, h, x, par, table, fresh):
    """Take the table of body i to the joint k that carries it; its equations, with their derivatives if `fresh`."""


@slot
def add_to_parent(i, k, par, table, below, fresh):
    """Add the table of body i, as it looks from the parent, to that of the parent."""


@slot
def spread(i, x, par):
    """Correct the unknowns of the joint that carries body i; the correction of the body into CHANGE."""


@size
def table_rows(par):
    """6 for positions only, 12 for both levels."""
    return 12


@size
def acted_upon(par):
    """1 if loads or forces of the ground act on bodies, else 0."""
    return 1


@within
def begin(z, h, par, x):
    """Prepare a step from z: the bodies, the arms and the axes at its start."""
    angles_part(z, par)
    par.scratch[Scratch.FACTORED] = 0.0
    for place in range(par.mass.shape[0]):
        i = par.tree[place, Tree.ORDER]
        set_body(z, h, i, par)
        k = par.tree[i, Tree.CARRIER]
        if k >= 0:
            set_arms(par.node[0], i, par.link[k, Link.PARENT], par.joint[k], 0, par.sweep[i])


@within
def set_arms(node, i, parent, joint, end, own):
    """Arms and axis of the joint that carries body i, at the start (end = 0) or the end (3) of the step."""
    q = node[parent, 3:12]
    put(
        own,
        Sweep.PARENT_ARM_START + end,
        times(q, joint[Joint.PARENT_POINT], joint[Joint.PARENT_POINT + 1], joint[Joint.PARENT_POINT + 2]),
    )
    put(own, Sweep.AXIS_START + end, times(q, joint[Joint.TRIAD], joint[Joint.TRIAD + 1], joint[Joint.TRIAD + 2]))
    q = node[i, 3:12]
    put(
        own,
        Sweep.CHILD_ARM_START + end,
        times(q, joint[Joint.CHILD_POINT], joint[Joint.CHILD_POINT + 1], joint[Joint.CHILD_POINT + 2]),
    )


@within
def put(row, first, v):
    """Three numbers into a row."""
    row[first] = v[0]
    row[first + 1] = v[1]
    row[first + 2] = v[2]


@within
def get(row, first):
    """Three numbers of a row."""
    return row[first], row[first + 1], row[first + 2]


@within
def mean(row, first):
    """Mean of a vector at the start of the step, at `first`, and at the end, behind it."""
    return (
        0.5 * (row[first] + row[first + 3]),
        0.5 * (row[first + 1] + row[first + 4]),
        0.5 * (row[first + 2] + row[first + 5]),
    )


@within
def composed(a1, a2, a3, b1, b2, b3):
    """a o b: the Cayley vector of the turn b, then a."""
    c1, c2, c3 = cross(a1, a2, a3, b1, b2, b3)
    k = 1.0 / (1.0 - 0.25 * (a1 * b1 + a2 * b2 + a3 * b3))
    return k * (a1 + b1 + 0.5 * c1), k * (a2 + b2 + 0.5 * c2), k * (a3 + b3 + 0.5 * c3)


@within
def outwards(par, x):
    """The end of the step: turns, directors, displacements, arms, axes and velocities, from the joints' increments x.

    Returns the largest turn of a body or displacement of one that no joint carries, and 1 if none turns by more than a quarter turn,
    else 0.
    """
    motion = 0.0
    sound = 1
    for place in range(par.mass.shape[0]):
        i = par.tree[place, Tree.ORDER]
        at = par.tree[i, Tree.UNKNOWN]
        freedom = par.tree[i, Tree.FREEDOM]
        k = par.tree[i, Tree.CARRIER]
        a = par.node[0, i]
        b = par.node[1, i]
        own = par.sweep[i]
        parent = par.link[k, Link.PARENT] if k >= 0 else -1
        e1, e2, e3 = get(par.sweep[parent], Sweep.SPACE_TURN)
        c1, c2, c3 = e1, e2, e3
        if freedom == 1:
            t = x[at]
            n1, n2, n3 = get(own, Sweep.AXIS_START)
            c1, c2, c3 = composed(e1, e2, e3, t * n1, t * n2, t * n3)
        elif freedom == 3:
            c1, c2, c3 = get(x, at)
        elif freedom == 6:
            c1, c2, c3 = get(x, at + 3)
            put(b, Node.MOVE, get(x, at))
        put(own, Sweep.SPACE_TURN, (c1, c2, c3))
        if not c1 * c1 + c2 * c2 + c3 * c3 <= LARGEST_TURN:
            sound = 0
        t1, t2, t3 = transposed_times(a[3:12], c1, c2, c3)
        put(b, Node.TURN, (t1, t2, t3))
        motion = max(motion, max(abs(t1), max(abs(t2), abs(t3))))
        turned(a[3:12], t1, t2, t3, b[3:12])
        if k >= 0:
            set_arms(par.node[1], i, parent, par.joint[k], 3, own)
            a1, a2, a3 = mean(own, Sweep.PARENT_ARM_START)
            b1, b2, b3 = mean(own, Sweep.CHILD_ARM_START)
            f1, f2, f3 = cross(e1, e2, e3, a1, a2, a3)
            g1, g2, g3 = cross(c1, c2, c3, b1, b2, b3)
            m1, m2, m3 = get(par.node[1, parent], Node.MOVE)
            put(b, Node.MOVE, (m1 + f1 - g1, m2 + f2 - g2, m3 + f3 - g3))
        for l in range(3):
            b[l] = a[l] + b[Node.MOVE + l]
            if k < 0:
                motion = max(motion, abs(b[Node.MOVE + l]))
        end_velocity(i, x, par)
    return motion, sound


def correct(z, h, par, x):
    """One Newton correction of x in place; its size, relative to the motion in the step, or -1 if there is none.

    Derivatives are kept as long as the corrections fall fast with them.
    """
    n = par.mass.shape[0]
    fresh = par.scratch[Scratch.FACTORED] == 0.0
    motion, _ = outwards(par, x)
    blame(par)
    par.scratch[Scratch.WORST] = -1.0
    par.scratch[Scratch.WORST + 1] = 0.0
    if inwards(h, z[13 * n + 6 * par.link.shape[0]], x, par, fresh) != 0:
        return -1.0
    if fresh:  # the motion in the step, or a fall
        fall = (
            h
            * h
            * (abs(par.space[Space.GRAVITY]) + abs(par.space[Space.GRAVITY + 1]) + abs(par.space[Space.GRAVITY + 2]))
        )
        par.scratch[Scratch.SCALE] = max(motion, fall)
    largest = 0.0
    noise = True
    for place in range(n):
        i = par.tree[place, Tree.ORDER]
        spread(i, x, par)
        twisted, moved = correction_of(i, par)
        if not twisted + moved <= largest:
            largest = twisted + moved
        if twisted > ROUNDED or (moved > 0.0 and moved > ROUNDED * reach_of(i, par)):
            noise = False
    if not largest < 1e300:
        return -1.0
    if noise:
        return 0.0
    par.scratch[Scratch.SCALE] = max(
        par.scratch[Scratch.SCALE], largest
    )  # from rest nothing else tells how far forces will move it
    change = largest / par.scratch[Scratch.SCALE]
    par.scratch[Scratch.FACTORED] = 1.0 if fresh or change <= FALLING * par.scratch[Scratch.LAST_CHANGE] else 0.0
    par.scratch[Scratch.LAST_CHANGE] = change
    return change


@within
def correction_of(i, par):
    """How much body i is corrected: turn, and displacement if no joint carries it; both with what they are in velocities."""
    own = par.sweep[i]
    twisted = 0.0
    moved = 0.0
    for level in range(0, table_rows(par), 6):
        for l in range(3):
            twisted += abs(own[Sweep.CHANGE + level + 3 + l])
            if (
                par.tree[i, Tree.CARRIER] < 0
            ):  # displacements of the others follow, at the end of a chain with much rounding
                moved += abs(own[Sweep.CHANGE + level + l])
    return twisted, moved


@within
def reach_of(i, par):
    """The size of the position of body i, or the longest arm: what its displacements are rounded to."""
    a = par.node[0, i]
    return max(max(par.space[Space.ARM], abs(a[0])), max(abs(a[1]), abs(a[2])))


@inline
def inwards(h, time, x, par, fresh):
    """Eliminate all joints, leaves first; 0, or 1 if one has no correction."""
    rows = table_rows(par)
    for turn in range(par.mass.shape[0] - 1, -1, -1):
        i = par.tree[turn, Tree.ORDER]
        k = par.tree[i, Tree.CARRIER]
        own = par.sweep[i]
        table = par.table[par.tree[i, Tree.PLACE]]
        freedom = par.tree[i, Tree.FREEDOM]
        add_body(i, h, time, par, table, fresh)
        status = 0
        if k < 0:
            status = free_body(own, table, rows, par.own[i], par.block, fresh)
        else:
            joint_equations(i, k, h, x, par, table, fresh)
            if freedom == 1:
                status = free_hinge(
                    own, table, rows // 6, rows, par.scratch[Scratch.EQUATIONS : Scratch.EQUATIONS + 28], fresh
                )
            elif freedom == 3:
                status = free_ball(own, table, rows, fresh)
            parent = par.link[k, Link.PARENT]
            if parent >= 0:
                add_to_parent(i, k, par, table, par.table[par.tree[parent, Tree.PLACE]], fresh)
        clear(table, rows, fresh)
        if status != 0:
            for place in range(par.table.shape[0]):
                for l in range(TABLE):
                    par.table[place, l] = 0.0
            return 1
    return 0


@within
def clear(table, rows, fresh):
    """Nothing known of the wrench, nor of its derivatives if `fresh`."""
    if fresh:
        for l in range(rows * (rows + 2)):
            table[l] = 0.0
    else:
        for r in range(rows):
            table[(rows + 2) * r + rows] = 0.0
            table[(rows + 2) * r + rows + 1] = 0.0


@within
def free_hinge(own, table, count, rows, equations, fresh):
    """Eliminate the unknowns of a hinge, `count` of them: its correction, and the table without it; 0, or 1 if singular.

    Each row of `equations`: derivative by the parent (as the table's), residual, what corrections beyond the joint add to it.
    INVERSE holds the derivative by the joint, COLUMNS that of the table.
    """
    width = rows + 2
    STEP, GAIN, COLUMNS, INVERSE, _ = behind_change(rows)
    if fresh:
        if invert(own[INVERSE : INVERSE + count * count], count) != 0:
            return 1
        for a in range(count):
            for l in range(rows):
                own[GAIN + rows * a + l] = 0.0
            for b in range(count):
                factor = -own[INVERSE + count * a + b]
                for l in range(rows):
                    own[GAIN + rows * a + l] += factor * equations[width * b + l]
        for r in range(rows):
            for a in range(count):
                factor = own[COLUMNS + rows * a + r]
                for l in range(rows):
                    table[width * r + l] += factor * own[GAIN + rows * a + l]
    for a in range(count):
        total = 0.0
        for b in range(count):
            total -= own[INVERSE + count * a + b] * (equations[width * b + rows] + equations[width * b + rows + 1])
        own[STEP + a] = total
        for r in range(rows):
            table[width * r + rows + 1] += own[COLUMNS + rows * a + r] * total
    return 0


@within
def free_ball(own, table, rows, fresh):
    """Eliminate the turn (and angular velocity) of the child of a ball joint; 0, or 1 if that is singular.

    Of each six rows of the table the last three are the equations: they vanish and become zero. Of each six columns the first
    three are by the joint's point in the parent, the last three by the unknowns. COLUMNS holds the derivatives by the unknowns of
    the rows that stay, INVERSE those of the equations.
    """
    width = rows + 2
    STEP, GAIN, COLUMNS, INVERSE, _ = behind_change(rows)
    levels = rows // 6
    count = 3 * levels
    if fresh:
        if invert(own[INVERSE : INVERSE + count * count], count) != 0:
            return 1
        for level in range(levels):
            for axis in range(3):
                column = 6 * level + axis
                for a in range(count):
                    total = 0.0
                    for other in range(levels):
                        for b in range(3):
                            equation = width * (6 * other + 3 + b)
                            total -= own[INVERSE + count * a + 3 * other + b] * table[equation + column]
                    own[GAIN + count * a + 3 * level + axis] = total
        for level in range(levels):
            for axis in range(3):
                stays = width * (6 * level + axis)
                vanishes = stays + 3 * width
                for other in range(levels):
                    for l in range(3):
                        total = 0.0
                        for a in range(count):
                            total += (
                                own[COLUMNS + count * (3 * level + axis) + a] * own[GAIN + count * a + 3 * other + l]
                            )
                        table[stays + 6 * other + l] += total
                for l in range(rows):
                    table[vanishes + l] = 0.0
    for a in range(count):
        total = 0.0
        for level in range(levels):
            for b in range(3):
                equation = width * (6 * level + 3 + b) + rows
                total -= own[INVERSE + count * a + 3 * level + b] * (table[equation] + table[equation + 1])
        own[STEP + a] = total
    for level in range(levels):
        for axis in range(3):
            stays = width * (6 * level + axis) + rows
            for a in range(count):
                table[stays + 1] += own[COLUMNS + count * (3 * level + axis) + a] * own[STEP + a]
            table[stays + 3 * width + 1] = -table[stays + 3 * width]
    return 0


def invert(a, count):
    """a (count x count) := its inverse; 0, or 1 if that fails. Without exchanges: on the diagonal is inertia."""
    for k in range(count):
        if not abs(a[count * k + k]) > 0.0:
            return 1
        inverse = 1.0 / a[count * k + k]
        a[count * k + k] = 1.0
        for c in range(count):
            a[count * k + c] *= inverse
        for r in range(count):
            if r != k:
                factor = a[count * r + k]
                a[count * r + k] = 0.0
                for c in range(count):
                    a[count * r + c] -= factor * a[count * k + c]
    return 0


@within
def free_body(own, table, rows, kept, t, fresh):
    """The correction of a body that no joint carries; 0, or 1 if there is none. Its derivatives are kept."""
    width = rows + 2
    for r in range(rows):
        if fresh:
            for l in range(rows):
                kept[rows * r + l] = table[width * r + l]
        for l in range(rows):
            t[(rows + 1) * r + l] = kept[rows * r + l]
        t[(rows + 1) * r + rows] = -table[width * r + rows] - table[width * r + rows + 1]
    if eliminate(t, rows, rows, rows + 1) != 0:
        return 1
    substitute(t, rows, rows + 1, own[Sweep.CHANGE : Sweep.CHANGE + rows])
    return 0


@within
def shift_torque(table, a1, a2, a3, force, torque, row, fresh):
    """Add a x F to T in all columns of a table, or but for the derivatives; rows begin at `force` and `torque` and are `row` long."""
    if fresh:  # loops of a known length are faster
        shift_columns(table, a1, a2, a3, force, torque, row, 0)
    else:
        shift_columns(table, a1, a2, a3, force, torque, row, row - 2)


@within
def shift_columns(table, a1, a2, a3, force, torque, row, start):
    """Add a x F to T in the columns from `start`."""
    for l in range(start, row):
        f1 = table[force + l]
        f2 = table[force + row + l]
        f3 = table[force + 2 * row + l]
        table[torque + l] += a2 * f3 - a3 * f2
        table[torque + row + l] += a3 * f1 - a1 * f3
        table[torque + 2 * row + l] += a1 * f2 - a2 * f1


@within
def turn_arm(table, own, sign, first, force, torque, row):
    """Add the derivative of sign abar x F by a turn of the arm at own[first]: sign/2 (turn x a) x F."""
    a1, a2, a3 = get(own, first)
    residual = force + row - 2
    f1 = 0.5 * sign * table[residual]
    f2 = 0.5 * sign * table[residual + row]
    f3 = 0.5 * sign * table[residual + 2 * row]
    along = a1 * f1 + a2 * f2 + a3 * f3
    for l in range(3):
        k = own[first + l]
        table[torque + row * l + 3] += k * f1
        table[torque + row * l + 4] += k * f2
        table[torque + row * l + 5] += k * f3
        table[torque + row * l + 3 + l] -= along


@within
def note_residual(k, residual, scratch):
    """Remember joint k if its equations are farther off than those of the joints before."""
    if abs(residual) > scratch[Scratch.WORST + 1]:
        scratch[Scratch.WORST] = k
        scratch[Scratch.WORST + 1] = abs(residual)


def accept(z, e, h, par, x):
    """The state at the end of the step, if no body turns by more than a quarter turn; a status."""
    n = par.mass.shape[0]
    _, sound = outwards(par, x)
    if sound == 0:
        return STEP_TOO_LONG
    time = 13 * n + 6 * par.link.shape[0]
    work_part(z, e, h, z[time], par)
    per_step = 1.0 / h
    for place in range(n):
        i = par.tree[place, Tree.ORDER]
        a = par.node[0, i]
        b = par.node[1, i]
        for l in range(3):
            add(z, e, 7 * n + 3 * i + l, per_step * par.mass[i] * (b[12 + l] - a[12 + l]))
            add(z, e, 10 * n + 3 * i + l, per_step * par.moments[i, l] * (b[15 + l] - a[15 + l]))
        q = z[3 * n + 4 * i : 3 * n + 4 * i + 4]
        low = e[3 * n + 4 * i : 3 * n + 4 * i + 4]
        q1, q2, q3, q4 = cayley(0.5 * b[Node.TURN], 0.5 * b[Node.TURN + 1], 0.5 * b[Node.TURN + 2])
        turn_right(q, low, q1, q2, q3, q4)
        hold_length(q, low)
        set_directors(q, b)
        k = par.tree[i, Tree.CARRIER]
        if k < 0:
            for l in range(3):
                add(z, e, 3 * i + l, b[Node.MOVE + l])
        else:
            settle(z, e, i, k, par)
    add(z, e, time, h)
    return OK


@within
def settle(z, e, i, k, par):
    """Put body i where its joint k holds it, and take back a little of what rounding did to the directions of the joint."""
    n = par.mass.shape[0]
    parent = par.link[k, Link.PARENT]
    joint = par.joint[k]
    freedom = par.tree[i, Tree.FREEDOM]
    own = par.node[1, i, 3:12]
    above = par.node[1, parent, 3:12]
    if freedom < 3:
        image = rotation(z[13 * n + 4 * k : 13 * n + 4 * k + 4])
        m1, m2, m3 = misaligned(own, above, image, joint, Joint.TRIAD)
        if freedom == 0:
            d1, d2, d3 = misaligned(own, above, image, joint, Joint.TRIAD + 3)
            m1 += d1
            m2 += d2
            m3 += d3
        m1, m2, m3 = transposed_times(own, m1, m2, m3)
        low = 0.5 * SETTLING
        first = 3 * n + 4 * i
        turn_right(z[first : first + 4], e[first : first + 4], 0.0, low * m1, low * m2, low * m3)
    a1, a2, a3 = times(above, joint[Joint.PARENT_POINT], joint[Joint.PARENT_POINT + 1], joint[Joint.PARENT_POINT + 2])
    b1, b2, b3 = times(own, joint[Joint.CHILD_POINT], joint[Joint.CHILD_POINT + 1], joint[Joint.CHILD_POINT + 2])
    r1, r2, r3 = 0.0, 0.0, 0.0
    if parent >= 0:
        r1, r2, r3 = get(z, 3 * parent)
    put(z, 3 * i, (r1 + a1 - b1, r2 + a2 - b2, r3 + a3 - b3))
    put(e, 3 * i, (0.0, 0.0, 0.0))


def misaligned(own, above, image, joint, first):
    """The turn in space that brings the image of a direction of the joint in the child to the direction in the parent."""
    d1, d2, d3 = get(joint, first)
    a1, a2, a3 = times(above, d1, d2, d3)
    d1, d2, d3 = transposed_times(image, d1, d2, d3)
    b1, b2, b3 = times(own, d1, d2, d3)
    return cross(b1, b2, b3, a1, a2, a3)


@within
def put_rate(i, par, x, shift):
    """What the joint that carries body i does at the start of the step, times the step, to its place in x plus `shift`."""
    at = par.tree[i, Tree.UNKNOWN] + shift
    freedom = par.tree[i, Tree.FREEDOM]
    k = par.tree[i, Tree.CARRIER]
    a = par.node[0, i]
    w1, w2, w3 = times(a[3:12], a[15], a[16], a[17])
    if freedom == 6:
        put(x, at, get(a, 12))
        put(x, at + 3, (w1, w2, w3))
    elif freedom == 3:
        put(x, at, (w1, w2, w3))
    elif freedom == 1:
        b = par.node[0, par.link[k, Link.PARENT]]
        n1, n2, n3 = get(par.sweep[i], Sweep.AXIS_START)
        v1, v2, v3 = times(b[3:12], b[15], b[16], b[17])
        x[at] = n1 * (w1 - v1) + n2 * (w2 - v2) + n3 * (w3 - v3)
