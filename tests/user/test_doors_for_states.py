"""Every door through which a state, a run or a number of something comes in refuses what is not meant, in words."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest

import catena as ct
from catena.errors import CatenaError, InputError
from catena.systems.base import SYSTEMS, System

# what rooms of catena ask of each other, with states that were looked at before
WITHIN = {
    "angular_speed", "begun", "check_start", "damaged", "energy_of", "fastest_body", "first_jump", "frequency_above", "from_canonical", "motor_places", "multiplier",
    "phase_space", "to_canonical", "to_stepped", "undefined_at",
}  # fmt: skip
MATTERS_OF_PHYSICS = {
    ("Chain", "equilibrium_path"),
    ("Chain", "normal_modes"),
    ("Linkage", "dihedrals"),
    ("Linkage", "normal_modes"),
    ("Linkage", "maxwell"),
    ("ScalingBody", "maxwell"),
}
MORE: dict[str, Any] = {
    "temperature": 1.0,
    "t": 1.0,
    "until": 1.0,
    "k": 0.1,
    "load_direction": (1.0, 0.0, 0.0),
    "atoms": (0, 1, 2, 3),
}


@cache
def ring() -> tuple[ct.Chain, ct.State]:
    bodies = [ct.Body.box((1, 1, 1), 1.0)] * 6
    chain = ct.Chain(bodies, ct.BendTwist(10.0, 2.0, 3.0, (0, 0, 1)), closed=True)
    return chain, chain.ring(1.0, axis=(0, 0, 1))


def doors() -> Iterator[Any]:
    """(name of the system, name of the method, name of the argument) of all that take a state."""
    for kind in ("Chain", "FreeBody", "Hamiltonian", "Linkage", "ScalingBody", "Top"):
        for name, method in inspect.getmembers(SYSTEMS.find(kind), inspect.isfunction):
            for argument in inspect.signature(method).parameters.values():
                if "State" in str(argument.annotation) and name not in WITHIN and not name.startswith("_"):
                    yield pytest.param(kind, name, argument.name, id=f"{kind}.{name}.{argument.name}")


@cache
def example(kind: str) -> tuple[System, ct.State]:
    if kind == "Chain":
        return ring()
    made: dict[str, Callable[[], ct.Problem]] = {
        "FreeBody": ct.problems.book, "Hamiltonian": ct.problems.kepler, "Linkage": ct.problems.double_pendulum,
        "Top": ct.problems.lagrange_top,
    }  # fmt: skip
    if kind not in made:
        body = ct.ScalingBody(ct.Body.box((1.0, 2.0, 3.0), 1.0), "unilateral")
        return body, body.start(angular_velocity=(1.0, 0.5, 0.0), scale_rate=-0.1)
    problem = made[kind]()
    return problem.system, problem.start


def asked(system: System, name: str, argument: str, given: object) -> object:
    """The answer of a door, with what is needed besides."""
    method: Callable[..., object] = getattr(system, name)
    needed = [p.name for p in inspect.signature(method).parameters.values() if p.default is p.empty]
    others = {"state": example(system.kind)[1], "start": example(system.kind)[1]} | MORE
    return method(**{other: others[other] for other in needed if other != argument}, **{argument: given})


@pytest.mark.parametrize(("kind", "name", "argument"), list(doors()))
def test_what_is_no_state_of_a_system_is_refused_at_every_door(kind: str, name: str, argument: str) -> None:
    """A word, a problem, a state of another system, and nan; the state itself is taken."""
    system, state = example(kind)
    problem = ct.problems.harmonic()
    others = ["state", problem, problem.start, {"q": 1.0}]
    others.append(ct.State({field: values + np.nan for field, values in state.fields.items()}))
    if inspect.signature(getattr(system, name)).parameters[argument].default is inspect.Parameter.empty:
        others.append(None)
    for wrong in others:
        with pytest.raises(InputError) as caught:
            asked(system, name, argument, wrong)
        assert caught.value.do and caught.value.where.startswith(f"{name}.{argument}"), str(caught.value)
    with contextlib.suppress(CatenaError) if (kind, name) in MATTERS_OF_PHYSICS else contextlib.nullcontext():
        asked(system, name, argument, state)


MODES: dict[str, Callable[[], object]] = {
    "displacement": lambda: modes().displacement(99),
    "displacement of a word": lambda: modes().displacement("first"),  # type: ignore[arg-type]
    "view": lambda: modes().view(mode=-99),
    "start": lambda: modes().start({99: 1.0}),
    "a run of another system": lambda: modes().energy(run()),
    "no run": lambda: modes().energy(None),  # type: ignore[arg-type]
    "outputs of no run": lambda: example("Chain")[0].outputs(None),  # type: ignore[attr-defined]
    "outputs of a linkage": lambda: example("Linkage")[0].outputs("run"),  # type: ignore[attr-defined]
    "plot": lambda: modes().plot([99]),
    "a phase in words": lambda: ring()[0].dispersion("long"),
    "a complex phase": lambda: ring()[0].dispersion(1j),
    "units of nothing": lambda: HELIX.system.scales().nondimensional(None),  # type: ignore[arg-type]
    "units of another state": lambda: HELIX.system.scales().dimensional(ring()[1]),
    "a method by its name": lambda: HELIX.system.suggest_dt("RK4", HELIX.start),  # type: ignore[arg-type]
    "a spacing in words": lambda: HELIX.system.straight("wide"),  # type: ignore[arg-type]
    "methods of a word": lambda: ct.list_methods("Chain"),  # type: ignore[arg-type]
    "one body": lambda: ct.Chain(ct.Body.box((1, 1, 1), 1.0), ct.BendTwist(1.0, 1.0, 1.0, (0, 0, 1))),  # type: ignore[arg-type]
    "a number of bodies": lambda: ct.Linkage(4, []),  # type: ignore[arg-type]
    "a kernel that keeps a number": lambda: ct.Custom("q", max, 3),  # type: ignore[arg-type]
    "a dihedral angle of words": lambda: MOLECULE.dihedrals(MOLECULE.start(), "abcd"),
    "a dihedral angle of three": lambda: MOLECULE.dihedrals(MOLECULE.start(), [0, 1, 2]),
    "a dihedral angle of a particle that is named twice": lambda: MOLECULE.dihedrals(MOLECULE.start(), [0, 1, 1, 2]),
    "a dihedral angle of a particle that is not there": lambda: MOLECULE.dihedrals(MOLECULE.start(), [0, 1, 2, 4]),
    "an export to nowhere": lambda: run().export(None),  # type: ignore[arg-type]
    "of_link": lambda: ct.Elastic([np.eye(6)] * 3, (np.zeros((3, 3)), [0, 0, 1])).of_link(99),
    "loads": lambda: ct.Chain(
        [ct.Body.box((1, 1, 1), 1.0)] * 3, ct.BendTwist(1.0, 1.0, 1.0, (0, 0, 1)), loads=ct.Force((1, 0, 0))
    ),  # type: ignore[arg-type]
    "loads by name": lambda: ct.Chain(
        [ct.Body.box((1, 1, 1), 1.0)] * 3, ct.BendTwist(1.0, 1.0, 1.0, (0, 0, 1)), loads={1: "Force"}
    ),  # type: ignore[arg-type]
}


HELIX = ct.problems.helix_chain(3)
MOLECULE = ct.Linkage([ct.Body.from_particles([[1, 0, 0], [0, 0, 0], [0, 0, 1], [0, 1, 1]])])


@cache
def run() -> ct.Run:
    return ct.simulate(ct.problems.harmonic(), steps=1, progress=False)


@cache
def modes() -> Any:
    hanging = ct.problems.hanging_chain("revolute", 2)
    return hanging.system.normal_modes(hanging.system.equilibrium(hanging.start))


@pytest.mark.parametrize("name", MODES)
def test_numbers_and_runs_that_there_are_not_are_refused(name: str) -> None:
    with pytest.raises(InputError) as caught:
        MODES[name]()
    assert caught.value.do and caught.value.where


def test_an_equilibrium_of_another_system_is_refused() -> None:
    """Its modes would be those of the other one, without a word."""
    mine, other = (ct.problems.hanging_chain(joint, 2).system for joint in ("revolute", "spherical"))
    found = other.equilibrium()
    with pytest.raises(InputError, match="normal_modes"):
        mine.normal_modes(found)
    with pytest.raises(InputError, match="is not a state"):
        example("Chain")[0].normal_modes(found)  # type: ignore[attr-defined]
    with pytest.raises(InputError, match="is not a state"):
        mine.normal_modes(ct.problems.helix_chain(2).system.equilibrium())
    assert other.normal_modes(found).zero == 2  # the twin: its own


def test_a_motion_begins_where_the_system_can_be() -> None:
    """States of the right shape that joints, ends or a line do not allow."""
    double = ct.problems.double_pendulum()
    torn = ct.State({**double.start.fields, "position": double.start.position + np.arange(6.0).reshape(2, 3)})
    for door in (
        lambda s: ct.simulate(double.system, s, dt=0.01, steps=1),
        double.system.equilibrium,
        double.system.reactions,
    ):
        with pytest.raises(InputError, match="does not fit joint 1"):
            door(torn)
    free = ct.problems.helix_chain(4, left="free")
    moving = free.system.maxwell(free.start, 0.1)
    held = ct.problems.helix_chain(4)
    with pytest.raises(InputError, match="body 0 is held, but moves"):
        ct.simulate(held.system, moving, dt=0.01, steps=1)
    assert held.system.link_lengths(moving).shape == (3,)  # its links have lengths all the same
