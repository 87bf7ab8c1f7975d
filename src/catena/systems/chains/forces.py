"""Forces between neighbouring bodies of a chain, particle by particle.

Scratch of the system in `par`: x and w (3, n, m), particles in space and the forces on them; f and tau (n, 3), force in space and
torque in the body (principal axes). The force of a pair is computed once and applied to both sides, so that momentum is kept to
round-off.
"""

from ...geometry.quaternion import normalised_rotation
from ...kernel import relaxed_twin, size, slot
from ...views import pair_energy, pair_force


@size
def is_uniform(par):
    """1 if one potential acts between all particles, else 0: then par.which tells, by link and types."""
    return 0


@slot
def add_link_forces(z, par):
    """Forces of potentials of relative position and rotation, added to par.f and par.tau."""


@slot
def bond_energy(z, j, par):
    """Energy of that potential between bodies j and j + 1."""


def no_link_forces(z, par):
    """No such potential."""


def no_bond_energy(z, j, par):
    """No such potential."""
    return 0.0


@slot
def body_rotation(z, n, j):
    """R of body j, principal axes to space, row by row."""


def rotation_of_quaternion(z, n, j):
    """From z = r (3n) | q (4n) | ..., at the normalised quaternion."""
    return normalised_rotation(z[3 * n + 4 * j : 3 * n + 4 * j + 4])


def potential_of(j, k, l, par):
    """Number of the potential between particle k of body j and particle l of body j + 1."""
    if is_uniform(par) == 1:
        return 0
    return par.which[j, par.types[j, k], par.types[j + 1, l]]


def place_particles(z, par):
    """x = r + R X for all particles; the forces on them are cleared."""
    n = par.mass.shape[0]
    x = par.x
    w = par.w
    for j in range(n):
        r0 = z[3 * j]
        r1 = z[3 * j + 1]
        r2 = z[3 * j + 2]
        a11, a12, a13, a21, a22, a23, a31, a32, a33 = body_rotation(z, n, j)
        for k in range(par.count[j]):
            b0 = par.particles[j, k, 0]
            b1 = par.particles[j, k, 1]
            b2 = par.particles[j, k, 2]
            x[0, j, k] = r0 + a11 * b0 + a12 * b1 + a13 * b2
            x[1, j, k] = r1 + a21 * b0 + a22 * b1 + a23 * b2
            x[2, j, k] = r2 + a31 * b0 + a32 * b1 + a33 * b2
            w[0, j, k] = 0.0
            w[1, j, k] = 0.0
            w[2, j, k] = 0.0


@slot
def attract(par):
    """The forces w on all particles from those of the neighbouring bodies."""


def attract_neighbours(par):
    """Pair by pair, the force of each computed once."""
    n = par.mass.shape[0]
    x = par.x
    w = par.w
    for j in range(n - 1):
        for k in range(par.count[j]):
            x0 = x[0, j, k]
            x1 = x[1, j, k]
            x2 = x[2, j, k]
            w0 = 0.0
            w1 = 0.0
            w2 = 0.0
            for l in range(par.count[j + 1]):
                d0 = x0 - x[0, j + 1, l]
                d1 = x1 - x[1, j + 1, l]
                d2 = x2 - x[2, j + 1, l]
                a = pair_force(d0 * d0 + d1 * d1 + d2 * d2, potential_of(j, k, l, par), par)
                d0 *= a
                d1 *= a
                d2 *= a
                w0 += d0
                w1 += d1
                w2 += d2
                w[0, j + 1, l] -= d0
                w[1, j + 1, l] -= d1
                w[2, j + 1, l] -= d2
            w[0, j, k] += w0
            w[1, j, k] += w1
            w[2, j, k] += w2


# Bodies of more particles than this are worth vectors over particles, whose sums are in another order.
FEW_PARTICLES = 7
attract_many = relaxed_twin(attract_neighbours)


def find_forces(z, par):
    """par.f: forces in space, with the load; par.tau: torques in the body, principal axes; from the positions in z."""
    n = par.mass.shape[0]
    w = par.w
    place_particles(z, par)
    attract(par)
    for j in range(n):
        a11, a12, a13, a21, a22, a23, a31, a32, a33 = body_rotation(z, n, j)
        f0 = par.load[j, 0]
        f1 = par.load[j, 1]
        f2 = par.load[j, 2]
        t0 = 0.0
        t1 = 0.0
        t2 = 0.0
        for k in range(par.count[j]):
            w0 = w[0, j, k]
            w1 = w[1, j, k]
            w2 = w[2, j, k]
            f0 += w0
            f1 += w1
            f2 += w2
            u0 = a11 * w0 + a21 * w1 + a31 * w2
            u1 = a12 * w0 + a22 * w1 + a32 * w2
            u2 = a13 * w0 + a23 * w1 + a33 * w2
            b0 = par.particles[j, k, 0]
            b1 = par.particles[j, k, 1]
            b2 = par.particles[j, k, 2]
            t0 += b1 * u2 - b2 * u1
            t1 += b2 * u0 - b0 * u2
            t2 += b0 * u1 - b1 * u0
        par.f[j, 0] = f0
        par.f[j, 1] = f1
        par.f[j, 2] = f2
        par.tau[j, 0] = t0
        par.tau[j, 1] = t1
        par.tau[j, 2] = t2
    add_link_forces(z, par)


def pair_energies(j, par):
    """Energy of all pairs of bodies j and j + 1, whose particles are placed."""
    x = par.x
    total = 0.0
    for k in range(par.count[j]):
        for l in range(par.count[j + 1]):
            d0 = x[0, j, k] - x[0, j + 1, l]
            d1 = x[1, j, k] - x[1, j + 1, l]
            d2 = x[2, j, k] - x[2, j + 1, l]
            total += pair_energy(d0 * d0 + d1 * d1 + d2 * d2, potential_of(j, k, l, par), par)
    return total


def link_energies(z, par):
    """Energy of all links, and the largest magnitude of the parts it is made of."""
    n = par.mass.shape[0]
    place_particles(z, par)
    total = 0.0
    largest = 0.0
    for j in range(n - 1):
        pairs = pair_energies(j, par)
        bond = bond_energy(z, j, par)
        total += pairs + bond
        largest = max(largest, abs(pairs), abs(bond))
    return total, largest
