"""Implicit Runge-Kutta methods: Gauss, Radau IIA, Sun's method, implicit midpoint and implicit Euler.

With the increments L_j = dt b_j f(Y_j) and mu_ij = a_ij / b_j [antonana2017]:

    Y_i = z + (e + sum_j mu_ij L_j),      z' = z + (e + sum_i L_i).

The stages are iterated until they stop changing (`iteration.judge`), by fixed-point iteration starting from the
polynomial of the last step, or by simplified Newton.

carry: L (n rows of stages, see `stages`), then [known, sweeps so far, failed fixed-point iterations in a row, Newton
from now on, Newton steps so far]. work: that of `stages`; for Newton, residual and change (s n each), then the memory
of `prepare`.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from ...errors import CapabilityError, InputError
from ...kernels.elimination import quotient, real_quotient
from ...kernels.marks import Filling, Numbers, Slot, apart, bind, inline, slot
from ...kernels.summation import add
from ...kernels.views import (
    NOT_CONVERGED,
    SINGULAR,
    Flag,
    View,
    dimension,
    factorise_shifted,
    is_closed,
    linearise,
    rotate,
    solve_shifted,
)
from ..base import Bounded, Drifts, Exact, Method, SideBySide, Stepper, Traits, register
from ..rotors.moser_veselov import KEEPS, implicit_midpoint_rotor
from ..rotors.rotor import rotate_free_body
from . import stages
from .block_tridiagonal import BLOCK, block_scratch, factorise_blocks, linearise_blocks, solve_blocks
from .dense import with_dense_output
from .iteration import DONE, FAILED, judge
from .linear_algebra import correct_dense, dense_memory, prepare_dense
from .modes import correct_modes, mode_scratch, modes_of, prepare_modes
from .stages import begin, blame, count_used, lane_count, move_fields, note, rates, stage_count, sweep, whole_sweep
from .tableaux import Collocation, gauss, radau_iia, sun_geng

LONGEST_SPAN = 1000  # dt in a step: a table has a row for each
NEWTON_FOR_GOOD = 3  # failed fixed-point iterations in a row after which Newton is used permanently

Solver = Literal["auto", "fixed-point", "newton"]


@inline
def fixed_point(z, e, dt, par, tab, work, carry):
    """Iterate L = dt b f(Y(L)); returns a status. The number of sweeps is added to the carry."""
    last = dimension(z) * lane_count(tab)
    begin(z, e, par, tab, work, carry)
    known = carry[last] != 0.0
    best = math.inf
    worse = 0
    sweeps = 1
    while True:
        # whole sweeps converge later, but diverge if the step is far too long; sweeps by halves may settle at a distant
        # solution
        if known:
            largest, smallest = sweep(z, e, dt, par, tab, work)
        else:
            largest, smallest = whole_sweep(z, e, dt, par, tab, work)
        sweeps += 1
        note(sweeps, largest, z, tab, work)
        decision, best, worse = judge(largest, smallest, best, worse, sweeps)
        if decision == DONE:
            carry[last + 1] += sweeps
            return 0
        if decision == FAILED:
            carry[last] = 0.0
            return NOT_CONVERGED


@slot
def prepare(z, dt, par, tab, memory):
    """Factorise the iteration matrix 1 - dt b_i mu_ij J with J at z; returns a status."""


@slot
def correct(residual, change, dt, par, tab, memory):
    """change = the inverse of that matrix times the residual."""


@apart
def newton(z, e, dt, par, tab, work, carry):
    """Simplified Newton, the Jacobian taken at z: (1 - dt b_i mu_ij J) dL = dt b f(Y(L)) - L; returns a status."""
    n = dimension(z)
    s = stage_count(tab)
    lanes = lane_count(tab)
    m = s * n
    last = n * lanes
    memory = work[count_used(z, tab) :]
    residual = memory[:m]
    change = memory[m : 2 * m]
    carry[last] = 0.0  # steps are long here, and the polynomial of the last one is a bad start
    if prepare(z, dt, par, tab, memory[2 * m :]) != 0:
        return SINGULAR
    begin(z, e, par, tab, work, carry)
    best = math.inf
    worse = 0
    sweeps = 1
    while True:
        for i in range(s):
            for k in range(n):
                residual[i * n + k] = -work[(2 * k + 2) * lanes + i]
        rates(z, 0, n, dt, par, tab, work)
        for i in range(s):
            for k in range(n):
                increment = -residual[i * n + k]
                residual[i * n + k] += work[(2 * k + 2) * lanes + i]
                work[(2 * k + 2) * lanes + i] = increment
        correct(residual, change, dt, par, tab, memory[2 * m :])
        for i in range(s):
            for k in range(n):
                work[(2 * k + 2) * lanes + i] += change[i * n + k]
        largest, smallest = move_fields(z, e, par, tab, work)
        sweeps += 1
        note(sweeps, largest, z, tab, work)
        decision, best, worse = judge(largest, smallest, best, worse, sweeps)
        if decision == DONE:
            carry[last + 1] += sweeps
            carry[last + 4] += 1.0
            return 0
        if decision == FAILED:
            blame(change, z, par, tab, work)
            return NOT_CONVERGED


@inline
def finish(z, e, tab, work, carry):
    """z' = z + (e + sum L); returns a status: comparisons of changes let nan through, this test does not."""
    n = dimension(z)
    s = stage_count(tab)
    lanes = lane_count(tab)
    for k in range(n):
        increment = 0.0
        for i in range(s):
            increment += work[(2 * k + 2) * lanes + i]
        if not abs(increment) < 1e300:
            carry[n * lanes] = 0.0
            return NOT_CONVERGED
        work[(2 * k + 1) * lanes] = increment  # the stages are not needed any more
    for k in range(n):
        add(z, e, k, work[(2 * k + 1) * lanes])
        for i in range(lanes):
            carry[k * lanes + i] = work[(2 * k + 2) * lanes + i]
    carry[n * lanes] = 1.0
    return 0


