"""A machine that loses its power while a run is written: the store opens, has all that was promised, and resumes to the same bytes."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import toy_run
from power_loss import FATES, Disk, Fate, Killed, Promise, Tree, by_chance, lay_out, remains
from trouble import files_after_each_commit, reader_trouble, trouble_of_resuming

from catena.store import Store, files, read_checkpoint, writing

pytestmark = pytest.mark.usefixtures("small_chunks")

ROWS = 34  # nine commits, the last of them partial


def record(disk: Disk, path: Path) -> None:
    """Run the toy with all its changes of the disk, and what the store promised, noted."""
    commit, create = Store.commit, Store.create.__func__  # type: ignore[attr-defined]

    def committed(self: Store, **arguments: Any) -> None:
        commit(self, **arguments)
        disk.promise(arguments["step"])

    def created(cls: type[Store], *arguments: Any, **options: Any) -> Store:
        store = create(cls, *arguments, **options)
        disk.promise(0)
        return store

    with pytest.MonkeyPatch.context() as patch, disk.watched():
        patch.setattr(Store, "commit", committed)
        patch.setattr(Store, "create", classmethod(created))
        toy_run.run(path, rows=ROWS)


def losses(
    disk: Disk, *, seeds: int = 0, moments: Iterable[int] | None = None
) -> Iterator[tuple[str, Tree, int | None]]:
    """What may remain after a loss of power at each moment, each possibility once: what it is, the files, the rows promised."""
    seen = set()
    fates: dict[str, Fate] = FATES | {f"by chance, {seed}": by_chance(seed) for seed in range(seeds)}
    for moment in range(len(disk.log) + 1) if moments is None else moments:
        for name, fate in fates.items():
            tree, promised = remains(disk, moment, fate)
            if (repr(tree), promised) not in seen:
                seen.add((repr(tree), promised))
                yield f"after change {moment}, {name}", tree, promised


def trouble_of_losses(folder: Path, cases: Iterable[tuple[str, Tree, int | None]]) -> Iterator[str]:
    """Lay out what remains, read it, resume it: all that goes wrong."""
    with no_flushes():
        snapshots, values = files_after_each_commit(folder / "whole.zarr", ROWS), toy_run.expected(ROWS)
        place = folder / "remains"
        for name, tree, promised in cases:
            lay_out(tree, place)
            if wrong := _trouble(place / "run.zarr", snapshots, values, promised):
                yield f"{name}: {wrong}"
            shutil.rmtree(place)


def _trouble(path: Path, snapshots: Any, values: Any, promised: int | None) -> str:
    if promised is not None and not path.exists():
        return "the store is gone"
    if wrong := reader_trouble(path, values):
        return wrong
    if promised:
        checkpoint = read_checkpoint(path)
        if checkpoint is None or checkpoint.step < promised:
            return f"{promised} rows were promised"
    return trouble_of_resuming(path, snapshots)


@contextmanager
def no_flushes() -> Iterator[None]:
    """What is laid out is looked at by this process, so fsync would only take time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        yield


@pytest.fixture
def disk(tmp_path: Path) -> Disk:
    """The changes of a whole run."""
    folder = tmp_path / "disk"
    folder.mkdir()
    disk = Disk(folder)
    record(disk, folder / "run.zarr")
    return disk


def test_the_disk_that_lost_nothing_is_the_disk(disk: Disk, tmp_path: Path) -> None:
    """Everything is flushed at the end, so whatever chance says is kept; and the simulated files are the real ones."""
    for fate in FATES.values():
        tree, promised = remains(disk, len(disk.log), fate)
        assert promised == ROWS
        lay_out(tree, tmp_path / "copy")
        assert toy_run.contents(tmp_path / "copy") == toy_run.contents(disk.folder)
        shutil.rmtree(tmp_path / "copy")


def test_a_run_that_lost_power_opens_and_resumes_to_the_same_bytes(disk: Disk, tmp_path: Path) -> None:
    """Forty of the possibilities; all of them in the slow test."""
    cases = list(losses(disk))
    assert list(trouble_of_losses(tmp_path, cases[:: len(cases) // 40])) == []


@pytest.mark.slow
def test_a_run_that_lost_power_at_any_moment_opens_and_resumes_to_the_same_bytes(disk: Disk, tmp_path: Path) -> None:
    cases = list(losses(disk, seeds=20))
    assert len(cases) >= 500
    assert list(trouble_of_losses(tmp_path, cases)) == []


def killed_and_resumed(folder: Path, death: int) -> tuple[Disk, int]:
    """A run that was killed after so many changes and then resumed, and the number of changes until then."""
    folder.mkdir()
    disk = Disk(folder, death=death)
    with pytest.raises(Killed):
        record(disk, folder / "run.zarr")
    disk.death = None
    before = len(disk.log)
    record(disk, folder / "run.zarr")
    return disk, before


@pytest.mark.slow
def test_a_run_that_was_killed_resumed_and_then_lost_power_resumes_to_the_same_bytes(
    disk: Disk, tmp_path: Path
) -> None:
    """What the killed process had not flushed yet is on no disk, but the one that goes on sees it: in its first changes.

    Killed in the second commit and in the last one, which also writes the metadata of the arrays.
    """
    promises = [number for number, entry in enumerate(disk.log) if isinstance(entry, Promise)]
    for death in (*range(promises[1] + 1, promises[2], 5), *range(promises[-2] + 1, promises[-1])):
        twice, before = killed_and_resumed(tmp_path / f"killed {death}", death)
        moments = range(before, min(before + 30, len(twice.log) + 1))
        folder = tmp_path / f"cases {death}"
        folder.mkdir()
        cases = list(losses(twice, moments=moments))
        assert list(trouble_of_losses(folder, cases[:: max(1, len(cases) // 8)])) == [], death


def without_data(path: Path, data: bytes, *check: object) -> None:
    """A `put` that renames what it has not flushed: names without data."""
    fsync = os.fsync
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        files.make_directory(path.parent)
        files._write(files.temporary_of(path), data)
    files.temporary_of(path).replace(path)
    assert os.fsync is fsync
    files.sync_directory(path.parent)


def nothing(*arguments: Any) -> None:
    pass


def made_only(path: Path) -> None:
    """A `make_directory` that does not flush the one above."""
    path.mkdir(parents=True, exist_ok=True)


BROKEN: dict[str, tuple[Any, str, Callable[..., None]]] = {
    "data are not flushed": (writing, "put", without_data),
    "no directory is flushed": (files, "sync_directory", nothing),
    "new directories are not flushed": (files, "make_directory", made_only),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_flush_that_is_left_out_is_found(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "disk"
    folder.mkdir()
    disk = Disk(folder)
    with monkeypatch.context() as broken:
        broken.setattr(*BROKEN[name])
        record(disk, folder / "run.zarr")
    promises = [number + 1 for number, entry in enumerate(disk.log) if isinstance(entry, Promise)]
    assert next(trouble_of_losses(tmp_path, losses(disk, moments=promises)))
