"""Gauss methods on chains, all stages at once in vector registers: the kernels of one stage on lanes, and its bits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import catena as ct
from catena.engine import stage_lanes
from catena.engine.build import Program, build, program_parts
from catena.engine.collector import Part
from catena.engine.driver import Driver
from catena.kernels.marks import Written
from catena.methods.runge_kutta import stages as runge_kutta_stages

GRAVITY = (0.3, -0.2, 0.1)


def pulled(n: int = 3, potential: object = None, **more: object) -> ct.Problem:
    """Tetrahedra on a screw line, held at the left and pulled at the right."""
    problem = ct.problems.helix_chain(n, left="clamped", right="force", F=(0.5, 0.0, 0.0), gravity=GRAVITY)
    if potential is None and not more:
        return problem
    chain = problem.system
    given = ct.LennardJones(5.0, 1.0) if potential is None else potential
    return replace(problem, system=ct.Chain(chain.bodies, given, chain.left, chain.right, GRAVITY, **more))


def ring() -> ct.Problem:
    """Boxes in a closed ring, twisted once."""
    boxes = [ct.Body.box((0.6, 0.8, 1.0), mass=1.0)] * 6
    system = ct.Chain(boxes, ct.BendTwist(stretch=30.0, bend=4.0, twist=3.0, d0=(2.2, 0.0, 0.0)), closed=True)
    return replace(pulled(), system=system, start=system.ring(2.1, linking_number=1))


def driver_of(program: Program, problem: ct.Problem, steps: int = 2) -> Driver:
    driver = Driver(program, program.view.pack(problem.start), t0=0.0, dt=0.02, every=1)
    assert driver.advance(steps).status == 0
    return driver


def numbers(driver: Driver) -> bytes:
    return b"".join(array.tobytes() for array in (driver.z, driver.e, driver.carry))


def on_lanes(program: Program) -> bool:
    return stage_lanes.CALL in program.text


PROBLEMS = {
    "two": lambda: pulled(2),
    "four": lambda: pulled(4),
    "harmonic": lambda: pulled(3, ct.Harmonic(20.0, 1.2)),
    "two potentials": lambda: pulled(3, [ct.LennardJones(5.0, 1.0), ct.Harmonic(20.0, 1.2)]),
    "a link potential": lambda: pulled(3, ct.BendTwist(stretch=30.0, bend=4.0, twist=3.0, d0=(2.2, 0.0, 0.0))),
    "ring": ring,
}  # fmt: skip


@pytest.mark.parametrize(("name", "stages"), [*((name, 3) for name in PROBLEMS), ("two", 4), ("two", 6)])
def test_stages_at_once_have_the_bits_of_stages_in_turn(name, stages):
    """State, compensation and all that is remembered; with lanes that no stage fills, where there are three or six."""
    problem = PROBLEMS[name]()
    programs = [build(problem.system, ct.Gauss(stages), compiled=False, vectors=vectors) for vectors in (True, False)]
    assert list(map(on_lanes, programs)) == [True, False]
    first, second = (driver_of(program, problem) for program in programs)
    assert numbers(first) == numbers(second)


def test_a_lane_in_the_place_of_another_is_seen(monkeypatch):
    """The twin: two stages exchanged where they are put into lanes, and not where their rates come out."""
    right = runge_kutta_stages._rates_at_once

    def wrong(*given: object) -> Written:
        written = right(*given)
        text = written.text.replace("values[k, i] =", "values[k, 1 - i if i < 2 else i] =")
        assert text != written.text
        return replace(written, text=text)

    problem = pulled(2)
    wanted = driver_of(build(problem.system, ct.Gauss(3), compiled=False), problem)
    monkeypatch.setattr(runge_kutta_stages, "_rates_at_once", wrong)
    problem = pulled(2)  # a new pairing
    found = driver_of(build(problem.system, ct.Gauss(3), compiled=False, vectors=True), problem)
    assert np.abs(found.z - wanted.z).max() > 1e-9


@pytest.mark.parametrize("stages", [3, pytest.param(8, marks=pytest.mark.slow)])
def test_compiled_stages_at_once_have_the_bits_of_plain_python(stages):
    problem = pulled(2)
    programs = [build(problem.system, ct.Gauss(stages), compiled=compiled) for compiled in (True, False)]
    assert list(map(on_lanes, programs)) == [True, False]
    first, second = (driver_of(program, problem, steps=10) for program in programs)
    assert numbers(first) == numbers(second)


def test_points_between_steps_are_the_same():
    """Steps that span several dt are made of the same steps."""
    problem = pulled(2)
    programs = [
        build(problem.system, ct.Gauss(3, span=4), compiled=False, vectors=vectors) for vectors in (True, False)
    ]
    assert list(map(on_lanes, programs)) == [True, False]
    first, second = (driver_of(program, problem, steps=6) for program in programs)
    assert numbers(first) == numbers(second)


IN_TURN = {
    "an exponential": lambda: pulled(3, ct.Morse(5.0, 2.0, 1.2)),
    "an end of reach": lambda: pulled(3, ct.WCA(5.0, 1.0)),
    "a multiplier, by elimination": lambda: pulled(3, form="multiplier"),
    "one of two has an exponential": lambda: pulled(3, [ct.LennardJones(5.0, 1.0), ct.Morse(5.0, 2.0, 1.2)]),
}  # fmt: skip


@pytest.mark.parametrize("name", IN_TURN)
def test_kernels_that_branch_are_evaluated_stage_after_stage(name):
    """Elementary functions branch, too."""
    _, stepper, parts = program_parts(IN_TURN[name]().system, ct.Gauss(3), vectors=True)
    assert stepper.side_by_side is not None
    assert not any(stage_lanes.CALL in part.text for part in parts)


@pytest.mark.parametrize("method", [ct.Gauss(1), ct.Gauss(2), ct.RK4()], ids=str)
def test_few_stages_are_evaluated_one_after_the_other(method):
    assert not any(stage_lanes.CALL in part.text for part in program_parts(pulled().system, method, vectors=True)[2])


def test_graphics_processors_and_digests_see_stages_in_turn():
    """What a store was made by does not depend on the machine: the bits do not either."""
    _, _, parts = program_parts(pulled().system, ct.Gauss(3))
    assert not any(stage_lanes.CALL in part.text for part in parts)


def with_field(*lines: str, helpers: tuple[str, ...] = ()) -> list[Part]:
    """A field with this body, and functions that it calls, as parts of a program that calls it with lanes."""
    texts = [*helpers, "\n    ".join(["def field(z, par, out):", *lines])]
    texts.append(
        "def rates(par):\n    field(_side_by_side(par.y), _on_lanes(par, _side_by_side(par.on_lanes_x)), _side_by_side(par.r))"
    )
    return [Part(text[4 : text.index("(")], "fn", "", text) for text in texts]


ALIKE = {
    "arithmetic": ["out[0] = -z[0] * par.mass[0] / z[1] + 2.0 ** 3 - z[2] ** 3"],
    "a branch on parameters": ["if par.mass[0] > 0.0:", "    out[0] = z[0]"],
    "scratch of its own": ["par.x[0] = z[0]", "out[0] = abs(par.x[0])"],
    "a size": ["for k in range(z.shape[0]):", "    out[k] = max(z[k], 0.0)"],
    "a root": ["out[0] = math.sqrt(z[0])"],
    "all of them": ["if _holds(z[0] > 0.0):", "    out[0] = z[0]"],
    "each of them": ["out[0] = _chosen(z[0] > 0.0, z[0], 0.0)"],
    "a number beside lanes": ["a, b = z[0], par.mass[0]", "if b > 0.0:", "    out[0] = a"],
}
APART = {
    "if": ["if z[0] > 0.0:", "    out[0] = 1.0"],
    "while": ["x = z[0]", "while x > 0.0:", "    x = x - 1.0"],
    "a choice between two": ["out[0] = z[0] if z[0] > 0.0 else 0.0"],
    "and": ["out[0] = _chosen(z[0] > 0.0 and z[1] > 0.0, 1.0, 0.0)"],
    "a row of comparisons": ["out[0] = _chosen(0.0 < z[0] < 1.0, 1.0, 0.0)"],
    "not": ["out[0] = _chosen(not z[0] > 0.0, 1.0, 0.0)"],
    "an index": ["out[0] = par.mass[int(z[0])]"],
    "an exponential": ["out[0] = math.exp(z[0])"],
    "an exponent": ["out[0] = z[0] ** 0.5"],
    "a power that lanes do not have": ["out[0] = z[0] ** 0"],
    "arguments by name": ["out[0] = _chosen(z[0] > 0.0, a=z[1], b=0.0)"],
    "the largest of a tuple": ["pair = z[0], z[1]", "out[0] = max(pair)"],
    "a remainder": ["out[0] = z[0] % 1.0"],
    "a store among numbers": ["par.f[0] = z[0]"],
    "a sum among numbers": ["par.f[0] += z[0]"],
    "later in a loop": ["x = 0.0", "for k in range(3):", "    if x > 1.0:", "        out[0] = 1.0", "    x = x + z[k]"],
    "in scratch": ["par.x[0] = z[0]", "if par.x[0] > 0.0:", "    out[0] = 1.0"],
    "an unknown function": ["out[0] = _as_integer(z[0])"],
    "a count": ["for k in range(z[0]):", "    out[0] = 1.0"],
}


@pytest.mark.parametrize("name", ALIKE)
def test_what_does_the_same_in_all_lanes_is_found(name):
    assert stage_lanes.can_stand_side_by_side(with_field(*ALIKE[name]))


@pytest.mark.parametrize("name", APART)
def test_what_does_not_is_found_too(name):
    assert not stage_lanes.can_stand_side_by_side(with_field(*APART[name]))


def test_values_are_followed_into_functions_and_out_of_them():
    size = "def size(x):\n    return x * x"
    sign = "def sign(x):\n    return 1.0 if x > 0.0 else -1.0"
    assert stage_lanes.can_stand_side_by_side(
        with_field("out[0] = size(z[0]) * sign(par.mass[0])", helpers=(size, sign))
    )
    assert not stage_lanes.can_stand_side_by_side(with_field("out[0] = sign(z[0])", helpers=(size, sign)))
    assert not stage_lanes.can_stand_side_by_side(
        with_field("if size(z[0]) > 1.0:", "    out[0] = 1.0", helpers=(size, sign))
    )
    assert not stage_lanes.can_stand_side_by_side(with_field("out[0] = sign(x=z[0])", helpers=(size, sign)))
    assert stage_lanes.can_stand_side_by_side(with_field("out[0] = sign(x=par.mass[0])", helpers=(size, sign)))
