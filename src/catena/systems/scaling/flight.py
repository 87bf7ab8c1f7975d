"""Scale and rotation of a body without forces, in closed form, with impacts at scale 1.

Between impacts k = l.Theta^-1 l and E are constant, kappa sddot = k/s^3, and the body turns like a rigid one of momentum l in the
time tau with dtau = dt/s^2. With c^2 = k/kappa:

    s(t) = |(s0 + nu0 t, c t/s0)|,      nu(t) = (s0 nu0 + g t)/s,  g = nu0^2 + (c/s0)^2,      tau(t) = arg(s0 (s0 + nu0 t), c t)/c

s^2 is convex, so a flight from s <= 1 meets s = 1 at the larger root of a quadratic. An impact changes nu to
-restitution nu and leaves l unchanged: tau goes on.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ...arrays import Array
from ...errors import InputError

MOST_IMPACTS = 1_000_000
RESOLUTION = 2.0**-53  # of numbers below 1


@dataclass(frozen=True)
class Flight:
    """Motion of the scale from `time` on, until the next impact or for ever; `rests` if contact persists."""

    time: float
    scale: float
    rate: float
    turned: float  # tau at the start
    rests: bool = False


def after(flight: Flight, c: float, t: Array) -> tuple[Array, Array, Array]:
    """Scale, rate and tau at times t of a flight."""
    dt = t - flight.time
    if flight.rests:
        return np.ones_like(dt), np.zeros_like(dt), flight.turned + dt
    s0, nu0 = flight.scale, flight.rate
    along, across = s0 + nu0 * dt, c * dt / s0
    s = np.hypot(along, across)
    if c == 0.0 and (along <= 0.0).any():
        raise InputError(
            f"the body shrinks to a point at t = {flight.time - s0 / nu0:.10g}", where="exact.t",
            do="ask for earlier times, or let it turn",
        )  # fmt: skip
    rate = (s0 * nu0 + (nu0 * nu0 + (c / s0) ** 2) * dt) / s
    tau = np.arctan2(c * dt, s0 * along) / c if c > 0.0 else dt / (s0 * along)
    return s, rate, flight.turned + tau


def time_of_impact(scale: float, rate: float, c: float) -> float:
    """Time after which a flight from scale <= 1 reaches 1; infinite if it never does.

    Examples
    --------
    >>> round(time_of_impact(0.5, 0.25, 0.0), 12)
    2.0
    """
    b, g = scale * rate, rate * rate + (c / scale) ** 2
    root = math.sqrt(b * b + g * (1.0 - scale) * (1.0 + scale))
    if b > 0.0:
        return (1.0 - scale) * (1.0 + scale) / (b + root)
    if g == 0.0 or (c == 0.0 and rate <= 0.0):
        return math.inf
    return (root - b) / g


def rebound(rate: float, restitution: float, push: float) -> float:
    """Rate after an impact; 0 if the rebound would end within the resolution of s = 1.

    A rebound at nu against the acceleration `push` reaches the depth nu^2/(2 push). The flights after an impact with
    restitution < 1 add up to a finite time, so at some point the body must come to rest.
    """
    back = restitution * rate
    return 0.0 if back * back <= 2.0 * RESOLUTION * push else -back


def flights(start: Flight, c: float, restitution: float, until: float) -> list[Flight]:
    """The flights from `start` to a time, each from one impact to the next."""
    found = [start]
    while len(found) < MOST_IMPACTS:
        last = found[-1]
        if last.rests:
            return found
        pushes = last.scale == 1.0 and last.rate >= 0.0  # a start at the bound, moving towards it
        impact = last.time + (0.0 if pushes else time_of_impact(last.scale, last.rate, c))
        if impact >= until:
            return found
        _, rate, tau = after(last, c, np.array([impact]))
        back = rebound(float(rate[0]), restitution, c * c)
        found.append(Flight(impact, 1.0, back, float(tau[0]), rests=back == 0.0))
    raise InputError(
        f"more than {MOST_IMPACTS} impacts before t = {until:g}", where="exact.t", do="ask for an earlier time"
    )


def positions(start: Flight, c: float, restitution: float | None, times: Array) -> tuple[Array, Array, Array]:
    """Scale, rate and tau at times in any order; restitution None: the scale is not bounded."""
    if restitution is None:
        return after(start, c, times)
    if (times < start.time).any():
        raise InputError(
            f"t = {float(times.min()):g} is before the start", where="exact.t",
            do="impacts cannot be undone: ask for later times",
        )  # fmt: skip
    pieces = flights(start, c, restitution, float(times.max(initial=start.time)))
    which = np.searchsorted([piece.time for piece in pieces[1:]], times, side="right")
    s, rate, tau = (np.empty_like(times) for _ in range(3))
    for number in np.unique(which):
        here = which == number
        s[here], rate[here], tau[here] = after(pieces[int(number)], c, times[here])
    return s, rate, tau
