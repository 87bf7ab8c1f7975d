"""First terms of the modified energy, which a symplectic method conserves instead of H, for Stormer-Verlet and for a
body.

A symmetric splitting exp(h/2 A) exp(h B) exp(h/2 A) is the flow of H~ = A + B + h^2 H_2 + O(h^4) with [hairer2006] section IX.9

    H_2 = {B,{B,A}}/12 - {A,{A,B}}/24     ({f, g} with the sign for which df/dt = {f, H})

so along its path H varies by O(h^2), H + h^2 H_2 by O(h^4). For kick, drift, kick it is p.V''p/12 - |V'|^2/24. For a
body, {f, g} = -y.(f_y x g_y); three rotations are such a splitting applied twice, with the inner one in place of B,
whose own h^2 H_2 is added.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from ..methods.base import Method
from ..methods.rotors.rotations import SymmetricRotation, ThreeRotations
from ..methods.splitting.partitioned import StormerVerlet
from ..output.style import MARKERS, legend_above, line_style, plain_log_axis
from ..problems.classic import henon_heiles
from ..systems.base import Array, State, System
from ..systems.body import Body
from ..systems.free_body import FreeBody
from .report import Folder, Report, Row, compare, power
from .stepping import driver_of, follow_steps

NAME = "modified-energy"
ABOUT = "first terms of the modified energy of Stormer-Verlet and of splittings of a free body: kept to order 4 where H is to order 2"
SOURCE = ("A thesis on chains of rigid bodies", "its remarks on modified Hamiltonians")

MOMENTS, MOMENTUM = (0.6, 0.9, 1.3), (0.7, -0.5, 0.9)
T_END, QUICK_END = 20.0, 5.0
DTS, QUICK_DTS = (0.2, 0.1, 0.05), (0.2, 0.1)
ORDER_TOLERANCE = 0.15
NOTES = (
    "Swing: largest minus least value along the path, at every step, until t = 20. Henon-Heiles, and a free body with the moments",
    "0.6, 0.9, 1.3. With the sign of the term reversed, or its two parts exchanged, the swing of the sum stays at order 2.",
)


@dataclass(frozen=True)
class Case:
    """A method on a system, with H and H_2 as functions of the columns of its run."""

    title: str
    method: Method
    make: Callable[[], tuple[System, State]]
    energy: Callable[[dict[str, Array]], Array]
    term: Callable[[dict[str, Array]], Array]


# Henon-Heiles -----------------------------------------------------------------------------------------------------


def _separable() -> tuple[System, State]:
    problem = henon_heiles()
    return problem.system, problem.start


def _slope(q: Array) -> Array:
    x, y = q[:, 0], q[:, 1]
    return np.stack([x + 2.0 * x * y, y + x * x - y * y], axis=1)


def _curvature(q: Array, p: Array) -> Array:
    """p.V''p."""
    x, y = q[:, 0], q[:, 1]
    return (1.0 + 2.0 * y) * p[:, 0] ** 2 + 4.0 * x * p[:, 0] * p[:, 1] + (1.0 - 2.0 * y) * p[:, 1] ** 2


def _separable_energy(columns: dict[str, Array]) -> Array:
    (x, y), p = columns["q"].T, columns["p"]
    return 0.5 * (p * p).sum(axis=1) + 0.5 * (x * x + y * y) + x * x * y - y**3 / 3.0


def _separable_term(columns: dict[str, Array], *, kick_first: bool) -> Array:
    """{T,{T,V}} = p.V''p and {V,{V,T}} = |V'|^2: the part of the outer flow gets -1/24, that of the inner one 1/12."""
    drift, kick = _curvature(columns["q"], columns["p"]), (_slope(columns["q"]) ** 2).sum(axis=1)
    return drift / 12.0 - kick / 24.0 if kick_first else kick / 12.0 - drift / 24.0


# A free body ------------------------------------------------------------------------------------------------------


def _body() -> tuple[System, State]:
    system = FreeBody(Body(moments=MOMENTS))
    return system, system.start(angular_momentum=MOMENTUM)


def _body_energy(columns: dict[str, Array]) -> Array:
    return 0.5 * (columns["angular_momentum"] ** 2 / MOMENTS).sum(axis=1)


