"""Long runs of chains: what is kept, killed runs, flat memory."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import catena as ct
from catena.running.recording import ROWS_VARIABLE
from catena.store import layout
from chains import in_form
from processes import boundaries, contents, kill_at, start_python
from uncompiled import simulate


def keeps_the_unit_quaternions(stages: int, steps: int) -> None:
    """|q|^2 - 1 and q.g below 1e-13, and no faster than a random walk: the verdict "exact" of the audit, 50 eps sqrt(steps)."""
    run = ct.simulate(
        ct.problems.helix_chain(8), method=ct.Gauss(stages), dt=0.01, steps=steps, every=max(1, steps // 2000)
    )
    audit = run.audit()
    for name in ("unit_residual", "tangency_residual"):
        assert audit[name].worst < 1e-13, audit
        assert audit[name].verdict == "exact", audit


@pytest.mark.slow
@pytest.mark.parametrize("stages", [6])  # compiled for the reference states as well
def test_gauss_keeps_unit_quaternions_over_2000_steps(stages):
    keeps_the_unit_quaternions(stages, 2000)


@pytest.mark.slow
@pytest.mark.parametrize("stages", range(1, 9))
def test_gauss_keeps_unit_quaternions_over_100_000_steps(stages):
    keeps_the_unit_quaternions(stages, 100_000)


def test_an_explicit_method_does_not_keep_them():
    """The twin: RK4 has order 4, but |q|^2 drifts; in a tenth of the steps already beyond 1e-13."""
    run = simulate(ct.problems.helix_chain(3), None, ct.RK4(), dt=0.01, steps=200)
    assert np.abs(run.data.unit_residual).max() > 1e-12


def keeps_the_energy(steps: int) -> None:
    """Measured 3.2e-4 in 1e5 steps by another program; omega_max dt = 1.6 here."""
    run = ct.simulate(ct.problems.helix_chain(64), method=ct.Splitting(4), dt=0.05, steps=steps, every=steps // 1000)
    energy = run.audit()["energy"]
    assert energy.worst < 1e-3
    assert energy.verdict == "bounded"


@pytest.mark.slow
def test_the_energy_of_a_long_helix_does_not_drift():
    keeps_the_energy(10_000)


@pytest.mark.slow
def test_the_energy_of_a_long_helix_does_not_drift_in_100_000_steps():
    keeps_the_energy(100_000)


@pytest.mark.slow
def test_a_free_chain_keeps_momentum_and_angular_momentum_over_a_million_steps():
    """At round-off: 50 eps sqrt(steps) of the largest term, without drift."""
    problem = ct.problems.helix_chain(8, left="free", right="free")
    run = ct.simulate(problem, method=ct.Splitting(2), dt=0.02, steps=1_000_000, every=1000)
    for name in ("total_momentum", "total_angular_momentum"):
        assert run.audit()[name].verdict == "exact", run.audit()


# A kill leaves the page cache alone: fsync would only take time.
@pytest.mark.parametrize(
    ("form", "method"),
    [
        ("quaternion", ct.Splitting(4)), pytest.param("quaternion", ct.Gauss(6), marks=pytest.mark.slow), ("quaternion", ct.Rattle()),
        ("rotation", ct.Splitting(6)),
    ],
    ids=str,
)  # fmt: skip
@pytest.mark.slow
def test_a_killed_chain_resumes_to_the_same_bytes(form, method, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Killed at boundaries between changes of the disk, from the first commit to the last."""
    monkeypatch.setenv(ROWS_VARIABLE, "16")
    monkeypatch.setattr(layout, "CHUNK_BYTES_AIM", 2048)
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
    problem = in_form(ct.problems.helix_chain(4, right="force", F=(1.0, 0.0, 0.0)), form)
    run = {"method": method, "dt": 0.02, "steps": 52, "progress": False}
    names = boundaries(lambda: ct.simulate(problem, out=tmp_path / "whole.zarr", **run))
    whole = contents(tmp_path / "whole.zarr")
    first = names.index("renamed state.0") + 1
    for number in np.linspace(first, len(names) - 1, 5).astype(int).tolist():
        path = tmp_path / f"killed{number}.zarr"
        kill_at(number, lambda path=path: ct.simulate(problem, out=path, **run))
        ct.resume(path, progress=False)
        assert contents(path) == whole, names[number]


MEMORY = """\
import sys
import catena as ct
steps, out = int(sys.argv[1]), sys.argv[2]
ct.simulate(ct.problems.helix_chain(2), method=ct.Splitting(2), dt=0.02, steps=steps, every=10, out=out, progress=False)
print(next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")) / 1024)
"""


def peak_memory(steps: int, out: Path) -> float:
    """Largest size of a process that runs a chain of two bodies, in MB."""
    output, messages = start_python(MEMORY, steps, out).communicate()
    assert output, messages
    return float(output)


@pytest.mark.slow
def test_ten_times_more_steps_of_a_chain_take_no_more_memory(tmp_path: Path):
    """1e6 and 1e7 steps, 1e5 and 1e6 rows of 232 bytes; in memory they would take 209 MB more, their times alone 7. Measured: 2 MB more."""
    peak_memory(100, tmp_path / "compiled.zarr")  # compiling takes memory of its own
    few, many = peak_memory(1_000_000, tmp_path / "few.zarr"), peak_memory(10_000_000, tmp_path / "many.zarr")
    assert many < few + 5.0, f"{few:.0f} MB, {many:.0f} MB"
