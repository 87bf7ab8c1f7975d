"""The equations of a chain with a multiplier for |q| = 1 and a fourth moment of inertia J0; z = r | q | p | g.

    qdot = (q.g)/(4 J0) q + G(q)^T w,                                       w = J^-1 G(q) g/4
    gdot = G(g)^T w - (q.g)/(4 J0) g - V_q - 2 lambda q,                    lambda = -q.V_q/2

with V at the matrix M(q), 2 (q0^2 + q_i^2) - 1 in its diagonal, which is a rotation only for |q| = 1. Off the unit
sphere this is not a Hamiltonian system: d|q|^2/dt = |q|^2 (q.g)/(2 J0) and d(q.g)/dt = -(1 - |q|^2) q.V_q, which grows
exponentially where q.V_q > 0. On the sphere the motion is that of `motion`, for every J0.
"""

from ...geometry.quaternion import carry, load4
from ...geometry.vectors import ZERO, add, add3, load3, negative, scaled, store3, subtract
from .forces import after, link_count, particle, place_particles, potential_of, push
from .motion import (
    add_kinetic_energy,
    add_momenta,
    add_residual,
    begin_measure,
    body_momentum,
    canonical_velocity,
    half_spin,
    space_momentum,
    tangency,
    unit_residual,
)


def rotation_not_normalised(z, n, j):
    """M(q) with 2 (q0^2 + q_i^2) - 1 in its diagonal, row by row."""
    a, b, c, d = load4(z, 3 * n + 4 * j)
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
        store3(par.f[j], 0, load3(par.load[j], 0))
        for a in range(3):
            store3(par.matrix[j, a], 0, ZERO)
    for j in range(link_count(n)):
        other = after(j, par)
        gap = subtract(load3(z, 3 * j), load3(z, 3 * other))
        for k in range(par.count[j]):
            x = add(particle(par.x, j, k, par), gap)
            w = ZERO
            for l in range(par.count[other]):
                y = particle(par.x, other, l, par)
                p = push(x[0], x[1], x[2], y[0], y[1], y[2], potential_of(j, k, l, par), par)
                w = add(w, p)
                add_force(other, l, negative(p), par)
            add_force(j, k, w, par)


def add_force(j, k, w, par):
    """Add a force on particle k of body j."""
    b = particle(par.particles, j, k, par)
    add3(par.f[j], 0, w)
    for i in range(3):
        add3(par.matrix[j, i], 0, scaled(w[i], b))


def quaternion_force(q, m):
    """-V_q = sum_ab W_ab dM_ab/dq."""
    a, b, c, d = q
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
        store3(out, 7 * n + 3 * j, scaled(par.moves[j], load3(par.f[j], 0)))
        q = load4(z, 3 * n + 4 * j)
        at = 10 * n + 4 * j
        g = load4(z, at)
        f = quaternion_force(q, par.matrix[j])
        c = q[0] * f[0] + q[1] * f[1] + q[2] * f[2] + q[3] * f[3]
        s = 0.25 * par.inverse_augmented[0] * tangency(z, n, j)
        turning = carry(g, half_spin(z, n, j, 1.0, par))
        for i in range(4):
            out[at + i] = par.turns[j] * (turning[i] - s * g[i] + f[i] - c * q[i])


def multiplier_field(z, par, out):
    """Both halves."""
    multiplier_velocity(z, par, out)
    multiplier_rate(z, par, out)


def measure_multiplier(z, par, out, scale):
    """The same quantities as for the canonical equations, with the fourth moment in the energy."""
    n = par.mass.shape[0]
    begin_measure(z, par, out, scale)
    for j in range(n):
        along = tangency(z, n, j)
        length = add_kinetic_energy(z, j, body_momentum(z, n, j), par, out, scale)
        out[0] += 0.125 * par.inverse_augmented[0] * along * along
        add_residual(1, unit_residual(z, n, j), 1.0, out, scale)
        add_residual(2, along, 2.0 * length, out, scale)
        add_momenta(z, j, 3, space_momentum(z, n, j), length, par, out, scale)
