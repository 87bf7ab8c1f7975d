"""Massless rods: pendulums, dumbbells and loops of points at fixed distances, against the particles that they are.

Reference: m x'' = F + sum lambda d, the multipliers from the second derivatives of the distances, by Runge-Kutta of order 8 with tolerance 1e-13.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import catena as ct
import uncompiled
from catena.errors import InputError

G = np.array([0.0, 0.0, -9.0])
Ends = list[tuple[int, int, float]]  # two particles (-1: the origin) and the length


def particles(masses: Any, ends: Ends, x: Any, v: Any, end: float) -> tuple[Any, Any, Any]:
    """Positions and velocities at the end, and the tensions there, of particles on massless rods."""
    n = len(masses)

    def multipliers(y: Any) -> tuple[Any, Any]:
        r, s = y[: 3 * n].reshape(n, 3), y[3 * n :].reshape(n, 3)
        rows, right = np.zeros((len(ends), n, 3)), np.zeros(len(ends))
        for row, (k, (i, j, _)) in zip(rows, enumerate(ends), strict=True):
            d = r[j] - (r[i] if i >= 0 else 0.0)
            speed = s[j] - (s[i] if i >= 0 else 0.0)
            row[j] += d
            if i >= 0:
                row[i] -= d
            right[k] = -(speed @ speed)
        flat, weights = rows.reshape(len(ends), -1), 1.0 / np.repeat(masses, 3)
        free = np.tile(G, n)
        pull = np.linalg.solve(flat * weights @ flat.T, right - flat @ free)
        return pull, free + weights * (flat.T @ pull)

    def slope(t: float, y: Any) -> Any:
        return np.concatenate([y[3 * n :], multipliers(y)[1]])

    y = np.concatenate([np.ravel(x), np.ravel(v)])
    found = solve_ivp(slope, (0.0, end), y, "DOP853", rtol=1e-13, atol=1e-14).y[:, -1]
    tension = -multipliers(found)[0] * [length for *_, length in ends]
    return found[: 3 * n].reshape(n, 3), found[3 * n :].reshape(n, 3), tension


def points(masses: Any, ends: Ends) -> ct.Linkage:
    bodies = [ct.Body.from_particles([(0, 0, 0)], masses=[m]) for m in masses]
    return ct.Linkage(bodies, [ct.Distance(i, j, length=length) for i, j, length in ends], gravity=G)


PENDULUM: Any = ((1.5,), [(-1, 0, 1.0)], [(0.6, 0.0, -0.8)], [(0.0, 0.7, 0.0)])
DOUBLE: Any = ((1.5, 0.8), [(-1, 0, 1.0), (0, 1, 1.25)], [(0.6, 0, -0.8), (0.6, 0.75, -1.8)], [(0, 0, 0), (0.4, 0, 0)])
DUMBBELL: Any = ((1.0, 2.0), [(0, 1, 1.0)], [(0, 0, 0), (1, 0, 0)], [(0.1, 0.5, 0.3), (0.1, -0.4, 0.6)])
TRIANGLE: Any = (
    (1.0, 2.0, 0.5), [(-1, 0, 1.0), (0, 1, 1.0), (1, 2, 1.0), (0, 2, 1.0)],
    [(0, 0, -1), (0.6, 0.0, -1.8), (0.6 * 0.5 - 0.8 * 0.75**0.5, 0, -1.4 - 0.6 * 0.75**0.5)],
    [(0, 0.3, 0), (0, 0.5, 0), (0, -0.2, 0)],
)  # fmt: skip


@pytest.mark.parametrize("given", [PENDULUM, DOUBLE, DUMBBELL, TRIANGLE], ids=["one", "two", "dumbbell", "loop"])
def test_points_on_massless_rods_move_as_particles(given: Any) -> None:
    """1e-11 asked for, positions and velocities; the force of a rod is its tension."""
    masses, ends, x, v = given
    system = points(masses, ends)
    start = system.start(position=x, velocity=v)
    run = uncompiled.simulate(system, start, ct.Gauss(5), dt=0.02, steps=10, every=10)
    r, s, tension = particles(np.array(masses), ends, x, v, 0.2)
    np.testing.assert_allclose(run.final.position, r, rtol=0, atol=1e-11)
    np.testing.assert_allclose(run.final.momentum / np.array(masses)[:, None], s, rtol=0, atol=1e-11)
    found = np.linalg.norm(system.reactions(run.final).force, axis=1)
    np.testing.assert_allclose(found, np.abs(tension), rtol=0, atol=1e-9)
    assert float(np.abs(run.data.joint_position_residual).max()) < 1e-13
    assert float(np.abs(run.data.energy - run.data.energy[0]).max()) < 1e-10


def test_a_wrong_length_is_noticed() -> None:
    """The reference with a rod that is longer by 1e-6 is another motion."""
    masses, ends, x, v = PENDULUM
    system = points(masses, ends)
    run = uncompiled.simulate(system, system.start(position=x, velocity=v), ct.Gauss(3), dt=0.02, steps=5, every=5)
    other = particles(np.array(masses), ends, np.array(x) * (1 + 1e-6), v, 0.1)[0]
    assert np.abs(run.final.position - other).max() > 1e-7


def test_a_rod_between_points_of_bodies_keeps_its_length() -> None:
    """A box on a hinge and a free box, tied corner to corner, by Newton's method."""
    box = ct.Body.box((0.4, 0.6, 1.0), mass=2.0)
    joints = [
        ct.Revolute(-1, 0, at=((0, 0, 0), (0, 0, 0.5)), axis=(1, 0, 0)),
        ct.Distance(0, 1, at=((0.2, 0.3, -0.5), (-0.2, 0.1, 0.5)), length=0.8),
    ]
    system = ct.Linkage([box, box], joints)
    start = system.start(
        position=[(0, 0, -0.5), (0.5, 0.3, -2.3)], angular_velocity=[(1, 0, 0), (0.2, 0.3, 0.4)], project=True
    )
    run = uncompiled.simulate(system, start, ct.Gauss(3, solver="newton"), dt=0.02, steps=5)
    assert float(np.abs(run.data.joint_position_residual).max()) < 1e-12
    assert float(np.abs(run.data.joint_velocity_residual).max()) < 1e-12
    assert float(np.abs(run.data.energy - run.data.energy[0]).max()) < 1e-8


def test_what_a_rod_lacks_is_named() -> None:
    with pytest.raises(InputError, match="length"):
        ct.Distance(-1, 0, length=0.0)
    masses, ends, _, _ = PENDULUM
    system = points(masses, ends)
    with pytest.raises(InputError, match="keep their distance"):
        system.start(position=[(0.5, 0, -0.5)])
