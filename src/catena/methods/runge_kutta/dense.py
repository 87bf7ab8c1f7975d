"""Points between the steps of Gauss methods, on the collocation polynomial [hairer2006] section II.1.2.

A step of length h = span dt has the increments L_j; at the fraction theta of it

    z(theta) = z + (e + sum_j beta_j(theta) L_j),      beta_j(theta) = (integral of l_j from 0 to theta)/b_j
             = theta + 1/2 sum_{k=1..s-1} P_k(x_j) (P_{k+1}(x) - P_{k-1}(x)),      x = 2 theta - 1,

with the Lagrange polynomials l_j of the nodes c_j = (1 + x_j)/2 and the Legendre polynomials P_k, which are orthogonal
in the sums of the quadrature. The polynomial has degree s: points on it are accurate to order s + 1, the ends of steps
to 2 s.

carry: [what is known, position, z and e at the beginning of the step, z and e at its end], then the carry of the method
itself.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.polynomial import legendre
from numpy.typing import NDArray

from ...kernels.marks import Kernel, bind, size
from ...kernels.views import View, dimension, step
from ..base import Stepper
from .stages import lane_count, lanes_for, stage_count
from .tableaux import Collocation

KNOWN = 0  # 0: nothing; 1: a step; TRIAL: the next step is a separate one, from where a crossing is searched for
POSITION = 1  # in units of dt since the beginning of the step, 1 to `span`
OWN = 2
TRIAL = 2.0


@size
def span(tab):
    """Length of a step in dt; always replaced by a literal."""
    return 1


def dense_step(z, e, dt, par, tab, work, carry):
    """The state dt later: the end of a step, or a point on its polynomial."""
    n = dimension(z)
    first = carry[OWN : OWN + n]
    first_low = carry[OWN + n : OWN + 2 * n]
    last = carry[OWN + 2 * n : OWN + 3 * n]
    last_low = carry[OWN + 3 * n : OWN + 4 * n]
    own = carry[OWN + 4 * n :]
    trial = carry[KNOWN] == TRIAL
    if carry[KNOWN] != 1.0:
        for k in range(n):
            last[k] = z[k]
            last_low[k] = e[k]
        carry[POSITION] = span(tab)
        carry[KNOWN] = 1.0
    if carry[POSITION] == span(tab):
        for k in range(n):
            first[k] = last[k]
            first_low[k] = last_low[k]
        status = step(last, last_low, dt if trial else span(tab) * dt, par, tab, work, own)
        if status != 0:
            return status
        carry[POSITION] = span(tab) - 1 if trial else 0.0
    carry[POSITION] += 1.0
    for k in range(n):
        z[k] = last[k]
        e[k] = last_low[k]
    if carry[POSITION] < span(tab):
        weights = par.between[int(carry[POSITION]) - 1]
        for k in range(n):
            increment = first_low[k]
            for j in range(stage_count(tab)):
                increment += weights[j] * own[k * lane_count(tab) + j]
            z[k] = first[k] + increment
            e[k] = increment - (z[k] - first[k])
    return 0


def rewind_dense(carry):
    """Forget the solution: crossings are located with separate steps, because the polynomial has a lower order."""
    for k in range(carry.shape[0]):
        carry[k] = 0.0
    carry[KNOWN] = TRIAL


def weights_between(t: Collocation, spanned: int) -> NDArray[np.float64]:
    """beta_j at theta = 1/span, 2/span, ..., (span - 1)/span: (span - 1, s)."""
    theta = np.arange(1, spanned) / spanned
    at_nodes = legendre.legvander(2.0 * t.c - 1.0, t.stages)
    at_theta = legendre.legvander(2.0 * theta - 1.0, t.stages)
    weights = np.repeat(theta[:, None], t.stages, axis=1)
    for k in range(1, t.stages):  # one by one: a matrix product may round in another order on another machine
        weights += 0.5 * (at_theta[:, k + 1] - at_theta[:, k - 1])[:, None] * at_nodes[:, k]
    return weights


def with_dense_output(stepper: Stepper, view: View, t: Collocation, spanned: int) -> Stepper:
    """A stepper whose steps span several dt."""
    sizes = {span: spanned, stage_count: t.stages, lane_count: lanes_for(t.stages)}

    def spanning(kernel: Kernel) -> Kernel:
        return bind(dense_step, {step: kernel, **sizes})

    together = stepper.side_by_side
    return replace(
        stepper, kernel=spanning(stepper.kernel), side_by_side=together and replace(together, kernel=spanning(together.kernel)),
        carry=OWN + 4 * view.dimension + stepper.carry, rewind=rewind_dense,
        parameters={**stepper.parameters, "between": weights_between(t, spanned)},
    )  # fmt: skip
