"""Sweeps: every point of a grid is a single run to the bit, in one Dataset; killed anywhere, nothing is done twice."""

from __future__ import annotations

import json
import os
import re
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray
from typer.testing import CliRunner

import catena as ct
from catena.cases import CaseError
from catena.cli.main import app
from catena.engine.cuda import members as cuda_members
from catena.errors import InputError
from catena.running.ensembles import StoredEnsemble, members
from catena.running.ensembles.grids import Grid
from catena.running.recording import ROWS_VARIABLE
from processes import contents, finish_python, start_python

CASE = """
[system]
kind = "Hamiltonian"
energy = "p**2/(2*m) + k*q**2/2"
q = ["q"]
p = ["p"]
parameters = { m = 1.0, k = 2.0 }
[start]
q = [1.0]
p = [0.0]
[method]
kind = "EulerB"
[run]
dt = 0.01
steps = 300
every = 3
[sweep]
keep = "final"
[[sweep.axis]]
name = "stiffness"
key = "system.parameters.k"
first = 1.0
last = 4.0
count = 4
[[sweep.axis]]
name = "begin"
key = "start.q.0"
values = [0.5, 1.0]
[sweep.reduce.size]
kind = "Mean"
text = "q**2"
"""


@pytest.fixture
def case(tmp_path: Path) -> Path:
    path = tmp_path / "case.toml"
    path.write_text(CASE)
    return path


def test_points_of_a_case_are_single_runs_to_the_bit(case: Path) -> None:
    study = ct.sweep(case, progress=False)
    assert study.q.dims == ("stiffness", "begin", "dof") and study.q.shape == (4, 2, 1)
    np.testing.assert_array_equal(study.stiffness, [1.0, 2.0, 3.0, 4.0])
    for stiffness in (1.0, 3.0):
        for begin in (0.5, 1.0):
            system = ct.Hamiltonian("p**2/(2*m) + k*q**2/2", "q", "p", {"m": 1.0, "k": stiffness})
            run = ct.simulate(
                system, system.start(q=begin, p=0.0), ct.EulerB(), dt=0.01, steps=300, every=3, progress=False
            )
            here = study.sel(stiffness=stiffness, begin=begin)
            np.testing.assert_array_equal(here.q, run.final.q)
            assert float(here["size"]) == pytest.approx(float((run.data.q**2).mean()), rel=1e-14)
    assert (study.sel(stiffness=1.0).q != study.sel(stiffness=2.0).q).all()  # the twin: other values, other bits


def drawn(force: float, rng: np.random.Generator) -> tuple[ct.Hamiltonian, ct.State]:
    system = ct.Hamiltonian("p**2/(2*m) + k*q**2/2", "q", "p", {"m": 1.0, "k": force})
    return system, system.start(q=rng.uniform(0.5, 1.5), p=0.0)


def test_repeats_differ_by_their_seed_and_number_alone() -> None:
    options: dict[str, Any] = {"method": ct.EulerB(), "dt": 0.01, "steps": 20}
    study = ct.sweep(drawn, {"force": [1.0, 2.0]}, repeats=3, seed=5, **options)
    assert study.q.dims == ("force", "repeat", "dof") and len(np.unique(study.energy)) == 6
    assert study.equals(ct.sweep(drawn, {"force": [1.0, 2.0]}, 3, 5, threads=1, **options))
    assert not study.equals(ct.sweep(drawn, {"force": [1.0, 2.0]}, 3, 6, **options))


def test_a_point_that_fails_is_marked_with_its_cause_and_stops_no_other() -> None:
    def falling(height: float) -> tuple[ct.Hamiltonian, ct.State]:
        system = ct.Hamiltonian("p**2/2 - q**4/4")
        return system, system.start(q=height, p=0.0)

    study = ct.sweep(falling, {"height": [0.01, 2.0, 0.02]}, method=ct.RK4(), dt=0.05, steps=60)
    assert (study.status != 0).values.tolist() == [False, True, False]
    assert "no longer finite" in str(study.failure.values[1]) and study.failure.values[0] == ""
    assert study.steps.values[1] < 60 == study.steps.values[0]


