"""Sums and products with their rounding errors: twice the precision of a float, or no rounding at all.

A pair (high, low) represents high + low, |low| <= ulp(high)/2 [Dekker 1971]. Plain functions that the engine collects;
they need strict IEEE arithmetic, without reassociation or fused products and sums.
"""

import math

from ..kernels.marks import apart

SPLITTER = 134217729.0  # 2^27 + 1: splits 53 bits into two halves of 26 [Veltkamp]


def two_sum(a, b):
    """a + b = high + low exactly [Knuth]."""
    high = a + b
    shadow = high - a
    return high, (a - (high - shadow)) + (b - shadow)


def two_product(a, b):
    """a b = high + low exactly, unless low underflows."""
    high = a * b
    t = SPLITTER * a
    a_high = t - (t - a)
    a_low = a - a_high
    t = SPLITTER * b
    b_high = t - (t - b)
    b_low = b - b_high
    return high, ((a_high * b_high - high) + a_high * b_low + a_low * b_high) + a_low * b_low


@apart
def pair_sum(a, b):
    """a + b of pairs, relative error below 2^-103 [Joldes, Muller & Popescu 2017]."""
    high, low = two_sum(a[0], b[0])
    rest, least = two_sum(a[1], b[1])
    high, low = _renormalise(high, low + rest)
    return _renormalise(high, low + least)


def pair_difference(a, b):
    """a - b of pairs."""
    return pair_sum(a, (-b[0], -b[1]))


@apart
def pair_product(a, b):
    """a b of pairs, relative error below 2^-102."""
    high, low = two_product(a[0], b[0])
    return two_sum(high, low + (a[0] * b[1] + a[1] * b[0]))


@apart
def pair_quotient(a, b):
    """a/b of pairs, by long division."""
    first = a[0] / b[0]
    rest = pair_difference(a, pair_product(b, (first, 0.0)))
    second = rest[0] / b[0]
    rest = pair_difference(rest, pair_product(b, (second, 0.0)))
    high, low = two_sum(first, second)
    return _renormalise(high, low + rest[0] / b[0])


def pair_root(a):
    """The square root of a pair; 0 for a negative one."""
    if a[0] <= 0.0:
        return 0.0, 0.0
    root = math.sqrt(a[0])
    rest = pair_difference(a, two_product(root, root))
    return two_sum(root, rest[0] / (2.0 * root))


def pair_scaled(factor, a):
    """A pair times a power of two, exactly."""
    return factor * a[0], factor * a[1]


def _renormalise(high, low):
    """high + low as a pair, for |low| <= |high|."""
    total = high + low
    return total, low - (total - high)


def put_product(terms, first, a, b):
    """a b exactly, as the sum of terms[first] and terms[first + 1]."""
    high, low = two_product(a, b)
    terms[first] = high
    terms[first + 1] = low


def exact_sum(terms, first, count):
    """The correctly rounded sum of `count` terms from `first` on, which are overwritten.

    Each pass replaces neighbours by their sum and its error, until they no longer overlap; a sum that is zero gives
    zero [Ogita, Rump & Oishi 2005].
    """
    for _ in range(count):
        changed = 0
        for k in range(first + 1, first + count):
            high, low = two_sum(terms[k], terms[k - 1])
            if high != terms[k] or low != terms[k - 1]:
                changed = 1
            terms[k] = high
            terms[k - 1] = low
        if changed == 0:
            break
    total = 0.0
    for k in range(first, first + count):
        total += terms[k]
    return total
