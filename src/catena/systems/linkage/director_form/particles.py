"""Kernels of what the particles of all bodies do to linked bodies.

The forces are explicit in the half kicks of RATTLE, and in a conserving step they are computed anew in each correction, with their
derivatives left out of Newton's matrix: the sweeps along a tree stay as they are, and where forces are not stiffer than the step is
long (dt omega small) each correction falls by (dt omega)^2/4.
"""

from ....geometry.quaternion import rotation
from ....geometry.vectors import copy, load3, scaled, store3, subtract
from ....kernels import summation
from ....kernels.marks import optional
from ...particles.kernels import (
    find_energies,
    find_more_energies,
    find_rate,
    find_wrenches,
    find_wrenches_between,
    place_body,
)
from ...particles.layout import Center, Frame, Particle
from ...particles.terms import sum_of_terms
from ..layout import Node
from ..measures import add_energy
from .clock import time_place
from .forces import add_wrench, impulse
from .rows import axes, both_levels, kicks
from .steps import turn_body


def place_at(phase, par):
    """Bodies and particles at a node."""
    origin = load3(par.node[phase, 0], Node.POSITION)
    store3(par.particle_frame, Frame.ORIGIN + 3 * phase, origin)
    for i in range(par.mass.shape[0]):
        own = par.node[phase, i]
        place_body(i, subtract(load3(own, Node.POSITION), origin), axes(own), 3 * phase, par)


def place_start(z, h, par):
    """Particles at the start of a conserving step."""
    place_at(0, par)


def act_between(z, h, par):
    """What particles do to the bodies in a conserving step."""
    place_at(1, par)
    par.particle_frame[Frame.TIME] = z[time_place(par)] + 0.5 * h
    find_wrenches_between(par)


def work_of_time(h, time, par):
    """What the potentials change by at both ends, where the particles stay, from and to the middle of the step; of RATTLE half a kick at each."""
    if kicks():
        return 0.5 * h * (par.particle_frame[Frame.RATE_BEFORE] + par.particle_frame[Frame.RATE])
    place_at(1, par)
    middle = time + 0.5 * h
    begun = sum_of_terms(0.0, middle, par) - sum_of_terms(0.0, time, par)
    return begun + sum_of_terms(1.0, time + h, par) - sum_of_terms(1.0, middle, par)


@optional
def other_loads(i, h, time, par, t, width, first):
    """Add the loads on body i to a block."""


def add_pushes(i, h, time, par, t, width, first):
    """Add what particles do to body i, and the loads on it, to a block whose unknowns of i begin at `first`."""
    push_body(i, impulse(h, par), par, t, (first + 6 * both_levels()) * width + width - 1, width)
    other_loads(i, h, time, par, t, width, first)


def push_body(i, factor, par, t, at, width):
    """Add force and torque of the particles of body i to a column."""
    own = par.particle_center[i]
    force = scaled(factor, load3(own, Center.FORCE))
    add_wrench(t, at, width, force, scaled(factor, load3(own, Center.TORQUE)))


def find_kick(z, h, par):
    """Forces at the start of a step of RATTLE: those at the end of the last one, if that is where it begins.

    They are asked for in each correction, too: a step that failed at its end has left the forces there.
    """
    known = par.particle_state[0]
    last = known.shape[0] - 1
    time = z[time_place(par)]
    same = known[last] == time
    known[last] = time
    for k in range(last):
        if known[k] != z[k]:
            same = False
            known[k] = z[k]
    if not same:
        find_at(known, par)


def end_kick(z, e, h, par):
    """Forces at the end of a step of RATTLE, where the state will be to the last bit, so that they serve the next step, too."""
    n = par.mass.shape[0]
    state = par.particle_state[0]
    error = par.particle_state[1]
    time = time_place(par)
    copy(z, state, 7 * n)
    copy(e, error, 7 * n)
    state[7 * n] = z[time]
    error[7 * n] = e[time]
    for i in range(n):
        summation.add3(state, error, 3 * i, load3(par.node[1, i], Node.MOVE))
        turn_body(state, error, n, i, load3(par.node[1, i], Node.TURN))
    summation.add(state, error, 7 * n, h)
    find_at(state, par)


def find_at(state, par):
    """What acts where a state (positions, quaternions, time) has the particles."""
    n = par.mass.shape[0]
    store3(par.particle_frame, Frame.ORIGIN, load3(state, 0))
    par.particle_frame[Frame.TIME] = state[7 * n]
    for i in range(n):
        center = subtract(load3(state, 3 * i), load3(state, 0))
        place_body(i, center, rotation(state[3 * n + 4 * i : 3 * n + 4 * i + 4]), 0, par)
    find_wrenches(par)
    par.particle_frame[Frame.RATE_BEFORE] = par.particle_frame[Frame.RATE]
    par.particle_frame[Frame.RATE] = find_rate(par)


def measure_all(time, par, out, scale):
    """Add the energy of the particles at node 0."""
    place_at(0, par)
    par.particle_frame[Frame.TIME] = time
    for a in range(par.particle.shape[0]):
        par.particle[a, Particle.ENERGY] = 0.0
    find_energies(par)
    find_more_energies(par)
    for a in range(par.particle.shape[0]):
        add_energy(par.particle[a, Particle.ENERGY], out, scale)
