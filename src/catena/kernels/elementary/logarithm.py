"""log, and the logarithm of a sum of two doubles in two doubles."""

import math

from ..fused import as_double, as_integer, counted, multiply_add
from . import coefficients as c
from .exponential import times_two_to
from .polynomials import seven

LEAST_Z = as_integer(0.703125)  # where the table begins
LEAST, INFINITE = as_integer(2.0**-1022), as_integer(math.inf)


def reduce(x):
    """x = 2^k z, and z c = 1 + r, exactly, with c = 1 near 1: r, k, place in the table; x is normal and positive."""
    bits = as_integer(x)
    above = bits - LEAST_Z
    k = above >> 52
    at = counted((above >> 45) & 127)
    r = multiply_add(as_double(bits - (k << 52)), c.LOG_RECIPROCAL[at], -1.0)
    return r, k, at


def log(x):
    """The natural logarithm."""
    bits = as_integer(x)
    if LEAST <= bits < INFINITE:
        return plain_log(x, 0.0)
    if 0.0 < x < 1.0:
        return plain_log(x * 2.0**54, -54.0)
    if x == 0.0:
        return -math.inf
    return x if x > 0.0 else math.nan


def plain_log(x, power):
    """log(2^power x) of a normal positive x: k log(2) - log(c) + log(1 + r)."""
    r, power_of_x, at = reduce(x)
    k = float(power_of_x) + power
    whole = multiply_add(k, c.LOG_2_1, c.LOG_FIRST[at])
    first = whole + r
    second = ((whole - first) + r) + multiply_add(k, c.LOG_2_2, c.LOG_SECOND[at])
    return first + multiply_add(r * r, seven(r, c.LOG), second)


def log_of_sum(x, rest):
    """log(x + rest) as a sum of two doubles; x is normal, positive and below 2^1000, rest much smaller.

    If x is near 1, it is log(1 + u) of a sum u = (x - 1) + rest.
    """
    exact, k, at = reduce(x)
    more = rest * times_two_to(1.0, -k) * c.LOG_RECIPROCAL[at]
    r = exact + more
    return long_log(r, (exact - r) + more, float(k), at)


def long_log(r, rest, k, at):
    """log(2^k z) with z c = 1 + r + rest as a sum of two doubles, accurate to 67 bits."""
    whole = multiply_add(k, c.LOG_2_1, c.LOG_FIRST[at])
    first = whole + r
    second = ((whole - first) + r) + (multiply_add(k, c.LOG_2_2, c.LOG_SECOND[at]) + rest)
    square = r * r
    half = -0.5 * square
    below = multiply_add(-0.5, multiply_add(r, r, -square), -r * rest)
    large = first + half
    second += ((first - large) + half) + below
    second = multiply_add(square * r, seven(r, c.LOG_TAIL), second)
    total = large + second
    return total, (large - total) + second
