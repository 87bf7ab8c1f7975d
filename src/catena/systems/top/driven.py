"""Kernels of a top whose potential depends on time: z = (q, y, t, w).

The time is a coordinate of the extended phase space and w its momentum, so that H + w is conserved: in kicks t is
constant, and w' = -dU/dt; in drifts t advances [hairer2006]. The parameters of the potential are recomputed for each
evaluation, into par.potential and par.potential_slope.
"""

from ...geometry.quaternion import rotation
from ...geometry.vectors import diagonal_times, dot, load3
from ...kernels.marks import slot
from ...kernels.summation import add
from .invariants import measure_top
from .motion import given_axes, to_given_axes, top_commutator_kick, top_drift, top_field, top_force, top_kick

TIME, WORK = 7, 8  # indices in z


@slot
def set_numbers(t, par):
    """The parameters of the potential at time t, and their rates."""


@slot
def potential_rate(r, par):
    """dU/dt at constant R."""


@slot
def torque_in_time(r, par):
    """Partial derivative of the torque by time, in the axes in which the body was given."""


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
    """The free rotation, while the time advances."""
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
    """The invariants of a top at this time, with the energy minus the work; then the work itself."""
    set_numbers(z[TIME], par)
    measure_top(z, par, out, scale)
    out[0] += z[WORK]
    scale[0] = max(scale[0], abs(z[WORK]))
    last = out.shape[0] - 1
    out[last] = -z[WORK]
    scale[last] = max(scale[last], abs(z[WORK]))
