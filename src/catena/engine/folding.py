"""Running statistics of sample rows for the audit of an ensemble.

For invariants: largest deviations, and their sums over blocks of samples. For the sums of a method: totals over both
halves of the samples after a run has settled. At the end, conclusions from these.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np
from numpy.typing import NDArray

from ..kernels.views import NOT_FINITE, OK
from .build import compile_function
from .headers import array_type
from .looks import HIGHEST, LOWEST, STEPS, TOTAL

EQUILIBRATION = 5  # the first 1/5 of a run is left out of averages


def first_settled(samples: int) -> int:
    """The first sample that counts for averages by default: the first fifth of a run is left out, to let it settle."""
    return -(-samples // EQUILIBRATION)


def settle_edges(samples: int) -> NDArray[np.int64]:
    """Sample numbers that separate three parts: what is left out, the first half of the rest, the second half."""
    first = first_settled(samples)
    return np.array([0, first, first + (samples - first) // 2, samples], dtype=np.int64)


def fold(rows, count, number, start, edges, worst, sums):
    """Fold the first `count` rows of invariants into `worst` (k) and `sums` (blocks, k); the first is sample `number`.

    Rows are folded one by one, so that the bits do not depend on how many arrive at once. Block b begins at sample
    edges[b].
    """
    for i in range(start.shape[0]):
        block = 0
        for row in range(count):
            deviation = rows[row, i] - start[i]
            worst[i] = max(worst[i], abs(deviation))
            while number + row >= edges[block + 1]:
                block += 1
            sums[block, i] += deviation


def fold_accounts(rows, count, number, edges, sums):
    """Fold the first `count` rows of the method's sums into `sums` (blocks, k), in the same way."""
    for i in range(rows.shape[1]):
        block = 0
        for row in range(count):
            while number + row >= edges[block + 1]:
                block += 1
            sums[block, i] += rows[row, i]


def all_finite(rows):
    """Whether no number is inf or nan. It counts all of them, because a loop that may end early is slower."""
    wrong = 0
    for row in range(rows.shape[0]):
        for i in range(rows.shape[1]):
            wrong += 0 if abs(rows[row, i]) < math.inf else 1
    return wrong == 0


def fold_members(rows, number, public, start, edges, worst, sums, settled, added, status):
    """Both for rows (members, samples, width) of members that have not failed; nan or inf sets NOT_FINITE."""
    for k in range(rows.shape[0]):
        if status[k] == OK and not all_finite(rows[k]):
            status[k] = NOT_FINITE
        if status[k] == OK:
            defined = public + worst.shape[1]
            fold(rows[k, :, public:defined], rows.shape[1], number, start[k, public:], edges, worst[k], sums[k])
            fold_accounts(rows[k, :, defined:], rows.shape[1], number, settled, added[k])


def conclude(samples, start, worst, scale, sums, looks, seen, lasting, usual):
    """Results for each invariant of a member with `samples` samples, including the start.

    seen : largest deviation, at samples or between them; lasting : mean over blocks of the magnitude of the mean
        deviation;
    usual : mean over time of its largest term; the largest of all if there were no looks
    """
    for i in range(start.shape[0]):
        seen[i] = max(worst[i], max(looks[HIGHEST, i] - start[i], start[i] - looks[LOWEST, i]))
        total = 0.0
        for block in range(sums.shape[0]):
            total += abs(sums[block, i])
        lasting[i] = total / max(1, samples - 1)
        usual[i] = looks[TOTAL, i] / looks[STEPS, i] if looks[STEPS, i] > 0.0 else scale[i]


def conclude_members(samples, public, start, status, worst, scale, sums, looks, seen, lasting, usual):
    """The same for members, leading axis member; nothing is known of those that failed. start: their first rows."""
    for k in range(status.shape[0]):
        if status[k] == OK:
            conclude(samples, start[k, public:], worst[k], scale[k], sums[k], looks[k], seen[k], lasting[k], usual[k])
        else:
            for i in range(worst.shape[1]):
                worst[k, i] = math.nan
                scale[k, i] = math.nan
                seen[k, i] = math.nan
                lasting[k, i] = math.nan
                usual[k, i] = math.nan


@cache
def compile_conclude_members() -> Callable[..., object]:
    """`conclude_members` compiled for the CPU; it releases the GIL."""
    types = (0, 0, 2, array_type(1, "int64"), 2, 2, 3, 3, 2, 2, 2)
    return compile_function(conclude_members, "types.void", types, "what the audits of members conclude")


@cache
def compile_fold_members() -> Callable[..., object]:
    """`fold_members` compiled for the CPU; it releases the GIL. edges are float64, too."""
    types = (3, 0, 0, 2, 1, 2, 3, 1, 3, array_type(1, "int64"))
    return compile_function(fold_members, "types.void", types, "sums of the audits of members")


@cache
def compile_fold() -> Callable[..., object]:
    """`fold` compiled for the CPU; edges are float64, too."""
    return compile_function(fold, "types.void", (2, 0, 0, 1, 1, 1, 2), "sums of an audit")


@cache
def compile_fold_accounts() -> Callable[..., object]:
    """`fold_accounts` compiled for the CPU; edges are float64, too."""
    return compile_function(fold_accounts, "types.void", (2, 0, 0, 1, 2), "sums of what a method adds up")
