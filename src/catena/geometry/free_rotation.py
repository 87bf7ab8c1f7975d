"""The exact motion of a free rigid body: angular momentum and orientation at any time, without steps [jacobi1850].

    y' = y x (J^-1 y),  r' = 1/2 r * (0, J^-1 y),  r(0) = 1;   y in the body frame, J = diag(I1, I2, I3), L = |y|

`prepare` computes what does not depend on time, `evaluate` the rest. Plain functions that the engine collects.

The canonical axes 1, 2, 3 are those of the body in another order and direction, right-handed: the middle moment is
second, the momentum circulates about +3, so y3 > 0 for all time, and y1 >= 0 at the start. I1 < I2 < I3 or
I1 > I2 > I3; the formulas are the same. With c1 = I1 (I3 - I2)/(I2 (I3 - I1)) and
c2 = I3 (I2 - I1)/(I2 (I3 - I1)) = 1 - c1,

    y1 = L k1 cn u,  y2 = L k2 sn u,  y3 = L k3 dn u,   u = u0 + t L k3 (I3 - I2)/(I2 I3 sqrt(c1))
    L^2 k1^2 = y1^2 + c1 y2^2,  k2 = k1/sqrt(c1),  L^2 k3^2 = y3^2 + c2 y2^2,   k^2 = c2 k1^2/(c1 k3^2)

The shortest rotation s(y) = (L + y3, y2, -y1, 0)/sqrt(2 L (L + y3)) that takes y to axis 3 never degenerates, and
r = conj(s(y(0))) * (cos chi/2, 0, 0, sin chi/2) * s(y(t)) with chi' = (2 H + L y3/I3)/(L + y3).

In theta functions: alpha = sqrt(1 + y3/L) e^(i chi/2) has one of the two zeros of 1 + y3/L, u = +-i (2 K' - v) with
dn(i v) = 1/k3, so that sn^2(v, k') = c1, and its conjugate has the other; both have the period 2 K. So, with
x = pi u/(2 K) and the nome q = e^(-pi K'/K),

    e^(i chi/2) ~ e^(i nu t) th4(x - i pi v/(2 K); q^2)

up to a positive factor, and nu follows from chi' at u = 0. There is no cancellation, because th4 stays near 1; the nome
enters as q^2, so few terms are enough. For k^2 > 1/2, up to the separatrix, the same functions are summed with the
complementary nome q' = e^(-pi K/K') in X = pi u/(2 K'). Legendre's form, an integral of the third kind, takes four
times as long.
"""

from ..kernels import elementary as math
from ..kernels.elementary.trigonometric import cosine_and_sine
from ..kernels.marks import Record
from ..kernels.views import NOT_FINITE, UNRESOLVED
from .complex_numbers import direction, square, times, turn
from .double_double import exact_sum, pair_product, put_product, two_product, two_sum
from .elliptic import carlson_rf, complete, first_kind, within_half_a_period
from .vectors import along_axis, dot, load3, load9, scaled, store3, transposed_times

# The kinds of motion.
STEADY = 0.0  # omega is constant
TRIGONOMETRIC = 1.0  # k^2 <= 1/2
HYPERBOLIC = 2.0  # k^2 > 1/2, including the separatrix, which leads to the unstable axis and has no period


class Orbit(Record):
    """The constants of one motion."""

    KIND = 1
    RATE = 1  # dx/dt or dX/dt, or |omega| of a steady motion
    START = 1  # x or X at t = 0
    HALF_PERIOD = 1  # of y: pi, or that of X; 0 on the separatrix
    LENGTH = 1  # L
    PRECESSION = 1  # nu
    STEP = 1  # of chi/2 in half a period, not included in nu
    FACTORS = 3  # of the quotients of theta functions in y/L
    FROM = 4  # conj(s(y(0))) * e^(-i chi/2) at t = 0
    AXES = 9  # canonical axes in the body, row by row; its first row is the axis of a steady motion
    MOMENTUM = 3  # y(0) of a steady motion
    SERIES = 32  # coefficients (`TrigonometricSeries`, `HyperbolicSeries`); before that, scratch for the discriminant


