"""The cost of accuracy: methods run with several step sizes, error against evaluations or time."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from ..engine.build import Program, build
from ..engine.driver import Driver
from ..errors import CapabilityError, InputError, StepFailure
from ..kernels import views
from ..kernels.marks import Filling, Written
from ..kernels.views import View
from ..methods.base import Method, method_from
from ..running.plan import Problem, positive_number, step_count
from ..systems.base import State, System

Cost = Literal["evaluations", "time"]

# Each of these computes dp/dt once, alone or together with dq/dt.
COUNTED = (views.field, views.registers, views.momentum_rate, views.force)
REPETITIONS = 3


class Point(NamedTuple):
    """One run of a method: step size, cost, and error at the end."""

    dt: float
    cost: float
    error: float


@dataclass(frozen=True)
class Work:
    """The points of each method, in the order of the step sizes, and the reference of the errors."""

    by_method: Mapping[Method, tuple[Point, ...]]
    against: str


class Counting:
    """A system that counts, in its scratch, the evaluations of dp/dt; its results have the same bits."""

    def __init__(self, system: System) -> None:
        self._system = system

    def __getattr__(self, name: str) -> Any:
        return getattr(self._system, name)

    def view(self, name: str) -> View | None:
        """The view of the system, with counting kernels."""
        view = self._system.view(name)
        if view is None:
            return None
        fills = {slot: _counting(kernel) if slot in COUNTED else kernel for slot, kernel in view.fills.items()}
        return replace(view, fills=fills, scratch=lambda: {**view.scratch(), "evaluations": np.zeros(1)})


def _counting(kernel: Filling) -> Written:
    if not isinstance(kernel, Written):
        raise CapabilityError(
            f"evaluations of {getattr(kernel, '__name__', kernel)} cannot be counted", do='use cost="time"'
        )
    head, body = kernel.text.split("\n", 1)
    return replace(kernel, text=f"{head}\n    par.evaluations[0] += 1.0\n{body}")


def natural_cost(system: System) -> Cost:
    """Evaluations if they can be counted: the field of a Hamiltonian is generated; kernels of bodies are fixed."""
    view = system.view("field")
    written = view is not None and isinstance(view.fills.get(views.field), Written)
    return "evaluations" if written else "time"


def measure_work(
    problem: Problem,
    methods: Sequence[Method],
    dts: Sequence[float],
    *,
    t_end: float,
    cost: Cost = "evaluations",
    reference: State | None = None,
) -> Work:
    """Run each method with each step size; a run that fails gives no point. Arguments as for `plots.work_precision`."""
    if cost not in get_args(Cost):
        raise InputError(f"cost = {cost!r}", where="work_precision.cost", do='choose "evaluations" or "time"')
    if not methods or not dts:
        raise InputError("nothing to compare", where="work_precision", do="give at least one method and one dt")
    start = problem.start
    counts = {positive_number(dt, "dts"): step_count(dt, start.time, steps=None, t_end=t_end) for dt in dts}
    against, right = _reference(problem, min(counts), t_end, reference)

    by_method: dict[Method, tuple[Point, ...]] = {}
    for method in methods:
        counting = Counting(problem.system) if cost == "evaluations" else None
        program = build(counting or problem.system, method)  # type: ignore[arg-type]  # Counting stands for its system
        points = []
        for dt, steps in counts.items():
            try:
                state, spent = _run(program, start, dt, steps, counting=counting is not None)
            except StepFailure:
                continue
            points.append(Point(dt, spent, _distance(state, right)))
        by_method[method] = tuple(points)
    return Work(by_method, against)


def _reference(problem: Problem, dt: float, t_end: float, given: State | None) -> tuple[str, State]:
    if given is not None:
        return "the given state", given
    if problem.exact is not None:
        return "the exact solution", problem.exact(t_end)
    method = method_from({"kind": "Gauss", "stages": 6})
    steps = 2 * step_count(dt, problem.start.time, steps=None, t_end=t_end)
    state, _ = _run(build(problem.system, method), problem.start, dt / 2, steps, counting=False)
    return f"{method}, dt = {dt / 2:g}", state


def _run(program: Program, start: State, dt: float, steps: int, *, counting: bool) -> tuple[State, float]:
    """The state after the steps, and the cost: evaluations, or the shortest of several times."""
    seconds = []
    for _ in range(1 if counting else REPETITIONS):
        driver = Driver(program, program.view.pack(start), t0=start.time, dt=dt, every=steps)
        began = time.perf_counter()
        chunk = driver.advance(steps)
        seconds.append(time.perf_counter() - began)
        if chunk.status > views.OK:
            raise StepFailure("a step failed", step=driver.step + 1, time=driver.time, do=program.method.advice())
    spent = float(driver.par.evaluations[0]) if counting else min(seconds)
    return program.view.unpack(driver.z, driver.time), spent


def _distance(state: State, right: State) -> float:
    """Largest difference of any component."""
    return float(max(np.abs(state.fields[name] - right.fields[name]).max() for name in state.fields))
