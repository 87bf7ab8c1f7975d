"""Energy-momentum steps for linked bodies: implicit, conserving, solved by Newton's method, halved if it fails.

The equations belong to the system; this module makes a step of them. It starts from an extrapolation of the last three
steps, then from the motion without forces. It rejects a root that has not converged, that turns a body by more than a
quarter turn, or that does not continue the motion. If it finds none, it makes the step as two half steps, which keep
what a whole one keeps.

Beyond dt omega = 2 the equations have several roots, and all of them keep energy and momentum; one of them may lie
behind a wall of the potential. The root of the motion is close to the extrapolation of previous steps. Where it is not
close, or no step is known yet, it must be the root that grows continuously out of rest as the step grows from zero to
its length.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...errors import InputError, unknown_word
from ...kernels.marks import apart, inline
from ...kernels.summation import put_back, save
from ...kernels.views import (
    NOT_CONVERGED,
    OK,
    SINGULAR,
    Flag,
    View,
    accept_increment,
    begin_increment,
    blame,
    correct_increment,
    dimension,
    guess_increment,
)
from ..base import Exact, Method, Needed, Stepper, Traits, register
from .energy_momentum_scaling import scaling_stepper

CONVERGED = 1e-17  # relative size of the next correction; 1e-16 shows as a drift in 1e5 steps
STAGNANT = 1e-8  # a relative correction that may be noise if it stops falling
CORRECTIONS = 14
PARTS = 1024  # largest number of parts of a step
SURE = 0.3  # largest first relative correction, and ratio of the second to it, that leave no doubt about the root
CLOSE = 0.1  # the same on the way to a root, because near a fold others are close by
FOLLOWED = 1e-8  # relative accuracy of the roots on the way to that of the whole step
SAME = 1e-4  # relative distance up to which two roots are the same
STRIDE = 2.0**-6  # of the step: first stride on the way to its root; dt omega is small there
SHORTEST = 2.0**-12  # the search ends if even such a stride leads to no root


@inline
def solve_increment(z, h, par, x, goal):
    """Solve for x by Newton's method, to the relative accuracy `goal`.

    Returns a status, the first correction, and the ratio of the second to it.
    """
    before = 0.0
    stalled = 0
    first = 0.0
    fall = 0.0
    for number in range(CORRECTIONS):
        change = correct_increment(z, h, par, x)
        if change < 0.0:
            return SINGULAR, first, fall
        rate = 1.0
        if number == 0:
            first = change
        else:
            rate = min(1.0, change / before)
            # a single stall may come from old derivatives
            stalled = stalled + 1 if change <= STAGNANT and rate > 0.3 else 0
            if number == 1 and change > STAGNANT:
                fall = rate
        if rate * change <= goal or stalled == 2:
            return OK, first, fall
        before = change
    return NOT_CONVERGED, first, fall


@inline
def try_step(z, e, h, par, x, kept, carry):
    """One step of length h, from the extrapolated start, then from the plain one; returns a status.

    carry: number of known steps (at most 3), the lengths of the last three, and their unknowns.
    """
    n = x.shape[0]
    status = NOT_CONVERGED
    begin_increment(z, h, par, x)
    for attempt in range(0 if carry[0] >= 3.0 else 1, 2):
        if attempt == 0:
            extrapolate(h, carry, x)
        else:
            guess_increment(par, x)
        status, first, fall = solve_increment(z, h, par, x, CONVERGED)
        # if the start is the root already, nothing acts, and there is no way to follow
        if status == OK and first > 0.0 and (attempt == 1 or max(first, fall) > SURE):
            status = follow(z, h, par, x, kept)
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


@apart
def follow(z, h, par, x, kept):
    """OK if the roots of shorter steps, from 0 on, lead to the root x of the step h, else NOT_CONVERGED; keeps x.

    Increments over the part p of the step are p times a rate, predicted on the line through the last two rates.
    Newton's method must leave no doubt at any stride, or it could change from one branch of roots to another. The first
    two roots have no such line, and the motion without forces does not replace it at rest, or if velocities do not fit
    the joints.
    """
    n = x.shape[0]
    root = kept[0:n]
    last = kept[n : 2 * n]
    former = kept[2 * n : 3 * n]
    for k in range(n):
        root[k] = x[k]
    begin_increment(z, h, par, x)
    guess_increment(par, x)
    for k in range(n):
        last[k] = x[k]
        former[k] = x[k]
    reached = 0.0
    before = 0.0
    stride = STRIDE
    while reached < 1.0 and stride >= SHORTEST:
        part = min(reached + stride, 1.0)
        begin_increment(z, part * h, par, x)
        ahead = (part - reached) / (reached - before) if before > 0.0 else 0.0
        for k in range(n):
            x[k] = part * (last[k] + ahead * (last[k] - former[k]))
        status, first, fall = solve_increment(z, part * h, par, x, FOLLOWED)
        if status == OK and fall <= CLOSE and (first <= CLOSE or before == 0.0):
            for k in range(n):
                former[k] = last[k]
                last[k] = x[k] / part
            before = reached
            reached = part
            stride *= 2.0
        else:
            stride *= 0.5
    size = 0.0
    apart_by = 0.0
    for k in range(n):
        size = max(size, abs(root[k]))
        apart_by = max(apart_by, abs(root[k] - last[k]))
        x[k] = root[k]
    begin_increment(z, h, par, x)
    return OK if reached == 1.0 and apart_by <= SAME * size else NOT_CONVERGED


@inline
def extrapolate(h, carry, x):
    """x from the parabola through the mean rates of the last three steps, at the middle of each."""
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
    """A step of length dt, in up to tab[0, 0] parts, by repeated halving. A failure leaves z and e as they were."""
    n = dimension(z)
    most = int(tab[0, 0])
    unknowns = (carry.shape[0] - 4) // 3
    x = work[2 * n : 2 * n + unknowns]
    kept = work[2 * n + unknowns : 2 * n + 4 * unknowns]
    save(z, e, work)
    done = 0
    part = most
    while done < most:
        status = try_step(z, e, dt * part / most, par, x, kept, carry)
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
    """The step on a view that offers equations for increments, in up to `parts` parts."""
    work = 2 * view.dimension + 4 * view.unknowns
    return Stepper(conserving_step, np.full((1, 1), float(parts)), work, 4 + 3 * view.unknowns)


@register
@dataclass(frozen=True)
class EnergyMomentum(Method):
    """The energy-momentum step for linked bodies, with directors and multipliers.

    Order 2, symmetric, not symplectic. Keeps energy, momentum and the joints to round-off at any step that converges, however
    long the run. `level="both"` enforces the joints' positions and velocities at every node. `level="position"` is the published
    scheme, which enforces positions only: it is faster and equally accurate over short times, but in long runs its velocities
    no longer fit the joints. Choose this method where nothing may drift; prefer `Gauss` for short accurate runs. `Composition`
    raises the order.

    Parameters
    ----------
    level : "both" (what None means) or "position"
    variables : "reduced", or "directors": the published equations with all their unknowns; the same step, for small systems

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
                raise unknown_word(f"{name} = {value!r}", value, known, f"EnergyMomentum.{name}")
        if self.variables == "directors" and self.level == "both":
            raise InputError(
                "the published equations hold positions only", where="EnergyMomentum.level", do='use level="position"'
            )

    @property
    def holds_velocities(self) -> bool:
        """Whether the step enforces the joints' velocities, too."""
        return self.level != "position" and self.variables == "reduced"

    @property
    def needs(self) -> tuple[str, ...]:  # type: ignore[override]
        """The view for its level and its variables."""
        if self.variables == "directors":
            return ("energy_momentum_directors",)
        return ("energy_momentum",) if self.holds_velocities else ("energy_momentum_position",)

    def stepper(self, view: View) -> Stepper:
        return scaling_stepper(view) if Flag.SCALING in view.flags else increment_stepper(view, parts=PARTS)

    @property
    def traits(self) -> Traits:
        # the velocities of the published step cease to fit the joints, and the audit must say so
        velocity = Exact("joint_velocity") if self.holds_velocities else Needed("joint_velocity")
        keeps = (
            Exact("energy"), Exact("linear"), Exact("bilinear"), Exact("vertical"), Exact("spatial_momentum"),
            Exact("unit"), Exact("joint_position"), velocity,
        )  # fmt: skip
        # one step reverses the velocities that the joints forbid: e1 = -e0
        cite = ("nielsen2013", "gonzalez1999")
        return Traits(2, False, True, False, keeps, cite, 0.0, reflects=not self.holds_velocities)

    def advice(self) -> str:
        return "use a smaller dt: even in 1024 parts the step has no solution near the motion"
