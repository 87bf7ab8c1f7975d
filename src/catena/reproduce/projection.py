"""Projection onto |q| = 1 and q.g = 0 after each step of the canonical form of a chain: does it break anything?

If the method conserves both constraints anyway (Gauss of any order, Sun's method, the midpoint rule), projection only
adds round-off. If it does not, projection enforces them, and destroys what the method did conserve: the symplectic
structure, and the angular momentum, which is bilinear in q and g.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Array
from ..methods.base import Method
from ..methods.runge_kutta.implicit import Gauss, ImplicitMidpoint, SunGeng
from ..methods.splitting.partitioned import EulerA, EulerB, StormerVerlet
from ..output.style import plain_log_axis
from ..problems.chains import helix_chain
from .constraint import STRUCTURE_FLOOR, project, symplectic_defect
from .report import Folder, Report, Row, small
from .stepping import driver_of, follow_steps

NAME = "projection"
ABOUT = "canonical chain projected onto its constraints after each step: symplectic structure, angular momentum, energy"
SOURCE = ("A thesis on chains of rigid bodies", "section 3.4: projection, on the canonical equations")

METHODS: tuple[Method, ...] = (EulerA(), EulerB(), StormerVerlet(), ImplicitMidpoint(), SunGeng(), Gauss(2), Gauss(3))
QUICK: tuple[Method, ...] = (EulerA(), Gauss(2))
# Symplectic defect of one projected step of 0.04, two bodies; the other methods conserve it. An independent
# program, two digits.
BROKEN = {"EulerA()": 1.7e-3, "EulerB()": 8e-4}
FACTOR = 1.2
LITTLE = 1e-7  # if |q|^2 - 1 is of this size in a step
BODIES, AMP, DT, STEPS, QUICK_STEPS = 3, 0.5, 0.02, 50, 10
MOMENTUM_LEVEL = 1e-12
UNCHANGED = 1e-12  # largest change of the state by projection if the constraints are invariants
LOST = 1e-5
NOTES = (
    f"Symplectic defect of one step of 0.04 on the tangent space of the constraints, two bodies; the rest on a free helix of {BODIES},",
    f"amp = {AMP}, {STEPS} steps of {DT}. So projection is harmless where it is not needed. Where it is, it breaks what it was not",
    "meant for: in Euler's methods visibly, in Stormer-Verlet at the level of its small |q|^2 - 1. It is no option of the library.",
)


@dataclass(frozen=True)
class Effect:
    """Defect and largest errors of angular momentum and energy, without and with projection; distance of last
    states."""

    defect: tuple[float, float]
    momentum: tuple[float, float]
    energy: tuple[float, float]
    apart: float


def reproduce(out: Path, *, quick: bool = False) -> Report:
    """Seven methods; two of them over fewer steps if `quick`. Nothing is long enough to need compiling."""
    methods, steps = (QUICK, QUICK_STEPS) if quick else (METHODS, STEPS)
    effects = {method: effect(method, steps) for method in methods}
    folder = Folder(out)
    _draw(folder, effects)
    rows = [row for method, found in effects.items() for row in _rows(method, found)]
    return folder.report(NAME, "Projection of the canonical form", rows, notes=NOTES)


def effect(method: Method, steps: int) -> Effect:
    """All quantities for one method."""
    plain, projected = (_follow(method, steps, projected=flag) for flag in (False, True))
    apart = float(np.abs(plain[2] - projected[2]).max())
    defect = symplectic_defect("quaternion", method)[0], symplectic_defect("quaternion", method, project)[0]
    return Effect(defect, (plain[0], projected[0]), (plain[1], projected[1]), apart)


def _follow(method: Method, steps: int, *, projected: bool) -> tuple[float, float, Array]:
    """Largest errors of the angular momentum and the energy, and the last state."""
    problem = helix_chain(BODIES, left="free", right="free", amp=AMP)
    driver = driver_of(problem.system, problem.start, method, DT)
    columns = follow_steps(driver, steps, (lambda z: project(z, BODIES)) if projected else None)
    momentum, energy = columns["total_angular_momentum"], columns["energy"]
    return float(np.abs(momentum - momentum[0]).max()), float(np.abs(energy - energy[0]).max()), driver.z + driver.e


def _rows(method: Method, found: Effect) -> list[Row]:
    kept, broken = found.defect
    rows = [small(f"{method}: symplectic defect", kept, STRUCTURE_FLOOR)]
    reference = BROKEN.get(str(method))
    title = f"{method}, projected: symplectic defect"
    if isinstance(method, StormerVerlet):
        broken_little = STRUCTURE_FLOOR < broken < LITTLE
        rows.append(
            Row(title, broken, f"{STRUCTURE_FLOOR:g} to {LITTLE:g}", broken_little, "broken, like |q|^2 - 1", 2)
        )
    elif reference is None:
        rows.append(small(title, broken, STRUCTURE_FLOOR))
    else:
        rows.append(Row(title, broken, reference, reference / FACTOR < broken < reference * FACTOR, "broken", 2))
    rows.append(small(f"{method}: angular momentum", found.momentum[0], MOMENTUM_LEVEL))
    lost, remark = found.momentum[1], f"energy error {found.energy[0]:.1e} without, {found.energy[1]:.1e} with it"
    title = f"{method}, projected: angular momentum"
    if isinstance(method, StormerVerlet):
        lost_little = MOMENTUM_LEVEL < lost < LOST
        rows.append(
            Row(title, lost, f"{MOMENTUM_LEVEL:g} to {LOST:g}", lost_little, f"lost, like |q|^2 - 1; {remark}", 2)
        )
    elif reference is None:
        rows.append(small(title, lost, MOMENTUM_LEVEL, remark=remark))
    else:
        rows.append(Row(title, lost, f"> {LOST:g}", lost > LOST, f"lost; {remark}", 2))
    if reference is None and not isinstance(method, StormerVerlet):
        rows.append(small(f"{method}: change of the path by projection", found.apart, UNCHANGED))
    return rows


def _draw(folder: Folder, effects: dict[Method, Effect]) -> None:
    names = [str(method) for method in effects]
    columns: dict[str, ArrayLike] = {"method": names}
    with folder.picture("projection", width=8.6, height=3.2) as figure:
        for ax, word, label in zip(
            figure.subplots(1, 3, sharey=True), ("defect", "momentum", "energy"),
            ("symplectic defect", "error of the angular momentum", "error of the energy"), strict=True,
        ):  # fmt: skip
            for k, (title, marker) in enumerate((("as it is", "o"), ("projected", "x"))):
                values = [getattr(found, word)[k] for found in effects.values()]
                columns[f"{word}, {title}"] = values
                ax.plot(np.maximum(values, 1e-16), range(len(names)), linestyle="none", marker=marker, label=title)
            ax.set(xscale="log", xlabel=label)
            plain_log_axis(ax.xaxis)
            ax.set_yticks(range(len(names)), names)
        figure.axes[0].invert_yaxis()
        figure.axes[-1].legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    folder.numbers("projection_effects", columns, digits=5)
