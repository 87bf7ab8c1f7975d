"""Joints that close loops: their rows, and the multipliers that hold them at the level of accelerations.

A row Phi = 0 of `joints` between nodes I and J has the rate Phidot = f_I.v_I + t_I.omega_I + f_J.v_J + t_J.omega_J, and
Phiddot = (the same of the accelerations) + gamma. With the response of the tree to unit multipliers the rows become W lambda = -b.
Rows may follow from others; `charts` chooses which are kept, and only those have multipliers: W is positive definite.

Scratch: par.tree_gradients, par.tree_matrix, par.tree_multipliers, par.tree_applied[i] (forces on the nodes).
"""

from ....geometry.vectors import add, add3, cross, dot, load3, load9, scaled, store3, subtract, sum_from, times, unit
from ....kernels import elementary as math
from ....kernels.elimination import factorise_positive, solve_positive
from ....kernels.marks import Record
from ..joints import DISTANCE, DOT, PLANE, POINT, SCREW
from ..layout import Joint
from .forces import JointPlace, ends_of_joint
from .kernels import respond
from .motion import ACTING, Node, add6, clear, copy, turn_from


class Condition(Record):
    """par.tree_rows[r]: row r."""

    KIND = 1
    FIRST = 1  # directions of the triads of I and J
    SECOND = 1
    JOINT = 1  # k


class Row(Record):
    """par.tree_gradients[r]: row r at a position."""

    PARENT_FORCE = 3  # f_I
    PARENT_TORQUE = 3  # t_I
    CHILD_FORCE = 3
    CHILD_TORQUE = 3
    GAMMA = 1
    VALUE = 1  # Phi
    MULTIPLIER = 1  # lambda, where it is kept


def direction_in_child(z, k, which, par):
    """The image, in space, of a direction of the triad of joint k: Q_J image^-1 u."""
    joint = par.tree_joints[k]
    at = joint[JointPlace.IMAGE]
    u = load3(par.joint[k], Joint.TRIAD + 3 * which)
    v = scaled(-1.0, load3(z, at + 1))
    t = scaled(2.0, cross(v, u))
    return times(load9(par.tree_nodes[joint[JointPlace.CHILD]], Node.AXES), add(add(u, scaled(z[at], t)), cross(v, t)))


def turn_of(z, k, par):
    """The angle about the axis of joint k, with the full turns of the one that stands in z."""
    n, _ = ends_of_joint(k, par)
    x = direction_in_child(z, k, 1, par)
    u = turn_from(n, par.joint[k], Joint.TRIAD + 3)
    w = turn_from(n, par.joint[k], Joint.TRIAD + 6)
    angle = math.atan2(dot(w, x), dot(u, x))
    turns = math.floor((z[par.tree_joints[k, JointPlace.ANGLE]] - angle) / (2.0 * math.pi) + 0.5)
    return angle + 2.0 * math.pi * turns


def write_row(z, r, par, row):
    """f_I, t_I, f_J, t_J, gamma and Phi of row r; a multiplier stays."""
    condition = par.tree_rows[r]
    clear(row, 0, Row.MULTIPLIER)
    if condition[Condition.KIND] == DOT:
        write_angle(z, condition, par, row)
    elif condition[Condition.KIND] == DISTANCE:
        write_distance(condition[Condition.JOINT], par, row)
    else:
        write_gap(z, condition, par, row)


def gap_between(k, par):
    """From the point of I to that of J: both arms; the gap d, its rate, and the rate of that if nothing accelerates."""
    n, m = ends_of_joint(k, par)
    o = load3(n, Node.SPIN)
    w = load3(m, Node.SPIN)
    a = turn_from(n, par.joint[k], Joint.PARENT_POINT)
    b = turn_from(m, par.joint[k], Joint.CHILD_POINT)
    x = cross(o, a)
    y = cross(w, b)
    d = subtract(subtract(add(load3(m, Node.POSITION), b), load3(n, Node.POSITION)), a)
    speed = subtract(subtract(add(load3(m, Node.VELOCITY), y), load3(n, Node.VELOCITY)), x)
    return a, b, d, speed, subtract(cross(w, y), cross(o, x))


def write_pull(u, a, b, row):
    """A force along u at the ends of two arms."""
    store3(row, Row.PARENT_FORCE, scaled(-1.0, u))
    store3(row, Row.PARENT_TORQUE, cross(u, a))
    store3(row, Row.CHILD_FORCE, u)
    store3(row, Row.CHILD_TORQUE, cross(b, u))


def write_distance(k, par, row):
    """Phi = (|d|^2 - l^2)/(2 l) for the gap d from the point of I to that of J."""
    length = par.joint[k, Joint.LENGTH]
    a, b, d, speed, bent = gap_between(k, par)
    row[Row.VALUE] = (dot(d, d) - length * length) / (2.0 * length)
    row[Row.GAMMA] = (dot(speed, speed) + dot(d, bent)) / length
    write_pull(scaled(1.0 / length, d), a, b, row)


