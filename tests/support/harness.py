"""The checks for every method, written once: they depend on traits and views, never on names.

Each `check_...` takes a method and asserts one claim; `tests/support/broken.py` contains methods that make the claim
falsely and must fail the same function. Everything about single steps is checked in arithmetic of 50 digits: the text
of the loop runs on other numbers (`tests/support/many_digits.py`), so that a defect of 1e-17 in a coefficient cannot
hide behind round-off.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any
from unittest import mock

import mpmath
import numpy as np
import pytest
from mpmath import mp

import catena as ct
import many_digits
from catena.engine import headers
from catena.engine.arrays import Arrays
from catena.engine.build import Program, build, program_parts
from catena.engine.driver import Driver
from catena.engine.looks import look_after
from catena.engine.pairing import can_treat
from catena.engine.plain_python import interpret
from catena.kernels.views import NOT_CONVERGED, SINGULAR
from catena.methods.base import Method, all_methods
from catena.methods.runge_kutta import iteration
from catena.running.auditing import AuditRow, assess, exact_limit
from catena.running.plan import Problem
from places import read_reference

ORDERS = read_reference("orders.toml")
LATE = {(row["problem"], row["method"]): row["tolerance"] for row in ORDERS["late"]}

DIGITS = 50


# Methods and problems -------------------------------------------------------------------------------------------


def examples() -> list[Method]:
    """The methods that represent all, from the registry."""
    return [method for kind in all_methods() for method in kind.examples()]


@cache
def problem(name: str) -> Problem:
    """A problem of `catena.problems`, or one below, by its name."""
    return EXTRA[name]() if name in EXTRA else getattr(ct.problems, name)()


def pairs(*names: str, where: Callable[[Method], bool] = lambda method: True) -> list[Any]:
    """Parameters (method, problem) for all methods with a trait that can treat a problem."""
    return [
        pytest.param(method, problem(name), id=f"{method}-{name}")
        for name in names
        for method in examples()
        if where(method) and can_treat(problem(name).system, method)
    ]


def slow_where(parameters: list[Any], is_slow: Callable[[Method, Problem], bool]) -> list[Any]:
    """The parameters (method, problem), with some of them left to long studies."""
    slow = [is_slow(*each.values) for each in parameters]
    return [
        pytest.param(*each.values, id=each.id, marks=pytest.mark.slow if long else ())
        for each, long in zip(parameters, slow, strict=True)
    ]


def each(where: Callable[[Method], bool] = lambda method: True) -> list[Any]:
    """Parameters (method,) for all methods with a trait."""
    return [pytest.param(method, id=str(method)) for method in examples() if where(method)]


def trough() -> Problem:
    """Two particles that repel and attract each other in a trough along x: a separable H with an invariant of every
    kind.

    Free along x: the total momentum (linear). The trap is isotropic in y and z: the angular momentum about x
    (bilinear), and the energy of the centre of mass along y (quadratic), for any pair potential. All
    coefficients are dyadic: with a rounded 1/3 the forces would be opposite only to 1e-17.
    """
    pair = "((x1 - x2)**2 + (y1 - y2)**2 + (w1 - w2)**2)"
    system = ct.Hamiltonian(
        f"(px1**2 + py1**2 + pw1**2 + px2**2 + py2**2 + pw2**2)/2 + (y1**2 + w1**2 + y2**2 + w2**2)/2"
        f" + {pair}**2/8 - {pair}/4",
        ["x1", "y1", "w1", "x2", "y2", "w2"],
        ["px1", "py1", "pw1", "px2", "py2", "pw2"],
        invariants={
            "momentum": "px1 + px2",
            "angular_momentum": "y1*pw1 - w1*py1 + y2*pw2 - w2*py2",
            "centre": "(py1 + py2)**2/4 + (y1 + y2)**2/4",
        },
    )
    start = system.start(q=[0.1, 0.5, -0.3, 0.7, -0.2, 0.4], p=[0.2, -0.1, 0.3, 0.1, 0.4, -0.2])
    return Problem("trough", system, start, 0.05)


def whirl() -> Problem:
    """The same for an H that is not separable: a rotating frame, a cyclic coordinate, a coupled oscillator."""
    system = ct.Hamiltonian(
        "(p1**2 + p2**2)/2 + (p1*q2 - p2*q1)/4 + (q1**2 + q2**2)**2/4 + p3**2*(1 + q1**2 + q2**2)/2"
        " + (p4**2 + q4**2)*(1 + (q1**2 + q2**2)/4)/2",
        ["q1", "q2", "q3", "q4"],
        ["p1", "p2", "p3", "p4"],
        invariants={"cyclic": "p3", "angular_momentum": "q1*p2 - q2*p1", "oscillator": "(p4**2 + q4**2)/2"},
    )
    return Problem("whirl", system, system.start(q=[0.6, 0.1, 0.0, 0.3], p=[-0.2, 0.5, 0.4, 0.7]), 0.05)


def driven_pendulum() -> Problem:
    """A pendulum driven by a torque that depends on time."""
    system = ct.Hamiltonian("p**2/2 - cos(q) - a*q*sin(w*t)", parameters={"a": 0.3, "w": 1.7})
    return Problem("driven_pendulum", system, system.start(q=1.0, p=0.2), 0.1)


def mathieu() -> Problem:
    """Mathieu's equation: a spring with oscillating stiffness."""
    system = ct.Hamiltonian("p**2/2 + k*q**2/2", parameters={"a": 1.3, "b": 0.4, "k": "a - 2*b*cos(2*t)"})
    return Problem("mathieu", system, system.start(q=1.0, p=0.0), 0.1)


