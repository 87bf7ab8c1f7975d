"""Red lines in 200 runs over all problems: how often the audit raises an alarm although nothing is wrong.

    python benchmarks/audit_runs.py

runs every problem of `catena.problems` with every method that promises to conserve its energy (exactly, or bounded) and
with steps of several sizes, 1000 samples or more each, until 200 runs are made; it writes
benchmarks/results/audit_runs.json. A run that fails is skipped and counted; a torn chain is a property of the problem,
not an alarm of a verdict. For each of the three rules of the verdict `large` it also writes how close the runs come: 1
is the limit.
"""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import catena as ct
from catena.engine.pairing import Pairing, can_treat
from catena.errors import CatenaError, CatenaWarning
from catena.methods.base import Method, all_methods
from catena.output.files import write_text
from catena.running import probing
from catena.running.auditing import lasting_deviation, size
from catena.running.plan import Problem

RUNS = 200
SAMPLES = 1000
FACTORS = (1.0, 0.85, 0.7, 0.5, 0.35, 0.25)  # of the step that a problem suggests
NEAREST = 5  # runs that are listed for each rule
METHODS = 2  # of each problem, spread over those that conserve its energy
RESULT = Path(__file__).parent / "results" / "audit_runs.json"


def conserving(problem: Problem) -> list[Method]:
    """Some of the methods that promise to conserve the energy of a problem, its default first."""
    found = [
        method
        for kind in all_methods()
        for method in kind.examples()[:1]
        if can_treat(problem.system, method)
        and not method.traits.adaptive
        and Pairing.of(problem.system, method).promises.kept["energy"] in ("exact", "bounded")
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


def nearness(run: ct.Run) -> dict[str, float]:
    """How close a run comes to the limits of each rule for `large`, relative to the limit."""
    found = {"lasting": 0.0, "whole": 0.0, "order": 0.0}
    doubtful, first = [], 0
    for one in run.system.invariants:
        part = slice(first, first + one.width)
        first += one.width
        if not one.continuous:
            continue
        values = run.data[one.name].values.reshape(run.data.sizes["time"], -1)
        sizes, scale = run._sizes(values, part), float(run._scale[part].max())
        lasting = float(lasting_deviation(values - values[0]).max())
        found["lasting"] = max(found["lasting"], lasting / (size.LASTING * sizes.parts * sizes.usual or 1.0))
        found["whole"] = max(found["whole"], float(sizes.seen.max()) / (size.WHOLE * sizes.parts * scale or 1.0))
        doubtful += [one] if sizes.doubtful else []
    if doubtful:
        ratios = probing.order_ratios(run, run.plan.program(), doubtful)
        found["order"] = max(ratios.values(), default=0.0) / probing.FACTOR
    return found


def audited(problem: Problem, method: Method, factor: float) -> tuple[list[str], dict[str, float]]:
    """The red lines of a run, and how close it is to others."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CatenaWarning)
        run = ct.simulate(problem, method=method, dt=factor * problem.dt, steps=2 * SAMPLES, every=2, progress=False)
        red = [f"{row.label} {row.finding}, promised {row.promised}" for row in run.audit().contradictions]
        return red, nearness(run)


def main() -> None:
    made: dict[str, list[str]] = {}
    near: dict[str, dict[str, float]] = {}
    failed = []
    began = time.perf_counter()
    for name, problem, method, factor in cases():
        if len(made) == RUNS:
            break
        label = f"{name}, {method}, {factor:g} dt"
        try:
            made[label], near[label] = audited(problem, method, factor)
        except CatenaError as trouble:
            failed.append(f"{label}: {trouble.wrong}")
        if made.get(label):
            print(label, made[label], flush=True)
    red = {label: lines for label, lines in made.items() if lines}
    nearest = {}
    for rule in ("lasting", "whole", "order"):
        labels = sorted(near, key=lambda label: -near[label][rule])[:NEAREST]
        nearest[rule] = {label: round(near[label][rule], 4) for label in labels}
    result = {"runs": len(made), "red": red, "failed": failed, "nearest to large": nearest, "cases": sorted(made)}
    write_text(RESULT, json.dumps(result, indent=2) + "\n")
    print(json.dumps(nearest, indent=2))
    print(f"{len(made)} runs, {len(red)} with a red line, {len(failed)} failed, {time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main()
