"""asin, acos, atan, atan2."""

import math

from ..fused import multiply_add
from . import coefficients as c
from .polynomials import twelve, twelve_and


def atan(x):
    """The arc tangent."""
    if x == 0.0 or x != x:
        return x
    return math.copysign(angle_of(abs(x), 1.0, 0.0) if abs(x) < 1e300 else c.HALF_PI_1, x)


def atan2(y, x):
    """The angle of the point (x, y), with the conventions of C for zeros and infinities."""
    a = abs(y)
    b = abs(x)
    large = a if a >= b else b
    small = b if a >= b else a
    if small > 1e-290 and large < 1e290:
        return math.copysign(angle_of(a, b, 4.0 if x < 0.0 else 0.0), y)
    return extreme_angle(y, x, small, large)


def extreme_angle(y, x, small, large):
    """atan2 for arguments that are zero, extremely small or large, or not finite (C standard, F.10.1.4)."""
    if x != x or y != y:
        return x + y
    turned = 4.0 if math.copysign(1.0, x) < 0.0 else 0.0
    a = abs(y)
    b = abs(x)
    if large == math.inf:
        a = 1.0 if a == math.inf else 0.0
        b = 1.0 if b == math.inf else 0.0
    elif large > 1e290:
        a *= 2.0**-600
        b *= 2.0**-600
    elif large < 1e-200:
        a *= 2.0**600
        b *= 2.0**600
    if turned == 0.0 and a < 1e-18 * b:  # the quotient may be subnormal
        return math.copysign(a / b, y)
    if a == 0.0:
        return math.copysign(turned * c.HALF_PI_1 * 0.5, y)
    return math.copysign(angle_of(a, b, turned), y)


def angle_of(y, x, turned):
    """The angle of (x, y) or, with 4 for `turned`, that of (-x, y); x and y are not negative, and one is positive.

    Eighths of a turn are subtracted first: the angle is m pi/4 + sign atan(t) with t up to tan(pi/8), with one
    quotient.
    """
    steep = y > x
    small = x if steep else y
    large = y if steep else x
    diagonal = small > c.TAN_PI_8 * large
    over = small - large if diagonal else small
    under = small + large if diagonal else large
    over_rest = (small - (over + large)) if diagonal else 0.0
    under_rest = (small - (under - large)) if diagonal else 0.0
    inverse = 1.0 / under
    t = over * inverse
    rest = (multiply_add(-t, under, over) + multiply_add(-t, under_rest, over_rest)) * inverse
    eighth = 1.0 if diagonal else 0.0
    m = 2.0 - eighth if steep else eighth
    sign = -1.0 if steep else 1.0
    if turned > 0.0:
        m = turned - m
        sign = -sign
    z = t * t
    t *= sign
    more = multiply_add(t * z, twelve(z, c.ATAN), sign * rest)
    base = m * QUARTER_1
    first = base + t
    second = (base - first) + t
    return first + (second + (more + multiply_add(m, QUARTER_2, multiply_add(m, QUARTER_1, -base))))


QUARTER_1, QUARTER_2 = 0.5 * c.HALF_PI_1, 0.5 * c.HALF_PI_2


def arc(z):
    """(asin(s) - s) / s^3 with z = s^2 <= 1/4."""
    return twelve_and(multiply_add(z, c.ASIN[13], c.ASIN[12]), z, c.ASIN)


def half_arc(size):
    """asin(s), s = sqrt((1 - size)/2), as a sum of two: acos(size) = 2 asin(s); 1/2 <= size < 1."""
    z = 0.5 - 0.5 * size  # exact
    s = math.sqrt(z)
    rest = multiply_add(-s, s, z) * (0.5 / s)
    return s, multiply_add(s * z, arc(z), rest)


def asin(x):
    """The arc sine."""
    size = abs(x)
    if size < 0.5:
        z = x * x
        return multiply_add(x * z, arc(z), x)
    if not size < 1.0:
        return math.copysign(c.HALF_PI_1, x) if size == 1.0 else math.nan
    s, more = half_arc(size)
    first = c.HALF_PI_1 - 2.0 * s
    second = (c.HALF_PI_1 - first) - 2.0 * s
    return math.copysign(first + (second + multiply_add(-2.0, more, c.HALF_PI_2)), x)


def acos(x):
    """The arc cosine."""
    size = abs(x)
    if size < 0.5:
        z = x * x
        first = c.HALF_PI_1 - x
        second = (c.HALF_PI_1 - first) - x
        return first + (second + multiply_add(-x * z, arc(z), c.HALF_PI_2))
    if not size < 1.0:
        if size == 1.0:
            return 0.0 if x > 0.0 else 2.0 * c.HALF_PI_1
        return math.nan
    s, more = half_arc(size)
    if x > 0.0:
        return 2.0 * (s + more)
    first = 2.0 * c.HALF_PI_1 - 2.0 * s
    second = (2.0 * c.HALF_PI_1 - first) - 2.0 * s
    return first + (second + 2.0 * (c.HALF_PI_2 - more))
