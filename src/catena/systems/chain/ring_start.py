"""Starts of the bodies of a ring: on a circle, or wound about one."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...errors import CapabilityError, InputError
from ...geometry import rotations
from ..base import Array, State
from ..numbers import finite_number, finite_numbers, whole_number

if TYPE_CHECKING:
    from .chain import Chain


def circle_frames(n: int, spacing: float, turns: int) -> tuple[Array, NDArray[np.float64]]:
    """Points (n, 3) on a circle about the origin, in the xy plane, at this spacing, and frames (n, 3, 3) there.

    The first axis of a frame is tangential; the second points to the centre at first, and rotates about the first:
    `turns` times in all.
    """
    angle = 2.0 * math.pi * np.arange(n) / n
    radius = 0.5 * spacing / math.sin(math.pi / n)
    points = radius * np.column_stack([np.sin(angle), -np.cos(angle), np.zeros(n)])
    about_z = np.column_stack([np.cos(0.5 * angle), np.zeros(n), np.zeros(n), np.sin(0.5 * angle)])
    about_x = np.column_stack([np.cos(0.5 * turns * angle), np.sin(0.5 * turns * angle), np.zeros(n), np.zeros(n)])
    return points, rotations.to_matrix(rotations.multiply(about_z, about_x))


def ring_start(chain: Chain, spacing: float, linking_number: int, axis: ArrayLike, *, check: bool) -> State:
    """See `Chain.ring`."""
    if not chain.closed:
        raise CapabilityError("this chain is open", where="Chain.closed", do="make it with closed=True")
    apart = finite_number(spacing, "ring.spacing")
    if apart <= 0.0:
        raise InputError(f"spacing = {apart:g}", where="ring.spacing", do="give a positive distance of neighbours")
    linking_number = whole_number(linking_number, "ring.linking_number", "give a whole number")
    if 2 * abs(linking_number) >= chain.count:
        raise InputError(
            f"linking_number = {linking_number}: neighbours would be turned by half a turn or more", where="ring.linking_number",
            do=f"give a number below {chain.count / 2:g}, or more bodies",
        )  # fmt: skip
    points, frames = circle_frames(chain.count, apart, linking_number)
    along = finite_numbers(axis, (3,), where="ring.axis", do="give three numbers, in the axes of the bodies")
    if not along.any():
        raise InputError("the axis is zero", where="ring.axis", do="give a direction in the axes of the bodies")
    orientation = rotations.from_matrix(frames @ _axes_with(along).T)
    return chain.start(points, orientation, check=check)


def _axes_with(along: Array) -> Array:
    """Three axes as columns, the first in a given direction; the others near the next axes of the body."""
    first = along / np.linalg.norm(along)
    beside = np.eye(3)[(int(np.argmax(np.abs(first))) + 1) % 3]
    second = beside - first * (first @ beside)
    second /= np.linalg.norm(second)
    return np.column_stack([first, second, np.cross(first, second)])
