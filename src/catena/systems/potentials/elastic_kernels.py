"""Elastic links as kernels of d and Q; their constants, an `ElasticRow`, are in par.link from place `at` on.

Q turns by phi about n; w = cos(phi/2) >= 0 and v = sin(phi/2) n are its quaternion. Both coordinate vectors are x = 2 G(w) v:

    exponential: x = phi n,  G = (phi/2)/sin(phi/2);      Cayley: x = 2 tan(phi/2) n,  G = 1/w.

As Q -> Q exp(hat theta), dw = -v.theta/2 and dv = (w theta + v x theta)/2, so that with E = -dG/dw

    dx = G (w theta + v x theta) + E (v.theta) v.

The middle frame is R_a H with H = Q^(1/2): its quaternion is half of that of Q, hence with b = 1/(1 + w) = tan(phi/4)/sin(phi/2)

    t = H^T d = d - v x d + b v x (v x d),      dt = H^T dd + t x (theta + b v x theta)/2.

Nothing branches: everything is analytic in d and Q, so that slopes can be computed by imaginary displacements, and
arrays of links at once.
"""

from __future__ import annotations

import math

from ...geometry.vectors import add, cross, dot, negative, scaled, subtract
from ...kernels.marks import Record, within

TERMS = 21
ARC = tuple(math.factorial(n) / math.prod(range(1, 2 * n + 2, 2)) for n in range(TERMS))  # n!/(2n + 1)!!
SLOPE = tuple(n * a for n, a in enumerate(ARC))[1:]


class ElasticRow(Record):
    """Constants of an elastic link: coordinates and translation at rest, and the upper triangle of the stiffness, row by row."""

    TURN = 3
    SHIFT = 3
    STIFFNESS = 21


@within
def half_turn(q11, q12, q13, q21, q22, q23, q31, q32, q33):
    """w and v of Q, without cancellation.

    1 + tr Q = 4 w^2 has no digits near half a turn, where the difference Q - Q^T = 4 w hat(v) still has them: w^2 = w^4
    + w^2 |v|^2 combines both.
    """
    a = 0.25 * (1.0 + (q11 + q22 + q33))
    x = 0.25 * (q32 - q23)
    y = 0.25 * (q13 - q31)
    z = 0.25 * (q21 - q12)
    w = math.sqrt(a * a + (x * x + y * y + z * z))
    return w, (x / w, y / w, z / w)


@within
def cayley_factors(w):
    """G = 1/w and E = 1/w^2."""
    g = 1.0 / w
    return g, g * g


@within
def exponential_factors(w):
    """G and E of rotation vectors by the series of arccos(c)/sqrt(1 - c^2) = sum k!/(2k + 1)!! (1 - c)^k at half the angle.

    There c = cos(phi/4) = sqrt((1 + w)/2) and G(w) = P(c)/c. All terms are positive, 1 - c is below 0.3: no digit is lost at small
    angles, and the first omitted term is 3e-17 of the derivative.
    """
    c = math.sqrt(0.5 + 0.5 * w)
    u = 0.5 * (1.0 - w) / (1.0 + c)  # 1 - c
    p, slope = arc_series(u)
    g = p / c
    return g, 0.25 * (g + slope) / (c * c)


@within
def arc_series(u):
    """P(u) = sum k!/(2k + 1)!! u^k, and its derivative."""
    p = (
        ARC[0] + u * (ARC[1] + u * (ARC[2] + u * (ARC[3] + u * (ARC[4] + u * (ARC[5] + u * (ARC[6] + u * (ARC[7]
        + u * (ARC[8] + u * (ARC[9] + u * (ARC[10] + u * (ARC[11] + u * (ARC[12] + u * (ARC[13] + u * (ARC[14]
        + u * (ARC[15] + u * (ARC[16] + u * (ARC[17] + u * (ARC[18] + u * (ARC[19]
        + u * (ARC[20]))))))))))))))))))))
    )  # fmt: skip
    slope = (
        SLOPE[0] + u * (SLOPE[1] + u * (SLOPE[2] + u * (SLOPE[3] + u * (SLOPE[4] + u * (SLOPE[5] + u * (SLOPE[6]
        + u * (SLOPE[7] + u * (SLOPE[8] + u * (SLOPE[9] + u * (SLOPE[10] + u * (SLOPE[11] + u * (SLOPE[12]
        + u * (SLOPE[13] + u * (SLOPE[14] + u * (SLOPE[15] + u * (SLOPE[16] + u * (SLOPE[17] + u * (SLOPE[18]
        + u * (SLOPE[19])))))))))))))))))))
    )  # fmt: skip
    return p, slope


