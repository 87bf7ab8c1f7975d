"""A store that is renamed while it is written: the writer stops, and neither it nor what is made under its old name is harmed."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import toy_run

import catena as ct
from catena.errors import Interrupted, StoreError
from catena.running.recording import ROWS_VARIABLE
from catena.store import Store, files, layout, verify
from processes import wait_for

pytestmark = pytest.mark.usefixtures("small_chunks")

MOVED = r"the store was moved or renamed while it was written\n  at .*run\.zarr\n  do: resume it under its new name"


@pytest.fixture(autouse=True)
def _no_fsync(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


@pytest.fixture
def whole(tmp_path: Path) -> dict[str, str]:
    """The files of the run that nothing happened to."""
    toy_run.run(tmp_path / "whole.zarr")
    return toy_run.contents(tmp_path / "whole.zarr")


def move_after(number: int, move: Callable[[], object], action: Callable[[], object]) -> None:
    """Do something, and move its store away right after a file of it was written."""
    written = iter(range(number + 1))

    def hook(name: str) -> None:
        if name.startswith("synchronised ") and next(written, None) == number:
            files.boundary_hook = None  # what else is written may have boundaries of its own
            move()

    files.boundary_hook = hook
    try:
        action()
    finally:
        files.boundary_hook = None


def replaced(path: Path, old: Path, rows: int) -> None:
    """Rename a store and make another one under its name, which goes on at once."""
    path.rename(old)
    toy_run.run(path, stop=rows)


def check_renames(folder: Path, numbers: range, *, rows: int, whole: dict[str, str]) -> None:
    """Rename a store in its second commit after so many steps of bringing it to the disk; another one stands under its name at once."""
    path, old = folder / "run.zarr", folder / "old.zarr"
    toy_run.run(path, stop=4)
    shutil.copytree(path, folder / "begun.zarr")
    toy_run.run(folder / "fresh.zarr", stop=rows)
    fresh, stopped = toy_run.contents(folder / "fresh.zarr"), 0
    for number in numbers:
        for used in (path, old):
            shutil.rmtree(used, ignore_errors=True)
        shutil.copytree(folder / "begun.zarr", path)
        try:
            move_after(number, partial(replaced, path, old, rows), partial(toy_run.run, path))
        except StoreError as refusal:
            stopped += "moved or renamed" in str(refusal)
        assert toy_run.contents(path) == fresh, number
        assert verify(path) == verify(old) == [], number
        for store in (path, old):
            toy_run.run(store)
            assert toy_run.contents(store) == whole, (number, store)
    assert stopped > len(numbers) // 2


def test_a_store_renamed_while_it_commits_harms_nothing(tmp_path: Path, whole: dict[str, str]) -> None:
    check_renames(tmp_path, range(10, 26, 2), rows=8, whole=whole)


@pytest.mark.slow
@pytest.mark.parametrize("rows", [0, 8, toy_run.ROWS])
def test_a_store_renamed_between_any_two_files_of_it_harms_nothing(
    rows: int, tmp_path: Path, whole: dict[str, str]
) -> None:
    check_renames(tmp_path, range(6, 40), rows=rows, whole=whole)


def test_without_looking_the_next_store_is_corrupt(
    tmp_path: Path, whole: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The broken twin."""
    monkeypatch.setattr(Store, "require_in_place", lambda store: None)
    path, old = tmp_path / "run.zarr", tmp_path / "old.zarr"
    toy_run.run(path, stop=4)
    move_after(8, partial(replaced, path, old, 4), partial(toy_run.run, path))
    assert verify(path) or toy_run.contents(path) != whole


def test_a_store_that_was_renamed_is_not_made_again_at_its_old_place(tmp_path: Path) -> None:
    path, old = tmp_path / "run.zarr", tmp_path / "old.zarr"
    toy_run.run(path, stop=4)
    with pytest.raises(StoreError, match=MOVED):
        move_after(8, lambda: path.rename(old), partial(toy_run.run, path))
    assert not path.exists()
    store, checkpoint = Store.reopen(old)
    store.close()
    assert checkpoint is not None and checkpoint.step >= 4


