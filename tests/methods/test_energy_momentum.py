"""The conserving steps of linked bodies on the hanging chains: values, conservation over long runs, order, large steps."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise, product
from time import process_time

import numpy as np
import pytest

import catena as ct
from catena.engine.build import build
from catena.engine.driver import Driver
from catena.methods.base import Traits
from places import read_reference
from uncompiled import simulate

SCHEMES = read_reference("linkage.toml")
VALUES = read_reference("joint_form.toml")
METHODS = {"both": ct.EnergyMomentum(), "position": ct.EnergyMomentum(level="position"), "rattle": ct.Rattle()}
JOINTS = ("revolute", "spherical")
# Compiled code takes a quarter of a minute for each kind of joint, 24 unknowns take seconds uncompiled: hinges wait for `make slow`.
LONG = [pytest.param("revolute", marks=pytest.mark.slow), "spherical"]
PROBLEMS = {
    "revolute": lambda: ct.problems.hanging_chain("revolute"), "spherical": lambda: ct.problems.hanging_chain("spherical"),
    "double": ct.problems.double_pendulum, "triple": ct.problems.triple_pendulum,
}  # fmt: skip


def worst(run: ct.Run, name: str) -> float:
    """Largest change of an invariant in a run."""
    values = np.asarray(run.data[name])
    return float(np.abs(values - values[0]).max())


@pytest.mark.parametrize("case", SCHEMES["scheme"], ids=lambda case: case["name"])
def test_the_step_gives_the_values_of_its_equations(case) -> None:
    """Two other codes of the same equations; they agree to 1e-14, this one with them to 1e-13."""
    steps = round(1.0 / case["dt"])
    problem = ct.problems.hanging_chain(case["joint"])
    run = simulate(problem, None, METHODS[case["level"]], dt=case["dt"], steps=steps)
    assert np.abs(run.final.position[-1] - case["position"]).max() < SCHEMES["tolerance"]


@pytest.mark.parametrize(
    ("joint", "steps", "every"),
    [("spherical", 250, 1), ("revolute", 2000, 5), pytest.param("spherical", 2000, 5, marks=pytest.mark.slow)],
)
def test_energy_momentum_and_joints_are_kept_in_a_run(joint, steps, every) -> None:
    """Energies are about 1e3: a walk of 2000 steps is 1e-11. Positions are about 10, speeds about 20."""
    run = simulate(
        ct.problems.hanging_chain(joint), None, ct.EnergyMomentum(), dt=0.02, steps=steps, every=every,
        compiled=steps > 250,
    )  # fmt: skip
    assert worst(run, "energy") < 1e-9
    assert worst(run, "joint_position_residual") < 1e-12
    assert worst(run, "joint_velocity_residual") < 1e-12
    audit = run.audit()
    if joint == "spherical":
        assert worst(run, "vertical_momentum") < 1e-9
        assert audit["vertical_momentum"].verdict in ("exact", "bounded")
    for name in ("energy", "joint_position_residual", "joint_velocity_residual", "unit_residual"):
        assert audit[name].promised == "exact"
        assert audit[name].verdict in ("exact", "bounded"), audit


@pytest.mark.slow
@pytest.mark.parametrize("joint", JOINTS)
def test_nothing_drifts_in_a_hundred_thousand_steps(joint) -> None:
    run = ct.simulate(ct.problems.hanging_chain(joint), method=ct.EnergyMomentum(), dt=0.02, steps=100_000, every=100)
    kept = ("energy",) if joint == "revolute" else ("energy", "vertical_momentum")
    assert max(worst(run, name) for name in kept) < 1e-9
    assert worst(run, "joint_position_residual") < 1e-12
    assert worst(run, "joint_velocity_residual") < 1e-12
    for name in (*kept, "joint_position_residual", "joint_velocity_residual"):
        assert run.audit()[name].verdict in ("exact", "bounded"), run.audit()


@pytest.mark.parametrize("joint", JOINTS)
@pytest.mark.parametrize(
    ("steps", "every", "lost"), [(400, 1, 0.04), pytest.param(5000, 10, 0.1, marks=pytest.mark.slow)]
)
def test_the_published_step_keeps_energy_but_loses_the_velocities(joint, steps, every, lost) -> None:
    """Speeds are about 10; the joints' points move apart at 0.05 and 0.15 (hinges) in 8 s, at 0.4 to 3 in 100 s."""
    method = ct.EnergyMomentum(level="position")
    run = simulate(
        ct.problems.hanging_chain(joint), None, method, dt=0.02, steps=steps, every=every, compiled=steps > 400
    )
    kept = ("energy",) if joint == "revolute" else ("energy", "vertical_momentum")
    assert max(worst(run, name) for name in kept) < 1e-9
    assert worst(run, "joint_position_residual") < 1e-12
    for name in (*kept, "joint_position_residual"):
        assert run.audit()[name].verdict in ("exact", "bounded"), run.audit()
    assert run.audit()["joint_velocity_residual"].verdict == "broken", run.audit()
    assert worst(run, "joint_velocity_residual") > lost


