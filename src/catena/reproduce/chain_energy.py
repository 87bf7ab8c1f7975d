"""Energy of the printed chain of tetrahedra, pulled at its end (figure 3.5) and clamped at both (figure 3.6).

The chain starts far from equilibrium, crumples and tears, and is chaotic, so only its energy can be compared: as long
as the motion is not chaotic, the energy error falls with the order of the method, and different methods give the same
motion.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..errors import CatenaWarning
from ..methods.base import Method
from ..methods.runge_kutta.implicit import Gauss, ImplicitMidpoint
from ..methods.runge_kutta.runge_kutta import RK4
from ..methods.splitting.partitioned import EulerA, StormerVerlet
from ..methods.splitting.splitting import Splitting
from ..output.style import legend_above, line_style, log_error_axis
from ..output.thinning import after_start, largest
from ..problems.chains import printed_chain
from ..running.plan import Problem
from ..running.runs import Run
from ..running.simulation import simulate
from ..systems.potentials.pairwise import Pairwise
from .report import Folder, Report, Row, compare, small

if TYPE_CHECKING:
    from ..systems.chain.chain import Chain

NAME = "chain-energy"
ABOUT = "the printed chain, pulled at one end and clamped at both: energy of seven methods over time, and its order"
SOURCE = ("A thesis on chains of rigid bodies", "figures 3.5 and 3.6")

METHODS: tuple[Method, ...] = (
    EulerA(), StormerVerlet(), ImplicitMidpoint(), Gauss(2), Gauss(3), Splitting(4), RK4(),
)  # fmt: skip
QUICK: tuple[Method, ...] = (Splitting(4),)
DT, T_END, EVERY = 0.002, 10.0, 5
EARLY = 0.256  # until then the motion is not chaotic
SEEN = 3e-12  # smallest energy error that is not round-off; the energy is 75
ORDER_TOLERANCE = 0.3
FAR = 3.8  # longer links have torn
ENDS = {"pulled": "force", "clamped": "clamped"}
# Energy at the start: two independent programs for the pulled chain; for both ends clamped, all pairs summed here.
PULLED_ENERGY = -74.7584264779522277
# The last body of the pulled chain at t = 0.5: rotation matrices in 80 bits, by extrapolation.
AT, FINE = 0.5, 0.00025
LAST = {
    "position": (16.3534838296243842, 0.0492878086641339, -0.0223067948055036),
    "orientation": (0.9297880468930753, 0.0137436191839277, -0.1999153781519727, 0.3087703715786884),
    "momentum": (6.4413032089207208, 2.5664223500119543, 1.2402253077799903),
    "angular_momentum": (0.0486133933558124, 1.1357225749151853, -1.6069449488227138),
}
SAME = 1e-11
NOTES = (
    "8 tetrahedra at spacing 2, amp = 0.1; the force at the end is (3, 0, 0). The published velocities, steps and times are not",
    f"printed: dt = {DT:g} and t = {T_END:g} are our choice. Every link repels with 110, so it is no chain near equilibrium: it tears",
    f"with either end. Order: of the largest energy error until t = {EARLY:g}, from a step and half of it, {DT:g} or as large as it",
    "takes.",
)


@dataclass(frozen=True)
class Study:
    """One end: the complete runs; for the early motion a step, and the largest energy errors with dt and dt/2."""

    end: str
    problem: Problem[Chain]
    runs: list[Run]
    early: dict[Method, tuple[float, float, float]]


def chain_with(end: str) -> Problem[Chain]:
    """The printed chain; the notes say that its start is far too strong."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CatenaWarning)
        return printed_chain(right=ENDS[end])


def reproduce(out: Path, *, quick: bool = False) -> Report:
    """Seven methods at both ends; with `quick` one of them over a short time."""
    methods, t_end = (QUICK, 0.5) if quick else (METHODS, T_END)
    studies = [_study(end, methods, t_end) for end in ENDS]
    folder = Folder(out)
    _draw(folder, studies)
    rows = [row for study in studies for row in _rows(study, tears=not quick)]
    return folder.report(NAME, "Energy of the printed chain", rows, notes=NOTES)


def _study(end: str, methods: tuple[Method, ...], t_end: float) -> Study:
    problem = chain_with(end)
    runs = [_run(problem, method, DT, t_end, EVERY) for method in methods]
    return Study(end, problem, runs, {method: early_errors(problem, method) for method in methods})


def _run(problem: Problem[Chain], method: Method, dt: float, t_end: float, every: int = 1) -> Run:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CatenaWarning)
        return simulate(problem, method=method, dt=dt, t_end=t_end, every=every, progress=False)


