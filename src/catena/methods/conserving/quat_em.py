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
from ...geometry.vectors import cross, diagonal_times, dot, largest, load3, scaled, subtract
from ...kernels.summation import add
from ...kernels.views import NOT_CONVERGED, View, attitude_gradient, attitude_potential
from ..base import Exact, Method, Stepper, Traits, register
from ..runge_kutta.iteration import DONE, FAILED, judge

SMALL_TURN = 1e-5  # of |dR|: below it the difference of U is noise, and the gradient in the middle is exact
ROUNDING = 8.0 * 2.0**-52  # of U


def discrete_torque(r0, r1, middle, par):
    """-rot(M^T W), M the rotation in the middle, W = U_R(mean) + (dU - U_R(mean):dR)/|dR|^2 dR; and what rounding U does to it.

    par.rows says which rows of R the potential depends on (1 or 0).
    """
    a1, a2, a3, a4, a5, a6, a7, a8, a9 = r0
    b1, b2, b3, b4, b5, b6, b7, b8, b9 = r1
    m1, m2, m3, m4, m5, m6, m7, m8, m9 = middle
    # only rows that U depends on: a correction along the others would act on the vertical momentum
    s1 = par.rows[0]
    s2 = par.rows[1]
    s3 = par.rows[2]
    d1 = s1 * (b1 - a1)
    d2 = s1 * (b2 - a2)
    d3 = s1 * (b3 - a3)
    d4 = s2 * (b4 - a4)
    d5 = s2 * (b5 - a5)
    d6 = s2 * (b6 - a6)
    d7 = s3 * (b7 - a7)
    d8 = s3 * (b8 - a8)
    d9 = s3 * (b9 - a9)
    mean = (
        a1 + 0.5 * d1, a2 + 0.5 * d2, a3 + 0.5 * d3, a4 + 0.5 * d4, a5 + 0.5 * d5, a6 + 0.5 * d6,
        a7 + 0.5 * d7, a8 + 0.5 * d8, a9 + 0.5 * d9,
    )  # fmt: skip
    w1, w2, w3, w4, w5, w6, w7, w8, w9 = attitude_gradient(mean, par)
    square = d1 * d1 + d2 * d2 + d3 * d3 + d4 * d4 + d5 * d5 + d6 * d6 + d7 * d7 + d8 * d8 + d9 * d9
    noise = 0.0
    if square > SMALL_TURN * SMALL_TURN:
        along = w1 * d1 + w2 * d2 + w3 * d3 + w4 * d4 + w5 * d5 + w6 * d6 + w7 * d7 + w8 * d8 + w9 * d9
        before = attitude_potential(r0, par)
        after = attitude_potential(r1, par)
        k = (after - before - along) / square
        noise = ROUNDING * (abs(before) + abs(after)) / math.sqrt(square)
        w1 += k * d1
        w2 += k * d2
        w3 += k * d3
        w4 += k * d4
        w5 += k * d5
        w6 += k * d6
        w7 += k * d7
        w8 += k * d8
        w9 += k * d9
    # rot(M^T W): (M^T W)_ij = sum_k m_ki w_kj
    return (
        m2 * w3 + m5 * w6 + m8 * w9 - m3 * w2 - m6 * w5 - m9 * w8,
        m3 * w1 + m6 * w4 + m9 * w7 - m1 * w3 - m4 * w6 - m7 * w9,
        m1 * w2 + m4 * w5 + m7 * w8 - m2 * w1 - m5 * w4 - m8 * w7,
        noise,
    )


def momentum_change(q0, r0, y0, w, dt, par):
    """y1 - y0 and the turn c - 1 of a step with the mean angular velocity w, and what rounding U does to y1."""
    a = scaled(0.25 * dt, w)
    square = dot(a, a)
    n = 1.0 + square
    # c - 1 = (-2 |a|^2, 2 a)/N
    c0 = -(2.0 / n) * square
    v = scaled(2.0 / n, a)
    half = 1.0 / math.sqrt(n)
    b = (half, half * a[0], half * a[1], half * a[2])
    r1 = rotation(product(q0, (1.0 + c0, v[0], v[1], v[2])))
    t1, t2, t3, noise = discrete_torque(r0, r1, rotation(product(q0, b)), par)
    turned = to_body(b, dt / n * t1, dt / n * t2, dt / n * t3)
    # (R(c)^T - 1) y = -2 c0 v x y + 2 v x (v x y), v the vector of c
    x = cross(v, y0)
    free = sum3(scaled(-2.0 * (1.0 + c0), x), scaled(2.0, cross(v, x)))
    return sum3(free, turned), (c0, v[0], v[1], v[2]), noise


def quat_em_step(z, e, dt, par, tab, work, carry):
    """z = (q, y). Fixed point on the three numbers w; z and e change only when it has converged."""
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
        if sweep == 0:  # from rest what the torque does is all there is to compare with
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

    Order 2, symmetric, not symplectic. Keeps the energy of any potential, |q| and the vertical momentum exactly; not the momentum
    about the axis of a symmetric top, whose error stays bounded. Choose it where energy must not move at all; prefer
    `Splitting` for accuracy.

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
