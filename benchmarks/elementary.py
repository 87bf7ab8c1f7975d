"""Our elementary functions against those of the C library, each in loops of one process.

    python benchmarks/elementary.py --out DIR

writes DIR/elementary.json. For each function two loops: values of an array, which may be vectorised, and a chain in
which each argument depends on the previous value. Then programs: text Hamiltonians, a linkage in joint coordinates, a
top, each built twice.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))
sys.path.insert(0, str(Path(__file__).parents[1] / "src"))
os.environ.setdefault("CATENA_CACHE_DIR", tempfile.mkdtemp(prefix="catena-elementary-"))

import numpy as np

import catena as ct
from catena.engine import cache, collector, headers
from catena.engine.build import build
from catena.engine.driver import Driver
from catena.kernels.elementary import FUNCTIONS
from catena.kernels.marks import Written
from catena.output.files import write_text
from elementary_arguments import TWO, USUAL
from timing import interleaved, ratio

COUNT = 20_000
PROGRAMS: dict[str, tuple[Callable[[], Any], Any]] = {
    "pendulum, RK4": (ct.problems.pendulum, ct.RK4()),
    "pendulum, Gauss(3)": (ct.problems.pendulum, ct.Gauss(3)),
    "Morse text, StormerVerlet": (
        lambda: _problem(ct.Hamiltonian("p**2/2 + (1 - exp(-q))**2"), {"q": 0.5, "p": 0.0}, 0.05),
        ct.StormerVerlet(),
    ),
    "power text, RK4": (
        lambda: _problem(ct.Hamiltonian("p**2/2 + (1 + q**2)**1.3 + log(2 + sin(q))"), {"q": 0.5, "p": 0.0}, 0.05),
        ct.RK4(),
    ),
    "three hinges, joint form, Gauss(2)": (ct.problems.triple_pendulum, ct.Gauss(2, solver="fixed-point")),
    "top, Lagrange": (ct.problems.lagrange_top, ct.Lagrange()),
    "top, Splitting(2)": (ct.problems.lagrange_top, ct.Splitting(2)),
    "free body, Jacobi": (ct.problems.book, ct.Jacobi()),
    "free body, ThreeRotations": (ct.problems.book, ct.ThreeRotations()),
}
STEPS = 2000


def _problem(system: Any, start: dict[str, float], dt: float) -> Any:
    from catena.running.plan import Problem

    return Problem("text", system, system.start(**start), dt)


@contextmanager
def library() -> Iterator[None]:
    """Make programs call the functions of the C library."""
    ours, collected = dict(FUNCTIONS), dict(collector._collected)
    resolve = collector._Collector._resolve

    def resolved(self: Any, function: Any, node: Any, path: Any, fills: Any) -> str:
        named = path[-1] in ours and not function.__module__.startswith("catena.kernels.elementary")
        return f"math.{path[-1]}" if named and path[0] == "math" else resolve(self, function, node, path, fills)

    FUNCTIONS.clear()
    collector._collected.clear()
    collector._Collector._resolve = resolved  # type: ignore[method-assign]
    try:
        yield
    finally:
        FUNCTIONS.update(ours)
        collector._collected.clear()
        collector._collected.update(collected)
        collector._Collector._resolve = resolve  # type: ignore[method-assign]


def loops(name: str) -> dict[str, Callable[..., float]]:
    """The two loops over a function."""
    arguments = "x[i], y[i]" if name in TWO else "x[i]"
    waiting = arguments.replace("x[i]", "x[i] + 0.0 * value")
    head = "def {}(x, y, out):\n    value = 0.0\n    for i in range(len(x)):\n        "
    texts = {
        "array": head.format("array") + f"out[i] = math.{name}({arguments})\n    return value\n",
        "chain": head.format("chain") + f"value = math.{name}({waiting})\n    return value\n",
    }
    entry = headers.cpu_function("types.float64", [headers.array_type(1)] * 3)
    made = {}
    for kind, text in texts.items():
        parts = collector.collect(Written(kind, text, "catena.loop"), {})
        text = headers.module_text(kind, parts, (), header=headers.CPU + headers.INLINED, entry=entry)
        made[kind] = cache.load(text, f"{kind} of {name}").advance
    return made


def race(name: str) -> dict[str, Any]:
    """Nanoseconds of a value and ratios."""
    rng = np.random.default_rng(1)
    low, high = USUAL[name] if name != "exp" else (-10.0, 10.0)
    x, y, out = rng.uniform(low, high, COUNT), rng.uniform(-3.0, 3.0, COUNT), np.empty(COUNT)
    ours = loops(name)
    with library():
        theirs = loops(name)
    found: dict[str, Any] = {"function": name}
    for kind in ours:
        candidates = {"own": lambda k=kind: ours[k](x, y, out), "library": lambda k=kind: theirs[k](x, y, out)}
        times = interleaved(candidates, rounds=40)
        found[kind] = {who: round(1e9 * seconds.best / COUNT, 2) for who, seconds in times.items()}
        found[kind]["ratio"] = ratio(times, "own", "library")["best"]
    return found


def race_of_programs(name: str) -> dict[str, Any]:
    """Nanoseconds of a step and the ratio."""
    make, method = PROGRAMS[name]
    of = make()
    programs = {"own": build(of.system, method)}
    with library():
        programs["library"] = build(make().system, method)
    assert programs["own"].text != programs["library"].text

    def steps(program: Any) -> None:
        driver = Driver(program, program.view.pack(of.start), t0=of.start.time, dt=of.dt, every=STEPS)
        driver.advance(STEPS)

    times = interleaved({who: lambda p=program: steps(p) for who, program in programs.items()}, rounds=15)
    each = {who: round(1e9 * seconds.best / STEPS, 1) for who, seconds in times.items()}
    return {"program": name, **each, "ratio": ratio(times, "own", "library")["best"]}


def main() -> int:
    """Race all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder of elementary.json")
    parser.add_argument("--only", default="", help="functions and programs whose names contain this")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    found: dict[str, Any] = {"functions": [], "programs": []}
    for key, names, compare in (("functions", FUNCTIONS, race), ("programs", PROGRAMS, race_of_programs)):
        for name in [name for name in names if options.only in name]:
            found[key].append(compare(name))
            print(json.dumps(found[key][-1]), flush=True)
    write_text(options.out / "elementary.json", json.dumps(found, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
