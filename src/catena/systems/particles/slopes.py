"""Kernels of what the forces on particles change by where the particles move: for derivatives of accelerations.

par.particle[a] holds the displacement of particle a in CHANGE; what acts on it changes by what is added to PUSH. The force A d between
two particles changes by A delta + 2 dA/ds (d.delta) d.
"""

from ...geometry.vectors import ZERO, add, add3, cross, dot, load3, scaled, store3, subtract
from ...kernels.marks import slot
from ...kernels.views import pair_force, pair_slope
from .kernels import clear_pushes, partner, potential_between
from .layout import Particle, Sort


@slot
def change_pushes(par):
    """Add to the particles what the forces of pairs change by."""


@slot
def change_more(par):
    """Add what those of fields, angles and dihedral angles change by."""


def change_row(a, first, end, par):
    """Changes of the forces between particle a and its partners."""
    own = par.particle[a]
    x = load3(own, Particle.PLACE)
    shift = load3(own, Particle.CHANGE)
    kind = par.particle_sort[a, Sort.TYPE]
    total = load3(own, Particle.PUSH)
    for k in range(first, end):
        b = partner(k, par)
        d = subtract(load3(par.particle[b], Particle.PLACE), x)
        moved = subtract(load3(par.particle[b], Particle.CHANGE), shift)
        s = dot(d, d)
        which = potential_between(kind, b, par)
        stiffer = 2.0 * pair_slope(s, which, par) * dot(d, moved)
        f = add(scaled(pair_force(s, which, par), moved), scaled(stiffer, d))
        total = subtract(total, f)
        add3(par.particle[b], Particle.PUSH, f)
    store3(own, Particle.PUSH, total)


def keep_pushes(par):
    """Remember what acts on the particles: torques of it change, where bodies turn."""
    for a in range(par.particle.shape[0]):
        store3(par.particle[a], Particle.KEPT, load3(par.particle[a], Particle.PUSH))


def move_particles(i, move, turn, par):
    """Displacements of the particles of body i, by its displacement and its turn."""
    for a in range(par.particle_first[i], par.particle_first[i + 1]):
        own = par.particle[a]
        store3(own, Particle.CHANGE, add(move, cross(turn, load3(own, Particle.ARM))))


def find_changes(par):
    """Changes of all forces."""
    clear_pushes(par)
    change_pushes(par)
    change_more(par)


def changed_wrench(i, turn, par):
    """By how much force and torque on body i change."""
    force = ZERO
    torque = ZERO
    for a in range(par.particle_first[i], par.particle_first[i + 1]):
        own = par.particle[a]
        arm = load3(own, Particle.ARM)
        change = load3(own, Particle.PUSH)
        force = add(force, change)
        torque = add(torque, add(cross(arm, change), cross(cross(turn, arm), load3(own, Particle.KEPT))))
    return force, torque
