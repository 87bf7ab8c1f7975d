"""The exact motion of Lagrange's top [lagrange1788]: two equal moments, centre of mass on the axis; without steps.

In axes where 3 is that of symmetry, U = g n3, moments A, A, C, with

    alpha = q0 + i q3,  beta = q1 + i q2,  eta = y1 + i y2,  c = y3,   |beta|^2 = w = (1 - cos theta)/2

each of the three is one quotient of theta functions of the nome of w(t) [klein1897],

    alpha = Ca e^(i nu1 t) th1(x + i s1)/th4(x),  beta = Cb e^(i nu2 t) th2(x + i s2)/th4(x),
    eta = C3 e^(i (nu2 - nu1) t) th3(x + i (s2 - s1))/th4(x),   x = x0 + kappa t

so there are no Euler angles and no poles: alpha and beta pass through 0 where the axis passes through the vertical. For
k^2 > 1/2, the same functions in the complementary nome. The spherical pendulum is c = 0. `prepare` computes what does
not depend on time, `evaluate` the rest. Plain functions that the engine collects.
"""

from ..kernels import elementary as math
from ..kernels.views import NOT_FINITE, UNRESOLVED
from . import lagrange_roots
from .complex_numbers import conjugate_times, difference, direction, scaled, square, times, turn
from .elliptic import carlson_rf, complete, first_kind, within_half_a_period
from .lagrange_orbit import (
    FREE,
    HYPERBOLIC,
    STEADY,
    TERMS,
    TRIGONOMETRIC,
    Orbit,
    hyperbolic_size,
    multiples,
    powers,
    put_term,
    slope_weights,
    sum_complex,
    sum_even,
    sum_odd,
    sum_real,
    trigonometric_size,
    weigh,
    whole_power,
)
from .lagrange_roots import Points

WEIGHTLESS = 1.0e-60  # g A/|y|^2 that is negligible
NEAREST = 1.0e-64  # distance from the vertical whose fourth power still has the digits of a pair
RISING = 6  # index in the result of `lagrange_roots.constants`
NO_NOME = 1.0e4  # -log of a nome that counts as zero


