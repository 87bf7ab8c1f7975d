"""Random numbers without state: Philox4x32-10, and normal deviates from +, -, *, / and square roots alone.

A draw is a function of (seed, member, step, body, stream) only: it does not depend on order, threads, batches, tiles,
resuming or machine. Integers are signed with 64 bits and hold words of 32 bits; the one product that needs all 64 is
`wide_product`. No mathematical library is called, so the bits are the same interpreted, compiled, on lanes and on a
GPU.

J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw, Proc. SC'11 (2011) 16 [salmon2011]; G. E. P. Box, M. E. Muller
[box1958].

Streams: 0 to 2 are the momenta of a body, two at a time; from 64 on those of a Hamiltonian; 200 to 202 starts; 255
accepts or rejects.
"""

import math

from .fused import as_double, as_integer
from .marks import provided, within

LOW = 0xFFFFFFFF
FIRST_FACTOR, SECOND_FACTOR = 0xD2511F53, 0xCD9E8D57
FIRST_WEYL, SECOND_WEYL = 0x9E3779B9, 0xBB67AE85
LN2 = 0.6931471805599453
ROOT_HALF_BITS = as_integer(0.7071067811865476)

MOMENTA, OF_HAMILTONIAN, STARTS, EXCHANGE, ACCEPT = 0, 64, 200, 254, 255  # streams


@provided
def wide_product(a: int, b: int) -> int:
    """a b for words of 32 bits, with all 64 bits; compiled, the highest bit is the sign.

    numba tells the compiler that products of integers never overflow, and if this one did, the compiler assumed a sign
    bit of zero: in loops on lanes half of the normals got the wrong sign.
    """
    return a * b


@within
def philox(c0, c1, c2, c3, k0, k1):
    """Four random words of 32 bits from a counter of four words and a key of two."""
    for _ in range(10):
        a = wide_product(FIRST_FACTOR, c0)
        b = wide_product(SECOND_FACTOR, c2)
        c0 = ((b >> 32) & LOW) ^ c1 ^ k0
        c1 = b & LOW
        c2 = ((a >> 32) & LOW) ^ c3 ^ k1
        c3 = a & LOW
        k0 = (k0 + FIRST_WEYL) & LOW
        k1 = (k1 + SECOND_WEYL) & LOW
    return c0, c1, c2, c3


@within
def words(seed0, seed1, member, step, body, stream):
    """The four words of a draw: seed0 and seed1 are the low and the high word of the seed; step < 2^56, stream < 256."""
    # with 32 bits visible to the compiler, products take one instruction instead of three
    return philox(step & LOW, body & LOW, member & LOW, (((step >> 32) << 8) | stream) & LOW, seed0 & LOW, seed1 & LOW)


@within
def unit_number(w0, w1):
    """A number strictly between 0 and 1, from 52 bits of two words; exact."""
    return (((w0 << 20) | (w1 >> 12)) + 0.5) * 2.0**-52


@within
def minus_log(u):
    """-log(u) for 2^-53 <= u < 1, to 2 units in the last place.

    u = m 2^-n with sqrt(1/2) <= m < sqrt(2): doubles are ordered like their bits, so the bits of u minus those of
    sqrt(1/2) give n in units of an exponent. Then -log m = -2 artanh s, s = (m - 1)/(m + 1), by a minimax polynomial in
    s^2 whose relative error is 1.1e-18.
    """
    bits = as_integer(u)
    k = (bits - ROOT_HALF_BITS) >> 52
    m = as_double(bits - (k << 52))
    n = float(-k)
    s = (m - 1.0) / (m + 1.0)
    z = s * s
    p = z * 0.14810530200354172 + 0.15312443715170704
    p = z * p + 0.1818363509609567
    p = z * p + 0.2222219698820671
    p = z * p + 0.28571428761347134
    p = z * p + 0.3999999999929888
    p = z * p + 0.6666666666666765
    p = z * p + 2.0
    return n * LN2 - s * p


@within
def normal_pair(w0, w1, w2, w3):
    """Two independent standard normals from four random words, by the Box-Muller method.

    The radius has 52 bits; the angle is a quarter, given by the signs of the two numbers, plus pi g/2 within it,
    |g| < 1/2 with 50 bits. Sine and cosine are minimax polynomials in g^2 with relative errors of 3.3e-18 and 3.6e-20.
    """
    r = math.sqrt(minus_log(unit_number(w0, w1)))
    g = ((((w2 & 0x3FFFFFFF) << 20) | (w3 >> 12)) + 0.5) * 2.0**-50 - 0.5
    z = g * g
    s = z * 5.633721005314096e-08 - 3.5986417543868745e-06
    s = z * s + 0.00016044115029163048
    s = z * s - 0.004681754132282415
    s = z * s + 0.07969262624603957
    s = z * s - 0.6459640975062443
    s = g * (z * s + 1.5707963267948966)
    c = -z * 6.320557308810856e-09 + 4.710603581027675e-07
    c = z * c - 2.5202036558199326e-05
    c = z * c + 0.0009192602741467693
    c = z * c - 0.020863480763308004
    c = z * c + 0.2536695079010466
    c = z * c - 1.2337005501361697
    c = z * c + 1.0
    x = r * (c - s)
    y = r * (c + s)
    if w2 & 0x80000000:
        x = -x
    if w2 & 0x40000000:
        y = -y
    return x, y


@within
def normals(seed0, seed1, member, step, body, stream):
    """Two independent standard normals: one draw for a body in a step of a member."""
    w0, w1, w2, w3 = words(seed0, seed1, member, step, body, stream)
    return normal_pair(w0, w1, w2, w3)
