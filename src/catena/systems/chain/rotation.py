"""The equations of a chain with rotation matrices: z = r (3n) | R (9n) | p (3n) | y (3n).

RATTLE for (R, P), P = R [omega]x D, has multipliers for R^T R = 1 and its derivative. With y the angular momentum in the body they
can be eliminated: kick y by the torque, rotate by the Moser-Veselov map R1 = R0 O, kick again. This is the same map to
round-off, also for flat bodies, whose D has no inverse [leimkuhler2004, moser1991]. O is a quaternion from the rotor,
so any rotor may be used.
"""

import math

from ...geometry.vectors import column, dot, load3, load9, times, transposed_times
from ...kernels.summation import add3
from ...kernels.views import rotate
from .motion import add_kinetic_energy, add_momenta, add_residual, begin_measure, publish_momenta, publish_orientation


def rotation_of_matrix(z, n, j):
    """The nine elements as they are."""
    return load9(z, 3 * n + 9 * j)


def turn_rotation(z, e, n, j, h, par):
    """`turn_freely` for rotation matrices."""
    y = 15 * n + 3 * j
    turn = par.turn[0]
    rest = par.turn[1]
    for i in range(4):
        turn[i] = 0.0
        rest[i] = 0.0
    turn[0] = 1.0
    status = rotate(z[y : y + 3], turn, e[y : y + 3], rest, par.inertia[j], h, par.rotor[j])
    if status == 0:
        turn_matrix(z, e, 3 * n + 9 * j, turn, rest)
    return status


def turn_matrix(z, e, k, turn, rest):
    """R += R (O - 1), row by row from place k; O - 1 = 2 (a [v]x + [v]x^2) loses no digits for a small rotation."""
    a = turn[0] + rest[0]
    b = turn[1] + rest[1]
    c = turn[2] + rest[2]
    d = turn[3] + rest[3]
    o = (
        -2.0 * (c * c + d * d), 2.0 * (b * c - a * d), 2.0 * (b * d + a * c),
        2.0 * (b * c + a * d), -2.0 * (b * b + d * d), 2.0 * (c * d - a * b),
        2.0 * (b * d - a * c), 2.0 * (c * d + a * b), -2.0 * (b * b + c * c),
    )  # fmt: skip
    for i in range(3):
        add3(z, e, k + 3 * i, transposed_times(o, load3(z, k + 3 * i)))


def quaternion_of(r):
    """A unit quaternion of a rotation matrix, by its largest component; the sign is arbitrary."""
    r11, r12, r13, r21, r22, r23, r31, r32, r33 = r
    trace = r11 + r22 + r33
    if trace >= r11 and trace >= r22 and trace >= r33:
        a = 1.0 + trace
        b = r32 - r23
        c = r13 - r31
        d = r21 - r12
    elif r11 >= r22 and r11 >= r33:
        a = r32 - r23
        b = 1.0 + r11 - r22 - r33
        c = r12 + r21
        d = r13 + r31
    elif r22 >= r33:
        a = r13 - r31
        b = r12 + r21
        c = 1.0 + r22 - r11 - r33
        d = r23 + r32
    else:
        a = r21 - r12
        b = r13 + r31
        c = r23 + r32
        d = 1.0 + r33 - r11 - r22
    length = math.sqrt(a * a + b * b + c * c + d * d)
    return a / length, b / length, c / length, d / length


def publish_matrices(z, par, row):
    """The public fields, in the axes in which the bodies were given."""
    n = par.mass.shape[0]
    for j in range(n):
        publish_orientation(quaternion_of(rotation_of_matrix(z, n, j)), par.frame[j], row, 3 * n + 4 * j)
        publish_momenta(z, j, load3(z, 15 * n + 3 * j), par, row)


def measure_matrices(z, par, out, scale):
    """Energy, the worst element of R^T R - 1, momentum, angular momentum."""
    n = par.mass.shape[0]
    begin_measure(z, par, out, scale)
    for j in range(n):
        y = load3(z, 15 * n + 3 * j)
        r = rotation_of_matrix(z, n, j)
        length = add_kinetic_energy(z, j, y, par, out, scale)
        for i in range(3):
            own = column(r, i)
            add_residual(1, dot(own, own) - 1.0, 1.0, out, scale)
        for i in range(3):
            add_residual(1, dot(column(r, i), column(r, (i + 1) % 3)), 1.0, out, scale)
        add_momenta(z, j, 2, times(r, y), length, par, out, scale)
