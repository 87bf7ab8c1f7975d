"""Symplectic Euler and Stormer-Verlet for any H(q, p); explicit where H is separable.

EulerA: q1 = q0 + h H_p(q1, p0), p1 = p0 - h H_q(q1, p0)   (q implicit)
EulerB: p1 = p0 - h H_q(q0, p1), q1 = q0 + h H_p(q0, p1)   (p implicit), the adjoint of EulerA

The names are those of section 3.4.2 of the thesis on which the chains are based. [hairer2003]. z = (q, p); rates go
through work (n), stage values through work (2 n). If H is separable, the force at the end of a step is that at the
start of the next: it is kept in carry (n numbers and a flag), so a step costs one evaluation.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from ...errors import InputError
from ...kernels.lanes import holds
from ...kernels.marks import Kernel, bind, choice, slot
from ...kernels.summation import add
from ...kernels.views import NOT_CONVERGED, Flag, View, dimension, drift, force, kick, momentum_rate, velocity
from ..base import Bounded, Exact, Method, Stepper, Traits, register
from ..runge_kutta.iteration import DONE, FAILED, judge


@slot
def implicit_rate(z, par, out):
    """The half of the field whose own variable is implicit."""


@slot
def explicit_rate(z, par, out):
    """The other half."""


@choice
def implicit_half():
    """Which half of the variables is implicit: 0, positions, or 1, momenta."""
    return 0


@slot
def first_euler(z, e, dt, par, work):
    """The Euler method that makes the first half of a Verlet step."""


@slot
def second_euler(z, e, dt, par, work):
    """The Euler method that makes the second half of a Verlet step."""


def solve_half(z, e, h, par, work, start, end):
    """Solve x = z + (e + h rate(x)) for the variables start..end, with the others fixed at z; x is left in work[n:]."""
    n = dimension(z)
    y = work[n : 2 * n]
    magnitude = 0.0
    for k in range(n):
        y[k] = z[k]
    for k in range(start, end):
        magnitude = max(magnitude, abs(z[k]))
    best = math.inf
    worse = 0
    sweep = 0
    while True:
        implicit_rate(y, par, work[:n])
        change = 0.0
        for k in range(start, end):
            x = z[k] + (e[k] + h * work[k])
            change = max(change, abs(x - y[k]))
            magnitude = max(magnitude, abs(x))
            y[k] = x
        sweep += 1
        if change > 0.0:
            change /= magnitude
        decision, best, worse = judge(change, change, best, worse, sweep)
        if decision == DONE:
            return 0
        if decision == FAILED:
            return NOT_CONVERGED


def euler(z, e, dt, par, work):
    """An Euler method: first the implicit half, then the explicit one."""
    n = dimension(z)
    half = n // 2
    start = implicit_half() * half
    status = solve_half(z, e, dt, par, work, start, start + half)
    if status != 0:
        return status
    explicit_rate(work[n : 2 * n], par, work[:n])
    for k in range(n):
        add(z, e, k, dt * work[k])
    return 0


Q_IMPLICIT = bind(euler, {implicit_rate: velocity, explicit_rate: momentum_rate, implicit_half: 0})
P_IMPLICIT = bind(euler, {implicit_rate: momentum_rate, explicit_rate: velocity, implicit_half: 1})


def euler_step(z, e, dt, par, tab, work, carry):
    """One Euler step."""
    return first_euler(z, e, dt, par, work)


def verlet_step(z, e, dt, par, tab, work, carry):
    """Half a step of each Euler method. A failure in the second half leaves z as it was."""
    n = dimension(z)
    for k in range(n):
        work[2 * n + k] = z[k]
        work[3 * n + k] = e[k]
    status = first_euler(z, e, 0.5 * dt, par, work)
    if status == 0:
        status = second_euler(z, e, 0.5 * dt, par, work)
    if status != 0:
        for k in range(n):
            z[k] = work[2 * n + k]
            e[k] = work[3 * n + k]
    return status


def drift_kick(z, e, dt, par, tab, work, carry):
    """EulerA of a separable H."""
    status = drift(z, e, dt, par, work)
    if status != 0:
        return status
    force(z, par, work)
    return kick(z, e, dt, par, work)


def kick_drift(z, e, dt, par, tab, work, carry):
    """EulerB of a separable H."""
    force(z, par, work)
    status = kick(z, e, dt, par, work)
    if status != 0:
        return status
    return drift(z, e, dt, par, work)


def kick_drift_kick(z, e, dt, par, tab, work, carry):
    """StormerVerlet A of a separable H."""
    n = dimension(z)
    if holds(carry[n] == 0.0):
        force(z, par, carry)
    kick(z, e, 0.5 * dt, par, carry)
    drift(z, e, dt, par, work)
    force(z, par, carry)
    carry[n] = 1.0
    return kick(z, e, 0.5 * dt, par, carry)


def drift_kick_drift(z, e, dt, par, tab, work, carry):
    """StormerVerlet B of a separable H."""
    drift(z, e, 0.5 * dt, par, work)
    force(z, par, work)
    kick(z, e, dt, par, work)
    return drift(z, e, 0.5 * dt, par, work)


VERLET = {  # variant -> the steps for separable H and for any H
    "A": (kick_drift_kick, bind(verlet_step, {first_euler: P_IMPLICIT, second_euler: Q_IMPLICIT})),
    "B": (drift_kick_drift, bind(verlet_step, {first_euler: Q_IMPLICIT, second_euler: P_IMPLICIT})),
}
KEEPS = (Exact("linear"), Exact("bilinear"), Bounded("energy"))


class _Partitioned(Method):
    """A method on the canonical view that is explicit where H is separable."""

    def traits_on(self, view: View) -> Traits:
        return replace(self.traits, explicit=Flag.SEPARABLE in view.flags)

    needs = ("canonical", "halves")

    def _stepper(self, view: View, explicit: Kernel, implicit: Kernel) -> Stepper:
        n = view.dimension
        kernel = explicit if Flag.SEPARABLE in view.flags else implicit
        return Stepper(kernel, np.zeros((1, 1)), 4 * n, n + 1)


class _Euler(_Partitioned):
    """One of the two Euler methods, each the adjoint of the other."""

    @property
    def traits(self) -> Traits:
        return Traits(1, True, False, True, KEEPS, ("devogelaere1956", "hairer2006"), 2.0)


@register
@dataclass(frozen=True)
class EulerA(_Euler):
    """Symplectic Euler method with q implicit: q1 = q0 + dt H_p(q1, p0), p1 = p0 - dt H_q(q1, p0).

    Order 1, symplectic; explicit (drift, then kick) where H is separable. Keeps bilinear invariants q^T B p.
    Prefer `StormerVerlet`: order 2 at the same cost.

    References
    ----------
    [devogelaere1956], [hairer2006] section I.1.2
    """

    stated: ClassVar[Mapping[str, str]] = {"implicit": "q"}
    formerly = "EulerB"

    def stepper(self, view: View) -> Stepper:
        return self._stepper(view, drift_kick, bind(euler_step, {first_euler: Q_IMPLICIT}))


@register
@dataclass(frozen=True)
class EulerB(_Euler):
    """Symplectic Euler method with p implicit: p1 = p0 - dt H_q(q0, p1), q1 = q0 + dt H_p(q0, p1).

    The adjoint of `EulerA`, with the same properties: order 1, symplectic, explicit (kick, then drift) where H is separable.

    References
    ----------
    [devogelaere1956], [hairer2006] section I.1.2
    """

    stated: ClassVar[Mapping[str, str]] = {"implicit": "p"}
    formerly = "EulerA"

    def stepper(self, view: View) -> Stepper:
        return self._stepper(view, kick_drift, bind(euler_step, {first_euler: P_IMPLICIT}))


@register
@dataclass(frozen=True)
class StormerVerlet(_Partitioned):
    """Stormer-Verlet method for any H.

    Variant A is EulerB over dt/2, then EulerA over dt/2 (kick, drift, kick where H is separable); variant B is
    EulerA, then EulerB (drift, kick, drift). Order 2, symplectic, symmetric; keeps bilinear invariants q^T B p.
    One evaluation per step where H is separable. The base of `Composition`.

    Parameters
    ----------
    variant : "A" or "B"; their results differ at order dt^2

    References
    ----------
    [hairer2003]
    """

    variant: Literal["A", "B"] = "A"

    def __post_init__(self) -> None:
        if self.variant not in ("A", "B"):
            raise InputError(
                f"variant = {self.variant!r} is not known", where="StormerVerlet.variant", do='choose "A" or "B"'
            )

    def stepper(self, view: View) -> Stepper:
        return self._stepper(view, *VERLET[self.variant])

    @property
    def traits(self) -> Traits:
        return Traits(2, True, True, True, KEEPS, ("hairer2003",), 2.0)

    @classmethod
    def examples(cls) -> tuple[Method, ...]:
        return cls("A"), cls("B")
