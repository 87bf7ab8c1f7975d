"""The exact motion of a free rigid body: angular momentum and orientation at any time, without steps [jacobi1850].

    y' = y x (J^-1 y),  r' = 1/2 r * (0, J^-1 y),  r(0) = 1;   y in the body frame, J = diag(I1, I2, I3), L = |y|

`prepare` does what does not depend on time, `evaluate` the rest. Plain functions that the engine collects.

The canonical axes 1, 2, 3 are those of the body in another order and direction, right-handed: the middle moment is
second, the momentum circulates about +3, so y3 > 0 for all time, and y1 >= 0 at the start. I1 < I2 < I3 or
I1 > I2 > I3; the formulas are the same. With c1 = I1 (I3 - I2)/(I2 (I3 - I1)), c2 = I3 (I2 - I1)/(I2 (I3 - I1)) = 1 - c1,

    y1 = L k1 cn u,  y2 = L k2 sn u,  y3 = L k3 dn u,   u = u0 + t L k3 (I3 - I2)/(I2 I3 sqrt(c1))
    L^2 k1^2 = y1^2 + c1 y2^2,  k2 = k1/sqrt(c1),  L^2 k3^2 = y3^2 + c2 y2^2

The shortest rotation s(y) = (L + y3, y2, -y1, 0)/sqrt(2 L (L + y3)) that takes y to axis 3 never degenerates, and
r = conj(s(y(0))) * (cos chi/2, 0, 0, sin chi/2) * s(y(t)) with chi' = (2 H + L y3/I3)/(L + y3). Its integral is

    chi = 2 H t/L + [E],   E = k'^2 sqrt(c1) k3 Pi(N; u) - arg[cn (c1 x3 + c2 sn^2) + i sqrt(c1) sn (x3 - c2 cn^2)]

with x3 = k3 dn, N = c2/k3^2 = 1 - c1 k'^2. Legendre's textbook form has the characteristic -c2/c1 instead, and cancels
for a nearly symmetric body that circulates about an axis of the nearly equal pair.
"""

from ..kernels import elementary as math
from ..kernels.views import NOT_FINITE, UNRESOLVED
from . import elliptic
from .double_double import exact_sum, pair_product, put_product, two_product, two_sum
from .vectors import along_axis, dot, load3, load9, scaled, store3, transposed_times

# The kinds of motion.
STEADY = 0.0  # omega is constant
PERIODIC = 1.0
SEPARATRIX = 2.0  # towards the unstable axis, without period

# Where `orbit` holds what.
KIND = 0
RATE = 1  # du/dt, or |omega| of a steady motion
START = 2  # u at t = 0
HALF_PERIOD = 3  # of u: 2 K
LENGTH = 4  # L
K1 = 5
K2 = 6
K3 = 7
C1 = 8
C2 = 9
ROOT_C1 = 10
SPIN = 11  # 2 H/L
FIRST_KIND = 12  # of E: k'^2 sqrt(c1) k3, the factor of Pi
THIRD_KIND = 13  # N/3 times that
CHARACTERISTIC = 14  # 1 - N = c1 k'^2
ANGLE = 15  # E at t = 0
ADVANCE = 16  # of E in half a period of y
FROM = 17  # s(y(0)), three components
AXES = 20  # canonical axes in the body, row by row; its first row is the axis of a steady motion
MOMENTUM = 29  # y(0), of a steady motion
MEANS = 32  # of `elliptic.jacobi`; before that, 32 places to compute the discriminant in
ORBIT = MEANS + elliptic.TABLE

TINY = 1.0e-280  # squares, relative to L^2, with all their digits
NEAREST = 1.0e-140
CANCELLED = 2.0**-46  # discriminants below this part of their terms need more than twice the precision


