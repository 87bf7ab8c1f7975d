"""The same bits compiled and not, alone and next to another thread, from one process to the next."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import catena as ct
from catena.engine.build import Program, build
from catena.engine.driver import Driver
from catena.engine.plain_python import interpret
from catena.methods.base import Method
from catena.running.crossings import crossing_of
from catena.running.plan import Problem

WATCHED = (ct.Section("zero", "q2 + sin(3*t)/5", 0, where="p1 < 9"),)

PAIRS = [
    (ct.problems.kepler(), ct.RK4()),
    pytest.param(ct.problems.kepler(), ct.Gauss(3), marks=pytest.mark.slow),
    (ct.problems.henon_heiles(), ct.Splitting(4)),
    (ct.problems.galactic(), ct.StormerVerlet()),
    (ct.problems.kepler(), ct.Composition(ct.StormerVerlet(), "yoshida4")),
]


def program_of(problem: Problem, method: Method, *, compiled: bool) -> Program:
    return build(problem.system, method, crossing=crossing_of(problem.system, WATCHED, ()), compiled=compiled)


def trace(problem: Problem, program: Program, *, steps: int) -> dict[str, bytes]:
    """Every bit of a run: samples, crossings, and all that a checkpoint would hold."""
    driver = Driver(program, program.view.pack(problem.start), t0=problem.start.time, dt=problem.dt, every=3)
    first = driver.first_row()
    parts = [driver.advance(size) for size in (1, steps // 3, steps - 1 - steps // 3)]
    assert all(part.status == 0 for part in parts)
    return {
        "rows": np.concatenate([first.rows, *(part.rows for part in parts)]).tobytes(),
        "crossings": np.concatenate([part.crossings for part in parts]).tobytes(),
        **{name: array.tobytes() for name, array in driver.state().items()},
    }


@pytest.mark.parametrize(("problem", "method"), PAIRS, ids=lambda part: getattr(part, "name", str(part)))
def test_compiled_code_gives_the_bits_of_plain_python(problem: Problem, method: Method) -> None:
    """No contraction, no reassociation; sqrt and / are rounded correctly everywhere, log and sin are the same libm."""
    plain = trace(problem, program_of(problem, method, compiled=False), steps=150)
    assert len(plain["crossings"]) > 0
    assert trace(problem, program_of(problem, method, compiled=True), steps=150) == plain


def test_the_comparison_of_bits_sees_a_sum_that_is_not_compensated() -> None:
    """The broken twin, wrong by one rounding a step."""
    problem = ct.problems.kepler()
    program = program_of(problem, ct.RK4(), compiled=False)
    broken = program.text.replace("e[i] = d - (after - before)", "e[i] = 0.0")
    assert broken != program.text
    wrong = replace(program, text=broken, module=interpret(broken))
    assert trace(problem, wrong, steps=150)["rows"] != trace(problem, program, steps=150)["rows"]


@pytest.mark.parametrize(
    "method",
    [ct.Composition(ct.StormerVerlet(), "yoshida4"), pytest.param(ct.Gauss(3), marks=pytest.mark.slow)],
    ids=str,
)
def test_two_drivers_in_two_threads_give_the_bits_of_each_alone(method: Method) -> None:
    """The compiled loop holds no lock and no state of its own: here both run it at the same time."""
    problem = ct.problems.kepler()
    other = Problem("other", problem.system, problem.system.start(q=[0.7, 0.1], p=[0.2, 1.1]), 0.02)
    program = program_of(problem, method, compiled=True)
    steps = 60_000
    alone = [trace(case, program, steps=steps) for case in (problem, other)]
    for _ in range(3):
        found: dict[int, Any] = {}
        gate = threading.Barrier(2)

        def work(number: int, case: Problem, found: dict[int, Any] = found, gate: threading.Barrier = gate) -> None:
            gate.wait()
            found[number] = trace(case, program, steps=steps)

        threads = [threading.Thread(target=work, args=pair) for pair in enumerate((problem, other))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [found[0], found[1]] == alone


def test_drivers_of_one_program_share_nothing() -> None:
    """Interleaved step by step, as threads would in the worst case."""
    problem = ct.problems.kepler()
    program = program_of(problem, ct.Gauss(3), compiled=False)
    starts = [program.view.pack(problem.start), program.view.pack(problem.start) * 1.01]

    def new(start: np.ndarray) -> Driver:
        return Driver(program, start, t0=0.0, dt=0.05, every=1)

    alone = [new(start) for start in starts]
    for driver in alone:
        driver.advance(10)
    mixed = [new(start) for start in starts]
    for _ in range(10):
        for driver in mixed:
            driver.advance(1)
    assert [driver.z.tobytes() for driver in mixed] == [driver.z.tobytes() for driver in alone]
