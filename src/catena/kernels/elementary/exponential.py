"""exp."""

import math

from ..fused import as_double, as_integer, counted, multiply_add
from . import coefficients as c
from .polynomials import four

SHIFT = 1.5 * 2.0**52  # adding it to a number leaves the nearest integer in the last bits
SHIFT_BITS = as_integer(SHIFT)
PLAIN = 700.0  # below it, exp is near neither infinity nor the smallest number


def power_of_e(x, rest):
    """exp(x + rest) = a (1 + change) 2^k, a in [1, 2), change small; needs |x| < 2^30 and a rest much smaller.

    x = (64 k + j) log(2)/64 + r, and exp(r) = 1 + r + r^2 (...).
    """
    shifted = multiply_add(x, c.EXP_STEPS, SHIFT)
    steps = shifted - SHIFT
    whole = as_integer(shifted) - SHIFT_BITS
    r = multiply_add(-steps, c.EXP_STEP_1, x) + multiply_add(-steps, c.EXP_STEP_2, rest)
    j = counted(whole & 63)
    r2 = r * r
    tail = four(r, c.EXP[0], c.EXP[1], c.EXP[2], c.EXP[3])
    return c.EXP_FIRST[j], multiply_add(r2, tail, r + c.EXP_SECOND[j]), whole >> 6


def times_two_to(a, k):
    """a 2^k, 1 <= a < 2, -1022 <= k <= 1023."""
    return as_double(as_integer(a) + (k << 52))


def scale_by_power(x, k):
    """x 2^k, rounded once, even if 2^k is out of range: -2044 <= k <= 2046."""
    half = k >> 1
    return x * times_two_to(1.0, half) * times_two_to(1.0, k - half)


def exp(x):
    """e^x."""
    # before the test, not after it: lanes of vector registers compute both branches, and would do the table lookup
    # twice
    a, change, k = power_of_e(x, 0.0)
    if abs(x) < PLAIN:
        scale = times_two_to(a, k)
        return multiply_add(scale, change, scale)
    return extreme_exp(x, a, change, k)


def extreme_exp(x, a, change, k):
    """The same for very large, very small results, and nan."""
    if x > 710.0:
        return math.inf
    if x < -746.0:
        return 0.0
    if x != x:
        return x
    return scale_by_power(multiply_add(a, change, a), k)


def exp_in_lanes(x):
    """e^x for lanes of vector registers: 0 below -700, inf from 700 on.

    x = k log(2) + r, and a polynomial for all of exp(r): a table lookup for eight lanes takes longer than six more
    coefficients. Very large and very small results have no separate formula, because all lanes would compute it, too.
    """
    shifted = multiply_add(x, c.EXP_DOUBLINGS, SHIFT)
    doublings = shifted - SHIFT
    exact = multiply_add(-doublings, c.LOG_2_WHOLE_1, x)
    small = -doublings * c.LOG_2_WHOLE_2
    r = exact + small
    r2 = r * r
    r4 = r2 * r2
    middle = four(r, c.EXP_LANE[4], c.EXP_LANE[5], c.EXP_LANE[6], c.EXP_LANE[7])
    last = multiply_add(r4, multiply_add(r, c.EXP_LANE[9], c.EXP_LANE[8]), middle)
    tail = multiply_add(r4, last, four(r, c.EXP_LANE[0], c.EXP_LANE[1], c.EXP_LANE[2], c.EXP_LANE[3]))
    large = 1.0 + exact
    a = large + multiply_add(r2, tail, (exact - (large - 1.0)) + small)
    if abs(x) < PLAIN:
        return as_double(as_integer(a) + (as_integer(shifted) - SHIFT_BITS << 52))
    return 0.0 if x < 0.0 else x + math.inf
