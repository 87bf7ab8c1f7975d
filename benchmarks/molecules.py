"""Molecules with forces between all atoms: cost of a step beside its forces, growth with residues, and the audit.

    catena bench molecules [-- --quick --out DIR]

prints the tables and writes molecules.json and molecules.md, without --out into benchmarks/results. Chains of residues of five atoms each, in rigid
groups with hinges at N-CA and CA-C; atoms more than two hinges apart interact. Times are CPU times of one process,
candidates in turn. --quick runs everything on tiny sizes, which says nothing about speed.
"""

from __future__ import annotations

import argparse
import json
import math
import platform
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import catena as ct
from catena.engine.build import build
from catena.engine.driver import Driver
from catena.engine.single_kernels import PAR, SingleKernels
from catena.kernels.views import OK
from catena.methods.base import Method
from catena.output.files import write_text
from catena.systems.linkage.director_form.particles import find_at
from engine import table
from timing import Seconds, interleaved

Array = NDArray[np.float64]
RESULTS = Path(__file__).parent / "results"
BOND, TETRAHEDRAL, PEPTIDE = 1.5, math.radians(111.0), math.radians(116.0)
PHI, PSI = math.radians(-139.0), math.radians(135.0)  # of a stretched chain
METHODS: dict[str, Method] = {"Rattle": ct.Rattle(), "EnergyMomentum": ct.EnergyMomentum()}
LIMITS = {"Rattle": 1.3, "EnergyMomentum": 6.0}  # a step, over the same step without forces plus the forces
MOST_LINES = 25
DT, WARM_UP = 0.02, 3  # steps before a sample: the first ones cannot extrapolate

SCRIPT = """\
import numpy as np
import catena as ct

turning = [bond for k in range(0, 5 * residues, 5) for bond in ((k, k + 1), (k + 1, k + 3))][1:]  # N-CA and CA-C
molecule, still = ct.Linkage.from_molecule(path, turning, pairs=ct.LennardJones(0.5, 3.0), exclude=2)
shape = (molecule.count, 3)
spin = 0.3 * np.random.default_rng(3).normal(size=shape)
start = molecule.start(still.position, angular_velocity=spin, velocity=np.zeros(shape), project=True)
run = ct.simulate(molecule, start, method, dt=0.02, steps=steps, every=20)
audit = run.audit()
"""


def behind(last: Sequence[Array], angle: float, turn: float) -> Array:
    """The atom after the last three, at the length of a bond, with this bond angle and dihedral angle."""
    a, b, c = last
    along = (c - b) / np.linalg.norm(c - b)
    normal = np.cross(b - a, along)
    normal /= np.linalg.norm(normal)
    step = -math.cos(angle) * along + math.sin(angle) * (
        math.cos(turn) * np.cross(normal, along) + math.sin(turn) * normal
    )
    return c + BOND * step


def chain_of_residues(residues: int) -> str:
    """XYZ of N, CA, CB, C, O of each residue, stretched out."""
    backbone = [np.zeros(3), np.array((BOND, 0.0, 0.0))]
    backbone.append(backbone[1] + BOND * np.array((-math.cos(TETRAHEDRAL), math.sin(TETRAHEDRAL), 0.0)))
    for k in range(3, 3 * residues + 1):  # one more N, for the position of the last O
        turn = math.pi if k % 3 == 1 else PSI if k % 3 == 0 else PHI
        backbone.append(behind(backbone[-3:], TETRAHEDRAL if k % 3 else PEPTIDE, turn))

    def unit(vector: Array) -> Array:
        return vector / float(np.linalg.norm(vector))

    rows = []
    for k in range(residues):
        n, ca, c, after = backbone[3 * k : 3 * k + 4]
        cb = ca + BOND * (0.81 * unit(np.cross(c - ca, n - ca)) - 0.58 * unit((n + c) / 2 - ca))
        o = c - 1.23 * (unit(ca - c) + unit(after - c))
        rows += [f"{name} {x:.6f} {y:.6f} {z:.6f}" for name, (x, y, z) in zip("NCCCO", (n, ca, cb, c, o), strict=True)]
    return "\n".join([str(len(rows)), "", *rows, ""])


def played(residues: int, method: Method, steps: int) -> dict[str, Any]:
    """The names that the script defines when it has run."""
    with tempfile.NamedTemporaryFile("w", suffix=".xyz") as file:
        file.write(chain_of_residues(residues))
        file.flush()
        names: dict[str, Any] = {"residues": residues, "path": file.name, "method": method, "steps": steps}
        exec(SCRIPT, names)
    return names


def stepping(system: Any, start: Any, method: Method, steps: int) -> Callable[[], None]:
    """This many steps from the start, after a few."""
    program = build(system.begun(start), method)
    driver = Driver(program, program.view.pack(start), t0=0.0, dt=DT, every=steps + WARM_UP)
    assert driver.advance(WARM_UP).status == OK
    begin = {name: array.copy() for name, array in driver.state().items()}

    def go() -> None:
        driver.restore(WARM_UP, begin)
        assert driver.advance(steps).status == OK

    return go


