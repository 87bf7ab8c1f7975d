"""Kernels of the conserving steps of linked bodies: unknowns, inertia, one Newton correction, the new state.

Unknowns x: for each body the increments dr (space) and c (Cayley vector in the body, Q1 = Q0 cay(c)) and, in the step with both
levels, h times the new velocity and angular velocity; then the multipliers of each joint. All velocities are taken times the step.

    published step:  Q1 = Q0 cay(c),  M (2 dr - 2 V0) = h^2 M g + ...,   Qb [2 J (c - W0) + c x J c] = torques,   Phi(q1) = 0
    both levels:     M (dr - Vbar), J (c - Wbar) by the second multiplier,  M (V1 - V0) = h^2 M g + ...,
                     Qb [J (W1 - W0) + c x J Wbar] = torques,   Phi(q1) = 0,  f(q1, V1, W1) = 0

with Qb the mean of the directors [nielsen2013, gonzalez1999]. A step of RATTLE begins and ends in the same way; what it does otherwise
stands in `rattle`, or behind `kicks`.
"""

import math

from ....geometry.quaternion import cayley, hold_length, rotation, turn_right
from ....geometry.vectors import (
    ZERO,
    add,
    add3,
    add_down,
    clear,
    copy,
    cross,
    diagonal_times,
    dot,
    largest,
    load3,
    mean,
    negative,
    scaled,
    store3,
    store9,
    subtract,
    transposed_times,
    unit,
)
from ....kernels import summation
from ....kernels.marks import optional, slot, within
from ....kernels.views import OK, STEP_TOO_LONG
from ..layout import Force, ForceSort, Joint, Link, Load, Node, Row, RowSort, Scratch, Space, Tree, Unknown
from .clock import clock_part, gravity_now, time_place, work_place
from .drives import set_drives, work_between
from .forces import DAMPER, between_points, load_values
from .motors import has_motors, motor_work
from .rows import angle_parts, both_levels, has_drives, kicks, mean_to_space, pairs_of, to_space, turn_by

ROUNDING = 256.0 * 2.0**-52  # of positions and directors, with what adds up along a chain
LARGEST_TURN = 4.0  # of |c|^2: a quarter turn in one step; beyond it the root may be another one


@slot
def correction(h, time, x, par):
    """The Newton correction of x into par.delta; a status."""


@optional
def work_part(z, e, h, time, par):
    """Add to z the angles that matter, and what dampers and loads did, between the two nodes."""


@optional
def begin_particles(z, h, par):
    """Prepare what particles do, from the node at the start of a step."""


@optional
def act_on_particles(z, h, par):
    """Find what particles do to the bodies between the two nodes."""


@optional
def work_of_particles(h, time, par):
    """Work that is done on particles in the step by what changes in time."""
    return 0.0


@optional
def find_velocities(z, e, h, par, x):
    """Find the velocities at the end of the step where its equations do not tell them; a status."""
    return OK


@optional
def rank_part(par):
    """Choose the rows of loops that are independent; without loops all are."""


@optional
def rank_check(par):
    """OK if the rows that were left out hold at the end of the step, too."""
    return OK


def begin(z, h, par, x):
    """Prepare a step from z."""
    set_node(z, h, par)
    begin_particles(z, h, par)
    time = z[time_place(par)]
    if kicks():  # the first half kick is that of the start
        set_drives(time, time, time + h, time, h, par)
    else:
        set_drives(time, time + h, time + h, time + 0.5 * h, h, par)
    rank_part(par)


def set_node(z, h, par):
    """The bodies at the start of a step, how far they reach, and their joints."""
    reach = par.space[Space.ARM]
    for i in range(par.mass.shape[0]):
        set_body(z, h, i, par)
        reach = max(reach, largest(load3(par.node[0, i], Node.POSITION)))
    par.scratch[Scratch.REACH] = reach
    set_joints(z, par)


