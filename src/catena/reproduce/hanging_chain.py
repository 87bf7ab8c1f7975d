"""Two hanging chains of four boxes, by the published energy-momentum step and by the one that also enforces joint
velocities.

The published step conserves energy, angular momentum and joint positions to round-off, and the figures show just that.
What they do not show is how fast the points of a joint separate at the ends of the steps: this velocity is not
enforced, starts at order dt^2, and grows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..geometry import rotations
from ..methods.base import Method
from ..methods.conserving.energy_momentum import EnergyMomentum
from ..methods.conserving.rattle import Rattle
from ..methods.splitting.composition import Composition
from ..output.style import legend_in_one_row, line_style
from ..problems.linkages import hanging_chain
from ..running.runs import Run
from ..running.simulation import simulate
from ..systems.base import Array
from .report import Folder, Report, Row, compare, small
from .stepping import driver_of, follow_steps

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..systems.linkage.linkage import Linkage

NAME = "hanging-chain"
ABOUT = "two hanging chains of boxes: energy, momentum, joints, and the joints' velocities that were not shown [nielsen2013]"
SOURCE = ("Nielsen and Krenk [nielsen2013]", "both examples: motion, energy, momentum, constraints")

JOINTS = ("revolute", "spherical")
LEVELS = {"published step": EnergyMomentum(level="position"), "two-level step": EnergyMomentum()}
DT, SHOWN = 0.02, 20.0  # between the published steps, 0.01 and 0.1, which `hanging_steps` uses
LONG = 100.0  # over which the velocities are followed
ACCURATE, FINE = Composition(EnergyMomentum(), "kahanli6"), 0.0025
HALVED = (0.02, 0.01, 0.005)  # steps whose errors give the order
TIMES = (0.0, 0.6, 1.2, 1.8, 2.4, 3.0, 10.0, 20.0)  # of the snapshots
SMALLEST = 1e-17  # smallest error in the pictures
SUMMED = 2e-15  # relative: a few roundings of a sum of eight terms
# Relative errors in 5000 steps: at most 4e-14 of energy and 1e-15 of momentum. Joint positions and speeds, of
# about 10, fit to 3e-15 and 1.4e-14.
CONSERVED, JOINED, RATE_HELD = 2e-13, 2e-14, 1e-13

ROW_COUNTS = {"revolute": 20, "spherical": 12}  # as published
ENERGIES = {"revolute": -998.88732337536455, "spherical": -706.32}
# The last body: its position at t = 1 and 2, and its velocity at t = 1. Extrapolation with 26 digits on minimal
# coordinates, and a composed energy-momentum step; they agree to the last digits given.
PLACES: dict[str, dict[float, tuple[tuple[float, float, float], float]]] = {
    "revolute": {
        1.0: ((0.0, 6.3250696080943155, -6.8197827148726907), 1e-13),
        2.0: ((0.0, -4.8946907510715296, -7.9783722179254313), 1e-12),
    },
    "spherical": {
        1.0: ((-1.29554668006538, 6.44815130003669, -6.22913156127689), 1e-13),
        2.0: ((2.27194059078921, -4.42851094789014, -7.77111619891651), 5e-13),
    },
}
VELOCITIES = {
    "revolute": (0.0, -4.0816826849676152, -11.280537226810936),
    "spherical": (-0.951676795889009, -4.07313854428882, -11.0858833629999),
}
VELOCITY_DIGITS = 5e-13
# Its position by the steps themselves at t = 1: two other programs, one with all rows and multipliers, one in
# joint coordinates.
STEPPED: tuple[tuple[str, Method, str, float, tuple[float, float, float]], ...] = (
    ("published step", EnergyMomentum(level="position"), "revolute", 0.01, (0.0, 6.325038834368275, -6.819667865430264)),
    ("published step", EnergyMomentum(level="position"), "spherical", 0.1, (-1.2874116572312126, 6.448841140621974, -6.219261651566743)),
    ("two-level step", EnergyMomentum(), "revolute", 0.01, (0.0, 6.32503882648226, -6.81966783908830)),
    ("two-level step", EnergyMomentum(), "spherical", 0.1, (-1.28735197255630, 6.44877182827883, -6.21919738658836)),
    ("Rattle", Rattle(), "revolute", 0.01, (0.0, 6.32504769949929, -6.81992284722017)),
    ("Rattle", Rattle(), "spherical", 0.01, (-1.29565700184095, 6.44808794533361, -6.22924475616181)),
)  # fmt: skip
STEP_DIGITS = 1e-11
NOTES = (
    "Four boxes with sides (1, 0.5, 3) and mass 12, g = 9.81, released from rest; dt = 0.02 for both (published: 0.01 and 0.1, see",
    "hanging-steps). Nothing is read off the published figures; references are separate programs. l is about the fixed point. Later",
    "velocity errors of the published step depend on the last bits: the motion is chaotic. Energy does not show them.",
)


@dataclass(frozen=True)
class Motion:
    """A run of a chain; the parts of its energy and its angular momentum are computed from the states alone."""

    run: Run[Linkage]

    def column(self, name: str) -> Array:
        """A recorded quantity, by name."""
        return np.asarray(self.run.data[name].values)

    @cached_property
    def time(self) -> Array:
        """Times of the samples."""
        return self.column("time")

    @cached_property
    def kinetic(self) -> Array:
        """Kinetic energy."""
        p, y = self.column("momentum"), self.column("angular_momentum")
        bodies = self.run.system.bodies
        turning = np.array([np.linalg.inv(body.tensor) for body in bodies])
        masses = np.array([body.mass for body in bodies])
        return 0.5 * ((p**2).sum(axis=2) / masses).sum(axis=1) + 0.5 * np.einsum("tni,nij,tnj->t", y, turning, y)

    @cached_property
    def potential(self) -> Array:
        """Potential energy."""
        masses = np.array([body.mass for body in self.run.system.bodies])
        return -(self.column("position") @ self.run.system.gravity) @ masses

    @cached_property
    def momentum(self) -> Array:
        """(times, 3): angular momentum about the fixed point, the origin."""
        spin = rotations.rotate(self.column("orientation"), self.column("angular_momentum"))
        return (np.cross(self.column("position"), self.column("momentum")) + spin).sum(axis=1)

    @cached_property
    def energy_error(self) -> Array:
        """Relative to the largest kinetic energy."""
        energy = self.column("energy")
        return np.abs(energy - energy[0]) / self.kinetic.max()

    @cached_property
    def kept_momentum_error(self) -> Array:
        """Error of the conserved components: l3, and l2 in planar motion; relative to the largest momentum."""
        kept = self.momentum[:, 1:] if self.run.system.joints[0].has_angle else self.momentum[:, 2:]
        return np.abs(kept - kept[0]).max(axis=1) / np.abs(self.momentum).max()

    def residual(self, which: str) -> Array:
        """Residual of the joints' "position" or "velocity", or of the "unit" quaternions."""
        return np.abs(self.column(f"{which if which == 'unit' else 'joint_' + which}_residual"))


