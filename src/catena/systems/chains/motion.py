"""The equations of a chain, in two sets of variables.

Splittings: z = r (3n) | q (4n) | p (3n) | y (3n), y the angular momentum in the body. Canonical: z = r | q | p | g (4n) with
y = G(q) g/2; the unconstrained canonical equations of H = T + V, V taken at the normalised rotations, keep |q|^2 and q.g for all
initial data. par.moves and par.turns are 0 for held bodies; inverse moments are 0 where a body cannot turn.
"""

from ...geometry.quaternion import to_space
from ...summation import add
from ...views import rotate
from .forces import find_forces, link_energies

# Splitting ---------------------------------------------------------------------------------------------------------


def chain_force(z, par, out):
    """Forces and torques, into the places of the momenta."""
    n = par.mass.shape[0]
    find_forces(z, par)
    for j in range(n):
        for i in range(3):
            out[7 * n + 3 * j + i] = par.moves[j] * par.f[j, i]
            out[10 * n + 3 * j + i] = par.turns[j] * par.tau[j, i]


def chain_kick(z, e, h, par, out):
    """p += h f, y += h tau."""
    n = par.mass.shape[0]
    for k in range(7 * n, 13 * n):
        add(z, e, k, h * out[k])
    return 0


def chain_drift(z, e, h, par, work):
    """r += h p/m and free rotation over h."""
    n = par.mass.shape[0]
    for j in range(n):
        if par.moves[j] != 0.0:
            c = h / par.mass[j]
            for i in range(3):
                add(z, e, 3 * j + i, c * z[7 * n + 3 * j + i])
        if par.turns[j] != 0.0:
            q = 3 * n + 4 * j
            y = 10 * n + 3 * j
            status = rotate(
                z[y : y + 3], z[q : q + 4], e[y : y + 3], e[q : q + 4], par.inertia[j], h, par.rotor[j]
            )  # fmt: skip
            if status != 0:
                return status
    return 0


# Canonical ---------------------------------------------------------------------------------------------------------


def body_momentum(z, n, j):
    """y = G(q) g/2 of body j."""
    k = 3 * n + 4 * j
    q0 = z[k]
    q1 = z[k + 1]
    q2 = z[k + 2]
    q3 = z[k + 3]
    k = 10 * n + 4 * j
    g0 = z[k]
    g1 = z[k + 1]
    g2 = z[k + 2]
    g3 = z[k + 3]
    return (
        0.5 * (-q1 * g0 + q0 * g1 + q3 * g2 - q2 * g3),
        0.5 * (-q2 * g0 - q3 * g1 + q0 * g2 + q1 * g3),
        0.5 * (-q3 * g0 + q2 * g1 - q1 * g2 + q0 * g3),
    )


def space_momentum(z, n, j):
    """E(q) g/2 of body j: R y, as the bilinear form that is kept, also where |q| is not 1."""
    k = 3 * n + 4 * j
    q0 = z[k]
    q1 = z[k + 1]
    q2 = z[k + 2]
    q3 = z[k + 3]
    k = 10 * n + 4 * j
    g0 = z[k]
    g1 = z[k + 1]
    g2 = z[k + 2]
    g3 = z[k + 3]
    return (
        0.5 * (-q1 * g0 + q0 * g1 - q3 * g2 + q2 * g3),
        0.5 * (-q2 * g0 + q3 * g1 + q0 * g2 - q1 * g3),
        0.5 * (-q3 * g0 - q2 * g1 + q1 * g2 + q0 * g3),
    )


def canonical_velocity(z, par, out):
    """rdot = p/m, qdot = G(q)^T w, w = J^-1 y/2."""
    n = par.mass.shape[0]
    for j in range(n):
        for i in range(3):
            out[3 * j + i] = par.moves[j] * z[7 * n + 3 * j + i] / par.mass[j]
        y1, y2, y3 = body_momentum(z, n, j)
        w1 = 0.5 * par.turns[j] * par.inverse[j, 0] * y1
        w2 = 0.5 * par.turns[j] * par.inverse[j, 1] * y2
        w3 = 0.5 * par.turns[j] * par.inverse[j, 2] * y3
        k = 3 * n + 4 * j
        q0 = z[k]
        q1 = z[k + 1]
        q2 = z[k + 2]
        q3 = z[k + 3]
        out[k] = -q1 * w1 - q2 * w2 - q3 * w3
        out[k + 1] = q0 * w1 - q3 * w2 + q2 * w3
        out[k + 2] = q3 * w1 + q0 * w2 - q1 * w3
        out[k + 3] = -q2 * w1 + q1 * w2 + q0 * w3


