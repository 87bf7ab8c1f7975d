"""Red lines in 200 runs over all problems: how often the audit alarms where nothing is wrong.

    python benchmarks/audit_runs.py

runs every problem of `catena.problems` with every method that promises to keep its energy (exactly, or bounded) and with steps of
several sizes, 1000 samples or more each, until 200 runs are made; it writes benchmarks/results/audit_runs.json. A run that the
method cannot make is left out and counted, a torn chain is what the problem does, and no alarm of a verdict.
"""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import catena as ct
from catena.engine.build import can_treat, promised
from catena.errors import CatenaError, CatenaWarning
from catena.methods.base import Method, registered
from catena.plan import Problem

RUNS = 200
SAMPLES = 1000
FACTORS = (1.0, 0.85, 0.7, 0.5, 0.35, 0.25)  # of the step that a problem suggests
METHODS = 2  # of each problem, spread over those that keep its energy
RESULT = Path(__file__).parent / "results" / "audit_runs.json"


def conserving(problem: Problem) -> list[Method]:
    """A few of the methods that keep the energy of a problem by their promise, its default first."""
    energy = next(one for one in problem.system.invariants if one.name == "energy")
    found = [
        method
        for kind in registered()
        for method in kind.examples()[:1]
        if can_treat(problem.system, method)
        and not method.traits.adaptive
        and promised(problem.system, method, energy.tags) in ("exact", "bounded")
    ]
    return found[:: max(1, len(found) // METHODS)][:METHODS]


def cases() -> Iterator[tuple[str, Problem, Method, float]]:
    """Problem, method and step: all problems with a step, then all with the next."""
    chosen = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CatenaWarning)
        for name in ct.problems.__all__:
            problem = getattr(ct.problems, name)()
            chosen[name] = (problem, conserving(problem))
    for factor in FACTORS:
        for name, (problem, methods) in chosen.items():
            yield from ((name, problem, method, factor) for method in methods)


def audited(problem: Problem, method: Method, factor: float) -> list[str]:
    """The red lines of a run."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CatenaWarning)
        run = ct.simulate(problem, method=method, dt=factor * problem.dt, steps=2 * SAMPLES, every=2, progress=False)
        return [f"{row.label} {row.finding}, promised {row.promised}" for row in run.audit().contradictions]


def main() -> None:
    made: dict[str, list[str]] = {}
    failed = []
    began = time.perf_counter()
    for name, problem, method, factor in cases():
        if len(made) == RUNS:
            break
        label = f"{name}, {method}, {factor:g} dt"
        try:
            made[label] = audited(problem, method, factor)
        except CatenaError as trouble:
            failed.append(f"{label}: {trouble.wrong}")
        if made.get(label):
            print(label, made[label], flush=True)
    red = {label: lines for label, lines in made.items() if lines}
    result = {"runs": len(made), "red": red, "failed": failed, "cases": sorted(made)}
    RESULT.write_text(json.dumps(result, indent=2) + "\n")
    print(f"{len(made)} runs, {len(red)} with a red line, {len(failed)} failed, {time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main()
