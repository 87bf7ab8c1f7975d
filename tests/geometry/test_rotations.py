"""Rotations as arrays."""

from __future__ import annotations

import numpy as np
import pytest

import catena as ct
from catena.geometry import rotations

BODIES = [
    ct.Body.from_particles(points, np.arange(1.0, 5.0))
    for points in np.random.default_rng(5).normal(size=(40, 4, 3)).tolist()
]
VECTORS = np.random.default_rng(6).normal(size=(40, 3))


def summed(matrix: np.ndarray, vector: np.ndarray, order: tuple[int, int, int] = (0, 1, 2)) -> list[float]:
    """One product after the other, in Python's own arithmetic, which no library can round differently."""
    i, j, k = order
    x = vector.tolist()
    return [row[i] * x[i] + row[j] * x[j] + row[k] * x[k] for row in matrix.tolist()]


def test_products_are_added_from_left_to_right():
    """Bit for bit; the twin adds from right to left."""
    found = rotations.apply([body.frame_matrix for body in BODIES], VECTORS)
    assert found.tolist() == [summed(body.frame_matrix, x) for body, x in zip(BODIES, VECTORS, strict=True)]
    assert found.tolist() != [summed(body.frame_matrix, x, (2, 1, 0)) for body, x in zip(BODIES, VECTORS, strict=True)]


@pytest.mark.parametrize("kind", ["free body", "top", "chain", "scaling body"])
def test_a_start_has_the_same_bits_on_every_processor(kind):
    """Momenta from angular velocities, and what is stepped: nothing of them comes from BLAS, whose kernels differ from processor to processor."""
    for body, omega in zip(BODIES, VECTORS, strict=True):
        if kind == "chain":
            system = ct.Chain([body] * 2, ct.LennardJones(5.0, 1.0))
            there = np.array([[0.0, 0.0, 0.0], [9.0, 0.0, 0.0]])
            y = system.start(there, angular_velocity=[0 * omega, omega], check=False).angular_momentum[1]
        else:
            system = {
                "free body": lambda one: ct.FreeBody(one),
                "top": lambda one: ct.Top(one, ct.Gravity(1.0, (0.1, 0.2, 1.0))),
                "scaling body": lambda one: ct.ScalingBody(one),
            }[kind](body)
            start = system.start((1.0, 0.0, 0.0, 0.0), angular_velocity=omega)
            y = start.angular_momentum
            if kind != "scaling body":
                assert system.to_stepped(start)[4:].tolist() == summed(body.frame_matrix.T, y)
        assert y.tolist() == summed(body.tensor, omega)