@pytest.mark.slow
@pytest.mark.parametrize("joint", JOINTS)
def test_a_large_step_is_halved_where_it_has_no_near_root(joint) -> None:
    """dt = 0.1 moves the tip by a metre per step; 500 s complete, the joints hold, and energy stays at round-off."""
    run = ct.simulate(ct.problems.hanging_chain(joint), method=ct.EnergyMomentum(), dt=0.1, steps=5000, every=20)
    assert run.final.time == pytest.approx(500.0)
    assert worst(run, "energy") < 1e-9
    assert worst(run, "joint_position_residual") < 1e-12
    assert worst(run, "joint_velocity_residual") < 1e-12


@pytest.mark.slow
@pytest.mark.parametrize("case", VALUES["chain"], ids=lambda case: case["name"])
def test_a_composition_of_order_six_gives_the_motion_to_the_last_digits(case) -> None:
    """Errors at dt = 1/400: 6e-15 at t = 1, 1.4e-13 at t = 2; the step is composed plainly, although it solves equations."""
    problem = PROBLEMS[case["name"]]()
    method = ct.Composition(ct.EnergyMomentum(), "kahanli6")
    run = ct.simulate(problem, method=method, dt=0.0025, steps=800, every=400)
    for row, name, tolerance in ((1, "one", case["tolerance"][0]), (2, "two", case["tolerance"][1])):
        assert np.abs(np.asarray(run.data["position"][row, -1]) - case[name]).max() < tolerance


def observed_orders(method, problem, reference: ct.State, *, time: float, counts: tuple[int, ...]) -> np.ndarray:
    """Orders of positions and momenta between neighbouring step counts."""
    errors = []
    for steps in counts:
        final = simulate(problem, None, method, dt=time / steps, steps=steps).final
        errors.append(
            [np.abs(final.position - reference.position).max(), np.abs(final.momentum - reference.momentum).max()]
        )
    return np.array([np.log2(np.array(a) / np.array(b)) for a, b in pairwise(errors)])


@pytest.fixture(scope="module")
def swing() -> tuple[ct.Problem, ct.State]:
    """The double pendulum and its state at t = 0.2, by order twelve on the angles of its joints: 1e-14."""
    problem = ct.problems.double_pendulum()
    return problem, simulate(problem, None, ct.Gauss(6), dt=0.02, steps=10).final


@pytest.mark.parametrize("level", ["both", "position", "rattle"])
def test_the_steps_have_order_two(level, swing) -> None:
    orders = observed_orders(METHODS[level], *swing, time=0.2, counts=(8, 16))
    assert np.abs(orders - 2.0).max() < 0.05


@pytest.mark.parametrize(
    ("level", "scheme", "counts", "low", "high"),
    [
        ("both", "suzuki4", (4, 8), 3.9, 4.1),
        ("position", "suzuki4", (4, 8), 3.9, 4.1),
        ("rattle", "suzuki4", (4, 8), 3.9, 4.1),
        ("both", "yoshida6", (4, 8), 5.8, 6.1),
        pytest.param("rattle", "yoshida6", (4, 8), 5.8, 6.1, marks=pytest.mark.slow),
        pytest.param("position", "yoshida6", (3, 6), 5.8, 6.1, marks=pytest.mark.slow),
    ],
)
def test_compositions_raise_the_order(level, scheme, counts, low, high, swing) -> None:
    orders = observed_orders(ct.Composition(METHODS[level], scheme), *swing, time=0.2, counts=counts)
    assert (low < orders).all(), orders
    assert (orders < high).all(), orders


