"""Implicit Runge-Kutta steps whose iteration stops at a tolerance, as a published table has it.

For that comparison only, and so no method of the library: what the iteration leaves acts on the energy like noise with a sign, and
over millions of steps it shows (`catena.methods.iteration` stops at round-off instead).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..kernel import bind, inline
from ..methods import stages
from ..methods.base import Method, Stepper, Traits
from ..methods.implicit import finish
from ..methods.stages import begin, lane_count, used, whole_sweep
from ..views import NOT_CONVERGED, View, dimension

TOLERANCE = 1e-10
SWEEPS = 200


@inline
def stopped_step(z, e, dt, par, tab, work, carry):
    """Sweeps until the stages change by no more than the tolerance, relative to the size of q and of p."""
    begin(z, e, par, tab, work, carry)
    for number in range(SWEEPS):
        largest, smallest = whole_sweep(z, e, dt, par, tab, work)
        if largest <= TOLERANCE:
            carry[dimension(z) * lane_count(tab) + 1] += number + 1
            return finish(z, e, tab, work, carry)
    return NOT_CONVERGED


@dataclass(frozen=True)
class Stopped(Method):
    """Another method with its iteration stopped at the tolerance."""

    method: Any

    name = "Stopped"
    needs = ("canonical", "field")

    @property
    def traits(self) -> Traits:
        return self.method.traits

    def stepper(self, view: View) -> Stepper:
        tableau = self.method.tableau()
        tab = stages.table(tableau)
        kernel = bind(stopped_step, dict(stages.fills(view, tableau.stages)))
        return Stepper(kernel, tab, used(np.empty(view.dimension), tab), view.dimension * tab.shape[1] + 5, packed=True)

    def __str__(self) -> str:
        return f"{self.method}, stopped at {TOLERANCE:g}"