def set_body(z, h, i, par):
    """Body i at the start of a step."""
    n = par.mass.shape[0]
    own = par.node[0, i]
    store9(own, Node.DIRECTORS, rotation(z[3 * n + 4 * i : 3 * n + 4 * i + 4]))
    store3(own, Node.POSITION, load3(z, 3 * i))
    for l in range(3):
        own[Node.VELOCITY + l] = h * z[7 * n + 3 * i + l] / par.mass[i]
        own[Node.SPIN + l] = h * z[10 * n + 3 * i + l] / par.moments[i, l]


def set_joints(z, par):
    """Angles of the joints at the start of a step, and the images of their directions in their children."""
    n = par.mass.shape[0]
    joints = par.link.shape[0]
    for k in range(joints):
        joint = par.joint[k]
        image = rotation(z[13 * n + 4 * k : 13 * n + 4 * k + 4])
        store3(joint, Joint.AXIS_IMAGE, transposed_times(image, load3(joint, Joint.TRIAD)))
        store3(joint, Joint.SECOND_IMAGE, transposed_times(image, load3(joint, Joint.TRIAD + 3)))
        joint[Joint.THETA] = z[13 * n + 4 * joints + k]
        joint[Joint.SHIFT] = z[13 * n + 5 * joints + k]
        for row in range(par.link[k, Link.FIRST_ROW], par.link[k, Link.END_ROW]):
            which = par.row_sort[row, RowSort.IMAGE]
            if which >= 0:
                store3(par.row[row], Row.Y, transposed_times(image, load3(joint, Joint.TRIAD + 3 * which)))


def guess(par, x):
    """x of a motion without forces."""
    n = par.mass.shape[0]
    size = 6 + 6 * both_levels()
    for i in range(n):
        for at in range(size * i, size * (i + 1), 6):
            copy(par.node[0, i, Node.VELOCITY :], x[at:], 6)
    clear(x[size * n :], par.row.shape[0] * (1 + both_levels()))


def place(par, x):
    """The node at the end of the step."""
    size = 6 + 6 * both_levels()
    for i in range(par.mass.shape[0]):
        a, b = par.node[0, i], par.node[1, i]
        copy(x[size * i :], b[Node.MOVE :], size)
        set_turned(a, load3(b, Node.TURN), b)
        set_moved(a, b)


def set_moved(a, b):
    """Position of b; in the published step, where increments are means of the velocities at both ends times the step, those at the end."""
    store3(b, Node.POSITION, add(load3(a, Node.POSITION), load3(b, Node.MOVE)))
    if not both_levels():
        store3(b, Node.VELOCITY, subtract(scaled(2.0, load3(b, Node.MOVE)), load3(a, Node.VELOCITY)))
        store3(b, Node.SPIN, subtract(scaled(2.0, load3(b, Node.TURN)), load3(a, Node.SPIN)))


def set_turned(a, c, b):
    """Directors of b := Q cay(c) = Q + Q (skew(c) + skew(c)^2/2)/(1 + |c|^2/4) with the directors Q of a."""
    k = 1.0 / (1.0 + 0.25 * dot(c, c))
    for at in range(Node.DIRECTORS, Node.DIRECTORS + 9, 3):
        x = load3(a, at)
        # a row x of Q times skew(c) is x x c
        y = cross(x, c)
        store3(b, at, add(x, scaled(k, add(y, scaled(0.5, cross(y, c))))))


def cayley_change(c, w):
    """Change of c for a turn w of the end, in the body: (1 + skew(c)/2 + c c^T/4) w; for c and w in space give -c."""
    return add(add(w, scaled(0.5, cross(c, w))), scaled(0.25 * dot(c, w), c))


def body_of_step(i, h, par, t, width, first):
    """Add the inertia and weight of body i to a block."""
    residual_of_body(i, h, par, t, width, first)
    tangent_of_body(i, 0, par, t, width, first)