@inline
def finish_solved(status, z, e, tab, work, carry):
    """`finish`, if the stages were found."""
    return finish(z, e, tab, work, carry) if status == 0 else status


@inline
def fixed_point_step(z, e, dt, par, tab, work, carry):
    """One step by fixed-point iteration only."""
    return finish_solved(fixed_point(z, e, dt, par, tab, work, carry), z, e, tab, work, carry)


@inline
def newton_step(z, e, dt, par, tab, work, carry):
    """One step by Newton only."""
    return finish_solved(newton(z, e, dt, par, tab, work, carry), z, e, tab, work, carry)


@inline
def automatic_step(z, e, dt, par, tab, work, carry):
    """Fixed-point iteration; Newton if it fails, and permanently after three failures in a row."""
    last = dimension(z) * lane_count(tab)
    status = NOT_CONVERGED
    if carry[last + 3] == 0.0:
        status = fixed_point(z, e, dt, par, tab, work, carry)
        carry[last + 2] = 0.0 if status == 0 else carry[last + 2] + 1.0
        carry[last + 3] = 1.0 if carry[last + 2] >= NEWTON_FOR_GOOD else 0.0
    if status != 0:
        status = newton(z, e, dt, par, tab, work, carry)
    if status == 0:
        status = finish(z, e, tab, work, carry)
    return status


def has_jacobian(view: View) -> bool:
    """Whether Newton's method can be used."""
    return view.factors is not None or not {Flag.JACOBIAN, Flag.BLOCK_JACOBIAN}.isdisjoint(view.flags)


@dataclass(frozen=True)
class LinearSolver:
    """How Newton's corrections are computed: kernels for `prepare` and `correct`, their memory, their arrays in par."""

    fills: dict[Slot, Filling]
    memory: int = 0
    parameters: dict[str, Numbers] = field(default_factory=dict)
    scratch: dict[str, Numbers] = field(default_factory=dict)


