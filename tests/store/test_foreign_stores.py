"""Stores from strangers: whatever they hold, nothing outside of them is written, removed or waited for."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hostile import Opened
from typer.testing import CliRunner

import catena as ct
from catena.cli.main import app
from catena.engine.build import build
from catena.engine.driver import Driver
from catena.running import simulation
from catena.running.recording import ROWS_VARIABLE
from catena.store import name_foreign
from catena.store.checking import read_json
from catena.store.files import put, temporary_of
from processes import contents


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("honest") / "gift.zarr"
    sections = [ct.Section("zero", "q", 0)]
    ct.simulate(
        ct.problems.harmonic(), method=ct.Gauss(2), dt=0.1, steps=52, sections=sections, out=path, progress=False
    )
    return path


@pytest.fixture
def store(honest: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(honest, tmp_path / "gift.zarr"))


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """What must stay as it is."""
    folder = tmp_path / "home"
    (folder / "inner").mkdir(parents=True)
    (folder / "precious").write_text("mine")
    (folder / "inner" / "0").write_text("mine, too")
    return folder


def rewrite(store: Path, change: Callable[[Opened], Any]) -> None:
    """Other content, with valid checksums."""
    opened = Opened(store)
    change(opened)
    opened.sign(consistently=True)


def rewrite_spec(store: Path, change: Callable[[Any], Any]) -> None:
    """Another spec.json, with a valid checksum."""
    rewrite(store, lambda opened: change(opened.spec))


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
    with pytest.raises(ct.StoreError, match=r"'q/pipe' is neither a file nor a directory: no run wrote it"):
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


# What a run was ---------------------------------------------------------------------------------------------------------------


def plan(content: dict[str, Any]) -> dict[str, Any]:
    return content["spec"]["plan"]


PLANS: dict[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    "a sample every minus one steps": (lambda c: plan(c)["run"].update(every=-1), "every = -1"),
    "a sample every 2**63 steps": (lambda c: plan(c)["run"].update(every=2**63 - 1), "every = 9223372036854775807"),
    "a step that is a text": (lambda c: plan(c)["run"].update(dt="0.1"), "dt = '0.1'"),
    "no step": (lambda c: plan(c)["run"].pop("dt"), "run has no dt"),
    "no method": (lambda c: plan(c).pop("method"), "method"),
    "a list of methods": (lambda c: plan(c).update(method=[{"kind": "Gauss"}]), "spec.json"),
    "half a stage": (lambda c: plan(c)["method"].update(stages=0.5), "stages"),
    "a start of texts": (lambda c: plan(c)["start"].update(q=["1"]), r"start\.'q' = \['1'\] .* texts"),
    "a start of truth values": (lambda c: plan(c)["start"].update(q=[True]), "truth values"),
    "a longer start": (lambda c: plan(c)["start"].update(q=[1.0, 2.0]), r"q \(2,\)"),
    "a time that is a table": (lambda c: plan(c)["start"].update(time={}), "start.time = {}"),
    "a section that is a list": (lambda c: plan(c)["section"].append([]), r"section\[1\] = \[\] is not a table"),
    "another section": (lambda c: plan(c)["section"].append({"name": "b", "text": "q"}), "streams = "),
    "steps that are a list": (lambda c: c["spec"].update(steps=[52]), r"steps = \[52\]"),
    "units that are numbers": (lambda c: plan(c).update(units={"time": 1}), "units.time = 1 is not a text"),
    "an attribute for xarray": (lambda c: first_column(c)["attributes"].update(scale_factor="x"), "scale_factor"),
    "a version that is a table": (lambda c: c["attributes"].update(catena_version={}), "catena_version = {}"),
    "a million bodies": (
        lambda c: plan(c).update(
            system={"kind": "Chain", "bodies": {"count": 10**9, "shape": "rod", "length": 1, "mass": 1}}
        ),
        "count = 1000000000 is not the number of bodies",
    ),
}


@pytest.mark.parametrize("name", PLANS)
def test_a_plan_that_catena_did_not_write_is_refused_though_its_checksum_holds(name: str, store: Path) -> None:
    change, told = PLANS[name]
    rewrite_spec(store, change)
    for use in (lambda: ct.resume(store, steps=100, progress=False), lambda: ct.open(store)):
        with pytest.raises(ct.StoreError, match=told) as refusal:
            use()
        assert str(store) in refusal.value.where and refusal.value.do


@pytest.mark.parametrize(
    "kind", ["os.system", "builtins.eval", "antigravity", "__import__", "catena.cli.main", "Path", ""]
)
@pytest.mark.parametrize("what", ["system", "method"])
def test_a_store_names_nothing_that_is_imported(kind: str, what: str, store: Path) -> None:
    """Kinds are looked up among those that are registered."""
    rewrite_spec(store, lambda c: plan(c)[what].update(kind=kind))
    before = set(sys.modules)
    with pytest.raises(ct.StoreError, match=f"there is no {what}"):
        ct.open(store)
    assert "antigravity" not in set(sys.modules) - before


@pytest.mark.parametrize(
    "text", ["__import__('os').system('true')", "().__class__", "q if q else p", "[q for q in p]", "open(q)"]
)
def test_an_energy_of_a_store_is_no_python(text: str, store: Path) -> None:
    rewrite_spec(store, lambda c: plan(c)["system"].update(energy=text))
    with pytest.raises(ct.StoreError, match="energy"):
        ct.open(store)


# Where it stands ----------------------------------------------------------------------------------------------------------------


def heads(opened: Opened) -> list[dict[str, Any]]:
    return [head for head, _ in opened.states.values()]


def set_all(opened: Opened, **values: Any) -> None:
    for head in heads(opened):
        head.update(values)


def set_number(opened: Opened, name: str, at: int, value: float) -> None:
    for _, arrays in opened.states.values():
        arrays[name] = arrays[name].copy()
        arrays[name][at] = value


def set_entry(opened: Opened, name: str, at: int, value: Any) -> None:
    for head in heads(opened):
        next(entry for entry in head["arrays"] if entry[0] == name)[at] = value


CHECKPOINTS: dict[str, tuple[Callable[[Opened], Any], str]] = {
    "rows that wait beyond the buffer": (
        lambda o: set_number(o, "marks", 0, 1e9),
        r"marks\[0\] = 1000000000.0 instead of 0.0",
    ),
    "rows that wait before the buffer": (lambda o: set_number(o, "marks", 0, -1e9), r"marks\[0\]"),
    "rows that wait, not a number": (lambda o: set_number(o, "marks", 0, np.nan), r"marks\[0\] = nan"),
    "another direction": (lambda o: set_number(o, "marks", 2, 1.0), r"marks\[2\]"),
    "a stop": (lambda o: set_number(o, "marks", 3, 1.0), r"marks\[3\]"),
    "a state that is not finite": (lambda o: set_number(o, "z", 1, np.inf), r"z\[1\] is not finite"),
    "a rest that is not finite": (lambda o: set_number(o, "e", 0, np.nan), r"e\[0\] is not finite"),
    "a scale below zero": (lambda o: set_number(o, "scale", 0, -1.0), "scale"),
    "counts that are none": (lambda o: set_number(o, "carry", -1, np.nan), "checkpoint"),
    "a step before the first": (lambda o: set_all(o, step=-1), "step = -1"),
    "a step of other rows": (lambda o: set_all(o, step=7), "rows.samples = "),
    "a step beyond all numbers": (lambda o: set_all(o, step=2**63), "more than 64 bits"),
    "an end that is a text": (lambda o: set_all(o, finished="yes"), "finished = 'yes'"),
    "rows that are a list": (lambda o: set_all(o, rows=[1]), r"rows = \[1\] is not a table"),
    "minus rows": (lambda o: [head["rows"].update(samples=-1) for head in heads(o)], "rows.samples = -1"),
    "so many rows": (lambda o: [head["rows"].update(samples=2**47) for head in heads(o)], "partial|rows|missing"),
    "rows of nothing": (lambda o: [head["rows"].update(nothing=1) for head in heads(o)], "rows = "),
    "no arrays": (lambda o: set_all(o, arrays=[]), "arrays"),
    "an array of objects": (lambda o: set_entry(o, "z", 1, "|O"), r"'\|O' is not a type of numbers"),
    "an array of minus one": (lambda o: set_entry(o, "z", 2, [-1]), r"\[-1\]|= -1 is not"),
    "an array without end": (lambda o: set_entry(o, "z", 2, [2**47]), "bytes of arrays"),
    "an array whose size overflows": (lambda o: set_entry(o, "z", 2, [2**40, 2**40]), "too many numbers"),
    "single precision": (lambda o: set_entry(o, "z", 1, "<f4"), "bytes of arrays"),
    "steps that are a text": (lambda o: [head["head"].update(steps="52") for head in heads(o)], "head.steps = '52'"),
    "a reason that is a list": (lambda o: [head["head"].update(reason=[]) for head in heads(o)], r"head.reason = \[\]"),
}


@pytest.mark.parametrize("name", CHECKPOINTS)
def test_a_checkpoint_that_catena_did_not_write_is_refused_though_its_checksum_holds(
    name: str, store: Path, outside: Path
) -> None:
    before = contents(outside)
    change, told = CHECKPOINTS[name]
    rewrite(store, change)
    for use in (lambda: ct.resume(store, steps=100, progress=False), lambda: ct.open(store)):
        with pytest.raises(ct.StoreError, match=told) as refusal:
            use()
        assert str(store) in refusal.value.where and refusal.value.do
    assert contents(outside) == before


def test_without_the_check_marks_of_a_stranger_would_reach_the_loop(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Broken twin: row 10**9 of a buffer of 1024."""
    seen: list[float] = []

    def advance(driver: Driver, steps: int) -> Any:
        seen.append(float(driver.marks[0]))
        raise InterruptedError

    monkeypatch.setattr(simulation, "check_run", lambda *given: None)
    monkeypatch.setattr(Driver, "advance", advance)
    rewrite(store, lambda opened: set_number(opened, "marks", 0, 1e9))
    with pytest.raises(InterruptedError):
        ct.resume(store, steps=100, progress=False)
    assert seen == [1e9]


