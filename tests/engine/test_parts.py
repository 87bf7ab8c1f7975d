"""One run on several threads has the bits of one thread; in plain Python, so nothing is compiled."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import catena as ct
from catena.engine import parts
from catena.engine.build import Program, build
from catena.engine.driver import Driver
from catena.engine.parts import PartedDriver
from catena.errors import CapabilityError
from catena.methods.base import Method
from catena.running.plan import Problem

STEPS, EVERY = 5, 3
LATE = 5000  # where one step of 256 is looked at; at the start it is each


def ring() -> Problem:
    """A closed chain of three tiles, the last of them not full."""
    given = ct.problems.helix_chain(17)
    chain = ct.Chain(given.system.bodies, given.system.potentials[0], closed=True)
    angle = 2 * np.pi * np.arange(17) / 17
    radius = 17 * 2.6 / (2 * np.pi)
    position = radius * np.stack([np.cos(angle), np.sin(angle), 0 * angle], axis=1)
    return Problem("ring", chain, chain.start(position=position, orientation=np.tile([1.0, 0, 0, 0], (17, 1))), 1e-3)


def programs(of: Problem, method: Method) -> tuple[Program, dict[str, Any]]:
    program = build(of.system, method, compiled=False)
    return program, {"z": program.view.pack(of.start), "t0": 0.0, "dt": of.dt, "every": EVERY}


def reached(driver: Driver, steps: int = STEPS) -> list[np.ndarray]:
    """Rows of the start and of two chunks, the state, and what was seen between samples."""
    driver.step = LATE
    first = driver.first_row().rows
    chunks = [driver.advance(count).rows for count in (steps // 3, steps - steps // 3)]
    return [first, *chunks, driver.z, driver.scale, driver.looks]


@pytest.fixture
def shared(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many steps threads have shared, call by call."""
    counts: list[int] = []
    share = PartedDriver._share
    monkeypatch.setattr(
        PartedDriver, "_share", lambda self, steps, threads: counts.append(steps) or share(self, steps, threads)
    )
    return counts


@pytest.mark.parametrize(
    ("of", "method"),
    [
        (lambda: ct.problems.helix_chain(17), ct.Splitting(2)),
        pytest.param(lambda: ct.problems.helix_chain(9, right="force", F=(0.5, 0.0, 0.0)), ct.Splitting(4), marks=pytest.mark.slow),
        (ring, ct.Splitting(2)),
    ],
    ids=["open", "pulled", "ring"],
)  # fmt: skip
def test_the_bits_of_a_run_do_not_depend_on_its_threads(of: Any, method: Method, shared: list[int]) -> None:
    """Three tiles of eight bodies: threads have one, two or three of them each; samples and looks are between shared steps."""
    program, options = programs(of(), method)
    wanted = reached(Driver(program, **options))
    for threads in (1, 2, 3):
        shared.clear()
        found = reached(PartedDriver(program, **options, threads=threads, compiled=False))
        assert sum(shared) == STEPS - 2  # all but the two that end with a sample, the last of a chunk among them
        for ours, theirs in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(ours, theirs)


def test_a_seam_that_is_left_open_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    """As it must: the last link of a thread would keep its old force."""
    program, options = programs(ct.problems.helix_chain(17), ct.Splitting(2))
    wanted = reached(Driver(program, **options))
    join = parts._load

    def open_seams(*arguments: Any, **further: Any) -> Any:
        module, arrays = join(*arguments, **further)
        sweep = module.advance
        module.advance = lambda z, push, glide, par, begin, end: (
            sweep(z, push, glide, par, begin, end) if begin < end else 0
        )
        return module, arrays

    monkeypatch.setattr(parts, "_load", open_seams)
    found = reached(PartedDriver(program, **options, threads=2, compiled=False))
    assert (found[3] != wanted[3]).any()


@pytest.mark.parametrize("method", [ct.Rattle(), ct.Gauss(2)], ids=str)
def test_what_threads_cannot_share_is_told(method: Method) -> None:
    program, options = programs(ct.problems.helix_chain(9), method)
    with pytest.raises(CapabilityError, match="cannot be shared by threads"):
        PartedDriver(program, **options, threads=2, compiled=False)


@pytest.mark.slow
def test_stores_have_the_same_bytes_whatever_the_threads_and_resumed_with_others(tmp_path: Path) -> None:
    """Compiled: four wide tiles, more steps than chunks; the last run is stopped in the middle and goes on with three threads."""
    of, options = ct.problems.helix_chain(200), {"dt": 2e-3, "every": 100, "progress": False}
    for threads in (1, 2, 3):
        ct.simulate(of, **options, steps=1000, threads=threads, out=tmp_path / f"{threads}.zarr")
    ct.simulate(of, **options, steps=500, threads=2, out=tmp_path / "4.zarr")
    ct.resume(tmp_path / "4.zarr", steps=1000, threads=3, progress=False)
    stored = [ct.open(tmp_path / f"{name}.zarr") for name in (1, 2, 3, 4)]
    for other in stored[1:]:
        assert other.data.identical(stored[0].data)
        assert str(other.audit()) == str(stored[0].audit())


def test_a_run_whose_steps_cannot_be_shared_is_refused_before_it_begins() -> None:
    with pytest.raises(CapabilityError, match="cannot be shared by threads"):
        ct.simulate(ct.problems.kepler(), ct.problems.kepler().start, ct.Splitting(6), steps=3, threads=2)
    with pytest.raises(ct.InputError, match="threads = 0"):
        ct.simulate(ct.problems.kepler(), ct.problems.kepler().start, ct.Splitting(6), steps=3, threads=0)
