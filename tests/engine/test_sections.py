"""Crossings are located to the accuracy of the method, and looking for them changes nothing."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import catena as ct
import uncompiled
from catena.engine import driver as driving
from catena.engine import sections as locating
from catena.engine.build import build
from catena.engine.driver import Driver
from catena.errors import InputError, StepFailure
from catena.kernels.views import NOT_CONVERGED, STOPPED, View, dimension, field
from catena.methods.base import Method, Stepper, Traits
from catena.running.crossings import crossing_of
from catena.running.plan import Problem

PLANE = ct.Section("plane", "q2", where="q1 > 0")

# Crossings of the plane from q = (2.5, 0, 0), p = (0, 1.688, 0.2): heyoka's event detection at 1e-18.
REFERENCE_TIMES = (23.7783284836039, 30.0595335079044)
REFERENCE_POSITIONS = (1.72137684537926, 1.92489034286436)


def galactic() -> Problem:
    problem = ct.problems.galactic()
    return Problem("galactic", problem.system, problem.system.start(q=[2.5, 0, 0], p=[0, 1.688, 0.2]), 0.2)


def watch(problem: Problem, method: Method, **options: Any) -> ct.Run:
    return uncompiled.simulate(problem, None, method, **options)


def times(run: ct.Run, name: str) -> np.ndarray:
    return run.sections[name].time.values


# Accuracy


def test_crossings_of_the_galactic_orbit_agree_with_heyoka() -> None:
    """Both sides are good to about 1e-13; tolerance 1e-12. At the crossing q2 is round-off of its own step,
    |q2| <= 0.2, and of tau: 1e-16 dt |dq2/dt|."""
    run = watch(galactic(), ct.Gauss(8), dt=0.1, steps=310, sections=[PLANE])
    found = run.sections["plane"]
    np.testing.assert_allclose(found.time, REFERENCE_TIMES, rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.q[:, 0], REFERENCE_POSITIONS, rtol=0, atol=1e-12)
    assert np.abs(found.q[:, 1]).max() <= 1e-16
    np.testing.assert_allclose(found.energy, run.data.energy[0], rtol=0, atol=1e-13)


@cache
def finer_and_finer() -> list[ct.Run]:
    return [watch(galactic(), ct.Gauss(3), dt=31 / n, steps=n, sections=[PLANE]) for n in (155, 310, 620)]


def measured_orders(locate: Callable[[ct.Run], np.ndarray]) -> np.ndarray:
    """Order of the worst error in (time, q1) of the two crossings, between neighbours of dt = 0.2, 0.1, 0.05."""
    errors = [np.abs(locate(run) - (REFERENCE_TIMES, REFERENCE_POSITIONS)).max() for run in finer_and_finer()]
    return -np.diff(np.log2(errors))


def by_stepping(run: ct.Run) -> np.ndarray:
    found = run.sections["plane"]
    return np.array([found.time.values, found.q.values[:, 0]])


def by_interpolation(run: ct.Run) -> np.ndarray:
    """The broken twin: straight lines between the samples."""
    time, q1, q2 = run.data.time.values, *run.data.q.values[:, :2].T
    last = [k for k in range(2, len(time)) if q2[k - 1] < 0 <= q2[k] and q1[k] > 0]
    found = []
    for k in last:
        part = q2[k - 1] / (q2[k - 1] - q2[k])
        found.append((time[k - 1] + part * (time[k] - time[k - 1]), q1[k - 1] + part * (q1[k] - q1[k - 1])))
    return np.transpose(found)


def test_the_crossing_error_of_gauss_3_falls_as_dt_to_the_sixth() -> None:
    """Measured 5.98, 5.99; 0.1 allows for the next term of the error."""
    assert measured_orders(by_stepping) == pytest.approx([6.0, 6.0], abs=0.1)
    assert (measured_orders(by_interpolation) < 3.0).all()


@pytest.mark.parametrize("method", [ct.RK4(), ct.Gauss(2), ct.StormerVerlet(), ct.EulerA()], ids=str)
def test_looking_for_crossings_leaves_every_bit_of_the_trajectory(method: Method) -> None:
    problem = ct.problems.kepler()
    watched = watch(
        problem, method, dt=0.05, steps=150, sections=[ct.Section("a", "q1", 0), ct.Section("b", "p1*q2 - t")]
    )
    alone = watch(problem, method, dt=0.05, steps=150)
    assert len(times(watched, "a")) >= 2
    assert watched.data.drop_attrs().identical(alone.data.drop_attrs())
    assert watched.final.q.tobytes() + watched.final.p.tobytes() == alone.final.q.tobytes() + alone.final.p.tobytes()


@pytest.mark.parametrize(("steps", "crossings"), [(2100, 8), pytest.param(20_000, 80, marks=pytest.mark.slow)])
def test_looking_for_crossings_leaves_every_bit_of_a_long_trajectory(steps: int, crossings: int) -> None:
    watched = watch(galactic(), ct.Gauss(3), dt=0.1, steps=steps, every=7, sections=[PLANE])
    alone = watch(galactic(), ct.Gauss(3), dt=0.1, steps=steps, every=7)
    assert len(times(watched, "plane")) > crossings
    for name in ("time", "q", "p", "energy"):
        assert watched.data[name].values.tobytes() == alone.data[name].values.tobytes()


def test_the_first_guess_of_the_locator_is_the_linear_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """For a linear function it is the root, so the second evaluation ends the search."""
    asked: list[float] = []

    def linear(tau: float, *others: Any) -> tuple[float, int]:
        asked.append(tau)
        return 4.0 * (tau - 0.25), 0

    monkeypatch.setattr(locating, "value_after", linear)
    assert locating.locate(0, -1.0, 3.0, 0.0, 1.0, None, None, None, 2, 2, None, None) == 0.25
    assert asked == [0.25, 0.25]


@pytest.mark.parametrize("root", [1e-14, 1e-3, 0.37, 0.999, 1.0])
def test_the_locator_finds_hard_roots_in_few_evaluations(root: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Resolution 2.3e-16 in tau; bisection alone would take 52 evaluations, Chandrupatla's worst case is near three times that."""
    asked: list[float] = []

    def steep(tau: float, *others: Any) -> tuple[float, int]:
        asked.append(tau)
        return math.copysign(abs(tau - root) ** 3, tau - root), 0

    monkeypatch.setattr(locating, "value_after", steep)
    before, after = steep(0.0)[0], steep(1.0)[0]
    tau = locating.locate(0, before, after, 0.0, 1.0, None, None, None, 2, 2, None, None)
    assert abs(tau - root) <= 2 * locating.TAU_RESOLUTION
    assert len(asked) < locating.TRIES