Motions = dict[tuple[str, str], Motion]  # by chain and step


def reproduce(out: Path, *, quick: bool = False) -> Report:
    """Both chains over 100 s, 20 s of them as published; with `quick` over 20 s."""
    motions = {
        (joint, name): move(joint, method, DT, SHOWN if quick else LONG)
        for joint in JOINTS
        for name, method in LEVELS.items()
    }
    folder = Folder(out)
    _draw_snapshots(folder, motions)
    _draw_conserved(folder, motions)
    _draw_velocities(folder, motions)
    rows = [*_start_rows(motions), *_motion_rows()]
    rows += [row for case in STEPPED if not (quick and case[0] == "Rattle") for row in _step_rows(*case)]
    rows += [
        row for (joint, name), motion in motions.items() for row in _rows_of_what_is_kept(f"{joint}, {name}", motion)
    ]
    rows += [row for joint in JOINTS for row in _velocity_rows(joint, motions)]
    return folder.report(NAME, "Hanging chains of four boxes", rows, notes=NOTES)


def move(joint: str, method: Method, dt: float, t_end: float) -> Motion:
    """A chain from its release, sampled at every step."""
    return Motion(simulate(hanging_chain(joint), method=method, dt=dt, steps=round(t_end / dt)))


# Numbers -------------------------------------------------------------------------------------------------------


def _start_rows(motions: Motions) -> list[Row]:
    rows = []
    for joint in JOINTS:
        motion = motions[joint, "published step"]
        count = sum(len(j.rows) for j in motion.run.system.joints)
        rows.append(compare(f"{joint}: constraints", count, ROW_COUNTS[joint], remark="[nielsen2013]"))
        energy = ENERGIES[joint]
        first = float(motion.column("energy")[0])
        rows.append(compare(f"{joint}: energy at the start", first, energy, within=SUMMED * abs(energy), digits=16))
        sums = motion.kinetic + motion.potential - motion.column("energy")
        worst = float(np.abs(sums).max() / motion.kinetic.max())
        remark = "the two parts from the states, the whole as measured in the run"
        rows.append(small(f"{joint}: kinetic + potential - total, to kinetic", worst, SUMMED, remark=remark))
    return rows


