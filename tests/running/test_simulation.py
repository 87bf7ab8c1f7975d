"""What a run promises: samples, times, lengths, the same in memory and on disk, and nothing lost when it stops."""

from __future__ import annotations

import json
import os
import signal
import threading
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import catena as ct
import uncompiled
from catena import memory
from catena.engine import headers
from catena.engine.build import build
from catena.engine.driver import Driver
from catena.errors import InputError, Interrupted, StepFailure
from catena.running import progress
from catena.running.recording import ROWS_VARIABLE
from processes import contents, run_python, start_python

VERLET: dict[str, Any] = {"method": ct.StormerVerlet(), "dt": 0.1}


def oscillator(**changes: Any) -> ct.Run:
    return ct.simulate(ct.problems.harmonic(), **{**VERLET, "progress": False, **changes})


def arrays(run: ct.Run) -> dict[str, bytes]:
    """Every bit that a run recorded."""
    return {str(name): array.values.tobytes() for name, array in run.data.variables.items()}


# Samples, times, lengths


@pytest.mark.parametrize(("steps", "every"), [(12, 1), (12, 3), (14, 3), (2, 3), (1, 1)])
def test_the_start_and_each_multiple_of_every_are_sampled(steps: int, every: int) -> None:
    """Also where the last step is no multiple; the final state is that of the last step all the same."""
    with pytest.warns(ct.CatenaWarning, match="no sample follows") if every > steps else nullcontext():
        run = oscillator(steps=steps, every=every)
    dense = oscillator(steps=steps)
    assert run.data.q.values.tobytes() == dense.data.q.values[::every].tobytes()
    assert run.data.energy.values.tobytes() == dense.data.energy.values[::every].tobytes()
    assert run.steps == steps
    assert run.final.q.tobytes() == dense.data.q.values[-1].tobytes()
    assert run.final.time == steps * 0.1


@pytest.mark.parametrize("steps", [1, 7])
def test_samples_farther_apart_than_the_run_is_long_are_warned_of_once(steps: int) -> None:
    """Runs, ensembles and cases go through the same door; `every = steps` has a sample and is silent."""
    problem = ct.problems.harmonic()
    how = {**VERLET, "steps": steps, "progress": False}
    ct.simulate(problem, **how, every=steps)
    words = (
        f"every = 8 is more than the {steps} step{'' if steps == 1 else 's'} of the run: no sample follows the start"
    )
    with pytest.warns(ct.CatenaWarning, match=words) as told:
        ct.simulate(problem, **how, every=8)
    assert [one.filename for one in told] == [__file__]
    ct.ensemble(problem, [problem.start] * 2, **how, every=8)  # said once; another warning would be an error here
    twin = ct.problems.harmonic()
    with pytest.warns(ct.CatenaWarning, match=words):
        ct.ensemble(twin, [twin.start] * 2, **how, every=8)


def test_time_is_a_product_not_a_sum() -> None:
    system = ct.problems.harmonic().system
    run = ct.simulate(system, system.start(q=0, p=2, time=0.7), **VERLET, steps=1000, every=7)
    assert run.data.time.values.tolist() == [0.7 + k * 0.1 for k in range(0, 1001, 7)]
    summed = np.concatenate([[0.7], 0.7 + np.cumsum(np.full(1000, 0.1))])[::7]
    assert run.data.time.values.tolist() != summed.tolist()
    assert run.final.time == 0.7 + 1000 * 0.1


def test_a_run_is_the_same_whatever_the_sizes_of_its_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """They depend on the speed of the machine."""
    whole = oscillator(steps=3000, every=11)
    for seconds in (1e-9, 1e-5, 10.0):
        monkeypatch.setattr("catena.engine.pace.CHUNK_SECONDS", seconds)
        assert arrays(oscillator(steps=3000, every=11)) == arrays(whole)


def test_a_given_dt_must_divide_the_time() -> None:
    assert oscillator(t_end=1.0).steps == 10
    assert oscillator(t_end=1.0 + 5e-10).steps == 10
    with pytest.raises(InputError) as caught:
        oscillator(dt=0.3, t_end=1.0)
    assert "does not divide" in caught.value.wrong
    assert caught.value.do == f"use dt = {1.0 / 3!r}, or t_end = {3 * 0.3!r}"
    assert oscillator(dt=1.0 / 3, t_end=1.0).steps == oscillator(dt=0.3, t_end=3 * 0.3).steps == 3
    with pytest.raises(InputError, match="does not divide"):
        oscillator(t_end=1.0 + 1e-8)


