"""Why a published figure shows order 2 for every method: the multiplier at the start of the step, and a single step.

The equations with a multiplier are solved independently in plain arrays, for a tetrahedron beside a clamped one, with
lambda at every stage, or frozen at the start of each step as in the printed schemes. With lambda frozen,

    d(q.g)/dt = 2 (lambda(q) - lambda_0),   so that after a step q.g = lambda' h^2 + O(h^3) for every consistent method

except Euler B, whose forces are those of the start anyway: it conserves q.g in a step and has an |q|^2 - 1 of order 2.
So the larger of both errors of a step has order 2 for all methods. Over a given time the errors accumulate to order 1,
which no method in the figure shows either.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Array
from ..methods.runge_kutta.tableaux import gauss
from ..output.style import MARKERS, line_style, plain_log_axis
from ..problems.chains import helix_chain
from ..systems.phase_space import hat
from ..systems.potentials.pair_potentials import LennardJones
from .report import Folder, Report, Row, compare, power, small

NAME = "constraint-order"
ABOUT = (
    "unit quaternions with a multiplier: readings of the printed schemes, and which of them has order 2 for all methods"
)
SOURCE = ("A thesis on chains of rigid bodies", "figure 3.3 and equations 3.37 to 3.39")

DTS, QUICK_DTS = (0.02, 0.01, 0.005), (0.02, 0.01)
T_END = 0.2
PULL, AMP = (3.0, 0.0, 0.0), 0.5
CONVERGED, SWEEPS = 1e-15, 100
ORDER_TOLERANCE = 0.3
SEEN = 1e-13
NOTES = (
    "A tetrahedron beside a clamped one, both as in the helix, pulled by (3, 0, 0), amp = 0.5; J0 = 1; stages solved to round-off; t",
    "= 0.2. The data of the figure are not printed. Of the readings that were tried, one has order 2 for every method: the larger of",
    "both errors after a single step with the multiplier of its start. That is also what 3.38 and 3.39 say: to second order, in a",
    "step. Over a given time the only common order is 1.",
)


class Pair:
    """The equations with a multiplier: (r, q) and (p, g) of a body beside a clamped one, M(q) = R_hom + (|q|^2 - 1) 1."""

    def __init__(self) -> None:
        problem = helix_chain(2, right="force", F=PULL, amp=AMP)
        chain = problem.system
        body = chain.bodies[1]
        self.mass, self.inverse = float(body.mass), 1.0 / np.array(body.moments)
        self.corners = np.array(body.particles.positions)
        self.others = np.array(chain.particles(problem.start)[0])
        well = chain.potentials[0]
        assert isinstance(well, LennardJones)
        self.depth, self.sigma = well.epsilon, well.sigma
        start = problem.start
        q = start.orientation[1]
        momentum = 2.0 * matrix(q).T @ start.angular_momentum[1]
        self.start = np.concatenate([start.position[1], q, start.momentum[1], momentum])

    def forces(self, x: Array) -> tuple[Array, Array]:
        """-V_r and -V_q at (r, q)."""
        r, q = x[:3], x[3:]
        between = (r + self.corners @ rotation(q).T)[:, None] - self.others[None]
        square = (between * between).sum(axis=-1)
        u = (self.sigma**2 / square) ** 3
        push = ((24.0 * self.depth * (2.0 * u * u - u) / square)[..., None] * between).sum(axis=1)
        moment = push.T @ self.corners  # sum w X^T
        slope = np.array([(moment * derivative).sum() for derivative in rotation_derivatives(q)])
        return push.sum(axis=0) + PULL, slope

    def multiplier(self, x: Array) -> float:
        """lambda = -q.V_q/2, for |q| = 1."""
        return 0.5 * float(x[3:] @ self.forces(x)[1])

    def velocity(self, x: Array, y: Array) -> Array:
        """d(r, q)/dt; the scalar direction has the moment J0 = 1."""
        q, g = x[3:], y[3:]
        turned = 0.25 * matrix(q).T @ (self.inverse * (matrix(q) @ g)) + 0.25 * (q @ g) * q
        return np.concatenate([y[:3] / self.mass, turned])

    def force(self, x: Array, y: Array, frozen: float | None) -> Array:
        """d(p, g)/dt, with lambda at this state or as given."""
        q, g = x[3:], y[3:]
        push, slope = self.forces(x)
        lam = 0.5 * float(q @ slope) if frozen is None else frozen
        kinetic = 0.25 * ((q @ g) * g - matrix(g).T @ (self.inverse * (matrix(q) @ g)))
        return np.concatenate([push, -kinetic + slope - 2.0 * lam * q])


def matrix(q: Array) -> Array:
    """G(q), (3, 4)."""
    a, b, c, d = q
    return np.array([(-b, a, d, -c), (-c, -d, a, b), (-d, c, -b, a)])


def rotation(q: Array) -> Array:
    """R as printed: quadratic in q except for the subtracted 1."""
    return np.einsum("ijs,s->ij", np.array(rotation_derivatives(q)).transpose(1, 2, 0), 0.5 * q) - np.eye(3)


def rotation_derivatives(q: Array) -> list[Array]:
    """dM/dq_s of M = 2 (q0^2 - 1/2) 1 + 2 v v^T + 2 q0 hat(v), four matrices."""
    a, v = q[0], q[1:]
    found = [4.0 * a * np.eye(3) + 2.0 * hat(v)]
    for e in np.eye(3):
        found.append(2.0 * (np.outer(e, v) + np.outer(v, e)) + 2.0 * a * hat(e))
    return found


def solve(step: Callable[[Array], Array], guess: Array) -> Array:
    """The solution of a step by fixed-point iteration."""
    for _ in range(SWEEPS):
        found = step(guess)
        if np.abs(found - guess).max() <= CONVERGED * np.abs(found).max():
            return found
        guess = found
    return guess


def euler_a(pair: Pair, x: Array, y: Array, h: float, frozen: float | None) -> tuple[Array, Array]:
    """Positions at the new time, momenta at the old one."""
    new = solve(lambda found: x + h * pair.velocity(found, y), x)
    return new, y + h * pair.force(new, y, frozen)


def euler_b(pair: Pair, x: Array, y: Array, h: float, frozen: float | None) -> tuple[Array, Array]:
    """Momenta at the new time, positions at the old one."""
    new = solve(lambda found: y + h * pair.force(x, found, frozen), y)
    return x + h * pair.velocity(x, new), new


def verlet(pair: Pair, x: Array, y: Array, h: float, frozen: float | None) -> tuple[Array, Array]:
    """Half a step of Euler B, half a step of Euler A."""
    return euler_a(pair, *euler_b(pair, x, y, 0.5 * h, frozen), 0.5 * h, frozen)


def gauss_step(s: int) -> Callable[..., tuple[Array, Array]]:
    """Gauss's method with s stages."""
    tableau = gauss(s)
    b = np.array(tableau.b)
    a = np.array(tableau.mu) * b

    def step(pair: Pair, x: Array, y: Array, h: float, frozen: float | None) -> tuple[Array, Array]:
        z = np.concatenate([x, y])

        def rates(stages: Array) -> Array:
            return np.array(
                [np.concatenate([pair.velocity(w[:7], w[7:]), pair.force(w[:7], w[7:], frozen)]) for w in stages]
            )

        stages = solve(lambda found: z + h * a @ rates(found), np.tile(z, (s, 1)))
        z = z + h * b @ rates(stages)
        return z[:7], z[7:]

    return step


