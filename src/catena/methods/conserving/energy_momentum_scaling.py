"""The energy-momentum step for a body that changes its size, with impacts at the bound of the size.

z = (r, q, p, l, s, nu). With Q the rotation, means barred, c = h Theta^-1 lbar/(s0 s1) the Cayley vector of the turn and k = l.Theta^-1 l:

    r1 - r0 = h pbar/m,   p1 - p0 = h F,   Q1 = Q0 cay(c),   Q1 l1 - Q0 l0 = h (sbar sum Qbar rho x f + T)
    s1 - s0 = h nubar,    kappa (nu1 - nu0) = h [(k1 s0 + k0 s1)/(2 s0^2 s1^2) + sum f.Qbar rho + c + lambda]

Since k1/s1^2 - k0/s0^2 = (k1 - k0)/(s0 s1) - (s1 - s0)(k1 s0 + k0 s1)/(s0 s1)^2 and the work of a force at rho is f.(r + s Q rho) at
both ends, the energy is kept exactly; so are Q l and k without moments. lambda holds s1 = s0 where the size is held.
"""

from __future__ import annotations

import math

import numpy as np

from ...geometry.quaternion import cayley, hold_length, to_body, turn_right
from ...kernels.marks import bind, size
from ...kernels.summation import add
from ...kernels.views import NOT_CONVERGED, Flag, View
from ..base import Stepper
from ..runge_kutta.iteration import DONE, FAILED, judge

FLIGHT = 0  # the size moves by the step
HELD = 1  # the size is held by its multiplier
ARRIVAL = 2  # the size arrives at its bound in closed form; only the turn is stepped
IMPACTS = 10_000  # in one step
TRIALS = 100
RESOLUTION = 2.0**-53

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
    """1 if the size is held for ever, else 0."""
    return 0


def mean_arm(x, y, z, c1, c2, c3):
    """(1 - hat c/2)^-1 rho: Qbar rho in the axes of Q0; with K = hat c/2 it is 1 + (K + K^2)/(1 + |c|^2/4)."""
    a = 1.0 / (1.0 + 0.25 * (c1 * c1 + c2 * c2 + c3 * c3))
    u1 = 0.5 * (c2 * z - c3 * y)
    u2 = 0.5 * (c3 * x - c1 * z)
    u3 = 0.5 * (c1 * y - c2 * x)
    v1 = u1 + 0.5 * (c2 * u3 - c3 * u2)
    v2 = u2 + 0.5 * (c3 * u1 - c1 * u3)
    v3 = u3 + 0.5 * (c1 * u2 - c2 * u1)
    return x + a * v1, y + a * v2, z + a * v3


def mean_loads(q, s, c1, c2, c3, par):
    """sbar sum Qbar rho x f + T in the axes of Q0, and the scaling force, over a turn c."""
    m1 = 0.0
    m2 = 0.0
    m3 = 0.0
    push = par.scaling[0]
    for j in range(par.loads.shape[0]):
        a = par.loads[j]
        u1, u2, u3 = mean_arm(a[0], a[1], a[2], c1, c2, c3)
        f1, f2, f3 = to_body(q, a[3], a[4], a[5])
        t1, t2, t3 = to_body(q, a[6], a[7], a[8])
        push += u1 * f1 + u2 * f2 + u3 * f3
        m1 += s * (u2 * f3 - u3 * f2) + t1
        m2 += s * (u3 * f1 - u1 * f3) + t2
        m3 += s * (u1 * f2 - u2 * f1) + t3
    return m1, m2, m3, push


def twice_spin_energy(l1, l2, l3, par):
    """k = l.Theta^-1 l."""
    return par.inverse[0] * l1 * l1 + par.inverse[1] * l2 * l2 + par.inverse[2] * l3 * l3