def _motion_rows() -> list[Row]:
    """The motion itself, by a composition of order six."""
    rows = []
    for joint in JOINTS:
        motion = move(joint, ACCURATE, FINE, 2.0)
        for t, (place, digits) in PLACES[joint].items():
            ours = motion.column("position")[round(t / FINE), -1]
            rows += _components(f"{joint}: r4({t:g})", ours, place, digits)
        velocity = motion.column("momentum")[round(1.0 / FINE), -1] / motion.run.system.bodies[-1].mass
        rows += _components(f"{joint}: v4(1)", velocity, VELOCITIES[joint], VELOCITY_DIGITS)
    return rows


def _step_rows(name: str, method: Method, joint: str, dt: float, place: Sequence[float]) -> list[Row]:
    """The results of a step itself; Rattle, which nothing else here needs, is not worth compiling."""
    problem = hanging_chain(joint)
    steps = round(1.0 / dt)
    driver = driver_of(problem.system, problem.start, method, dt, every=steps, compiled=name != "Rattle")
    ours = follow_steps(driver, steps)["position"][-1, -1]
    return _components(f"{joint}, {name}, dt = {dt:g}: r4(1)", ours, place, STEP_DIGITS)


def _components(name: str, ours: Array, reference: Sequence[float], digits: float) -> list[Row]:
    return [
        compare(f"{name}, {axis}", float(x), y, within=digits, remark=f"to {digits:.0e}", digits=16)
        for axis, x, y in zip("xyz", ours, reference, strict=True)
        if axis != "x" or y != 0.0
    ]


def _rows_of_what_is_kept(title: str, motion: Motion) -> list[Row]:
    """Quantities at round-off at both levels."""
    t_end = f"{motion.time[-1]:g} s"
    about = "l2 and l3" if motion.run.system.joints[0].has_angle else "l3"
    return [
        small(f"{title}: energy error, to kinetic", motion.energy_error.max(), CONSERVED, remark=t_end),
        small(
            f"{title}: error of {about}, to the largest l", motion.kept_momentum_error.max(), CONSERVED, remark=t_end
        ),
        small(f"{title}: joints' positions", motion.residual("position").max(), JOINED, remark=t_end),
        small(f"{title}: directors, |q|^2 - 1", motion.residual("unit").max(), JOINED, remark=t_end),
    ]


def _velocity_rows(joint: str, motions: Motions) -> list[Row]:
    """What the published step loses: at first with dt^2, then permanently."""
    published, both = (motions[joint, name].residual("velocity") for name in LEVELS)
    first = [
        float(move(joint, LEVELS["published step"], dt, 1.0).residual("velocity").max()) for dt in HALVED
    ]  # fmt: skip
    sizes = ", ".join(f"{error:.1e}" for error in first)
    order = compare(
        f"{joint}, published step: order of the joints' velocities, first second", float(np.log2(first[-2] / first[-1])),
        2.0, within=0.05, remark=f"{sizes} with dt = {HALVED}", digits=3,
    )  # fmt: skip
    early, late = float(published[: round(1.0 / DT) + 1].max()), float(published.max())
    remark = f"{early:.1e} in the first second; largest speed {_largest_speed(motions[joint, 'published step']):.0f}"
    grown = Row(f"{joint}, published step: joints' velocities", late, "grows", late > 10.0 * early, remark, 2)
    held = small(f"{joint}, two-level step: joints' velocities", both.max(), RATE_HELD, remark="held at every node")
    return [order, grown, held]


def _largest_speed(motion: Motion) -> float:
    mass = motion.run.system.bodies[0].mass
    return float(np.linalg.norm(motion.column("momentum"), axis=2).max() / mass)


# Pictures ------------------------------------------------------------------------------------------------------


def _draw_snapshots(folder: Folder, motions: Motions) -> None:
    """The boxes at a few times, by the published step: the planar chain in its plane, the other one from two sides."""
    sights = (("revolute", 1), ("spherical", 1), ("spherical", 0))
    with folder.picture("hanging_chain_snapshots", width=10.4, height=3.9) as figure:
        axes = figure.subplots(len(sights), len(TIMES), sharex=True, sharey=True)
        for number, (line, (joint, across)) in enumerate(zip(axes, sights, strict=True)):
            motion = motions[joint, "published step"]
            last_of_its_side = across not in (other for _, other in sights[number + 1 :])
            for ax, t in zip(line, TIMES, strict=True):
                k = round(t / DT)
                _draw_boxes(ax, motion.column("position")[k], motion.column("orientation")[k], motion.run, across)
                ax.set_aspect("equal")
                ax.tick_params(labelbottom=last_of_its_side)
                if last_of_its_side:
                    ax.set_xlabel(f"{'xyz'[across]} (m)")
            line[0].set_ylabel(f"{joint}\nz (m)")
        for ax, t in zip(axes[0], TIMES, strict=True):
            ax.set_title(f"t = {t:g} s")


