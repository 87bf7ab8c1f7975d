"""Following members: they are independent of each other, so any number of them can be under way.

On the processor threads take them in batches, each member with its own driver, so its numbers are those of a single run to
the bit; on a card each member has a thread (`engine.cuda`). The audit needs no samples to be kept: the deviations of the
invariants are folded, as they come, into their largest magnitude and their sums over the 40 blocks from which the drift is
fitted, so that memory does not grow with the length of the runs.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping
from concurrent.futures import Executor, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from ... import memory
from ...engine.build import Program, build
from ...engine.driver import Driver
from ...engine.folding import compiled_fold
from ...engine.looks import seen_deviation, unseen, usual_size
from ...engine.pace import Pace
from ...kernels.views import OK
from ...methods.base import Method, stored_method
from ...store.long_arrays import set_apart
from ...systems.base import System, system_from
from ...text.plain import Json
from ..auditing import BLOCKS, block_edges, lasting_of_blocks
from ..plan import Stepping, positive_integer
from .auditing import measured_in

Array = NDArray[np.float64]
Keep = Literal["final", "samples", "nothing"]

LARGEST_BATCH = 256  # members that a task takes
BATCH_BYTES = 2**23  # of what came out of a batch; one member may be more
TASKS_PER_WORKER = 8  # so that all workers end at about the same time
WAITING_BYTES = 2**25  # of batches that wait for one before them
FIRST_CHUNK = 256  # steps
MEASURED = 8  # arrays of a batch that have a number for each of the invariants
SHOWN_SECONDS = 0.2  # between two looks at how far the members are


class Tally:
    """How far the members of an ensemble are: threads add to it, and who waits for them looks at it.

    Attributes
    ----------
    steps : steps that are made, or that a member which failed will never make
    members, failed : how many are done, and how many of these failed
    """

    def __init__(self) -> None:
        self.steps = self.members = self.failed = 0
        self._lock = threading.Lock()

    def add(self, steps: int, *, members: int = 0, failed: int = 0) -> None:
        """Count further ones."""
        with self._lock:
            self.steps += steps
            self.members += members
            self.failed += failed


@dataclass(frozen=True)
class Job(Stepping):
    """What all members have in common: a plan without a start; it can be sent to another process."""

    system: System
    method: Method
    dt: float
    steps: int
    every: int
    keep: Keep
    stop: threading.Event = field(default_factory=threading.Event, compare=False)
    tally: Tally = field(default_factory=Tally, compare=False)

    @cached_property
    def program(self) -> Program:
        """The compiled loop."""
        return build(self.system, self.method)

    @property
    def rows(self) -> int:
        """Samples of a member that does not fail, the start among them."""
        return self.rows_after(self.steps)

    @property
    def kept_rows(self) -> int:
        """Samples that are kept of each member."""
        return self.rows if self.keep == "samples" else 0

    @property
    def edges(self) -> NDArray[np.int64]:
        """Numbers of the samples between which the blocks of the audit lie."""
        return block_edges(self.rows)

    def describe(self, *, apart: dict[str, Array] | None = None) -> dict[str, Json]:
        """The job as JSON, from which `job_from` makes it again; `apart` as for a `Plan`."""
        run = {"dt": self.dt, "every": self.every, "steps": self.steps, "keep": self.keep}
        described: dict[str, Json] = {
            "system": self.system.describe(), "method": self.method.describe(), "run": run,
        }  # fmt: skip
        return described if apart is None else set_apart(described, apart)

    def __reduce__(self) -> tuple[type[Job], tuple[object, ...]]:
        return Job, (self.system, self.method, self.dt, self.steps, self.every, self.keep)


def job_from(described: Mapping[str, Any]) -> Job:
    """The job that `Job.describe` wrote down."""
    run = described["run"]
    system, method = system_from(described["system"]), stored_method(described["method"])
    return Job(system, method, run["dt"], run["steps"], run["every"], run["keep"])


class Client(Protocol):
    """Of a cluster, as dask.distributed has it."""

    def get_executor(self, *, pure: bool) -> Executor:
        """What runs functions there."""


@dataclass(frozen=True)
class Batch:
    """What came out of some members, leading axis member.

    start, final : rows of the first and the last state; status, made : how it ended after how many steps; worst, seen, lasting,
    drift, drift_error, jump, scale, usual : of the invariants, nan for a member that failed; samples : all rows, none if they are
    not kept
    """

    start: Array
    final: Array
    status: NDArray[np.int64]
    made: NDArray[np.int64]
    worst: Array
    seen: Array
    lasting: Array
    drift: Array
    drift_error: Array
    jump: Array
    scale: Array
    usual: Array
    samples: Array

    @classmethod
    def empty(cls, job: Job, members: int) -> Batch:
        """Room for so many members; a sample that is not made is nan."""
        k = job.system.invariant_width
        width = job.system.public_width + k
        first, last = np.empty((2, members, width))
        status, made = np.zeros((2, members), dtype=np.int64)
        samples = np.full((members, job.kept_rows, width + job.pairing.account_width), np.nan)
        worst, seen, lasting, drift, drift_error, jump, scale, usual = np.zeros((MEASURED, members, k))
        return cls(
            first, last, status, made, worst, seen, lasting, drift, drift_error, jump, scale, usual, samples
        )  # fmt: skip

    def fit(self, job: Job, sums: Array, looks: Array) -> None:
        """Fill in what the block sums (members, blocks, k) and the looks (members, 6, k) tell; nothing is known of members that failed."""
        self.drift[:], self.drift_error[:], self.jump[:] = measured_in(
            sums, self.worst, job.edges, job.every * job.dt, job.system.invariants
        )
        self.seen[:] = seen_deviation(self.worst, self.start[:, job.system.public_width :], looks)
        self.lasting[:] = lasting_of_blocks(sums, job.rows)
        self.usual[:] = usual_size(looks, self.scale)
        for measured in (
            self.worst, self.seen, self.lasting, self.drift, self.drift_error, self.jump, self.scale, self.usual,
        ):  # fmt: skip
            measured[self.status != OK] = np.nan

    def __len__(self) -> int:
        return len(self.status)

    def part(self, members: slice) -> Batch:
        """Some of its members."""
        return Batch(*(array[members] for array in vars(self).values()))


def bytes_each(job: Job) -> int:
    """What comes out of one member, as `Batch` holds it."""
    k, added_up = job.system.invariant_width, job.kept_rows * job.pairing.account_width
    return 8 * ((2 + job.kept_rows) * (job.system.public_width + k) + added_up + 2 + MEASURED * k)


def require_memory(job: Job, members: int, *, threads: int | None, stored: bool) -> None:
    """Refuse what would not fit: all members unless they are stored, and the batches under way."""
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
Show = Callable[[], None]  # how far they are


def follow(job: Job, z: Array, times: Array, first: int = 0) -> Batch:
    """Members, one after the other, each as a single run would go; `first` is the number of the first in the whole ensemble."""
    batch = Batch.empty(job, len(z))
    fold, edges, public = compiled_fold(), job.edges.astype(float), job.system.public_width
    defined = public + job.system.invariant_width
    sums = np.zeros((len(z), BLOCKS, job.system.invariant_width))
    looks = np.empty((len(z), *unseen(job.system.invariant_width).shape))
    pace = Pace(FIRST_CHUNK, every=job.every, most=Pace.most_for(job.program.width, job.every))
    for i in range(len(z)):
        driver = Driver(job.program, z[i], t0=times[i], dt=job.dt, every=job.every, member=first + i)
        chunk = driver.first_row()
        batch.start[i] = chunk.rows[0, :defined]
        batch.samples[i, :1] = chunk.rows
        while chunk.status == OK and driver.step < job.steps and not job.stop.is_set():
            began, before, number = time.perf_counter(), driver.step, 1 + driver.step // job.every
            chunk = driver.advance(pace.after(driver.step, job.steps - driver.step))
            job.tally.add(driver.step - before)
            count = len(chunk.rows)
            if job.kept_rows:
                batch.samples[i, number : number + count] = chunk.rows
            invariants = np.ascontiguousarray(chunk.rows[:, public:defined])
            fold(invariants, count, number, batch.start[i, public:], edges, batch.worst[i], sums[i])
            pace.took(driver.step - before, time.perf_counter() - began)
        batch.status[i], batch.made[i], batch.scale[i] = chunk.status, driver.step, driver.scale
        looks[i] = driver.looks
        job.tally.add(job.steps - driver.step, members=1, failed=int(chunk.status != OK))
        sampled = chunk.status == OK and driver.step % job.every == 0
        batch.final[i] = (chunk.rows[-1] if sampled else driver.first_row().rows[0])[:defined]
    batch.fit(job, sums, looks)
    return batch


def workers_for(job: Job, threads: int | None) -> int:
    """How many threads take members."""
    return _threads(threads)


def _threads(given: int | None) -> int:
    if given is not None:
        return positive_integer(given, "threads")
    # macOS does not tell which cores a process may use
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def on_executor(
    job: Job, z: Array, times: Array, workers: int, client: Client | None, show: Show | None = None, *, done: int = 0
) -> Batches:
    """Batches of members, on threads of this process or wherever the client runs them; only so many wait as memory bears.

    `done` is how many came before them in the ensemble.
    """
    each = bytes_each(job)
    size = max(1, min(LARGEST_BATCH, BATCH_BYTES // each, -(-len(z) // (TASKS_PER_WORKER * workers))))
    most = max(2 * workers, WAITING_BYTES // (each * size))
    waiting: deque[Future[Batch]] = deque()

    def first() -> Batch:
        batch = _awaited(waiting.popleft(), show)
        if client is not None:  # what other processes count is not seen here
            job.tally.add(job.steps * len(batch), members=len(batch), failed=int((batch.status != OK).sum()))
        return batch

    with _executor(job, workers, client) as executor:
        for i in range(0, len(z), size):
            if len(waiting) == most:
                yield first()
            waiting.append(executor.submit(follow, job, z[i : i + size], times[i : i + size], done + i))
        while waiting:
            yield first()
    if show is not None:
        show()


def _awaited(future: Future[Batch], show: Show | None) -> Batch:
    """The result of a task; meanwhile it is shown how far all of them are."""
    while show is not None:
        show()
        if wait([future], timeout=SHOWN_SECONDS).done:
            break
    return future.result()


@contextmanager
def _executor(job: Job, workers: int, client: Client | None) -> Iterator[Executor]:
    """What runs the members. On the way out by an error threads stop at the end of a chunk of steps.

    An event does not reach other processes: a cluster forgets what waits there, ends the batches under way, and drops them. So
    they are not waited for. No task is `pure`: that would only look for one with equal arguments, which is a hash of all of them.
    """
    executor = ThreadPoolExecutor(workers) if client is None else client.get_executor(pure=False)
    try:
        yield executor
    except BaseException:
        job.stop.set()
        raise
    finally:
        if client is None:
            executor.shutdown(wait=True, cancel_futures=True)
        else:
            executor.shutdown(wait=False)  # there this cancels all that was submitted, at once


def on_card(job: Job, z: Array, times: Array, show: Show | None = None, *, done: int = 0) -> Batches:
    """Batches of as many members as the card holds; `done` came before them."""
    from ...engine.cuda import MemberDriver, members_at_once
    from ...engine.cuda import build as build_for_card

    program = build_for_card(job.system, job.method)
    size = members_at_once(program)
    for i in range(0, len(z), size):
        driver = MemberDriver(
            program,
            z[i : i + size],
            t0=times[i : i + size],
            dt=job.dt,
            every=job.every,
            edges=job.edges,
            first=done + i,
        )
        batch = Batch.empty(job, driver.members)
        batch.start[:] = driver.first_rows()
        batch.samples[:, :1, : batch.start.shape[1]] = batch.start[:, None]
        pace = Pace(FIRST_CHUNK, every=job.every)
        while driver.step < job.steps and (driver.status == OK).any():
            began, before, number = time.perf_counter(), driver.step, 1 + driver.step // job.every
            rows = driver.advance(pace.after(driver.step, job.steps - driver.step), keep=bool(job.kept_rows))
            batch.samples[:, number : number + rows.shape[1]] = rows
            job.tally.add((driver.step - before) * driver.members)
            if show is not None:
                show()
            pace.took(driver.step - before, time.perf_counter() - began)
        failed = int((driver.status != OK).sum())
        job.tally.add((job.steps - driver.step) * driver.members, members=driver.members, failed=failed)
        worst, sums, scale, looks = driver.tallies()
        batch = replace(
            batch, final=driver.rows(), status=driver.status, made=driver.made, worst=worst, scale=scale
        )  # fmt: skip
        batch.fit(job, sums, looks)
        yield batch
