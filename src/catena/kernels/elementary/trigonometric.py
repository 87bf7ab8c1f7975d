"""sin, cos, both at once, tan."""

from ..fused import as_integer, multiply_add
from . import coefficients as c
from .exponential import SHIFT, SHIFT_BITS
from .huge_angles import remainder_of_huge
from .polynomials import seven

SMALL = 0.785  # below pi/4: no reduction is needed, the common case of steps with small rotations
NEAR = 2.0**30  # beyond it three parts of pi/2 are too few


def quadrant(x):
    """x = n pi/2 + r + rest: n modulo 4, r, rest; |r| exceeds pi/4 by a rounding error at most."""
    if abs(x) < SMALL:
        return 0, x, 0.0
    return quadrant_of_any(x)


def quadrant_of_any(x):
    """The same for angles of any size: no branch for small ones, which would be unpredictable."""
    if not abs(x) < NEAR:
        return remainder_of_huge(x)
    shifted = multiply_add(x, c.TWO_OVER_PI, SHIFT)
    n = shifted - SHIFT
    exact = multiply_add(-n, c.HALF_PI_1, x)  # the difference of multiples of 2^-53 is one itself, and below 1
    second = n * c.HALF_PI_2
    r = exact - second
    rest = ((exact - r) - second) + multiply_add(-n, c.HALF_PI_3, multiply_add(-n, c.HALF_PI_2, second))
    return (as_integer(shifted) - SHIFT_BITS) & 3, r, rest


def small_sine(r, rest):
    """sin(r + rest) - r."""
    z = r * r
    return multiply_add(z * r, seven(z, c.SIN), multiply_add(-0.5 * z, rest, rest))


def small_cosine(r, rest):
    """cos(r + rest) as a sum: 1 - z/2, and the remainder."""
    z = r * r
    half = 0.5 * z
    first = 1.0 - half
    more = multiply_add(-r, rest, -0.5 * multiply_add(r, r, -z))
    return first, ((1.0 - first) - half) + multiply_add(z * z, seven(z, c.COS), more)


def sin(x):
    """The sine."""
    n, r, rest = quadrant(x)
    first, second = small_cosine(r, rest)
    # both are computed, because the quadrant is unpredictable
    value = first + second if n & 1 else r + small_sine(r, rest)
    return (-value if n & 2 else value) if x != 0.0 else x


def cos(x):
    """The cosine."""
    n, r, rest = quadrant(x)
    first, second = small_cosine(r, rest)
    value = r + small_sine(r, rest) if n & 1 else first + second
    return -value if (n + 1) & 2 else value


def cosine_and_sine(x):
    """The cosine and the sine of an angle of any size, hardly slower than one of them: the bits of `cos` and `sin`."""
    n, r, rest = quadrant_of_any(x)
    first, second = small_cosine(r, rest)
    even = first + second
    odd = r + small_sine(r, rest)
    cosine = odd if n & 1 else even
    sine = even if n & 1 else odd
    return -cosine if (n + 1) & 2 else cosine, (-sine if n & 2 else sine) if x != 0.0 else x


def tan(x):
    """The tangent: a quotient of two sums."""
    n, r, rest = quadrant(x)
    more = small_sine(r, rest)
    first, second = small_cosine(r, rest)
    sine = r + more
    more = (r - sine) + more
    cosine = first + second
    second = (first - cosine) + second
    if n & 1:
        over, over_rest, under, under_rest = -cosine, -second, sine, more
    else:
        over, over_rest, under, under_rest = sine, more, cosine, second
    inverse = 1.0 / under
    quotient = over * inverse
    left = multiply_add(-quotient, under, over) + multiply_add(-quotient, under_rest, over_rest)
    return multiply_add(left, inverse, quotient) if x != 0.0 else x
