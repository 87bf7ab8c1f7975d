"""Linkages whose forces depend on the time: torsions, gravity and loads as text in t or as tables.

The references are plane pendulums, theta'' = torque(theta, t)/moment, by Runge-Kutta of order 8 with tolerance 1e-13.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import catena as ct
import uncompiled
from catena.errors import CapabilityError, InputError
from catena.systems.base import system_from
from catena.systems.linkage.director_form import clock

MASS, ARM, MOMENT = 1.3, 0.6, 0.4
ABOUT = MOMENT + MASS * ARM**2  # moment of inertia about the hinge
SHAKEN = (0.0, 0.0, "-2*(1 + 0.4*cos(3*t))")
TURNED = ct.Torsion(0, "k*(1 - cos(theta - 0.7*t))", {"k": 0.9})
TIMES = np.linspace(-0.5, 4.5, 41)
WIND = ct.Load(0, (0, 0, -0.2), force=(0, ct.Sampled(TIMES, 0.3 * TIMES**3), "0.2*sin(t)"))  # a cubic is its own spline


def pendulum(*forces: Any, gravity: Any = SHAKEN) -> tuple[ct.Linkage, ct.State]:
    """A body on a hinge about x, theta from hanging down, at a start in motion."""
    hinge = ct.Revolute(-1, 0, at=((0, 0, 0), (0, 0, ARM)), axis=(1, 0, 0), image=(1, 0, 0, 0))
    system = ct.Linkage([ct.Body(MASS, (MOMENT, 0.5, 0.3))], [hinge], forces, gravity=gravity)
    half = 0.2
    return system, system.start(orientation=[(np.cos(half), np.sin(half), 0, 0)], angular_velocity=[(0.5, 0, 0)])


def torque(theta: float, t: float) -> float:
    """About the hinge, of gravity, torsion and wind; the point of the wind is 0.8 below the hinge."""
    push = np.array([0.3 * t**3, 0.2 * np.sin(t)])  # along y and z
    lever = 0.8 * np.array([np.sin(theta), -np.cos(theta)])
    weight = -2.0 * (1.0 + 0.4 * np.cos(3.0 * t)) * MASS * ARM * np.sin(theta)
    return weight - 0.9 * np.sin(theta - 0.7 * t) + lever[0] * push[1] - lever[1] * push[0]


def reference(end: float) -> float:
    found = solve_ivp(
        lambda t, x: (x[1], torque(x[0], t) / ABOUT), (0.0, end), (0.4, 0.5), "DOP853", rtol=1e-13, atol=1e-14
    )
    return float(found.y[0, -1])


@pytest.mark.parametrize(
    ("method", "steps"),
    [
        pytest.param(ct.EnergyMomentum(), 16, marks=pytest.mark.slow),
        pytest.param(ct.Rattle(), 16, marks=pytest.mark.slow),
        (ct.Gauss(2), 8),
        pytest.param(ct.Gauss(3), 8, marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_a_driven_pendulum_is_followed_with_the_declared_order(method: Any, steps: int) -> None:
    """Three errors, each from twice as many steps; the slope is the order within 0.15."""
    system, start = pendulum(TURNED, WIND)
    exact = reference(1.0)
    errors = []
    for count in (steps, 2 * steps, 4 * steps):
        run = uncompiled.simulate(system, start, method, dt=1.0 / count, steps=count, every=count)
        errors.append(abs(system.angles(run.final)[0] - exact))
    slopes = np.diff(-np.log2(errors))
    assert np.abs(slopes[-1] - method.traits.order) < 0.15, (errors, slopes)


def imbalance(system: ct.Linkage, start: ct.State, method: Any, **how: Any) -> float:
    data = uncompiled.simulate(system, start, method, **how).data
    assert float(np.abs(data.load_work).max()) > 0.02  # something drives it
    return float(np.abs(data.energy - data.energy[0]).max())


def tree(loop: bool = False) -> tuple[ct.Linkage, ct.State]:
    """A ball and hinges, with a slide that no sweep along the tree takes; or a loop."""
    if loop:
        problem = ct.problems.four_bar()
        system: Any = problem.system
        forces = [ct.Torsion(0, "3*theta*sin(2*t)"), ct.Torsion(len(system.joints) - 1, "theta**2*cos(t)")]
        return ct.Linkage(system.bodies, system.joints, forces, gravity=(0, "sin(t)", "-9 - t")), problem.start
    bodies = [ct.Body.box((0.3, 0.5, 0.8), mass=1.0), ct.Body.box((0.2, 0.3, 0.7), mass=0.7)]
    joints = [ct.Spherical(-1, 0, at=((0, 0, 0), (0.1, 0, 0.5))), ct.Revolute(0, 1, at=((0, 0, -0.4), (0, 0.1, 0.4)))]
    forces = [
        ct.Torsion(1, "sin(theta - 2*t)", damping=0.1),
        ct.Torsion(1, "t*theta**2"),
        ct.Load(1, force=("t", 0, 1)),
    ]
    system = ct.Linkage(bodies, joints, forces, gravity=("cos(2*t)", 0.3, "-3*exp(-t)"))
    turning = [(0.8, -0.5, 0.3), (0.8, -0.5, 1.3)]
    return system, system.start(angular_velocity=turning, project=True)


@pytest.mark.parametrize(
    ("level", "loop"),
    [("position", False), *(pytest.param(*rest, marks=pytest.mark.slow) for rest in (("both", False), ("both", True)))],
)
def test_energy_less_the_work_of_time_is_exact(level: str, loop: bool) -> None:
    """To round-off of a few steps that are far too long for anything else."""
    system, start = tree(loop)
    assert imbalance(system, start, ct.EnergyMomentum(level), dt=0.1, steps=5) < 3e-13


@pytest.mark.slow
def test_the_published_equations_balance_a_shaken_tree() -> None:
    system, start = pendulum()
    assert imbalance(system, start, ct.EnergyMomentum(variables="directors"), dt=0.05, steps=6) < 1e-13


def test_work_that_is_left_out_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    system, start = tree()
    monkeypatch.setattr(clock, "add_work_of_time", clock.clock_part)
    assert imbalance(system, start, ct.EnergyMomentum("position"), dt=0.1, steps=5) > 1e-2


@pytest.mark.slow
@pytest.mark.parametrize("loop", [False, True], ids=["tree", "loop"])
def test_the_joint_form_balances_to_its_order(loop: bool) -> None:
    """Gauss(3): 2.4e-11 (measured), four times that allowed."""
    system, start = tree(loop)
    assert imbalance(system, start, ct.Gauss(3), dt=0.01, steps=8) < 1e-10


@pytest.mark.slow
def test_the_work_of_kicks_keeps_the_energy_of_a_symplectic_run_bounded() -> None:
    """Its error falls with dt^2."""
    system, start = pendulum(TURNED, WIND)
    sizes = []
    for dt in (0.05, 0.025):
        energy = uncompiled.simulate(system, start, ct.Rattle(), dt=dt, steps=round(4.0 / dt)).data.energy.values
        sizes.append(np.abs(energy - energy[0]).max())
    assert 3.6 < sizes[0] / sizes[1] < 4.4, sizes


class Elsewhere(ct.Torsion):
    """Its kernels find the time in another place."""

    time = "par.scratch[0]"


def test_kept_texts_are_those_of_where_the_time_stands() -> None:
    """What is kept on disk from another layout of the arrays is not taken for that of this one."""
    texts = [kind(0, "theta*sin(3.5*t)").kernel("torsion_energy").text for kind in (ct.Torsion, Elsewhere)]
    assert "par.scratch[0]" in texts[1] and "par.scratch[0]" not in texts[0]


def test_torsions_of_one_joint_add_up() -> None:
    alone, start = pendulum(ct.Torsion(0, "0.9*theta**2 + sin(theta)", damping=0.3), gravity=(0, 0, -2.0))
    both, _ = pendulum(
        ct.Torsion(0, "0.9*theta**2", damping=0.1), ct.Torsion(0, "sin(theta)", damping=0.2), gravity=(0, 0, -2.0)
    )
    for method in (ct.EnergyMomentum(), ct.Gauss(2)):
        ends = [uncompiled.simulate(s, start, method, dt=0.05, steps=10).final.position for s in (alone, both)]
        np.testing.assert_allclose(*ends, rtol=0, atol=1e-13)


def test_reactions_know_the_time() -> None:
    """At rest in moving gravity the hinge carries the weight of that time."""
    system, _ = pendulum(gravity=(0, 0, "-2*t"))
    hanging = system.start(time=3.0)
    np.testing.assert_allclose(system.reactions(hanging).force[0], (0, 0, 6.0 * MASS), atol=1e-12)


@pytest.mark.parametrize("text", ["2 + sqrt(t)", "2 + t**1.5"])
def test_what_has_a_value_but_no_derivatives_acts(text: str) -> None:
    """At t = 0 a body of mass 1 hangs from a joint, pulled aside by 2 and down by a weight of 2."""
    box, ball = ct.Body.box((0.3, 0.5, 1.0), mass=1.0), ct.Spherical(-1, 0, at=((0, 0, 0), (0, 0, 0)))
    hung = ct.Linkage([box], [ball], [ct.Load(0, force=(text, 0, 0))], gravity=(0, 0, f"-({text})"))
    assert hung.reactions(hung.start()).force[0] == pytest.approx([-2.0, 0.0, 2.0], abs=1e-12)


def test_what_depends_on_time_is_made_again_from_its_description() -> None:
    system, _ = pendulum(TURNED, WIND)
    assert system_from(system.describe()).describe() == system.describe()
    assert system.time_tables[0].values[-1] == pytest.approx(0.3 * TIMES[-1] ** 3)


def test_bad_text_is_named() -> None:
    with pytest.raises(InputError, match="phi"):
        ct.Torsion(0, "phi*t")
    with pytest.raises(InputError, match="cannot be called 't'"):
        ct.Torsion(0, "t*theta", {"t": 1.0})
    with pytest.raises(InputError, match="x"):
        pendulum(gravity=(0, 0, "x"))
    system, start = pendulum(WIND)
    with pytest.raises(InputError, match="table"):
        ct.simulate(system, start, dt=0.1, steps=100)
    with pytest.raises(CapabilityError, match="no equilibrium"):
        pendulum(TURNED, gravity=(0, 0, 0))[0].equilibrium()
