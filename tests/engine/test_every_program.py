"""Every kind of system with every method that treats it, with checks in every subscript: nothing leaves its arrays, and nothing writes
into parameters, which plain Python cannot.

Plain Python, a few steps of each: which elements are touched depends on sizes, not on numbers, but for searches and
iterations, which the other tests run. One method of each kind of system here, all of them in `make slow`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

import catena as ct
import kinds
import linked
import many_terms
from catena.engine.block import MemberBlock, Members
from catena.engine.build import build
from catena.engine.driver import Driver
from catena.engine.pairing import Pairing, can_treat
from catena.engine.reducing import Reducer
from catena.kernels.views import BUFFER_FULL, NOT_FINITE, OK, STOPPED
from catena.methods.base import Method, all_methods, method_from
from catena.running.control import ControlledDriver, Seen
from catena.running.crossings import crossing_of
from catena.running.ensembles.reductions import Reductions
from catena.running.plan import Problem

RESISTANCE = np.eye(6) + 0.1  # symmetric and positive
EXTRA = (
    ct.EnergyMomentum(level="position"), ct.EnergyMomentum(variables="directors"), ct.RadauIIA(3),
    ct.Gauss(2, solver="newton"), ct.Gauss(2, solver="fixed-point"), ct.Composition(ct.EnergyMomentum(), "suzuki4"),
    ct.Composition(ct.Rattle(), "suzuki4"), ct.Splitting(4, rotor=ct.DMV(4)), ct.Splitting(2, rotor=ct.ThreeRotations()),
    ct.Splitting(2, rotor=ct.Jacobi()), ct.Splitting(4, rotor=ct.DMV("exact")),
    ct.Langevin(0.5, ct.Friction(0.3, 0.2)), ct.Langevin(0.5, ct.Friction(resistance=RESISTANCE)),
    ct.Langevin(0.5, ct.Friction(resistance=RESISTANCE[:3, :3])), ct.Langevin(0.0, ct.Friction(0.3, (0.1, 0.2, 0.3))),
    ct.Langevin(0.5, "inf"), ct.Langevin(0.5, 0.3, rotor=ct.ThreeRotations()), ct.Langevin(0.5, 0.3, rotor=ct.DMV(4)),
    ct.HybridMonteCarlo(0.5, substeps=2, order=4, refresh=0.5),
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


def _chain(n: int, potential: Any = None, bodies: Any = None, **given: Any) -> Callable[[], Problem]:
    """A chain along z; more than one tile, and the last not full, from nine bodies on."""

    def made() -> Problem:
        chain = ct.Chain(bodies or [ct.Body.tetrahedron()] * n, potential or ct.LennardJones(5.0, 1.0), **given)
        place = np.outer(np.arange(n), (0.1, 0.05, 2.1))
        spin = np.outer(np.arange(n) * chain.held[1], (0.2, 0.1, -0.1))  # what is held does not turn
        spin *= np.array([body.kind == "solid" for body in chain.bodies])[:, None]
        return Problem(f"{n}", chain, chain.start(place, angular_velocity=spin, check=False), 0.02)

    return made


def _ring(n: int, potential: Any = None, **given: Any) -> Callable[[], Problem]:
    def made() -> Problem:
        ring = ct.Chain([ct.Body.tetrahedron()] * n, potential or ct.LennardJones(5.0, 1.0), closed=True, **given)
        return Problem(f"ring of {n}", ring, ring.ring(2.1, 1, axis=(0, 0, 1), check=False), 0.02)

    return made


def _elastic(links: int) -> ct.Elastic:
    """One that is the same for all links, or one for each, in the coordinates and the frame that ask for more."""
    stiffness, turn, shift = 20.0 * np.eye(6) + 1.0, np.array([0.1, 0.0, 0.2]), np.array([0.0, 0.1, 2.1])
    if links == 1:
        return ct.Elastic(stiffness, (turn, shift))
    return ct.Elastic([stiffness] * links, ([turn] * links, [shift] * links), "exponential", "middle")


TIMES = np.linspace(0.0, 1.0, 6)
DRIVES: dict[str, Any] = {
    "left": ct.Moved(position=("0.1*sin(2*t)", "0.05*t**2", ct.Sampled(TIMES, 0.1 * np.sin(TIMES))), orientation=("1", "sin(t/3)", 0, 0)),
    "right": ct.Tweezers(8.0, anchor=("0.3*t", ct.Sampled(TIMES, np.cos(TIMES)), 20.0), at=(0.2, -0.1, 0.3)),
    "gravity": (0, "0.2*cos(t)", -0.3),
    "loads": [
        (1, ct.Force(("0.5*sin(3*t)", 0.2, "t"), at=(0.1, 0.2, 0.3))), (2, ct.Torque((0.3, "0.4*cos(t)", "-t/5"))),
        (2, ct.Force((0.1, 0, 0.2))), (1, ct.Tweezers(2.0, anchor=(0, 0, 1.0))),
    ],
}  # fmt: skip


def _driven() -> Problem:
    """Text and tables in t."""
    shake = ct.Sampled(TIMES, np.sin(TIMES))
    energy = "p1**2/2 + p2**2/2 - k*cos(q1) + (q1 - q2)**2/2 + a*t*q2"
    system = ct.Hamiltonian(energy, ["q1", "q2"], ["p1", "p2"], parameters={"k": "1 + 0.2*sin(t)", "a": shake})
    return Problem("driven", system, system.start(q=[0.3, -0.2], p=[0.1, 0.4]), 0.05)


RAMP = ct.Sampled(TIMES, 0.2 * TIMES**2)
MOTORS = (
    ct.Motor(1, target=RAMP, kp=3.0, kd=0.2, effort=2.0), ct.Motor(1, torque="sin(t)"), ct.Motor(1),
    ct.Limit(1, 0.1, 0.4, stiffness=5.0, damping=0.3), ct.Torsion(1, "k*(1 + t)*theta**2", {"k": 0.7}, damping=0.1),
)  # fmt: skip
FIELDS = (
    ct.External("x**2 + t*y + a*z", parameters={"a": 0.3}), ct.Angle((0, 1, 6), "2*(theta - t)**2"),
    ct.Dihedral((0, 1, 5, 7), "k*(1 - cos(phi + t))", {"k": 0.5}), ct.Spring(0, 1, k=3.0, length=1.0),
)  # fmt: skip


def _moved(kind: str, *forces: Any, form: Any = None) -> Callable[[], Problem]:
    """Two bodies on a joint that motors, stops and functions of the time move."""

    def made() -> Problem:
        system, start = linked.two_bodies(kind, (linked.SPRING, *forces), form)
        shaken = ct.Linkage(system.bodies, system.joints, system.forces, gravity=(0, "sin(t)", RAMP), form=form)
        return Problem(f"moved {kind}", shaken, start, 0.02)

    return made


def _prescribed(*, looped: bool) -> Callable[[], Problem]:
    """A joint of a tree, or of a loop, that is driven."""

    def made() -> Problem:
        if looped:
            ring = ct.problems.four_bar()
            old: Any = ring.system
            system = ct.Linkage(old.bodies, old.joints, [ct.Driven(0, "t**2"), ct.Motor(1, torque="t")], old.gravity)
            return Problem("driven loop", system, system.start(ring.start.position, ring.start.orientation), 0.01)
        rods = [ct.Body.box((0.1, 0.2, 1.0), mass=2.0)] * 2
        hinge = ct.Revolute(-1, 0, at=((0, 0, 0), (0, 0, 0.5)), axis=(1, 0, 0))
        rail = ct.Prismatic(0, 1, at=((0, 0, -0.5), (0, 0, 0.5)), axis=(0, 0, 1))
        system = ct.Linkage(rods, [hinge, rail], [ct.Driven(0, RAMP), ct.Motor(1), ct.Limit(1, 0.1, 0.5)])
        return Problem("driven joint", system, system.start(), 0.02)

    return made


def _particles(form: Any = None, **given: Any) -> Callable[[], Problem]:
    """Three tetrahedra, two of them on a hinge."""

    def made() -> Problem:
        body = ct.Body.tetrahedron()
        hinge = ct.Revolute(0, 1, at=((0, 0, 1.0), (0, 0, -1.0)), axis=(1, 0, 0))
        system = ct.Linkage([body] * 3, [hinge], gravity=(0, 0, 0), form=form, exclude=0, **given)
        start = system.start([(0, 0, 0), (0, 0, 2.0), (2.5, 0, 0)], angular_velocity=[(0.2, 0, 0)] * 3, check=False)
        return Problem("particles", system, start, 0.02)

    return made


MOVING = ct.LennardJones("5*(1 + 0.1*sin(t))", ct.Sampled(TIMES, 1.0 + 0.05 * TIMES))
MIXED = [ct.Body.tetrahedron(), ct.Body.from_particles([[0.0, 0.0, 0.0]], [1.5]),
         ct.Body.from_particles([[0.0, 0.0, -0.4], [0.0, 0.0, 0.4]], [1.0, 2.0]), ct.Body.tetrahedron()]  # fmt: skip


def _terms() -> Problem:
    system = many_terms.bodies(7)
    return Problem("terms", system, many_terms.bodies_start(system), 0.01)


SYSTEMS: dict[str, Callable[[], Problem]] = {
    **kinds.KINDS,
    "many terms": _terms,
    "eleven bodies": _chain(11),
    "links": _chain(3, ct.BendTwist(200.0, 30.0, 20.0, (0.0, 0.0, 2.1))),
    "eleven links": _chain(11, _elastic(10)),
    "eleven links with particles": _chain(
        11, ct.BendTwist(200.0, 30.0, 20.0, (0.0, 0.0, 2.1)) + ct.LennardJones(5.0, 1.0)
    ),
    "elastic links in rotations": _chain(3, _elastic(1), form="rotation"),
    "mixed bodies": _chain(4, bodies=MIXED),
    "ring": _ring(3),
    "ring of eleven": _ring(11),
    "ring in rotations": _ring(3, form="rotation"),
    "ring with multiplier": _ring(3, form="multiplier"),
    "ring of links": _ring(11, _elastic(11)),
    "driven": _driven,
    "driven chain": _chain(4, **DRIVES),
    "driven chain in rotations": _chain(4, form="rotation", **DRIVES),
    "eleven driven links": _chain(11, _elastic(1), **DRIVES),
    "driven ring": _ring(3, loads=DRIVES["loads"], gravity=DRIVES["gravity"]),
    **{f"two bodies, {kind}": _linked(kind) for kind in linked.KINDS},
    "two bodies without forces": _linked("Revolute", ()),
    "bennett": ct.problems.bennett,
    "six_ring": ct.problems.six_ring,
    "bricard": ct.problems.bricard,
    "molecule": ct.problems.molecule,
    **{f"moved {kind}": _moved(kind, *MOTORS) for kind in (*linked.ANGULAR, "Prismatic")},
    "moved Revolute in joint form": _moved("Revolute", *MOTORS, form="joint"),
    "driven joint": _prescribed(looped=False),
    "driven loop": _prescribed(looped=True),
    "particles": _particles(pairs=ct.LennardJones(2.0, 1.0)),
    "particles in joint form": _particles("joint", pairs=ct.LennardJones(2.0, 1.0), forces=FIELDS),
    "fields and terms": _particles(forces=FIELDS),
    "chain that moves its potential": _chain(4, MOVING),
    "chain that moves its links": _chain(4, ct.BendTwist("200 + 9*t", 30.0, 20.0, (0.0, 0.0, 2.1))),
    "moving potential in rotations": _chain(4, MOVING, form="rotation"),
    "chain with pairs": _chain(6, pairs=ct.LennardJones(1.0, 1.0), exclude=1),
}


def steer(seen: Seen) -> np.ndarray:
    return np.full(len(seen.angle), 0.3 - 0.1 * float(seen.speed.sum()))


STEERED = ct.Controller(steer)


@cache
def problem(name: str) -> Problem:
    return SYSTEMS[name]()


def methods(of: Problem) -> list[Method]:
    """All that treat a system."""
    known = [method for kind in all_methods() for method in kind.examples()[:3]]  # the rest differ by numbers alone
    return [method for method in (*known, *EXTRA) if can_treat(of.system, method)]


def step_with_checks(of: Problem, method: Method, *, steps: int = 2, **watched: Any) -> Driver:
    """A few steps and samples in plain Python, every subscript checked."""
    crossing = crossing_of(of.system, *watched.values()) if watched else None
    program = build(of.system, method, crossing=crossing, compiled=False, checked=True)
    z, given = program.view.pack(of.start), {"t0": of.start.time, "dt": 0.1 * of.dt, "every": 1}
    run = (
        ControlledDriver(program, z, **given, controller=STEERED) if of.system.controls else Driver(program, z, **given)
    )
    if isinstance(run, ControlledDriver):
        run.consult()
    assert not any(array.flags.writeable for array in (*program.arrays.parameters.values(), program.stepper.tab))
    assert run.first_row().status == OK
    assert run.advance(steps).status in (OK, STOPPED, BUFFER_FULL), method
    return run


@pytest.mark.parametrize(
    "name",
    [
        *kinds.KINDS,
        "many terms",
        "eleven bodies",
        "links",
        "driven chain",
        "ring of links",
        "two bodies, Screw",
        "bennett",
    ],
)
def test_the_usual_method_stays_within_its_arrays_and_leaves_the_parameters_alone(name):
    of = problem(name)
    kind, arguments = of.system.default_method
    step_with_checks(of, method_from({"kind": kind, **arguments}), steps=1)


@pytest.mark.slow
@pytest.mark.parametrize("name", SYSTEMS)
def test_every_method_stays_within_its_arrays_and_leaves_the_parameters_alone(name):
    for method in methods(problem(name)):
        step_with_checks(problem(name), method)


def follow_with_checks(of: Problem, method: Method, kinds: tuple[int, ...] = (1, 0, 1)) -> None:
    """Two members of two kinds in one call of the loop, a sample of each, and the samples taken into reductions."""
    pairing = Pairing.of(of.system, method)
    program = build(of.system, method, compiled=False, checked=True)
    z = np.array([program.view.pack(of.start)] * 3)
    alike = Members.alike(pairing, z, np.full(3, of.start.time), 0.1 * of.dt)
    par = {name: np.repeat(array, 2, axis=0) for name, array in alike.par.items()}
    members = replace(alike, par=par, kinds=np.array(kinds))
    block = MemberBlock(program, members, every=1)
    start, running = block.record(slice(0, 3)), np.array([True, False, True])
    rows, _, status = block.advance(slice(0, 3), 0, 1, running)
    assert np.isfinite(start).all() and (status <= OK).all(), method
    reductions = Reductions({
        "mean": ct.Mean("energy"), "ends": ct.Extremes("energy"), "bins": ct.Histogram("energy", -1.0, 1.0, bins=3),
        "zeros": ct.LastCrossing("energy"),
    })  # fmt: skip
    status[~running] = NOT_FINITE  # nothing stands in its rows
    kept = np.repeat(reductions.first()[None], 3, axis=0)
    reduce = Reducer(reductions.kernel(of.system), par, compiled=False, checked=True)
    reduce(rows, 1, members.t0, members.dt, 1, members.kinds, status, par, kept)
    np.testing.assert_array_equal(kept[:, 0], running)


@pytest.mark.parametrize("name", ["separable", "driven chain"])
def test_members_and_reductions_stay_within_their_rows(name):
    of = problem(name)
    kind, arguments = of.system.default_method
    follow_with_checks(of, method_from({"kind": kind, **arguments}))


@pytest.mark.slow
@pytest.mark.parametrize("name", SYSTEMS)
def test_members_of_every_kind_stay_within_their_rows(name):
    of = problem(name)
    kind, arguments = of.system.default_method
    for method in (method_from({"kind": kind, **arguments}), ct.Langevin(1.0, 1.0), ct.HybridMonteCarlo(1.0)):
        if can_treat(of.system, method):
            follow_with_checks(of, method)


def test_a_member_of_a_kind_before_the_first_is_found():
    """Unchecked, it is stepped with the parameters of the last kind."""
    of = problem("separable")
    with pytest.raises(IndexError, match="element -1 of 2"):
        follow_with_checks(of, ct.Splitting(4), kinds=(1, 0, -1))


WATCHES = {
    "separable": [ct.Section("a", "q1 - 0.2"), ct.Section("b", "p1*q2 - t")],
    "chain": [ct.Section("level", "position[1,0]")],
}


@pytest.mark.parametrize("name", WATCHES)
def test_sections_and_events_stay_within_their_rows(name):
    of = problem(name)
    events = [ct.Event("late", "t - 0.03", stop=True)]
    step_with_checks(of, ct.Gauss(2), steps=3, sections=WATCHES[name], events=events)


def work_in_use(of: Problem, method: Method, room: int | None = None) -> int:
    """How many numbers of the work array two steps use, up to the last one that is written; with `room` for as many, if given."""
    program = build(of.system, method, compiled=False, checked=True)
    if room is not None:
        program = replace(program, stepper=replace(program.stepper, work=room))
    run = Driver(program, program.view.pack(of.start), t0=of.start.time, dt=0.1 * of.dt, every=1)
    run._work[:] = np.nan
    assert run.attempt(2).status == OK, method  # not `advance`, which would look for the kernel that is to blame
    written = np.flatnonzero(~np.isnan(run._work))
    return int(written[-1]) + 1 if len(written) else 0


def short_work_is_noticed(of: Problem, method: Method) -> bool:
    """Whether a work array that is one number too short ends in an error, not in numbers."""
    used = work_in_use(of, method)
    if used == 0:
        return True
    with pytest.raises(IndexError):
        work_in_use(of, method, used - 1)
    return True


@pytest.mark.parametrize("method", [ct.Gauss(2), ct.Splitting(4), ct.Langevin(1.0, 1.0)], ids=str)
def test_a_work_array_that_is_too_short_is_noticed(method):
    assert short_work_is_noticed(problem("separable"), method)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["separable", "top", "chain", "eleven bodies", "driven chain", "two bodies, Revolute", "bennett"]
)
def test_a_work_array_of_any_method_that_is_too_short_is_noticed(name):
    for method in methods(problem(name)):
        if isinstance(method, ct.Composition):
            continue  # its own part is counted from the end: what is too short moves it over that of its base, one line that adds both
        assert short_work_is_noticed(problem(name), method)