def find_increments(z, h, how, turned, par, work):
    """Fixed point on the increments of l and s, into work; a status. ARRIVAL: ds, dnu and the turning time are given."""
    s0 = z[13]
    l1 = z[10]
    l2 = z[11]
    l3 = z[12]
    k0 = twice_spin_energy(l1, l2, l3, par)
    scale = abs(l1) + abs(l2) + abs(l3)
    ds = work[DS] if how == ARRIVAL else 0.0
    dnu = work[DNU] if how == ARRIVAL else 0.0
    d1 = 0.0
    d2 = 0.0
    d3 = 0.0
    best = math.inf
    worse = 0
    sweep = 0
    while True:
        s1 = s0 + ds
        if not s1 > 0.0:
            return NOT_CONVERGED
        turn = turned if how == ARRIVAL else h / (s0 * s1)
        b1 = l1 + 0.5 * d1
        b2 = l2 + 0.5 * d2
        b3 = l3 + 0.5 * d3
        c1 = turn * par.inverse[0] * b1
        c2 = turn * par.inverse[1] * b2
        c3 = turn * par.inverse[2] * b3
        m1, m2, m3, push = mean_loads(z[3:7], s0 + 0.5 * ds, c1, c2, c3, par)
        # Qbar^-1 = (1 - hat c/2) Q0^T
        g1 = h * (m1 - 0.5 * (c2 * m3 - c3 * m2)) - (c2 * b3 - c3 * b2)
        g2 = h * (m2 - 0.5 * (c3 * m1 - c1 * m3)) - (c3 * b1 - c1 * b3)
        g3 = h * (m3 - 0.5 * (c1 * m2 - c2 * m1)) - (c1 * b2 - c2 * b1)
        moved = max(abs(g1 - d1), abs(g2 - d2), abs(g3 - d3))
        if sweep == 0:  # from rest what the loads do is all there is to compare with
            scale = max(scale, moved)
        largest = moved / scale if moved > 0.0 else 0.0
        smallest = largest
        d1 = g1
        d2 = g2
        d3 = g3
        if how == FLIGHT:
            k1 = twice_spin_energy(l1 + d1, l2 + d2, l3 + d3, par)
            dnu = h * ((k1 * s0 + k0 * s1) / (2.0 * s0 * s0 * s1 * s1) + push) / par.kappa[0]
            after = h * (z[14] + 0.5 * dnu)
            moved = abs(after - ds) / s0
            largest = max(largest, moved)
            smallest = min(smallest, moved)
            ds = after
        sweep += 1
        decision, best, worse = judge(largest, smallest, best, worse, sweep)
        if decision == DONE:
            break
        if decision == FAILED:
            return NOT_CONVERGED
    work[DS] = ds
    work[DNU] = dnu
    work[DL] = d1
    work[DL + 1] = d2
    work[DL + 2] = d3
    work[TURN] = c1
    work[TURN + 1] = c2
    work[TURN + 2] = c3
    for i in range(3):
        total = 0.0
        for j in range(par.loads.shape[0]):
            total += par.loads[j, 3 + i]
        work[DP + i] = h * total
        work[DR + i] = h * (z[7 + i] + 0.5 * h * total) / par.mass[0]
    return 0


def take_increments(z, e, work):
    """z += the increments; the turn by its Cayley vector."""
    for i in range(3):
        add(z, e, i, work[DR + i])
        add(z, e, 7 + i, work[DP + i])
        add(z, e, 10 + i, work[DL + i])
    add(z, e, 13, work[DS])
    add(z, e, 14, work[DNU])
    # cayley takes the tangent of half the angle, |c|/2
    a, b, c, d = cayley(0.5 * work[TURN], 0.5 * work[TURN + 1], 0.5 * work[TURN + 2])
    turn_right(z[3:7], e[3:7], a, b, c, d)
    hold_length(z[3:7], e[3:7])


def unbounded_step(z, e, dt, par, tab, work, carry):
    """One step of a size that is free, or held for ever."""
    status = find_increments(z, dt, HELD if size_is_held(par) == 1 else FLIGHT, 0.0, par, work)
    if status == 0:
        take_increments(z, e, work)
    return status


