"""What the two conserving steps do differently in the sweeps along a tree: the published one, and the one with both levels.

With both levels there is u for each joint, next to its increment x: the rate of a hinge, the angular velocity (in space) of the child of a
ball joint, the velocities of a body that no joint carries, at the end of the step and times the step. Inwards over body i with children k
and parent p, gam and del in the axes of the body, E_k = (Q0_i^T Q0_k + Q1_i^T Q1_k)/2 [gonzalez1999]:

    Gam_i = M (dr - Vbar) + sum Gam_k,     gam_i = Qb^-1 Gam_i
    del_i = J (c - Wbar) - b x gam_i + sum [a_k x (E_k gam_k) + E_k del_k]             vanishes along a hinge, or wholly
    F_i = M (V1 - V0) - h^2 M g + sum F_k
    T_i = Qb [J (W1 - W0) + c x J Wbar] + Gam_i x rel_i - bbar x F_i + sum [abar_k x F_k - A_k x Gam_k + T_k]
    T_i + O_p x (Qb del_i)                                                             vanishes along a hinge, or wholly
    A_k = Qb_i (Wbar_i x a_k),   O_p = Qb_p Wbar_p,   rel_i = Vbar_i - Vbar_p - A_i

Left out of the derivative is what the small Gam and del would contribute, which vanish with the error of the step.
"""

from ....geometry.vectors import (
    add,
    add_down,
    cross,
    load3,
    load9,
    load_down,
    mean,
    negative,
    scaled,
    store3,
    store_down,
    subtract,
    times,
)
from ....kernels.marks import Record, within
from ..layout import Joint, Link, Node, Scratch, Sweep, Tree, behind_change
from .recursion_elimination import shift_torque
from .rows import axes, mean_to_space, to_body

WIDE = 14  # numbers in a row of a table
DISPLACEMENT, TWIST, FORCE, TORQUE = 0, 3 * WIDE, 6 * WIDE, 9 * WIDE  # Gam, del, F, T
RESIDUAL = 12  # column of the wrench; behind it what corrections add
SPACE_SPIN = behind_change(12)[-1]


class Maps(Record):
    """The scratch MAPS: how a joint takes Gam and del to its point and to the parent."""

    TO_TWIST = 9  # b x Qb^-1
    TO_PARENT = 9  # a x (E Qb^-1)
    TWIST_TO_PARENT = 9  # E


@within
def end_velocity_of_rates(i, x, par):
    """What the joints' rates give to body i."""
    at = x.shape[0] // 2 + par.tree[i, Tree.UNKNOWN]
    freedom = par.tree[i, Tree.FREEDOM]
    own = par.sweep[i]
    b = par.node[1, i]
    k = par.tree[i, Tree.CARRIER]
    if k < 0:
        store3(b, Node.VELOCITY, load3(x, at))
        w = load3(x, at + 3)
    else:
        parent = par.link[k, Link.PARENT]
        above = load3(par.sweep[parent], SPACE_SPIN)
        w = above
        if freedom == 1:
            w = add(w, scaled(x[at], load3(own, Sweep.AXIS)))
        elif freedom == 3:
            w = load3(x, at)
        v = add(load3(par.node[1, parent], Node.VELOCITY), cross(above, load3(own, Sweep.PARENT_ARM)))
        store3(b, Node.VELOCITY, subtract(v, cross(w, load3(own, Sweep.CHILD_ARM))))
    store3(own, SPACE_SPIN, w)
    store3(b, Node.SPIN, to_body(b, w))