class TrigonometricSeries(Record):
    """Sums in the nome q as polynomials of C = cos 2x, S = sin 2x; q <= 0.0432, omitted terms are below 1e-16."""

    EVEN = 2  # th3 and th4: E0 + E1 C^2 +- (O0 + O1 C^2) C
    ODD = 2
    SIDE_EVEN = 2  # th1/sin x and th2/cos x: E0 + E1 C^2 -+ O0 C
    SIDE_ODD = 1
    TURN = 5  # th4(x - i s; q^2): T0 + T1 C + T2 C^2 + i S (T3 + T4 C)


class HyperbolicSeries(Record):
    """Sums in the complementary nome."""

    NOME = 1  # q'
    COSINES = 5  # of (m + 1/2) S, S = pi v/(2 K')
    SINES = 5  # of its negative


TINY = 1.0e-280  # smallest squares, relative to L^2, that keep all their digits
NEAREST = 1.0e-140
CANCELLED = 2.0**-46  # discriminants below this part of their terms need more than twice the precision
TERMS = 5  # of the precession in the complementary nome: the next one is below q'^12
NO_NOME = 1.0e4  # -log of a nome that counts as zero


def prepare(i1, i2, i3, y1, y2, y3, orbit):
    """Fill `orbit` (Orbit.WIDTH floats) with the motion that starts at y, for moments I > 0 in any order.

    Returns 0, or
    UNRESOLVED: y is nearer than about 1e-140 |y| to the axis of the middle moment, but not on it: k'^2 underflows.
    `orbit` holds the rotation about that axis, which is accurate while |omega| |t| < 100;
    NOT_FINITE: y or I is not finite, and `orbit` is unchanged.
    """
    momentum = abs(y1) + abs(y2) + abs(y3)
    inertia = i1 + i2 + i3
    if not (momentum < math.inf and inertia < math.inf):
        return NOT_FINITE
    orbit[Orbit.KIND] = STEADY
    orbit[Orbit.RATE] = 0.0
    store3(orbit, Orbit.MOMENTUM, (y1, y2, y3))
    for k in range(9):
        orbit[Orbit.AXES + k] = 0.0
    if momentum == 0.0:
        return 0
    # units that are powers of two cause no rounding, and keep squares in range
    _, exponent = math.frexp(momentum)
    _, exponent_of_inertia = math.frexp(inertia)
    i = in_unit((i1, i2, i3), exponent_of_inertia)
    y = in_unit((y1, y2, y3), exponent)

    # steady until shown otherwise
    w = (y[0] / i[0], y[1] / i[1], y[2] / i[2])
    omega = math.sqrt(dot(w, w))
    orbit[Orbit.RATE] = math.ldexp(omega, exponent - exponent_of_inertia)
    store3(orbit, Orbit.AXES, (w[0] / omega, w[1] / omega, w[2] / omega))
    if zeros(y) >= 2 or (i[0] == i[1] and i[1] == i[2]):
        return 0
    length = math.sqrt(dot(y, y))
    status = fill_moving(orbit, i, y, length, dot(y, w) / length)
    if status == 0 and orbit[Orbit.KIND] != STEADY:
        orbit[Orbit.LENGTH] = math.ldexp(length, exponent)
        orbit[Orbit.RATE] = math.ldexp(orbit[Orbit.RATE], exponent - exponent_of_inertia)
        orbit[Orbit.PRECESSION] = math.ldexp(orbit[Orbit.PRECESSION], exponent - exponent_of_inertia)
    return status


def in_unit(a, exponent):
    """a in units of 2^exponent."""
    return math.ldexp(a[0], -exponent), math.ldexp(a[1], -exponent), math.ldexp(a[2], -exponent)


def zeros(y):
    """Number of components that are zero."""
    count = 0
    for k in range(3):
        if y[k] == 0.0:
            count += 1
    return count


