"""A published chain of tetrahedra and its timing example, as far as they are well posed; and the stable ones used instead.

The printed chain starts far from equilibrium: it crumples, heats up and tears, and is chaotic. Its energy can be followed all the
same. The printed discs do not hold together under their load. The helix is stable, so there orders, growth of cost and a held end
can be shown.
"""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from ..engine.build import build
from ..engine.driver import Driver
from ..errors import CatenaWarning
from ..methods.base import Method
from ..methods.implicit import Gauss, ImplicitMidpoint
from ..methods.partitioned import EulerA, StormerVerlet
from ..methods.runge_kutta import RK4
from ..methods.splitting import Splitting
from ..output.style import MARKERS, legend_above, line_style, log_error_axis, new_figure, plain_log_axis, styled
from ..problems.chains import disc_chain, helix_chain, printed_chain
from ..runs import Run
from ..simulation import simulate
from ..systems.chains.chain import Chain
from ..systems.chains.ends import Displaced
from ..systems.potentials.pair_potentials import LennardJones
from .report import Folder, Report, Row, compared

NAME = "chain"
ABOUT = "chain of rigid bodies: energy of seven methods, order, growth of the cost, a displaced end"
SOURCE = ("A thesis on chains of rigid bodies", "section 3.5: figures 3.5 to 3.8, discs, a displaced end")

METHODS: tuple[Method, ...] = (
    EulerA(), StormerVerlet(), ImplicitMidpoint(), Gauss(2), Gauss(3), Splitting(4), RK4(),
)  # fmt: skip
QUICK: tuple[Method, ...] = (StormerVerlet(), Splitting(4))
DT, T_END, QUICK_END = 0.002, 10.0, 0.2
DTS, QUICK_DTS = (0.02, 0.01, 0.005), (0.02, 0.01)
ORDER_END = 1.0
ORDER_TOLERANCE = 0.3
COUNTS, PARTICLES = (8, 16, 32, 64, 128, 256), (8, 12, 16, 24, 32)
FAR = 3.8  # longer links have torn
ROUNDS = 7
# The printed chain: energy at the start, energy and force of a link, torque on the first body. Two separate programs.
PRINTED_ENERGY, LINK_ENERGY, LINK_FORCE = -74.7584264779522277, -3.86588992185606, 109.6425909
EQUILIBRIUM_SPACING = 2.10054927611638
# The printed discs: particles, radius, well, force at the end.
DISC_PARTICLES, DISC_WELL, DISC_FORCE = 12, 1e-6, 0.03
NOTES = (
    "Printed chain: 8 tetrahedra at spacing 2, pulled by (3, 0, 0), amp = 0.1. Every link repels with 110, so it is no chain near equilibrium:",
    "it tears and is chaotic; only its energy is compared. Order and cost are those of the stable helix (and of stacked discs).",
    "Published pictures of energy and of computing time have no numbers to compare with.",
)


