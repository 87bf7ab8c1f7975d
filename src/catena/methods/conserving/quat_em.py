"""The energy- and momentum-conserving step for a top in quaternions [betsch2009], reduced to three unknowns.

With the mean angular velocity w = J^-1 (y0 + y1)/2, the pure quaternion a = h w/4, N = 1 + |a|^2, b = (1 + a)/sqrt N and
c = b^2:

    q1 = q0 * c,      y1 = R(c)^T y0 + (h/N) R(b)^T tau,      tau = -rot(R(q0 b)^T W)

where W is the discrete gradient of U between R(q0) and R(q1): U1 - U0 = W : (R1 - R0). Since R is quadratic in q, the
energy is kept exactly; |q| is kept because c is a unit quaternion; the vertical momentum if U depends on the vertical only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ...geometry.quaternion import product, rotation, to_body, turn_right
from ...geometry.vectors import add as sum3
from ...geometry.vectors import (
    cross,
    diagonal_times,
    dot,
    inner,
    largest,
    load3,
    plus_scaled,
    scaled,
    scaled_difference,
    subtract,
)
from ...kernels.summation import add
from ...kernels.views import NOT_CONVERGED, View, attitude_gradient, attitude_potential
from ..base import Exact, Method, Stepper, Traits, register
from ..runge_kutta.iteration import DONE, FAILED, judge

SMALL_TURN = 1e-5  # of |dR|: below it the difference of U is noise, and the gradient at the midpoint is exact
ROUNDING = 8.0 * 2.0**-52  # of U


def discrete_torque(r0, r1, middle, par):
    """-rot(M^T W) and its error from rounding U; W = U_R(mean) + (dU - U_R(mean):dR)/|dR|^2 dR.

    M is the rotation at the midpoint. par.rows says on which rows of R the potential depends (1 or 0).
    """
    # only rows on which U depends: a correction along the others would act on the vertical momentum
    d = scaled_difference(load3(par.rows, 0), r0, r1)
    w = attitude_gradient(plus_scaled(r0, 0.5, d), par)
    square = inner(d, d)
    noise = 0.0
    if square > SMALL_TURN * SMALL_TURN:
        before = attitude_potential(r0, par)
        after = attitude_potential(r1, par)
        noise = ROUNDING * (abs(before) + abs(after)) / math.sqrt(square)
        w = plus_scaled(w, (after - before - inner(w, d)) / square, d)
    m = middle
    # rot(M^T W): (M^T W)_ij = sum_k m_ki w_kj
    torque = (
        m[1] * w[2] + m[4] * w[5] + m[7] * w[8] - m[2] * w[1] - m[5] * w[4] - m[8] * w[7],
        m[2] * w[0] + m[5] * w[3] + m[8] * w[6] - m[0] * w[2] - m[3] * w[5] - m[6] * w[8],
        m[0] * w[1] + m[3] * w[4] + m[6] * w[7] - m[1] * w[0] - m[4] * w[3] - m[7] * w[6],
    )
    return torque, noise


def momentum_change(q0, r0, y0, w, dt, par):
    """y1 - y0 and the turn c - 1 of a step with the mean angular velocity w, and the error of y1 from rounding U."""
    a = scaled(0.25 * dt, w)
    square = dot(a, a)
    n = 1.0 + square
    # c - 1 = (-2 |a|^2, 2 a)/N
    c0 = -(2.0 / n) * square
    v = scaled(2.0 / n, a)
    half = 1.0 / math.sqrt(n)
    b = (half, half * a[0], half * a[1], half * a[2])
    r1 = rotation(product(q0, (1.0 + c0, v[0], v[1], v[2])))
    torque, noise = discrete_torque(r0, r1, rotation(product(q0, b)), par)
    torque = scaled(dt / n, torque)
    turned = to_body(b, torque[0], torque[1], torque[2])
    # (R(c)^T - 1) y = -2 c0 v x y + 2 v x (v x y), v the vector of c
    x = cross(v, y0)
    free = sum3(scaled(-2.0 * (1.0 + c0), x), scaled(2.0, cross(v, x)))
    return sum3(free, turned), (c0, v[0], v[1], v[2]), noise


def quat_em_step(z, e, dt, par, tab, work, carry):
    """z = (q, y). Fixed-point iteration on the three numbers w; z and e change only if it has converged."""
    q = (z[0], z[1], z[2], z[3])
    y = load3(z, 4)
    r0 = rotation(q)
    inverse = load3(par.inverse, 0)
    w = diagonal_times(inverse, y)
    scale = abs(w[0]) + abs(w[1]) + abs(w[2])
    best = math.inf
    worse = 0
    sweep = 0
    while True:
        d, c, noise = momentum_change(q, r0, y, w, dt, par)
        after = diagonal_times(inverse, sum3(y, scaled(0.5, d)))
        change = largest(subtract(after, w))
        if sweep == 0:  # from rest the effect of the torque is the only scale for comparison
            scale = max(scale, change)
        smallest = 0.0 if change <= 0.5 * abs(dt) * largest(inverse) * noise else change
        if change > 0.0:
            change /= scale
            smallest /= scale
        w = after
        sweep += 1
        decision, best, worse = judge(change, smallest, best, worse, sweep)
        if decision == DONE:
            break
        if decision == FAILED:
            return NOT_CONVERGED
    for k in range(3):
        add(z, e, 4 + k, d[k])
    turn_right(z[0:4], e[0:4], c[0], c[1], c[2], c[3])
    return 0


@register
@dataclass(frozen=True)
class QuatEM(Method):
    """Energy-momentum step for tops in quaternions.

    Order 2, symmetric, not symplectic. Keeps the energy of any potential, |q| and the vertical momentum exactly. The momentum
    about the axis of a symmetric top is not kept exactly; its error stays bounded. Choose this method where energy must not
    change at all; prefer `Splitting` for accuracy.

    References
    ----------
    [betsch2009], with the discrete gradient taken on the elements of R: on q itself it would lose the vertical momentum.
    """

    needs = ("quat_em",)

    def stepper(self, view: View) -> Stepper:
        return Stepper(quat_em_step, np.zeros((1, 1)), 4, 0)

    @property
    def traits(self) -> Traits:
        keeps = (Exact("energy"), Exact("vertical"), Exact("unit"))
        return Traits(2, False, True, False, keeps, ("betsch2009",), 0.0)