def test_members_that_fail_are_named_by_their_place_in_the_sweep(case: Path, tmp_path: Path) -> None:
    """In the list, in JSON and in `info`; a sweep of which nothing comes out is no success, and its audit judges nobody."""
    runaway = CASE.replace('"p**2/(2*m) + k*q**2/2"', '"p**2/2 - q**4/4"').replace('"EulerB"', '"RK4"')
    runaway = runaway.replace("parameters = { m = 1.0, k = 2.0 }\n", "").replace("system.parameters.k", "start.p.0")
    runaway = runaway.replace("first = 1.0\nlast = 4.0", "first = 0.0\nlast = 0.003").replace("stiffness", "kick")
    case.write_text(runaway.replace("values = [0.5, 1.0]", "values = [0.01, 9.0]"))
    out = tmp_path / "study.zarr"
    result = CliRunner().invoke(app, ["sweep", str(case), "--out", str(out), "--json"])
    failures = json.loads(result.stdout)["failures"]
    assert result.exit_code == 0 and [failure["member"] for failure in failures] == [1, 3, 5, 7]
    assert failures[1]["point"] == {"kick": 0.001, "begin": 9.0}
    assert "member 3 (kick = 0.001, begin = 9.0): the state is no longer finite" in result.stderr
    told = CliRunner().invoke(app, ["info", str(out)]).stdout
    assert "member 3 (kick = 0.001, begin = 9.0): the state is no longer finite" in told
    case.write_text(runaway.replace("values = [0.5, 1.0]", "values = [8.0, 9.0]"))
    result = CliRunner().invoke(app, ["sweep", str(case), "--out", str(tmp_path / "none.zarr")])
    assert result.exit_code == 3 and "no member came to its end" in result.stdout and "None" not in result.stdout


