"""Who steps members: threads of this process, the workers of a cluster (`cluster`), or GPUs (`gpus`). Members are
independent of each other, so any number of them can be under way.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager

from ... import memory
from ...engine.block import Members
from ...engine.packing import cores
from ..plan import positive_integer
from .batch import Batch, bytes_each
from .cluster import Client, on_cluster
from .following import follow
from .job import Job, in_units

LARGEST_BATCH = 4096  # members in a task
BATCH_BYTES = 2**23  # of the results of a batch; one member may need more
# Remaining members are divided by the first number per worker, so tasks shrink and all workers finish together; the
# second limits the tasks per worker in all. A task costs some 0.2 ms in which no other thread can use the interpreter.
TASKS_PER_WORKER, MOST_TASKS = 2, 96
WAITING_BYTES = 2**25  # of finished batches that wait for an earlier one
SHOWN_SECONDS = 0.2  # between updates of the progress


def require_memory(job: Job, members: int, *, threads: int | None, stored: bool) -> None:
    """Refuse what would not fit in memory: all members unless they are stored, and the batches under way."""
    each = bytes_each(job)
    under_way = max(2 * _threads(threads), WAITING_BYTES // each)
    held = (0 if stored else members) + min(members, under_way)
    ways = ["fewer threads"] if stored else ['out="many.zarr"']
    ways += ["a larger every", 'keep="final"'] if job.kept_rows else ["fewer members at once"]
    samples = f", {job.kept_rows} samples each," if job.kept_rows else ""
    memory.require(
        float(each) * held, what=f"an ensemble of {members} members{samples}",
        where="ensemble.keep, ensemble.every", do=f"use {', or '.join(ways)}",
    )  # fmt: skip


Batches = Generator[Batch]  # in the order of the members
Show = Callable[[], None]  # shows the progress


def workers_for(job: Job, threads: int | None) -> int:
    """Number of threads that step members."""
    return _threads(threads)


def _threads(given: int | None) -> int:
    if given is not None:
        return positive_integer(given, "threads")
    return cores()


def on_executor(
    job: Job,
    members: Members,
    workers: int,
    client: Client | None,
    show: Show | None = None,
    whole: Batch | None = None,
    *,
    commit: int = LARGEST_BATCH,
) -> Batches:
    """Batches of members in their order, from threads of this process or the workers of a cluster; memory limits how
    many may wait.

    whole : an empty batch of all members; threads write into it, and each batch is a part of it
    commit : members that are stored at a time; no task takes more, so that little is lost when long ones are stopped
    """
    each = bytes_each(job)
    largest = max(1, min(LARGEST_BATCH, BATCH_BYTES // each, commit))
    if client is not None:
        for batch in on_cluster(job, members, client, largest=largest, room=WAITING_BYTES):
            if show is not None:
                show()
            if batch is not None:
                yield batch
        return
    most = max(2 * workers, WAITING_BYTES // (each * largest))
    waiting: deque[Future[Batch]] = deque()
    with _threads_of(job, workers) as executor:
        for part in _parts(len(members), workers, largest, unit=job.together):
            if len(waiting) == most:
                yield await_result(waiting.popleft(), show)
            into = () if whole is None else (whole.part(part),)
            waiting.append(executor.submit(follow, job, members.part(part), *into))
        while waiting:
            yield await_result(waiting.popleft(), show)
    if show is not None:
        show()


def _parts(members: int, workers: int, largest: int, *, unit: int = 1) -> Iterator[slice]:
    """Tasks for this many members, large ones first, each of whole units."""
    least, first = max(1, members // (MOST_TASKS * workers)), 0
    while first < members:
        size = max(least, -(-(members - first) // (TASKS_PER_WORKER * workers)))
        part = slice(first, min(members, first + in_units(min(size, largest), unit)))
        yield part
        first = part.stop


def await_result(future: Future[Batch], show: Show | None) -> Batch:
    """The result of a task; shows the progress of all members while it waits."""
    while show is not None:
        show()
        if wait([future], timeout=SHOWN_SECONDS).done:
            break
    return future.result()


@contextmanager
def _threads_of(job: Job, workers: int) -> Iterator[Executor]:
    """The executor for members. After an error, threads stop at the end of a chunk of steps."""
    executor = ThreadPoolExecutor(workers)
    try:
        yield executor
    except BaseException:
        job.stop.set()
        raise
    finally:
        executor.shutdown(wait=True, cancel_futures=True)
