"""A rigid body with a fixed point in a potential U(R), such as the heavy top."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Literal, get_args

import numpy as np

from ...errors import CapabilityError, InputError
from ...geometry import rotations
from ...geometry.inertia import EQUAL_MOMENTS
from ...kernels import views
from ...kernels.fused import spun
from ...kernels.marks import Filling, Numbers, Slot, Written
from ...kernels.views import Flag, View
from ...text.plain import Json
from ..base import Array, Invariant, State, register
from ..body import Body
from ..laws import Law, States, langevin_function
from ..one_body import IDENTITY, IN_A_BATH, NOT_CANONICAL, Motion, OneBody, body_field_end, publish_body
from ..sampled import TIME, GivenInTime, Sampled, describe_in_time
from ..scene import Scene
from . import driven as top_driven
from . import invariants as top_invariants
from . import motion as top_motion
from . import multiplier as top_multiplier
from .attitude import AttitudePotential, GivenPotential

Form = Literal["quaternion", "multiplier"]
SOME_ANGLES = ((0.3, 0.9, -0.7), (-1.1, 2.0, 0.4), (2.5, 1.3, 1.9))
LINE_TOLERANCE = 1e-12  # torque about the line of a linear body, relative to the whole torque


@register
class Top(OneBody):
    """A rigid body with a fixed point in a potential.

    Parameters
    ----------
    body : its moments are about the fixed point
    potential : `Gravity(strength, center)`, or U as text (or sympy) in R11 .. R33, where x = R X maps body to space,
        and in t
    form : "quaternion"; or, for comparison only, "multiplier": the canonical equations with a Lagrange multiplier for
        |q| = 1, as they are often written. They hold only on the unit sphere and are not Hamiltonian off it. So no
        method is symplectic, |q|^2 - 1 and q.g have errors of the order of the method, and nothing is promised
    J0 : moment of the scalar direction in the form "multiplier"; it has no effect on the sphere
    parameters : values of the names in a text: numbers, texts in t, or tables `Sampled(times, values)`

    Examples
    --------
    >>> import catena as ct
    >>> top = ct.Top(ct.Body(moments=(1.0, 1.0, 0.5)), ct.Gravity(1.5, (0, 0, 1)))
    >>> start = top.start((0.96, 0.28, 0, 0), angular_momentum=(0.25, 0.5, 3.0))
    >>> run = ct.simulate(top, start, dt=0.02, t_end=10.0)
    >>> run.audit()["vertical_momentum"].verdict
    'exact'
    """

    def __init__(
        self,
        body: Body | Mapping[str, object],
        potential: GivenPotential,
        form: Form = "quaternion",
        *,
        J0: float = 1.0,
        parameters: Mapping[str, GivenInTime] | None = None,
    ) -> None:
        super().__init__(body)
        if form not in get_args(Form):
            raise InputError(f"form = {form!r}", where="Top.form", do='choose "quaternion" (or "multiplier")')
        if not (isinstance(J0, int | float) and 0.0 < J0 < math.inf):
            raise InputError(f"J0 = {J0!r}", where="Top.J0", do="give a positive number")
        if form == "quaternion" and J0 != 1.0:
            raise InputError(
                f"J0 = {J0!r} has no meaning in this form", where="Top.J0",
                do='remove it: only the form "multiplier" has a fourth moment',
            )  # fmt: skip
        self.form, self.J0 = form, float(J0)
        self.potential = AttitudePotential(potential, parameters)
        if self.potential.moves and form != "quaternion":
            raise CapabilityError(
                "the form with a multiplier has no clock, and this potential depends on time", where="Top.form",
                do='use form="quaternion"',
            )  # fmt: skip
        if self.body.kind == "linear":
            self._refuse_torque_about_the_line()

    def _refuse_torque_about_the_line(self) -> None:
        """The moment about a line is zero, so nothing may turn the body about it; checked at some orientations."""
        line = self.body.frame_matrix[:, int(np.argmin(self.body.moments))]
        for angles in SOME_ANGLES:
            t = self.potential.torque_at(rotations.to_matrix(rotations.from_euler(angles)))
            if abs(float(line @ t)) > LINE_TOLERANCE * float(np.linalg.norm(t)):
                raise InputError(
                    "this potential turns a linear body about its own line, which has no moment of inertia",
                    where="Top.potential",
                    do="let U depend on the direction of the line only; the centre of mass lies on it",
                )

    def check_start(self, state: State) -> None:
        super().check_start(state)
        r = rotations.to_matrix(state.orientation)
        u, torque = self.potential.energy_at(r, state.time), self.potential.torque_at(r, state.time)
        if not (math.isfinite(u) and np.isfinite(torque).all()):
            reason = self.potential.undefined_at(r, state.time)
            raise InputError(
                f"the potential is singular at this orientation: U = {u:g}, torque {torque.tolist()}{reason and ': ' + reason}",
                where="start.orientation", do="start elsewhere, or change the potential",
            )  # fmt: skip

    @property
    def in_words(self) -> str:
        return "Heavy top" if self.potential.given is not None else "Top in a potential"

    @property
    def time_tables(self) -> tuple[Sampled, ...]:
        return self.potential.tables

    @property
    def restless(self) -> str:
        return "its potential changes with time" if self.potential.moves else ""

    def undefined_at(self, state: State) -> str:
        """The first operation of the potential that has no value."""
        reason = self.potential.undefined_at(rotations.to_matrix(state.orientation), state.time)
        return f"start, potential: {reason}" if reason else "start"

    @property
    def title(self) -> str:
        name = "Top in gravity" if self.potential.given is not None else "Top"
        return name if self.form == "quaternion" else f"{name} with a multiplier"

    @property
    def default_method(self) -> tuple[str, dict[str, Json]]:
        # a step of Nystrom6 takes three quarters of one of Splitting(6), and has a quarter of its error (`catena bench free-body`)
        return ("Nystrom6", {}) if self.form == "quaternion" else ("Gauss", {"stages": 3})

    def laws(self, temperature: float) -> tuple[Law, ...]:
        """`height` in gravity: the mean cosine of the angle between the centre of mass and the vertical."""
        gravity = self.potential.gravity
        size = 0.0 if gravity is None else float(np.linalg.norm(gravity.moment))
        if gravity is None or size == 0.0:
            return ()
        direction = gravity.moment / size

        def height(states: States) -> Array:
            return rotations.to_matrix(states["orientation"])[..., 2, :] @ direction

        return (Law("height", -langevin_function(size / temperature), height, 1.0),)

    @cached_property
    def _special(self) -> tuple[str, Array]:
        """The further integral of this top, if any, and the constants to measure it."""
        gravity, moments = self.potential.gravity, self.body.moments
        if gravity is None:
            return "", np.zeros(1)
        g = rotations.apply(self.body.frame_matrix.T, gravity.moment)
        for c in range(3):
            a, b = (c + 1) % 3, (c + 2) % 3
            if moments[a] == moments[b] and g[a] == g[b] == 0.0:
                return "axial_momentum", np.array([float(c)])
            if moments[a] == moments[b] == 2.0 * moments[c] and g[c] == 0.0:
                return "kovalevskaya", np.array([a, b, c, g[a], g[b]], dtype=float)
        return "", np.zeros(1)

    @cached_property
    def invariants(self) -> tuple[Invariant, ...]:
        general = [
            Invariant("energy", (), (), "kinetic and potential energy", frozenset({"energy"})),
            Invariant("vertical_momentum", (), (), "vertical angular momentum", self._vertical_tags()),
            Invariant("unit_residual", (), (), "|q|^2 - 1", frozenset({"unit", "quadratic"})),
            Invariant("tangency_residual", (), (), "q.g", frozenset({"unit", "bilinear", "quadratic"})),
        ]
        special = {
            "axial_momentum": Invariant(
                "axial_momentum", (), (), "angular momentum about its own axis", frozenset({"axial"})
            ),
            "kovalevskaya": Invariant("kovalevskaya", (), (), "Kovalevskaya's integral", frozenset({"general"})),
        }
        name = self._special[0]
        kept = (*general, *([special[name]] if name else []))
        if self.potential.moves:
            words = "energy, less the work of what depends on time"
            energy = Invariant("energy", (), (), words, frozenset({"energy"}))
            return energy, *general[1:], Invariant("work", (), (), "work of what depends on time", frozenset({"work"}))
        if self.form == "quaternion":
            return kept
        return tuple(replace(invariant, tags=frozenset()) for invariant in kept)  # no method conserves any of them

    def _vertical_tags(self) -> frozenset[str]:
        """The vertical momentum is bilinear in (q, g); it is conserved if U depends only on the vertical."""
        kept = self.potential.rows == (False, False, True)
        return frozenset({"bilinear", "quadratic", "vertical"}) if kept else frozenset()

    @cached_property
    def _symmetric(self) -> Array | None:
        """Axis, moment across, moment along and gravity, if the body is symmetric about the axis of its centre of mass."""
        gravity, moments = self.potential.gravity, self.body.rotor_moments
        if gravity is None:
            return None
        g = rotations.apply(self.body.frame_matrix.T, gravity.moment)
        on_axis = EQUAL_MOMENTS * float(np.linalg.norm(g))  # like moments given in other axes
        for c in (2, 0, 1):
            a, b = (c + 1) % 3, (c + 2) % 3
            equal = abs(moments[a] - moments[b]) <= EQUAL_MOMENTS * min(moments[a], moments[b])
            if equal and max(abs(g[a]), abs(g[b])) <= on_axis:
                return np.array([c, 0.5 * (moments[a] + moments[b]), moments[c], g[c]])
        return None

    @cached_property
    def _closed_form(self) -> Motion:
        from ...analysis.exact_motion import symmetric_motion

        return symmetric_motion(self._symmetry(), self.body.frame)

    def _symmetry(self) -> Array:
        if self.potential.moves:
            raise CapabilityError("no closed form is known where the potential depends on time", do="use Nystrom6()")
        if self._symmetric is None:
            raise CapabilityError(
                "no closed form is known for this top: two moments must be equal, and gravity must act on the axis of the third",
                do="use Nystrom6(), or Taylor() for the highest accuracy",
            )
        return self._symmetric

    def view(self, name: str) -> View | None:
        if self.potential.moves:
            return self._driven_view(name)
        return self._quaternion_view(name) if self.form == "quaternion" else self._multiplier_view(name)

    def _quaternion_view(self, name: str) -> View | None:
        flags = {Flag.LINEAR_BODIES} if self.body.kind == "linear" else set()
        if name in ("split", "field", "constrained", "quat_em"):
            kernels = self._potential_kernels() | IN_A_BATH | {
                views.field: top_motion.top_field, views.force: top_motion.top_force, views.kick: top_motion.top_kick,
                views.drift: top_motion.top_drift, views.commutator_kick: top_motion.top_commutator_kick,
                views.publish: publish_body, views.measure: top_invariants.measure_top, views.field_end: body_field_end,
                views.attitude_potential: top_motion.potential_at, views.attitude_gradient: top_motion.gradient_at,
            }  # fmt: skip
            flags |= {Flag.ROTOR, Flag.QUADRATIC_KINETIC, Flag.COMMUTATOR_KICK}
            moments = self.body.rotor_moments.reshape(1, 3)
            return View(
                name, kernels, 7, self.to_stepped, self.from_stepped, frozenset(flags), True, moments,
                withdrawn=NOT_CANONICAL if name == "field" else frozenset(), inertia=self.inertia, measures=self.invariant_width,
                packs_many=True,
            )  # fmt: skip
        if name == "symmetric":
            kernels = self._potential_kernels() | {
                views.publish: publish_body, views.measure: top_invariants.measure_top, views.field_end: body_field_end,
            }  # fmt: skip
            parameters = {"symmetric": self._symmetry()}
            return View(
                name, kernels, 7, self.to_stepped, self.from_stepped, frozenset(flags), parameters=parameters, packs_many=True
            )  # fmt: skip
        if name == "canonical":
            kernels = self._potential_kernels() | {
                views.field: top_motion.quaternion_field, views.velocity: top_motion.quaternion_velocity,
                views.momentum_rate: top_motion.quaternion_force, views.publish: top_invariants.publish_quaternion,
                views.measure: top_invariants.measure_quaternion, views.field_end: top_motion.quaternion_field_end,
                views.registers: top_motion.quaternion_registers, views.held_parameters: self._hold_parameters(),
            }  # fmt: skip
            return View(name, kernels, 8, self.to_canonical, self.from_canonical, frozenset(flags), packs_many=True)
        return None

    def _driven_view(self, name: str) -> View | None:
        """z = (q, y, t, w) if the potential depends on time."""
        if name not in ("split", "field", "constrained"):
            return None
        flags = {Flag.ROTOR, Flag.QUADRATIC_KINETIC, Flag.COMMUTATOR_KICK}
        flags |= {Flag.LINEAR_BODIES} if self.body.kind == "linear" else set()
        kernels = self._potential_kernels() | {
            views.field: top_driven.driven_field, views.force: top_driven.driven_force, views.kick: top_driven.driven_kick,
            views.drift: top_driven.driven_drift, views.commutator_kick: top_driven.driven_commutator_kick,
            views.publish: publish_body, views.measure: top_driven.measure_driven, views.field_end: top_driven.driven_field_end,
            views.field_count: 4, views.has_clock: 1, top_driven.set_numbers: self.potential.set_numbers(),
            top_driven.potential_rate: self.potential.kernel("potential_rate"),
            top_driven.torque_in_time: self.potential.kernel("torque_in_time"),
        }  # fmt: skip

        def pack(state: State) -> Array:
            return np.concatenate([self.to_stepped(state), [state.time, 0.0]])

        def unpack(z: Array, time: float) -> State:
            return self.from_stepped(z[:7], time)

        return View(
            name, kernels, 9, pack, unpack, frozenset(flags), True, self.body.rotor_moments.reshape(1, 3), scratch=self.potential.scratch,
            withdrawn=NOT_CANONICAL if name == "field" else frozenset(), measures=self.invariant_width,
        )  # fmt: skip

    def lacks(self, name: str) -> str:
        return "its potential depends on time, which this method does not know here" if self.potential.moves else ""

    def _multiplier_view(self, name: str) -> View | None:
        if name not in ("canonical", "field"):
            return None
        kernels = self._potential_kernels() | {
            views.field: top_multiplier.multiplier_field, views.velocity: top_multiplier.multiplier_velocity,
            views.momentum_rate: top_multiplier.multiplier_force, views.publish: top_invariants.publish_quaternion,
            views.measure: top_invariants.measure_quaternion, views.field_end: top_motion.quaternion_field_end,
        }  # fmt: skip
        # off the unit sphere these equations are not Hamiltonian
        return View(name, kernels, 8, self.to_canonical, self.from_canonical, withdrawn=NOT_CANONICAL, packs_many=True)

    def _hold_parameters(self) -> Written:
        """The numbers that the equations need in `par`."""
        named = {"inverse": 3, "frame": 4, "potential": len(self.potential.values)}
        loaded = (f"({''.join(f'par.{name}[{k}], ' for k in range(count))})" for name, count in named.items())
        text = f"def held_parameters(par):\n    return spun({', '.join(loaded)})"
        return Written("held_parameters", text, __name__, (("spun", spun),))

    def _potential_kernels(self) -> dict[Slot, Filling]:
        return {
            top_motion.potential: self.potential.kernel("potential"),
            top_motion.torque: self.potential.kernel("torque"),
            top_motion.torque_rate: self.potential.kernel("torque_rate"),
            top_motion.gradient: self.potential.kernel("gradient"),
            top_motion.is_framed: int(not np.array_equal(self.body.frame, IDENTITY)),
            top_invariants.measure_special: {
                "": top_invariants.measure_nothing,
                "axial_momentum": top_invariants.measure_axial,
                "kovalevskaya": top_invariants.measure_kovalevskaya,
            }[self._special[0]],
            views.field_count: 2,
        }

    def to_canonical(self, state: State) -> Array:
        """z = (q, g) with g = 2 G(q)^T y, so that q.g = 0."""
        z = self.to_stepped(state)
        q, y = z[..., :4], np.concatenate([np.zeros((*z.shape[:-1], 1)), z[..., 4:]], axis=-1)
        return np.concatenate([q, 2.0 * rotations.multiply(q, y)], axis=-1)

    def from_canonical(self, z: Array, time: float) -> State:
        """The state of z = (q, g)."""
        y = 0.5 * rotations.multiply(rotations.conjugate(z[:4]), z[4:])[1:]
        return self.from_stepped(np.concatenate([z[:4], y]), time)

    def parameter_arrays(self) -> dict[str, Numbers]:
        own: dict[str, Numbers] = {**self.potential.arrays(), "rows": np.array(self.potential.rows, dtype=float)}
        own |= {"special": self._special[1]} | (
            {"fourth_moment": np.array([self.J0])} if self.form == "multiplier" else {}
        )
        return super().parameter_arrays() | own

    def scene(self) -> Scene:
        return Scene((self.body,), torque=True, weight=self.potential.gravity)

    def describe(self) -> dict[str, Json]:
        described = {"kind": self.kind, "body": self.body.describe(), "potential": self.potential.describe()}
        if self.potential.given is None:
            given = {name: describe_in_time(v) for name, v in self.potential.parameters.items() if name != TIME}
            described |= {"parameters": given} if given else {}
        if self.form == "multiplier":
            described |= {"form": self.form, "J0": self.J0}
        return described

    def __repr__(self) -> str:
        form = "" if self.form == "quaternion" else f", {self.form!r}, J0={self.J0:g}"
        return f"Top({self.body!r}, {self.potential.given or self.potential.text!r}{form})"
