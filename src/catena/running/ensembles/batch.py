"""The results of some members, as arrays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...arrays import Array
from ...engine.folding import compile_conclude_members
from ...kernels.views import OK
from ..auditing import FEWEST_SAMPLES
from .auditing import measure_in
from .job import Job

MEASURED = 8  # arrays of a batch with one number for each invariant


@dataclass(frozen=True)
class Batch:
    """The results of some members, leading axis member.

    start, final : rows of the first and the last state; status, made : how it ended, and after how many steps; worst,
        seen, lasting,
    drift, drift_error, jump, scale, usual : of the invariants, nan for a member that failed; reduced : numbers kept for the
    reductions; exchanged : exchanges of states with the next member; added : sums (3, k) of what the method
    accumulates, over the samples in which a member settles and over both halves of the others; samples : all rows, none
    if they are not kept
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
    reduced: Array
    exchanged: Array
    added: Array
    samples: Array

    @classmethod
    def empty(cls, job: Job, members: int, *, adds: bool = True) -> Batch:
        """Memory for the members, and if `adds` for what their method accumulates; missing samples are nan."""
        k = job.system.invariant_width
        width = job.system.public_width + k
        first, last = np.empty((2, members, width))
        status, made = np.zeros((2, members), dtype=np.int64)
        samples = np.full((members, job.kept_rows, width + job.pairing.stepper.account_width), np.nan)
        worst, seen, lasting, drift, drift_error, jump, scale, usual = np.zeros((MEASURED, members, k))
        reduced = np.repeat(job.reductions.first()[None], members, axis=0)
        added = np.zeros(
            (members, len(job.settled) - 1, job.pairing.stepper.account_width) if adds else (members, 0, 0)
        )
        return cls(
            first, last, status, made, worst, seen, lasting, drift, drift_error, jump, scale, usual, reduced, np.zeros(members), added, samples
        )  # fmt: skip

    def fit(self, job: Job, dt: Array, sums: Array, looks: Array) -> None:
        """Fill in the results of block sums (members, blocks, k) and looks (members, 6, k); those of failed members are
        nan.

        dt : (members,) their steps
        """
        self.fit_drifts(job, dt, lambda: sums)
        compile_conclude_members()(
            job.rows, job.system.public_width, self.start, self.status, self.worst, self.scale, sums, looks,
            self.seen, self.lasting, self.usual,
        )  # fmt: skip

    def fit_drifts(self, job: Job, dt: Array, block_sums: Callable[[], Array]) -> None:
        """Drifts and jumps from the block sums, if there are enough samples; members with equal steps are fitted
        together."""
        if job.rows < FEWEST_SAMPLES:
            self.drift.fill(np.nan)
            self.drift_error.fill(np.nan)
        else:
            sums = block_sums()
            for step in np.unique(dt) if job.own_dt else dt[:1]:
                some = dt == step if job.own_dt else slice(None)
                self.drift[some], self.drift_error[some], self.jump[some] = measure_in(
                    sums[some], self.worst[some], job.edges, job.every * float(step), job.system.invariants
                )
        if (failed := self.status != OK).any():
            for measured in (self.drift, self.drift_error, self.jump, self.reduced, self.added):
                measured[failed] = np.nan

    def __len__(self) -> int:
        return len(self.status)

    def part(self, members: slice) -> Batch:
        """Some of its members."""
        return Batch(*(array[members] for array in vars(self).values()))

    def take(self, batch: Batch, first: int) -> None:
        """Copy another batch into this one, from member `first` on."""
        for name, array in vars(batch).items():
            getattr(self, name)[first : first + len(array)] = array


def bytes_each(job: Job) -> int:
    """Bytes that `Batch` needs for one member."""
    k, added_up = job.system.invariant_width, (job.kept_rows + len(job.settled) - 1) * job.pairing.stepper.account_width
    return 8 * (
        (2 + job.kept_rows) * (job.system.public_width + k) + added_up + 3 + MEASURED * k + len(job.reductions.first())
    )
