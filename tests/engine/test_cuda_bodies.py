"""Chains on a GPU with a thread for each body have the bits of the processor, under numba's simulator; nothing is compiled here."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import catena as ct
from catena.engine import packing
from catena.engine.cuda import bodies as cuda_bodies
from catena.engine.pairing import Pairing
from catena.systems.base import State
from processes import run_python

MEMBERS = """
import json
import sys
import warnings
import numpy as np
import catena as ct
from catena.engine.cuda import bodies as cuda_bodies
from catena.engine.build import build
from catena.engine.driver import Driver
from catena.systems.chain.tiles import body_text

warnings.simplefilter("ignore", RuntimeWarning)  # a GPU overflows in silence

def ring(n):
    given = ct.problems.helix_chain(n)
    chain = ct.Chain(given.system.bodies, given.system.potentials[0], closed=True)
    angle = 2 * np.pi * np.arange(n) / n
    position = n * 2.6 / (2 * np.pi) * np.stack([np.cos(angle), np.sin(angle), 0 * angle], axis=1)
    turned = np.stack([np.cos(angle / 2), 0 * angle, 0 * angle, np.sin(angle / 2)], axis=1)
    return ct.Problem("ring", chain, chain.start(position=position, orientation=turned), 0.02)

def bending(n):
    chain = ct.Chain([ct.Body.tetrahedron()] * n, ct.BendTwist(100.0, 4.0, 3.0, (0, 0, 1)))
    start = chain.start(position=[(0, 0.1 * (k % 2), k) for k in range(n)])
    return ct.Problem("bending", chain, start, 0.05)

def mixed(n):
    bodies = [ct.Body.tetrahedron(), ct.Body.from_particles([[0, 0, -0.5], [0, 0.1, 0.5], [0.3, 0, 0]])] * n
    links = [ct.LennardJones(1, 1), ct.Morse(1, 2, 1)] * n
    chain = ct.Chain(bodies[:n], links[: n - 1], left=ct.Free())
    return ct.Problem("mixed", chain, chain.straight(2.5), 0.01)

def typed(n):
    body = ct.Body.from_particles([[0, 0, -0.5], [0, 0.1, 0.5], [0.3, 0, 0]], types=["A", "B", "B"])
    acts = ct.PairTable({("A", "A"): ct.LennardJones(1, 1), ("A", "B"): ct.Morse(1, 2, 1), ("B", "B"): None})
    chain = ct.Chain([body] * n, acts, left=ct.Free())
    return ct.Problem("typed", chain, chain.straight(2.5), 0.01)

def started(program, of, count):  # each a step further than the one before
    driver = Driver(program, program.view.pack(of.start), t0=0.0, dt=of.dt, every=1)
    states = [of.start]
    for _ in range(count - 1):
        driver.advance(1)
        states.append(program.view.unpack(driver.z, 0.0))
    return states

def same(one, other):
    return bool((np.asarray(one) == np.asarray(other)).all())

def agree(of, method, steps, every, count=2):
    program, dt = build(of.system, method, compiled=False), 0.5 * of.dt
    states = started(program, of, count)
    there = ct.ensemble(of.system, states, method, dt=dt, steps=steps, every=every, keep="samples", device="cuda")
    recorded = program.stepper.accounts
    equal = True
    for k, state in enumerate(states):
        driver = Driver(program, program.view.pack(state), t0=0.0, dt=dt, every=every, member=k)
        rows = [driver.first_row().rows, driver.advance(steps).rows]
        for name, array in of.system.columns(np.concatenate(rows)).items():
            equal &= same(there.data[name].values[k], array)
        made, width = rows[1], program.defined_width
        for field in recorded:
            part = made[:, width : width + field.width].reshape(len(made), *field.shape)
            equal &= same(there.data[field.name].values[k, 1:], part)
            width += field.width
        equal &= same(there._column("energy_scale")[k], driver.scale[0]) and same(there._column("energy_usual")[k], driver.looks[4, 0] / driver.looks[5, 0])
    return equal

def agree_without_room(*given):  # for copies of bodies where they are looked at
    cuda_bodies.COPIES_BYTES = 0
    return agree(*given)

def failing():  # the second member turns too fast for its rotor
    of, method = ct.problems.helix_chain(3), ct.Splitting(2, rotor=ct.DMV(6))
    program = build(of.system, method, compiled=False)
    turning = of.start.angular_momentum + [[0.0, 0, 0], [0, 0, 0], [1e3, 2e3, 0]]
    thrown = of.system.start(of.start.position, of.start.orientation, angular_momentum=turning)
    options = dict(dt=of.dt, steps=4, every=2)
    there = ct.ensemble(of.system, [of.start, thrown], method, keep="samples", device="cuda", **options)
    driver = Driver(program, program.view.pack(thrown), t0=0.0, dt=of.dt, every=2, member=1)
    first, chunk = driver.first_row(), driver.advance(4)
    rows = np.concatenate([first.rows, chunk.rows])
    [failure] = there.failures
    seen = there.data.position.values[1]
    found = [failure.member == 1, int(there._column("status")[1]) == chunk.status > 0, driver.step < 4, failure.failure.step == driver.step + 1]
    return [*map(bool, found), same(seen[: len(rows)], of.system.columns(rows)["position"]), bool(np.isnan(seen[len(rows) :]).all())]

