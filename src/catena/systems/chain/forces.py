"""Forces between neighbouring bodies of a chain, particle by particle.

Particles lie in rows of `lane_count` places, and the forces on a whole row are computed together, as vectors. A body
has as many rows as its particles need; unused places repeat its last particle, and forces there are not counted.

Forces are central, so those on the particles of the left body of a link determine everything: with x_k their positions
relative to its centre of mass and d = r_j - r_(j+1), the left body feels f = sum w_k and the torque t = sum x_k x w_k,
the right body -f and -(t + d x f). Momentum and angular momentum are conserved to round-off. Each w_k is a sum in a
fixed order: the bits are the same for every vector width, and without vectors.

Constants in `par`: row (n + 1,), the first row of each body; particles (rows, 3 lane_count), in principal axes, all first
components, then all second and third ones. Scratch: x (rows, 6 lane_count), particles relative to the centres of mass,
in space, then the forces on them; f and tau (n, 3), force in space and torque in the body (principal axes).
"""

from ...geometry.quaternion import normalised_rotation
from ...geometry.vectors import add3
from ...kernels.marks import choice, size, slot, within
from ...kernels.views import is_closed, pair_energy, pair_force

LANES = 8  # doubles in the widest registers
FEW_PARTICLES = 3  # up to this number most places would be unused


@size
def lane_count(par):
    """Number of places in a row."""
    return par.x.shape[1] // 6


@size
def is_uniform(par):
    """1 if one potential acts between all particles, else 0: then par.which gives it, by link and types."""
    return 0


@slot
def add_link_forces(z, par):
    """Add forces of potentials of relative position and rotation to par.f and par.tau."""


@slot
def bond_energy(z, j, par):
    """Energy of that potential between body j and the next one."""


@slot
def distant_energy(z, par):
    """Energy of the pairs of bodies that no link joins."""


def no_distant_energy(z, par):
    """No energy: these bodies do not interact."""
    return 0.0


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


@within
def link_count(n):
    """Number of links of n bodies: link j joins body j and the next one, in a ring the last body and the first."""
    return n - 1 + is_closed()


@within
def after(j, par):
    """The right body of link j."""
    if is_closed():
        return j + 1 if j + 1 < par.mass.shape[0] else 0
    return j + 1


def potential_of(j, k, l, par):
    """Index of the potential between particle k of body j and particle l of the next one."""
    if is_uniform(par) == 1:
        return 0
    return par.which[j, par.types[j, k], par.types[after(j, par), l]]


@slot
def pair_constants(par):
    """The object whose `pair` holds the constants of the pair potentials."""


def constants_in_memory(par):
    """The constants in memory."""
    return par


def place_particles(z, par):
    """Compute x = R X for all particles, relative to the centres of mass."""
    for j in range(par.mass.shape[0]):
        place_particles_of(z, j, par)


@within
def place_particles_of(z, j, par):
    """The same for the particles of body j."""
    m = lane_count(par)
    a11, a12, a13, a21, a22, a23, a31, a32, a33 = body_rotation(z, par.mass.shape[0], j)
    for i in range(par.row[j], par.row[j + 1]):
        x = par.x[i]
        b = par.particles[i]
        for k in range(m):
            b0 = b[k]
            b1 = b[m + k]
            b2 = b[2 * m + k]
            x[k] = a11 * b0 + a12 * b1 + a13 * b2
            x[m + k] = a21 * b0 + a22 * b1 + a23 * b2
            x[2 * m + k] = a31 * b0 + a32 * b1 + a33 * b2


