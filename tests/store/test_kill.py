"""A run killed at any moment is readable at once and resumes to the bytes of the uninterrupted run."""

from __future__ import annotations

import os
import random
import shutil
import signal
import time
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path

import pytest
import toy_run
from trouble import files_after_each_commit, reader_trouble, trouble_of_resuming

from catena.store import Store, files, read_checkpoint, writing
from catena.store.layout import ROOT_METADATA
from processes import boundaries, kill_at, spawn, wait_for

pytestmark = pytest.mark.usefixtures("small_chunks")


@pytest.fixture(autouse=True)
def _no_fsync(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kill of the process leaves the page cache alone, so fsync changes nothing but the time of these tests."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


def trouble_of_kills(folder: Path, numbers: Iterable[int] | None = None) -> Iterator[str]:
    """Kill a run at boundaries (default: each), read it, resume it: what went wrong, one after the other."""
    names = boundaries(partial(toy_run.run, folder / "counted.zarr"))
    snapshots, values = files_after_each_commit(folder / "whole.zarr"), toy_run.expected(toy_run.ROWS)
    path = folder / "killed" / "run.zarr"
    for number in range(len(names)) if numbers is None else numbers:
        path.parent.mkdir()
        kill_at(number, partial(toy_run.run, path))
        if wrong := reader_trouble(path, values) or trouble_of_resuming(path, snapshots):
            yield f"killed at {number}, {names[number]}: {wrong}"
        shutil.rmtree(path.parent)


def test_a_run_killed_at_boundaries_opens_and_resumes_to_the_same_bytes(tmp_path: Path) -> None:
    """Every ninth of them; all in the slow test."""
    count = len(boundaries(partial(toy_run.run, tmp_path / "numbered.zarr")))
    assert list(trouble_of_kills(tmp_path, range(0, count, 9))) == []


@pytest.mark.slow
def test_a_run_killed_at_every_boundary_opens_and_resumes_to_the_same_bytes(tmp_path: Path) -> None:
    assert list(trouble_of_kills(tmp_path)) == []


def test_the_boundaries_include_half_written_files_of_every_kind(tmp_path: Path) -> None:
    names = set(boundaries(lambda: toy_run.run(tmp_path / "run.zarr")))
    for name in ("spec.json", "zarr.json", "state.0", "state.1", "0", "1"):
        assert {f"half of .{name}.tmp", f"all of .{name}.tmp", f"renamed {name}"} <= names


def written_in_place(path: Path, data: bytes, *check: object) -> None:
    """The wrong `put`: readers see files half written."""
    files.make_directory(path.parent)
    with path.open("wb") as file:
        file.write(data[: len(data) // 2])
        file.flush()
        files._boundary("half")
        file.write(data[len(data) // 2 :])
    files._boundary("all")


def root_first(self: Store, **arguments: object) -> None:
    """The wrong order of a commit: the root metadata tells of rows that are not there yet."""
    rows = {stream.name: self.rows(stream.name) for stream in self.streams}
    files.put(self._path / ROOT_METADATA, self._layout.root_file(rows))
    right_commit(self, **arguments)


right_commit = Store.commit


def chunks_last(path: Path, data: bytes, *check: object) -> None:
    """Another wrong order: the checkpoint counts rows whose chunks are not there yet."""
    if "c" in path.parts:
        held_back[path] = data
        return
    files.put(path, data)
    if path.name == ROOT_METADATA:
        while held_back:
            files.put(*held_back.popitem())


held_back: dict[Path, bytes] = {}


BROKEN = {
    "files written in place": (writing, "put", written_in_place),
    "root before chunks": (Store, "commit", root_first),
    "checkpoint before chunks": (writing, "put", chunks_last),
    "no clearing up": (Store, "_roll_back", lambda self: None),
}


@pytest.mark.parametrize("name", BROKEN)
@pytest.mark.slow
def test_the_kills_find_a_broken_protocol(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every seventh boundary is enough to find each of these; the first find ends the search."""
    count = len(boundaries(partial(toy_run.run, tmp_path / "whole.zarr")))
    monkeypatch.setattr(*BROKEN[name])
    broken = tmp_path / "broken"
    broken.mkdir()
    assert next(trouble_of_kills(broken, range(3, count // 2, 7)), None)


@pytest.mark.parametrize("every", [7, pytest.param(1, marks=pytest.mark.slow)])
def test_a_resume_killed_at_a_boundary_resumes_to_the_same_bytes(tmp_path: Path, every: int) -> None:
    """Resuming clears up after the first kill; the second kill hits that, and the commit after it."""
    whole = tmp_path / "whole.zarr"
    names = boundaries(partial(toy_run.run, whole))
    reference, values = toy_run.contents(whole), toy_run.expected(toy_run.ROWS)
    second_commit = names.index("renamed state.1")
    first_kills = {
        "between checkpoint and root": second_commit,
        "after chunks beyond the checkpoint": second_commit - 2,
        "after the last checkpoint": max(k for k, name in enumerate(names) if name.startswith("renamed state.")),
        "in the last file": len(names) - 3,
        "in a chunk": names.index("half of .1.tmp"),
    }
    killed, copy = tmp_path / "killed.zarr", tmp_path / "copy.zarr"
    for reason, number in first_kills.items():
        kill_at(number, partial(toy_run.run, killed))
        shutil.copytree(killed, copy)
        count = len(boundaries(partial(toy_run.run, copy)))
        assert count > 3
        for again in range(0, min(count, 30), every):
            shutil.rmtree(copy)
            shutil.copytree(killed, copy)
            kill_at(again, partial(toy_run.run, copy))
            assert reader_trouble(copy, values) == "", (reason, again)
            toy_run.run(copy)
            assert toy_run.contents(copy) == reference, (reason, again)
        shutil.rmtree(copy)
        shutil.rmtree(killed)


def kill_from_outside(path: Path, *, rows: int, pause: float, dice: random.Random) -> int:
    """Start, kill after a random time, resume, until the run is done: how often it was killed."""
    values = toy_run.expected(rows)
    kills = 0
    while True:
        pid = spawn(partial(toy_run.run, path, rows=rows))
        time.sleep(dice.uniform(0.0, pause))
        os.kill(pid, signal.SIGKILL)
        if not os.WIFSIGNALED(os.waitpid(pid, 0)[1]):
            return kills
        kills += 1
        pause *= 1.05  # a machine that became busy must get through in the end
        assert reader_trouble(path, values) == ""


def check_kills_from_outside(folder: Path, *, rows: int, kills: int) -> None:
    whole = folder / "whole.zarr"
    start = time.perf_counter()
    assert wait_for(partial(toy_run.run, whole, rows=rows)) == 0
    duration = time.perf_counter() - start
    path = folder / "killed.zarr"
    assert kill_from_outside(path, rows=rows, pause=3 * duration / kills, dice=random.Random(1)) >= kills // 10
    shutil.rmtree(folder / ".killed.zarr.creating", ignore_errors=True)
    assert toy_run.contents(path) == toy_run.contents(whole)


@pytest.mark.slow
def test_a_run_killed_at_random_moments_from_outside_resumes_to_the_same_bytes(tmp_path: Path) -> None:
    check_kills_from_outside(tmp_path, rows=402, kills=20)


def looks_at_work(path: Path, rows: int) -> int:
    """How often a run was seen while another process committed its rows as fast as it could, opened and verified each time."""
    values = toy_run.expected(rows)
    pid = spawn(partial(toy_run.run, path, rows=rows))
    looked = 0
    while (ended := os.waitpid(pid, os.WNOHANG)) == (0, 0):
        assert reader_trouble(path, values) == ""
        checkpoint = read_checkpoint(path) if path.exists() else None
        looked += checkpoint is not None and not checkpoint.finished
    assert ended == (pid, 0)
    assert len(toy_run.read(path)["time"]) == rows
    return looked


def test_readers_of_a_run_at_work_never_stumble(tmp_path: Path) -> None:
    """Again and again, in longer and longer runs where readers come to little on a machine that is busy."""
    assert any(looks_at_work(tmp_path / f"{rows}.zarr", rows) > 1 for rows in (602, 1202, 2402, 4802))


@pytest.mark.slow
def test_a_long_run_killed_two_hundred_times_resumes_to_the_same_bytes(tmp_path: Path) -> None:
    check_kills_from_outside(tmp_path, rows=10_002, kills=200)
