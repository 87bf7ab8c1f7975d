"""A rigid body turning about its centre of mass (or a fixed point) without torque."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .. import views
from ..errors import CapabilityError, InputError
from ..geometry import rotations
from ..geometry.quaternion import to_space
from ..views import View
from .base import Array, Field, Invariant, State, System, register
from .body import Body

IDENTITY = (1.0, 0.0, 0.0, 0.0)
UNIT_TOLERANCE = 1e-6  # a quaternion that is off by less is normalised, one that is off by more is a mistake


def body_field(z, par, out):
    """qdot = q * (0, omega)/2, ydot = y x omega, omega = J^-1 y."""
    q0 = z[0]
    q1 = z[1]
    q2 = z[2]
    q3 = z[3]
    y1 = z[4]
    y2 = z[5]
    y3 = z[6]
    w1 = par.inverse[0] * y1
    w2 = par.inverse[1] * y2
    w3 = par.inverse[2] * y3
    out[0] = -0.5 * (q1 * w1 + q2 * w2 + q3 * w3)
    out[1] = 0.5 * (q0 * w1 + q2 * w3 - q3 * w2)
    out[2] = 0.5 * (q0 * w2 + q3 * w1 - q1 * w3)
    out[3] = 0.5 * (q0 * w3 + q1 * w2 - q2 * w1)
    out[4] = y2 * w3 - y3 * w2
    out[5] = y3 * w1 - y1 * w3
    out[6] = y1 * w2 - y2 * w1


def body_field_end(b, par):
    """Orientation, then momentum."""
    return 4 + 3 * b


def publish_body(z, par, row):
    """Orientation and angular momentum in the axes in which the body was given: q * frame^-1 and F y."""
    f = par.frame
    a = f[0]
    b = -f[1]
    c = -f[2]
    d = -f[3]
    q0 = z[0]
    q1 = z[1]
    q2 = z[2]
    q3 = z[3]
    row[0] = q0 * a - q1 * b - q2 * c - q3 * d
    row[1] = q0 * b + q1 * a + q2 * d - q3 * c
    row[2] = q0 * c + q2 * a + q3 * b - q1 * d
    row[3] = q0 * d + q3 * a + q1 * c - q2 * b
    row[4], row[5], row[6] = to_space(f, z[4], z[5], z[6])


def measure_body(z, par, out, scale):
    """Energy, Casimir |y|^2/2, spatial momentum R y, |q|^2 - 1."""
    y1 = z[4]
    y2 = z[5]
    y3 = z[6]
    t1 = 0.5 * par.inverse[0] * y1 * y1
    t2 = 0.5 * par.inverse[1] * y2 * y2
    t3 = 0.5 * par.inverse[2] * y3 * y3
    out[0] = t1 + t2 + t3
    out[1] = 0.5 * (y1 * y1 + y2 * y2 + y3 * y3)
    out[2], out[3], out[4] = to_space(z, y1, y2, y3)
    out[5] = z[0] * z[0] + z[1] * z[1] + z[2] * z[2] + z[3] * z[3] - 1.0
    scale[0] = max(scale[0], t1, t2, t3)
    scale[1] = max(scale[1], out[1])
    for i in range(3):
        scale[2 + i] = max(scale[2 + i], (2.0 * out[1]) ** 0.5)
    scale[5] = 1.0


@register
class FreeBody(System):
    """A free rigid body: orientation and angular momentum, no torque.

    Parameters
    ----------
    body : what turns; its moments are about the fixed point

    Examples
    --------
    >>> import catena as ct
    >>> book = ct.FreeBody(ct.Body(moments=(0.376, 0.627, 1.0)))
    >>> start = book.start(angular_momentum=(0.0, 0.6, -0.8))
    >>> run = ct.simulate(book, start, method=ct.DMV(10), dt=0.01, t_end=40.0)
    >>> abs(float(run.final.angular_momentum[0]) - 0.05459368051700475) < 1e-12
    True
    """

    default_method = ("Jacobi", {})

    def __init__(self, body: Body | dict[str, Any]) -> None:
        self.body = body if isinstance(body, Body) else Body.from_description(body)
        if self.body.kind == "point":
            raise CapabilityError("a point has no orientation", do="give a body with some extent")

    @property
    def title(self) -> str:  # type: ignore[override]
        return "FreeBody"

    @cached_property
    def fields(self) -> tuple[Field, ...]:  # type: ignore[override]
        return (
            Field("orientation", (4,), ("wxyz",), "orientation, body to space, scalar first"),
            Field("angular_momentum", (3,), ("xyz",), "angular momentum in the body"),
        )

    @cached_property
    def invariants(self) -> tuple[Invariant, ...]:  # type: ignore[override]
        return (
            Invariant("energy", (), (), "kinetic energy", frozenset({"energy", "quadratic"})),
            Invariant(
                "casimir", (), (), "half the square of the angular momentum", frozenset({"casimir", "quadratic"})
            ),
            Invariant("spatial_momentum", (3,), ("xyz",), "angular momentum in space", frozenset({"spatial_momentum"})),
            Invariant("unit_residual", (), (), "|q|^2 - 1", frozenset({"unit", "quadratic"})),
        )

    def start(
        self,
        orientation: ArrayLike = IDENTITY,
        *,
        angular_velocity: ArrayLike | None = None,
        angular_momentum: ArrayLike | None = None,
        time: float = 0.0,
    ) -> State:
        """A state: orientation, and angular velocity or momentum in the body's axes."""
        return body_start(self.body, orientation, angular_velocity, angular_momentum, time)

    def view(self, name: str) -> View | None:
        if name not in ("field", "rotor", "constrained"):
            return None
        kernels = {
            views.field: body_field,
            views.publish: publish_body,
            views.measure: measure_body,
            views.field_count: 2,
            views.field_end: body_field_end,
        }
        moments = self.body.rotor_moments.reshape(1, 3)
        flags = {"rotor"} | ({"linear_bodies"} if self.body.kind == "linear" else set())
        return View(name, kernels, 7, self.to_stepped, self.from_stepped, frozenset(flags), True, moments)

    def parameter_arrays(self) -> dict[str, Array]:
        return body_arrays(self.body)

    def to_stepped(self, state: State) -> Array:
        """z = (q, y) in principal axes."""
        return to_principal(self.body, state)

    def from_stepped(self, z: Array, time: float) -> State:
        """The state of z = (q, y)."""
        return from_principal(self.body, z[:4], z[4:7], time)

    def exact(self, t: ArrayLike, start: State) -> State:
        """The state at time t, or the states at an array of times, by Jacobi's solution: no stepping.

        Parameters
        ----------
        t : time or times, in any order, before or after `start.time`
        start : where the motion is known

        Returns
        -------
        State whose arrays have a leading axis for the times, if t is an array
        """
        from ..exact_motion import free_motion_at

        z = self.to_stepped(start)
        times = np.asarray(t, dtype=float)
        if not np.isfinite(times).all():
            raise InputError(f"t = {t!r} is not finite", where="exact.t", do="give finite times")
        rows = free_motion_at(self.body.rotor_moments, z[4:], (times - start.time).ravel())
        q = rotations.multiply(rotations.multiply(z[:4], rows[:, 3:]), rotations.conjugate(self.body.frame))
        y = rows[:, :3] @ self.body.frame_matrix.T
        fields = {"orientation": q.reshape(*times.shape, 4), "angular_momentum": y.reshape(*times.shape, 3)}
        return State(fields, float(times) if times.ndim == 0 else times)  # type: ignore[arg-type]

    def describe(self) -> dict[str, Any]:
        return {"kind": self.kind, "body": self.body.describe()}

    def names(self) -> dict[str, str]:
        return component_names(self.fields)

    def __repr__(self) -> str:
        return f"FreeBody({self.body!r})"


