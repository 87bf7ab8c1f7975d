"""A store says which catena computed it: the same program goes on to the same bytes, another one only if it is told to."""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import broken
import catena as ct
from catena.cli import app
from catena.errors import Interrupted
from catena.output.page.facts import facts
from catena.running import origin, plan
from catena.running.ensembles import auditing, recording
from catena.running.recording import ROWS_VARIABLE
from catena.store import Store, layout, read_attributes, read_checkpoint
from processes import contents

STEPS = 52
OTHER = "f" * 64


@pytest.fixture(autouse=True)
def _many_commits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ROWS_VARIABLE, "16")
    monkeypatch.setattr(layout, "CHUNK_BYTES_AIM", 64)
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


def start(path: Path, *, stopped: bool = False) -> Path:
    """A stored run; one that was stopped after its first commit, 15 steps."""

    def press(step: int, *others: object) -> None:
        if step == 15:
            os.kill(os.getpid(), signal.SIGINT)

    options: dict[str, Any] = {"method": ct.Gauss(2), "dt": 0.1, "steps": STEPS, "out": path}
    if not stopped:
        ct.simulate(ct.problems.harmonic(), **options, progress=False)
    else:
        with pytest.raises(Interrupted):
            ct.simulate(ct.problems.harmonic(), **options, progress=press)
    return path


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    return start(tmp_path / "whole.zarr")


@pytest.fixture
def stopped(tmp_path: Path) -> Path:
    return start(tmp_path / "run.zarr", stopped=True)


@pytest.fixture
def another_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same operations with another digest, so that nothing is compiled for these tests."""
    monkeypatch.setattr(plan, "program_digest", lambda *arguments, **options: OTHER)
    monkeypatch.setattr(origin, "__version__", "9.9.9")


def test_the_same_program_of_another_version_goes_on_to_the_same_bytes(
    stopped: Path, whole: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(origin, "__version__", "9.9.9")
    run = ct.resume(stopped, progress=False)
    assert contents(stopped) == contents(whole)
    assert run.changes == () and run.origins[0].catena == ct.__version__


def test_other_kernels_are_refused_before_anything_is_compiled_or_changed(
    stopped: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = contents(stopped)
    broken.forget_compensation(monkeypatch)
    monkeypatch.setattr(plan.Plan, "program", lambda plan: pytest.fail("compiled"))
    with pytest.raises(ct.StoreError) as caught:
        ct.resume(stopped, progress=False)
    told = str(caught.value)
    assert "this was computed by another program: by catena " in told and len(told.splitlines()) <= 4
    assert "catena resume --anyway" in told and "ct.resume(path, anyway=True)" in told
    with pytest.raises(ct.InputError, match="anyway = 'no'"):
        ct.resume(stopped, progress=False, anyway="no")  # type: ignore[arg-type]
    assert contents(stopped) == before
    assert ct.open(stopped).steps == 15


def test_without_comparing_other_kernels_go_on_silently(stopped: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The broken twin: how it was."""
    monkeypatch.setattr(plan, "program_digest", lambda *arguments, **options: read_attributes(stopped)["program"])
    broken.forget_compensation(monkeypatch)

    def built(self: plan.Plan) -> None:
        raise LookupError("the other kernels would run now")

    monkeypatch.setattr(plan.Plan, "program", built)
    with pytest.raises(LookupError, match="would run now"):
        ct.resume(stopped, progress=False)


