"""Stores from strangers: whatever they hold, nothing outside of them is written, removed or waited for."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import pytest

import catena as ct
from catena.store import layout
from catena.store.files import put
from processes import contents


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "gift.zarr"
    ct.simulate(ct.problems.harmonic(), method=ct.Gauss(2), dt=0.1, steps=52, out=path, progress=False)
    return path


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """What must stay as it is."""
    folder = tmp_path / "home"
    (folder / "inner").mkdir(parents=True)
    (folder / "precious").write_text("mine")
    (folder / "inner" / "0").write_text("mine, too")
    return folder


def rewrite_spec(store: Path, change: Any) -> None:
    """Another spec.json, with a valid checksum."""
    file = store / ".catena" / "spec.json"
    content = json.loads(file.read_text())
    content.pop("sha256")
    change(content)
    text = layout.canonical_json(content)
    file.write_bytes(layout.canonical_json({**content, "sha256": hashlib.sha256(text).hexdigest()}))


def test_a_temporary_file_that_is_a_link_is_not_followed(tmp_path: Path, outside: Path) -> None:
    """`put` prepares .zarr.json.tmp; a dangling link of that name would have made it write to wherever it leads."""
    target = tmp_path / "zarr.json"
    for goal in (outside / "new", outside / "precious"):
        (tmp_path / ".zarr.json.tmp").symlink_to(goal)
        put(target, b"ours")
        assert target.read_bytes() == b"ours" and not target.is_symlink()
    assert not (outside / "new").exists() and (outside / "precious").read_text() == "mine"


@pytest.mark.parametrize(
    "place", [".zarr.json.tmp", "q/c", "q", ".catena/lock", ".catena/state.0", "zarr.json", "q/c/0/0"]
)
def test_a_store_with_a_link_is_not_resumed(place: str, store: Path, outside: Path) -> None:
    before, found = contents(outside), store / place
    goal = outside / ("inner" if place in ("q", "q/c") else "precious")
    if found.is_dir():
        found.rename(store.parent / "moved")
    elif found.exists():
        found.unlink()
    found.symlink_to(goal)
    with pytest.raises(ct.StoreError):
        ct.resume(store, steps=100, progress=False)
    assert contents(outside) == before


def test_a_store_with_a_pipe_is_not_waited_for(store: Path) -> None:
    os.mkfifo(store / "q" / "pipe")
    with pytest.raises(ct.StoreError, match=r"q/pipe is neither a file nor a directory: no run wrote it"):
        ct.resume(store, steps=100, progress=False)


def first_column(content: dict[str, Any]) -> dict[str, Any]:
    return content["streams"][0]["columns"][1]


FOREIGN = {
    "a name that leads out": lambda c: first_column(c).update(name="../home"),
    "an absolute name": lambda c: first_column(c).update(name="/tmp"),
    "a name that is hidden": lambda c: first_column(c).update(name=".catena"),
    "no columns": lambda c: c["streams"][0].pop("columns"),
    "no streams": lambda c: c.update(streams=[]),
    "a list for a table": lambda c: c.update(streams={"a": 1}),
    "a spec that is a text": lambda c: c.update(spec="x"),
    "commits of no rows": lambda c: c.update(rows_per_commit=0),
    "commits of minus rows": lambda c: c.update(rows_per_commit=-1),
    "commits of half a row": lambda c: c.update(rows_per_commit=0.5),
    "chunks of no rows": lambda c: first_column(c).update(chunk_rows=0),
    "a row of minus one": lambda c: first_column(c).update(shape=[-1]),
    "a huge row": lambda c: first_column(c).update(shape=[2**60]),
    "attributes that are none": lambda c: first_column(c).update(attributes=None),
    "a length that is a text": lambda c: c["streams"][0].update(fixed="1"),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_a_spec_that_catena_did_not_write_is_refused_though_its_checksum_holds(
    name: str, store: Path, outside: Path
) -> None:
    before = contents(outside)
    rewrite_spec(store, FOREIGN[name])
    for use in (lambda: ct.resume(store, steps=100, progress=False), lambda: ct.open(store)):
        with pytest.raises(ct.StoreError, match=r"spec\.json was not written by catena"):
            use()
    assert contents(outside) == before
