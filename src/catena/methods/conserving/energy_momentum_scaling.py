"""The energy-momentum step for a body that changes its scale, with impacts at the bound of the scale.

z = (r, q, p, l, s, nu). With Q the rotation, bars for means, c = h Theta^-1 lbar/(s0 s1) the Cayley vector of the turn
and k = l.Theta^-1 l:

    r1 - r0 = h pbar/m,   p1 - p0 = h F,   Q1 = Q0 cay(c),   Q1 l1 - Q0 l0 = h (sbar sum Qbar rho x f + T)
    s1 - s0 = h nubar,    kappa (nu1 - nu0) = h [(k1 s0 + k0 s1)/(2 s0^2 s1^2) + sum f.Qbar rho + c + lambda]

Since k1/s1^2 - k0/s0^2 = (k1 - k0)/(s0 s1) - (s1 - s0)(k1 s0 + k0 s1)/(s0 s1)^2 and the work of a force at rho is
f.(r + s Q rho) at both ends, the energy is kept exactly; so are Q l and k without moments. lambda enforces s1 = s0
while the scale is held.
"""

from __future__ import annotations

import numpy as np

from ...geometry.quaternion import cayley, hold_length, to_body, turn_right
from ...geometry.vectors import ZERO, cross, diagonal_times, dot, largest, load3, scaled, store3, subtract
from ...geometry.vectors import add as sum3
from ...kernels import elementary as math
from ...kernels.marks import bind, size
from ...kernels.summation import add
from ...kernels.views import NOT_CONVERGED, Flag, View
from ..base import Stepper
from ..runge_kutta.iteration import DONE, FAILED, judge

FLIGHT = 0  # the step moves the scale
HELD = 1  # the multiplier holds the scale
ARRIVAL = 2  # the scale reaches its bound in closed form; only the turn is stepped
IMPACTS = 10_000  # in one step
TRIALS = 100
RESOLUTION = 2.0**-53

# z: position, quaternion, momentum, body angular momentum at scale 1, scale and its rate
R = 0
Q = 3
P = 7
L = 10
S = 13
NU = 14

# par.loads[j]: point of application in the body, force and moment in space
POINT = 0
FORCE = 3
MOMENT = 6

# work: increments of s, nu, l, the turn c, p, r; then z and e at the start of the step
DS = 0
DNU = 1
DL = 2
TURN = 5
DP = 8
DR = 11
KEPT = 14
DIMENSION = 15


@size
def is_free_flight(par):
    """1 if no forces act, so that the arrival at the bound is known in closed form, else 0."""
    return 0


@size
def size_is_held(par):
    """1 if the scale is held permanently, else 0."""
    return 0


def mean_arm(rho, c):
    """(1 - hat c/2)^-1 rho: Qbar rho in the axes of Q0; with K = hat c/2 it is 1 + (K + K^2)/(1 + |c|^2/4)."""
    u = scaled(0.5, cross(c, rho))
    v = sum3(u, scaled(0.5, cross(c, u)))
    return sum3(rho, scaled(1.0 / (1.0 + 0.25 * dot(c, c)), v))


def mean_loads(q, s, c, par):
    """sbar sum Qbar rho x f + T in the axes of Q0, and the scaling force, over a turn c."""
    moment = ZERO
    push = par.scaling[0]
    for j in range(par.loads.shape[0]):
        load = par.loads[j]
        f = load3(load, FORCE)
        m = load3(load, MOMENT)
        arm = mean_arm(load3(load, POINT), c)
        force = to_body(q, f[0], f[1], f[2])
        torque = to_body(q, m[0], m[1], m[2])
        push += dot(arm, force)
        moment = sum3(moment, sum3(scaled(s, cross(arm, force)), torque))
    return moment, push


def twice_spin_energy(l, par):
    """k = l.Theta^-1 l."""
    return par.inverse[0] * l[0] * l[0] + par.inverse[1] * l[1] * l[1] + par.inverse[2] * l[2] * l[2]


