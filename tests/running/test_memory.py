"""What does not fit into memory is refused before anything is compiled or run, and the message says what to do."""

from __future__ import annotations

import re
import time
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

import catena as ct
from catena import memory
from catena.errors import InputError
from catena.running import simulation
from catena.running.ensembles import ensemble, job
from catena.running.ensembles.batch import Batch, bytes_each
from catena.running.ensembles.grids import Grid
from catena.running.ensembles.job import Job
from catena.running.plan import Plan
from many_terms import chain, chain_start

HARMONIC = ct.problems.harmonic()
MANY = {"q": [[1.0]] * 1000, "p": [[0.0]] * 1000}


@pytest.fixture
def nothing_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*arguments: object, **more: object) -> None:
        raise AssertionError("a run was begun")

    monkeypatch.setattr(simulation, "_driver", never)
    monkeypatch.setattr(job, "build", never)


@pytest.mark.usefixtures("nothing_compiled")
@pytest.mark.parametrize(
    "begin", [HARMONIC.start, lambda rng: HARMONIC.start, None], ids=["one", "drawn", "of the problem"]
)
def test_starts_that_the_machine_cannot_hold_are_refused_before_they_are_made(
    begin: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    """48 bytes for each member of two variables, stored or not; a thousand have room."""
    monkeypatch.setattr(memory, "available", lambda: 2.0**20)
    system = HARMONIC if begin is None else HARMONIC.system
    with pytest.raises(
        InputError, match=r"the starts of 10000000000 members would take 447 GiB of memory; 1 MiB are there"
    ):
        ensemble(system, begin, ct.Splitting(2), dt=0.1, steps=10, members=10**10)
    with pytest.raises(AssertionError, match="a run was begun"):
        ensemble(system, begin, ct.Langevin(1.0, 1.0), dt=0.1, steps=10, members=1000)


def test_points_of_a_sweep_that_the_machine_cannot_hold_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available", lambda: 2.0**20)
    with pytest.raises(
        InputError, match=r"the 2000000000000 members of the sweep would take .* GiB of memory; 1 MiB are there"
    ):
        Grid.of({"force": [1.0, 2.0]}, 10**12)
    assert len(Grid.of({"force": [1.0, 2.0]}, 1000)) == 2000


@pytest.mark.usefixtures("nothing_compiled")
def test_a_hundred_million_samples_are_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the machine has: 2.4 GB of rows, twice that when they are put together."""
    monkeypatch.setattr(memory, "available", lambda: 1e15)
    began = time.process_time()
    with pytest.raises(InputError, match=r"100000001 samples of 3 numbers would take 5\.22 GiB") as caught:
        ct.simulate(HARMONIC, dt=0.01, steps=10**8)
    assert time.process_time() - began < 0.5
    assert 'out="run.zarr"' in caught.value.do
    with pytest.raises(AssertionError, match="begun"):
        ct.simulate(HARMONIC, dt=0.01, steps=10**7)


@pytest.mark.usefixtures("nothing_compiled")
def test_the_remedies_of_the_message_work(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(memory, "available", lambda: 2.0 * 2**20)
    with pytest.raises(InputError, match="1 MiB are allowed") as caught:
        ct.simulate(HARMONIC, dt=0.01, steps=100_000)
    found = re.search(r"every=(\d+) fits", caught.value.do)
    assert found
    for keywords in ({"every": int(found[1])}, {"out": tmp_path / "run.zarr"}):
        with pytest.raises(AssertionError, match="begun"):
            ct.simulate(HARMONIC, dt=0.01, steps=100_000, **keywords)
    with pytest.raises(InputError, match="allowed"):
        ct.simulate(HARMONIC, dt=0.01, steps=100_000, every=int(found[1]) // 2)


def test_a_run_takes_the_memory_that_was_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Measured from the first step to the audit: within a fifth of what is asked for, 200 000 samples."""
    asked: list[float] = []
    monkeypatch.setattr(memory, "require", lambda needed, **more: asked.append(needed))
    ct.simulate(HARMONIC, dt=0.01, steps=100, progress=False).audit()
    tracemalloc.start()
    run = ct.simulate(HARMONIC, dt=0.01, steps=200_000, progress=False)
    run.audit()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert 0.8 * max(asked) < peak < 1.2 * max(asked) + 2**21


def test_a_matrix_that_does_not_fit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """64 masses in four stages: (4 * 128)**2 numbers are 2 MiB."""
    monkeypatch.setattr(memory, "available", lambda: 2.0 * 2**20)
    monkeypatch.setattr(Plan, "program", lambda plan: pytest.fail("compiled"))
    system = chain(64)
    with pytest.raises(InputError, match=r"Gauss\(4\) works in, .*would take 2\.\d+ MiB") as caught:
        ct.simulate(system, chain_start(system), ct.Gauss(4), dt=0.1, steps=10)
    assert 'solver="fixed-point"' in caught.value.do
    with pytest.raises(pytest.fail.Exception, match="compiled"):
        ct.simulate(system, chain_start(system), ct.Gauss(4, solver="fixed-point"), dt=0.1, steps=10)


@pytest.mark.usefixtures("nothing_compiled")
@pytest.mark.parametrize("stored", [False, True])
def test_the_samples_of_an_ensemble_are_asked_for(
    stored: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(memory, "available", lambda: 2.0**31)
    out = tmp_path / "many.zarr" if stored else None
    for steps, fits in ((10**3, True), (10**5, stored), (10**8, False)):
        with pytest.raises(AssertionError if fits else InputError) as caught:
            ensemble(HARMONIC, MANY, dt=0.01, steps=steps, keep="samples", out=out, threads=2)
        if not fits:
            assert "1000 members" in str(caught.value)
            assert ("out=" in str(caught.value)) != stored
    with pytest.raises(AssertionError, match="begun"):
        ensemble(HARMONIC, MANY, dt=0.01, steps=10**8, every=10**8, keep="samples", out=out, threads=2)


@pytest.mark.parametrize("keep", ["final", "samples", "nothing"])
def test_the_size_of_a_member_is_that_of_its_arrays(keep: job.Keep) -> None:
    job = Job(ct.problems.kepler().system, ct.Splitting(6), 0.1, 1000, 7, keep)
    assert bytes_each(job) == sum(array.nbytes for array in vars(Batch.empty(job, 1)).values())


def test_available_memory_is_what_the_system_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The least of what the machine has, what Linux calls available, and what a container leaves."""
    assert 2**24 < memory.available() <= memory._physical()
    monkeypatch.setattr(memory, "_physical", lambda: 64.0 * 2**30)
    monkeypatch.setattr(memory, "MEMINFO", tmp_path / "meminfo")
    monkeypatch.setattr(memory, "CGROUP", tmp_path)
    assert memory.available() == 64.0 * 2**30
    (tmp_path / "meminfo").write_text("MemTotal:  99 kB\nMemAvailable:   4194304 kB\n")
    assert memory.available() == 4.0 * 2**30
    (tmp_path / "memory.max").write_text("max\n")
    (tmp_path / "memory.current").write_text(f"{2**30}\n")
    assert memory.available() == 4.0 * 2**30
    (tmp_path / "memory.max").write_text(f"{3 * 2**30}\n")
    assert memory.available() == 2.0 * 2**30
    assert memory.allow() == 2.0**30
    assert np.isfinite(memory.allow())
