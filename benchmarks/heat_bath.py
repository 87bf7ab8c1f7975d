"""What a heat bath costs: steps of `Langevin` in units of steps of `Splitting(2)`, normals against those of numpy, and the sums that the audit needs.

    python benchmarks/heat_bath.py [bodies ...]

Runs of both are interleaved, and the best of many is used for each, because other processes disturb them.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext

import numpy as np

import catena as ct
from catena.engine.build import build, compile_function
from catena.engine.driver import Driver
from catena.kernels.eights import (
    add_eight,
    larger_eight,
    load_eight,
    multiply_eight,
    parts_of_eight,
    same_eight,
    square_eight,
)
from catena.kernels.noise import normals
from catena.running.plan import Problem
from catena.systems.chain import bath as chain_bath
from catena.systems.chain.bath import PARTIAL
from catena.systems.chain.tiles.kernels import Y, lane_count, spin_row, stride_of

ROUNDS = 300  # of short runs, so that a few percent are visible beside other processes
TARGETS = {8: 2.4, 64: 2.2, 1000: 2.2}


def fill(counter, out):
    """Pairs of normals, on lanes."""
    seed0 = int(counter[0])
    member = int(counter[1])
    step = int(counter[2])
    for i in range(out.shape[1]):
        out[0, i], out[1, i] = normals(seed0, 0, member, step, i, 0)
    return 0


def look_for_fast(w, first, parts, glide, total, sums):
    """`tally_lanes` without its sums: also in groups of eight, otherwise the sums would seem cheaper than they are."""
    n = stride_of(w)
    spin = spin_row(w) * n
    reach = same_eight(glide * glide)
    farthest = same_eight(0.0)
    for eight in range(lane_count(w) // PARTIAL):
        i = PARTIAL * eight
        y1 = square_eight(load_eight(w, Y * n + i))
        y2 = square_eight(load_eight(w, (Y + 1) * n + i))
        y3 = square_eight(load_eight(w, (Y + 2) * n + i))
        turned = multiply_eight(multiply_eight(load_eight(w, spin + i), reach), add_eight(add_eight(y1, y2), y3))
        farthest = larger_eight(turned, farthest)
    a, b, c, d, e, f, g, h = parts_of_eight(farthest)
    return max(a, b, c, d, e, f, g, h) >= 1.0


def begin_nothing(total):
    """`begin_total` without a total momentum."""


def end_nothing(par, total):
    """`end_total` without one."""


BARE = {"tally_lanes": look_for_fast, "begin_total": begin_nothing, "end_total": end_nothing}


@contextmanager
def without_sums() -> Iterator[None]:
    """Build baths that accumulate nothing for the audit."""
    kept = {name: getattr(chain_bath, name) for name in BARE}
    try:
        for name, bare in BARE.items():
            setattr(chain_bath, name, bare)
        yield
    finally:
        for name, full in kept.items():
            setattr(chain_bath, name, full)


def best_of(tasks: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """CPU seconds of each task, the best of many rounds."""
    best = dict.fromkeys(tasks, float("inf"))
    for _ in range(rounds):
        for name, task in tasks.items():
            began = time.process_time_ns()
            task()
            best[name] = min(best[name], 1e-9 * (time.process_time_ns() - began))
    return best


def normals_against_numpy() -> tuple[float, float]:
    """Nanoseconds of a normal: ours, and the ziggurat of numpy with PCG64."""
    count, repeats = 4096, 20
    out, flat = np.zeros((2, count)), np.zeros(2 * count)
    kernel = compile_function(fill, "types.int64", (1, 2), "normals on lanes")
    generator = np.random.default_rng(1)
    counter = np.array([1.0, 3.0, 5.0])
    tasks: dict[str, Callable[[], object]] = {
        "ours": lambda: [kernel(counter, out) for _ in range(repeats)],
        "numpy": lambda: [generator.standard_normal(out=flat) for _ in range(repeats)],
    }
    best = best_of(tasks, 60)
    return tuple(1e9 * best[name] / (repeats * 2 * count) for name in tasks)  # type: ignore[return-value]


def steps_of(
    problem: Problem, methods: dict[str, ct.Splitting | ct.Langevin], dt: float, steps: int
) -> dict[str, float]:
    """Seconds for these steps with each method; "bare" accumulates no sums."""
    tasks: dict[str, Callable[[], object]] = {}
    for name, method in methods.items():
        with without_sums() if name == "bare" else nullcontext():
            program = build(problem.system, method)
        driver = Driver(program, program.view.pack(problem.start), t0=0.0, dt=dt, every=10**9)
        driver.advance(10)
        tasks[name] = lambda driver=driver: driver.attempt(steps)
    return best_of(tasks, ROUNDS)


def main() -> None:
    """Print the table."""
    ours, theirs = normals_against_numpy()
    print(f"a normal: {ours:.2f} ns, numpy {theirs:.2f} ns, ratio {ours / theirs:.2f} (target 0.3)")
    for count in map(int, sys.argv[1:] or TARGETS):
        helix = ct.problems.helix_chain(count, amp=0.1)
        steps = max(4, 16_000 // count)
        bath = ct.Langevin(0.02, 0.5)
        best = steps_of(helix, {"plain": ct.Splitting(2), "bath": bath, "bare": bath}, 0.005, steps)
        each = {name: 1e9 * value / (steps * count) for name, value in best.items()}
        target = f" (target {TARGETS[count]})" if count in TARGETS else ""
        print(
            f"chain of {count}: {each['plain']:.1f} and {each['bath']:.1f} ns a body and step, ratio {best['bath'] / best['plain']:.2f}{target};"
            f" sums of the audit {best['bath'] / best['bare'] - 1.0:.1%} (target 5 %)"
        )
    top = ct.problems.kovalevskaya()
    best = steps_of(top, {"plain": ct.Splitting(2), "bath": ct.Langevin(1.0, 1.0)}, 0.01, 5000)
    print(
        f"top: {1e9 * best['plain'] / 5e3:.0f} and {1e9 * best['bath'] / 5e3:.0f} ns a step, ratio {best['bath'] / best['plain']:.2f} (target 3)"
    )


if __name__ == "__main__":
    main()
