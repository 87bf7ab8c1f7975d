"""Blocks of members: whole arrays in and out, each member with the bits of a single run; in plain Python, so nothing is compiled."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest

import catena as ct
from catena.engine import headers
from catena.engine.block import MemberBlock, Members
from catena.engine.build import build
from catena.engine.collector import collect
from catena.engine.driver import Driver
from catena.engine.pairing import Pairing
from catena.engine.plain_python import interpret
from catena.errors import CapabilityError
from catena.kernels.views import NOT_FINITE, OK
from catena.methods.base import Method
from catena.systems.base import State
from kinds import KINDS

VIEWS = (
    "split", "field", "canonical", "constrained", "tiles", "flow", "symmetric", "quat_em", "energy_momentum",
)  # fmt: skip
STEPS, MEMBERS = 4, 3


def nudged(start: State, k: int) -> State:
    """Another start of the same kind; no constraint cares for the last digits."""
    rng = np.random.default_rng(k)
    fields = {name: array * (1 + 1e-13 * rng.standard_normal(array.shape)) for name, array in start.fields.items()}
    return State(fields, start.time)


@pytest.mark.parametrize("kind", KINDS)
def test_members_packed_as_whole_arrays_have_the_bits_of_each(kind: str) -> None:
    of, seen = KINDS[kind](), 0
    states = [nudged(of.start, k) for k in range(MEMBERS)]
    fields = {name: np.stack([state.fields[name] for state in states]) for name in of.start.fields}
    for name in VIEWS:
        with suppress(CapabilityError):
            if (view := of.system.view(name)) is None:
                continue
            seen += 1
            together = view.pack_members(State, fields, np.full(MEMBERS, of.start.time))
            np.testing.assert_array_equal(view.grown(together), [view.pack(state) for state in states])
            assert together.shape == (MEMBERS, view.start_size)
            assert together.flags.c_contiguous and (together[0] != together[1]).any()
    assert seen


PAIRS = {
    "separable": ct.Gauss(2),
    "free body": ct.DMV(6),
    "clamped chain": ct.Splitting(2),
    "chain with multiplier": ct.Gauss(2),
    "linkage": ct.EnergyMomentum(level="position"),
    "loop": ct.Gauss(2),
}


@pytest.mark.parametrize(("kind", "method"), PAIRS.items())
def test_members_of_a_block_have_the_bits_of_single_runs(kind: str, method: Method) -> None:
    """Samples at every third step, in two calls of which the second begins between samples; scratch is used by all in turn."""
    of = KINDS[kind]()
    program = build(of.system, method, compiled=False)
    z = np.array([program.view.pack(nudged(of.start, k)) for k in range(MEMBERS)])
    members = Members.alike(Pairing.of(of.system, method), z, np.zeros(MEMBERS), 0.2 * of.dt)
    members = replace(members, dt=members.dt * [1.0, 1.1, 1.2])
    block = MemberBlock(program, members, every=3)
    whole, running = slice(0, MEMBERS), np.ones(MEMBERS, dtype=bool)
    start = block.record(whole)
    first = [array.copy() for array in block.advance(whole, 0, 2, running)]
    rows, now, status = block.advance(whole, 2, 2, running)
    assert (first[2] == OK).all() and (status == OK).all() and first[0].shape[1] == 0
    for k in range(MEMBERS):
        driver = Driver(program, z[k], t0=0.0, dt=members.dt[k], every=3)
        np.testing.assert_array_equal(driver.first_row().rows[0], start[k])
        np.testing.assert_array_equal(driver.advance(STEPS).rows, rows[k])
        state = driver.state()
        for name in ("carry", "scale", "looks"):
            np.testing.assert_array_equal(getattr(block, name)[k], state[name])
        np.testing.assert_array_equal(block.z[k], driver.z)
        np.testing.assert_array_equal(driver.first_row().rows[0], now[k])
    assert (now[0] != now[1]).any()


def test_a_member_that_has_failed_is_left_alone_and_one_that_fails_is_told() -> None:
    """The second falls to infinity within these steps, between two samples; the third was said to have failed before."""
    runaway, method = ct.Hamiltonian("p**2/2 - q**4/4"), ct.RK4()
    program = build(runaway, method, compiled=False)
    z = np.array([[0.01, 0.0], [3.0, 0.0], [0.02, 0.0]])
    members = Members.alike(Pairing.of(runaway, method), z, np.zeros(3), 0.25)
    block = MemberBlock(program, members, every=100)
    block.record(slice(0, 3))
    _, _, status = block.advance(slice(0, 3), 0, 8, np.array([True, True, False]))
    assert status.tolist() == [OK, NOT_FINITE, OK]
    np.testing.assert_array_equal(block.z[2], z[2])
    assert (block.z[0] != z[0]).any()


@pytest.mark.parametrize("count", [2, 8, 9, 70])
def test_a_gpu_grows_the_tiles_of_a_start_as_whole_arrays_do(count: int) -> None:
    """To the bit, with bodies that fill the last tile up; a body that is one place off would show, for all are different."""
    of = ct.problems.helix_chain(count)
    view = of.system.view("tiles")
    assert view.begin is not None and view.begin.size < view.dimension / 4
    start = view.begin.pack(nudged(of.start, 1))
    text = headers.module_text("begin", collect(view.begin.kernel, {}), [], header=headers.PYTHON, entry="@_fn")
    z = np.full(view.dimension, np.nan)
    interpret(text).advance(start, z)
    np.testing.assert_array_equal(z, view.grown(start))
    np.testing.assert_array_equal(z, view.pack(nudged(of.start, 1)))
    assert len(np.unique(start)) > 3 * count