# What counts. The oscillator is q = sin 2t, p = 2 cos 2t.


def oscillator(**section: Any) -> np.ndarray:
    text = section.pop("text", "q")
    run = watch(ct.problems.harmonic(), ct.Gauss(4), dt=0.1, steps=80, sections=[ct.Section("s", text, **section)])
    return times(run, "s")


def test_a_direction_selects_rises_falls_or_both_and_the_start_does_not_count() -> None:
    """Zeros at k pi/2; the one at t = 0 is the start. Gauss(4), dt = 0.1: error of the phase below 1e-12."""
    zeros = np.arange(1, 6) * math.pi / 2
    assert oscillator(direction=0) == pytest.approx(zeros, abs=1e-11)
    assert oscillator(direction=-1) == pytest.approx(zeros[0::2], abs=1e-11)
    assert oscillator(direction=+1) == pytest.approx(zeros[1::2], abs=1e-11)


def test_a_condition_is_judged_at_the_crossing() -> None:
    """At the falls p = -2, at the rises p = 2; t itself may be used."""
    zeros = np.arange(1, 6) * math.pi / 2
    assert oscillator(direction=0, where="p < 0") == pytest.approx(zeros[0::2], abs=1e-11)
    assert oscillator(direction=0, where="p < 0 and t > 2") == pytest.approx(zeros[2::2], abs=1e-11)
    assert len(oscillator(direction=0, where="p > 2.1")) == 0


def test_a_function_of_time_and_parameters_is_crossed_where_it_vanishes() -> None:
    """sin(3 t) has its rises at 2 k pi/3; k = 4 is the parameter of the force."""
    assert oscillator(text="sin(3*t)") == pytest.approx(np.arange(1, 4) * 2 * math.pi / 3, abs=1e-13)
    assert oscillator(text="t - k") == pytest.approx([4.0], abs=1e-14)


def test_a_start_at_another_time_shifts_the_crossings() -> None:
    problem = ct.problems.harmonic()
    start = problem.system.start(q=0.0, p=2.0, time=10.0)
    shifted = Problem("shifted", problem.system, start, 0.1)
    run = watch(shifted, ct.Gauss(4), dt=0.1, steps=20, sections=[ct.Section("s", "q", 0), ct.Section("t", "t - 11")])
    assert times(run, "s") == pytest.approx([10 + math.pi / 2], abs=1e-11)
    assert times(run, "t") == pytest.approx([11.0], abs=1e-14)


def test_a_step_that_ends_on_the_section_counts_once() -> None:
    """t - 1/2 is exactly zero after four steps of 1/8."""
    run = watch(ct.problems.harmonic(), ct.RK4(), dt=0.125, steps=12, sections=[ct.Section("s", "t - 1/2", 0)])
    assert times(run, "s").tolist() == [0.5]


