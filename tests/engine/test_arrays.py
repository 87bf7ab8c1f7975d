"""What a system is stands apart from what a step scribbles: parameters are shared and never written into, scratch is everybody's own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import catena as ct
import kinds
from catena.engine.arrays import Arrays
from catena.engine.build import Program, build
from catena.engine.driver import Driver
from catena.engine.pairing import Pairing
from catena.errors import KernelError
from catena.kernels.views import View
from catena.methods.base import Method
from catena.running.plan import Problem

# one of each that has scratch: tiles, plain chains in three forms, both forms of linkages, a motion in closed form, a rotor with an orbit
PAIRS: dict[str, Method] = {
    "clamped chain": ct.Splitting(4), "chain": ct.Gauss(2), "chain in rotations": ct.Rattle(), "chain with multiplier": ct.Gauss(2),
    "linkage": ct.EnergyMomentum(), "loop": ct.Gauss(2), "scaling body": ct.Jacobi(), "top": ct.Splitting(2, rotor=ct.Jacobi()),
}  # fmt: skip


def driver_of(program: Program, of: Problem) -> Driver:
    return Driver(program, program.view.pack(of.start), t0=of.start.time, dt=0.1 * of.dt, every=1)


@pytest.mark.parametrize("name", PAIRS)
def test_drivers_share_parameters_and_no_scratch(name: str) -> None:
    of = kinds.KINDS[name]()
    program = build(of.system, PAIRS[name], compiled=False)
    first, second = (driver_of(program, of) for _ in range(2))
    assert program.arrays.parameters and program.arrays.scratch
    for array in program.arrays.parameters:
        assert getattr(first.par, array) is getattr(second.par, array), array
    for array in program.arrays.scratch:
        assert not np.shares_memory(getattr(first.par, array), getattr(second.par, array)), array


@pytest.mark.parametrize("name", ["linkage", "chain in rotations", "top"])
def test_what_stands_in_scratch_decides_nothing(name: str) -> None:
    """A step with the scratch that another driver has left behind has the bits of a step alone."""
    of = kinds.KINDS[name]()
    program = build(of.system, PAIRS[name], compiled=False)
    alone, other, used = (driver_of(program, of) for _ in range(3))
    alone.advance(1)
    other.advance(3)
    for array in program.arrays.scratch:
        getattr(used.par, array)[...] = getattr(other.par, array)
    used.restore(alone.step, alone.state())
    for driver in (alone, used):
        driver.advance(1)
    assert (alone.z == used.z).all() and (alone.e == used.e).all()


class Careless:
    """A chain in rotations that declares the places of its particles to be parameters."""

    def __init__(self, chain: ct.Chain) -> None:
        self._chain = chain

    def __getattr__(self, name: str) -> Any:
        return getattr(self._chain, name)

    def view(self, name: str) -> View | None:
        view = self._chain.view(name)
        if view is None:
            return None
        kept = {name: array for name, array in view.scratch().items() if name != "x"}
        return replace(view, scratch=lambda: kept, parameters={"x": view.scratch()["x"]})


def test_a_kernel_that_writes_into_a_parameter_is_named() -> None:
    """The twin of the sweep over every program, which steps with parameters that cannot be written into."""
    of = kinds.KINDS["chain in rotations"]()
    program = build(Careless(of.system), ct.Rattle(), compiled=False)  # type: ignore[arg-type]
    driver = driver_of(program, of)
    with pytest.raises(KernelError, match=r"kernel \w*place_particles\w* writes into a parameter"):
        driver.advance(1)


def test_an_array_is_a_parameter_or_scratch() -> None:
    of = kinds.KINDS["chain"]()
    pairing = Pairing.of(of.system, ct.Rattle())
    view, stepper = pairing.view, pairing.stepper
    with pytest.raises(ct.InputError, match=r"par\.mass of Chain is a parameter and scratch, too"):
        Arrays.of(of.system, replace(view, scratch=lambda: {"mass": np.zeros(2)}), stepper)
