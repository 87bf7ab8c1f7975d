"""Chains of discs by Gauss's method: computing time over the number of bodies and of particles, and errors per body.

The discs as printed (figures 3.7 to 3.9) are nearly points and fly apart under their load: sufficient for timing.
Beside them there is a stack of discs that is a stable equilibrium.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Array
from ..errors import CatenaWarning
from ..methods.runge_kutta.implicit import Gauss
from ..output.style import MARKERS, legend_above, line_style, plain_log_axis
from ..problems.chains import disc_chain
from ..running.plan import Problem
from ..systems.body import Body
from ..systems.chain.chain import Chain
from ..systems.chain.ends import Clamped, Force
from ..systems.potentials.pair_potentials import LennardJones
from .report import Folder, Report, Row, compare, power, small
from .stepping import driver_of

if TYPE_CHECKING:
    from ..systems.chain.chain import Form

NAME = "chain-discs"
ABOUT = (
    "chains of discs by Gauss(2), as printed and stacked: growth of the time with bodies and particles, errors per body"
)
SOURCE = ("A thesis on chains of rigid bodies", "figures 3.7 to 3.9")

METHOD, DT = Gauss(2), 0.01
RADIUS, THICKNESS, WELL, PULL = 0.05, 0.005, 1e-6, 0.03  # as printed, with sigma = 1
SPACING = 2.0 ** (1 / 6)  # resting distance of two points; spacing, mass, velocities, numbers of bodies are not printed
AMP = 0.02
COUNTS, QUICK_COUNTS = (8, 16, 32, 64, 128), (8, 16)
PARTICLES, QUICK_PARTICLES = (16, 24, 32), (16,)  # each is a program of its own to compile
FEW_BODIES, FEW_PARTICLES = 8, 16
STEPS, ROUNDS, QUICK_ROUNDS = 20, 50, 3
# Time over bodies and over particles: the work grows like n and n_p^2, but rows of particles are filled up to
# registers of eight, and a part of it grows only like n; from 8 to 16 particles the exponent is 0.7, from 16 to 32
# it is 1.4.
LINEAR, MANY_PARTICLES = (0.85, 1.15), (1.1, 2.1)
RUN_END, HALF = 1.0, 0.5
ROUND_OFF = 1e-14
ORDER_TOLERANCE = 0.3
NOTES = (
    "Printed discs: radius 0.05, thickness 0.005, wells of 1e-6 at sigma = 1, pulled by 0.03. Spacing, mass, velocities, step, stages",
    "and the numbers of bodies are not printed: 2^(1/6), 1, amp = 0.02, dt = 0.01, Gauss(2) are our choice, and so is what is plotted",
    "as error per body: the largest | |q|^2 - 1 | of each body, with the multiplier as printed and in canonical form. Times are",
    "processor times on this machine.",
)


def printed_discs(n: int, n_p: int) -> Problem[Chain]:
    """Discs in a row as printed, with the start of `disc_chain`."""
    stack = disc_chain(n, n_p, amp=AMP)
    system = stack.system
    rims = np.array(system.bodies[0].particles.positions) * (RADIUS, RADIUS, 10.0 * THICKNESS)
    disc = Body.from_particles(rims, 1.0 / n_p)
    chain = Chain([disc] * n, LennardJones(WELL, 1.0), Clamped(), Force((PULL, 0.0, 0.0)))
    position = np.zeros((n, 3))
    position[:, 0] = SPACING * np.arange(n)
    mass = np.array([body.mass for body in system.bodies])[:, None]
    spin = stack.start.angular_momentum / np.array([body.moments for body in system.bodies])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CatenaWarning)  # the load exceeds the strength of a link: that is shown
        start = chain.start(
            position, stack.start.orientation, velocity=stack.start.momentum / mass, angular_velocity=spin
        )
    return Problem("printed_discs", chain, start, DT)


def stacked_discs(n: int, n_p: int) -> Problem[Chain]:
    """The stable stack."""
    return disc_chain(n, n_p, amp=AMP)


KINDS: dict[str, Callable[[int, int], Problem[Chain]]] = {"printed": printed_discs, "stacked": stacked_discs}


def reproduce(out: Path, *, quick: bool = False) -> Report:
    """Times of up to 128 discs and 32 particles each, and errors per body; fewer if `quick`."""
    counts, particles = (QUICK_COUNTS, QUICK_PARTICLES) if quick else (COUNTS, PARTICLES)
    rounds = QUICK_ROUNDS if quick else ROUNDS
    by_count = {kind: _times([make(n, FEW_PARTICLES) for n in counts], rounds) for kind, make in KINDS.items()}
    by_particles = {kind: _times([make(FEW_BODIES, m) for m in particles], rounds) for kind, make in KINDS.items()}
    forms: tuple[Form, ...] = ("multiplier", "quaternion")
    errors = {(kind, form): body_errors(kind, form) for kind in KINDS for form in forms}
    folder = Folder(out)
    _draw(folder, (counts, particles), (by_count, by_particles), errors)
    rows = []
    if not quick:  # two points on a loaded machine show no growth
        rows += [
            row
            for kind in KINDS
            for row in _growth_rows(kind, (counts, particles), (by_count[kind], by_particles[kind]))
        ]
    rows += [row for (kind, form), found in errors.items() for row in _error_rows(kind, form, found)]
    return folder.report(NAME, "Chains of discs by Gauss's method", rows, notes=NOTES)


@dataclass(frozen=True)
class Times:
    """CPU seconds of a step, and sweeps of its iteration, for several chains."""

    seconds: Array
    sweeps: Array


def _times(problems: list[Problem], rounds: int) -> Times:
    """The chains in turn, best of several rounds."""
    drivers = [driver_of(p.system, p.start, METHOD, DT, every=STEPS, compiled=True) for p in problems]
    best = np.full(len(drivers), np.inf)
    for _ in range(rounds):
        for k, driver in enumerate(drivers):
            begun = time.thread_time()
            driver.advance(STEPS)
            best[k] = min(best[k], (time.thread_time() - begun) / STEPS)
    sweeps = [METHOD.counts(driver.carry)["sweeps"] / (rounds * STEPS) for driver in drivers]
    return Times(best, np.array(sweeps))


def _growth_rows(kind: str, names: tuple[tuple[int, ...], ...], found: tuple[Times, ...]) -> list[Row]:
    rows = []
    for word, sizes, times, limits in zip(("bodies", "particles"), names, found, (LINEAR, MANY_PARTICLES), strict=True):
        exponent = power(sizes, times.seconds / times.sweeps)
        least, most = limits
        remark = f"of a sweep; {times.sweeps[0]:.1f} to {times.sweeps[-1]:.1f} sweeps; of a step {power(sizes, times.seconds):.2f}"
        title = f"{kind} discs: exponent of the time over {word}, {sizes[0]} to {sizes[-1]}"
        rows.append(Row(title, exponent, f"{least} to {most}", least < exponent < most, remark, 3))
    return rows


def body_errors(kind: str, form: Form) -> tuple[Array, Array]:
    """Largest | |q|^2 - 1 | of each moving body until t = 1, with the step and with half of it."""
    problem = KINDS[kind](FEW_BODIES, FEW_PARTICLES)
    system = problem.system
    chain = Chain(system.bodies, system.potentials[0], system.left, system.right, form=form)
    found = []
    for part in (1.0, HALF):
        driver = driver_of(chain, problem.start, METHOD, part * DT, compiled=True)
        worst = np.zeros(FEW_BODIES - 1)
        for _ in range(round(RUN_END / (part * DT))):
            driver.advance(1)
            q = (driver.z + driver.e)[3 * FEW_BODIES : 7 * FEW_BODIES].reshape(-1, 4)[1:]
            worst = np.maximum(worst, np.abs((q * q).sum(axis=1) - 1.0))
        found.append(worst)
    return found[0], found[1]


def _error_rows(kind: str, form: str, errors: tuple[Array, Array]) -> list[Row]:
    coarse, fine = errors
    name = f"{kind} discs, {form}"
    if form == "quaternion" or coarse.max() < ROUND_OFF:
        title = f"{name}: |q|^2 - 1 of the worst body"
        remark = "round-off" if form == "quaternion" else "the discs turn freely: nothing acts on a point"
        return [small(title, max(coarse.max(), fine.max()), ROUND_OFF, remark=remark)]
    seen = fine > 10.0 * ROUND_OFF
    order = float(np.median(np.log2(coarse[seen] / fine[seen])))
    remark = f"{coarse.min():.1e} to {coarse.max():.1e} along the chain; median over {seen.sum()} bodies"
    expected = METHOD.traits.order
    return [compare(f"{name}: order of |q|^2 - 1", order, expected, within=ORDER_TOLERANCE, remark=remark, digits=3)]


def _draw(
    folder: Folder, names: tuple[tuple[int, ...], ...], times: tuple[dict[str, Times], ...],
    errors: dict[tuple[str, Form], tuple[Array, Array]],
) -> None:  # fmt: skip
    with folder.picture("chain_discs", width=10.2, height=3.6) as figure:
        *growth, along = figure.subplots(1, 3)
        for ax, sizes, found, label, slope in zip(
            growth, names, times, ("bodies", "particles of a disc"), (1, 2), strict=True
        ):
            for number, (kind, measured) in enumerate(found.items()):
                values = measured.seconds / measured.seconds[0]
                ax.plot(sizes, values, marker=MARKERS[number], label=f"{kind} discs", **line_style(number))
            line = values[-1] * (np.array(sizes) / sizes[-1]) ** slope
            ax.plot(sizes, line, label=f"power {slope}", **line_style(2))
            ax.set(xscale="log", yscale="log", xlabel=label, ylabel="relative time of a step")
            plain_log_axis(ax.xaxis)
            plain_log_axis(ax.yaxis)
            legend_above(ax)
        bodies = np.arange(1, FEW_BODIES)
        for number, ((kind, form), (coarse, _)) in enumerate(errors.items()):
            along.plot(
                bodies, np.maximum(coarse, 1e-17), marker=MARKERS[number], label=f"{kind}, {form}", **line_style(number)
            )
        along.set(yscale="log", xlabel="body", ylabel="largest error of $|q|^2 = 1$")
        legend_above(along)
    for word, sizes, found in zip(("bodies", "particles"), names, times, strict=True):
        columns: dict[str, ArrayLike] = {word: sizes}
        for kind, measured in found.items():
            columns |= {f"{kind}: seconds": measured.seconds, f"{kind}: sweeps": measured.sweeps}
        folder.numbers(f"chain_discs_{word}", columns, digits=4)
    folder.numbers(
        "chain_discs_errors", {"body": bodies} | {f"{kind}, {form}": e[0] for (kind, form), e in errors.items()}
    )
