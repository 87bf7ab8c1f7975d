"""The perturbed pendulum: a method that loses the energy beside one that conserves it."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..methods.runge_kutta.implicit import ImplicitMidpoint, RadauIIA
from ..output.style import legend_above, line_style
from ..problems.classic import pendulum
from ..running.runs import Run
from ..running.simulation import simulate
from .report import Folder, Report, Row, compare

NAME = "pendulum"
ABOUT = "perturbed pendulum: Radau IIA falls into the equilibrium, the midpoint rule keeps a band [hairer1999]"
SOURCE = ("A thesis on chains of rigid bodies", "figures 2.2 to 2.5")

DT = 0.3
EQUILIBRIUM = -73 / 72  # H at q = 0, p = -1/6
BAND = 0.0172  # width that the energy of the midpoint rule never leaves

# After these numbers of steps: the energy of RadauIIA(2), smallest and largest energy of ImplicitMidpoint so far.
REFERENCE = {
    100: (0.786161426513, 0.79999283, 0.81705326),
    1_000: (0.664604480428, 0.79999273, 0.81710960),
    10_000: (-0.452237405319, 0.79999273, 0.81711346),
    100_000: (-1.013888888369, 0.79999273, 0.81711353),
}
RISES, HIGHEST = 33, 0.80006668  # of RadauIIA(2), within the first 100 steps


def reproduce(out: Path, *, quick: bool = False) -> Report:
    """Run both methods with dt = 0.3 over 1e5 steps; 1e4 if `quick`."""
    steps = 10_000 if quick else 100_000
    radau, midpoint = (
        simulate(pendulum(), method=method, dt=DT, steps=steps, progress=False)
        for method in (RadauIIA(2), ImplicitMidpoint())
    )
    folder = Folder(out)
    _draw(folder, radau, midpoint)
    notes = ("References: a separate program with another solver; the equilibrium is exact.",)
    title = f"Perturbed pendulum, dt = {DT}, {steps} steps"
    return folder.report(NAME, title, _rows(radau, midpoint, steps), notes=notes)


def _rows(radau: Run, midpoint: Run, steps: int) -> list[Row]:
    lost, kept = radau.data.energy.values, midpoint.data.energy.values
    rows = []
    for n, (energy, least, largest) in REFERENCE.items():
        if n > steps:
            continue
        so_far = kept[: n + 1]
        rows += [
            compare(f"RadauIIA(2): H after {n} steps", float(lost[n]), energy, within=1e-11, digits=12),
            compare(f"ImplicitMidpoint(): least H of {n} steps", float(so_far.min()), least, within=5e-9, digits=8),
            compare(f"ImplicitMidpoint(): largest H of {n} steps", float(so_far.max()), largest, within=5e-9, digits=8),
        ]
    rises = int((np.diff(lost[:101]) > 0).sum())
    rows += [
        compare("RadauIIA(2): steps of the first 100 in which H grows", rises, RISES, remark="not monotonic"),
        compare("RadauIIA(2): largest H", float(lost.max()), HIGHEST, within=5e-9, digits=8),
        Row("ImplicitMidpoint(): width of the band", float(np.ptp(kept)), f"< {BAND}", bool(np.ptp(kept) < BAND)),
    ]
    if steps >= 100_000:
        remark = "reached: (q, p) -> (0, -1/6), not (0, 0)"
        rows.append(
            compare("RadauIIA(2): H at the end", float(lost[-1]), EQUILIBRIUM, within=1e-8, remark=remark, digits=10)
        )
    return rows


def _draw(folder: Folder, radau: Run, midpoint: Run) -> None:
    with folder.picture("pendulum", width=6.6, height=5.2) as figure:
        (first, second), (third, fourth) = figure.subplots(2, 2)
        for number, (ax, run) in enumerate(((first, radau), (second, midpoint))):
            # Points: a step of 0.3 is too long for a curve.
            style = line_style(number) | {"linestyle": "none", "marker": "o", "markersize": 1.3, "markeredgewidth": 0}
            shown = run.data.isel(time=slice(0, 10_001))
            ax.plot(shown.q[:, 0], shown.p[:, 0], label=f"{run.method}, 10000 steps", rasterized=True, **style)
            ax.set(xlabel="q", ylabel="p")
            legend_above(ax)
        for ax, steps in ((third, 200), (fourth, radau.steps)):
            for number, run in enumerate((radau, midpoint)):
                every = max(1, steps // 2000)
                shown = run.data.isel(time=slice(0, steps + 1, every))
                label = str(run.method) + (f" (every {every}th step)" if every > 1 else "")
                ax.plot(shown.time, shown.energy, label=label, **line_style(number))
            ax.set(xlabel="time", ylabel="H")
            legend_above(ax)
    for run in (radau, midpoint):
        data = run.data.isel(time=slice(0, 10_001))
        columns = {"time": data.time, "q": data.q[:, 0], "p": data.p[:, 0], "energy": data.energy}
        folder.numbers(f"pendulum_{run.method.name}", columns)
