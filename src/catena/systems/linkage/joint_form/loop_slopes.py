"""Derivatives of the accelerations of a tree whose loops are closed: what their rows add to `slopes`.

Multipliers lambda keep the rows at Phiddot = row.xdot + gamma = 0 (`loops`). Let everything change by a small amount while udot and lambda stay. The
tree answers to the changes of its own forces and of lambda row, and the rows kept are off by

    dPhiddot = drow.xdot + dgamma + row.dxdot,

which the change of lambda makes good: W dlambda = -dPhiddot, with the W that is factorised already. What a vector v of a body changes by
when the body turns by phi, and its rate vdot = omega x v: dv = phi x v, dvdot = domega x v + omega x dv.

Scratch: par.newton_changed[i], the changes of the rows kept as a `Row`.
"""

from ....geometry.vectors import ZERO, add, add3, cross, dot, load3, scaled, store3, subtract
from ....kernels.elimination import solve_positive
from ..joints import DISTANCE, DOT, PLANE, SCREW
from ..layout import Joint
from .force_slopes import changes_of_joint
from .forces import JointPlace, ends_of_joint
from .kernels import respond
from .loops import Condition, Row, along_row, direction_in_child, direction_of_gap, pull_along
from .motion import Node, clear, turn_from
from .slopes import Base, Change


def respond_in_loops(z, at, which, par):
    """`respond_to_change` where loops stay closed; the changes of Phidot stand below those of udot in par.newton_slopes."""
    count = par.tree_chart[0]
    kept = par.tree_chart[1 : 1 + count]
    pulls = par.tree_multipliers
    change_kept_rows(z, par)
    respond(par, 0.0)
    for i in range(count):
        row = par.tree_gradients[kept[i]]
        changed = par.newton_changed[i]
        by_rows = changed[Row.GAMMA] + along_row(kept[i], row, Node.XDOT, par)
        quicker = along_row(kept[i], changed, Node.VELOCITY, par)
        for side in range(2):
            node = par.tree_joints[par.tree_rows[kept[i], Condition.JOINT], JointPlace.PARENT + side]
            base = par.tree_base[node]
            change = par.tree_change[node]
            by_rows += on_side(changed, side, load3(base, Base.ACCELERATION), load3(base, Base.TURNING))
            by_rows += on_side(row, side, load3(change, Change.ACCELERATION), load3(change, Change.TURNING))
            quicker += on_side(row, side, load3(change, Change.SPEED), load3(change, Change.SPIN))
        pulls[i] = -by_rows
        par.newton_slopes[which, par.newton_slopes.shape[2] + i, at] = quicker / par.tree_units[kept[i]]
    solve_positive(par.tree_matrix, count, pulls)
    for i in range(count):
        pull_along(kept[i], par.tree_gradients[kept[i]], pulls[i], par)
    respond(par, 0.0)


def change_kept_rows(z, par):
    """The changes of the rows kept, and what their forces change by, added to APPLIED."""
    for i in range(par.tree_chart[0]):
        r = par.tree_chart[1 + i]
        change_row(z, r, par, par.newton_changed[i])
        pull_along(r, par.newton_changed[i], par.tree_gradients[r, Row.MULTIPLIER], par)


def on_side(row, side, moving, turning):
    """The part of a row for I (side 0) or J (1), applied to a motion of that node."""
    force = dot(load3(row, Row.PARENT_FORCE + 6 * side), moving)
    return force + dot(load3(row, Row.PARENT_TORQUE + 6 * side), turning)


def change_row(z, r, par, out):
    """The changes of f_I, t_I, f_J, t_J and gamma of row r."""
    condition = par.tree_rows[r]
    clear(out, 0, Row.WIDTH)
    if condition[Condition.KIND] == DOT:
        change_angle(z, condition, par, out)
    elif condition[Condition.KIND] == DISTANCE:
        change_distance(condition[Condition.JOINT], par, out)
    else:
        change_gap(condition, par, out)


def turning_with(v, w, change):
    """Of a vector of a node with the angular velocity w: its rate, its change, the change of its rate."""
    changed = cross(load3(change, Change.TURN), v)
    return cross(w, v), changed, add(cross(load3(change, Change.SPIN), v), cross(w, changed))


def change_angle(z, condition, par, out):
    """Of `loops.write_angle`: t = u x x, gamma = (omega_I - omega_J).tdot."""
    k = condition[Condition.JOINT]
    n, m = ends_of_joint(k, par)
    of_n, of_m = changes_of_joint(k, par)
    u = turn_from(n, par.joint[k], Joint.TRIAD + 3 * condition[Condition.FIRST])
    x = direction_in_child(z, k, condition[Condition.SECOND], par)
    o = load3(n, Node.SPIN)
    w = load3(m, Node.SPIN)
    u_rate, u_change, u_both = turning_with(u, o, of_n)
    x_rate, x_change, x_both = turning_with(x, w, of_m)
    t_rate = add(cross(u_rate, x), cross(u, x_rate))
    t_change = add(cross(u_change, x), cross(u, x_change))
    t_both = add(add(cross(u_both, x), cross(u_rate, x_change)), add(cross(u_change, x_rate), cross(u, x_both)))
    spin = subtract(load3(of_n, Change.SPIN), load3(of_m, Change.SPIN))
    store3(out, Row.PARENT_TORQUE, t_change)
    store3(out, Row.CHILD_TORQUE, scaled(-1.0, t_change))
    out[Row.GAMMA] = dot(spin, t_rate) + dot(subtract(o, w), t_both)


