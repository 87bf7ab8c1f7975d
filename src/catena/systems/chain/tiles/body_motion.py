"""Motion of a body by a thread of its own: kick, free motion and bath, as `kernels` and `bath` have them for lanes.

The operations are those of the lanes, in the same order, so the bits are the same. They are duplicated because a CPU
needs all numbers of a tile in one array for vector instructions (with the constants of a body in a second array, steps
in a bath took twice as long), while a GPU needs the constants apart, or they would occupy registers. w: the numbers of
the body (`body_text`); its constants are c[at], c[at + m], ...
"""

from ....geometry.quaternion import HOLD, to_body
from ....kernels.marks import within
from ....kernels.noise import MOMENTA, normals
from ....kernels.views import multiply_add, rotate, rotate_lane
from ..bath import BathRows
from .body_text import STRIDE
from .kernels import INVERSE_MASS, LOAD, LOW_P, LOW_Q, LOW_R, LOW_Y, MOVES, TURNS, F, P, Q, R, S, T, Y, gain


@within
def kick_one(w, c, at, m, push):
    """p += push f, y += push tau."""
    a = push * c[at + MOVES * m]
    load = at + LOAD * m
    gain(w, P * STRIDE, LOW_P * STRIDE, a * (w[F * STRIDE] - w[F * STRIDE - 1] + c[load]))
    gain(w, (P + 1) * STRIDE, (LOW_P + 1) * STRIDE, a * (w[(F + 1) * STRIDE] - w[(F + 1) * STRIDE - 1] + c[load + m]))
    gain(
        w, (P + 2) * STRIDE, (LOW_P + 2) * STRIDE, a * (w[(F + 2) * STRIDE] - w[(F + 2) * STRIDE - 1] + c[load + 2 * m])
    )
    a = push * c[at + TURNS * m]
    q = w[Q * STRIDE], w[(Q + 1) * STRIDE], w[(Q + 2) * STRIDE], w[(Q + 3) * STRIDE]
    t1, t2, t3 = to_body(
        q,
        a * (w[S * STRIDE] - w[T * STRIDE - 1]),
        a * (w[(S + 1) * STRIDE] - w[(T + 1) * STRIDE - 1]),
        a * (w[(S + 2) * STRIDE] - w[(T + 2) * STRIDE - 1]),
    )
    gain(w, Y * STRIDE, LOW_Y * STRIDE, t1)
    gain(w, (Y + 1) * STRIDE, (LOW_Y + 1) * STRIDE, t2)
    gain(w, (Y + 2) * STRIDE, (LOW_Y + 2) * STRIDE, t3)


@within
def is_fast_one(w, reach, glide):
    """Whether the body turns too far for `rotate_lane`; reach: index of its first constant there."""
    y1 = w[Y * STRIDE]
    y2 = w[(Y + 1) * STRIDE]
    y3 = w[(Y + 2) * STRIDE]
    return reach * (glide * glide) * (y1 * y1 + y2 * y2 + y3 * y3) >= 1.0


@within
def shift_one(w, c, at, m, glide):
    """r += glide p/m."""
    a = glide * c[at + INVERSE_MASS * m]
    gain(w, R * STRIDE, LOW_R * STRIDE, a * w[P * STRIDE])
    gain(w, (R + 1) * STRIDE, (LOW_R + 1) * STRIDE, a * w[(P + 1) * STRIDE])
    gain(w, (R + 2) * STRIDE, (LOW_R + 2) * STRIDE, a * w[(P + 2) * STRIDE])


@within
def turn_one(w, turns, spins, at, m, glide):
    """Free rotation: q += q (rho - 1), length corrected by `hold_length`. The rotor's constants are at spins[at], m
    apart."""
    q0 = w[Q * STRIDE]
    q1 = w[(Q + 1) * STRIDE]
    q2 = w[(Q + 2) * STRIDE]
    q3 = w[(Q + 3) * STRIDE]
    a, b, c, d, y1, y2, y3 = rotate_lane(w[Y * STRIDE], w[(Y + 1) * STRIDE], w[(Y + 2) * STRIDE], glide, spins, at, m)
    square = multiply_add(q3, q3, multiply_add(q2, q2, multiply_add(q1, q1, q0 * q0)))
    a += HOLD * turns * (1.0 - square)
    low = LOW_Q * STRIDE
    gain(w, Q * STRIDE, low, multiply_add(-q3, d, multiply_add(-q2, c, multiply_add(-q1, b, q0 * a))))
    gain(w, (Q + 1) * STRIDE, low + STRIDE, multiply_add(-q3, c, multiply_add(q2, d, multiply_add(q1, a, q0 * b))))
    gain(w, (Q + 2) * STRIDE, low + 2 * STRIDE, multiply_add(-q1, d, multiply_add(q3, b, multiply_add(q2, a, q0 * c))))
    gain(w, (Q + 3) * STRIDE, low + 3 * STRIDE, multiply_add(-q2, b, multiply_add(q1, c, multiply_add(q3, a, q0 * d))))
    gain(w, Y * STRIDE, LOW_Y * STRIDE, y1)
    gain(w, (Y + 1) * STRIDE, (LOW_Y + 1) * STRIDE, y2)
    gain(w, (Y + 2) * STRIDE, (LOW_Y + 2) * STRIDE, y3)


