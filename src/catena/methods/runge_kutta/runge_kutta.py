"""Explicit Runge-Kutta methods: the tableau unrolled into scalars for small systems, loops for large ones."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ...kernels import summation, views
from ...kernels.marks import Written, bind, size
from ...kernels.summation import add
from ...kernels.views import Flag, View, dimension, field
from ..base import Drifts, Exact, Method, Stepper, Traits, register
from .tableaux import ExplicitTableau, explicit_euler, rk4

REGISTER_DIMENSION = 16  # beyond it the scalars no longer fit into registers


@size
def stage_count(tab):
    """Number of stages."""
    return tab.shape[1]


def explicit_step(z, e, dt, par, tab, work, carry):
    """tab rows: a (s), then b. work: rates (s), stage (1), n numbers each."""
    n = dimension(z)
    s = stage_count(tab)
    y = work[s * n : (s + 1) * n]
    for i in range(s):
        for k in range(n):
            increment = 0.0
            for j in range(i):
                increment += tab[i, j] * work[j * n + k]
            y[k] = z[k] + dt * increment
        field(y, par, work[i * n : (i + 1) * n])
    for k in range(n):
        increment = 0.0
        for j in range(s):
            increment += tab[s, j] * work[j * n + k]
        add(z, e, k, dt * increment)
    return 0


def unroll(tableau: ExplicitTableau, n: int) -> Written:
    """The step on n scalars: arrays may alias, so only scalars stay in registers."""

    def combination(weights: tuple[Fraction, ...], k: int) -> str:
        terms = [f"r{j}_{k}" if w == 1 else f"{float(w)!r} * r{j}_{k}" for j, w in enumerate(weights) if w != 0]
        return " + ".join(terms)

    lines = ["def step(z, e, dt, par, tab, work, carry):"]
    lines += [f"    z{k} = z[{k}]" for k in range(n)]
    for i, row in enumerate(tableau.a):
        stage = []
        for k in range(n):
            inner = combination(row, k)
            stage.append(f"z{k} + dt * ({inner})" if inner else f"z{k}")
        rates = ", ".join(f"r{i}_{k}" for k in range(n))
        lines.append(f"    {rates} = registers({', '.join(stage)}, par)")
    lines += [f"    add(z, e, {k}, dt * ({combination(tableau.b, k)}))" for k in range(n)]
    lines.append("    return 0")
    uses = (("registers", views.registers), ("add", summation.add))
    return Written("step", "\n".join(lines), __name__, uses)


class _Explicit(Method):
    """A method given by an explicit tableau."""

    needs = ("field",)
    tableau: ExplicitTableau

    def stepper(self, view: View) -> Stepper:
        n, tableau = view.dimension, self.tableau
        s = tableau.stages
        if Flag.REGISTERS in view.flags and n <= REGISTER_DIMENSION:
            return Stepper(unroll(tableau, n), np.zeros((1, 1)), 0, 0)
        tab = np.zeros((s + 1, s))
        for i, row in enumerate(tableau.a):
            tab[i, : len(row)] = [float(a) for a in row]
        tab[s] = [float(b) for b in tableau.b]
        return Stepper(bind(explicit_step, {stage_count: s}), tab, (s + 1) * n, 0)


@register
@dataclass(frozen=True)
class ExplicitEuler(_Explicit):
    """Explicit Euler method, y1 = y0 + dt f(y0).

    Order 1, one evaluation per step; energy grows. Included for comparison: prefer `EulerB` at the same
    cost, or any other method.

    Examples
    --------
    >>> import catena as ct
    >>> run = ct.simulate(ct.problems.harmonic(), method=ct.ExplicitEuler(), dt=0.01, steps=2000)
    >>> round(float(run.data.energy[-1]), 9)       # 2 (1 + 4 dt^2)^2000
    4.450369931

    References
    ----------
    [hairer2006] section I.1.1
    """

    tableau = explicit_euler()

    @property
    def traits(self) -> Traits:
        return Traits(1, False, False, True, (Exact("linear"), Drifts("energy")), ("hairer2006",), 0.0)


@register
@dataclass(frozen=True)
class RK4(_Explicit):
    """The classical Runge-Kutta method.

    Order 4, four evaluations per step, not symplectic: the energy error grows with time (on the oscillator
    it decays). Choose it for short runs of low accuracy; prefer `Splitting` or `Gauss` for long ones.

    References
    ----------
    [kutta1901]
    """

    tableau = rk4()

    @property
    def traits(self) -> Traits:
        # |R(iz)| <= 1 for z <= 2 sqrt 2
        return Traits(4, False, False, True, (Exact("linear"), Drifts("energy")), ("kutta1901",), 2.8284)
