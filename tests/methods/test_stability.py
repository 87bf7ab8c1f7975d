"""The limits of stability that methods declare, against limits measured elsewhere, and against the steps themselves."""

from __future__ import annotations

import numpy as np
import pytest

import catena as ct
from catena.engine.build import build
from catena.engine.driver import Driver

# dt omega_max at which the spectral radius of one step of a chain of eight bodies leaves 1 by 1e-6: an independent program.
MEASURED = {
    ct.Splitting(2): (2.0, 1e-5),
    ct.Composition(ct.Splitting(2), "yoshida4"): (1.57340, 1e-5),
    ct.Composition(ct.Splitting(2), "suzuki4"): (2.72097, 1e-5),
    ct.Composition(ct.Splitting(2), "yoshida6"): (2.26906, 1e-5),
    ct.Splitting(4): (5.03, 5e-3),
    ct.Splitting(6): (9.07, 5e-3),
    ct.Composition(ct.Splitting(2), "kahanli6"): (2.53, 5e-3),
    ct.Splitting(8): (3.10, 5e-3),
    ct.Composition(ct.Splitting(2), "suzukiumeno8"): (3.39, 5e-3),
}


@pytest.mark.parametrize("method", MEASURED, ids=str)
def test_limits_are_those_measured_on_a_chain(method):
    limit, tolerance = MEASURED[method]
    assert method.traits.stability == pytest.approx(limit, abs=tolerance)


def half_trace(method, x: float) -> float:
    """Of one step of the harmonic oscillator, omega = 1, with dt = x."""
    program = build(ct.Hamiltonian("(p**2 + q**2)/2", "q", "p"), method, compiled=False)
    ends = []
    for z in np.eye(2):
        run = Driver(program, z, t0=0.0, dt=x, every=1)
        assert run.advance(1).status == 0
        ends.append(run.z + run.e)
    return 0.5 * abs(ends[0][0] + ends[1][1])


EXPLICIT = [*MEASURED, ct.StormerVerlet(), ct.EulerA(), ct.EulerB(), *ct.Nystrom6.examples(), ct.Nystrom4()]


@pytest.mark.parametrize("method", EXPLICIT, ids=str)
def test_steps_are_bounded_below_the_limit_and_grow_beyond_it(method):
    """|trace| <= 2 for a matrix of determinant 1. Nystrom4 declares three digits."""
    limit = method.traits.stability
    assert half_trace(method, limit * (1 - 1e-3)) <= 1.0
    assert half_trace(method, limit * (1 + 3e-3)) > 1.0
