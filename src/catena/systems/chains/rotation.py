"""The equations of a chain with rotation matrices: z = r (3n) | R (9n) | p (3n) | y (3n).

RATTLE for (R, P), P = R [omega]x D, has multipliers for R^T R = 1 and its derivative. With y the angular momentum in the body they
can be eliminated: kick y by the torque, turn by the Moser-Veselov map R1 = R0 O, kick again; the same map to round-off, also for flat
bodies, whose D has no inverse [leimkuhler2004, moser1991]. O comes as a quaternion from the rotor, so any rotor may serve.
"""

from ...geometry.quaternion import to_space
from ...summation import add
from ...views import rotate
from .forces import find_forces
from .motion import add_kinetic_energy, add_momenta, add_residual, clear, potential_energy, publish_orientation


def rotation_of_matrix(z, n, j):
    """The nine elements as they are."""
    k = 3 * n + 9 * j
    return z[k], z[k + 1], z[k + 2], z[k + 3], z[k + 4], z[k + 5], z[k + 6], z[k + 7], z[k + 8]


def matrix_force(z, par, out):
    """Forces and torques, into the places of the momenta."""
    n = par.mass.shape[0]
    find_forces(z, par)
    for j in range(n):
        for i in range(3):
            out[12 * n + 3 * j + i] = par.moves[j] * par.f[j, i]
            out[15 * n + 3 * j + i] = par.turns[j] * par.tau[j, i]


def matrix_kick(z, e, h, par, out):
    """p += h f, y += h tau."""
    n = par.mass.shape[0]
    for k in range(12 * n, 18 * n):
        add(z, e, k, h * out[k])
    return 0


def matrix_drift(z, e, h, par, work):
    """r += h p/m and free rotation over h."""
    n = par.mass.shape[0]
    for j in range(n):
        if par.moves[j] != 0.0:
            c = h / par.mass[j]
            for i in range(3):
                add(z, e, 3 * j + i, c * z[12 * n + 3 * j + i])
        if par.turns[j] != 0.0:
            y = 15 * n + 3 * j
            turn = par.turn[0]
            rest = par.turn[1]
            for i in range(4):
                turn[i] = 0.0
                rest[i] = 0.0
            turn[0] = 1.0
            status = rotate(z[y : y + 3], turn, e[y : y + 3], rest, par.inertia[j], h, par.rotor[j])
            if status != 0:
                return status
            turn_matrix(z, e, 3 * n + 9 * j, turn, rest)
    return 0


def turn_matrix(z, e, k, turn, rest):
    """R += R (O - 1), row by row from place k; O - 1 = 2 (a [v]x + [v]x^2) costs a small turn no digits."""
    a = turn[0] + rest[0]
    b = turn[1] + rest[1]
    c = turn[2] + rest[2]
    d = turn[3] + rest[3]
    o11 = -2.0 * (c * c + d * d)
    o12 = 2.0 * (b * c - a * d)
    o13 = 2.0 * (b * d + a * c)
    o21 = 2.0 * (b * c + a * d)
    o22 = -2.0 * (b * b + d * d)
    o23 = 2.0 * (c * d - a * b)
    o31 = 2.0 * (b * d - a * c)
    o32 = 2.0 * (c * d + a * b)
    o33 = -2.0 * (b * b + c * c)
    for i in range(3):
        x = z[k + 3 * i]
        y = z[k + 3 * i + 1]
        w = z[k + 3 * i + 2]
        add(z, e, k + 3 * i, x * o11 + y * o21 + w * o31)
        add(z, e, k + 3 * i + 1, x * o12 + y * o22 + w * o32)
        add(z, e, k + 3 * i + 2, x * o13 + y * o23 + w * o33)


def quaternion_of(r11, r12, r13, r21, r22, r23, r31, r32, r33):
    """A unit quaternion of a rotation matrix, by its largest component; which of the two is arbitrary."""
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
    length = (a * a + b * b + c * c + d * d) ** 0.5
    return a / length, b / length, c / length, d / length


def publish_matrices(z, par, row):
    """The public fields, in the axes in which the bodies were given."""
    n = par.mass.shape[0]
    for k in range(3 * n):
        row[k] = z[k]
        row[7 * n + k] = z[12 * n + k]
    for j in range(n):
        r11, r12, r13, r21, r22, r23, r31, r32, r33 = rotation_of_matrix(z, n, j)
        q0, q1, q2, q3 = quaternion_of(r11, r12, r13, r21, r22, r23, r31, r32, r33)
        publish_orientation(q0, q1, q2, q3, par.frame[j], row, 3 * n + 4 * j)
        k = 10 * n + 3 * j
        y = 15 * n + 3 * j
        row[k], row[k + 1], row[k + 2] = to_space(par.frame[j], z[y], z[y + 1], z[y + 2])


def measure_matrices(z, par, out, scale):
    """Energy, the worst element of R^T R - 1, momentum, angular momentum."""
    n = par.mass.shape[0]
    clear(out)
    out[0] = potential_energy(z, n, par, scale)
    for j in range(n):
        k = 15 * n + 3 * j
        y1 = z[k]
        y2 = z[k + 1]
        y3 = z[k + 2]
        r11, r12, r13, r21, r22, r23, r31, r32, r33 = rotation_of_matrix(z, n, j)
        space = (r11 * y1 + r12 * y2 + r13 * y3, r21 * y1 + r22 * y2 + r23 * y3, r31 * y1 + r32 * y2 + r33 * y3)
        length = add_kinetic_energy(z, 12 * n, j, y1, y2, y3, par, out, scale)
        add_residual(1, r11 * r11 + r21 * r21 + r31 * r31 - 1.0, 1.0, out, scale)
        add_residual(1, r12 * r12 + r22 * r22 + r32 * r32 - 1.0, 1.0, out, scale)
        add_residual(1, r13 * r13 + r23 * r23 + r33 * r33 - 1.0, 1.0, out, scale)
        add_residual(1, r11 * r12 + r21 * r22 + r31 * r32, 1.0, out, scale)
        add_residual(1, r12 * r13 + r22 * r23 + r32 * r33, 1.0, out, scale)
        add_residual(1, r13 * r11 + r23 * r21 + r33 * r31, 1.0, out, scale)
        add_momenta(z, 12 * n, j, 2, space, length, out, scale)
