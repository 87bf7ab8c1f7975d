"""How often the thermal audit calls a correct run `off`, and how often it misses a fault, on runs of the product.

    python benchmarks/thermal_calibration.py --workers 16           everything, an hour and a half of one core
    python benchmarks/thermal_calibration.py false --part 0.1       one table, with a tenth of the runs: false, power or members
    python benchmarks/thermal_calibration.py power --only frozen    its rows that have this in their titles

writes thermal_calibration.json to --out, by default benchmarks/results, and beside it the tables that docs/averages.md
shows. Every run starts at one point with momenta drawn for it, as a user would start it, and the audit omits its first
fifth; the times below are those of the rest. The chain has one clamped and eight moving tetrahedra, stretch 100, bend
4, twist 3, kT = 1 [the laws: docs/theory/heat_bath.md].
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from itertools import pairwise
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import catena as ct
import thermal_faults as faults
from audit_calibration import markdown
from catena.engine.build import Program, build
from catena.engine.driver import Driver
from catena.engine.folding import settle_edges
from catena.engine.pairing import Pairing
from catena.methods.base import Method
from catena.output.files import write_text
from catena.running.auditing import CanonicalRow, judge_members, judge_runs
from catena.running.thermal import laws_of_members, momenta_of_members, series_of
from catena.systems.base import State, System

Array = NDArray[np.float64]
RESULT = Path(__file__).parent / "results" / "thermal_calibration.json"
SEED = 41
LEFT = 0.8  # of a run is used
MEMBERS = (16, 64)  # of an ensemble
SHARE = 40  # runs that a process makes at a time

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
    """Runs of one kind: `left` samples, `every` steps apart; `heat` is the temperature of the noise over that of the
    laws."""

    system: System
    start: State
    method: Method
    dt: float
    every: int
    left: int
    runs: int
    heat: float = 1.0

    @property
    def samples(self) -> int:
        """Number of samples of the whole run without its start."""
        return round(self.left / LEFT)


def chain(method: Method, left: int, every: int, runs: int, dt: float = 0.05, heat: float = 1.0) -> Setting:
    return Setting(CHAIN, STRAIGHT, method, dt, every, left, runs, heat)


def warm(friction: float = 1.0, kind: type[ct.Langevin] = ct.Langevin, kT: float = 1.0) -> ct.Langevin:
    return kind(kT, friction, seed=SEED)


SLIPPERY = ct.Friction(translation=(0.4, 0.4, 1.6), rotation=1.0)

STILL, AT_LEFT = BODY.start(angular_momentum=(0, 0, 0)), TWO_WELLS.start(q=(1.0, 0.0), p=(0.0, 0.0))

FALSE = {
    "chain, time 10 000": chain(warm(), 2500, 80, 2400),
    "chain, time 4000": chain(warm(), 1000, 80, 2400),
    "chain, time 1000": chain(warm(), 400, 50, 3200),
    "chain, time 250": chain(warm(), 500, 10, 3200),
    "chain, time 100": chain(warm(), 400, 5, 3200),
    "chain, time 10 000, friction 0.1": chain(warm(0.1), 2500, 80, 800),
    "chain, time 10 000, friction 10": chain(warm(10.0), 2500, 80, 800),
    "chain, hybrid Monte Carlo, 40 000 trajectories": chain(
        ct.HybridMonteCarlo(1.0, substeps=8, seed=SEED), 4000, 10, 800, 0.8
    ),
    "top, time 24 000": Setting(TOP, TILTED, warm(), 0.1, 40, 6000, 2400),
    "top, time 2000": Setting(TOP, TILTED, warm(), 0.1, 40, 500, 3200),
    "free body, time 24 000": Setting(BODY, STILL, warm(), 0.1, 40, 6000, 2400),
    "two wells, time 24 000": Setting(TWO_WELLS, AT_LEFT, warm(), 0.1, 40, 6000, 2400),
}

POWER = {
    "temperature 1 % off, time 1000": chain(warm(), 400, 50, 800, heat=1.01),
    "temperature 1 % off, time 4000": chain(warm(), 1000, 80, 800, heat=1.01),
    "temperature 3 % off, time 1000": chain(warm(), 400, 50, 800, heat=1.03),
    "temperature 3 % off, time 4000": chain(warm(), 1000, 80, 240, heat=1.03),
    "temperature 10 % off, time 1000": chain(warm(), 400, 50, 240, heat=1.1),
    "y3 of one body frozen at 0": chain(warm(1.0, faults.Frozen), 400, 50, 400),
    "friction 0.4 0.4 1.6 about body axes, noise with those of space": chain(
        faults.TwoFrames(1.0, SLIPPERY, seed=SEED), 400, 50, 400
    ),
    "the same done right": chain(ct.Langevin(1.0, SLIPPERY, seed=SEED), 400, 50, 400),
    "uniform noise, friction times dt 0.2": chain(warm(4.0, faults.UniformNoise), 400, 50, 400),
    "uniform noise, friction times dt 0.05": chain(warm(1.0, faults.UniformNoise), 400, 50, 400),
    "noise at the ends of the step, dt omega 0.6, time 4000": chain(warm(1.0, faults.NoiseAtTheEnds), 1000, 80, 400),
    "noise at the ends of the step, dt omega 1.2": chain(warm(1.0, faults.NoiseAtTheEnds), 400, 25, 400, 0.1),
    "noise at the ends of the step, dt omega 1.2, time 4000": chain(
        warm(1.0, faults.NoiseAtTheEnds), 1000, 40, 400, 0.1
    ),
    "momenta at the ends of the steps, dt omega 0.6, time 4000": chain(
        warm(1.0, faults.PublishedMomenta), 1000, 80, 400
    ),
    "hybrid Monte Carlo that accepts everything, 16 000 trajectories": chain(
        faults.EverythingAccepted(1.0, substeps=8, seed=SEED), 1600, 10, 240, 0.8
    ),
    "dt omega = 1.2": chain(warm(), 400, 25, 400, 0.1),
    "dt omega = 1.65": chain(warm(), 400, 20, 400, 0.14),
}

# ensembles of the smallest number of members: with four times as many members there are a fourth of the ensembles
TOGETHER = {
    "top, time 200": Setting(TOP, TILTED, warm(), 0.1, 20, 100, 4800),
    "chain, time 200": chain(warm(), 100, 40, 1600),
    "top, temperature 3 % off": Setting(TOP, TILTED, warm(), 0.1, 20, 100, 800, heat=1.03),
    "chain, temperature 3 % off": chain(warm(), 100, 40, 400, heat=1.03),
    "chain, noise at the ends of the step, dt omega 1.2": chain(warm(1.0, faults.NoiseAtTheEnds), 100, 20, 160, 0.1),
}


def program_of(setting: Setting) -> Program:
    """The loop, at the temperature of the noise."""
    if setting.heat == 1.0:
        return build(setting.system, setting.method)
    return build(setting.system, warm(kT=setting.heat))


def columns_of(setting: Setting, program: Program, pairing: Pairing, member: int) -> dict[str, Array] | None:
    """Samples of a run by name, as if the laws were those of kT = 1; None if it fails, which only faulty ones do."""
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
    """How often each verdict was given: runs with a row off, with a row too short and none off, and rows."""

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

    def join(self, more: Counts) -> None:
        for name, value in vars(more).items():
            setattr(self, name, getattr(self, name) + value)


def audited(setting: Setting, which: Sequence[int]) -> Counts:
    """Single runs, each judged by its own samples; a run is the member with that number."""
    pairing, program, counts = Pairing.of(setting.system, setting.method), program_of(setting), Counts()
    began = time.process_time()
    for member in which:
        columns = columns_of(setting, program, pairing, member)
        if columns is None:
            counts.failed += 1
        else:
            counts.add(judge_runs(series_of(pairing, columns)))
    counts.seconds = time.process_time() - began
    return counts


def audited_together(setting: Setting, which: Sequence[int], members: int) -> Counts:
    """Ensembles of this many members, judged by their spread."""
    pairing, program, counts = Pairing.of(setting.system, setting.method), program_of(setting), Counts()
    edges = settle_edges(setting.samples + 1)
    began = time.process_time()
    for number in which:
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
        series += laws_of_members((setting.system,), np.zeros(len(sound)), np.ones(len(sound)), states, edges, str)
        counts.add(judge_members(series))
    counts.seconds = time.process_time() - began
    return counts


def percent(part: float, whole: int) -> str:
    """Two digits of a share, or as many as distinguish it from 100."""
    share = 100.0 * part / max(1, whole)
    if 99.0 < share < 100.0:
        return f"{share:.1f}"
    return f"{share:.0f}" if share >= 10.0 or share == 0.0 else f"{share:.2g}"


def table(counts: dict[str, Counts]) -> str:
    """As Markdown."""
    body = []
    for name, c in counts.items():
        error = np.sqrt(c.off * (1.0 - c.off / max(1, c.runs)))
        most = ", ".join(f"`{row}` {percent(n, c.runs)}" for row, n in c.by_row.most_common(2))
        off = f"{percent(c.off, c.runs)} +- {percent(error, c.runs)}" if error else percent(c.off, c.runs)
        body.append([name, str(c.runs), str(c.off), off, percent(c.short, c.runs), most or "-"])
    heading = ["runs", "number", "with a row `off`", "percent", "the others with a row `too short`, percent", "rows that saw it most, percent"]  # fmt: skip
    return markdown(heading, body)


TABLES = {"false": FALSE, "power": POWER, "members": TOGETHER}


def titles(name: str) -> dict[str, tuple[Setting, int]]:
    """What is counted for a table, by title: a setting, and the number of members that are judged together."""
    together = MEMBERS if name == "members" else (1,)
    return {
        f"{kind}, {members} members" if members > 1 else kind: (setting, members)
        for kind, setting in TABLES[name].items()
        for members in together
    }


def counted(name: str, title: str, which: Sequence[int]) -> Counts:
    """Some runs, or ensembles, of a title, the work of a process at a time. With none it only compiles."""
    setting, members = titles(name)[title]
    return audited(setting, which) if members == 1 else audited_together(setting, which, members)


def measure(options: argparse.Namespace) -> None:
    """Count everything requested, shared between processes, and store it."""
    wanted = {}
    for name in [options.table] if options.table else TABLES:
        for title, (setting, members) in titles(name).items():
            if options.only in title:
                runs = max(4, round(options.part * setting.runs)) * MEMBERS[0] // max(MEMBERS[0], members)
                wanted[name, title] = [range(first, min(first + SHARE, runs)) for first in range(0, runs, SHARE)]
    found = {key: Counts() for key in wanted}
    with ProcessPoolExecutor(options.workers, mp_context=get_context("spawn")) as pool:
        list(pool.map(counted, *zip(*wanted, strict=True), [()] * len(wanted)))  # so that few compile the same
        tasks = {pool.submit(counted, *key, part): key for key, parts in wanted.items() for part in parts}
        left = Counter(tasks.values())
        for task in as_completed(tasks):
            key = tasks[task]
            found[key].join(task.result())
            left[key] -= 1
            if not left[key]:
                keep(options.out, *key, found[key])


def keep(folder: Path, name: str, title: str, counts: Counts) -> None:
    """Record what was counted, in the order of the table."""
    file = folder / RESULT.name
    recorded = json.loads(file.read_text()) if file.exists() else {"seed": SEED}
    rounded = {**vars(counts), "by_row": dict(counts.by_row), "seconds": round(counts.seconds, 1)}
    found = {**recorded.get(name, {}), title: rounded}
    recorded[name] = {known: found[known] for known in titles(name) if known in found}
    write_text(file, json.dumps(recorded, indent=2) + "\n")
    write_text(folder / f"{RESULT.stem}_{name}.md", table_of(name, recorded[name]) + "\n")


def table_of(name: str, recorded: dict[str, dict[str, Any]]) -> str:
    """The stored counts of a table, as Markdown; correct runs with their sum."""
    made = {title: Counts(**{**one, "by_row": Counter(one["by_row"])}) for title, one in recorded.items()}
    together = Counts()
    for counts in made.values():
        together.join(counts)
    return table({**made, "all": together} if name == "false" else made)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", nargs="?", choices=list(TABLES), help="all unless said")
    parser.add_argument("--part", type=float, default=1.0, help="of the runs")
    parser.add_argument("--only", default="", help="rows whose titles contain this")
    parser.add_argument("--workers", type=int, default=1, help="processes")
    parser.add_argument("--out", type=Path, default=RESULT.parent)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    measure(options)
    for name in [options.table] if options.table else TABLES:
        print((options.out / f"{RESULT.stem}_{name}.md").read_text())


if __name__ == "__main__":
    main()
