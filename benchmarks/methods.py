"""Cost and error of every method on one problem of each kind; the page on choosing a method shows the result.

    catena bench methods [-- --only NAME ... --quick --out DIR]

writes methods.json and methods.md, without --out into benchmarks/results. For each method the largest step of a ladder
is found that brings the final state within 1e-3, 1e-6 and 1e-10 of the reference; then all methods are timed in turn,
with these steps. Costs are CPU times over that of the fastest method at the same error: only these are meaningful.
--only measures some problems again and keeps the others; --quick climbs a few rungs, which says nothing.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import catena as ct
from catena.engine.build import Program, build
from catena.engine.driver import Driver
from catena.kernels.views import OK
from catena.methods.base import Method
from catena.output.files import write_text
from catena.running.plan import Problem
from catena.systems.base import State
from engine import table
from timing import interleaved

RESULTS = Path(__file__).parent / "results"

TARGETS = (1e-3, 1e-6, 1e-10)  # errors of the state at the end
COARSEST, FINEST = 0.25, 512.0  # steps over those with the step of the problem
RUNG = math.sqrt(2.0)
SAMPLES = 200  # of the energy
SLOT = 0.02  # CPU seconds of one sample of a time, at least


@dataclass(frozen=True)
class Subject:
    """A problem, its duration, and the coarsest step of the ladder."""

    problem: Callable[[], Problem]
    t_end: float
    about: str


def scaling_body() -> Problem:
    """A free body that may scale; its exact solution is known."""
    system = ct.ScalingBody(ct.Body(moments=(1.0, 2.0, 2.5)))
    start = system.start(angular_velocity=(0.4, 1.0, 0.3))
    return Problem("scaling_body", system, start, 0.02, lambda t: system.exact(t, start))


SUBJECTS = {
    "kepler": Subject(
        ct.problems.kepler, 50.0, "A Hamiltonian with quadratic kinetic energy: Kepler's orbit, e = 0.6, t = 50"
    ),
    "book": Subject(ct.problems.book, 10.0, "A free body: a book that turns near its middle axis, t = 10"),
    "top": Subject(ct.problems.kovalevskaya, 20.0, "A top: Kovalevskaya's, t = 20"),
    "chain": Subject(
        lambda: ct.problems.helix_chain(8, right="force", F=(3.0, 0.0, 0.0)),
        10.0,
        "A chain: the helix of 8 tetrahedra, clamped and pulled, t = 10",
    ),
    "linkage": Subject(
        lambda: ct.problems.hanging_chain("spherical"), 2.0, "Linked bodies: four boxes on ball joints, t = 2"
    ),
    "scaling": Subject(scaling_body, 5.0, "A free body that may scale, t = 5"),
}


@dataclass(frozen=True)
class Sizes:
    """Length of the ladder and number of timings."""

    finest: float
    longest: float  # CPU seconds of the last run on a ladder
    rounds: int


FULL = Sizes(finest=FINEST, longest=1.5, rounds=5)
QUICK = Sizes(finest=1.0, longest=0.05, rounds=1)


@dataclass(frozen=True)
class Found:
    """A run on the ladder: number of steps, error of the state, largest error of the energy over its largest term."""

    steps: int
    state_error: float
    energy_error: float


def distance(state: State, right: State) -> float:
    """Largest difference of a component; q and -q are the same orientation."""
    differences = []
    for name, values in state.fields.items():
        other = right.fields[name]
        apart = np.abs(values - other).max(axis=-1)
        if name == "orientation":
            apart = np.minimum(apart, np.abs(values + other).max(axis=-1))
        differences.append(float(np.max(apart)))
    return max(differences)


def run(program: Program, start: State, t_end: float, steps: int, *, every: int) -> tuple[Driver, Any]:
    """Run all steps at once; the driver after them and what it recorded."""
    driver = Driver(program, program.view.pack(start), t0=start.time, dt=t_end / steps, every=every)
    first = driver.first_row()
    chunk = driver.advance(steps)
    return driver, None if chunk.status != OK else np.concatenate([first.rows, chunk.rows])


def measure(program: Program, start: State, right: State, t_end: float, steps: int) -> Found:
    """One run with its errors; a run that fails has no correct digit."""
    driver, rows = run(program, start, t_end, steps, every=max(1, steps // SAMPLES))
    if rows is None:
        return Found(steps, math.inf, math.inf)
    energy = program.system.columns(rows)["energy"]
    names = [invariant.name for invariant in program.system.invariants]
    widths = [invariant.width for invariant in program.system.invariants]
    scale = driver.scale[sum(widths[: names.index("energy")])]
    state = program.view.unpack(driver.z, driver.time)
    return Found(steps, distance(state, right), float(np.abs(energy - energy[0]).max() / scale))


def reference(problem: Problem, t_end: float) -> tuple[str, State]:
    """The exact solution, or Gauss(6) with steps eight times finer than those of the problem."""
    if problem.exact is not None:
        return "the exact solution", problem.exact(t_end)
    steps = 8 * round(t_end / problem.dt)
    program = build(problem.system, ct.Gauss(6))
    driver, rows = run(program, problem.start, t_end, steps, every=steps)
    assert rows is not None
    return f"Gauss(6), dt = {t_end / steps:g}", program.view.unpack(driver.z, driver.time)


def climb(program: Program, problem: Problem, right: State, t_end: float, sizes: Sizes) -> dict[float, Found]:
    """For each target the first rung that reaches it; climbing ends at the last target, or when runs get long."""
    reached: dict[float, Found] = {}
    share = COARSEST
    while share <= sizes.finest and len(reached) < len(TARGETS):
        began = time.process_time()
        found = measure(program, problem.start, right, t_end, max(1, round(share * t_end / problem.dt)))
        for target in TARGETS:
            if target not in reached and found.state_error <= target:
                reached[target] = found
        if time.process_time() - began > sizes.longest:
            break
        share *= RUNG
    return reached


def timed(runs: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """CPU seconds of one call of each, in turn, the best of all rounds; short ones are repeated in each sample."""
    once = interleaved(runs, rounds=1)
    repeats = {name: max(1, math.ceil(SLOT / max(once[name].best, 1e-6))) for name in runs}

    def repeated(name: str) -> Callable[[], object]:
        return lambda: [runs[name]() for _ in range(repeats[name])]

    taken = interleaved({name: repeated(name) for name in runs}, rounds=rounds)
    return {name: taken[name].best / repeats[name] for name in runs}


def measured(name: str, methods: Sequence[Method], sizes: Sizes) -> dict[str, Any]:
    """The table of one problem, cheapest first; empty where a method does not reach an error."""
    subject = SUBJECTS[name]
    problem = subject.problem()
    against, right = reference(problem, subject.t_end)
    programs = {str(method): build(problem.system, method) for method in methods}
    reached = {method: climb(program, problem, right, subject.t_end, sizes) for method, program in programs.items()}

    def candidate(method: str, steps: int) -> Callable[[], object]:
        return lambda: run(programs[method], problem.start, subject.t_end, steps, every=steps)

    rows: list[dict[str, Any]] = [{"method": method, "at": {}} for method in programs]
    for target in TARGETS:
        able = {method: found[target] for method, found in reached.items() if target in found}
        spent = timed({m: candidate(m, found.steps) for m, found in able.items()}, sizes.rounds) if able else {}
        for row in rows:
            if row["method"] in able:
                found = able[row["method"]]
                row["at"][f"{target:g}"] = {
                    "dt": subject.t_end / found.steps,
                    "cost": round(spent[row["method"]] / min(spent.values()), 2),
                    "energy_error": found.energy_error,
                    "state_error": found.state_error,
                }
    rows.sort(key=lambda row: [row["at"].get(f"{target:g}", {}).get("cost", math.inf) for target in TARGETS])
    return {"name": name, "about": subject.about, "against": against, "rows": rows}


def headings() -> list[str]:
    """The columns of a table: for each target the cost with the step, and the energy error."""
    return ["method", *(f"{word} {target:.0e}" for target in TARGETS for word in ("cost (dt) at", "energy error at"))]


def cells(row: Mapping[str, Any]) -> list[str]:
    """The cells of a method; a dash where the error is not reached."""
    made = [row["method"]]
    for target in TARGETS:
        at = row["at"].get(f"{target:g}")
        made += ["-", "-"] if at is None else [f"{at['cost']:.3g} ({at['dt']:.2g})", f"{at['energy_error']:.0e}"]
    return made


def text(results: Mapping[str, Any]) -> str:
    """All tables as Markdown."""
    parts = ["# Cost and error of the methods"]
    for problem in results["problems"]:
        parts.append(f"## {problem['about']}\n\nReference: {problem['against']}.")
        parts.append(table([dict(zip(headings(), cells(row), strict=True)) for row in problem["rows"]]))
    return "\n\n".join(parts) + "\n"


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--only", nargs="*", choices=list(SUBJECTS), default=list(SUBJECTS))
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    file = options.out / "methods.json"
    known = {}
    if file.exists():
        known = {problem["name"]: problem for problem in json.loads(file.read_text(encoding="utf-8"))["problems"]}
    for name in options.only:
        listed = ct.list_methods(SUBJECTS[name].problem().system)
        methods = [method for method in listed if not method.traits.random]  # noise has no correct path
        known[name] = measured(name, methods[:2] if options.quick else methods, QUICK if options.quick else FULL)
        results = {"problems": [known[other] for other in SUBJECTS if other in known]}
        write_text(file, json.dumps(results, indent=1) + "\n")
        write_text(options.out / "methods.md", text(results))
    print(text(results))


if __name__ == "__main__":
    main()
