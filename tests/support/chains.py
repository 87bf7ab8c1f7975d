"""Chains for the tests: the reference states, and a helix with fixed disturbances."""

from __future__ import annotations

import warnings
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import catena as ct
from catena.errors import CatenaWarning
from catena.geometry import rotations
from places import read_reference

REFERENCE = read_reference("chains.toml")
STATES = [name for name in REFERENCE if name != "static"]
# if another test has shown a state already, the two long ones can wait
BRIEF_STATES = [pytest.param(name, marks=pytest.mark.slow) if name in ("R1", "R7") else name for name in STATES]


@dataclass(frozen=True)
class Plain(ct.Splitting):
    """A splitting on (r, q, p, y), whatever other views a chain offers: uncompiled it is the fastest."""

    needs = ("split",)


def problem_of(case: dict) -> ct.Problem:
    far = case["problem"] == "printed_chain"  # far from equilibrium, with a warning
    with pytest.warns(CatenaWarning, match="repel with 120, 10 times") if far else nullcontext():
        return getattr(ct.problems, case["problem"])(**case["arguments"])


def worst_difference(state: ct.State, case: dict) -> float:
    """Largest difference of the listed body from the reference, the quaternion up to its sign."""
    body, worst = case["body"], 0.0
    for name in ("position", "orientation", "momentum", "angular_momentum"):
        if name in case:
            seen, wanted = getattr(state, name)[body], np.array(case[name])
            sign = np.sign(seen @ wanted) if name == "orientation" else 1.0
            worst = max(worst, float(np.abs(sign * seen - wanted).max()))
    return worst


def disturbed_helix(potential: Any) -> tuple[ct.Chain, ct.State]:
    """Four bodies of the helix, displaced and rotated by fixed amounts."""
    calm = ct.problems.helix_chain(4, amp=0.0).start
    j = np.arange(4)
    position = calm.position + 0.05 * np.column_stack([np.sin(j + 1), np.cos(2 * j + 1), np.sin(3 * j + 1)])
    turn = np.column_stack([np.cos(j + 1), np.sin(2 * j + 1), np.cos(3 * j + 2), np.sin(5 * j + 3)])
    chain = ct.Chain([ct.Body.tetrahedron()] * 4, potential)
    return chain, quiet_start(chain, position, rotations.normalise(calm.orientation + 0.03 * turn))


def in_form(problem: ct.Problem, form: str, J0: float = 1.0) -> ct.Problem:
    """The same chain and start with other equations."""
    chain = problem.system
    ends = {"closed": True} if chain.closed else {"left": chain.left, "right": chain.right}
    again = ct.Chain(chain.bodies, list(chain.potentials), gravity=chain.gravity, form=form, J0=J0, **ends)
    return ct.Problem(problem.name, again, problem.start, problem.dt)


def quiet_start(chain: ct.Chain, position: Any, orientation: Any = None, **motion: Any) -> ct.State:
    """A start whose particles may be compressed, without warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CatenaWarning)
        return chain.start(position, orientation, **motion)


BODY = ct.Body.from_particles(
    [[0.3, 0.1, 0.0], [-0.4, 0.2, 0.1], [0.0, -0.5, 0.2], [0.1, 0.2, -0.4]], [1.0, 2.0, 1.5, 0.5]
)


def product(p, q) -> np.ndarray:
    """Product of two quaternions."""
    return np.concatenate(
        [[p[0] * q[0] - np.dot(p[1:], q[1:])], p[0] * np.array(q[1:]) + q[0] * np.array(p[1:]) + np.cross(p[1:], q[1:])]
    )


def matrix(q) -> np.ndarray:
    """Matrix of a unit quaternion."""
    return Rotation.from_quat(np.roll(q, -1)).as_matrix()
