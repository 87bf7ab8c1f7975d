"""False alarms of the verdict `large`: runs from random starts whose steps resolve the motion.

    python benchmarks/audit_large.py [runs]

Each run draws a problem, a method, a start and a step of at most half of what the problem suggests; none of them
deserves the verdict. It writes benchmarks/results/audit_large.json: the number of runs of each pair, and of those with
the verdict.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np

import catena as ct
from catena.errors import CatenaError, CatenaWarning
from catena.methods.base import Method
from catena.output.files import write_text
from catena.running.plan import Problem

RUNS = 3000
SAMPLES = 250
STEPS = (0.1, 0.5)  # of the problem's own
RESULT = Path(__file__).parent / "results" / "audit_large.json"

Chance = np.random.Generator


def oscillators(chance: Chance) -> tuple[Problem, ct.State]:
    problem = [ct.problems.pendulum, ct.problems.henon_heiles, ct.problems.harmonic][chance.integers(3)]()
    n = len(problem.start.q)
    return problem, problem.system.start(q=chance.normal(scale=0.2, size=n), p=chance.normal(scale=0.15, size=n))


def orbits(chance: Chance) -> tuple[Problem, ct.State]:
    if chance.random() < 0.5:
        problem = ct.problems.kepler(e=float(chance.uniform(0.0, 0.6)))
        return problem, problem.start
    problem = ct.problems.galactic()
    return problem, problem.system.start(
        q=problem.start.q * chance.uniform(0.8, 1.2, 3), p=problem.start.p * chance.uniform(0.8, 1.2, 3)
    )


def bodies(chance: Chance) -> tuple[Problem, ct.State]:
    problem = [ct.problems.book, ct.problems.lagrange_top, ct.problems.kovalevskaya][chance.integers(3)]()
    turned = chance.normal(size=4)
    start = problem.system.start(
        orientation=turned / np.linalg.norm(turned),
        angular_momentum=np.linalg.norm(problem.start.angular_momentum) * chance.normal(scale=0.6, size=3),
    )
    return problem, start


def chains(chance: Chance) -> tuple[Problem, ct.State]:
    problem = ct.problems.helix_chain(8, amp=float(chance.uniform(0.01, 0.15)))
    pushed = chance.normal(scale=0.05, size=(2, 8, 3))
    pushed[:, 0] = 0.0  # the first body is clamped
    return problem, problem.system.start(
        position=problem.start.position,
        orientation=problem.start.orientation,
        momentum=problem.start.momentum + pushed[0],
        angular_momentum=problem.start.angular_momentum + pushed[1],
    )


def linkages(chance: Chance) -> tuple[Problem, ct.State]:
    problem = [ct.problems.double_pendulum, ct.problems.hanging_chain][chance.integers(2)]()
    return problem, problem.start


HAMILTONIAN: list[Method] = [ct.Splitting(6), ct.StormerVerlet(), ct.Gauss(2), ct.ImplicitMidpoint()]
KINDS: list[tuple[Callable[[Chance], tuple[Problem, ct.State]], list[Method | None]]] = [
    (oscillators, [*HAMILTONIAN]),
    (orbits, [ct.Gauss(2), ct.Gauss(3), None]),
    (bodies, [None]),
    (chains, [ct.Splitting(2), ct.Splitting(4)]),
    (linkages, [ct.EnergyMomentum(), ct.Rattle()]),
]


def verdicts(chance: Chance) -> tuple[str, list[str]]:
    """The pair of a random run, and the quantities that are called large."""
    make, methods = KINDS[chance.integers(len(KINDS))]
    problem, start = make(chance)
    method = methods[chance.integers(len(methods))]
    run = ct.simulate(
        problem.system,
        start,
        method,
        dt=problem.dt * chance.uniform(*STEPS),
        steps=4 * SAMPLES,
        every=4,
        progress=False,
    )
    rows = run.audit().rows
    return f"{problem.system.title} x {run.method}", [row.label for row in rows if row.verdict == "large"]


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else RUNS
    made: Counter[str] = Counter()
    large, failed = [], []
    began = time.perf_counter()
    for number in range(runs):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", CatenaWarning)
                pair, called = verdicts(np.random.default_rng((7, number)))
        except CatenaError as trouble:
            failed.append(f"run {number}: {trouble.wrong}")
            continue
        made[pair] += 1
        if called:
            large.append(f"run {number}, {pair}: {', '.join(called)}")
            print(large[-1], flush=True)
    result = {"runs": sum(made.values()), "large": large, "failed": failed, "pairs": dict(made.most_common())}
    write_text(RESULT, json.dumps(result, indent=2) + "\n")
    print(
        f"{sum(made.values())} runs, {len(large)} called large, {len(failed)} failed, {time.perf_counter() - began:.0f} s"
    )


if __name__ == "__main__":
    main()
