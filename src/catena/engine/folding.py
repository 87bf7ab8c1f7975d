"""What the audit of an ensemble keeps of sample rows: largest deviations, and their sums over blocks of samples."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from .build import compiled_function


def fold(rows, count, number, start, edges, worst, sums):
    """Take the first `count` rows of invariants into `worst` (k) and `sums` (blocks, k); the first of them is sample `number`.

    One after the other, so that the bits do not depend on how many come at once. Block b begins at sample edges[b].
    """
    for i in range(start.shape[0]):
        block = 0
        for row in range(count):
            deviation = rows[row, i] - start[i]
            worst[i] = max(worst[i], abs(deviation))
            while number + row >= edges[block + 1]:
                block += 1
            sums[block, i] += deviation


@cache
def compiled_fold() -> Callable[..., object]:
    """`fold` for the processor; edges are float64, too."""
    return compiled_function(fold, "types.void", (2, 0, 0, 1, 1, 1, 2), "sums of an audit")
