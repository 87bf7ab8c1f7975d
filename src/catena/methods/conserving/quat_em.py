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

from ...geometry.quaternion import rotation, to_body, turn_right
from ...kernels.summation import add
from ...kernels.views import NOT_CONVERGED, View, attitude_gradient, attitude_potential
from ..base import Exact, Method, Stepper, Traits, register
from ..runge_kutta.iteration import DONE, FAILED, judge

SMALL_TURN = 1e-5  # of |dR|: below it the difference of U is noise, and the gradient in the middle is exact
ROUNDING = 8.0 * 2.0**-52  # of U


def turned(q, a, b, c, d):
    """q * (a, b, c, d) as four numbers."""
    q0 = q[0]
    q1 = q[1]
    q2 = q[2]
    q3 = q[3]
    return (
        q0 * a - q1 * b - q2 * c - q3 * d,
        q0 * b + q1 * a + q2 * d - q3 * c,
        q0 * c + q2 * a + q3 * b - q1 * d,
        q0 * d + q3 * a + q1 * c - q2 * b,
    )


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


def quat_em_step(z, e, dt, par, tab, work, carry):
    """z = (q, y). Fixed point on the three numbers w; z and e change only when it has converged."""
    y1 = z[4]
    y2 = z[5]
    y3 = z[6]
    r0 = rotation(z)
    q = work[0:4]
    w1 = par.inverse[0] * y1
    w2 = par.inverse[1] * y2
    w3 = par.inverse[2] * y3
    scale = abs(w1) + abs(w2) + abs(w3)
    lightest = max(par.inverse[0], par.inverse[1], par.inverse[2])
    best = math.inf
    worse = 0
    sweep = 0
    while True:
        a1 = 0.25 * dt * w1
        a2 = 0.25 * dt * w2
        a3 = 0.25 * dt * w3
        square = a1 * a1 + a2 * a2 + a3 * a3
        n = 1.0 + square
        # c - 1 = (-2 |a|^2, 2 a)/N
        s = 2.0 / n
        c0 = -s * square
        q[0], q[1], q[2], q[3] = turned(z, 1.0 + c0, s * a1, s * a2, s * a3)
        r1 = rotation(q)
        half = 1.0 / math.sqrt(n)
        q[0], q[1], q[2], q[3] = turned(z, half, half * a1, half * a2, half * a3)
        t1, t2, t3, noise = discrete_torque(r0, r1, rotation(q), par)
        q[0] = half
        q[1] = half * a1
        q[2] = half * a2
        q[3] = half * a3
        t1, t2, t3 = to_body(q, dt / n * t1, dt / n * t2, dt / n * t3)
        # (R(c)^T - 1) y = -2 c0 v x y + 2 v x (v x y), v the vector of c
        v1 = s * a1
        v2 = s * a2
        v3 = s * a3
        x1 = v2 * y3 - v3 * y2
        x2 = v3 * y1 - v1 * y3
        x3 = v1 * y2 - v2 * y1
        d1 = -2.0 * (1.0 + c0) * x1 + 2.0 * (v2 * x3 - v3 * x2) + t1
        d2 = -2.0 * (1.0 + c0) * x2 + 2.0 * (v3 * x1 - v1 * x3) + t2
        d3 = -2.0 * (1.0 + c0) * x3 + 2.0 * (v1 * x2 - v2 * x1) + t3
        u1 = par.inverse[0] * (y1 + 0.5 * d1)
        u2 = par.inverse[1] * (y2 + 0.5 * d2)
        u3 = par.inverse[2] * (y3 + 0.5 * d3)
        change = max(abs(u1 - w1), abs(u2 - w2), abs(u3 - w3))
        if sweep == 0:  # from rest what the torque does is all there is to compare with
            scale = max(scale, change)
        smallest = 0.0 if change <= 0.5 * abs(dt) * lightest * noise else change
        if change > 0.0:
            change /= scale
            smallest /= scale
        w1 = u1
        w2 = u2
        w3 = u3
        sweep += 1
        decision, best, worse = judge(change, smallest, best, worse, sweep)
        if decision == DONE:
            break
        if decision == FAILED:
            return NOT_CONVERGED
    add(z, e, 4, d1)
    add(z, e, 5, d2)
    add(z, e, 6, d3)
    turn_right(z[0:4], e[0:4], c0, v1, v2, v3)
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
