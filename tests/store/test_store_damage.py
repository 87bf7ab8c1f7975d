"""Whatever is wrong with a store, the error says what and what to do, and nothing on the disk is changed."""

from __future__ import annotations

import errno
import json
import os
import random
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import toy_run

from catena.errors import StoreError
from catena.store import Store, files, layout, read_checkpoint, read_spec, verify
from processes import spawn

pytestmark = pytest.mark.usefixtures("small_chunks")


@pytest.fixture
def stopped(tmp_path: Path) -> Path:
    """A run with two commits: two states, full chunks of position, a partial one of the crossing times."""
    path = tmp_path / "run.zarr"
    toy_run.run(path, stop=8)
    return path


@pytest.fixture
def finished(tmp_path: Path) -> dict[str, str]:
    """The files of the run that nothing happened to."""
    toy_run.run(tmp_path / "whole.zarr")
    return toy_run.contents(tmp_path / "whole.zarr")


def refused(action: Callable[[], object], path: Path, *, message: str) -> None:
    """The action ends in a StoreError that advises, and leaves every file as it was."""
    before = toy_run.contents(path.parent)
    with pytest.raises(StoreError, match=message) as caught:
        action()
    assert toy_run.contents(path.parent) == before
    lines = str(caught.value).splitlines()
    assert len(lines) <= 4
    assert lines[-1].startswith("  do: ")


def create(path: Path) -> Store:
    return Store.create(path, spec={}, attributes={}, streams=toy_run.STREAMS, rows_per_commit=4)


def flip(path: Path, position: int) -> None:
    data = bytearray(path.read_bytes())
    data[position] ^= 1
    path.write_bytes(data)


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def test_creation_never_overwrites(stopped: Path, tmp_path: Path) -> None:
    foreign, empty, file, dangling = (tmp_path / name for name in ("foreign", "empty", "file", "link"))
    foreign.mkdir()
    (foreign / "thesis.tex").write_text("years of work")
    empty.mkdir()
    file.write_text("")
    dangling.symlink_to(tmp_path / "nowhere")
    for path in (foreign, empty, file, dangling):
        refused(lambda path=path: create(path), path, message="exists.*\n.*\n.*move it away")
    refused(lambda: create(stopped), stopped, message="exists.*\n.*\n.*resume it")
    refused(lambda: create(tmp_path / "no" / "run.zarr"), stopped, message="no directory")


def test_what_a_killed_creation_left_is_cleared_away(tmp_path: Path) -> None:
    left = tmp_path / ".run.zarr.creating"
    (left / ".catena").mkdir(parents=True)
    (left / "another_array").mkdir()
    (left / "another_array" / ".zarr.json.tmp").write_text("{")
    create(tmp_path / "run.zarr").close()
    create(tmp_path / "fresh.zarr").close()
    assert toy_run.contents(tmp_path / "run.zarr") == toy_run.contents(tmp_path / "fresh.zarr")
    assert {path.name for path in tmp_path.iterdir()} == {"run.zarr", "fresh.zarr"}


def test_foreign_and_missing_stores_are_recognised(tmp_path: Path) -> None:
    foreign, file = tmp_path / "foreign.zarr", tmp_path / "file.zarr"
    foreign.mkdir()
    (foreign / "zarr.json").write_text("{}")
    file.write_text("")
    actions: tuple[Callable[[Path], object], ...] = (Store.reopen, read_spec, read_checkpoint, verify)
    for action in actions:
        for path, message in ((foreign, "not a run store"), (file, "not a run store"), (tmp_path / "none", "no run")):
            refused(lambda action=action, path=path: action(path), path, message=message)


def test_a_store_has_one_writer_and_any_number_of_readers(stopped: Path) -> None:
    ready, go = os.pipe(), os.pipe()

    def hold() -> None:
        store, _ = Store.reopen(stopped)
        os.write(ready[1], b"x")
        os.read(go[0], 1)
        store.close()

    pid = spawn(hold)
    os.read(ready[0], 1)
    try:
        refused(lambda: Store.reopen(stopped), stopped, message="another process")
        assert verify(stopped) == []
        assert read_checkpoint(stopped) is not None
    finally:
        os.write(go[1], b"x")
        assert os.waitpid(pid, 0)[1] == 0
    Store.reopen(stopped)[0].close()


