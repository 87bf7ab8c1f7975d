"""Kernels of the forces between the particles of all bodies: sums over pairs, and the forces and torques on the bodies.

Each pair is computed once, and acts equally on both sides. Contributions to a particle are added in the order of the
numbers of its partners, however pairs are found, so the bits are always the same. In a step that conserves the energy,
a potential of the squared distance s acts through its discrete derivative, with the mean of the vectors between the
particles at both ends [gonzalez1999]:

    f = A dbar,     A = -2 (V1 - V0)/(s1 - s0),     torque = (mean arm) x f
"""

from ...geometry.vectors import ZERO, add, add3, cross, dot, load3, mean, scaled, store3, subtract, times
from ...kernels.marks import bind, choice, slot, within
from ...kernels.views import pair_energy, pair_force, pair_mean
from .layout import Center, Particle, Sort


@slot
def act_on_row(a, first, end, par):
    """What is done with particle a and its partners with the numbers `first` to `end`."""


@slot
def partner(k, par):
    """The particle with this number among partners."""


def itself(k, par):
    """Partners are particles one after the other."""
    return k


@choice
def one_potential():
    """1 if the same potential acts between all particles, else 0: then par.particle_which gives it, by types."""
    return 0


@slot
def push_all(par):
    """Add the forces on the particles at their arms."""


@slot
def push_all_between(par):
    """Add the forces on the particles in a step between its start and its end."""


@slot
def find_energies(par):
    """Add the energies of their pairs to the particles."""


@slot
def push_more(par):
    """Add the forces of fields, angles and dihedral angles at the arms."""


@slot
def push_more_between(par):
    """Add these forces in a step between its start and its end."""


@slot
def find_more_energies(par):
    """Add their energies."""


@slot
def find_rate(par):
    """dV/dt of all interactions of particles."""


def no_rate(par):
    """Nothing depends on time."""
    return 0.0


def no_particles(par):
    """Particles do not interact."""


def place_body(i, center, q, end, par):
    """Place particles of body i: `center` from that of the first body, directors q; start (end = 0) or end (3) of a
    step."""
    for a in range(par.particle_first[i], par.particle_first[i + 1]):
        arm = times(q, load3(par.particle_place[a], 0))
        store3(par.particle[a], Particle.ARM + end, arm)
        store3(par.particle[a], Particle.PLACE + end, add(center, arm))


def every_pair(par):
    """Traverse pairs of particles of bodies that are not near; par.particle_near lists the near bodies after body i."""
    n = par.particle_center.shape[0]
    for i in range(n):
        near = par.particle_near_first[i]
        for j in range(i + 1, n):
            if near < par.particle_near_first[i + 1] and par.particle_near[near] == j:
                near += 1
            else:
                for a in range(par.particle_first[i], par.particle_first[i + 1]):
                    act_on_row(a, par.particle_first[j], par.particle_first[j + 1], par)


@within
def potential_between(kind, b, par):
    """Number of the potential between a particle of a kind and particle b."""
    if one_potential():
        return 0
    return par.particle_which[kind, par.particle_sort[b, Sort.TYPE]]


@slot
def look_at(particle):
    """The data of one particle on which the force between two particles depends."""


@slot
def force_of(x, y, which, par):
    """The force on the particle with y by the one with x, for potential number `which`."""


def push_row(a, first, end, par):
    """Forces between particle a and its partners."""
    own = par.particle[a]
    x = look_at(own)
    kind = par.particle_sort[a, Sort.TYPE]
    total = load3(own, Particle.PUSH)
    for k in range(first, end):
        b = partner(k, par)
        f = force_of(x, look_at(par.particle[b]), potential_between(kind, b, par), par)
        total = subtract(total, f)
        add3(par.particle[b], Particle.PUSH, f)
    store3(own, Particle.PUSH, total)


@within
def place_of(particle):
    """Its position."""
    return load3(particle, Particle.PLACE)


@within
def force_at_places(x, y, which, par):
    """A d."""
    d = subtract(y, x)
    return scaled(pair_force(dot(d, d), which, par), d)


@within
def both_places_of(particle):
    """Its positions at the start and at the end of the step."""
    return load3(particle, Particle.PLACE), load3(particle, Particle.PLACE_END)


@within
def force_between_places(x, y, which, par):
    """A dbar."""
    d0 = subtract(y[0], x[0])
    d1 = subtract(y[1], x[1])
    return scaled(pair_mean(dot(d0, d0), dot(d1, d1), which, par), mean(d0, d1))


PUSH = bind(push_row, {look_at: place_of, force_of: force_at_places})
PUSH_BETWEEN = bind(push_row, {look_at: both_places_of, force_of: force_between_places})


def add_energies_of_row(a, first, end, par):
    """Add the energies of particle a with its partners to particle a."""
    own = par.particle[a]
    x = load3(own, Particle.PLACE)
    kind = par.particle_sort[a, Sort.TYPE]
    total = own[Particle.ENERGY]
    for k in range(first, end):
        b = partner(k, par)
        d = subtract(load3(par.particle[b], Particle.PLACE), x)
        total += pair_energy(dot(d, d), potential_between(kind, b, par), par)
    own[Particle.ENERGY] = total


def clear_pushes(par):
    """Set all forces to zero."""
    for a in range(par.particle.shape[0]):
        store3(par.particle[a], Particle.PUSH, ZERO)


def wrench_of_bodies(par):
    """Force and torque on each body from the forces on its particles."""
    gather(0.0, par)


def wrench_between(par):
    """The same in a step: the mean arms are those for which the work of the forces is exact."""
    gather(0.5, par)


def gather(later, par):
    """Sum the forces of the particles at their arms; the fraction `later` is that at the end of the step."""
    for i in range(par.particle_center.shape[0]):
        force = ZERO
        torque = ZERO
        for a in range(par.particle_first[i], par.particle_first[i + 1]):
            own = par.particle[a]
            arm = load3(own, Particle.ARM)
            if later > 0.0:
                arm = add(scaled(1.0 - later, arm), scaled(later, load3(own, Particle.ARM_END)))
            push = load3(own, Particle.PUSH)
            force = add(force, push)
            torque = add(torque, cross(arm, push))
        store3(par.particle_center[i], Center.FORCE, force)
        store3(par.particle_center[i], Center.TORQUE, torque)


def find_wrenches(par):
    """Forces and torques on the bodies at the positions of the particles."""
    clear_pushes(par)
    push_all(par)
    push_more(par)
    wrench_of_bodies(par)


def find_wrenches_between(par):
    """Forces and torques on the bodies in a step whose start and end were placed."""
    clear_pushes(par)
    push_all_between(par)
    push_more_between(par)
    wrench_between(par)
