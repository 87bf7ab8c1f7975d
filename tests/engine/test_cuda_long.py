"""One long chain on a GPU has the bits of the processor, under numba's simulator; in plain Python, so nothing is compiled."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import catena as ct
from catena.engine.build import build
from catena.engine.cuda import long_chain as cuda_long
from catena.engine.cuda import members as cuda
from catena.engine.cuda.long_chain import LongProgram
from catena.errors import CapabilityError, InputError
from catena.methods.base import Method
from catena.running import simulation
from catena.running.plan import Plan, make_plan
from places import TESTS
from processes import run_python

COMPARED = """
import json
import sys
import warnings
import numpy as np
import catena as ct
from catena.engine.cuda import long_chain as cuda_long
from catena.engine.build import build
from catena.engine.driver import Driver

sys.path[:0] = [sys.argv[1] + "/engine", sys.argv[1] + "/support"]
from test_parts import ring

warnings.simplefilter("ignore", RuntimeWarning)  # a GPU overflows in silence

def seen(driver, late, resumed):
    driver.step = late
    rows = [driver.first_row().rows, driver.advance(1).rows]
    if resumed:  # from a checkpoint
        driver.restore(driver.step, {name: array.copy() for name, array in driver.state().items()})
    rows.append(driver.advance(3).rows)
    return [*rows, driver.state()["z"], driver.scale, driver.looks]

def agree(of, method, late=0, resumed=False):
    program = build(of.system, method, compiled=False)
    options = dict(z=program.view.pack(of.start), t0=0.0, dt=of.dt, every=2)
    here = seen(Driver(program, **options), late, False)
    there = seen(cuda_long.GpuDriver(program, compiled=False, **options), late, resumed)
    return all(bool((a == b).all()) for a, b in zip(here, there))

def failing():  # momenta of 1e155 over a step of 1e5
    of, method = ct.problems.helix_chain(3), ct.Splitting(2)
    program = build(of.system, method, compiled=False)
    thrown = of.system.start(of.start.position, of.start.orientation, momentum=1e155 * of.start.momentum)
    options = dict(z=program.view.pack(thrown), t0=0.0, dt=1e5, every=2)
    found = []
    for driver in (Driver(program, **options), cuda_long.GpuDriver(program, compiled=False, **options)):
        driver.first_row()
        chunk = driver.advance(6)
        found.append([chunk.status, driver.step, driver.jump()[0], driver.state()["z"].tolist()])
    return found[0] == found[1] and found[0][0] > 0

if sys.argv[3:]:
    right = cuda_long.KERNELS["join"]
    cuda_long.KERNELS["join"] = lambda arrays, bodies, closed: right(arrays, bodies, False)
print(json.dumps([eval(text) for text in json.loads(sys.argv[2])]))
"""

CASES = [
    "agree(ct.problems.helix_chain(9), ct.Splitting(2))",
    "agree(ct.problems.helix_chain(9), ct.Splitting(2), late=5000, resumed=True)",
    "agree(ct.problems.helix_chain(4, right='force', F=(0.5, 0.0, 0.0)), ct.Splitting(4), late=5000)",
    "agree(ring(), ct.Splitting(2))",
    "failing()",
]


def found(cases: list[str], *twin: str) -> list[Any]:
    return json.loads(run_python(COMPARED, TESTS, json.dumps(cases), *twin, NUMBA_ENABLE_CUDASIM=1)[0])


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_a_long_chain_on_a_card_has_the_bits_of_the_processor(case: str) -> None:
    """Sample rows, what a checkpoint holds, sizes of terms and looks; a chain that flies apart stops at the same step."""
    assert found([case]) == [True]


@pytest.mark.slow
def test_a_ring_that_is_left_open_shows() -> None:
    assert found(CASES[3:4], "open") == [False]


@pytest.mark.parametrize("method", [ct.Gauss(1), ct.Langevin(1.0, 1.0)], ids=["Gauss", "Langevin"])
def test_what_a_card_cannot_share_is_refused(method: Method) -> None:
    program = build(ct.problems.helix_chain(3).system, method, compiled=False)
    with pytest.raises(CapabilityError, match="cannot be shared by the threads of a GPU"):
        LongProgram.of(program)


def test_devices_and_threads_that_mean_nothing_are_refused() -> None:
    plan, _ = make_plan(ct.problems.helix_chain(3), None, ct.Splitting(2), dt=None, steps=1, t_end=None, every=1)
    with pytest.raises(InputError, match="device = 'gpu'"):
        simulation._driver(plan, compiled=False, device="gpu")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="threads = 2 means nothing on a GPU"):
        simulation._driver(plan, compiled=False, device="cuda", threads=2)


def test_what_cannot_be_is_refused_before_anything_is_compiled(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Threads and GPUs that a system has no use for, and machines that have no GPU; an ensemble leaves no store behind."""

    def none() -> None:
        raise CapabilityError("no GPU")

    monkeypatch.setattr(Plan, "program", lambda plan: pytest.fail(f"{plan.system} was compiled"))
    for module in (cuda, cuda_long):
        monkeypatch.setattr(module, "require_cuda", none)
    chain, kepler = ct.problems.helix_chain(3), ct.problems.kepler()
    for refused, further in ((kepler, {"threads": 2}), (kepler, {"device": "cuda"}), (chain, {"device": "cuda"})):
        with pytest.raises(CapabilityError):
            ct.simulate(refused, steps=1, **further)
    with pytest.raises(CapabilityError, match="no GPU"):
        ct.ensemble(kepler, members=2, steps=1, device="cuda", out=tmp_path / "many.zarr")
    assert not list(tmp_path.iterdir())