def write_angle(z, condition, par, row):
    """Phi = u.x for a direction u of I and one x of J."""
    k = condition[Condition.JOINT]
    n, m = ends_of_joint(k, par)
    o = load3(n, Node.SPIN)
    w = load3(m, Node.SPIN)
    u = turn_from(n, par.joint[k], Joint.TRIAD + 3 * condition[Condition.FIRST])
    x = direction_in_child(z, k, condition[Condition.SECOND], par)
    t = cross(u, x)
    row[Row.GAMMA] = dot(subtract(o, w), add(cross(cross(o, u), x), cross(u, cross(w, x))))
    row[Row.VALUE] = dot(u, x)
    store3(row, Row.PARENT_TORQUE, t)
    store3(row, Row.CHILD_TORQUE, scaled(-1.0, t))


def direction_of_gap(condition, par):
    """The direction u along which the gap between the points is measured: an axis of space, or one that turns with I."""
    first = condition[Condition.FIRST]
    if condition[Condition.KIND] == POINT:
        return unit(first)
    k = condition[Condition.JOINT]
    return turn_from(par.tree_nodes[par.tree_joints[k, JointPlace.PARENT]], par.joint[k], Joint.TRIAD + 3 * first)


def write_gap(z, condition, par, row):
    """Phi = u.d for the gap d from the point of I to that of J, less what a screw advances."""
    k = condition[Condition.JOINT]
    u = direction_of_gap(condition, par)
    a, b, d, speed, bent = gap_between(k, par)
    gamma = dot(u, bent)
    row[Row.VALUE] = dot(u, d)
    write_pull(u, a, b, row)
    if condition[Condition.KIND] >= PLANE:
        n, m = ends_of_joint(k, par)
        o = load3(n, Node.SPIN)
        add3(row, Row.PARENT_TORQUE, cross(u, d))
        swept = cross(o, u)
        gamma = sum_from(gamma, scaled(2.0, swept), speed)
        if condition[Condition.KIND] == SCREW:
            pitch = par.joint[k, Joint.PITCH]
            row[Row.VALUE] -= z[par.tree_joints[k, JointPlace.SHIFT]] + pitch * turn_of(z, k, par)
            gamma -= pitch * dot(swept, subtract(load3(m, Node.SPIN), o))
            add3(row, Row.PARENT_TORQUE, scaled(pitch, u))
            add3(row, Row.CHILD_TORQUE, scaled(-pitch, u))
        gamma += dot(cross(o, swept), d)
    row[Row.GAMMA] = gamma


def along_row(r, row, at, par):
    """The row applied to the velocities (at = V) or the accelerations (at = XDOT)."""
    n, m = ends_of_joint(par.tree_rows[r, Condition.JOINT], par)
    total = 0.0
    for l in range(6):
        total += row[Row.PARENT_FORCE + l] * n[at + l] + row[Row.CHILD_FORCE + l] * m[at + l]
    return total


def pull_along(r, row, strength, par):
    """The force of a multiplier."""
    n, m = ends_of_joint(par.tree_rows[r, Condition.JOINT], par)
    add6(n, Node.APPLIED, -strength, row, Row.PARENT_FORCE)
    add6(m, Node.APPLIED, -strength, row, Row.CHILD_FORCE)


def respond_with_loops(z, par):
    """Multipliers such that the rows kept have no acceleration, then the response to everything."""
    count = par.tree_chart[0]
    kept = par.tree_chart[1 : 1 + count]
    w = par.tree_matrix
    b = par.tree_multipliers
    respond(par, 1.0)
    if count == 0:
        return
    for i in range(count):
        row = par.tree_gradients[kept[i]]
        write_row(z, kept[i], par, row)
        b[i] = -(row[Row.GAMMA] + along_row(kept[i], row, Node.XDOT, par))
    for i in range(par.tree_links.shape[0]):
        copy(par.tree_nodes[i], Node.APPLIED, par.tree_applied[i], 0, ACTING)
        clear(par.tree_nodes[i], Node.APPLIED, ACTING)
    for i in range(count):
        row = par.tree_gradients[kept[i]]
        pull_along(kept[i], row, 1.0, par)
        respond(par, 0.0)
        for j in range(count):
            w[count * j + i] = along_row(kept[j], par.tree_gradients[kept[j]], Node.XDOT, par)
        pull_along(kept[i], row, -1.0, par)
    factorise_positive(w, count)
    solve_positive(w, count, b)
    for i in range(par.tree_links.shape[0]):
        copy(par.tree_applied[i], 0, par.tree_nodes[i], Node.APPLIED, ACTING)
    for i in range(count):
        par.tree_gradients[kept[i], Row.MULTIPLIER] = b[i]
        pull_along(kept[i], par.tree_gradients[kept[i]], b[i], par)
    respond(par, 1.0)