def _printed() -> Any:
    """The printed chain; that its start is far too strong is said in the notes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CatenaWarning)
        return printed_chain()


def reproduce(out: Path, *, quick: bool = False) -> Report:
    """Energy, order, cost and the displaced end; with `quick`, two methods over a short time."""
    folder = Folder(out)
    rows = [*_printed_start(), *_printed_discs()]
    rows += _energies(folder, QUICK if quick else METHODS, QUICK_END if quick else T_END, tears=not quick)
    rows += _orders(folder, QUICK if quick else METHODS, QUICK_DTS if quick else DTS)
    rows += _costs(folder, COUNTS[:3] if quick else COUNTS, PARTICLES[:2] if quick else PARTICLES)
    rows += _displaced(folder, 2.0 if quick else 60.0)
    return folder.report(NAME, "Chain of rigid bodies", rows, notes=NOTES)


def _printed_start() -> list[Row]:
    problem = _printed()
    chain: Any = problem.system
    energy = float(_first_row(problem)["energy"][0])
    particles = chain.particles(problem.start)
    between = particles[3][:, None] - particles[4][None]
    distance = np.linalg.norm(between, axis=-1)
    well = chain.potentials[3]
    link = float(well.energy(distance).sum())
    force = float(np.abs((well.force(distance) * between[..., 0] / distance).sum()))
    return [
        compared("printed chain: energy at the start", energy, PRINTED_ENERGY, within=1e-11, digits=15),
        compared("printed chain: energy of a link", link, LINK_ENERGY, within=1e-12, digits=13),
        compared("printed chain: force of a link", force, LINK_FORCE, within=1e-6, remark="repels; the load is 3", digits=10),
        compared(
            "straight row: spacing without force", _spacing_without_force(), EQUILIBRIUM_SPACING, within=1e-12,
            remark="but not without torque", digits=14,
        ),
    ]  # fmt: skip


def _spacing_without_force() -> float:
    from scipy.optimize import brentq

    chain: Any = _printed().system
    corners = chain.bodies[0].particles.positions
    well = chain.potentials[0]

    def force(spacing: float) -> float:
        between = corners[:, None] - corners[None] - (spacing, 0.0, 0.0)
        distance = np.linalg.norm(between, axis=-1)
        return float((well.force(distance) * between[..., 0] / distance).sum())

    return float(brentq(force, 2.0, 2.2, xtol=1e-15))


def _printed_discs() -> list[Row]:
    """All particles of a disc at one place: with sigma = 20 radii they nearly are."""
    most = DISC_PARTICLES**2 * LennardJones(DISC_WELL, 1.0).cohesion
    remark = "the load is this times what a link can bear: the last disc flies off"
    return [compared("printed discs: load over cohesion", DISC_FORCE / most, 87.0, within=5.0, remark=remark, digits=3)]


def _first_row(problem: Any) -> dict[str, np.ndarray]:
    program = build(problem.system, Splitting(2), compiled=False)
    driver = Driver(program, program.view.pack(problem.start), t0=0.0, dt=1.0, every=1)
    return problem.system.columns(driver.first_row().rows)


def _energies(folder: Folder, methods: tuple[Method, ...], t_end: float, *, tears: bool) -> list[Row]:
    """Energy of the printed chain over time."""
    problem = _printed()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "torn", CatenaWarning)  # a row of the table tells when
        runs = [simulate(problem, method=m, dt=DT, t_end=t_end, every=5, progress=False) for m in methods]
    with styled():
        figure = new_figure(width=6.4, height=4.4)
        ax = figure.subplots()
        for number, run in enumerate(runs):
            error = np.abs(run.data.energy.values - run.data.energy.values[0])
            ax.plot(run.data.time, error, label=str(run.method), **line_style(number))
        log_error_axis(ax, 1e-13)
        ax.set_xlabel("time")
        ax.set_ylabel("energy error of the printed chain")
        legend_above(ax, f"dt = {DT:g}")
        folder.picture("chain_energy", figure)
    columns = {"time": runs[0].data.time} | {str(run.method): run.data.energy for run in runs}
    folder.numbers("chain_energy", columns)
    rows = [
        Row(f"printed chain, {run.method}: largest energy error", _worst(run), None, None, f"dt = {DT:g}, t = {t_end:g}", digits=2)
        for run in runs
    ]  # fmt: skip
    if tears:
        position = runs[-2].data.position.values[-1]
        lengths = np.linalg.norm(np.diff(position, axis=0), axis=1)
        torn = [str(j) for j in np.flatnonzero(lengths > FAR)]
        remark = "in print it stays a chain"
        rows.append(
            Row(f"printed chain: links torn at the end, beyond {FAR:g}", ", ".join(torn), "any", bool(torn), remark)
        )
    return rows


def _worst(run: Run) -> float:
    energy = run.data.energy.values
    return float(np.abs(energy - energy[0]).max())


def _orders(folder: Folder, methods: tuple[Method, ...], dts: tuple[float, ...]) -> list[Row]:
    """Energy error of the pulled helix over the step."""
    problem = helix_chain(8, right="force", F=(3.0, 0.0, 0.0), amp=0.3)
    errors = {
        m: [_worst(simulate(problem, method=m, dt=dt, t_end=ORDER_END, progress=False)) for dt in dts] for m in methods
    }
    with styled():
        figure = new_figure(width=5.6, height=4.0)
        ax = figure.subplots()
        for number, (method, values) in enumerate(errors.items()):
            style = line_style(number) | {"marker": MARKERS[number % len(MARKERS)]}
            ax.plot(dts, values, label=str(method), **style)
        ax.set_xscale("log")
        ax.set_yscale("log")
        plain_log_axis(ax.xaxis)
        ax.set_xlabel("dt")
        ax.set_ylabel("largest energy error of the pulled helix")
        legend_above(ax)
        folder.picture("chain_order", figure)
    folder.numbers("chain_order", {"dt": list(dts)} | {str(m): values for m, values in errors.items()}, digits=5)
    rows = []
    for method, values in errors.items():
        order = float(np.log2(values[-2] / values[-1]))
        expected = method.traits.order
        rows.append(
            Row(
                f"pulled helix, {method}: order of the energy error", order, expected,
                bool(order > expected - ORDER_TOLERANCE), "at least that of the method", digits=3,
            )
        )  # fmt: skip
    return rows


def _costs(folder: Folder, counts: tuple[int, ...], particles: tuple[int, ...]) -> list[Row]:
    """Time of a step over the number of bodies, and over that of particles, each relative to the smallest."""
    by_count = _relative_times([helix_chain(n) for n in counts])
    by_particles = _relative_times([disc_chain(16, n_p) for n_p in particles])
    with styled():
        figure = new_figure(width=7.0, height=3.2)
        for ax, names, values, label, power in zip(
            figure.subplots(1, 2), (counts, particles), (by_count, by_particles), ("bodies", "particles of a body"), (1, 2),
            strict=True,
        ):  # fmt: skip
            ax.plot(names, values, marker="o", label="measured", **line_style(0))
            ax.plot(
                names, [values[-1] * (n / names[-1]) ** power for n in names], label=f"power {power}", **line_style(1)
            )
            ax.set_xscale("log")
            ax.set_yscale("log")
            plain_log_axis(ax.xaxis)
            plain_log_axis(ax.yaxis)
            ax.set_xlabel(label)
            ax.set_ylabel("relative time of a step")
            legend_above(ax)
        folder.picture("chain_cost", figure)
    folder.numbers("chain_cost_bodies", {"bodies": counts, "relative time": by_count}, digits=4)
    folder.numbers("chain_cost_particles", {"particles": particles, "relative time": by_particles}, digits=4)
    growth = by_count[-1] / (counts[-1] / counts[0])
    remark = "time per body, largest chain against smallest; timed on this machine"
    return [Row("cost: growth of the time per body", growth, None, None, remark, digits=2)]


def _relative_times(problems: list[Any]) -> list[float]:
    """Seconds of a step of Splitting(2), in turn, best of several; relative to the first."""
    drivers = []
    for problem in problems:
        program = build(problem.system, Splitting(2))
        drivers.append(Driver(program, program.view.pack(problem.start), t0=0.0, dt=0.005, every=50))
    best = [np.inf] * len(drivers)
    for _ in range(ROUNDS):
        for k, driver in enumerate(drivers):
            begun = time.perf_counter()
            driver.advance(50)
            best[k] = min(best[k], time.perf_counter() - begun)
    return [value / best[0] for value in best]


def _displaced(folder: Folder, t_end: float) -> list[Row]:
    """A helix whose last body is held two per cent too far out, and turns freely: the reaction that holds it."""
    problem = helix_chain(16, right="displaced", amp=0.0)
    relaxed: Any = problem.system
    position = problem.start.position * (1.02, 1.0, 1.0)
    chain = Chain(relaxed.bodies, relaxed.potentials[0], relaxed.left, Displaced(position[-1]))
    start = chain.start(position, problem.start.orientation)
    run = simulate(chain, start, method=Splitting(4), dt=0.02, t_end=t_end, every=5, progress=False)
    outputs = chain.outputs(run)
    pulls = outputs.reaction_force.sel(end="right").values[:, 0]
    with styled():
        figure = new_figure(width=6.4, height=4.6)
        upper, lower = figure.subplots(2, 1, sharex=True)
        cells = upper.pcolormesh(
            run.data.time,
            np.arange(15),
            outputs.link_length.values.T,
            cmap="viridis",
            shading="nearest",
            rasterized=True,
        )
        figure.colorbar(cells, ax=[upper, lower], pad=0.02).set_label("length of a link")
        upper.set_ylabel("link")
        upper.grid(visible=False)
        lower.plot(run.data.time, pulls, label="reaction along the helix at the displaced end", **line_style(0))
        lower.set_xlabel("time")
        lower.set_ylabel("force")
        legend_above(lower)
        folder.picture("chain_displaced", figure)
    folder.numbers("chain_displaced", {"time": run.data.time, "reaction": pulls})
    still = np.abs(run.data.position.values[:, -1] - position[-1]).max()
    return [
        Row("displaced end: largest departure from its place", float(still), 0.0, bool(still == 0.0), "held exactly"),
        Row("displaced end: mean reaction along the helix", float(pulls.mean()), None, None, "stretched by 2 per cent", digits=3),
    ]  # fmt: skip