def test_an_event_that_there_is_not_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("catena.running.plan.build", partial(build, compiled=False))
    monkeypatch.setenv(ROWS_VARIABLE, "64")
    path = tmp_path / "gift.zarr"
    run = {"method": ct.Gauss(2), "dt": 0.1, "steps": 52, "progress": False}
    ct.simulate(ct.problems.harmonic(), **run, events=[ct.Event("zero", "q")], out=path)
    opened = Opened(path)
    opened.set_chunk("event_which", 7.0)
    opened.sign(consistently=True)
    with pytest.raises(ct.StoreError, match=r"event_which = 7\.0 is no event"):
        list(ct.open(path).events)


# Texts and entries --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (b"NaN", "no finite number"), (b"[1, -Infinity]", "no finite number"), (b"1e400", "no finite number"), (b"9" * 5000, "digits"),
        (b"18446744073709551616", "64 bits"), (b"[" * 5000 + b"]" * 5000, "inside each other"), (b'"\\ud800"', "half of a letter"),
        (b"[" * 200 + b"]" * 200, "inside each other"), (b'{"\\udfff": 1}', "half of a letter"), (b"\xff", "decode"),
    ],
)  # fmt: skip
def test_a_text_that_no_store_holds_is_refused(text: bytes, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        read_json(text)


def test_texts_that_stores_hold_are_read() -> None:
    assert read_json(b'{"a": [1, -2.5e300, "\xc3\xa9\\ud83d\\ude00", null, true]}') == {
        "a": [1, -2.5e300, "\xe9\U0001f600", None, True]
    }


def test_what_no_run_wrote_is_named_and_not_opened(store: Path, outside: Path) -> None:
    assert name_foreign(store) == []
    (store / "notes.txt").write_text("mine")
    (store / "q" / "c" / "x").mkdir()
    (store / "q" / "c" / "x" / "y").touch()
    (store / ".catena" / "state.2").touch()
    temporary_of(store / "zarr.json").touch()  # what a kill may leave is a run's own
    told = ["'.catena/state.2'", "'notes.txt'", "'q/c/x'"]
    assert sorted(name_foreign(store)) == told
    came = CliRunner().invoke(app, ["info", "--check", str(store)])
    assert came.exit_code == 0 and all(f"no run wrote {name}" in came.output for name in told)
    (store / "p" / "link").symlink_to(outside / "precious")
    os.mkfifo(store / "p" / "c" / "7")
    assert sorted(name_foreign(store)) == sorted(
        [*told, "'p/link' is a link", "'p/c/7' is neither a file nor a directory"]
    )
    came = CliRunner().invoke(app, ["info", "--check", str(store)])
    assert came.exit_code == 4 and "'p/link' is a link" in came.output and "'p/c/7' is neither" in came.output


@pytest.mark.parametrize("place", [".catena", ".catena/spec.json", ".catena/state.0", "zarr.json", "q/c/0/0"])
@pytest.mark.parametrize("kind", ["link", "pipe", "folder"])
def test_nothing_but_files_is_read_when_a_store_is_looked_at(place: str, kind: str, store: Path, outside: Path) -> None:
    before, found = contents(outside), store / place
    moved = outside.parent / "moved"
    found.rename(moved)
    if kind == "link":
        found.symlink_to(moved)
    elif kind == "pipe":
        os.mkfifo(found)
    else:
        found.mkdir()
    for use in (lambda: ct.open(store), lambda: ct.resume(store, steps=100, progress=False)):
        with pytest.raises(ct.StoreError):
            use()
    assert CliRunner().invoke(app, ["info", "--check", str(store)]).exit_code == 4
    assert contents(outside) == before


@pytest.mark.parametrize("place", ["spec.json", "state.0"])
def test_a_file_that_memory_cannot_hold_is_not_read(place: str, store: Path) -> None:
    """Four terabytes, of which not one byte is on the disk."""
    with (store / ".catena" / place).open("wb") as file:
        file.truncate(2**42)
    for use in (lambda: ct.open(store), lambda: ct.resume(store, steps=100, progress=False)):
        with pytest.raises(ct.StoreError, match=rf"{place} has {2**42} bytes"):
            use()


def test_a_chunk_that_is_as_large_as_nothing_can_be_is_not_read(store: Path) -> None:
    """Its size alone made the store one of those that are not read when they are opened."""
    with (store / "q" / "c" / "0" / "0").open("wb") as file:
        file.truncate(2**42)
    for use in (lambda: ct.open(store), lambda: ct.resume(store, steps=100, progress=False)):
        with pytest.raises(ct.StoreError, match=rf"chunk 0 of q has {2**42} bytes"):
            use()


def test_words_of_a_store_are_words_on_its_page(store: Path, tmp_path: Path) -> None:
    script = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"
    rewrite_spec(store, lambda c: plan(c).update(problem={"name": script, "about": script}, units={"other": script}))
    page = tmp_path / "page.html"
    ct.open(store).view(page)
    html = page.read_text()
    assert "alert(1)" in html and "<script>alert" not in html and "<img" not in html