@pytest.mark.parametrize("joint", LONG)
def test_six_unknowns_give_the_step_that_was_published_with_twenty_four(joint) -> None:
    """The same step to round-off: 1e-15 in positions, 2e-13 in momenta of about 100."""
    problem = ct.problems.hanging_chain(joint, 2)
    turning = [(1.0, 0.0, 0.0), (-2.0, 0.0, 0.0)] if joint == "revolute" else [(1.0, 0.5, 0.3), (-2.0, 1.0, 0.7)]
    start = problem.system.start(orientation=problem.start.orientation, angular_velocity=turning)
    reduced, published = (
        simulate(problem.system, start, method, dt=0.1, steps=1).final
        for method in (ct.EnergyMomentum(level="position"), ct.EnergyMomentum(variables="directors"))
    )
    assert np.abs(reduced.position - published.position).max() < 1e-14
    assert np.abs(reduced.momentum - published.momentum).max() < 1e-11
    assert np.abs(reduced.angular_momentum - published.angular_momentum).max() < 1e-11


@pytest.mark.slow
@pytest.mark.parametrize("level", ["both", "position"])
@pytest.mark.parametrize("joint", JOINTS)
def test_the_time_for_a_body_and_a_step_does_not_grow_with_the_length_of_the_chain(joint, level) -> None:
    """4 to 4000 bodies, dt = 0.001; the best of five rounds over all of them. The first steps are left out: they have few before them to
    extrapolate, and need more corrections.
    """
    sizes = (4, 40, 400, 4000)
    problems = [ct.problems.hanging_chain(joint, n) for n in sizes]
    programs = [build(problem.system, ct.EnergyMomentum(level=level)) for problem in problems]
    times = np.full((5, len(sizes)), np.inf)
    for turn, (which, n) in product(range(5), enumerate(sizes)):
        program, steps = programs[which], max(12, 8000 // n)
        driver = Driver(program, program.view.pack(problems[which].start), t0=0.0, dt=0.001, every=steps)
        driver.advance(40)
        before = process_time()
        assert driver.advance(steps).status == 0
        times[turn, which] = (process_time() - before) / (n * steps)
    best = times.min(axis=0)
    assert best.max() <= 1.5 * best.min(), best


@dataclass(frozen=True)
class Plain(ct.EnergyMomentum):
    """The published step, composed as if one step of length zero were the identity."""

    @property
    def traits(self) -> Traits:
        return replace(super().traits, reflects=False)


def test_an_odd_composition_of_the_published_step_loses_the_order_of_the_velocities(swing) -> None:
    """The twin of the doubled composition: the step turns forbidden velocities around, five of them in a row do so, too."""
    plain = ct.Composition(Plain(level="position"), "suzuki4")
    orders = observed_orders(plain, *swing, time=0.2, counts=(4, 8))
    assert orders[0, 1] < 2.5


def test_a_step_without_a_root_says_which_joint_and_leaves_the_state() -> None:
    """A hundred rad per step: Rattle takes no part of a step, so there is no quarter turn to be found."""
    problem = ct.problems.hanging_chain("revolute", 2)
    start = problem.system.start(orientation=problem.start.orientation, angular_velocity=[(100.0, 0, 0), (-90.0, 0, 0)])
    with pytest.raises(ct.StepFailure) as caught:
        simulate(problem.system, start, ct.Rattle(), dt=1.0, steps=3)
    assert "joint" in str(caught.value)
    assert caught.value.step == 1
    assert np.array_equal(caught.value.run.final.position, start.position)


def test_what_was_recorded_before_a_step_failed_is_kept() -> None:
    """Rattle with dt = 0.1 has no root after 1.3 s; the message has the joint, how far it is off, and what to do."""
    problem = ct.problems.hanging_chain("spherical")
    with pytest.raises(
        ct.StepFailure, match=r"joint \d \(Spherical, bodies .*\), off by \d+\n  do: use a smaller dt"
    ) as caught:
        simulate(problem, None, ct.Rattle(), dt=0.1, steps=40)
    kept = caught.value.run
    assert (caught.value.step, kept.data.sizes["time"]) == (14, 14)
    again = simulate(problem, None, ct.Rattle(), dt=0.1, steps=13)
    assert np.array_equal(kept.data.position.values, again.data.position.values)


def test_a_failed_step_changes_nothing() -> None:
    problem = ct.problems.hanging_chain("revolute", 2)
    program = build(problem.system, ct.Rattle(), compiled=False)
    start = problem.system.start(orientation=problem.start.orientation, angular_velocity=[(100.0, 0, 0), (-90.0, 0, 0)])
    driver = Driver(program, program.view.pack(start), t0=0.0, dt=1.0, every=1)
    before = driver.z.copy()
    assert driver.advance(1).status > 0
    assert np.array_equal(driver.z, before)
    assert not driver.carry.any()