def prepare(axis, a, c, g, q, y, orbit):
    """Fill `orbit` (Orbit.WIDTH floats) with the motion that starts at q (any length) and y, with U = g n_axis.

    a is the moment of the equal pair, c that of the axis (any number above 0 if nothing spins about it). Returns 0, or
    UNRESOLVED: the start is nearer than about 1e-64 to the unstable upright position, but not in it;
    NOT_FINITE: a number is not finite, and `orbit` is unchanged.
    """
    size = abs(y[0]) + abs(y[1]) + abs(y[2])
    length = abs(q[0]) + abs(q[1]) + abs(q[2]) + abs(q[3])
    if not (size < math.inf and abs(g) < math.inf and a + c < math.inf and 0.0 < length < math.inf):
        return NOT_FINITE
    for k in range(Orbit.WIDTH):
        orbit[k] = 0.0
    orbit[Orbit.AXIS] = axis
    # units that are powers of two cause no rounding, and keep squares in range
    mass = exponent(a)
    clock = max(exponent(size) - mass, (exponent(g) - mass + 1) // 2)
    a = math.ldexp(a, -mass)
    c = math.ldexp(c, -mass)
    g = math.ldexp(g, -mass - 2 * clock)
    pairs, momentum = to_own_axes(axis, q, y)
    y1 = math.ldexp(momentum[0], -mass - clock)
    y2 = math.ldexp(momentum[1], -mass - clock)
    y3 = math.ldexp(momentum[2], -mass - clock)
    if g < 0.0:  # hang it upside down: half a turn about axis 1
        orbit[Orbit.TURNED_OVER] = 1.0
        q0, q1, q2, q3 = pairs
        pairs = (-q1[0], -q1[1]), q0, q3, (-q2[0], -q2[1])
        y2 = -y2
        y3 = -y3
        g = -g
    status = fill(a, c, g, pairs, (y1, y2, y3), orbit)
    orbit[Orbit.SPIN] = math.ldexp(y3, mass + clock)
    for k in range(2):
        orbit[Orbit.ETA + k] = math.ldexp(orbit[Orbit.ETA + k], mass + clock)
    orbit[Orbit.RATE] = math.ldexp(orbit[Orbit.RATE], clock)
    orbit[Orbit.ALPHA_RATE] = math.ldexp(orbit[Orbit.ALPHA_RATE], clock)
    orbit[Orbit.BETA_RATE] = math.ldexp(orbit[Orbit.BETA_RATE], clock)
    return status


def exponent(x):
    """Exponent of the power of two above |x|; for 0, that of the smallest number."""
    if x == 0.0:
        return -1074
    _, power = math.frexp(x)
    return power


def to_own_axes(axis, q, y):
    """q as four pairs, and y, in axes whose third is that of symmetry: a cyclic permutation, without rounding."""
    if axis == 2:
        return ((q[0], 0.0), (q[1], 0.0), (q[2], 0.0), (q[3], 0.0)), (y[0], y[1], y[2])
    a = q[0]
    b = q[1]
    c = q[2]
    d = q[3]
    s = 1.0 if axis == 0 else -1.0  # twice the components of the permutation's quaternion are 1, s, s, s
    pairs = (
        lagrange_roots.exact_four(a, -s * b, -s * c, -s * d),
        lagrange_roots.exact_four(s * a, b, s * c, -s * d),
        lagrange_roots.exact_four(s * a, c, s * d, -s * b),
        lagrange_roots.exact_four(s * a, d, s * b, -s * c),
    )
    if axis == 0:
        return pairs, (y[1], y[2], y[0])
    return pairs, (y[2], y[0], y[1])


def fill(a, c, g, pairs, y, orbit):
    """`prepare` in own axes and units, for g >= 0; a status."""
    q0, q1, q2, q3 = pairs[0][0], pairs[1][0], pairs[2][0], pairs[3][0]
    k = 1.0 / math.sqrt(q0 * q0 + q1 * q1 + q2 * q2 + q3 * q3)
    alpha = (q0 * k, q3 * k)
    beta = (q1 * k, q2 * k)
    eta = (y[0], y[1])
    spin = y[2]
    turning = spin / c if spin != 0.0 else 0.0  # omega_3
    own = turning - spin / a
    if not abs(turning) < math.inf:
        return NOT_FINITE
    fill_steady(alpha, beta, turning, orbit)
    sideways = abs(y[0]) + abs(y[1])
    if sideways == 0.0 and (q1 == q2 == 0.0 or q0 == q3 == 0.0):
        return 0
    length = y[0] * y[0] + y[1] * y[1] + spin * spin
    if g * a <= WEIGHTLESS * length:
        fill_free(a, y, own, orbit)
        return 0
    if sideways < NEAREST and abs(q1) + abs(q2) < NEAREST:
        return 0 if spin * spin >= 4.0 * g * a else UNRESOLVED
    if sideways < NEAREST and abs(q0) + abs(q3) < NEAREST:
        return 0
    known = lagrange_roots.constants(a, g, pairs, y)
    points = lagrange_roots.turning_points(known, spin)
    if points[Points.W13] == 0.0 or points[Points.W1] == 0.0 or points[Points.HIGH] == 0.0:
        return 0
    # alpha' = (i w3 alpha - beta conj(eta)/A)/2, beta' = (alpha eta/A - i w3 beta)/2
    alpha_slope = scaled(
        0.5, difference((-turning * alpha[1], turning * alpha[0]), scaled(1.0 / a, conjugate_times(eta, beta)))
    )
    beta_slope = scaled(0.5, difference(scaled(1.0 / a, times(alpha, eta)), (-turning * beta[1], turning * beta[0])))
    if points[Points.W23] >= 0.5 * points[Points.W13]:
        fill_trigonometric(a, g, own, known, points, spin, alpha, beta, alpha_slope, beta_slope, orbit)
    else:
        fill_hyperbolic(a, g, own, known, points, spin, alpha, beta, alpha_slope, beta_slope, orbit)
    return 0


def fill_steady(alpha, beta, turning, orbit):
    """A vertical axis: alpha e^(i w3 t/2), beta e^(-i w3 t/2)."""
    orbit[Orbit.KIND] = STEADY
    put(orbit, Orbit.ALPHA, alpha)
    put(orbit, Orbit.BETA, beta)
    orbit[Orbit.ALPHA_RATE] = 0.5 * turning
    orbit[Orbit.BETA_RATE] = -0.5 * turning


def fill_free(a, y, own, orbit):
    """A body without weight: rotation about y at |y|/A, and about its axis at `own` = w3 - c/A."""
    length = math.sqrt(y[0] * y[0] + y[1] * y[1] + y[2] * y[2])
    orbit[Orbit.KIND] = FREE
    orbit[Orbit.RATE] = length / a
    orbit[Orbit.ALPHA_RATE] = 0.5 * own
    put(orbit, Orbit.ETA, (y[0], y[1]))
    if length > 0.0:
        for k in range(3):
            orbit[Orbit.POLE + k] = y[k] / length


def put(orbit, at, value):
    """Store a complex number."""
    orbit[at] = value[0]
    orbit[at + 1] = value[1]


def sign(x):
    """1 or -1."""
    return 1.0 if x >= 0.0 else -1.0


def swings(a, own, known, points, spin):
    """Rates of arg alpha at the highest and of arg beta at the lowest point, signs, largest |eta|^2/(4 g A).

    They serve both kinds of series. The sign of p - c u1 is computed from p+ or p-, whichever does not cancel:
    otherwise eta could get the opposite sign.
    """
    _, _, plus_pair, minus_pair, kinetic, _, _ = known
    plus = plus_pair[0]
    minus = minus_pair[0]
    w1, low, high = points[Points.W1], points[Points.LOW], points[Points.HIGH]  # w1, 1 - w1, 1 - w2
    alpha_rate = 0.5 * (plus / (2.0 * a * high) + own)
    beta_rate = 0.5 * (minus / (2.0 * a * w1) - own)
    middle = plus - 2.0 * spin * low if w1 > 0.5 else minus + 2.0 * spin * w1
    opposite = 1.0 if plus == 0.0 or 4.0 * abs(spin) * low < abs(plus) else sign(middle) * sign(plus)
    lowest = 1.0 if plus == 0.0 else sign(middle)
    first = -1.0 if plus > 0.0 else 1.0
    second = -1.0 if minus > 0.0 else 1.0
    return alpha_rate, beta_rate, first, second, opposite, lowest, max(0.0, kinetic[0] + points[Points.BELOW])


def start_phase(points, quarter, complement, rising):
    """v at the start: sn^2 v = (w1 - w)/(w1 - w2), |v| <= K = quarter."""
    w12 = points[Points.W12]
    sn2 = min(1.0, points[Points.BELOW] / w12) if w12 > 0.0 else 0.0
    cn2 = min(1.0, points[Points.ABOVE] / w12) if w12 > 0.0 else 1.0
    dn2 = min(1.0, points[Points.BEYOND] / points[Points.W13])
    if complement == 0.0:
        v = math.asinh(math.sqrt(sn2 / cn2))
    elif sn2 <= cn2:
        v = math.sqrt(sn2) * carlson_rf(cn2, dn2, 1.0)
    else:
        v = quarter - math.sqrt(cn2) * carlson_rf(complement * sn2, complement, dn2)
    return sign(rising) * v


def phase(value, slope, rate, numerator, change, size):
    """Direction of C in C e^(i rate t) N(t) = value at 0; from the slopes if N nearly vanishes."""
    if square(numerator) > 0.25 * size * size:
        return direction(conjugate_times(numerator, value))
    moved = change[0] - rate * numerator[1], change[1] + rate * numerator[0]
    return direction(conjugate_times(moved, slope))


# k^2 <= 1/2 -------------------------------------------------------------------------------------------------------------


def fill_trigonometric(a, g, own, known, points, spin, alpha, beta, alpha_slope, beta_slope, orbit):
    """x = kappa t + x0, kappa = lambda pi/(2 K), series in the nome q = e^(-pi K'/K)."""
    w13 = points[Points.W13]
    alpha_rate, beta_rate, first, second, opposite, lowest, most = swings(a, own, known, points, spin)
    k2 = points[Points.W12] / w13
    complement = points[Points.W23] / w13
    quarter = complete(complement)
    f = 0.5 * math.pi / quarter
    decay = math.pi * complete(k2) / quarter if k2 > 0.0 else NO_NOME
    kappa = math.sqrt(g * w13 / a) * f
    start = f * start_phase(points, quarter, complement, known[RISING])
    is_first = fill_numerators(points, k2, f, decay, first, second, orbit)
    for n in range(TERMS + 1):
        orbit[Orbit.DENOMINATOR + n] = (2.0 if n > 0 else 1.0) * alternating(n) * math.exp(-n * n * decay)

    # rates and moduli from the turning points: x = pi/2 for alpha, 0 for the others
    ones = (1.0, 1.0, 1.0, 1.0)
    signs = (-1.0, 1.0, -1.0, 1.0)
    high = sum_even(orbit, Orbit.DENOMINATOR, signs)
    low = sum_even(orbit, Orbit.DENOMINATOR, ones)
    at_high = sum_even(orbit, Orbit.FIRST, signs)
    at_low = sum_even(orbit, Orbit.SECOND, ones)
    alpha_rate -= kappa * sum_odd(orbit, Orbit.FIRST, weigh(signs)) / at_high
    beta_rate -= kappa * sum_odd(orbit, Orbit.SECOND, weigh(ones)) / at_low
    u = trigonometric_phase(orbit, Orbit.FIRST, start, kappa, alpha_rate, alpha, alpha_slope)
    v = trigonometric_phase(orbit, Orbit.SECOND, start, kappa, beta_rate, beta, beta_slope)
    longest = 2.0 * math.sqrt(g * a * most) * low / sum_even(orbit, Orbit.THIRD, ones)
    s = opposite if is_first else lowest
    across = conjugate_times(u, v)
    orbit[Orbit.KIND] = TRIGONOMETRIC
    orbit[Orbit.RATE] = kappa
    orbit[Orbit.START] = start
    orbit[Orbit.ALPHA_RATE] = alpha_rate
    orbit[Orbit.BETA_RATE] = beta_rate
    put(orbit, Orbit.ALPHA, scaled(math.sqrt(points[Points.HIGH]) * high / abs(at_high), u))
    put(orbit, Orbit.BETA, scaled(math.sqrt(points[Points.W1]) * low / at_low, v))
    put(orbit, Orbit.ETA, scaled(s * longest, (-across[1], across[0])))


def alternating(n):
    """(-1)^n."""
    return 1.0 if n % 2 == 0 else -1.0


def fill_numerators(points, k2, f, decay, first, second, orbit):
    """The coefficients of th1, th2, th3 in the form that does not overflow; returns whether th1 is in its first form.

    Exponents are added before taking a single exponential: a tiny nome and its inverse would leave the range of floats.
    """
    w12, w13, low = points[Points.W12], points[Points.W13], points[Points.LOW]
    w2, w3 = points[Points.W2], points[Points.W3]
    is_first = low * low < w12 * w13
    s1 = first * f * first_kind(low / w12 if is_first else w13 / low, k2)
    is_second = w2 * w2 < k2 * w3 * w3
    s2 = second * f * first_kind(w2 / (w3 * k2) if is_second else w3 / w2, k2)
    for n in range(-TERMS, TERMS + 1):
        square_n = n * n
        long = n * (n + 1)
        if is_first and n < TERMS:
            put_term(orbit, Orbit.FIRST, n, alternating(n) * math.exp(-long * decay - 2 * n * s1))
        if not is_first:
            put_term(orbit, Orbit.FIRST, n, alternating(n) * math.exp(-square_n * decay + 2 * n * s1))
        if is_second and n < TERMS:
            put_term(orbit, Orbit.SECOND, n, math.exp(-long * decay - 2 * n * s2))
        if not is_second:
            put_term(orbit, Orbit.SECOND, n, math.exp(-square_n * decay + 2 * n * s2))
        if is_first and is_second:
            put_term(orbit, Orbit.THIRD, n, math.exp(-square_n * decay - 2 * n * (s2 - s1)))
        if not is_first and not is_second:
            put_term(orbit, Orbit.THIRD, n, math.exp(-square_n * decay - 2 * n * (s1 - s2)))
        if is_first and not is_second and n > -TERMS:
            put_term(orbit, Orbit.THIRD, n, math.exp(-n * (n - 1) * decay + (2 * n - 1) * (s1 + s2)))
        if is_second and not is_first and n < TERMS:
            put_term(orbit, Orbit.THIRD, n, math.exp(-long * decay - (2 * n + 1) * (s1 + s2)))
    return is_first


def trigonometric_phase(orbit, at, start, kappa, rate, value, slope):
    """Direction of the constant of alpha or beta."""
    c, s = multiples(2.0 * start)
    denominator = sum_even(orbit, Orbit.DENOMINATOR, c)
    numerator = (sum_even(orbit, at, c), sum_odd(orbit, at, s))
    ws = weigh(s)
    wc = weigh(c)
    falls = sum_even(orbit, Orbit.DENOMINATOR, ws) - orbit[Orbit.DENOMINATOR]  # -D'
    ratio = -falls / denominator
    change = (
        kappa * (orbit[at] - sum_even(orbit, at, ws) - ratio * numerator[0]),
        kappa * (sum_odd(orbit, at, wc) - ratio * numerator[1]),
    )
    return phase(value, slope, rate, numerator, change, trigonometric_size(orbit, at))


# k^2 > 1/2 -------------------------------------------------------------------------------------------------------------


def fill_hyperbolic(a, g, own, known, points, spin, alpha, beta, alpha_slope, beta_slope, orbit):
    """X = f' (lambda t + v0) up to whole half periods, f' = pi/(2 K'), series in the complementary nome q' = e^(-pi K/K')."""
    w13 = points[Points.W13]
    alpha_rate, beta_rate, first, second, opposite, _, most = swings(a, own, known, points, spin)
    k2 = points[Points.W12] / w13
    complement = points[Points.W23] / w13
    quarter_prime = complete(k2)
    f = 0.5 * math.pi / quarter_prime
    quarter = 0.0
    nome = 0.0
    if complement > 0.0:
        quarter = complete(complement)
        nome = math.exp(-math.pi * quarter / quarter_prime)
    s1, s2 = shifts(points, k2, quarter_prime)
    s1 *= first * f
    s2 *= second * f
    kappa = math.sqrt(g * w13 / a) * f
    orbit[Orbit.KIND] = HYPERBOLIC
    orbit[Orbit.RATE] = kappa
    orbit[Orbit.START] = f * start_phase(points, quarter, complement, known[RISING])
    orbit[Orbit.HALF_PERIOD] = 2.0 * f * quarter
    orbit[Orbit.NOME] = nome
    orbit[Orbit.ALPHA_STEP] = 2.0 * s1 + math.pi
    orbit[Orbit.BETA_STEP] = 2.0 * s2 + math.pi
    fill_hyperbolic_terms(nome, s1, s2, orbit)
    th1, slope1 = theta_four(nome, s1)
    th2, slope2 = theta_four(nome, s2)
    th3, _ = theta_four(nome, s2 - s1 + 0.5 * math.pi)
    high, _ = theta_four(nome, 0.5 * math.pi)
    low = 0.0
    for n in range(TERMS):
        low += 2.0 * whole_power(nome, n * (n + 1))
    alpha_rate -= kappa * slope1
    beta_rate -= kappa * slope2
    orbit[Orbit.ALPHA_RATE] = alpha_rate
    orbit[Orbit.BETA_RATE] = beta_rate
    u, v = hyperbolic_phases(orbit, kappa, alpha, beta, alpha_slope, beta_slope)
    put(orbit, Orbit.ALPHA, scaled(math.sqrt(points[Points.HIGH]) * high / th1, u))
    put(orbit, Orbit.BETA, scaled(math.sqrt(points[Points.W1]) * low / th2, v))
    longest = 2.0 * math.sqrt(g * a * most) * low / th3
    put(orbit, Orbit.ETA, scaled(-opposite * longest, conjugate_times(u, v)))


def shifts(points, k2, quarter_prime):
    """a1 and a2, each from the tangent that is below 1."""
    w12, w13, low = points[Points.W12], points[Points.W13], points[Points.LOW]
    w2, w3 = points[Points.W2], points[Points.W3]
    a1 = first_kind(low / w12, k2) if low <= w12 else quarter_prime - first_kind(w13 / low, k2)
    a2 = 0.0  # if both roots vanish: the separatrix of the upright top
    if w3 > 0.0 and w2 <= w3 * math.sqrt(k2):
        a2 = first_kind(w2 / (w3 * k2), k2)
    elif w2 > 0.0:
        a2 = quarter_prime - first_kind(w3 / w2, k2)
    return a1, a2


def theta_four(nome, s):
    """th4(s) and -th4'(s)/th4(s), for a real argument."""
    value = 1.0
    slope = 0.0
    for n in range(1, TERMS):
        term = 2.0 * alternating(n) * whole_power(nome, n * n)
        value += term * math.cos(2 * n * s)
        slope += 2 * n * term * math.sin(2 * n * s)
    return value, slope / value


def fill_hyperbolic_terms(nome, s1, s2, orbit):
    """Denominator and numerators, n = -4 .. 3 of each."""
    for n in range(-TERMS, TERMS):
        at = TERMS + n
        square_n = whole_power(nome, n * n)
        short = whole_power(nome, n * (n + 1)) if n < 0 else square_n  # of r^n or z^-n in th4 and th1
        other = whole_power(nome, n * (n - 1)) if n >= 0 else square_n  # in th2 and th3, with e^-|X| before the sum
        orbit[Orbit.DENOMINATOR + at] = short
        put(orbit, Orbit.FIRST + 2 * at, scaled(alternating(n) * short, turn((2 * n + 1) * s1)))
        put(orbit, Orbit.SECOND + 2 * at, scaled(alternating(n) * other, turn(2 * n * s2)))
        put(orbit, Orbit.THIRD + 2 * at, scaled(other, turn(2 * n * (s2 - s1))))


def hyperbolic_phases(orbit, kappa, alpha, beta, alpha_slope, beta_slope):
    """Directions of the constants of alpha and beta."""
    x = orbit[Orbit.START]
    z = powers(math.exp(-2.0 * abs(x)))
    r = powers(orbit[Orbit.NOME] / z[0])
    wr, wz = slope_weights(r, z)
    denominator = sum_real(orbit, Orbit.DENOMINATOR, r, z)
    ratio = (sum_real(orbit, Orbit.DENOMINATOR, wr, wz) - orbit[Orbit.DENOMINATOR + TERMS]) / denominator
    n1 = sum_complex(orbit, Orbit.FIRST, r, z)
    n2 = sum_complex(orbit, Orbit.SECOND, r, z)
    constant1 = orbit[Orbit.FIRST + 2 * TERMS], orbit[Orbit.FIRST + 2 * TERMS + 1]
    constant2 = orbit[Orbit.SECOND + 2 * TERMS], orbit[Orbit.SECOND + 2 * TERMS + 1]
    d1 = difference(difference(sum_complex(orbit, Orbit.FIRST, wr, wz), constant1), scaled(ratio, n1))
    d2 = difference(difference(sum_complex(orbit, Orbit.SECOND, wr, wz), constant2), scaled(1.0 + ratio, n2))
    if x < 0.0:  # N1(-X) = -conj(N1(X)), N2(-X) = conj(N2(X))
        n1 = -n1[0], n1[1]
        d1 = d1[0], -d1[1]
        n2 = n2[0], -n2[1]
        d2 = -d2[0], d2[1]
    size1 = hyperbolic_size(orbit, Orbit.FIRST, r, z)
    size2 = hyperbolic_size(orbit, Orbit.SECOND, r, z)
    return (
        phase(alpha, alpha_slope, orbit[Orbit.ALPHA_RATE], n1, scaled(kappa, d1), size1),
        phase(beta, beta_slope, orbit[Orbit.BETA_RATE], n2, scaled(kappa, d2), size2),
    )


# At a time ----------------------------------------------------------------------------------------------------------------


def evaluate(orbit, t):
    """q0, q1, q2, q3, y1, y2, y3 at the time t after the start."""
    kind = orbit[Orbit.KIND]
    if kind == TRIGONOMETRIC:
        alpha, beta, eta = trigonometric_motion(orbit, t)
    elif kind == HYPERBOLIC:
        alpha, beta, eta = hyperbolic_motion(orbit, t)
    elif kind == FREE:
        alpha, beta, eta = free_motion(orbit, t)
    else:
        alpha = times((orbit[Orbit.ALPHA], orbit[Orbit.ALPHA + 1]), turn(orbit[Orbit.ALPHA_RATE] * t))
        beta = times((orbit[Orbit.BETA], orbit[Orbit.BETA + 1]), turn(orbit[Orbit.BETA_RATE] * t))
        eta = (0.0, 0.0)
    q = (alpha[0], beta[0], beta[1], alpha[1])
    y = (eta[0], eta[1], orbit[Orbit.SPIN])
    if orbit[Orbit.TURNED_OVER] != 0.0:
        q = (beta[0], -alpha[0], -alpha[1], beta[1])
        y = (eta[0], -eta[1], -orbit[Orbit.SPIN])
    return to_body_axes(orbit[Orbit.AXIS], q, y)


def to_body_axes(axis, q, y):
    """The inverse of `to_own_axes`."""
    if axis == 2.0:
        return q[0], q[1], q[2], q[3], y[0], y[1], y[2]
    a, b, c, d = q
    s = 1.0 if axis == 0.0 else -1.0
    r0 = 0.5 * (a + s * (b + c + d))
    r1 = 0.5 * (b + s * (d - c - a))
    r2 = 0.5 * (c + s * (b - d - a))
    r3 = 0.5 * (d + s * (c - b - a))
    if axis == 0.0:
        return r0, r1, r2, r3, y[2], y[0], y[1]
    return r0, r1, r2, r3, y[1], y[2], y[0]


def trigonometric_motion(orbit, t):
    """alpha, beta, eta for k^2 <= 1/2."""
    c, s = multiples(2.0 * (orbit[Orbit.START] + orbit[Orbit.RATE] * t))
    scale = 1.0 / sum_even(orbit, Orbit.DENOMINATOR, c)
    n1 = sum_even(orbit, Orbit.FIRST, c), sum_odd(orbit, Orbit.FIRST, s)
    n2 = sum_even(orbit, Orbit.SECOND, c), sum_odd(orbit, Orbit.SECOND, s)
    n3 = sum_even(orbit, Orbit.THIRD, c), sum_odd(orbit, Orbit.THIRD, s)
    return quotients(orbit, orbit[Orbit.ALPHA_RATE] * t, orbit[Orbit.BETA_RATE] * t, scale, n1, n2, n3)


def hyperbolic_motion(orbit, t):
    """alpha, beta, eta for k^2 > 1/2: X within half a period of 0, and whole half periods as turns of the phases."""
    x, turns = within_half_a_period(orbit[Orbit.START], orbit[Orbit.RATE] * t, orbit[Orbit.HALF_PERIOD])
    y = math.exp(-abs(x))
    z = powers(y * y)
    r = powers(orbit[Orbit.NOME] / z[0] if orbit[Orbit.NOME] > 0.0 else 0.0)
    scale = 1.0 / sum_real(orbit, Orbit.DENOMINATOR, r, z)
    n1 = sum_complex(orbit, Orbit.FIRST, r, z)
    n2 = scaled(y, sum_complex(orbit, Orbit.SECOND, r, z))
    n3 = scaled(y, sum_complex(orbit, Orbit.THIRD, r, z))
    if x < 0.0:
        n1 = -n1[0], n1[1]
        n2 = n2[0], -n2[1]
        n3 = n3[0], -n3[1]
    phase1 = orbit[Orbit.ALPHA_RATE] * t + turns * orbit[Orbit.ALPHA_STEP]
    phase2 = orbit[Orbit.BETA_RATE] * t + turns * orbit[Orbit.BETA_STEP]
    return quotients(orbit, phase1, phase2, scale, n1, n2, n3)


def quotients(orbit, phase1, phase2, scale, n1, n2, n3):
    """alpha, beta, eta from the phases, 1/denominator and the numerators."""
    turn1 = turn(phase1)
    turn2 = turn(phase2)
    alpha = times(times((orbit[Orbit.ALPHA], orbit[Orbit.ALPHA + 1]), turn1), n1)
    beta = times(times((orbit[Orbit.BETA], orbit[Orbit.BETA + 1]), turn2), n2)
    eta = times(times((orbit[Orbit.ETA], orbit[Orbit.ETA + 1]), conjugate_times(turn1, turn2)), n3)
    return scaled(scale, alpha), scaled(scale, beta), scaled(scale, eta)


def free_motion(orbit, t):
    """alpha, beta, eta without gravity: q * exp(t y/A) * exp(t (w3 - c/A) e3)."""
    half = 0.5 * orbit[Orbit.RATE] * t
    cosine, sine = turn(half)
    axial = cosine, sine * orbit[Orbit.POLE + 2]
    across = sine * orbit[Orbit.POLE], sine * orbit[Orbit.POLE + 1]
    a = orbit[Orbit.ALPHA], orbit[Orbit.ALPHA + 1]
    b = orbit[Orbit.BETA], orbit[Orbit.BETA + 1]
    spin = turn(orbit[Orbit.ALPHA_RATE] * t)
    alpha = times(difference(times(a, axial), conjugate_times(across, b)), spin)
    turned = times(a, across)
    kept = conjugate_times(axial, b)
    beta = conjugate_times(spin, (turned[0] + kept[0], turned[1] + kept[1]))
    eta = conjugate_times(times(spin, spin), (orbit[Orbit.ETA], orbit[Orbit.ETA + 1]))
    return alpha, beta, eta
