"""Runs of all that drives a system, killed between changes of the disk and resumed: the bytes of a run that nobody stopped."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import catena as ct
import processes
from catena.store import read_checkpoint
from catena.systems.base import System

TIMES = np.linspace(0.0, 2.0, 9)
TABLE = ct.Sampled(TIMES, np.sin(TIMES))
WATER = ((0.3, 0.1, 0.0), (-0.2, 0.4, 0.1), (0.1, -0.3, 0.5))
SECOND: dict[str, Any] = {"at": ((0.5, 0.4, 0.6), (-0.4, -0.4, -0.5)), "axis": (0, 1, 0)}
Given = tuple[System, ct.State, Any]


def pendulum() -> Given:
    """A text in t and a table."""
    system = ct.Hamiltonian("p**2/2 - cos(q) - f*q - g*q*sin(2*t)", parameters={"f": TABLE, "g": "0.3 + t"})
    return system, system.start(q=1.0, p=0.2), ct.Splitting(4)


def chain() -> Given:
    """One end is moved, the other one pulled; bodies are pushed and twisted, and the links change."""
    loads = [(1, ct.Force(("sin(3*t)", 0, TABLE), at=(0.1, 0.2, 0.0))), (2, ct.Torque((0, 0.2, "cos(t)")))]
    system = ct.Chain(
        [ct.Body.tetrahedron()] * 4, ct.Harmonic("30*(1 + t/5)", 1.5), ct.Moved(("t**2/4", 0, 0)),
        ct.Tweezers(8.0, ("4.6 + 0.3*t", TABLE, 0.1), at=(0.1, 0, 0)), gravity=(0, "0.2*cos(t)", 0), loads=loads,
    )  # fmt: skip
    return system, system.straight(1.5, check=False), ct.Splitting(4)


def linkage(second: ct.Joint, *more: Any) -> tuple[ct.Linkage, ct.State]:
    """Two bodies whose particles feel all that can act, a motor with a target and one with a torque, stops; and more."""
    hinge = ct.Revolute(-1, 0, at=((0, 0, 0), (0.3, 0.2, 0.5)), axis=(1, 0, 0), image=(1, 0, 0, 0))
    terms = [
        ct.External("x**2 + t*y"), ct.Angle((0, 1, 4), "6*(theta - 1 - t)**2"), ct.Dihedral((0, 1, 3, 5), "4*(1 - cos(phi - t))"),
        ct.Motor(1, target="0.4*sin(3*t)", kp=5.0, kd=0.4), ct.Motor(1, torque=ct.Sampled([0, 0.5, 1, 2], [0, 1, 0, 1])),
        ct.Limit(1, -0.01, 0.01, stiffness=50.0, damping=2.0),
    ]  # fmt: skip
    system = ct.Linkage(
        [ct.Body.from_particles(WATER)] * 2, [hinge, second], [*terms, *more], (0, "sin(t)", -9.81),
        pairs=ct.LennardJones(0.2, 0.5), exclude=0,
    )  # fmt: skip
    return system, system.start()


def directors() -> Given:
    return *linkage(ct.Revolute(0, 1, **SECOND), ct.Torsion(0, "t*theta**2")), ct.EnergyMomentum("position")


def driven_directors() -> Given:
    return *linkage(ct.Revolute(0, 1, **SECOND), ct.Driven(0, "t**2")), ct.EnergyMomentum()


def joint_form() -> Given:
    return *linkage(ct.Prismatic(0, 1, **SECOND), ct.Driven(0, "t**2")), ct.Gauss(2, solver="fixed-point")


@pytest.mark.filterwarnings("ignore:.*cubic spline", "ignore:.*passes the stop")  # the motor presses on purpose
@pytest.mark.usefixtures("plain_programs")
@pytest.mark.parametrize(
    ("made", "kept", "kills"),
    [
        (pendulum, 1e-6, 3),
        *(
            pytest.param(*rest, marks=pytest.mark.slow)
            for rest in ((chain, None, 8), (directors, 1e-12, 8), (driven_directors, 1e-12, 8), (joint_form, 1e-5, 8))
        ),
    ],
)
def test_a_driven_run_that_is_killed_goes_on_to_the_same_bytes(
    made: Any, kept: Any, kills: int, tmp_path: Path
) -> None:
    """And something worked on it meanwhile; the energy less the work stays, but for a torque in space, which has no potential."""
    system, start, method = made()

    def record(path: Path) -> ct.Run:
        return ct.simulate(system, start, method, dt=0.01, steps=7, out=path)

    count = len(processes.boundaries(partial(record, tmp_path / "whole.zarr")))
    whole, resumed = processes.contents(tmp_path / "whole.zarr"), 0
    for number in range(5, count, count // kills):
        path = tmp_path / f"killed{number}.zarr"
        processes.kill_at(number, partial(record, path))
        if path.exists() and read_checkpoint(path) is not None:
            ct.resume(path)
            resumed += 1
            assert processes.contents(path) == whole
    assert resumed
    data = ct.open(tmp_path / "whole.zarr").data
    work = data.load_work if "load_work" in data else data.work
    assert float(np.abs(work).max()) > 1e-4
    assert kept is None or float(np.abs(data.energy - data.energy[0]).max()) < kept
