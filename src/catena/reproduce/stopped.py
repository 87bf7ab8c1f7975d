"""Implicit Runge-Kutta steps whose iteration stops at a tolerance, as in a published table.

For that comparison only, and so not a method of the library: the remaining error of the iteration acts on the energy
like noise with a sign, and over millions of steps it shows (`catena.methods.runge_kutta.iteration` stops at round-off
instead).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..kernels.marks import bind, inline
from ..kernels.views import NOT_CONVERGED, View, dimension
from ..methods.base import Method, Stepper, Traits
from ..methods.runge_kutta import stages
from ..methods.runge_kutta.implicit import finish
from ..methods.runge_kutta.stages import begin, count_used, lane_count, whole_sweep

if TYPE_CHECKING:
    from ..methods.runge_kutta.implicit import Gauss, RadauIIA, SunGeng

SWEEPS = 200


@inline
def stopped_step(z, e, dt, par, tab, work, carry):
    """Sweeps until no stage changes by more than par.stopped[0] of q or p; from zero if par.stopped[1] is set."""
    if par.stopped[1] != 0.0:
        carry[dimension(z) * lane_count(tab)] = 0.0
    begin(z, e, par, tab, work, carry)
    for _ in range(SWEEPS):
        largest, _ = whole_sweep(z, e, dt, par, tab, work)
        if largest <= par.stopped[0]:
            return finish(z, e, tab, work, carry)
    return NOT_CONVERGED


@dataclass(frozen=True)
class Stopped(Method):
    """An implicit method whose iteration is stopped at a tolerance.

    Parameters
    ----------
    method : Gauss, RadauIIA or SunGeng
    tolerance : largest change of a stage, relative to the size of its field, in the last sweep
    afresh : whether each step is iterated from the state itself instead of the polynomial of the last step
    """

    method: Gauss | RadauIIA | SunGeng
    tolerance: float
    afresh: bool = False

    name = "Stopped"
    needs = ("canonical", "field")

    @property
    def traits(self) -> Traits:
        return self.method.traits

    def stepper(self, view: View) -> Stepper:
        tableau = self.method.tableau()
        tab = stages.table(tableau)
        kernel = bind(stopped_step, dict(stages.fills(view, tableau.stages)))
        parameters = {"stopped": np.array([self.tolerance, float(self.afresh)])}
        memory = count_used(np.empty(view.dimension), tab)
        return Stepper(kernel, tab, memory, view.dimension * tab.shape[1] + 5, parameters, packed=True)

    def __str__(self) -> str:
        return f"Stopped({self.method})"  # one program for all tolerances
