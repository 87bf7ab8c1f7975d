"""The equations of a chain, in two sets of variables.

Splittings: z = r (3n) | q (4n) | p (3n) | y (3n), y the angular momentum in the body. Canonical: z = r | q | p | g (4n) with
y = G(q) g/2; the unconstrained canonical equations of H = T + V, with V at the normalised rotations, conserve |q|^2 and
q.g for all initial data. par.moves and par.turns are 0 for held bodies; inverse moments are 0 where a body cannot turn.
"""

import math

from ...geometry.quaternion import (
    carry,
    carry_from,
    conjugate,
    half_product,
    load4,
    product,
    square,
    store4,
    to_space,
)
from ...geometry.vectors import cross, diagonal_times, dot, largest, load3, scaled, store3
from ...kernels.marks import choice, slot, within
from ...kernels.summation import add, add3
from ...kernels.views import rotate
from .forces import find_forces, link_energies


@choice
def orientation_width():
    """Length of an orientation in the variables: 4 for a quaternion, 9 for a rotation matrix."""
    return 4


@slot
def turn_freely(z, e, n, j, h, par):
    """Free rotation of body j over h; a status."""


def momentum_place(n, j):
    """Index of the momentum of body j in z = r | orientations | p | y; its angular momentum is 3 n further on."""
    return (3 + orientation_width()) * n + 3 * j


# Splitting ---------------------------------------------------------------------------------------------------------


def chain_force(z, par, out):
    """Forces and torques, in the places of the momenta."""
    n = par.mass.shape[0]
    find_forces(z, par)
    for j in range(n):
        p = momentum_place(n, j)
        store3(out, p, scaled(par.moves[j], load3(par.f[j], 0)))
        store3(out, p + 3 * n, scaled(par.turns[j], load3(par.tau[j], 0)))


def chain_kick(z, e, h, par, out):
    """p += h f, y += h tau."""
    n = par.mass.shape[0]
    for k in range(momentum_place(n, 0), momentum_place(n, 2 * n)):
        add(z, e, k, h * out[k])
    return 0


def chain_drift(z, e, h, par, work):
    """r += h p/m and free rotation over h."""
    n = par.mass.shape[0]
    for j in range(n):
        if par.moves[j] != 0.0:
            add3(z, e, 3 * j, scaled(h / par.mass[j], load3(z, momentum_place(n, j))))
        if par.turns[j] != 0.0:
            status = turn_freely(z, e, n, j, h, par)
            if status != 0:
                return status
    return 0


def turn_quaternion(z, e, n, j, h, par):
    """`turn_freely` for quaternions."""
    q = 3 * n + 4 * j
    y = 10 * n + 3 * j
    return rotate(z[y : y + 3], z[q : q + 4], e[y : y + 3], e[q : q + 4], par.inertia[j], h, par.rotor[j])


# Canonical ---------------------------------------------------------------------------------------------------------


def body_momentum(z, n, j):
    """y = G(q) g/2 of body j."""
    return half_product(load4(z, 3 * n + 4 * j), load4(z, 10 * n + 4 * j))


def space_momentum(z, n, j):
    """E(q) g/2 of body j: R y, as the bilinear form that is conserved, even if |q| is not 1."""
    q0, q1, q2, q3 = load4(z, 3 * n + 4 * j)
    g0, g1, g2, g3 = load4(z, 10 * n + 4 * j)
    return (
        0.5 * (-q1 * g0 + q0 * g1 - q3 * g2 + q2 * g3),
        0.5 * (-q2 * g0 + q3 * g1 + q0 * g2 - q1 * g3),
        0.5 * (-q3 * g0 - q2 * g1 + q1 * g2 + q0 * g3),
    )


def half_spin(z, n, j, share, par):
    """w = share J^-1 y/2 of body j."""
    y = body_momentum(z, n, j)
    half = 0.5 * share
    return half * par.inverse[j, 0] * y[0], half * par.inverse[j, 1] * y[1], half * par.inverse[j, 2] * y[2]


@within
def canonical_velocity(z, par, out):
    """rdot = p/m, qdot = G(q)^T w, w = J^-1 y/2."""
    n = par.mass.shape[0]
    for j in range(n):
        for i in range(3):
            out[3 * j + i] = par.moves[j] * z[7 * n + 3 * j + i] / par.mass[j]
        q = 3 * n + 4 * j
        store4(out, q, carry(load4(z, q), half_spin(z, n, j, par.turns[j], par)))


@within
def canonical_rate(z, par, out):
    """pdot = f, gdot = G(g)^T w + 2 G(q)^T tau/|q|^2."""
    n = par.mass.shape[0]
    find_forces(z, par)
    for j in range(n):
        store3(out, 7 * n + 3 * j, scaled(par.moves[j], load3(par.f[j], 0)))
        q = load4(z, 3 * n + 4 * j)
        g = 10 * n + 4 * j
        torque = scaled(2.0 * par.turns[j] / square(q), load3(par.tau[j], 0))
        store4(out, g, carry_from(carry(load4(z, g), half_spin(z, n, j, par.turns[j], par)), q, torque))


def canonical_field(z, par, out):
    """The canonical equations."""
    canonical_velocity(z, par, out)
    canonical_rate(z, par, out)


