"""A rigid body with a fixed point in a potential U(R): the heavy top and its kin.

Stepped variables: (q, y), orientation and body angular momentum in principal axes, for splittings; (q, g) with
y = G(q) g/2 for canonical methods, where U is taken at the normalised rotation. Then H is defined on all of R^8, |q|^2 and
q.g are quadratic first integrals, and every symplectic Runge-Kutta method keeps both: no multiplier is needed.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from .. import views
from ..errors import CapabilityError, InputError
from ..geometry import rotations
from ..geometry.quaternion import normalised_rotation, rotation, to_space
from ..kernel import size, slot
from ..summation import add
from ..views import View, rotate
from .attitude import AttitudePotential
from .base import Array, Field, Invariant, State, System, register
from .body import Body
from .free_body import (
    IDENTITY,
    body_arrays,
    body_field,
    body_field_end,
    body_start,
    component_names,
    from_principal,
    publish_body,
    to_principal,
)

Form = Literal["quaternion", "multiplier"]
SOME_ANGLES = ((0.3, 0.9, -0.7), (-1.1, 2.0, 0.4), (2.5, 1.3, 1.9))
LINE_TOLERANCE = 1e-12  # of the torque about the line of a linear body, to the whole torque


@slot
def potential(r11, r12, r13, r21, r22, r23, r31, r32, r33, par):
    """U(R)."""


@slot
def torque(r11, r12, r13, r21, r22, r23, r31, r32, r33, par):
    """Torque in the body, in the axes in which it was given."""


@slot
def torque_rate(r11, r12, r13, r21, r22, r23, r31, r32, r33, a1, a2, a3, par):
    """Change of the torque along the turn R -> R exp(hat a)."""


@size
def is_framed(par):
    """1 if the principal axes differ from those in which the body was given, else 0."""
    return 1


def given_axes(r, par):
    """R of the axes in which the body was given, from R of the principal axes: R F^T."""
    if is_framed(par) == 0:
        return r
    r11, r12, r13, r21, r22, r23, r31, r32, r33 = r
    f11, f12, f13, f21, f22, f23, f31, f32, f33 = rotation(par.frame)
    return (
        r11 * f11 + r12 * f12 + r13 * f13, r11 * f21 + r12 * f22 + r13 * f23, r11 * f31 + r12 * f32 + r13 * f33,
        r21 * f11 + r22 * f12 + r23 * f13, r21 * f21 + r22 * f22 + r23 * f23, r21 * f31 + r22 * f32 + r23 * f33,
        r31 * f11 + r32 * f12 + r33 * f13, r31 * f21 + r32 * f22 + r33 * f23, r31 * f31 + r32 * f32 + r33 * f33,
    )  # fmt: skip


def to_principal_axes(x, y, z, par):
    """F^T (x, y, z)."""
    if is_framed(par) == 0:
        return x, y, z
    f11, f12, f13, f21, f22, f23, f31, f32, f33 = rotation(par.frame)
    return f11 * x + f21 * y + f31 * z, f12 * x + f22 * y + f32 * z, f13 * x + f23 * y + f33 * z


def to_given_axes(x, y, z, par):
    """F (x, y, z)."""
    if is_framed(par) == 0:
        return x, y, z
    return to_space(par.frame, x, y, z)


def principal_torque(r, par):
    """Torque in principal axes at the rotation r (principal axes)."""
    r11, r12, r13, r21, r22, r23, r31, r32, r33 = given_axes(r, par)
    t1, t2, t3 = torque(r11, r12, r13, r21, r22, r23, r31, r32, r33, par)
    return to_principal_axes(t1, t2, t3, par)


@slot
def gradient(r11, r12, r13, r21, r22, r23, r31, r32, r33, par):
    """dU/dR in the axes in which the body was given."""


def gradient_at(r, par):
    """dU/dR for the rotation r of the principal axes: W F."""
    r11, r12, r13, r21, r22, r23, r31, r32, r33 = given_axes(r, par)
    w = gradient(r11, r12, r13, r21, r22, r23, r31, r32, r33, par)
    if is_framed(par) == 0:
        return w
    w11, w12, w13, w21, w22, w23, w31, w32, w33 = w
    f11, f12, f13, f21, f22, f23, f31, f32, f33 = rotation(par.frame)
    return (
        w11 * f11 + w12 * f21 + w13 * f31, w11 * f12 + w12 * f22 + w13 * f32, w11 * f13 + w12 * f23 + w13 * f33,
        w21 * f11 + w22 * f21 + w23 * f31, w21 * f12 + w22 * f22 + w23 * f32, w21 * f13 + w22 * f23 + w23 * f33,
        w31 * f11 + w32 * f21 + w33 * f31, w31 * f12 + w32 * f22 + w33 * f32, w31 * f13 + w32 * f23 + w33 * f33,
    )  # fmt: skip


def potential_at(r, par):
    """U at the rotation r (principal axes)."""
    r11, r12, r13, r21, r22, r23, r31, r32, r33 = given_axes(r, par)
    return potential(r11, r12, r13, r21, r22, r23, r31, r32, r33, par)


# Splitting: z = (q, y) ----------------------------------------------------------------------------------------


def top_force(z, par, out):
    """The torque, into the places of the momentum."""
    out[4], out[5], out[6] = principal_torque(rotation(z), par)


def top_kick(z, e, h, par, out):
    """y += h tau."""
    for k in range(4, 7):
        add(z, e, k, h * out[k])
    return 0


def top_drift(z, e, h, par, work):
    """The free rotation."""
    return rotate(z[4:7], z[0:4], e[4:7], e[0:4], par.inertia[0], h, par.rotor[0])


def top_commutator_kick(z, e, s, par, out):
    """Flow over s of V = tau.J^-1 tau: y -= 2 s (dtau(a) + a x tau), a = J^-1 tau; a x tau is the group's own part."""
    t1 = out[4]
    t2 = out[5]
    t3 = out[6]
    a1 = par.inverse[0] * t1
    a2 = par.inverse[1] * t2
    a3 = par.inverse[2] * t3
    r11, r12, r13, r21, r22, r23, r31, r32, r33 = given_axes(rotation(z), par)
    b1, b2, b3 = to_given_axes(a1, a2, a3, par)
    d1, d2, d3 = torque_rate(r11, r12, r13, r21, r22, r23, r31, r32, r33, b1, b2, b3, par)
    c1, c2, c3 = to_principal_axes(d1, d2, d3, par)
    add(z, e, 4, -2.0 * s * (c1 + a2 * t3 - a3 * t2))
    add(z, e, 5, -2.0 * s * (c2 + a3 * t1 - a1 * t3))
    add(z, e, 6, -2.0 * s * (c3 + a1 * t2 - a2 * t1))