def fill_moving(orbit, i, y, length, spin):
    """Fill `orbit` if y moves, for moments and momenta of order 1; `orbit` is preset to steady; spin = 2 H/L.

    See `prepare`.
    """
    # canonical axes: n1, n2, n3 are their numbers in the body
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

    store3(orbit, Orbit.AXES, along_axis(n1, sign1))
    store3(orbit, Orbit.AXES + 3, along_axis(n2, sign2))
    store3(orbit, Orbit.AXES + 6, along_axis(n3, sign3))
    k1 = math.sqrt(square1) / length
    k3 = math.sqrt(square3) / length
    orbit[Orbit.RATE] = length * k3 * (i3 - i2) / (i2 * i3 * math.sqrt(c1))  # du/dt
    orbit[Orbit.PRECESSION] = 0.5 * (spin + length * k3 / i3) / (1.0 + k3)  # chi'/2 at u = 0
    parameter = min(1.0, c2 * square1 / (c1 * square3)) if above != 0.0 else 1.0
    x = (y1 / length, y2 / length, y3 / length)
    if complement >= 0.5:
        fill_trigonometric(orbit, x, c1, c2, k1, k3, parameter, complement)
    else:
        fill_hyperbolic(orbit, x, c1, c2, k1, k3, parameter, complement)
    return 0


def fill_trigonometric(orbit, x, c1, c2, k1, k3, parameter, complement):
    """x = pi u/(2 K) and the nome q = e^(-pi K'/K), from y/L at the start; parameter = k^2, complement = k'^2."""
    quarter = complete(complement)
    f = 0.5 * math.pi / quarter
    nome = 0.0
    if parameter > 0.0:
        prime = complete(parameter)
        decay = 2.0 * f * prime
        nome = math.exp(-decay)
        fill_turn(orbit, decay, 2.0 * f * imaginary_zero(c1, c2, k1, k3, parameter, prime))
    else:
        fill_turn(orbit, NO_NOME, 0.0)
    q2 = nome * nome
    q4 = q2 * q2
    q6 = q4 * q2
    q9 = q4 * q4 * nome
    at = Orbit.SERIES
    orbit[at + TrigonometricSeries.EVEN] = 1.0 - 2.0 * q4
    orbit[at + TrigonometricSeries.EVEN + 1] = 4.0 * q4
    orbit[at + TrigonometricSeries.ODD] = 2.0 * nome - 6.0 * q9
    orbit[at + TrigonometricSeries.ODD + 1] = 8.0 * q9
    orbit[at + TrigonometricSeries.SIDE_EVEN] = 1.0 - q2 - q6
    orbit[at + TrigonometricSeries.SIDE_EVEN + 1] = 4.0 * q6
    orbit[at + TrigonometricSeries.SIDE_ODD] = 2.0 * (q2 - q6)
    second, third, fourth = at_zero(nome)
    store3(orbit, Orbit.FACTORS, (k1 * fourth / second, k1 / math.sqrt(c1) * third / second, k3 * fourth / third))
    value = (
        orbit[at + TrigonometricSeries.TURN]
        + orbit[at + TrigonometricSeries.TURN + 1]
        + orbit[at + TrigonometricSeries.TURN + 2]
    )  # and slope of the series at x = 0
    slope = 2.0 * (orbit[at + TrigonometricSeries.TURN + 3] + orbit[at + TrigonometricSeries.TURN + 4])
    orbit[Orbit.KIND] = TRIGONOMETRIC
    orbit[Orbit.RATE] *= f
    orbit[Orbit.PRECESSION] -= orbit[Orbit.RATE] * slope / value
    orbit[Orbit.START] = f * start_phase(x, c1, k1, k3, complement)
    orbit[Orbit.HALF_PERIOD] = math.pi
    orbit[Orbit.STEP] = 0.0
    fill_from(orbit, x, trigonometric(orbit, 0.0)[1])


