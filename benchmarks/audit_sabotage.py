"""What the audit and `ct.check` find when one coefficient of a method has a relative error of 1e-6, 1e-9 or 1e-12.

    python benchmarks/audit_sabotage.py [family ...]

takes one method of each family, changes one coefficient, runs 2000 steps and audits them, then checks the pair (except
for linkages, where this takes minutes); it writes benchmarks/results/audit_sabotage.json, for all families or those
named, and prints the table of docs/audit.md. Most programs run as plain Python: the same bits, nothing to compile.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

import catena as ct
from catena.analysis.structure_check import check_program
from catena.engine.build import Program, build
from catena.engine.driver import Driver
from catena.engine.pairing import Pairing
from catena.engine.plain_python import interpret
from catena.errors import CatenaWarning
from catena.methods.base import Method
from catena.running.plan import Plan, Problem
from catena.running.recording import make_here
from catena.running.runs import MemoryRun

SIZES = (0.0, 1e-6, 1e-9, 1e-12)  # 0: the unchanged method, in which nothing may be found
STEPS, EVERY = 2000, 2
CHECKED = 4000  # steps of the runs that show the order
RESULT = Path(__file__).parent / "results" / "audit_sabotage.json"


@dataclass(frozen=True)
class Sabotage:
    """One coefficient of a method, and the problem on which the error is searched for.

    `place` is its place in the table of the method, or the words of the kernel before which (1 + size) is inserted, at
    each of their `times` occurrences; "dt" is the step itself, for a compiled program.
    """

    family: str
    what: str
    problem: Callable[[], Problem]
    method: Method
    place: tuple[int, int] | str
    times: int = 1

    @property
    def title(self) -> str:
        """What is wrong."""
        return f"{self.family}: `{self.method}`, {self.what}"

    def program(self, size: float) -> Program:
        """The program with this relative error of the coefficient."""
        program = build(self.problem().system, self.method, compiled=self.place == "dt")
        if self.place == "dt":
            return replace(program, module=with_another_step(program.module, size))
        if isinstance(self.place, tuple):
            tab = program.stepper.tab.copy()
            tab[self.place] *= 1.0 + size
            return replace(program, stepper=replace(program.stepper, tab=tab))
        if program.text.count(self.place) < self.times:
            raise LookupError(f"{self.method}: no {self.place!r} in its kernels")
        text = program.text.replace(self.place, f"{1.0 + size!r} * {self.place}", self.times)
        return replace(program, text=text, module=interpret(text))


def with_another_step(module: Any, size: float) -> Any:
    """A compiled module whose steps are longer by this fraction."""

    def advance_members(z: Any, e: Any, t0: Any, dt: Any, *more: Any) -> None:
        module.advance_members(z, e, t0, dt * (1.0 + size), *more)

    return SimpleNamespace(advance_members=advance_members, Parameters=module.Parameters)


KEPLER, BOOK, TOP, LINKS = ct.problems.kepler, ct.problems.book, ct.problems.kovalevskaya, ct.problems.double_pendulum
SABOTAGES = (
    Sabotage("partitioned", "first kick", KEPLER, ct.StormerVerlet(), "0.5 * dt"),
    Sabotage("composition", "first part", KEPLER, ct.Composition(ct.StormerVerlet(), "yoshida4"), (0, 0)),
    Sabotage("splitting", "second drift", KEPLER, ct.Splitting(4), (0, 1)),
    Sabotage("nystrom", "force gradient", KEPLER, ct.Nystrom4(), (2, 1)),
    Sabotage("runge_kutta", "second weight", KEPLER, ct.RK4(), f"{1 / 3} * r1_", times=4),
    Sabotage("implicit (Gauss)", "first weight", KEPLER, ct.Gauss(3), (6, 0)),
    Sabotage("implicit (Gauss)", "second place of the first stage", KEPLER, ct.Gauss(3), (1, 0)),
    Sabotage("implicit (midpoint)", "weight", KEPLER, ct.ImplicitMidpoint(), (2, 0)),
    Sabotage("implicit (Radau)", "first weight", KEPLER, ct.RadauIIA(2), (4, 0)),
    Sabotage("rotations", "first rotation", BOOK, ct.ThreeRotations(), "0.5 * h * y[0]"),
    Sabotage("moser_veselov", "step of the turn", BOOK, ct.DMV(4), "0.5 * h\n"),
    Sabotage("jacobi", "time of the motion", BOOK, ct.Jacobi(), "carry[1] * dt"),
    Sabotage("lagrange", "time of the motion", ct.problems.lagrange_top, ct.Lagrange(), "carry[1] * dt"),
    Sabotage("taylor", "length of the step", KEPLER, ct.Taylor(), "dt"),
    Sabotage("quat_em", "first component of the turn", TOP, ct.QuatEM(), "0.25 * dt * w1"),
    Sabotage("rattle", "length of the step", LINKS, ct.Rattle(), "dt"),
    Sabotage("energy_momentum", "length of the step", LINKS, ct.EnergyMomentum(), "dt"),
)


def audit_finds(program: Program, problem: Problem) -> list[str]:
    """The red lines of a run."""
    driver = Driver(program, program.view.pack(problem.start), t0=problem.start.time, dt=problem.dt, every=EVERY)
    rows = [driver.first_row().rows]
    chunk = driver.advance(STEPS)
    plan = Plan(problem.system, problem.start, program.method, problem.dt, EVERY)
    run = MemoryRun(plan, driver.step, driver.state(), np.concatenate([*rows, chunk.rows]), chunk.crossings, {})
    return [f"{row.quantity} {row.verdict}" for row in make_here(run, driver).audit().contradictions]


def check_finds(program: Program, problem: Problem) -> list[str]:
    """The rows of `ct.check` that contradict the promises, except invariants, which the audit checks for longer."""
    found = check_program(
        program,
        problem.start,
        Pairing.of(problem.system, program.method).promises,
        guess=problem.dt,
        most_steps=CHECKED,
        kept_steps=0,
    )
    return [f"{row.name} {row.verdict}" for row in found.contradictions]


def found_by(sabotage: Sabotage, size: float) -> dict[str, list[str]]:
    """What is found with this relative error of the coefficient."""
    problem = sabotage.problem()
    program = sabotage.program(size)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", CatenaWarning)
        found = {"audit": audit_finds(program, problem)}
        return found if sabotage.place == "dt" else found | {"check": check_finds(program, problem)}


def table(results: dict[str, dict[str, dict[str, list[str]]]]) -> str:
    """Markdown: one line for each family, what was found for each size."""
    lines = ["| family, coefficient | 1e-6 | 1e-9 | 1e-12 |", "| --- | --- | --- | --- |"]
    for name, sizes in results.items():
        cells = []
        for size in SIZES[1:]:
            found = sizes[f"{size:g}"]
            findings = [f"{by}: {', '.join(lines)}" for by, lines in found.items() if lines]
            cells.append("; ".join(findings) or "nothing")
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main(families: list[str]) -> None:
    known = json.loads(RESULT.read_text()) if families else {}
    results: dict[str, dict[str, dict[str, list[str]]]] = {}
    for one in SABOTAGES:
        if families and one.family not in families:
            results[one.title] = known[one.title]
            continue
        results[one.title] = {f"{size:g}": found_by(one, size) for size in SIZES}
        print(one.title, results[one.title], flush=True)
    RESULT.write_text(json.dumps(results, indent=2) + "\n")
    print(table(results))


if __name__ == "__main__":
    main(sys.argv[1:])
