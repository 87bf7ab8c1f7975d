"""RATTLE against its matrix form with multipliers, and against the equation of Moser and Veselov for flat bodies."""

from __future__ import annotations

import math

import numpy as np
import pytest

import catena as ct
from bodies import EPS, GENERAL, problem_of, run_to, top_problem
from catena.geometry import rotations

HEAVY_TOP = {"moments": (0.6, 0.9, 1.3), "y0": (0.7, -0.5, 0.9), "q0": (5, 1, -7, 2), "gravity": (0.3, 0.2, 1.0)}
PROBLEMS = {"heavy": problem_of(HEAVY_TOP), "general": problem_of(GENERAL)}

# RATTLE on matrices ------------------------------------------------------------------------------------------------------------


def hat(w):
    return np.array([[0.0, -w[2], w[1]], [w[2], 0.0, -w[0]], [-w[1], w[0], 0.0]])


def symmetric(x):
    """The symmetric matrix of its six elements."""
    return np.array([[x[0], x[3], x[4]], [x[3], x[1], x[5]], [x[4], x[5], x[2]]])


PAIRS = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))


def matrix_rattle(of, slope_of, h: float, steps: int):
    """RATTLE in rotation matrices with P = Rdot D [leimkuhler2004]: Newton on the six multipliers, nothing reduced."""
    moments = of.system.body.moments
    d = np.array([sum(moments) / 2 - moments[k] for k in range(3)])
    r = rotations.to_matrix(of.start.orientation)
    p = r @ hat(of.start.angular_momentum / moments) * d
    for _ in range(steps):
        free = p - 0.5 * h * slope_of(r)
        multiplier = np.zeros(6)
        for _ in range(50):
            half = free - h * r @ symmetric(multiplier)
            after = r + h * half / d
            residual = after.T @ after - np.eye(3)
            if np.abs(residual).max() < 4 * EPS:
                break
            jacobian = np.zeros((6, 6))
            for k in range(6):
                change = -h * h * r @ symmetric(np.eye(6)[k]) / d
                effect = after.T @ change + change.T @ after
                jacobian[:, k] = [effect[i, j] for i, j in PAIRS]
            multiplier -= np.linalg.solve(jacobian, [residual[i, j] for i, j in PAIRS])
        r = after
        kicked = half - 0.5 * h * slope_of(r)
        m = r.T @ kicked / d + (kicked / d).T @ r
        p = kicked - r @ (m * np.outer(d, d) / np.add.outer(d, d))
    twice = r.T @ p - p.T @ r
    return r, np.array([twice[2, 1], twice[0, 2], twice[1, 0]])


def general_slope(r):
    return np.array(GENERAL["linear"]) + np.array(GENERAL["quadratic"]) * r


def heavy_slope(r):
    return np.array([[0.0] * 3, [0.0] * 3, HEAVY_TOP["gravity"]])


@pytest.mark.parametrize(("name", "slope_of"), [("heavy", heavy_slope), ("general", general_slope)])
def test_rattle_is_the_matrix_scheme_with_its_multipliers(name, slope_of):
    """200 steps of 0.05; 1e-13 in R and y."""
    r, y = matrix_rattle(PROBLEMS[name], slope_of, 0.05, 200)
    end = run_to(ct.Rattle(), PROBLEMS[name], 10.0, 200)
    assert np.abs(rotations.to_matrix(end.orientation) - r).max() < 1e-13
    assert np.abs(end.angular_momentum - y).max() < 1e-13


def test_the_matrix_scheme_sees_a_wrong_force():
    r, _ = matrix_rattle(PROBLEMS["heavy"], lambda r: 1.0000001 * heavy_slope(r), 0.05, 200)
    end = run_to(ct.Rattle(), PROBLEMS["heavy"], 10.0, 200)
    assert np.abs(rotations.to_matrix(end.orientation) - r).max() > 1e-9


def rodrigues(theta):
    """exp(hat theta)."""
    angle, w = np.linalg.norm(theta), hat(theta)
    return np.eye(3) + math.sin(angle) / angle * w + 2 * (math.sin(angle / 2) / angle) ** 2 * w @ w


def flat_rattle(of, slope_of, h: float, steps: int):
    """The same eliminated to Omega^T D - D Omega = h hat(y), Omega = R1^T R0, for D that has no inverse [moser1991].

    Newton on the rotation vector with a differenced Jacobian; rotations by Rodrigues' formula.
    """
    d = np.diag(of.system.body.second_moments)
    r, y = rotations.to_matrix(of.start.orientation), of.start.angular_momentum

    def torque(r):
        m = r.T @ slope_of(r)
        return np.array([m[1, 2] - m[2, 1], m[2, 0] - m[0, 2], m[0, 1] - m[1, 0]])

    def moved(theta):
        omega = rodrigues(-theta)
        m = omega.T @ d - d @ omega
        return np.array([m[2, 1], m[0, 2], m[1, 0]])

    for _ in range(steps):
        kicked = y + 0.5 * h * torque(r)
        theta = h * kicked / of.system.body.moments
        for _ in range(6):
            gaps = 1e-5 * np.eye(3)
            jacobian = np.array([(moved(theta + gap) - moved(theta - gap)) / 2e-5 for gap in gaps]).T
            theta = theta - np.linalg.solve(jacobian, moved(theta) - h * kicked)
        turn = rodrigues(theta)
        r, y = r @ turn, turn.T @ kicked
        y = y + 0.5 * h * torque(r)
    return r, y


@pytest.mark.parametrize(
    "moments", [(0.5, 0.7, 1.2), (1.2, 0.5, 0.7), (0.6, 0.9, 1.3)], ids=["flat", "flat in 23", "solid"]
)
def test_for_flat_bodies_rattle_is_the_equation_of_moser_and_veselov(moments):
    """The matrix scheme divides by the second moments; this one does not."""
    of = top_problem(moments, ct.Gravity(1.0, HEAVY_TOP["gravity"]), HEAVY_TOP["y0"], HEAVY_TOP["q0"])
    assert of.system.body.kind == ("solid" if moments[0] == 0.6 else "planar")
    r, y = flat_rattle(of, heavy_slope, 0.05, 40)
    end = run_to(ct.Rattle(), of, 2.0, 40)
    assert np.abs(rotations.to_matrix(end.orientation) - r).max() < 1e-13
    assert np.abs(end.angular_momentum - y).max() < 1e-13


def test_rattle_is_strang_with_dmv():
    """The same map, hence the same bits."""
    a, b = (run_to(method, PROBLEMS["heavy"], 2.0, 40) for method in (ct.Rattle(), ct.Splitting(2, ct.DMV(2))))
    assert a.orientation.tobytes() == b.orientation.tobytes()
