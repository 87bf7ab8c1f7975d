"""Screws: the motion from one body of a uniform chain to the next, its axis, angle, rise and radius."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...arrays import Array
from ...geometry.rotations import hat

NO_TURN = 1e-9  # below it the axis is taken along d
HALF_TURN = 1e-7


@dataclass(frozen=True)
class Screw:
    """d and Q as a rotation by `angle` in (-pi, pi] about an axis and a shift by `rise` >= 0 along it.

    All are in the axes of the first body. `axis` is a unit vector, `to_axis` leads from the centre of the body
    perpendicularly to the axis; both are the same in the axes of every body of the chain.
    """

    angle: float
    rise: float
    axis: Array
    to_axis: Array

    @property
    def radius(self) -> float:
        """Distance of the centres from the axis."""
        return float(np.linalg.norm(self.to_axis))

    @property
    def frame(self) -> Array:
        """Columns: the axis, the direction from the axis to the body, and the third; in the axes of the body."""
        outward = -self.to_axis
        if self.radius < 1e-12 * max(1.0, self.rise):
            outward = np.eye(3)[int(np.argmin(np.abs(self.axis)))]
            outward = outward - self.axis * (self.axis @ outward)
        outward = outward / np.linalg.norm(outward)
        return np.column_stack([self.axis, outward, np.cross(self.axis, outward)])


def screw_of(d: Array, q: Array) -> Screw:
    """The screw of a relative position (3,) and rotation (3, 3)."""
    turned = np.array([q[2, 1] - q[1, 2], q[0, 2] - q[2, 0], q[1, 0] - q[0, 1]])
    sine, cosine = 0.5 * float(np.linalg.norm(turned)), 0.5 * (np.trace(q) - 1.0)
    angle = float(np.arctan2(sine, cosine))
    if angle < NO_TURN:
        length = float(np.linalg.norm(d))
        return Screw(0.0, length, d / length if length else np.eye(3)[0], np.zeros(3))
    if np.pi - angle < HALF_TURN:  # the antisymmetric part has no direction any more: a a^T = (Q + 1)/2
        columns = 0.5 * (q + q.T) + np.eye(3)
        axis = columns[:, int(np.argmax(np.diag(columns)))]
        axis = axis / np.linalg.norm(axis)
        axis = axis if turned @ axis >= 0.0 else -axis
    else:
        axis = turned / (2.0 * sine)
    rise = float(axis @ d)
    if rise < 0.0:
        axis, rise, angle = -axis, -rise, -angle
    if angle <= -np.pi + 1e-15:
        angle = np.pi
    across = d - axis * rise
    to_axis = 0.5 * (across + np.cross(axis, across) / np.tan(0.5 * angle))
    return Screw(angle, rise, axis, to_axis)


def pulled_wrench(screw: Screw, tension: float, moment: float = 0.0) -> Array:
    """A force along the axis and a moment about it, as a wrench on a body, in its axes (6,)."""
    return np.concatenate([tension * screw.axis, tension * hat(screw.to_axis) @ screw.axis + moment * screw.axis])