def test_a_suggested_dt_is_reduced_to_divide_the_time() -> None:
    """The problem suggests 0.01: 1.234 takes 124 steps of a little less. A given number of steps leaves it alone."""
    run = oscillator(dt=None, t_end=1.234)
    assert run.steps == 124
    assert run.plan.dt == 1.234 / 124
    assert run.final.time == pytest.approx(1.234, abs=1e-15)
    assert oscillator(dt=None, t_end=1.0).plan.dt == 0.01
    assert oscillator(dt=None, steps=7).plan.dt == 0.01


def test_the_time_to_go_counts_from_the_start() -> None:
    system = ct.problems.harmonic().system
    assert ct.simulate(system, system.start(q=0, p=2, time=5.0), **VERLET, t_end=6.0).steps == 10
    with pytest.raises(InputError, match=r"after the start, 5"):
        ct.simulate(system, system.start(q=0, p=2, time=5.0), **VERLET, t_end=5.0)


def test_a_run_in_memory_and_one_on_disk_are_the_same(tmp_path: Path) -> None:
    memory = oscillator(steps=1000, every=3)
    stored = oscillator(steps=1000, every=3, out=tmp_path / "run.zarr")
    assert arrays(stored) == arrays(memory)
    assert stored.data.q.dims == memory.data.q.dims == ("time", "dof")
    assert stored.final.q.tobytes() == memory.final.q.tobytes()
    assert str(stored.audit()) == str(memory.audit())
    again = ct.open(tmp_path / "run.zarr")
    assert arrays(again) == arrays(memory)
    assert again.finished
    assert again.plan.describe() == memory.plan.describe()


# Steps that fail


def failure_of(*arguments: Any, **options: Any) -> StepFailure:
    with pytest.raises(StepFailure) as caught:
        ct.simulate(*arguments, **options)
    return caught.value


def test_a_step_longer_than_the_period_fails_at_once_and_says_what_to_do() -> None:
    """Kepler, dt = 8: the equations of the stages have no solution that the iteration reaches."""
    with pytest.raises(StepFailure) as caught:
        uncompiled.simulate(ct.problems.kepler(), None, ct.Gauss(3), dt=8.0, steps=10)
    failure = caught.value
    assert (failure.step, failure.time) == (1, 0.0)
    assert len(str(failure).splitlines()) <= 4
    start = ct.problems.kepler().start
    assert failure.run.final.q.tobytes() == start.q.tobytes()
    assert len(failure.run.data.time) == 1
    run = uncompiled.simulate(ct.problems.kepler(), failure.run.final, ct.Gauss(3), dt=0.05, steps=10)
    assert run.steps == 10


@pytest.mark.parametrize("stored", [False, True], ids=["memory", "stored"])
def test_a_failing_step_keeps_everything_before_it(stored: bool, tmp_path: Path) -> None:
    """Implicit Euler loses energy until the planet is too close for dt = 0.05: step 26."""
    path = tmp_path / "run.zarr"
    options: dict[str, Any] = {"method": ct.ImplicitEuler(), "dt": 0.05}
    failure = failure_of(ct.problems.kepler(), **options, steps=100, out=path if stored else None)
    assert (failure.step, failure.time) == (26, 25 * 0.05)
    good = ct.simulate(ct.problems.kepler(), **options, steps=25)
    assert arrays(failure.run) == arrays(good)
    assert failure.run.final.q.tobytes() == good.final.q.tobytes()
    if stored:
        again = ct.open(path)
        assert arrays(again) == arrays(good)
        assert again.ending["failed_at"] == 26
        with pytest.raises(StepFailure) as caught:
            ct.resume(path)
        assert caught.value.step == 26
        assert arrays(ct.open(path)) == arrays(good)


def first_bad_step(dt: float) -> int:
    """Explicit Euler on the oscillator by hand: the first step after which the energy is not finite."""
    q, p = 0.0, 2.0
    for step in range(1, 10_000):
        q, p = q + dt * p, p - dt * 4.0 * q
        if not np.isfinite(p * p / 2 + 2.0 * q * q):
            return step
    raise AssertionError


