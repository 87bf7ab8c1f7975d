"""Chains that tweezers hold: second derivatives with fifty digits, forces and frequencies that are known, and what is refused."""

from __future__ import annotations

from typing import Any

import mpmath as mp
import numpy as np
import pytest

import catena as ct
from catena.analysis.statics.poses import Poses
from catena.analysis.statics.problem import StaticProblem
from catena.analysis.statics.traps import Traps
from catena.systems.chain import block_band

BOX = ct.Body.box((1.0, 1.2, 0.8), mass=2.0)
LINK = ct.BendTwist(30.0, 4.0, 3.0, (0.0, 0.0, 1.0))


def held(n: int, *loads: tuple[int, ct.Tweezers], **ends: Any) -> ct.Chain:
    return ct.Chain([BOX] * n, LINK, loads=loads, **ends)


def energy(x: tuple[Any, ...], k: float, a: Any, s: Any) -> Any:
    """k/2 |x - A|^2 after a displacement (u, theta), in the axes of the body."""
    u, theta = mp.matrix(x[:3]), mp.matrix(x[3:])
    hat = mp.matrix([[0, -theta[2], theta[1]], [theta[2], 0, -theta[0]], [-theta[1], theta[0], 0]])
    turned = a + hat * a + hat * hat * a / 2 + hat * hat * hat * a / 6  # to third order: two derivatives are taken
    moved = s - a + u + turned
    return mp.mpf(k) / 2 * (moved.T * moved)[0]


def test_gradient_and_second_derivatives_are_those_of_the_energy() -> None:
    """By differences with fifty digits; without the part of the stress they are not."""
    mp.mp.dps = 50
    chain = held(2, (1, ct.Tweezers(3.0, anchor=(0.3, -0.8, 2.0), at=(0.2, 0.5, -0.3))))
    state = chain.start([(0, 0, 0), (0.1, 0.3, 1.1)], [(1, 0, 0, 0), (0.8, 0.2, -0.4, 0.4)])
    poses, traps = Poses.of_state(chain, state), Traps.of(chain)
    a, s = (mp.matrix(v.tolist()) for v in (traps.arms[0], traps.stretches(poses)[0]))
    gradient = np.zeros((2, 6))
    traps.add_gradient(poses, gradient)
    origin, places = (0,) * 6, np.eye(6, dtype=int)

    def derivative(order: Any) -> float:
        return float(mp.diff(lambda *x: energy(x, 3.0, a, s), origin, tuple(order.tolist())))

    first = np.array([derivative(row) for row in places])
    second = np.array([[derivative(one + other) for one in places] for other in places])
    assert np.abs(gradient[1] - first).max() < 1e-14
    assert np.abs(traps.stiffness(poses)[1] - second).max() < 1e-14
    assert np.abs(traps.stiffness(poses, stressed=False)[1] - second).max() > 0.1
    assert np.abs(gradient[0]).max() == 0.0
    assert np.abs(traps.stiffness(poses)[0]).max() == 0.0


def test_the_matrix_of_a_problem_is_that_of_its_energy() -> None:
    """Links, forces and tweezers together, by differences: 1e-7 of a stiffness of 30."""
    chain = held(3, (1, ct.Tweezers(3.0, (1.0, 0.2, 1.5), at=(0.4, 0.3, 0))), right=ct.Tweezers(7.0, (0, 0.4, 2.6)))
    state = chain.start([(0, 0, 0), (0.1, 0, 1.0), (0.2, 0.1, 2.1)])
    problem = StaticProblem.of(chain, (0.3, 0.2, 0.1), "test")
    poses, step = Poses.of_state(chain, state), 1e-5
    matrix = block_band.assemble(*problem.blocks(problem.balance(poses)))
    size = matrix.shape[0]

    def value(x: np.ndarray) -> float:
        return problem.balance(poses.displaced(x.reshape(-1, 6))).energy

    unit = step * np.eye(size)
    found = np.zeros((size, size))
    for i in range(1, size, 8):
        for j in range(size):
            corners = [value(p * unit[i] + q * unit[j]) * p * q for p in (1, -1) for q in (1, -1)]
            found[i, j] = sum(corners) / (4 * step**2)
    assert (
        np.abs(found[1::8] - np.asarray(matrix)[1::8]).max() < 2e-5
    )  # rounding of energies, 1e-15, over the square of the step


