"""Derivatives of the accelerations of a tree by the positions and the rates of its joints, exact, O(nodes) for each.

The equations of the tree (`kernels`) are linear in the accelerations: with the wrench F_i that node i asks of its joint,

    xdot_i = X xdot_p + S udot + c,     F_i = I xdot_i + p_i + sum over children X^T F,     S^T F_i = tau.

Let everything change by a small amount while udot stays: the nodes turn by phi, their accelerations change by dxdot, their own
forces by d(I xdot + p). Then udot changes by the response of the same tree to [carpentier2018]

    p_i = d(I xdot + p)_i + sum over children dX^T F,     tau = dtau - dS^T F_i,     c = 0,

a right-hand side of the recursion that has been factorised already. Positions change by unit turns and shifts of a joint: a
ball turns about its own axes, whatever numbers tell its orientation.
"""

from ....geometry.vectors import (
    ZERO,
    add,
    add3,
    along_axis,
    column,
    cross,
    diagonal_times,
    dot,
    load3,
    load9,
    scaled,
    store3,
    subtract,
    times,
    transposed_times,
)
from ....kernels.marks import Record, optional
from ..director_form.rows import has_drives
from ..layout import Signal
from .kernels import accelerate, respond
from .motion import ACTING, BALL, SINGLE, TRANSLATION, Data, Link, Node, clear, copy, freedoms, joint_at, turn_from


class Base(Record):
    """par.tree_base[i]: node i where the derivatives are taken."""

    PARENT_ARM = 3  # from the centre of the parent to the joint
    CHILD_ARM = 3  # from its own centre to the joint
    AXIS = 3
    FORCE = 3  # F, that the joint hands on; first the part that the node asks for itself
    MOMENT = 3  # about its own centre
    ACCELERATION = 3
    TURNING = 3  # angular acceleration
    RATES = 3  # u
    GAINS = 3  # udot
    COORDINATES = 4
    STIFFNESS = 1  # of a torsion
    DAMPING = 1
    LOADED = 9  # torque of the loads by the turn of the body


class Change(Record):
    """par.tree_change[i]: what changes at node i with one position or rate of one joint."""

    TURN = 3  # phi
    MOVE = 3  # of the centre
    SPIN = 3  # of the angular velocity
    SPEED = 3
    TURNING = 3  # of the angular acceleration while udot stays
    ACCELERATION = 3
    PARENT_ARM = 3
    CHILD_ARM = 3


@optional
def note_forces(z, par):
    """What `change_forces` needs of the forces, and the slopes of torsions and loads into par.tree_base."""


@optional
def change_forces(par):
    """Add what the forces change by to APPLIED."""


@optional
def respond_to_change(z, at, which, par):
    """udot of all nodes after `change_all`, for column `at` of the derivatives by positions (which = 0) or by rates (1)."""
    respond(par, 0.0)


def find_slopes(z, par):
    """par.newton_slopes: udot by all positions [0] and by all rates [1]; those of node i begin at par.newton_rows[i]."""
    accelerate(z, par)
    fill_columns(z, par, par.newton_slopes)


def fill_columns(z, par, out):
    """UDOT as `respond_to_change` finds it by all positions into out[0], by all rates into out[1], where there is one."""
    note_base(z, par)
    note_forces(z, par)
    gather_wrenches(par)
    for j in range(1, par.tree_links.shape[0]):
        for k in range(freedoms(par.tree_links[j])):
            column = par.newton_rows[j] + k
            for which in range(out.shape[0]):
                change_all(j, k, 1.0 - which, 1.0 * which, par)
                respond_to_change(z, column, which, par)
                for i in range(1, par.tree_links.shape[0]):
                    for l in range(freedoms(par.tree_links[i])):
                        out[which, par.newton_rows[i] + l, column] = par.tree_nodes[i, Node.UDOT + l]


def note_base(z, par):
    """Arms, axes, rates and accelerations; the own part of F."""
    for i in range(1, par.tree_links.shape[0]):
        link, n, above = joint_at(i, par)
        data = par.tree_data[i]
        base = par.tree_base[i]
        b = turn_from(n, data, Data.CHILD_POINT)
        arm = load3(n, Node.ARM)
        store3(base, Base.CHILD_ARM, b)
        store3(base, Base.PARENT_ARM, add(arm, b) if link[Link.KIND] == SINGLE else arm)
        store3(base, Base.AXIS, turn_from(above, data, Data.AXIS))
        copy(n, Node.XDOT, base, Base.ACCELERATION, 6)
        write_wrench(n, data, base, Base.FORCE)
        copy(z, link[Link.RATE], base, Base.RATES, freedoms(link))
        copy(n, Node.UDOT, base, Base.GAINS, freedoms(link))
        if has_drives() and link[Link.DRIVEN] >= 0:
            base[Base.RATES] = par.signal[link[Link.DRIVEN], Signal.SLOPE]
            base[Base.GAINS] = par.signal[link[Link.DRIVEN], Signal.CURVATURE]
        if link[Link.KIND] == BALL:
            copy(z, link[Link.COORDINATE], base, Base.COORDINATES, 4)
        clear(base, Base.STIFFNESS, Base.WIDTH - Base.STIFFNESS)


