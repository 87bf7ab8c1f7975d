"""Splittings of the free rotation into rotations about axes: ThreeRotations and SymmetricRotation.

T = y1^2/(2 I1) + y2^2/(2 I2) + y3^2/(2 I3). Each part rotates the body about a fixed axis, which keeps R(q) y and |y|.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...arrays import Array
from ...errors import CapabilityError
from ...geometry.inertia import EQUAL_MOMENTS
from ...geometry.quaternion import cosine_less_one, exponential, hold_length, turn_about_axis
from ...kernels import elementary as math
from ...kernels.marks import Kernel, bind
from ...kernels.summation import add
from ...kernels.views import Flag, View
from ..base import Bounded, Exact, Traits, register
from . import lane_rotors
from .rotor import Rotor, different_rows

KEEPS = (Exact("spatial_momentum"), Exact("casimir"), Exact("unit"), Bounded("energy"))


def three_rotations(y, q, ey, eq, inertia, h, tab):
    """Rotations about the axes 1, 2, 3, 2, 1, each angle from the momentum at that point of the step."""
    turn_about_axis(y, q, ey, eq, 0, 0.5 * h * y[0] / inertia[0])
    turn_about_axis(y, q, ey, eq, 1, 0.5 * h * y[1] / inertia[1])
    turn_about_axis(y, q, ey, eq, 2, h * y[2] / inertia[2])
    turn_about_axis(y, q, ey, eq, 1, 0.5 * h * y[1] / inertia[1])
    turn_about_axis(y, q, ey, eq, 0, 0.5 * h * y[0] / inertia[0])
    hold_length(q, eq)
    return 0


def symmetric_rotation(y, q, ey, eq, inertia, h, tab):
    """T = (a_i - a_j) y_i^2/2 + [a_j |y|^2/2 + (a_k - a_j) y_k^2/2]: the bracket is a symmetric body, rotated exactly.

    tab: the axes i, j, k, then a_i - a_j, a_j, a_k - a_j. With a_k = a_j all three parts commute.
    """
    i = int(tab[0])
    if tab[5] == 0.0:
        turn_symmetric(y, q, ey, eq, i, h * tab[4], h * tab[3])
    else:
        turn_about_axis(y, q, ey, eq, i, 0.5 * h * tab[3] * y[i])
        turn_symmetric(y, q, ey, eq, int(tab[2]), h * tab[4], h * tab[5])
        turn_about_axis(y, q, ey, eq, i, 0.5 * h * tab[3] * y[i])
    hold_length(q, eq)
    return 0


def turn_symmetric(y, q, ey, eq, k, ball, axial):
    """The flow of ball |y|^2/2 + axial y_k^2/2 over 1: rotation by the vector ball y, then about axis k by axial y_k.

    One increment of q for both: neither angle depends on the other rotation, so all sines and cosines can be computed
    at once.
    """
    i = (k + 1) % 3
    j = (k + 2) % 3
    y1 = y[i]
    y2 = y[j]
    y3 = y[k]
    r0, r1, r2, r3 = exponential(ball * y1, ball * y2, ball * y3)
    c = math.cos(0.5 * axial * y3)
    s = math.sin(0.5 * axial * y3)
    a = -2.0 * s * s  # cos - 1 of the whole angle
    b = 2.0 * s * c
    add(y, ey, i, a * y1 + b * y2)
    add(y, ey, j, a * y2 - b * y1)
    # (1 + r0, r1, r2, r3) * (1 + d, 0, 0, s) - 1
    d = cosine_less_one(c, s)
    p0 = r0 + (d + (r0 * d - r3 * s))
    p1 = r1 + (r1 * d + r2 * s)
    p2 = r2 + (r2 * d - r1 * s)
    p3 = r3 + (s + (r3 * d + r0 * s))
    q0 = q[0]
    q1 = q[1 + i]
    q2 = q[1 + j]
    q3 = q[1 + k]
    add(q, eq, 0, q0 * p0 - q1 * p1 - q2 * p2 - q3 * p3)
    add(q, eq, 1 + i, q0 * p1 + q1 * p0 + q2 * p3 - q3 * p2)
    add(q, eq, 1 + j, q0 * p2 + q2 * p0 + q3 * p1 - q1 * p3)
    add(q, eq, 1 + k, q0 * p3 + q3 * p0 + q1 * p2 - q2 * p1)


@register
@dataclass(frozen=True)
class ThreeRotations(Rotor):
    """Rotations about the axes 1-2-3-2-1: exp(dt/2 T1) exp(dt/2 T2) exp(dt T3) exp(dt/2 T2) exp(dt/2 T1).

    Order 2, symplectic, symmetric, explicit; keeps R(q) y and |y| exactly, the energy without drift. Five pairs of sine and
    cosine. Choose it inside cheap splittings of chains; prefer `SymmetricRotation` for nearly symmetric bodies, `DMV` for
    accuracy. It cannot treat linear bodies.

    References
    ----------
    [mclachlan1993], [reich1994]. [vilmart2015] prints the angles of the 3-2-1-2-1 product wrongly.
    """

    def rotor_kernel(self) -> Callable[..., int]:
        return three_rotations

    def table(self, view: View) -> Array:
        if Flag.LINEAR_BODIES in view.flags:
            raise CapabilityError("ThreeRotations would make a linear body spin about its own line")
        return super().table(view)

    @property
    def traits(self) -> Traits:
        return Traits(2, True, True, True, KEEPS, ("mclachlan1993", "reich1994"), 0.0)


@register
@dataclass(frozen=True)
class SymmetricRotation(Rotor):
    """The exact rotation of a symmetric body between two rotations about an axis.

    Order 2, symplectic, symmetric, explicit; exact for symmetric bodies. Keeps R(q) y and |y| exactly, the energy without
    drift. The axes are chosen so that the symmetric part consists of the middle moment and its nearest neighbour in 1/I; the
    rotation takes the other axis. Four pairs of sine and cosine, two for a symmetric body.

    References
    ----------
    [touma1994], [fasso2003], [vilmart2015] algorithm 2, where alpha must read y1 (1/I1 - 1/I2) and the last angle beta y3 t.
    """

    def rotor_kernel(self) -> Callable[..., int]:
        return symmetric_rotation

    def row(self, moments: Array) -> Array:
        return np.array(_symmetric_axes(moments))

    def lane_kernel(self, moments: Array) -> Kernel:
        orders = {_axis_order(self.row(each)) for each in different_rows(moments)[0]}
        same = {lane_rotors.axis_order: orders.pop()} if len(orders) == 1 else {}
        return bind(lane_rotors.symmetric_lane, same)

    def lane_row(self, moments: Array) -> Array:
        row = self.row(moments)
        return np.array([lane_rotors.reach(moments, lane_rotors.SMALL_HALF_ANGLE), *row[3:], _axis_order(row)])

    @property
    def traits(self) -> Traits:
        return Traits(2, True, True, True, (*KEEPS, Exact("axial")), ("touma1994", "fasso2003"), 0.0)


def exact_rotor(view: View) -> SymmetricRotation | None:
    """`SymmetricRotation` for a single body with two equal moments: there it is exact, and cheaper than any other.

    The moments may differ by a few rounding errors, as they do for a tensor given in other axes: the error of the rotor
    is proportional to their difference, so it is a rounding error, too. Bodies of a chain are left to the rotor on
    lanes.
    """
    if view.moments is None or len(view.moments) != 1:
        return None
    low, middle, high = np.sort(view.moments[0])
    return SymmetricRotation() if min(middle / low, high / middle) <= 1.0 + EQUAL_MOMENTS else None


def _axis_order(row: Array) -> int:
    i, j, k = (int(axis) for axis in row[:3])
    return lane_rotors.AXIS_ORDERS.index((j, i, k))


def _symmetric_axes(moments: Array) -> list[float]:
    """Axes i, j, k (j with the middle moment, k its nearest neighbour in 1/I) and the differences of inverse moments.

    With i and k exchanged, symmetric bodies are exact, too, but the errors for others are larger by 1.4 to 1.9
    (geometric mean over thousands of random, flat and nearly symmetric bodies).
    """
    low, j, high = (int(axis) for axis in np.argsort(moments, kind="stable"))
    inverse = 1.0 / moments

    def less(a: int, b: int) -> float:
        return float((moments[b] - moments[a]) / (moments[a] * moments[b]))

    i, k = (high, low) if less(low, j) <= -less(high, j) else (low, high)
    return [i, j, k, less(i, j), float(inverse[j]), less(k, j)]
