"""Kernels of what depends on the time: when it is taken, gravity, and the work that is done because potentials change with t.

A step takes what depends on the time at its middle tm (RATTLE: at both ends). A potential V(q, t) acts through its discrete derivative
at tm, which gives up V(q1, tm) - V(q0, tm). What else it gains comes from outside, and is added to the work of the loads:

    V(q1, t1) - V(q1, tm) + V(q0, tm) - V(q0, t0)

So the energy less the work is kept to round-off. In RATTLE t is a coordinate of the extended phase space, which stands still in kicks, and the
work is minus its momentum: h/2 (V_t(q0, t0) + V_t(q1, t1)) [hairer2006].
"""

from ....geometry.vectors import dot, load3
from ....kernels import summation
from ....kernels.marks import optional, slot
from ..layout import Joint, Link, Node, Scratch, Signal, Space
from .rows import kicks


@slot
def torsion_energy(theta, which, par):
    """V(theta) of what acts on joint number `which` of those with an angle on which something does, at this time."""


@slot
def torsion_rate(theta, which, par):
    """dV/dt while theta stays."""


@optional
def set_time(t, par):
    """From now on it is t: all functions of the time into par.signal, where there are any."""
    par.scratch[Scratch.NOW] = t


@optional
def gravity_now(par):
    """The acceleration of what falls, at this time."""
    return load3(par.space, Space.GRAVITY)


def moving_gravity(par):
    """The first three functions of the time."""
    return par.signal[0, Signal.VALUE], par.signal[1, Signal.VALUE], par.signal[2, Signal.VALUE]


@optional
def gravity_slope(par):
    """Its derivative by the time."""
    return 0.0, 0.0, 0.0


def moving_gravity_slope(par):
    """That of the first three functions."""
    return par.signal[0, Signal.SLOPE], par.signal[1, Signal.SLOPE], par.signal[2, Signal.SLOPE]


@optional
def clock_part(z, e, h, time, par):
    """Add to z what was done because potentials change with t, where one does."""


def add_work_of_time(z, e, h, time, par):
    """`clock_part` where potentials change; the angles at the end of the step stand in z."""
    set_time(time, par)
    if kicks():
        rate = growth(z, 0, par)
        set_time(time + h, par)
        gained = 0.5 * h * (rate + growth(z, 1, par))
    else:
        gained = -energy_in_time(z, 0, par)
        set_time(time + 0.5 * h, par)
        gained += energy_in_time(z, 0, par)
        lost = energy_in_time(z, 1, par)
        set_time(time + h, par)
        gained += energy_in_time(z, 1, par) - lost
    summation.add(z, e, work_place(par), gained)


def time_place(par):
    """Where the time stands in z; then the work of dampers, and that of loads."""
    return 13 * par.mass.shape[0] + 6 * par.link.shape[0]


def work_place(par):
    """Where the work of loads stands in z."""
    return time_place(par) + 2


def angle_at(z, k, node, par):
    """The angle of joint k at the start of the step, or at its end."""
    if node == 0:
        return par.joint[k, Joint.THETA]
    return z[13 * par.mass.shape[0] + 4 * par.link.shape[0] + k]


def weigh(g, node, par):
    """The energy of all bodies at a node, in a field of gravity g."""
    total = 0.0
    for i in range(par.mass.shape[0]):
        total -= par.mass[i] * dot(g, load3(par.node[node, i], Node.POSITION))
    return total


def energy_in_time(z, node, par):
    """The energy, at this time and at a node, of what may change with t."""
    total = weigh(gravity_now(par), node, par)
    for k in range(par.link.shape[0]):
        if par.link[k, Link.TORSION] >= 0:
            total += torsion_energy(angle_at(z, k, node, par), par.link[k, Link.TORSION], par)
    return total


def growth(z, node, par):
    """Its derivative by the time alone."""
    total = weigh(gravity_slope(par), node, par)
    for k in range(par.link.shape[0]):
        if par.link[k, Link.TORSION] >= 0:
            total += torsion_rate(angle_at(z, k, node, par), par.link[k, Link.TORSION], par)
    return total