def test_what_goes_on_anyway_is_noted_with_its_step(
    stopped: Path, whole: Path, another_program: None, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", logger="catena")
    first = read_attributes(stopped)["program"]
    run = ct.resume(stopped, progress=False, anyway=True)
    assert "goes on with another program: catena 9.9.9, program ffffffffffff instead of" in caplog.text
    assert [(one.step, one.catena, one.program) for one in run.origins] == [
        (0, ct.__version__, first), (15, "9.9.9", OTHER),
    ]  # fmt: skip
    line = f"from step 15 on computed by catena 9.9.9, program ffffffffffff; before by catena {ct.__version__}, program {first[:12]}"
    assert run.changes == (line,)
    assert line in repr(run) and line in str(run.audit()) and ("continued", line) in facts(run)
    assert run.audit().ok
    ours, theirs = contents(stopped), contents(whole)
    differing = {name for name in theirs if ours[name] != theirs[name]}
    assert differing == {".catena/state.0", ".catena/state.1"}, "the arrays are those that were computed"


def test_info_shows_both_programs(stopped: Path, another_program: None) -> None:
    ct.resume(stopped, progress=False, anyway=True)
    told = CliRunner().invoke(app, ["info", str(stopped)], catch_exceptions=False).output
    assert "written by" in told and "from step 15 on computed by catena 9.9.9" in " ".join(told.split())
    found = json.loads(CliRunner().invoke(app, ["info", "--json", str(stopped)], catch_exceptions=False).stdout)
    assert [(one["step"], one["catena"]) for one in found["origins"]] == [(0, ct.__version__), (15, "9.9.9")]
    assert found["catena_version"] == ct.__version__


def test_the_command_line_refuses_and_goes_on_anyway(stopped: Path, another_program: None) -> None:
    refused = CliRunner().invoke(app, ["resume", str(stopped)], catch_exceptions=False)
    assert refused.exit_code == 4 and "another program" in refused.output
    done = CliRunner().invoke(app, ["resume", "--anyway", str(stopped)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert "from step 15 on computed by catena 9.9.9" in " ".join(done.output.split())
    assert ct.open(stopped).finished


def test_the_one_that_went_on_is_the_one_to_compare_with(
    stopped: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that was continued anyway is extended by the same program without a word, by the first one no more."""
    with monkeypatch.context() as later:
        later.setattr(plan, "program_digest", lambda *arguments, **options: OTHER)
        ct.resume(stopped, progress=False, anyway=True)
        ct.resume(stopped, steps=70, progress=False)
    assert len(ct.open(stopped).origins) == 2
    with pytest.raises(ct.StoreError, match="by another program"):
        ct.resume(stopped, steps=90, progress=False)
    ct.resume(stopped, steps=90, progress=False, anyway=True)
    assert [one.step for one in ct.open(stopped).origins] == [0, 15, 70]


def test_what_was_stopped_before_its_first_commit_was_not_continued(
    stopped: Path, another_program: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*arguments: object, **options: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as then:
        then.setattr(Store, "commit", stop)
        with pytest.raises(KeyboardInterrupt):
            ct.resume(stopped, progress=False, anyway=True)
    assert len(ct.open(stopped).origins) == 1
    with pytest.raises(ct.StoreError, match="by another program"):
        ct.resume(stopped, progress=False)


def test_a_run_with_nothing_left_to_compute_is_not_refused(whole: Path, another_program: None) -> None:
    before = contents(whole)
    assert ct.resume(whole, progress=False).steps == STEPS
    assert contents(whole) == before
    with pytest.raises(ct.StoreError, match="by another program"):
        ct.resume(whole, steps=STEPS + 1, progress=False)


def without_digests(path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store as it was written before programs were noted."""
    attributes_of = origin.attributes_of

    def older(one: origin.Origin) -> dict[str, Any]:
        told = attributes_of(one)
        del told["program"]
        told["made_with"] = {name: told["made_with"][name] for name in ("python", "numpy", "numba")}
        return told

    with monkeypatch.context() as then:
        then.setattr("catena.running.recording.attributes_of", older)
        return start(path, stopped=True)


def test_a_store_that_is_older_than_digests_goes_on_and_says_so_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    path = without_digests(tmp_path / "old.zarr", monkeypatch)
    assert ct.open(path).changes == ()
    caplog.set_level("INFO", logger="catena")
    run = ct.resume(path, progress=False)
    assert caplog.text.count("is older than digests of programs: whether the same one goes on cannot be told") == 1
    assert [(one.step, bool(one.program)) for one in run.origins] == [(0, False), (15, True)]
    ct.resume(path, steps=70, progress=False)
    assert caplog.text.count("older than digests") == 1
    monkeypatch.setattr(plan, "program_digest", lambda *arguments, **options: OTHER)
    with pytest.raises(ct.StoreError, match="by another program"):
        ct.resume(path, steps=90, progress=False)


def test_another_processor_is_said_and_noted_but_not_refused(
    stopped: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", logger="catena")
    monkeypatch.setattr(origin, "_processor", lambda: "abacus")
    run = ct.resume(stopped, progress=False)
    assert " on abacus, " in caplog.text and "last digits may differ" in caplog.text
    assert len(run.origins) == 2 and "on abacus" in run.changes[0] and run.origins[0].program == run.origins[1].program


FOREIGN: dict[str, Callable[[dict[str, Any]], Any]] = {
    "no list": lambda head: head.update(continued=7),
    "no tables": lambda head: head.update(continued=["x"]),
    "a key that is none": lambda head: head["continued"][0].update(cats=1),
    "a step that is a text": lambda head: head["continued"][0].update(step="1"),
    "a step before the start": lambda head: head["continued"][0].update(step=-1),
    "a truth value for a step": lambda head: head["continued"][0].update(step=True),
    "a version that is a number": lambda head: head["continued"][0].update(catena=1),
    "a version that paints the terminal": lambda head: head["continued"][0].update(catena="\x1b[31m"),
    "a long word": lambda head: head["continued"][0].update(program="f" * 10_000),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_who_wrote_a_store_from_a_stranger_is_checked(name: str, stopped: Path, another_program: None) -> None:
    ct.resume(stopped, progress=False, anyway=True)
    checkpoint = read_checkpoint(stopped)
    assert checkpoint is not None
    head = json.loads(json.dumps(checkpoint.head))
    FOREIGN[name](head)
    with pytest.raises(ct.StoreError, match="who wrote it was not written by catena"):
        origin.origins_in(read_attributes(stopped), head, path=stopped)
    store, _ = Store.reopen(stopped)
    with store:
        store.commit(step=checkpoint.step, head=head, arrays=checkpoint.arrays, finished=True)
    for use in (lambda: ct.open(stopped), lambda: ct.resume(stopped, steps=90, progress=False)):
        with pytest.raises(ct.StoreError, match="who wrote it was not written by catena"):
            use()


# Ensembles

STARTS = {"q": np.linspace(0.1, 1.0, 40), "p": np.zeros(40)}


def begin(path: Path, *, members: int | None = None) -> Path:
    """A stored ensemble; one that was stopped after so many members."""
    commit = Store.commit

    def stop(self: Store, **arguments: Any) -> None:
        commit(self, **arguments)
        if arguments["step"] == members:
            raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as then:
        if members is not None:
            then.setattr(Store, "commit", stop)
        with suppress(Interrupted):
            ct.ensemble(ct.problems.harmonic(), STARTS, ct.Gauss(2), steps=5, out=path, threads=1)
    return path


def test_an_ensemble_goes_on_with_the_same_program_to_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, path = begin(tmp_path / "whole.zarr"), begin(tmp_path / "many.zarr", members=16)
    monkeypatch.setattr(origin, "__version__", "9.9.9")
    assert ct.resume(path).changes == ()
    assert contents(path) == contents(whole)


def off_by_one(sums, worst, edges, interval, invariants):
    """Another formula for what the audit keeps."""
    return worst + 1.0, worst, worst


@pytest.mark.parametrize("change", ["kernel", "formula"])
def test_an_ensemble_computed_by_another_program_is_refused_and_goes_on_anyway(
    change: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the audit keeps of a member is stored, too, and computed in Python."""
    path = begin(tmp_path / "many.zarr", members=16)
    before = contents(path)
    with monkeypatch.context() as then:
        if change == "kernel":
            broken.forget_compensation(then)
        else:
            assert recording.measure_in is auditing.measure_in
            then.setattr(recording, "measure_in", off_by_one)
        with pytest.raises(ct.StoreError, match="by another program") as caught:
            ct.resume(path)
        assert contents(path) == before
        assert "ct.resume(path, anyway=True)" in str(caught.value) and "catena resume" not in str(caught.value)
    monkeypatch.setattr(recording, "measure_in", off_by_one)  # only its digest: members are followed as ever
    many = ct.resume(path, anyway=True)
    assert [one.step for one in many.origins] == [0, 16] and many.finished
    line = many.changes[0]
    assert line.startswith("from member 16 on computed by catena")
    assert line in repr(many) and line in str(many.audit())
    told = CliRunner().invoke(app, ["info", str(path)], catch_exceptions=False).output
    assert "from member 16 on computed by" in " ".join(told.split())
    found = json.loads(CliRunner().invoke(app, ["info", "--json", str(path)], catch_exceptions=False).stdout)
    assert [one["step"] for one in found["origins"]] == [0, 16]


def test_netcdf_says_what_the_store_says(stopped: Path, tmp_path: Path, another_program: None) -> None:
    """The version that computed the numbers, not the one that exports them."""
    import xarray

    run = ct.resume(stopped, progress=False, anyway=True)
    run.export(tmp_path / "run.nc")
    with xarray.open_dataset(tmp_path / "run.nc") as data:
        assert data.attrs["catena_version"] == ct.__version__
        assert data.attrs["program"] == run.origins[0].program
        assert json.loads(data.attrs["continued"]) == list(run.changes)


def test_a_copy_goes_on_wherever_it_lies(stopped: Path, whole: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "deep" / "er"
    elsewhere.mkdir(parents=True)
    shutil.copytree(stopped, elsewhere / "copy.zarr")
    ct.resume(elsewhere / "copy.zarr", progress=False)
    assert contents(elsewhere / "copy.zarr") == contents(whole)


def test_a_program_is_not_compiled_to_know_its_digest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "build", lambda *arguments, **options: pytest.fail("compiled"))
    made, _ = plan.make_plan(ct.problems.harmonic(), None, ct.Gauss(2), dt=0.1, steps=1, t_end=None)
    assert len(made.program_digest()) == 64
