"""A driver takes the state as its view packs it, and nothing else."""

from __future__ import annotations

import pytest

import catena as ct
from catena.engine.build import build
from catena.engine.driver import Driver


def test_a_state_of_another_length_is_refused() -> None:
    """Compiled code would write beyond its end: `Gauss` steps eight numbers of a top, the state has seven."""
    problem = ct.problems.kovalevskaya()
    program = build(problem.system, ct.Gauss(2), compiled=False)
    packed = program.view.pack(problem.start)
    with pytest.raises(ValueError, match="pack"):
        Driver(program, packed[:-1], t0=0.0, dt=0.1, every=1)
    assert Driver(program, packed, t0=0.0, dt=0.1, every=1).advance(1).status == 0


def test_theway_back_leads_to_every_number_of_the_state() -> None:
    """Back from a step, carry, scales and looks are those of before, too: z and e alone (the deliberate error) are not enough."""
    problem = ct.problems.kovalevskaya()
    program = build(problem.system, ct.Gauss(2), compiled=False)
    driver = Driver(program, program.view.pack(problem.start), t0=0.0, dt=0.1, every=1)
    driver.first_row()
    driver.advance(2)
    before, back = {name: array.tobytes() for name, array in driver.state().items()}, driver.way_back()
    driver.advance(1)
    changed = {name for name, array in driver.state().items() if array.tobytes() != before[name]}
    assert {"z", "e", "carry", "looks"} <= changed
    back()
    assert driver.step == 2
    assert {name: array.tobytes() for name, array in driver.state().items()} == before
