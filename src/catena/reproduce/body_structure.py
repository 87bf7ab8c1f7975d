"""The properties of methods for the free rotation, measured: order, and effect of one step on invariants and
structures.

A step is differentiated by running the text of the loop on numbers of 32 digits. With the variation R hat(xi) of the
orientation, the derivative M of (xi, y) after the step by (xi, y) before it is symplectic if M^T W(y') M = W(y),
W(y) = [[-hat(y), 1], [-1, 0]]; its part in y is a Poisson map if M_yy hat(y) M_yy^T = hat(y').
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from types import ModuleType

import numpy as np
from numpy.typing import ArrayLike

from ..engine import headers
from ..engine.arrays import Arrays
from ..engine.build import program_parts
from ..engine.plain_python import interpret
from ..geometry.free_motion import free_motion
from ..methods.base import Method
from ..systems.body import Body
from ..systems.free_body import FreeBody

DIGITS = 32
# Central differences of sixth order have errors of GAP^6; 1e-28 of 32 digits remains.
GAP, FLOOR = 2.0**-13, 1e-20
# A closed form is written for doubles and evaluated with them: larger differences, and a higher floor.
CLOSED_GAP, CLOSED_FLOOR = 2.0**-6, 1e-11
DIFFERENCES = ((1, 45.0), (2, -9.0), (3, 1.0))  # /60

MOMENTS, MOMENTUM, ORIENTATION = (0.6, 0.9, 1.3), (0.7, -0.5, 0.9), (5.0, 1.0, -7.0, 2.0)
DT = 0.3

# Order: errors at T with n, 1.125 n, ... steps, as long as doubles resolve them.
T_END, FEWEST, MOST, GROWTH = 4.0, 8, 80, 1.125
SMALLEST, LARGEST, FITTED, FEWEST_FITTED = 3e-13, 0.3, 6, 4

KEPT = ("R y", "C", "H", "Poisson", "symplectic")


@dataclass(frozen=True)
class Structure:
    """Measured properties of a method.

    Attributes
    ----------
    order : measured; inf without step error, nan if it cannot be measured
    defects : errors of one step of `DT` in R y, C = |y|^2/2, H, the Poisson and the symplectic structure
    floor : largest defect that counts as zero
    """

    order: float
    defects: tuple[float, ...]
    floor: float

    @property
    def marks(self) -> str:
        """+ for what is conserved, - for what is lost, in the order of `KEPT`."""
        return " ".join("-" if defect > self.floor else "+" for defect in self.defects)

    @property
    def lost(self) -> str:
        """What is lost, and by how much."""
        parts = zip(KEPT, self.defects, strict=True)
        return ", ".join(f"{name} {defect:.0e}" for name, defect in parts if defect > self.floor)


def measure_structure(method: Method, *, dt: float = DT) -> Structure:
    """Order and structure of a method on a free body."""
    closed = method.traits.exact
    return Structure(measure_order(method), step_defects(method, dt=dt), CLOSED_FLOOR if closed else FLOOR)


def step_defects(method: Method, *, dt: float) -> tuple[float, ...]:
    """Defects of R y, C, H, the Poisson and the symplectic structure in one step; see `Structure`."""
    import mpmath

    with mpmath.workdps(DIGITS):
        step = _Step(method, math if method.traits.exact else mpmath.mp)
        before, after = step.start, step.steps(step.start, dt)
        change = abs(_invariants(after) - _invariants(before))
        m = step.derivative(dt, after, CLOSED_GAP if method.traits.exact else GAP)
        poisson = m[3:, 3:] @ _hat(before[4:]) @ m[3:, 3:].T - _hat(after[4:])
        symplectic = m.T @ _two_form(after[4:]) @ m - _two_form(before[4:])
        return tuple(float(x) for x in (change[:3].max(), *change[3:], abs(poisson).max(), abs(symplectic).max()))


def measure_order(method: Method) -> float:
    """The p of error = c h^p exp(b h^2) at time T; inf if the largest step already has no error, nan if too few errors
    are visible.

    All these methods are symmetric, so their errors have an expansion in h^2; without b, orders 10 and 12 seem too high by
    0.2 at the steps whose errors doubles resolve.
    """
    step = _Step(method, math)
    y, q = free_motion(MOMENTS, MOMENTUM, q0=ORIENTATION, times=[T_END])
    counts: list[int] = []
    errors: list[float] = []
    count = float(FEWEST)
    while count <= MOST and (not errors or errors[-1] > SMALLEST):
        counts.append(round(count))
        z = step.steps(step.start, T_END / counts[-1], counts[-1])
        sign = math.copysign(1.0, float(z[:4] @ q[0]))
        errors.append(max(np.abs(z[4:] - y[0]).max(), np.abs(sign * z[:4] - q[0]).max()))
        count *= GROWTH
    used = [(T_END / n, e) for n, e in zip(counts, errors, strict=True) if SMALLEST < e < LARGEST][-FITTED:]
    if errors[0] <= SMALLEST:
        return math.inf
    return leading_power(*np.array(used).T) if len(used) >= FEWEST_FITTED else math.nan


def leading_power(h: ArrayLike, error: ArrayLike) -> float:
    """The p of error = c h^p exp(b h^2), by least squares on the logarithms."""
    steps = np.asarray(h, dtype=float)
    terms = np.stack([np.ones_like(steps), np.log(steps), steps * steps], axis=1)
    return float(np.linalg.lstsq(terms, np.log(np.asarray(error, dtype=float)), rcond=None)[0][1])


class _Step:
    """A method on a free body, run uncompiled on the numbers of a math module: z = (q, y)."""

    def __init__(self, method: Method, math_module: ModuleType) -> None:
        system = FreeBody(Body(moments=MOMENTS))
        view, self.stepper, parts = program_parts(system, method)
        made = Arrays.of(system, view, self.stepper)
        text = headers.module_text("step", parts, made.types, header=headers.PYTHON, entry="@_fn")
        self.module: ModuleType = interpret(text, math_module)
        self.math = math_module
        arrays = made.together
        arrays["inverse"] = 1 / self.numbers(MOMENTS)  # in full precision, not rounded
        self.par = self.module.Parameters(**{name: self.numbers(array) for name, array in arrays.items()})
        self.width = system.public_width + system.invariant_width
        q = self.numbers(ORIENTATION)
        self.start = np.concatenate([q / self.math.sqrt(q @ q), self.numbers(MOMENTUM)])

    def numbers(self, values: ArrayLike) -> np.ndarray:
        """An array of numbers of this math module."""
        array = np.array(values)
        if self.math is math:
            return array.astype(float)
        return np.vectorize(self.math.mpf, otypes=[object])(array) if array.size else array.astype(object)

    def steps(self, z: np.ndarray, dt: float, count: int = 1) -> np.ndarray:
        """z after some steps with an empty memory of earlier steps."""
        z, e = z.copy(), self.numbers(np.zeros(7))
        work, carry = (self.numbers(np.zeros(size)) for size in (self.stepper.work, self.stepper.carry))
        none, row = np.zeros(0), np.zeros((1, self.width), dtype=z.dtype)
        status, _ = self.module.advance(
            z, e, 0.0, self.numbers(dt)[()], 0, count, count + 1, self.par, self.numbers(self.stepper.tab), work, carry,
            row, self.numbers(np.zeros(self.width)), self.numbers(np.zeros((6, self.width))), np.zeros(1), none, none,
            none.reshape(0, 1),
        )  # fmt: skip
        return z + e if status == 0 else np.full(7, np.nan)

    def derivative(self, dt: float, after: np.ndarray, gap: float) -> np.ndarray:
        """(6, 6) derivative of (xi, y) after a step by (xi, y) before it."""
        back = after[:4] * np.array([1, -1, -1, -1])
        columns = []
        for k in range(6):
            column = 0
            for distance, weight in DIFFERENCES:
                ends = [self.steps(self._move(k, sign * distance * gap), dt) for sign in (1, -1)]
                forward, backward = (np.concatenate([2 * _product(back, z[:4])[1:], z[4:]]) for z in ends)
                column = column + weight * (forward - backward)
            columns.append(column / (60 * self.numbers(gap)[()]))
        return np.stack(columns, axis=1)

    def _move(self, k: int, by: float) -> np.ndarray:
        z, half = self.start.copy(), self.numbers(by)[()] / 2
        if k < 3:
            turn = self.numbers([0.0, 0.0, 0.0, 0.0])
            turn[0], turn[1 + k] = self.math.cos(half), self.math.sin(half)
            z[:4] = _product(z[:4], turn)
        else:
            z[1 + k] += 2 * half
        return z


def _product(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Hamilton product of quaternions with components of any type."""
    return np.array(
        [
            p[0] * q[0] - p[1] * q[1] - p[2] * q[2] - p[3] * q[3],
            p[0] * q[1] + p[1] * q[0] + p[2] * q[3] - p[3] * q[2],
            p[0] * q[2] + p[2] * q[0] + p[3] * q[1] - p[1] * q[3],
            p[0] * q[3] + p[3] * q[0] + p[1] * q[2] - p[2] * q[1],
        ]
    )


def _invariants(z: np.ndarray) -> np.ndarray:
    """R y, C and H of z = (q, y)."""
    q, y = z[:4], z[4:]
    turned = _product(_product(q, np.array([0, *y])), q * np.array([1, -1, -1, -1]))[1:]
    squares = y * y
    return np.array([*turned, sum(squares) / 2, sum(s / i for s, i in zip(squares, MOMENTS, strict=True)) / 2])


def _hat(w: np.ndarray) -> np.ndarray:
    return np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])


def _two_form(y: np.ndarray) -> np.ndarray:
    """[[-hat(y), 1], [-1, 0]]."""
    one = np.eye(3, dtype=int)
    return np.block([[-_hat(y), one], [-one, 0 * one]])
