"""Drives a program from Python: chunks of steps, with everything that a checkpoint must hold."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..views import BUFFER_FULL, NOT_FINITE, OK, STOPPED
from .build import Program, empty_marks

Array = NDArray[np.float64]

CROSSING_ROWS = 1024


@dataclass(frozen=True)
class Chunk:
    """What a chunk of steps gave: sample rows, crossing rows, and how it ended (0, STOPPED or a failure code)."""

    rows: Array
    crossings: Array
    status: int


class Driver:
    """A run in progress. `step` counts the steps made; z + e is the state after them."""

    def __init__(self, program: Program, z: Array, *, t0: float, dt: float, every: int) -> None:
        self.program = program
        self.t0, self.dt, self.every = float(t0), float(dt), every
        self.step = 0
        n, stepper = program.view.dimension, program.stepper
        watched = program.crossing is not None
        self.z = np.array(z, dtype=float)
        self.e = np.zeros(n)
        self.carry = np.zeros(stepper.carry)
        self.scale = np.zeros(program.system.invariant_width)
        self.marks = empty_marks(program)
        self._work = np.zeros(stepper.work)
        self._copies = np.zeros(4 * n + program.width if watched else 0)
        self._spare = np.zeros(stepper.carry if watched else 0)
        self._crossings = np.zeros((CROSSING_ROWS if watched else 0, 2 + program.width))

    @property
    def time(self) -> float:
        """Time of the state."""
        return self.t0 + self.step * self.dt

    def state(self) -> dict[str, Array]:
        """All that the future depends on, by name."""
        return {"z": self.z, "e": self.e, "carry": self.carry, "scale": self.scale, "marks": self.marks}

    def restore(self, step: int, arrays: dict[str, Array]) -> None:
        """Go (back) to a state."""
        self.step = step
        for name, array in self.state().items():
            array[...] = arrays[name]

    def first_row(self) -> Chunk:
        """The row of the state as it is; to be taken once, before the first step."""
        rows = np.empty((1, self.program.width))
        status, _ = self._call(0, rows)
        return Chunk(rows, np.empty((0, rows.shape[1] + 2)), status)

    def advance(self, steps: int) -> Chunk:
        """Make steps; on failure the state is that before the failing step, and rows until then are returned."""
        before = {name: array.copy() for name, array in self.state().items()}
        first = self.step
        rows = np.empty((steps // self.every + 1, self.program.width))
        crossings: list[Array] = []
        status = OK
        while self.step < first + steps:
            filled = self.step // self.every - first // self.every
            status, made = self._call(first + steps - self.step, rows[filled:])
            self.step += made
            crossings.append(self._crossings[: int(self.marks[0])].copy())
            self.marks[0] = 0.0
            if status != BUFFER_FULL:
                break
            status = OK
        if status == NOT_FINITE or (status in (OK, STOPPED) and not np.isfinite(self.z).all()):
            return self._until_finite(first, before, steps)
        filled = self.step // self.every - first // self.every
        return Chunk(rows[:filled], np.concatenate([np.empty((0, self.program.width + 2)), *crossings]), status)

    def _until_finite(self, first: int, before: dict[str, Array], steps: int) -> Chunk:
        """Repeat the chunk step by step, up to the last finite state."""
        self.restore(first, before)
        parts: list[Chunk] = []
        for _ in range(steps):
            here = {name: array.copy() for name, array in self.state().items()}
            rows = np.empty((1, self.program.width))
            status, made = self._call(1, rows)
            if not np.isfinite(self.z).all() or status > OK:
                self.restore(self.step, here)
                break
            self.step += made
            crossings = self._crossings[: int(self.marks[0])].copy()
            self.marks[0] = 0.0
            parts.append(Chunk(rows[: int(self.step % self.every == 0)], crossings, status))
        width = self.program.width
        return Chunk(
            np.concatenate([np.empty((0, width)), *(part.rows for part in parts)]),
            np.concatenate([np.empty((0, width + 2)), *(part.crossings for part in parts)]),
            NOT_FINITE,
        )

    def _call(self, steps: int, rows: Array) -> tuple[int, int]:
        program = self.program
        return program.advance(
            self.z, self.e, self.t0, self.dt, self.step, steps, self.every, program.par, program.stepper.tab,
            self._work, self.carry, rows, self.scale, self.marks, self._copies, self._spare, self._crossings,
        )  # fmt: skip
