"""Kernels of the change of forces on particles when the particles move: for derivatives of accelerations.

par.particle[a] holds the displacement of particle a in CHANGE; the change of the force on it is added to PUSH. The
force A d between two particles changes by A delta + 2 dA/ds (d.delta) d.
"""

from ...geometry.vectors import ZERO, add, cross, dot, load3, scaled, store3, subtract
from ...kernels.marks import bind, slot, within
from ...kernels.views import pair_force, pair_slope
from .kernels import clear_pushes, force_of, look_at, push_row
from .layout import Particle


@slot
def change_pushes(par):
    """Add the changes of the pair forces to the particles."""


@slot
def change_more(par):
    """Add the changes of fields, angles and dihedral angles."""


@within
def displacement_of(particle):
    """Its position, and its displacement."""
    return load3(particle, Particle.PLACE), load3(particle, Particle.CHANGE)


@within
def change_of_force(x, y, which, par):
    """A delta + 2 dA/ds (d.delta) d."""
    d = subtract(y[0], x[0])
    moved = subtract(y[1], x[1])
    s = dot(d, d)
    stiffer = 2.0 * pair_slope(s, which, par) * dot(d, moved)
    return add(scaled(pair_force(s, which, par), moved), scaled(stiffer, d))


CHANGE = bind(push_row, {look_at: displacement_of, force_of: change_of_force})


def keep_pushes(par):
    """Save the forces on the particles: their torques change when bodies turn."""
    for a in range(par.particle.shape[0]):
        store3(par.particle[a], Particle.KEPT, load3(par.particle[a], Particle.PUSH))


def move_particles(i, move, turn, par):
    """Displacements of the particles of body i, from its displacement and its rotation."""
    for a in range(par.particle_first[i], par.particle_first[i + 1]):
        own = par.particle[a]
        store3(own, Particle.CHANGE, add(move, cross(turn, load3(own, Particle.ARM))))


def find_changes(par):
    """Changes of all forces."""
    clear_pushes(par)
    change_pushes(par)
    change_more(par)


def change_wrench(i, turn, par):
    """The change of force and torque on body i."""
    force = ZERO
    torque = ZERO
    for a in range(par.particle_first[i], par.particle_first[i + 1]):
        own = par.particle[a]
        arm = load3(own, Particle.ARM)
        change = load3(own, Particle.PUSH)
        force = add(force, change)
        torque = add(torque, add(cross(arm, change), cross(cross(turn, arm), load3(own, Particle.KEPT))))
    return force, torque
