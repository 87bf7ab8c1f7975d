"""Rotation matrices, quaternions and Euler angles as coordinates: cost of a product, lost digits, jumps of angles.

Costs are counted, not timed: the formulas run on numbers that count their operations. Digits: products of many equal rotations
against one rotation by the whole angle; angles computed from the trace of a matrix. Jumps: an axis that passes the
vertical at a small distance, in angles, and as an integrated motion.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from ..geometry import rotations
from ..methods.runge_kutta.implicit import Gauss
from ..output.style import MARKERS, legend_above, line_style
from ..problems.tops import symmetric_top
from ..systems.base import Array, State, System
from .report import Folder, Report, Row, compare, power, small
from .stepping import driver_of, follow_steps

NAME = "coordinates"
ABOUT = "matrices, quaternions and Euler angles: operations of a product, digits lost in many, jumps near the pole"
SOURCE = ("A thesis on chains of rigid bodies", "section 3.2.4 on coordinates; a footnote of [vilmart2015]")

EPS = float(np.finfo(float).eps)
COUNTS, QUICK_COUNTS = (100, 1_000, 10_000, 100_000), (100, 1_000, 10_000)
ROTATIONS = 24  # equal turns about as many axes
ANGLES = tuple(10.0**-k for k in range(1, 9))
DISTANCES, QUICK_DISTANCES = (0.3, 0.1, 0.03, 0.01), (0.3, 0.03)
SPEED, SAMPLES = 1.0, 4001
STEP, SPIN, START_ANGLE, FALL, PASSED = (
    0.01,
    4.0,
    0.5,
    2.0,
    0.5,
)  # of the top; it passes the pole after a quarter of a second
METHOD = Gauss(2)
NOTES = (
    f"Neither text has numbers; both say that quaternions cost less and lose less. Drift: largest of {ROTATIONS} products of equal",
    "rotations, without normalising, off the unit quaternions or off the orthogonal matrices. Vector rotated: by a matrix 15",
    "operations; by a quaternion 30 as q x q^-1 written with cross products. So matrices pay where one turns many points. Passing the",
    f"pole: symmetric top, {METHOD} with dt = {STEP:g} in Euler angles and in quaternions, error of R after passing at a distance.",
)


class Counted:
    """A number that counts the operations on it."""

    multiplications = 0
    additions = 0

    def __init__(self, value: float) -> None:
        self.value = value

    @classmethod
    def of(cls, compute: Callable[..., object]) -> tuple[int, int]:
        """Multiplications and additions of a computation."""
        cls.multiplications = cls.additions = 0
        compute()
        return cls.multiplications, cls.additions

    def __mul__(self, other: Counted) -> Counted:
        Counted.multiplications += 1
        return Counted(self.value * other.value)

    def __add__(self, other: Counted) -> Counted:
        Counted.additions += 1
        return Counted(self.value + other.value)

    def __sub__(self, other: Counted) -> Counted:
        Counted.additions += 1
        return Counted(self.value - other.value)


def numbers(count: int) -> list[Counted]:
    """Different numbers whose operations are counted."""
    return [Counted(0.1 * k + 0.3) for k in range(count)]


def multiply_quaternions(p: list[Counted], q: list[Counted]) -> list[Counted]:
    """Hamilton's product."""
    a, b, c, d = p
    e, f, g, h = q
    return [
        a * e - b * f - c * g - d * h, a * f + b * e + c * h - d * g,
        a * g + c * e + d * f - b * h, a * h + d * e + b * g - c * f,
    ]  # fmt: skip


def multiply_matrices(p: list[Counted], q: list[Counted]) -> list[Counted]:
    """Rows times columns, nine numbers each."""
    return [p[3 * i] * q[j] + p[3 * i + 1] * q[3 + j] + p[3 * i + 2] * q[6 + j] for i in range(3) for j in range(3)]


def turn_by_matrix(m: list[Counted], x: list[Counted]) -> list[Counted]:
    """The product of a matrix and a vector."""
    return [m[3 * i] * x[0] + m[3 * i + 1] * x[1] + m[3 * i + 2] * x[2] for i in range(3)]


