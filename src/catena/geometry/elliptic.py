"""Elliptic integrals and functions from the complementary parameter k'^2 = 1 - k^2.

Near a separatrix k^2 rounds to 1 and everything is in k'^2, so that no function here takes k. Plain functions that the
engine collects. Integrals by duplication [carlson1995], functions by the arithmetic-geometric mean [Bulirsch 1965].
"""

from ..kernels import elementary as math

MOST_DUPLICATIONS = 40
MOST_LEVELS = 16  # of the arithmetic-geometric mean; 12 for k' = 1e-140
TABLE = 2 + 2 * MOST_LEVELS

# Duplication stops at max|A - x|/A below the inverse of these: what the tails of degree 7 leave out is then
# below 1e-17 of the result, a tenth of what rounding does.
RF_SPREAD = 100.0
RJ_SPREAD = 70.0


def carlson_rc(e):
    """R_C(1, 1 + e) = 1/2 int_0^inf (s + 1)^(-1/2) (s + 1 + e)^-1 ds, for e >= 0, or below by rounding."""
    if e < 1.0e-3:
        return 1.0 + e * (-1.0 / 3.0 + e * (1.0 / 5.0 + e * (-1.0 / 7.0 + e * (1.0 / 9.0 - e / 11.0))))
    root = math.sqrt(e)
    return math.atan(root) / root


def carlson_rf(x, y, z):
    """R_F(x, y, z) = 1/2 int_0^inf [(s + x)(s + y)(s + z)]^(-1/2) ds; x, y, z >= 0, at most one of them 0."""
    mean0 = (x + y + z) / 3.0
    dx = mean0 - x
    dy = mean0 - y
    spread = RF_SPREAD * max(abs(dx), abs(dy), abs(mean0 - z))
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


def carlson_rj(x, y, z, p):
    """R_J(x, y, z, p) = 3/2 int_0^inf [(s + x)(s + y)(s + z)]^(-1/2) (s + p)^-1 ds; 0 <= x <= p <= y, z and p > 0.

    Other orders of the arguments may need R_C at a negative e, which is not here.
    """
    mean0 = (x + y + z + 2.0 * p) / 5.0
    dx = mean0 - x
    dy = mean0 - y
    dz = mean0 - z
    spread = RJ_SPREAD * max(abs(dx), abs(dy), abs(dz), abs(mean0 - p))
    mean = mean0
    fourth = 1.0
    total = 0.0
    # e_n = (p - x)(p - y)(p - z)/(d_n^2 64^n); d_n^2 alone underflows for small p, d_0/d_n does not
    sx = math.sqrt(x)
    sy = math.sqrt(y)
    sz = math.sqrt(z)
    sp = math.sqrt(p)
    d0 = (sp + sx) * (sp + sy) * (sp + sz)
    e0 = (sp - sx) / (sp + sx) * ((sp - sy) / (sp + sy)) * ((sp - sz) / (sp + sz))
    for _ in range(MOST_DUPLICATIONS):
        if fourth * spread < mean:
            break
        d = (sp + sx) * (sp + sy) * (sp + sz)
        ratio = d0 / d
        e = fourth * fourth * fourth * e0 * ratio * ratio
        total += fourth / d * carlson_rc(e)
        step = sx * (sy + sz) + sy * sz
        x = 0.25 * (x + step)
        y = 0.25 * (y + step)
        z = 0.25 * (z + step)
        p = 0.25 * (p + step)
        mean = 0.25 * (mean + step)
        fourth *= 0.25
        sx = math.sqrt(x)
        sy = math.sqrt(y)
        sz = math.sqrt(z)
        sp = math.sqrt(p)
    a = dx * fourth / mean
    b = dy * fourth / mean
    c = dz * fourth / mean
    h = -0.5 * (a + b + c)
    product = a * b * c
    e2 = a * b + a * c + b * c - 3.0 * h * h
    e3 = product + 2.0 * e2 * h + 4.0 * h * h * h
    e4 = (2.0 * product + e2 * h + 3.0 * h * h * h) * h
    e5 = product * h * h
    tail = (
        1.0 - 3.0 * e2 / 14.0 + e3 / 6.0 + 9.0 * e2 * e2 / 88.0 - 3.0 * e4 / 22.0 - 9.0 * e2 * e3 / 52.0
        + 3.0 * e5 / 26.0 - e2 * e2 * e2 / 16.0 + 3.0 * e3 * e3 / 40.0 + 3.0 * e2 * e4 / 20.0
        + 45.0 * e2 * e2 * e3 / 272.0 - 9.0 * (e3 * e4 + e2 * e5) / 68.0
    )  # fmt: skip
    return fourth * tail / (mean * math.sqrt(mean)) + 6.0 * total


def fill_means(complement, table, first):
    """The arithmetic-geometric mean of 1 and k', for k'^2 = complement > 0; K = pi/(2 mean).

    table[first:first + TABLE] keeps what `jacobi` needs: number of levels, mean, and the pairs of means.
    """
    a = 1.0
    square = complement
    mean = 1.0
    levels = 0
    for k in range(MOST_LEVELS):
        g = math.sqrt(square)
        table[first + 2 + 2 * k] = a
        table[first + 3 + 2 * k] = g
        mean = 0.5 * (a + g)
        levels = k + 1
        if abs(a - g) <= 1.0e-8 * a:  # converges quadratically
            break
        square = a * g
        a = mean
    table[first] = levels
    table[first + 1] = mean
    return mean


def jacobi(u, table, first):
    """sn u, cn u, dn u for the k'^2 of `fill_means`, |u| <= K: right for a u that differs by a few eps."""
    if abs(u) < 1.0e-8:  # the rest is of relative size u^2/3; a tiny u would overflow below
        return u, 1.0, 1.0
    angle = u * table[first + 1]
    sine = math.sin(angle)
    if sine == 0.0:
        return 0.0, 1.0, 1.0
    a = math.cos(angle) / sine
    c = a * table[first + 1]
    dn = 1.0
    levels = int(table[first])
    if levels < 0 or levels > MOST_LEVELS:  # of a checkpoint that was changed: nothing beyond the table is read
        levels = 0
    for k in range(levels - 1, -1, -1):
        mean = table[first + 2 + 2 * k]
        a *= c
        c *= dn
        dn = (table[first + 3 + 2 * k] + a) / (mean + a)
        a = c / mean
    sn = 1.0 / math.sqrt(c * c + 1.0)
    if sine < 0.0:
        sn = -sn
    return sn, c * sn, dn


def complete(complement):
    """K for k'^2 = complement > 0, where no table of means is wanted."""
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
