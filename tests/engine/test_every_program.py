"""Every kind of system with every method that treats it, with checks in every subscript: nothing leaves its arrays, and nothing writes
into parameters, which plain Python cannot.

Plain Python, a few steps of each: which elements are touched depends on sizes, not on numbers, but for searches and
iterations, which the other tests run. One method of each kind of system here, all of them in `make slow`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

import catena as ct
import kinds
import linked
import many_terms
from catena.engine.build import build
from catena.engine.driver import Driver
from catena.engine.pairing import can_treat
from catena.kernels.views import BUFFER_FULL, OK, STOPPED
from catena.methods.base import Method, method_from, registered
from catena.running.crossings import crossing_of
from catena.running.plan import Problem

EXTRA = (
    ct.EnergyMomentum(level="position"), ct.EnergyMomentum(variables="directors"), ct.RadauIIA(3),
    ct.Gauss(2, solver="newton"), ct.Gauss(2, solver="fixed-point"), ct.Composition(ct.EnergyMomentum(), "suzuki4"),
    ct.Composition(ct.Rattle(), "suzuki4"), ct.Splitting(4, rotor=ct.DMV(4)), ct.Splitting(2, rotor=ct.ThreeRotations()),
    ct.Splitting(2, rotor=ct.Jacobi()), ct.Splitting(4, rotor=ct.DMV("exact")),
)  # fmt: skip
FORCES = (
    ct.Spring(-1, 1, ((0.1, 0.2, 0.3), (0.2, 0.0, 0.1)), k=10.0, length=0.5), linked.SPRING,
    ct.Damper(0, 1, ((0.0, 0.1, 0.0), (0.1, 0.0, 0.0)), 0.3), ct.Load(1, (0.0, 0.1, 0.2), force=(0.1, 0.2, 0.3)),
)  # fmt: skip


def _linked(kind: str, forces: Any = FORCES) -> Callable[[], Problem]:
    def made() -> Problem:
        system, start = linked.two_bodies(kind, forces)
        return Problem(kind, system, start, 0.02)

    return made


def _chain(n: int, potential: Any = None, **ends: Any) -> Callable[[], Problem]:
    """A chain along z; more than one tile, and the last not full, from nine bodies on."""

    def made() -> Problem:
        chain = ct.Chain([ct.Body.tetrahedron()] * n, potential or ct.LennardJones(5.0, 1.0), **ends)
        place = np.outer(np.arange(n), (0.1, 0.05, 2.1))
        turning = np.outer(np.arange(n), (0.2, 0.1, -0.1))  # the first is held
        return Problem(f"{n}", chain, chain.start(place, angular_velocity=turning), 0.02)

    return made


def _terms() -> Problem:
    system = many_terms.bodies(7)
    return Problem("terms", system, many_terms.bodies_start(system), 0.01)


SYSTEMS: dict[str, Callable[[], Problem]] = {
    **kinds.KINDS,
    "many terms": _terms,
    "eleven bodies": _chain(11),
    "links": _chain(3, ct.BendTwist(200.0, 30.0, 20.0, (0.0, 0.0, 2.1))),
    **{f"two bodies, {kind}": _linked(kind) for kind in linked.KINDS},
    "two bodies without forces": _linked("Revolute", ()),
    "bennett": ct.problems.bennett,
    "six_ring": ct.problems.six_ring,
    "bricard": ct.problems.bricard,
    "molecule": ct.problems.molecule,
}


@cache
def problem(name: str) -> Problem:
    return SYSTEMS[name]()


def methods(of: Problem) -> list[Method]:
    """All that treat a system."""
    known = [method for kind in registered() for method in kind.examples()[:3]]  # the rest differ by numbers alone
    return [method for method in (*known, *EXTRA) if can_treat(of.system, method)]


def step_with_checks(of: Problem, method: Method, *, steps: int = 2, **watched: Any) -> Driver:
    """A few steps and samples in plain Python, every subscript checked."""
    crossing = crossing_of(of.system, *watched.values()) if watched else None
    program = build(of.system, method, crossing=crossing, compiled=False, checked=True)
    run = Driver(program, program.view.pack(of.start), t0=of.start.time, dt=0.1 * of.dt, every=1)
    assert not any(array.flags.writeable for array in (*program.arrays.parameters.values(), program.stepper.tab))
    assert run.first_row().status == OK
    assert run.advance(steps).status in (OK, STOPPED, BUFFER_FULL), method
    return run


@pytest.mark.parametrize("name", [*kinds.KINDS, "many terms", "eleven bodies", "links", "two bodies, Screw", "bennett"])
def test_the_usual_method_stays_within_its_arrays_and_leaves_the_parameters_alone(name):
    of = problem(name)
    kind, arguments = of.system.default_method
    step_with_checks(of, method_from({"kind": kind, **arguments}), steps=1)


@pytest.mark.slow
@pytest.mark.parametrize("name", SYSTEMS)
def test_every_method_stays_within_its_arrays_and_leaves_the_parameters_alone(name):
    for method in methods(problem(name)):
        step_with_checks(problem(name), method)


WATCHES = {
    "separable": [ct.Section("a", "q1 - 0.2"), ct.Section("b", "p1*q2 - t")],
    "chain": [ct.Section("level", "position[1,0]")],
}


@pytest.mark.parametrize("name", WATCHES)
def test_sections_and_events_stay_within_their_rows(name):
    of = problem(name)
    events = [ct.Event("late", "t - 0.03", stop=True)]
    step_with_checks(of, ct.Gauss(2), steps=3, sections=WATCHES[name], events=events)
