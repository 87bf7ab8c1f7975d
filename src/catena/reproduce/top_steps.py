"""The heavy top at the printed step: projection onto the constraints (figure 2.14), QUAT-EM (2.15) and RATTLE (2.18) over time.

With a step of 0.005 the top turns by half a radian per step, and no method of order two is near the motion after one
unit of time; what each conserves is another matter. Projection after each step: q <- q/|q|, then g <- g - (q.g) q.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..geometry import rotations
from ..methods.base import Method
from ..methods.conserving.quat_em import QuatEM
from ..methods.conserving.rattle import Rattle
from ..methods.runge_kutta.implicit import Gauss
from ..methods.runge_kutta.runge_kutta import RK4
from ..output.style import legend_above, line_style
from ..problems.tops import symmetric_top
from ..systems.base import Array, State
from ..systems.top.top import Top
from .report import Folder, Report, Row, compare, small
from .stepping import driver_of, follow_steps

if TYPE_CHECKING:
    from ..systems.top.top import Form

NAME = "top-steps"
ABOUT = "heavy symmetric top at the printed step: projection, QUAT-EM and RATTLE over time, and their errors"
SOURCE = ("A thesis on chains of rigid bodies", "figures 2.14, 2.15 and 2.18, at the printed step")

DT = 0.005  # as printed
T_END, QUICK_END, ERROR_AT = 4.0, 1.0, 1.0
EXACT_METHOD, EXACT_PARTS = Gauss(4), 2  # steps of it in one of 0.005; its error is 3e-12
# Error of an element of R at t = 1: two other programs.
ERRORS = {"QUAT-EM": 0.47, "RATTLE": 1.14}
SAME_MOTION = {
    "euler": 1e-10,
    "quaternion": 1e-8,
}  # largest error of R in the coordinates of the other figures, at this step
ROUND_OFF, KEPT, BAND = 2e-15, 1e-12, 0.013
ORDER_TOLERANCE = 0.2
QUANTITIES = ("|q|^2 - 1", "q.g", "energy", "vertical momentum", "axial momentum")
NOTES = (
    "The top is a solid cone, as in the reproduction of the other figures; its moments, and the times of the figures, are not",
    "printed. t = 4 is our choice. Energy, vertical and axial momentum: largest relative error on the way. The projected equations",
    "are those with the multiplier; J0 = 1. Projection holds both constraints and restores neither energy nor vertical momentum:",
    "until t = 1 the energy error of the midpoint rule doubles, that of RK4 falls to a quarter. The motion is as far off as before.",
    "QUAT-EM keeps all but the axial momentum, RATTLE all but the energy.",
)


@dataclass(frozen=True)
class Scheme:
    """A method on one form of the top, projected after each step or not."""

    title: str
    method: Method
    form: Form = "quaternion"
    projected: bool = False


PROJECTION = (
    Scheme("midpoint", Gauss(1), "multiplier"), Scheme("midpoint, projected", Gauss(1), "multiplier", projected=True),
    Scheme("RK4", RK4(), "multiplier"), Scheme("RK4, projected", RK4(), "multiplier", projected=True),
)  # fmt: skip
CONSERVING = (Scheme("QUAT-EM", QuatEM()), Scheme("RATTLE", Rattle()))


def top(form: Form) -> tuple[Top, State]:
    """The printed top in one of its forms, and its start."""
    problem = symmetric_top("quaternion")
    system = problem.system
    gravity = system.potential.gravity
    assert gravity is not None
    return Top(system.body, gravity, form), problem.start


def project(z: Array) -> None:
    """z = (q, g) onto |q| = 1 and q.g = 0."""
    q, g = z[:4], z[4:8]
    q /= np.linalg.norm(q)
    g -= (q @ g) * q


@dataclass(frozen=True)
class Track:
    """A run: times, R, and the errors of `QUANTITIES` at each of them."""

    scheme: Scheme
    time: Array
    rotation: Array
    errors: dict[str, Array]


def follow(scheme: Scheme, dt: float, t_end: float, *, treat: Callable[[Array], None] = project) -> Track:
    """A scheme in plain Python: nothing here is long enough to need compiling."""
    system, start = top(scheme.form)
    driver = driver_of(system, start, scheme.method, dt)
    columns = follow_steps(driver, round(t_end / dt), treat if scheme.projected else None)
    errors = {"|q|^2 - 1": np.abs((columns["orientation"] ** 2).sum(axis=1) - 1.0)}
    if "unit_residual" in columns:
        errors |= {"|q|^2 - 1": np.abs(columns["unit_residual"]), "q.g": np.abs(columns["tangency_residual"])}
    for name in ("energy", "vertical momentum", "axial momentum"):
        values = columns[name.replace(" ", "_")]
        errors[name] = np.abs(values / values[0] - 1.0)
    matrices = rotations.to_matrix(rotations.normalise(columns["orientation"]))
    return Track(scheme, np.asarray(dt * np.arange(len(matrices)), dtype=np.float64), matrices, errors)


def motion(coordinates: str, dt: float, t_end: float) -> Array:
    """R of every sample in Euler angles or quaternions, by the method that represents the exact motion."""
    problem = symmetric_top(coordinates)
    columns = follow_steps(driver_of(problem.system, problem.start, EXACT_METHOD, dt), round(t_end / dt))
    return rotations.to_matrix(rotations.from_euler(columns["q"]) if "q" in columns else columns["orientation"])


def reproduce(out: Path, *, quick: bool = False) -> Report:
    """All schemes over t = 4; over t = 1 if `quick`."""
    t_end = QUICK_END if quick else T_END
    exact = motion("quaternion", DT / EXACT_PARTS, t_end)[::EXACT_PARTS]
    coordinates = {name: motion(name, DT, t_end) for name in SAME_MOTION}
    tracks = [follow(scheme, DT, t_end) for scheme in (*PROJECTION, *CONSERVING)]
    folder = Folder(out)
    _draw(folder, tracks, exact)
    _draw_motion(folder, tracks[len(PROJECTION) :], coordinates)
    rows = [_coordinate_row(name, found, exact) for name, found in coordinates.items()]
    rows += [row for track in tracks for row in _rows(track, exact)]
    rows += [_order_row(scheme) for scheme in PROJECTION if not scheme.projected]
    return folder.report(NAME, f"Heavy top at the printed step, dt = {DT:g}", rows, notes=NOTES)


def _coordinate_row(name: str, found: Array, exact: Array) -> Row:
    remark = f"until t = {DT * (len(exact) - 1):g}; in angles the spin is cyclic, quaternions follow it"
    error = float(np.abs(found - exact).max())
    return small(f"{name}, {EXACT_METHOD}: error of R", error, SAME_MOTION[name], remark=remark)


def _rows(track: Track, exact: Array) -> list[Row]:
    name, errors = track.scheme.title, track.errors
    worst = {quantity: float(values.max()) for quantity, values in errors.items()}
    rows = []
    if track.scheme.projected:
        rows += [
            small(f"{name}: {quantity}", worst[quantity], ROUND_OFF * (1 if quantity[0] == "|" else 100))
            for quantity in QUANTITIES[:2]
        ]
        for quantity in ("energy", "vertical momentum"):
            lost = worst[quantity]
            rows.append(
                Row(f"{name}: {quantity}", lost, f"> {KEPT:g}", lost > KEPT, "projection does not restore it", 2)
            )
    if name == "QUAT-EM":
        rows += [
            small(f"{name}: {quantity}", worst[quantity], KEPT)
            for quantity in ("|q|^2 - 1", "energy", "vertical momentum")
        ]
        lost = worst["axial momentum"]
        rows.append(Row(f"{name}: axial momentum", lost, "1e-06 to 1e-04", 1e-6 < lost < 1e-4, "not kept", 2))
    if name == "RATTLE":
        rows += [
            small(f"{name}: {quantity}", worst[quantity], KEPT)
            for quantity in ("|q|^2 - 1", "vertical momentum", "axial momentum")
        ]
        energy = symmetric_energy() * worst["energy"]
        rows.append(
            Row(f"{name}: largest |E - E0|", energy, f"< {BAND:g}", 1e-4 < energy < BAND, "bounded, not kept", 3)
        )
    if name in ERRORS:
        at = round(ERROR_AT / DT)
        error = float(np.abs(track.rotation[at] - exact[at]).max())
        remark = "far from the motion: half a radian in a step"
        rows.append(compare(f"{name}: error of R at t = 1", error, ERRORS[name], within=0.005, remark=remark, digits=3))
    return rows


def symmetric_energy() -> float:
    """Energy of the top at its start."""
    system, start = top("quaternion")
    return float(follow_steps(driver_of(system, start, QuatEM(), DT), 0)["energy"][0])


def _order_row(scheme: Scheme) -> Row:
    """|q|^2 - 1 without projection, from half and a quarter of the printed step."""
    coarse, fine = (float(follow(scheme, DT * part, 0.25).errors["|q|^2 - 1"].max()) for part in (0.5, 0.25))
    order, expected = float(np.log2(coarse / fine)), scheme.method.traits.order
    remark = f"{coarse:.1e} with dt = {DT / 2:g}"
    return compare(
        f"{scheme.title}: order of |q|^2 - 1", order, expected, within=ORDER_TOLERANCE, remark=remark, digits=3
    )


def _draw(folder: Folder, tracks: list[Track], exact: Array) -> None:
    """A row for each figure: constraints, what is conserved, and the error of R."""
    groups = (tracks[: len(PROJECTION)], tracks[len(PROJECTION) :])
    with folder.picture("top_steps", width=9.6, height=6.6) as figure:
        for line, group in zip(figure.subplots(2, 3, sharex=True), groups, strict=True):
            for number, track in enumerate(group):
                apart = np.abs(track.rotation - exact).max(axis=(1, 2))
                for ax, values in zip(line, (track.errors["|q|^2 - 1"], track.errors["energy"], apart), strict=True):
                    drawn = np.maximum(np.maximum.accumulate(values[1:]), 1e-17)
                    ax.plot(track.time[1:], drawn, label=track.scheme.title, **line_style(number))
            for ax, label in zip(line, ("$|q|^2 - 1$", "relative energy error", "error of R"), strict=True):
                ax.set(yscale="log", ylabel=f"{label}, largest so far")
            legend_above(line[0])
        for ax in figure.axes[3:]:
            ax.set_xlabel("time")
    columns: dict[str, Array] = {"time": tracks[0].time}
    for track in tracks:
        columns |= {f"{track.scheme.title}: {quantity}": values for quantity, values in track.errors.items()}
        columns[f"{track.scheme.title}: error of R"] = np.abs(track.rotation - exact).max(axis=(1, 2))
    folder.numbers("top_steps", columns, digits=6)


def _draw_motion(folder: Folder, tracks: list[Track], coordinates: dict[str, Array]) -> None:
    """Nutation and precession at the printed step."""
    paths = {f"{name}, {EXACT_METHOD}": found for name, found in coordinates.items()}
    paths |= {track.scheme.title: track.rotation for track in tracks}
    columns: dict[str, Array] = {"time": tracks[0].time}
    with folder.picture("top_steps_motion", width=8.6, height=3.4) as figure:
        nutation, precession = figure.subplots(1, 2)
        for number, (label, found) in enumerate(paths.items()):
            theta = np.degrees(np.arccos(np.clip(found[:, 2, 2], -1.0, 1.0)))
            psi = np.degrees(np.unwrap(np.arctan2(found[:, 1, 2], found[:, 0, 2])))
            columns |= {f"{label}: theta": theta, f"{label}: psi": psi}
            nutation.plot(tracks[0].time, theta, label=label, **line_style(number))
            precession.plot(tracks[0].time, psi, **line_style(number))
        for ax, word in ((nutation, "nutation"), (precession, "precession")):
            ax.set(xlabel="time", ylabel=f"{word} (degrees)")
        legend_above(nutation)
    folder.numbers("top_steps_motion", columns, digits=10)