@pytest.mark.parametrize("every", [1, 7, 1000])
def test_an_overflow_between_samples_is_traced_to_its_step(every: int, tmp_path: Path) -> None:
    """Energy grows by 1 + 4 dt^2 a step. Nothing that is not finite is recorded, not even an energy."""
    step = first_bad_step(3.0)
    assert 100 < step < 1000
    for out in (None, tmp_path / "run.zarr"):
        failure = failure_of(
            ct.problems.harmonic(), method=ct.ExplicitEuler(), dt=3.0, steps=5000, every=every, out=out
        )
        assert "no longer finite" in failure.wrong
        assert (failure.step, failure.time) == (step, (step - 1) * 3.0)
        assert len(failure.run.data.time) == 1 + (step - 1) // every
        for array in failure.run.data.variables.values():
            assert np.isfinite(array.values).all()
        assert np.isfinite(failure.run.final.q).all()


def test_the_search_for_the_failing_step_does_not_depend_on_the_chunk() -> None:
    problem = ct.problems.harmonic()
    program = build(problem.system, ct.ExplicitEuler())
    ends = set()
    for size in (1, 13, 64, 5000):
        driver = Driver(program, program.view.pack(problem.start), t0=0.0, dt=3.0, every=10)
        while (chunk := driver.advance(size)).status == 0:
            pass
        ends.add((driver.step, driver.z.tobytes(), driver.scale.tobytes(), chunk.status))
    assert len(ends) == 1


# Stopping a run

STOPPED_BY_SIGNAL = """
import sys, json, time
import catena as ct
from catena.errors import Interrupted
def slowly(step, steps, t, error):
    print(step, flush=True)
    time.sleep(0.02)
try:
    ct.simulate(ct.problems.harmonic(), method=ct.StormerVerlet(), dt=0.1, steps=3000, out=sys.argv[1], progress=slowly)
except Interrupted as stop:
    print(json.dumps({"steps": stop.run.steps, "finished": stop.run.finished, "message": str(stop)}))
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_a_signal_stops_a_stored_run_where_it_resumes_to_the_same_bytes(
    number: signal.Signals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(ROWS_VARIABLE, "100")
    oscillator(steps=3000, out=tmp_path / "whole.zarr")
    path = tmp_path / "stopped.zarr"
    process = start_python(STOPPED_BY_SIGNAL, path)
    assert process.stdout is not None
    while int(process.stdout.readline()) < 250:
        pass
    process.send_signal(number)
    output, messages = process.communicate(timeout=600)
    assert process.returncode == 0, messages
    stopped = json.loads(output.splitlines()[-1])
    assert 250 <= stopped["steps"] < 3000
    assert (stopped["steps"] + 1) % 100 == 0
    assert not stopped["finished"]
    assert f'ct.resume("{path}")' in stopped["message"]
    run = ct.resume(path, progress=False)
    assert run.steps == 3000
    assert contents(path) == contents(tmp_path / "whole.zarr")


def interrupt_at(*steps: int) -> Any:
    """A progress that presses Ctrl-C once the run has made so many steps."""
    left = list(steps)

    def progress(step: int, *others: object) -> None:
        if left and step >= left[0]:
            left.pop(0)
            os.kill(os.getpid(), signal.SIGINT)

    return progress


def test_ctrl_c_keeps_what_a_run_in_memory_has() -> None:
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(Interrupted) as caught:
        oscillator(steps=10**7, progress=interrupt_at(1000))
    run = caught.value.run
    assert run.steps >= 1000
    assert len(run.data.time) == run.steps + 1
    assert arrays(oscillator(steps=run.steps)) == arrays(run)
    assert signal.getsignal(signal.SIGINT) is before


def test_ctrl_c_waits_for_a_commit_that_is_near(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ROWS_VARIABLE, "200")
    with pytest.raises(Interrupted) as caught:
        oscillator(steps=3000, out=tmp_path / "run.zarr", progress=interrupt_at(10))
    assert caught.value.run.steps == 199


def test_a_second_ctrl_c_stops_at_once_and_the_run_resumes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the first commit there is no run to show, but the store is free again and starts anew."""
    monkeypatch.setenv(ROWS_VARIABLE, "200")
    path = tmp_path / "run.zarr"
    with pytest.raises(Interrupted, match="stopped at step") as caught:
        oscillator(steps=3000, out=path, progress=interrupt_at(10, 20))
    assert caught.value.run is None
    ct.resume(path, progress=False)
    oscillator(steps=3000, out=tmp_path / "whole.zarr")
    assert contents(path) == contents(tmp_path / "whole.zarr")


