"""Free bodies: the book and the flip of the intermediate axis."""

from __future__ import annotations

from ..plan import Problem
from ..systems.body import Body
from ..systems.free_body import FreeBody


def book() -> Problem:
    """A nearly flat body, like a book, turning about an axis between the largest and the middle moment [vilmart2015]."""
    system = FreeBody(Body(moments=(0.376, 0.627, 1.0)))
    return Problem("book", system, system.start(angular_momentum=(0.0, 0.6, -0.8)), 0.01, None, "a free book")


def flip() -> Problem:
    """A body turning almost about its intermediate axis: it flips over, again and again.

    The intermediate component changes sign every half period 2 K(k)/|r|, long because the start lies near the separatrix.
    """
    system = FreeBody(Body(moments=(1.0, 1.5, 2.0)))
    start = system.start(angular_momentum=(2.0**-20, 1.0, 2.0**-22))
    return Problem("flip", system, start, 0.05, None, "flips about the intermediate axis")