def turn_by_quaternion(q: list[Counted], x: list[Counted]) -> list[Counted]:
    """x + q0 t + v x t with t = 2 v x x."""
    v = q[1:]
    half = _cross(v, x)
    t = [u + u for u in half]
    across = _cross(v, t)
    return [x[k] + q[0] * t[k] + across[k] for k in range(3)]


def _cross(a: list[Counted], b: list[Counted]) -> list[Counted]:
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def _cost_rows() -> list[Row]:
    cases = {
        "product of quaternions": ((16, 12), lambda: multiply_quaternions(numbers(4), numbers(4))),
        "product of matrices": ((27, 18), lambda: multiply_matrices(numbers(9), numbers(9))),
        "vector turned by a matrix": ((9, 6), lambda: turn_by_matrix(numbers(9), numbers(3))),
        "vector turned by a quaternion": ((15, 15), lambda: turn_by_quaternion(numbers(4), numbers(3))),
    }
    rows, totals = [], {}
    for name, (known, compute) in cases.items():
        counted = Counted.of(compute)
        totals[name] = sum(counted)
        rows.append(
            Row(
                f"{name}: multiplications and additions",
                f"{counted[0]} + {counted[1]}",
                f"{known[0]} + {known[1]}",
                counted == known,
            )
        )
    ratio = totals["product of quaternions"] / totals["product of matrices"]
    rows.append(Row("product of quaternions / of matrices: operations", ratio, "< 1", ratio < 1.0, "as claimed", 3))
    ratio = totals["vector turned by a quaternion"] / totals["vector turned by a matrix"]
    rows.append(
        Row("vector turned by a quaternion / by a matrix: operations", ratio, "> 1", ratio > 1.0, "not as claimed", 3)
    )
    return rows


# Digits -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Drift:
    """Largest deviation from the constraint, and from the rotation by the whole angle, by number of products."""

    counts: tuple[int, ...]
    off_unit: dict[str, Array]
    off_angle: dict[str, Array]


def drift(counts: tuple[int, ...]) -> Drift:
    """Products of equal rotations, without correction."""
    k = np.arange(ROTATIONS)
    axes = np.stack([np.sin(1.0 + k), np.cos(2.0 + 3.0 * k), np.sin(4.0 + 5.0 * k)], axis=1)
    axes /= np.linalg.norm(axes, axis=1, keepdims=True)
    half = 0.5 * (0.1 + 0.01 * k)
    one = np.concatenate([np.cos(half)[:, None], np.sin(half)[:, None] * axes], axis=1)
    turn = rotations.to_matrix(one)
    q, m = one.copy(), turn.copy()
    unit: dict[str, list[float]] = {"quaternions": [], "matrices": []}
    angle: dict[str, list[float]] = {"quaternions": [], "matrices": []}
    done = 1
    for count in counts:
        for _ in range(count - done):
            q = rotations.multiply(q, one)
            m = m @ turn
        done = count
        whole = np.remainder(count * half, 2.0 * np.pi)
        right = rotations.to_matrix(np.concatenate([np.cos(whole)[:, None], np.sin(whole)[:, None] * axes], axis=1))
        unit["quaternions"].append(float(np.abs((q * q).sum(axis=1) - 1.0).max()))
        unit["matrices"].append(float(np.abs(m @ m.transpose(0, 2, 1) - np.eye(3)).max()))
        angle["quaternions"].append(float(np.abs(rotations.to_matrix(rotations.normalise(q)) - right).max()))
        angle["matrices"].append(float(np.abs(m - right).max()))
    return Drift(
        counts, {name: np.array(v) for name, v in unit.items()}, {name: np.array(v) for name, v in angle.items()}
    )


