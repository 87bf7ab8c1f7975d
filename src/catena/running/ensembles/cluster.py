"""Members on the workers of `dask.distributed`: tasks of some seconds, done again when a worker dies, whoever comes and goes.

What came out of a task travels to the client, which puts the members into their order. A cluster does a task again that was on a worker
which died, and gives it up after some deaths: then its members are followed one by one, and the one that ends every worker is
marked as lost. The others go on.
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

TASK_SECONDS = 3.0  # of a task, as far as its members allow
FASTER = 4  # from one task to the next, until their length is known
SHOWN_SECONDS = 0.2  # between two looks at how far the members are
ASKED_SECONDS = 2.0  # between two questions of how many workers there are
RESULT_SECONDS = 10.0  # for which a result may travel, before it is asked for again, and waited for twice as long


class Task(Protocol):
    """What a cluster will have done, as dask.distributed has it."""

    def result(self, timeout: float | None = None) -> tuple[Batch, float]:
        """What came out, and after how many seconds."""

    def done(self) -> bool:
        """Whether it is."""


class Client(Protocol):
    """Of a cluster, as dask.distributed has it."""

    def submit(self, function: object, *arguments: object, pure: bool) -> Task:
        """Have a function called there."""

    def cancel(self, tasks: Sequence[Task], *, force: bool) -> None:
        """Forget them."""

    def nthreads(self) -> Mapping[str, int]:
        """Threads of each worker."""


@dataclass
class Pacing:
    """How many members the next task takes, from the time that those before it took."""

    job: Job
    largest: int
    size: int = 1

    def took(self, members: int, seconds: float) -> None:
        """So many members took so long."""
        wanted = members * TASK_SECONDS / max(seconds, 1e-3)
        self.size = max(1, min(int(wanted), FASTER * max(self.size, members), self.largest))


def follow_there(job: bytes, members: Members) -> tuple[Batch, float]:
    """The task: what `follow` makes of members, and its seconds."""
    known, began = _unpack(job), time.perf_counter()
    batch = follow(known, members)
    return batch, time.perf_counter() - began


@lru_cache(4)
def _unpack(job: bytes) -> Job:
    """The job, made once in each process: all its tasks use one program."""
    made: Job = pickle.loads(job)
    return made


def on_cluster(job: Job, members: Members, client: Client, *, largest: int, room: int) -> Iterator[Batch | None]:
    """Batches of members in their order, at most `largest` members each; None wherever there is time to show how far they are.

    room : bytes of batches that may wait for one before them
    """
    sent, pacing = pickle.dumps(job), Pacing(job, largest)
    waiting: deque[tuple[Task, slice]] = deque()
    threads = _Threads(client)
    with _forgotten(client, waiting):
        first, patience = 0, RESULT_SECONDS
        while first < len(members) or waiting:
            most = max(2 * threads.now(), min(16 * threads.now(), room // (bytes_each(job) * pacing.size)))
            while first < len(members) and len(waiting) < most:
                left = -(-(len(members) - first) // (2 * threads.now()))  # so that all end at about the same time
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
            ):  # the worker that holds it may have died just now: the cluster will find out, and do it again
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
    """How many threads the cluster has; workers of an adaptive one come and go. Who waits is told when there are none."""

    def __init__(self, client: Client) -> None:
        self._client, self._asked, self._known = client, -np.inf, 1

    def now(self) -> int:
        """About as many as there are, one at least."""
        if time.monotonic() - self._asked > ASKED_SECONDS:
            before, self._known = self._known, sum(self._client.nthreads().values())
            self._asked = time.monotonic()
            if before and not self._known:
                log_message("the cluster has no worker at the moment; members wait until one comes")
        return max(1, self._known)


def _is_done_soon(task: Task) -> bool:
    """Whether a task ends within the time between two looks."""
    deadline = time.monotonic() + SHOWN_SECONDS
    while time.monotonic() < deadline:
        if task.done():
            return True
        time.sleep(0.005)
    return False


def _result(
    job: Job, sent: bytes, members: Members, client: Client, task: Task, threads: _Threads, patience: float
) -> tuple[Batch, float]:
    """What came out of a task; of one that no worker survived its members one by one, the seconds unknown.

    TimeoutError after so many seconds of patience: who asks for a result on a worker that died a moment ago would wait until
    nobody answers there, which may be minutes.
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
    """A member of which nothing is known but that whoever follows it dies."""
    batch = Batch.empty(job, job.unit)
    for array in vars(batch).values():
        if array.dtype == np.float64:
            array[...] = np.nan
    batch.status[:] = WORKER_LOST
    return batch


@contextmanager
def _forgotten(client: Client, waiting: deque[tuple[Task, slice]]) -> Iterator[None]:
    """Have the cluster forget what waits there, on the way out by an error, at once; what is under way ends unseen."""
    try:
        yield
    finally:
        if waiting:
            client.cancel([task for task, _ in waiting], force=True)
            waiting.clear()
