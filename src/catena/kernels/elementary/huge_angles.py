"""Remainders of very large angles modulo pi/2: M. H. Payne and R. N. Hanek, SIGNUM Newsletter 18 (1983) 19.

Of the product of an angle with 2/pi, only the last two bits before the point and some after it matter. So only the bits
of 2/pi that contribute to these are used: nine groups of 24, in integer arithmetic.
"""

import math

from ..fused import as_integer, counted, multiply_add
from ..marks import apart
from . import coefficients as c

GROUP = 24
ALL = 2**GROUP - 1
FRACTION = 2**52 - 1


@apart
def remainder_of_huge(x):
    """x = n pi/2 + r + rest: n modulo 4, r, rest, for |x| >= 2^30; nan if x is not finite."""
    bits = as_integer(abs(x))
    if bits >= 2047 << 52:
        return 0, math.nan, math.nan
    n, fraction, beyond = quarters((bits & FRACTION) | (1 << 52), (bits >> 52) - 1075)
    first = multiply_add(fraction, c.HALF_PI_1, 0.0)  # a product that no GPU compiler fuses with the sums below
    second = multiply_add(fraction, c.HALF_PI_1, -first)
    second += multiply_add(fraction, c.HALF_PI_2, beyond * c.HALF_PI_1)
    r = first + second
    rest = (first - r) + second
    if x < 0.0:
        return -n & 3, -r, -rest
    return n & 3, r, rest


def quarters(mantissa, power):
    """mantissa 2^power 2/pi modulo 4 = n + fraction + beyond, |fraction| <= 1/2; -22 <= power.

    2/pi = 0.d1 d2 d3 ... in groups of 24 bits. Groups whose product is a multiple of 4 are left out, and the remaining
    bits are shifted so that 4 is the unit before the point.
    """
    left_out = (power - 2) // GROUP  # -1: the table starts with a group of zeros
    shift = power - 2 - GROUP * left_out
    last = left_out + 9
    m0 = mantissa & ALL
    m1 = (mantissa >> GROUP) & ALL
    m2 = mantissa >> 2 * GROUP
    f1 = group_of(last, shift)
    f2 = 0
    carry = (m0 * f1) >> GROUP  # only the carry of the last group is needed
    a = b = c_ = d = 0
    for pair in range(4):
        f0 = group_of(last - 1 - 2 * pair, shift)
        low = carry + m0 * f0 + m1 * f1 + m2 * f2
        f2 = group_of(last - 2 - 2 * pair, shift)
        high = (low >> GROUP) + m0 * f2 + m1 * f0 + m2 * f1
        carry = high >> GROUP
        f1 = f2
        f2 = f0
        d = c_
        c_ = b
        b = a
        a = ((high & ALL) << GROUP) + (low & ALL)
    n = (a + 2**45) >> 46
    first = float(a - (n << 46)) * 2.0**-46
    second = float(b) * 2.0**-94
    total = first + second
    rest = second - (total - first) if abs(first) >= abs(second) else first - (total - second)
    rest += float(c_) * 2.0**-142 + float(d) * 2.0**-190
    fraction = total + rest
    return n, fraction, (total - fraction) + rest


def group_of(at, shift):
    """24 bits of 2/pi, `shift` bits after the beginning of a group."""
    together = (c.TWO_OVER_PI_DIGITS[counted(at)] << GROUP) + c.TWO_OVER_PI_DIGITS[counted(at + 1)]
    return (together >> (GROUP - shift)) & ALL
