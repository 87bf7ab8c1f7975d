"""Symmetric tops in closed form: states at any time, and the method that follows them."""

from __future__ import annotations

import math

import numpy as np
import pytest

import catena as ct
from bodies import EPS, HEAVY, distance, run_to
from catena.geometry.rotations import multiply, normalise, to_matrix
from catena.running.plan import Problem
from uncompiled import simulate

TILT = np.array([0.8, 0.2, -0.4, 0.4])  # a unit quaternion
TIMES = np.array([[0.0, 3.0, -2.0], [40.0, 0.25, 1000.0]])
B14 = HEAVY["B14"]


def lagrange_top() -> Problem:
    return ct.problems.lagrange_top()


def test_the_reference_motion_is_reached():
    """10 eps (1 + |omega| t) with |omega| + sqrt(g/A) = 7.3."""
    of = lagrange_top()
    assert of.exact is not None
    assert distance(of.exact(B14["t"]), B14["y"], B14["q"]) < 10 * EPS * (1 + 7.3 * B14["t"])


def test_states_in_tilted_axes_are_those_in_principal_axes():
    """Two ways of the same motion, with other roundings of the start; forgotten axes differ at once."""
    of = lagrange_top()
    matrix = to_matrix(TILT)
    body = ct.Body.from_inertia(1.0, matrix @ np.diag([1.0, 1.0, 0.5]) @ matrix.T)
    top = ct.Top(body, ct.Gravity(1.5, matrix[:, 2]))
    q0 = multiply(of.start.orientation, [TILT[0], *-TILT[1:]])
    start = top.start(q0, angular_momentum=matrix @ of.start.angular_momentum, time=1.5)
    found = top.exact(TIMES + 1.5, start)
    wanted = of.system.exact(TIMES, of.start)
    allowed = 20 * EPS * (1 + 7.3 * np.abs(TIMES))[..., None]
    assert found.orientation.shape == (2, 3, 4) and found.angular_momentum.shape == (2, 3, 3)
    assert (np.abs(multiply(found.orientation, TILT) - wanted.orientation) < allowed).all()
    assert (np.abs(found.angular_momentum @ matrix - wanted.angular_momentum) < 3 * allowed).all()
    assert np.abs(found.angular_momentum - wanted.angular_momentum).max() > 0.1


@pytest.mark.parametrize("axis", range(3))
@pytest.mark.parametrize("side", [1.0, -1.0])
def test_any_principal_axis_may_carry_the_centre(axis, side):
    """Against the splitting of order 8 with the same body, to its error of 1e-11."""
    moments, center = np.full(3, 0.8), np.zeros(3)
    moments[axis], center[axis] = 1.1, side
    top = ct.Top(ct.Body(moments=tuple(moments)), ct.Gravity(1.3, tuple(center)))
    start = top.start(normalise([0.9, 0.1, -0.3, 0.2]), angular_momentum=(0.4, -0.6, 1.1))
    stepped = run_to(ct.Splitting(8), Problem("top", top, start, 0.1), 2.0, 60)
    exact = top.exact(2.0, start)
    assert distance(exact, stepped.angular_momentum, stepped.orientation) < 1e-10


def test_a_spherical_pendulum_is_a_line_that_does_not_spin():
    """A thin rod hung at its end; the energy of the direction alone tells that it swings right."""
    rod = ct.Body(moments=(1.0, 1.0, 0.0))
    top = ct.Top(rod, ct.Gravity(-1.5, (0.0, 0.0, 1.0)))
    start = top.start(normalise([1.0, 0.4, 0.2, 0.0]), angular_momentum=(0.3, 0.7, 0.0))
    states = top.exact(np.linspace(0.0, 50.0, 40), start)
    vertical = to_matrix(states.orientation)[:, 2, 2]
    energy = 0.5 * (states.angular_momentum**2).sum(1) - 1.5 * vertical
    assert np.abs(energy - energy[0]).max() < 20 * EPS * abs(energy[0]) and np.ptp(vertical) > 0.1
    stepped = run_to(ct.Gauss(6), Problem("pendulum", top, start, 0.1), 4.0, 80)
    exact = top.exact(4.0, start)
    assert distance(exact, stepped.angular_momentum, stepped.orientation) < 1e-12


@pytest.mark.parametrize(
    ("moments", "potential"),
    [
        ((1.0, 1.2, 0.5), ct.Gravity(1.0)),
        ((1.0, 1.0, 0.5), ct.Gravity(1.0, (0.1, 0.0, 1.0))),
        ((1.0, 1.0, 0.5), "R33"),
        ((1.0, 1.0, 0.5), "R33*sin(t)"),
    ],
    ids=["asymmetric", "beside the axis", "text", "time"],
)
def test_other_tops_have_no_closed_form_and_the_default_method_is_named_instead(moments, potential):
    top = ct.Top(ct.Body(moments=moments), potential)
    with pytest.raises(ct.CapabilityError, match="no closed form") as refused:
        top.exact(1.0, top.start(angular_momentum=(0.0, 0.0, 1.0)))
    assert f"use {top.default_method[0]}()" in refused.value.do
    assert "Lagrange" not in {method.name for method in ct.list_methods(top)}


def test_the_method_follows_the_exact_motion_whatever_the_step():
    of = lagrange_top()
    for dt, steps in ((0.3, 20), (2.0, 3)):
        run = simulate(of, None, ct.Lagrange(), dt=dt, steps=steps)
        exact = of.system.exact(run.data.time.values, of.start)
        assert np.abs(run.data.orientation.values - exact.orientation).max() < 4 * EPS
        assert np.abs(run.data.angular_momentum.values - exact.angular_momentum).max() < 8 * EPS


def test_a_section_of_the_exact_motion_is_located_on_it():
    """The axis at its lowest: the time between two such points is the period of the nutation."""
    of = lagrange_top()
    falling = ct.Section("low", "orientation[1]*angular_momentum[0] + orientation[2]*angular_momentum[1]")
    run = simulate(of, None, ct.Lagrange(), dt=0.25, steps=40, sections=[falling])
    times = run.sections["low"].time.values
    states = of.system.exact(times, of.start)
    q, y = states.orientation, states.angular_momentum
    assert len(times) >= 2
    assert np.abs(q[:, 1] * y[:, 0] + q[:, 2] * y[:, 1]).max() < 50 * EPS * (1 + 7.3 * 10)


def test_a_start_that_nothing_can_resolve_is_refused():
    of = ct.problems.sleeping_top(y3=1.0)
    start = of.system.start((1.0, 0.0, 0.0, 0.0), angular_momentum=(1e-70, 0.0, 1.0))
    with pytest.raises(ct.InputError, match="too near the unstable axis"):
        of.system.exact(1.0, start)
    assert math.isfinite(of.exact(1e4).orientation[0])