def prepare(i1, i2, i3, y1, y2, y3, orbit):
    """Fill `orbit` (at least ORBIT floats) with the motion that starts at y, for moments I > 0 in any order.

    Returns 0, or
    UNRESOLVED: y is nearer than about 1e-140 |y| to the axis of the middle moment, and not on it: k'^2 leaves the range
    of floats. `orbit` holds the rotation about that axis, which is right while |omega| |t| < 100;
    NOT_FINITE: y or I is not finite, and `orbit` unchanged.
    """
    momentum = abs(y1) + abs(y2) + abs(y3)
    inertia = i1 + i2 + i3
    if not (momentum < math.inf and inertia < math.inf):
        return NOT_FINITE
    orbit[KIND] = STEADY
    orbit[RATE] = 0.0
    store3(orbit, MOMENTUM, (y1, y2, y3))
    for k in range(9):
        orbit[AXES + k] = 0.0
    if momentum == 0.0:
        return 0
    # units that are powers of two round nothing, and keep squares in range
    _, exponent = math.frexp(momentum)
    _, exponent_of_inertia = math.frexp(inertia)
    i = in_unit((i1, i2, i3), exponent_of_inertia)
    y = in_unit((y1, y2, y3), exponent)

    # steady unless found to be otherwise
    w = (y[0] / i[0], y[1] / i[1], y[2] / i[2])
    omega = math.sqrt(dot(w, w))
    orbit[RATE] = math.ldexp(omega, exponent - exponent_of_inertia)
    store3(orbit, AXES, (w[0] / omega, w[1] / omega, w[2] / omega))
    if zeros(y) >= 2 or (i[0] == i[1] and i[1] == i[2]):
        return 0
    length = math.sqrt(dot(y, y))
    spin = dot(y, w) / length
    status = fill_moving(orbit, i, y, length)
    if status == 0 and orbit[KIND] != STEADY:
        orbit[LENGTH] = math.ldexp(length, exponent)
        orbit[SPIN] = math.ldexp(spin, exponent - exponent_of_inertia)
        orbit[RATE] = math.ldexp(orbit[RATE], exponent - exponent_of_inertia)
    return status


def in_unit(a, exponent):
    """a in units of 2^exponent."""
    return math.ldexp(a[0], -exponent), math.ldexp(a[1], -exponent), math.ldexp(a[2], -exponent)


def zeros(y):
    """How many components are zero."""
    count = 0
    for k in range(3):
        if y[k] == 0.0:
            count += 1
    return count


def fill_moving(orbit, i, y, length):
    """Fill `orbit` if y moves, for moments and momenta of the order of 1; the state of `orbit` says steady. See `prepare`."""
    # canonical axes: n1, n2, n3 number those of the body
    i1, i2, i3 = i
    y1, y2, y3 = y
    n1 = 0
    n2 = 1
    n3 = 2
    handed = 1.0
    if i1 > i2:
        n1, n2, i1, i2, y1, y2, handed = n2, n1, i2, i1, y2, y1, -handed
    if i2 > i3:
        n2, n3, i2, i3, y2, y3, handed = n3, n2, i3, i2, y3, y2, -handed
    if i1 > i2:
        n1, n2, i1, i2, y1, y2, handed = n2, n1, i2, i1, y2, y1, -handed
    above = discriminant(i1, i2, i3, y1, y3, orbit)
    if above < 0.0:
        n1, n3, i1, i3, y1, y3, handed = n3, n1, i3, i1, y3, y1, -handed
    if i2 == i3:  # symmetric, and y in the plane of the equal moments
        return 0
    sign1 = math.copysign(1.0, y1)
    sign3 = math.copysign(1.0, y3)
    sign2 = handed * sign1 * sign3
    y1 = abs(y1)
    y2 = sign2 * y2
    y3 = abs(y3)

    c1 = i1 * (i3 - i2) / (i2 * (i3 - i1))
    c2 = i3 * (i2 - i1) / (i2 * (i3 - i1))
    square1 = y1 * y1 + c1 * y2 * y2
    square3 = y3 * y3 + c2 * y2 * y2
    if square1 < TINY or square3 < TINY:
        return 0
    complement = complementary_parameter(above, i1, i2, i3, square3)
    if y1 + y3 < NEAREST or (above != 0.0 and c1 * complement < TINY):
        return UNRESOLVED

    k1 = math.sqrt(square1) / length
    k3 = math.sqrt(square3) / length
    orbit[RATE] = length * k3 * (i3 - i2) / (i2 * i3 * math.sqrt(c1))
    store3(orbit, AXES, along_axis(n1, sign1))
    store3(orbit, AXES + 3, along_axis(n2, sign2))
    store3(orbit, AXES + 6, along_axis(n3, sign3))
    fill_circulation(orbit, y1 / length, y2 / length, y3 / length, c1, c2, k1, k3)
    if above == 0.0:
        fill_separatrix(orbit, y1 / length, y2 / length)
    else:
        fill_periodic(orbit, y1 / length, y2 / length, y3 / length, complement)
    return 0