def particle(rows, j, k, par):
    """Particle k of body j relative to its centre of mass: rows par.x in space, par.particles in principal axes."""
    m = lane_count(par)
    x = rows[par.row[j] + k // m]
    i = k % m
    return x[i], x[m + i], x[2 * m + i]


@within
def push(x0, x1, x2, y0, y1, y2, which, constants):
    """Force on a particle at x by one at y."""
    d0 = x0 - y0
    d1 = x1 - y1
    d2 = x2 - y2
    a = pair_force(d0 * d0 + d1 * d1 + d2 * d2, which, constants)
    return a * d0, a * d1, a * d2


@within
def push_row(j, x, k0, y, l0, count, d0, d1, d2, constants, par):
    """Forces on row x of body j by the first `count` particles of row y of the next body; the rows begin with k0 and l0.

    Two particles at once: with one, the loop over eight places is short enough to be unrolled, and is never vectorised.
    """
    m = lane_count(par)
    for l in range(0, count, 2):
        y0 = y[l] - d0
        y1 = y[m + l] - d1
        y2 = y[2 * m + l] - d2
        other = min(l + 1, count - 1)
        u0 = y[other] - d0
        u1 = y[m + other] - d1
        u2 = y[2 * m + other] - d2
        for k in range(m):
            x0 = x[k]
            x1 = x[m + k]
            x2 = x[2 * m + k]
            p0, p1, p2 = push(x0, x1, x2, y0, y1, y2, potential_of(j, k0 + k, l0 + l, par), constants)
            w0 = x[3 * m + k] + p0
            w1 = x[4 * m + k] + p1
            w2 = x[5 * m + k] + p2
            if l + 1 < count:
                p0, p1, p2 = push(x0, x1, x2, u0, u1, u2, potential_of(j, k0 + k, l0 + l + 1, par), constants)
                w0 += p0
                w1 += p1
                w2 += p2
            x[3 * m + k] = w0
            x[4 * m + k] = w1
            x[5 * m + k] = w2


@within
def push_body(j, d0, d1, d2, constants, par):
    """Force on body j by the next one, and torque about its centre of mass, in space."""
    m = lane_count(par)
    other = after(j, par)
    f0 = f1 = f2 = 0.0
    t0 = t1 = t2 = 0.0
    for i in range(par.row[j], par.row[j + 1]):
        x = par.x[i]
        k0 = m * (i - par.row[j])
        for k in range(3 * m, 6 * m):
            x[k] = 0.0
        for o in range(par.row[other], par.row[other + 1]):
            l0 = m * (o - par.row[other])
            push_row(j, x, k0, par.x[o], l0, min(m, par.count[other] - l0), d0, d1, d2, constants, par)
        for k in range(min(m, par.count[j] - k0)):
            x0 = x[k]
            x1 = x[m + k]
            x2 = x[2 * m + k]
            w0 = x[3 * m + k]
            w1 = x[4 * m + k]
            w2 = x[5 * m + k]
            f0 += w0
            f1 += w1
            f2 += w2
            t0 += x1 * w2 - x2 * w1
            t1 += x2 * w0 - x0 * w2
            t2 += x0 * w1 - x1 * w0
    return f0, f1, f2, t0, t1, t2


def find_forces(z, par):
    """par.f: forces in space, with the load; par.tau: torques in the body, principal axes; from the positions in z."""
    n = par.mass.shape[0]
    constants = pair_constants(par)
    place_particles(z, par)
    # contribution of the previous link
    g0 = g1 = g2 = 0.0
    u0 = u1 = u2 = 0.0
    for j in range(n):
        f0 = f1 = f2 = 0.0
        t0 = t1 = t2 = 0.0
        d0 = d1 = d2 = 0.0
        if j < link_count(n):
            k = 3 * after(j, par)
            d0 = z[3 * j] - z[k]
            d1 = z[3 * j + 1] - z[k + 1]
            d2 = z[3 * j + 2] - z[k + 2]
            f0, f1, f2, t0, t1, t2 = push_body(j, d0, d1, d2, constants, par)
        par.f[j, 0] = par.load[j, 0] + f0 + g0
        par.f[j, 1] = par.load[j, 1] + f1 + g1
        par.f[j, 2] = par.load[j, 2] + f2 + g2
        u0 += t0
        u1 += t1
        u2 += t2
        par.tau[j, 0], par.tau[j, 1], par.tau[j, 2] = torque_in_body(z, n, j, u0, u1, u2, par)
        g0 = -f0
        g1 = -f1
        g2 = -f2
        u0 = d2 * f1 - d1 * f2 - t0
        u1 = d0 * f2 - d2 * f0 - t1
        u2 = d1 * f0 - d0 * f1 - t2
    if is_closed():
        add3(par.f[0], 0, (g0, g1, g2))
        add3(par.tau[0], 0, torque_in_body(z, n, 0, u0, u1, u2, par))
    add_link_forces(z, par)


@within
def torque_in_body(z, n, j, u0, u1, u2, par):
    """R^T u of body j; a torque about an axis without moment of inertia is round-off and set to zero."""
    a11, a12, a13, a21, a22, a23, a31, a32, a33 = body_rotation(z, n, j)
    return (
        a11 * u0 + a21 * u1 + a31 * u2 if par.inverse[j, 0] > 0.0 else 0.0,
        a12 * u0 + a22 * u1 + a32 * u2 if par.inverse[j, 1] > 0.0 else 0.0,
        a13 * u0 + a23 * u1 + a33 * u2 if par.inverse[j, 2] > 0.0 else 0.0,
    )


def pair_energies(z, j, par):
    """Energy of all pairs of body j and the next one, whose particles were placed."""
    total = 0.0
    other = after(j, par)
    for k in range(par.count[j]):
        x0, x1, x2 = particle(par.x, j, k, par)
        x0 += z[3 * j] - z[3 * other]
        x1 += z[3 * j + 1] - z[3 * other + 1]
        x2 += z[3 * j + 2] - z[3 * other + 2]
        for l in range(par.count[other]):
            y0, y1, y2 = particle(par.x, other, l, par)
            d0 = x0 - y0
            d1 = x1 - y1
            d2 = x2 - y2
            total += pair_energy(d0 * d0 + d1 * d1 + d2 * d2, potential_of(j, k, l, par), par)
    return total


@choice
def links_are_known():
    """1 if another kernel has computed the energies of the links, in par.link_terms."""
    return 0


def link_energies(z, par):
    """Energy of all links, and the largest magnitude of its terms."""
    n = par.mass.shape[0]
    if not links_are_known():
        place_particles(z, par)
    total = 0.0
    largest = 0.0
    for j in range(link_count(n)):
        if links_are_known():
            pairs = par.link_terms[0, j]
            bond = par.link_terms[1, j]
        else:
            pairs = pair_energies(z, j, par)
            bond = bond_energy(z, j, par)
        total += pairs + bond
        largest = max(largest, abs(pairs), abs(bond))
    distant = distant_energy(z, par)
    return total + distant, max(largest, abs(distant))
