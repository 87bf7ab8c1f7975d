"""One rigid body that turns about a fixed point: the common part of free bodies and tops.

Stepped variables z = (q, y): orientation and angular momentum in the principal axes of the body. Both are published in
the axes in which the body was given.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from ..errors import CapabilityError, InputError
from ..geometry import rotations
from ..geometry.quaternion import conjugate, load4, product, rate, store4, to_space
from ..geometry.vectors import cross, diagonal_times, load3, store3
from ..kernels import views
from ..kernels.declarations import Inertia
from ..kernels.marks import Filling, Numbers, Slot
from . import baths
from .base import Array, Field, State, System
from .body import Body
from .numbers import finite_number, finite_numbers
from .orientations import one_orientation
from .phase_space import Pair, PhaseSpace, turning_axes
from .states import as_state, is_shaped, naming_arguments

Motion = Callable[[Array, float, Array], tuple[Array, Array]]  # stepped state, its time, times -> orientations, momenta
IDENTITY = (1.0, 0.0, 0.0, 0.0)
NOT_CANONICAL = frozenset({"symplectic"})  # (q, y) are not conjugate: withdrawn for methods that take any equations


def body_field(z, par, out):
    """qdot = q * (0, omega)/2, ydot = y x omega, omega = J^-1 y."""
    y = load3(z, 4)
    w = diagonal_times(load3(par.inverse, 0), y)
    store4(out, 0, rate(load4(z, 0), w))
    store3(out, 4, cross(y, w))


def body_field_end(b, par):
    """Two fields: orientation, then angular momentum."""
    return 4 + 3 * b


def publish_body(z, par, row):
    """Orientation and angular momentum in the axes in which the body was given: q * frame^-1 and F y."""
    frame = load4(par.frame, 0)
    store4(row, 0, product(load4(z, 0), conjugate(frame)))
    store3(row, 4, to_space(frame, z[4], z[5], z[6]))


IN_A_BATH: dict[Slot, Filling] = {
    views.bath_of_components: baths.turning_bath, views.bath_of_bodies: baths.turning_bath_of_axes, views.tally: baths.turning_tally,
    views.reverse: baths.turning_reverse,
}  # fmt: skip


class OneBody(System):
    """Base class of the systems with one body: its fields, states and parameters."""

    def __init__(self, body: Body | Mapping[str, object]) -> None:
        if not isinstance(body, (Body, Mapping)):
            raise InputError(
                f"{body!r} is not a body", where=f"{type(self).__name__}.body",
                do="give one, such as ct.Body(moments=(1, 2, 2.5))",
            )  # fmt: skip
        self.body = body if isinstance(body, Body) else Body.from_description(body)
        if self.body.kind == "point":
            raise CapabilityError("a point has no orientation", do="give a body with some extent")

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        return (
            Field("orientation", (4,), ("wxyz",), "orientation, body to space, scalar first"),
            Field("angular_momentum", (3,), ("xyz",), "angular momentum in the body"),
        )

    @naming_arguments
    def start(
        self,
        orientation: ArrayLike = IDENTITY,
        *,
        angular_velocity: ArrayLike | None = None,
        angular_momentum: ArrayLike | None = None,
        time: float = 0.0,
    ) -> State:
        """A state.

        Parameters
        ----------
        orientation : body to space: (4,) unit quaternion, scalar first; (3, 3) rotation matrix; or scipy's Rotation
        angular_velocity or angular_momentum : (3,) in the axes of the body; `ct.euler_angles` converts Euler angles and
            rates
        """
        if (angular_velocity is None) == (angular_momentum is None):
            raise InputError(
                "give either the angular velocity or the angular momentum", where="start",
                do="write angular_velocity=(...) or angular_momentum=(...), in the body's axes",
            )  # fmt: skip
        q = one_orientation(orientation)
        if angular_momentum is not None:
            y = start_vector(angular_momentum, "angular_momentum")
        else:
            y = rotations.apply(self.body.tensor, start_vector(angular_velocity, "angular_velocity"))
        state = State({"orientation": q, "angular_momentum": y}, finite_number(time, "start.time"))
        self.check_start(state)
        return state

    def check_start(self, state: State) -> None:
        if self.body.kind == "linear":
            y = state.angular_momentum
            along = rotations.apply(self.body.frame_matrix.T, y)
            line = int(np.argmin(self.body.moments))
            if abs(along[line]) > 4 * np.finfo(float).eps * np.linalg.norm(y):
                raise InputError(
                    f"a linear body cannot spin about its own line: momentum {along[line]:g} along it", where="start",
                    do="remove that component",
                )  # fmt: skip

    def phase_space(self, start: State) -> PhaseSpace:
        return PhaseSpace((self._turning_pair(),))

    def inertia(self) -> Inertia:
        return Inertia(
            np.array(self.body.moments, dtype=float).reshape(1, 3), ("y1", "y2", "y3"), "body",
            frames=np.array(self.body.frame, dtype=float).reshape(1, 4),
        )  # fmt: skip

    def _turning_pair(self) -> Pair:
        return Pair("orientation", "angular_momentum", [turning_axes(self.body)], turning=True)

    def angular_speed(self, state: State) -> float | None:
        return float(np.linalg.norm(self.body.inverse_moments * (self.body.frame_matrix.T @ state.angular_momentum)))

    @cached_property
    def _in_principal_axes(self) -> bool:
        return np.array_equal(self.body.frame, IDENTITY)

    def to_stepped(self, state: State) -> Array:
        """z = (q, y) in principal axes: q * frame, F^T y; the momentum along the line of a linear body is zero."""
        q, y = state.fields["orientation"], state.fields["angular_momentum"]
        if not self._in_principal_axes:  # products with 1 and 0 would take longer than a motion in closed form
            q = rotations.multiply(q, self.body.frame)
            y = rotations.apply(self.body.frame_matrix.T, y)
        z = np.concatenate((q, y), -1)
        if self.body.kind == "linear":
            z[..., 4 + int(np.argmin(self.body.moments))] = 0.0
        return z

    def from_stepped(self, z: Array, time: float) -> State:
        """The state of z = (q, y)."""
        orientation = rotations.multiply(z[:4], rotations.conjugate(self.body.frame))
        return State(
            {"orientation": orientation, "angular_momentum": rotations.apply(self.body.frame_matrix, z[4:])}, time
        )

    @cached_property
    def _closed_form(self) -> Motion:
        """The motion in closed form if no torque acts; it checks itself that all numbers are finite."""
        from ..analysis.exact_motion import free_motion

        return free_motion(self.body.rotor_moments, self.body.frame)

    def exact(self, t: ArrayLike, start: State) -> State:
        """The state at time t, or states at an array of times, without stepping: Jacobi's solution of a free body,
        theta functions of a symmetric top.

        Parameters
        ----------
        t : time or times, in any order, before or after `start.time`
        start : a state of the motion

        Returns
        -------
        State whose arrays have a leading axis for the times, if t is an array

        Raises
        ------
        CapabilityError : two moments of a top must be equal, and its centre of mass must lie on the axis of the third

        Examples
        --------
        >>> import catena as ct
        >>> of = ct.problems.lagrange_top()
        >>> of.system.exact(1e6, of.start).angular_momentum.round(6).tolist()
        [0.162251, 0.493574, 3.0]
        """
        motion = self._closed_form
        if type(t) is np.ndarray and t.dtype == np.float64 and t.ndim == 1 and is_shaped(start, self):
            times = t.copy()
        else:
            times, start = finite_numbers(t, where="exact.t"), as_state(self, start, "exact.start")
        try:
            q, y = motion(self.to_stepped(start), start.time, times if times.ndim == 1 else times.reshape(-1))
        except FloatingPointError:  # the same message as for other numbers
            finite_numbers(t, where="exact.t")
            as_state(self, start, "exact.start")
            raise
        if times.ndim != 1:
            q, y = q.reshape(*times.shape, 4), y.reshape(*times.shape, 3)
        fields = {"orientation": q, "angular_momentum": y}
        return State(fields, float(times) if times.ndim == 0 else times)  # type: ignore[arg-type]

    def parameter_arrays(self) -> dict[str, Numbers]:
        """Moments for rotors, inverse moments for fields, principal frame."""
        return {
            "inertia": np.array(self.body.rotor_moments, dtype=float).reshape(1, 3),
            "inverse": np.array(self.body.inverse_moments, dtype=float),
            "frame": np.array(self.body.frame, dtype=float),
        }


def start_vector(values: object, name: str) -> Array:
    """Three finite numbers of a start."""
    return finite_numbers(values, (3,), where=f"start.{name}")