def fill_circulation(orbit, x1, x2, x3, c1, c2, k1, k3):
    """What both kinds of moving y need, from x = y/L in canonical axes at the start."""
    root_c1 = math.sqrt(c1)
    orbit[K1] = k1
    orbit[K2] = k1 / root_c1
    orbit[K3] = k3
    orbit[C1] = c1
    orbit[C2] = c2
    orbit[ROOT_C1] = root_c1
    root = math.sqrt(2.0 * (1.0 + x3))
    orbit[FROM] = (1.0 + x3) / root
    orbit[FROM + 1] = x2 / root
    orbit[FROM + 2] = -x1 / root


def fill_separatrix(orbit, x1, x2):
    """sn = tanh u, cn = dn = 1/cosh u."""
    sn = x2 / orbit[K2]
    cn = x1 / orbit[K1]
    orbit[KIND] = SEPARATRIX
    orbit[START] = math.asinh(sn / cn)
    orbit[ANGLE] = separatrix_angle(orbit, sn, cn)


def fill_periodic(orbit, x1, x2, x3, complement):
    """Periods, u and E at the start, and the table of means, for k'^2 = complement."""
    c1 = orbit[C1]
    k3 = orbit[K3]
    sn = x2 / orbit[K2]
    cn = x1 / orbit[K1]
    dn = x3 / k3
    factor = complement * orbit[ROOT_C1] * k3
    third = factor * orbit[C2] / (3.0 * k3 * k3)
    quarter = 0.5 * math.pi / elliptic.fill_means(complement, orbit, MEANS)
    complete = factor * quarter + third * elliptic.carlson_rj(0.0, complement, 1.0, c1 * complement)
    start = sn * elliptic.carlson_rf(cn * cn, dn * dn, 1.0)
    orbit[KIND] = PERIODIC
    orbit[HALF_PERIOD] = 2.0 * quarter
    orbit[FIRST_KIND] = factor
    orbit[THIRD_KIND] = third
    orbit[CHARACTERISTIC] = c1 * complement
    orbit[ADVANCE] = 2.0 * complete - math.pi
    orbit[START] = start
    orbit[ANGLE] = periodic_angle(orbit, start, sn, cn, dn)


def discriminant(i1, i2, i3, y1, y3, orbit):
    """I1 (I3 - I2) y3^2 - I3 (I2 - I1) y1^2: > 0 where y circulates about axis 3, 0 on the separatrix.

    With all digits: near the separatrix the time between turns is the logarithm of this difference, and on it, where
    there is no next turn, it must be zero. In double-double, and without rounding where even that cancels.
    """
    a, a_low = pair_product(pair_product(two_sum(i3, -i2), (i1, 0.0)), two_product(y3, y3))
    c, c_low = pair_product(pair_product(two_sum(i2, -i1), (i3, 0.0)), two_product(y1, y1))
    high, low = two_sum(a, -c)
    value = high + (low + (a_low - c_low))
    if abs(value) > CANCELLED * a:
        return value
    put_term(orbit, MEANS, i1, i3, -i2, y3)
    put_term(orbit, MEANS + 16, -i3, i2, -i1, y1)
    return exact_sum(orbit, MEANS, 32)


def put_term(terms, first, a, b, c, y):
    """a (b + c) y^2 exactly, as the sum of 16 numbers."""
    d, d_low = two_sum(b, c)
    p, q = two_product(a, d)
    r, s = two_product(a, d_low)
    z, z_low = two_product(y, y)
    put_product(terms, first, p, z)
    put_product(terms, first + 2, q, z)
    put_product(terms, first + 4, r, z)
    put_product(terms, first + 6, s, z)
    put_product(terms, first + 8, p, z_low)
    put_product(terms, first + 10, q, z_low)
    put_product(terms, first + 12, r, z_low)
    put_product(terms, first + 14, s, z_low)


