"""The turning points of the axis of Lagrange's top: roots of its cubic, with all their differences to full precision.

With w = (1 - cos theta)/2, e = |eta|^2/(4 g A) - w(0), pz the vertical momentum, c the axial one and p-, p+ = pz - c,
pz + c,

    A/g w'^2 = w^3 + B w^2 + Q w + D,   B = e + c^2/(4 g A) - 1,  Q = p- c/(4 g A) - e,  D = p-^2/(16 g A)

and w3 <= 0 <= w2 <= w(t) <= w1 <= 1. Near a vertical axis and near the separatrix two roots, or a root and its bound,
agree in almost all digits, and all results depend on their difference. So everything here is computed in pairs of
floats from the given start, and no difference is formed from two rounded roots. Plain functions that the engine
collects.
"""

from ..kernels import elementary as math
from ..kernels.marks import Record
from .double_double import (
    pair_difference,
    pair_product,
    pair_quotient,
    pair_root,
    pair_scaled,
    pair_sum,
    two_product,
    two_sum,
)


class Points(Record):
    """Result of `turning_points`."""

    W12 = 1  # w1 - w2
    W23 = 1
    W13 = 1
    W1 = 1
    W2 = 1
    W3 = 1  # -w3
    LOW = 1  # 1 - w1
    HIGH = 1  # 1 - w2
    BELOW = 1  # w1 - w at the start
    ABOVE = 1  # w - w2
    BEYOND = 1  # w - w3


ONE = (1.0, 0.0)
NONE = (0.0, 0.0)
NEWTON_STEPS = 3  # from float64 to pairs takes one; two more if a cancelling formula gave the root


def constants(moment, strength, q, y):
    """Constants of the motion in pairs, for g > 0, from q (four pairs, any length) and y; axis 3 is that of symmetry.

    |alpha|^2, |beta|^2, p+, p-, |eta|^2/(4 g A), 4 g A and n1 y2 - n2 y1 (half of |q|^2 A du/dt; its sign is used).
    """
    q0, q1, q2, q3 = q
    upper = pair_sum(pair_product(q0, q0), pair_product(q3, q3))
    lower = pair_sum(pair_product(q1, q1), pair_product(q2, q2))
    length = pair_sum(upper, lower)
    a0 = pair_quotient(upper, length)
    b0 = pair_quotient(lower, length)
    n1 = pair_difference(pair_product(q1, q3), pair_product(q0, q2))
    n2 = pair_sum(pair_product(q2, q3), pair_product(q0, q1))
    y1 = (y[0], 0.0)
    y2 = (y[1], 0.0)
    along = pair_quotient(pair_scaled(2.0, pair_sum(pair_product(n1, y1), pair_product(n2, y2))), length)
    rising = pair_difference(pair_product(n1, y2), pair_product(n2, y1))
    twice = (2.0 * y[2], 0.0)
    plus = pair_sum(along, pair_product(a0, twice))
    minus = pair_difference(along, pair_product(b0, twice))
    scale = pair_scaled(4.0, two_product(strength, moment))
    kinetic = pair_quotient(pair_sum(two_product(y[0], y[0]), two_product(y[1], y[1])), scale)
    return a0, b0, plus, minus, kinetic, scale, rising[0]


def isolate_root(b, q, d):
    """The outer root that is farther from the middle one, in pairs, and whether it is the largest."""
    p3 = min(q[0] - b[0] * b[0] / 3.0, 0.0)
    q3 = 2.0 * b[0] * b[0] * b[0] / 27.0 - b[0] * q[0] / 3.0 + d[0]
    radius = 2.0 * math.sqrt(-p3 / 3.0)
    cosine = 0.0
    if p3 * radius != 0.0:
        cosine = max(-1.0, min(1.0, 3.0 * q3 / (p3 * radius)))
    angle = math.acos(cosine) / 3.0
    is_largest = cosine > 0.0
    if is_largest:
        guess = radius * math.cos(angle) - b[0] / 3.0
    else:
        guess = -radius * math.cos(math.pi / 3.0 - angle) - b[0] / 3.0
    w = (guess, 0.0)
    for _ in range(NEWTON_STEPS):
        value = pair_sum(pair_product(pair_sum(pair_product(pair_sum(w, b), w), q), w), d)
        slope = (3.0 * w[0] + 2.0 * b[0]) * w[0] + q[0]
        if slope == 0.0:
            break
        w = pair_sum(w, (-value[0] / slope, 0.0))
    return w, is_largest


