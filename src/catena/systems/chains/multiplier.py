"""The equations of a chain with a multiplier for |q| = 1 and a fourth moment of inertia J0; z = r | q | p | g.

    qdot = (q.g)/(4 J0) q + G(q)^T w,                                       w = J^-1 G(q) g/4
    gdot = G(g)^T w - (q.g)/(4 J0) g - V_q - 2 lambda q,                    lambda = -q.V_q/2

with V at the matrix M(q), 2 (q0^2 + q_i^2) - 1 in its diagonal, which is a rotation only for |q| = 1. Off the unit sphere this is no Hamiltonian
system: d|q|^2/dt = |q|^2 (q.g)/(2 J0) and d(q.g)/dt = -(1 - |q|^2) q.V_q, which grows exponentially where q.V_q > 0. On it the motion is
that of `chain_motion`, for every J0.
"""

from .forces import particle, place_particles, potential_of, push
from .motion import (
    add_kinetic_energy,
    add_momenta,
    add_residual,
    body_momentum,
    canonical_velocity,
    clear,
    potential_energy,
    space_momentum,
    tangency,
    unit_residual,
)


def rotation_not_normalised(z, n, j):
    """M(q) with 2 (q0^2 + q1^2) - 1 in its diagonal, row by row."""
    k = 3 * n + 4 * j
    a = z[k]
    b = z[k + 1]
    c = z[k + 2]
    d = z[k + 3]
    return (
        2.0 * (a * a + b * b) - 1.0, 2.0 * (b * c - a * d), 2.0 * (b * d + a * c),
        2.0 * (b * c + a * d), 2.0 * (a * a + c * c) - 1.0, 2.0 * (c * d - a * b),
        2.0 * (b * d - a * c), 2.0 * (c * d + a * b), 2.0 * (a * a + d * d) - 1.0,
    )  # fmt: skip


def multiplier_velocity(z, par, out):
    """rdot = p/m, qdot = (q.g)/(4 J0) q + G(q)^T w."""
    n = par.mass.shape[0]
    canonical_velocity(z, par, out)
    for j in range(n):
        c = 0.25 * par.turns[j] * par.inverse_augmented[0] * tangency(z, n, j)
        for i in range(4):
            out[3 * n + 4 * j + i] += c * z[3 * n + 4 * j + i]


def find_force_matrices(z, par):
    """par.f, and W = sum w X^T of each body into par.matrix; w are the forces on its particles."""
    n = par.mass.shape[0]
    place_particles(z, par)
    for j in range(n):
        for a in range(3):
            par.f[j, a] = par.load[j, a]
            for b in range(3):
                par.matrix[j, a, b] = 0.0
    for j in range(n - 1):
        for k in range(par.count[j]):
            x0, x1, x2 = particle(par.x, j, k, par)
            x0 += z[3 * j] - z[3 * j + 3]
            x1 += z[3 * j + 1] - z[3 * j + 4]
            x2 += z[3 * j + 2] - z[3 * j + 5]
            w0 = 0.0
            w1 = 0.0
            w2 = 0.0
            for l in range(par.count[j + 1]):
                y0, y1, y2 = particle(par.x, j + 1, l, par)
                p0, p1, p2 = push(x0, x1, x2, y0, y1, y2, potential_of(j, k, l, par), par)
                w0 += p0
                w1 += p1
                w2 += p2
                add_force(j + 1, l, -p0, -p1, -p2, par)
            add_force(j, k, w0, w1, w2, par)


def add_force(j, k, w0, w1, w2, par):
    """Of a force on particle k of body j."""
    b = particle(par.particles, j, k, par)
    w = (w0, w1, w2)
    for i in range(3):
        par.f[j, i] += w[i]
        for m in range(3):
            par.matrix[j, i, m] += w[i] * b[m]


def quaternion_force(a, b, c, d, m):
    """-V_q = sum_ab W_ab dM_ab/dq."""
    return (
        4.0 * a * (m[0, 0] + m[1, 1] + m[2, 2])
        + 2.0 * (d * (m[1, 0] - m[0, 1]) + c * (m[0, 2] - m[2, 0]) + b * (m[2, 1] - m[1, 2])),
        4.0 * b * m[0, 0] + 2.0 * (c * (m[0, 1] + m[1, 0]) + d * (m[0, 2] + m[2, 0]) + a * (m[2, 1] - m[1, 2])),
        4.0 * c * m[1, 1] + 2.0 * (b * (m[0, 1] + m[1, 0]) + d * (m[1, 2] + m[2, 1]) + a * (m[0, 2] - m[2, 0])),
        4.0 * d * m[2, 2] + 2.0 * (b * (m[0, 2] + m[2, 0]) + c * (m[1, 2] + m[2, 1]) + a * (m[1, 0] - m[0, 1])),
    )


def multiplier_rate(z, par, out):
    """pdot = f, gdot = G(g)^T w - (q.g)/(4 J0) g - V_q + (q.V_q) q."""
    n = par.mass.shape[0]
    find_force_matrices(z, par)
    for j in range(n):
        for i in range(3):
            out[7 * n + 3 * j + i] = par.moves[j] * par.f[j, i]
        y1, y2, y3 = body_momentum(z, n, j)
        w1 = 0.5 * par.inverse[j, 0] * y1
        w2 = 0.5 * par.inverse[j, 1] * y2
        w3 = 0.5 * par.inverse[j, 2] * y3
        k = 3 * n + 4 * j
        q0 = z[k]
        q1 = z[k + 1]
        q2 = z[k + 2]
        q3 = z[k + 3]
        f0, f1, f2, f3 = quaternion_force(q0, q1, q2, q3, par.matrix[j])
        c = q0 * f0 + q1 * f1 + q2 * f2 + q3 * f3
        s = 0.25 * par.inverse_augmented[0] * tangency(z, n, j)
        k = 10 * n + 4 * j
        g0 = z[k]
        g1 = z[k + 1]
        g2 = z[k + 2]
        g3 = z[k + 3]
        turns = par.turns[j]
        out[k] = turns * (-g1 * w1 - g2 * w2 - g3 * w3 - s * g0 + f0 - c * q0)
        out[k + 1] = turns * (g0 * w1 - g3 * w2 + g2 * w3 - s * g1 + f1 - c * q1)
        out[k + 2] = turns * (g3 * w1 + g0 * w2 - g1 * w3 - s * g2 + f2 - c * q2)
        out[k + 3] = turns * (-g2 * w1 + g1 * w2 + g0 * w3 - s * g3 + f3 - c * q3)


def multiplier_field(z, par, out):
    """Both halves."""
    multiplier_velocity(z, par, out)
    multiplier_rate(z, par, out)


def measure_multiplier(z, par, out, scale):
    """The same quantities as of the canonical equations, with the fourth moment in the energy."""
    n = par.mass.shape[0]
    clear(out)
    out[0] = potential_energy(z, n, par, scale)
    for j in range(n):
        y1, y2, y3 = body_momentum(z, n, j)
        along = tangency(z, n, j)
        length = add_kinetic_energy(z, 7 * n, j, y1, y2, y3, par, out, scale)
        out[0] += 0.125 * par.inverse_augmented[0] * along * along
        add_residual(1, unit_residual(z, n, j), 1.0, out, scale)
        add_residual(2, along, 2.0 * length, out, scale)
        add_momenta(z, 7 * n, j, 3, space_momentum(z, n, j), length, out, scale)
