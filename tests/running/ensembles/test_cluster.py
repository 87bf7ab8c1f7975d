"""Ensembles on a cluster: a scheduler and two worker processes of `dask.distributed`, on this machine."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import cloudpickle
import dask
import numpy as np
import pytest
from distributed import Client, LocalCluster, WorkerPlugin

import catena as ct
from catena.errors import InputError
from catena.running.ensembles import cluster, members, resume_ensemble, running
from catena.running.recording import ROWS_VARIABLE
from processes import contents

KEPLER = ct.problems.kepler().system
RUNAWAY = ct.Hamiltonian("p**2/2 - q**4/4")
OPTIONS: dict[str, Any] = {"dt": 0.05, "steps": 250, "every": 2, "keep": "samples"}
PATIENT = {  # a machine may be slow, and nothing is lost by waiting
    "distributed.comm.timeouts.connect": "300s",
    "distributed.comm.timeouts.tcp": "300s",
    "distributed.scheduler.worker-ttl": None,
    # so long after a worker has died its nanny is closed, unless one runs at that moment: where workers die again and again, or start slowly, none is left
    "distributed.deploy.lost-worker-timeout": "1h",
}


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    """Two processes with a thread each; no messages, and no port that another cluster may have."""
    with (
        dask.config.set(PATIENT),
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs="ERROR") as cluster,
        Client(cluster, timeout=300) as connected,
    ):
        yield connected


def kepler_starts(count: int) -> dict[str, np.ndarray]:
    e = np.linspace(0.0, 0.8, count)
    zero = np.zeros(count)
    return {"q": np.stack([1 - e, zero], axis=1), "p": np.stack([zero, np.sqrt((1 + e) / (1 - e))], axis=1)}


def executed(client: Client) -> list[int]:
    """Tasks that each worker has finished, once nothing is left on the cluster."""
    deadline = time.monotonic() + 300
    while any(client.run(lambda dask_worker: len(dask_worker.state.tasks)).values()):
        assert time.monotonic() < deadline, client.has_what()
        time.sleep(0.02)
    return list(client.run(lambda dask_worker: dask_worker.state.executed_count).values())


def test_a_cluster_gives_the_same_bits(client: Client) -> None:
    """Both processes take members; a start that differs in its last digit is the twin that must differ."""
    starts = kepler_starts(20)
    here = ct.ensemble(KEPLER, starts, ct.Splitting(6), **OPTIONS)
    before = executed(client)
    told: list[tuple[int, ...]] = []
    there = ct.ensemble(
        KEPLER, starts, ct.Splitting(6), **OPTIONS, client=client, progress=lambda *numbers: told.append(numbers)
    )
    assert told[-1] == (20 * 250, 20 * 250, 20, 0)
    assert there.data.identical(here.data)
    assert there.final.identical(here.final)
    assert str(there.audit()) == str(here.audit())
    assert len(before) == 2 and np.greater(executed(client), before).all()
    starts["q"][7, 0] = np.nextafter(starts["q"][7, 0], 2.0)
    moved = ct.ensemble(KEPLER, starts, ct.Splitting(6), **OPTIONS, client=client)
    assert np.flatnonzero((moved.final.q != here.final.q).any("dof")).tolist() == [7]


def test_noise_on_a_cluster_has_the_same_bits(client: Client) -> None:
    """Members in a heat bath differ by their noise alone, which knows their number in the whole ensemble, not in a task."""
    spring = ct.Hamiltonian("p**2/2 + q**2/2")
    bath = ct.Langevin(1.0, friction=0.5, seed=3)
    here, there = (
        ct.ensemble(spring, spring.start(q=1.0, p=0.0), bath, members=20, **OPTIONS, client=where)
        for where in (None, client)
    )
    assert there.data.identical(here.data)
    assert str(there.audit()) == str(here.audit())
    assert len(np.unique(here.final.q)) == 20


def test_what_a_cluster_stores_and_resumes_has_the_same_bytes(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stopped after a commit of four members; the eight others, which have equal starts, are as many tasks."""
    monkeypatch.setenv(ROWS_VARIABLE, "4")
    monkeypatch.setattr(members, "LARGEST_BATCH", 1)
    starts = {name: np.repeat(values[:1], 12, axis=0) for name, values in kepler_starts(3).items()}
    commit = running.Store.commit

    def stopping(store: Any, **what: Any) -> None:
        commit(store, **what)
        raise KeyboardInterrupt

    ct.ensemble(KEPLER, starts, ct.Splitting(6), **OPTIONS, out=tmp_path / "here.zarr")
    with monkeypatch.context() as patch:
        patch.setattr(running.Store, "commit", stopping)
        with pytest.raises(ct.Interrupted, match="stopped after 4 of 12 members"):
            ct.ensemble(KEPLER, starts, ct.Splitting(6), **OPTIONS, out=tmp_path / "there.zarr", client=client)
    before = sum(executed(client))
    assert resume_ensemble(tmp_path / "there.zarr", client=client).finished
    assert contents(tmp_path / "there.zarr") == contents(tmp_path / "here.zarr")
    assert sum(executed(client)) == before + 8


