"""How often the audit raises a false alarm, and how often it misses a drift, on series of known kind.

    python benchmarks/audit_calibration.py

prints the table of docs/audit.md and writes benchmarks/results/audit_calibration.json. For each kind 200 series
without a drift are judged, then 200 fresh ones for each size of a drift that is added. The unit of that size is
the drift error itself: its median over the series without a drift.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter

from catena.auditing import EPS, AuditRow, assess

SEED = 20240607
SERIES = 200
SIZES = (1, 2, 3, 4, 5, 6, 8, 10)  # of the added drift, in drift errors
SAMPLES = 2007  # not divisible by the 20 blocks
FEW = 200  # the fewest samples that are judged
AMPLITUDE = 1e-6  # of what a good method leaves in the energy, relative
RESULT = Path(__file__).parent / "results" / "audit_calibration.json"

Series = NDArray[np.float64]
Generator = np.random.Generator


def random_walk(rng: Generator, samples: int, components: int = 1) -> Series:
    """How round-off grows: one rounding error per sample, added up."""
    return EPS * np.cumsum(rng.standard_normal((samples, components)), axis=0)


def white_noise(rng: Generator, samples: int) -> Series:
    """Rounding errors of the quantity itself, without memory."""
    return 2 * EPS * rng.standard_normal((samples, 1))


def quasi_periodic(rng: Generator, samples: int) -> Series:
    """Energy error of a symplectic method: four oscillations, the slowest with 5 to 10 periods in the run."""
    return AMPLITUDE * oscillations(rng, samples, slowest=rng.uniform(5, 10))


def slow_oscillation(rng: Generator, samples: int) -> Series:
    """The same, but the slowest period is one to four runs long: no statistics can tell it from a drift."""
    return AMPLITUDE * oscillations(rng, samples, slowest=1 / rng.uniform(1, 4))


def oscillations(rng: Generator, samples: int, slowest: float) -> Series:
    """Sum of four oscillations of random amplitude and phase; frequencies in periods per run."""
    frequency = np.array([slowest, rng.uniform(10, 30), rng.uniform(30, 100), rng.uniform(100, samples / 2)])
    amplitude = rng.uniform(0.5, 1, size=4)
    phase = rng.uniform(0, 2 * np.pi, size=4)
    return (np.sin(2 * np.pi * np.outer(run_time(samples), frequency) + phase) @ amplitude)[:, None]


def slow_wander(rng: Generator, samples: int) -> Series:
    """Ornstein-Uhlenbeck process with a correlation time of 1/20 to 1/2 of the run."""
    correlation = np.exp(rng.uniform(np.log(1 / 20), np.log(1 / 2)))
    keep = np.exp(-1 / (correlation * (samples - 1)))
    noise = np.sqrt(1 - keep**2) * rng.standard_normal((samples, 1))
    noise[0] = rng.standard_normal()  # starts in the stationary distribution
    return AMPLITUDE * lfilter([1], [1, -keep], noise, axis=0)


def run_time(samples: int) -> Series:
    return np.linspace(0, 1, samples)


@dataclass(frozen=True)
class Background:
    """A kind of series without a drift; draw gives its deviation from 1, (samples, components)."""

    draw: Callable[[Generator], Series]
    seed: int


BACKGROUNDS = {
    "random walk": Background(lambda rng: random_walk(rng, SAMPLES), 1),
    "random walk, 200 samples": Background(lambda rng: random_walk(rng, FEW), 2),
    "random walk, 3 components": Background(lambda rng: random_walk(rng, SAMPLES, 3), 3),
    "random walk, 64 components, 200 samples": Background(lambda rng: random_walk(rng, FEW, 64), 4),
    "white noise at round-off": Background(lambda rng: white_noise(rng, SAMPLES), 5),
    "quasi-periodic": Background(lambda rng: quasi_periodic(rng, SAMPLES), 6),
    "slow wander": Background(lambda rng: slow_wander(rng, SAMPLES), 7),
    "oscillation slower than the run": Background(lambda rng: slow_oscillation(rng, SAMPLES), 8),
}


@dataclass(frozen=True)
class Counts:
    """Wrong verdicts among 200 series of one kind; unit is the drift that counts as 1."""

    unit: float
    false_alarms: int
    missed: dict[str, int]


def judge(background: Series, drift: float) -> AuditRow:
    """Verdict on 1 + background, with a drift in its first component before it is rounded to values near 1."""
    time = run_time(len(background))
    background[:, 0] += drift * time
    return assess("quantity", time, 1 + background, steps=len(time) - 1, scale=1.0, promised="none")


def calibrate(
    kinds: Iterable[str], *, seed: int, sizes: Iterable[int] = SIZES, units: Mapping[str, float] | None = None
) -> dict[str, Counts]:
    """Counts of wrong verdicts by kind; units measured here, or given to compare with an earlier calibration."""
    counts = {}
    for kind in kinds:
        background = BACKGROUNDS[kind]

        def rows(size: int, unit: float, background: Background = background) -> list[AuditRow]:
            rng = np.random.default_rng([seed, background.seed, size])
            return [judge(background.draw(rng), size * unit) for _ in range(SERIES)]

        pure = rows(0, 0.0)
        unit = units[kind] if units is not None else float(np.median([row.drift_error for row in pure]))
        counts[kind] = Counts(
            unit=unit,
            false_alarms=sum(row.verdict == "drifts" for row in pure),
            missed={str(size): sum(row.verdict != "drifts" for row in rows(size, unit)) for size in sizes},
        )
    return counts


def table(counts: Mapping[str, Counts]) -> str:
    """Rates in percent as a Markdown table."""

    def line(cells: Iterable[str]) -> str:
        return "| " + " | ".join(cells) + " |"

    def percent(count: int) -> str:
        return f"{100 * count / SERIES:g}"

    heading = ["series", "false alarms", *(f"missed, {size}" for size in SIZES)]
    body = [
        [kind, percent(count.false_alarms), *(percent(count.missed[str(size)]) for size in SIZES)]
        for kind, count in counts.items()
    ]
    return "\n".join([line(heading), line(["---"] + ["---:"] * (len(heading) - 1)), *map(line, body)])


def recorded() -> dict[str, Counts]:
    """The counts of the last calibration."""
    return {kind: Counts(**count) for kind, count in json.loads(RESULT.read_text())["counts"].items()}


def main() -> None:
    counts = calibrate(BACKGROUNDS, seed=SEED)
    RESULT.parent.mkdir(exist_ok=True)
    content = {"seed": SEED, "series": SERIES, "counts": {kind: asdict(count) for kind, count in counts.items()}}
    RESULT.write_text(json.dumps(content, indent=2) + "\n")
    print(table(counts))


if __name__ == "__main__":
    main()