def canonical_rate(z, par, out):
    """pdot = f, gdot = G(g)^T w + 2 G(q)^T tau/|q|^2."""
    n = par.mass.shape[0]
    find_forces(z, par)
    for j in range(n):
        for i in range(3):
            out[7 * n + 3 * j + i] = par.moves[j] * par.f[j, i]
        y1, y2, y3 = body_momentum(z, n, j)
        w1 = 0.5 * par.turns[j] * par.inverse[j, 0] * y1
        w2 = 0.5 * par.turns[j] * par.inverse[j, 1] * y2
        w3 = 0.5 * par.turns[j] * par.inverse[j, 2] * y3
        k = 3 * n + 4 * j
        q0 = z[k]
        q1 = z[k + 1]
        q2 = z[k + 2]
        q3 = z[k + 3]
        c = 2.0 * par.turns[j] / (q0 * q0 + q1 * q1 + q2 * q2 + q3 * q3)
        t1 = c * par.tau[j, 0]
        t2 = c * par.tau[j, 1]
        t3 = c * par.tau[j, 2]
        k = 10 * n + 4 * j
        g0 = z[k]
        g1 = z[k + 1]
        g2 = z[k + 2]
        g3 = z[k + 3]
        out[k] = -g1 * w1 - g2 * w2 - g3 * w3 - q1 * t1 - q2 * t2 - q3 * t3
        out[k + 1] = g0 * w1 - g3 * w2 + g2 * w3 + q0 * t1 - q3 * t2 + q2 * t3
        out[k + 2] = g3 * w1 + g0 * w2 - g1 * w3 + q3 * t1 + q0 * t2 - q1 * t3
        out[k + 3] = -g2 * w1 + g1 * w2 + g0 * w3 - q2 * t1 + q1 * t2 + q0 * t3


def canonical_field(z, par, out):
    """The canonical equations."""
    canonical_velocity(z, par, out)
    canonical_rate(z, par, out)


def canonical_field_end(b, par):
    """r, q, p, g."""
    n = par.mass.shape[0]
    return 3 * n if b == 0 else (7 * n if b == 1 else (10 * n if b == 2 else 14 * n))


# What is recorded --------------------------------------------------------------------------------------------------


def publish_orientation(q0, q1, q2, q3, frame, row, k):
    """q * frame^-1 into row from place k: the orientation of the axes in which a body was given."""
    a = frame[0]
    b = -frame[1]
    c = -frame[2]
    d = -frame[3]
    row[k] = q0 * a - q1 * b - q2 * c - q3 * d
    row[k + 1] = q0 * b + q1 * a + q2 * d - q3 * c
    row[k + 2] = q0 * c + q2 * a + q3 * b - q1 * d
    row[k + 3] = q0 * d + q3 * a + q1 * c - q2 * b


def publish_bodies(z, n, par, row):
    """Position, orientation and momentum of all bodies."""
    for k in range(3 * n):
        row[k] = z[k]
        row[7 * n + k] = z[7 * n + k]
    for j in range(n):
        k = 3 * n + 4 * j
        publish_orientation(z[k], z[k + 1], z[k + 2], z[k + 3], par.frame[j], row, k)


def publish_split(z, par, row):
    """The public fields of (r, q, p, y)."""
    n = par.mass.shape[0]
    publish_bodies(z, n, par, row)
    for j in range(n):
        k = 10 * n + 3 * j
        row[k], row[k + 1], row[k + 2] = to_space(par.frame[j], z[k], z[k + 1], z[k + 2])


def publish_canonical(z, par, row):
    """The public fields of (r, q, p, g)."""
    n = par.mass.shape[0]
    publish_bodies(z, n, par, row)
    for j in range(n):
        k = 10 * n + 3 * j
        y1, y2, y3 = body_momentum(z, n, j)
        row[k], row[k + 1], row[k + 2] = to_space(par.frame[j], y1, y2, y3)