def turn_one_alone(w, j, glide, par):
    """Free rotation of body j by the rotor for single bodies. Without loops, so that w can stay in registers."""
    alone = par.alone
    alone[0] = w[Q * STRIDE]
    alone[1] = w[(Q + 1) * STRIDE]
    alone[2] = w[(Q + 2) * STRIDE]
    alone[3] = w[(Q + 3) * STRIDE]
    alone[4] = w[LOW_Q * STRIDE]
    alone[5] = w[(LOW_Q + 1) * STRIDE]
    alone[6] = w[(LOW_Q + 2) * STRIDE]
    alone[7] = w[(LOW_Q + 3) * STRIDE]
    alone[8] = w[Y * STRIDE]
    alone[9] = w[(Y + 1) * STRIDE]
    alone[10] = w[(Y + 2) * STRIDE]
    alone[11] = w[LOW_Y * STRIDE]
    alone[12] = w[(LOW_Y + 1) * STRIDE]
    alone[13] = w[(LOW_Y + 2) * STRIDE]
    status = rotate(alone[8:11], alone[0:4], alone[11:14], alone[4:8], par.inertia[j], glide, par.rotor[j])
    w[Q * STRIDE] = alone[0]
    w[(Q + 1) * STRIDE] = alone[1]
    w[(Q + 2) * STRIDE] = alone[2]
    w[(Q + 3) * STRIDE] = alone[3]
    w[LOW_Q * STRIDE] = alone[4]
    w[(LOW_Q + 1) * STRIDE] = alone[5]
    w[(LOW_Q + 2) * STRIDE] = alone[6]
    w[(LOW_Q + 3) * STRIDE] = alone[7]
    w[Y * STRIDE] = alone[8]
    w[(Y + 1) * STRIDE] = alone[9]
    w[(Y + 2) * STRIDE] = alone[10]
    w[LOW_Y * STRIDE] = alone[11]
    w[(LOW_Y + 1) * STRIDE] = alone[12]
    w[(LOW_Y + 2) * STRIDE] = alone[13]
    return status


@within
def stir_one(w, high, low, loss, stir, x):
    """w[high] += loss w[high] + stir x."""
    gain(w, high, low, loss * w[high] + stir * x)


@within
def first_pair_of(w, c, at, m, seed0, seed1, member, step, j):
    """Friction and noise on p1 and p2 of body j."""
    a, b = normals(seed0, seed1, member, step, j, MOMENTA)
    loss = c[at + BathRows.LOSS * m]
    stir = c[at + BathRows.STIR * m]
    stir_one(w, P * STRIDE, LOW_P * STRIDE, loss, stir, a)
    stir_one(w, (P + 1) * STRIDE, (LOW_P + 1) * STRIDE, loss, stir, b)


@within
def second_pair_of(w, c, at, m, seed0, seed1, member, step, j):
    """The same on p3 and y1."""
    a, b = normals(seed0, seed1, member, step, j, MOMENTA + 1)
    stir_one(w, (P + 2) * STRIDE, (LOW_P + 2) * STRIDE, c[at + BathRows.LOSS * m], c[at + BathRows.STIR * m], a)
    stir_one(w, Y * STRIDE, LOW_Y * STRIDE, c[at + (BathRows.LOSS + 1) * m], c[at + (BathRows.STIR + 1) * m], b)


@within
def third_pair_of(w, c, at, m, seed0, seed1, member, step, j):
    """The same on y2 and y3."""
    a, b = normals(seed0, seed1, member, step, j, MOMENTA + 2)
    loss = at + BathRows.LOSS * m
    stir = at + BathRows.STIR * m
    stir_one(w, (Y + 1) * STRIDE, (LOW_Y + 1) * STRIDE, c[loss + 2 * m], c[stir + 2 * m], a)
    stir_one(w, (Y + 2) * STRIDE, (LOW_Y + 2) * STRIDE, c[loss + 3 * m], c[stir + 3 * m], b)


@within
def squares_of(w, c, at, m):
    """The squares of the six momenta over their variances, and the sum of their fourth powers."""
    p1 = w[P * STRIDE]
    p2 = w[(P + 1) * STRIDE]
    p3 = w[(P + 2) * STRIDE]
    y1 = w[Y * STRIDE]
    y2 = w[(Y + 1) * STRIDE]
    y3 = w[(Y + 2) * STRIDE]
    at += BathRows.PRECISION * m
    p1 = c[at] * (p1 * p1)
    p2 = c[at] * (p2 * p2)
    p3 = c[at] * (p3 * p3)
    y1 = c[at + m] * (y1 * y1)
    y2 = c[at + 2 * m] * (y2 * y2)
    y3 = c[at + 3 * m] * (y3 * y3)
    return p1, p2, p3, y1, y2, y3, p1 * p1 + p2 * p2 + p3 * p3 + y1 * y1 + y2 * y2 + y3 * y3