def _draw_boxes(ax: Axes, position: Array, orientation: Array, run: Run[Linkage], across: int) -> None:
    from matplotlib.patches import Polygon
    from scipy.spatial import ConvexHull

    signs = np.array([(a, b, c) for a in (-0.5, 0.5) for b in (-0.5, 0.5) for c in (-0.5, 0.5)])
    for j, body in enumerate(run.system.bodies):
        corners = signs * np.array(body.describe()["size"])
        seen = (position[j] + rotations.rotate(orientation[j], corners))[:, [across, 2]]
        outline = seen[ConvexHull(seen).vertices]
        color = line_style(j)["color"]
        ax.add_patch(Polygon(outline, closed=True, facecolor=color, edgecolor=color, alpha=0.5, linewidth=0.8))
    ax.plot(0.0, 0.0, marker="o", color="0.2", markersize=3.0)
    ax.autoscale_view()


def _draw_conserved(folder: Folder, motions: Motions) -> None:
    """Energy and its parts, angular momentum, and the errors of both beside those of the joints, by the published step."""
    columns: dict[str, Array] = {}
    with folder.picture("hanging_chain_conserved", width=9.6, height=8.4) as figure:
        axes = figure.subplots(3, 2, sharex=True, sharey="row")
        for column, joint in zip(axes.T, JOINTS, strict=True):
            motion = motions[joint, "published step"]
            shown = motion.time <= SHOWN + 0.5 * DT
            columns["time"] = motion.time[shown]
            parts: tuple[dict[str, Array], ...] = (
                {"kinetic": motion.kinetic, "potential": motion.potential, "total": motion.column("energy")},
                {f"l{k + 1}": motion.momentum[:, k] for k in range(3)},
                {
                    "energy": motion.energy_error, "kept l": motion.kept_momentum_error,
                    "joints": motion.residual("position"), "directors": motion.residual("unit"),
                },
            )  # fmt: skip
            for ax, lines in zip(column, parts, strict=True):
                for number, (label, values) in enumerate(lines.items()):
                    error = ax is column[2]
                    columns[f"{joint}: {label}" + (" error" if error else "")] = values[shown]
                    drawn = _largest_so_far(values[shown]) if error else values[shown]
                    zero = " (zero)" if error and not values[shown].any() else ""
                    ax.plot(motion.time[shown], drawn, label=label + zero, **line_style(number))
                legend_in_one_row(ax, f"{joint} joints" if ax is column[0] else None, columns=len(lines))
            column[2].set_yscale("log")
            column[2].set_ylim(bottom=SMALLEST)
            column[2].set_xlabel("time (s)")
        for ax, label in zip(
            axes[:, 0], ("energy (J)", "angular momentum (kg m²/s)", "largest error so far"), strict=True
        ):
            ax.set_ylabel(label)
    folder.numbers("hanging_chain_conserved", columns, digits=12)


def _draw_velocities(folder: Folder, motions: Motions) -> None:
    """The velocities at which the points of the joints separate, which the figures did not show."""
    columns: dict[str, Array] = {}
    with folder.picture("hanging_chain_velocities", width=8.2, height=3.4) as figure:
        axes = figure.subplots(1, 2, sharey=True)
        for ax, joint in zip(axes, JOINTS, strict=True):
            for number, name in enumerate(LEVELS):
                motion = motions[joint, name]
                values = motion.residual("velocity")
                columns |= {"time": motion.time, f"{joint}, {name}": values}
                ax.plot(motion.time, np.where(values > 0.0, values, np.nan), label=name, **line_style(number))
            ax.set(yscale="log", xlabel="time (s)")
            legend_in_one_row(ax, f"{joint} joints")
        axes[0].set_ylabel("velocities that the joints forbid (m/s)")
    folder.numbers("hanging_chain_velocities", columns, digits=12)


def _largest_so_far(values: Array) -> Array:
    """Running maximum for a logarithmic axis: nan until it is positive."""
    largest = np.maximum.accumulate(values)
    return np.where(largest > 0.0, largest, np.nan)
