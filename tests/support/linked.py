"""Linked bodies for the tests: one joint of each kind between two bodies with full inertia, and an independent motion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import catena as ct
from catena.analysis.linkage_reactions import accelerations
from catena.geometry import rotations
from catena.systems.linkage import constraints
from catena.systems.linkage import start as linkage_start

FIRST = ((3.0, 0.2, 0.1), (0.2, 2.5, -0.3), (0.1, -0.3, 1.5))
SECOND = ((2.0, -0.1, 0.2), (-0.1, 1.5, 0.1), (0.2, 0.1, 1.2))
HUNG = (0.3, -0.2, 0.5)  # point of the first body that a ball joint fixes at HOOK
HOOK = (0.4, 0.1, 0.7)
AT = (0.2, 0.1, -0.4)  # point of the first body where the second is joined
AXIS = (0.2, 0.5, 1.0)
TURNS = ((0.9, 0.3, -0.2, 0.24), (0.7, -0.5, 0.4, 0.3))
SPRING = ct.Spring(0, 1, ((0.1, 0.4, 0.0), (-0.3, 0.2, 0.1)), k=40.0, length=0.6)
KINDS = ("Spherical", "Revolute", "Universal", "Prismatic", "Cylindrical", "Planar", "Screw", "Rigid")
ANGULAR = ("Revolute", "Cylindrical", "Planar", "Screw")


def two_bodies(kind: str, forces: Sequence[Any] = (SPRING,), form: Any = None) -> tuple[ct.Linkage, ct.State]:
    """A body on a ball joint with another one joined to it, moving as the joint allows."""
    turns = rotations.normalise(np.array(TURNS))
    first = np.array(HOOK) - rotations.rotate(turns[0], np.array(HUNG))
    second = np.array((0.8, 0.1, -0.9))
    corner = first + rotations.rotate(turns[0], np.array(AT))
    own = rotations.rotate(rotations.conjugate(turns[1]), corner - second)
    more: dict[str, Any] = {} if kind in ("Spherical", "Rigid") else {"axis": AXIS}
    if kind == "Screw":
        more["pitch"] = 0.3
    joints = [ct.Spherical(-1, 0, (HOOK, HUNG)), getattr(ct, kind)(0, 1, (AT, own), **more)]
    bodies = [ct.Body.from_inertia(2.0, FIRST), ct.Body.from_inertia(1.5, SECOND)]
    linkage = ct.Linkage(bodies, joints, forces, form=form)
    state = linkage.start(
        [first, second], turns, velocity=[(0.3, -0.4, 0.2), (-0.2, 0.5, 0.6)],
        angular_velocity=[(0.7, -0.5, 0.9), (-0.8, 1.1, 0.4)], project=True,
    )  # fmt: skip
    return linkage, state


def independent_motion(linkage: ct.Linkage, start: ct.State, time: float) -> ct.State:
    """The state after `time` by a general-purpose integrator on the accelerations of `linkage_reactions`."""
    from scipy.integrate import solve_ivp

    n = linkage.count
    held = linkage_start.count_from_start(linkage, start)

    def state(t: float, y: np.ndarray) -> ct.State:
        q = rotations.normalise(y[3 * n : 7 * n].reshape(n, 4))
        motion = y[7 * n :].reshape(n, 2, 3)
        p = np.array([b.mass * v for b, v in zip(linkage.bodies, motion[:, 0], strict=True)])
        spin = rotations.rotate(rotations.conjugate(q), motion[:, 1])
        spins = np.array([b.tensor @ w for b, w in zip(linkage.bodies, spin, strict=True)])
        fields = {"position": y[: 3 * n].reshape(n, 3), "orientation": q, "momentum": p, "angular_momentum": spins}
        return ct.State(fields, t)

    def rate(t: float, y: np.ndarray) -> np.ndarray:
        motion = y[7 * n :].reshape(n, 2, 3)
        pure = np.hstack([np.zeros((n, 1)), motion[:, 1]])
        turning = 0.5 * rotations.multiply(pure, y[3 * n : 7 * n].reshape(n, 4))
        return np.concatenate([motion[:, 0].ravel(), turning.ravel(), accelerations(held, state(t, y))[0]])

    y = np.concatenate([start.position.ravel(), start.orientation.ravel(), constraints.velocities(linkage, start)])
    solved = solve_ivp(rate, (start.time, start.time + time), y, method="DOP853", rtol=1e-11, atol=1e-11)
    return state(start.time + time, solved.y[:, -1])


def difference(a: ct.State, b: ct.State) -> float:
    """Largest difference of positions and momenta."""
    return float(max(np.abs(a.position - b.position).max(), np.abs(a.momentum - b.momentum).max()))
