"""Timing that tolerates a busy machine: CPU time, candidates in turn, the best and the median of many."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise


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


def sampled(candidates: Mapping[str, Callable[[], object]], *, rounds: int, slot: float) -> dict[str, Seconds]:
    """The same for short calls: a sample repeats the call until it has lasted `slot` seconds."""
    once = interleaved(candidates, rounds=1)
    repeats = {name: max(1, math.ceil(slot / max(once[name].best, 1e-6))) for name in candidates}

    def repeated(name: str) -> Callable[[], None]:
        def run() -> None:
            for _ in range(repeats[name]):  # outputs are dropped: new memory for each would take as long as a short run
                candidates[name]()

        return run

    taken = interleaved({name: repeated(name) for name in candidates}, rounds=rounds)
    return {n: Seconds(taken[n].best / repeats[n], taken[n].median / repeats[n]) for n in candidates}


def time_at(points: Sequence[tuple[float, float]], error: float) -> float | None:
    """Time that an error costs, from points (error, time); None if no point reaches it.

    Linear between the logarithms of neighbours, among those points that no other beats in both.
    """
    front: list[tuple[float, float]] = []
    for point in sorted(points):
        if not front or point[1] < front[-1][1]:
            front.append(point)
    if not front or error < front[0][0]:
        return None
    if error >= front[-1][0]:
        return front[-1][1]
    logarithms = [(math.log(at), math.log(time)) for at, time in front]
    wanted = math.log(error)
    (x0, y0), (x1, y1) = next((a, b) for a, b in pairwise(logarithms) if wanted <= b[0])
    return math.exp(y0 + (y1 - y0) * (wanted - x0) / (x1 - x0))


def ratio(times: Mapping[str, Seconds], ours: str, theirs: str) -> dict[str, float]:
    """How many times longer ours takes, by the best and by the median."""
    return {
        "best": round(times[ours].best / times[theirs].best, 3),
        "median": round(times[ours].median / times[theirs].median, 3),
    }
