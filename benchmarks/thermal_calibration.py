"""How often the thermal audit calls a right run `off`, and how often it misses a fault, on runs of the product.

    python benchmarks/thermal_calibration.py                 everything, ten minutes of one core; prints the tables of docs/audit.md
    python benchmarks/thermal_calibration.py false 0.1       one table, with a tenth of the runs: false, power or members
    python benchmarks/thermal_calibration.py power 1 frozen  those rows of it that have this in their titles

writes benchmarks/results/thermal_calibration.json. Every run starts from one place with momenta drawn for it, as a user would start it, and
its first fifth is left out by the audit; the times below are those of what is left. The chain has one clamped and eight moving
tetrahedra, stretch 100, bend 4, twist 3, kT = 1 [the laws: docs/theory/heat_bath.md].
"""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import numpy as np
import thermal_faults as faults
from audit_calibration import markdown
from numpy.typing import NDArray

import catena as ct
from catena.engine.build import Program, build
from catena.engine.driver import Driver
from catena.engine.folding import settled_edges
from catena.engine.pairing import Pairing
from catena.methods.base import Method
from catena.output.files import write_text
from catena.running.auditing import CanonicalRow, judge_members, judge_runs
from catena.running.thermal import laws_of_members, momenta_of_members, series_of
from catena.systems.base import State, System

Array = NDArray[np.float64]
RESULT = Path(__file__).parent / "results" / "thermal_calibration.json"
SEED = 41
LEFT = 0.8  # of a run is looked at
MEMBERS = (16, 64)  # of an ensemble

TETRAHEDRON = ct.Body.tetrahedron()
CHAIN = ct.Chain([TETRAHEDRON] * 9, ct.BendTwist(100.0, 4.0, 3.0, (0, 0, 1)))
STRAIGHT = CHAIN.start(position=[[0, 0, k] for k in range(9)])
TOP = ct.Top(ct.Body(moments=(1.0, 0.8, 0.5)), ct.Gravity(1.5, (0, 0, 1)))
TILTED = TOP.start((0.6, 0.8, 0, 0), angular_momentum=(0, 0, 0))
BODY = ct.FreeBody(ct.Body(moments=(1.0, 1.7, 2.3)))
TWO_WELLS = ct.Hamiltonian(
    "(p1**2 + p2**2 - p1*p2)/2 + (q1**2 - 1)**2 + q2**2/2 + q1*q2/3", q=["q1", "q2"], p=["p1", "p2"]
)


@dataclass(frozen=True)
class Setting:
    """Runs of one kind: `left` samples are looked at, `every` steps apart; `heat` is the temperature of the noise over that of the laws."""

    system: System
    start: State
    method: Method
    dt: float
    every: int
    left: int
    runs: int
    heat: float = 1.0
    bound: bool = field(default=True, compare=False)

    @property
    def samples(self) -> int:
        """Of the whole run but its start."""
        return round(self.left / LEFT)


def chain(method: Method, left: int, every: int, runs: int, dt: float = 0.05, heat: float = 1.0) -> Setting:
    return Setting(CHAIN, STRAIGHT, method, dt, every, left, runs, heat)


def warm(friction: float = 1.0, kind: type[ct.Langevin] = ct.Langevin, kT: float = 1.0) -> ct.Langevin:
    return kind(kT, friction, seed=SEED)


SLIPPERY = ct.Friction(translation=(0.4, 0.4, 1.6), rotation=1.0)

FALSE = {
    "chain, time 1000": chain(warm(), 400, 50, 700),
    "chain, time 4000": chain(warm(), 1000, 80, 200),
    "chain, time 250": chain(warm(), 500, 10, 1000),
    "chain, time 100": chain(warm(), 400, 5, 1000),
    "chain, time 1000, friction 0.1": chain(warm(0.1), 400, 50, 100),
    "chain, time 1000, friction 10": chain(warm(10.0), 400, 50, 100),
    "chain, hybrid Monte Carlo, 4000 trajectories": chain(
        ct.HybridMonteCarlo(1.0, substeps=8, seed=SEED), 400, 10, 150, 0.8
    ),
    "top, time 2000": Setting(TOP, TILTED, warm(), 0.1, 40, 500, 700),
    "free body, time 2000": Setting(BODY, BODY.start(angular_momentum=(0, 0, 0)), warm(), 0.1, 40, 500, 700),
    "two wells, time 2000": Setting(TWO_WELLS, TWO_WELLS.start(q=(1.0, 0.0), p=(0.0, 0.0)), warm(), 0.1, 40, 500, 700),
}

