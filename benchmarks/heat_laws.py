"""Exact averages of systems in a heat bath against ensembles of very many members on a CUDA GPU.

    python benchmarks/heat_laws.py --out DIR [--seconds 200] [--only TEXT] [--join FILE] [--simulate]

writes DIR/heat_laws.json and DIR/heat_laws.md: law, exact, measured, error, and the deviation in errors. Samples of
members are so far apart that they are nearly independent; an initial time is omitted. Samples stay on the GPU: there
each member accumulates its quantities, and errors come from the spread of members. Steps have a bias of order dt^2:
averages are extrapolated from dt and dt/2. A law is measured until its error is small enough, or until the time is
over.

Each case is a process. `--join FILE` joins what an earlier run found, which had another `--seed`; cases that were left out then are as they
were found there. `--simulate` runs all of it, tiny, under numba's simulator: its few samples are compared with no law.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1] / "src"))
os.environ.setdefault("CATENA_CACHE_DIR", tempfile.mkdtemp(prefix="catena-gpu-"))
if "--simulate" in sys.argv:
    os.environ["NUMBA_ENABLE_CUDASIM"] = "1"  # before numba is imported

import numpy as np
from numpy.typing import NDArray

import catena as ct
from catena.engine.cuda import bodies as cuda_bodies
from catena.engine.cuda import members as cuda
from catena.engine.cuda.reducing import GpuReducer
from catena.kernels.declarations import Field
from catena.kernels.marks import Written
from catena.kernels.views import OK
from catena.methods.heat.sums import Sums
from catena.output.files import write_text
from catena.running.auditing import BLOCKS, block_edges
from catena.running.ensembles.asking import ask
from catena.running.ensembles.reductions import names_in_rows
from catena.systems.base import System
from heat_law_cases import CASES, Quantity, Setting

Array = NDArray[np.float64]
SEED = 2026
MEMBERS = 65_536
TARGET = 2.7e-4  # error at which the measurement of a law ends, in its unit
MOST_SAMPLES = 10**7  # of a member
MOST_STEPS = 2 if "--simulate" in sys.argv else 2000  # of a stage, except its first sample, if memory suffices
SHORT_STAGES = 3  # stages with dt/2 for each with dt, since their error counts four times as much
FACTOR = 0.08  # error of the factor by which the bias decreases
LOOK = 3.0  # seconds between two checks of the errors
GRACE = 40.0  # seconds for the current round
FEWEST = 10  # members: fewer only test the code, with meaningless steps
NAME = re.compile(r"[a-z_]+(\[[\d,]+\])?")
KEPT = 6  # numbers of a quantity, see `take_moments`


def take_moments(value, t, kept):
    """Number of samples, the offset of each (roughly its law), sums of the remainder and of its square."""
    x = value - kept[1]
    kept[0] += 1.0
    kept[2] += x
    kept[3] += x * x


def take_products(value, t, kept):
    """The same for the product with the previous value; whether there was one, and the current value."""
    if kept[4] != 0.0:
        x = value * kept[5] - kept[1]
        kept[0] += 1.0
        kept[2] += x
        kept[3] += x * x
    kept[4] = 1.0
    kept[5] = value


def reduction_of(system: System, accounts: Sequence[Field], quantities: Sequence[Quantity]) -> Written:
    """The kernel (row, t, par, kept) that adds a sample to the sums of all quantities."""
    known, place = dict(names_in_rows(system)), system.public_width + system.invariant_width
    for account in accounts:
        for index in np.ndindex(*account.shape):
            known[f"{account.name}[{','.join(map(str, index))}]" if index else account.name] = f"row[{place}]"
            place += 1
    lines = [
        f"value{k} = {NAME.sub(lambda name: known.get(name[0], name[0]), one.text)}" for k, one in enumerate(quantities)
    ]
    lines += [f"take{k}(value{k}, t, kept[{KEPT * k}:{KEPT * (k + 1)}])" for k in range(len(quantities))]
    uses = [(f"take{k}", take_products if one.lagged else take_moments) for k, one in enumerate(quantities)]
    text = "\n".join(["def reduce_row(row, t, par, kept):", *(f"    {line}" for line in lines)])
    return Written("reduce_row", text, __name__, tuple(uses))


class Followed:
    """The members of a setting with one step. They and their samples stay on the GPU."""

    def __init__(self, setting: Setting, dt: float, members: int, seed: int) -> None:
        method = replace(setting.method, seed=seed)  # type: ignore[call-arg]
        self.setting, self.dt, self.members = setting, dt, members
        self.every = max(1, round(setting.gap / dt))
        program = cuda_bodies.build(setting.system, method)
        alike = ask(
            setting.system, setting.start, method, steps=self.every, dt=dt, every=self.every, keep="final", members=members, seed=None,
            reduce=None,
        ).members  # fmt: skip
        driver = cuda_bodies.driver_for(program)
        self.driver = driver(program, alike, every=self.every, edges=block_edges(MOST_SAMPLES, BLOCKS))
        self.driver.begin()
        quantities = tuple(setting.quantities.values())
        first = np.zeros((len(quantities), KEPT))
        first[:, 1] = [one.middle if one.spread else one.law for one in quantities]
        kernel = reduction_of(setting.system, program.stepper.accounts, quantities)
        self.reducer = GpuReducer(kernel, self.driver, first.ravel())
        left = math.ceil(setting.settle / (self.every * dt)) * self.every
        while self.driver.step < left:
            self.driver.advance(left - self.driver.step, keep=False)

    def sample(self) -> None:
        """Run a stage: the samples that are made at once."""
        before = self.driver.step // self.every
        self.driver.advance(max(1, MOST_STEPS // self.every) * self.every, keep=False)
        assert (self.driver.status == OK).all()
        self.reducer.take(1 + before, self.driver.step // self.every - before)

    def found(self) -> Found:
        """Mean, or variance, and error of each quantity, from the spread of members."""
        kept = self.reducer.kept().reshape(self.members, -1, KEPT)
        means = {}
        for number, (name, quantity) in enumerate(self.setting.quantities.items()):
            count, shift, first, second = kept[:, number, :4].T
            first, second = first / count, second / count
            middle = first.mean()
            found = second - 2.0 * middle * first + middle**2 if quantity.spread else first + shift
            means[name] = (float(found.mean()), float(found.std(ddof=1) / math.sqrt(self.members)))
        return Found(self.dt, means, int(kept[:, :, 0].sum(axis=0).max()), self.accepted())

    def accepted(self) -> float | None:
        """The fraction of accepted trajectories, for Monte Carlo."""
        if not isinstance(self.setting.method, ct.HybridMonteCarlo):
            return None
        carry = self.driver.carry()
        return float(carry[:, Sums.ACCEPTED].sum() / carry[:, Sums.STEP].sum())


class Found(NamedTuple):
    """Results with one step: mean and error of each quantity, number of samples, fraction of accepted trajectories."""

    dt: float
    means: dict[str, tuple[float, float]]
    samples: int
    accepted: float | None = None


Part = list[Found]  # for each step of a setting, of one process


class Measurement:
    """A setting with its steps, run until it is accurate enough."""

    def __init__(self, setting: Setting, members: int, seed: int) -> None:
        self.setting, self.members, self.seed = setting, members, seed
        self.followed: list[Followed] = []

    def advance(self) -> None:
        """A round: a stage with dt for several with dt/2."""
        if not self.followed:
            self.followed = [
                Followed(self.setting, dt, self.members, self.seed + (number << 32))
                for number, dt in enumerate(self.setting.steps)
            ]
        self.followed[0].sample()
        for _ in range(SHORT_STAGES if len(self.followed) > 1 else 0):
            self.followed[1].sample()

    def wants(self) -> float:
        """Its largest error relative to the target."""
        if not self.followed:
            return math.inf
        rows = rows_of("", self.setting, [self.found()])
        if self.setting.order:
            return float(rows[0]["factor_error"]) / FACTOR
        return max(float(row["error"] / row["unit"]) for row in rows) / TARGET

    def found(self) -> Part:
        """For each step."""
        return [one.found() for one in self.followed]


def rows_of(title: str, setting: Setting, parts: list[Part]) -> list[dict[str, Any]]:
    """The table of a setting from the results of processes: extrapolated to dt = 0 with a bias of order 2."""
    rows = []
    samples = np.array([[part[number].samples for part in parts] for number in range(len(setting.steps))])
    for name, quantity in setting.quantities.items():
        each = []
        for number, dt in enumerate(setting.steps):
            assert {part[number].dt for part in parts} == {dt}
            found = np.array([part[number].means[name] for part in parts])
            weights = samples[number] / samples[number].sum()
            each.append((dt, weights @ found[:, 0], math.sqrt(((weights * found[:, 1]) ** 2).sum())))
        (_, long, long_error), (_, short, short_error) = each[0], each[-1]
        mean, error = (long, long_error) if setting.is_exact else ((4.0 * short - long) / 3.0, math.hypot(4.0 * short_error, long_error) / 3.0)  # fmt: skip
        row = {
            "system": title, "law": name, "exact": quantity.law, "measured": float(mean), "error": float(error), "unit": quantity.unit,
            "off_by": float((mean - quantity.law) / math.hypot(error, quantity.known)),
            "with_steps": [[dt, float(value), float(its_error)] for dt, value, its_error in each],
            "samples": samples.sum(axis=1).tolist(), "must_fail": setting.fails, "order": setting.order,
            "accepted": parts[0][0].accepted,
        }  # fmt: skip
        if setting.order:
            bias = [value - quantity.law for _, value, _ in each]
            row["factor"] = float(bias[0] / bias[1])
            row["factor_error"] = float(abs(row["factor"]) * math.hypot(long_error / bias[0], short_error / bias[1]))
        rows.append(row)
    return rows


def measure(case: str, options: argparse.Namespace) -> None:
    """The work of one process for a case: the least accurate setting continues, until all are done or time is over."""
    members = 4 if options.simulate else options.members
    shortened = {"settle": 0.01, "gap": 0.01} if members < FEWEST else {}
    number = list(CASES).index(case)
    made = {
        title: Measurement(replace(setting, **shortened), members, options.seed + (place << 40) + (number << 44))
        for place, (title, setting) in enumerate(CASES[case]().items())
    }
    began = time.time()
    wants = {title: one.wants() for title, one in made.items()}
    while max(wants.values()) > 1.0 and (time.time() < options.until or math.inf in wants.values()):
        neediest = max(wants, key=lambda title: wants[title])
        looked = time.time()
        while True:
            made[neediest].advance()
            if time.time() > min(looked + LOOK, options.until):
                break
        wants[neediest] = made[neediest].wants()
        found = {title: one.found() for title, one in made.items() if one.followed}
        write_text(file_of(options.parts, case), json.dumps(found))
    print(f"{case}: {time.time() - began:.0f} s", {title: round(w, 2) for title, w in wants.items()}, flush=True)


def file_of(folder: Path, case: str) -> Path:
    """The file for the results of the process of a case."""
    return folder / f"{case.replace(' ', '_')}.json"


def gathered(folder: Path) -> dict[str, list[Part]]:
    """The results of each setting."""
    files = [json.loads(path.read_text()) for case in CASES if (path := file_of(folder, case)).exists()]
    return {title: [[Found(*one) for one in part]] for file in files for title, part in file.items()}


class Earlier(NamedTuple):
    """The results of an earlier run, and its seeds."""

    parts: dict[str, list[Part]]
    seeds: list[int]

    @classmethod
    def read(cls, file: Path | None, seed: int) -> Earlier:
        """From its file; empty if there is none."""
        if file is None:
            return cls({}, [])
        record = json.loads(file.read_text())
        if seed in record["seeds"]:
            raise SystemExit(f"{file} has the seed {seed}, too: its noise would be the same; give another --seed")
        parts = {title: [[Found(*one) for one in part] for part in each] for title, each in record["parts"].items()}
        return cls(parts, record["seeds"])

    def with_more(self, found: dict[str, list[Part]]) -> dict[str, list[Part]]:
        """These results and the new ones."""
        return {title: self.parts.get(title, []) + found.get(title, []) for title in {**self.parts, **found}}


def table_rows(found: dict[str, list[Part]]) -> list[dict[str, Any]]:
    """The rows of all settings with results."""
    settings = {title: setting for case in CASES.values() for title, setting in case().items()}
    return [
        row for title, setting in settings.items() if title in found for row in rows_of(title, setting, found[title])
    ]


def table(rows: list[dict[str, Any]]) -> str:
    """As Markdown."""
    lines = [
        "| system | law | exact | measured | error, in units of the law | off by, errors |",
        "|---|---|---|---|---|---|",
    ]
    for row in rows:
        law = row["law"] if not row["must_fail"] else f"{row['law']}, which must fail"
        system = row["system"] if row["accepted"] is None else f"{row['system']}, {row['accepted']:.0%} accepted"
        if row["order"]:
            law = f"{law}, bias on halving dt"
            shown = ["4", f"{row['factor']:.3f}", f"{row['factor_error']:.3f}", ""]
        else:
            shown = [f"{row['exact']:.6f}", f"{row['measured']:.6f}", f"{row['error'] / row['unit']:.1e}", f"{row['off_by']:+.2f}"]  # fmt: skip
        lines.append(f"| {' | '.join([system, law, *shown])} |")
    return "\n".join(lines)


def follow_all(options: argparse.Namespace, folder: Path) -> int:
    """Run all processes at once; returns how many failed. Those not done in time are ended: their results count."""
    until, failed = time.time() + options.seconds, 0
    running = []
    for case in (case for case in CASES if options.only in case):
        more = ["--case", case, "--until", str(until), "--parts", str(folder)]
        running.append(subprocess.Popen([sys.executable, *sys.argv, *more]))
        if options.one_by_one:
            running[-1].wait()
    for process in running:
        try:
            failed += process.wait(timeout=None if options.one_by_one else max(1.0, until + GRACE - time.time())) != 0
        except subprocess.TimeoutExpired:
            process.kill()
    return failed


def main() -> int:
    """Measure all; 1 if something did not run, or a law does not hold, or one that must fail does. Of the few samples of the simulator no law holds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder of heat_laws.json")
    parser.add_argument("--seconds", type=float, default=200.0, help="for everything")
    parser.add_argument("--only", default="", help="cases whose names contain this")
    parser.add_argument("--members", type=int, default=MEMBERS)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--join", type=Path, help="heat_laws.json of an earlier run")
    parser.add_argument("--simulate", action="store_true", help="tiny, under numba's simulator")
    parser.add_argument("--one-by-one", action="store_true", help="one process at a time")
    parser.add_argument("--case", help="what one process does, of the next two")
    parser.add_argument("--until", type=float)
    parser.add_argument("--parts", type=Path)
    options = parser.parse_args()
    if options.case:
        measure(options.case, options)
        return 0
    if not any(options.only in case for case in CASES):
        parser.error(f"--only {options.only}: no case has that in its name; there are {', '.join(CASES)}")
    earlier = Earlier.read(options.join, options.seed)
    options.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        failed = follow_all(options, Path(folder))
        found = earlier.with_more(gathered(Path(folder)))
    rows, gpu = table_rows(found), "simulator" if options.simulate else cuda.gpu_name()
    record = {"device": gpu, "seeds": [*earlier.seeds, options.seed], "rows": rows, "parts": found}
    write_text(options.out / "heat_laws.json", json.dumps(record, indent=1) + "\n")
    write_text(options.out / "heat_laws.md", table(rows) + "\n")
    print(table(rows))
    return int(failed > 0 or not (options.simulate or all(holds(row) for row in rows)))


def holds(row: dict[str, Any]) -> bool:
    """Whether a row is as expected."""
    if row["order"]:
        return bool(3.5 < row["factor"] < 4.5)
    return (abs(row["off_by"]) > 4.0) == row["must_fail"]


if __name__ == "__main__":
    sys.exit(main())
