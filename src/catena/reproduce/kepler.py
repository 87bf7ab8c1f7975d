"""The Kepler problem: an orbit that spirals out, three that stay, and what each costs."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..methods.base import Method
from ..methods.runge_kutta.implicit import Gauss
from ..methods.runge_kutta.runge_kutta import ExplicitEuler
from ..methods.splitting.partitioned import EulerA, EulerB, StormerVerlet
from ..output.plots import EPS, RunPlots
from ..output.style import legend_above, log_error_axis, next_line_style
from ..problems.classic import kepler
from ..running.runs import Run
from ..running.simulation import simulate
from .report import Folder, Report, Row, compare

NAME = "kepler"
ABOUT = "Kepler problem, e = 0.6: energy, angular momentum, orbits and times of five methods"
SOURCE = ("A thesis on chains of rigid bodies", "figures 2.6 to 2.9 and the times of its methods")

T_END = 200.0
START_ENERGY, START_MOMENTUM = -0.5, 0.8


@dataclass(frozen=True)
class Case:
    """A method with its step, and the reference values of H at the end, of its extremes, and of L - 0.8 at the end.

    `published` is the computing time in seconds that came with these figures, 0 if none did.
    """

    method: Method
    dt: float
    energy_end: float | None
    least: float
    largest: float
    momentum_change: float = 0.0
    published: float = 0.0

    @property
    def steps(self) -> int:
        """Steps to the end."""
        return round(T_END / self.dt)


CASES = (
    Case(ExplicitEuler(), 0.0005, -0.311180, -0.499987, -0.311180, 0.0941, 51.0),
    Case(EulerA(), 0.05, -0.464628, -0.545832, -0.403376, 0.0, 13.7),
    Case(EulerB(), 0.05, -0.490733, -0.545832, -0.403376),
    Case(StormerVerlet(), 0.05, -0.494902, -0.4999996, -0.4906113, 0.0, 7.3),
    Case(Gauss(3), 0.05, None, -0.50000001763, -0.5, 0.0, 34.1),
)
DRAWN = tuple(case for case in CASES if case.published)
FARTHEST = 2.7456  # distance that ExplicitEuler reaches


def reproduce(out: Path, *, quick: bool = False) -> Report:
    """Run all methods over t = 200; `quick` shortens only the runs that are timed."""
    runs = {
        str(case.method): simulate(kepler(), method=case.method, dt=case.dt, steps=case.steps, progress=False)
        for case in CASES
    }
    folder = Folder(out)
    _draw_orbits(folder, runs)
    _draw_errors(folder, runs)
    rows = [row for case in CASES for row in _rows(case, runs[str(case.method)])]
    rows += _times(steps=20_000 if quick else 1_000_000)
    notes = (
        "References: a separate program, printed to the digits shown.",
        "Times are of whole runs, relative to StormerVerlet. The published ones (51.0, 13.7, 7.3 and 34.1 s) come from",
        "another machine and program, and their numbers of steps are not printed (400000 and 4000 are assumed), so only",
        "ratios can be compared, and they show how differently the two programs spend their time.",
    )
    return folder.report(NAME, f"Kepler problem, e = 0.6, t = {T_END:g}", rows, notes=notes)


def _rows(case: Case, run: Run) -> list[Row]:
    name = f"{case.method}, dt = {case.dt:g}"
    # Most energies only grow from the start, which would then always be the minimum.
    energy = run.data.energy.values[0 if isinstance(case.method, Gauss) else 1 :]
    momentum = run.data.angular_momentum.values - START_MOMENTUM
    if isinstance(case.method, Gauss):  # nine digits are equal: compare the rest
        least, largest = float(energy.min()) - START_ENERGY, float(energy.max()) - START_ENERGY
        rows = [
            compare(f"{name}: least H + 1/2", least, case.least - START_ENERGY, within=5e-12, digits=4),
            compare(f"{name}: largest H + 1/2", largest, 0.0, within=1e-14, digits=4),
        ]
    else:
        last_digit = 1e-7 if isinstance(case.method, StormerVerlet) else 1e-6
        rows = [
            compare(f"{name}: least H", float(energy.min()), case.least, within=last_digit),
            compare(f"{name}: largest H", float(energy.max()), case.largest, within=last_digit),
        ]
    if case.energy_end is not None:
        rows.append(compare(f"{name}: H at the end", float(energy[-1]), case.energy_end, within=1e-6))
    if case.momentum_change:
        change = float(momentum[-1])
        rows.append(compare(f"{name}: L - 0.8 at the end", change, case.momentum_change, within=1e-4, digits=3))
        farthest = float(np.hypot(*run.data.q.values.T).max())
        rows.append(compare(f"{name}: largest distance", farthest, FARTHEST, within=1e-4, digits=5))
    else:
        worst = float(np.abs(momentum).max())
        rows.append(compare(f"{name}: largest |L - 0.8|", worst, 0.0, within=1e-13, remark="round-off", digits=2))
    return rows


def _times(*, steps: int) -> list[Row]:
    """Time of each run relative to StormerVerlet, each the shortest of three runs."""
    seconds = {}
    for case in DRAWN:
        spent = []
        for _ in range(3):
            began = time.perf_counter()
            simulate(kepler(), method=case.method, dt=case.dt, steps=steps, every=steps, progress=False)
            spent.append(time.perf_counter() - began)
        seconds[case] = min(spent) / steps * case.steps
    unit, published_unit = next((s, c.published) for c, s in seconds.items() if isinstance(c.method, StormerVerlet))
    return [
        Row(
            f"{case.method}: time / time of StormerVerlet", spent / unit, case.published / published_unit,
            remark=f"{case.steps} steps in {1e3 * spent:.2g} ms; published {case.published} s", digits=3,
        )
        for case, spent in seconds.items()
    ]  # fmt: skip


def _draw_orbits(folder: Folder, runs: Mapping[str, Run]) -> None:
    with folder.picture("kepler_orbits", width=6.6, height=5.6) as figure:
        angle = np.linspace(0.0, 2.0 * np.pi, 401)
        ellipse = np.cos(angle) - 0.6, 0.8 * np.sin(angle)
        everywhere = np.concatenate([runs[str(case.method)].data.q.values for case in DRAWN])
        low, high = everywhere.min(axis=0) - 0.1, everywhere.max(axis=0) + 0.1
        for ax, case in zip(figure.subplots(2, 2).flat, DRAWN, strict=True):
            RunPlots(runs[str(case.method)]).orbit(ax=ax)
            ax.plot(*ellipse, color="0.25", linewidth=0.8, linestyle=(0, (4, 2)), label="exact")
            ax.set_aspect("equal", adjustable="box")
            ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
            legend_above(ax)
    for case in DRAWN:
        data = runs[str(case.method)].data.isel(time=slice(None, None, round(0.05 / case.dt)))
        columns = {"time": data.time, "q1": data.q[:, 0], "q2": data.q[:, 1], "energy": data.energy}
        folder.numbers(f"kepler_{case.method.name}", columns | {"angular_momentum": data.angular_momentum})


def _draw_errors(folder: Folder, runs: Mapping[str, Run]) -> None:
    with folder.picture("kepler_errors", width=6.6, height=6.0) as figure:
        first, second = figure.subplots(2, 1, sharex=True)
        for case in DRAWN:
            run = runs[str(case.method)]
            RunPlots(run).energy(ax=first)
            shown = run.data.isel(time=slice(None, None, round(0.05 / case.dt)))
            error = np.abs(shown.angular_momentum.values / START_MOMENTUM - 1)
            second.plot(shown.time, error, label=str(case.method), **next_line_style(second))
        log_error_axis(second, EPS)
        second.set(xlabel="time", ylabel=r"$|L-L_0|\,/\,|L_0|$")
        first.set_xlabel("")
        legend_above(second)