def test_a_lock_taken_while_the_store_is_renamed_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between opening the lock file and locking it."""
    path, old = tmp_path / "run.zarr", tmp_path / "old.zarr"
    toy_run.run(path, stop=4)
    lock = files.fcntl.flock

    def slow(descriptor: int, operation: int) -> None:
        if path.exists():
            path.rename(old)
            wait_for(partial(toy_run.run, path, stop=4))
        lock(descriptor, operation)

    with monkeypatch.context() as then:
        then.setattr(files.fcntl, "flock", slow)
        with pytest.raises(StoreError, match=r"moved just now[\s\S]*try again"):
            Store.reopen(path)
    Store.reopen(old)[0].close()
    assert verify(old) == []


def in_the_middle(path: Path, action: Callable[[], object]) -> Callable[..., None]:
    """Something that happens once, when a run shows its progress and has committed."""
    done: list[int] = []

    def progress(step: int, *others: object) -> None:
        if step > 20 and not done:
            done.append(step)
            action()

    return progress


@pytest.fixture
def commits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ROWS_VARIABLE, "16")
    monkeypatch.setattr(layout, "CHUNK_BYTES_AIM", 64)
    monkeypatch.setattr(layout, "CHUNK_BYTES_LIMIT", 2**20)


def test_two_runs_of_which_one_took_the_name_of_the_other_are_both_right(tmp_path: Path, commits: None) -> None:
    path, old = tmp_path / "run.zarr", tmp_path / "old.zarr"
    run = partial(ct.simulate, ct.problems.harmonic(), method=ct.Gauss(2), dt=0.1, steps=200)
    right = run(out=tmp_path / "right.zarr", progress=False).data.load()

    def replace() -> None:
        path.rename(old)
        run(out=path, progress=False)

    with pytest.raises(StoreError, match=MOVED):
        run(out=path, progress=in_the_middle(path, replace))
    assert ct.open(path).data.equals(right)
    assert ct.resume(old, progress=False).data.equals(right)


@pytest.mark.parametrize("replace", [True, False])
def test_an_interrupted_run_that_was_renamed_is_not_taken_for_another(
    replace: bool, tmp_path: Path, commits: None
) -> None:
    path, old = tmp_path / "run.zarr", tmp_path / "old.zarr"
    run = partial(ct.simulate, ct.problems.harmonic(), method=ct.Gauss(2), dt=0.1, steps=200)

    def move() -> None:
        path.rename(old)
        if replace:
            run(out=path, progress=False)
        for _ in range(2):  # at once, not at the next commit
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(StoreError, match=MOVED):
        run(out=path, progress=in_the_middle(path, move))
    assert ct.resume(old, progress=False).steps == 200


def test_an_ensemble_that_was_renamed_stops(tmp_path: Path, commits: None) -> None:
    path, old = tmp_path / "run.zarr", tmp_path / "old.zarr"
    starts = {"q": np.linspace(0.1, 1.0, 60), "p": np.zeros(60)}
    run = partial(ct.ensemble, ct.problems.harmonic(), starts, ct.Gauss(2), steps=5, threads=1)
    right = run(out=tmp_path / "right.zarr").final
    commit = Store.commit
    moved: list[bool] = []

    def move_first(self: Store, **arguments: object) -> None:
        if arguments["step"] == 32 and not moved:
            moved.append(True)
            path.rename(old)
            run(out=path)
        commit(self, **arguments)  # type: ignore[arg-type]

    with pytest.MonkeyPatch.context() as then:
        then.setattr(Store, "commit", move_first)
        with pytest.raises(StoreError, match=MOVED):
            run(out=path)
    assert ct.open(path).final.equals(right)
    assert len(ct.open(old)) == 16
    assert ct.resume(old).final.equals(right)


def test_an_interrupted_ensemble_that_was_renamed_is_not_taken_for_another(tmp_path: Path, commits: None) -> None:
    path, old = tmp_path / "run.zarr", tmp_path / "old.zarr"
    starts = {"q": np.linspace(0.1, 1.0, 60), "p": np.zeros(60)}
    run = partial(ct.ensemble, ct.problems.harmonic(), starts, ct.Gauss(2), steps=5, threads=1)
    commit = Store.commit

    def interrupt(self: Store, **arguments: object) -> None:
        commit(self, **arguments)  # type: ignore[arg-type]
        path.rename(old)
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as then:
        then.setattr(Store, "commit", interrupt)
        with pytest.raises(StoreError, match=MOVED):
            run(out=path)
    assert len(ct.open(old)) == 16


def test_an_interrupted_run_in_its_place_says_how_to_go_on(tmp_path: Path, commits: None) -> None:
    """The twin of the renamed ones."""
    path = tmp_path / "run.zarr"

    def press() -> None:
        for _ in range(2):
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(Interrupted, match="continue with"):
        ct.simulate(
            ct.problems.harmonic(), method=ct.Gauss(2), dt=0.1, steps=200, out=path, progress=in_the_middle(path, press)
        )
