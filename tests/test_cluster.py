"""Ensembles on a cluster: a scheduler and two worker processes of `dask.distributed`, on this machine."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dask
import numpy as np
import pytest
from distributed import Client, LocalCluster

import catena as ct
from catena.errors import InputError
from catena.running.ensembles import members, resume_ensemble, running
from catena.running.recording import ROWS_VARIABLE
from processes import contents

KEPLER = ct.problems.kepler().system
RUNAWAY = ct.Hamiltonian("p**2/2 - q**4/4")
OPTIONS: dict[str, Any] = {"dt": 0.05, "steps": 250, "every": 2, "keep": "samples"}
PATIENT = {  # a machine may be slow, and nothing is lost by waiting
    "distributed.comm.timeouts.connect": "300s",
    "distributed.comm.timeouts.tcp": "300s",
    "distributed.scheduler.worker-ttl": None,
}


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    """Two processes with a thread each; no talk, and no port that another cluster may have."""
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

    def interrupted(job: Any, count: int, batches: Any) -> None:
        next(batches)
        raise KeyboardInterrupt

    monkeypatch.setattr(members, "LARGEST_BATCH", 1)
    before = sum(executed(client))
    with monkeypatch.context() as patch:
        patch.setattr(running, "_gathered", interrupted)
        with pytest.raises(KeyboardInterrupt):
            ct.ensemble(KEPLER, kepler_starts(200), ct.Splitting(6), dt=1e-5, steps=200_000, every=100, client=client)
    assert sum(executed(client)) < before + 150
    many = ct.ensemble(RUNAWAY, {"q": [0.01, 2.0], "p": [0.0, 0.0]}, ct.RK4(), dt=0.05, steps=60, client=client)
    assert [failure.member for failure in many.failures] == [1]


def test_a_client_that_is_none_is_refused() -> None:
    with pytest.raises(InputError, match=r"client = 'tcp://scheduler:8786' is not a client[\s\S]*distributed.Client"):
        ct.ensemble(KEPLER, kepler_starts(2), ct.Splitting(6), dt=0.05, steps=10, client="tcp://scheduler:8786")
