"""Members on a GPU whose kernels work in scratch, such as chains and linkages: each has its own, under numba's simulator.

The processor runs the same text as plain Python, which has the bits of compiled code, so nothing is compiled here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import catena
from places import SUPPORT
from processes import run_python

MEMBERS = """
import json
import re
import sys
import warnings
import numpy as np
import catena as ct
from catena.engine.cuda import members as cuda
from catena.engine.arrays import Arrays
from catena.engine.build import build
from catena.engine.driver import Driver

sys.path.insert(0, sys.argv[1])
import kinds

warnings.simplefilter("ignore", RuntimeWarning)  # a GPU overflows in silence
steps, count = 1, 3

def started(program, of):  # each a step further than the one before
    driver = Driver(program, program.view.pack(of.start), t0=of.start.time, dt=0.2 * of.dt, every=1)
    states = [of.start]
    for _ in range(count - 1):
        driver.advance(1)
        states.append(program.view.unpack(driver.z, of.start.time))
    return states

def alone(program, state, dt, k):
    driver = Driver(program, program.view.pack(state), t0=state.time, dt=dt, every=1, member=k)
    return np.concatenate([driver.first_row().rows, driver.advance(steps).rows])

def agree(name, text):
    of, method = kinds.KINDS[name](), eval("ct." + text)
    program, dt = build(of.system, method, compiled=False), 0.1 * of.dt
    states = started(program, of)
    here = [alone(program, state, dt, k)[:, : program.defined_width] for k, state in enumerate(states)]
    there = ct.ensemble(of.system, states, method, dt=dt, steps=steps, keep="samples", device="cuda").data
    columns = [of.system.columns(rows) for rows in here]
    same = all((there[name].values[k] == array).all() for k in range(count) for name, array in columns[k].items())
    different = all((a != b).any() for a, b in zip(here, here[1:]))
    return [bool(same and different), program.view.name]

class Shared:  # scratch is taken for parameters
    def of(*parts):
        return Arrays(Arrays.of(*parts).together, {})

pairs, sharing = map(json.loads, sys.argv[2:])
found = {f"{name}: {text}": agree(name, text) for name, text in pairs}
cuda.Arrays = Shared
found |= {f"{name}: {text}, shared": agree(name, text) for name, text in sharing}
print(json.dumps(found))
"""

SHORT = {
    ("chain", "Splitting(2)"): "tiles",
    ("chain", "Langevin(0.1, 0.5, seed=3)"): "tiles",
    ("chain", "Splitting(2, rotor=ct.Jacobi())"): "split",
    ("chain", "Rattle()"): "constrained",
    ("chain", "Gauss(2)"): "canonical",
    ("chain in rotations", "Splitting(2)"): "split",
    ("chain in rotations", "Rattle()"): "constrained",
    ("chain with multiplier", "Gauss(2)"): "canonical",
    ("linkage", "EnergyMomentum(level='position')"): "energy_momentum_position",
    ("loop", "Gauss(2)"): "field",
    ("scaling body", "Jacobi()"): "flow",
    ("top", "Splitting(2, rotor=ct.Jacobi())"): "split",
}
LONG = {
    ("clamped chain", "Gauss(2, solver='newton')"): "canonical",
    ("clamped chain", "Splitting(6)"): "tiles",
    ("linkage", "EnergyMomentum()"): "energy_momentum",
    ("linkage", "Rattle()"): "constrained",
    ("free linkage", "EnergyMomentum(variables='directors')"): "energy_momentum_directors",
    ("linkage", "Gauss(2, solver='newton')"): "field",
    ("linkage", "Gauss(2)"): "field",
    ("free linkage", "Gauss(3)"): "field",
    ("loop", "EnergyMomentum()"): "energy_momentum",
    ("loop", "EnergyMomentum(level='position')"): "energy_momentum_position",
    ("loop", "Rattle()"): "constrained",
    ("loop", "Gauss(2, solver='newton')"): "field",
    ("separable", "Taylor(1e-9)"): "field",
    ("top", "Taylor()"): "field",
    ("top", "Gauss(5)"): "canonical",
    ("symmetric top", "Lagrange()"): "symmetric",
}


SHARING = ("chain with multiplier", "Gauss(2)")


def found(pairs: Iterable[tuple[str, str]], *sharing: tuple[str, str]) -> dict[str, Any]:
    lists = (json.dumps(list(each)) for each in (pairs, sharing))
    return json.loads(run_python(MEMBERS, SUPPORT, *lists, NUMBA_ENABLE_CUDASIM=1)[0])


@cache
def short_ones() -> dict[str, Any]:
    return found(SHORT, SHARING)


@pytest.mark.parametrize("pair", SHORT, ids=": ".join)
def test_members_that_work_in_scratch_have_the_bits_of_single_runs(pair: tuple[str, str]) -> None:
    """Samples of three members, all different, in the view that a single run takes; functions of libm are those of one machine."""
    assert short_ones()[": ".join(pair)] == [True, SHORT[pair]]


@pytest.mark.slow
@pytest.mark.parametrize("pair", LONG, ids=": ".join)
def test_members_that_work_in_much_scratch_have_the_bits_of_single_runs(pair: tuple[str, str]) -> None:
    assert found([pair])[": ".join(pair)] == [True, LONG[pair]]


def test_members_that_share_scratch_are_seen() -> None:
    """The twin: the simulator runs the threads of a block by turns, in the middle of each other's steps."""
    assert short_ones()[": ".join(SHARING) + ", shared"] == [False, SHORT[SHARING]]


def test_kernels_take_square_roots_and_no_powers_of_one_half() -> None:
    """A square root is rounded right everywhere; the power is libm's on a processor and another one on a GPU (1 ulp, measured)."""
    package = Path(catena.__file__).parent
    rooms = ("geometry", "systems", "methods")
    found = [
        path for room in rooms for path in (package / room).rglob("*.py") if re.search(r"\*\* ?0\.5", path.read_text())
    ]
    assert found == []