POWER = {
    "temperature 1 % off, time 1000": chain(warm(), 400, 50, 96, heat=1.01),
    "temperature 1 % off, time 4000": chain(warm(), 1000, 80, 32, heat=1.01),
    "temperature 3 % off, time 1000": chain(warm(), 400, 50, 96, heat=1.03),
    "temperature 3 % off, time 4000": chain(warm(), 1000, 80, 16, heat=1.03),
    "temperature 10 % off, time 1000": chain(warm(), 400, 50, 24, heat=1.1),
    "y3 of one body frozen at 0": chain(warm(1.0, faults.Frozen), 400, 50, 24),
    "friction 0.4 0.4 1.6 about body axes, noise with those of space": chain(
        faults.TwoFrames(1.0, SLIPPERY, seed=SEED), 400, 50, 24
    ),
    "the same done right": chain(ct.Langevin(1.0, SLIPPERY, seed=SEED), 400, 50, 24),
    "uniform noise, friction times dt 0.2": chain(warm(4.0, faults.UniformNoise), 400, 50, 24),
    "uniform noise, friction times dt 0.05": chain(warm(1.0, faults.UniformNoise), 400, 50, 24),
    "noise at the ends of the step, dt omega 0.6, time 4000": chain(warm(1.0, faults.NoiseAtTheEnds), 1000, 80, 12),
    "noise at the ends of the step, dt omega 1.2": chain(warm(1.0, faults.NoiseAtTheEnds), 400, 25, 24, 0.1),
    "noise at the ends of the step, dt omega 1.2, time 4000": chain(
        warm(1.0, faults.NoiseAtTheEnds), 1000, 40, 12, 0.1
    ),
    "momenta at the ends of the steps, dt omega 0.6, time 4000": chain(
        warm(1.0, faults.PublishedMomenta), 1000, 80, 12
    ),
    "hybrid Monte Carlo that accepts everything, 16 000 trajectories": chain(
        faults.EverythingAccepted(1.0, substeps=8, seed=SEED), 1600, 10, 24, 0.8
    ),
    "dt omega = 1.2": chain(warm(), 400, 25, 48, 0.1),
    "dt omega = 1.65": chain(warm(), 400, 20, 48, 0.14),
}


def program_of(setting: Setting) -> Program:
    """The loop, at the temperature of the noise."""
    if setting.heat == 1.0:
        return build(setting.system, setting.method)
    return build(setting.system, warm(kT=setting.heat))


def columns_of(setting: Setting, program: Program, pairing: Pairing, member: int) -> dict[str, Array] | None:
    """Samples of a run by name, as if the laws were those of kT = 1; None if it fails, which only a fault does."""
    start = setting.system.maxwell(setting.start, setting.heat, seed=SEED, member=member)
    driver = Driver(program, program.view.pack(start), t0=0.0, dt=setting.dt, every=setting.every, member=member)
    first, chunk = driver.first_row().rows, driver.advance(setting.samples * setting.every)
    if chunk.status != 0:
        return None
    columns = pairing.columns(np.concatenate([first, chunk.rows]))
    for account in pairing.stepper.accounts:
        columns[account.name] = columns[account.name] * setting.heat ** (2 if account.name == "fourth_moment" else 1)
    return {**columns, "time": np.arange(setting.samples + 1) * setting.dt * setting.every}


@dataclass
class Counts:
    """How often which verdict was given: of runs with a row off, with a row too short and none off, and of rows."""

    runs: int = 0
    off: int = 0
    short: int = 0
    by_row: Counter[str] = field(default_factory=Counter)
    failed: int = 0
    seconds: float = 0.0

    def add(self, rows: Iterable[CanonicalRow]) -> None:
        verdicts = {row.quantity: row.verdict for row in rows}
        self.runs += 1
        self.off += "off" in verdicts.values()
        self.short += "off" not in verdicts.values() and "too short" in verdicts.values()
        self.by_row.update(name for name, verdict in verdicts.items() if verdict == "off")


def audited(setting: Setting, runs: int) -> Counts:
    """Single runs, each judged by its own samples."""
    pairing, program, counts = Pairing.of(setting.system, setting.method), program_of(setting), Counts()
    began = time.perf_counter()
    for member in range(runs):
        columns = columns_of(setting, program, pairing, member)
        if columns is None:
            counts.failed += 1
        else:
            counts.add(judge_runs(series_of(pairing, columns)))
    counts.seconds = round(time.perf_counter() - began, 1)
    return counts