def double_bracket(outer: Array, inner: Array, y: Array) -> Array:
    """{f,{f,g}} of the quadratic forms f = outer.y^2/2 and g = inner.y^2/2, diagonal each, at (times, 3) momenta.

    {f, g} = -y.(outer y x inner y) = w y1 y2 y3 with w = -sum over cyclic (i, j, k) of (outer_j inner_k - outer_k inner_j).
    """
    w = -sum(outer[j] * inner[k] - outer[k] * inner[j] for j, k in ((1, 2), (2, 0), (0, 1)))
    gradient = w * np.stack([y[:, 1] * y[:, 2], y[:, 2] * y[:, 0], y[:, 0] * y[:, 1]], axis=1)
    return -(y * np.cross(outer * y, gradient)).sum(axis=1)


def _second_term(outer: Array, inner: Array, y: Array) -> Array:
    """H_2 of exp(h/2 outer) exp(h inner) exp(h/2 outer)."""
    return double_bracket(inner, outer, y) / 12.0 - double_bracket(outer, inner, y) / 24.0


def _symmetric_term(columns: dict[str, Array]) -> Array:
    """T = (a1 - a2) y1^2/2 outside, the rotation of a symmetric body inside; axes as chosen by the method."""
    order = SymmetricRotation().row(np.array(MOMENTS))[:3].astype(int)
    a = 1.0 / np.array(MOMENTS)
    outer = np.zeros(3)
    outer[order[0]] = a[order[0]] - a[order[1]]
    return _second_term(outer, a - outer, columns["angular_momentum"])


def _three_term(columns: dict[str, Array]) -> Array:
    a, y = 1.0 / np.array(MOMENTS), columns["angular_momentum"]
    first, second, third = (a * axis for axis in np.eye(3))
    return _second_term(first, second + third, y) + _second_term(second, third, y)


CASES = (
    Case("Henon-Heiles, kick first", StormerVerlet("A"), _separable, _separable_energy, partial(_separable_term, kick_first=True)),
    Case("Henon-Heiles, drift first", StormerVerlet("B"), _separable, _separable_energy, partial(_separable_term, kick_first=False)),
    Case("free body", SymmetricRotation(), _body, _body_energy, _symmetric_term),
    Case("free body", ThreeRotations(), _body, _body_energy, _three_term),
)  # fmt: skip


def swings(case: Case, dt: float, t_end: float) -> tuple[float, float]:
    """Ranges of H and of H + dt^2 H_2, in plain Python."""
    system, start = case.make()
    columns = follow_steps(driver_of(system, start, case.method, dt), round(t_end / dt))
    energy = case.energy(columns)
    return float(np.ptp(energy)), float(np.ptp(energy + dt * dt * case.term(columns)))


def reproduce(out: Path, *, quick: bool = False) -> Report:
    """Four splittings with three steps over t = 20; with two over t = 5 if `quick`."""
    dts, t_end = (QUICK_DTS, QUICK_END) if quick else (DTS, T_END)
    found = [np.array([swings(case, dt, t_end) for dt in dts]) for case in CASES]
    folder = Folder(out)
    _draw(folder, dts, found)
    rows = [row for case, values in zip(CASES, found, strict=True) for row in _rows(case, dts, values)]
    return folder.report(NAME, "Modified energies to second order", rows, notes=NOTES)


def _rows(case: Case, dts: tuple[float, ...], values: Array) -> list[Row]:
    rows = []
    for k, (name, order) in enumerate((("H", 2), ("H + dt^2 H_2", 4))):
        measured = power(dts[-2:], values[-2:, k])
        remark = f"{values[-1, k]:.1e} with dt = {dts[-1]:g}"
        title = f"{case.title}, {case.method}: order of the swing of {name}"
        rows.append(compare(title, measured, order, within=ORDER_TOLERANCE, remark=remark, digits=4))
    return rows


def _draw(folder: Folder, dts: tuple[float, ...], found: list[Array]) -> None:
    columns: dict[str, ArrayLike] = {"dt": dts}
    with folder.picture("modified_energy", width=6.4, height=3.8) as figure:
        ax = figure.subplots()
        for number, (case, values) in enumerate(zip(CASES, found, strict=True)):
            style = line_style(number) | {"marker": MARKERS[number]}
            ax.plot(dts, values[:, 0], label=f"{case.title}, {case.method}", **style)
            ax.plot(dts, values[:, 1], markerfacecolor="white", **style)
            columns |= {
                f"{case.title}, {case.method}: {name}": values[:, k] for k, name in enumerate(("H", "H + dt^2 H_2"))
            }
        ax.set(xscale="log", yscale="log", xlabel="dt", ylabel="swing of $H$; open: of $H + dt^2 H_2$")
        plain_log_axis(ax.xaxis)
        legend_above(ax)
    folder.numbers("modified_energy", columns, digits=6)
