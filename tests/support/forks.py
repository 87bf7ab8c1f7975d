"""Processes that are started while four threads compile, by every start method of multiprocessing.

    python tests/support/forks.py WAYS TRIALS SEED      (WAYS: fork, spawn, forkserver, or several separated by commas)

Prints how many children got the correct number; a child that does not end is a deadlock.
"""

from __future__ import annotations

import multiprocessing
import random
import sys
import threading
import time

from catena.engine import cache, headers

PATIENCE = 240.0  # seconds; a child takes a few, on a busy machine ten times as many
THREADS = 4


def compiled_value(number: int) -> float:
    """The value of a new function, compiled now; a few lines, so that it takes 0.1 s."""
    text = f"""{headers.CPU}
@_fn
def twice(x):
    return 2.0 * x

@njit(types.float64(types.float64), cache=True, **_strict)
def advance(x):
    return twice(x) + {number}.0
"""
    return float(cache.load(text, "a test").advance(0.25))


def check(numbers: list[int]) -> None:
    """In the child: compile, and compare."""
    assert [compiled_value(number) for number in numbers] == [0.5 + number for number in numbers]


def trial(ways: list[str], first: int, moment: float) -> list[int | None]:
    """Four threads compile; after a moment a child is started in each way. Returns how the children ended."""
    threads = [threading.Thread(target=check, args=([first + k],)) for k in range(THREADS)]
    # a function that a thread compiles at that moment, and a new one
    children = [
        multiprocessing.get_context(way).Process(target=check, args=([first + k % THREADS, first + THREADS + k],))  # type: ignore[attr-defined]
        for k, way in enumerate(ways)
    ]
    for thread in threads:
        thread.start()
    time.sleep(moment)
    for child in children:
        child.start()
    deadline = time.monotonic() + PATIENCE
    for member in (*threads, *children):
        member.join(max(0.0, deadline - time.monotonic()))
    assert not any(thread.is_alive() for thread in threads), "a thread waits for ever"
    codes = [child.exitcode for child in children]
    for child in children:
        child.kill()
    return codes


def main(ways: str, trials: str, seed: str) -> None:
    """Run the trials."""
    numbers = random.Random(int(seed))
    compiled_value(0)  # imports and initialises numba
    codes: list[int | None] = []
    for k in range(int(trials)):
        codes += trial(ways.split(","), 100 * (k + 1), numbers.uniform(0.0, 0.4))
    print(f"{codes.count(0)} of {len(codes)} children are right, {codes.count(None)} wait for ever")


if __name__ == "__main__":
    main(*sys.argv[1:])
