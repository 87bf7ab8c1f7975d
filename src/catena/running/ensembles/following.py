"""Stepping members: blocks of them in compiled code, and each that fails a second time, alone.

The audit does not need the samples to be kept: as they come, deviations of the invariants are folded into their largest
magnitude and their sums over the 40 blocks from which the drift is fitted. So memory does not grow with the length of
the runs.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...arrays import Array
from ...engine.block import MemberBlock, Members
from ...engine.folding import compile_fold, compile_fold_accounts, compile_fold_members
from ...engine.pace import Pace
from ...kernels.views import NOT_FINITE, OK
from .batch import Batch
from .job import Job, in_units

FIRST_CHUNK = 256  # steps
GROWTH = 32.0  # of a chunk over the one before it: a few members show how long others take
ROWS_BYTES = 2**20  # of the sample rows of a call: they are folded while they are in the cache


@dataclass(frozen=True, eq=False)
class Following:
    """Members under way, and their results so far."""

    job: Job
    members: Members
    batch: Batch
    block: MemberBlock
    sums: Array  # (members, blocks, invariants) deviations

    @classmethod
    def of(cls, job: Job, members: Members, batch: Batch) -> Following:
        """Before the first step; the batch receives the results."""
        block = job.block(members, batch.scale)
        return cls(job, members, batch, block, np.zeros((len(members), len(job.edges) - 1, job.system.invariant_width)))

    def reduce(self, part: slice, rows: Array, number: int) -> None:
        """Add the rows (members, samples, width) of some members to their reductions; the first is sample `number`."""
        if self.job.reducer is not None:
            of, batch = self.members, self.batch
            self.job.reducer(
                rows, number, of.t0[part], of.dt[part], self.job.every, of.kinds[part], batch.status[part], of.par,
                batch.reduced[part],
            )  # fmt: skip


def follow(job: Job, members: Members, into: Batch | None = None) -> Batch:
    """Run members from start to end, each with the bits of a single run; `into`: empty batch for the results."""
    batch = Batch.empty(job, len(members)) if into is None else into
    following = Following.of(job, members, batch)
    most = max(1, ROWS_BYTES // (8 * job.program.width)) * job.every
    pace = Pace(job.tally.at_once or FIRST_CHUNK, every=job.every, most=most, growth=GROWTH)
    first = 0
    while first < len(members) and not job.stop.is_set():
        part = slice(first, min(len(members), first + in_units(_together(job, pace), job.together)))
        try:
            _follow_block(following, part, pace)
        except (ArithmeticError, ValueError, IndexError):  # by plain Python, or by code that checks its subscripts
            batch.status[part] = NOT_FINITE
        failed = np.flatnonzero(batch.status[part] != OK) + first
        for k in failed if job.tempering is None else ():
            _follow_alone(following, int(k))
        job.tally.add(0, members=part.stop - first, failed=int((batch.status[failed] != OK).sum()))
        first = part.stop
    job.tally.at_once = pace.steps
    batch.fit(job, members.dt, following.sums, following.block.looks)
    return batch


def _together(job: Job, pace: Pace) -> int:
    """Number of members that one call steps to their ends: one, if a chunk of steps is less than that."""
    room = ROWS_BYTES // (8 * job.program.width * job.rows)
    return max(1, min(pace.steps // job.steps, room))


def _follow_block(following: Following, part: slice, pace: Pace) -> None:
    """Step some members, all at the same step; for those that fail, only the status is valid afterwards."""
    job, batch, block, public = following.job, following.batch, following.block, following.job.system.public_width
    start, status, worst, sums = batch.start[part], batch.status[part], batch.worst[part], following.sums[part]
    start[:] = block.record(part)
    status[~np.isfinite(start).all(axis=1)] = NOT_FINITE
    batch.samples[part, :1, : start.shape[1]] = start[:, None]
    following.reduce(part, start[:, None], 0)
    fold, edges, settled = compile_fold_members(), job.edges.astype(float), job.settled.astype(float)
    step = 0
    while step < job.steps and (status == OK).any() and not job.stop.is_set():
        began, count, number = time.perf_counter(), pace.after(step, *job.limits(step)), 1 + step // job.every
        running = status == OK
        rows, now, ended = block.advance(part, step, count, running)
        np.copyto(status, ended, where=running)
        if job.tempering is not None:
            _fail_together(status, job.unit)
            rows[status != OK] = np.nan
        if job.kept_rows:
            batch.samples[part, number : number + rows.shape[1]] = rows
        fold(rows, number, public, start, edges, worst, sums, settled, batch.added[part], status)
        following.reduce(part, rows, number)
        step += count
        batch.final[part] = now
        if job.tempering is not None and step % job.tempering.every == 0 and step < job.steps:
            job.exchange(block, part, now, step, batch.exchanged[part])
        job.tally.add(count * len(status))
        pace.took(count * len(status), time.perf_counter() - began)
    job.tally.add((job.steps - step) * len(status))
    batch.made[part] = step


def _fail_together(status: NDArray[np.int64], unit: int) -> None:
    """A ladder of temperatures ends with the first of its members that fails."""
    ladders = status.reshape(-1, unit)
    ladders[:] = np.where((ladders != OK).any(axis=1, keepdims=True), ladders.max(axis=1, keepdims=True), ladders)


def _follow_alone(following: Following, k: int) -> None:
    """Run a member as a single run, up to the step that fails."""
    job, batch, fold, fold_accounts = following.job, following.batch, compile_fold(), compile_fold_accounts()
    settled, edges, public = job.settled.astype(float), job.edges.astype(float), job.system.public_width
    driver = following.members.driver(job.program, k, every=job.every)
    pace = Pace(FIRST_CHUNK, every=job.every, most=Pace.most_for(job.program.width, job.every))
    chunk = driver.first_row()
    defined = job.program.defined_width
    batch.start[k], batch.worst[k], following.sums[k] = chunk.rows[0, :defined], 0.0, 0.0
    batch.samples[k], batch.added[k] = np.nan, 0.0
    batch.samples[k, :1] = chunk.rows
    batch.status[k], batch.reduced[k] = chunk.status, job.reductions.first()
    following.reduce(slice(k, k + 1), chunk.rows[None], 0)
    while chunk.status == OK and driver.step < job.steps and not job.stop.is_set():
        began, before, number = time.perf_counter(), driver.step, 1 + driver.step // job.every
        chunk = driver.advance(pace.after(driver.step, job.steps - driver.step))
        count = len(chunk.rows)
        if job.kept_rows:
            batch.samples[k, number : number + count] = chunk.rows
        following.reduce(slice(k, k + 1), chunk.rows[None], number)
        invariants = np.ascontiguousarray(chunk.rows[:, public:defined])
        fold(invariants, count, number, batch.start[k, public:], edges, batch.worst[k], following.sums[k])
        fold_accounts(np.ascontiguousarray(chunk.rows[:, defined:]), count, number, settled, batch.added[k])
        pace.took(driver.step - before, time.perf_counter() - began)
    batch.status[k], batch.made[k], batch.scale[k] = chunk.status, driver.step, driver.scale
    following.block.looks[k] = driver.looks
    sampled = chunk.status == OK and driver.step % job.every == 0
    batch.final[k] = (chunk.rows[-1] if sampled else driver.first_row().rows[0])[:defined]
