"""Kernels of the forces on linked bodies: along the line between two points, and loads.

A potential of the squared distance s acts in a step through (V1 - V0)/(s1 - s0), its discrete derivative; the force on the
second point is then -A dbar with A = 2 (V1 - V0)/(s1 - s0) and dbar the mean of both ends of the vector between the points. Energy
and momentum are exact. A damper acts through its length in the same way and takes c (l1 - l0)^2/h in each step.
"""

import math

from ...kernel import slot
from ...views import pair_energy, pair_force, pair_slope
from .layout import Force, ForceSort, Scratch, Tree
from .rows import cross, times

SPRING, DAMPER, SITE_PAIR = 0, 1, 2
SMALL_CHANGE = 1e-6  # of s, below which a difference quotient is the derivative in the middle


@slot
def load_values(t, which, par, out):
    """Force (3) and torque (3) of load number `which` at time t, in space."""


def between_points(f, node, par, d):
    """The vector d between the two points of force f at a node, and its square."""
    i = par.force_sort[f, ForceSort.BODY_I]
    j = par.force_sort[f, ForceSort.BODY_J]
    x = par.force[f, 0:3]
    y = par.force[f, 3:6]
    a1, a2, a3 = times(node[i, 3:12], x[0], x[1], x[2])
    b1, b2, b3 = times(node[j, 3:12], y[0], y[1], y[2])
    d[0] = node[j, 0] - node[i, 0] + b1 - a1
    d[1] = node[j, 1] - node[i, 1] + b2 - a2
    d[2] = node[j, 2] - node[i, 2] + b3 - a3
    return d[0] * d[0] + d[1] * d[1] + d[2] * d[2]


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


def force_block(f, both, h, par, t, width, first, second):
    """Add force f to a block t: the unknowns of its two bodies begin at `first` and `second` (-1: not there)."""
    i = par.force_sort[f, ForceSort.BODY_I]
    j = par.force_sort[f, ForceSort.BODY_J]
    x = par.force[f, 0:3]
    y = par.force[f, 3:6]
    d0 = par.scratch[Scratch.START_GAP : Scratch.START_GAP + 3]
    d1 = par.scratch[Scratch.START_GAP + 3 : Scratch.START_GAP + 6]
    s0 = between_points(f, par.node[0], par, d0)
    s1 = between_points(f, par.node[1], par, d1)
    a, slope = mean_tension(f, s0, s1, h, par)
    m1 = 0.5 * (d0[0] + d1[0])
    m2 = 0.5 * (d0[1] + d1[1])
    m3 = 0.5 * (d0[2] + d1[2])
    low = 6 * both
    p = par.scratch[
        Scratch.START_GAP + 6 : Scratch.START_GAP + 18
    ]  # arm of i at the end, its mean, arm of j at the end, its mean
    p[0], p[1], p[2] = times(par.node[1, i, 3:12], x[0], x[1], x[2])
    b1, b2, b3 = times(par.node[0, i, 3:12], x[0], x[1], x[2])
    p[3] = 0.5 * (p[0] + b1)
    p[4] = 0.5 * (p[1] + b2)
    p[5] = 0.5 * (p[2] + b3)
    p[6], p[7], p[8] = times(par.node[1, j, 3:12], y[0], y[1], y[2])
    b1, b2, b3 = times(par.node[0, j, 3:12], y[0], y[1], y[2])
    p[9] = 0.5 * (p[6] + b1)
    p[10] = 0.5 * (p[7] + b2)
    p[11] = 0.5 * (p[8] + b3)
    pull(t, width, width - 1, -a * m1, -a * m2, -a * m3, p, low, first, second)
    # columns: displacement of i and j, then turns of i and j about their own axes
    for side in range(2):
        start = first if side == 0 else second
        if start < 0:
            continue
        sign = -1.0 if side == 0 else 1.0
        q = par.node[1, i, 3:12] if side == 0 else par.node[1, j, 3:12]
        arm = x if side == 0 else y
        for part in range(2):
            for axis in range(3):
                e1, e2, e3 = 0.0, 0.0, 0.0
                if part == 0:
                    e1 = sign if axis == 0 else 0.0
                    e2 = sign if axis == 1 else 0.0
                    e3 = sign if axis == 2 else 0.0
                else:
                    n = (axis + 1) % 3
                    l = (axis + 2) % 3
                    # Q (e_axis x X)
                    e1 = sign * (q[l] * arm[n] - q[n] * arm[l])
                    e2 = sign * (q[3 + l] * arm[n] - q[3 + n] * arm[l])
                    e3 = sign * (q[6 + l] * arm[n] - q[6 + n] * arm[l])
                along = slope * (d1[0] * e1 + d1[1] * e2 + d1[2] * e3)
                column = start + 3 * part + axis
                pull(
                    t, width, column, 0.5 * a * e1 + along * m1, 0.5 * a * e2 + along * m2, 0.5 * a * e3 + along * m3,
                    p, low, first, second,
                )  # fmt: skip
                if part == 1:  # the mean arm moves, too
                    c1, c2, c3 = cross(0.5 * e1, 0.5 * e2, 0.5 * e3, a * m1, a * m2, a * m3)
                    row = start + low + 3
                    t[row * width + column] += c1
                    t[(row + 1) * width + column] += c2
                    t[(row + 2) * width + column] += c3


