"""Layout of the constants of a motion of Lagrange's top, and the two kinds of series that represent it.

    theta functions with a small nome, in x:             sums over n = -4 .. 4 of c_n e^(2 i n x), c_n real
    with a nome near 1, in the complementary one q', X:  sums over n of c_n r^n and c_-n z^n, z = e^(-2 |X|), r = q'/z,
                                                         c_n complex

Both nomes are at most 0.0432, so the omitted terms are below 1e-17. Plain functions that the engine collects.
"""

from ..kernels import elementary as math
from ..kernels.elementary.trigonometric import cosine_and_sine
from ..kernels.marks import Record

# The kinds of motion.
STEADY = 0.0  # the axis stays vertical
FREE = 1.0  # no gravity
TRIGONOMETRIC = 2.0  # k^2 <= 1/2
HYPERBOLIC = 3.0  # k^2 > 1/2, including the separatrix

TERMS = 4


class Orbit(Record):
    """The constants of one motion."""

    KIND = 1
    AXIS = 1  # of symmetry: 0, 1, 2
    TURNED_OVER = 1  # 1 if gravity was reversed
    SPIN = 1  # momentum about the axis, after the reversal
    RATE = 1  # dx/dt or dX/dt; |y|/A of a free body
    START = 1  # x or X at the start
    HALF_PERIOD = 1  # of X, 0 on the separatrix
    NOME = 1  # q'
    ALPHA_RATE = 1
    BETA_RATE = 1
    ALPHA_STEP = 1  # of the phase in half a period
    BETA_STEP = 1
    ALPHA = 2
    BETA = 2
    ETA = 2
    POLE = 3  # direction of the momentum of a free body
    DENOMINATOR = 2 * TERMS
    FIRST = 4 * TERMS  # numerators
    SECOND = 4 * TERMS
    THIRD = 4 * TERMS


# Trigonometric: c_0, then c_n + c_-n, then c_n - c_-n -------------------------------------------------------------------------


def put_term(row, at, n, value):
    """Add c_n to such a row, which is initially zero."""
    if n == 0:
        row[at] = value
    else:
        size = abs(n)
        row[at + size] += value
        row[at + TERMS + size] += value if n > 0 else -value


def multiples(angle):
    """Cosines and sines of one to four times an angle."""
    c1, s1 = cosine_and_sine(angle)
    c2 = 2.0 * c1 * c1 - 1.0
    s2 = 2.0 * s1 * c1
    return (c1, c2, c1 * c2 - s1 * s2, 2.0 * c2 * c2 - 1.0), (s1, s2, s1 * c2 + c1 * s2, 2.0 * s2 * c2)


def sum_even(row, at, c):
    """Real part of the sum."""
    return row[at] + (row[at + 1] * c[0] + (row[at + 2] * c[1] + (row[at + 3] * c[2] + row[at + 4] * c[3])))


def sum_odd(row, at, s):
    """Imaginary part of the sum."""
    at += TERMS
    return row[at + 1] * s[0] + (row[at + 2] * s[1] + (row[at + 3] * s[2] + row[at + 4] * s[3]))


def weigh(c):
    """c_n 2 n."""
    return 2.0 * c[0], 4.0 * c[1], 6.0 * c[2], 8.0 * c[3]


def trigonometric_size(row, at):
    """Between half the sum of |c_n| and all of it: a sum much smaller than this nearly vanishes."""
    size = abs(row[at])
    for n in range(1, TERMS + 1):
        size += max(abs(row[at + n]), abs(row[at + TERMS + n]))
    return size


# Hyperbolic: for n = -4 .. 3, real c_n one after the other, or real and imaginary part of each
# ----------------------------------


def powers(z):
    """z to z^4."""
    square = z * z
    return z, square, square * z, square * square


def sum_real(row, at, r, z):
    """The sum with real coefficients, from powers of r and z."""
    return (row[at + 4] + (row[at + 5] * r[0] + (row[at + 6] * r[1] + row[at + 7] * r[2]))) + (
        row[at + 3] * z[0] + (row[at + 2] * z[1] + (row[at + 1] * z[2] + row[at] * z[3]))
    )


def sum_complex(row, at, r, z):
    """The sum with complex coefficients."""
    return (
        (row[at + 8] + (row[at + 10] * r[0] + (row[at + 12] * r[1] + row[at + 14] * r[2])))
        + (row[at + 6] * z[0] + (row[at + 4] * z[1] + (row[at + 2] * z[2] + row[at] * z[3]))),
        (row[at + 9] + (row[at + 11] * r[0] + (row[at + 13] * r[1] + row[at + 15] * r[2])))
        + (row[at + 7] * z[0] + (row[at + 5] * z[1] + (row[at + 3] * z[2] + row[at + 1] * z[3]))),
    )


def slope_weights(r, z):
    """Powers of r and z times 2 n and -2 n: the sums become derivatives with respect to X, except for n = 0."""
    return (2.0 * r[0], 4.0 * r[1], 6.0 * r[2], 8.0 * r[3]), (-2.0 * z[0], -4.0 * z[1], -6.0 * z[2], -8.0 * z[3])


def hyperbolic_size(row, at, r, z):
    """The sum of moduli."""
    size = math.hypot(row[at + 8], row[at + 9])
    for n in range(3):
        size += math.hypot(row[at + 10 + 2 * n], row[at + 11 + 2 * n]) * r[n]
    for n in range(4):
        size += math.hypot(row[at + 6 - 2 * n], row[at + 7 - 2 * n]) * z[n]
    return size


def whole_power(x, n):
    """x^n for n >= 0, by multiplications: the same bits everywhere."""
    value = 1.0
    for _ in range(n):
        value *= x
    return value
