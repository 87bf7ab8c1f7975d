"""Rotors on lanes: the free rotation of a body over a short step, on scalars and without branches.

They return rho - 1 (four numbers) and the change of y, so that nothing is lost to cancellation when both are added; the
functions of small angles are polynomials. Bodies that rotate further within a step are left to the rotor for single
bodies: the first of the constants sets this limit, see `catena.kernels.views.rotate_lane`.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ...kernels.marks import Written, size, slot, within
from ...kernels.views import multiply_add

# Up to this half angle the terms omitted from the polynomials below are less than 1e-16 of their sums.
SMALL_HALF_ANGLE = 0.3


def reach(moments: NDArray[np.float64], half_angle: float) -> float:
    """c such that c h^2 |y|^2 < 1 means that the body rotates by less than 2 half_angle in h."""
    return float((0.5 / (moments.min() * half_angle)) ** 2)


# Symmetric body and rotations about an axis -----------------------------------------------------------------------


@size
def axis_order(constants, at, stride):
    """Index in `AXIS_ORDERS` of the axes j (middle moment), i, k of `SymmetricRotation`; a literal if equal for all."""
    return constants[at + 4 * stride]


AXIS_ORDERS = ((0, 1, 2), (1, 2, 0), (2, 0, 1), (0, 2, 1), (1, 0, 2), (2, 1, 0))


@within
def into_axes(order, a, b, c):
    """A vector in the axes j, i, k, the last of them reversed if that is needed for a right-handed system."""
    if order == 0:
        return a, b, c
    if order == 1:
        return b, c, a
    if order == 2:
        return c, a, b
    if order == 3:
        return a, c, -b
    if order == 4:
        return b, a, -c
    return c, b, -a


@within
def out_of_axes(order, a, b, c):
    """The inverse of `into_axes`."""
    if order == 0:
        return a, b, c
    if order == 1:
        return c, a, b
    if order == 2:
        return b, c, a
    if order == 3:
        return a, -c, b
    if order == 4:
        return b, a, -c
    return -c, b, a


@within
def sine_over(z):
    """sin(a)/a for z = a^2."""
    p = multiply_add(z, -1.0 / 39916800.0, 1.0 / 362880.0)
    p = multiply_add(z, p, -1.0 / 5040.0)
    p = multiply_add(z, p, 1.0 / 120.0)
    p = multiply_add(z, p, -1.0 / 6.0)
    return multiply_add(z, p, 1.0)


@within
def cosine_less_one(z):
    """cos(a) - 1 for z = a^2."""
    p = multiply_add(z, 1.0 / 479001600.0, -1.0 / 3628800.0)
    p = multiply_add(z, p, 1.0 / 40320.0)
    p = multiply_add(z, p, -1.0 / 720.0)
    p = multiply_add(z, p, 1.0 / 24.0)
    return z * multiply_add(z, p, -0.5)


@within
def planar(a, u, v):
    """Half angle a about an axis: sin(a), cos(a) - 1, and the change of (u, v) under a rotation by -2 a."""
    z = a * a
    s = a * sine_over(z)
    c = cosine_less_one(z)
    twice = s + s
    sine = multiply_add(twice, c, twice)
    cosine = -twice * s  # minus one
    return s, c, multiply_add(cosine, u, sine * v), multiply_add(cosine, v, -sine * u)


def symmetric_lane(y1, y2, y3, h, constants, at, stride):
    """`catena.methods.rotors.rotations.symmetric_rotation`. Constants: the reach, a_i - a_j, a_j, a_k - a_j, the order."""
    order = axis_order(constants, at, stride)
    u, v, w = into_axes(order, y1, y2, y3)
    before = 0.25 * h * constants[at + stride]
    s1, c1, w1, u1 = planar(before * v, w, u)
    w += w1
    u += u1
    k = 0.5 * h * constants[at + 2 * stride]
    b1 = k * u
    b2 = k * v
    b3 = k * w
    z = multiply_add(b3, b3, multiply_add(b2, b2, b1 * b1))
    k = sine_over(z)
    b0 = cosine_less_one(z)
    b1 *= k
    b2 *= k
    b3 *= k
    # (1 + c1, 0, s1, 0) * (1 + b0, b1, b2, b3), minus one
    a0 = multiply_add(c1, b0, multiply_add(-s1, b2, c1 + b0))
    a1 = multiply_add(c1, b1, multiply_add(s1, b3, b1))
    a2 = multiply_add(c1, b2, multiply_add(s1, b0, s1 + b2))
    a3 = multiply_add(c1, b3, multiply_add(-s1, b1, b3))
    s2, c2, u2, v2 = planar(0.5 * h * constants[at + 3 * stride] * w, u, v)
    u += u2
    v += v2
    # times (1 + c2, 0, 0, s2)
    b0 = multiply_add(a0, c2, multiply_add(-a3, s2, a0 + c2))
    b1 = multiply_add(a1, c2, multiply_add(a2, s2, a1))
    b2 = multiply_add(a2, c2, multiply_add(-a1, s2, a2))
    b3 = multiply_add(a3, c2, multiply_add(a0, s2, a3 + s2))
    s3, c3, w3, u3 = planar(before * v, w, u)
    # times (1 + c3, 0, s3, 0)
    a0 = multiply_add(b0, c3, multiply_add(-b2, s3, b0 + c3))
    a1 = multiply_add(b1, c3, multiply_add(-b3, s3, b1))
    a2 = multiply_add(b2, c3, multiply_add(b0, s3, b2 + s3))
    a3 = multiply_add(b3, c3, multiply_add(b1, s3, b3))
    a1, a2, a3 = out_of_axes(order, a1, a2, a3)
    d1, d2, d3 = out_of_axes(order, u1 + u2 + u3, v2, w1 + w3)
    return a0, a1, a2, a3, d1, d2, d3


# Moser-Veselov with modified moments ----------------------------------------------------------------------------------


def moser_veselov_reach(moments: NDArray[np.float64]) -> float:
    """The largest half angle at which the sweeps below leave less than 1e-17, and so do the polynomials."""
    i1, i2, i3 = moments
    skew = max(abs(i3 - i2) / i1, abs(i1 - i3) / i2, abs(i2 - i1) / i3)
    angles = np.linspace(0.05, 0.001, 99)
    # A sweep without in-place updates contracts by 2 |e|^2 + (2/sqrt(3)) skew |e|; six with them do as nine of those.
    left = (angles * (2.0 * angles + 1.16 * skew)) ** 9 * angles
    return float(angles[left < 1e-17].max())


@slot
def modify(x, c, constants, at, stride):
    """s and t of the modified inverse moments a_j (1 + s) + t; x = h^2 H', c = h^2 C."""