def forced_chain() -> Problem:
    """Three masses and four springs between walls, the last mass shaken."""
    system = ct.Hamiltonian(
        "(p1**2 + p2**2 + p3**2)/2 + (q1**2 + (q2 - q1)**2 + (q3 - q2)**2 + q3**2)/2 - f*q3*cos(w*t)",
        ["q1", "q2", "q3"], ["p1", "p2", "p3"], {"f": 0.7, "w": 1.9},
    )  # fmt: skip
    return Problem("forced_chain", system, system.start(q=[0.3, -0.2, 0.1], p=[0.1, 0.4, -0.2]), 0.1)


DRIVEN = {"driven_pendulum": driven_pendulum, "mathieu": mathieu, "forced_chain": forced_chain}
EXTRA = {"trough": trough, "whirl": whirl, **DRIVEN}


# Running uncompiled and compiled --------------------------------------------------------------------------------


def driver(method: Method, of: Problem, *, dt: float, every: int = 1, compiled: bool = False) -> Driver:
    """A run from the start of the problem."""
    program = program_of(method, of, compiled=compiled)
    return Driver(program, program.view.pack(of.start), t0=of.start.time, dt=dt, every=every)


@cache
def program_of(method: Method, of: Problem, *, compiled: bool) -> Program:
    return build(of.system, method, compiled=compiled)


def final(method: Method, of: Problem, *, dt: float, steps: int, compiled: bool = False) -> np.ndarray:
    """z after the steps; nan if one of them failed."""
    run = driver(method, of, dt=dt, every=steps, compiled=compiled)
    return run.z if run.advance(steps).status == 0 else np.full_like(run.z, math.nan)


@dataclass(frozen=True)
class Kept:
    """An invariant in a run: the row of the audit, and the largest deviation that round-off explains."""

    row: AuditRow
    round_off: float


def audit(method: Method, of: Problem, *, dt: float, steps: int, every: int = 1, compiled: bool = False) -> list[Kept]:
    """Each invariant of the problem against what the method promises for it."""
    run = driver(method, of, dt=dt, every=every, compiled=compiled)
    rows = np.concatenate([run.first_row().rows, (chunk := run.advance(steps)).rows])
    assert chunk.status == 0, f"step {run.step + 1} of {steps} failed with status {chunk.status}"
    columns, time = of.system.columns(rows), np.arange(len(rows)) * every * dt
    kept, k = [], 0
    for invariant in of.system.invariants:
        scale = float(run.scale[k : k + invariant.width].max())
        k += invariant.width
        values = columns[invariant.name].reshape(len(rows), -1)
        row = assess(
            invariant.name, time, values, steps=steps, scale=scale, promised=method.traits.promise(invariant.tags),
            rows=len(of.system.invariants), continuous=invariant.continuous,
        )  # fmt: skip
        kept.append(Kept(row, exact_limit(steps, scale)))
    return kept


# The same text on numbers of 50 digits ----------------------------------------------------------------------------


