"""Energy-momentum steps for linked bodies: implicit, conserving, solved by Newton's method, halved where it fails.

The equations belong to the system; here is what makes of them a step: a start extrapolated from the last three steps, then the motion
without forces; no root is taken that was not converged to, or that turns a body by more than a quarter turn; where none is found the step
is made as two half steps, which keep what a whole one keeps.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import CapabilityError, InputError, nearest
from ..kernel import inline
from ..summation import put_back, save
from ..views import (
    NOT_CONVERGED,
    OK,
    SINGULAR,
    View,
    accept_increment,
    begin_increment,
    blame,
    correct_increment,
    dimension,
    guess_increment,
)
from .base import Exact, Method, Needed, Stepper, Traits, register
from .energy_momentum_scaling import scaling_stepper

CONVERGED = 1e-17  # relative: the correction that is still to come; 1e-16 shows as a drift in 1e5 steps
STAGNANT = 1e-8  # a relative correction that may be noise if it no longer falls
CORRECTIONS = 14
PARTS = 1024  # a step is cut into as many parts at most


@inline
def solve_increment(z, h, par, x):
    """Newton's method on x; a status."""
    before = 0.0
    stalled = 0
    for number in range(CORRECTIONS):
        change = correct_increment(z, h, par, x)
        if change < 0.0:
            return SINGULAR
        rate = 1.0
        if number > 0:
            rate = min(1.0, change / before)
            # once may be for want of new derivatives
            stalled = stalled + 1 if change <= STAGNANT and rate > 0.3 else 0
        if rate * change <= CONVERGED or stalled == 2:
            return OK
        before = change
    return NOT_CONVERGED


@inline
def try_step(z, e, h, par, x, carry):
    """One step of length h, from the extrapolated start, then from the plain one; a status.

    carry: how many steps are known, the lengths of the last three, and their unknowns.
    """
    n = x.shape[0]
    status = NOT_CONVERGED
    begin_increment(z, h, par, x)
    for attempt in range(0 if carry[0] >= 3.0 else 1, 2):
        if attempt == 0:
            extrapolate(h, carry, x)
        else:
            guess_increment(par, x)
        status = solve_increment(z, h, par, x)
        if status == OK:
            status = accept_increment(z, e, h, par, x)
        if status == OK:
            break
    if status == OK:
        for k in range(n):
            carry[4 + 2 * n + k] = carry[4 + n + k]
            carry[4 + n + k] = carry[4 + k]
            carry[4 + k] = x[k]
        carry[3] = carry[2]
        carry[2] = carry[1]
        carry[1] = h
        carry[0] = min(carry[0] + 1.0, 3.0)
    return status


@inline
def extrapolate(h, carry, x):
    """x by the parabola through the mean rates of the last three steps, at the middle of each."""
    n = x.shape[0]
    h1 = carry[1]
    h2 = carry[2]
    h3 = carry[3]
    near = 0.5 * (h1 + h2)
    far = 0.5 * (h2 + h3)
    slope = 0.5 * (h + h1) / near  # Newton's form: rate r1 + slope (r1 - r2) + bend [(r1 - r2)/near - (r2 - r3)/far]
    bend = 0.5 * (h + h1) * (0.5 * (h + h1) + near) / (near + far)
    first = h / h1 * (1.0 + slope + bend / near)
    second = -h / h2 * (slope + bend / near + bend / far)
    third = h / h3 * bend / far
    for k in range(n):
        x[k] = first * carry[4 + k] + second * carry[4 + n + k] + third * carry[4 + 2 * n + k]


@inline
def conserving_step(z, e, dt, par, tab, work, carry):
    """A step of length dt, in up to tab[0, 0] parts, halves of halves. A failure leaves z and e as they were."""
    n = dimension(z)
    most = int(tab[0, 0])
    unknowns = (carry.shape[0] - 4) // 3
    x = work[2 * n : 2 * n + unknowns]
    save(z, e, work)
    done = 0
    part = most
    while done < most:
        status = try_step(z, e, dt * part / most, par, x, carry)
        if status == OK:
            done += part
            while part < most and done % (2 * part) == 0:
                part *= 2
        elif part > 1:
            part //= 2
        else:
            blame(par)
            put_back(z, e, work)
            for k in range(carry.shape[0]):
                carry[k] = 0.0
            return status
    return OK


def increment_stepper(view: View, *, parts: int) -> Stepper:
    """The step on a view that offers equations for increments, cut into up to `parts` parts."""
    if "linear_bodies" in view.flags:
        raise CapabilityError(
            "it needs bodies with three moments of inertia, and one of these is a line or a point",
            do='give the body some thickness, or use form="joint" with Gauss',
        )
    scratch = 2 * view.dimension + view.unknowns
    return Stepper(conserving_step, np.full((1, 1), float(parts)), scratch, 4 + 3 * view.unknowns, view.scratch)


@register
@dataclass(frozen=True)
class EnergyMomentum(Method):
    """The energy-momentum step for linked bodies, with directors and multipliers.

    Order 2, symmetric, not symplectic. Keeps energy, momentum and the joints to round-off at any step that converges, however
    long the run. `level="both"` holds the joints' positions and velocities at every node; `level="position"` is the published
    scheme, which holds positions only: it is faster and as accurate over short times, but its velocities stop to fit the
    joints in long runs. Choose it where nothing may drift; prefer `Gauss` for short accurate runs. `Composition` raises
    the order.

    Parameters
    ----------
    level : "both" (what None means) or "position"
    variables : "reduced", or "directors": the published equations with all their unknowns, the same step for small systems

    References
    ----------
    [nielsen2013], [gonzalez1999]
    """

    level: str | None = None
    variables: str = "reduced"

    def __post_init__(self) -> None:
        for name, known in (("level", ("both", "position")), ("variables", ("reduced", "directors"))):
            value = getattr(self, name)
            if value not in known and not (name == "level" and value is None):
                raise InputError(
                    f"{name} = {value!r}{nearest(str(value), list(known))}", where=f"EnergyMomentum.{name}",
                    do=f"choose one of {', '.join(known)}",
                )  # fmt: skip
        if self.variables == "directors" and self.level == "both":
            raise InputError(
                "the published equations hold positions only", where="EnergyMomentum.level", do='use level="position"'
            )

    @property
    def holds_velocities(self) -> bool:
        """Whether the joints' velocities are held, too."""
        return self.level != "position" and self.variables == "reduced"

    @property
    def needs(self) -> tuple[str, ...]:  # type: ignore[override]
        if self.variables == "directors":
            return ("energy_momentum_directors",)
        return ("energy_momentum",) if self.holds_velocities else ("energy_momentum_position",)

    def stepper(self, view: View) -> Stepper:
        return scaling_stepper(view) if "scaling" in view.flags else increment_stepper(view, parts=PARTS)

    @property
    def traits(self) -> Traits:
        # the published step loses the velocities that fit the joints, and the audit must say so
        velocity = Exact("joint_velocity") if self.holds_velocities else Needed("joint_velocity")
        keeps = (
            Exact("energy"), Exact("linear"), Exact("bilinear"), Exact("vertical"), Exact("spatial_momentum"),
            Exact("unit"), Exact("joint_position"), velocity,
        )  # fmt: skip
        # one step turns the velocities that the joints forbid around: e1 = -e0
        cite = ("nielsen2013", "gonzalez1999")
        return Traits(2, False, True, False, keeps, cite, 0.0, reflects=not self.holds_velocities)

    def advice(self) -> str:
        return "use a smaller dt: even in 1024 parts the step has no solution near the motion"
