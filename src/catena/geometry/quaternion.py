"""Unit quaternions in the compiled loop: q = (q0, q1, q2, q3), scalar first, x = R(q) X.

Plain functions that the engine collects; arrays are modified in place. A stepped quaternion is q + e, where e holds the
part that q cannot represent: it is rotated by increments, q += q * (rho - 1), whose rounding errors go into e. So a
small rotation loses no digits, and the direction stays accurate in long runs [hairer2006, section VIII.5].
"""

from ..kernels import elementary as math
from ..kernels.marks import within
from ..kernels.summation import add

HOLD = 2.0**-11


@within
def load4(row, at):
    """The quaternion in a row, starting at `at`."""
    return row[at], row[at + 1], row[at + 2], row[at + 3]


@within
def store4(row, at, q):
    """Store a quaternion in a row."""
    row[at] = q[0]
    row[at + 1] = q[1]
    row[at + 2] = q[2]
    row[at + 3] = q[3]


def with_vector(scalar, v):
    """The quaternion of a scalar and a vector."""
    return scalar, v[0], v[1], v[2]


def conjugate(q):
    """q with the opposite vector part."""
    return q[0], -q[1], -q[2], -q[3]


def square(q):
    """q . q."""
    return q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]


def product(p, q):
    """p * q."""
    return (
        p[0] * q[0] - p[1] * q[1] - p[2] * q[2] - p[3] * q[3],
        p[0] * q[1] + p[1] * q[0] + p[2] * q[3] - p[3] * q[2],
        p[0] * q[2] + p[2] * q[0] + p[3] * q[1] - p[1] * q[3],
        p[0] * q[3] + p[3] * q[0] + p[1] * q[2] - p[2] * q[1],
    )


@within
def half_product(q, g):
    """G(q) g/2: the vector part of q^-1 * g, halved."""
    q0, q1, q2, q3 = q
    g0, g1, g2, g3 = g
    return (
        0.5 * (-q1 * g0 + q0 * g1 + q3 * g2 - q2 * g3),
        0.5 * (-q2 * g0 - q3 * g1 + q0 * g2 + q1 * g3),
        0.5 * (-q3 * g0 + q2 * g1 - q1 * g2 + q0 * g3),
    )


def carry(q, w):
    """G(q)^T w."""
    return (
        -q[1] * w[0] - q[2] * w[1] - q[3] * w[2],
        q[0] * w[0] - q[3] * w[1] + q[2] * w[2],
        q[3] * w[0] + q[0] * w[1] - q[1] * w[2],
        -q[2] * w[0] + q[1] * w[1] + q[0] * w[2],
    )


def carry_from(start, q, w):
    """start + G(q)^T w, summed from the left."""
    return (
        start[0] - q[1] * w[0] - q[2] * w[1] - q[3] * w[2],
        start[1] + q[0] * w[0] - q[3] * w[1] + q[2] * w[2],
        start[2] + q[3] * w[0] + q[0] * w[1] - q[1] * w[2],
        start[3] - q[2] * w[0] + q[1] * w[1] + q[0] * w[2],
    )


def rate(q, w):
    """q * (0, w)/2: rate of q if the body rotates with w in its axes."""
    return (
        -0.5 * (q[1] * w[0] + q[2] * w[1] + q[3] * w[2]),
        0.5 * (q[0] * w[0] + q[2] * w[2] - q[3] * w[1]),
        0.5 * (q[0] * w[1] + q[3] * w[0] - q[1] * w[2]),
        0.5 * (q[0] * w[2] + q[1] * w[1] - q[2] * w[0]),
    )


def multiply_right(q, a, b, c, d):
    """q := q * (a, b, c, d)."""
    store4(q, 0, product(load4(q, 0), (a, b, c, d)))


def turn_right(q, e, a, b, c, d):
    """q := q * rho for rho = (1 + a, b, c, d), as a compensated increment."""
    gain = product(load4(q, 0), (a, b, c, d))
    add(q, e, 0, gain[0])
    add(q, e, 1, gain[1])
    add(q, e, 2, gain[2])
    add(q, e, 3, gain[3])


def cosine_less_one(c, s):
    """c - 1 for c = cos(x), s = sin(x), without the cancellation of small x."""
    if c > 0.0:
        return -s * s / (1.0 + c)
    return c - 1.0


def exponential(a, b, c):
    """rho - 1 as four numbers, for the rotation rho by the vector (a, b, c): angle |(a, b, c)| about its direction."""
    angle = math.sqrt(a * a + b * b + c * c)
    cosine = math.cos(0.5 * angle)
    sine = math.sin(0.5 * angle)
    k = 0.5
    if angle > 0.0:
        k = sine / angle
    return cosine_less_one(cosine, sine), k * a, k * b, k * c