def residual_of_body(i, h, par, t, width, first):
    """Add the inertia and weight of body i to the last column."""
    a, b = par.node[0, i], par.node[1, i]
    m = par.mass[i]
    j = load3(par.moments[i], 0)
    at = first * width + width - 1
    v0 = load3(a, Node.VELOCITY)
    weight = scaled(h * h * m, gravity_now(par))
    if both_levels():
        v1 = load3(b, Node.VELOCITY)
        slide = subtract(load3(b, Node.MOVE), mean(v0, v1))
        twist = subtract(load3(b, Node.TURN), mean(load3(a, Node.SPIN), load3(b, Node.SPIN)))
        add_down(t, at, width, negative(scaled(m, slide)))
        add_down(t, at + 3 * width, width, negative(diagonal_times(j, twist)))
        add_down(t, at + 6 * width, width, negative(subtract(scaled(m, subtract(v1, v0)), weight)))
    else:
        late = scaled(2.0 * m, subtract(v0, load3(b, Node.MOVE)))
        add_down(t, at, width, add(late, weight))
    k = mean_torque(j, a, b)
    at += (3 + 6 * both_levels()) * width
    for l in range(3):
        ends = add(load3(b, Node.DIRECTORS + 3 * l), load3(a, Node.DIRECTORS + 3 * l))
        t[at + l * width] -= 0.5 * dot(ends, k)


def mean_torque(j, a, b):
    """J (W1 - W0) + c x J Wbar, in the body; in the published step 2 J (c - W0) + c x J c."""
    c = load3(b, Node.TURN)
    if both_levels():
        gained = diagonal_times(j, subtract(load3(b, Node.SPIN), load3(a, Node.SPIN)))
        return add(cross(c, mean_momentum(j, a, b)), gained)
    p = diagonal_times(j, c)
    return add(cross(c, p), scaled(2.0, subtract(p, diagonal_times(j, load3(a, Node.SPIN)))))


def mean_momentum(j, a, b):
    """J Wbar."""
    return diagonal_times(scaled(0.5, j), add(load3(a, Node.SPIN), load3(b, Node.SPIN)))


@within
def tangent_of_body(i, in_space, par, t, width, first):
    """Add the derivative of the inertia of body i by displacement and turn, and with both levels by the velocities at the end, too.

    Turns are about axes w of the body, or with in_space = 1 of space; those change the angular velocity by W x w.
    """
    a, b = par.node[0, i], par.node[1, i]
    m = par.mass[i]
    j = load3(par.moments[i], 0)
    k = mean_torque(j, a, b)
    for axis in range(3):
        row = (first + axis) * width
        column = first + 3 + axis
        w = load3(b, Node.DIRECTORS + 3 * axis) if in_space == 1 else unit(axis)
        if both_levels():
            t[row + first + axis] += m
            t[row + first + 6 + axis] -= 0.5 * m
            t[(first + 6 + axis) * width + first + 6 + axis] += m
            twist, torque = turn_two_level(j, a, b, k, w, cross(load3(b, Node.SPIN), w) if in_space == 1 else ZERO)
            for level in range(2):
                add_down(t, (first + 3) * width + column + 6 * level, width, twist)
                add_down(t, (first + 9) * width + column + 6 * level, width, torque)
                twist, torque = spin_two_level(j, a, b, w)
        else:
            t[row + first + axis] += 2.0 * m
            add_down(t, (first + 3) * width + column, width, turn_published(j, a, b, k, w))


def turn_published(j, a, b, k, w):
    """Change of the torque Qb k, published step, for a turn w of the end in the body."""
    c = load3(b, Node.TURN)
    d = cayley_change(c, w)
    u = cross(c, diagonal_times(j, d))
    v = cross(d, diagonal_times(j, c))
    return turned_torque(a, b, k, add(add(diagonal_times(scaled(2.0, j), d), u), v), w)


def turned_torque(a, b, k, d, w):
    """Change of Qb k for a change d of k and a turn w of the end: Qb d + Q1 (w x k)/2."""
    return mean(to_space(a, d), to_space(b, add(d, cross(w, k))))


def turn_two_level(j, a, b, k, w, u):
    """Change of J (c - Wbar) and of the torque Qb k, both levels, for a turn w of the end and a change u of W1, in the body."""
    d = cayley_change(load3(b, Node.TURN), w)
    change = add(cross(d, mean_momentum(j, a, b)), spin_torque(j, b, u))
    return diagonal_times(j, subtract(d, scaled(0.5, u))), turned_torque(a, b, k, change, w)