def forces_alone(system: Any, start: Any, times: int) -> Callable[[], None]:
    """All forces between the atoms and on the bodies, this many times."""
    view = system.view("constrained")
    evaluate = SingleKernels(system, view, scratch={}).function(find_at, [1, PAR], compiled=True)
    places = np.concatenate([start.position.ravel(), start.orientation.ravel(), [0.0]])

    def go() -> None:
        for _ in range(times):
            evaluate(places)

    return go


def measured(residues: int, steps: int, rounds: int, audited: int) -> dict[str, Any]:
    """One chain: times of a step in microseconds, ratios, verdicts."""
    known = {name: played(residues, method, audited) for name, method in METHODS.items()}
    system, start = known["Rattle"]["molecule"], known["Rattle"]["start"]
    bare = type(system)(system.bodies, system.joints, gravity=system.gravity)
    candidates = {f"{name}, {which}": stepping(one, start, method, steps)
                  for name, method in METHODS.items() for which, one in (("pairs", system), ("bare", bare))}  # fmt: skip
    candidates["forces"] = forces_alone(system, start, steps)
    taken = interleaved(candidates, rounds=rounds)

    def per_step(seconds: Seconds) -> float:
        return 1e6 * seconds.best / steps

    row: dict[str, Any] = {"residues": residues, "atoms": len(system.particles(start).types), "pairs": system.acting.pair_count,
                           "forces": per_step(taken["forces"])}  # fmt: skip
    for name in METHODS:
        step, without = per_step(taken[f"{name}, pairs"]), per_step(taken[f"{name}, bare"])
        audit = known[name]["audit"]
        row |= {f"{name}": step, f"{name} without forces": without, f"{name}, ratio": step / (without + row["forces"])}
        row |= {f"{name}, over forces": step / row["forces"]}
        kept = ("energy", "total_momentum", "total_angular_momentum")
        row |= {f"{name}, verdicts": ", ".join(audit[one].verdict for one in kept)}
    return row


def fitted(rows: Sequence[dict[str, Any]], name: str, by: str) -> float:
    """The exponent with which a time grows with its argument, from the longest half of the chains."""
    long = rows[len(rows) // 2 - 1 :]
    slope, _ = np.polyfit(np.log([row[by] for row in long]), np.log([row[name] for row in long]), 1)
    return float(slope)


def page_of(rows: list[dict[str, Any]], growth: list[dict[str, Any]], lines: int) -> str:
    """The tables in words."""
    times = [{k: f"{v:.3g}" if isinstance(v, float) else v for k, v in row.items() if "verdicts" not in k and "ratio" not in k and "over" not in k}
             for row in rows]  # fmt: skip
    ratios = []
    for row in rows:
        for name, limit in LIMITS.items():
            ratio = row[f"{name}, ratio"]
            ratios.append({"residues": row["residues"], "method": name, "step over step without forces and forces": f"{ratio:.2f}", "target": limit,
                           "reached": ratio <= limit, "step over forces alone": f"{row[f'{name}, over forces']:.2f}",
                           "energy, momentum, angular momentum": row[f"{name}, verdicts"]})  # fmt: skip
    return "\n".join([
        "# Molecules with forces between all atoms", "", f"{platform.machine()}, Python {platform.python_version()}; the script of such a run has {lines} lines",
        "", "## Microseconds a step", "", table(times), "", "## What a step costs beside its forces, and what it keeps", "", table(ratios),
        "", "## Power of the number of residues, and of pairs, with which the time of a step grows", "", table(growth), "",
    ])  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure everything, print and store it."""
    parser = argparse.ArgumentParser(prog="catena bench molecules")
    parser.add_argument("--quick", action="store_true", help="tiny sizes, to try it")
    parser.add_argument("--out", type=Path, default=RESULTS, metavar="DIR")
    given = parser.parse_args(arguments)
    sizes = (2, 3) if given.quick else (5, 10, 15, 20, 30)
    steps, rounds, audited = (2, 1, 40) if given.quick else (200, 9, 20_000)
    lines = len([line for line in SCRIPT.splitlines() if line.strip()])
    assert lines <= MOST_LINES
    rows = [measured(residues, steps, rounds, audited if residues in (2, 3, 10, 30) else 400) for residues in sizes]
    growth = [{"time of": name, **{f"by {by}": f"{fitted(rows, name, by):.2f}" for by in ("residues", "pairs")}}
              for name in ("forces", *METHODS, *(f"{method} without forces" for method in METHODS))]  # fmt: skip
    page = page_of(rows, growth, lines)
    print(page)
    given.out.mkdir(parents=True, exist_ok=True)
    write_text(
        given.out / "molecules.json", json.dumps({"lines": lines, "rows": rows, "growth": growth}, indent=1) + "\n"
    )
    write_text(given.out / "molecules.md", page)


if __name__ == "__main__":
    main()
