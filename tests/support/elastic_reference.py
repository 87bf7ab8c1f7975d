"""Elastic links at 50 digits, from angles and axes: independent of the kernels."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
from mpmath import mp


def quaternion_of(m: Any) -> list[Any]:
    """Quaternion of a matrix, by the largest of the four squares, with q0 >= 0."""
    squares = [1 + m[0, 0] + m[1, 1] + m[2, 2]] + [1 + 2 * m[k, k] - m[0, 0] - m[1, 1] - m[2, 2] for k in range(3)]
    largest = max(range(4), key=lambda k: squares[k])
    rows = [
        [squares[0], m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1]],
        [m[2, 1] - m[1, 2], squares[1], m[0, 1] + m[1, 0], m[0, 2] + m[2, 0]],
        [m[0, 2] - m[2, 0], m[0, 1] + m[1, 0], squares[2], m[1, 2] + m[2, 1]],
        [m[1, 0] - m[0, 1], m[0, 2] + m[2, 0], m[1, 2] + m[2, 1], squares[3]],
    ]
    norm = mp.sqrt(sum(x**2 for x in rows[largest])) * (1 if rows[largest][0] >= 0 else -1)
    return [x / norm for x in rows[largest]]


def exponential(vector: Any) -> Any:
    """exp(hat x), by Rodrigues' formula."""
    x, y, z = vector
    angle = mp.sqrt(x * x + y * y + z * z)
    cross = mp.matrix([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    if not angle:
        return mp.eye(3)
    return mp.eye(3) + mp.sin(angle) / angle * cross + 2 * (mp.sin(angle / 2) / angle) ** 2 * (cross * cross)


def rotation_vector(m: Any) -> list[Any]:
    """phi n of a matrix."""
    w, *v = quaternion_of(m)
    length = mp.sqrt(sum(x**2 for x in v))
    factor = 2 * mp.atan2(length, w) / length if length else mp.mpf(2)
    return [factor * x for x in v]


def components(d: Any, m: Any, coordinates: str, frame: str) -> list[Any]:
    """x = (r, t) by definition: angle and axis of Q, and the translation in the first or the middle frame."""
    turn = rotation_vector(m)
    angle = mp.sqrt(sum(x**2 for x in turn))
    r = turn
    if coordinates == "cayley" and angle:
        r = [2 * mp.tan(angle / 2) / angle * x for x in turn]
    t = list(exponential([-x / 2 for x in turn]) * mp.matrix(d)) if frame == "middle" else list(d)
    return [*r, *t]


def elastic(stiffness: Any, rest: Any, coordinates: str, frame: str) -> Any:
    """V(d, Q); rest: rotation coordinates and translation."""
    x0, k = [mp.mpf(float(x)) for part in rest for x in part], mp.matrix(np.asarray(stiffness).tolist())

    def energy(d: Any, m: Any) -> Any:
        x = mp.matrix([a - b for a, b in zip(components(d, m, coordinates, frame), x0, strict=True)])
        return (x.T * k * x)[0] / 2

    return energy


def hessian(energy: Any, d: Any, q: Any) -> np.ndarray:
    """Second derivatives of V(d + Q u, Q exp(hat theta)) by (u, theta) at zero, (6, 6), by differences of 1e-12 in 50 digits."""
    with mpmath.workdps(50):
        place, matrix, h = (
            mp.matrix([mp.mpf(float(x)) for x in d]),
            mp.matrix(np.asarray(q).tolist()),
            mp.mpf(10) ** -12,
        )

        def value(*steps: Any) -> Any:
            xi = [sum(sign * h for axis, sign in steps if axis == k) for k in range(6)]
            return energy(list(place + matrix * mp.matrix(xi[:3])), matrix * exponential(xi[3:]))

        found, here = np.zeros((6, 6)), value()
        for i in range(6):
            found[i, i] = float((value((i, 1)) - 2 * here + value((i, -1))) / h**2)
            for j in range(i):
                sides = [a * b * value((i, a), (j, b)) for a in (1, -1) for b in (1, -1)]
                found[i, j] = found[j, i] = float(sum(sides) / (4 * h**2))
        return found
