"""A stored run killed at any moment opens at once and resumes to the bytes of the uninterrupted run; memory stays flat."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import catena as ct
from catena.engine.driver import Driver
from catena.errors import Interrupted
from catena.methods.base import is_renamed, method_from
from catena.running.recording import ROWS_VARIABLE, StoreRecorder
from catena.store import layout, read_checkpoint
from catena.systems import base
from processes import boundaries, contents, kill_at, read_plainly, run_python, spawn

STEPS = 52  # with a commit every 16 rows the last one is partial
RUN: dict[str, Any] = {
    "method": ct.Gauss(2),
    "dt": 0.1,
    "sections": [ct.Section("zero", "q", 0)],
    "progress": False,
}


@pytest.fixture(autouse=True)
def _many_small_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Several commits and chunks in a short run. A kill leaves the page cache alone: fsync would only take time."""
    monkeypatch.setenv(ROWS_VARIABLE, "16")
    monkeypatch.setattr(layout, "CHUNK_BYTES_AIM", 64)
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


def start(path: Path, *, steps: int = STEPS, **options: Any) -> ct.Run:
    return ct.simulate(ct.problems.harmonic(), **{**RUN, **options}, steps=steps, out=path)


def go_on(path: Path, *, steps: int = STEPS) -> ct.Run:
    """What a user does after a crash: resume, or start if nothing was created."""
    return ct.resume(path, progress=False) if path.exists() else start(path, steps=steps)


def trouble_of_reading(path: Path, reference: dict[str, np.ndarray]) -> str:
    """What a reader without catena meets in a store just killed; nothing: ""."""
    if not path.exists():
        return ""
    try:
        found = read_plainly(path)
    except Exception as error:
        return f"does not open: {error!r}"
    if set(found) != set(reference):
        return f"arrays {sorted(found)}"
    wrong = [name for name, array in found.items() if array.tobytes() != reference[name][: len(array)].tobytes()]
    return f"wrong values in {wrong}" if wrong else ""


def trouble_of_kills(folder: Path, numbers: Iterable[int], names: list[str]) -> list[str]:
    """Kill the run at boundaries between changes of the disk, read it, resume it: all that went wrong."""
    whole, path = folder / "whole.zarr", folder / "killed" / "run.zarr"
    start(whole)
    files, values = contents(whole), read_plainly(whole)
    trouble = []
    for number in numbers:
        path.parent.mkdir()
        kill_at(number, lambda: start(path))
        wrong = trouble_of_reading(path, values)
        if not wrong:
            try:
                go_on(path)
                wrong = "" if contents(path.parent) == {"run.zarr": "directory"} | {
                    f"run.zarr/{name}": digest for name, digest in files.items()
                } else "other bytes after resuming"  # fmt: skip
            except Exception as error:
                wrong = f"does not resume: {error!r}"
        if wrong:
            trouble.append(f"killed at {number}, {names[number]}: {wrong}")
        shutil.rmtree(path.parent)
    return trouble


def test_a_run_killed_between_any_two_writes_resumes_to_the_same_bytes(tmp_path: Path) -> None:
    """Every thirty-first boundary here; all of them in the long version."""
    names = boundaries(lambda: start(tmp_path / "counted.zarr"))
    assert len(names) > 200
    assert trouble_of_kills(tmp_path, range(5, len(names), 31), names) == []


@pytest.mark.slow
def test_a_run_killed_between_each_two_writes_resumes_to_the_same_bytes(tmp_path: Path) -> None:
    names = boundaries(lambda: start(tmp_path / "counted.zarr"))
    assert trouble_of_kills(tmp_path, range(len(names)), names) == []


def forgets(*names: str) -> Any:
    """A driver whose checkpoints lack something: it comes back as zeros."""

    def state(self: Driver) -> dict[str, np.ndarray]:
        kept = {name: getattr(self, name) for name in ("z", "e", "carry", "scale", "marks")}
        return {name: np.zeros_like(array) if name in names else array for name, array in kept.items()}

    def restore(self: Driver, step: int, arrays: dict[str, np.ndarray]) -> None:
        self.step = step
        for name in ("z", "e", "carry", "scale", "marks"):
            getattr(self, name)[...] = arrays[name]

    return state, restore