def _linear_solver(view: View, t: Collocation) -> LinearSolver:
    """The cheapest that the system allows: its own solver, blocks for neighbours, or one dense matrix."""
    if view.factors is None and Flag.BLOCK_JACOBIAN not in view.flags:
        dense: dict[Slot, Filling] = {prepare: prepare_dense, correct: correct_dense, quotient: real_quotient}
        return LinearSolver(dense, dense_memory(t.stages, view.dimension))
    modes = modes_of(t)
    count = modes.shape[1]
    fills: dict[Slot, Filling] = {prepare: prepare_modes, correct: correct_modes}
    if view.factors is None:
        fills |= {linearise: linearise_blocks, factorise_shifted: factorise_blocks, solve_shifted: solve_blocks}
    closed = bool(view.fills.get(is_closed, 0))
    factors = (
        block_scratch(count, view.dimension // BLOCK, closed=closed) if view.factors is None else view.factors(count)
    )
    return LinearSolver(fills, 0, {"newton_modes": modes}, {**mode_scratch(view.dimension), **factors})


class _Implicit(Method):
    """A method given by an implicit tableau with distinct nodes."""

    needs: ClassVar[tuple[str, ...]] = ("canonical", "field")
    solver: Solver

    @abstractmethod
    def tableau(self) -> Collocation: ...

    def __post_init__(self) -> None:
        if self.solver not in ("auto", "fixed-point", "newton"):
            raise InputError(
                f"solver = {self.solver!r} is not known", where=f"{self.name}.solver",
                do='choose "auto", "fixed-point" or "newton"',
            )  # fmt: skip

    def stepper(self, view: View) -> Stepper:
        t = self.tableau()
        s, n = t.stages, view.dimension
        with_newton = self._takes_newton(view)
        if self.solver == "newton" and not with_newton:
            other = replace(self, solver="fixed-point")
            raise CapabilityError("the system gives no Jacobian for Newton's method", do=f"use {other}")
        tab = stages.table(t)
        work, fills = count_used(np.empty(n), tab), dict(stages.fills(view, s))
        solver = LinearSolver({})
        if with_newton:
            solver = _linear_solver(view, t)
            work += 2 * s * n + solver.memory
            fills |= solver.fills
        chosen = {True: automatic_step, False: fixed_point_step}[with_newton]
        step = newton_step if self.solver == "newton" else chosen
        carry, scratch, together = n * tab.shape[1] + 5, solver.scratch, None
        if stages.stands_side_by_side(view, s):
            on_lanes = bind(step, {**fills, **stages.fills(view, s, together=True)})
            scratch, together = {**scratch, **stages.lane_scratch(view, s)}, SideBySide(on_lanes, tab.shape[1])
        return Stepper(
            bind(step, fills), tab, work, carry, solver.parameters, scratch, packed=True, side_by_side=together
        )

    def _takes_newton(self, view: View) -> bool:
        """Whether Newton's method is part of the step; "auto" omits it where it would double the compile time."""
        wanted = self.solver == "newton" or (self.solver == "auto" and Flag.NEWTON_ON_DEMAND not in view.flags)
        return wanted and has_jacobian(view)

    def counts(self, carry: NDArray[np.float64]) -> dict[str, int]:
        return {"sweeps": int(carry[-4]), "newton_steps": int(carry[-1])}

    def trace(self, view: View, work: NDArray[np.float64]) -> tuple[int | None, list[float]]:
        newton = self._takes_newton(view)
        variable, changes = stages.note_sweep(work, view.dimension, stages.table(self.tableau()))
        return variable if newton else None, changes

    def advice(self) -> str:
        return "use a smaller dt" + ("" if self.solver == "newton" else ', or solver="newton" if the problem is stiff')


SYMPLECTIC = (Exact("linear"), Exact("bilinear"), Exact("quadratic"), Bounded("energy"))
DISSIPATIVE = (Exact("linear"), Drifts("energy"))


@register
@dataclass(frozen=True)
class Gauss(_Implicit):
    """Gauss collocation with s stages.

    Y_i = z + dt sum_j a_ij f(Y_j), z' = z + dt sum_i b_i f(Y_i), nodes at the roots of the shifted Legendre
    polynomial. Order 2s, symplectic, symmetric, A-stable; keeps every quadratic invariant. Costs s evaluations
    per sweep, some 5 to 15 sweeps. Choose it when H is not separable or for accuracy near round-off; prefer
    `Splitting` for separable H at moderate accuracy.

    With `span` a step is that many dt long. Samples between the ends of steps lie on the collocation polynomial, which costs
    a fiftieth of a step; they have the order s + 1, and invariants are kept at the ends of steps only. The steps, and the
    states at their ends, do not depend on `every`. Sections and events are located from sample to sample, with separate steps.

    Parameters
    ----------
    stages : 1 to 16
    solver : "auto" repeats a step whose fixed point failed with Newton's method (except for linkages with closed loops, where
        that takes long to compile); "fixed-point"; "newton" for stiff systems
    span : length of a step in dt, 1 to 1000

    Examples
    --------
    >>> import catena as ct
    >>> run = ct.simulate(ct.problems.kepler(e=0.6), method=ct.Gauss(6), dt=0.05, steps=400)
    >>> abs(float(run.data.energy[-1] + 0.5)) < 1e-14
    True

    References
    ----------
    [butcher1964], [hairer2006] section II.1.3
    """

    stages: int
    solver: Solver = "auto"
    span: int = 1

    def tableau(self) -> Collocation:
        """Its nodes, weights and coefficients."""
        return gauss(self.stages)

    def __post_init__(self) -> None:
        super().__post_init__()
        gauss(self.stages)
        whole = isinstance(self.span, int | np.integer) and not isinstance(self.span, bool | np.timedelta64)
        if not whole or not 1 <= self.span <= LONGEST_SPAN:
            raise InputError(
                f"span = {self.span!r}", where="Gauss.span", do=f"give a whole number from 1 to {LONGEST_SPAN}: a step is so many dt long"
            )  # fmt: skip

    def stepper(self, view: View) -> Stepper:
        stepper = super().stepper(view)
        return stepper if self.span == 1 else with_dense_output(stepper, view, self.tableau(), self.span)

    @property
    def traits(self) -> Traits:
        if self.span > 1:  # the order of points between the ends of steps
            return Traits(min(self.stages + 1, 2 * self.stages), False, False, False, (), ("butcher1964",), math.inf)
        return Traits(2 * self.stages, True, True, False, SYMPLECTIC, ("butcher1964",), math.inf)

    @property
    def order_at_ends(self) -> int:
        return 2 * self.stages

    @classmethod
    def examples(cls) -> tuple[Method, ...]:
        return cls(2), cls(3), cls(4), cls(6)


@register
@dataclass(frozen=True)
class ImplicitMidpoint(_Implicit):
    """Implicit midpoint rule, z' = z + dt f((z + z')/2): the Gauss method with one stage.

    Order 2, symplectic, symmetric, A-stable; keeps every quadratic invariant. On a free body it is the rule for rotation
    matrices, which keeps the spatial momentum too (and is not symplectic there).

    Parameters
    ----------
    solver : as for `Gauss`

    References
    ----------
    [hairer2006] section II.1.3
    """

    needs = ("canonical", "rotor", "field")
    solver: Solver = "auto"

    def tableau(self) -> Collocation:
        """Its nodes, weights and coefficients."""
        return gauss(1)

    def stepper(self, view: View) -> Stepper:
        if view.name != "rotor":
            return super().stepper(view)
        kernel = bind(rotate_free_body, {rotate: implicit_midpoint_rotor})
        return Stepper(kernel, np.zeros((1, 1)), 0, 0, {"rotor": np.zeros((1, 1))})

    @property
    def traits(self) -> Traits:
        return Traits(2, True, True, False, SYMPLECTIC, ("hairer2006",), math.inf)

    def traits_on(self, view: View) -> Traits:
        # the rule for matrices keeps what the Moser-Veselov map keeps, but neither the symplectic form nor the Poisson bracket
        return self.traits if view.name != "rotor" else replace(self.traits, symplectic=False, keeps=KEEPS)


@register
@dataclass(frozen=True)
class RadauIIA(_Implicit):
    """Radau IIA collocation with 2 or 3 stages.

    Order 2s - 1, L-stable, not symplectic: it loses energy. Choose it for stiff systems with damping; prefer
    `Gauss` where energy matters.

    Parameters
    ----------
    stages : 2 or 3
    solver : as for `Gauss`

    References
    ----------
    [hairer2006] section II.1.3
    """

    stages: int
    solver: Solver = "auto"

    def tableau(self) -> Collocation:
        """Its nodes, weights and coefficients."""
        return radau_iia(self.stages)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.stages not in (2, 3):
            raise InputError(
                f"RadauIIA has 2 or 3 stages, not {self.stages!r}", where="RadauIIA.stages",
                do="choose 2 or 3; ImplicitEuler is the method with one stage",
            )  # fmt: skip

    @property
    def traits(self) -> Traits:
        return Traits(2 * self.stages - 1, False, False, False, DISSIPATIVE, ("hairer2006",), math.inf)

    @classmethod
    def examples(cls) -> tuple[Method, ...]:
        return cls(2), cls(3)


@register
@dataclass(frozen=True)
class SunGeng(_Implicit):
    """Sun's symplectic method of order 5 on the Radau nodes.

    Three stages, a_ij = (R_ij + b_j - b_j R_ji / b_i) / 2 with R the matrix of Radau IIA. Symplectic but not
    symmetric; identical to Gauss(3) on linear problems. Prefer `Gauss(3)`, whose order is higher by one at equal cost.

    Parameters
    ----------
    solver : as for `Gauss`

    References
    ----------
    [sun1993]. One public listing prints 169 for 167 in the first row; the identity above decides.
    """

    solver: Solver = "auto"

    def tableau(self) -> Collocation:
        """Its nodes, weights and coefficients."""
        return sun_geng()

    @property
    def traits(self) -> Traits:
        return Traits(5, True, False, False, SYMPLECTIC, ("sun1993",), math.inf)


@register
@dataclass(frozen=True)
class ImplicitEuler(_Implicit):
    """Implicit Euler method, y1 = y0 + dt f(y1).

    Order 1, L-stable; energy decays at any dt. Included for comparison.

    Parameters
    ----------
    solver : as for `Gauss`

    References
    ----------
    [hairer2006] section I.1.1
    """

    solver: Solver = "auto"

    def tableau(self) -> Collocation:
        """Its nodes, weights and coefficients."""
        return radau_iia(1)

    @property
    def traits(self) -> Traits:
        return Traits(1, False, False, False, DISSIPATIVE, ("hairer2006",), math.inf)
