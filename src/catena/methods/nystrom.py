"""The fourth-order Nystrom splitting with a commutator in its middle kick.

V h/6, T h/2, V 2h/3 together with -h^3/72 of {V, {V, T}}, T h/2, V h/6. Because T is quadratic in the momenta, the commutator
is a function of the positions: for tops tau.J^-1 tau, else V_q.M^-1 V_q.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import CapabilityError
from ..summation import put_back, save
from ..views import View, commutator_kick, dimension, drift, force, kick
from .base import Bounded, Exact, Method, Stepper, Traits, register
from .moser_veselov import DMV
from .rotations import exact_rotor
from .rotor import check_rotor, turning_with, with_rotor

DEFAULT_ROTOR = DMV(10)
KEEPS = (Exact("linear"), Exact("bilinear"), Exact("unit"), Bounded("energy"))
ALONE = Traits(4, True, True, True, KEEPS, ("chin1997",), 3.46)  # where no body turns


def nystrom_step(z, e, dt, par, tab, work, carry):
    """carry: the force (n numbers) and a flag, as it is the same at the start of the next step. Work: copies, force, scratch."""
    n = dimension(z)
    save(z, e, work)
    middle = work[2 * n : 3 * n]
    if carry[n] == 0.0:
        force(z, par, carry)
    carry[n] = 0.0
    kick(z, e, dt / 6.0, par, carry)
    status = drift(z, e, 0.5 * dt, par, work[3 * n :])
    if status == 0:
        force(z, par, middle)
        commutator_kick(z, e, -dt * dt * dt / 72.0, par, middle)
        kick(z, e, 2.0 * dt / 3.0, par, middle)
        status = drift(z, e, 0.5 * dt, par, work[3 * n :])
    if status != 0:
        put_back(z, e, work)
        return status
    force(z, par, carry)
    carry[n] = 1.0
    return kick(z, e, dt / 6.0, par, carry)


@register
@dataclass(frozen=True)
class Nystrom4(Method):
    """Splitting of order 4 with two drifts and a commutator kick.

    Symplectic, symmetric, explicit; two forces and one derivative of the force per step. Choose it for medium accuracy; prefer
    `Splitting(6)` for high accuracy.

    Parameters
    ----------
    rotor : for systems with bodies, how they turn freely in a drift; order 4 or more. By default as for `Splitting`: the exact
        rotation of a top with two equal moments, else `DMV(10)`

    References
    ----------
    [chin1997], [vilmart2015]; there the heavy top's commutator lacks its third component, and its sign and factor are wrong.
    """

    needs = ("split",)
    rotor: Method | None = None

    def __post_init__(self) -> None:
        if self.rotor is not None:
            check_rotor(self.rotor, order=4, where="Nystrom4.rotor")

    def stepper(self, view: View) -> Stepper:
        if "commutator_kick" not in view.flags:
            raise CapabilityError(f"{self} needs a kinetic energy that is quadratic in the momenta")
        n = view.dimension
        stepper = Stepper(nystrom_step, np.zeros((1, 1)), 4 * n, n + 1)
        return with_rotor(stepper, self._rotor(view), view)

    def _rotor(self, view: View) -> Method:
        return self.rotor or exact_rotor(view) or DEFAULT_ROTOR

    @property
    def traits(self) -> Traits:
        return ALONE if self.rotor is None else turning_with(ALONE, self.rotor)

    def traits_on(self, view: View) -> Traits:
        return turning_with(ALONE, self._rotor(view)) if "rotor" in view.flags else ALONE

    @property
    def reach(self) -> float:
        return (self.rotor or DEFAULT_ROTOR).reach / 0.5  # each drift takes half a step