def top_field(z, par, out):
    """Euler's equations with torque."""
    t1, t2, t3 = principal_torque(rotation(z), par)
    body_field(z, par, out)
    out[4] += t1
    out[5] += t2
    out[6] += t3


def measure_top(z, par, out, scale):
    """The invariants of z = (q, y); there is no g, so q.g = 0."""
    measure_attitude(z[0:4], z[4], z[5], z[6], 0.0, par, out, scale)


# Canonical: z = (q, g) ----------------------------------------------------------------------------------------


def momentum_of(z):
    """y = G(q) g / 2."""
    q0 = z[0]
    q1 = z[1]
    q2 = z[2]
    q3 = z[3]
    g0 = z[4]
    g1 = z[5]
    g2 = z[6]
    g3 = z[7]
    return (
        0.5 * (-q1 * g0 + q0 * g1 + q3 * g2 - q2 * g3),
        0.5 * (-q2 * g0 - q3 * g1 + q0 * g2 + q1 * g3),
        0.5 * (-q3 * g0 + q2 * g1 - q1 * g2 + q0 * g3),
    )


def quaternion_velocity(z, par, out):
    """qdot = G(q)^T w with w = J^-1 y / 2."""
    y1, y2, y3 = momentum_of(z)
    w1 = 0.5 * par.inverse[0] * y1
    w2 = 0.5 * par.inverse[1] * y2
    w3 = 0.5 * par.inverse[2] * y3
    q0 = z[0]
    q1 = z[1]
    q2 = z[2]
    q3 = z[3]
    out[0] = -q1 * w1 - q2 * w2 - q3 * w3
    out[1] = q0 * w1 - q3 * w2 + q2 * w3
    out[2] = q3 * w1 + q0 * w2 - q1 * w3
    out[3] = -q2 * w1 + q1 * w2 + q0 * w3