@within
def first_translation(w, v, d):
    """d itself."""
    return d


@within
def middle_translation(w, v, d):
    """t = H^T d."""
    across = cross(v, d)
    return add(subtract(d, across), scaled(1.0 / (1.0 + w), cross(v, across)))


@within
def first_force(w, v, t, m):
    """f and c for m = dV/dt in the first frame."""
    return negative(m), (0.0, 0.0, 0.0)


@within
def middle_force(w, v, t, m):
    """f = -H m and c = -(p - b v x p)/2, p = m x t."""
    b = 1.0 / (1.0 + w)
    across = cross(v, m)
    p = cross(m, t)
    return (
        negative(add(add(m, across), scaled(b, cross(v, across)))),
        scaled(0.5, subtract(scaled(b, cross(v, p)), p)),
    )


@within
def strain(g, v, t, at, par):
    """2 G v and t, minus their values at rest."""
    p = par.link
    i = at + ElasticRow.TURN
    j = at + ElasticRow.SHIFT
    return (
        2.0 * g * v[0] - p[i], 2.0 * g * v[1] - p[i + 1], 2.0 * g * v[2] - p[i + 2],
        t[0] - p[j], t[1] - p[j + 1], t[2] - p[j + 2],
    )  # fmt: skip


@within
def stress(y, at, par):
    """K y, rotation first."""
    p = par.link
    k = at + ElasticRow.STIFFNESS
    y1, y2, y3, y4, y5, y6 = y
    return (
        p[k] * y1 + p[k + 1] * y2 + p[k + 2] * y3 + p[k + 3] * y4 + p[k + 4] * y5 + p[k + 5] * y6,
        p[k + 1] * y1 + p[k + 6] * y2 + p[k + 7] * y3 + p[k + 8] * y4 + p[k + 9] * y5 + p[k + 10] * y6,
        p[k + 2] * y1 + p[k + 7] * y2 + p[k + 11] * y3 + p[k + 12] * y4 + p[k + 13] * y5 + p[k + 14] * y6,
        p[k + 3] * y1 + p[k + 8] * y2 + p[k + 12] * y3 + p[k + 15] * y4 + p[k + 16] * y5 + p[k + 17] * y6,
        p[k + 4] * y1 + p[k + 9] * y2 + p[k + 13] * y3 + p[k + 16] * y4 + p[k + 18] * y5 + p[k + 19] * y6,
        p[k + 5] * y1 + p[k + 10] * y2 + p[k + 14] * y3 + p[k + 17] * y4 + p[k + 19] * y5 + p[k + 20] * y6,
    )


def strain_energy(y, at, par):
    """y.K y/2."""
    m1, m2, m3, m4, m5, m6 = stress(y, at, par)
    y1, y2, y3, y4, y5, y6 = y
    return 0.5 * (m1 * y1 + m2 * y2 + m3 * y3 + m4 * y4 + m5 * y5 + m6 * y6)


@within
def turning(w, v, g, e, m):
    """-(G (w m - v x m) + E (v.m) v): the torque of m = dV/dx."""
    return subtract(scaled(g, subtract(cross(v, m), scaled(w, m))), scaled(e * dot(v, m), v))


@within
def six(f, c, more):
    """f and c + more as six numbers."""
    return f[0], f[1], f[2], c[0] + more[0], c[1] + more[1], c[2] + more[2]