def write_wrench(n, data, row, at):
    """What a node asks for itself, I xdot + p, into a row."""
    force = add(load3(n, Node.APPLIED), scaled(data[Data.MASS], load3(n, Node.XDOT)))
    torque = inertia_times(load9(n, Node.AXES), data, load3(n, Node.XDOT + 3))
    store3(row, at, force)
    store3(row, at + 3, add(load3(n, Node.APPLIED + 3), torque))


def inertia_times(q, data, v):
    """I v of a body with the axes q."""
    return times(q, diagonal_times(load3(data, Data.MOMENTS), transposed_times(q, v)))


def gather_wrenches(par):
    """F of all nodes, from the tips inward."""
    for i in range(par.tree_links.shape[0] - 1, 0, -1):
        link = par.tree_links[i]
        base = par.tree_base[i]
        if link[Link.PARENT] > 0:
            above = par.tree_base[link[Link.PARENT]]
            force = load3(base, Base.FORCE)
            add3(above, Base.FORCE, force)
            add3(above, Base.MOMENT, cross(load3(par.tree_nodes[i], Node.ARM), force))
            if link[Link.KIND] != BALL:
                add3(above, Base.MOMENT, load3(base, Base.MOMENT))


def change_all(j, k, moved, quickened, par):
    """APPLIED and TAU for a change of freedom k of node j: of its position (moved = 1) or of its rate (quickened = 1)."""
    for i in range(j):  # parents before children: nothing changes there
        clear(par.tree_change[i], 0, Change.WIDTH)
        clear(par.tree_nodes[i], Node.APPLIED, ACTING)
    for i in range(j, par.tree_links.shape[0]):
        change_node(i, k, moved if i == j else 0.0, quickened if i == j else 0.0, par)
        change_own_force(par.tree_nodes[i], par.tree_data[i], par.tree_base[i], par.tree_change[i])
    change_forces(par)
    for i in range(j, par.tree_links.shape[0]):
        if par.tree_links[i, Link.KIND] != TRANSLATION:
            change_joint(i, par)
    if par.tree_links[j, Link.KIND] == SINGLE:
        base = par.tree_base[j]
        par.tree_nodes[j, Node.TAU] -= moved * base[Base.STIFFNESS] + quickened * base[Base.DAMPING]


def change_node(i, k, moved, quickened, par):
    """The change of node i from that of its parent and of its own freedom k."""
    link, n, carrier = joint_at(i, par)
    base = par.tree_base[i]
    change = par.tree_change[i]
    above = par.tree_change[link[Link.PARENT]]
    spin = load3(carrier, Node.SPIN)
    if link[Link.KIND] == TRANSLATION:
        clear(change, 0, Change.WIDTH)
        store3(change, Change.MOVE, along_axis(k, moved))
        store3(change, Change.SPEED, along_axis(k, quickened))
        return
    if link[Link.KIND] == BALL:
        slide = change_ball(n, base, change, above, column(load9(n, Node.AXES), k), moved, quickened)
    else:
        slide = change_single(spin, base, par.tree_data[i], change, above, moved, quickened)
    change_arms(spin, load3(par.tree_base[link[Link.PARENT]], Base.TURNING), n, base, change, above, slide)


def change_ball(n, base, change, above, axis, moved, quickened):
    """A ball that turns by itself, about an axis of its own; returns the shift of its point in the parent, which is none."""
    turn = scaled(moved, axis)
    store3(change, Change.TURN, turn)
    store3(change, Change.SPIN, add(cross(turn, load3(n, Node.SPIN)), scaled(quickened, axis)))
    store3(change, Change.TURNING, cross(turn, load3(base, Base.TURNING)))
    store3(change, Change.SPEED, load3(above, Change.SPEED))
    store3(change, Change.ACCELERATION, load3(above, Change.ACCELERATION))
    return ZERO


