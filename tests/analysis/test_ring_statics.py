"""Rings at rest: Michell's instability, one equilibrium for each linking number, and frequencies against waves round the ring."""

from __future__ import annotations

import math

import pytest

import catena as ct
from catena.analysis.poses import Poses
from catena.analysis.stability import stability
from catena.analysis.static_problem import StaticProblem
from closed import circle_of, twisted_rod

TORSION = 1.5  # C/B


def critical_twist(n: int, *, elastic: bool) -> float:
    """Of the second wave round the ring, relative to Michell's 2 pi sqrt(3) B/C; omega^2 is nearly linear in its square."""
    theory = 2.0 * math.pi * math.sqrt(3.0) / TORSION

    def lowest(square: float) -> float:
        chain = twisted_rod(n, math.sqrt(square) * theory, torsion=TORSION, elastic=elastic)
        omega = chain.dispersion(4.0 * math.pi / n, at=circle_of(chain)).omega[0, 0]
        return float(omega * abs(omega))

    square, before = 1.03, 0.97
    value, value_before = lowest(square), lowest(before)
    for _ in range(2):
        step = value * (square - before) / (value - value_before)
        before, value_before = square, value
        square -= step
        value = lowest(square)
    assert abs(step) < 1e-3
    return math.sqrt(square)


@pytest.mark.parametrize("elastic", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_ring_leaves_its_plane_at_the_twist_of_michell_with_order_two(elastic):
    """Errors 4.9e-4, 1.29e-4, 3.06e-5 (with `Elastic` 1.3e-2, 3.2e-3, 8.0e-4), extrapolated -2.3e-6 (-5.6e-6).

    Shear and stretch of a rod of slenderness 2000 leave 1e-6, which moves the last ratio to 4.2.
    """
    errors = [critical_twist(n, elastic=elastic) - 1.0 for n in (32, 64, 128)]
    assert errors[0] / errors[1] == pytest.approx(4.0, abs=0.4)
    assert errors[1] / errors[2] == pytest.approx(4.0, abs=0.4)
    assert abs((4.0 * errors[2] - errors[1]) / 3.0) < 1e-5


def closed_rod(n: int, torsion: float = TORSION, slender: float = 2000.0) -> ct.Rod:
    """Of length, bending stiffness and mass 1."""
    radius = 1.0 / slender
    second = 0.25 * math.pi * radius**4
    return ct.Rod(
        1.0, 1.0 / second, 0.4 / second, math.pi * radius**2, second, torsion * second / 0.4, 1.0 / (math.pi * radius**2), n,
        shear_factor=1.0, closed=True,
    )  # fmt: skip


@pytest.mark.parametrize("linking_number", [0, 1, 2, 3, -4])
def test_a_twisted_circle_has_two_ways_down_for_each_wave_that_its_linking_number_makes_unstable(linking_number):
    """Waves m = 2, 3, ... are unstable from sqrt(m^2 - 1) B/C turns on [zajac1962]; each has two phases."""
    chain = closed_rod(64)
    state = circle_of(chain, linking_number)
    assert chain.linking_number(state) == linking_number
    problem = StaticProblem.of(chain, None, "test")
    balance = problem.balance(Poses.of_state(chain, state))
    assert balance.residual <= problem.attainable(balance)
    unstable = sum(math.sqrt(m * m - 1.0) < TORSION * abs(linking_number) for m in range(2, 10))
    assert stability(problem, balance).negative == 2 * unstable
