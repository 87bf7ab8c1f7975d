"""What moves joints, and what stops them: motors, elastic stops, and motions that are prescribed."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ...errors import InputError
from ...kernels.marks import Kernel
from ..potentials.pairwise import check, interpret
from ..sampled import GivenInTime, InTime, in_time
from .declared import FROM_ZERO, NUMBER, takes, unless_none
from .director_form import motors as kernels
from .joint_forces import FORCES, AngleQuantity, JointForce, OnAngle, Prescribed
from .signals import values_at

NO_LIMIT = float(np.finfo(float).max)


@FORCES.register
@dataclass(frozen=True)
class Motor(OnAngle):
    """A motor about the axis of a joint: a given torque, one that follows a target, or, with neither, one that a `Controller` sets.

    With a target the torque is -kp (theta - target) - kd (dtheta/dt - dtarget/dt), theta counted as in `Torsion`. The energy that a
    motor stores is not energy of the linkage: all its work counts as work of the loads.

    Parameters
    ----------
    joint : number of a joint with an angle, or of a slider: its displacement stands for the angle, a force for the torque (joint form)
    torque : on the child, and against the parent: a number, a text in t, or `Sampled(times, values)`
    target : angle to follow, given in the same ways, instead of a torque
    kp, kd : torque per angle and per angular velocity; with a target only
    effort : largest torque; None: unlimited. Where the limit is reached, methods of high order lose order

    Examples
    --------
    >>> import catena as ct
    >>> ct.Motor(0, target="0.3*sin(2*t)", kp=40.0, kd=2.0).torque_at(0.1, 0.0, 0.0)
    -2.8
    """

    torque: GivenInTime | None = field(default=None, metadata=unless_none(in_time))
    target: GivenInTime | None = field(default=None, metadata=unless_none(in_time))
    kp: float = field(default=0.0, metadata=FROM_ZERO)
    kd: float = field(default=0.0, metadata=FROM_ZERO)
    effort: float | None = field(default=None, metadata=unless_none(partial(check, least=0.0)))

    quantities: ClassVar[frozenset[AngleQuantity]] = frozenset({"motor_torque"})

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.torque is not None and self.target is not None:
            raise InputError("both torque and target are given", where="Motor", do="leave out one of them")
        gains = self.kp > 0.0 or self.kd > 0.0
        if gains != (self.target is not None):
            wrong = "kp and kd need a target" if gains else "a target is not followed without kp or kd"
            raise InputError(wrong, where="Motor", do='give target="...", kp=..., kd=...')

    @property
    def signals(self) -> tuple[InTime, ...]:
        given = self.target if self.torque is None else self.torque
        return (0.0 if given is None else in_time(given, "Motor"),)

    @property
    def controlled(self) -> bool:
        return self.torque is None and self.target is None

    @property
    def followed(self) -> InTime | None:
        return None if self.target is None else self.signals[0]

    @property
    def dissipates(self) -> bool:
        return self.kd > 0.0

    @property
    def constants(self) -> tuple[float, ...]:
        return self.kp, self.kd, NO_LIMIT if self.effort is None else self.effort

    def kernel(self, quantity: AngleQuantity) -> Kernel:
        return kernels.given_torque if self.target is None else kernels.follow_target

    def torque_at(self, theta: float, rate: float, time: float) -> float:
        par = SimpleNamespace(torsion=self.constants, signal=values_at(self.signals, time))
        return float(interpret(self.kernel("motor_torque"))(theta, rate, 0, 0, par)[0])


@FORCES.register
@dataclass(frozen=True)
class Limit(OnAngle):
    """Elastic stops of a joint: V = stiffness/2 x^2 with the angle x beyond one of them.

    The damping grows with x, so that the torque does not jump where a stop is met: -damping |x| dtheta/dt [hunt1975]. V has one
    continuous derivative; methods of order above 2 lose order in the step in which a stop is met or left.

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
            wrong = f"low = {self.low:g} is not below high = {self.high:g}"
            raise InputError(wrong, where="Limit", do="give two angles or displacements, the lower one first")

    @property
    def quantities(self) -> frozenset[AngleQuantity]:  # type: ignore[override]
        stored = OnAngle.quantities
        return stored | {"drag_torque"} if self.damping > 0.0 else stored

    @property
    def viscosity(self) -> float:
        return 0.0

    @property
    def constants(self) -> tuple[float, ...]:
        return self.low, self.high, self.stiffness, self.damping

    def kernel(self, quantity: AngleQuantity) -> Kernel:
        found: dict[str, Kernel] = {
            "torsion_energy": kernels.limit_energy, "torsion_slope": kernels.limit_slope,
            "torsion_curvature": kernels.limit_curvature, "drag_torque": kernels.limit_drag,
        }  # fmt: skip
        return found[quantity]


@FORCES.register
@dataclass(frozen=True)
class Driven(Prescribed):
    """Prescribes the angle of a joint, or the displacement of a slider; `motor_torque` of the outputs is the torque that this needs.

    This is a moving constraint: it is enforced exactly, and its work counts as that of the loads.

    Parameters
    ----------
    joint : number of a joint with an angle, or of a Prismatic one, that carries its child
    path : angle or displacement, counted as in `Torsion`: a text in t, or `Sampled(times, values)`; it needs two continuous derivatives

    Examples
    --------
    >>> import catena as ct
    >>> rod = ct.Body.box((0.1, 0.1, 1.0), mass=3.0)
    >>> hinge = ct.Revolute(-1, 0, at=((0, 0, 0), (0, 0, 0.5)), axis=(1, 0, 0))
    >>> crank = ct.Linkage([rod], [hinge], [ct.Driven(0, "t**2")], gravity=(0, 0, 0))
    >>> crank.motor_torques(crank.start()).round(12).tolist()  # twice the moment of inertia about the hinge
    [2.005]
    """

    path: GivenInTime = field(default=0.0, metadata=takes(in_time))

    @property
    def signals(self) -> tuple[InTime, ...]:
        return (in_time(self.path, "Driven.path"),)


def hold_forces(forces: Iterable[JointForce], torques: ArrayLike) -> tuple[JointForce, ...]:
    """The same forces with torques, one for each, of the motors that a controller sets."""
    given = iter(np.asarray(torques, dtype=float).tolist())
    return tuple(
        replace(force, torque=next(given)) if isinstance(force, Motor) and force.controlled else force
        for force in forces
    )