METHODS: dict[str, tuple[Callable[..., tuple[Array, Array]], int]] = {
    "Euler A": (euler_a, 1), "Euler B": (euler_b, 1), "Stormer-Verlet": (verlet, 2), "midpoint": (gauss_step(1), 2),
    "Gauss(2)": (gauss_step(2), 4), "Gauss(3)": (gauss_step(3), 6),
}  # fmt: skip
QUICK = ("Euler A", "Euler B", "Gauss(2)")


@dataclass(frozen=True)
class Reading:
    """Where lambda is evaluated, and the interval of the errors: a time, or a single step."""

    title: str
    frozen: bool
    single: bool

    def expected(self, method: str, k: int) -> int | None:
        """Order of |q|^2 - 1 (k = 0) and q.g (k = 1), as derived above; None if there is no error."""
        order = METHODS[method][1]
        if self.frozen and self.single and method == "Euler B" and k == 1:
            return None
        if not self.frozen:
            return order + 1 if self.single else order
        if not self.single:
            return 1
        return 2 if k == 1 or order == 1 else 3


READINGS = (
    Reading("lambda at every stage, t = 0.2", frozen=False, single=False), Reading("lambda frozen, t = 0.2", frozen=True, single=False),
    Reading("lambda frozen, one step", frozen=True, single=True),
)  # fmt: skip


