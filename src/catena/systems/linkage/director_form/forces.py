"""Kernels of the forces on linked bodies: along the line between two points, and loads.

A potential of the squared distance s acts in a step through (V1 - V0)/(s1 - s0), its discrete derivative; the force on the
second point is then -A dbar with A = 2 (V1 - V0)/(s1 - s0) and dbar the mean of both ends of the vector between the points. Energy
and momentum are exact. A damper acts through its length in the same way and takes c (l1 - l0)^2/h in each step.
"""

import math

from ....geometry.vectors import add, add_down, along_axis, cross, dot, load3, mean, negative, scaled, store3, subtract
from ....kernels.marks import slot
from ....kernels.views import pair_energy, pair_force, pair_slope
from ..layout import Arms, Force, ForceSort, Load, Node, Scratch, Tree
from .rows import both_levels, kicks, mean_to_space, phase, to_space

SPRING, DAMPER, SITE_PAIR = 0, 1, 2
SMALL_CHANGE = 1e-6  # of s, below which a difference quotient is the derivative in the middle


@slot
def load_values(t, which, par, out):
    """Force (3) and torque (3) of load number `which` at time t, in space."""


def impulse(h, par):
    """What multiplies a force in a step of length h: h^2, or the part of it that kicks at that end (half of it in RATTLE)."""
    return par.scratch[Scratch.KICKS + phase()] * h * h if kicks() else h * h


def between_points(f, node, par, d):
    """The vector d between the two points of force f at a node, and its square."""
    first = node[par.force_sort[f, ForceSort.BODY_I]]
    second = node[par.force_sort[f, ForceSort.BODY_J]]
    a = to_space(first, load3(par.force[f], Force.FIRST_POINT))
    b = to_space(second, load3(par.force[f], Force.SECOND_POINT))
    apart = subtract(load3(second, Node.POSITION), load3(first, Node.POSITION))
    gap = subtract(add(apart, b), a)
    store3(d, 0, gap)
    return dot(gap, gap)


def point_energy(f, s, par):
    """V of force f for the squared distance s; 0 for a damper."""
    kind = par.force_sort[f, ForceSort.KIND]
    if kind == SPRING:
        stretch = math.sqrt(s) - par.force[f, Force.REST]
        return 0.5 * par.force[f, Force.STIFFNESS] * stretch * stretch
    if kind == SITE_PAIR:
        return pair_energy(s, par.force_sort[f, ForceSort.POTENTIAL], par)
    return 0.0


def point_tension(f, s, par):
    """2 dV/ds of force f: the force on the second point is minus this times d; 0 for a damper."""
    kind = par.force_sort[f, ForceSort.KIND]
    if kind == SPRING:
        l = math.sqrt(s)
        if l == 0.0:
            return par.force[f, Force.STIFFNESS]
        return par.force[f, Force.STIFFNESS] * (l - par.force[f, Force.REST]) / l
    if kind == SITE_PAIR:
        return -pair_force(s, par.force_sort[f, ForceSort.POTENTIAL], par)
    return 0.0


def tension_slope(f, s, par):
    """The derivative of `point_tension` by s."""
    kind = par.force_sort[f, ForceSort.KIND]
    if kind == SPRING:
        return 0.5 * par.force[f, Force.STIFFNESS] * par.force[f, Force.REST] / (s * math.sqrt(s)) if s > 0.0 else 0.0
    if kind == SITE_PAIR:
        return -pair_slope(s, par.force_sort[f, ForceSort.POTENTIAL], par)
    return 0.0


def mean_tension(f, s0, s1, h, par):
    """h^2 A of force f between squared distances s0 and s1, and its derivative by l1, divided by l1."""
    kind = par.force_sort[f, ForceSort.KIND]
    if kind == SITE_PAIR:
        which = par.force_sort[f, ForceSort.POTENTIAL]
        if abs(s1 - s0) <= SMALL_CHANGE * s1:
            middle = 0.5 * (s0 + s1)
            return -h * h * pair_force(middle, which, par), -h * h * pair_slope(middle, which, par)
        mean = 2.0 * (pair_energy(s1, which, par) - pair_energy(s0, which, par)) / (s1 - s0)
        return h * h * mean, 2.0 * h * h * (-pair_force(s1, which, par) - mean) / (s1 - s0)
    l0 = math.sqrt(s0)
    l1 = math.sqrt(s1)
    total = l0 + l1
    k = par.force[f, Force.STIFFNESS]
    if total == 0.0:
        return (h * h * k, 0.0) if kind == SPRING else (0.0, 0.0)
    if kind == SPRING:
        rest = par.force[f, Force.REST]
        slope = 2.0 * h * h * k * rest / (total * total)
        return h * h * k * (total - 2.0 * rest) / total, slope / l1 if l1 > 0.0 else 0.0
    slope = 4.0 * h * k * l0 / (total * total)
    return 2.0 * h * k * (l1 - l0) / total, slope / l1 if l1 > 0.0 else 0.0


