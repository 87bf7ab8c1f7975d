"""Taylor series of high order by heyoka: an independent reference, to the last digit.

Not compiled by catena: heyoka differentiates and compiles the field itself. Needs the extra `taylor`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from types import SimpleNamespace
from typing import Any

import numpy as np

from ..errors import CapabilityError, InputError
from ..views import NOT_CONVERGED, NOT_FINITE, View
from .base import Method, Stepper, Traits, register

FUNCTIONS = (
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "sinh",
    "cosh",
    "tanh",
    "asinh",
    "acosh",
    "atanh",
    "exp",
    "log",
    "sqrt",
    "atan2",
)


def taylor_step(z, e, dt, par, tab, work, carry):
    """Stands for the step that heyoka makes; the engine puts it in."""
    return NOT_CONVERGED


@register
@dataclass(frozen=True)
class Taylor(Method):
    """Adaptive Taylor method of heyoka; dt is the interval between samples, not its step.

    The order follows from the tolerance (about 20 at 1e-16), the step from the decay of the series. Not symplectic,
    but accurate to round-off: choose it as a reference, or for short runs at the highest accuracy; prefer
    `Splitting` or `Gauss` for long ones.

    Parameters
    ----------
    tolerance : error allowed per step, relative to the state

    References
    ----------
    [biscani2021]
    """

    needs = ("field",)
    tolerance: float = 1e-16

    def __post_init__(self) -> None:
        if not isinstance(self.tolerance, (int, float)) or not 0.0 < self.tolerance < 1.0:
            raise InputError(
                f"tolerance = {self.tolerance!r}", where="Taylor.tolerance", do="give a number between 0 and 1"
            )

    @property
    def traits(self) -> Traits:
        # heyoka's rule: -log(tolerance)/2 + 1 terms
        order = int(np.ceil(-np.log(self.tolerance) / 2 + 1))
        return Traits(order, False, False, True, (), ("biscani2021",), inf, adaptive=True)

    def stepper(self, view: View) -> Stepper:
        if view.scratch():
            raise CapabilityError("its field keeps numbers on the way, which heyoka cannot follow")
        if view.dimension > 64:
            raise CapabilityError(f"heyoka's expression of {view.dimension} variables is too large to compile")
        return Stepper(taylor_step, np.zeros((1, 1)), 0, 0, outside=self._outside)

    def _outside(self, field_with: Callable[[Any], Callable[..., Any]], par: Any, n: int) -> Callable[..., int]:
        """The step, made of heyoka's integrator on the system's own field."""
        try:
            import heyoka
        except ImportError:
            raise CapabilityError(
                "Taylor needs the package heyoka", do="install the extra: pip install 'catena[taylor]'"
            ) from None
        functions = {name: getattr(heyoka, name) for name in FUNCTIONS if hasattr(heyoka, name)}
        field = field_with(SimpleNamespace(pi=np.pi, e=np.e, pow=lambda x, y: x**y, **functions))
        variables = heyoka.make_vars(*(f"z{k}" for k in range(n)))
        rates: list[Any] = [None] * n
        field(list(variables), par, rates)
        expressions = [heyoka.expression(rate) for rate in rates]
        equations = list(zip(variables, expressions, strict=True))
        integrator = heyoka.taylor_adaptive(equations, np.zeros(n), tol=self.tolerance)

        def step(z, e, dt, par, tab, work, carry):
            integrator.time = 0.0
            integrator.state[:] = z
            outcome = integrator.propagate_until(dt)[0]
            if outcome != heyoka.taylor_outcome.time_limit:
                return NOT_FINITE if outcome == heyoka.taylor_outcome.err_nf_state else NOT_CONVERGED
            z[:] = integrator.state
            return 0

        return step

    def advice(self) -> str:
        return "look for a collision or a singular point near this time"
