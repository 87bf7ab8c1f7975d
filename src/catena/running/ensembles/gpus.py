"""Members on the GPUs of this machine: as many at a time as fit in memory; one CPU thread for each GPU."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace

from ...engine.block import Members
from ...engine.cuda.bodies import build, driver_for
from ...engine.cuda.members import CudaProgram, gpus_alike, members_at_once, use_gpu
from ...engine.cuda.reducing import GpuReducer
from ...engine.pace import Pace
from ...kernels.views import OK
from .batch import Batch
from .following import FIRST_CHUNK
from .job import Job
from .members import Batches, Show, await_result

# length of a launch, in chunks of the CPU: all states are copied before each launch, and all members inspected after it
LAUNCH_TIMES = 5.0


def on_gpus(job: Job, members: Members, show: Show | None = None) -> Batches:
    """Batches of members in their order."""
    program, gpus = build(job.system, job.method), gpus_alike()
    if len(gpus) == 1:
        size = members_at_once(program)
        for first in range(0, len(members), size):
            yield follow_there(job, program, members.part(slice(first, first + size)), show)
        return
    with _threads_on(job, gpus) as threads:
        room = [thread.submit(members_at_once, program).result() for thread in threads]
        size = min(*room, -(-len(members) // len(gpus)))
        waiting: deque[Future[Batch]] = deque()
        for number, first in enumerate(range(0, len(members), size)):
            if len(waiting) == len(gpus):
                yield await_result(waiting.popleft(), show)
            part = members.part(slice(first, first + size))
            waiting.append(threads[number % len(gpus)].submit(follow_there, job, program, part))
        while waiting:
            yield await_result(waiting.popleft(), show)


@contextmanager
def _threads_on(job: Job, gpus: Sequence[int]) -> Iterator[list[Executor]]:
    """A thread for each GPU. After an error they stop at the end of a launch."""
    threads: list[Executor] = [ThreadPoolExecutor(1, initializer=use_gpu, initargs=(number,)) for number in gpus]
    try:
        yield threads
    except BaseException:
        job.stop.set()
        raise
    finally:
        for thread in threads:
            thread.shutdown(wait=True, cancel_futures=True)


def follow_there(job: Job, program: CudaProgram, members: Members, show: Show | None = None) -> Batch:
    """Run members that fit on the GPU of this thread from start to end."""
    driver = driver_for(program)(program, members, every=job.every, edges=job.edges)
    driver.begin()
    batch, reducer = Batch.empty(job, driver.members, adds=False), None
    if job.reductions.named:
        reducer = GpuReducer(job.reductions.kernel(job.system), driver, job.reductions.first())
        reducer.take(0, 1)
    pace = Pace(FIRST_CHUNK, every=job.every, times=LAUNCH_TIMES)
    while driver.step < job.steps and (driver.status == OK).any() and not job.stop.is_set():
        began, before, number = time.perf_counter(), driver.step, 1 + driver.step // job.every
        rows = driver.advance(pace.after(driver.step, job.steps - driver.step), keep=bool(job.kept_rows))
        batch.samples[:, number : number + rows.shape[1]] = rows
        if reducer is not None:
            reducer.take(number, 1 + driver.step // job.every - number)
        job.tally.add((driver.step - before) * driver.members)
        if show is not None:
            show()
        pace.took(driver.step - before, time.perf_counter() - began)
    failed = int((driver.status != OK).sum())
    job.tally.add((job.steps - driver.step) * driver.members, members=driver.members, failed=failed)
    if reducer is not None:
        batch.reduced[:] = reducer.kept()
    start, final = driver.rows()
    batch.samples[:, :1, : start.shape[1]] = start[:, None]
    batch = replace(
        batch, start=start, final=final, status=driver.status, made=driver.made, added=driver.added(), **driver.concluded()
    )  # fmt: skip
    batch.fit_drifts(job, members.dt, driver.sums)
    return batch
