"""Kernels of RATTLE for linked bodies: positions with multipliers at the start, velocities with multipliers at the end.

    M (dr - V0) = h^2 F(q0)/2 - Phi_r(q0) L,    Q0 (y+ - J W0) = torques at q0,    Phi(q1) = 0
    M (V1 - dr) = h^2 F(q1)/2 - Phi_r(q1) m,    Q1 (J W1 - y-) = torques at q1,    Phi_q(q1) (V1, W1) = 0
    y+- = (J c +- c x J c/2)/(1 + |c|^2/4),     Q1 = Q0 cay(c)

the Moser-Veselov step between half kicks, with the joints held at both levels [leimkuhler2004]. Velocities are taken times h. The
first line is solved by Newton's method, the second is linear.
"""

from ....geometry.vectors import (
    add,
    add_down,
    along_axis,
    clear,
    copy,
    cross,
    diagonal_times,
    dot,
    load3,
    negative,
    scaled,
    store3,
    subtract,
    unit,
)
from ....kernels.marks import optional, slot
from ....kernels.views import OK, SINGULAR
from ..layout import Arms, Force, ForceSort, Joint, Link, Load, Node, Pair, Scratch, Tree, Values
from .blocks import add_couple, deposit, deposit_values, keep, keep_nothing, move_pair, torsion_slope, unit_wrench
from .clock import gravity_now, time_place
from .drives import set_drives, work_of_kicks
from .forces import add_wrench, between_points, impulse, load_values, point_tension, pull
from .motors import has_motors, motor_torque
from .rows import angle_parts, angle_torque, has_drives, pairs_of, phase, to_space, values_near
from .steps import cayley_change, turn_of_joint


@slot
def velocity_correction(h, time, x, par):
    """The new velocities into par.delta; a status."""


@optional
def end_particles(z, e, h, par):
    """Find what particles do to the bodies at the end of the step."""


def position_body(i, h, par, t, width, first):
    """Add the inertia of body i to the equations of the positions."""
    a, b = par.node[0, i], par.node[1, i]
    m = par.mass[i]
    j = load3(par.moments[i], 0)
    c = load3(b, Node.TURN)
    late = scaled(m, subtract(load3(a, Node.VELOCITY), load3(b, Node.MOVE)))
    add_body(m, h, late, par, t, width, first)
    k, p = halves(c, j)
    y = scaled(k, add(diagonal_times(j, c), p))
    turn = (first + 3) * width
    gained = subtract(y, diagonal_times(j, load3(a, Node.SPIN)))
    subtract_turned(a, gained, turn + width - 1, t, width)
    for axis in range(3):
        d = cayley_change(c, unit(axis))
        u = cross(d, diagonal_times(j, c))
        v = cross(c, diagonal_times(j, d))
        along = 0.5 * dot(c, d)
        d = scaled(k, subtract(add(diagonal_times(j, d), scaled(0.5, add(u, v))), scaled(along, y)))
        subtract_turned(a, negative(d), turn + first + 3 + axis, t, width)


@optional
def inertia_of(i, par):
    """Mass and moments of body i in the equations of the velocities."""
    return par.mass[i], load3(par.moments[i], 0)


def velocity_body(i, h, par, t, width, first):
    """Add the inertia of body i to the equations of the velocities."""
    b = par.node[1, i]
    m, j = inertia_of(i, par)
    add_body(m, h, load3(b, Node.PUSH), par, t, width, first)
    turn = (first + 3) * width
    subtract_turned(b, negative(load3(b, Node.SPUN)), turn + width - 1, t, width)
    for axis in range(3):
        subtract_turned(b, along_axis(axis, -j[axis]), turn + first + 3 + axis, t, width)


def set_momentum(b, m, j):
    """What a body with the mass m and the moments j brings to the end of the step, its node b: M dr and y-."""
    c = load3(b, Node.TURN)
    k, p = halves(c, j)
    store3(b, Node.PUSH, scaled(m, load3(b, Node.MOVE)))
    store3(b, Node.SPUN, scaled(k, subtract(diagonal_times(j, c), p)))


def add_body(m, h, momentum, par, t, width, first):
    """Add the mass m to the diagonal, and a momentum and the kick of the weight to the last column."""
    for l in range(3):
        t[(first + l) * width + first + l] += m
    kick = scaled(impulse(h, par) * m, gravity_now(par))
    add_down(t, first * width + width - 1, width, add(momentum, kick))


def share_forces(par, first, last):
    """`share_forces`: RATTLE has 1/2 and 1/2."""
    par.scratch[Scratch.KICKS] = first
    par.scratch[Scratch.KICKS + 1] = last


def halves(c, j):
    """1/(1 + |c|^2/4) and c x J c/2: y+- = k (J c +- c x J c/2)."""
    return 1.0 / (1.0 + 0.25 * dot(c, c)), scaled(0.5, cross(c, diagonal_times(j, c)))


def subtract_turned(node, k, at, t, width):
    """Subtract Q k from a column, from `at` on."""
    add_down(t, at, width, negative(to_space(node, k)))


