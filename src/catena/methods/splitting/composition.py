"""Higher order by composition: Psi_h = Phi_{w_m h} o ... o Phi_{w_1 h} with a symmetric base Phi and palindromic w."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...errors import CapabilityError, InputError, unknown_word
from ...kernels.marks import Filling, Kernel, Slot, bind, size
from ...kernels.views import Flag, View, dimension, rotate, step
from ..base import Method, Stepper, Traits, register
from ..rotors.rotor import turning
from .partitioned import StormerVerlet
from .schemes import SCHEMES
from .stability import merge, stability_limit


@size
def repetitions(tab):
    """Number of base steps in a step."""
    return tab.shape[1]


@size
def base_work(work, z):
    """Scratch of the base; after it, scratch of the composition: a copy of z and of its compensation."""
    return work.shape[0] - 2 * z.shape[0]


@size
def keeps_carry(carry):
    """1 if the carry of the base does not depend on the step length, else 0."""
    return 1


def compose(z, e, dt, par, tab, work, carry):
    """Steps of the base; tab: the weights in the first row, below them its table. A failure leaves z and e as they were."""
    n = dimension(z)
    start = base_work(work, z)
    for k in range(n):
        work[start + k] = z[k]
        work[start + n + k] = e[k]
    for j in range(repetitions(tab)):
        if keeps_carry(carry) == 0:
            for i in range(carry.shape[0]):
                carry[i] = 0.0
        status = step(z, e, tab[0, j] * dt, par, tab[1:], work, carry)
        if status != 0:
            for k in range(n):
                z[k] = work[start + k]
                e[k] = work[start + n + k]
            for i in range(carry.shape[0]):
                carry[i] = 0.0
            return status
    return 0


def compose_rotor(y, q, ey, eq, inertia, h, tab):
    """The same for a rotor; tab: the weights, then the row of the base."""
    m = repetitions(tab)
    for j in range(m):
        status = rotate(y, q, ey, eq, inertia, tab[j] * h, tab[m:])
        if status != 0:
            return status
    return 0


@register
@dataclass(frozen=True)
class Composition(Method):
    """Composition of a symmetric method of order 2 (or more) with itself.

    One step makes 3 to 17 steps of the base with the weights of the scheme (twice as many of half the length, if two steps
    of the base are near the identity but one is not). The result has the order of the scheme, is symmetric, and keeps
    what the base keeps. Prefer `Splitting` where the kinetic energy is quadratic.

    Parameters
    ----------
    base : any symmetric method of order 2
    scheme : "yoshida4", "suzuki4", "yoshida6", "kahanli6", "yoshida8", "suzukiumeno8" or "kahanli8"; the best of
        each order (smallest weights) are "suzuki4", "kahanli6" and "kahanli8"

    References
    ----------
    [yoshida1990], [suzuki1990], [kahan1997], [suzuki1993]
    """

    base: Method
    scheme: str

    def __post_init__(self) -> None:
        if self.scheme not in SCHEMES:
            raise unknown_word(f"scheme = {self.scheme!r} is not known", self.scheme, SCHEMES, "Composition.scheme")
        if not isinstance(self.base, Method):
            raise InputError(
                f"base = {self.base!r} is not a method",
                where="Composition.base",
                do="give one, such as StormerVerlet()",
            )
        if not self.base.traits.symmetric:
            raise InputError(
                f"{self.base} is not symmetric, so composing it does not raise the order", where="Composition.base",
                do="choose a symmetric base, such as StormerVerlet() or ImplicitMidpoint()",
            )  # fmt: skip
        if self.base.traits.order != 2:
            raise InputError(
                f"{self.base} has order {self.base.traits.order}; the schemes are made for order 2",
                where="Composition.base", do="choose a base of order 2, such as StormerVerlet()",
            )  # fmt: skip

    @property
    def needs(self) -> tuple[str, ...]:  # type: ignore[override]
        """The views that its base needs."""
        return self.base.needs

    def stepper(self, view: View) -> Stepper:
        if Flag.UNILATERAL in view.flags:
            raise CapabilityError("some of its steps run backwards in time, and impacts cannot be undone")
        base = self.base.stepper(view)
        weights = SCHEMES[self.scheme].weights
        if self.base.traits.reflects:
            weights = np.repeat(0.5 * np.asarray(weights), 2)
        rows, columns = base.tab.shape
        tab = np.zeros((1 + rows, max(columns, len(weights))))
        tab[0, : len(weights)] = weights
        tab[1:, :columns] = base.tab
        fills: dict[Slot, Filling] = {
            step: base.kernel,
            repetitions: len(weights),
            keeps_carry: int(self.base.traits.explicit),
        }
        if view.literal:
            fills[base_work] = base.work
        memory = base.work + 2 * view.dimension
        return Stepper(bind(compose, fills), tab, memory, base.carry, base.parameters, base.scratch)

    def rotor_kernel(self) -> Kernel:
        """The composition as a rotor inside a splitting, if its base is one."""
        fills: dict[Slot, Filling] = {
            rotate: turning(self.base).rotor_kernel(),
            repetitions: len(SCHEMES[self.scheme].weights),
        }
        return bind(compose_rotor, fills)

    @property
    def takes_notes(self) -> bool:
        """Whether the base writes to its part of a row."""
        return bool(self.base.takes_notes)  # type: ignore[attr-defined]

    def table(self, view: View) -> np.ndarray:
        """The weights, then the row of the base, for each body."""
        base = turning(self.base).table(view)
        return np.hstack([np.tile(SCHEMES[self.scheme].weights, (len(base), 1)), base])

    @property
    def traits(self) -> Traits:
        return self._of(self.base.traits)

    def traits_on(self, view: View) -> Traits:
        return self._of(self.base.traits_on(view))

    def _of(self, base: Traits) -> Traits:
        scheme = SCHEMES[self.scheme]
        # a linear oscillator is separable, so a base that can be explicit is explicit there
        limit = stability_limit(*merge(scheme.weights)) if self.base.traits.explicit else base.stability
        return replace(
            base, order=scheme.order, cite=(scheme.cite, *base.cite), stability=limit, reflects=False,
            nearly=base.nearly if base.nearly > scheme.order else 0,
        )  # fmt: skip

    @property
    def reach(self) -> float:
        return self.base.reach / float(np.abs(SCHEMES[self.scheme].weights).max())

    def advice(self) -> str:
        return self.base.advice()

    @classmethod
    def examples(cls) -> tuple[Method, ...]:
        return tuple(cls(StormerVerlet(), scheme) for scheme in SCHEMES)