def complementary_parameter(above, i1, i2, i3, square3):
    """k'^2 from the discriminant; square3 is L^2 k3^2. As 1 - k^2 it would have no digits near the separatrix."""
    return min(1.0, abs(above) / (i1 * abs(i3 - i2) * square3))


def periodic_angle(orbit, u, sn, cn, dn):
    """E at |u| <= K."""
    c1 = orbit[C1]
    c2 = orbit[C2]
    x3 = orbit[K3] * dn
    sn2 = sn * sn
    cn2 = cn * cn
    angle = -math.atan2(orbit[ROOT_C1] * sn * (x3 - c2 * cn2), cn * (c1 * x3 + c2 * sn2))
    third = orbit[THIRD_KIND]
    if third > 0.0:
        third *= elliptic.carlson_rj(cn2, dn * dn, 1.0, cn2 + orbit[CHARACTERISTIC] * sn2)
    return angle + (orbit[FIRST_KIND] * u + third * sn * sn2)


def separatrix_angle(orbit, sn, cn):
    """E for k' = 0, where cn = dn; both are divided out of the argument, for they may vanish."""
    c2 = orbit[C2]
    k3 = orbit[K3]
    return -math.atan2(orbit[ROOT_C1] * sn * (k3 - c2 * cn), orbit[C1] * k3 * cn + c2 * sn * sn)


def evaluate(orbit, t):
    """y(t) and the rotation since t = 0: y1, y2, y3, r0, r1, r2, r3 with q(t) = q(0) * r.

    r is the solution of r' = 1/2 r * (0, omega) with r(0) = 1: its sign, too, is that of the continuous motion.
    """
    if orbit[KIND] == STEADY:
        half = 0.5 * orbit[RATE] * t
        y1, y2, y3 = load3(orbit, MOMENTUM)
        r1, r2, r3 = scaled(math.sin(half), load3(orbit, AXES))
        return y1, y2, y3, math.cos(half), r1, r2, r3
    x, angle = circulation(orbit, t)
    half = 0.5 * (orbit[SPIN] * t + (angle - orbit[ANGLE]))
    r0, r = turned(load3(orbit, FROM), half, x)
    axes = load9(orbit, AXES)
    y1, y2, y3 = transposed_times(axes, scaled(orbit[LENGTH], x))
    r1, r2, r3 = transposed_times(axes, r)
    return y1, y2, y3, r0, r1, r2, r3


def circulation(orbit, t):
    """x = y/L in canonical axes, and E, at the time t."""
    rate = orbit[RATE]
    start = orbit[START]
    if orbit[KIND] == PERIODIC:
        half_period = orbit[HALF_PERIOD]
        turns = math.floor((start + rate * t) / half_period + 0.5)
        u = (rate * t - turns * half_period) + start
        sn, cn, dn = elliptic.jacobi(u, orbit, MEANS)
        angle = periodic_angle(orbit, u, sn, cn, dn) + turns * orbit[ADVANCE]
        if turns % 2 != 0:
            sn = -sn
            cn = -cn
    else:
        u = start + rate * t
        decay = math.exp(-abs(u))  # cosh would overflow
        sn = math.tanh(u)
        cn = 2.0 * decay / (1.0 + decay * decay)
        dn = cn
        angle = separatrix_angle(orbit, sn, cn)
    return (orbit[K1] * cn, orbit[K2] * sn, orbit[K3] * dn), angle


def turned(f, half, x):
    """conj(s(y(0))) * (cos half, 0, 0, sin half) * s(y(t)) in canonical axes, for f = s(y(0)); the scalar and the vector."""
    c = math.cos(half)
    s = math.sin(half)
    a0 = f[0] * c
    a1 = -f[1] * c - f[2] * s
    a2 = -f[2] * c + f[1] * s
    a3 = f[0] * s
    scale = 1.0 / math.sqrt(2.0 * (1.0 + x[2]))
    b0 = (1.0 + x[2]) * scale
    b1 = x[1] * scale
    b2 = -x[0] * scale
    return a0 * b0 - a1 * b1 - a2 * b2, (
        a0 * b1 + a1 * b0 - a3 * b2,
        a0 * b2 + a2 * b0 + a3 * b1,
        a3 * b0 + a1 * b2 - a2 * b1,
    )
