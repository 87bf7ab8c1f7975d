"""Sums and products with their rounding errors: twice the precision of a float, or no rounding at all.

A pair (high, low) stands for high + low, |low| <= ulp(high)/2 [Dekker 1971]. Plain functions that the engine collects;
they need strict IEEE arithmetic, in which nothing is reassociated and no product fused with a sum.
"""

SPLITTER = 134217729.0  # 2^27 + 1: cuts 53 bits into two halves of 26 [Veltkamp]


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


def multiply(a, a_low, b, b_low):
    """(a + a_low) (b + b_low), relative error below 2^-102."""
    high, low = two_product(a, b)
    return two_sum(high, low + (a * b_low + a_low * b))


def put_product(terms, first, a, b):
    """a b exactly, as the sum of terms[first] and terms[first + 1]."""
    high, low = two_product(a, b)
    terms[first] = high
    terms[first + 1] = low


def exact_sum(terms, first, count):
    """The rounded exact sum of `count` terms from `first` on, which are overwritten.

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
