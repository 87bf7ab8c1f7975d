"""Elliptic integrals from the complementary parameter k'^2 = 1 - k^2.

Near a separatrix k^2 rounds to 1 and only k'^2 has digits, so no function here takes k. Plain functions that the
engine collects. By duplication [carlson1995], complete ones by the arithmetic-geometric mean.
"""

from ..kernels import elementary as math

MOST_DUPLICATIONS = 40
MOST_LEVELS = 16  # of the arithmetic-geometric mean; 12 for k' = 1e-140

# Duplication stops when max|A - x|/A is below the inverse of this: the omitted tail of degree 7 is then
# below 1e-17 of the result, a tenth of the rounding error.
SPREAD = 100.0


def carlson_rf(x, y, z):
    """R_F(x, y, z) = 1/2 int_0^inf [(s + x)(s + y)(s + z)]^(-1/2) ds; x, y, z >= 0, at most one of them 0."""
    mean0 = (x + y + z) / 3.0
    dx = mean0 - x
    dy = mean0 - y
    spread = SPREAD * max(abs(dx), abs(dy), abs(mean0 - z))
    mean = mean0
    fourth = 1.0
    for _ in range(MOST_DUPLICATIONS):
        if fourth * spread < mean:
            break
        sx = math.sqrt(x)
        sy = math.sqrt(y)
        sz = math.sqrt(z)
        step = sx * (sy + sz) + sy * sz
        x = 0.25 * (x + step)
        y = 0.25 * (y + step)
        z = 0.25 * (z + step)
        mean = 0.25 * (mean + step)
        fourth *= 0.25
    a = dx * fourth / mean
    b = dy * fourth / mean
    c = -a - b
    e2 = a * b - c * c
    e3 = a * b * c
    tail = (
        1.0 - e2 / 10.0 + e3 / 14.0 + e2 * e2 / 24.0 - 3.0 * e2 * e3 / 44.0
        - 5.0 * e2 * e2 * e2 / 208.0 + 3.0 * e3 * e3 / 104.0 + e2 * e2 * e3 / 16.0
    )  # fmt: skip
    return tail / math.sqrt(mean)


def complete(complement):
    """K for k'^2 = complement > 0."""
    a = 1.0
    g = math.sqrt(complement)
    for _ in range(MOST_LEVELS):
        if abs(a - g) <= 1.0e-8 * a:  # converges quadratically
            break
        mean = 0.5 * (a + g)
        g = math.sqrt(a * g)
        a = mean
    return math.pi / (a + g)


def first_kind(tangent_square, complement):
    """F(phi, k) from tan^2 phi and k'^2 = complement, for 0 <= phi < pi/2."""
    return math.sqrt(tangent_square) * carlson_rf(1.0, 1.0 + complement * tangent_square, 1.0 + tangent_square)


def within_half_a_period(start, moved, half_period):
    """start + moved modulo half_period, at most half of it in magnitude; and the number of half periods removed.

    half_period = 0 means that there is none: nothing is removed.
    """
    turns = 0.0
    if half_period > 0.0:
        turns = math.floor((start + moved) / half_period + 0.5)
        moved -= turns * half_period
    return moved + start, turns
