"""An adaptive Runge-Kutta pair on a rigid body and on a chain, beside splittings at a fixed step.

The pair of Dormand and Prince (MATLAB's ode45, SciPy's RK45) controls the error of each step. The remaining errors have
a sign: energy, angular momentum and the length of the quaternion are lost in proportion to time. The equations are
written here once more, in plain arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Array
from ..geometry import rotations
from ..methods.rotors.rotations import SymmetricRotation
from ..methods.splitting.splitting import Splitting
from ..output.style import legend_above, line_style
from ..output.thinning import after_start, largest
from ..problems.chains import helix_chain
from ..problems.free_bodies import book
from ..running.simulation import simulate
from ..systems.potentials.pairwise import Pairwise
from .report import Folder, Report, Row, small

if TYPE_CHECKING:
    from scipy.optimize import OptimizeResult as OdeResult

NAME = "adaptive-bodies"
ABOUT = "adaptive Runge-Kutta (ode45) on a rigid body and on a chain, beside splittings [dormand1980]"
SOURCE = ("A thesis on chains of rigid bodies", "its remark on adaptive methods (ode45), on a body and a chain")

TOLERANCE = 1e-6  # relative; absolute a thousandth of it, as the default of ode45
BODY_END, BODY_DT, CHAIN_END, CHAIN_DT = 400.0, 0.1, 100.0, 0.025
QUICK_PART = 0.1
SAMPLES = 800
NAMES = ("position", "orientation", "momentum", "angular_momentum")
BODIES, AMP = 4, 0.1
GROWTH = (1.5, 2.6)  # ratio of the loss in the whole time to that in half of it
STEADY = 1.6  # ratio of the largest errors in both halves, if bounded; a chain explores its energy surface
FLOOR, LOST = 1e-13, 1e-9  # round-off; ten thousand times as much
NOTES = (
    f"Book of Vilmart's figure 1 over t = {BODY_END:g}; free helix of {BODIES} tetrahedra, amp = {AMP}, over t = {CHAIN_END:g}. Which",
    f"examples were run with ode45 is not printed; these are our choice, with a tolerance of {TOLERANCE:g}. Errors: energy to kinetic",
    "energy, momentum to its size. Lost: what is lost in the whole time is about twice what is lost in half of it. Held: the largest",
    "error of the second half is that of the first.",
)


@dataclass(frozen=True)
class Curve:
    """Errors of a run over time, by name; evaluations of the field or of the forces."""

    label: str
    time: Array
    errors: dict[str, Array]
    evaluations: int


# A free body ------------------------------------------------------------------------------------------------------


def body_field(t: float, z: Array) -> list[float]:
    """d(q, y)/dt of the book."""
    a, b, c, d, y1, y2, y3 = z.tolist()
    i1, i2, i3 = BOOK
    w1, w2, w3 = y1 / i1, y2 / i2, y3 / i3
    return [
        -0.5 * (b * w1 + c * w2 + d * w3), 0.5 * (a * w1 + c * w3 - d * w2), 0.5 * (a * w2 + d * w1 - b * w3),
        0.5 * (a * w3 + b * w2 - c * w1), y2 * w3 - y3 * w2, y3 * w1 - y1 * w3, y1 * w2 - y2 * w1,
    ]  # fmt: skip


BOOK = tuple(float(x) for x in book().system.body.moments)


def _body_errors(q: Array, y: Array) -> dict[str, Array]:
    energy = 0.5 * (y * y / BOOK).sum(axis=1)
    space = rotations.rotate(rotations.normalise(q), y)
    return {
        "energy": np.abs(energy / energy[0] - 1.0),
        "angular momentum": np.linalg.norm(space - space[0], axis=1) / np.linalg.norm(space[0]),
        "|q|^2 - 1": np.abs((q * q).sum(axis=1) - 1.0),
    }


def body_curves(part: float) -> list[Curve]:
    """The book by the pair and by a splitting."""
    problem, t_end = book(), part * BODY_END
    start = np.concatenate([problem.start.orientation, problem.start.angular_momentum])
    found = _adaptive(body_field, start, t_end)
    run = simulate(
        problem, method=SymmetricRotation(), dt=BODY_DT, t_end=t_end, every=_every(t_end, BODY_DT), progress=False
    )
    errors = _body_errors(run.data.orientation.values, run.data.angular_momentum.values)
    return [
        Curve("RK45", found.t, _body_errors(found.y.T[:, :4], found.y.T[:, 4:]), found.nfev),
        Curve("SymmetricRotation()", run.data.time.values, errors, run.steps),
    ]  # fmt: skip


# A chain ----------------------------------------------------------------------------------------------------------


class FreeHelix:
    """The equations of the helix, free at both ends, in r, q, p and y."""

    def __init__(self) -> None:
        self.problem = helix_chain(BODIES, left="free", right="free", amp=AMP)
        chain = self.problem.system
        self.mass, self.moments = float(chain.bodies[0].mass), np.array(chain.bodies[0].moments)
        self.corners = np.array(chain.bodies[0].particles.positions)
        well = chain.potentials[0]
        assert isinstance(well, Pairwise)
        self.well = well
        start = self.problem.start
        self.start = np.concatenate([getattr(start, name).ravel() for name in NAMES])

    def parts(self, z: Array) -> tuple[Array, Array, Array, Array]:
        """r, q, p, y of a state, or of many (..., 13 n)."""
        n, lead = BODIES, z.shape[:-1]
        cut = np.split(z, [3 * n, 7 * n, 10 * n], axis=-1)
        r, q, p, y = (part.reshape(*lead, n, -1) for part in cut)
        return r, q, p, y

    def field(self, t: float, z: Array) -> Array:
        """dz/dt; q is not normalised."""
        r, q, p, y = self.parts(z)
        turned = rotations.to_matrix(rotations.normalise(q))
        arms = np.einsum("nij,kj->nki", turned, self.corners)
        corners = r[:, None] + arms
        between = corners[:-1, :, None] - corners[1:, None]
        distance = np.sqrt((between * between).sum(axis=-1))
        pull = (self.well.force(distance) / distance)[..., None] * between
        push = np.zeros_like(corners)
        push[:-1] += pull.sum(axis=2)
        push[1:] -= pull.sum(axis=1)
        torque = np.einsum("nji,nj->ni", turned, np.cross(arms, push).sum(axis=1))
        w = y / self.moments
        a, v = q[:, :1], q[:, 1:]
        qdot = 0.5 * np.concatenate([-(v * w).sum(axis=1, keepdims=True), a * w + np.cross(v, w)], axis=1)
        return np.concatenate([x.ravel() for x in (p / self.mass, qdot, push.sum(axis=1), np.cross(y, w) + torque)])

    def errors(self, r: Array, q: Array, p: Array, y: Array) -> dict[str, Array]:
        """Errors of several states."""
        turned = rotations.to_matrix(rotations.normalise(q))
        corners = r[:, :, None] + np.einsum("tnij,kj->tnki", turned, self.corners)
        distance = np.linalg.norm(corners[:, :-1, :, None] - corners[:, 1:, None], axis=-1)
        kinetic = 0.5 * (p * p).sum(axis=(1, 2)) / self.mass + 0.5 * (y * y / self.moments).sum(axis=(1, 2))
        energy = kinetic + self.well.energy(distance).sum(axis=(1, 2, 3))
        momentum = (np.cross(r, p) + np.einsum("tnij,tnj->tni", turned, y)).sum(axis=1)
        return {
            "energy": np.abs(energy - energy[0]) / kinetic[0],
            "angular momentum": np.linalg.norm(momentum - momentum[0], axis=1) / np.linalg.norm(momentum[0]),
            "|q|^2 - 1": np.abs((q * q).sum(axis=2) - 1.0).max(axis=1),
        }


def chain_curves(part: float) -> list[Curve]:
    """The helix by the pair and by a splitting."""
    helix, t_end = FreeHelix(), part * CHAIN_END
    found = _adaptive(helix.field, helix.start, t_end)
    run = simulate(
        helix.problem, method=Splitting(4), dt=CHAIN_DT, t_end=t_end, every=_every(t_end, CHAIN_DT), progress=False
    )
    return [
        Curve("RK45", found.t, helix.errors(*helix.parts(found.y.T)), found.nfev),
        Curve("Splitting(4)", run.data.time.values, helix.errors(*(run.data[name].values for name in NAMES)), 6 * run.steps),
    ]  # fmt: skip


def _adaptive(field: Callable[[float, Array], ArrayLike], start: Array, t_end: float) -> OdeResult:
    from scipy.integrate import solve_ivp

    time = np.linspace(0.0, t_end, SAMPLES + 1)
    return solve_ivp(field, (0.0, t_end), start, method="RK45", rtol=TOLERANCE, atol=1e-3 * TOLERANCE, t_eval=time)


def _every(t_end: float, dt: float) -> int:
    return max(1, round(t_end / dt / SAMPLES))


def reproduce(out: Path, *, quick: bool = False) -> Report:
    """The body over t = 400, the chain over t = 100; a tenth of both if `quick`."""
    part = QUICK_PART if quick else 1.0
    systems = {"body": body_curves(part), "chain": chain_curves(part)}
    folder = Folder(out)
    _draw(folder, systems)
    rows = [row for name, curves in systems.items() for curve in curves for row in _rows(name, curve)]
    return folder.report(NAME, "Adaptive steps on bodies", rows, notes=NOTES)


def _rows(name: str, curve: Curve) -> list[Row]:
    rows = []
    half = len(curve.time) // 2
    for quantity, values in curve.errors.items():
        title = f"{name}, {curve.label}: {quantity}"
        whole, first = float(values.max()), float(values[: half + 1].max())
        if whole < FLOOR:
            rows.append(small(title, whole, FLOOR, remark="round-off"))
            continue
        remark = f"{whole:.1e}; {curve.evaluations} evaluations"
        growth = whole / first
        if (
            curve.label == "RK45" and quantity == "angular momentum"
        ):  # a vector: its components are lost at different rates
            rows.append(Row(f"{title}: lost", whole, f"> {LOST:g}", whole > LOST, remark, 2))
        elif curve.label == "RK45":
            least, most = GROWTH
            title = f"{title}: lost, growth in twice the time"
            rows.append(Row(title, growth, f"{least} to {most}", least < growth < most, remark, 3))
        else:
            title = f"{title}: held, growth in twice the time"
            rows.append(Row(title, growth, f"< {STEADY}", growth < STEADY, remark, 3))
    return rows


def _draw(folder: Folder, systems: dict[str, list[Curve]]) -> None:
    with folder.picture("adaptive_bodies", width=9.6, height=5.6) as figure:
        for line, (name, curves) in zip(figure.subplots(2, 3, sharey=True), systems.items(), strict=True):
            for number, curve in enumerate(curves):
                for ax, (quantity, values) in zip(line, curve.errors.items(), strict=True):
                    time, drawn, _ = largest(after_start(curve.time), after_start(values))
                    ax.plot(time, np.maximum(drawn, 1e-17), label=f"{name}, {curve.label}", **line_style(number))
                    ax.set(yscale="log", ylabel=f"error of {quantity}" if quantity[0] != "|" else "$|q|^2 - 1$")
            legend_above(line[0])
        for ax in figure.axes[3:]:
            ax.set_xlabel("time")
    for name, curves in systems.items():
        for curve in curves:
            folder.numbers(
                f"adaptive_{name}_{curve.label.split('(')[0]}", {"time": curve.time} | curve.errors, digits=8
            )
