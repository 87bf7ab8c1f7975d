"""Rotations as arrays: quaternions (scalar first), matrices and Euler angles, over any leading axes.

For input and output; the compiled loop uses the scalar kernels of `catena.geometry.quaternion`.
A quaternion q rotates body vectors X into space vectors x = R(q) X; R(q) depends on the direction of q only.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Array


def multiply(p: ArrayLike, q: ArrayLike) -> Array:
    """Hamilton product p * q: first q, then p. Shapes (..., 4).

    Examples
    --------
    >>> multiply([0, 1, 0, 0], [0, 0, 1, 0]).tolist()
    [0.0, 0.0, 0.0, 1.0]
    """
    p0, p1, p2, p3 = _parts(p)
    q0, q1, q2, q3 = _parts(q)
    return np.stack(
        [
            p0 * q0 - p1 * q1 - p2 * q2 - p3 * q3,
            p0 * q1 + p1 * q0 + p2 * q3 - p3 * q2,
            p0 * q2 + p2 * q0 + p3 * q1 - p1 * q3,
            p0 * q3 + p3 * q0 + p1 * q2 - p2 * q1,
        ],
        axis=-1,
    )


def conjugate(q: ArrayLike) -> Array:
    """(q0, -q1, -q2, -q3): the inverse rotation. Shape (..., 4)."""
    return np.asarray(q, dtype=float) * np.array([1.0, -1.0, -1.0, -1.0])


def normalise(q: ArrayLike) -> Array:
    """q / |q|, for q of any magnitude but zero. Shape (..., 4)."""
    given = np.asarray(q, dtype=float)
    a, b, c, d = _parts(np.abs(given))  # numpy takes three times as long for sums over a short last axis
    scaled = (
        given / np.maximum(np.maximum(a, b), np.maximum(c, d))[..., None]
    )  # squares of a tiny or huge q would leave the range
    a, b, c, d = _parts(scaled * scaled)
    return scaled / np.sqrt(a + b + c + d)[..., None]


def rotate(q: ArrayLike, vectors: ArrayLike) -> Array:
    """R(q) x for q (..., 4) and vectors (..., 3); the inverse rotation is `rotate(conjugate(q), x)`.

    Examples
    --------
    >>> rotate([1, 1, 1, 1], [1, 2, 3]).tolist()
    [3.0, 1.0, 2.0]
    """
    return apply(to_matrix(q), vectors)


def apply(matrix: ArrayLike, vectors: ArrayLike) -> Array:
    """matrix @ x for matrices (..., 3, 3) and vectors (..., 3), summed from left to right.

    BLAS sums in a different order on each kind of CPU, so the start of a run would differ in the last digit.

    Examples
    --------
    >>> apply([[0, -1, 0], [1, 0, 0], [0, 0, 2]], [1, 2, 3]).tolist()
    [-2.0, 1.0, 6.0]
    """
    products = np.asarray(matrix, dtype=float) * np.asarray(vectors, dtype=float)[..., None, :]
    return products[..., 0] + products[..., 1] + products[..., 2]


def to_matrix(q: ArrayLike) -> Array:
    """R(q), shape (..., 3, 3), for q (..., 4) of any length but zero."""
    a, b, c, d = _parts(normalise(q))
    rows = [
        [1.0 - 2.0 * (c * c + d * d), 2.0 * (b * c - a * d), 2.0 * (b * d + a * c)],
        [2.0 * (b * c + a * d), 1.0 - 2.0 * (b * b + d * d), 2.0 * (c * d - a * b)],
        [2.0 * (b * d - a * c), 2.0 * (c * d + a * b), 1.0 - 2.0 * (b * b + c * c)],
    ]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def from_matrix(matrix: ArrayLike) -> Array:
    """The unit quaternion (..., 4) of rotation matrices (..., 3, 3), with q0 >= 0.

    Column k of 4 q q^T is known from the matrix up to its length; the one with the largest diagonal element is
    used, so there is no cancellation [Shepperd 1978]. A rotation by pi has q0 = 0; then its first nonzero component is
    positive.
    """
    r = np.asarray(matrix, dtype=float)
    r11, r22, r33 = r[..., 0, 0], r[..., 1, 1], r[..., 2, 2]
    w1, w2, w3 = r[..., 2, 1] - r[..., 1, 2], r[..., 0, 2] - r[..., 2, 0], r[..., 1, 0] - r[..., 0, 1]
    s12, s13, s23 = r[..., 0, 1] + r[..., 1, 0], r[..., 0, 2] + r[..., 2, 0], r[..., 1, 2] + r[..., 2, 1]
    columns = [
        [1.0 + r11 + r22 + r33, w1, w2, w3],
        [w1, 1.0 + r11 - r22 - r33, s12, s13],
        [w2, s12, 1.0 - r11 + r22 - r33, s23],
        [w3, s13, s23, 1.0 - r11 - r22 + r33],
    ]
    outer = np.stack([np.stack(column, axis=-1) for column in columns], axis=-2)
    largest = np.argmax(np.diagonal(outer, axis1=-2, axis2=-1), axis=-1)
    q = normalise(np.take_along_axis(outer, largest[..., None, None], axis=-2)[..., 0, :])
    first = np.argmax(q != 0.0, axis=-1)[..., None]
    return q * np.sign(np.take_along_axis(q, first, axis=-1)) + 0.0  # + 0.0 turns -0.0 into 0.0


def from_vector(turns: ArrayLike) -> Array:
    """The unit quaternion (..., 4) of rotation vectors (..., 3): axis times angle, in radians.

    Examples
    --------
    >>> from_vector([0.0, 0.0, np.pi]).round(12).tolist()
    [0.0, 0.0, 0.0, 1.0]
    """
    vectors = np.asarray(turns, dtype=float)
    half = 0.5 * np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.concatenate([np.cos(half), 0.5 * np.sinc(half / np.pi) * vectors], axis=-1)


def from_euler(angles: ArrayLike) -> Array:
    """The quaternion (..., 4) of the Euler angles (psi, theta, phi), shape (..., 3), in radians.

    Precession psi about z, nutation theta about the new y, spin phi about the body's z:
    R = A_z(psi) A_y(theta) A_z(phi), q = q_z(psi) * q_y(theta) * q_z(phi).

    Examples
    --------
    >>> from_euler([0.0, np.pi, 0.0]).round(12).tolist()
    [0.0, 0.0, 1.0, 0.0]
    """
    psi, theta, phi = np.moveaxis(np.asarray(angles, dtype=float), -1, 0)
    half_sum, half_difference = 0.5 * (phi + psi), 0.5 * (phi - psi)
    c, s = np.cos(0.5 * theta), np.sin(0.5 * theta)
    return np.stack(
        [c * np.cos(half_sum), s * np.sin(half_difference), s * np.cos(half_difference), c * np.sin(half_sum)], axis=-1
    )


def to_euler(q: ArrayLike) -> Array:
    """The Euler angles (psi, theta, phi) of `from_euler`, shape (..., 3); 0 <= theta <= pi, the others in [-pi, pi].

    At theta = 0 and theta = pi only a sum or difference of psi and phi is determined; then phi = 0.
    """
    q0, q1, q2, q3 = _parts(q)
    theta = 2.0 * np.arctan2(np.hypot(q1, q2), np.hypot(q0, q3))
    half_sum, half_difference = np.arctan2(q3, q0), np.arctan2(q1, q2)
    upright, inverted = (q1 == 0.0) & (q2 == 0.0), (q0 == 0.0) & (q3 == 0.0)
    half_difference = np.where(upright, -half_sum, half_difference)
    half_sum = np.where(inverted, -half_difference, half_sum)
    psi, phi = half_sum - half_difference, half_sum + half_difference
    return np.stack([_wrap(psi), theta, _wrap(phi)], axis=-1)


def _wrap(angle: Array) -> Array:
    """The angle in [-pi, pi], modulo full turns."""
    return angle - 2.0 * np.pi * np.round(angle / (2.0 * np.pi))


def _parts(q: ArrayLike) -> tuple[Array, Array, Array, Array]:
    a, b, c, d = np.moveaxis(np.asarray(q, dtype=float), -1, 0)
    return a, b, c, d


def hat(a: Array) -> Array:
    """hat(a) v = a x v, for vectors (..., 3)."""
    return np.cross(a[..., None, :], np.eye(3)).swapaxes(-1, -2)
