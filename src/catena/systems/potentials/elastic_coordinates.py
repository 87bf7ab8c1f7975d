"""Six coordinates of relative poses, as arrays: rotation r first, then translation t; `elastic` has the conventions.

An independent way beside the kernels of `elastic_kernels`: from quaternions, which also cover half a turn.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from ...arrays import Array
from ...geometry import rotations
from ...geometry.rotations import hat
from . import elastic_kernels
from .pairwise import interpret

Coordinates: TypeAlias = Literal["cayley", "exponential"]
Frame: TypeAlias = Literal["first", "middle"]

FACTORS = {"cayley": elastic_kernels.cayley_factors, "exponential": elastic_kernels.exponential_factors}


def components_of(d: ArrayLike, rotation: ArrayLike, coordinates: Coordinates, frame: Frame) -> Array:
    """x = (r, t), (..., 6), of d (..., 3) and Q (..., 3, 3); a Cayley vector of half a turn is infinite."""
    q = rotations.from_matrix(rotation)
    place = np.asarray(d, dtype=float)
    t = place if frame == "first" else rotations.rotate(rotations.conjugate(half(q)), place)
    with np.errstate(divide="ignore", invalid="ignore"):
        r = 2.0 * factors(q, coordinates)[0][..., None] * q[..., 1:]
    return np.concatenate(np.broadcast_arrays(r, t), axis=-1)


def pose_of(x: ArrayLike, coordinates: Coordinates, frame: Frame) -> tuple[Array, Array]:
    """d (..., 3) and Q (..., 3, 3) with the coordinates x (..., 6)."""
    r, t = np.split(np.asarray(x, dtype=float), 2, axis=-1)
    q = quaternion_of(r, coordinates)
    return t if frame == "first" else rotations.rotate(half(q), t), rotations.to_matrix(q)


def quaternion_of(r: Array, coordinates: Coordinates) -> Array:
    """The rotation (..., 4) for coordinates (..., 3)."""
    if coordinates == "exponential":
        return rotations.from_vector(r)
    return rotations.normalise(np.concatenate([np.ones((*r.shape[:-1], 1)), 0.5 * r], axis=-1))


def slopes_of(x: Array, coordinates: Coordinates, frame: Frame) -> Array:
    """dx by (theta, dd), (..., 6, 6), at coordinates x (..., 6): Q -> Q exp(hat theta), d -> d + dd."""
    r, t = np.split(x, 2, axis=-1)
    q = quaternion_of(r, coordinates)
    w, v = q[..., 0], q[..., 1:]
    g, e = (factor[..., None, None] for factor in factors(q, coordinates))
    across, one = hat(v), np.eye(3)
    slopes = np.zeros((*w.shape, 6, 6))
    slopes[..., :3, :3] = g * (w[..., None, None] * one + across) + e * (v[..., :, None] * v[..., None, :])
    slopes[..., 3:, 3:] = one
    if frame == "middle":
        slopes[..., 3:, 3:] = np.swapaxes(rotations.to_matrix(half(q)), -1, -2)
        slopes[..., 3:, :3] = 0.5 * hat(t) @ (one + across / (1.0 + w)[..., None, None])
    return slopes


def factors(q: Array, coordinates: Coordinates) -> tuple[Array, Array]:
    """G and E of `elastic_kernels` for quaternions (..., 4)."""
    g, e = interpret(FACTORS[coordinates], np)(q[..., 0])
    return g, e


def half(q: Array) -> Array:
    """The rotation by half the angle, for unit quaternions (..., 4) with q0 >= 0."""
    return rotations.normalise(q + np.array([1.0, 0.0, 0.0, 0.0]))