def fill_turn(orbit, decay, s):
    """th4(x - i s/2; q^2) for q = e^-decay, s < decay: the terms of e^(+-2ix) and e^(+-4ix); the next is below q^15.

    Exponents are added before taking an exponential: a tiny nome and its inverse would leave the range of floats.
    """
    plus = math.exp(s - 2.0 * decay)
    minus = math.exp(-s - 2.0 * decay)
    plus2 = math.exp(2.0 * s - 8.0 * decay)
    minus2 = math.exp(-2.0 * s - 8.0 * decay)
    at = Orbit.SERIES + TrigonometricSeries.TURN
    orbit[at] = 1.0 - (plus2 + minus2)
    orbit[at + 1] = -(plus + minus)
    orbit[at + 2] = 2.0 * (plus2 + minus2)
    orbit[at + 3] = minus - plus
    orbit[at + 4] = 2.0 * (plus2 - minus2)


def fill_hyperbolic(orbit, x, c1, c2, k1, k3, parameter, complement):
    """X = pi u/(2 K') and the complementary nome q' = e^(-pi K/K'), which is 0 on the separatrix."""
    prime = complete(parameter)
    f = 0.5 * math.pi / prime
    half_period = 0.0
    nome = 0.0
    if complement > 0.0:
        half_period = 2.0 * f * complete(complement)
        nome = math.exp(-half_period)
    shift = f * imaginary_zero(c1, c2, k1, k3, parameter, prime)
    at = Orbit.SERIES
    value = 0.0  # and slope of the series at X = 0
    slope = 0.0
    power = 1.0
    share = 1.0  # q'^(m (m + 1)/2)
    for m in range(TERMS):
        c, s = turn((m + 0.5) * shift)
        orbit[at + HyperbolicSeries.COSINES + m] = c
        orbit[at + HyperbolicSeries.SINES + m] = -s
        value += share * c
        slope -= share * (m + 0.5) * s
        power *= nome
        share *= power
    second, third, fourth = at_zero(nome)
    second *= 2.0
    store3(orbit, Orbit.FACTORS, (k1 * second / fourth, k1 / math.sqrt(c1) * third / fourth, k3 * second / third))
    orbit[at + HyperbolicSeries.NOME] = nome
    orbit[Orbit.KIND] = HYPERBOLIC
    orbit[Orbit.RATE] *= f
    orbit[Orbit.PRECESSION] -= orbit[Orbit.RATE] * slope / value
    orbit[Orbit.START] = f * start_phase(x, c1, k1, k3, complement)
    orbit[Orbit.HALF_PERIOD] = half_period
    orbit[Orbit.STEP] = -shift
    fill_from(orbit, x, hyperbolic(orbit, 0.0)[1])


def at_zero(nome):
    """th2/(2 q^(1/4)), th3 and th4 at 0."""
    q2 = nome * nome
    q4 = q2 * q2
    q9 = q4 * q4 * nome
    return 1.0 + (q2 + q4 * q2), 1.0 + 2.0 * (nome + (q4 + q9)), 1.0 - 2.0 * (nome - (q4 - q9))


def imaginary_zero(c1, c2, k1, k3, parameter, prime):
    """v = F(asin sqrt(c1), k'), or K' minus its complement: whichever has the smaller tangent."""
    if c1 * c1 * parameter <= c2 * c2:
        return first_kind(c1 / c2, parameter)
    return prime - first_kind((k3 / k1) * (k3 / k1), parameter)


def start_phase(x, c1, k1, k3, complement):
    """u at the start, from y/L there; |u| <= K."""
    sn = x[1] * math.sqrt(c1) / k1
    cn = x[0] / k1
    if complement == 0.0:
        return math.asinh(sn / cn)
    dn = x[2] / k3
    return sn * carlson_rf(cn * cn, dn * dn, 1.0)