def two_roots(total, product):
    """Smaller root, larger root and their difference, for a quadratic with this sum and product of roots."""
    square = pair_difference(pair_product(total, total), pair_scaled(4.0, product))
    difference = pair_root(square)
    if total[0] >= 0.0:
        larger = pair_scaled(0.5, pair_sum(total, difference))
        smaller = pair_quotient(product, larger) if larger[0] > 0.0 else NONE
    else:
        smaller = pair_scaled(0.5, pair_difference(total, difference))
        larger = pair_quotient(product, smaller)
    return smaller, larger, difference


def share(product, coefficient, root):
    """Sum and product of the other two roots from their product with this one, and the sum of all products of two."""
    rest = pair_quotient(product, root)
    return pair_quotient(pair_difference(coefficient, rest), root), rest


def round_pair(pair):
    """A non-negative quantity as a float."""
    return max(0.0, pair[0])


def turning_points(known, spin):
    """Roots and their differences, each rounded once, as `Points`; `known`: the result of `constants`, `spin`: c."""
    _, b0, _, minus, kinetic, scale, _ = known
    spin_square = pair_quotient(two_product(spin, spin), scale)
    energy = pair_difference(kinetic, b0)
    b = pair_difference(pair_sum(energy, spin_square), ONE)
    coupled = pair_quotient(pair_product(minus, (spin, 0.0)), scale)
    q = pair_difference(coupled, energy)
    d = pair_scaled(0.25, pair_quotient(pair_product(minus, minus), scale))
    root, is_largest = isolate_root(b, q, d)
    if is_largest and root[0] > 0.0:
        w1 = root
        total, product = share(pair_scaled(-1.0, d), q, w1)
        w3, w2, w23 = two_roots(total, product)
        return gaps(pair_difference(w1, w2), w23, w1, w2, w3, b0)
    w3 = root
    total = pair_scaled(-1.0, pair_sum(b, w3))
    if total[0] <= 0.0:  # the axis is vertical, and stays so
        return gaps(NONE, NONE, NONE, NONE, NONE, NONE)
    if total[0] > 1.0:
        return near_the_bottom(w3, known, spin)
    if -w3[0] >= total[0]:
        total, product = share(pair_scaled(-1.0, d), q, w3)
    else:
        product = pair_difference(q, pair_product(w3, total))
    w2, w1, w12 = two_roots(total, product)
    return gaps(w12, pair_difference(w2, w3), w1, w2, w3, b0)


def gaps(w12, w23, w1, w2, w3, b0):
    """The result of `turning_points`, from roots in pairs."""
    return (
        round_pair(w12), round_pair(w23), round_pair(pair_difference(w1, w3)),
        round_pair(w1), round_pair(w2), round_pair(pair_scaled(-1.0, w3)),
        round_pair(pair_difference(ONE, w1)), round_pair(pair_difference(ONE, w2)),
        round_pair(pair_difference(w1, b0)), round_pair(pair_difference(b0, w2)), round_pair(pair_difference(b0, w3)),
    )  # fmt: skip


def near_the_bottom(w3, known, spin):
    """The same if w1 and w2 are near 1: from the cubic in a = 1 - w, whose last coefficients are also small (p+^2)."""
    a0, b0, plus, _, kinetic, scale, _ = known
    a3 = pair_difference(ONE, w3)
    last = pair_scaled(0.25, pair_quotient(pair_product(plus, plus), scale))
    coupled = pair_quotient(pair_product(plus, (spin, 0.0)), scale)
    total, product = share(last, pair_sum(pair_sum(kinetic, a0), coupled), a3)
    a1, a2, a12 = two_roots(total, product)
    w1 = pair_difference(ONE, a1)
    w2 = pair_difference(ONE, a2)
    return (
        round_pair(a12), round_pair(pair_difference(w2, w3)), round_pair(pair_difference(w1, w3)),
        round_pair(w1), round_pair(w2), round_pair(pair_scaled(-1.0, w3)), round_pair(a1), round_pair(a2),
        round_pair(pair_difference(a0, a1)), round_pair(pair_difference(a2, a0)), round_pair(pair_difference(b0, w3)),
    )  # fmt: skip


def exact_four(a, b, c, d):
    """a + b + c + d in a pair."""
    return pair_sum(two_sum(a, b), two_sum(c, d))