def test_two_tweezers_stretch_a_chain_by_the_force_of_three_springs() -> None:
    """Tweezers of 5 and 8 and three links of 30 in a row: 1/(1/5 + 1/8 + 3/30) times what they are too short."""
    n = 4
    chain = held(n, left=ct.Tweezers(5.0, (0, 0, -1.0)), right=ct.Tweezers(8.0, (0, 0, 4.0)))
    found = chain.equilibrium(chain.straight(1.05))
    force = (5.0 - 3.0) / (1 / 5 + 1 / 8 + 3 / 30)
    assert found.converged, found
    assert found.state.position[0] == pytest.approx([0, 0, -1.0 + force / 5], abs=1e-11)
    assert found.state.position[-1] == pytest.approx([0, 0, 4.0 - force / 8], abs=1e-11)
    assert found.energy == pytest.approx(force**2 / 2 * (1 / 5 + 1 / 8 + 3 / 30), abs=1e-10)
    assert found.flat == 1  # the turn about the line of both anchors
    modes = chain.normal_modes(found)
    assert modes.zero == 1
    along = (modes.vectors[:, :, 2] ** 2).sum(axis=1) * BOX.mass > 0.99
    springs = np.array([[35.0, -30, 0, 0], [-30, 60, -30, 0], [0, -30, 60, -30], [0, 0, -30, 38]]) / BOX.mass
    assert modes.omega[along] ** 2 == pytest.approx(np.linalg.eigvalsh(springs), rel=1e-10)


def test_a_chain_hangs_in_a_trap_by_a_point_of_its_first_body() -> None:
    """The point is below the anchor by the weight over k, the centre below the point, and the link stretched by the weight of the second."""
    k, g, arm = 50.0, 2.0, 0.4
    chain = ct.Chain([BOX] * 2, LINK, left=ct.Tweezers(k, (0, 0, 0), at=(0, 0, -arm)), gravity=(0, 0, -g))
    down = np.array([0.0, np.cos(0.05), np.sin(0.05), 0.0])  # upside down, and a little turned
    tilted = chain.start([(0.1, 0, -0.5), (0.15, 0.1, -1.4)], [down, (0, 1, 0, 0)])
    found = chain.equilibrium(tilted)
    first = -2 * BOX.mass * g / k - arm
    assert found.converged, found
    assert found.state.position[0] == pytest.approx([0, 0, first], abs=1e-10)
    assert found.state.position[1] == pytest.approx([0, 0, first - 1.0 - BOX.mass * g / 30.0], abs=1e-10)
    assert found.flat == 1  # the turn about the vertical


def test_a_chain_that_one_trap_holds_turns_freely_about_its_anchor() -> None:
    chain = held(3, (1, ct.Tweezers(4.0, (0.2, 0.1, 0.3))), left=ct.Free())
    found = chain.equilibrium()
    assert found.converged
    assert found.flat == 3
    assert found.state.position[1] == pytest.approx([0.2, 0.1, 0.3], abs=1e-10)
    assert chain.normal_modes(found).zero == 3


def test_a_trap_that_moves_is_refused() -> None:
    with pytest.raises(ct.CapabilityError, match="moves with time"):
        held(2, (1, ct.Tweezers(1.0, ("t", 0, 0)))).equilibrium()
    with pytest.raises(ct.CapabilityError, match="no potential"):
        ct.Chain([BOX] * 2, LINK, right=ct.Torque((1, 0, 0))).equilibrium()
