"""Forces of potentials that depend on time: their constants are set before anything is computed at a time, and their clock, that of the
first drive, accumulates -dV/dt."""

from ...kernels.marks import slot
from ...kernels.views import measure
from .drive_kernels import clock_place
from .forces import add_link_forces, link_energies
from .observables import observe_chain


@slot
def set_constants(t, par):
    """Compute par.pair, par.link, par.moving and par.moving_slope at time t."""


@slot
def potential_rate(z, par):
    """dV/dt of all links, with their particles as in z."""


@slot
def moving_below(z, par, out):
    """`force`, `field`, a half of the field, or the Jacobian of a chain with constant potentials."""


def rate_of_links(z, par):
    """`link_energies` with rates instead of energies."""
    total, _ = link_energies(z, par)
    return total


def add_moving(z, par):
    """Forces of links and drives, and w' of the potentials."""
    add_link_forces(z, par)
    par.drive_rate[0] = 0.0 - potential_rate(z, par)


def at_time(z, par, out):
    """With the constants at the time of the clock."""
    set_constants(z[clock_place(z, 0, par)], par)
    moving_below(z, par, out)


def measure_at_time(z, par, out, scale):
    """The invariants with the constants at the time of the clock."""
    set_constants(z[clock_place(z, 0, par)], par)
    measure(z, par, out, scale)


def observe_at_times(states, par, out):
    """`observe_chain`, each state with the constants at its time."""
    for i in range(states.shape[0]):
        set_constants(states[i, clock_place(states[i], 0, par)], par)
        observe_chain(states[i : i + 1], par, out[i : i + 1])
