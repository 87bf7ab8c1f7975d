"""Explicit splittings of H = T + V: alternating kicks (flow of V) and drifts (flow of T).

Order 2: Strang; orders 4 and 6: the Runge-Kutta-Nystrom splittings of Blanes and Moan, for T quadratic in the
momenta; order 8: Strang composed by Kahan and Li's scheme.

The force of the last kick is that of the first kick of the next step: it is kept in carry (n numbers and a flag).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...errors import CapabilityError, InputError
from ...kernels.bodies import sweep_body
from ...kernels.lanes import holds
from ...kernels.marks import bind, size, within
from ...kernels.summation import put_back, save
from ...kernels.views import Flag, View, dimension, drift, force, keep, kick, recall, settle, sweep
from ..base import Bounded, Exact, Method, Stepper, Traits, register
from ..rotors.moser_veselov import DMV, choose_rotor
from ..rotors.rotations import SymmetricRotation, exact_rotor
from ..rotors.rotor import TurnsBodies, check_rotor, with_lanes, with_rotor
from .schemes import NYSTROM, SCHEMES
from .stability import merge, stability_limit

# Rotors whose error, and whose defect in symplecticity, is negligible beside the error of the splitting: with DMV(6)
# the energy of an asymmetric top drifts under Splitting(4).
DEFAULT_ROTORS = {2: SymmetricRotation(), 4: DMV(10), 6: DMV(10), 8: DMV(10)}


@size
def drift_count(tab):
    """Number of drifts in a step."""
    return tab.shape[1] - 1


def split_step(z, e, dt, par, tab, work, carry):
    """tab[0] kicks (one more than drifts), tab[1] drifts. A failed drift leaves z and e as they were."""
    n = dimension(z)
    save(z, e, work)
    last = drift_count(tab)
    if holds(carry[n] == 0.0):
        force(z, par, carry)
    carry[n] = 0.0
    for i in range(last):
        status = kick(z, e, tab[0, i] * dt, par, carry)
        if status == 0:
            status = drift(z, e, tab[1, i] * dt, par, work[2 * n :])
        if status != 0:
            put_back(z, e, work)
            return status
        force(z, par, carry)
    carry[n] = 1.0
    return kick(z, e, tab[0, last] * dt, par, carry)


@size
def may_fail(tab):
    """1 if the rotor may refuse a step as too long, else 0."""
    return 1


@within
def begin_sweeps(z, par, tab):
    """Save the state to which a failed step returns; compute the forces if they are not known."""
    n = dimension(z)
    if may_fail(tab) == 1:
        keep(z, par)
    if z[n - 2] == 0.0:
        settle(z, par)
        z[n - 2] = 1.0


@within
def sweep_step(z, e, dt, par, tab, work, carry):
    """The same in sweeps. z ends with a flag (forces known) and the length of the kick left to the next step."""
    n = dimension(z)
    begin_sweeps(z, par, tab)
    push = z[n - 1]
    last = drift_count(tab)
    for i in range(last):
        status = sweep(z, e, push + tab[0, i] * dt, tab[1, i] * dt, par)
        if status != 0:
            recall(z, par)
            z[n - 2] = 0.0
            return status
        push = 0.0
    z[n - 1] = tab[0, last] * dt
    return 0


def sweep_steps_of_body(
    w, i, before, after, j, count, most, dt, pending, par, tab, carry, sums, shown, links, momenta, partial
):
    """The same for one body. Its forces are computed in the round before the first step."""
    status = 0
    push = pending
    last = drift_count(tab)
    for k in range(-1, most):
        moves = 0 <= k < count
        for stage in range(last):
            now = sweep_body(
                w, i, before, after, j, moves, push + tab[0, stage] * dt, tab[1, stage] * dt, par, shown, links
            )  # fmt: skip
            status = now if status == 0 else status
            push = 0.0 if moves else push
        push = tab[0, last] * dt if moves else push
    return status, push


def coefficients(order: int) -> tuple[np.ndarray, np.ndarray, str]:
    """Kicks, drifts and citation of the splitting of this order."""
    if order == 8:
        scheme = SCHEMES["kahanli8"]
        return *merge(scheme.weights), scheme.cite
    nystrom = next(n for n in NYSTROM.values() if n.order == order)
    return nystrom.kicks, nystrom.drifts, nystrom.cite


@register
@dataclass(frozen=True)
class Splitting(TurnsBodies):
    """Explicit symmetric splitting of order 2, 4, 6 or 8.

    2: Strang (kick, drift, kick), 1 force evaluation; 4: SRKN6b, 6 evaluations; 6: SRKN11b, 11; 8: composition of
    Strang by Kahan and Li, 17. Symplectic, symmetric; keeps bilinear invariants q^T B p. Orders 4 and 6 need a
    kinetic energy that is quadratic in the momenta. Choose order 6 for most separable problems; 8 near round-off.

    Parameters
    ----------
    order : 2, 4, 6 or 8
    rotor : for systems with bodies, how they turn freely in a drift; orders 4 and 6 need a rotor of at least their order. The
        default is `SymmetricRotation()` for order 2 and for a top with two equal moments, where it is exact; otherwise
        `DMV(10)`. That one is symplectic up to its order: the defect of a step grows with (dt |omega|)^11 and is 1e-14 at
        dt |omega| = 0.3. `Jacobi()` has no defect, nor do compositions of `SymmetricRotation()`. `Jacobi()` is also the default
        where the powers of moments of inertia in `DMV(10)` exceed the range of doubles (a molecule in SI units)

    References
    ----------
    [strang1968], [blanes2002], [kahan1997]
    """

    needs = ("tiles", "split")
    order: int
    rotor: Method | None = None

    def __post_init__(self) -> None:
        if self.order not in (2, 4, 6, 8):
            raise InputError(
                f"order = {self.order!r} is not available", where="Splitting.order", do="choose 2, 4, 6 or 8"
            )
        if self.rotor is not None:
            check_rotor(self.rotor, order=self.order if self.order in (4, 6) else 2, where="Splitting.rotor")

    def stepper(self, view: View) -> Stepper:
        if self.order in (4, 6) and Flag.QUADRATIC_KINETIC not in view.flags:
            raise CapabilityError(f"{self} needs a kinetic energy that is quadratic in the momenta")
        rotor = self._rotor(view)
        kicks, drifts, _ = coefficients(self.order)
        tab = np.zeros((2, len(kicks)))
        tab[0], tab[1, :-1] = kicks, drifts
        n = view.dimension
        if view.name == "tiles":
            fills = {drift_count: len(drifts), may_fail: int(not rotor.traits.explicit)}
            of_body = bind(sweep_steps_of_body, fills)
            stepper = Stepper(bind(sweep_step, fills), tab, 0, 0, in_sweeps=True, of_body=of_body)
            return with_lanes(stepper, rotor, view)
        stepper = Stepper(bind(split_step, {drift_count: len(drifts)}), tab, 3 * n, n + 1)
        return with_rotor(stepper, rotor, view)

    def _rotor(self, view: View) -> Method:
        return self.rotor or exact_rotor(view) or choose_rotor(view, DEFAULT_ROTORS[self.order])

    @property
    def _alone(self) -> Traits:
        """Traits if no body rotates."""
        kicks, drifts, cite = coefficients(self.order)
        keeps = (Exact("linear"), Exact("bilinear"), Exact("unit"), Bounded("energy"))
        return Traits(self.order, True, True, True, keeps, (cite,), stability_limit(kicks, drifts))

    @property
    def reach(self) -> float:
        _, drifts, _ = coefficients(self.order)
        return (self.rotor or DEFAULT_ROTORS[self.order]).reach / float(np.abs(drifts).max())

    @classmethod
    def examples(cls) -> tuple[Method, ...]:
        return cls(2), cls(4), cls(6), cls(8)
