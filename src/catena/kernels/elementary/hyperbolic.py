"""sinh, cosh, tanh and their inverses: exp and log before their last rounding, and polynomials near zero."""

import math

from ..fused import multiply_add
from . import coefficients as c
from .exponential import power_of_e, scale_by_power, times_two_to
from .logarithm import log_of_sum, long_log, reduce
from .polynomials import eight, twelve, twelve_and

BEYOND = 711.0  # sinh and cosh overflow here
LARGE = 2.0**28  # from here on asinh and acosh are log(2 x)
ONE_SIDED = 20.0  # from here on exp(-x) is below the last digit of exp(x)


def sinh(x):
    """(e^x - e^-x) / 2."""
    size = abs(x)
    if size < 1.0:
        z = x * x
        return multiply_add(x * z, eight(z, c.SINH), x)
    return math.copysign(half_sum(size, -1.0), x) if size < BEYOND else x * math.inf


def cosh(x):
    """(e^x + e^-x) / 2."""
    size = abs(x)
    return half_sum(size, 1.0) if size < BEYOND else size * math.inf


def half_sum(x, sign):
    """(e^x + sign e^-x) / 2 for 0 <= x < 711; sign = -1 for x >= 1 only."""
    a, change, k = power_of_e(x, 0.0)
    if x > ONE_SIDED:
        return scale_by_power(multiply_add(a, change, a), k - 1)
    scale = times_two_to(a, k - 1)
    large = multiply_add(scale, change, scale)
    return large + (sign * 0.25 / large + multiply_add(scale, change, scale - large))


def tanh(x):
    """(e^x - e^-x) / (e^x + e^-x) = 1 - 2 / (e^2x + 1)."""
    size = abs(x)
    if size < 0.55:
        z = x * x
        return multiply_add(x * z, twelve(z, c.TANH), x) if x != 0.0 else x
    if not size < ONE_SIDED:
        return math.copysign(1.0, x) if x == x else x
    a, change, k = power_of_e(2.0 * size, 0.0)
    scale = times_two_to(a, k)
    power = multiply_add(scale, change, scale)
    under = power + 1.0
    rest = ((power - under) + 1.0) + multiply_add(scale, change, scale - power)
    quotient = 2.0 / under
    change = 0.5 * quotient * (multiply_add(-quotient, under, 2.0) - quotient * rest)
    first = 1.0 - quotient
    return math.copysign(first + (((1.0 - first) - quotient) - change), x)


def asinh(x):
    """log(x + sqrt(x^2 + 1))."""
    size = abs(x)
    if size < 0.5:
        z = x * x
        tail = twelve_and(multiply_add(z, c.ASINH[13], c.ASINH[12]), z, c.ASINH)
        return multiply_add(x * z, tail, x) if x != 0.0 else x
    if not size < LARGE:
        return math.copysign(log_of_double(size), x)
    square = size * size
    under = square + 1.0
    # in this sum the larger term comes first
    beside = (square - under) + 1.0 if square > 1.0 else (1.0 - under) + square
    root = math.sqrt(under)
    rest = (multiply_add(-root, root, under) + (beside + multiply_add(size, size, -square))) * (0.5 / root)
    total = root + size
    first, second = log_of_sum(total, ((root - total) + size) + rest)
    return math.copysign(first + second, x)


def log_of_double(x):
    """log(2 x) for large x, infinity and nan."""
    if not x < math.inf:
        return x
    r, k, at = reduce(x)
    first, second = long_log(r, 0.0, float(k) + 1.0, at)
    return first + second


def acosh(x):
    """log(x + sqrt(x^2 - 1)) = log(1 + u), u = t + sqrt(t (t + 2)), t = x - 1."""
    if not 1.0 < x < LARGE:
        if x >= LARGE:
            return log_of_double(x)
        return 0.0 if x == 1.0 else math.nan
    t = x - 1.0
    above = t + 2.0
    beside = (2.0 - above) + t if t < 2.0 else (t - above) + 2.0
    square = t * above
    root = math.sqrt(square)
    rest = multiply_add(t, above, -square) + t * beside
    rest = (multiply_add(-root, root, square) + rest) * (0.5 / root)
    u = root + t
    rest += (root - u) + t
    total = 1.0 + u
    rest += (1.0 - total) + u if u < 1.0 else (u - total) + 1.0
    first, second = log_of_sum(total, rest)
    return first + second


def atanh(x):
    """log((1 + x) / (1 - x)) / 2."""
    size = abs(x)
    if size < 0.5:
        z = x * x
        end = multiply_add(z * z, c.ATANH[14], multiply_add(z, c.ATANH[13], c.ATANH[12]))
        return multiply_add(x * z, twelve_and(end, z, c.ATANH), x)
    if not size < 1.0:
        return math.copysign(math.inf, x) if size == 1.0 else math.nan
    over = 1.0 + size
    under = 1.0 - size  # exact
    quotient = over / under
    rest = (multiply_add(-quotient, under, over) + ((1.0 - over) + size)) / under
    first, second = log_of_sum(quotient, rest)
    return math.copysign(0.5 * (first + second), x)
