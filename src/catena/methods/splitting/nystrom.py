"""Nystrom splittings with a commutator in their kicks: orders 4 and 6 with few drifts.

Kick i is the flow of b_i h V + v_i h^3 {V, {V, T}}. T is quadratic in the momenta, so the commutator is a function of
the positions: tau.J^-1 tau for tops, V_q.M^-1 V_q otherwise.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...errors import CapabilityError, InputError
from ...kernels.lanes import holds
from ...kernels.summation import put_back, save
from ...kernels.views import Flag, View, commutator_kick, dimension, drift, force, kick
from ..base import Bounded, Exact, Method, Stepper, Traits, register
from ..rotors.moser_veselov import DMV, choose_rotor
from ..rotors.rotations import exact_rotor
from ..rotors.rotor import TurnsBodies, check_rotor, with_rotor
from .schemes import COMMUTATOR, CommutatorNystrom
from .splitting import drift_count
from .stability import stability_limit

DEFAULT_ROTOR = DMV(10)
KEEPS = (Exact("linear"), Exact("bilinear"), Exact("unit"), Bounded("energy"))

# rows of tab
KICKS = 0
DRIFTS = 1
COMMUTATORS = 2


def nystrom_step(z, e, dt, par, tab, work, carry):
    """carry: the force (n numbers) and a flag, because the next step starts with the same force.

    work: copies, scratch.
    """
    n = dimension(z)
    save(z, e, work)
    if holds(carry[n] == 0.0):
        force(z, par, carry)
    carry[n] = 0.0
    cube = dt * dt * dt
    last = drift_count(tab)
    status = 0
    for i in range(last + 1):
        if i > 0:
            status = drift(z, e, tab[DRIFTS, i - 1] * dt, par, work[2 * n :])
            if status == 0:
                force(z, par, carry)
        if status == 0 and tab[COMMUTATORS, i] != 0.0:
            status = commutator_kick(z, e, tab[COMMUTATORS, i] * cube, par, carry)
        if status == 0:
            status = kick(z, e, tab[KICKS, i] * dt, par, carry)
        if status != 0:
            put_back(z, e, work)
            return status
    carry[n] = 1.0
    return 0


@dataclass(frozen=True)
class _WithCommutator(TurnsBodies):
    """Common base of the two: everything but their coefficients."""

    needs: ClassVar[tuple[str, ...]] = ("split",)
    rotor: Method | None = None

    @property
    @abstractmethod
    def scheme(self) -> CommutatorNystrom:
        """The coefficients."""

    def __post_init__(self) -> None:
        if self.rotor is not None:
            check_rotor(self.rotor, order=self.scheme.order, where=f"{type(self).__name__}.rotor")

    def stepper(self, view: View) -> Stepper:
        if Flag.COMMUTATOR_KICK not in view.flags:
            raise CapabilityError(f"{self} needs a kinetic energy that is quadratic in the momenta")
        n, scheme = view.dimension, self.scheme
        tab = np.array([scheme.kicks, np.append(scheme.drifts, 0.0), scheme.commutators])
        return with_rotor(Stepper(nystrom_step, tab, 3 * n, n + 1), self._rotor(view), view)

    def _rotor(self, view: View) -> Method:
        return self.rotor or exact_rotor(view) or choose_rotor(view, DEFAULT_ROTOR)

    @property
    def _alone(self) -> Traits:
        """Traits if no body rotates."""
        scheme = self.scheme
        limit = stability_limit(scheme.kicks, scheme.drifts, scheme.commutators)
        return Traits(scheme.order, True, True, True, KEEPS, (scheme.cite,), limit)

    @property
    def reach(self) -> float:
        return (self.rotor or DEFAULT_ROTOR).reach / float(np.abs(self.scheme.drifts).max())  # for the longest drift


@register
@dataclass(frozen=True)
class Nystrom4(_WithCommutator):
    """Splitting of order 4 with two drifts and a commutator kick.

    V h/6, T h/2, V 2h/3 together with -h^3/72 of {V, {V, T}}, T h/2, V h/6.

    Symplectic, symmetric, explicit; two forces and one derivative of the force per step. Choose it for medium accuracy;
    prefer `Nystrom6` for high accuracy.

    Parameters
    ----------
    rotor : for systems with bodies, how they rotate freely in a drift; order 4 or more. By default as for `Splitting`:
        the exact rotation of a top with two equal moments, else `DMV(10)`

    References
    ----------
    [chin1997], [vilmart2015]; there the heavy top's commutator lacks its third component, and its sign and factor are
    wrong.
    """

    @property
    def scheme(self) -> CommutatorNystrom:
        return COMMUTATOR["4"]


@register
@dataclass(frozen=True)
class Nystrom6(_WithCommutator):
    """Splitting of order 6 with seven drifts and commutator kicks.

    Compared with `Splitting(6)`, it has seven drifts instead of eleven and error terms twice as large; each of its
    eight kicks also takes a derivative of the force. Symplectic, symmetric, explicit. Choose it for tops and for
    Hamiltonians whose force is cheap to differentiate; prefer `Lagrange` for symmetric tops.

    Parameters
    ----------
    rotor : for systems with bodies, how they rotate freely in a drift; order 6 or more. By default the exact rotation
        of a top with two equal moments, else `DMV(10)`
    weak : five drifts, for weak potentials such as that of a fast top: errors linear in the potential start at order 8.
        For other potentials its energy errors are hundreds of times larger

    References
    ----------
    [chin1997], [casas2017]
    """

    weak: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.weak, bool):
            raise InputError(f"weak = {self.weak!r}", where="Nystrom6.weak", do="give True or False")
        super().__post_init__()

    @classmethod
    def examples(cls) -> tuple[Method, ...]:
        return cls(), cls(weak=True)

    @property
    def scheme(self) -> CommutatorNystrom:
        return COMMUTATOR["6 weak" if self.weak else "6"]
