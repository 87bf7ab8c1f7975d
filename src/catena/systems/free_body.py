"""A rigid body turning about its centre of mass (or a fixed point) without torque."""

from __future__ import annotations

import math
from functools import cached_property

from ..geometry.quaternion import to_space
from ..kernels import views
from ..kernels.marks import Filling, Slot
from ..kernels.views import Flag, View
from ..text.plain import Json
from .base import Invariant, State, register
from .one_body import IN_A_BATH, NOT_CANONICAL, OneBody, body_field, body_field_end, publish_body
from .phase_space import PhaseSpace
from .scene import Scene


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
        scale[2 + i] = max(scale[2 + i], math.sqrt(2.0 * out[1]))
    scale[5] = 1.0


@register
class FreeBody(OneBody):
    """A free rigid body: orientation and angular momentum, no torque.

    Parameters
    ----------
    body : the body that turns; its moments are about the fixed point

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

    @property
    def in_words(self) -> str:
        return "Free rigid body"

    @property
    def title(self) -> str:
        return "FreeBody"

    @cached_property
    def invariants(self) -> tuple[Invariant, ...]:
        return (
            Invariant("energy", (), (), "kinetic energy", frozenset({"energy", "quadratic"})),
            Invariant(
                "casimir", (), (), "half the square of the angular momentum", frozenset({"casimir", "quadratic"})
            ),
            Invariant("spatial_momentum", (3,), ("xyz",), "angular momentum in space", frozenset({"spatial_momentum"})),
            Invariant("unit_residual", (), (), "|q|^2 - 1", frozenset({"unit", "quadratic"})),
        )

    def view(self, name: str) -> View | None:
        if name not in ("field", "rotor", "constrained"):
            return None
        kernels: dict[Slot, Filling] = {
            views.field: body_field,
            views.publish: publish_body,
            views.measure: measure_body,
            views.field_count: 2,
            views.field_end: body_field_end,
            **IN_A_BATH,
        }
        moments = self.body.rotor_moments.reshape(1, 3)
        flags = {Flag.ROTOR} | ({Flag.LINEAR_BODIES} if self.body.kind == "linear" else set())
        return View(
            name, kernels, 7, self.to_stepped, self.from_stepped, frozenset(flags), True, moments,
            withdrawn=NOT_CANONICAL if name == "field" else frozenset(), inertia=self.inertia, packs_many=True,
        )  # fmt: skip

    def phase_space(self, start: State) -> PhaseSpace:
        return PhaseSpace((self._turning_pair(),), reduced=self.body.kind != "linear")

    def scene(self) -> Scene:
        return Scene((self.body,))

    def describe(self) -> dict[str, Json]:
        return {"kind": self.kind, "body": self.body.describe()}

    def __repr__(self) -> str:
        return f"FreeBody({self.body!r})"