def numbers(values: Any) -> np.ndarray:
    """An array of mpmath numbers, exactly equal to those given; integers stay integers."""
    given = np.asarray(values)
    if given.dtype.kind in "iub" or given.size == 0:
        return given
    kind = mp.mpc if given.dtype.kind == "c" else mp.mpf
    return np.vectorize(kind, otypes=[object])(given.astype(object))


UNWATCHED, NEVER = look_after(10**6), 2**62  # no look for 157 steps, no sample


def zeros(count: int) -> np.ndarray:
    return np.array([mp.mpf(0)] * count, dtype=object)


class Precise:
    """A method on a problem in `DIGITS` digits; its coefficients remain float64 numbers.

    `calls` counts the calls of each kernel of the system.
    """

    def __init__(self, method: Method, of: Problem) -> None:
        # An iteration ends at the round-off of its numbers, which is another level here.
        with mock.patch.multiple(iteration, NOISE=10.0 ** (3 - DIGITS), LEVEL=10.0 ** (3 - DIGITS)):
            self.view, self.stepper, parts = program_parts(of.system, method)
        arrays = Arrays.of(of.system, self.view, self.stepper)
        text = headers.module_text("precise", parts, arrays.types, header=headers.PYTHON, entry="@_fn")
        self.of = of
        self.module = interpret(text, many_digits.MATH)
        self.par = self.module.Parameters(**{name: numbers(array) for name, array in arrays.together.items()})
        self.tab = numbers(self.stepper.tab)
        self.calls: dict[str, int] = {}
        for part in parts:
            if part.origin.startswith("catena.systems"):
                setattr(self.module, part.name, self._counted(part.name))

    def _counted(self, name: str) -> Callable[..., Any]:
        kernel = getattr(self.module, name)

        def counted(*arguments: Any) -> Any:
            self.calls[name] = self.calls.get(name, 0) + 1
            return kernel(*arguments)

        return counted

    def computed(self, name: str, *arguments: Any) -> Any:
        """The result of a function of the module in the present precision; arrays are changed in place."""
        return many_digits.compute(getattr(self.module, name), *arguments)

    def start(self) -> np.ndarray:
        """The start of the problem; canonical variables are shifted so that nothing vanishes by symmetry."""
        z = numbers(self.view.pack(self.of.start))
        free = isinstance(self.of.system, ct.Hamiltonian)
        return z + np.array([mp.mpf(free) / (7 + k) for k in range(len(z))], dtype=object)

    def carry(self) -> np.ndarray:
        """The memory of a method before its first step."""
        return zeros(self.stepper.carry)

    def looks(self) -> np.ndarray:
        """The array for what the loop sees between samples; it is not used here."""
        width = self.of.system.invariant_width
        return zeros(6 * width).reshape(6, width)

    def steps(self, state: np.ndarray, dt: Any, count: int = 1, *, carry: np.ndarray | None = None) -> np.ndarray:
        """The state z + e after some steps; `carry` is used and changed in place."""
        system = self.of.system
        z, e = state.copy(), zeros(len(state))
        samples = np.empty((1, system.public_width + system.invariant_width), dtype=object)
        scale, none = zeros(system.invariant_width), zeros(0)
        status, made = self.computed(
            "advance", z, e, mp.mpf(0), mp.mpf(dt), UNWATCHED, count, NEVER, self.par, self.tab, zeros(self.stepper.work),
            self.carry() if carry is None else carry, samples, scale, self.looks(), zeros(1), none, none,
            none.reshape(0, 1),
        )  # fmt: skip
        assert (status, made) == (0, count), f"step {made + 1} failed with status {status}"
        return z + e

    def invariants(self, state: np.ndarray) -> np.ndarray:
        """The invariants at a state."""
        system = self.of.system
        samples = np.empty((1, system.public_width + system.invariant_width), dtype=object)
        none = zeros(0)
        self.computed(
            "advance", state, zeros(len(state)), mp.mpf(0), mp.mpf(0), 0, 0, 1, self.par, self.tab, zeros(self.stepper.work),
            self.carry(), samples, zeros(system.invariant_width), self.looks(), zeros(1), none, none, none.reshape(0, 1),
        )  # fmt: skip
        return samples[0, system.public_width :]


def largest(values: Any) -> Any:
    """Largest magnitude."""
    return max(abs(value) for value in values)


