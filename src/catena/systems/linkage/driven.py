"""Joints that move as they are told."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..sampled import GivenInTime, InTime, in_time
from .declared import takes
from .joint_forces import FORCES, Prescribed


@FORCES.register
@dataclass(frozen=True)
class Driven(Prescribed):
    """The angle of a joint, or the displacement of a slider, is prescribed; what it takes is read out as `motor_torque` of the outputs.

    A constraint that moves: it is held exactly, and its work is counted as that of the loads.

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