def find_increments(z, h, how, turned, par, work):
    """Fixed-point iteration for the increments of l and s, into work; a status.

    ARRIVAL: ds, dnu and the turning time are given.
    """
    s0 = z[S]
    l0 = load3(z, L)
    k0 = twice_spin_energy(l0, par)
    scale = abs(l0[0]) + abs(l0[1]) + abs(l0[2])
    ds = work[DS] if how == ARRIVAL else 0.0
    dnu = work[DNU] if how == ARRIVAL else 0.0
    dl = ZERO
    best = math.inf
    worse = 0
    sweep = 0
    while True:
        s1 = s0 + ds
        if not s1 > 0.0:
            return NOT_CONVERGED
        turn = turned if how == ARRIVAL else h / (s0 * s1)
        mean = sum3(l0, scaled(0.5, dl))
        c = diagonal_times(scaled(turn, load3(par.inverse, 0)), mean)
        moment, push = mean_loads(z[Q:P], s0 + 0.5 * ds, c, par)
        # Qbar^-1 = (1 - hat c/2) Q0^T
        pulled = scaled(h, subtract(moment, scaled(0.5, cross(c, moment))))
        after = subtract(pulled, cross(c, mean))
        moved = largest(subtract(after, dl))
        if sweep == 0:  # from rest the effect of the loads is the only scale for comparison
            scale = max(scale, moved)
        most = moved / scale if moved > 0.0 else 0.0
        least = most
        dl = after
        if how == FLIGHT:
            k1 = twice_spin_energy(sum3(l0, dl), par)
            dnu = h * ((k1 * s0 + k0 * s1) / (2.0 * s0 * s0 * s1 * s1) + push) / par.kappa[0]
            grown = h * (z[NU] + 0.5 * dnu)
            moved = abs(grown - ds) / s0
            most = max(most, moved)
            least = min(least, moved)
            ds = grown
        sweep += 1
        decision, best, worse = judge(most, least, best, worse, sweep)
        if decision == DONE:
            break
        if decision == FAILED:
            return NOT_CONVERGED
    work[DS] = ds
    work[DNU] = dnu
    store3(work, DL, dl)
    store3(work, TURN, c)
    push_along(z, h, par, work)
    return 0


def push_along(z, h, par, work):
    """Compute the increments of p and r, on which nothing else depends, into work."""
    for i in range(3):
        total = 0.0
        for j in range(par.loads.shape[0]):
            total += par.loads[j, FORCE + i]
        work[DP + i] = h * total
        work[DR + i] = h * (z[P + i] + 0.5 * h * total) / par.mass[0]


def take_increments(z, e, work):
    """z += the increments; the turn is applied by its Cayley vector."""
    for i in range(3):
        add(z, e, R + i, work[DR + i])
        add(z, e, P + i, work[DP + i])
        add(z, e, L + i, work[DL + i])
    add(z, e, S, work[DS])
    add(z, e, NU, work[DNU])
    # cayley takes the tangent of half the angle, |c|/2
    a, b, c, d = cayley(0.5 * work[TURN], 0.5 * work[TURN + 1], 0.5 * work[TURN + 2])
    turn_right(z[Q:P], e[Q:P], a, b, c, d)
    hold_length(z[Q:P], e[Q:P])


def unbounded_step(z, e, dt, par, tab, work, carry):
    """One step of a scale that is free, or held permanently."""
    status = find_increments(z, dt, HELD if size_is_held(par) == 1 else FLIGHT, 0.0, par, work)
    if status == 0:
        take_increments(z, e, work)
    return status


def outward_push(z, par):
    """kappa nudot without a multiplier."""
    _, push = mean_loads(z[Q:P], z[S], ZERO, par)
    return twice_spin_energy(load3(z, L), par) / (z[S] * z[S] * z[S]) + push


