"""The exact rotation of a free body by Jacobi's elliptic functions: as a method, a rotor, and inside DMV("exact")."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np

from ...arrays import Array
from ...geometry.free_rotation import Orbit, evaluate, prepare
from ...geometry.quaternion import hold_length, multiply_right, renew, turn_right
from ...kernels.marks import Kernel
from ...kernels.summation import add
from ...kernels.views import NOT_FINITE, View, dimension, flow
from ..base import Exact, Stepper, Traits, register
from .rotor import Rotor

EXACT_ORDER = 99  # no step error at all; this value serves comparisons of orders

START = 2  # in carry: [known, steps so far, z at the start (7), orbit]
MOTION = 9


def exact_step(z, e, dt, par, tab, work, carry):
    """The state after k steps, evaluated at k dt from the start: errors do not accumulate."""
    if carry[0] == 0.0:
        for i in range(7):
            carry[START + i] = z[i]
        inertia = par.inertia[0]
        status = prepare(inertia[0], inertia[1], inertia[2], z[4], z[5], z[6], carry[MOTION:])
        if status != 0:
            return status
        carry[0] = 1.0
        carry[1] = 0.0
    carry[1] += 1.0
    y1, y2, y3, r0, r1, r2, r3 = evaluate(carry[MOTION:], carry[1] * dt)
    for i in range(4):
        z[i] = carry[START + i]
        e[i] = 0.0
    multiply_right(z[0:4], r0, r1, r2, r3)
    renew(z[0:4], e[0:4])
    z[4] = y1
    z[5] = y2
    z[6] = y3
    for i in range(7):
        e[i] = 0.0
    return 0


def flow_step(z, e, dt, par, tab, work, carry):
    """The same for a system with a known motion: carry holds [known, steps so far, z at the start]."""
    n = dimension(z)
    if carry[0] == 0.0:
        for i in range(n):
            carry[START + i] = z[i]
        carry[0] = 1.0
        carry[1] = 0.0
    status = flow((carry[1] + 1.0) * dt, carry[START : START + n], par, work)
    if status != 0:
        return status
    carry[1] += 1.0
    for i in range(n):
        z[i] = work[i]
        e[i] = 0.0
    return 0


def exact_rotation(y, q, ey, eq, inertia, h, tab):
    """The rotor; tab is scratch for the orbit.

    An orbit too small to resolve counts as steady rotation over any step.
    """
    if prepare(inertia[0], inertia[1], inertia[2], y[0], y[1], y[2], tab) == NOT_FINITE:
        return NOT_FINITE
    y1, y2, y3, r0, r1, r2, r3 = evaluate(tab, h)
    add(y, ey, 0, y1 - y[0])
    add(y, ey, 1, y2 - y[1])
    add(y, ey, 2, y3 - y[2])
    turn_right(q, eq, less_one(r0, r1, r2, r3), r1, r2, r3)
    hold_length(q, eq)
    return 0


def less_one(r0, r1, r2, r3):
    """r0 - 1 of a unit quaternion, without cancellation."""
    if r0 > 0.0:
        return -(r1 * r1 + r2 * r2 + r3 * r3) / (1.0 + r0)
    return r0 - 1.0


def exact_factors(y, inertia, h, tab):
    """Factors that make a Moser-Veselov step the exact flow: 1/It = S a + t with (2/h) e = S J^-1 Y + t Y.

    e is the tangent half-angle vector of the exact rotation, Y = (1 + |e|^2) (y + y')/2 with the momentum y' after the
    step. These are three equations for two unknowns, but they have a solution [hairer2006vilmart]. If J^-1 Y and Y are
    parallel (steady rotation), S alone is enough. (Y = y + e (e.y) - e x y is equivalent, but for a needle it is a
    small difference.)
    """
    a1 = 1.0 / inertia[0]
    a2 = 1.0 / inertia[1]
    a3 = 1.0 / inertia[2]
    if prepare(inertia[0], inertia[1], inertia[2], y[0], y[1], y[2], tab) == NOT_FINITE:
        return 1.0, 1.0, 1.0, 1.0
    y1, y2, y3, r0, r1, r2, r3 = evaluate(tab, h)
    e1 = r1 / r0
    e2 = r2 / r0
    e3 = r3 / r0
    half = 0.5 * (1.0 + e1 * e1 + e2 * e2 + e3 * e3)
    v1 = half * (y[0] + y1)
    v2 = half * (y[1] + y2)
    v3 = half * (y[2] + y3)
    w1 = a1 * v1
    w2 = a2 * v2
    w3 = a3 * v3
    ww = w1 * w1 + w2 * w2 + w3 * w3
    if ww == 0.0:
        return 1.0, 1.0, 1.0, 1.0
    # the part of Y that is not parallel to J^-1 Y, from the differences of the moments. If the moments differ by
    # little, Y minus its parallel part is only rounding error, and so would t be
    s1 = w1 * w1 / ww
    s2 = w2 * w2 / ww
    s3 = w3 * w3 / ww
    d12 = inertia[0] - inertia[1]
    d23 = inertia[1] - inertia[2]
    d31 = inertia[2] - inertia[0]
    n1 = w1 * (d12 * s2 - d31 * s3)
    n2 = w2 * (d23 * s3 - d12 * s1)
    n3 = w3 * (d31 * s1 - d23 * s2)
    nn = n1 * n1 + n2 * n2 + n3 * n3
    k = 2.0 / h
    t = 0.0
    if nn > 1e-28 * (v1 * v1 + v2 * v2 + v3 * v3):
        t = k * (e1 * n1 + e2 * n2 + e3 * n3) / nn
    s = (k * (e1 * w1 + e2 * w2 + e3 * w3) - t * (w1 * v1 + w2 * v2 + w3 * v3)) / ww
    return 1.0 / (s + t * inertia[0]), 1.0 / (s + t * inertia[1]), 1.0 / (s + t * inertia[2]), s


@register
@dataclass(frozen=True)
class Jacobi(Rotor):
    """Exact motion of a free body by elliptic functions.

    y = (k1 cn, k2 sn, k3 dn), the orientation by the argument of a theta function.

    No step error, any dt, any order of the moments. Each sample is evaluated from the start, so errors stay near
    eps (1 + |omega| t). Symplectic, keeps everything. Costs less than a step of `DMV(2)`. As a rotor inside a splitting it starts
    anew in each drift and costs three such steps; `DMV(10)` is then equally accurate and cheaper.

    References
    ----------
    [jacobi1850], [celledoni2008], [carlson1995]
    """

    needs = ("rotor", "flow")

    def rotor_kernel(self) -> Kernel:
        return exact_rotation

    takes_notes = True  # the orbit

    def row(self, moments: Array) -> Array:
        return np.zeros(Orbit.WIDTH)

    def stepper(self, view: View) -> Stepper:
        if view.name == "flow":
            return Stepper(flow_step, np.zeros((1, 1)), view.dimension, START + view.dimension)
        return Stepper(exact_step, np.zeros((1, 1)), 0, MOTION + Orbit.WIDTH)

    @property
    def traits(self) -> Traits:
        keeps = tuple(Exact(what) for what in ("spatial_momentum", "casimir", "energy", "unit", "axial", "linear"))
        return Traits(
            EXACT_ORDER, True, True, True, keeps, ("jacobi1850", "celledoni2008", "carlson1995"), inf, exact=True
        )
