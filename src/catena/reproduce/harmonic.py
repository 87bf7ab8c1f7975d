"""The energy of the harmonic oscillator under eight methods."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from ..methods.base import Method
from ..methods.runge_kutta.implicit import Gauss, ImplicitEuler
from ..methods.runge_kutta.runge_kutta import RK4, ExplicitEuler
from ..methods.splitting.partitioned import EulerA, EulerB, StormerVerlet
from ..output.style import legend_above, line_style
from ..problems.classic import harmonic
from ..running.runs import Run
from ..running.simulation import simulate
from .report import Folder, Report, Row, compare

NAME = "harmonic"
ABOUT = "harmonic oscillator: energy of eight methods against closed formulas"
SOURCE = ("A thesis on chains of rigid bodies", "figure 2.1")

DT, STEPS = 0.01, 2000
ENERGY = 2.0
ROUND_OFF = 1e-13  # 50 eps sqrt(2000) times the energy is 1.0e-12; this limit is a tenth of that


def reproduce(out: Path, *, quick: bool = False) -> Report:
    """Run all methods over t = 20 with dt = 0.01; this is short, so `quick` changes nothing."""
    methods = (
        ExplicitEuler(),
        ImplicitEuler(),
        RK4(),
        EulerA(),
        EulerB(),
        StormerVerlet("A"),
        StormerVerlet("B"),
        Gauss(3),
    )
    runs = {str(method): _run(method) for method in methods}
    folder = Folder(out)
    _draw(folder, runs)
    rows = [*_ends(runs), *_ranges(runs), *_modified_energies(runs)]
    notes = ("References are formulas of the linear problem: powers of the stability function, and modified energies.",)
    return folder.report(NAME, f"Harmonic oscillator, k = 4, dt = {DT}, {STEPS} steps", rows, notes=notes)


def _run(method: Method) -> Run:
    return simulate(harmonic(), method=method, dt=DT, steps=STEPS, progress=False)


def _ends(runs: dict[str, Run]) -> list[Row]:
    """In each step the energy is multiplied by |R(i omega dt)|^2, with R the stability function [hairer2006]."""
    z = 2 * DT  # omega dt
    gain = {"ExplicitEuler()": 1 + z**2, "ImplicitEuler()": 1 / (1 + z**2), "RK4()": 1 - z**6 / 72 + z**8 / 576}
    rows = []
    for method, factor in gain.items():
        # expm1 and log1p keep the digits of RK4, whose energy changes only in the tenth digit.
        change = ENERGY * float(np.expm1(STEPS * np.log1p(factor - 1)))
        ours = float(runs[method].data.energy[-1]) - ENERGY
        remark = "decays, although explicit" if method == "RK4()" else ""
        rows.append(compare(f"{method}: H - 2 at the end", ours, change, within=1e-12, remark=remark, digits=9))
    return rows


def _ranges(runs: dict[str, Run]) -> list[Row]:
    """Extremes of H on the ellipse of the modified energy."""
    extremes = {
        "EulerA()": (ENERGY / (1 + DT), ENERGY / (1 - DT)),
        "EulerB()": (ENERGY / (1 + DT), ENERGY / (1 - DT)),
        "StormerVerlet()": (ENERGY, ENERGY / (1 - DT**2)),
        "StormerVerlet(variant='B')": (ENERGY * (1 - DT**2), ENERGY),
        "Gauss(3)": (ENERGY, ENERGY),
    }
    rows = []
    for method, limits in extremes.items():
        error = runs[method].data.energy.values - ENERGY
        # The phase grows by 2 dt per sample, H varies with twice the phase: an extreme is missed by (1 - cos 2 dt)/2.
        within = ROUND_OFF + DT**2 * (limits[1] - limits[0])
        for word, ours, limit in zip(("least", "largest"), (error.min(), error.max()), limits, strict=True):
            remark = "quadratic invariants are exact" if method == "Gauss(3)" else ""
            row = compare(
                f"{method}: {word} H - 2", float(ours), limit - ENERGY, within=within, remark=remark, digits=5
            )
            rows.append(row)
    return rows


def _modified_energies(runs: dict[str, Run]) -> list[Row]:
    """Quadratic forms that the symplectic methods conserve exactly on this problem."""
    forms: dict[str, tuple[str, Callable[..., np.ndarray]]] = {
        "EulerA()": ("H + 2 dt p q", lambda q, p: p**2 / 2 + 2 * q**2 + 2 * DT * p * q),
        "EulerB()": ("H - 2 dt p q", lambda q, p: p**2 / 2 + 2 * q**2 - 2 * DT * p * q),
        "StormerVerlet()": ("p^2/2 + 2 (1 - dt^2) q^2", lambda q, p: p**2 / 2 + 2 * (1 - DT**2) * q**2),
        "StormerVerlet(variant='B')": ("(1 - dt^2) p^2/2 + 2 q^2", lambda q, p: (1 - DT**2) * p**2 / 2 + 2 * q**2),
    }
    rows = []
    for method, (text, form) in forms.items():
        values = form(runs[method].data.q.values[:, 0], runs[method].data.p.values[:, 0])
        deviation = float(np.abs(values - values[0]).max())
        rows.append(
            compare(f"{method}: change of {text}", deviation, 0.0, within=ROUND_OFF, remark="round-off", digits=2)
        )
    return rows


def _draw(folder: Folder, runs: dict[str, Run]) -> None:
    groups = [
        ["ExplicitEuler()", "ImplicitEuler()"],
        ["EulerA()", "EulerB()"],
        ["StormerVerlet()", "StormerVerlet(variant='B')"],
        ["RK4()", "Gauss(3)"],
    ]
    with folder.picture("harmonic_energy", width=6.6, height=4.8) as figure:
        for ax, methods in zip(figure.subplots(2, 2, sharex=True).flat, groups, strict=True):
            for number, method in enumerate(methods):
                data = runs[method].data
                ax.plot(data.time, data.energy - ENERGY, label=method, **line_style(number))
            ax.set_ylabel("$H - 2$")
            ax.yaxis.set_major_formatter("{x:g}")
            legend_above(ax)
        for ax in figure.axes[2:]:
            ax.set_xlabel("time")
    columns = {method: run.data.energy.values for method, run in runs.items()}
    folder.numbers("harmonic_energy", {"time": next(iter(runs.values())).data.time.values} | columns)
