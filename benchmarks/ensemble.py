"""How ensembles go faster with more threads, and what a whole call on a card takes.

    python benchmarks/ensemble.py --out DIR [--threads 1 2 4 8 16] [--cuda]

writes DIR/ensemble.json and prints it as a table: microseconds per member of 1000 steps for each number of threads (least of some calls of
`catena.ensemble`, from arrays to arrays), the speed-up over one thread, and, on a card, the ratio to one thread. Every call looks at the invariants
at the start and the end only, as a user does who wants final states.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import catena as ct
from catena.methods.base import Method
from catena.output.files import write_text
from catena.running.plan import Problem

STEPS, REPEATS = 1000, 3


def kepler(members: int) -> tuple[Problem, Any]:
    e = np.random.default_rng(1).uniform(0.0, 0.8, members)
    zero = np.zeros(members)
    return ct.problems.kepler(), {
        "q": np.stack([1 - e, zero], axis=1), "p": np.stack([zero, np.sqrt((1 + e) / (1 - e))], axis=1),
    }  # fmt: skip


def _nudged(of: Problem, field: str, members: int) -> tuple[Problem, Any]:
    factor = 1 + 0.01 * np.random.default_rng(1).standard_normal(members)
    fields = {name: np.repeat(array[None], members, axis=0) for name, array in of.start.fields.items()}
    fields[field] *= factor.reshape(-1, *[1] * of.start.fields[field].ndim)
    return of, fields


CASES: dict[str, tuple[Callable[[int], tuple[Problem, Any]], Method, int]] = {
    "kepler, Splitting(6)": (kepler, ct.Splitting(6), 16384),
    "kepler, Gauss(3)": (kepler, ct.Gauss(3), 16384),
    "free body, DMV(10)": (lambda m: _nudged(ct.problems.book(), "angular_momentum", m), ct.DMV(10), 16384),
    "top, Splitting(4)": (lambda m: _nudged(ct.problems.kovalevskaya(), "angular_momentum", m), ct.Splitting(4), 8192),
    "chain of 8, Splitting(2)": (lambda m: _nudged(ct.problems.helix_chain(8), "momentum", m), ct.Splitting(2), 8192),
}


def seconds(make: Callable[[int], tuple[Problem, Any]], method: Method, members: int, **how: Any) -> float:
    """Of one call, the best of some."""
    of, starts = make(members)
    few = {name: array[:64] for name, array in starts.items()}
    ct.ensemble(of.system, few, method, dt=of.dt, steps=STEPS, every=STEPS, **how)  # compiles
    spent = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        ct.ensemble(of.system, starts, method, dt=of.dt, steps=STEPS, every=STEPS, **how)
        spent.append(time.perf_counter() - began)
    return min(spent)


def measured(threads: list[int], *, cuda: bool, share: float) -> list[dict[str, Any]]:
    """One row for each case."""
    rows = []
    for name, (make, method, usual) in CASES.items():
        members = max(64, int(share * usual))
        row: dict[str, Any] = {"case": name, "members": members, "steps": STEPS}
        for count in threads:
            row[f"us_{count}_threads"] = 1e6 * seconds(make, method, members, threads=count) / members
        first = row[f"us_{threads[0]}_threads"]
        row |= {f"speed_up_{count}": first / row[f"us_{count}_threads"] for count in threads[1:]}
        if cuda:
            row["card_us"] = 1e6 * seconds(make, method, 65536, device="cuda") / 65536
            row["card_ratio"] = first / row["card_us"]
        print(json.dumps(row), flush=True)
        rows.append(row)
    return rows


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, required=True, help="folder of ensemble.json")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--cuda", action="store_true")
    parser.add_argument("--share", type=float, default=1.0, help="of the usual number of members")
    options = parser.parse_args()
    found = {"cores": os.cpu_count(), "rows": measured(options.threads, cuda=options.cuda, share=options.share)}
    write_text(options.out / "ensemble.json", json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
