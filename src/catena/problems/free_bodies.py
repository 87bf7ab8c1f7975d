"""Free bodies: the book, and a body that flips about its intermediate axis."""

from __future__ import annotations

from functools import partial

from ..geometry.free_motion import half_period
from ..running.plan import Problem
from ..systems.base import State
from ..systems.body import Body
from ..systems.free_body import FreeBody


def book() -> Problem[FreeBody]:
    """A nearly flat body, like a book, turning about an axis between the largest and the middle moment [vilmart2015]."""
    system = FreeBody(Body(moments=(0.376, 0.627, 1.0)))
    start = system.start(angular_momentum=(0.0, 0.6, -0.8))
    facts = {"half_period": half_period((0.376, 0.627, 1.0), start.angular_momentum)}
    about = (
        "A free book, thrown with spin. It tumbles, but its angular momentum stands still in space; in the axes of the "
        "book the angular momentum runs along a closed curve, the polhode, about the axis of the largest moment, where "
        "energy and length of the angular momentum are both what they were. Inertia alone does this: turning about an "
        "axis between two principal ones, the book must tilt all the time."
    )
    return Problem("book", system, start, 0.01, partial(_exact, system, start), about, facts)


def flip() -> Problem[FreeBody]:
    """A body turning almost about its intermediate axis: it flips over, again and again.

    The intermediate component changes sign every half period 2 K(k)/|r|, long because the start lies near the separatrix.
    """
    system = FreeBody(Body(moments=(1.0, 1.5, 2.0)))
    start = system.start(angular_momentum=(2.0**-20, 1.0, 2.0**-22))
    facts = {"half_period": half_period((1.0, 1.5, 2.0), start.angular_momentum)}
    exact = partial(_exact, system, start)
    about = (
        "A body that turns about its intermediate axis, almost. For a long time it seems to turn steadily, then it flips "
        "over and turns as steadily upside down, again and again: rotation about this axis is unstable, and the small "
        "deviation of the start grows exponentially until the body has turned over. The polhode passes close by both ends "
        "of the axis; the nearer the start, the longer each wait."
    )
    return Problem("flip", system, start, 0.05, exact, about, facts)


def _exact(system: FreeBody, start: State, t: float) -> State:
    return system.exact(t, start)
