"""Exact averages of systems in a heat bath against ensembles of very many members on a CUDA GPU.

    python benchmarks/heat_laws.py --out DIR [--seconds 200] [--only TEXT] [--simulate]

writes DIR/heat_laws.json and DIR/heat_laws.md: law, exact, measured, error, and by how many errors it is off. Samples of members
lie so far apart that they are nearly independent; a first time is left out. A member has one mean of each quantity, and errors come from the spread of members. Steps have a bias of order dt^2: averages are those
extrapolated from dt and dt/2. A law is followed until its error is small enough, or until the time is over.

Each case is a process, and those that need many samples are several, with other seeds: looking at samples
takes a core longer than the GPU needs to make them. `--simulate` runs all of it, tiny, under numba's simulator.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1] / "src"))
os.environ.setdefault("CATENA_CACHE_DIR", tempfile.mkdtemp(prefix="catena-gpu-"))
if "--simulate" in sys.argv:
    os.environ["NUMBA_ENABLE_CUDASIM"] = "1"  # before numba is imported

import numpy as np
from heat_law_cases import CASES, Setting
from numpy.typing import NDArray

from catena.engine import cuda, cuda_bodies
from catena.kernels.views import OK
from catena.output.files import write_text
from catena.running.auditing import BLOCKS, block_edges
from catena.running.ensembles.asking import asked

Array = NDArray[np.float64]
SEED = 2026
MEMBERS = 65_536
MOST_SAMPLES = 10**7  # of a member
MOST_ROWS = 2 if "--simulate" in sys.argv else 64  # samples of a stage, if the GPU has room for them
AT_ONCE = 4  # stages between two looks at errors: one with dt, the others with dt/2
SHORT_STAGES = 3  # with dt/2 for each with dt, since its error counts four times as much
FACTOR = 0.05  # error of the factor by which the bias falls
GRACE = 20.0  # seconds for the stage under way
FEWEST = 10  # members: with less only the code is tried, with steps that lead nowhere
PROCESSES = {"bending": 3, "chain": 2, "pulled": 2, "order of chains": 2}  # one for the others


@dataclass
class Sums:
    """Of one quantity, for each member: sums of x - shift and of its square over so many samples."""

    shift: float
    first: Array
    second: Array
    samples: int = 0

    def add(self, values: Array) -> None:
        """Take samples (members, n)."""
        x = values - self.shift
        self.first += x.sum(axis=1)
        self.second += np.einsum("ms,ms->m", x, x)
        self.samples += x.shape[1]

    def mean(self, *, spread: bool) -> tuple[float, float]:
        """The mean, or the variance, and its standard error from the spread of members."""
        first, second = self.first / self.samples, self.second / self.samples
        middle = first.mean()
        found = second - 2.0 * middle * first + middle**2 if spread else first + self.shift
        return float(found.mean()), float(found.std(ddof=1) / math.sqrt(len(found)))


class Followed:
    """The members of a setting with one step. They stay on the GPU, and samples are looked at as they come from it, member by member
    side by side: to be turned round and kept, as `ct.ensemble` does, takes a host longer than the GPU needs to make them.
    """

    def __init__(self, setting: Setting, dt: float, members: int, seed: int) -> None:
        method = replace(setting.method, seed=seed)  # type: ignore[call-arg]
        self.setting, self.dt, self.members = setting, dt, members
        self.every = max(1, round(setting.gap / dt))
        program = cuda_bodies.build(setting.system, method)
        self.fields = (*setting.system.fields, *setting.system.invariants, *program.stepper.accounts)
        alike = asked(
            setting.system, setting.start, method, steps=self.every, dt=dt, every=self.every, keep="final", members=members, seed=None,
            reduce=None,
        ).members  # fmt: skip
        driver = cuda_bodies.driver_for(program)
        self.driver = driver(program, alike, every=self.every, edges=block_edges(MOST_SAMPLES, BLOCKS))
        self.driver.begin()
        self.sums: dict[str, Sums] = {}
        left = math.ceil(setting.settle / (self.every * dt)) * self.every
        while self.driver.step < left:
            self.driver.advance(left - self.driver.step, keep=False)

    def sample(self) -> None:
        """A stage: as many samples as are made at once."""
        rows = self.driver.advance(MOST_ROWS * self.every, keep=True)
        assert (self.driver.status == OK).all()
        data, first = {}, 0
        for one in self.fields:
            data[one.name] = rows[:, :, first : first + one.width].reshape(*rows.shape[:2], *one.shape)
            first += one.width
        for name, quantity in self.setting.quantities.items():
            values = quantity.of(data)
            if name not in self.sums:
                shift = float(values.mean()) if quantity.spread else quantity.law
                self.sums[name] = Sums(shift, np.zeros(self.members), np.zeros(self.members))
            self.sums[name].add(values)

    def found(self) -> dict[str, tuple[float, float]]:
        """Mean and error of each quantity."""
        return {name: sums.mean(spread=self.setting.quantities[name].spread) for name, sums in self.sums.items()}


class Measurement:
    """A setting with its steps, followed until it is sharp enough."""

    def __init__(self, setting: Setting, members: int, seed: int) -> None:
        self.setting, self.members, self.seed, self.made = setting, members, seed, 0
        self.followed: list[Followed] = []

    @property
    def is_known(self) -> bool:
        """Whether there are samples with every step."""
        return len(self.followed) == len(self.setting.steps)

    def advance(self) -> None:
        """A stage: one with dt for several with dt/2."""
        number = min(self.made % (1 + SHORT_STAGES), len(self.setting.steps) - 1)
        self.made += 1
        if number == len(self.followed):
            seed = self.seed + (number << 32)
            self.followed.append(Followed(self.setting, self.setting.steps[number], self.members, seed))
        self.followed[number].sample()

    def wants(self, processes: int) -> float:
        """How many times larger than it should be its largest error is."""
        if not self.is_known:
            return math.inf
        rows = rows_of("", self.setting, [self.found()])
        if self.setting.order:
            return float(rows[0]["factor_error"]) / (FACTOR * math.sqrt(processes))
        return max(
            row["error"] / (row["unit"] * self.setting.quantities[row["law"]].target) for row in rows
        ) / math.sqrt(processes)

    def found(self) -> list[Found]:
        """For each step."""
        return [
            Found(one.dt, one.found(), one.members * max(sums.samples for sums in one.sums.values()))
            for one in self.followed
        ]


class Found(NamedTuple):
    """What was found with a step: mean and error of each quantity, and from how many samples."""

    dt: float
    means: dict[str, tuple[float, float]]
    samples: int


def rows_of(title: str, setting: Setting, parts: list[list[Found]]) -> list[dict[str, Any]]:
    """The table of a setting from what processes found, each with its steps: extrapolated to dt = 0 with a bias of order 2."""
    rows = []
    for name, quantity in setting.quantities.items():
        each = []
        for number, dt in enumerate(setting.steps):
            found = np.array([part[number].means[name] for part in parts])
            each.append((dt, found[:, 0].mean(), math.sqrt((found[:, 1] ** 2).sum()) / len(found)))
        (_, long, long_error), (_, short, short_error) = each[0], each[-1]
        mean, error = (long, long_error) if setting.is_exact else ((4.0 * short - long) / 3.0, math.hypot(4.0 * short_error, long_error) / 3.0)  # fmt: skip
        row = {
            "system": title, "law": name, "exact": quantity.law, "measured": float(mean), "error": float(error), "unit": quantity.unit,
            "off_by": float((mean - quantity.law) / math.hypot(error, quantity.known)),
            "with_steps": [[dt, float(value), float(its_error)] for dt, value, its_error in each],
            "must_fail": setting.fails, "order": setting.order,
        }  # fmt: skip
        if setting.order:
            bias = [value - quantity.law for _, value, _ in each]
            row["factor"] = float(bias[0] / bias[1])
            row["factor_error"] = float(abs(row["factor"]) * math.hypot(long_error / bias[0], short_error / bias[1]))
        rows.append(row)
    return rows


def measure(case: str, part: int, members: int, until: float, path: Path) -> None:
    """What one process does for a case: the setting that needs it most goes on, until all are sharp or the time is over."""
    shortened = {"settle": 0.01, "gap": 0.01} if members < FEWEST else {}
    made = {
        title: Measurement(replace(setting, **shortened), members, SEED + (number << 40) + (part << 36) + (list(CASES).index(case) << 44))
        for number, (title, setting) in enumerate(CASES[case]().items())
    }  # fmt: skip
    began, share = time.time(), PROCESSES.get(case, 1)
    wants = {title: one.wants(share) for title, one in made.items()}
    while max(wants.values()) > 1.0 and (time.time() < until or math.inf in wants.values()):
        neediest = max(wants, key=lambda title: wants[title])
        for _ in range(AT_ONCE):
            made[neediest].advance()
        wants[neediest] = made[neediest].wants(share)
        write_text(path, json.dumps({title: one.found() for title, one in made.items() if one.is_known}))
    print(
        f"{case}, {part}: {time.time() - began:.0f} s", {title: round(w, 2) for title, w in wants.items()}, flush=True
    )


def gathered(folder: Path) -> list[dict[str, Any]]:
    """The rows of all cases from the files of the processes."""
    rows = []
    for case in CASES:
        files = [json.loads(path.read_text()) for path in sorted(folder.glob(f"{case.replace(' ', '_')}.*.json"))]
        for title, setting in CASES[case]().items() if files else ():
            parts = [[Found(*found) for found in file[title]] for file in files if title in file]
            samples = [sum(part[k].samples for part in parts) for k in range(len(setting.steps))]
            rows += [{**row, "samples": samples} for row in (rows_of(title, setting, parts) if parts else ())]
    return rows


def table(rows: list[dict[str, Any]]) -> str:
    """As Markdown."""
    lines = [
        "| system | law | exact | measured | error, in units of the law | off by, errors |",
        "|---|---|---|---|---|---|",
    ]
    for row in rows:
        law = row["law"] if not row["must_fail"] else f"{row['law']}, which must fail"
        if row["order"]:
            law = f"{law}, bias on halving dt"
            shown = ["4", f"{row['factor']:.3f}", f"{row['factor_error']:.3f}", ""]
        else:
            shown = [f"{row['exact']:.6f}", f"{row['measured']:.6f}", f"{row['error'] / row['unit']:.1e}", f"{row['off_by']:+.2f}"]  # fmt: skip
        lines.append(f"| {' | '.join([row['system'], law, *shown])} |")
    return "\n".join(lines)


def processes(options: argparse.Namespace) -> Iterator[tuple[str, int]]:
    """Cases that are wanted, and the number of the process of each."""
    for case in CASES:
        if options.only in case:
            yield from ((case, part) for part in range(1 if options.simulate else PROCESSES.get(case, 1)))


def follow_all(options: argparse.Namespace, folder: Path) -> int:
    """All processes at once; how many failed. Those that are not done in time are ended: what they have found so far counts."""
    until, failed = time.time() + options.seconds, 0
    running = []
    for case, part in processes(options):
        command = [
            sys.executable,
            *sys.argv,
            "--case",
            case,
            "--part",
            str(part),
            "--until",
            str(until),
            "--parts",
            str(folder),
        ]
        running.append(subprocess.Popen(command))
        if options.one_by_one:
            running[-1].wait()
    for process in running:
        try:
            failed += process.wait(timeout=None if options.one_by_one else max(1.0, until + GRACE - time.time())) != 0
        except subprocess.TimeoutExpired:
            process.kill()
    return failed


def main() -> int:
    """Measure all; 1 if something did not run, or a law does not hold, or one that must fail does."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder of heat_laws.json")
    parser.add_argument("--seconds", type=float, default=200.0, help="for everything")
    parser.add_argument("--only", default="", help="cases whose names contain this")
    parser.add_argument("--members", type=int, default=MEMBERS)
    parser.add_argument("--simulate", action="store_true", help="tiny, under numba's simulator")
    parser.add_argument("--one-by-one", action="store_true", help="one process at a time")
    parser.add_argument("--case", help="what one process does, of the next four")
    parser.add_argument("--part", type=int)
    parser.add_argument("--until", type=float)
    parser.add_argument("--parts", type=Path)
    options = parser.parse_args()
    if options.case:
        members = 4 if options.simulate else options.members
        path = options.parts / f"{options.case.replace(' ', '_')}.{options.part}.json"
        measure(options.case, options.part, members, options.until, path)
        return 0
    options.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        failed = follow_all(options, Path(folder))
        rows = gathered(Path(folder))
    gpu = "simulator" if options.simulate else cuda.gpu_name()
    write_text(options.out / "heat_laws.json", json.dumps({"device": gpu, "rows": rows}, indent=1) + "\n")
    write_text(options.out / "heat_laws.md", table(rows) + "\n")
    print(table(rows))
    return int(failed > 0 or not all(holds(row) for row in rows))


def holds(row: dict[str, Any]) -> bool:
    """Whether a row is as it should be."""
    if row["order"]:
        return bool(3.5 < row["factor"] < 4.5)
    return (abs(row["off_by"]) > 4.0) == row["must_fail"]


if __name__ == "__main__":
    sys.exit(main())
