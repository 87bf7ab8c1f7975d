"""What link potentials add to the second derivatives of a chain; an iteration matrix, so their slopes are differences.

With R_a and R_b from the given axes to space, F = R_a f the force on the right body, C = R_b c the torque on it, both in space, and
D = r_b - r_a, the left body feels -F and -(C + D x F). Bodies move by dr and turn by phi in space, so

    dd = R_a^T (dr_b - dr_a) + d x R_a^T phi_a,      dtheta = R_b^T (phi_b - phi_a),
    dF = R_a df + phi_a x F,                         dC = R_b dc + phi_b x C,

with (df, dc) = S (dd, dtheta) and S, 6 x 6, by central differences of f and c; it lies in the scratch par.bond_slope.
"""

from ...geometry.vectors import ZERO, add, cross, scaled, times, transposed_times
from .links import given_rotation, link_force, relative

GAP = 1e-6  # relative to |d|, and in radians: half the digits for a difference, which is plenty for an iteration matrix


def add_slopes_of_links(z, par):
    """`add_link_slopes` for potentials of relative position and rotation."""
    n = par.mass.shape[0]
    b = given_rotation(z, n, 0, par)
    for j in range(n - 1):
        a = b
        b = given_rotation(z, n, j + 1, par)
        if par.link_which[j] >= 0:
            add_link(z, j, a, b, par)


def add_link(z, j, a, b, par):
    """The link between bodies j and j + 1 with rotations a and b."""
    n = par.mass.shape[0]
    d1, d2, d3, q11, q12, q13, q21, q22, q23, q31, q32, q33 = relative(z, n, j, a, b)
    square = d1 * d1 + d2 * d2 + d3 * d3
    gap = GAP * (square**0.5 if square > 0.0 else 1.0)
    s = par.bond_slope
    which = par.link_which[j]
    for i in range(3):
        e1 = gap if i == 0 else 0.0
        e2 = gap if i == 1 else 0.0
        e3 = gap if i == 2 else 0.0
        p = link_force(which, d1 + e1, d2 + e2, d3 + e3, q11, q12, q13, q21, q22, q23, q31, q32, q33, par)
        m = link_force(which, d1 - e1, d2 - e2, d3 - e3, q11, q12, q13, q21, q22, q23, q31, q32, q33, par)
        e1 = GAP if i == 0 else 0.0
        e2 = GAP if i == 1 else 0.0
        e3 = GAP if i == 2 else 0.0
        # Q hat(e), row by row
        t11 = q12 * e3 - q13 * e2
        t12 = q13 * e1 - q11 * e3
        t13 = q11 * e2 - q12 * e1
        t21 = q22 * e3 - q23 * e2
        t22 = q23 * e1 - q21 * e3
        t23 = q21 * e2 - q22 * e1
        t31 = q32 * e3 - q33 * e2
        t32 = q33 * e1 - q31 * e3
        t33 = q31 * e2 - q32 * e1
        u = link_force(
            which, d1, d2, d3, q11 + t11, q12 + t12, q13 + t13, q21 + t21, q22 + t22, q23 + t23,
            q31 + t31, q32 + t32, q33 + t33, par,
        )  # fmt: skip
        v = link_force(
            which, d1, d2, d3, q11 - t11, q12 - t12, q13 - t13, q21 - t21, q22 - t22, q23 - t23,
            q31 - t31, q32 - t32, q33 - t33, par,
        )  # fmt: skip
        for r in range(6):
            s[r, i] = (p[r] - m[r]) / (2.0 * gap)
            s[r, 3 + i] = (u[r] - v[r]) / (2.0 * GAP)
    f1, f2, f3, c1, c2, c3 = link_force(which, d1, d2, d3, q11, q12, q13, q21, q22, q23, q31, q32, q33, par)
    force = times(a, (f1, f2, f3))
    torque = times(b, (c1, c2, c3))
    between = (z[3 * j + 3] - z[3 * j], z[3 * j + 4] - z[3 * j + 1], z[3 * j + 5] - z[3 * j + 2])
    for column in range(12):
        k = column % 6
        unit = (1.0 if k % 3 == 0 else 0.0, 1.0 if k % 3 == 1 else 0.0, 1.0 if k % 3 == 2 else 0.0)
        sign = -1.0 if column < 6 else 1.0
        moved = scaled(sign, unit) if k < 3 else ZERO  # dr_b - dr_a
        spun = ZERO if k < 3 else scaled(sign, unit)  # phi_b - phi_a
        left = unit if k >= 3 and column < 6 else ZERO
        right = unit if k >= 3 and column >= 6 else ZERO
        dd = add(transposed_times(a, moved), cross((d1, d2, d3), transposed_times(a, left)))
        dt = transposed_times(b, spun)
        force_change = add(times(a, sloped(s, 0, dd, dt)), cross(left, force))
        torque_change = add(times(b, sloped(s, 3, dd, dt)), cross(right, torque))
        levered = add(torque_change, add(cross(moved, force), cross(between, force_change)))
        of_left = par.slopes[j, 1 if column < 6 else 2]
        of_right = par.slopes[j + 1, 0 if column < 6 else 1]
        for i in range(3):
            of_left[i, k] -= force_change[i]
            of_left[3 + i, k] -= levered[i]
            of_right[i, k] += force_change[i]
            of_right[3 + i, k] += torque_change[i]


def sloped(s, first, dd, dt):
    """Three rows of S times (dd, dt)."""
    return sloped_row(s, first, dd, dt), sloped_row(s, first + 1, dd, dt), sloped_row(s, first + 2, dd, dt)


def sloped_row(s, r, dd, dt):
    """One row of S times (dd, dt)."""
    return (
        s[r, 0] * dd[0] + s[r, 1] * dd[1] + s[r, 2] * dd[2] + s[r, 3] * dt[0] + s[r, 4] * dt[1] + s[r, 5] * dt[2]
    )  # fmt: skip