MEMBER_RUNS = {
    "top, time 200": Setting(TOP, TILTED, warm(), 0.1, 20, 100, 600),
    "chain, time 200": chain(warm(), 100, 40, 150),
    "top, temperature 3 % off": Setting(TOP, TILTED, warm(), 0.1, 20, 100, 100, heat=1.03),
    "chain, temperature 3 % off": chain(warm(), 100, 40, 40, heat=1.03),
    "chain, noise at the ends of the step, dt omega 1.2": chain(warm(1.0, faults.NoiseAtTheEnds), 100, 20, 30, 0.1),
}


def audited_together(setting: Setting, ensembles: int, members: int) -> Counts:
    """Ensembles of so many members, judged by their spread."""
    pairing, program, counts = Pairing.of(setting.system, setting.method), program_of(setting), Counts()
    edges = settled_edges(setting.samples + 1)
    began = time.perf_counter()
    for number in range(ensembles):
        found = [columns_of(setting, program, pairing, number * members + k) for k in range(members)]
        sound = [columns for columns in found if columns is not None]
        counts.failed += members - len(sound)
        together = {name: np.stack([columns[name] for columns in sound]) for name in sound[0]}
        parts = [slice(int(a), int(b)) for a, b in pairwise(edges[1:])]
        halves = {
            account.name: np.stack([together[account.name][:, part].mean(axis=1) for part in parts], axis=1)
            for account in pairing.stepper.accounts
        }
        states = {one.name: together[one.name] for one in setting.system.fields}
        series = momenta_of_members(pairing, halves, np.diff(edges)[1:])
        series += laws_of_members((setting.system,), np.zeros(len(sound)), np.ones(len(sound)), states, edges)
        counts.add(judge_members(series))
    counts.seconds = round(time.perf_counter() - began, 1)
    return counts


def table(counts: dict[str, Counts]) -> str:
    """Percent of runs with a row off, as a Markdown table."""
    body = []
    for name, c in counts.items():
        share = c.off / max(1, c.runs)
        error = np.sqrt(share * (1.0 - share) / max(1, c.runs))
        most = ", ".join(f"{row} {100 * n / c.runs:.3g}" for row, n in c.by_row.most_common(2))
        body.append(
            [
                name,
                str(c.runs),
                str(c.off),
                f"{100 * share:.3g} +- {100 * error:.2g}",
                f"{100 * c.short / max(1, c.runs):.3g}",
                most or "-",
            ]
        )
    return markdown(["runs", "number", "off", "percent", "too short, percent", "seen most by, percent"], body)


TABLES = {"false": FALSE, "power": POWER, "members": MEMBER_RUNS}


def titles(name: str) -> dict[str, tuple[Setting, int]]:
    """What is counted for a table, by its title: a setting, and how many members are judged together."""
    together = MEMBERS if name == "members" else (1,)
    return {
        f"{kind}, {members} members" if members > 1 else kind: (setting, members)
        for kind, setting in TABLES[name].items()
        for members in together
    }


def measured(name: str, part: float, only: str = "") -> dict[str, Counts]:
    """One of the tables, with a part of the runs; or those of its rows that have this in their titles."""
    made: dict[str, Counts] = {}
    for title, (setting, members) in titles(name).items():
        if only not in title:
            continue
        runs = max(4, round(part * setting.runs))
        if members == 1:
            made[title] = audited(setting, runs)
        else:
            made[title] = audited_together(setting, max(4, runs * MEMBERS[0] // members), members)
        print(title, made[title], flush=True)
        keep(name, title, made[title])
    return made


def keep(name: str, title: str, counts: Counts) -> None:
    """Record what was counted, in the order of the table."""
    recorded = json.loads(RESULT.read_text()) if RESULT.exists() else {"seed": SEED}
    found = {**recorded.get(name, {}), title: {**vars(counts), "by_row": dict(counts.by_row)}}
    recorded[name] = {known: found[known] for known in titles(name) if known in found}
    write_text(RESULT, json.dumps(recorded, indent=2) + "\n")


def main() -> None:
    names = [sys.argv[1]] if len(sys.argv) > 1 else list(TABLES)
    part = float(sys.argv[2]) if len(sys.argv) > 2 else 1.0
    for name in names:
        print(table(measured(name, part, *sys.argv[3:4])))


if __name__ == "__main__":
    main()