def force_block(f, h, par, t, width, first, second):
    """Add force f to a block t: the unknowns of its two bodies begin at `first` and `second` (-1: not there)."""
    start_gap = par.scratch[Scratch.START_GAP : Scratch.END_GAP]
    end_gap = par.scratch[Scratch.END_GAP : Scratch.ARMS]
    s0 = between_points(f, par.node[0], par, start_gap)
    s1 = between_points(f, par.node[1], par, end_gap)
    tension, slope = mean_tension(f, s0, s1, h, par)
    middle = mean(load3(start_gap, 0), load3(end_gap, 0))
    low = 6 * both_levels()
    arms = par.scratch[Scratch.ARMS : Scratch.ARMS + Arms.WIDTH]
    for side in range(2):
        number = par.force_sort[f, ForceSort.BODY_I + side]
        point = load3(par.force[f], Force.FIRST_POINT + 3 * side)
        store3(arms, Arms.FIRST + 3 * side, mean_to_space(par.node[0, number], par.node[1, number], point))
    pull(t, width, width - 1, scaled(-tension, middle), arms, low, first, second)
    # columns: displacement of i and j, then turns of i and j about their own axes
    for side in range(2):
        start = first if side == 0 else second
        if start < 0:
            continue
        sign = -1.0 if side == 0 else 1.0
        own = par.node[1, par.force_sort[f, ForceSort.BODY_I + side]]
        point = load3(par.force[f], Force.FIRST_POINT + 3 * side)
        for part in range(2):
            for axis in range(3):
                e = along_axis(axis, sign) if part == 0 else scaled(sign, swung(own, point, axis))
                along = slope * dot(load3(end_gap, 0), e)
                column = start + 3 * part + axis
                force = add(scaled(0.5 * tension, e), scaled(along, middle))
                pull(t, width, column, force, arms, low, first, second)
                if part == 1:  # the mean arm moves, too
                    turned = cross(scaled(0.5, e), scaled(tension, middle))
                    add_down(t, (start + low + 3) * width + column, width, turned)


def swung(own, x, axis):
    """Q (e x X) for a unit vector e of the body and a point X of it."""
    n = (axis + 1) % 3
    l = (axis + 2) % 3
    q = own[Node.DIRECTORS : Node.VELOCITY]
    return q[l] * x[n] - q[n] * x[l], q[3 + l] * x[n] - q[3 + n] * x[l], q[6 + l] * x[n] - q[6 + n] * x[l]


def pull(t, width, column, f, arms, low, first, second):
    """Add the force f to the equations of body j and its opposite to those of body i, with their mean arms."""
    if second >= 0:
        torque = cross(load3(arms, Arms.SECOND), f)
        add_wrench(t, (second + low) * width + column, width, f, torque)
    if first >= 0:
        torque = cross(load3(arms, Arms.FIRST), f)
        add_wrench(t, (first + low) * width + column, width, negative(f), negative(torque))


def add_wrench(t, at, width, force, torque):
    """Add a force and a torque to a column."""
    add_down(t, at, width, force)
    add_down(t, at + 3 * width, width, torque)


def load_block(i, h, time, par, t, width, first):
    """Add the loads on body i, taken at the middle of the step, to a block whose unknowns of i begin at `first`."""
    f = par.tree[i, Tree.LOAD]
    low = first + 6 * both_levels()
    value = par.scratch[Scratch.LOADED : Scratch.LOADED + 6]
    while f >= 0:
        load_values(time + 0.5 * h, f, par, value)
        x = load3(par.load[f], Load.POINT)
        arm = mean_to_space(par.node[0, i], par.node[1, i], x)
        force = scaled(h * h, load3(value, Load.FORCE))
        torque = add(cross(arm, force), scaled(h * h, load3(value, Load.TORQUE)))
        add_wrench(t, low * width + width - 1, width, force, torque)
        for axis in range(3):
            turned = cross(scaled(0.5, swung(par.node[1, i], x, axis)), force)
            add_down(t, (low + 3) * width + first + 3 + axis, width, negative(turned))
        f = par.load_next[f]
