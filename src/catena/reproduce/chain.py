"""A published chain of tetrahedra and its timing example: what is wrong with them; and the stable helix used instead.

The printed chain starts far from equilibrium: it crumples, heats up and tears, and is chaotic (`chain_energy` follows its energy). The
printed discs do not hold together under their load (`chain_discs`). The helix is stable, so there orders and a held end can be shown.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..methods.base import Method
from ..methods.splitting.partitioned import StormerVerlet
from ..methods.splitting.splitting import Splitting
from ..output.style import legend_above, line_style
from ..problems.chains import helix_chain
from ..running.runs import Run
from ..running.simulation import simulate
from ..systems.chain.chain import Chain
from ..systems.chain.ends import Displaced
from ..systems.potentials.pair_potentials import LennardJones
from ..systems.potentials.pairwise import Pairwise
from .chain_energy import METHODS, PULLED_ENERGY, chain_with
from .report import Folder, Report, Row, compare
from .stepping import driver_of, follow_steps

if TYPE_CHECKING:
    from ..running.plan import Problem

NAME = "chain"
ABOUT = "chain of rigid bodies: the printed one is none, order of seven methods on a stable one, a displaced end"
SOURCE = ("A thesis on chains of rigid bodies", "section 3.5: its chain, discs, a displaced end")

QUICK: tuple[Method, ...] = (StormerVerlet(), Splitting(4))
DTS, QUICK_DTS = (0.02, 0.01, 0.005), (0.02, 0.01)
ORDER_END = 1.0
ORDER_TOLERANCE = 0.3
BALANCED = 0.05  # of the mean reaction: both ends pull equally, except for the motion that is left at the end
# The printed chain: energy and force of a link. Two separate programs.
LINK_ENERGY, LINK_FORCE = -3.86588992185606, 109.6425909
EQUILIBRIUM_SPACING = 2.10054927611638
# The printed discs: particles, radius, well, force at the end.
DISC_PARTICLES, DISC_WELL, DISC_FORCE = 12, 1e-6, 0.03
NOTES = (
    "Printed chain: 8 tetrahedra at spacing 2, pulled by (3, 0, 0), amp = 0.1. Every link repels with 110, so it is no chain near",
    "equilibrium. Orders are those of the stable helix. The mean reaction of the displaced end is that of the clamped one: in the",
    "mean nothing accelerates.",
)


def reproduce(out: Path, *, quick: bool = False) -> Report:
    """Starts, orders and the displaced end; with `quick`, two methods over a short time."""
    folder = Folder(out)
    rows = [*_printed_start(), *_printed_discs()]
    rows += _orders(folder, QUICK if quick else METHODS, QUICK_DTS if quick else DTS)
    rows += _displace(folder, 2.0 if quick else 60.0)
    return folder.report(NAME, "Chain of rigid bodies", rows, notes=NOTES)


def _printed_start() -> list[Row]:
    problem = chain_with("pulled")
    chain = problem.system
    energy = float(_first_row(problem)["energy"][0])
    particles = chain.particles(problem.start)
    between = particles[3][:, None] - particles[4][None]
    distance = np.linalg.norm(between, axis=-1)
    well = chain.potentials[3]
    assert isinstance(well, Pairwise)
    link = float(well.energy(distance).sum())
    force = float(np.abs((well.force(distance) * between[..., 0] / distance).sum()))
    return [
        compare("printed chain: energy at the start", energy, PULLED_ENERGY, within=1e-11, digits=15),
        compare("printed chain: energy of a link", link, LINK_ENERGY, within=1e-12, digits=13),
        compare("printed chain: force of a link", force, LINK_FORCE, within=1e-6, remark="repels; the load is 3", digits=10),
        compare(
            "straight row: spacing without force", _spacing_without_force(), EQUILIBRIUM_SPACING, within=1e-12,
            remark="but not without torque", digits=14,
        ),
    ]  # fmt: skip


def _spacing_without_force() -> float:
    from scipy.optimize import brentq

    chain = chain_with("pulled").system
    corners = chain.bodies[0].particles.positions
    well = chain.potentials[0]
    assert isinstance(well, Pairwise)

    def force(spacing: float) -> float:
        between = corners[:, None] - corners[None] - (spacing, 0.0, 0.0)
        distance = np.linalg.norm(between, axis=-1)
        return float((well.force(distance) * between[..., 0] / distance).sum())

    return float(brentq(force, 2.0, 2.2, xtol=1e-15))


def _printed_discs() -> list[Row]:
    """The printed discs, with all particles of a disc at one place: with sigma = 20 radii they nearly are."""
    most = DISC_PARTICLES**2 * LennardJones(DISC_WELL, 1.0).cohesion
    remark = "the load is this times what a link can bear: the last disc flies off"
    return [compare("printed discs: load over cohesion", DISC_FORCE / most, 87.0, within=5.0, remark=remark, digits=3)]


def _first_row(problem: Problem[Chain]) -> dict[str, np.ndarray]:
    return follow_steps(driver_of(problem.system, problem.start, Splitting(2), 1.0), 0)


def _worst(run: Run) -> float:
    energy = run.data.energy.values
    return float(np.abs(energy - energy[0]).max())


def _orders(folder: Folder, methods: tuple[Method, ...], dts: tuple[float, ...]) -> list[Row]:
    """Energy error of the pulled helix over the step."""
    problem = helix_chain(8, right="force", F=(3.0, 0.0, 0.0), amp=0.3)
    errors = {
        m: [_worst(simulate(problem, method=m, dt=dt, t_end=ORDER_END, progress=False)) for dt in dts] for m in methods
    }
    folder.over_steps(
        "chain_order", dts, {str(m): values for m, values in errors.items()}, "largest energy error of the pulled helix",
        size=(5.6, 4.0), digits=5,
    )  # fmt: skip
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


def _displace(folder: Folder, t_end: float) -> list[Row]:
    """A helix whose last body is fixed two per cent too far out, but turns freely: the reaction that holds it."""
    problem = helix_chain(16, right="displaced", amp=0.0)
    relaxed = problem.system
    position = problem.start.position * (1.02, 1.0, 1.0)
    chain = Chain(relaxed.bodies, relaxed.potentials[0], relaxed.left, Displaced(position[-1]))
    start = chain.start(position, problem.start.orientation)
    run = simulate(chain, start, method=Splitting(4), dt=0.02, t_end=t_end, every=5, progress=False)
    outputs = chain.outputs(run)
    pulls, holds = (outputs.reaction_force.sel(end=end).values[:, 0] for end in ("right", "left"))
    with folder.picture("chain_displaced", width=6.4, height=4.6) as figure:
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
        lower.set(xlabel="time", ylabel="force")
        legend_above(lower)
    folder.numbers("chain_displaced", {"time": run.data.time, "reaction": pulls})
    still = np.abs(run.data.position.values[:, -1] - position[-1]).max()
    return [
        Row("displaced end: largest departure from its place", float(still), 0.0, bool(still == 0.0), "held exactly"),
        compare(
            "displaced end: mean reaction along the helix", float(pulls.mean()), -float(holds.mean()),
            within=BALANCED * abs(float(pulls.mean())), remark="stretched by 2 per cent; reference: the other end", digits=3,
        ),
    ]  # fmt: skip
