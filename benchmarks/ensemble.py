"""Ensembles on one core: against heyoka's batches, SciPy, MuJoCo's rollouts and partitions of LAMMPS, in one run.

    catena bench ensemble [-- --quick --out DIR]

prints the tables and writes ensemble.json and ensemble.md, without --out into benchmarks/results. All times are CPU times of one
process, candidates in turn; only their ratios are meaningful. In each race every participant uses the coarsest of its
settings whose median error of the final state over the members is at most LEVEL; the reference is heyoka at a tolerance
of 1e-18. A peer that is not installed is skipped. --quick runs every participant once on tiny sizes, which says nothing
about speed: two of the races, with most of the minute spent on compiling.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import platform
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import catena as ct
from catena.output.files import write_text
from chain import DT, lammps_of, zigzag
from engine import table
from ensemble_races import TOP, Array, Ensemble, Runner, ensembles, heyoka_batch, mujoco_rollout, ours, scipy_loop
from timing import Seconds, interleaved

RESULTS = Path(__file__).parent / "results"
LEVEL = 1e-8
MEMBERS, ROUNDS = 32_768, 3
SOME = 2048  # members for our slow methods
FEW = 16  # members for slow peers
QUICK = ("henon_heiles", "heavy top")  # every participant is in at least one of them
TOLERANCES = tuple(float(f"{10 ** (-k / 2):.0e}") for k in range(11, 25))  # 3e-6 to 1e-12
STEPS = tuple(round(50 * 2 ** (k / 8)) for k in range(88))  # 50 to 94 000 steps, 9 % more each
Rows = list[dict[str, Any]]


def installed(name: str) -> bool:
    return importlib.util.find_spec(name) is not None


def entries(key: str, race: Ensemble, methods: Any) -> Iterator[tuple[str, int, Iterator[tuple[str, Runner]]]]:
    """The participants: name, number of members, and settings, coarsest first."""
    everybody = len(race.z)
    for method, layout in methods:
        if method is ct.Taylor:
            settings = ((f"tolerance {t:.0e}", ours(race, ct.Taylor(t), 1, layout)) for t in TOLERANCES)
            yield f"Taylor, {layout}", everybody, settings
            continue
        settings = ((f"{steps} steps", ours(race, method, steps, layout)) for steps in STEPS)
        yield f"{method}, {layout}", everybody if layout == "lanes" else min(SOME, everybody), settings
    yield "heyoka, batch of 8", everybody, ((f"tolerance {t:.0e}", heyoka_batch(race, t)) for t in TOLERANCES)
    if installed("scipy"):
        yield "SciPy DOP853", FEW, ((f"tolerance {t:.0e}", scipy_loop(race, t)) for t in TOLERANCES)
    if key == "heavy top" and installed("mujoco"):
        settings = ((f"{steps} steps", mujoco_rollout(race, TOP, steps)) for steps in STEPS)
        yield "MuJoCo RK4, rollout", FEW, settings


def error(found: Array, right: Array) -> float:
    """Median over members of the largest deviation in the state."""
    return float(np.median(np.abs(found - right[: len(found)]).max(axis=1)))


def shown(ratio: float) -> float:
    return float(f"{ratio:.3g}")


def race_of(key: str, race: Ensemble, methods: Any, *, rounds: int) -> Rows:
    """A row for each participant that reaches the level."""
    reference = heyoka_batch(race, 1e-18)(len(race.z))
    chosen: dict[str, tuple[str, float, int, Runner]] = {}
    for name, members, settings in entries(key, race, methods):
        for setting, run in settings:
            if error(run(min(FEW, members)), reference) > LEVEL:
                continue
            reached = error(run(members), reference)
            if reached <= LEVEL:
                chosen[name] = setting, reached, members, run
                break
    times = interleaved({name: partial(run, members) for name, (_, _, members, run) in chosen.items()}, rounds=rounds)

    def each(name: str, of: Callable[[Seconds], float]) -> float:
        return of(times[name]) / chosen[name][2]

    best, median = ("heyoka, batch of 8", lambda s: s.best), ("heyoka, batch of 8", lambda s: s.median)
    return [
        {
            "ensemble": race.name, "participant": name, "setting": setting, "median error": reached,
            "times heyoka's speed, best": shown(each(*best) / each(name, best[1])),
            "median": shown(each(*median) / each(name, median[1])),
        }
        for name, (setting, reached, _, _) in chosen.items()
    ]  # fmt: skip


def against_lammps(*, rounds: int, quick: bool) -> Rows:
    """Chains of 8 tetrahedra, each in its own partition of LAMMPS; steps of order 2 with the same dt."""
    if not installed("lammps"):
        return []
    members, steps = (2, 10) if quick else (256, 1000)
    chain, start = zigzag(8)
    starts = {name: np.repeat(array[None], members, axis=0) for name, array in start.fields.items()}
    theirs = lammps_of(chain, start, "rigid/small")

    def call() -> None:
        ct.ensemble(chain, starts, ct.Splitting(2), dt=DT, steps=steps, every=steps, threads=1, progress=False)

    times = interleaved({"ours": call, "LAMMPS": partial(theirs.advance, steps)}, rounds=rounds)
    faster = {
        kind: members * getattr(times["LAMMPS"], kind) / getattr(times["ours"], kind) for kind in ("best", "median")
    }
    return [{"ensemble": "chain of 8 tetrahedra", "participant": "Splitting(2)", "against": "rigid/small, a partition for each chain",
             "times faster, best": round(faster["best"], 1), "median": round(faster["median"], 1)}]  # fmt: skip


def measured(*, quick: bool) -> dict[str, Rows]:
    """All races, without those that have no peer."""
    members, rounds = (128, 1) if quick else (MEMBERS, ROUNDS)
    results: dict[str, Rows] = {}
    if installed("heyoka"):
        for key, (race, methods) in ensembles(members).items():
            if quick and key not in QUICK:
                continue
            results[f"{race.name}: {len(race.z)} members to t = {race.t_end:.4g}, errors of at most {LEVEL:g}"] = (
                race_of(key, race, methods, rounds=rounds)
            )
            print(table(list(results.values())[-1]), flush=True)
    chains = against_lammps(rounds=rounds, quick=quick)
    return results | ({"Chains": chains} if chains else {})


def main() -> int:
    """Measure everything, print and store it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    results = measured(quick=options.quick)
    page = "\n\n".join(f"## {title}\n\n{table(rows)}" for title, rows in results.items())
    page = f"# Ensembles on one core\n\n{platform.machine()}, Python {platform.python_version()}\n\n{page}\n"
    print(page)
    options.out.mkdir(parents=True, exist_ok=True)
    write_text(options.out / "ensemble.json", json.dumps(results, indent=1) + "\n")
    write_text(options.out / "ensemble.md", page)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
