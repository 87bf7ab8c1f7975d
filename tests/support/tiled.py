"""Chains in tiles for the tests: programs on tiles of a given width, and their results."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import catena as ct
from catena.engine.build import Program, build
from catena.engine.driver import Driver
from catena.methods.splitting.splitting import Splitting
from catena.systems.chain.tiles import view as chain_tiles


def program_of(chain: ct.Chain, method: ct.Splitting, *, width: int | None = None, compiled: bool = False) -> Program:
    """The program on tiles of this width; 0 for the plain view."""
    with pytest.MonkeyPatch.context() as patch:
        if width == 0:
            patch.setattr(Splitting, "needs", ("split",))
        elif width is not None:
            patch.setattr(chain_tiles, "tile_width", lambda count: width)
        program = build(chain, method, compiled=compiled)
    assert program.view.name == ("split" if width == 0 else "tiles")
    return program


def driven(program: Program, start: ct.State, *, dt: float, steps: int) -> Driver:
    driver = Driver(program, program.view.pack(start), t0=0.0, dt=dt, every=steps)
    driver.first_row()
    assert driver.advance(steps).status == 0
    return driver


def fields(state: ct.State) -> np.ndarray:
    return np.concatenate([array.ravel() for array in state.fields.values()])


def final(program: Program, start: ct.State, *, dt: float, steps: int) -> np.ndarray:
    return fields(program.view.unpack(driven(program, start, dt=dt, steps=steps).z, 0.0))


def difference(chain: ct.Chain, start: ct.State, method: ct.Splitting, *, dt: float = 0.01, steps: int = 2) -> float:
    """Difference between tiles and plain view, uncompiled."""
    seen, wanted = (final(program_of(chain, method, width=w), start, dt=dt, steps=steps) for w in (8, 0))
    return float(np.abs(seen - wanted).max())


def halves(program: Program, start: ct.State, spoil: Callable[[np.ndarray], None] | None = None) -> tuple[Driver, ...]:
    """Five steps, and two then three from a checkpoint of the first."""
    whole, first, second = (
        Driver(program, program.view.pack(start), t0=0.0, dt=0.01, every=1) for _ in range(3)
    )  # fmt: skip
    whole.advance(5)
    first.advance(2)
    kept = {name: array.copy() for name, array in first.state().items()}
    if spoil is not None:
        spoil(kept["z"])
    second.restore(2, kept)
    assert spoil or second.record().rows.tobytes() == first.record().rows.tobytes()
    second.advance(3)
    return whole, second