def _digit_rows(found: Drift) -> list[Row]:
    n = found.counts[-1]
    limit = 20.0 * EPS * n
    rows = [
        small(f"{name}: off the constraint after {n} products", values[-1], limit, remark="20 eps n")
        for name, values in found.off_unit.items()
    ]
    for name, values in found.off_angle.items():
        rows.append(small(f"{name}: error of the rotation after {n} products", values[-1], limit, remark="20 eps n"))
    ratio = found.off_unit["matrices"][-1] / found.off_unit["quaternions"][-1]
    remark = "neither loses more; but a quaternion is normalised by one square root"
    rows.append(Row("off the constraint: matrices / quaternions", ratio, "0.2 to 5", 0.2 < ratio < 5.0, remark, 3))
    ratio = found.off_angle["matrices"][-1] / found.off_angle["quaternions"][-1]
    rows.append(
        Row(
            "error of the rotation: matrices / normalised quaternions",
            ratio,
            "> 1",
            ratio > 1.0,
            "as claimed, by little",
            3,
        )
    )
    lost = angle_errors()
    exponent = power(ANGLES[:6], lost["trace of the matrix"][:6])
    rows.append(
        compare(
            "angle from the trace: exponent of its relative error",
            exponent,
            -2.0,
            within=0.3,
            remark="eps/angle^2: half of the digits",
            digits=3,
        )
    )
    rows.append(
        small(
            "angle from the quaternion: relative error",
            lost["quaternion"].max(),
            4.0 * EPS,
            remark="down to an angle of 1e-8",
        )
    )
    return rows


def angle_errors() -> dict[str, Array]:
    """Relative error of a small angle computed from a matrix."""
    axis = np.array((2.0, -1.0, 2.0)) / 3.0
    found: dict[str, list[float]] = {"trace of the matrix": [], "quaternion": []}
    for angle in ANGLES:
        q = np.concatenate([[math.cos(0.5 * angle)], math.sin(0.5 * angle) * axis])
        cosine = min(1.0, 0.5 * (float(np.trace(rotations.to_matrix(q))) - 1.0))
        read = {
            "trace of the matrix": math.acos(cosine),
            "quaternion": 2.0 * math.atan2(float(np.linalg.norm(q[1:])), float(q[0])),
        }
        for name, value in read.items():
            found[name].append(max(abs(value / angle - 1.0), 1e-17))
    return {name: np.array(values) for name, values in found.items()}


# Jumps ------------------------------------------------------------------------------------------------------------


def passing(distance: float) -> tuple[Array, Array]:
    """Time, and Euler angles (times, 3) of a body whose axis passes the vertical at this distance, with constant speed."""
    time = np.linspace(-1.0, 1.0, SAMPLES)
    none, half = np.zeros(SAMPLES), 0.5 * SPEED * time
    tilt = np.stack([np.cos(half), none, np.sin(half), none], axis=1)
    aside = np.array((math.cos(0.5 * distance), math.sin(0.5 * distance), 0.0, 0.0))
    return time, rotations.to_euler(rotations.multiply(tilt, aside))


def precession_speed(distance: float) -> float:
    """Largest rate of psi during the passage, in units of the speed of the axis."""
    time, angles = passing(distance)
    return float(np.abs(np.gradient(np.unwrap(angles[:, 0]), time)).max() / SPEED)


def pole_errors(distance: float) -> tuple[float, float]:
    """Errors of R after the passage: in Euler angles and in quaternions, same method and step, against a tenth of
    it."""
    euler, quaternion = symmetric_top("euler"), symmetric_top("quaternion")
    values = euler.system.parameters
    inertia, axial = float(values["I"]), float(values["I3"]) * SPIN
    # p_psi = p_phi would take the axis through the vertical; so it passes at about this distance
    vertical = axial + inertia * distance
    sine, cosine = math.sin(START_ANGLE), math.cos(START_ANGLE)
    rate = (vertical - axial * cosine) / (inertia * sine**2)
    start = euler.system.start(q=[0.0, START_ANGLE, 0.0], p=[vertical, -inertia * FALL, axial])
    body = quaternion.system
    momentum = (-inertia * rate * sine, -inertia * FALL, axial)  # in the body, at phi = 0
    other = body.start(rotations.from_euler([0.0, START_ANGLE, 0.0]), angular_momentum=momentum)
    right = _end(body, other, STEP / 10.0)
    return (
        float(np.abs(rotations.to_matrix(rotations.from_euler(_last(euler.system, start, STEP, "q"))) - right).max()),
        float(np.abs(_end(body, other, STEP) - right).max()),
    )