def change_single(spin, base, data, change, above, moved, quickened):
    """A hinge, a slide, a screw or a weld, whose axis d turns with the parent: omega = omega_p + turn xdot d, and so on.

    Returns the shift of its point in the parent. `spin` is omega_p.
    """
    d = load3(base, Base.AXIS)
    rate = base[Base.RATES]
    turn_above = load3(above, Change.TURN)
    axis = cross(turn_above, d)
    swept = cross(spin, d)  # the rate of d
    swept_change = add(cross(load3(above, Change.SPIN), d), cross(spin, axis))
    # changes of xdot d, and of its rate with omega_p x d once for a turn and twice for an advance
    along = add(scaled(quickened, d), scaled(rate, axis))
    carried = add(scaled(quickened, swept), scaled(rate, swept_change))
    gained = scaled(base[Base.GAINS], axis)
    turn = data[Data.TURN]
    advance = data[Data.ADVANCE]
    store3(change, Change.TURN, add(turn_above, scaled(moved * turn, d)))
    store3(change, Change.SPIN, add(load3(above, Change.SPIN), scaled(turn, along)))
    store3(change, Change.TURNING, add(load3(above, Change.TURNING), scaled(turn, add(gained, carried))))
    store3(change, Change.SPEED, add(load3(above, Change.SPEED), scaled(advance, along)))
    pushed = scaled(advance, add(gained, scaled(2.0, carried)))
    store3(change, Change.ACCELERATION, add(load3(above, Change.ACCELERATION), pushed))
    return scaled(moved * advance, d)


def change_arms(spin, turning, n, base, change, above, slide):
    """The arms on both sides of a joint, and what they do to place, velocity and acceleration of the node.

    `spin` and `turning` are the angular velocity and acceleration of the parent.
    """
    p = load3(base, Base.PARENT_ARM)
    b = load3(base, Base.CHILD_ARM)
    dp = add(cross(load3(above, Change.TURN), p), slide)
    db = cross(load3(change, Change.TURN), b)
    store3(change, Change.PARENT_ARM, dp)
    store3(change, Change.CHILD_ARM, db)
    store3(change, Change.MOVE, add(load3(above, Change.MOVE), subtract(dp, db)))
    speed, acceleration = swing(spin, turning, p, load3(above, Change.SPIN), load3(above, Change.TURNING), dp)
    back, drawn = swing(
        load3(n, Node.SPIN), load3(base, Base.TURNING), b, load3(change, Change.SPIN), load3(change, Change.TURNING), db
    )
    add3(change, Change.SPEED, subtract(speed, back))
    add3(change, Change.ACCELERATION, subtract(acceleration, drawn))


def swing(w, alpha, x, dw, dalpha, dx):
    """Changes of w x x and of alpha x x + w x (w x x)."""
    speed = cross(w, x)
    change = add(cross(dw, x), cross(w, dx))
    turned = add(cross(dalpha, x), cross(alpha, dx))
    return change, add(turned, add(cross(dw, speed), cross(w, change)))


def change_own_force(n, data, base, change):
    """APPLIED = the change of (m a - m g, I alpha + omega x I omega) and of the loads, dI = phi x I - I phi x; TAU = 0."""
    store3(n, Node.TAU, ZERO)
    phi = load3(change, Change.TURN)
    w = load3(n, Node.SPIN)
    dw = load3(change, Change.SPIN)
    alpha = load3(base, Base.TURNING)
    q = load9(n, Node.AXES)
    momentum = inertia_times(q, data, w)
    of_momentum = add(cross(phi, momentum), inertia_times(q, data, subtract(dw, cross(phi, w))))
    of_rate = inertia_times(q, data, subtract(load3(change, Change.TURNING), cross(phi, alpha)))
    turned = add(cross(phi, inertia_times(q, data, alpha)), of_rate)
    torque = add(turned, add(cross(dw, momentum), cross(w, of_momentum)))
    store3(n, Node.APPLIED, scaled(data[Data.MASS], load3(change, Change.ACCELERATION)))
    store3(n, Node.APPLIED + 3, subtract(torque, times(load9(base, Base.LOADED), phi)))


def change_joint(i, par):
    """-dS^T F to TAU, with the moment about the joint, m - b x f; dX^T F to the parent."""
    link, n, above = joint_at(i, par)
    data = par.tree_data[i]
    base = par.tree_base[i]
    change = par.tree_change[i]
    force = load3(base, Base.FORCE)
    arm = load3(change, Change.PARENT_ARM)
    db = load3(change, Change.CHILD_ARM)
    lost = cross(db, force)
    about = subtract(load3(base, Base.MOMENT), cross(load3(base, Base.CHILD_ARM), force))
    if link[Link.KIND] == BALL:
        own = transposed_times(load9(n, Node.AXES), subtract(cross(about, load3(change, Change.TURN)), lost))
        for k in range(3):
            n[Node.TAU + k] -= (1.0 - data[Data.HELD + k]) * own[k]
    else:
        turned = load3(par.tree_change[link[Link.PARENT]], Change.TURN)
        pull = add(scaled(data[Data.ADVANCE], force), scaled(data[Data.TURN], about))
        n[Node.TAU] -= dot(load3(base, Base.AXIS), subtract(cross(pull, turned), scaled(data[Data.TURN], lost)))
        arm = subtract(arm, db)
    add3(above, Node.APPLIED + 3, cross(arm, force))
