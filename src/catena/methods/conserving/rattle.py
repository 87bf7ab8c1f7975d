"""RATTLE for rotations, in its reduced form: between kicks the body turns by the Moser-Veselov map.

On matrices: P' = P - h/2 U_R(R) - h R L, R1 = R + h P' D^-1 with R1^T R1 = 1, then the same kick at R1. Eliminating the
multipliers gives the discrete Moser-Veselov step between half kicks, the same map to round-off, also for flat bodies.
For linked bodies, further multipliers enforce the joints, at the level of positions and of velocities.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ...errors import CapabilityError
from ...kernels.views import Flag, View, correct_increment, kick
from ..base import Bounded, Exact, Method, Stepper, Traits, register
from ..rotors.moser_veselov import DMV
from ..splitting.splitting import Splitting
from .energy_momentum import increment_stepper


@register
@dataclass(frozen=True)
class Rattle(Method):
    """RATTLE: symplectic, symmetric, of order 2, with constraints that keep the rotation orthogonal.

    Keeps the vertical momentum of a top exactly and its energy without drift; on a free body it is `DMV(2)`. Prefer
    `Splitting` with a rotor of higher order, which costs little more.

    References
    ----------
    [leimkuhler2004] section 8.5, [moser1991]
    """

    needs = ("constrained",)

    def stepper(self, view: View) -> Stepper:
        if correct_increment in view.fills:
            if Flag.DAMPERS in view.flags:
                raise CapabilityError("it has no step for dampers", do="use EnergyMomentum()")
            return increment_stepper(view, parts=1)  # a step of varying length is not symplectic
        return (Splitting(2, DMV(2)) if kick in view.fills else DMV(2)).stepper(view)

    @property
    def traits(self) -> Traits:
        keeps = (
            Exact("bilinear"), Exact("unit"), Exact("axial"), Exact("spatial_momentum"), Exact("casimir"),
            Exact("linear"), Exact("vertical"), Exact("joint_position"), Exact("joint_velocity"), Bounded("energy"),
        )  # fmt: skip
        return Traits(2, True, True, False, keeps, ("leimkuhler2004",), Splitting(2).traits.stability)

    def traits_on(self, view: View) -> Traits:
        if kick in view.fills or correct_increment in view.fills:
            return self.traits
        # on its own it is the Moser-Veselov map, which keeps the energy, too
        return replace(DMV(2).traits, cite=self.traits.cite)

    @property
    def reach(self) -> float:
        return DMV(2).reach

    def advice(self) -> str:
        return "use a smaller dt: it turns a body by less than a radian in a step; for linkages, EnergyMomentum() takes longer ones"
