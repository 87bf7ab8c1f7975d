"""A stored ensemble opens in plain xarray, survives kills and full disks to the same bytes, and needs flat memory."""

from __future__ import annotations

import errno
import io
import json
import os
import re
import shutil
import signal
import threading
import time
import tracemalloc
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import catena as ct
from catena.errors import InputError, Interrupted, StoreError
from catena.running.ensembles import Ensemble, StoredEnsemble, following, members, resume_ensemble, running
from catena.running.recording import ROWS_VARIABLE
from catena.store import layout, verify
from processes import boundaries, contents, kill_at, read_plainly, run_python, start_python

KEPLER = ct.problems.kepler().system
RUNAWAY = ct.Hamiltonian("p**2/2 - q**4/4")
MEMBERS = 14  # a commit is 4 members, so the last one is partial
OPTIONS: dict[str, Any] = {
    "method": ct.Splitting(6),
    "dt": 0.05,
    "steps": 10,
    "every": 3,
    "keep": "samples",
    "threads": 2,
}


@pytest.fixture(autouse=True)
def _many_small_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Several commits and chunks, and tasks of three members, which end between commits. Kills need no fsync."""
    monkeypatch.setenv(ROWS_VARIABLE, "4")
    monkeypatch.setattr(layout, "CHUNK_BYTES_AIM", 64)
    monkeypatch.setattr(members, "LARGEST_BATCH", 3)
    monkeypatch.setattr(members, "TASKS_PER_WORKER", 1)
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


def kepler_starts(count: int) -> dict[str, np.ndarray]:
    e = np.linspace(0.0, 0.8, count)
    zero = np.zeros(count)
    return {"q": np.stack([1 - e, zero], axis=1), "p": np.stack([zero, np.sqrt((1 + e) / (1 - e))], axis=1)}


def begin(path: Path | None, *, count: int = MEMBERS, **changes: Any) -> Ensemble:
    return ct.ensemble(KEPLER, kepler_starts(count), **{**OPTIONS, **changes}, out=path)


def go_on(path: Path) -> StoredEnsemble:
    """What a user does after a crash: resume, or begin if nothing was created."""
    return ct.resume(path) if path.exists() else begin(path)


@pytest.mark.parametrize("keep", ["samples", "final", "nothing"])
def test_what_is_stored_is_what_an_ensemble_in_memory_holds(tmp_path, keep):
    """RK4 drifts, so that verdicts differ; 250 steps are enough for them."""
    changes = {"keep": keep, "method": ct.RK4(), "steps": 250, "every": 1}
    here, stored = begin(None, **changes), begin(tmp_path / "many.zarr", **changes)
    assert len(stored) == MEMBERS and stored.finished
    assert str(stored.audit()) == str(here.audit())
    assert {"exact", "drifts"} & set(stored.audit()["energy"].verdicts)
    if keep != "nothing":
        assert stored.final.equals(here.final)
    if keep == "samples":
        assert stored.data.equals(here.data)
        assert stored.data.q.dims == ("member", "time", "dof")


@pytest.mark.parametrize(("count", "steps"), [(8, 1000), (8, 3), (300, 30)])
def test_a_stored_ensemble_takes_little_more_than_its_numbers(count, steps, tmp_path, monkeypatch):
    """Chunks of 0.25 MB for each column, whatever it held, made 14 MB of eight members; 100 kB are for what describes them."""
    monkeypatch.setenv(ROWS_VARIABLE, "30000")  # members of a second
    monkeypatch.setattr(layout, "CHUNK_BYTES_AIM", 2**18)
    many = begin(tmp_path / "many.zarr", count=count, steps=steps, every=1)
    size = sum(file.stat().st_size for file in many.path.rglob("*") if file.is_file())
    assert size < 3 * sum(column.nbytes for column in many._all.data_vars.values()) + 100_000


def test_plain_xarray_opens_it_with_starts_states_and_the_numbers_of_the_audit(tmp_path):
    import xarray

    many = begin(tmp_path / "many.zarr")
    with xarray.open_zarr(tmp_path / "many.zarr") as data:
        assert dict(data.sizes) == {"member": MEMBERS, "time": 4, "dof": 2}
        np.testing.assert_array_equal(data.time, 0.05 * np.array([0, 3, 6, 9]))
        assert set(data.coords) == {"time"}
        for name, values in kepler_starts(MEMBERS).items():
            np.testing.assert_array_equal(data[f"start_{name}"], values)
            np.testing.assert_array_equal(data[name].isel(time=0), values)
        np.testing.assert_array_equal(data.final_q, many.final.q)
        np.testing.assert_array_equal(data.final_time, 0.5)
        worst = np.abs(data.energy - data.start_energy).max("time")
        np.testing.assert_array_equal(data.energy_worst, worst)
        assert (data.steps == 10).all() and (data.status == 0).all()
        assert data.attrs["case"]["run"] == {"dt": 0.05, "every": 3, "steps": 10, "keep": "samples"}
        assert data.attrs["case"]["method"]["order"] == 6
        assert "start" not in data.attrs["case"]


def test_failures_are_stored_and_stop_no_other(tmp_path):
    starts = {"q": [0.01, 2.0, 0.02, 3.0, 0.03], "p": np.zeros(5)}
    options = {"method": ct.RK4(), "dt": 0.05, "steps": 60, "every": 4, "keep": "samples"}
    here, stored = (ct.ensemble(RUNAWAY, starts, **options, out=out) for out in (None, tmp_path / "many.zarr"))
    assert [(f.member, str(f.failure)) for f in stored.failures] == [(f.member, str(f.failure)) for f in here.failures]
    assert [f.member for f in stored.failures] == [1, 3]
    assert stored.final.equals(here.final) and stored.data.equals(here.data)
    assert repr(stored) == repr(here) and repr(stored).endswith("2 failed)")
    assert np.isnan(read_plainly(stored.path)["energy_worst"]).tolist() == [False, True, False, True, False]


def test_stored_final_states_are_starts_of_another_ensemble(tmp_path):
    first = begin(tmp_path / "first.zarr", keep="final")
    options = {name: OPTIONS[name] for name in ("method", "dt", "steps")}
    second = ct.ensemble(KEPLER, first.final, **options, out=tmp_path / "second.zarr")
    np.testing.assert_array_equal(second.final.time, 1.0)
    again = ct.ensemble(KEPLER, {"q": first.final.q, "p": first.final.p, "time": 0.5}, **options)
    np.testing.assert_array_equal(second.final.q, again.final.q)


def test_the_bytes_do_not_depend_on_threads_batches_and_chunks_of_steps(tmp_path, monkeypatch):
    """300 steps, so that drifts are fitted; a start that differs in its last digit is the twin that must differ."""
    changes = {"steps": 300, "every": 1}
    begin(tmp_path / "one.zarr", **changes, threads=1)
    monkeypatch.setattr(following, "FIRST_CHUNK", 33)
    monkeypatch.setattr(members, "LARGEST_BATCH", 5)
    begin(tmp_path / "three.zarr", **changes, threads=3)
    assert contents(tmp_path / "one.zarr") == contents(tmp_path / "three.zarr")
    begin(tmp_path / "other.zarr", **changes | {"dt": np.nextafter(0.05, 1.0)})
    assert contents(tmp_path / "other.zarr") != contents(tmp_path / "one.zarr")


def trouble_of_kills(folder: Path, numbers: Iterable[int], names: list[str]) -> tuple[list[str], set[int]]:
    """Kill the ensemble at boundaries between changes of the disk, read it, resume it: all that went wrong, and lengths met."""
    begin(folder / "whole.zarr")
    whole, reference = contents(folder / "whole.zarr"), read_plainly(folder / "whole.zarr")
    path = folder / "killed" / "many.zarr"
    trouble, lengths = [], set()
    for number in numbers:
        shutil.rmtree(path.parent, ignore_errors=True)
        path.parent.mkdir()
        kill_at(number, lambda: begin(path))
        where = f"killed at {number}, {names[number]}: "
        if path.exists():
            found = read_plainly(path)
            wrong = [
                name for name, array in found.items() if array.tobytes() != reference[name][: len(array)].tobytes()
            ]
            grown = {len(array) for name, array in found.items() if name != "time"}
            lengths |= grown
            if wrong or len(grown) > 1 or verify(path):
                trouble.append(f"{where}wrong values in {wrong}, lengths {grown}, {verify(path)}")
        go_on(path)
        if contents(path) != whole:
            trouble.append(where + "other bytes")
    return trouble, lengths


def test_killed_at_any_moment_it_opens_and_resumes_to_the_same_bytes(tmp_path):
    """A sample of the boundaries between changes of the disk, between all commits; `make slow` takes all of them."""
    names = boundaries(lambda: begin(tmp_path / "counted.zarr"))
    numbers = [*range(len(names) // 4, len(names), len(names) // 9), len(names) - 1]
    assert trouble_of_kills(tmp_path, numbers, names) == ([], {0, 4, 8, 12, 14})


@pytest.mark.slow
def test_killed_at_each_moment_it_opens_and_resumes_to_the_same_bytes(tmp_path):
    names = boundaries(lambda: begin(tmp_path / "counted.zarr"))
    assert trouble_of_kills(tmp_path, range(len(names)), names) == ([], {0, 4, 8, 12, 14})


def test_a_resume_from_other_starts_is_noticed(tmp_path, monkeypatch):
    """Broken twin of the tests of kills."""
    names = boundaries(lambda: begin(tmp_path / "counted.zarr"))
    members_of = running.members_of
    monkeypatch.setattr(
        running, "members_of", lambda *rest: replace(members_of(*rest), z=members_of(*rest).z[::-1].copy())
    )
    trouble, _ = trouble_of_kills(tmp_path, [len(names) * 2 // 3], names)
    assert len(trouble) == 1 and trouble[0].endswith("other bytes")


LONG: dict[str, Any] = {"dt": 0.01, "steps": 20000, "every": 10, "keep": "final", "threads": 1}
LONG_ENSEMBLE = f"""
import sys
import catena as ct
from catena.running.ensembles import members
members.LARGEST_BATCH = 3
kepler = ct.problems.kepler()
starts = {{"q": [kepler.start.q] * 60, "p": [kepler.start.p] * 60}}
ct.ensemble(kepler.system, starts, ct.Splitting(6), **{LONG}, out=sys.argv[1])
"""


def test_killed_from_outside_it_resumes_to_the_same_bytes(tmp_path, monkeypatch):
    whole, path = tmp_path / "whole.zarr", tmp_path / "killed.zarr"
    monkeypatch.setattr(layout, "CHUNK_BYTES_AIM", 2**18)  # as in the other process
    process = start_python(LONG_ENSEMBLE, path)
    try:
        while not (path / ".catena" / "state.1").exists():
            assert process.poll() is None, process.communicate()
            time.sleep(0.01)
    finally:
        process.kill()
        process.communicate()
    assert 0 < len(ct.open(path)) < 60 and not ct.open(path).finished
    assert len(ct.resume(path)) == 60
    start = ct.problems.kepler().start
    ct.ensemble(KEPLER, {"q": [start.q] * 60, "p": [start.p] * 60}, ct.Splitting(6), **LONG, out=whole)
    assert contents(path) == contents(whole)


def test_a_full_disk_ends_in_a_clear_error_and_nothing_is_lost(tmp_path, monkeypatch):
    """Full from some write on, at several places, until the user frees some space."""
    begin(tmp_path / "whole.zarr")
    whole, write, written = contents(tmp_path / "whole.zarr"), os.write, []
    monkeypatch.setattr(os, "write", lambda *arguments: written.append(1) or write(*arguments))
    begin(tmp_path / "counted.zarr")
    threads = threading.active_count()
    for room in range(3, len(written), len(written) // 6):
        left = iter(range(room))

        def full(descriptor: int, data: bytes, left: Any = left) -> int:
            if next(left, None) is None:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return write(descriptor, data)

        path = tmp_path / f"{room}.zarr"
        monkeypatch.setattr(os, "write", full)
        with pytest.raises(StoreError, match=r"the disk is full\n.*\n.*free some space") as stop:
            begin(path)
        assert stop.value.do.endswith("everything committed is kept" if path.exists() else "nothing was begun")
        monkeypatch.setattr(os, "write", write)
        assert threading.active_count() == threads
        go_on(path)
        assert contents(path) == whole


@pytest.mark.slow
def test_memory_does_not_grow_with_the_number_of_members(tmp_path, monkeypatch):
    """Samples of 10 kB for each member: 3.8 MB more in memory, but not more than their starts (0.1 kB each) if stored."""
    monkeypatch.setenv(ROWS_VARIABLE, "32")
    monkeypatch.setattr(members, "BATCH_BYTES", 2**17)
    monkeypatch.setattr(members, "WAITING_BYTES", 2**18)

    def peak(path: Path | None, count: int) -> int:
        tracemalloc.start()
        begin(path, count=count, steps=200, every=1, threads=1)
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    peak(tmp_path / "warm.zarr", 64)  # imports
    stored = peak(tmp_path / "many.zarr", 512) - peak(tmp_path / "some.zarr", 128)
    assert stored < 0.4e6
    assert peak(None, 512) - peak(None, 128) > 3.5e6


def test_an_interrupt_says_how_to_go_on(tmp_path, interruptible, monkeypatch):
    """The interrupt comes when two commits are made; the threads are gone, and the rest is done later."""
    threads, commit = threading.active_count(), running.Store.commit

    def interrupting(store: Any, **what: Any) -> None:
        commit(store, **what)
        if what["step"] == 8:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(running.Store, "commit", interrupting)
    with pytest.raises(Interrupted, match=r"stopped after 8 of 14 members; continue with ct.resume\(") as caught:
        begin(tmp_path / "many.zarr")
    assert threading.active_count() == threads
    assert len(caught.value.run) == 8 and not caught.value.run.finished
    assert "8 members" in repr(caught.value.run)
    monkeypatch.undo()
    told: list[tuple[int, ...]] = []
    done = resume_ensemble(tmp_path / "many.zarr", threads=1, progress=lambda *numbers: told.append(numbers))
    assert done.data.equals(begin(None).data)
    assert told[0][2] >= 8 and told[-1] == (140, 140, 14, 0)


def test_a_finished_ensemble_is_opened_and_never_overwritten_or_extended(tmp_path):
    path = tmp_path / "many.zarr"
    begin(path)
    before = contents(path)
    assert ct.resume(path).final.equals(ct.open(path).final)
    with pytest.raises(StoreError, match=r"many.zarr exists; nothing is ever overwritten"):
        begin(path)
    with pytest.raises(InputError, match="an ensemble cannot be made longer"):
        ct.resume(path, steps=100)
    with pytest.raises(InputError, match="7 is not a path"):
        begin(7)  # type: ignore[arg-type]
    assert contents(path) == before


def test_before_the_first_commit_there_are_no_members_and_all_can_be_resumed(tmp_path):
    names, path = boundaries(lambda: begin(tmp_path / "whole.zarr")), tmp_path / "many.zarr"
    kill_at(names.index("renamed whole.zarr") + 3, lambda: begin(path))
    empty = ct.open(path)
    assert (len(empty), empty.planned, empty.finished, empty.failures) == (0, MEMBERS, False, [])
    assert empty.final.sizes["member"] == 0 and empty.data.q.shape == (0, 4, 2)
    assert "0 members" in repr(empty) and empty.audit()["energy"].verdicts == {}
    assert "0 of 14 done" in shown(path)
    assert read_plainly(path)["q"].shape == (0, 4, 2)
    ct.resume(path)
    assert contents(path) == contents(tmp_path / "whole.zarr")


@pytest.mark.parametrize("damage", ["flipped", "missing", "foreign"])
def test_damaged_starts_are_found(tmp_path, damage):
    path, other = tmp_path / "many.zarr", tmp_path / "other.zarr"
    names = boundaries(lambda: begin(other, dt=0.06))
    kill_at(len(names) // 2, lambda: begin(path))
    given = path / ".catena" / "given"
    if damage == "flipped":
        data = bytearray(given.read_bytes())
        data[-100] ^= 1
        given.write_bytes(data)
    elif damage == "missing":
        given.unlink()
    else:
        shutil.copy(other / ".catena" / "given", given)
    message = {"flipped": "fails its checksum", "missing": "is missing", "foreign": "belongs to another run"}[damage]
    assert verify(path) == [f"given {message}"]
    with pytest.raises(StoreError, match=f"given {message}"):
        ct.resume(path)
    with pytest.raises(StoreError, match="damaged: given"):
        ct.open(path)


@pytest.mark.parametrize("command", ["view", "export", "cite"])
def test_commands_for_runs_say_what_it_is(tmp_path, command):
    from typer.testing import CliRunner

    from catena.cli.main import app

    begin(tmp_path / "many.zarr", count=4)
    before = contents(tmp_path)
    further = {"export": [str(tmp_path / "a.csv")]}.get(command, [])
    result = CliRunner().invoke(app, [command, str(tmp_path / "many.zarr"), *further])
    assert isinstance(result.exception, InputError) or result.exit_code == 2
    assert "stored ensemble" in f"{result.output}{result.exception}"
    assert contents(tmp_path) == before


def shown(path: Path, *options: str) -> str:
    from typer.testing import CliRunner

    from catena.cli.main import app

    result = CliRunner().invoke(app, ["info", str(path), *options], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_info_tells_members_failures_and_the_audit(tmp_path):
    """Two of five run away; of the others energy and its drift are judged, as the ensemble itself does."""
    starts = {"q": [0.01, 2.0, 0.02, 3.0, 0.03], "p": np.zeros(5)}
    path = tmp_path / "many.zarr"
    many = ct.ensemble(RUNAWAY, starts, ct.RK4(), dt=0.05, steps=60, every=4, out=path)
    told = shown(path, "--check")
    assert "members     5, all done\n" in told and "steps       60 of each, looked at every 4 steps\n" in told
    assert (
        "failed      2\n" in told
        and f"member 1: {many.failures[0].failure.wrong}, step {many.failures[0].failure.step}" in told
    )
    assert str(many.audit()) in told
    json_told = json.loads(shown(path, "--json"))
    assert (json_told["members"], json_told["planned_members"], json_told["finished"]) == (5, 5, True)
    assert [failure["member"] for failure in json_told["failures"]] == [1, 3]
    assert json_told["audit"]["energy"]["worst"] == many.audit()["energy"].worst
    assert json_told["case"]["method"]["kind"] == "RK4"


def test_info_tells_how_to_go_on_with_an_ensemble_that_was_killed(tmp_path):
    names, path = boundaries(lambda: begin(tmp_path / "whole.zarr")), tmp_path / "many.zarr"
    kill_at(len(names) * 2 // 3, lambda: begin(path))
    done = len(ct.open(path))
    assert 0 < done < MEMBERS
    assert f"members     {done} of 14 done: `catena resume {path}` follows the rest\n" in shown(path)
    assert json.loads(shown(path, "--json"))["finished"] is False


def test_many_failures_are_counted_not_listed(tmp_path):
    path = tmp_path / "many.zarr"
    ct.ensemble(RUNAWAY, {"q": np.full(9, 3.0), "p": np.zeros(9)}, ct.RK4(), dt=0.05, steps=60, out=path)
    told = shown(path)
    assert re.findall(r"member (\d): ", told) == list("01234") and "and 4 more\n" in told and "failed      9\n" in told


def test_an_audit_of_an_ensemble_is_a_table_on_a_terminal_and_in_a_notebook():
    from rich.console import Console

    audit = begin(None, steps=250, every=1).audit()
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(audit)
    text = console.export_text()
    for row in audit:
        assert row.quantity in text and f"{row.worst:.3e}" in text
        assert f"<td>{row.worst:.3e}</td>" in audit._repr_html_()


ORBITS = """
import sys
import numpy as np
import catena as ct