def test_ctrl_c_is_not_held_up_by_rare_samples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One sample in 10^12 steps: the next commit is out of reach, so the run drops back to the one before."""
    monkeypatch.setenv(ROWS_VARIABLE, "1")
    with pytest.raises(Interrupted) as caught:
        oscillator(steps=10**13, every=10**12, out=tmp_path / "run.zarr", progress=interrupt_at(10))
    assert caught.value.run.steps == 0


def test_an_error_of_the_users_own_progress_frees_the_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ROWS_VARIABLE, "100")
    path = tmp_path / "run.zarr"

    def broken(step: int, *others: object) -> None:
        if step > 500:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        oscillator(steps=3000, out=path, progress=broken)
    ct.resume(path, progress=False)
    oscillator(steps=3000, out=tmp_path / "whole.zarr")
    assert contents(path) == contents(tmp_path / "whole.zarr")


def test_a_run_in_another_thread_needs_no_signals() -> None:
    found: list[ct.Run] = []
    thread = threading.Thread(target=lambda: found.append(oscillator(steps=100)))
    thread.start()
    thread.join()
    assert arrays(found[0]) == arrays(oscillator(steps=100))


# Progress


def test_progress_is_told_step_length_time_and_energy_error() -> None:
    told: list[tuple[int, int, float, float]] = []
    run = oscillator(steps=5000, progress=lambda *values: told.append(values))
    steps = [step for step, *_ in told]
    assert steps == sorted(set(steps))
    assert steps[-1] == 5000
    assert {count for _, count, _, _ in told} == {5000}
    assert [time for _, _, time, _ in told] == [step * 0.1 for step in steps]
    energy = run.data.energy.values
    worst = np.abs(energy / energy[1] - 1).max()  # the first row it sees is that of step 1
    assert 0 < max(error for *_, error in told) <= worst


def test_there_is_no_bar_without_a_terminal_unless_it_is_asked_for(capfd: pytest.CaptureFixture[str]) -> None:
    oscillator(steps=2000, progress=None)
    assert capfd.readouterr() == ("", "")
    oscillator(steps=2000, progress=True)
    output, messages = capfd.readouterr()
    assert output == ""
    assert "steps" in messages


@pytest.mark.parametrize(("unseen", "seen"), [(1e9, False), (0.0, True)])
def test_a_notebook_shows_the_bar_of_what_takes_a_while(
    unseen: float, seen: bool, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half a second, which is moved here beyond any run, or to nothing."""
    monkeypatch.setattr(progress, "_in_a_notebook", lambda: True)
    monkeypatch.setattr(progress, "UNSEEN", unseen)
    oscillator(steps=2000, progress=None)
    assert ("steps" in capfd.readouterr().err) is seen


def test_a_script_says_nothing_once_all_is_compiled() -> None:
    code = "import catena as ct; ct.simulate(ct.problems.harmonic(), method=ct.StormerVerlet(), dt=0.1, steps=100)"
    oscillator(steps=10)
    assert run_python(code) == ("", "")


def test_a_second_run_of_the_same_pair_writes_no_text_and_asks_no_system(monkeypatch):
    """What a short run costs beside its steps: 1.8 ms of Python became 0.55 ms without these two."""
    problem = ct.problems.kepler(e=0.6)
    ct.simulate(problem, dt=0.05, steps=10)
    written = headers._write.cache_info().misses
    monkeypatch.setattr(memory, "available", lambda: pytest.fail("the system was asked for its memory"))
    ct.simulate(problem, dt=0.05, steps=10)
    assert headers._write.cache_info().misses == written
    with pytest.raises(pytest.fail.Exception, match="asked for its memory"):  # the twin: more is asked for
        ct.simulate(problem, dt=0.05, steps=100_000)