if sys.argv[2:]:
    right = body_text.see_text
    body_text.see_text = lambda: type(right())("see_before", right().text.replace(*sys.argv[2:]), right().origin, right().uses)
print(json.dumps([eval(text) for text in json.loads(sys.argv[1])]))
"""

CASES = [
    "agree(ct.problems.helix_chain(3), ct.Langevin(0.1, 0.5, seed=3), 3, 2)",
    "agree(ct.problems.helix_chain(2), ct.Splitting(2), 3, 1)",
    "agree(ct.problems.helix_chain(8, right='force', F=(0.5, 0.0, 0.1)), ct.Splitting(2), 10, 4)",
    "agree(ct.problems.helix_chain(9, left='free'), ct.Splitting(4), 2, 1)",
    "agree_without_room(ct.problems.helix_chain(3), ct.Splitting(2), 5, 2)",
    "agree(ct.problems.helix_chain(33), ct.Splitting(2), 2, 2)",
    "agree(ring(3), ct.Splitting(2), 3, 2)",
    "agree(ring(9), ct.Splitting(2), 2, 2, 8)",
    "agree(ring(33), ct.Langevin(0.1, 0.5, seed=3), 2, 1)",
    "agree(bending(3), ct.Langevin(1.0, 0.5, seed=5), 3, 1)",
    "agree(mixed(9), ct.Splitting(2), 2, 1)",
    "agree(typed(3), ct.Splitting(2), 2, 1)",
    "agree(ct.problems.helix_chain(3), ct.Splitting(2, rotor=ct.DMV(6)), 3, 2)",
]
WRONG = ["links[3, at]", "links[4, at]"]  # a torque of the link before for another one


def found(cases: Sequence[str], *wrong: str) -> list[Any]:
    return json.loads(run_python(MEMBERS, json.dumps(list(cases)), *wrong, NUMBA_ENABLE_CUDASIM=1)[0])


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_chains_by_bodies_have_the_bits_of_the_processor(case: str) -> None:
    """Samples, what a bath adds up, and sizes of the terms of the energy. Chains that share a block, or fill one; open, pulled, closed; pairs, bonds, mixed ones."""
    assert found([case]) == [True]


@pytest.mark.slow
def test_a_body_that_sees_a_wrong_link_is_noticed() -> None:
    assert found(CASES[1:2], *WRONG) == [False]


@pytest.mark.slow
def test_a_chain_that_cannot_make_a_step_stops_before_it() -> None:
    """Who failed, why and where, the samples until then, and none after; the other member goes on."""
    [seen] = found(["failing()"])
    assert seen == [True] * 6


@pytest.mark.parametrize(
    ("count", "threads"), [(2, 32), (8, 32), (9, 64), (12, 96), (33, 192), (64, 64), (224, 224), (225, 0)]
)
def test_blocks_hold_whole_chains_with_few_idle_threads(count: int, threads: int) -> None:
    """Tetrahedra show 15 numbers, and 6 of a link; longer chains do not fit into a block."""
    view = Pairing.of(ct.problems.helix_chain(8).system, ct.Splitting(2)).view
    assert view.bodies is not None
    bodies = view.bodies()
    assert (bodies.shown, bodies.linked) == (15, 6)
    assert cuda_bodies.threads_for(replace(bodies, count=count)) == threads


def test_starts_packed_by_a_kernel_have_the_bits_of_numpy() -> None:
    """Bodies in axes of their own, one of them linear; zeros of both signs."""
    rng = np.random.default_rng(1)
    bodies = [ct.Body.from_particles(rng.normal(size=(4, 3))) for _ in range(3)]
    chain = ct.Chain([*bodies, ct.Body.from_particles([[0, 0, -1.0], [0, 0, 1.0]])], ct.LennardJones(1, 1))
    begin = Pairing.of(chain, ct.Splitting(2)).view.begin
    assert begin is not None
    fields = {field.name: rng.normal(size=(9, *field.shape)) for field in chain.fields}
    fields["angular_momentum"][::3], fields["angular_momentum"][1::3] = 0.0, -0.0
    packed = packing.pack_many(begin, fields, compiled=False)
    wanted = begin.pack(State(fields))
    assert packed.tobytes() == wanted.tobytes()
    assert (
        packing.pack_many(replace(begin, constants=lambda: turned(begin.constants())), fields, compiled=False).tobytes()
        != wanted.tobytes()
    )


def turned(constants: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
    """The twin: axes of bodies the other way round."""
    frames, axes, still = constants
    return frames, axes.reshape(-1, 3, 3).transpose(0, 2, 1).reshape(-1, 9).copy(), still


@pytest.mark.parametrize("many", [1, 10**6])
def test_a_number_that_is_not_finite_is_found_wherever_it_is(many: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """By one thread, or by several, each of which looks through its part."""
    monkeypatch.setattr(packing, "MANY", many)
    values = np.random.default_rng(2).normal(size=(7, 3))
    assert packing.are_small(values)
    for place in np.ndindex(values.shape):
        for wrong in (np.nan, np.inf, -np.inf):
            broken = values.copy()
            broken[place] = wrong
            assert not packing.are_small(broken)
