"""Angles and reactions of the joints of a linkage along a run, computed on request."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ..errors import InputError
from ..systems.base import Array, State
from ..systems.linkage import start as starts
from ..systems.linkage.joint_coordinates import joint_speeds, label_of
from ..systems.linkage.joint_forces import OnAngle, Prescribed
from ..systems.linkage.layout import Signal
from ..systems.linkage.linkage import Linkage
from ..systems.linkage.motor import hold_forces
from ..systems.linkage.signals import values_at
from .linkage_reactions import JointReactions, motor_torques, reactions

if TYPE_CHECKING:
    import xarray

    from ..running.runs import Run
    from ..systems.linkage.joint_forces import JointForce


class LinkageOutputs:
    """Outputs of a run of a linkage besides its fields, along time.

    Select joints by number, `angle.sel(joint=0)`, or by name if they have one, `angle.sel(joint_name="shoulder")`.

    Parameters
    ----------
    run : a run of a linkage
    every : stride of the samples used

    Examples
    --------
    >>> import catena as ct
    >>> run = ct.simulate(ct.problems.double_pendulum(), dt=0.02, steps=10)
    >>> run.system.outputs(run).reaction_force.dims
    ('time', 'joint', 'xyz')
    """

    def __init__(self, run: Run, every: int = 1) -> None:
        moved = getattr(run, "system", None)
        if not isinstance(moved, Linkage):
            raise InputError(f"{run!r} is no run of a linkage", where="outputs.run", do="give one, made by ct.simulate")
        self.linkage = starts.count_from_start(moved, run.plan.start)
        self._data = run.data.isel(time=slice(None, None, every))
        self._control = run.control

    def __repr__(self) -> str:
        joints = len(self.linkage.joints)
        held = f"{joints} joint{'' if joints == 1 else 's'}"
        return f"LinkageOutputs of {len(self.time)} samples and {held}: {', '.join(self._names)}"

    @property
    def _names(self) -> list[str]:
        """Names of all outputs."""
        return [name for name, made in vars(type(self)).items() if isinstance(made, cached_property) and name[0] != "_"]

    @property
    def time(self) -> Array:
        """Times of the samples."""
        return np.asarray(self._data.time.values)

    @cached_property
    def angle(self) -> xarray.DataArray:
        """Angle about the axis of each joint that has one, displacement of sliders, nan for the others.

        Full turns are counted from sample to sample, so the angle must change by less than half a turn between two
        samples.
        """
        return self._label(self._angles, "angle about the axis of the joint, or displacement")

    @cached_property
    def speed(self) -> xarray.DataArray:
        """Rate of that angle or displacement: angular velocity of the child relative to its parent about the axis."""
        return self._label(self._speeds, "angular speed about the axis of the joint, or speed along it")

    @cached_property
    def target(self) -> xarray.DataArray:
        """Target angle of each joint: the target of its motor, or the prescribed path; nan for the others."""
        made = np.full((len(self.time), len(self.linkage.joints)), np.nan)
        for force in self.linkage.forces:
            if isinstance(force, OnAngle | Prescribed) and force.followed is not None:
                made[:, force.joint] = [values_at([force.followed], float(t))[0, Signal.VALUE] for t in self.time]
        return self._label(made, "what the angle of the joint is to be")

    @cached_property
    def reaction_force(self) -> xarray.DataArray:
        """Force of each joint on its child."""
        return self._label(self._reactions.force, "force of the joint on its child")

    @cached_property
    def reaction_torque(self) -> xarray.DataArray:
        """Torque of each joint on its child, about the child's point."""
        return self._label(self._reactions.torque, "torque of the joint on its child")

    @cached_property
    def motor_torque(self) -> xarray.DataArray:
        """Torque (or force) of motors and drives about (or along) the axis of each joint; 0 if there are none."""
        return self._label(self._motors, "torque of motors and drives about the axis of the joint")

    @cached_property
    def motor_power(self) -> xarray.DataArray:
        """That times the speed: the power supplied."""
        return self._label(
            np.where(self._motors == 0.0, 0.0, self._motors * self._speeds), "power of motors and drives"
        )

    def dataset(self) -> xarray.Dataset:
        """All outputs."""
        import xarray

        return xarray.Dataset({name: getattr(self, name) for name in self._names})

    @cached_property
    def _states(self) -> list[State]:
        fields = {field.name: self._data[field.name].values for field in self.linkage.fields}
        return [
            State({name: values[k] for name, values in fields.items()}, float(time))
            for k, time in enumerate(self._data.time.values)
        ]

    @cached_property
    def _angles(self) -> Array:
        made = np.array([self.linkage.angles(state) for state in self._states])
        turning = [joint.has_angle for joint in self.linkage.joints]
        made[:, turning] = np.unwrap(made[:, turning], axis=0)
        return made

    @cached_property
    def _speeds(self) -> Array:
        return np.array([joint_speeds(self.linkage, state) for state in self._states]).reshape(len(self._states), -1)

    @cached_property
    def _held(self) -> list[Linkage]:
        """The linkage at each sample, with the motor torques set before or at this sample."""
        if self._control is None:
            return [self.linkage] * len(self._states)
        last = np.searchsorted(self._control.time.values, self.time, side="right") - 1
        torques = np.vstack([self._control.torque.values, np.zeros((1, len(self.linkage.controls)))])  # none at first
        return [_with_forces(self.linkage, hold_forces(self.linkage.forces, torques[k])) for k in last]

    @property
    def _samples(self) -> Iterator[tuple[Linkage, State, Array]]:
        return zip(self._held, self._states, self._angles, strict=True)

    @cached_property
    def _motors(self) -> Array:
        made = [motor_torques(*sample) for sample in self._samples]
        return np.array(made).reshape(len(made), -1)

    @cached_property
    def _reactions(self) -> JointReactions:
        made = [reactions(*sample) for sample in self._samples]
        return JointReactions(np.array([one.force for one in made]), np.array([one.torque for one in made]))

    def _label(self, values: Array, about: str) -> xarray.DataArray:
        import xarray

        known: dict[str, ArrayLike] = {"time": self._data.time.values}
        made = xarray.DataArray(values, known, ("time", "joint", "xyz")[: values.ndim], attrs={"long_name": about})
        if not any(joint.name for joint in self.linkage.joints):
            return made
        names = [label_of(self.linkage, k) for k in range(len(self.linkage.joints))]
        return made.assign_coords(joint_name=("joint", names)).set_xindex("joint_name")


def _with_forces(linkage: Linkage, forces: tuple[JointForce, ...]) -> Linkage:
    """The same for callers that read its forces only, much faster than a separate linkage for each sample."""
    made = copy(linkage)
    made.forces = forces
    return made
