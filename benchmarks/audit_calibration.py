"""How often the audit raises a false alarm, and how often it misses a drift or a jump, on series of known kind.

    python benchmarks/audit_calibration.py

prints the tables of docs/audit.md and writes benchmarks/results/audit_calibration.json (five minutes on two cores).

False alarms are counted in runs: five rows with nine components in all, each a new series of the same kind without
drift. Missed drifts are counted in single rows of such a run. The unit of their size is the error that a random walk
has by the simplest estimate: std(differences of 20 block means) / sqrt(19) per block, its median over series without
drift.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from zlib import crc32

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter

from catena.output.files import write_text
from catena.running.auditing import EPS, AuditRow, alarm_level, assess, block_edges, fit_drift
from catena.running.auditing.drift import block_means, significant_ratio
from catena.running.auditing.jumps import jumps_of, lasting_step
from catena.running.auditing.verdicts import BEAT

SEED = 20240607
RUNS = 20_000  # without drift, of each kind;
FEWER = 5000  # of those that are slow to generate
JUMP_RUNS = 200  # in which jumps are searched for
SERIES = 2000  # with a drift, of each kind and size
SIZES = (2, 3, 4, 5, 6, 8, 10)  # of the added drift
JUMPS = (1, 3, 10, 30, 100)  # sizes of a jump, in standard deviations of the series without one
MANY = {
    "2, 100": (2, 100),
    "10, 100": (10, 100),
    "50, 100": (50, 100),
    "10, 10 to 100": (10, 10),
}  # several jumps, up and down:
LARGEST = 100  # by column of the table, their number and the smallest size; this is the largest size
JUMPING = 400  # series with jumps, of each kind, size and number
SAMPLES = 2007  # not divisible by the 40 blocks
FEW = 200  # the fewest samples that are judged
ROWS = (1, 3, 3, 1, 1)  # components of the rows of a run
AMPLITUDE = 1e-6  # relative energy error of a good method
AT_ONCE = 1800  # series generated together
RESULT = Path(__file__).parent / "results" / "audit_calibration.json"

Series = NDArray[np.float64]  # (samples, series)
Generator = np.random.Generator


def normal(rng: Generator, samples: int, count: int) -> Series:
    """Independent normal numbers; each series is contiguous."""
    return rng.standard_normal((count, samples)).T


def random_walk(rng: Generator, samples: int, count: int) -> Series:
    """Growth of round-off: the sum of one rounding error per sample."""
    return EPS * np.cumsum(rng.standard_normal((count, samples)), axis=1).T


def walk_and_rounding(rng: Generator, samples: int, count: int, after: float = 0.1) -> Series:
    """A walk below the rounding of the quantity itself: white noise as large as the walk at this time."""
    white = normal(rng, samples, count)
    return random_walk(rng, samples, count) + np.sqrt(after * samples) * EPS * white


def white_noise(rng: Generator, samples: int, count: int) -> Series:
    """Rounding errors of the quantity itself, without memory."""
    return 2 * EPS * normal(rng, samples, count)


def quasi_periodic(rng: Generator, samples: int, count: int) -> Series:
    """Energy error of a symplectic method: four oscillations, the slowest with 5 to 10 periods in the run."""
    return oscillations(rng, samples, rng.uniform(5, 10, count))


def one_oscillation(rng: Generator, samples: int, count: int) -> Series:
    """A single oscillation, with 5 to 500 periods in the run: nothing blurs its beat with the blocks."""
    frequency, phase = np.exp(rng.uniform(np.log(5), np.log(500), count)), rng.uniform(0, 2 * np.pi, count)
    return AMPLITUDE * np.sin(2 * np.pi * frequency[:, None] * run_time(samples) + phase[:, None]).T


def slow_oscillation(rng: Generator, samples: int, count: int) -> Series:
    """The same, but the slowest period is one to four runs long: no statistics can distinguish it from a drift."""
    return oscillations(rng, samples, 1 / rng.uniform(1, 4, count))


def oscillations(rng: Generator, samples: int, slowest: Series) -> Series:
    """Sums of four oscillations of random amplitude and phase; frequencies in periods per run."""
    count = len(slowest)
    time, made = run_time(samples)[:, None], np.zeros((count, samples)).T
    for frequency in (slowest, *(rng.uniform(a, b, count) for a, b in ((10, 30), (30, 100), (100, samples / 2)))):
        phase, amplitude = rng.uniform(0, 2 * np.pi, count), rng.uniform(0.5, 1, count)
        made += amplitude * np.sin(2 * np.pi * time * frequency + phase)
    return AMPLITUDE * made


def slow_wander(rng: Generator, samples: int, count: int) -> Series:
    """Ornstein-Uhlenbeck processes with a correlation time of 1/20 to 1/2 of the run."""
    correlation = np.exp(rng.uniform(np.log(1 / 20), np.log(1 / 2), count))
    keep = np.exp(-1 / (correlation * (samples - 1)))
    noise = np.sqrt(1 - keep**2) * normal(rng, samples, count)
    noise[0] = rng.standard_normal(count)  # starts in the stationary distribution
    columns = [lfilter([1], [1, -k], column) for k, column in zip(keep, noise.T, strict=True)]
    return AMPLITUDE * np.stack(columns).T


def encounters(rng: Generator, samples: int, count: int) -> Series:
    """Energy error of a symplectic method on an orbit of eccentricity 0.9: sharp peaks at the pericentre, which return."""
    periods, phase = rng.uniform(3, 60, count), rng.uniform(0, 2 * np.pi, count)
    anomaly = np.linspace(0, 2 * np.pi, 20_001)  # the eccentric one; E - e sin E is the time
    peak = 1 / (1 - 0.9 * np.cos(anomaly)) ** 3
    turn = 2 * np.pi * run_time(samples)[:, None] * periods + phase
    return AMPLITUDE * np.interp(turn, anomaly - 0.9 * np.sin(anomaly), peak, period=2 * np.pi)


def run_time(samples: int) -> NDArray[np.float64]:
    return np.linspace(0, 1, samples)


@dataclass(frozen=True)
class Background:
    """A kind of series without drift: its generator, the number of samples, and the number of runs to count."""

    draw: Callable[[Generator, int, int], Series]
    samples: int = SAMPLES
    runs: int = RUNS
    bound: bool = True  # whether at most 0.1 % of the runs may give a false alarm


BACKGROUNDS = {
    "random walk": Background(random_walk),
    "random walk, 200 samples": Background(random_walk, FEW),
    "walk and rounding": Background(walk_and_rounding),
    "white noise at round-off": Background(white_noise),
    "quasi-periodic": Background(quasi_periodic, runs=FEWER),
    "one oscillation": Background(one_oscillation, runs=FEWER),
    "slow wander": Background(slow_wander),
    "close encounters": Background(encounters, runs=FEWER),
    "oscillation slower than the run": Background(slow_oscillation, runs=FEWER, bound=False),
}


@dataclass(frozen=True)
class Counts:
    """Wrong verdicts on one kind.

    unit : the drift that counts as 1; runs, false_alarms : without a drift, and those of them with the verdict `drifts`; jumps : of
    200 others those with a jump; series : for each size, missed : of them without the verdict `drifts`; unseen, unseen_many : of
    400 with one jump, by its size, and of 400 with several, by their number, those without an alarm
    """

    unit: float
    runs: int
    false_alarms: int
    series: int
    missed: dict[str, int] = field(default_factory=dict)
    jumps: int = 0
    unseen: dict[str, int] = field(default_factory=dict)
    unseen_many: dict[str, int] = field(default_factory=dict)


def walk_error(series: Series) -> NDArray[np.float64]:
    """std(differences of 20 block means) / sqrt(19) per block, over the whole run."""
    return np.diff(block_means(series, 20), axis=1).std(axis=1, ddof=1) / np.sqrt(19) * 20


def drifting(series: Series, components: int) -> NDArray[np.bool_]:
    """Which series drift, as one of this many components of a row: the rule of `assess`, for many series at once."""
    edges, level = block_edges(len(series)), alarm_level(len(ROWS), components)
    center = (edges[:-1] + edges[1:] - 1) / 2 / (len(series) - 1)
    deviation = series - series[0]
    drift, error = fit_drift(center, block_means(deviation), level)
    return (np.abs(drift) >= significant_ratio(level) * error) & (np.abs(drift) > np.abs(deviation).max(axis=0) / BEAT)


def jumping(series: Series) -> NDArray[np.bool_]:
    """Which series jump, by their shape: in a run a jump must also be larger than a thousandth of the scale."""
    time, deviation = run_time(len(series)), series - series[0]
    return (jumps_of(time, deviation)[0] > 0.0) | (lasting_step(time, deviation)[0] > 0.0)


def count_runs(kind: str, rng: Generator, runs: int) -> int:
    """Number of runs without drift that get the verdict `drifts`."""
    background, false = BACKGROUNDS[kind], 0
    for first in range(0, runs, AT_ONCE // sum(ROWS)):
        made = min(AT_ONCE // sum(ROWS), runs - first)
        alarm = np.zeros(made, dtype=bool)
        for components in ROWS:
            series = background.draw(rng, background.samples, made * components)
            alarm |= drifting(series, components).reshape(made, components).any(axis=1)
        false += int(alarm.sum())
    return false


def count_jumps(kind: str, seed: int) -> tuple[int, dict[str, int], dict[str, int]]:
    """Number of runs without jump that get the verdict `jumps`; series with one jump, or several, but without alarm."""
    rng, background = np.random.default_rng([seed, crc32(kind.encode()), 1]), BACKGROUNDS[kind]

    def draw(number: int) -> Series:
        return background.draw(rng, background.samples, number)

    unseen = {str(size): count_unseen(draw(JUMPING), rng, 1, size, size) for size in JUMPS}
    unseen_many = {name: count_unseen(draw(JUMPING), rng, *how, LARGEST) for name, how in MANY.items()}
    false = jumping(draw(JUMP_RUNS * sum(ROWS))).reshape(JUMP_RUNS, -1).any(axis=1).sum()
    return int(false), unseen, unseen_many


def calibrate(
    kinds: Iterable[str],
    *,
    seed: int,
    runs: int | None = None,
    series: int = SERIES,
    sizes: Iterable[int] = SIZES,
    units: Mapping[str, float] | None = None,
) -> dict[str, Counts]:
    """Counts of wrong verdicts on drifts by kind; units measured here, or those of an earlier calibration."""
    counts = {}
    for kind in kinds:
        background = BACKGROUNDS[kind]
        rng = np.random.default_rng([seed, crc32(kind.encode())])

        def draw(number: int, rng: Generator = rng, background: Background = background) -> Series:
            return background.draw(rng, background.samples, number)

        unit = float(np.median(walk_error(draw(series)))) if units is None else units[kind]
        ramp = run_time(background.samples)[:, None]
        missed = {str(size): int((~drifting(draw(series) + size * unit * ramp, 1)).sum()) for size in sizes}
        made = background.runs if runs is None else runs
        counts[kind] = Counts(unit, made, count_runs(kind, rng, made), series, missed)
    return counts


def count_unseen(series: Series, rng: Generator, number: int, smallest: float, largest: float) -> int:
    """Number of series without alarm after this many jumps are added, up or down, anywhere but in the first and last
    tenth.

    Their sizes are spread evenly between the two limits, in standard deviations of the series.
    """
    time, stepped, count = run_time(len(series))[:, None], series.copy(), series.shape[1]
    for _ in range(number):
        at, sign = rng.uniform(0.1, 0.9, count), rng.choice((-1.0, 1.0), count)
        stepped += sign * rng.uniform(smallest, largest, count) * series.std(axis=0) * (time > at)
    return int((~(drifting(stepped, 1) | jumping(stepped))).sum())


def judge(background: Series, drift: float = 0.0, *, rows: int = len(ROWS)) -> AuditRow:
    """The verdict of the audit itself on 1 + background, (samples, components), with a drift in its first component."""
    time = run_time(len(background))
    background = background + drift * np.outer(time, np.arange(background.shape[1]) == 0)
    return assess("quantity", time, 1 + background, steps=len(time) - 1, scale=1.0, promised="none", rows=rows)


def table(counts: Mapping[str, Counts]) -> str:
    """False alarms and missed drifts in percent, as a Markdown table."""
    heading = ["series", "false alarms", *(f"missed, {size}" for size in SIZES)]
    body = [
        [kind, f"{100 * c.false_alarms / c.runs:.3f}", *(f"{100 * c.missed[str(s)] / c.series:.1f}" for s in SIZES)]
        for kind, c in counts.items()
    ]
    return markdown(heading, body)


def jump_table(counts: Mapping[str, Counts]) -> str:
    """Jumps that raise no alarm in percent, as a Markdown table."""
    heading = ["series", *(f"one, {size}" for size in JUMPS), *MANY]
    body = [[kind, *(f"{100 * n / JUMPING:.0f}" for n in (*c.unseen.values(), *c.unseen_many.values()))]
            for kind, c in counts.items()]  # fmt: skip
    return markdown(heading, body)


def markdown(heading: list[str], body: list[list[str]]) -> str:
    """A table whose numbers are right-aligned."""

    def line(cells: Iterable[str]) -> str:
        return "| " + " | ".join(cells) + " |"

    return "\n".join([line(heading), line(["---"] + ["---:"] * (len(heading) - 1)), *map(line, body)])


def recorded() -> dict[str, Counts]:
    """The counts of the last calibration."""
    return {kind: Counts(**count) for kind, count in json.loads(RESULT.read_text())["counts"].items()}


def calibrated(kind: str) -> Counts:
    """The counts of one kind."""
    jumps, unseen, unseen_many = count_jumps(kind, SEED)
    return replace(calibrate([kind], seed=SEED)[kind], jumps=jumps, unseen=unseen, unseen_many=unseen_many)


def main() -> None:
    counts = {}
    with ProcessPoolExecutor() as pool:
        for kind, count in zip(BACKGROUNDS, pool.map(calibrated, BACKGROUNDS), strict=True):
            counts[kind] = count
            print(kind, count, flush=True)
    content = {"seed": SEED, "counts": {kind: asdict(count) for kind, count in counts.items()}}
    write_text(RESULT, json.dumps(content, indent=2) + "\n")
    print(table(counts))
    print(jump_table(counts))


if __name__ == "__main__":
    main()
