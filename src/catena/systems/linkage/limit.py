"""Elastic stops of joints."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from types import SimpleNamespace

from ...errors import InputError
from ...kernels.marks import Kernel
from .declared import FROM_ZERO, NUMBER
from .director_form import motors as kernels
from .joint_forces import FORCES, AngleQuantity, OnAngle


@FORCES.register
@dataclass(frozen=True)
class Limit(OnAngle):
    """Elastic stops of a joint: V = stiffness/2 x^2 with the angle x by which it is turned beyond one of them.

    The damping grows with x, so that the torque has no jump where a stop is met: -damping |x| dtheta/dt [hunt1975]. V has one continuous
    derivative; methods of order above 2 lose some of it in the step in which a stop is met or left.

    Parameters
    ----------
    joint : number of a joint with an angle, or of a slider: its displacement stands for the angle, a force for the torque (joint form)
    low, high : angles between which it turns freely, counted as in `Torsion`
    stiffness : torque per angle beyond a stop
    damping : torque per angle beyond a stop and angular velocity

    References
    ----------
    [hunt1975]
    """

    low: float = field(default=-math.pi, metadata=NUMBER)
    high: float = field(default=math.pi, metadata=NUMBER)
    stiffness: float = field(default=1.0, metadata=FROM_ZERO)
    damping: float = field(default=0.0, metadata=FROM_ZERO)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.low < self.high:
            raise InputError(f"low = {self.low:g} is not below high = {self.high:g}", where="Limit", do="exchange them")

    @property
    def quantities(self) -> frozenset[AngleQuantity]:  # type: ignore[override]
        stored = OnAngle.quantities
        return stored | {"drag_torque"} if self.damping > 0.0 else stored

    @property
    def viscosity(self) -> float:
        return 0.0

    @property
    def dissipates(self) -> bool:
        return self.damping > 0.0

    @property
    def constants(self) -> tuple[float, ...]:
        return self.low, self.high, self.stiffness, self.damping

    def kernel(self, quantity: AngleQuantity) -> Kernel:
        found: dict[str, Kernel] = {
            "torsion_energy": kernels.limit_energy, "torsion_slope": kernels.limit_slope,
            "torsion_curvature": kernels.limit_curvature, "drag_torque": kernels.limit_drag,
        }  # fmt: skip
        return found[quantity]

    def torque_at(self, theta: float, rate: float, time: float) -> float:
        par = SimpleNamespace(torsion=self.constants)
        drag = kernels.limit_drag(theta, rate, 0, 0, par)[0]
        return float(drag - kernels.limit_slope(theta, 0, par))
