"""Members on the workers of `dask.distributed`: tasks of a few seconds, repeated when a worker dies; workers may come
and go.

The results of a task travel to the client, which puts the members in order. If a worker dies, the cluster repeats its
task, and gives up after several deaths. Then the members of the task are run one by one, and the one that kills every
worker is marked as lost. The others go on.
"""

from __future__ import annotations

import pickle
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import numpy as np

from ...engine.block import Members
from ...kernels.views import OK, WORKER_LOST
from ...log import log_message
from .batch import Batch, bytes_each
from .following import follow
from .job import Job, in_units

TASK_SECONDS = 3.0  # of a task, as far as the length of its members allows
FASTER = 4  # growth from one task to the next, until their length is known
SHOWN_SECONDS = 0.2  # between updates of the progress
ASKED_SECONDS = 2.0  # between queries of the number of workers
RESULT_SECONDS = 10.0  # that a result may travel before it is requested again, with twice the timeout


class Task(Protocol):
    """A future of dask.distributed."""

    def result(self, timeout: float | None = None) -> tuple[Batch, float]:
        """The result, and its seconds."""

    def done(self) -> bool:
        """Whether the task is done."""


class Client(Protocol):
    """A client of dask.distributed."""

    def submit(self, function: object, *arguments: object, pure: bool) -> Task:
        """Call a function on a worker."""

    def cancel(self, tasks: Sequence[Task], *, force: bool) -> None:
        """Cancel tasks."""

    def nthreads(self) -> Mapping[str, int]:
        """Threads of each worker."""


@dataclass
class Pacing:
    """Number of members in the next task, from the time that earlier tasks took."""

    job: Job
    largest: int
    size: int = 1

    def took(self, members: int, seconds: float) -> None:
        """Record that this many members took this long."""
        wanted = members * TASK_SECONDS / max(seconds, 1e-3)
        self.size = max(1, min(int(wanted), FASTER * max(self.size, members), self.largest))


def follow_there(job: bytes, members: Members) -> tuple[Batch, float]:
    """The task: the results of `follow` for these members, and its seconds."""
    known, began = _unpack(job), time.perf_counter()
    batch = follow(known, members)
    return batch, time.perf_counter() - began


@lru_cache(4)
def _unpack(job: bytes) -> Job:
    """The job, made once in each process, so that all its tasks share one program."""
    made: Job = pickle.loads(job)
    return made


def on_cluster(job: Job, members: Members, client: Client, *, largest: int, room: int) -> Iterator[Batch | None]:
    """Batches of members in their order, at most `largest` members each; None whenever progress can be shown.

    room : bytes of finished batches that may wait for an earlier one
    """
    sent, pacing = pickle.dumps(job), Pacing(job, largest)
    waiting: deque[tuple[Task, slice]] = deque()
    threads = _Threads(client)
    with _forgotten(client, waiting):
        first, patience = 0, RESULT_SECONDS
        while first < len(members) or waiting:
            most = max(2 * threads.now(), min(16 * threads.now(), room // (bytes_each(job) * pacing.size)))
            while first < len(members) and len(waiting) < most:
                left = -(-(len(members) - first) // (2 * threads.now()))  # so that all end at the same time
                part = slice(first, min(len(members), first + in_units(min(pacing.size, left), job.together)))
                task = client.submit(follow_there, sent, members.part(part).compact(), pure=False)
                waiting.append((task, part))
                first = part.stop
            if not waiting[0][0].done() and not _is_done_soon(waiting[0][0]):
                yield None
                continue
            task, part = waiting[0]
            try:
                batch, seconds = _result(job, sent, members.part(part), client, task, threads, patience)
            except (
                TimeoutError
            ):  # the worker that holds it may have just died: the cluster will notice, and repeat the task
                patience *= 2
                yield None
                continue
            waiting.popleft()
            patience = RESULT_SECONDS
            if seconds > 0.0:
                pacing.took(len(batch), seconds)
            job.tally.add(job.steps * len(batch), members=len(batch), failed=int((batch.status != OK).sum()))
            yield batch


class _Threads:
    """Number of threads of the cluster; workers of an adaptive one come and go. Logs if there are none."""

    def __init__(self, client: Client) -> None:
        self._client, self._asked, self._known = client, -np.inf, 1

    def now(self) -> int:
        """About the current number, at least one."""
        if time.monotonic() - self._asked > ASKED_SECONDS:
            before, self._known = self._known, sum(self._client.nthreads().values())
            self._asked = time.monotonic()
            if before and not self._known:
                log_message("the cluster has no worker at the moment; members wait until one comes")
        return max(1, self._known)


def _is_done_soon(task: Task) -> bool:
    """Whether a task ends before the next update of the progress."""
    deadline = time.monotonic() + SHOWN_SECONDS
    while time.monotonic() < deadline:
        if task.done():
            return True
        time.sleep(0.005)
    return False


def _result(
    job: Job, sent: bytes, members: Members, client: Client, task: Task, threads: _Threads, patience: float
) -> tuple[Batch, float]:
    """The result of a task; if no worker survives it, its members are run one by one, and the seconds are unknown.

    TimeoutError after `patience` seconds: a request to a worker that has just died waits until the connection times
    out, which may take minutes.
    """
    from distributed import KilledWorker

    try:
        return task.result(timeout=patience)
    except KilledWorker as last:
        log_message(f"members {members.numbers[0]} to {members.numbers[-1]}: {last}; they are followed one by one")
    whole = Batch.empty(job, len(members))
    for k in range(0, len(members), job.unit):
        alone = members.part(slice(k, k + job.unit)).compact()
        one = client.submit(follow_there, sent, alone, pure=False)
        while not _is_done_soon(one):
            threads.now()
        try:
            batch, _ = one.result()
        except KilledWorker:
            log_message(f"member {members.numbers[k]}: every worker that followed it died")
            batch = lose(job)
        whole.take(batch, k)
    return whole, 0.0


def lose(job: Job) -> Batch:
    """The result of a member of which nothing is known except that it kills every worker."""
    batch = Batch.empty(job, job.unit)
    for array in vars(batch).values():
        if array.dtype == np.float64:
            array[...] = np.nan
    batch.status[:] = WORKER_LOST
    return batch


@contextmanager
def _forgotten(client: Client, waiting: deque[tuple[Task, slice]]) -> Iterator[None]:
    """Cancel waiting tasks at once when an error occurs; results of running ones are ignored."""
    try:
        yield
    finally:
        if waiting:
            client.cancel([task for task, _ in waiting], force=True)
            waiting.clear()
