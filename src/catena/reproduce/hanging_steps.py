"""The hanging chains at the published steps, with e(q) of the directors and C(q) p of their momenta recorded.

The equations are solved in all their unknowns by an independent program (`director_step`), which never orthonormalises
directors, beside the step of the library with six unknowns for each body.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..arrays import Array
from ..methods.conserving.energy_momentum import EnergyMomentum
from ..output.style import legend_in_one_row, line_style
from ..problems.linkages import hanging_chain
from ..running.simulation import simulate
from . import director_step
from .director_step import Chain
from .report import Folder, Report, Row, compare, small

NAME = "hanging-steps"
ABOUT = "hanging chains at the published steps in all published unknowns: e(q), C(q) p, joints, energy, momentum [nielsen2013]"
SOURCE = ("Nielsen and Krenk [nielsen2013]", "both examples at their steps, 0.01 and 0.1")


@dataclass(frozen=True)
class Example:
    """A chain with its published step; steps of the whole and of the quick run; unknowns and the last centre at t = 1."""

    joint: str
    dt: float
    steps: int
    quick: int
    unknowns: int
    printed: int
    place: tuple[float, float, float]


EXAMPLES = (
    Example("revolute", 0.01, 300, 10, 116, 68, (0.0, 6.325038834368275, -6.819667865430264)),
    Example("spherical", 0.1, 30, 10, 108, 60, (-1.2874116572312126, 6.448841140621974, -6.219261651566743)),
)
PLACE_DIGITS = 1e-11
# Largest in 3 s: 1.3e-15 of e(q), 2e-13 of C(q) p, where y is about 60; 2e-15 of the rows; 4e-12 of an energy of 1000.
ORTHONORMAL, HIDDEN, JOINED, CONSERVED, SAME = 1e-14, 2e-12, 2e-14, 2e-14, 1e-9
LOST = 1e-3  # C(q) p without its term exceeds this if the motion is not planar: 2.6 in 3 s
SMALLEST = 1e-17  # drawn instead of zero
NOTES = (
    "Four boxes, released from rest. The lengths of the published runs are not known: 3 s are our choice, at which 0.1 still has a",
    "solution. e(q) = Q^T Q - 1 and C(q) p of the worst body at every node, directors carried on as the equations give them. Without",
    "the term g0 energy, momentum and joints are kept all the same; only C(q) p is lost, and only out of the plane.",
)


@dataclass(frozen=True)
class Study:
    """An example as published, without g0, and by the step of the library: (steps + 1, n, 3) centres and angular momenta."""

    example: Example
    whole: director_step.Path
    without: director_step.Path
    centers: Array
    momenta: Array

    @property
    def time(self) -> Array:
        """Times of the steps."""
        return np.asarray(self.example.dt * np.arange(len(self.whole.q)), dtype=np.float64)

    @property
    def lines(self) -> dict[str, Array]:
        """The recorded quantities, by name; energy and momentum relative to the largest."""
        energy, kept = self.whole.energy(), self.kept_momentum()
        return {
            "e(q)": self.whole.orthonormality(), "C(q) p": self.whole.hidden(), "C(q) p without g0": self.without.hidden(),
            "joints": self.whole.joints(), "energy": np.abs(energy - energy[0]) / np.abs(self.potential()).max(),
            "kept l": np.abs(kept - kept[0]).max(axis=1) / np.abs(self.whole.momentum()).max(),
        }  # fmt: skip

    def potential(self) -> Array:
        """Potential energy."""
        chain = self.whole.chain
        return -chain.mass * (self.whole.q[:, :, 0] @ chain.gravity).sum(axis=1)

    def kept_momentum(self) -> Array:
        """l2 and l3 if the motion is planar, otherwise l3."""
        return self.whole.momentum()[:, 1 if self.whole.chain.hinged else 2 :]


def reproduce(out: Path, *, quick: bool = False) -> Report:
    """Both chains over 3 s; with `quick` ten steps of each, in plain Python."""
    studies = [study(example, example.quick if quick else example.steps, compiled=not quick) for example in EXAMPLES]
    folder = Folder(out)
    _draw(folder, studies)
    rows = [row for found in studies for row in _rows(found)]
    return folder.report(NAME, "Hanging chains at the published steps", rows, notes=NOTES)


def study(example: Example, steps: int, *, compiled: bool) -> Study:
    """An example by both programs."""
    chain = Chain(example.joint)
    whole = chain.run(example.dt, steps)
    without = chain.run(example.dt, steps, keep_hidden=False)
    centers, momenta = _library(example, steps, compiled=compiled)
    return Study(example, whole, without, centers, momenta)


def _library(example: Example, steps: int, *, compiled: bool) -> tuple[Array, Array]:
    from .stepping import driver_of, follow_steps

    problem, method = hanging_chain(example.joint), EnergyMomentum(level="position")
    if compiled:
        run = simulate(problem, method=method, dt=example.dt, steps=steps, progress=False)
        return run.data.position.values, run.data.angular_momentum.values
    found = follow_steps(driver_of(problem.system, problem.start, method, example.dt), steps)
    return found["position"], found["angular_momentum"]


def _rows(found: Study) -> list[Row]:
    example, lines = found.example, found.lines
    name = f"{example.joint}, dt = {example.dt:g}"
    t_end = f"{found.time[-1]:g} s"
    counted = f"printed {example.printed}, which counts q and the rows only"
    rows = [compare(f"{name}: unknowns of a step", found.whole.chain.unknowns, example.unknowns, remark=counted)]
    second = round(1.0 / example.dt)
    if second < len(found.whole.q):
        place = found.whole.q[second, -1, 0]
        rows += [
            compare(f"{name}: r4(1), {axis}", float(x), y, within=PLACE_DIGITS, remark="to 1e-11", digits=15)
            for axis, x, y in zip("xyz", place, example.place, strict=True)
        ]
    rows += [
        small(f"{name}: e(q)", lines["e(q)"].max(), ORTHONORMAL, remark=t_end),
        small(f"{name}: C(q) p", lines["C(q) p"].max(), HIDDEN, remark=t_end),
        small(f"{name}: joints' positions", lines["joints"].max(), JOINED, remark=t_end),
        small(f"{name}: energy error, to the potential", lines["energy"].max(), CONSERVED, remark=t_end),
        small(f"{name}: error of the kept momentum, to the largest", lines["kept l"].max(), CONSERVED, remark=t_end),
    ]
    lost = float(lines["C(q) p without g0"].max())
    if example.joint == "revolute":
        rows.append(small(f"{name}, without g0: C(q) p", lost, HIDDEN, remark="g0 = 0 in a plane"))
    else:
        rows.append(Row(f"{name}, without g0: C(q) p", lost, f"> {LOST:g}", lost > LOST, "what g0 is there for", 2))
    apart = max(
        float(np.abs(found.centers - found.whole.q[:, :, 0]).max()),
        float(np.abs(found.momenta - found.whole.turning()).max()),
    )
    remark = f"centres and y, {len(found.time) - 1} steps"
    rows.append(small(f"{name}: six unknowns for each body beside all", apart, SAME, remark=remark))
    rows.append(_symmetry_row(name, found))
    return rows


def _symmetry_row(name: str, found: Study) -> Row:
    """Newton's matrix in the order of the unknowns, at the middle: its skew part relative to its largest entry."""
    chain, half = found.whole.chain, len(found.time) // 2
    matrix = chain.jacobian(
        np.zeros(chain.unknowns), found.whole.q[half], found.whole.p[half], found.example.dt, keep_hidden=True
    )
    part = float(np.abs(matrix - matrix.T).max() / np.abs(matrix).max())
    return Row(
        f"{name}: skew part of Newton's matrix, to its size", part, "> 0.1", part > 0.1, "printed as symmetric", 2
    )


def _draw(folder: Folder, studies: list[Study]) -> None:
    columns: dict[str, Array] = {}
    with folder.picture("hanging_steps", width=9.6, height=4.2) as figure:
        axes = figure.subplots(1, 2, sharey=True)
        for ax, found in zip(axes, studies, strict=True):
            for number, (label, values) in enumerate(found.lines.items()):
                ax.plot(found.time, np.maximum(values, SMALLEST), label=label, **line_style(number))
            ax.set(yscale="log", xlabel="time (s)")
            legend_in_one_row(ax, f"{found.example.joint} joints, dt = {found.example.dt:g}")
        axes[0].set_ylabel("error at each node")
    for found in studies:
        columns = {"time": found.time} | found.lines
        folder.numbers(f"hanging_steps_{found.example.joint}", columns, digits=6)
