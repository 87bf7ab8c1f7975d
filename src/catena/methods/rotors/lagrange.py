"""The exact motion of a symmetric heavy top, by theta functions."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np

from ...geometry.lagrange_motion import evaluate, prepare
from ...geometry.lagrange_orbit import Orbit
from ...geometry.quaternion import renew
from ...kernels.views import View
from ..base import Exact, Method, Stepper, Traits, register
from .jacobi import EXACT_ORDER

MOTION = 2  # in carry: [known, steps so far, orbit]


def lagrange_step(z, e, dt, par, tab, work, carry):
    """The state after k steps, evaluated at k dt from the start: errors do not accumulate."""
    if carry[0] == 0.0:
        top = par.symmetric
        status = prepare(int(top[0]), top[1], top[2], top[3], z[0:4], z[4:7], carry[MOTION:])
        if status != 0:
            return status
        carry[0] = 1.0
        carry[1] = 0.0
    carry[1] += 1.0
    z[0], z[1], z[2], z[3], z[4], z[5], z[6] = evaluate(carry[MOTION:], carry[1] * dt)
    for i in range(7):
        e[i] = 0.0
    renew(z[0:4], e[0:4])
    for i in range(4):
        e[i] = 0.0
    return 0


@register
@dataclass(frozen=True)
class Lagrange(Method):
    """Exact motion of Lagrange's top by theta functions: two equal moments, the centre of mass on the axis.

    q0 + i q3, q1 + i q2 and y1 + i y2 are quotients of theta functions, with no pole where the axis is vertical. The spherical pendulum
    is the top that does not spin.

    No step error, any dt. Each sample is evaluated from the start, so errors stay near eps (1 + |omega| t), also near the
    separatrix, near steady precession and for sleeping tops. Symplectic, keeps everything. A sample costs a tenth of a step of
    `Splitting(6)`. Choose it for every top that it can treat; prefer `top.exact(t, start)` for a few times, in any order.

    Examples
    --------
    ::

        run = ct.simulate(ct.problems.lagrange_top(), method=ct.Lagrange(), dt=0.5, t_end=10.0)
        run.final.angular_momentum  # as ct.problems.lagrange_top().exact(10.0) has it

    References
    ----------
    [lagrange1788], [jacobi1882], [klein1897]
    """

    needs = ("symmetric",)

    @property
    def traits(self) -> Traits:
        keeps = tuple(Exact(what) for what in ("energy", "bilinear", "vertical", "axial", "unit", "quadratic"))
        cite = ("lagrange1788", "jacobi1882", "klein1897")
        return Traits(EXACT_ORDER, True, True, True, keeps, cite, inf, exact=True)

    def stepper(self, view: View) -> Stepper:
        return Stepper(lagrange_step, np.zeros((1, 1)), 0, MOTION + Orbit.WIDTH)
