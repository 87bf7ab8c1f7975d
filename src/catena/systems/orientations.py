"""Input of orientations: unit quaternions, rotation matrices, or scipy's Rotation.

All map body to space. An axis with an angle is `Rotation.from_rotvec(angle * axis)`; Euler angles and their rates are
converted by `euler_angles`.
"""

from __future__ import annotations

from typing import NotRequired, TypedDict

import numpy as np
from numpy.typing import ArrayLike

from ..errors import InputError
from ..geometry import rotations
from .base import Array
from .numbers import finite_numbers

UNIT_TOLERANCE = 1e-6  # a quaternion or matrix with a smaller error is normalised, one with a larger error is refused
ONE = "give a unit quaternion, scalar first; a rotation matrix, shape (3, 3); or scipy's Rotation"
MANY = "give unit quaternions, scalar first, shape ({n}, 4); rotation matrices, shape ({n}, 3, 3); or scipy's Rotation"


def one_orientation(given: object) -> Array:
    """The unit quaternion (4,) of one body."""
    return _check(given, None, unit=True)


def one_scaled_orientation(given: object) -> Array:
    """A quaternion (4,) of any length except zero."""
    return _check(given, None, unit=False)


def orientations(given: object, n: int) -> Array:
    """The unit quaternions (n, 4) of n bodies; the identity if None."""
    return np.tile((1.0, 0.0, 0.0, 0.0), (n, 1)) if given is None else _check(given, n, unit=True)


def _check(given: object, n: int | None, *, unit: bool) -> Array:
    rows = () if n is None else (n,)
    forms = ONE if n is None else MANY.format(n=n)
    if hasattr(given, "as_quat") and hasattr(given, "as_matrix"):
        given = np.roll(given.as_quat(), 1, axis=-1)  # scipy's quaternions have the scalar last
    shapes = (*rows, 4), (*rows, 3, 3)
    array = finite_numbers(given, *shapes, where="start.orientation", do=forms, rows="body" if rows else "")
    flat = array.reshape(1 if n is None else n, *array.shape[len(rows) :])
    made = _of_matrices(flat, n) if flat.ndim == 3 else flat
    return (_normalise(made, n, forms) if unit else _not_zero(made)).reshape(*rows, 4)


def _of_matrices(matrices: Array, n: int | None) -> Array:
    """Quaternions of matrices that are rotations up to rounding."""
    with np.errstate(over="ignore", invalid="ignore"):
        off = np.abs(matrices.transpose(0, 2, 1) @ matrices - np.eye(3)).max(axis=(1, 2))
        mirrored = np.linalg.det(matrices) < 0.0
    for j in np.flatnonzero(~(off <= UNIT_TOLERANCE)):
        _refuse(f"is no rotation matrix: R^T R differs from 1 by {off[j]:.3g}", j, n, do="give orthonormal columns")
    for j in np.flatnonzero(mirrored):
        _refuse("is a reflection, not a rotation: its determinant is -1", j, n, do="turn one of its columns around")
    return rotations.from_matrix(matrices)


def _normalise(q: Array, n: int | None, forms: str) -> Array:
    lengths = np.linalg.norm(q, axis=1)
    for j in np.flatnonzero(~(np.abs(lengths - 1.0) <= UNIT_TOLERANCE)):
        meant = f"; normalised it is {(q[j] / lengths[j]).tolist()}" if 0.0 < lengths[j] < np.inf else ""
        _refuse(f"has length {lengths[j]:.9g}", j, n, do=forms + meant)
    return q / lengths[:, None]


def _not_zero(q: Array) -> Array:
    if not q.any():
        _refuse("has length 0", 0, None, do="give a quaternion whose squared length is the scale")
    return q


def _refuse(wrong: str, j: int | np.signedinteger, n: int | None, *, do: str) -> None:
    which, where = ("", "start.orientation") if n is None else (f" of body {j}", f"start.orientation[{j}]")
    raise InputError(f"the orientation{which} {wrong}", where=where, do=do)


class Attitude(TypedDict):
    """Orientation and angular velocity of a body, or of several, as keyword arguments of `start`."""

    orientation: Array
    angular_velocity: NotRequired[Array]


def euler_angles(angles: ArrayLike, rates: ArrayLike | None = None, *, axes: str = "zyz") -> Attitude:
    """Convert Euler angles and their rates to arguments of `start`: `top.start(**ct.euler_angles(angles, rates))`.

    R = A_1(a_1) A_2(a_2) A_3(a_3) maps body to space: each rotation is about an axis that the previous rotations have
    moved with the body. With "zyz" the angles are precession psi, nutation theta and spin phi. The angular velocity, in
    the axes of the body, is omega = a_1' A_3^T A_2^T e_1 + a_2' A_3^T e_2 + a_3' e_3. This cannot be inverted if the
    first and the last axis coincide, so nothing is stepped in these angles.

    Parameters
    ----------
    angles : (3,) or (n, 3) in radians, in the order of the axes
    rates : of the same shape, per unit of time; None: return only the orientation
    axes : three of x, y and z, neighbours different: "zyz", "zxz", "xyz", "zyx", ...

    Returns
    -------
    dict with `orientation`, (4,) or (n, 4), and with rates `angular_velocity`, (3,) or (n, 3)

    Examples
    --------
    >>> import catena as ct
    >>> top = ct.Top(ct.Body(moments=(1, 1, 0.5)), ct.Gravity(1.0))
    >>> start = top.start(**ct.euler_angles((0.0, 0.5, 0.0), rates=(0.1, 0.0, 20.0)))
    >>> start.angular_momentum.round(6).tolist()
    [-0.047943, 0.0, 10.043879]
    """
    if (
        not isinstance(axes, str)
        or len(axes) != 3
        or set(axes) - set("xyz")
        or axes[0] == axes[1]
        or axes[1] == axes[2]
    ):
        raise InputError(
            f"axes = {axes!r}",
            where="euler_angles.axes",
            do='give three of x, y, z, neighbours different, such as "zyz"',
        )
    a = finite_numbers(angles, (3,), (None, 3), where="euler_angles.angles")
    about = [np.eye(3)["xyz".index(axis)] for axis in axes]
    turns = [_turn(axis, a[..., k]) for k, axis in enumerate(about)]
    made: Attitude = {"orientation": rotations.multiply(rotations.multiply(turns[0], turns[1]), turns[2])}
    if rates is not None:
        rate = finite_numbers(rates, (3,), (None, 3), where="euler_angles.rates")
        if rate.shape != a.shape:
            raise InputError(
                f"rates have shape {rate.shape}, angles {a.shape}",
                where="euler_angles.rates",
                do="give one for each angle",
            )
        back = [rotations.conjugate(turn) for turn in turns]
        first = rotations.rotate(back[2], rotations.rotate(back[1], about[0]))
        second = rotations.rotate(back[2], about[1])
        made["angular_velocity"] = rate[..., :1] * first + rate[..., 1:2] * second + rate[..., 2:] * about[2]
    return made


def _turn(axis: Array, angle: Array) -> Array:
    """The quaternion of a rotation about a unit axis."""
    half = 0.5 * angle[..., None]
    return np.concatenate([np.cos(half), np.sin(half) * axis], axis=-1)