def outward_push(z, par):
    """kappa nudot without a multiplier."""
    _, _, _, push = mean_loads(z[3:7], z[13], 0.0, 0.0, 0.0, par)
    return twice_spin_energy(z[10], z[11], z[12], par) / (z[13] * z[13] * z[13]) + push


def arrive(z, e, h, par, work):
    """The flight up to s = 1 in closed form, into work; returns its duration, h or more if the bound is not met within h.

    s^2 = s0^2 + 2 s0 nu0 t + g t^2, and the body turns like a rigid one in the time tau, dtau = dt/s^2.
    """
    s = z[13]
    nu = z[14]
    square = twice_spin_energy(z[10], z[11], z[12], par) / par.kappa[0]
    b = s * nu
    g = nu * nu + square / (s * s)
    room = (1.0 - s - e[13]) * (1.0 + s)
    if g == 0.0 or (square == 0.0 and nu <= 0.0):
        return h, 0.0
    root = math.sqrt(b * b + g * room)
    t = room / (b + root) if b > 0.0 else (root - b) / g
    if t >= h:
        return h, 0.0
    work[DS] = 1.0 - s - e[13]
    work[DNU] = b + g * t - nu
    along = s * (s + nu * t)
    c = math.sqrt(square)
    return t, math.atan2(c * t, along) / c if c > 0.0 else t / along


def find_arrival(z, h, par, work):
    """The part of h after which the stepped size is 1; 0 if it cannot be found. The size must be above 1 after h."""
    low = h
    below = 1.0
    for _ in range(TRIALS):  # a flight that starts at the bound is below it for a while
        low *= 0.5
        if find_increments(z, low, FLIGHT, 0.0, par, work) != 0:
            return 0.0
        below = z[13] + work[DS] - 1.0
        if below <= 0.0:
            break
    high = h
    for _ in range(TRIALS):
        middle = 0.5 * (low + high)
        if middle <= low or middle >= high:
            break
        if find_increments(z, middle, FLIGHT, 0.0, par, work) != 0:
            return 0.0
        if z[13] + work[DS] > 1.0:
            high = middle
        else:
            low = middle
    return high if below <= 0.0 else 0.0


def rebound(z, e, par):
    """nu -> -restitution nu; 0 if the flight would not leave the resolution of s = 1, so that impacts do come to an end."""
    back = par.scaling[1] * z[14]
    z[14] = -back
    e[14] = 0.0
    if back * back * par.kappa[0] <= 2.0 * RESOLUTION * outward_push(z, par):
        z[14] = 0.0


def bounded_step(z, e, dt, par, tab, work, carry):
    """One step of a size that is at most 1: flights, impacts and contact. Contact ends with a step, where lambda > 0."""
    for i in range(DIMENSION):
        work[KEPT + i] = z[i]
        work[KEPT + DIMENSION + i] = e[i]
    left = dt
    for _ in range(IMPACTS):
        at_bound = z[13] == 1.0
        if at_bound and z[14] > 0.0:
            rebound(z, e, par)
        how = HELD if at_bound and z[14] == 0.0 and outward_push(z, par) > 0.0 else FLIGHT
        part = left
        turned = 0.0
        if how == FLIGHT and is_free_flight(par) == 1:
            part, turned = arrive(z, e, left, par, work)
            if part < left:
                how = ARRIVAL
        status = find_increments(z, part, how, turned, par, work)
        if status == 0 and how == FLIGHT and z[13] + (e[13] + work[DS]) > 1.0:
            if is_free_flight(par) == 0:
                part = find_arrival(z, left, par, work)
                status = NOT_CONVERGED if part == 0.0 else find_increments(z, part, FLIGHT, 0.0, par, work)
            how = ARRIVAL
        if status != 0:
            break
        take_increments(z, e, work)
        if how != ARRIVAL:
            return 0
        z[13] = 1.0
        e[13] = 0.0
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
