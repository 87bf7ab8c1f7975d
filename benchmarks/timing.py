"""Timing that a busy machine cannot spoil: CPU time, the candidates in turn, the best and the median of many."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Seconds:
    """CPU seconds of one call: the best and the median."""

    best: float
    median: float


def interleaved(candidates: Mapping[str, Callable[[], object]], *, rounds: int = 15) -> dict[str, Seconds]:
    """Call all candidates once to warm up, then in turn (A B C A B C ...), `rounds` times."""
    samples: dict[str, list[float]] = {name: [] for name in candidates}
    for call in candidates.values():
        call()
    for _ in range(rounds):
        for name, call in candidates.items():
            begin = time.process_time()
            call()
            samples[name].append(time.process_time() - begin)
    return {name: Seconds(min(taken), statistics.median(taken)) for name, taken in samples.items()}


def ratio(times: Mapping[str, Seconds], ours: str, theirs: str) -> dict[str, float]:
    """How many times longer ours takes, by the best and by the median."""
    return {
        "best": round(times[ours].best / times[theirs].best, 3),
        "median": round(times[ours].median / times[theirs].median, 3),
    }
