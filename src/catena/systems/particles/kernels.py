"""Kernels of the forces between the particles of all bodies: sums over pairs, and what they do to the bodies.

Each pair is looked at once, and acts on both sides alike. What is added to a particle is added in the order of the numbers of its partners,
whichever way pairs are found: the same bits for all of them. In a step that keeps the energy a potential of the squared distance s acts through
its discrete derivative, with the mean of the vectors between the particles at both ends [gonzalez1999]:

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
    """1 if the same potential acts between all particles, else 0: then par.particle_which tells, by types."""
    return 0


@slot
def push_all(par):
    """Add to the particles what acts on them where their arms are."""


@slot
def push_all_between(par):
    """Add to the particles what acts on them in a step between its start and its end."""


@slot
def find_energies(par):
    """Add to the particles the energies of their pairs."""


@slot
def push_more(par):
    """Add what fields, angles and dihedral angles do where the arms are."""


@slot
def push_more_between(par):
    """Add what they do in a step between its start and its end."""


@slot
def find_more_energies(par):
    """Add their energies."""


@slot
def find_rate(par):
    """dV/dt of all that acts on particles."""


def no_rate(par):
    """Nothing depends on the time."""
    return 0.0


def no_particles(par):
    """Particles do not act on each other."""


def place_body(i, center, q, end, par):
    """The particles of body i: `center` from that of the first body, directors q, at the start of a step (end = 0) or at its end (3)."""
    for a in range(par.particle_first[i], par.particle_first[i + 1]):
        arm = times(q, load3(par.particle_place[a], 0))
        store3(par.particle[a], Particle.ARM + end, arm)
        store3(par.particle[a], Particle.PLACE + end, add(center, arm))


def every_pair(par):
    """All pairs of particles of bodies that are not near each other; those near body i, behind it, stand in par.particle_near."""
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
    """What a force between two particles depends on, of one of them."""


@slot
def force_of(x, y, which, par):
    """The force on the particle with y by the one with x, of the potential number `which`."""


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
    """Where it is."""
    return load3(particle, Particle.PLACE)


@within
def force_at_places(x, y, which, par):
    """A d."""
    d = subtract(y, x)
    return scaled(pair_force(dot(d, d), which, par), d)


@within
def both_places_of(particle):
    """Where it is at the start of the step, and at its end."""
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
    """Energies of particle a and its partners, to particle a."""
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
    """Nothing acts yet."""
    for a in range(par.particle.shape[0]):
        store3(par.particle[a], Particle.PUSH, ZERO)


def wrench_of_bodies(par):
    """Force and torque on each body, by what acts on its particles."""
    gather(0.0, par)


def wrench_between(par):
    """The same in a step: mean arms are those with which the work of forces is exact."""
    gather(0.5, par)


def gather(later, par):
    """Forces of the particles at their arms, of which the part `later` is that at the end of the step."""
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
    """What acts on the bodies where the particles are."""
    clear_pushes(par)
    push_all(par)
    push_more(par)
    wrench_of_bodies(par)


def find_wrenches_between(par):
    """What acts on the bodies in a step, whose start and end are placed."""
    clear_pushes(par)
    push_all_between(par)
    push_more_between(par)
    wrench_between(par)