def quaternion_force(z, par, out):
    """gdot = G(g)^T w + 2 G(q)^T tau/|q|^2, the torque at the normalised rotation."""
    y1, y2, y3 = momentum_of(z)
    w1 = 0.5 * par.inverse[0] * y1
    w2 = 0.5 * par.inverse[1] * y2
    w3 = 0.5 * par.inverse[2] * y3
    q0 = z[0]
    q1 = z[1]
    q2 = z[2]
    q3 = z[3]
    g0 = z[4]
    g1 = z[5]
    g2 = z[6]
    g3 = z[7]
    t1, t2, t3 = principal_torque(normalised_rotation(z), par)
    k = 2.0 / (q0 * q0 + q1 * q1 + q2 * q2 + q3 * q3)
    t1 *= k
    t2 *= k
    t3 *= k
    out[4] = -g1 * w1 - g2 * w2 - g3 * w3 - q1 * t1 - q2 * t2 - q3 * t3
    out[5] = g0 * w1 - g3 * w2 + g2 * w3 + q0 * t1 - q3 * t2 + q2 * t3
    out[6] = g3 * w1 + g0 * w2 - g1 * w3 + q3 * t1 + q0 * t2 - q1 * t3
    out[7] = -g2 * w1 + g1 * w2 + g0 * w3 - q2 * t1 + q1 * t2 + q0 * t3


def quaternion_field(z, par, out):
    """The canonical equations of H = |G(q) g|^2_(J^-1)/8 + U(R(q/|q|))."""
    quaternion_velocity(z, par, out)
    quaternion_force(z, par, out)


def quaternion_field_end(b, par):
    """q, then g."""
    return 4 + 4 * b


def publish_quaternion(z, par, row):
    """(q, y) of (q, g) in the given axes."""
    row[4], row[5], row[6] = momentum_of(z)
    for k in range(4):
        row[k] = z[k]
    publish_in_place(row, par)


def publish_in_place(row, par):
    """Principal to given axes."""
    publish_body(row, par, row)


def measure_quaternion(z, par, out, scale):
    """The invariants of z = (q, g)."""
    y1, y2, y3 = momentum_of(z)
    tangency = z[0] * z[4] + z[1] * z[5] + z[2] * z[6] + z[3] * z[7]
    measure_attitude(z[0:4], y1, y2, y3, tangency, par, out, scale)


@slot
def measure_special(q, y1, y2, y3, r31, r32, r33, par, out, scale):
    """Further invariants of special tops."""


def measure_nothing(q, y1, y2, y3, r31, r32, r33, par, out, scale):
    """A top without further invariants."""


def measure_axial(q, y1, y2, y3, r31, r32, r33, par, out, scale):
    """Momentum about the axis of a symmetric top."""
    k = int(par.special[0])
    out[4] = y1
    if k == 1:
        out[4] = y2
    if k == 2:
        out[4] = y3
    scale[4] = max(scale[4], abs(y1), abs(y2), abs(y3))


def measure_kovalevskaya(q, y1, y2, y3, r31, r32, r33, par, out, scale):
    """K = |(w1 + i w2)^2 - (Gx + i Gy)/I3 (n1 + i n2)|^2 in axes where I1 = I2 = 2 I3.

    special: [axes a, b, c in that order (a rotation), Gx, Gy].
    """
    a = int(par.special[0])
    b = int(par.special[1])
    c = int(par.special[2])
    w1 = par.inverse[a] * (y1 if a == 0 else (y2 if a == 1 else y3))
    w2 = par.inverse[b] * (y1 if b == 0 else (y2 if b == 1 else y3))
    n1 = r31 if a == 0 else (r32 if a == 1 else r33)
    n2 = r31 if b == 0 else (r32 if b == 1 else r33)
    gx = par.special[3] * par.inverse[c]
    gy = par.special[4] * par.inverse[c]
    real = w1 * w1 - w2 * w2 - (gx * n1 - gy * n2)
    imaginary = 2.0 * w1 * w2 - (gx * n2 + gy * n1)
    out[4] = real * real + imaginary * imaginary
    scale[4] = max(scale[4], (w1 * w1 + w2 * w2) ** 2, gx * gx + gy * gy)


