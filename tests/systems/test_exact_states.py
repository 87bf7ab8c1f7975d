"""States of a free body at any times, without steps: the compiled evaluation against the plain one, in tilted axes."""

from __future__ import annotations

import numpy as np
import pytest

import catena as ct
from catena.geometry.free_motion import free_motion
from catena.geometry.rotations import conjugate, multiply, rotate, to_matrix

EPS = np.finfo(float).eps
MOMENTS = (0.376, 0.627, 1.0)
TILT = np.array([0.8, 0.2, -0.4, 0.4])  # a unit quaternion
ORIENTATION = np.array([0.5, -0.5, 0.5, 0.5])
MOMENTUM = np.array([0.3, 0.6, -0.8])
TIMES = np.array([[0.0, 3.0, -2.0], [40.0, 0.25, 1000.0]])


@pytest.fixture(scope="module")
def tilted() -> ct.FreeBody:
    matrix = to_matrix(TILT)
    return ct.FreeBody(ct.Body.from_inertia(1.0, matrix @ np.diag(MOMENTS) @ matrix.T))


def expected(body: ct.Body, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Orientations and momenta: to principal axes, the plain evaluation of Jacobi's solution, and back."""
    y, q = free_motion(
        body.moments, rotate(conjugate(body.frame), MOMENTUM), q0=multiply(ORIENTATION, body.frame), times=times
    )
    return multiply(q, conjugate(body.frame)), rotate(body.frame, y)


def test_states_at_many_times_are_those_of_the_plain_evaluation(tilted: ct.FreeBody) -> None:
    """Other roundings of the same formulas, a few eps of components up to 1; with the axes forgotten they differ at once."""
    start = tilted.start(ORIENTATION, angular_momentum=MOMENTUM, time=1.5)
    states = tilted.exact(TIMES + 1.5, start)
    q, y = expected(tilted.body, TIMES.ravel())
    assert states.orientation.shape == (2, 3, 4) and states.angular_momentum.shape == (2, 3, 3)
    assert np.abs(states.orientation.reshape(-1, 4) - q).max() < 8 * EPS
    assert np.abs(states.angular_momentum.reshape(-1, 3) - y).max() < 8 * EPS
    forgotten, _ = free_motion(tilted.body.moments, MOMENTUM, q0=ORIENTATION, times=TIMES.ravel())
    assert np.abs(forgotten[1:] - y[1:]).max() > 0.1


def test_one_time_gives_one_state_and_the_start_gives_itself(tilted: ct.FreeBody) -> None:
    start = tilted.start(ORIENTATION, angular_momentum=MOMENTUM, time=1.5)
    state = tilted.exact(1.5, start)
    assert state.time == 1.5
    assert np.abs(state.orientation - ORIENTATION).max() < 4 * EPS
    assert np.abs(state.angular_momentum - MOMENTUM).max() < 4 * EPS
    assert tilted.exact(2.5, start).orientation.shape == (4,)


def test_asking_again_builds_nothing_again(tilted: ct.FreeBody, monkeypatch: pytest.MonkeyPatch) -> None:
    """Collecting the text of the evaluation takes longer than ten thousand evaluations."""
    start = tilted.start(ORIENTATION, angular_momentum=MOMENTUM)
    tilted.exact(1.0, start)
    monkeypatch.setattr("catena.analysis.exact_motion.compile_function", None)
    assert tilted.exact([1.0, 2.0], start).orientation.shape == (2, 4)