def changing_arm(node, of_node, joint, place):
    """The arm of a node to its point of a joint; its rate, its change and the change of its rate; that of omega x its rate."""
    w = load3(node, Node.SPIN)
    arm = turn_from(node, joint, place)
    rate, change, both = turning_with(arm, w, of_node)
    return arm, rate, change, both, add(cross(load3(of_node, Change.SPIN), rate), cross(w, both))


def changing_gap(k, par):
    """Of `loops.gap_between`: the arms, each with its change; d, its rate, its change and the change of its rate; `bent` and its change."""
    n, m = ends_of_joint(k, par)
    of_n, of_m = changes_of_joint(k, par)
    a, a_rate, a_change, a_both, of_a = changing_arm(n, of_n, par.joint[k], Joint.PARENT_POINT)
    b, b_rate, b_change, b_both, of_b = changing_arm(m, of_m, par.joint[k], Joint.CHILD_POINT)
    d = subtract(add(load3(m, Node.POSITION), b), add(load3(n, Node.POSITION), a))
    d_rate = subtract(add(load3(m, Node.VELOCITY), b_rate), add(load3(n, Node.VELOCITY), a_rate))
    d_change = subtract(add(load3(of_m, Change.MOVE), b_change), add(load3(of_n, Change.MOVE), a_change))
    d_both = subtract(add(load3(of_m, Change.SPEED), b_both), add(load3(of_n, Change.SPEED), a_both))
    bent = subtract(cross(load3(m, Node.SPIN), b_rate), cross(load3(n, Node.SPIN), a_rate))
    return (a, a_change, b, b_change), (d, d_rate, d_change, d_both), (bent, subtract(of_b, of_a))


def change_pull(u, u_change, arms, out):
    """Of `loops.write_pull`: t_I = u x a, t_J = b x u."""
    a, a_change, b, b_change = arms
    store3(out, Row.PARENT_FORCE, scaled(-1.0, u_change))
    store3(out, Row.PARENT_TORQUE, add(cross(u_change, a), cross(u, a_change)))
    store3(out, Row.CHILD_FORCE, u_change)
    store3(out, Row.CHILD_TORQUE, add(cross(b_change, u), cross(b, u_change)))


def change_gap(condition, par, out):
    """Of `loops.write_gap`: gamma = u.(omega_J x bdot - omega_I x adot), and what a direction that turns and a screw add."""
    k = condition[Condition.JOINT]
    n, m = ends_of_joint(k, par)
    of_n, of_m = changes_of_joint(k, par)
    o = load3(n, Node.SPIN)
    u = direction_of_gap(condition, par)
    arms, gap, (bent, bent_change) = changing_gap(k, par)
    u_change = ZERO
    if condition[Condition.KIND] >= PLANE:
        _, u_change, _ = turning_with(u, o, of_n)
    change_pull(u, u_change, arms, out)
    out[Row.GAMMA] = dot(u, bent_change)
    if condition[Condition.KIND] >= PLANE:
        out[Row.GAMMA] += dot(u_change, bent)
        change_sweep(u, o, of_n, gap, out)
    if condition[Condition.KIND] == SCREW:
        change_pitch(par.joint[k, Joint.PITCH], u, o, load3(m, Node.SPIN), of_n, of_m, out)


def change_distance(k, par, out):
    """Of `loops.write_distance`: u = d/l, gamma = (ddot.ddot + d.(omega_J x bdot - omega_I x adot))/l."""
    f = 1.0 / par.joint[k, Joint.LENGTH]
    arms, (d, d_rate, d_change, d_both), (bent, bent_change) = changing_gap(k, par)
    change_pull(scaled(f, d), scaled(f, d_change), arms, out)
    out[Row.GAMMA] = f * (2.0 * dot(d_rate, d_both) + dot(d_change, bent) + dot(d, bent_change))


def change_sweep(u, o, of_n, gap, out):
    """What a direction that sweeps over the gap adds: t = u x d to the torque, 2 udot.ddot + (omega_I x udot).d to gamma."""
    d, d_rate, d_change, d_both = gap
    u_rate, u_change, u_both = turning_with(u, o, of_n)
    add3(out, Row.PARENT_TORQUE, add(cross(u_change, d), cross(u, d_change)))
    out[Row.GAMMA] += 2.0 * (dot(u_both, d_rate) + dot(u_rate, d_both))
    u_twice = add(cross(load3(of_n, Change.SPIN), u_rate), cross(o, u_both))
    out[Row.GAMMA] += dot(u_twice, d) + dot(cross(o, u_rate), d_change)


def change_pitch(pitch, u, o, w, of_n, of_m, out):
    """What a screw adds: its pitch along u to the torques, -pitch udot.(omega_J - omega_I) to gamma."""
    u_rate, u_change, u_both = turning_with(u, o, of_n)
    spin = subtract(load3(of_m, Change.SPIN), load3(of_n, Change.SPIN))
    add3(out, Row.PARENT_TORQUE, scaled(pitch, u_change))
    add3(out, Row.CHILD_TORQUE, scaled(-pitch, u_change))
    out[Row.GAMMA] -= pitch * (dot(u_both, subtract(w, o)) + dot(u_rate, spin))