@pytest.mark.parametrize("name", ["e", "carry", "scale"])
def test_a_checkpoint_that_lacks_anything_is_found(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The broken twins: compensation, memory of the method, scale of the audit."""
    names = boundaries(lambda: start(tmp_path / "counted.zarr"))
    state, restore = forgets(name)
    monkeypatch.setattr(Driver, "restore", restore)
    whole, path = tmp_path / "whole.zarr", tmp_path / "run.zarr"
    start(whole)
    after_second_commit = names.index("renamed state.1") + 3
    kill_at(after_second_commit, lambda: (monkeypatch.setattr(Driver, "state", state), start(path)))
    ct.resume(path, progress=False)
    assert contents(path) != contents(whole)


def kill_at_random_moments(folder: Path, *, steps: int, kills: int) -> int:
    """Start, kill from outside after a random time, go on, until it is done: how often it was killed."""
    whole, path = folder / "whole.zarr", folder / "killed.zarr"
    began = time.perf_counter()
    assert os.waitpid(spawn(lambda: start(whole, steps=steps)), 0)[1] == 0
    pause = 3 * (time.perf_counter() - began) / kills
    values, dice, killed = read_plainly(whole), random.Random(3), 0
    while True:
        pid = spawn(lambda: go_on(path, steps=steps))
        time.sleep(dice.uniform(0.0, pause))
        os.kill(pid, signal.SIGKILL)
        if not os.WIFSIGNALED(os.waitpid(pid, 0)[1]):
            break
        killed += 1
        pause *= 1.05  # a machine that became busy must get through in the end
        assert trouble_of_reading(path, values) == ""
    shutil.rmtree(folder / ".killed.zarr.creating", ignore_errors=True)
    assert contents(path) == contents(whole)
    return killed


def test_a_run_killed_inside_its_first_commit_says_that_nothing_can_be_read_yet(tmp_path: Path) -> None:
    """Its checkpoint is there before readers see the rows; from the next boundary on they do, and the audit has a row."""
    names, path = boundaries(lambda: start(tmp_path / "whole.zarr")), tmp_path / "run.zarr"
    last = next(i for i, name in enumerate(names) if "state.0" in name and "renamed" in name)
    shown = next(i for i in range(last, len(names)) if names[i] == "renamed zarr.json")
    for number, readable in ((last, False), (shown - 1, False), (shown, True)):
        shutil.rmtree(path, ignore_errors=True)
        kill_at(number, lambda: start(path))
        assert read_checkpoint(path) is not None
        if readable:
            assert len(ct.open(path).audit()) == 1
        else:
            with pytest.raises(ct.StoreError, match=r"nothing has been recorded yet[\s\S]*resume the run"):
                ct.open(path)


def test_a_run_killed_at_random_moments_resumes_to_the_same_bytes(tmp_path: Path) -> None:
    """Again if it was hardly killed: the machine was slower while the length of the run was measured."""
    start(tmp_path / "compiled.zarr", steps=1)
    for number in range(5):
        folder = tmp_path / str(number)
        folder.mkdir()
        if kill_at_random_moments(folder, steps=500, kills=8) >= 2:
            return
    pytest.fail("of five runs none was killed twice")


@pytest.mark.slow
def test_a_run_killed_fifty_times_resumes_to_the_same_bytes(tmp_path: Path) -> None:
    start(tmp_path / "compiled.zarr", steps=1)
    total = 0
    for number in range(20):
        folder = tmp_path / str(number)
        folder.mkdir()
        total += kill_at_random_moments(folder, steps=2000, kills=10)
        if total >= 50:
            break
    assert total >= 50


# Going further


def visible(path: Path) -> dict[str, str]:
    """All files but those of the writer."""
    return {name: digest for name, digest in contents(path).items() if not name.startswith(".catena")}


@pytest.mark.parametrize("first", [1, 15, 30, 31, 32])
def test_an_extended_run_has_the_arrays_of_the_long_run(first: int, tmp_path: Path) -> None:
    """Also where the short run ended between commits (every 16 rows), and right at one."""
    start(tmp_path / "long.zarr", steps=70)
    start(tmp_path / "run.zarr", steps=first)
    run = ct.resume(tmp_path / "run.zarr", t_end=7.0, progress=False)
    assert run.steps == 70
    assert visible(tmp_path / "run.zarr") == visible(tmp_path / "long.zarr")


def test_an_extension_that_was_killed_goes_on_to_its_own_end(tmp_path: Path) -> None:
    path = tmp_path / "run.zarr"
    start(tmp_path / "long.zarr", steps=90)
    start(path, steps=20)
    shutil.copytree(path, tmp_path / "copy.zarr")
    names = boundaries(lambda: ct.resume(tmp_path / "copy.zarr", steps=90, progress=False))
    commits = [k for k, boundary in enumerate(names) if boundary.startswith("renamed state.")]
    kill_at(commits[2], lambda: ct.resume(path, steps=90, progress=False))
    assert 20 < ct.open(path).steps < 90
    assert ct.resume(path, progress=False).steps == 90
    assert visible(path) == visible(tmp_path / "long.zarr")


def test_resuming_a_finished_run_changes_no_byte(tmp_path: Path) -> None:
    path = tmp_path / "run.zarr"
    start(path)
    before = contents(path)
    assert ct.resume(path, progress=False).steps == STEPS
    assert ct.resume(path, steps=STEPS, progress=False).steps == STEPS
    assert contents(path) == before


def test_a_run_stopped_by_its_event_goes_on_only_if_it_is_told_to(tmp_path: Path) -> None:
    path = tmp_path / "run.zarr"
    watched = {"sections": [], "events": [ct.Event("late", "t - 2", stop=True)]}
    assert start(path, **watched).steps == 20
    assert ct.resume(path, progress=False).steps == 20
    assert ct.resume(path, steps=40, progress=False).steps == 40
    assert [(event.name, event.time) for event in ct.open(path).events] == [("late", pytest.approx(2.0))]


def test_an_interrupted_run_can_be_ended_earlier_or_later(tmp_path: Path) -> None:
    def press(step: int, *others: object) -> None:
        if step == 15:  # the first commit
            os.kill(os.getpid(), signal.SIGINT)

    for total in (40, 90):
        path, whole = tmp_path / f"{total}.zarr", tmp_path / f"whole {total}.zarr"
        with pytest.raises(Interrupted):
            start(path, progress=press)
        assert ct.resume(path, steps=total, progress=False).steps == total
        start(whole, steps=total)
        assert visible(path) == visible(whole)


def test_commits_are_placed_by_rows_not_by_chunks_of_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bytes do not depend on the speed of the machine."""
    start(tmp_path / "a.zarr", steps=200, every=3)
    monkeypatch.setattr("catena.engine.pace.CHUNK_SECONDS", 1e-9)
    start(tmp_path / "b.zarr", steps=200, every=3)
    assert contents(tmp_path / "a.zarr") == contents(tmp_path / "b.zarr")
    monkeypatch.setattr(StoreRecorder, "room", lambda self, step: 2**62)  # the broken twin
    monkeypatch.setattr("catena.engine.pace.CHUNK_SECONDS", 10.0)
    start(tmp_path / "c.zarr", steps=200, every=3)
    assert contents(tmp_path / "c.zarr") != contents(tmp_path / "a.zarr")


# Memory

PEAK = """
import json, re, sys
from pathlib import Path
import catena as ct
steps, out = int(sys.argv[1]), sys.argv[2] or None
run = ct.simulate(ct.problems.harmonic(), method=ct.StormerVerlet(), dt=0.1, steps=steps, every=10, out=out)
peak = re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1]
print(json.dumps({"steps": run.steps, "megabytes": int(peak) / 1024}))
"""
# VmHWM, not ru_maxrss: that one starts at the size of the process that started this one.


def peak_memory(steps: int, out: Path | str) -> float:
    found = json.loads(run_python(PEAK, steps, out, CATENA_ROWS_PER_COMMIT=4096)[0])
    assert found["steps"] == steps
    return found["megabytes"]


@pytest.mark.slow
def test_a_hundred_times_more_samples_take_no_more_memory(tmp_path: Path) -> None:
    """10^5 and 10^7 steps, 10^4 and 10^6 rows of 32 bytes. In memory, the broken twin, they take at least 32 MB more."""
    ct.simulate(ct.problems.harmonic(), method=ct.StormerVerlet(), dt=0.1, steps=1)  # compiled here, for both
    short = peak_memory(100_000, tmp_path / "short.zarr")
    long = peak_memory(10_000_000, tmp_path / "long.zarr")
    assert long - short < 5.0
    assert peak_memory(10_000_000, "") - short > 20.0


def test_another_process_makes_every_system_again_from_what_a_store_says() -> None:
    """A process that has imported no system before: what it was told to import by the one that wrote, it cannot know."""
    code = """
import json, sys
from catena.systems.base import system_from
assert not [name for name in sys.modules if name.startswith("catena.systems.") and name != "catena.systems.base"]
for text in sys.argv[1:]:
    assert json.dumps(system_from(json.loads(text)).describe()) == text
"""
    mixed = ct.Switched(ct.Morse(5.0, 3.0, 1.1), 1.2, 2.0) + ct.BendTwist(9.0, 2.0, 1.0, (1, 0, 0))
    mixed += ct.Elastic([[2.0 * (i == j) for j in range(6)] for i in range(6)], ([0.1, 0.2, 0.3], [0.3, 0.2, 1.0]))
    systems = [
        ct.problems.lagrange_top().system, ct.Chain([ct.Body.tetrahedron()] * 2, mixed), ct.problems.double_pendulum().system,
        ct.ScalingBody(ct.Body.box((1, 2, 3))), ct.problems.book().system, ct.problems.kepler().system,
    ]  # fmt: skip
    assert {type(system).__name__ for system in systems} == set(base.SYSTEMS.names())
    run_python(code, *(json.dumps(system.describe()) for system in systems))


def test_a_store_of_a_method_with_another_name_today_opens_but_is_not_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, plain_programs: None
) -> None:
    """EulerA and EulerB once had each other's names, and their descriptions did not say which variable is implicit."""
    path, today = tmp_path / "run.zarr", ct.EulerB()
    with monkeypatch.context() as then:
        then.setattr(ct.EulerB, "describe", lambda method: {"kind": "EulerA"})
        made = start(path, method=today)
    before = contents(path)
    found = ct.open(path)
    assert found.method == today
    assert np.array_equal(found.final.q, made.final.q)
    with pytest.raises(ct.StoreError, match=r"what was called EulerA when this was written is EulerB\(\) today"):
        ct.resume(path, steps=2 * STEPS)
    assert contents(path) == before


def test_a_store_says_which_euler_method_made_it(tmp_path: Path, plain_programs: None) -> None:
    for method, implicit in ((ct.EulerA(), "q"), (ct.EulerB(), "p")):
        path = tmp_path / f"{method.name}.zarr"
        start(path, method=method)
        assert json.loads((path / "zarr.json").read_text())["attributes"]["case"]["method"]["implicit"] == implicit
        assert ct.resume(path, steps=2 * STEPS, progress=False).method == method
    assert is_renamed({"kind": "Composition", "base": {"kind": "EulerA"}, "scheme": "yoshida4"})
    assert not is_renamed(
        {"kind": "Composition", "base": {"kind": "StormerVerlet", "variant": "A"}, "scheme": "yoshida4"}
    )
    with pytest.raises(ct.InputError, match="EulerA has implicit = 'q', not 'p'"):
        method_from({"kind": "EulerA", "implicit": "p"})