def symplectic_defect(method: Method, of: Problem, *, dt: float = 0.1) -> Any:
    """Largest element of D^T J D - J, D the derivative of a step by central differences of 1e-15."""
    with mpmath.workdps(DIGITS):
        program = Precise(method, of)
        start, gap = program.start(), mp.mpf(10) ** -15
        n = len(start)
        unit = np.array([[mp.mpf(i == k) for i in range(n)] for k in range(n)], dtype=object)
        columns = [
            (program.steps(start + gap * unit[k], dt) - program.steps(start - gap * unit[k], dt)) / (2 * gap)
            for k in range(n)
        ]
        d = mp.matrix([list(column) for column in columns]).T
        j = mp.matrix(n, n)
        for k in range(n // 2):
            j[k, k + n // 2], j[k + n // 2, k] = mp.mpf(1), mp.mpf(-1)
        return largest(d.T * j * d - j)


def reversal_defect(method: Method, of: Problem, *, dt: float = 0.1) -> Any:
    """Distance from the start after a step forward and one back."""
    with mpmath.workdps(DIGITS):
        program = Precise(method, of)
        start = program.start()
        return largest(program.steps(program.steps(start, dt), -dt) - start)


def invariant_defects(method: Method, of: Problem, *, dt: float = 0.1, steps: int = 3) -> dict[str, Any]:
    """Change of each invariant in a few steps."""
    with mpmath.workdps(DIGITS):
        program = Precise(method, of)
        start = program.start()
        change = program.invariants(program.steps(start, dt, steps)) - program.invariants(start)
        defects, k = {}, 0
        for invariant in of.system.invariants:
            defects[invariant.name] = largest(change[k : k + invariant.width])
            k += invariant.width
        return defects


def cold_start_defect(method: Method, of: Problem, *, dt: float = 0.05) -> Any:
    """Difference between a third step with the memory of two steps, and with a carry of zeros."""
    with mpmath.workdps(DIGITS):
        program = Precise(method, of)
        carry = program.carry()
        second = program.steps(program.start(), dt, 2, carry=carry)
        return largest(program.steps(second, dt, carry=carry) - program.steps(second, dt))


def evaluations(method: Method, of: Problem, *, dt: float) -> dict[str, int]:
    """Calls of each kernel of the system in one step."""
    with mpmath.workdps(20):
        program = Precise(method, of)
        program.steps(program.start(), dt)
        return program.calls


# Claims -----------------------------------------------------------------------------------------------------------

# Differences of 1e-15 have errors of 1e-30 times third derivatives (measured up to 7e-30); careless coefficients 1e-17.
SYMPLECTIC_LEVEL = 1e-26
# Round-off of 50 digits after a few dozen operations (measured up to 7e-52) and at most 200 sweeps.
PRECISE_LEVEL = 1e-45


def check_symplectic(method: Method, of: Problem) -> None:
    assert symplectic_defect(method, of) < SYMPLECTIC_LEVEL


def check_symmetric(method: Method, of: Problem) -> None:
    assert reversal_defect(method, of) < PRECISE_LEVEL


def check_keeps_exactly(method: Method, of: Problem) -> None:
    """Everything that the traits promise to conserve exactly is conserved in 50 digits."""
    defects = invariant_defects(method, of)
    for invariant in of.system.invariants:
        if method.traits.promise(invariant.tags) == "exact":
            assert defects[invariant.name] < PRECISE_LEVEL, invariant.name


def check_promises(method: Method, of: Problem, **length: Any) -> None:
    """A run conserves what is promised: exactly, up to round-off; bounded, without drift. What is declared to drift
    does drift.

    A drift below the level of round-off does not count: the audit calls 3 in 100 pure random walks a drift.
    """
    for kept in audit(method, of, **length):
        row = kept.row
        assert row.verdict not in ("too short", "broken"), row
        if row.promised == "exact":
            assert row.worst <= kept.round_off, row
        elif row.promised == "bounded":
            assert row.verdict != "drifts" or row.worst <= kept.round_off, row
        elif row.promised == "drifts":
            assert row.verdict == "drifts", row


def check_cold_start(method: Method, of: Problem) -> None:
    assert cold_start_defect(method, of) < PRECISE_LEVEL


def check_never_iterates(method: Method, of: Problem) -> None:
    """The number of evaluations in a step does not depend on its length."""
    assert evaluations(method, of, dt=0.2) == evaluations(method, of, dt=1e-3)


def check_resumes(method: Method, of: Problem) -> None:
    """60 steps in one run, and in two drivers that share only `state()`: same bits."""
    dt = of.dt / 10
    whole, first, second = (driver(method, of, dt=dt, every=10) for _ in range(3))
    rows = whole.advance(60).rows
    before = first.advance(23).rows
    second.restore(first.step, {name: array.copy() for name, array in first.state().items()})
    after = second.advance(37).rows
    assert whole.step == second.step == 60
    assert np.concatenate([before, after]).tobytes() == rows.tobytes()
    for name, array in whole.state().items():
        assert second.state()[name].tobytes() == array.tobytes(), name


def check_failures_leave_the_state(method: Method, of: Problem) -> int:
    """If a step that is far too long fails, z and e are unchanged; returns the number of failures."""
    failed = 0
    for dt in np.geomspace(0.5, 5e3, 15):
        run = driver(method, of, dt=of.dt / 10)
        run.advance(20)
        z, e = run.z.copy(), run.e.copy()
        run.dt = dt
        status, _ = run._call(1, np.empty((1, run.program.width)))  # `advance` would restore the state itself
        if status in (NOT_CONVERGED, SINGULAR):
            failed += 1
            assert (run.z.tobytes(), run.e.tobytes()) == (z.tobytes(), e.tobytes()), f"dt = {dt}"
    return failed


# Order --------------------------------------------------------------------------------------------------------------

FLOOR = 1e-12  # below it round-off contributes
CEILING = {
    1: 5e-2
}  # above it the error is not yet asymptotic; order 1 cannot get smaller with an affordable number of steps
USUAL_CEILING = 3e-3
FEWEST_POINTS, MOST_POINTS = 3, 4
ORDER_TOLERANCE = 0.15
MOST_STEPS = {1: 4096, 2: 1024, 3: 1024, 4: 2048, 5: 512, 6: 512, 7: 512, 8: 256}
PATIENCE = 8  # times as many steps if the leading term of the error is small by chance and hidden by the next ones
HIGHEST_MEASURED = 8  # above it nothing remains between ceiling and floor; local errors are measured instead


@dataclass(frozen=True)
class OrderStudy:
    """Errors at the end for several numbers of steps; the slope is that of the finest few between ceiling and floor."""

    order: int
    steps: tuple[int, ...]
    errors: tuple[float, ...]

    @property
    def used(self) -> list[tuple[int, float]]:
        """The points that are used."""
        ceiling = CEILING.get(self.order, USUAL_CEILING)
        inside = [(n, error) for n, error in zip(self.steps, self.errors, strict=True) if FLOOR <= error <= ceiling]
        return inside[-MOST_POINTS:]

    @property
    def slope(self) -> float:
        """Measured order; nan if there are too few points."""
        if len(self.used) < FEWEST_POINTS:
            return math.nan
        n, error = np.log(np.array(self.used)).T
        return -float(np.polyfit(n, error, 1)[0])

    def __str__(self) -> str:
        table = "\n".join(f"  {n:6d} steps: {error:.3e}" for n, error in zip(self.steps, self.errors, strict=True))
        return (
            f"declared order {self.order}, measured {self.slope:.3f} from the last {len(self.used)} points of\n{table}"
        )


def order_study(method: Method, of: Problem, *, patience: int = 1) -> OrderStudy:
    """Run to a fixed time with increasing numbers of steps, until the error reaches the floor or the work is enough."""
    order, reference = method.traits.order, ORDERS[of.name]
    ratio = min(2.0, 4.0 ** (1 / order))  # the error falls by 4 from one to the next
    most = patience * MOST_STEPS[order]
    steps, errors = [], []
    n = 8.0
    while n < 1.01 * most and (not errors or not errors[-1] < FLOOR):
        count = round(n)
        end = final(method, of, dt=reference["t_end"] / count, steps=count)
        steps.append(count)
        errors.append(float(np.abs(end - reference["end"]).max()))
        n *= ratio
    return OrderStudy(order, tuple(steps), tuple(errors))


def check_order(method: Method, of: Problem) -> OrderStudy:
    study = order_study(method, of)
    tolerance = LATE.get((of.name, str(method)), ORDER_TOLERANCE)
    if tolerance < abs(study.slope - study.order) < 1.0:  # not yet asymptotic, or wrong: finer steps decide
        study = order_study(method, of, patience=PATIENCE)
    assert abs(study.slope - study.order) < tolerance, str(study)
    return study
