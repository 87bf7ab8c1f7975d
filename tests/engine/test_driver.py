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