def series_text(half_order: int) -> Written:
    """Text of the series of `moser_veselov.preprocessed_factors`; its coefficients follow five others."""
    return Written(
        f"modified_{2 * half_order}", "\n".join(_series_lines(half_order)), __name__, (("multiply_add", multiply_add),)
    )


def _series_lines(half_order: int) -> Iterator[str]:
    yield f"def modified_{2 * half_order}(x, c, constants, at, stride):"
    yield "    c1 = c"
    for m in range(2, half_order):
        yield f"    c{m} = c{m - 1} * c"
    count = (half_order - 1) * (half_order + 2) // 2
    for name, first in (("s", 5), ("t", 5 + count)):
        i = first
        yield f"    {name} = 0.0"
        for k in range(1, half_order):
            yield f"    v = constants[at + {i} * stride]"
            for m in range(1, k + 1):
                yield f"    v = multiply_add(v, x, constants[at + {i + m} * stride] * c{m})"
            yield f"    {name} += v"
            i += k + 1
    yield "    return s, t"


@within
def relax(e1, e2, e3, g1, g2, g3, a, b, c):
    """One sweep of e = (1 + |e|^2) g - (a e2 e3, b e3 e1, c e1 e2), updating the components in place."""
    m = multiply_add(e3, e3, multiply_add(e2, e2, multiply_add(e1, e1, 1.0)))
    e1 = multiply_add(-a, e2 * e3, m * g1)
    e2 = multiply_add(-b, e3 * e1, m * g2)
    return e1, e2, multiply_add(-c, e1 * e2, m * g3)


def moser_veselov_lane(y1, y2, y3, h, constants, at, stride):
    """`catena.methods.rotors.moser_veselov` with a fixed number of sweeps.

    Constants: the reach, a_j = 1/I_j, the middle one of them, the series.
    """
    a1 = constants[at + stride]
    a2 = constants[at + 2 * stride]
    a3 = constants[at + 3 * stride]
    k = 0.5 * h * h
    r = constants[at + 4 * stride]
    x = k * multiply_add((a3 - r) * y3, y3, multiply_add((a2 - r) * y2, y2, (a1 - r) * y1 * y1))
    c = k * multiply_add(y3, y3, multiply_add(y2, y2, y1 * y1))
    s, t = modify(x, c, constants, at, stride)
    b1 = multiply_add(a1, s, a1 + t)
    b2 = multiply_add(a2, s, a2 + t)
    b3 = multiply_add(a3, s, a3 + t)
    i = 1.0 / (b1 * b2 * b3)
    # differences of the modified moments, computed from those of the given ones, which carry no rounding error
    i = multiply_add(i, s, i)
    d1 = (a2 - a3) * b1 * i
    d2 = (a3 - a1) * b2 * i
    d3 = (a1 - a2) * b3 * i
    g1 = 0.5 * h * y1 * b1
    g2 = 0.5 * h * y2 * b2
    g3 = 0.5 * h * y3 * b3
    a = d1 * b1
    b = d2 * b2
    c = d3 * b3
    e1, e2, e3 = relax(g1, g2, g3, g1, g2, g3, a, b, c)
    e1, e2, e3 = relax(e1, e2, e3, g1, g2, g3, a, b, c)
    e1, e2, e3 = relax(e1, e2, e3, g1, g2, g3, a, b, c)
    e1, e2, e3 = relax(e1, e2, e3, g1, g2, g3, a, b, c)
    e1, e2, e3 = relax(e1, e2, e3, g1, g2, g3, a, b, c)
    e1, e2, e3 = relax(e1, e2, e3, g1, g2, g3, a, b, c)
    z = multiply_add(e3, e3, multiply_add(e2, e2, e1 * e1))
    # 1/sqrt(1 + z) - 1
    p = multiply_add(z, 231.0 / 1024.0, -63.0 / 256.0)
    p = multiply_add(z, p, 35.0 / 128.0)
    p = multiply_add(z, p, -5.0 / 16.0)
    p = multiply_add(z, p, 3.0 / 8.0)
    r0 = z * multiply_add(z, p, -0.5)
    n = 1.0 + r0
    f = 4.0 / h * n * n
    return r0, n * e1, n * e2, n * e3, -f * d1 * e2 * e3, -f * d2 * e3 * e1, -f * d3 * e1 * e2
