"""The same bits of a run in a heat bath, however it is stepped: in threads, stopped and resumed, on tiles of every width."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import catena as ct
from catena.engine.build import Program, build
from catena.engine.driver import Driver
from catena.systems.chain.tiles import view as chain_tiles

SPRING = ct.Hamiltonian("p**2/2 + q**2/2")
START = SPRING.start(q=0.0, p=0.0)
WARM = ct.Langevin(2.0, friction=1.0, seed=7)


def files_of(folder: Path) -> dict[str, bytes]:
    found = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != "lock")
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


def test_a_run_killed_between_samples_resumes_to_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Noise needs no state but the number of the step, and sums of a window that is not full are in the checkpoint."""
    monkeypatch.setenv("CATENA_ROWS_PER_COMMIT", "8")
    how = {"dt": 0.2, "steps": 603, "every": 5}
    ct.simulate(SPRING, START, WARM, **how, out=tmp_path / "whole.zarr")
    child = os.fork()
    if child == 0:  # pragma: no cover

        def die(step: int, steps: int, time: float, error: float) -> None:
            if step > 250:
                os._exit(9)

        ct.simulate(SPRING, START, WARM, **how, out=tmp_path / "killed.zarr", progress=die)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    ct.resume(tmp_path / "killed.zarr")
    whole, killed = files_of(tmp_path / "whole.zarr"), files_of(tmp_path / "killed.zarr")
    assert whole == killed
    longer = ct.simulate(SPRING, START, WARM, dt=0.2, steps=1000, every=5)
    extended = ct.resume(tmp_path / "whole.zarr", steps=1000)
    for name in ("q", "p", "equipartition", "fourth_moment"):
        assert np.array_equal(extended.data[name].values, longer.data[name].values, equal_nan=True), name


def test_members_differ_by_their_noise_and_not_by_threads_or_batches() -> None:
    """Member k of an ensemble is a run whose noise has the number k, in one thread or two; member 0 is the single run."""
    starts = [START] * 12
    one, two = (
        ct.ensemble(SPRING, starts, WARM, dt=0.2, steps=100, every=25, keep="samples", threads=threads) for threads in (1, 2)
    )  # fmt: skip
    for name in ("q", "p", "equipartition"):
        assert np.array_equal(one.data[name].values, two.data[name].values, equal_nan=True), name
    assert len(np.unique(one.final.q.values)) == len(starts)
    single = ct.simulate(SPRING, START, WARM, dt=0.2, steps=100, every=25)
    assert np.array_equal(one.data.q.values[0], single.data.q.values)


# Chains in tiles -----------------------------------------------------------------------------------------------------------


def program_on(chain: ct.Chain, width: int, *, compiled: bool, monkeypatch: pytest.MonkeyPatch) -> Program:
    """Langevin dynamics on tiles of this width; 0 for the view without tiles."""
    with monkeypatch.context() as patch:
        if width == 0:
            patch.setattr(chain_tiles, "tiles_view", lambda chain: None)
        else:
            patch.setattr(chain_tiles, "tile_width", lambda count: width)
        program = build(chain, ct.Langevin(0.3, 0.5, seed=7), compiled=compiled)
    assert program.view.name == ("tiles" if width else "split")
    return program


def rows_of(program: Program, start: ct.State, steps: int, every: int) -> np.ndarray:
    driver = Driver(program, program.view.pack(start), t0=0.0, dt=0.005, every=every, member=2)
    chunk = driver.advance(steps)
    assert chunk.status == 0
    return chunk.rows


def test_tiles_and_single_bodies_make_the_same_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two steps of ten bodies, two tiles of eight, in plain Python: states and sums to a few units in the last place."""
    helix = ct.problems.helix_chain(10, right="force", F=(3.0, 0.0, 0.0), amp=0.1)
    tiles, single = (
        rows_of(program_on(helix.system, width, compiled=False, monkeypatch=monkeypatch), helix.start, 2, 2)
        for width in (8, 0)
    )  # fmt: skip
    assert np.abs(tiles - single).max() < 1e-13


@pytest.mark.slow
def test_tiles_of_every_width_have_the_same_bits_and_those_of_single_bodies_nearly(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """70 bodies: two tiles of 64, nine of 8. Single bodies turn by another arithmetic: 1e-12 after 200 steps."""
    helix = ct.problems.helix_chain(70, right="force", F=(3.0, 0.0, 0.0), amp=0.1)
    found = {
        width: rows_of(program_on(helix.system, width, compiled=True, monkeypatch=monkeypatch), helix.start, 200, 50)
        for width in (64, 8, 0)
    }  # fmt: skip
    assert np.array_equal(found[64], found[8])
    print("tiles against single bodies:", np.abs(found[64] - found[0]).max())
    assert np.abs(found[64] - found[0]).max() < 1e-12


@pytest.mark.slow
@pytest.mark.parametrize(
    "make", [lambda: ct.Langevin(0.3, 0.5, seed=7), lambda: ct.HybridMonteCarlo(0.3, substeps=3, seed=7)]
)
def test_compiled_steps_have_the_bits_of_plain_python(make: Callable[[], ct.Langevin | ct.HybridMonteCarlo]) -> None:
    helix = ct.problems.helix_chain(6, right="force", F=(3.0, 0.0, 0.0), amp=0.1)
    compiled, plain = (rows_of(build(helix.system, make(), compiled=c), helix.start, 6, 2) for c in (True, False))
    assert np.array_equal(compiled, plain)