def early_errors(problem: Problem[Chain], method: Method) -> tuple[float, float, float]:
    """A step, and the largest energy errors with dt and dt/2 while the motion is not chaotic; above round-off."""
    dt, fine, coarse = 0.5 * DT, 0.0, 0.0
    while fine < SEEN:
        fine = coarse or _early_error(problem, method, dt)
        dt *= 2.0
        coarse = _early_error(problem, method, dt)
    return dt, coarse, fine


def _early_error(problem: Problem[Chain], method: Method, dt: float) -> float:
    energy = _run(problem, method, dt, EARLY).data.energy.values
    return float(np.abs(energy - energy[0]).max())


def energy_of(problem: Problem[Chain]) -> float:
    """Energy of all pairs of particles, the moving bodies and the force, summed here independently."""
    chain = problem.system
    start = problem.start
    corners = chain.particles(start)
    total = 0.0
    for well, a, b in zip(chain.potentials, corners[:-1], corners[1:], strict=True):
        assert isinstance(well, Pairwise)
        total += float(well.energy(np.linalg.norm(a[:, None] - b[None], axis=-1)).sum())
    for body, p, y in zip(chain.bodies, start.momentum, start.angular_momentum, strict=True):
        total += 0.5 * float(p @ p) / body.mass + 0.5 * float((y * y / body.moments).sum())
    return total - float(np.array(getattr(chain.right, "force", np.zeros(3))) @ start.position[-1])


def _rows(study: Study, *, tears: bool) -> list[Row]:
    first = float(study.runs[0].data.energy[0])
    reference = PULLED_ENERGY if study.end == "pulled" else energy_of(study.problem)
    remark = "two separate programs" if study.end == "pulled" else "all pairs, added up"
    rows = [compare(f"{study.end}: energy at the start", first, reference, within=1e-11, remark=remark, digits=15)]
    for run in study.runs:
        dt, coarse, fine = study.early[run.method]
        order, expected = float(np.log2(coarse / fine)), run.method.traits.order
        worst = np.abs(run.data.energy.values - first).max()
        remark = f"{coarse:.1e} until t = {EARLY:g} with dt = {dt:g}; {worst:.1e} until {float(run.data.time[-1]):g} with {DT:g}"
        title = f"{study.end}, {run.method}: order of the energy error"
        rows.append(
            Row(title, order, f"> {expected - ORDER_TOLERANCE:g}", order > expected - ORDER_TOLERANCE, remark, 3)
        )
    rows += _motion_rows(study)
    if tears:
        lengths = np.linalg.norm(np.diff(study.runs[-2].data.position.values[-1], axis=0), axis=1)
        torn = [str(j) for j in np.flatnonzero(lengths > FAR)]
        title = f"{study.end}: links longer than {FAR:g} at t = {T_END:g}"
        rows.append(Row(title, ", ".join(torn) or "none", "any", bool(torn), "in print it stays a chain"))
    return rows


def _motion_rows(study: Study) -> list[Row]:
    """One motion from two methods; if a reference is known, it is compared with that, too."""
    first, second = (
        _run(study.problem, method, dt, AT).data.isel(time=-1)
        for method, dt in ((Splitting(4), FINE), (Gauss(3), 2 * FINE))
    )
    apart = max(float(np.abs(first[name].values - second[name].values).max()) for name in LAST)
    rows = [small(f"{study.end}, t = {AT:g}: difference of two methods", apart, SAME, remark="Splitting(4), Gauss(3)")]
    if study.end == "pulled":
        worst = 0.0
        for name, known in LAST.items():
            ours = second[name].values[-1]
            sign = np.sign(ours @ np.array(known)) if name == "orientation" else 1.0
            worst = max(worst, float(np.abs(sign * ours - known).max()))
        rows.append(small(f"pulled, t = {AT:g}: last body, off by", worst, SAME, remark="rotation matrices in 80 bits"))
    return rows


def _draw(folder: Folder, studies: list[Study]) -> None:
    with folder.picture("chain_energy", width=9.6, height=4.6) as figure:
        axes = figure.subplots(1, len(studies), sharey=True)
        for ax, study in zip(axes, studies, strict=True):
            for number, run in enumerate(study.runs):
                energy = run.data.energy.values
                time, error, words = largest(after_start(run.data.time.values), after_start(np.abs(energy - energy[0])))
                ax.plot(time, error, label=str(run.method), **line_style(number))
            ax.set_xlabel("time")
            legend_above(ax, f"{study.end}, dt = {DT:g}{words}")
        for ax in axes:
            log_error_axis(ax, 1e-13)
        axes[0].set_ylabel("energy error of the printed chain")
    for study in studies:
        columns = {"time": study.runs[0].data.time} | {str(run.method): run.data.energy for run in study.runs}
        folder.numbers(f"chain_energy_{study.end}", columns)
