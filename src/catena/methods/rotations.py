"""Splittings of the free rotation into rotations about axes: ThreeRotations and SymmetricRotation.

T = y1^2/(2 I1) + y2^2/(2 I2) + y3^2/(2 I3). Each part turns the body about a fixed axis, which keeps R(q) y and |y|.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import CapabilityError
from ..geometry.quaternion import exponential, hold_length, turn_about_axis, turn_right
from ..views import View
from .base import Bounded, Exact, Traits, register
from .rotor import Array, Rotor

KEEPS = (Exact("spatial_momentum"), Exact("casimir"), Exact("unit"), Bounded("energy"))


def three_rotations(y, q, ey, eq, inertia, h, tab):
    """About the axes 1, 2, 3, 2, 1, each angle from the momentum at that moment."""
    turn_about_axis(y, q, ey, eq, 0, 0.5 * h * y[0] / inertia[0])
    turn_about_axis(y, q, ey, eq, 1, 0.5 * h * y[1] / inertia[1])
    turn_about_axis(y, q, ey, eq, 2, h * y[2] / inertia[2])
    turn_about_axis(y, q, ey, eq, 1, 0.5 * h * y[1] / inertia[1])
    turn_about_axis(y, q, ey, eq, 0, 0.5 * h * y[0] / inertia[0])
    hold_length(q, eq)
    return 0


def symmetric_rotation(y, q, ey, eq, inertia, h, tab):
    """T = (a_i - a_j) y_i^2/2 + [a_j |y|^2/2 + (a_k - a_j) y_k^2/2]: the bracket is a symmetric body, turned exactly.

    tab: the axes i, j, k, then a_i - a_j, a_j, a_k - a_j.
    """
    i = int(tab[0])
    k = int(tab[2])
    turn_about_axis(y, q, ey, eq, i, 0.5 * h * tab[3] * y[i])
    c, v1, v2, v3 = exponential(h * tab[4] * y[0], h * tab[4] * y[1], h * tab[4] * y[2])
    turn_right(q, eq, c, v1, v2, v3)
    turn_about_axis(y, q, ey, eq, k, h * tab[5] * y[k])
    turn_about_axis(y, q, ey, eq, i, 0.5 * h * tab[3] * y[i])
    hold_length(q, eq)
    return 0


@register
@dataclass(frozen=True)
class ThreeRotations(Rotor):
    """Rotations about the axes 1-2-3-2-1: exp(dt/2 T1) exp(dt/2 T2) exp(dt T3) exp(dt/2 T2) exp(dt/2 T1).

    Order 2, symplectic, symmetric, explicit; keeps R(q) y and |y| exactly, the energy without drift. Five pairs of sine and
    cosine. Choose it inside cheap splittings of chains; prefer `SymmetricRotation` for bodies that are nearly symmetric,
    `DMV` for accuracy. It cannot treat linear bodies.

    References
    ----------
    [mclachlan1993], [reich1994]. [vilmart2015] prints the angles of the 3-2-1-2-1 product wrongly.
    """

    def rotor_kernel(self) -> Any:
        return three_rotations

    def table(self, view: View) -> Array:
        if "linear_bodies" in view.flags:
            raise CapabilityError("ThreeRotations would make a linear body spin about its own line")
        return super().table(view)

    @property
    def traits(self) -> Traits:
        return Traits(2, True, True, True, KEEPS, ("mclachlan1993", "reich1994"), 0.0)


@register
@dataclass(frozen=True)
class SymmetricRotation(Rotor):
    """A symmetric body, turned exactly, between two rotations about an axis.

    Order 2, symplectic, symmetric, explicit; exact for symmetric bodies. Keeps R(q) y and |y| exactly, the energy without
    drift. The axes are chosen so that the middle moment belongs to the symmetric part and its nearest neighbour (in 1/I)
    to the rotation. Four pairs of sine and cosine.

    References
    ----------
    [touma1994], [fasso2003], [vilmart2015] algorithm 2, where alpha must read y1 (1/I1 - 1/I2) and the last angle beta y3 t.
    """

    def rotor_kernel(self) -> Any:
        return symmetric_rotation

    def row(self, moments: Array) -> Array:
        return np.array(_symmetric_axes(moments))

    @property
    def traits(self) -> Traits:
        return Traits(2, True, True, True, (*KEEPS, Exact("axial")), ("touma1994", "fasso2003"), 0.0)


def _symmetric_axes(moments: Array) -> list[float]:
    """Axes i, j, k (j with the middle moment, i its neighbour in 1/I) and the differences of inverse moments."""
    low, j, high = (int(axis) for axis in np.argsort(moments, kind="stable"))
    inverse = 1.0 / moments

    def less(a: int, b: int) -> float:
        return float((moments[b] - moments[a]) / (moments[a] * moments[b]))

    i, k = (low, high) if less(low, j) <= -less(high, j) else (high, low)
    return [i, j, k, less(i, j), float(inverse[j]), less(k, j)]