def resident():
    with open("/proc/self/statm") as numbers:
        return 4096 * int(numbers.read().split()[1])

def follow(members, out):
    e = np.linspace(0.0, 0.8, members)
    starts = {"q": np.stack([1 - e, 0 * e], axis=1), "p": np.stack([0 * e, np.sqrt((1 + e) / (1 - e))], axis=1)}
    before, seen = resident(), []
    many = ct.ensemble(ct.problems.kepler(), starts, ct.Splitting(6), steps=4, every=4, out=out, progress=lambda *at: seen.append(resident()))
    assert len(many) == members
    return max(seen) - before

follow(1000, sys.argv[2] + "/warm.zarr")
print(follow(int(sys.argv[1]), sys.argv[2] + "/many.zarr"))
"""


@pytest.mark.slow
@pytest.mark.skipif(
    not Path("/proc/self/statm").exists(), reason="the system does not tell how much memory a process has"
)
def test_a_million_orbits_take_no_more_memory_than_their_starts(tmp_path, monkeypatch):
    """Measured 97 bytes each; 64 are told in the pages, and what came out, 248 bytes each, is in the store."""
    monkeypatch.delenv(ROWS_VARIABLE, raising=False)  # few to a commit take long
    (tmp_path / "few").mkdir()
    few, many = (int(run_python(ORBITS, count, tmp_path / name)[0]) for count, name in ((10**5, "few"), (10**6, "")))
    assert many - few < 120 * 900_000
