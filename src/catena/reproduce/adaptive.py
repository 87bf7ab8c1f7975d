"""An adaptive Runge-Kutta pair, the default of general-purpose libraries, beside fixed symplectic steps.

The pair of Dormand and Prince (MATLAB's ode45, SciPy's RK45) controls the error of each step, and loses energy at every one.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..arrays import Array
from ..methods.runge_kutta.implicit import Gauss
from ..methods.splitting.partitioned import StormerVerlet
from ..output.style import legend_above, line_style, log_error_axis
from ..output.thinning import after_start, largest
from ..problems.classic import kepler
from ..running.auditing import assess
from ..running.simulation import simulate
from .report import Folder, Report, Row

NAME = "adaptive"
ABOUT = "adaptive Runge-Kutta (ode45) beside symplectic methods: energy of a Kepler orbit [dormand1980]"
SOURCE = ("A thesis on chains of rigid bodies", "its remark on adaptive methods (ode45)")

ORBITS, QUICK_ORBITS = 400, 100
TOLERANCES = (1e-3, 1e-6, 1e-9)  # relative; absolute a thousandth of it, as the default of ode45
STEPS_PER_ORBIT = 150  # some thousand evaluations of Gauss(3): as much work as the pair at 1e-6
ROUND_OFF = 1e-15


@dataclass(frozen=True)
class Curve:
    """Energy over time; evaluations is None if they are not counted."""

    label: str
    time: Array
    energy: Array
    evaluations: int | None
    promised: str


def reproduce(out: Path, *, quick: bool = False) -> Report:
    """A Kepler orbit with eccentricity 0.6, 400 times around; 100 times if `quick`."""
    orbits = QUICK_ORBITS if quick else ORBITS
    t_end = 2.0 * np.pi * orbits
    time = np.linspace(0.0, t_end, 10 * orbits + 1)
    curves = [_adaptive(tolerance, time) for tolerance in TOLERANCES]
    steps = STEPS_PER_ORBIT * orbits
    for method in (StormerVerlet(), Gauss(3)):
        run = simulate(kepler(), method=method, dt=t_end / steps, steps=steps, every=15, progress=False)
        promised = method.traits.promise(["energy"])
        curves.append(Curve(str(method), run.data.time.values, run.data.energy.values, None, promised))
    folder = Folder(out)
    _draw(folder, curves)
    rows = [row for curve in curves for row in _rows(curve)]
    notes = ("The error of each step is controlled, so the energy is lost step by step: the error grows with time.",)
    return folder.report(NAME, f"Kepler orbit, e = 0.6, {orbits} times around", rows, notes=notes)


def _adaptive(tolerance: float, time: Array) -> Curve:
    from scipy.integrate import solve_ivp

    start = kepler().start
    found = solve_ivp(
        _field, (0.0, time[-1]), [*start.q, *start.p], method="RK45", rtol=tolerance, atol=1e-3 * tolerance, t_eval=time
    )
    q1, q2, p1, p2 = found.y
    energy = 0.5 * (p1 * p1 + p2 * p2) - 1.0 / np.hypot(q1, q2)
    return Curve(f"RK45, tolerance {tolerance:g}", found.t, energy, found.nfev, "none")


def _field(t: float, z: Array) -> list[float]:
    q1, q2, p1, p2 = z.tolist()
    pull = -1.0 / (q1 * q1 + q2 * q2) ** 1.5
    return [p1, p2, pull * q1, pull * q2]


def _rows(curve: Curve) -> list[Row]:
    row = assess("energy", curve.time, curve.energy, steps=len(curve.time), scale=2.0, promised=curve.promised)
    expected = "bounded" if curve.evaluations is None else "lost" if "0.001" in curve.label else "drifts"
    found = "lost" if row.worst > abs(curve.energy[0]) else row.verdict  # the planet has escaped, or fallen in
    work = f", {curve.evaluations} evaluations" if curve.evaluations else ""
    remark = f"largest error {row.worst:.1e}{work}"
    kept = found == expected or (expected == "bounded" and found == "exact")
    return [Row(f"{curve.label}: the energy", found, expected, kept, remark)]


def _draw(folder: Folder, curves: list[Curve]) -> None:
    with folder.picture(NAME, width=6.4, height=4.0) as figure:
        ax = figure.subplots()
        for number, curve in enumerate(curves):
            error = np.abs(curve.energy - curve.energy[0]) / abs(curve.energy[0])
            time, drawn, words = largest(after_start(curve.time), after_start(error))
            ax.plot(time, drawn, label=curve.label, **line_style(number))
        log_error_axis(ax, ROUND_OFF)
        ax.set(xlabel="time", ylabel=r"energy error  $|H-H_0|\,/\,|H_0|$")
        legend_above(ax, words.strip() or None)
    columns = {f"{curve.label}: {name}": getattr(curve, name) for curve in curves for name in ("time", "energy")}
    longest = max(len(values) for values in columns.values())
    padded = {
        name: np.pad(values, (0, longest - len(values)), constant_values=np.nan) for name, values in columns.items()
    }
    folder.numbers(f"{NAME}_energy", padded)