@within
def set_maps(i, parent, joint, par):
    """How the joint that carries body i takes Gam and del to its point and to the parent."""
    q0 = axes(par.node[0, i])
    q1 = axes(par.node[1, i])
    p0 = axes(par.node[0, parent])
    p1 = axes(par.node[1, parent])
    c = load3(par.node[1, i], Node.TURN)
    b = load3(joint, Joint.CHILD_POINT)
    a = load3(joint, Joint.PARENT_POINT)
    maps = par.scratch[Scratch.MAPS : Scratch.MAPS + Maps.WIDTH]
    for r in range(3):
        for l in range(3):
            maps[Maps.TWIST_TO_PARENT + 3 * r + l] = 0.5 * (
                p0[r] * q0[l] + p0[3 + r] * q0[3 + l] + p0[6 + r] * q0[6 + l]
                + p1[r] * q1[l] + p1[3 + r] * q1[3 + l] + p1[6 + r] * q1[6 + l]
            )  # fmt: skip
    for l in range(3):  # columns of Qb^-1 = (1 - skew(c)/2) Q0^T
        g = load3(par.node[0, i], Node.DIRECTORS + 3 * l)
        g = subtract(g, scaled(0.5, cross(c, g)))
        store_down(maps, Maps.TO_TWIST + l, 3, cross(b, g))
        store_down(maps, Maps.TO_PARENT + l, 3, cross(a, times(load9(maps, Maps.TWIST_TO_PARENT), g)))


@within
def mean_spin(a, b):
    """Wbar of a body."""
    return mean(load3(a, Node.SPIN), load3(b, Node.SPIN))


@within
def parent_arm_rate(parent, joint, par):
    """A = Qb (Wbar x a) of the parent."""
    a, b = par.node[0, parent], par.node[1, parent]
    return mean_to_space(a, b, cross(mean_spin(a, b), load3(joint, Joint.PARENT_POINT)))


@within
def take_twist(i, k, par, table, fresh):
    """Take del to joint k, which carries body i, and add the torque of Gam."""
    parent = par.link[k, Link.PARENT]
    set_maps(i, parent, par.joint[k], par)
    to = load9(par.scratch, Scratch.MAPS + Maps.TO_TWIST)
    for l in range(0 if fresh else RESIDUAL, WIDE):
        add_down(table, TWIST + l, WIDE, negative(times(to, load_down(table, DISPLACEMENT + l, WIDE))))
    own_speed = mean(load3(par.node[0, i], Node.VELOCITY), load3(par.node[1, i], Node.VELOCITY))
    speed = mean(load3(par.node[0, parent], Node.VELOCITY), load3(par.node[1, parent], Node.VELOCITY))
    against = subtract(parent_arm_rate(parent, par.joint[k], par), subtract(own_speed, speed))
    shift_torque(table, against, DISPLACEMENT, TORQUE, WIDE, fresh)  # Gam x rel


@within
def hinge_twist(i, k, u, par):
    """What the equations of hinge k take of del: along the axis in the child, and along Qb^T (nbar x O_p) with the mean axis u = nbar."""
    parent = par.link[k, Link.PARENT]
    a, b = par.node[0, parent], par.node[1, parent]
    w = cross(u, mean_to_space(a, b, mean_spin(a, b)))
    g = mean(to_body(par.node[0, i], w), to_body(par.node[1, i], w))
    return to_body(par.node[1, i], load3(par.sweep[i], Sweep.AXIS)), g


@within
def hand_twist(i, k, par, table, below, fresh):
    """Add del, as it looks from the parent, to that of the parent, and the torque of Gam."""
    against = negative(parent_arm_rate(par.link[k, Link.PARENT], par.joint[k], par))
    shift_torque(table, against, DISPLACEMENT, TORQUE, WIDE, fresh)
    to = load9(par.scratch, Scratch.MAPS + Maps.TO_PARENT)
    twist = load9(par.scratch, Scratch.MAPS + Maps.TWIST_TO_PARENT)
    for l in range(0 if fresh else RESIDUAL, WIDE):
        f = times(to, load_down(table, DISPLACEMENT + l, WIDE))
        add_down(below, TWIST + l, WIDE, add(f, times(twist, load_down(table, TWIST + l, WIDE))))