def test_no_task_takes_more_members_than_are_stored_at_a_time(
    case: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or the first of many long ones would be lost with the last of their task."""
    taken: list[int] = []
    follow = members.follow
    monkeypatch.setattr(members, "follow", lambda job, of, *into: taken.append(len(of)) or follow(job, of, *into))
    monkeypatch.setenv(ROWS_VARIABLE, "2")
    ct.sweep(case, out=tmp_path / "study.zarr", threads=1, progress=False)
    assert sum(taken) == 8 and max(taken) == 2
    taken.clear()
    ct.sweep(case, threads=1, progress=False)
    assert sum(taken) == 8 and max(taken) > 2


SWEEP = """
import os, sys
import catena as ct
from catena.running.ensembles import members
follow = members.follow
def counted(job, of):
    batch = follow(job, of)
    with open(sys.argv[3], "a") as log:
        log.write("".join(f"{number}\\n" for number in of.numbers))
    return batch
members.follow, members.LARGEST_BATCH = counted, 1
if os.path.exists(sys.argv[2]):
    ct.resume(sys.argv[2])
else:
    ct.sweep(sys.argv[1], out=sys.argv[2], threads=1)
"""


def test_a_sweep_that_is_killed_goes_on_to_the_same_bytes_and_does_no_stored_member_twice(
    case: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """16 x 8 members, killed with SIGKILL after some commits: of the members that were stored none is followed again."""
    case.write_text(
        CASE.replace("count = 4", "count = 16").replace("[0.5, 1.0]", str([0.1 * k for k in range(1, 9)]))
        .replace("steps = 300", "steps = 100000")
    )  # fmt: skip
    monkeypatch.setenv(ROWS_VARIABLE, "4")
    whole, cut, log = tmp_path / "whole.zarr", tmp_path / "cut.zarr", tmp_path / "log"
    ct.sweep(case, out=whole)
    process = start_python(SWEEP, case, cut, log)
    deadline = time.monotonic() + 120
    while not (cut / ".catena" / "state.1").exists():  # after two commits
        assert process.poll() is None and time.monotonic() < deadline, process.communicate()
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    stored = len(ct.open(cut))
    assert 0 < stored < 128 and not ct.open(cut).finished
    first = [int(line) for line in log.read_text().split()]
    log.unlink()
    finish_python(start_python(SWEEP, case, cut, log))
    second = [int(line) for line in log.read_text().split()]
    begun = min(second)  # a checkpoint may be there before readers are told of it
    assert begun in (stored, stored + 4) and sorted(second) == list(range(begun, 128))
    assert set(first) | set(second) == set(range(128))
    assert contents(cut) == contents(whole)
    assert ct.open(cut).study.equals(ct.open(whole).study) and ct.open(cut).study.sizes["stiffness"] == 16


def test_what_is_not_done_yet_is_nan_in_the_study(case: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from catena.running.ensembles import running

    monkeypatch.setenv(ROWS_VARIABLE, "3")
    commit = running.Store.commit

    def stopping(store: Any, **what: Any) -> None:
        commit(store, **what)
        raise KeyboardInterrupt

    monkeypatch.setattr(running.Store, "commit", stopping)
    with pytest.raises(ct.Interrupted):
        ct.sweep(case, out=tmp_path / "cut.zarr")
    study = ct.open(tmp_path / "cut.zarr").study
    assert np.isfinite(study.energy.values.ravel()).tolist() == [True] * 3 + [False] * 5


def test_a_sweep_that_is_stopped_before_its_first_commit_opens_with_nothing_done(
    case: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from catena.running.ensembles import running

    def stopping(store: Any, **what: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(running.Store, "commit", stopping)
    with pytest.raises(ct.Interrupted, match="stopped after 0 of 8 members") as caught:
        ct.sweep(case, out=tmp_path / "cut.zarr")
    assert isinstance(caught.value.run, StoredEnsemble) and len(caught.value.run) == 0
    study = ct.open(tmp_path / "cut.zarr").study
    assert study.energy.shape == (4, 2) and np.isnan(study.energy).all() and np.isnan(study.status).all()
    monkeypatch.undo()
    assert ct.resume(tmp_path / "cut.zarr").study.equals(ct.sweep(case, progress=False))


def test_the_command_sweeps_a_case_into_a_store_that_plain_xarray_opens(case: Path, tmp_path: Path) -> None:
    out = tmp_path / "study.zarr"
    result = CliRunner().invoke(app, ["sweep", str(case), "--out", str(out), "--json", "--quiet"])
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["members"] == 8
    with xarray.open_zarr(out) as data:
        assert data.sizes["member"] == 8 and data.attrs["case"]["sweep"]["axes"][0]["name"] == "stiffness"
    assert ct.open(out).study.equals(ct.sweep(case, progress=False))
    again = CliRunner().invoke(app, ["resume", str(out), "--json", "--quiet"])
    assert again.exit_code == 0 and json.loads(again.stdout)["members"] == 8


def test_the_command_runs_a_case_from_many_starts(case: Path, tmp_path: Path) -> None:
    np.savez(tmp_path / "starts.npz", q=[[0.5], [1.0]], p=[[0.0], [0.0]])
    out = tmp_path / "many.zarr"
    arguments = ["ensemble", str(case), "--starts", str(tmp_path / "starts.npz"), "--out", str(out), "--quiet"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0 and "2 members" in result.stdout
    study = ct.sweep(case, {"begin": ("start.q.0", [0.5, 1.0])}, progress=False)
    np.testing.assert_array_equal(ct.open(out).final.q, study.q)
    (tmp_path / "wrong.npz").write_text("no arrays")
    arguments[3] = str(tmp_path / "wrong.npz")
    result = CliRunner().invoke(app, [*arguments[:5], str(tmp_path / "other.zarr")])
    assert result.exit_code == 2 and "no npz of numbers" in result.output


def test_the_command_runs_a_case_many_times_in_a_heat_bath_only(case: Path, tmp_path: Path) -> None:
    """Members are those of Python from one start, and all different; without noise they would not be."""
    problem, out = ct.problems.harmonic(), tmp_path / "warm.zarr"
    energy, start = problem.system.energy, {name: array.tolist() for name, array in problem.start.fields.items()}
    lines = [
        "[system]", 'kind = "Hamiltonian"', f'energy = "{energy}"', f"parameters = {{ {', '.join(f'{k} = {v}' for k, v in problem.system.parameters.items())} }}",
        "[start]", *(f"{name} = {value}" for name, value in start.items()),
        "[method]", 'kind = "Langevin"', "temperature = 1.0", "friction = 1.0", "seed = 1", "[run]", "dt = 0.1", "steps = 50",
    ]  # fmt: skip
    warm = tmp_path / "warm.toml"
    warm.write_text("\n".join(lines))
    call = CliRunner().invoke
    result = call(app, ["ensemble", str(warm), "--members", "3", "--out", str(out), "--json", "--quiet"])
    assert result.exit_code == 0 and json.loads(result.stdout)["members"] == 3, result.output
    many = ct.ensemble(problem, problem.start, ct.Langevin(1.0, 1.0, seed=1), dt=0.1, steps=50, members=3)
    np.testing.assert_array_equal(ct.open(out).final.q, many.final.q)
    assert len(np.unique(many.final.q)) == 3
    for given, message in {
        ("--members", "3"): "all members would be the same", (): "not said what members", ("--members", "2", "--starts", "x.npz"): "starts and members",
    }.items():  # fmt: skip
        result = call(app, ["ensemble", str(case), *given])
        assert result.exit_code == 2 and message in result.output


@pytest.mark.parametrize(
    ("grid", "message"),
    [
        ({}, "grid = {}"),
        ({"time": [1.0]}, "'time' cannot name an axis"),
        ({"q": [1.0, 2.0]}, "the function takes force, rng, not q"),
        ({"force": 3.0}, "force = 3.0 is not a row of values"),
        ({"force": []}, "force has no values"),
    ],
)
def test_mistakes_in_a_grid_are_explained(grid: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        ct.sweep(drawn, grid, method=ct.EulerB(), dt=0.01, steps=20)


def test_mistakes_in_a_sweep_of_a_case_are_explained(case: Path) -> None:
    with pytest.raises(CaseError, match="parameters"):
        ct.sweep(case, {"nothing": ("system.parameterss.k", [1.0])})
    with pytest.raises(InputError, match="make from 100 to 300 steps"):
        ct.sweep(case, {"run.steps": [100, 300]})
    with pytest.raises(InputError, match="repeats = 2, but nothing is drawn"):
        ct.sweep(case, repeats=2)
    with pytest.raises(InputError, match="the axis q has the name of what comes out"):
        ct.sweep(case, {"q": ("start.q.0", [1.0])})
    with pytest.raises(InputError, match="the axis dof has the name of what comes out"):
        ct.sweep(case, {"dof": ("start.q.0", [1.0])})
    with pytest.raises(InputError, match="None is neither a case nor a function"):
        ct.sweep(None)  # type: ignore[arg-type]
    case.write_text(CASE.partition("[sweep]")[0])
    with pytest.raises(InputError, match="no axes to sweep"):
        ct.sweep(case)
    case.write_text(CASE.replace("count = 4", ""))
    with pytest.raises(CaseError, match="give values, or first, last and count"):
        ct.sweep(case)
    case.write_text(CASE.replace('keep = "final"', '"run.dt" = [0.01, 0.02]'))
    with pytest.raises(CaseError, match=r"\[sweep\] has no key run.dt(?s:.*)use one of axis, repeats, keep, reduce"):
        ct.sweep(case)


def checked(case: Path, *options: str) -> tuple[int, dict[str, Any]]:
    result = CliRunner().invoke(app, ["check", str(case), "--json", *options])
    return result.exit_code, json.loads(result.stdout)


@pytest.mark.parametrize(
    ("old", "new", "message", "line"),
    [
        ("values = [0.5, 1.0]", 'values = [0.5, "far"]', "q.0|q", 'values = [0.5, "far"]'),
        ('key = "start.q.0"', 'key = "start.q.3"', "there is no start.q.3", 'key = "start.q.3"'),
        ("parameters.k", "parameters.kk", "there is no parameter 'kk'", 'key = "system.parameters.kk"'),
        ('name = "begin"', 'name = "stiffness"', "two axes are stiffness", 'name = "stiffness"'),
        ('key = "start.q.0"', 'key = "system.parameters.k"', "two axes are", 'key = "system.parameters.k"'),
        ('text = "q**2"', 'text = "q**2 + x"', "unknown name x", None),
        ("[sweep.reduce.size]", "[sweep.reduce.energy]", "energy has the name of what comes out", None),
        ('name = "begin"', 'name = "energy"', "axis energy has the name of what comes out", None),
        ('name = "begin"', 'name = "size"', "axis size has the name of what comes out", None),
        ('"start.q.0"\nvalues = [0.5, 1.0]', '"run.steps"\nvalues = [3, 6]', "make from 3 to 300 steps", None),
    ],
)  # fmt: skip
def test_check_looks_into_the_sweep_and_says_where(
    case: Path, old: str, new: str, message: str, line: str | None
) -> None:
    assert old in CASE
    case.write_text(CASE.replace(old, new))
    code, found = checked(case)
    (mistake,) = found["mistakes"]
    assert code == 2 and re.search(message, mistake["wrong"]), mistake
    if line is not None:
        assert mistake["where"] == str(case)
        assert case.read_text().splitlines()[mistake["line"] - 1] == line
    result = CliRunner().invoke(app, ["sweep", str(case), "--out", str(case.with_suffix(".zarr")), "--quiet"])
    assert result.exit_code == 2 and "--set" not in result.output and not case.with_suffix(".zarr").exists()


def test_check_finds_all_values_that_are_wrong_at_once_and_nothing_in_a_good_sweep(case: Path) -> None:
    code, found = checked(case)
    assert (code, found["ok"]) == (0, True)
    case.write_text(
        CASE.replace("values = [0.5, 1.0]", 'values = ["a", 1.0, "b"]').replace("first = 1.0", "first = -1e400")
    )
    assert checked(case)[0] == 2
    case.write_text(CASE.replace("values = [0.5, 1.0]", 'values = ["a", 1.0, "b"]'))
    assert len(checked(case)[1]["mistakes"]) == 2
    with pytest.raises(CaseError, match=r"sweep\.grid, begin = 'a'"):
        ct.sweep(case, {"begin": ("start.q.0", ["a"])})


def test_info_of_a_sweep_shows_its_axes_and_in_what_members_differ(case: Path, tmp_path: Path) -> None:
    ct.sweep(case, out=tmp_path / "study.zarr", progress=False)
    shown = CliRunner().invoke(app, ["info", str(tmp_path / "study.zarr")]).stdout
    assert "k = 1 to 4" in shown and "axis stiffness" in shown and "4 values: 1.0, 2.0, 3.0, 4.0" in shown
    ct.sweep(case, {"run.dt": [0.01, 0.02]}, out=tmp_path / "steps.zarr", progress=False)
    shown = CliRunner().invoke(app, ["info", str(tmp_path / "steps.zarr")]).stdout
    assert "0.01 to 0.02" in shown and "k = 2.0" in shown


def test_the_points_of_a_grid_have_an_order() -> None:
    grid = Grid.of({"a": [1, 2], "b": ["x", "y", "z"]}, 2)
    assert len(grid) == 12 and grid.shape == (2, 3, 2) and grid.dims == ("a", "b", "repeat")
    assert list(grid.points())[:2] == [{"a": 1, "b": "x"}, {"a": 1, "b": "y"}]


def test_a_misspelt_parameter_is_refused(case: Path) -> None:
    """It would be one more parameter that no text uses, and all points would be the same."""
    with pytest.raises(InputError, match="there is no parameter 'stiffnes'"):
        ct.sweep(case, {"system.parameters.stiffnes": [1.0, 2.0]})


def test_members_that_differ_by_noise_are_repeats() -> None:
    spring = ct.Hamiltonian("p**2/2 + q**2/2")

    def warm(begin: float) -> tuple[ct.Hamiltonian, ct.State]:
        return spring, spring.start(q=begin, p=0.0)

    found = ct.sweep(warm, {"begin": [0.0, 1.0]}, repeats=2, method=ct.Langevin(1.0, 1.0), dt=0.1, steps=3)
    assert (found.p.sel(repeat=0) != found.p.sel(repeat=1)).all()
    for wrong in (0, -1, 1.5):
        with pytest.raises(InputError, match="repeats"):
            ct.sweep(warm, {"begin": [0.0]}, repeats=wrong, dt=0.1, steps=3)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="the method draws nothing"):
        ct.sweep(warm, {"begin": [0.0]}, repeats=2, dt=0.1, steps=3)


def test_the_commands_pass_the_device_on(case: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything is compiled: where there is no GPU, or nothing of that name."""
    monkeypatch.chdir(tmp_path)

    def none() -> None:
        raise InputError("no GPU today")

    monkeypatch.setattr(cuda_members, "require_cuda", none)
    np.savez(tmp_path / "starts.npz", q=[[0.5], [1.0]], p=[[0.0], [0.0]])
    for command in (["sweep", str(case)], ["ensemble", str(case), "--starts", "starts.npz"]):
        for device, words in (("gpu", "device = 'gpu'"), ("cuda", "no GPU today")):
            result = CliRunner().invoke(app, [*command, "--device", device])
            assert result.exit_code == 2 and words in result.output
    assert not list(tmp_path.glob("*.zarr"))