def test_two_creations_of_the_same_store_exclude_each_other(tmp_path: Path) -> None:
    path = tmp_path / "run.zarr"

    def create_again(name: str) -> None:
        if name == "before .spec.json.tmp":
            refused(lambda: create(path), path, message="another process")

    files.boundary_hook = create_again
    try:
        store = create(path)
    finally:
        files.boundary_hook = None
    store.close()
    assert verify(path) == []


def test_another_format_is_refused(stopped: Path) -> None:
    path = stopped / ".catena" / "spec.json"
    path.write_bytes(path.read_bytes().replace(b'"format": 1', b'"format": 2'))
    for action in (Store.reopen, read_spec, read_checkpoint, verify):
        refused(lambda action=action: action(stopped), stopped, message="format 2, this catena reads format 1")
    assert json.loads((stopped / "zarr.json").read_text())["attributes"]["format"] == layout.FORMAT


def test_a_flipped_bit_anywhere_in_spec_json_is_found(stopped: Path) -> None:
    path = stopped / ".catena" / "spec.json"
    whole = path.read_bytes()
    for position in range(len(whole)):
        flip(path, position)
        with pytest.raises(StoreError, match=r"spec.json is damaged|has format"):
            read_spec(stopped)
        path.write_bytes(whole)
    flip(path, 100)
    refused(lambda: Store.reopen(stopped), stopped, message=r"spec\.json is damaged")


@pytest.mark.parametrize("harm", [truncate, lambda path: flip(path, 40), Path.unlink])
@pytest.mark.parametrize("stop", [8, toy_run.ROWS])
def test_without_its_newest_checkpoint_the_run_goes_on_from_the_one_before(
    harm: Callable[[Path], None], stop: int, tmp_path: Path, finished: dict[str, str]
) -> None:
    path = tmp_path / "run.zarr"
    toy_run.run(path, stop=stop)
    newest = path / ".catena" / "state.1"
    harm(newest)
    assert bool(verify(path))
    store, checkpoint = Store.reopen(path)
    store.close()
    assert checkpoint is not None
    assert checkpoint.rows["samples"] == {8: 4, toy_run.ROWS: 12}[stop]
    toy_run.run(path)
    assert toy_run.contents(path) == finished


def test_without_any_whole_checkpoint_the_data_are_kept(stopped: Path) -> None:
    states = [stopped / ".catena" / f"state.{slot}" for slot in (0, 1)]
    truncate(states[0])
    flip(states[1], -1)
    message = "no checkpoint is whole: state.0 fails its checksum and state.1 fails"
    refused(lambda: Store.reopen(stopped), stopped, message=message)
    refused(lambda: read_checkpoint(stopped), stopped, message=message)
    assert verify(stopped) == ["no checkpoint is whole: state.0 fails its checksum and state.1 fails its checksum"]
    for state in states:
        state.unlink()
    refused(lambda: Store.reopen(stopped), stopped, message=r"state\.0 and state\.1 are missing")
    assert len(toy_run.read(stopped)["time"]) == 8


def test_the_checkpoint_of_another_run_is_not_taken(stopped: Path, tmp_path: Path) -> None:
    with create(tmp_path / "other.zarr") as other:
        other.commit(step=1, head={}, arrays={})
    for slot in (0, 1):
        shutil.copy(tmp_path / "other.zarr" / ".catena" / "state.0", stopped / ".catena" / f"state.{slot}")
    refused(lambda: Store.reopen(stopped), stopped, message=r"state\.0 belongs to another run")


FULL, PARTIAL = ("position", 0, "position/c/0/0/0"), ("crossing_time", 1, "crossing_time/c/1")


@pytest.mark.parametrize(("column", "index", "file"), [FULL, PARTIAL], ids=["full", "partial"])
@pytest.mark.parametrize(
    ("harm", "message"),
    [(Path.unlink, "is missing"), (truncate, r"has \d+ bytes instead of \d+"), (lambda p: flip(p, 5), "checksum")],
    ids=["missing", "truncated", "flipped"],
)
def test_a_damaged_chunk_is_named(
    column: str, index: int, file: str, harm: Callable[[Path], None], message: str, stopped: Path
) -> None:
    """Reopening reads the partial chunks and the sizes of the others; verify reads everything."""
    harm(stopped / file)
    message = f"chunk {index} of {column} .*{message}"
    found = verify(stopped)
    assert len(found) == 1
    assert re.search(message, found[0])
    if "checksum" in message and file == FULL[2]:
        Store.reopen(stopped)[0].close()
    else:
        refused(lambda: Store.reopen(stopped), stopped, message=message)