def spin_two_level(j, a, b, u):
    """The same for a change u of W1 alone."""
    return diagonal_times(scaled(-0.5, j), u), mean_to_space(a, b, spin_torque(j, b, u))


def spin_torque(j, b, u):
    """J u + c x J u/2, in the body."""
    e = diagonal_times(j, u)
    return add(e, scaled(0.5, cross(load3(b, Node.TURN), e)))


def correct(z, h, par, x):
    """One Newton correction of x in place; its size, relative to the motion in the step, or -1 if there is none."""
    n = par.mass.shape[0]
    size = 6 + 6 * both_levels()
    place(par, x)
    act_on_particles(z, h, par)
    forget_worst(par)
    if correction(h, z[time_place(par)], x, par) != 0:
        return -1.0
    moved = 0.0
    twisted = 0.0
    scale = fall(h, par)
    for i in range(n):
        own = x[size * i : size * i + size]
        d = par.delta[size * i : size * i + size]
        c = load3(own, Unknown.TURN)
        w = load3(d, Unknown.TURN)
        add3(d, Unknown.TURN, add(scaled(0.5, cross(c, w)), scaled(0.25 * dot(c, w), c)))
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
    return size_of_correction(max(moved, twisted), moved, twisted, scale, par)


def fall(h, par):
    """How far a body falls in a step, or more."""
    g = gravity_now(par)
    return h * h * (abs(g[0]) + abs(g[1]) + abs(g[2]))


def size_of_correction(most, moved, twisted, scale, par):
    """Its size relative to the motion in the step; 0 where it is noise: points of a joint cannot meet better than positions and directors are known."""
    reach = par.scratch[Scratch.REACH]
    if moved <= ROUNDING * reach and twisted <= ROUNDING * max(1.0, reach):
        return 0.0
    return most / scale if scale > 0.0 else 1.0


@optional
def place_end(z, h, par, x):
    """`place`, if no body turns by more than a quarter turn, and all rows of loops hold there; a status."""
    for i in range(par.mass.shape[0]):
        c = load3(x, (6 + 6 * both_levels()) * i + Unknown.TURN)
        if not dot(c, c) <= LARGEST_TURN:
            return STEP_TOO_LONG
    place(par, x)
    return rank_check(par)


def accept(z, e, h, par, x):
    """The state at the end of the step, if no body turns by more than a quarter turn; a status."""
    n = par.mass.shape[0]
    status = place_end(z, h, par, x)
    if status == OK:
        status = find_velocities(z, e, h, par, x)
    if status != OK:
        return status
    time = time_place(par)
    if has_drives() and not kicks():
        work_between(z, e, 1.0 / (h * h), x[(6 + 6 * both_levels()) * n :], par)
    work_part(z, e, h, z[time], par)
    for at in range(n):
        i = par.tree[at, Tree.ORDER]
        turn_body(z, e, n, i, load3(par.node[1, i], Node.TURN))
        move_body(z, e, i, par)
        add_gained(z, e, h, i, par.node[0, i], par.node[1, i], par.mass, par.moments)
    summation.add(z, e, time, h)
    return OK


@optional
def move_body(z, e, i, par):
    """Put body i of the state where it is at the end of the step; parents have been before."""
    summation.add3(z, e, 3 * i, load3(par.node[1, i], Node.MOVE))


def add_gained(z, e, h, i, a, b, mass, moments):
    """Add to the momenta of body i what its velocities gain from its node a to its node b."""
    n = mass.shape[0]
    v = subtract(load3(b, Node.VELOCITY), load3(a, Node.VELOCITY))
    w = subtract(load3(b, Node.SPIN), load3(a, Node.SPIN))
    # times 1/h would add the rounding of 1/h in all steps alike: a drift of 1e-18 of the energy in each
    for l in range(3):
        summation.add(z, e, 7 * n + 3 * i + l, mass[i] * v[l] / h)
        summation.add(z, e, 10 * n + 3 * i + l, moments[i, l] * w[l] / h)