def pull(t, width, column, f1, f2, f3, p, low, first, second):
    """Add the force f to the equations of body j and its opposite to those of body i, with the mean arms in p."""
    if second >= 0:
        c1, c2, c3 = cross(p[9], p[10], p[11], f1, f2, f3)
        row = (second + low) * width + column
        t[row] += f1
        t[row + width] += f2
        t[row + 2 * width] += f3
        t[row + 3 * width] += c1
        t[row + 4 * width] += c2
        t[row + 5 * width] += c3
    if first >= 0:
        c1, c2, c3 = cross(p[3], p[4], p[5], f1, f2, f3)
        row = (first + low) * width + column
        t[row] -= f1
        t[row + width] -= f2
        t[row + 2 * width] -= f3
        t[row + 3 * width] -= c1
        t[row + 4 * width] -= c2
        t[row + 5 * width] -= c3


def load_block(i, both, h, time, par, t, width, first):
    """Add the loads on body i, taken at the middle of the step, to a block whose unknowns of i begin at `first`."""
    f = par.tree[i, Tree.LOAD]
    low = first + 6 * both
    q0 = par.node[0, i, 3:12]
    q1 = par.node[1, i, 3:12]
    value = par.scratch[Scratch.LOADED : Scratch.LOADED + 6]
    while f >= 0:
        load_values(time + 0.5 * h, f, par, value)
        x = par.load[f, 6:9]
        a1, a2, a3 = times(q0, x[0], x[1], x[2])
        b1, b2, b3 = times(q1, x[0], x[1], x[2])
        f1 = h * h * value[0]
        f2 = h * h * value[1]
        f3 = h * h * value[2]
        c1, c2, c3 = cross(0.5 * (a1 + b1), 0.5 * (a2 + b2), 0.5 * (a3 + b3), f1, f2, f3)
        row = low * width + width - 1
        t[row] += f1
        t[row + width] += f2
        t[row + 2 * width] += f3
        t[row + 3 * width] += c1 + h * h * value[3]
        t[row + 4 * width] += c2 + h * h * value[4]
        t[row + 5 * width] += c3 + h * h * value[5]
        for axis in range(3):
            n = (axis + 1) % 3
            l = (axis + 2) % 3
            e1 = 0.5 * (q1[l] * x[n] - q1[n] * x[l])
            e2 = 0.5 * (q1[3 + l] * x[n] - q1[3 + n] * x[l])
            e3 = 0.5 * (q1[6 + l] * x[n] - q1[6 + n] * x[l])
            c1, c2, c3 = cross(e1, e2, e3, f1, f2, f3)
            row = (low + 3) * width + first + 3 + axis
            t[row] -= c1
            t[row + width] -= c2
            t[row + 2 * width] -= c3
        f = par.load_next[f]