def test_an_old_copy_of_a_chunk_is_found(tmp_path: Path) -> None:
    """Its own checksum is right; it lacks rows that were committed."""
    path = tmp_path / "run.zarr"
    toy_run.run(path, stop=8)
    chunk = path / "time" / "c" / "1"
    toy_run.run(path, stop=12)
    old = chunk.read_bytes()
    toy_run.run(path)
    assert chunk.read_bytes() != old
    chunk.write_bytes(old)
    assert verify(path) == ["chunk 1 of time does not hold the rows of the checkpoint"]
    refused(lambda: Store.reopen(path), path, message="chunk 1 of time does not hold")


@pytest.mark.parametrize("name", ["zarr.json", "position/zarr.json"])
def test_damaged_metadata_are_reported_by_readers_and_written_anew_by_reopening(name: str, stopped: Path) -> None:
    before = toy_run.contents(stopped)
    path = stopped / name
    whole = path.read_bytes()
    for position in random.Random(1).sample(range(len(whole)), 100):
        flip(path, position)
        assert verify(stopped) == [f"{name} is damaged"], position
        if name == "zarr.json":
            refused(lambda: read_checkpoint(stopped), stopped, message="zarr.json is damaged")
        path.write_bytes(whole)
    for harm in (truncate, Path.unlink, lambda path: path.write_text("[]")):
        harm(path)
        assert len(verify(stopped)) == 1
        Store.reopen(stopped)[0].close()
        assert toy_run.contents(stopped) == before


def test_a_root_with_a_wrong_length_is_found(stopped: Path) -> None:
    """The lengths agree with each other, and each single array would open."""
    path = stopped / "zarr.json"
    path.write_bytes(path.read_bytes().replace(b'"shape": [8', b'"shape": [7'))
    assert len(toy_run.read(stopped)["position"]) == 7
    assert verify(stopped) == ["zarr.json is damaged"]


def test_a_full_disk_stops_the_run_and_nothing_is_lost(
    tmp_path: Path, finished: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk is full from one write on, each write in turn, until the user frees some space."""
    written = 0
    write = os.write

    def counting(descriptor: int, data: bytes) -> int:
        nonlocal written
        written += 1
        return write(descriptor, data)

    monkeypatch.setattr(os, "write", counting)
    toy_run.run(tmp_path / "counted.zarr")
    assert written > 30
    values = toy_run.expected(toy_run.ROWS)
    for room in range(written):
        path = tmp_path / f"{room}.zarr"
        left = iter(range(room))

        def full(descriptor: int, data: bytes, left: object = left) -> int:
            if next(left, None) is None:  # type: ignore[call-overload]
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return write(descriptor, data)

        monkeypatch.setattr(os, "write", full)
        with pytest.raises(StoreError, match=r"the disk is full\n.*\n.*free some space") as stop:
            toy_run.run(path)
        assert stop.value.do.endswith("everything committed is kept" if path.exists() else "nothing was begun")
        monkeypatch.setattr(os, "write", write)
        assert not list(tmp_path.rglob("*.tmp"))
        assert not list(tmp_path.glob(".*"))
        if path.exists():
            assert verify(path) == []
            if room % 5 == 0:
                for name, found in toy_run.read(path).items():
                    assert found.tobytes() == values[name][: len(found)].tobytes()
        toy_run.run(path)
        assert toy_run.contents(path) == finished


def test_a_partial_write_of_the_system_is_completed(
    tmp_path: Path, finished: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: write(descriptor, data[:100]))
    toy_run.run(tmp_path / "run.zarr")
    assert toy_run.contents(tmp_path / "run.zarr") == finished


def test_a_refusal_of_the_file_system_is_explained(stopped: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(descriptor: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    store, _ = Store.reopen(stopped)
    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(StoreError, match="Input/output error"):
        store.commit(step=9, head={}, arrays={})
    monkeypatch.undo()
    with pytest.raises(ValueError, match="closed"):
        store.commit(step=9, head={}, arrays={})
    Store.reopen(stopped)[0].close()