def arrive(z, e, h, par, work):
    """The flight up to s = 1 in closed form, into work; returns its duration, at least h if it takes longer than h.

    s^2 = s0^2 + 2 s0 nu0 t + g t^2, and the body turns like a rigid one in the time tau, dtau = dt/s^2.
    """
    s = z[S]
    nu = z[NU]
    square = twice_spin_energy(load3(z, L), par) / par.kappa[0]
    b = s * nu
    g = nu * nu + square / (s * s)
    room = (1.0 - s - e[S]) * (1.0 + s)
    if g == 0.0 or (square == 0.0 and nu <= 0.0):
        return h, 0.0
    root = math.sqrt(b * b + g * room)
    t = room / (b + root) if b > 0.0 else (root - b) / g
    if t >= h:
        return h, 0.0
    work[DS] = 1.0 - s - e[S]
    work[DNU] = b + g * t - nu
    along = s * (s + nu * t)
    c = math.sqrt(square)
    return t, math.atan2(c * t, along) / c if c > 0.0 else t / along


def find_arrival(z, h, par, work):
    """The part of h after which the stepped scale is 1; 0 if it cannot be found. The scale must be above 1 after h."""
    low = h
    below = 1.0
    for _ in range(TRIALS):  # a flight that starts at the bound is below it for a while
        low *= 0.5
        if find_increments(z, low, FLIGHT, 0.0, par, work) != 0:
            return 0.0
        below = z[S] + work[DS] - 1.0
        if below <= 0.0:
            break
    high = h
    for _ in range(TRIALS):
        middle = 0.5 * (low + high)
        if middle <= low or middle >= high:
            break
        if find_increments(z, middle, FLIGHT, 0.0, par, work) != 0:
            return 0.0
        if z[S] + work[DS] > 1.0:
            high = middle
        else:
            low = middle
    return high if below <= 0.0 else 0.0


def rebound(z, e, par):
    """nu -> -restitution nu; 0 if the flight would not leave the resolution of s = 1, so that impacts end."""
    back = par.scaling[1] * z[NU]
    z[NU] = -back
    e[NU] = 0.0
    if back * back * par.kappa[0] <= 2.0 * RESOLUTION * outward_push(z, par):
        z[NU] = 0.0


def bounded_step(z, e, dt, par, tab, work, carry):
    """One step of a scale of at most 1: flights, impacts and contact.

    Contact ends at the end of a step with lambda > 0.
    """
    for i in range(DIMENSION):
        work[KEPT + i] = z[i]
        work[KEPT + DIMENSION + i] = e[i]
    left = dt
    for _ in range(IMPACTS):
        at_bound = z[S] == 1.0
        if at_bound and z[NU] > 0.0:
            rebound(z, e, par)
        how = HELD if at_bound and z[NU] == 0.0 and outward_push(z, par) > 0.0 else FLIGHT
        part = left
        turned = 0.0
        if how == FLIGHT and is_free_flight(par) == 1:
            part, turned = arrive(z, e, left, par, work)
            if part < left:
                how = ARRIVAL
        status = find_increments(z, part, how, turned, par, work)
        if status == 0 and how == FLIGHT and z[S] + (e[S] + work[DS]) > 1.0:
            if is_free_flight(par) == 0:
                part = find_arrival(z, left, par, work)
                status = NOT_CONVERGED if part == 0.0 else find_increments(z, part, FLIGHT, 0.0, par, work)
            how = ARRIVAL
        if status != 0:
            break
        take_increments(z, e, work)
        if how != ARRIVAL:
            return 0
        z[S] = 1.0
        e[S] = 0.0
        left -= part
    for i in range(DIMENSION):
        z[i] = work[KEPT + i]
        e[i] = work[KEPT + DIMENSION + i]
    return NOT_CONVERGED


def scaling_stepper(view: View) -> Stepper:
    """The step on the view of a scaling body."""
    fills = {is_free_flight: int(Flag.FREE in view.flags), size_is_held: int(Flag.EQUALITY in view.flags)}
    kernel = bounded_step if Flag.UNILATERAL in view.flags else unbounded_step
    return Stepper(bind(kernel, fills), np.zeros((1, 1)), KEPT + 2 * DIMENSION, 0)
