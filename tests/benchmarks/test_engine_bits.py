"""The yardstick in C computes what the compiled loops compute, to the last bit; otherwise its times would mean nothing."""

from __future__ import annotations

import shutil
from typing import Any

import numpy as np
import pytest

import catena as ct
from catena.engine.build import build

engine: Any = pytest.importorskip("engine")

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
STEPS = 3000


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return engine.compiled_c(tmp_path_factory.mktemp("c"))


def both(name: str, function: str, library: Any) -> tuple[Any, Any]:
    """State and compensation after some steps: by our loop, and in C."""
    method, dt, _, _ = engine.NEAR_C[name]
    program = build(ct.problems.galactic().system, method)
    return engine.run_ours(program, dt, STEPS), engine.run_c(getattr(library, function), program, dt, STEPS)


FORMS = [
    pytest.param(name, function, id=function, marks=[pytest.mark.slow] if "gauss" in name.lower() else [])
    for name, (_, _, _, functions) in engine.NEAR_C.items()
    for function in functions
]


@pytest.mark.parametrize(("name", "function"), FORMS)
def test_the_loop_and_strict_c_agree_to_the_last_bit(name: str, function: str, libraries: dict[str, Any]) -> None:
    ours, theirs = both(name, function, libraries["strict"])
    assert engine.same_bits(ours, theirs)


@pytest.mark.parametrize(("name", "function"), FORMS)
def test_fused_multiplications_are_noticed_in_the_bits(name: str, function: str, libraries: dict[str, Any]) -> None:
    """The deliberate error: other roundings, and nothing else; the orbits stay together (3000 steps, 1e-9)."""
    ours, theirs = both(name, function, libraries["fused"])
    assert not engine.same_bits(ours, theirs)
    assert np.abs(ours[0] - theirs[0]).max() < 1e-9