def fill_from(orbit, x, turned):
    """The factor that makes r = 1 at the start: conj(s(y(0))), and the conjugate of e^(i chi/2) there."""
    root = math.sqrt(2.0 * (1.0 + x[2]))
    f0 = (1.0 + x[2]) / root
    f1 = x[1] / root
    f2 = -x[0] / root
    c, s = direction(turned)
    orbit[Orbit.FROM] = f0 * c
    orbit[Orbit.FROM + 1] = f2 * s - f1 * c
    orbit[Orbit.FROM + 2] = -f2 * c - f1 * s
    orbit[Orbit.FROM + 3] = -f0 * s


def discriminant(i1, i2, i3, y1, y3, orbit):
    """I1 (I3 - I2) y3^2 - I3 (I2 - I1) y1^2: > 0 if y circulates about axis 3, 0 on the separatrix.

    It must have all its digits: near the separatrix the time between flips is the logarithm of this difference, and on
    it, where there is no next flip, it must be zero. In double-double, and without rounding if even that cancels.
    """
    a, a_low = pair_product(pair_product(two_sum(i3, -i2), (i1, 0.0)), two_product(y3, y3))
    c, c_low = pair_product(pair_product(two_sum(i2, -i1), (i3, 0.0)), two_product(y1, y1))
    high, low = two_sum(a, -c)
    value = high + (low + (a_low - c_low))
    if abs(value) > CANCELLED * a:
        return value
    put_term(orbit, Orbit.SERIES, i1, i3, -i2, y3)
    put_term(orbit, Orbit.SERIES + 16, -i3, i2, -i1, y1)
    return exact_sum(orbit, Orbit.SERIES, 32)


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
    """k'^2 from the discriminant; square3 is L^2 k3^2.

    Computed as 1 - k^2 it would have no digits near the separatrix.
    """
    return min(1.0, abs(above) / (i1 * abs(i3 - i2) * square3))


def evaluate(orbit, t):
    """y(t) and the rotation since t = 0: y1, y2, y3, r0, r1, r2, r3 with q(t) = q(0) * r.

    r is the solution of r' = 1/2 r * (0, omega) with r(0) = 1: its sign is also that of the continuous motion.
    """
    if orbit[Orbit.KIND] == STEADY:
        cosine, sine = turn(0.5 * orbit[Orbit.RATE] * t)
        y1, y2, y3 = load3(orbit, Orbit.MOMENTUM)
        r1, r2, r3 = scaled(sine, load3(orbit, Orbit.AXES))
        return y1, y2, y3, cosine, r1, r2, r3
    x, turned = trigonometric(orbit, t) if orbit[Orbit.KIND] == TRIGONOMETRIC else hyperbolic(orbit, t)
    r0, r = rotation(orbit, turned, x)
    axes = load9(orbit, Orbit.AXES)
    length = orbit[Orbit.LENGTH] * (1.5 - 0.5 * dot(x, x))  # L/|x| with fewer roundings
    y1, y2, y3 = transposed_times(axes, scaled(length, x))
    r1, r2, r3 = transposed_times(axes, r)
    return y1, y2, y3, r0, r1, r2, r3


def trigonometric(orbit, t):
    """y/L in canonical axes at the time t, and e^(i chi/2) up to a positive factor."""
    at = Orbit.SERIES
    cosine, sine = cosine_and_sine(orbit[Orbit.START] + orbit[Orbit.RATE] * t)
    c = (cosine - sine) * (cosine + sine)
    s = 2.0 * sine * cosine
    c2 = c * c
    even = orbit[at + TrigonometricSeries.EVEN] + orbit[at + TrigonometricSeries.EVEN + 1] * c2
    odd = (orbit[at + TrigonometricSeries.ODD] + orbit[at + TrigonometricSeries.ODD + 1] * c2) * c
    side_even = orbit[at + TrigonometricSeries.SIDE_EVEN] + orbit[at + TrigonometricSeries.SIDE_EVEN + 1] * c2
    side_odd = orbit[at + TrigonometricSeries.SIDE_ODD] * c
    scale = 1.0 / (even - odd)
    f1, f2, f3 = load3(orbit, Orbit.FACTORS)
    x = (
        f1 * cosine * (side_even + side_odd) * scale,
        f2 * sine * (side_even - side_odd) * scale,
        f3 * (even + odd) * scale,
    )
    series = (
        orbit[at + TrigonometricSeries.TURN]
        + orbit[at + TrigonometricSeries.TURN + 1] * c
        + orbit[at + TrigonometricSeries.TURN + 2] * c2,
        (orbit[at + TrigonometricSeries.TURN + 3] + orbit[at + TrigonometricSeries.TURN + 4] * c) * s,
    )
    return x, times(turn(orbit[Orbit.PRECESSION] * t), series)