def _end(system: System, start: State, dt: float) -> Array:
    return rotations.to_matrix(rotations.normalise(_last(system, start, dt, "orientation")))


def _last(system: System, start: State, dt: float, name: str) -> Array:
    return np.asarray(follow_steps(driver_of(system, start, METHOD, dt), round(PASSED / dt))[name][-1])


def _jump_rows(distances: tuple[float, ...], errors: dict[float, tuple[float, float]]) -> list[Row]:
    speeds = [precession_speed(d) for d in distances]
    rows = [
        compare(
            "passing the pole: exponent of the rate of psi over the distance", power(distances, speeds), -1.0, within=0.05,
            remark=f"{speeds[-1]:.0f} times the speed of the axis at a distance of {distances[-1]:g}", digits=4,
        )
    ]  # fmt: skip
    _, angles = passing(0.0)
    jump = float(np.abs(np.diff(angles[:, 0])).max())
    rows.append(
        compare("through the pole: jump of psi", jump, math.pi, within=1e-9, remark="at a smooth motion", digits=6)
    )
    far, near = errors[distances[0]], errors[distances[-1]]
    for k, (name, wanted) in enumerate((("Euler angles", "> 100"), ("quaternions", "< 10"))):
        growth = near[k] / far[k]
        agrees = growth > 100.0 if k == 0 else growth < 10.0
        remark = f"{far[k]:.1e} at {distances[0]:g}, {near[k]:.1e} at {distances[-1]:g}"
        rows.append(Row(f"passing the pole in {name}: growth of the error", growth, wanted, agrees, remark, 3))
    return rows


def reproduce(out: Path, *, quick: bool = False) -> Report:
    """Counts, digits and jumps; fewer products and distances if `quick`. Nothing is compiled."""
    counts, distances = (QUICK_COUNTS, QUICK_DISTANCES) if quick else (COUNTS, DISTANCES)
    found = drift(counts)
    errors = {distance: pole_errors(distance) for distance in distances}
    folder = Folder(out)
    _draw(folder, found, errors)
    rows = [*_cost_rows(), *_digit_rows(found), *_jump_rows(distances, errors)]
    return folder.report(NAME, "Coordinates of rotations", rows, notes=NOTES)


def _draw(folder: Folder, found: Drift, errors: dict[float, tuple[float, float]]) -> None:
    with folder.picture("coordinates", width=9.8, height=3.4) as figure:
        products, read, pole = figure.subplots(1, 3)
        for number, name in enumerate(found.off_unit):
            style = line_style(number) | {"marker": MARKERS[number]}
            products.plot(found.counts, found.off_unit[name], label=f"{name}: constraint", **style)
            products.plot(
                found.counts, found.off_angle[name], label=f"{name}: rotation", markerfacecolor="white", **style
            )
        for number, (name, values) in enumerate(angle_errors().items()):
            read.plot(ANGLES, values, marker=MARKERS[number], label=name, **line_style(number))
        for number, name in enumerate(("Euler angles", "quaternions")):
            off = [pair[number] for pair in errors.values()]
            pole.plot(list(errors), off, marker=MARKERS[number], label=name, **line_style(number))
        labels = (
            ("products", "error"),
            ("angle", "relative error of the angle"),
            ("distance from the pole", "error of R"),
        )
        for ax, (x, y) in zip((products, read, pole), labels, strict=True):
            ax.set(xscale="log", yscale="log", xlabel=x, ylabel=y)
            legend_above(ax)
    columns: dict[str, ArrayLike] = {"products": found.counts}
    for name in found.off_unit:
        columns |= {f"{name}: constraint": found.off_unit[name], f"{name}: rotation": found.off_angle[name]}
    folder.numbers("coordinates_products", columns, digits=5)
    folder.numbers("coordinates_angles", {"angle": np.array(ANGLES)} | angle_errors(), digits=5)
    pairs = np.array(list(errors.values()))
    folder.numbers(
        "coordinates_pole",
        {"distance": list(errors), "Euler angles": pairs[:, 0], "quaternions": pairs[:, 1]},
        digits=5,
    )