def body_start(
    body: Body,
    orientation: ArrayLike,
    angular_velocity: ArrayLike | None,
    angular_momentum: ArrayLike | None,
    time: float,
) -> State:
    """A checked state of one body."""
    if (angular_velocity is None) == (angular_momentum is None):
        raise InputError(
            "give either the angular velocity or the angular momentum", where="start",
            do="write angular_velocity=(...) or angular_momentum=(...), in the body's axes",
        )  # fmt: skip
    q = _vector(orientation, 4, "orientation")
    length = float(np.linalg.norm(q))
    if not abs(length - 1.0) <= UNIT_TOLERANCE:
        raise InputError(
            f"the orientation {q.tolist()} has length {length:.9g}", where="start.orientation",
            do="give a unit quaternion, scalar first" + (f": {(q / length).tolist()}" if length > 0.0 else ""),
        )  # fmt: skip
    if angular_momentum is not None:
        y = _vector(angular_momentum, 3, "angular_momentum")
    else:
        y = body.tensor @ _vector(angular_velocity, 3, "angular_velocity")
    state = State({"orientation": q / length, "angular_momentum": y}, float(time))
    if body.kind == "linear":
        along = body.frame_matrix.T @ y
        line = int(np.argmin(body.moments))
        if abs(along[line]) > 4 * np.finfo(float).eps * np.linalg.norm(y):
            raise InputError(
                f"a linear body cannot spin about its own line: momentum {along[line]:g} along it", where="start",
                do="remove that component",
            )  # fmt: skip
    return state


def _vector(values: Any, length: int, name: str) -> Array:
    try:
        array = np.array(values, dtype=float)
    except (TypeError, ValueError):
        raise InputError(f"{name} = {values!r} is not a list of numbers", where=f"start.{name}") from None
    if array.shape != (length,) or not np.isfinite(array).all():
        raise InputError(f"{name} = {values!r}", where=f"start.{name}", do=f"give {length} finite numbers")
    return array


def to_principal(body: Body, state: State) -> Array:
    """(q, y) in principal axes: q * frame, F^T y; the momentum along the line of a linear body is zero."""
    q = rotations.multiply(state.orientation, body.frame)
    y = body.frame_matrix.T @ state.angular_momentum
    if body.kind == "linear":
        y[int(np.argmin(body.moments))] = 0.0
    return np.concatenate([q, y])


def from_principal(body: Body, q: Array, y: Array, time: float) -> State:
    """The public state of (q, y) in principal axes."""
    orientation = rotations.multiply(q, rotations.conjugate(body.frame))
    return State({"orientation": orientation, "angular_momentum": body.frame_matrix @ y}, time)


def body_arrays(body: Body) -> dict[str, Array]:
    """Parameters of one body: moments for rotors, inverse moments for fields, principal frame."""
    return {
        "inertia": np.array(body.rotor_moments, dtype=float).reshape(1, 3),
        "inverse": np.array(body.inverse_moments, dtype=float),
        "frame": np.array(body.frame, dtype=float),
    }


def component_names(fields: tuple[Field, ...]) -> dict[str, str]:
    """Names of all components, as sections write them (`angular_momentum[2]`), and the time."""
    names, place = {"t": "t"}, 0
    for field in fields:
        for index in np.ndindex(*field.shape):
            names[f"{field.name}[{','.join(map(str, index))}]"] = f"row[{place}]"
            place += 1
    return names
