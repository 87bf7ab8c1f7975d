"""Consecutive steps of a method, in plain Python by default: for runs that are too short to be worth compiling."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..engine.build import build
from ..engine.driver import Driver
from ..methods.base import Method
from ..systems.base import Array, State, System


def driver_of(
    system: System, start: State, method: Method, dt: float, *, every: int = 1, compiled: bool = False
) -> Driver:
    """A driver for the steps, from a start at t = 0."""
    program = build(system, method, compiled=compiled)
    return Driver(program, program.view.pack(start), t0=0.0, dt=dt, every=every)


def follow_steps(driver: Driver, steps: int, treat: Callable[[Array], None] | None = None) -> dict[str, Array]:
    """All samples by name, beginning with the start; `treat` changes the stepped variables after each step.

    Raises
    ------
    ArithmeticError : a step failed
    """
    rows = [driver.first_row().rows]
    for count in [steps] if treat is None else [1] * steps:
        made = driver.advance(count)
        if made.status > 0:
            raise ArithmeticError(f"no step after {driver.step}")
        if treat is not None:
            driver.z += driver.e
            driver.e[:] = 0.0
            treat(driver.z)
            made = driver.first_row()
        rows.append(made.rows)
    return driver.program.system.columns(np.concatenate(rows))