def hyperbolic(orbit, t):
    """The same for k^2 > 1/2: X within half a period of 0, and whole half periods as turns of the phase."""
    at = Orbit.SERIES
    position, turns = within_half_a_period(orbit[Orbit.START], orbit[Orbit.RATE] * t, orbit[Orbit.HALF_PERIOD])
    nome = orbit[at + HyperbolicSeries.NOME]
    y = math.exp(-abs(position))
    rise = nome / y if nome > 0.0 else 0.0  # q' e^|X| <= sqrt(q')
    z = y * y
    r = rise / y if nome > 0.0 else 0.0  # q' e^(2 |X|) <= 1
    z2 = z * z
    r2 = r * r
    q2 = nome * nome
    q4 = q2 * q2
    q6 = q4 * q2
    q9 = q4 * q4 * nome
    # up to a factor each, th1, th2 = even -+ odd and th3, th4 = above +- below
    even = 1.0 + (q2 * z2 + q4 * r2)
    odd = z * (1.0 + q6 * z2) + r * (nome + q9 * r2)
    above = 1.0 + (q2 * r2 + q4 * z2)
    below = r * (1.0 + q6 * r2) + z * (nome + q9 * z2)
    scale = 1.0 / (even + odd)
    side = -1.0 if turns % 2 != 0 else 1.0
    f1, f2, f3 = load3(orbit, Orbit.FACTORS)
    x = (
        side * f1 * y * (above - below) * scale,
        (side if position >= 0.0 else -side) * f2 * (even - odd) * scale,
        f3 * y * (above + below) * scale,
    )
    # e^(-|X|/2) times the sum of q'^(m (m + 1)/2) e^((m + 1/2) (|X| - i S)): m and -m - 1 together
    forward = 1.0
    back = y
    power = 1.0
    real = 0.0
    imaginary = 0.0
    for m in range(TERMS):
        real += (forward + back) * orbit[at + HyperbolicSeries.COSINES + m]
        imaginary += (forward - back) * orbit[at + HyperbolicSeries.SINES + m]
        forward *= power * rise
        power *= nome
        back *= power * y
    series = (real, imaginary if position >= 0.0 else -imaginary)
    return x, times(turn(orbit[Orbit.PRECESSION] * t + turns * orbit[Orbit.STEP]), series)


def rotation(orbit, turned, x):
    """FROM * e^(i chi/2) * s(y(t)) in canonical axes; the scalar and the vector."""
    above = 1.0 + x[2]
    scale = 1.0 / math.sqrt(square(turned) * (above * above + (x[0] * x[0] + x[1] * x[1])))
    c = turned[0] * scale
    s = turned[1] * scale
    b0 = c * above
    b1 = c * x[1] + s * x[0]
    b2 = s * x[1] - c * x[0]
    b3 = s * above
    a0 = orbit[Orbit.FROM]
    a1 = orbit[Orbit.FROM + 1]
    a2 = orbit[Orbit.FROM + 2]
    a3 = orbit[Orbit.FROM + 3]
    return a0 * b0 - a1 * b1 - a2 * b2 - a3 * b3, (
        a0 * b1 + a1 * b0 + a2 * b3 - a3 * b2,
        a0 * b2 - a1 * b3 + a2 * b0 + a3 * b1,
        a0 * b3 + a1 * b2 - a2 * b1 + a3 * b0,
    )
