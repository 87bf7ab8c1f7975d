"""x^y."""

import math

from ..fused import as_integer, multiply_add
from .exponential import PLAIN, extreme_exp, power_of_e, times_two_to
from .logarithm import INFINITE, LEAST, long_log, reduce


def pow(x, y):
    """x to the power y, with the conventions of C for zeros, infinities and negative x."""
    if LEAST <= as_integer(x) < INFINITE and abs(y) < 1e300:
        return power_of_normal(x, 0.0, y)
    return extreme_power(x, y)


def power_of_normal(x, power, y):
    """(2^power x)^y = exp(y log(2^power x)), the logarithm in two doubles; x is normal and positive, y finite."""
    r, k, at = reduce(x)
    first, second = long_log(r, 0.0, float(k) + power, at)
    exponent = y * first
    rest = multiply_add(y, second, multiply_add(y, first, -exponent))
    a, change, k = power_of_e(exponent, rest)
    if abs(exponent) < PLAIN:
        scale = times_two_to(a, k)
        return multiply_add(scale, change, scale)
    return extreme_exp(exponent, a, change, k)


def extreme_power(x, y):
    """x^y for x = 0, negative, subnormal or not finite, and for y very large or not finite (C standard, F.10.4.4)."""
    if y == 0.0 or x == 1.0:
        return 1.0
    if x != x or y != y:
        return x + y
    size = abs(x)
    # beyond 2^53 all numbers are even
    whole = not abs(y) < 2.0**53 or math.floor(y) == y
    sign = 1.0
    if math.copysign(1.0, x) < 0.0:
        if not whole and 0.0 < size < math.inf:
            return math.nan
        if whole and abs(y) < 2.0**53 and math.floor(0.5 * y) != 0.5 * y:
            sign = -1.0
    if abs(y) == math.inf and size == 1.0:
        return 1.0
    if size == 0.0 or size == math.inf or abs(y) >= 1e300:
        return sign * (math.inf if (size > 1.0) == (y > 0.0) else 0.0) if size != 1.0 else sign
    if size < 2.0**-1022:
        return sign * power_of_normal(size * 2.0**54, -54.0, y)
    return sign * power_of_normal(size, 0.0, y)