def canonical_field_end(b, par):
    """r, q, p, g."""
    n = par.mass.shape[0]
    return 3 * n if b == 0 else (7 * n if b == 1 else (10 * n if b == 2 else 14 * n))


# What is recorded --------------------------------------------------------------------------------------------------


def publish_orientation(q, frame, row, k):
    """Write q * frame^-1 to row from place k: the orientation of the axes in which a body was given."""
    store4(row, k, product(q, conjugate(frame)))


def publish_momenta(z, j, y, par, row):
    """Write position and momentum of body j, and its angular momentum y in the axes in which it was given."""
    n = par.mass.shape[0]
    store3(row, 3 * j, load3(z, 3 * j))
    store3(row, 7 * n + 3 * j, load3(z, momentum_place(n, j)))
    store3(row, 10 * n + 3 * j, to_space(par.frame[j], y[0], y[1], y[2]))


def publish_split(z, par, row):
    """The public fields of (r, q, p, y)."""
    n = par.mass.shape[0]
    for j in range(n):
        publish_orientation(load4(z, 3 * n + 4 * j), par.frame[j], row, 3 * n + 4 * j)
        publish_momenta(z, j, load3(z, 10 * n + 3 * j), par, row)


def publish_canonical(z, par, row):
    """The public fields of (r, q, p, g)."""
    n = par.mass.shape[0]
    for j in range(n):
        publish_orientation(load4(z, 3 * n + 4 * j), par.frame[j], row, 3 * n + 4 * j)
        publish_momenta(z, j, body_momentum(z, n, j), par, row)


def measure_split(z, par, out, scale):
    """The invariants of (r, q, p, y): energy, |q|^2 - 1 and q.g of the worst body, momentum, angular momentum."""
    n = par.mass.shape[0]
    begin_measure(z, par, out, scale)
    for j in range(n):
        y = load3(z, 10 * n + 3 * j)
        length = add_kinetic_energy(z, j, y, par, out, scale)
        add_residual(1, unit_residual(z, n, j), 1.0, out, scale)
        add_residual(2, 0.0, 2.0 * length, out, scale)
        space = to_space(z[3 * n + 4 * j : 3 * n + 4 * j + 4], y[0], y[1], y[2])
        add_momenta(z, j, 3, space, length, par, out, scale)


def measure_canonical(z, par, out, scale):
    """The invariants of (r, q, p, g)."""
    n = par.mass.shape[0]
    begin_measure(z, par, out, scale)
    for j in range(n):
        length = add_kinetic_energy(z, j, body_momentum(z, n, j), par, out, scale)
        add_residual(1, unit_residual(z, n, j), 1.0, out, scale)
        add_residual(2, tangency(z, n, j), 2.0 * length, out, scale)
        add_momenta(z, j, 3, space_momentum(z, n, j), length, par, out, scale)


def begin_measure(z, par, out, scale):
    """Clear the invariants, and start with the energy of the links and of the load."""
    for i in range(out.shape[0]):
        out[i] = 0.0
    out[0] = potential_energy(z, par.mass.shape[0], par, scale)


def potential_energy(z, n, par, scale):
    """Energy of the links and of the load."""
    total, most = link_energies(z, par)
    scale[0] = max(scale[0], most)
    for j in range(n):
        for i in range(3):
            total -= par.load[j, i] * z[3 * j + i]
            scale[0] = max(scale[0], abs(par.load[j, i] * z[3 * j + i]))
    return total


def unit_residual(z, n, j):
    """|q|^2 - 1 of body j."""
    return square(load4(z, 3 * n + 4 * j)) - 1.0


def tangency(z, n, j):
    """q.g of body j."""
    total = 0.0
    for i in range(4):
        total += z[3 * n + 4 * j + i] * z[10 * n + 4 * j + i]
    return total


def add_kinetic_energy(z, j, y, par, out, scale):
    """Add the kinetic energy of body j with the angular momentum y; returns |y|."""
    p = load3(z, momentum_place(par.mass.shape[0], j))
    kinetic = 0.5 * dot(p, p) / par.mass[j]
    inverse = load3(par.inverse[j], 0)
    kinetic += 0.5 * dot(diagonal_times(inverse, y), y)
    out[0] += kinetic
    scale[0] = max(scale[0], kinetic)
    return math.sqrt(dot(y, y))


def add_residual(i, value, size, out, scale):
    """Update invariant i, a residual: the worst body counts."""
    if abs(value) > abs(out[i]):
        out[i] = value
    scale[i] = max(scale[i], size)


def add_momenta(z, j, first, space, length, par, out, scale):
    """Add momentum and angular momentum of body j (`space`: that of its own rotation), if they are invariants."""
    if out.shape[0] <= first:
        return
    r = load3(z, 3 * j)
    p = load3(z, momentum_place(par.mass.shape[0], j))
    orbital = cross(r, p)
    far = largest(r) * largest(p)
    for i in range(3):
        out[first + i] += p[i]
        scale[first + i] = max(scale[first + i], abs(p[i]))
        out[first + 3 + i] += orbital[i] + space[i]
        scale[first + 3 + i] = max(scale[first + 3 + i], far, length)