def turn_body(z, e, n, i, c):
    """Turn the quaternion of body i by cay(c)."""
    q = z[3 * n + 4 * i : 3 * n + 4 * i + 4]
    error = e[3 * n + 4 * i : 3 * n + 4 * i + 4]
    q1, q2, q3, q4 = cayley(0.5 * c[0], 0.5 * c[1], 0.5 * c[2])
    turn_right(q, error, q1, q2, q3, q4)
    hold_length(q, error)


def work_between_nodes(z, e, h, time, par):
    """Add to z the angles that matter, and what dampers and loads did, between the two nodes."""
    n = par.mass.shape[0]
    joints = par.link.shape[0]
    damped = time_place(par) + 1
    for k in range(joints):
        if par.link[k, Link.HAS_ANGLE] == 1:
            d = turn_of_joint(k, par)
            summation.add(z, e, 13 * n + 4 * joints + k, d)
            if par.link[k, Link.TORSION] >= 0:
                summation.add(z, e, damped, -par.joint[k, Joint.DAMPING] * d * d / h)
                if has_motors():
                    motor_work(z, e, h, time, k, d, par)
    for f in range(par.force_sort.shape[0]):
        if par.force_sort[f, ForceSort.KIND] == DAMPER:
            s0 = between_points(f, par.node[0], par, par.scratch[Scratch.START_GAP : Scratch.END_GAP])
            s1 = between_points(f, par.node[1], par, par.scratch[Scratch.END_GAP : Scratch.ARMS])
            d = math.sqrt(s1) - math.sqrt(s0)
            summation.add(z, e, damped, -par.force[f, Force.STIFFNESS] * d * d / h)
    for i in range(n):
        f = par.tree[i, Tree.LOAD]
        while f >= 0:
            add_work_of_load(z, e, f, h, time, par.node[0, i], par.node[1, i], par)
            f = par.load_next[f]
    summation.add(z, e, damped + 1, work_of_particles(h, time, par))
    clock_part(z, e, h, time, par)


def turn_of_joint(k, par):
    """By how much the angle of joint k grows between the nodes."""
    a, b, _ = pairs_of(k, par.node[0], par)
    u0, w0 = angle_parts(par.joint[k], a)
    u1, w1 = angle_parts(par.joint[k], b)
    return turn_by(u0, w0, u1, w1)


def mean_load(f, h, time, par, value):
    """Force and torque of load f, as they act in a step: the mean of two half kicks, or those of its middle."""
    if kicks():
        other = par.scratch[Scratch.SOLUTION : Scratch.SOLUTION + 6]
        load_values(time, f, par, other)
        load_values(time + h, f, par, value)
        for l in range(6):
            value[l] = 0.5 * (value[l] + other[l])
    else:
        load_values(time + 0.5 * h, f, par, value)


def add_work_of_load(z, e, f, h, time, a, b, par):
    """Add the work of load f on a body between its nodes a and b."""
    value = par.scratch[Scratch.LOADED : Scratch.LOADED + 6]
    mean_load(f, h, time, par, value)
    x = load3(par.load[f], Load.POINT)
    moved = subtract(add(load3(b, Node.MOVE), to_space(b, x)), to_space(a, x))
    turned = to_space(a, load3(b, Node.TURN))
    for l in range(3):
        work = value[Load.FORCE + l] * moved[l] + value[Load.TORQUE + l] * turned[l]
        summation.add(z, e, work_place(par), work)


def forget_worst(par):
    """Remember the joint that was worst so far; in what follows none is yet."""
    blame(par)
    par.scratch[Scratch.WORST] = -1.0
    par.scratch[Scratch.WORST + 1] = 0.0


def blame(par):
    """Remember the joint that was worst in the last correction that had numbers, for the message about a failed step."""
    if par.scratch[Scratch.WORST] >= 0.0:
        par.scratch[Scratch.BLAMED] = par.scratch[Scratch.WORST]
        par.scratch[Scratch.BLAMED + 1] = par.scratch[Scratch.WORST + 1]