def measure_attitude(q, y1, y2, y3, tangency, par, out, scale):
    """Energy, vertical momentum, |q|^2 - 1, q.g, then what special tops keep."""
    r = normalised_rotation(q)
    _, _, _, _, _, _, r31, r32, r33 = r
    t1 = 0.5 * par.inverse[0] * y1 * y1
    t2 = 0.5 * par.inverse[1] * y2 * y2
    t3 = 0.5 * par.inverse[2] * y3 * y3
    u = potential_at(r, par)
    out[0] = t1 + t2 + t3 + u
    out[1] = r31 * y1 + r32 * y2 + r33 * y3
    out[2] = q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3] - 1.0
    out[3] = tangency
    length = (y1 * y1 + y2 * y2 + y3 * y3) ** 0.5
    scale[0] = max(scale[0], t1, t2, t3, abs(u))
    scale[1] = max(scale[1], length)
    scale[2] = 1.0
    scale[3] = max(scale[3], 2.0 * length)
    measure_special(q, y1, y2, y3, r31, r32, r33, par, out, scale)


@register
class Top(System):
    """A rigid body with a fixed point in a potential.

    Parameters
    ----------
    body : its moments are about the fixed point
    potential : `Gravity(strength, center)`, or U as text (or sympy) in R11 .. R33, where x = R X takes body to space
    form : "quaternion"
    parameters : values of the names that a text uses

    Examples
    --------
    >>> import catena as ct
    >>> top = ct.Top(ct.Body(moments=(1.0, 1.0, 0.5)), ct.Gravity(1.5, (0, 0, 1)))
    >>> start = top.start((0.96, 0.28, 0, 0), angular_momentum=(0.25, 0.5, 3.0))
    >>> run = ct.simulate(top, start, dt=0.02, t_end=10.0)
    >>> run.audit()["vertical_momentum"].verdict
    'exact'
    """

    default_method = ("Splitting", {"order": 6})

    def __init__(
        self, body: Any, potential: Any, form: Form = "quaternion", *, parameters: Mapping[str, float] | None = None
    ) -> None:
        self.body = body if isinstance(body, Body) else Body.from_description(body)
        if self.body.kind == "point":
            raise CapabilityError("a point has no orientation", do="give a body with some extent")
        if form != "quaternion":
            raise InputError(f"form = {form!r}", where="Top.form", do='choose "quaternion"')
        self.form = form
        self.potential = AttitudePotential(potential, parameters)
        if self.body.kind == "linear":
            self._refuse_torque_about_the_line()

    def _refuse_torque_about_the_line(self) -> None:
        """The moment about a line is zero, so nothing may turn it about itself; seen at some orientations."""
        line = self.body.frame_matrix[:, int(np.argmin(self.body.moments))]
        for angles in SOME_ANGLES:
            t = self.potential.torque_at(rotations.to_matrix(rotations.from_euler(angles)))
            if abs(float(line @ t)) > LINE_TOLERANCE * float(np.linalg.norm(t)):
                raise InputError(
                    "this potential turns a linear body about its own line, which has no moment of inertia",
                    where="Top.potential",
                    do="let U depend on the direction of the line only; the centre of mass lies on it",
                )

    @property
    def title(self) -> str:  # type: ignore[override]
        return "Top in gravity" if self.potential.gravity is not None else "Top"

    @cached_property
    def fields(self) -> tuple[Field, ...]:  # type: ignore[override]
        return (
            Field("orientation", (4,), ("wxyz",), "orientation, body to space, scalar first"),
            Field("angular_momentum", (3,), ("xyz",), "angular momentum in the body"),
        )

    @cached_property
    def _special(self) -> tuple[str, Array]:
        """Which further integral this top has, and the constants to measure it."""
        gravity, moments = self.potential.gravity, self.body.moments
        if gravity is None:
            return "", np.zeros(1)
        g = self.body.frame_matrix.T @ gravity.moment
        for c in range(3):
            a, b = (c + 1) % 3, (c + 2) % 3
            if moments[a] == moments[b] and g[a] == g[b] == 0.0:
                return "axial_momentum", np.array([float(c)])
            if moments[a] == moments[b] == 2.0 * moments[c] and g[c] == 0.0:
                return "kovalevskaya", np.array([a, b, c, g[a], g[b]], dtype=float)
        return "", np.zeros(1)

    @cached_property
    def invariants(self) -> tuple[Invariant, ...]:  # type: ignore[override]
        general = [
            Invariant("energy", (), (), "kinetic and potential energy", frozenset({"energy"})),
            Invariant("vertical_momentum", (), (), "vertical angular momentum", self._vertical_tags()),
            Invariant("unit_residual", (), (), "|q|^2 - 1", frozenset({"unit", "quadratic"})),
            Invariant("tangency_residual", (), (), "q.g", frozenset({"unit", "bilinear", "quadratic"})),
        ]
        tags = {"axial_momentum": {"axial"}, "kovalevskaya": {"general"}}
        name = self._special[0]
        return (*general, *([Invariant(name, (), (), name, frozenset(tags[name]))] if name else []))

    def _vertical_tags(self) -> frozenset[str]:
        """The vertical momentum is bilinear in (q, g); it is kept if U depends on the vertical only."""
        kept = self.potential.rows == (False, False, True)
        return frozenset({"bilinear", "quadratic", "vertical"}) if kept else frozenset()

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
        shared = {
            potential: self.potential.kernel("potential"),
            torque: self.potential.kernel("torque"),
            torque_rate: self.potential.kernel("torque_rate"),
            gradient: self.potential.kernel("gradient"),
            is_framed: int(not np.array_equal(self.body.frame, IDENTITY)),
            measure_special: {
                "": measure_nothing,
                "axial_momentum": measure_axial,
                "kovalevskaya": measure_kovalevskaya,
            }[self._special[0]],
            views.field_count: 2,
        }
        flags = {"linear_bodies"} if self.body.kind == "linear" else set()
        if name in ("split", "field", "constrained", "quat_em"):
            kernels = {
                views.field: top_field, views.force: top_force, views.kick: top_kick, views.drift: top_drift,
                views.commutator_kick: top_commutator_kick, views.publish: publish_body, views.measure: measure_top,
                views.field_end: body_field_end, views.attitude_potential: potential_at,
                views.attitude_gradient: gradient_at,
            }  # fmt: skip
            flags |= {"rotor", "quadratic_kinetic", "commutator_kick"}
            moments = self.body.rotor_moments.reshape(1, 3)
            return View(name, shared | kernels, 7, self._pack, self._unpack, frozenset(flags), True, moments)
        if name == "canonical":
            kernels = {
                views.field: quaternion_field, views.velocity: quaternion_velocity,
                views.momentum_rate: quaternion_force, views.publish: publish_quaternion,
                views.measure: measure_quaternion, views.field_end: quaternion_field_end,
            }  # fmt: skip
            return View(name, shared | kernels, 8, self._pack_canonical, self._unpack_canonical, frozenset(flags))
        return None

    def _pack(self, state: State) -> Array:
        return to_principal(self.body, state)

    def _unpack(self, z: Array, time: float) -> State:
        return from_principal(self.body, z[:4], z[4:7], time)

    def _pack_canonical(self, state: State) -> Array:
        z = to_principal(self.body, state)
        return np.concatenate([z[:4], 2.0 * rotations.multiply(z[:4], np.concatenate([[0.0], z[4:]]))])

    def _unpack_canonical(self, z: Array, time: float) -> State:
        y = 0.5 * rotations.multiply(rotations.conjugate(z[:4]), z[4:])[1:]
        return from_principal(self.body, z[:4], y, time)

    def parameter_arrays(self) -> dict[str, Array]:
        own = {"potential": self.potential.values, "rows": np.array(self.potential.rows, dtype=float)}
        return body_arrays(self.body) | own | {"special": self._special[1]}

    def describe(self) -> dict[str, Any]:
        described = {"kind": self.kind, "body": self.body.describe(), "potential": self.potential.describe()}
        if self.potential.gravity is None and self.potential.parameters:
            described["parameters"] = dict(self.potential.parameters)
        return described

    def names(self) -> dict[str, str]:
        return component_names(self.fields)

    def __repr__(self) -> str:
        return f"Top({self.body!r}, {self.potential.gravity or self.potential.text!r})"