def joint_at_node(k, h, lam, par, t, width):
    """The block of joint k: multipliers act with the gradients of Phi at that node; rows are Phi (phase 0) or f (1) at the end."""
    m = par.link[k, Link.END_ROW] - par.link[k, Link.FIRST_ROW]
    parent = 6 + m
    scratch = par.scratch
    a, b, c = pairs_of(k, par.node[phase()], par)
    clear(t, (parent + 6) * width)
    keep_nothing(scratch)
    for case in range(m):
        unit_wrench(k, case, a, a, par)
        deposit(1.0, parent, 6 + case, t, width, scratch)
    for change in range(-1, 9):
        copy(b, c, Pair.WIDTH)
        column = width - 1
        if change >= 0:
            column = move_pair(c, 9 * phase() + change, parent) - 6 * phase()
        sign = 1.0 if change >= 0 else -1.0
        values_near(k, b, c, par)
        deposit_values(m, Values.RATE * phase(), 6, column, sign, scratch, t, width)  # Phi, or f
        if change < 0:
            keep(k, m if phase() == 0 else 0, scratch)
    for r in range(m):
        for l in range(3):
            t[(6 + r) * width + parent + l] = -t[(6 + r) * width + l]
    if par.link[k, Link.HAS_ANGLE] == 1:
        rattle_angle(k, h, a, b, c, par, t, width)
    if phase() == 0:  # the multipliers so far
        for r in range(parent + 6):
            for l in range(m):
                t[r * width + width - 1] -= t[r * width + 6 + l] * lam[l]


def rattle_angle(k, h, a, b, c, par, t, width):
    """Add the torsion of joint k, and the advance of a screw, to its block."""
    m = par.link[k, Link.END_ROW] - par.link[k, Link.FIRST_ROW]
    parent = 6 + m
    joint = par.joint[k]
    pitch = joint[Joint.PITCH]
    u, w = angle_parts(joint, a)
    n = angle_torque(joint, a, a, u, w)
    d = turn_of_joint(k, par)  # which writes over a
    torque = 0.0
    if par.link[k, Link.TORSION] >= 0:
        theta = joint[Joint.THETA] + phase() * d
        torque = impulse(h, par) * torsion_slope(theta, par.link[k, Link.TORSION], par)
        if has_motors():
            push, _, _ = motor_torque(theta, 0.0, par.link[k, Link.TORSION], par)
            torque -= impulse(h, par) * push
    add_couple(t, width - 1, parent, width, scaled(torque, n))
    if pitch != 0.0:
        add_couple(t, 5 + m, parent, width, scaled(pitch, n))
    if pitch != 0.0 and phase() == 0:
        last = (5 + m) * width
        t[last + width - 1] += pitch * (joint[Joint.THETA] + d) + joint[Joint.SHIFT]
        u1, w1 = angle_parts(joint, b)
        for change in range(6):
            copy(b, c, Pair.WIDTH)
            column = move_pair(c, change, parent)
            u2, w2 = angle_parts(joint, c)
            t[last + column] -= pitch * (u1 * (w2 - w1) - w1 * (u2 - u1)) / (u1 * u1 + w1 * w1)


def kick_points(f, h, par, t, width, first, second):
    """The kick of force f at that node."""
    node = par.node[phase()]
    d = par.scratch[Scratch.START_GAP : Scratch.END_GAP]
    arms = par.scratch[Scratch.ARMS : Scratch.ARMS + Arms.WIDTH]
    s = between_points(f, node, par, d)
    a = impulse(h, par) * point_tension(f, s, par)
    for side in range(2):
        own = node[par.force_sort[f, ForceSort.BODY_I + side]]
        store3(arms, Arms.FIRST + 3 * side, to_space(own, load3(par.force[f], Force.FIRST_POINT + 3 * side)))
    pull(t, width, width - 1, scaled(-a, load3(d, 0)), arms, 0, first, second)


def kick_loads(i, h, time, par, t, width, first):
    """The kick of the loads on body i at that node."""
    moment = time if phase() == 0 else time + h
    f = par.tree[i, Tree.LOAD]
    value = par.scratch[Scratch.LOADED : Scratch.LOADED + 6]
    k = impulse(h, par)
    while f >= 0:
        load_values(moment, f, par, value)
        force = load3(value, Load.FORCE)
        arm = to_space(par.node[phase(), i], load3(par.load[f], Load.POINT))
        torque = add(cross(arm, force), load3(value, Load.TORQUE))
        add_wrench(t, first * width + width - 1, width, scaled(k, force), scaled(k, torque))
        f = par.load_next[f]


def find_velocities(z, e, h, par, x):
    """`steps.find_velocities`: what the kick at the end and the joints leave of the momenta."""
    n = par.mass.shape[0]
    for i in range(n):
        set_momentum(par.node[1, i], par.mass[i], load3(par.moments[i], 0))
        clear(par.node[1, i, Node.VELOCITY :], 6)
    end_particles(z, e, h, par)
    time = time_place(par)
    ended = z[time] + h
    set_drives(ended, ended, ended, ended, h, par)
    if velocity_correction(h, z[time], x, par) != 0:
        return SINGULAR
    for i in range(n):
        copy(par.delta[6 * i :], par.node[1, i, Node.VELOCITY :], 6)
    if has_drives():
        work_of_kicks(z, e, h, z[time], x[6 * n :], par.delta[6 * n :], par)
    return OK
