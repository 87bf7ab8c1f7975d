"""How well canonical methods conserve |q|^2 = 1 and q.g = 0 of a top in quaternions, as a function of the step.

In the form "quaternion" both are quadratic first integrals of a Hamiltonian on all of R^8; in the form "multiplier", the
equations with a Lagrange multiplier that hold only on the unit sphere, they are not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

import numpy as np

from ..geometry import rotations
from ..methods.base import Method
from ..methods.runge_kutta.implicit import Gauss, SunGeng
from ..methods.splitting.partitioned import EulerA, EulerB, StormerVerlet
from ..systems.body import Body
from ..systems.top.attitude import Gravity
from ..systems.top.top import Form, Top
from .constraint_picture import draw_constraint_errors
from .report import Folder, Row, compare, small
from .stepping import driver_of

METHODS: tuple[Method, ...] = (EulerA(), EulerB(), StormerVerlet(), Gauss(1), SunGeng(), Gauss(2), Gauss(3), Gauss(4))
QUICK: tuple[Method, ...] = (EulerA(), StormerVerlet(), Gauss(2))
DTS, QUICK_DTS = (0.16, 0.08, 0.04, 0.02, 0.01, 0.005), (0.04, 0.02)
T_END, QUICK_END = 0.96, 0.2
ROUND_OFF = 1e-13
ORDER_TOLERANCE = 0.25
NAMES = {"unit_residual": "|q|^2 - 1", "tangency_residual": "q.g"}
# Order of |q|^2 - 1 in the form "quaternion"; all other methods conserve it, and all conserve q.g.
LOST = {"EulerA": 1, "EulerB": 1, "StormerVerlet": 2}
NOTES = (
    "Constraints: largest |q|^2 - 1 and |q.g| on the way, for an asymmetric top. A published figure shows order 2 for all methods;",
    "we find round-off or, where a constraint is not an invariant of the method, its own order.",
)


@dataclass(frozen=True)
class Study:
    """Largest residuals (steps sizes, 2) of each method in one form of the equations."""

    form: Form
    dts: tuple[float, ...]
    residuals: dict[Method, np.ndarray]


def study(*, quick: bool = False) -> list[Study]:
    """Run all methods in both forms. The quick version is too short to be worth compiling."""
    dts, methods = (QUICK_DTS, QUICK) if quick else (DTS, METHODS)
    studies = []
    for form in get_args(Form):
        top = _asymmetric_top(form)
        found = {m: np.array([_residuals(top, m, dt, quick=quick) for dt in dts]) for m in methods}
        studies.append(Study(form, dts, found))
    return studies


def _asymmetric_top(form: Form) -> Top:
    """A top in which nothing vanishes by symmetry."""
    return Top(Body(moments=(1.0, 1.5, 2.0)), Gravity(1.0, (0.5, 0.25, -1.0)), form)


def _residuals(top: Top, method: Method, dt: float, *, quick: bool) -> tuple[float, float]:
    start = top.start(rotations.normalise([3.0, 1.0, 1.0, -1.0]), angular_momentum=(3.0, -2.0, 5.0))
    driver = driver_of(top, start, method, dt, compiled=not quick)
    chunk = driver.advance(round((QUICK_END if quick else T_END) / dt))
    if chunk.status != 0:
        return np.nan, np.nan
    columns = top.columns(chunk.rows)
    unit, tangency = (float(np.abs(columns[name]).max()) for name in NAMES)
    return unit, tangency


def rows(studies: list[Study]) -> list[Row]:
    """Order of each constraint error, or that there is none."""
    found = []
    for study in studies:
        for method, residuals in study.residuals.items():
            for k, name in enumerate(NAMES.values()):
                found.append(_row(study, method, residuals[:, k], name))
    return found


def _row(study: Study, method: Method, values: np.ndarray, name: str) -> Row:
    title = f"{study.form}, {method}: {name}"
    expected = _expected_order(study.form, method, name)
    if expected is None:
        return small(title, values.max(), ROUND_OFF, remark="round-off")
    seen = np.flatnonzero(values > ROUND_OFF)[-2:]
    order = float(np.log2(values[seen[0]] / values[seen[1]])) if len(seen) == 2 else np.nan
    remark = f"{values[seen[0]]:.1e} at dt = {study.dts[seen[0]]:g}" if len(seen) else "round-off"
    return compare(f"{title}: order", order, expected, within=ORDER_TOLERANCE, remark=remark, digits=4)


def _expected_order(form: Form, method: Method, name: str) -> int | None:
    if form == "multiplier":
        return method.traits.order
    return LOST.get(method.name) if name == NAMES["unit_residual"] else None


def draw(folder: Folder, studies: list[Study]) -> None:
    """Constraint errors over the step, one row of axes for each form."""
    residuals = {f'form = "{study.form}"': study.residuals for study in studies}
    draw_constraint_errors(folder, "top_constraints", studies[0].dts, residuals)