def residuals(method: str, reading: Reading, dt: float) -> tuple[float, float]:
    """Largest |q|^2 - 1 and q.g along the run."""
    pair, (step, _) = Pair(), METHODS[method]
    x, y = pair.start[:7], pair.start[7:]
    worst = np.zeros(2)
    for _ in range(1 if reading.single else round(T_END / dt)):
        x, y = step(pair, x, y, dt, pair.multiplier(x) if reading.frozen else None)
        worst = np.maximum(worst, np.abs([x[3:] @ x[3:] - 1.0, x[3:] @ y[3:]]))
    return float(worst[0]), float(worst[1])


Found = dict[tuple[str, str], Array]


def reproduce(out: Path, *, quick: bool = False) -> Report:
    """Six methods in three readings; three of them if `quick`."""
    methods, dts = (QUICK, QUICK_DTS) if quick else (tuple(METHODS), DTS)
    found = {
        (reading.title, method): np.array([residuals(method, reading, dt) for dt in dts])
        for reading in READINGS
        for method in methods
    }
    folder = Folder(out)
    _draw(folder, dts, methods, found)
    rows = [row for reading in READINGS for method in methods for row in _rows(reading, method, dts, found)]
    rows.append(_common_row(methods, dts, found))
    return folder.report(
        NAME, "Constraint errors with a multiplier: readings of the printed schemes", rows, notes=NOTES
    )


def _order(dts: tuple[float, ...], values: Array) -> float:
    """Order from the errors above round-off; a fit for errors along the run, the last two for single steps."""
    seen = values > SEEN
    return power(np.array(dts)[seen], values[seen]) if seen.sum() > 1 else float("nan")


def _rows(reading: Reading, method: str, dts: tuple[float, ...], found: Found) -> list[Row]:
    rows = []
    for k, name in enumerate(("|q|^2 - 1", "q.g")):
        values = found[reading.title, method][:, k]
        expected = reading.expected(method, k)
        remark = f"{values[0]:.1e} at dt = {dts[0]:g}"
        title = f"{reading.title}, {method}:"
        if expected is None:
            rows.append(small(f"{title} {name}", values.max(), SEEN, remark="its forces are those of the start anyway"))
            continue
        order = _order(dts, values)
        rows.append(
            compare(f"{title} order of {name}", order, expected, within=ORDER_TOLERANCE, remark=remark, digits=3)
        )
    return rows


def _common_row(methods: tuple[str, ...], dts: tuple[float, ...], found: Found) -> Row:
    """The readings whose orders are all 2."""
    common = []
    for reading in READINGS:
        for k, name in enumerate(("|q|^2 - 1", "q.g", "the larger")):
            errors = (found[reading.title, method] for method in methods)
            orders = [_order(dts, values[:, k] if k < 2 else values.max(axis=1)) for values in errors]
            if all(abs(order - 2.0) < ORDER_TOLERANCE for order in orders):
                common.append(f"{name}, {reading.title}")
    wanted = "the larger, lambda frozen, one step"
    return Row("order 2 for every method", "; ".join(common) or "none", wanted, common == [wanted], "figure 3.3")


def _draw(folder: Folder, dts: tuple[float, ...], methods: tuple[str, ...], found: Found) -> None:
    columns: dict[str, ArrayLike] = {"dt": dts}
    with folder.picture("constraint_order", width=9.6, height=5.6) as figure:
        axes = figure.subplots(2, len(READINGS), sharex=True, sharey="row")
        for column, reading in zip(axes.T, READINGS, strict=True):
            for k, (ax, name) in enumerate(zip(column, ("$|q|^2 - 1$", "$q\\cdot g$"), strict=True)):
                for number, method in enumerate(methods):
                    values = found[reading.title, method][:, k]
                    columns[f"{reading.title}, {method}: {('unit', 'tangency')[k]}"] = values
                    ax.plot(dts, np.maximum(values, 1e-17), marker=MARKERS[number], label=method, **line_style(number))
                ax.set(xscale="log", yscale="log", ylabel=f"largest error of {name}" if reading is READINGS[0] else "")
                plain_log_axis(ax.xaxis)
            column[1].set_xlabel("dt")
            column[0].set_title(reading.title, fontsize=9)
        axes[0, -1].legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    folder.numbers("constraint_order", columns, digits=6)
