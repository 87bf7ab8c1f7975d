"""Kernels of a top whose potential depends on time: z = (q, y, t, w).

The time is a coordinate of the extended phase space and w its momentum, so that of H + w nothing is lost: t stands still in kicks, and w' = -dU/dt;
it moves on in drifts [hairer2006]. The numbers of the potential are found anew wherever it is asked for, into par.potential and par.potential_slope.
"""

from ...geometry.quaternion import rotation
from ...geometry.vectors import diagonal_times, dot, load3
from ...kernels.marks import slot
from ...kernels.summation import add
from .invariants import measure_top
from .motion import given_axes, to_given_axes, top_commutator_kick, top_drift, top_field, top_force, top_kick

TIME, WORK = 7, 8  # places in z


@slot
def set_numbers(t, par):
    """The parameters of the potential at time t, and how fast they change."""


@slot
def potential_rate(r, par):
    """dU/dt while R stays."""


@slot
def torque_in_time(r, par):
    """Change of the torque with the time alone, in the axes in which the body was given."""


def rate_at(z, par):
    """dU/dt at the orientation of z."""
    return potential_rate(given_axes(rotation(z), par), par)


def driven_force(z, par, out):
    """Torque and -dU/dt."""
    set_numbers(z[TIME], par)
    top_force(z, par, out)
    out[TIME] = 0.0
    out[WORK] = -rate_at(z, par)


def driven_kick(z, e, h, par, out):
    """y += h tau, w -= h dU/dt."""
    top_kick(z, e, h, par, out)
    add(z, e, WORK, h * out[WORK])
    return 0


def driven_drift(z, e, h, par, work):
    """The free rotation, while the time goes on."""
    status = top_drift(z, e, h, par, work)
    if status == 0:
        add(z, e, TIME, h)
    return status


def driven_commutator_kick(z, e, s, par, out):
    """Flow over s of V = tau.J^-1 tau at a time: w -= s dV/dt = 2 s a.dtau/dt, a = J^-1 tau."""
    set_numbers(z[TIME], par)
    changed = torque_in_time(given_axes(rotation(z), par), par)
    a = to_given_axes(diagonal_times(par.inverse, load3(out, 4)), par)
    status = top_commutator_kick(z, e, s, par, out)
    add(z, e, WORK, -2.0 * s * dot(a, changed))
    return status


def driven_field(z, par, out):
    """Euler's equations with torque, the time, and -dU/dt."""
    set_numbers(z[TIME], par)
    top_field(z, par, out)
    out[TIME] = 1.0
    out[WORK] = -rate_at(z, par)


def driven_field_end(b, par):
    """Orientation, momentum, time, w."""
    return 4 + 3 * b if b < 2 else 6 + b


def measure_driven(z, par, out, scale):
    """The invariants of a top at this time, of the energy less the work; and the work, behind them."""
    set_numbers(z[TIME], par)
    measure_top(z, par, out, scale)
    out[0] += z[WORK]
    scale[0] = max(scale[0], abs(z[WORK]))
    last = out.shape[0] - 1
    out[last] = -z[WORK]
    scale[last] = max(scale[last], abs(z[WORK]))