def test_an_interrupt_is_not_kept_waiting_by_a_cluster(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 200 tasks, about 10 s for two processes, those that wait are forgotten; then the cluster is as good as new."""

    def interrupted(job: Any, count: int, batches: Any, whole: Any) -> None:
        next(batches)
        raise KeyboardInterrupt

    monkeypatch.setattr(members, "LARGEST_BATCH", 1)
    before = sum(executed(client))
    with monkeypatch.context() as patch:
        patch.setattr(running, "_gather", interrupted)
        with pytest.raises(KeyboardInterrupt):
            ct.ensemble(KEPLER, kepler_starts(200), ct.Splitting(6), dt=1e-5, steps=200_000, every=100, client=client)
    assert sum(executed(client)) < before + 150
    many = ct.ensemble(RUNAWAY, {"q": [0.01, 2.0], "p": [0.0, 0.0]}, ct.RK4(), dt=0.05, steps=60, client=client)
    assert [failure.member for failure in many.failures] == [1]


def killing_at(client: Client, done: int, killed: list[int]) -> Any:
    """A report of progress that ends a worker process, once, when so many members are done."""

    def progress(steps: int, all_steps: int, members_done: int, failed: int) -> None:
        if members_done >= done and not killed:
            killed.append(next(iter(client.run(os.getpid).values())))
            os.kill(killed[0], signal.SIGKILL)

    return progress


def test_a_worker_that_is_killed_costs_nothing_but_time(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its pid, in the middle; its tasks are done again. Tasks of two members, so that some are under way on it."""
    monkeypatch.setenv(ROWS_VARIABLE, "8")
    monkeypatch.setattr(members, "LARGEST_BATCH", 2)
    starts, killed = kepler_starts(60), []
    options: dict[str, Any] = {"dt": 0.0005, "steps": 20_000, "every": 2000}
    ct.ensemble(KEPLER, starts, ct.Splitting(6), **options, out=tmp_path / "here.zarr")
    many = ct.ensemble(
        KEPLER, starts, ct.Splitting(6), **options, out=tmp_path / "there.zarr", client=client, progress=killing_at(client, 10, killed)
    )  # fmt: skip
    assert len(killed) == 1 and killed[0] not in client.run(os.getpid).values()
    assert many.finished and not many.failures
    assert contents(tmp_path / "there.zarr") == contents(tmp_path / "here.zarr")


class Deadly(WorkerPlugin):
    """Has each worker of a cluster, those that come later included, end itself when it follows member 7."""

    def setup(self, worker: Any) -> None:
        from catena.running.ensembles import cluster, following

        def follow(job: Any, of: Any) -> Any:
            if 7 in of.numbers:
                os._exit(1)
            return following.follow(job, of)

        cluster.follow = follow  # type: ignore[attr-defined]


@pytest.mark.slow
def test_a_member_that_ends_every_worker_is_named_and_stops_no_other() -> None:
    """Three workers die on the task with it, then three on the member alone; the others have the bits of threads."""
    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    starts = kepler_starts(12)
    here = ct.ensemble(KEPLER, starts, ct.Splitting(6), dt=0.05, steps=250)
    with (
        dask.config.set({**PATIENT, "distributed.scheduler.allowed-failures": 2}),
        LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0", silence_logs="CRITICAL") as cluster,
        Client(cluster, timeout=300) as connected,
    ):
        connected.register_plugin(Deadly())
        there = ct.ensemble(KEPLER, starts, ct.Splitting(6), dt=0.05, steps=250, client=connected)
    assert [(member, failure.wrong.partition(" (")[0]) for member, failure in there.failures] == [
        (7, "every worker of the cluster that followed it died")
    ]
    others = [k for k in range(12) if k != 7]
    np.testing.assert_array_equal(there.final.q[others], here.final.q[others])
    assert np.isnan(there.final.q[7]).all()


@pytest.mark.slow
def test_ten_thousand_chains_survive_a_killed_worker_and_take_little_longer_than_threads(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Byte for byte, with commits of equally many members; the ratio of both times is told, for who has two free cores."""
    monkeypatch.setenv(ROWS_VARIABLE, "500")
    chain = ct.problems.helix_chain(8)
    push = 1 + 0.01 * np.random.default_rng(3).standard_normal((10_000, 1, 1))
    starts = {name: np.repeat(array[None], 10_000, axis=0) for name, array in chain.start.fields.items()}
    starts["momentum"] = starts["momentum"] * push
    options: dict[str, Any] = {"dt": chain.dt, "steps": 10_000, "every": 1000}
    killed: list[int] = []
    few = {name: array[:2] for name, array in starts.items()}
    ct.ensemble(chain.system, few, ct.Splitting(2), **options)  # compiles, for both
    began = time.perf_counter()
    ct.ensemble(chain.system, starts, ct.Splitting(2), **options, out=tmp_path / "here.zarr", threads=2)
    threads, began = time.perf_counter() - began, time.perf_counter()
    ct.ensemble(
        chain.system, starts, ct.Splitting(2), **options, out=tmp_path / "there.zarr", client=client, progress=killing_at(client, 4000, killed)
    )  # fmt: skip
    cluster = time.perf_counter() - began
    print(f"two threads {threads:.1f} s, two workers {cluster:.1f} s, ratio {cluster / threads:.2f}")
    assert len(killed) == 1
    assert contents(tmp_path / "there.zarr") == contents(tmp_path / "here.zarr")


class Deaf:
    """A cluster of this process, whose results cannot be fetched at first: the worker that has them has just died."""

    def __init__(self, deaf: int) -> None:
        self.deaf, self.waited, self.threads = deaf, [], {"here": 1}

    def submit(self, function: Any, *arguments: Any, pure: bool) -> Any:
        made = function(*arguments)

        def result(timeout: float | None = None) -> Any:
            self.waited.append(timeout)
            if len(self.waited) <= self.deaf:
                raise TimeoutError
            return made

        return SimpleNamespace(done=lambda: True, result=result)

    def cancel(self, tasks: Any, *, force: bool) -> None: ...

    def nthreads(self) -> dict[str, int]:
        return self.threads


def test_a_result_that_died_with_its_worker_is_asked_for_again() -> None:
    """With more patience each time, since it may be large; without any, a client waits as long as a dead worker is called, and the run stands still."""
    deaf = Deaf(3)
    there = ct.ensemble(KEPLER, kepler_starts(3), ct.Splitting(6), dt=0.05, steps=10, client=deaf)
    assert there.final.identical(ct.ensemble(KEPLER, kepler_starts(3), ct.Splitting(6), dt=0.05, steps=10).final)
    assert deaf.waited[:5] == [10.0, 20.0, 40.0, 80.0, 10.0]


def test_who_waits_for_a_cluster_without_workers_is_told_so_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its nannies may have given up; an adaptive one may have none yet, so nothing ends."""
    told: list[str] = []
    monkeypatch.setattr(cluster, "log_message", told.append)
    monkeypatch.setattr(cluster, "ASKED_SECONDS", -1.0)
    empty = Deaf(2)
    empty.threads = {}
    ct.ensemble(KEPLER, kepler_starts(3), ct.Splitting(6), dt=0.05, steps=10, client=empty)
    assert told == ["the cluster has no worker at the moment; members wait until one comes"]


def test_a_client_that_is_none_is_refused() -> None:
    with pytest.raises(InputError, match=r"client = 'tcp://scheduler:8786' is not a client[\s\S]*distributed.Client"):
        ct.ensemble(KEPLER, kepler_starts(2), ct.Splitting(6), dt=0.05, steps=10, client="tcp://scheduler:8786")