def test_several_sections_and_events_in_one_run_are_kept_apart() -> None:
    watched = [ct.Section("up", "q"), ct.Section("down", "q", -1), ct.Section("turn", "p", 0)]
    events = [ct.Event("half", "q - 1/2"), ct.Event("late", "t - 2")]
    run = watch(ct.problems.harmonic(), ct.Gauss(4), dt=0.1, steps=40, sections=watched, events=events)
    assert times(run, "up") == pytest.approx([math.pi], abs=1e-11)
    assert times(run, "down") == pytest.approx([math.pi / 2], abs=1e-11)
    assert times(run, "turn") == pytest.approx([math.pi / 4, 3 * math.pi / 4, 5 * math.pi / 4], abs=1e-11)
    halves = [math.pi / 12, 5 * math.pi / 12, 13 * math.pi / 12]  # sin 2t = 1/2
    happened = [("half", halves[0]), ("half", halves[1]), ("late", 2.0), ("half", halves[2])]
    assert [event.name for event in run.events] == [name for name, _ in happened]
    assert [event.time for event in run.events] == pytest.approx([time for _, time in happened], abs=1e-11)
    assert [float(event.data["q"][0]) for event in run.events if event.name == "half"] == pytest.approx([0.5] * 3)


def test_two_crossings_within_one_step_are_both_found_and_sorted() -> None:
    events = [ct.Event("second", "q - 0.15"), ct.Event("first", "q - 0.1")]
    run = watch(ct.problems.harmonic(), ct.Gauss(4), dt=0.2, steps=1, events=events)
    assert [event.name for event in run.events] == ["first", "second"]
    assert [event.time for event in run.events] == pytest.approx([math.asin(0.1) / 2, math.asin(0.15) / 2], abs=1e-10)


def test_names_must_differ() -> None:
    with pytest.raises(InputError, match="two sections or events are called 'a'"):
        crossing_of(ct.problems.harmonic().system, [ct.Section("a", "q")], [ct.Event("a", "p")])


# Stops, failures, full buffers


def test_a_stopping_event_ends_the_run_with_its_step() -> None:
    """q = 1/2 at t = pi/12 = 0.2618: within step 3 of 0.1. The other stopping event never happens."""
    events = [ct.Event("half", "q - 1/2", stop=True), ct.Event("never", "q - 2", stop=True), ct.Event("low", "q - 0.1")]
    run = watch(ct.problems.harmonic(), ct.Gauss(4), dt=0.1, steps=1000, events=events)
    assert run.steps == 3
    assert run.final.time == 3 * 0.1
    assert len(run.data.time) == 4
    assert [event.name for event in run.events] == ["low", "half"]
    assert run.ending["stopped_by"] == ["half"]
    assert run.final.q[0] == pytest.approx(math.sin(0.6), abs=1e-10)


def driver_of(problem: Problem, method: Method, *, dt: float, compiled: bool, every: int = 1, **watched: Any) -> Driver:
    crossing = crossing_of(problem.system, watched.get("sections", ()), watched.get("events", ()))
    program = build(problem.system, method, crossing=crossing, compiled=compiled)
    driver = Driver(program, program.view.pack(problem.start), t0=problem.start.time, dt=dt, every=every)
    driver.first_row()
    return driver


WATCHED = [ct.Section("zero", "q", 0), ct.Section("turn", "p", -1, where="q > 0")]