def cayley(a, b, c):
    """rho - 1 as four numbers, for rho = (1, a, b, c)/sqrt(1 + |(a, b, c)|^2): (a, b, c) is tan(angle/2) times the axis."""
    square = a * a + b * b + c * c
    length = math.sqrt(1.0 + square)
    return -square / (length * (1.0 + length)), a / length, b / length, c / length


def renew(q, e):
    """q := q (3 - q.q)/2, one Newton step towards |q| = 1, for the stepped quaternion q + e.

    Written as a compensated increment: multiplying q would round each component, a random walk of its direction.
    The same factor on e would change it by less than the rounding of that increment.
    """
    k = 0.5 * (1.0 - (q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]))
    for i in range(4):
        add(q, e, i, k * q[i])


def hold_length(q, e):
    """A small part of that step, applied at every rotation: enough to keep the length, too little to add noise.

    The defect 1 - q.q of a unit quaternion is mostly rounding error. Removing all of it in each step would feed that
    error into q, and R(q) y would drift: after 1e7 rotations of 24 bodies by 8.0e-14 at worst, with this part by
    5.7e-15.
    """
    k = HOLD * (1.0 - (q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]))
    for i in range(4):
        add(q, e, i, k * q[i])


def rotation(q):
    """The nine elements of R(q), row by row, for |q| = 1."""
    a = q[0]
    b = q[1]
    c = q[2]
    d = q[3]
    return (
        1.0 - 2.0 * (c * c + d * d), 2.0 * (b * c - a * d), 2.0 * (b * d + a * c),
        2.0 * (b * c + a * d), 1.0 - 2.0 * (b * b + d * d), 2.0 * (c * d - a * b),
        2.0 * (b * d - a * c), 2.0 * (c * d + a * b), 1.0 - 2.0 * (b * b + c * c),
    )  # fmt: skip


def normalised_rotation(q):
    """The nine elements of R(q/|q|), row by row, for any q but zero."""
    a = q[0]
    b = q[1]
    c = q[2]
    d = q[3]
    k = 2.0 / (a * a + b * b + c * c + d * d)
    return (
        1.0 - k * (c * c + d * d), k * (b * c - a * d), k * (b * d + a * c),
        k * (b * c + a * d), 1.0 - k * (b * b + d * d), k * (c * d - a * b),
        k * (b * d - a * c), k * (c * d + a * b), 1.0 - k * (b * b + c * c),
    )  # fmt: skip


def turn(a, b, c, d, x, y, z):
    """X + a t + v x t with t = 2 v x X, for X = (x, y, z) and the unit quaternion of a and v = (b, c, d)."""
    t1 = 2.0 * (c * z - d * y)
    t2 = 2.0 * (d * x - b * z)
    t3 = 2.0 * (b * y - c * x)
    return x + a * t1 + (c * t3 - d * t2), y + a * t2 + (d * t1 - b * t3), z + a * t3 + (b * t2 - c * t1)


def to_space(q, x, y, z):
    """R(q) (x, y, z), body to space, for |q| = 1."""
    return turn(q[0], q[1], q[2], q[3], x, y, z)


def to_body(q, x, y, z):
    """R(q)^T (x, y, z), space to body, for |q| = 1."""
    return turn(-q[0], q[1], q[2], q[3], x, y, z)


def turn_about_axis(y, q, ey, eq, k, angle):
    """Rotate a body about its own axis k (0, 1, 2): q := q * (cos(angle/2), e_k sin(angle/2)), y by -angle about e_k.

    R(q) y is unchanged: this is the flow of y_k^2/(2 I) over h for angle = h y_k/I. Compensated increments.
    """
    i = (k + 1) % 3
    j = (k + 2) % 3
    c = math.cos(0.5 * angle)
    s = math.sin(0.5 * angle)
    y1 = y[i]
    y2 = y[j]
    a = -2.0 * s * s  # cos(angle) - 1
    b = 2.0 * s * c  # sin(angle)
    add(y, ey, i, a * y1 + b * y2)
    add(y, ey, j, a * y2 - b * y1)
    q0 = q[0]
    q1 = q[1 + i]
    q2 = q[1 + j]
    q3 = q[1 + k]
    a = cosine_less_one(c, s)
    add(q, eq, 0, a * q0 - s * q3)
    add(q, eq, 1 + i, a * q1 + s * q2)
    add(q, eq, 1 + j, a * q2 - s * q1)
    add(q, eq, 1 + k, a * q3 + s * q0)
