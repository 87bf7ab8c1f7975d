"""Drives a program from Python: chunks of steps, with the complete state that a checkpoint must contain."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..arrays import Array
from ..kernels.views import BUFFER_FULL, NOT_FINITE, OK, crossing_count
from .arrays import LOCKED
from .build import Program, empty_marks
from .faults import blame_write_into_parameter, locate, out_of_bounds
from .guarded import Guarded
from .looks import unseen

CROSSING_ROWS = 1024
LARGEST = 1e300  # limit for the variables of a recorded state


class Chunk(NamedTuple):
    """Result of a chunk of steps: sample rows, crossing rows, and how it ended (0, STOPPED or a failure code)."""

    rows: Array
    crossings: Array
    status: int


class Driver:
    """A run in progress.

    `step` counts the steps made; z + e is the state after them. `member`: its number in an ensemble.
    """

    def __init__(self, program: Program, z: Array, *, t0: float, dt: float, every: int, member: int = 0) -> None:
        self.program = program
        self.t0, self.dt, self.every = float(t0), float(dt), every
        self.step = 0
        n, stepper = program.view.dimension, program.stepper
        watched = program.crossing is not None
        given = np.asarray(z, dtype=float)
        if given.shape != (n,):  # compiled code would access memory beyond it
            raise ValueError(
                f"z has the shape {given.shape}, the view {program.view.name} needs ({n},): use its `pack`"
            )
        self._kept_arrays = Guarded(
            given, n, stepper.first_carry(member), program.system.invariant_width,
            unseen(program.system.invariant_width), empty_marks(program), room=n,
        )  # fmt: skip
        self._work_array = Guarded(stepper.work)
        self.z, self.e, self.carry, self.scale, self.looks, self.marks = self._kept_arrays.arrays
        (self._work,) = self._work_array.arrays
        self._is_tried = False  # whether steps were made, and no kernel left its arrays
        self.par = program.new_par(self.dt)
        states = 4 if stepper.observe is None else 6
        self._copies = np.zeros(states * n + program.width if watched else 0)
        self._spare = np.zeros(stepper.carry if watched else 0)
        # one step may cross every section and event once, and each inner step of the method may do so again
        rows = CROSSING_ROWS + crossing_count(self.marks) if watched else 0
        self._crossings = np.zeros((rows, 2 + program.width))
        self._no_crossings = np.zeros((0, 2 + program.width))
        self._gather()
        self._advance_members, self._compiled = program.advance_members, program.compiled

    def _gather(self) -> None:
        """Collect the constant arguments of the loop once; collecting them per call would dominate a short run.

        The arrays are modified in place, never replaced.
        """
        self._begin, self._length, self._count = np.zeros(1), np.zeros(1), np.zeros(1, dtype=np.int64)
        self._outcome = np.zeros((1, 2), dtype=np.int64)
        self._state = self.z[None], self.e[None], self._begin, self._length
        self._kinds = (
            np.zeros(1, dtype=np.int64),
            *(getattr(self.par, name)[None] for name in self.program.arrays.together),
        )
        self._tables = self.program.stepper.tab[None], self._work, self.carry[None]
        self._kept = (
            self.scale[None], self.looks[None], self.marks, self._copies, self._spare, self._crossings, self._outcome,
        )  # fmt: skip

    @property
    def time(self) -> float:
        """Time of the state."""
        return self.t0 + self.step * self.dt

    def variables(self) -> Array:
        """The stepped variables."""
        return self.z

    def state(self) -> dict[str, Array]:
        """Everything that determines the future, by name; views, to be copied before further steps."""
        fold = self.program.view.fold
        z, e = (self.z, self.e) if fold is None else (fold.fold(self.z), self.e[:0])
        return {"z": z, "e": e, "carry": self.carry, "scale": self.scale, "looks": self.looks, "marks": self.marks}

    @property
    def state_bytes(self) -> int:
        """Size of the state in bytes."""
        kept = sum(self.program.view.kept_sizes)
        return 8 * kept + sum(array.nbytes for array in (self.carry, self.scale, self.looks, self.marks))

    def restore(self, step: int, arrays: dict[str, Array]) -> None:
        """Go (back) to a state; a state without looks counts as one that saw nothing between its samples."""
        self.step = step
        arrays = {"looks": unseen(self.looks.shape[1])} | arrays
        self.z[...] = self.program.view.stepped(arrays["z"])
        if self.program.view.fold is None:
            self.e[...] = arrays["e"]
        for name in ("carry", "scale", "looks", "marks"):
            getattr(self, name)[...] = arrays[name]

    def first_row(self) -> Chunk:
        """The row of the present state, for use before the first step. NOT_FINITE if it is not defined there.

        KernelError for a system with more invariants than it declares: compiled code would write them beyond the row.
        """
        row = Guarded(self.program.width, room=len(self.z))
        try:
            chunk = self.record(row.arrays[0][None])
        except IndexError as fault:
            raise out_of_bounds(self, 0) from fault
        if not (row.is_sound() and self._kept_arrays.is_sound()):
            raise locate(self, 0)
        return chunk

    def record(self, rows: Array | None = None) -> Chunk:
        """The row of the present state, written into `rows` if given."""
        if rows is None:
            rows = np.empty((1, self.program.width))
        rows.fill(np.nan)
        status, _ = self._call(0, rows)
        defined = status != NOT_FINITE and _is_finite(rows[:, : self.program.defined_width])
        return Chunk(rows, self._no_crossings, OK if defined else NOT_FINITE)

    def advance(self, steps: int) -> Chunk:
        """Make steps; on failure, return to the state before the failing step and return the rows up to it."""
        back = self.way_back()
        try:
            chunk = self.attempt(steps)
        except IndexError as fault:  # raised by plain Python, or by code that checks its subscripts
            back()
            raise out_of_bounds(self, steps) from fault
        if not self._is_tried:
            self._is_tried = True
            if not (self._kept_arrays.is_sound() and self._work_array.is_sound()):
                back()
                raise locate(self, steps)
        if chunk.status <= OK and self._is_sound(chunk):
            return chunk
        back()
        return self._until_failure(steps, chunk.status)

    def attempt(self, steps: int) -> Chunk:
        """Make steps exactly as the loop does; the last of them may have failed."""
        first = self.step
        rows = np.empty((steps // self.every + 1, self.program.width))
        crossings: list[Array] = []
        status = OK
        while self.step < first + steps:
            filled = self.step // self.every - first // self.every
            status, made = self._call(first + steps - self.step, rows[filled:])
            self.step += made
            if self.program.crossing is not None:
                crossings.append(self._crossings[: int(self.marks[0])].copy())
                self.marks[0] = 0.0
            if status != BUFFER_FULL:
                break
            status = OK
        filled = self.step // self.every - first // self.every
        return Chunk(rows[:filled], np.concatenate(crossings) if crossings else self._no_crossings, status)

    def _is_sound(self, chunk: Chunk) -> bool:
        """Whether a chunk and the state after it are finite, including the invariants of that state."""
        if not (_is_finite(chunk.rows) and _is_finite(chunk.crossings)):
            return False
        if len(chunk.rows) and self.step % self.every == 0:
            return True  # the last row is that of the state, and the loop checks the size of sampled states
        marks, scale = self.marks.copy(), self.scale.copy()
        row = self.first_row()
        self.marks[...], self.scale[...] = marks, scale
        return row.status == OK and self._is_small()

    def _is_small(self) -> bool:
        """Whether all variables are below the limit `LARGEST`."""
        return bool(self.z.min() > -LARGEST and self.z.max() < LARGEST)

    def _until_failure(self, steps: int, status: int) -> Chunk:
        """Repeat a failed chunk up to its last sound step, which is found by bisection.

        The loop checks the state only where it is sampled; bisection makes the failing step independent of `every`.
        """
        parts: list[Chunk] = []
        left = steps
        for power in reversed(range(steps.bit_length())):
            if 2**power > left:
                continue
            back = self.way_back()
            part = self.attempt(2**power)
            if part.status <= OK and self._is_sound(part):
                parts.append(part)
                left -= 2**power
            else:
                status = part.status
                back()
        return Chunk(
            np.concatenate([np.empty((0, self.program.width)), *(part.rows for part in parts)]),
            np.concatenate([self._no_crossings, *(part.crossings for part in parts)]),
            status if status > OK else NOT_FINITE,
        )

    def jump(self) -> tuple[int, float]:
        """Repeat the failing step: the variable that changes most, and its change; the state is restored."""
        back, z = self.way_back(), self.variables().copy()
        self.attempt(1)
        with np.errstate(all="ignore"):
            change = np.nan_to_num(np.abs(self.variables() - z), nan=np.inf)
        back()
        return int(change.argmax()), float(change.max())

    def trace(self) -> tuple[int | None, list[float]]:
        """Repeat the failing step to get the diagnostics of the method; the state is restored."""
        back = self.way_back()
        self.attempt(1)
        back()
        return self.program.method.trace(self.program.view, self._work)

    def way_back(self) -> Callable[[], None]:
        """A function that restores the present state."""
        step = self.step
        if self.program.view.fold is not None:  # for a long chain half of the numbers suffice
            state = self.state()
            folded = {name: array if name == "z" else array.copy() for name, array in state.items()}
            return lambda: self.restore(step, folded)
        kept = self._kept_arrays.memory.copy()

        def back() -> None:
            self.step = step
            self._kept_arrays.memory[...] = kept

        return back

    def _call(self, steps: int, rows: Array, *, ahead: int = 0) -> tuple[int, int]:
        """One call of the loop over members for this run alone, from the state `ahead` steps after `step`."""
        self._begin[0], self._length[0], self._count[0] = self.t0, self.dt, steps
        arguments = (
            *self._state, self.step + ahead, self._count, self.every, *self._kinds, *self._tables, rows[None], *self._kept,
        )  # fmt: skip
        if self._compiled:  # compiled code continues with inf and nan without a warning
            self._advance_members(*arguments)
        else:
            try:
                with np.errstate(all="ignore"):
                    self._advance_members(*arguments)
            except (ArithmeticError, ValueError) as fault:
                if LOCKED in str(fault):
                    raise blame_write_into_parameter(self, fault) from fault
                return NOT_FINITE, 0  # Python's floats raise where compiled code continues with inf or nan
        status, made = self._outcome[0].tolist()
        return status, made


def _is_finite(rows: Array) -> bool:
    """Whether all numbers are."""
    return rows.size == 0 or np.count_nonzero(np.isfinite(rows)) == rows.size  # takes a third of the time of `all`
