"""A rigid body that may also change its size: seven degrees of freedom, and constraints on the seventh."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from ...errors import CapabilityError, InputError
from ...geometry import rotations
from ...geometry.free_rotation import Orbit
from ...kernels import views
from ...kernels.marks import Filling, Numbers, Slot
from ...kernels.views import Flag, View
from ...text.plain import Json
from ..base import Array, Field, Invariant, State, register
from ..body import Body
from ..linkage.joint_forces import Load, OnBodies, force_from
from ..numbers import finite_number, finite_numbers
from ..one_body import IDENTITY, NOT_CANONICAL, OneBody, start_vector
from ..orientations import UNIT_TOLERANCE, one_orientation, one_scaled_orientation
from ..phase_space import Pair, PhaseSpace
from ..sampled import depends_on_time
from ..scene import Scene
from ..states import as_state, naming_arguments
from . import kernels as kernels
from .flight import Flight, flights, positions

Constraint = Literal["none", "equality", "unilateral"]
ON_LINE = 1e-12  # relative distance by which a point may lie off the line of a body


@register
class ScalingBody(OneBody):
    """A body that turns, moves and changes its size.

    A point rho of the body is at r + s R rho; s > 0 is the scale. Without a constraint it is free and has the kinetic energy
    p^2/(2m) + kappa nu^2/2 + l.Theta^-1 l/(2 s^2), nu = ds/dt, kappa = tr Theta/2, l = s^2 Theta omega. The constraint
    "equality" enforces s = 1 (the rigid body, with the multiplier that maintains its size); "unilateral" bounds s <= 1.

    Parameters
    ----------
    body : the body at scale 1
    constraint : "none", "equality" or "unilateral"
    restitution : fraction of the rate that an impact at s = 1 returns, 0 to 1
    forces : `Load`s on body 0, constant in space, which act at the points r + s R at
    scaling_force : a constant force on the scale

    Examples
    --------
    >>> import catena as ct
    >>> body = ct.ScalingBody(ct.Body(moments=(2.0, 3.0, 4.0)))
    >>> start = body.start(angular_velocity=(0.7, -1.1, 0.5), scale_rate=0.25)
    >>> round(float(body.exact(2.0, start).scale), 12)
    2.690105326315

    References
    ----------
    [moeller2012], without the closed form
    """

    default_method = ("EnergyMomentum", {})

    def __init__(
        self,
        body: Body | Mapping[str, object],
        constraint: Constraint = "none",
        restitution: float = 1.0,
        forces: Sequence[OnBodies | Mapping[str, object]] = (),
        scaling_force: float = 0.0,
    ) -> None:
        super().__init__(body)
        if constraint not in ("none", "equality", "unilateral"):
            raise InputError(
                f"constraint = {constraint!r}", where="ScalingBody.constraint",
                do='choose "none", "equality" or "unilateral"',
            )  # fmt: skip
        self.constraint = constraint
        self.restitution = finite_number(restitution, "ScalingBody.restitution")
        if not 0.0 <= self.restitution <= 1.0:
            raise InputError(
                f"restitution = {restitution!r}", where="ScalingBody.restitution", do="give a number from 0 to 1"
            )
        self.scaling_force = finite_number(scaling_force, "ScalingBody.scaling_force")
        self.forces = tuple(_load(force, number) for number, force in enumerate(forces))
        if self.body.kind == "linear":
            self._refuse_moments_about_the_line()

    def _refuse_moments_about_the_line(self) -> None:
        line = int(np.argmin(self.body.moments))
        for number, load in enumerate(self._loads):
            if load[6:].any() or np.abs(np.delete(load[:3], line)).max() > ON_LINE * np.abs(load[:3]).max():
                raise InputError(
                    "this load turns a linear body about its own line, which has no moment of inertia",
                    where=f"ScalingBody.forces[{number}]", do="let a force act at a point of the line, and no moment",
                )  # fmt: skip

    @property
    def in_words(self) -> str:
        return "Body that may change its size"

    @property
    def title(self) -> str:
        return {
            "none": "ScalingBody",
            "equality": "ScalingBody of fixed size",
            "unilateral": "ScalingBody with impacts",
        }[self.constraint]

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        return (
            Field("position", (3,), ("xyz",), "centre of mass"),
            Field("orientation", (4,), ("wxyz",), "orientation, body to space, scalar first"),
            Field("momentum", (3,), ("xyz",), "momentum"),
            Field("angular_momentum", (3,), ("xyz",), "angular momentum in the body"),
            Field("scale", (), (), "size, 1 for the body as given"),
            Field("scale_rate", (), (), "rate of the scale"),
        )

    @cached_property
    def kappa(self) -> float:
        """Inertia of the scale: half the trace of the inertia tensor."""
        return 0.5 * float(self.body.moments.sum())

    @cached_property
    def _loads(self) -> Array:
        """(m, 9): point in principal axes, force and moment in space."""
        rows = [
            np.array([*rotations.apply(self.body.frame_matrix.T, f.at), *f.force, *f.torque], dtype=float)
            for f in self.forces
        ]
        return np.array(rows).reshape(-1, 9)

    @property
    def is_free(self) -> bool:
        """Whether only constraints act."""
        return not self._loads[:, 3:].any() and self.scaling_force == 0.0

    @property
    def _axis(self) -> Array:
        """Common direction of the forces off the centre, if they have one and no moments act; else zero."""
        loads = self._loads
        forces = loads[loads[:, :3].any(axis=1) & loads[:, 3:6].any(axis=1), 3:6]
        if loads[:, 6:].any() or not len(forces) or np.cross(forces[0], forces).any():
            return np.zeros(3)
        return forces[0] / np.linalg.norm(forces[0])

    @property
    def _kept(self) -> tuple[bool, int]:
        """Whether the momentum is conserved; 1 if the angular momentum is, 2 if only its component along an axis."""
        loads = self._loads
        beside = (loads[:, :3].any(axis=1) & loads[:, 3:6].any(axis=1)).any()
        turning = 2 if self._axis.any() else int(not (beside or loads[:, 6:].any()))
        return not loads[:, 3:6].sum(axis=0).any(), turning

    @cached_property
    def invariants(self) -> tuple[Invariant, ...]:
        lossless = self.constraint != "unilateral" or self.restitution == 1.0
        conservative = lossless and not self._loads[:, 6:].any()
        found = [
            Invariant(
                "energy", (), (), "kinetic and potential energy", frozenset({"energy" if conservative else "changes"})
            ),
            Invariant("unit_residual", (), (), "|q|^2 - 1", frozenset({"unit", "quadratic"})),
        ]
        moves_freely, turns_freely = self._kept
        if turns_freely == 2:
            about = "angular momentum about the direction of the forces"
            found.append(Invariant("vertical_momentum", (), (), about, frozenset({"vertical"})))
        if moves_freely:
            tags = frozenset({"linear", "bilinear", "quadratic"})
            found.append(Invariant("total_momentum", (3,), ("xyz",), "momentum", tags))
        if turns_freely == 1:
            found += [
                Invariant("spatial_momentum", (3,), ("xyz",), "angular momentum in space", frozenset({"spatial_momentum"})),
                Invariant(
                    "casimir", (), (), "half the square of the angular momentum",
                    frozenset({"casimir", "quadratic", "spatial_momentum"}),
                ),
                Invariant("spin_energy", (), (), "energy of rotation at scale 1", frozenset({"energy", "quadratic"})),
            ]  # fmt: skip
        return tuple(found)

    @naming_arguments
    def start(
        self,
        orientation: ArrayLike = IDENTITY,
        *,
        position: ArrayLike = (0.0, 0.0, 0.0),
        velocity: ArrayLike | None = None,
        momentum: ArrayLike | None = None,
        angular_velocity: ArrayLike | None = None,
        angular_momentum: ArrayLike | None = None,
        scale: float | None = None,
        scale_rate: float = 0.0,
        time: float = 0.0,
    ) -> State:
        """A state; whatever is not given is at rest.

        Parameters
        ----------
        orientation : body to space: (4,) quaternion, scalar first; (3, 3) rotation matrix; or scipy's Rotation. A quaternion A
            that is not normalised also gives the scale, |A|^2 [moeller2012]
        position : (3,)
        velocity or momentum : (3,) in space
        angular_velocity or angular_momentum : (3,) in the body; l = scale^2 Theta omega
        scale, scale_rate : scale, and its rate; the default scale is 1, or that of a quaternion that is not normalised
        """
        q, s = self._size_of(orientation, scale)
        rate = finite_number(scale_rate, "start.scale_rate")
        self._check_scale(s, rate)
        if velocity is not None and momentum is not None:
            raise InputError("velocity and momentum are both given", where="start.velocity", do="give one of them")
        if angular_velocity is not None and angular_momentum is None:
            angular_velocity = s * s * start_vector(angular_velocity, "angular_velocity")
        elif angular_velocity is None and angular_momentum is None:
            angular_momentum = np.zeros(3)
        turning = super().start(q, angular_velocity=angular_velocity, angular_momentum=angular_momentum)
        p = start_vector(momentum, "momentum") if momentum is not None else np.zeros(3)
        if velocity is not None:
            p = self.body.mass * start_vector(velocity, "velocity")
        fields = {"position": start_vector(position, "position"), "orientation": turning.orientation, "momentum": p}
        fields |= {"angular_momentum": turning.angular_momentum, "scale": np.array(s), "scale_rate": np.array(rate)}
        return State(fields, finite_number(time, "start.time"))

    def _size_of(self, orientation: ArrayLike, scale: float | None) -> tuple[Array, float]:
        """The unit quaternion and the scale; if no scale is given, it is the squared length of the quaternion.

        A length that is 1 up to rounding is set to 1: otherwise a scale at its bound could be beyond it by chance.
        """
        if scale is not None:
            return one_orientation(orientation), finite_number(scale, "start.scale")
        q = one_scaled_orientation(orientation)
        length = float(np.linalg.norm(q))
        return rotations.normalise(q), 1.0 if abs(length - 1.0) <= UNIT_TOLERANCE else length * length

    def _check_scale(self, s: float, rate: float) -> None:
        if not s > 0.0:
            raise InputError(f"scale = {s!r}", where="start.scale", do="give a number > 0")
        if self.constraint == "equality" and (s, rate) != (1.0, 0.0):
            raise InputError(
                f"scale = {s!r}, scale_rate = {rate!r}, but the size is held", where="start.scale",
                do="start with scale 1 and rate 0",
            )  # fmt: skip
        if self.constraint == "unilateral" and s > 1.0:
            raise InputError(f"scale = {s!r} is beyond the bound", where="start.scale", do="start with at most 1")

    def view(self, name: str) -> View | None:
        offered = {"energy_momentum": True, "field": True, "flow": self.is_free}
        if not offered.get(name, False):
            return None
        if self.constraint == "unilateral" and name != "energy_momentum":
            raise CapabilityError(
                "the size has a bound, and its rate jumps at impacts: methods for smooth motion would step over them",
                do="use EnergyMomentum(), which locates them; without forces `exact` gives the motion in closed form",
            )
        moves_freely, turns_freely = self._kept
        fills: dict[Slot, Filling] = {
            views.field: kernels.scaling_field,
            views.flow: kernels.scaling_flow,
            views.publish: kernels.publish_scaling,
            views.measure: kernels.measure_scaling,
            views.field_count: 4 if self.constraint == "equality" else 6,
            views.field_end: kernels.scaling_field_end,
            kernels.is_held: int(self.constraint == "equality"),
            kernels.keeps_momentum: int(moves_freely),
            kernels.keeps_rotation: turns_freely,
        }
        flags = {Flag.SCALING, Flag(self.constraint)} | ({Flag.FREE} if self.is_free else set())
        return View(
            name, fills, kernels.DIMENSION, self.to_stepped, self.from_stepped, frozenset(flags),
            withdrawn=NOT_CANONICAL if name == "field" else frozenset(),
            scratch=(lambda: {"orbit": np.zeros(Orbit.WIDTH)}) if name == "flow" else dict, packs_many=True,
        )  # fmt: skip

    def parameter_arrays(self) -> dict[str, Numbers]:
        own = {"mass": [self.body.mass], "kappa": [self.kappa], "scaling": [self.scaling_force, self.restitution]}
        loads = self._loads if len(self._loads) else np.zeros((1, 9))
        return (
            super().parameter_arrays()
            | {name: np.array(values) for name, values in own.items()}
            | {"loads": loads, "axis": self._axis}
        )

    def phase_space(self, start: State) -> PhaseSpace:
        pairs = [Pair("position", "momentum", [np.eye(3)]), self._turning_pair()]
        if self.constraint != "equality":
            pairs.append(Pair("scale", "scale_rate", [np.eye(1)], factor=self.kappa))
        return PhaseSpace(tuple(pairs))

    def to_stepped(self, state: State) -> Array:
        """z = (r, q, p, l, s, nu), in principal axes."""
        turning = super().to_stepped(state)
        size = np.stack([state.scale, state.scale_rate], axis=-1)
        return np.concatenate([state.position, turning[..., :4], state.momentum, turning[..., 4:], size], axis=-1)

    def from_stepped(self, z: Array, time: float) -> State:
        """The state of z."""
        turning = super().from_stepped(np.concatenate([z[3:7], z[10:13]]), time)
        fields = {"position": z[:3].copy(), "orientation": turning.orientation, "momentum": z[7:10].copy()}
        fields |= {"angular_momentum": turning.angular_momentum}
        return State(fields | {"scale": np.array(z[13]), "scale_rate": np.array(z[14])}, time)

    def exact(self, t: ArrayLike, start: State) -> State:
        """The state at time t, or states at an array of times, in closed form like that of a free body, with changing
        scale and impacts.

        Parameters
        ----------
        t, start : as for `FreeBody.exact`; with impacts, no time before `start.time`

        Raises
        ------
        CapabilityError : forces act
        """
        if not self.is_free:
            raise CapabilityError("only motion without forces has a closed form", do="simulate it")
        times, start = finite_numbers(t, where="exact.t"), as_state(self, start, "exact.start")
        z, flat = self.to_stepped(start), times.ravel()
        rests = self.constraint == "equality"
        first = Flight(start.time, float(z[13]), float(z[14]), 0.0, rests)
        bound = self.restitution if self.constraint == "unilateral" else None
        s, rate, tau = positions(first, self._turning_rate(z[10:13]), bound, flat)
        turning = super().to_stepped(start)
        orientations, momenta = self._closed_form(turning, 0.0, tau)
        shape = times.shape
        fields = {
            "position": (z[:3] + (flat - start.time)[:, None] * z[7:10] / self.body.mass).reshape(*shape, 3),
            "orientation": orientations.reshape(*shape, 4),
            "momentum": np.broadcast_to(z[7:10], (*shape, 3)).copy(),
            "angular_momentum": momenta.reshape(*shape, 3),
            "scale": s.reshape(shape),
            "scale_rate": rate.reshape(shape),
        }
        return State(fields, float(times) if times.ndim == 0 else times)  # type: ignore[arg-type]

    def _turning_rate(self, spin: Array) -> float:
        """c = sqrt(k/kappa)."""
        return float(np.sqrt(spin @ (self.body.inverse_moments * spin) / self.kappa))

    def impacts(self, start: State, until: float) -> Array:
        """Times at which the scale reaches its bound, in closed form. If the motion comes to rest, they converge to a
        limit.

        Parameters
        ----------
        start : a state of the motion
        until : last time of interest
        """
        if not self.is_free or self.constraint != "unilateral":
            raise CapabilityError(
                "impacts are known in closed form only without forces, for the unilateral constraint", do="simulate it"
            )
        start = as_state(self, start, "impacts.start")
        z = self.to_stepped(start)
        first = Flight(start.time, float(z[13]), float(z[14]), 0.0)
        found = flights(first, self._turning_rate(z[10:13]), self.restitution, until)
        return np.array([flight.time for flight in found[1:]])

    def multiplier(self, state: State) -> Array:
        """The multiplier of the constraint: the force that maintains the size, 0 without a constraint.

        lambda = -omega.Theta omega - c at s = 1, nu = 0, where c is the scaling force of the loads; never positive for the
        unilateral constraint.

        Parameters
        ----------
        state : a state, or the data of a run with a leading axis for the times
        """
        s, rate = np.asarray(state.scale), np.asarray(state.scale_rate)
        spin = rotations.apply(self.body.frame_matrix.T, state.angular_momentum)
        push = (self.body.inverse_moments * spin**2).sum(axis=-1) + self.scaling_force
        for force in self.forces:
            arms = rotations.rotate(np.asarray(state.orientation), force.at)
            push = push + arms @ np.array(force.force, dtype=float)
        if self.constraint == "none":
            return np.zeros_like(push)
        if self.constraint == "equality":
            return -push
        return np.where((s == 1.0) & (rate == 0.0), np.minimum(-push, 0.0), 0.0)

    def scene(self) -> Scene:
        return Scene((self.body,))

    def describe(self) -> dict[str, Json]:
        return {
            "kind": self.kind, "body": self.body.describe(), "constraint": self.constraint,
            "restitution": self.restitution, "forces": [force.describe() for force in self.forces],
            "scaling_force": self.scaling_force,
        }  # fmt: skip

    def __repr__(self) -> str:
        return f"ScalingBody({self.body!r}, {self.constraint!r})"


def _load(given: object, number: int) -> Load:
    """A constant load on the body."""
    where = f"ScalingBody.forces[{number}]"
    load = force_from(given)
    if not isinstance(load, Load) or load.body != 0:
        raise InputError(
            f"{given!r} is no load on this body", where=where, do="give Load(0, at, force=..., torque=...)"
        )
    if any(map(depends_on_time, load.components)):
        raise InputError(f"{given!r} depends on time", where=where, do="give three numbers each")
    return load