def measure_split(z, par, out, scale):
    """The invariants of (r, q, p, y): energy, |q|^2 - 1 and q.g of the worst body, momentum, angular momentum."""
    n = par.mass.shape[0]
    clear(out)
    out[0] = potential_energy(z, n, par, scale)
    for j in range(n):
        k = 10 * n + 3 * j
        length = add_kinetic_energy(z, 7 * n, j, z[k], z[k + 1], z[k + 2], par, out, scale)
        add_residual(1, unit_residual(z, n, j), 1.0, out, scale)
        add_residual(2, 0.0, 2.0 * length, out, scale)
        space = to_space(z[3 * n + 4 * j : 3 * n + 4 * j + 4], z[k], z[k + 1], z[k + 2])
        add_momenta(z, 7 * n, j, 3, space, length, out, scale)


def measure_canonical(z, par, out, scale):
    """The invariants of (r, q, p, g)."""
    n = par.mass.shape[0]
    clear(out)
    out[0] = potential_energy(z, n, par, scale)
    for j in range(n):
        y1, y2, y3 = body_momentum(z, n, j)
        length = add_kinetic_energy(z, 7 * n, j, y1, y2, y3, par, out, scale)
        add_residual(1, unit_residual(z, n, j), 1.0, out, scale)
        add_residual(2, tangency(z, n, j), 2.0 * length, out, scale)
        add_momenta(z, 7 * n, j, 3, space_momentum(z, n, j), length, out, scale)


def clear(out):
    """Zero everywhere."""
    for i in range(out.shape[0]):
        out[i] = 0.0


def potential_energy(z, n, par, scale):
    """Energy of the links and of the load."""
    total, largest = link_energies(z, par)
    scale[0] = max(scale[0], largest)
    for j in range(n):
        for i in range(3):
            total -= par.load[j, i] * z[3 * j + i]
            scale[0] = max(scale[0], abs(par.load[j, i] * z[3 * j + i]))
    return total


def unit_residual(z, n, j):
    """|q|^2 - 1 of body j."""
    k = 3 * n + 4 * j
    return z[k] * z[k] + z[k + 1] * z[k + 1] + z[k + 2] * z[k + 2] + z[k + 3] * z[k + 3] - 1.0


def tangency(z, n, j):
    """q.g of body j."""
    total = 0.0
    for i in range(4):
        total += z[3 * n + 4 * j + i] * z[10 * n + 4 * j + i]
    return total


def add_kinetic_energy(z, p, j, y1, y2, y3, par, out, scale):
    """Of body j, whose momentum stands with the others in z from place p on; returns |y|."""
    k = p + 3 * j
    kinetic = 0.5 * (z[k] * z[k] + z[k + 1] * z[k + 1] + z[k + 2] * z[k + 2]) / par.mass[j]
    kinetic += 0.5 * (par.inverse[j, 0] * y1 * y1 + par.inverse[j, 1] * y2 * y2 + par.inverse[j, 2] * y3 * y3)
    out[0] += kinetic
    scale[0] = max(scale[0], kinetic)
    return (y1 * y1 + y2 * y2 + y3 * y3) ** 0.5


def add_residual(i, value, size, out, scale):
    """Invariant i is a residual: that of the worst body counts."""
    if abs(value) > abs(out[i]):
        out[i] = value
    scale[i] = max(scale[i], size)


def add_momenta(z, p, j, first, space, length, out, scale):
    """Momentum and angular momentum of body j (`space`: that of its own rotation), where they are invariants."""
    if out.shape[0] <= first:
        return
    r = 3 * j
    k = p + 3 * j
    s1, s2, s3 = space
    for i in range(3):
        out[first + i] += z[k + i]
        scale[first + i] = max(scale[first + i], abs(z[k + i]))
    out[first + 3] += z[r + 1] * z[k + 2] - z[r + 2] * z[k + 1] + s1
    out[first + 4] += z[r + 2] * z[k] - z[r] * z[k + 2] + s2
    out[first + 5] += z[r] * z[k + 1] - z[r + 1] * z[k] + s3
    far = max(abs(z[r]), abs(z[r + 1]), abs(z[r + 2])) * max(abs(z[k]), abs(z[k + 1]), abs(z[k + 2]))
    for i in range(3):
        scale[first + 3 + i] = max(scale[first + 3 + i], far, length)