def test_a_full_buffer_loses_and_repeats_nothing() -> None:
    """40 000 steps in one chunk: more crossings than the buffer has rows."""
    problem, method, steps = ct.problems.harmonic(), ct.StormerVerlet(), 40_000
    whole = driver_of(problem, method, dt=0.1, compiled=True, sections=WATCHED, every=10)
    pieces = driver_of(problem, method, dt=0.1, compiled=True, sections=WATCHED, every=10)
    chunk = whole.advance(steps)
    parts = [pieces.advance(100) for _ in range(steps // 100)]
    assert len(chunk.crossings) > 3 * driving.CROSSING_ROWS
    assert chunk.crossings.tobytes() == np.concatenate([part.crossings for part in parts]).tobytes()
    assert chunk.rows.tobytes() == np.concatenate([part.rows for part in parts]).tobytes()
    assert whole.z.tobytes() == pieces.z.tobytes()
    frequency = 2 / 0.1 * math.asin(2 * 0.1 / 2)  # of Verlet on the oscillator
    assert (chunk.crossings[:, 0] == 0).sum() == int(frequency * 0.1 * steps / math.pi)


def test_a_state_taken_in_the_middle_goes_on_with_the_same_crossings() -> None:
    problem, method = ct.problems.harmonic(), ct.Gauss(2)
    whole = driver_of(problem, method, dt=0.1, compiled=False, sections=WATCHED)
    together = whole.advance(100).crossings
    for first in (15, 16, 50):  # before, after and far from a crossing
        begun = driver_of(problem, method, dt=0.1, compiled=False, sections=WATCHED)
        parts = [begun.advance(first).crossings]
        other = driver_of(problem, method, dt=0.1, compiled=False, sections=WATCHED)
        other.restore(first, begun.state())
        parts.append(other.advance(100 - first).crossings)
        assert np.concatenate(parts).tobytes() == together.tobytes()
        forgetful = driver_of(problem, method, dt=0.1, compiled=False, sections=WATCHED)
        empty = np.where(np.arange(len(forgetful.marks)) < 3, 0.0, forgetful.marks)
        forgetful.restore(first, begun.state() | {"marks": empty})
        assert len(forgetful.advance(100 - first).crossings) == len(parts[1]) - (first == 15)


def test_stop_and_failure_leave_the_driver_where_it_says() -> None:
    driver = driver_of(
        ct.problems.harmonic(), ct.RK4(), dt=0.1, compiled=False, events=[ct.Event("half", "q - 1/2", stop=True)]
    )
    assert driver.advance(10).status == STOPPED
    assert driver.step == 3


def shy_step(z, e, dt, par, tab, work, carry):
    """Explicit Euler that refuses steps shorter than tab[0, 0]."""
    if dt < tab[0, 0]:
        return NOT_CONVERGED
    field(z, par, work)
    for k in range(dimension(z)):
        z[k] += dt * work[k]
    return 0


@dataclass(frozen=True)
class Shy(Method):
    """A method that cannot make the fraction of a step that leads to a crossing."""

    needs = ("field",)
    name = "Shy"
    shortest: float = 0.09

    @property
    def traits(self) -> Traits:
        return Traits(1, False, False, True, (), (), 0.0)

    def stepper(self, view: View) -> Stepper:
        return Stepper(shy_step, np.full((1, 1), self.shortest), view.dimension, 0)


@pytest.mark.parametrize("every", [1, 2, 5])
def test_a_crossing_that_cannot_be_reached_names_its_step_and_keeps_what_came_before(every: int) -> None:
    """q = sin 2t passes 1/2 in step 3 (explicit Euler: 0.2, 0.4, 0.592)."""
    events = [ct.Event("half", "q - 1/2")]
    with pytest.raises(StepFailure, match="a crossing could not be located") as caught:
        watch(ct.problems.harmonic(), Shy(), dt=0.1, steps=50, events=events, every=every)
    assert (caught.value.step, caught.value.time) == (3, 2 * 0.1)
    assert len(caught.value.run.data.time) == 1 + 2 // every
    assert caught.value.run.final.q[0] == pytest.approx(0.4)
    assert caught.value.run.events == []
    bold = watch(ct.problems.harmonic(), Shy(shortest=0.0), dt=0.1, steps=50, events=events, every=every)
    assert len(bold.events) > 0


def test_a_stored_run_holds_the_crossings_of_a_run_in_memory(tmp_path: Path) -> None:
    events = [ct.Event("wall", "q - 1/2"), ct.Event("last", "t - 59", stop=True)]
    chosen: dict[str, Any] = {"method": ct.StormerVerlet(), "dt": 0.1, "steps": 1000, "every": 3}
    memory = ct.simulate(ct.problems.harmonic(), sections=WATCHED, events=events, **chosen)
    stored = ct.simulate(ct.problems.harmonic(), sections=WATCHED, events=events, out=tmp_path / "a.zarr", **chosen)
    assert stored.steps == memory.steps == 590
    for section in WATCHED:
        assert len(times(memory, section.name)) > 5
        assert stored.sections[section.name].load().drop_attrs().equals(memory.sections[section.name].drop_attrs())
    assert [(e.name, e.time) for e in stored.events] == [(e.name, e.time) for e in memory.events]
    assert stored.events[-1].name == "last"
    assert stored.events[-1].data["q"].tobytes() == memory.events[-1].data["q"].tobytes()


def test_more_sections_than_a_buffer_has_rows_may_be_crossed_in_one_step(monkeypatch) -> None:
    """Ten levels that a free particle passes in one step, and a buffer of four rows; compiled code would write beyond it."""
    monkeypatch.setattr(driving, "CROSSING_ROWS", 4)
    particle = ct.Hamiltonian("p**2/2", q="q", p="p")
    levels = [ct.Section(f"level{k}", f"q - {1.0 - 0.1 * (k + 1)}", -1) for k in range(10)]
    start = particle.start(q=1.0, p=-2.0)
    run = uncompiled.simulate(particle, start, ct.RK4(), dt=1.0, steps=1, sections=levels)
    times = np.array([run.sections[section.name].time.values for section in levels])
    assert times == pytest.approx(0.05 * np.arange(1, 11)[:, None], abs=1e-15)
