"""Methods that are wrong on purpose: each makes a claim that `harness.py` must refuse. None is registered."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest

from catena.kernels.marks import bind
from catena.kernels.summation import add
from catena.kernels.views import NOT_CONVERGED, View, dimension, drift, field, force, kick, step
from catena.methods.base import Bounded, Drifts, Exact, Method, Stepper, Traits
from catena.methods.runge_kutta import implicit, runge_kutta
from catena.methods.runge_kutta.tableaux import Collocation, ExplicitTableau, explicit_euler, gauss, rk4
from catena.methods.splitting import composition
from catena.methods.splitting.partitioned import StormerVerlet
from catena.methods.splitting.schemes import SCHEMES

EVERYTHING = (Exact("linear"), Exact("bilinear"), Exact("quadratic"), Bounded("energy"))


class _Named(Method):
    """A twin carries the name of its class without being registered."""

    def __init_subclass__(cls) -> None:
        cls.name = cls.__name__


# Structure that is not there -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class BoastfulEuler(_Named, runge_kutta._Explicit):
    """Explicit Euler, declared symplectic, symmetric and conserving everything."""

    tableau = explicit_euler()

    @property
    def traits(self) -> Traits:
        return Traits(1, True, True, True, EVERYTHING, (), math.inf)


@dataclass(frozen=True)
class BoastfulRK4(_Named, runge_kutta._Explicit):
    """RK4, declared to conserve quadratic invariants and to have a bounded energy error."""

    tableau = rk4()

    @property
    def traits(self) -> Traits:
        return Traits(4, True, True, True, EVERYTHING, (), math.inf)


@dataclass(frozen=True)
class PlainlyRoundedGauss(_Named, implicit._Implicit):
    """Gauss with a_ij and b_i rounded independently: symplectic only to 1e-17."""

    stages: int
    solver: implicit.Solver = "auto"

    def tableau(self) -> Collocation:
        exact = gauss(self.stages)
        return replace(exact, mu=np.array(exact.exact_a, dtype=float) / np.array(exact.exact_b, dtype=float))

    @property
    def traits(self) -> Traits:
        return Traits(2 * self.stages, True, True, False, EVERYTHING, (), math.inf)


@dataclass(frozen=True)
class DriftingGauss(_Named, implicit._Implicit):
    """Gauss, declared to drift: a claim may also be too modest."""

    solver: implicit.Solver = "auto"

    def tableau(self) -> Collocation:
        return gauss(2)

    @property
    def traits(self) -> Traits:
        return Traits(4, True, True, False, (Drifts("energy"),), (), math.inf)


def hasty_step(z, e, dt, par, tab, work, carry):
    """Implicit midpoint rule after six sweeps, converged or not. work: stage, rate."""
    n = dimension(z)
    for k in range(n):
        work[n + k] = 0.0
    for _ in range(6):
        for k in range(n):
            work[k] = z[k] + (e[k] + 0.5 * dt * work[n + k])
        field(work[:n], par, work[n : 2 * n])
    for k in range(n):
        add(z, e, k, dt * work[n + k])
    return 0


@dataclass(frozen=True)
class HastyMidpoint(_Named):
    """Implicit midpoint rule whose equations are not solved to round-off."""

    needs = ("canonical",)

    def stepper(self, view: View) -> Stepper:
        return Stepper(hasty_step, np.zeros((1, 1)), 2 * view.dimension, 0)

    @property
    def traits(self) -> Traits:
        return Traits(2, True, True, False, EVERYTHING, (), math.inf)


def lopsided_step(z, e, dt, par, tab, work, carry):
    """Kick, drift, kick with unequal kicks: symplectic, but neither symmetric nor of order 2."""
    force(z, par, work)
    kick(z, e, 0.55 * dt, par, work)
    drift(z, e, dt, par, work)
    force(z, par, work)
    return kick(z, e, 0.45 * dt, par, work)


def backward_step(z, e, dt, par, tab, work, carry):
    """Kick, drift, kick with the signs of the halves swapped: a step of another equation."""
    force(z, par, work)
    kick(z, e, -0.5 * dt, par, work)
    drift(z, e, dt, par, work)
    force(z, par, work)
    return kick(z, e, -0.5 * dt, par, work)


@dataclass(frozen=True)
class LopsidedVerlet(_Named):
    """Verlet with one half too long, the other too short."""

    needs = ("split",)

    def stepper(self, view: View) -> Stepper:
        return Stepper(lopsided_step, np.zeros((1, 1)), view.dimension, 0)

    @property
    def traits(self) -> Traits:
        return StormerVerlet().traits


@dataclass(frozen=True)
class BackwardVerlet(LopsidedVerlet):
    """Verlet that kicks the wrong way."""

    def stepper(self, view: View) -> Stepper:
        return Stepper(backward_step, np.zeros((1, 1)), view.dimension, 0)


# One wrong coefficient --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class MisprintedRK4(_Named, runge_kutta._Explicit):
    """RK4 with a_32 = 1/2 + 1/1000 and the old c_3."""

    @property
    def tableau(self) -> ExplicitTableau:  # type: ignore[override]
        right = rk4()
        a = (right.a[0], right.a[1], (Fraction(0), Fraction(501, 1000)), right.a[3])
        return replace(right, a=a)

    @property
    def traits(self) -> Traits:
        return Traits(4, False, False, True, (Exact("linear"),), (), math.inf)


@dataclass(frozen=True)
class MisprintedGauss(_Named, implicit._Implicit):
    """Gauss(3) with a wrong fifth digit in one a_ij."""

    solver: implicit.Solver = "auto"

    def tableau(self) -> Collocation:
        mu = gauss(3).mu.copy()
        mu[0, 1] += 1e-5
        return replace(gauss(3), mu=mu)

    @property
    def traits(self) -> Traits:
        return Traits(6, True, True, False, EVERYTHING, (), math.inf)


@dataclass(frozen=True)
class MisprintedComposition(_Named):
    """A composition of order 6 with a wrong fourth digit in its first weight; the sum is still 1."""

    def stepper(self, view: View) -> Stepper:
        base = StormerVerlet().stepper(view)
        weights = SCHEMES["kahanli6"].weights.copy()
        error = 1e-4
        weights[[0, -1]] += error
        weights[len(weights) // 2] -= 2 * error
        tab = np.zeros((1 + base.tab.shape[0], len(weights)))
        tab[0], tab[1:, : base.tab.shape[1]] = weights, base.tab
        fills = {
            step: base.kernel,
            composition.repetitions: len(weights),
            composition.base_work: base.work,
            composition.keeps_carry: 1,
        }
        return Stepper(bind(composition.compose, fills), tab, base.work + 2 * view.dimension, base.carry)

    needs = StormerVerlet.needs

    @property
    def traits(self) -> Traits:
        return replace(StormerVerlet().traits, order=6)


# Memory of a step ---------------------------------------------------------------------------------------------------


def forgetful_step(z, e, dt, par, tab, work, carry):
    """Explicit Euler with the average of this rate and the last one, which it stores in work."""
    n = dimension(z)
    field(z, par, work[n : 2 * n])
    for k in range(n):
        add(z, e, k, 0.5 * dt * (work[k] + work[n + k]))
        work[k] = work[n + k]
    return 0


def presumptuous_step(z, e, dt, par, tab, work, carry):
    """Kick, drift, kick that assumes the force in carry is known even before the first step."""
    kick(z, e, 0.5 * dt, par, carry)
    drift(z, e, dt, par, work)
    force(z, par, carry)
    return kick(z, e, 0.5 * dt, par, carry)


def careless_step(z, e, dt, par, tab, work, carry):
    """Explicit Euler that adds first and then finds that the step is too long."""
    n = dimension(z)
    field(z, par, work)
    for k in range(n):
        add(z, e, k, dt * work[k])
    return NOT_CONVERGED if dt > 1.0 else 0


def allocating_step(z, e, dt, par, tab, work, carry):
    """Explicit Euler that makes a copy of the state in every step."""
    before = z.copy()
    field(before, par, work)
    for k in range(dimension(z)):
        add(z, e, k, dt * work[k])
    return 0


class _OneKernel(_Named):
    """A method of one kernel."""

    needs: tuple[str, ...] = ("canonical",)
    kernel: object

    def stepper(self, view: View) -> Stepper:
        return Stepper(type(self).__dict__["kernel"], np.zeros((1, 1)), 2 * view.dimension, view.dimension + 1)

    @property
    def traits(self) -> Traits:
        return Traits(1, False, False, True, (), (), math.inf)


@dataclass(frozen=True)
class Forgetful(_OneKernel):
    """Stores something outside the carry."""

    kernel = forgetful_step


@dataclass(frozen=True)
class Presumptuous(_OneKernel):
    """Takes a carry of zeros for valid data."""

    needs = ("split",)
    kernel = presumptuous_step


@dataclass(frozen=True)
class Careless(_OneKernel):
    """Leaves a changed state after a failure."""

    kernel = careless_step


@dataclass(frozen=True)
class Allocating(_OneKernel):
    """Allocates memory in the loop."""

    kernel = allocating_step


@dataclass(frozen=True)
class IteratingEuler(_Named, implicit._Implicit):
    """Implicit Euler, declared explicit."""

    solver: implicit.Solver = "fixed-point"

    def tableau(self) -> Collocation:
        return implicit.ImplicitEuler().tableau()

    @property
    def traits(self) -> Traits:
        return Traits(1, False, False, True, (), (), math.inf)


# Kernels that are not those of catena ----------------------------------------------------------------------------


def add_plainly(z, e, i, d):
    """The sum of methods, without its compensation."""
    z[i] = z[i] + d


def forget_compensation(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every program add without compensation."""
    for module in [module for module in sys.modules.values() if vars(module).get("add") is add]:
        monkeypatch.setattr(module, "add", add_plainly)
