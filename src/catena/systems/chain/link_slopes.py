"""Contribution of link potentials to the second derivatives of a chain, by differences: it serves only as an iteration
matrix.

With R_a and R_b from the given axes to space, F = R_a f the force on the right body, C = R_b c the torque on it, both in space, and
D = r_b - r_a, the left body feels -F and -(C + D x F). Bodies are displaced by dr and rotated by phi in space, so

    dd = R_a^T (dr_b - dr_a) + d x R_a^T phi_a,      dtheta = R_b^T (phi_b - phi_a),
    dF = R_a df + phi_a x F,                         dC = R_b dc + phi_b x C,

with (df, dc) = S (dd, dtheta) and S, 6 x 6, by central differences of f and c, in the scratch par.bond_slope.
"""

import math

from ...geometry.vectors import (
    ZERO,
    add,
    along_axis,
    cross,
    dot,
    load3,
    scaled,
    subtract,
    times,
    transposed_times,
    unit,
)
from .forces import after, link_count
from .links import force_at, given_rotation, relative

GAP = 1e-6  # relative to |d|, and in radians: half of the digits remain, which is plenty for an iteration matrix


def add_slopes_of_links(z, par):
    """`add_link_slopes` for potentials of relative position and rotation."""
    n = par.mass.shape[0]
    b = given_rotation(z, n, 0, par)
    for j in range(link_count(n)):
        a = b
        b = given_rotation(z, n, after(j, par), par)
        if par.link_which[j] >= 0:
            add_link(z, j, a, b, par)


def add_link(z, j, a, b, par):
    """Add the link between body j and the next one, with rotations a and b."""
    other = after(j, par)
    d, q = relative(z, j, other, a, b)
    s = par.bond_slope
    which = par.link_which[j]
    write_slopes(which, d, q, par, s)
    f, c = force_at(which, d, q, par)
    force = times(a, f)
    torque = times(b, c)
    between = subtract(load3(z, 3 * other), load3(z, 3 * j))
    for column in range(12):
        k = column % 6
        axis = unit(k % 3)
        sign = -1.0 if column < 6 else 1.0
        moved = scaled(sign, axis) if k < 3 else ZERO  # dr_b - dr_a
        spun = ZERO if k < 3 else scaled(sign, axis)  # phi_b - phi_a
        left = axis if k >= 3 and column < 6 else ZERO
        right = axis if k >= 3 and column >= 6 else ZERO
        dd = add(transposed_times(a, moved), cross(d, transposed_times(a, left)))
        dt = transposed_times(b, spun)
        force_change = add(times(a, slope(s, 0, dd, dt)), cross(left, force))
        torque_change = add(times(b, slope(s, 3, dd, dt)), cross(right, torque))
        levered = add(torque_change, add(cross(moved, force), cross(between, force_change)))
        of_left = par.slopes[j, 1 if column < 6 else 2]
        of_right = par.slopes[other, 0 if column < 6 else 1]
        for i in range(3):
            of_left[i, k] -= force_change[i]
            of_left[3 + i, k] -= levered[i]
            of_right[i, k] += force_change[i]
            of_right[3 + i, k] += torque_change[i]


def write_slopes(which, d, q, par, s):
    """S of a link at d and Q."""
    length = dot(d, d)
    gap = GAP * (math.sqrt(length) if length > 0.0 else 1.0)
    for i in range(3):
        e = along_axis(i, gap)
        before, after = force_at(which, subtract(d, e), q, par), force_at(which, add(d, e), q, par)
        write_difference(before, after, 2.0 * gap, s, i)
        e = along_axis(i, GAP)
        before, after = force_at(which, d, tilt(q, e, -1.0), par), force_at(which, d, tilt(q, e, 1.0), par)
        write_difference(before, after, 2.0 * GAP, s, 3 + i)


def tilt(q, e, sign):
    """Q + sign Q hat(e)."""
    a = (q[0], q[1], q[2])
    b = (q[3], q[4], q[5])
    c = (q[6], q[7], q[8])
    a = add(a, scaled(sign, cross(a, e)))
    b = add(b, scaled(sign, cross(b, e)))
    c = add(c, scaled(sign, cross(c, e)))
    return a[0], a[1], a[2], b[0], b[1], b[2], c[0], c[1], c[2]


def write_difference(before, after, apart, s, column):
    """Write a column of S: the change of forces and torques."""
    for r in range(3):
        s[r, column] = (after[0][r] - before[0][r]) / apart
        s[3 + r, column] = (after[1][r] - before[1][r]) / apart


def slope(s, first, dd, dt):
    """Three rows of S times (dd, dt)."""
    return slope_row(s, first, dd, dt), slope_row(s, first + 1, dd, dt), slope_row(s, first + 2, dd, dt)


def slope_row(s, r, dd, dt):
    """One row of S times (dd, dt)."""
    return (
        s[r, 0] * dd[0] + s[r, 1] * dd[1] + s[r, 2] * dd[2] + s[r, 3] * dt[0] + s[r, 4] * dt[1] + s[r, 5] * dt[2]
    )  # fmt: skip
