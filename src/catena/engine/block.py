"""Members of an ensemble on the CPU: a block of them, each with its row of every array, many advanced by one call.

No Python runs between two members of a call, and the loop releases the GIL: threads with a block each do not wait for
each other. The bits of a member are those of a single run (`catena.engine.driver`), because it is the same loop.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array, Integers
from ..kernels.marks import Numbers
from ..kernels.views import NOT_FINITE, OK, View
from ..methods.base import Stepper
from ..systems.base import System
from .arrays import Arrays
from .build import Program
from .driver import LARGEST, Driver
from .faults import locate
from .guarded import Guarded
from .looks import unseen


class Paired(Protocol):
    """A system with a method: a pairing, or a program made from one."""

    @property
    def system(self) -> System: ...

    @property
    def view(self) -> View: ...

    @property
    def stepper(self) -> Stepper: ...


SKIP = -1  # count of a member that has failed: it is skipped


@dataclass(frozen=True, eq=False)
class Members:
    """The members and their starts; the leading axis is the member.

    Attributes
    ----------
    z, t0, dt : stepped variables (m, n), or fewer numbers that determine them (`View.grown`), times of the starts (m,),
        steps (m,)
    par : arrays of `par`, parameters and scratch, by name; with a row for each kind of member, or one row that all
        share
    tab : tables of the method, in the same form
    kinds : (m,) the row of each member
    numbers : (m,) which members of the ensemble they are
    """

    z: Array
    t0: Array
    dt: Array
    par: Mapping[str, Numbers]
    tab: Array
    kinds: Integers
    numbers: Integers

    @classmethod
    def alike(cls, pairing: Paired, z: Array, t0: Array, dt: float) -> Members:
        """Members of one system with one step."""
        arrays = Arrays.of(pairing.system, pairing.view, pairing.stepper)
        par = {name: array[None] for name, array in {**arrays.at(dt), **arrays.scratch}.items()}
        m = len(z)
        return cls(
            z, np.array(t0), np.full(m, dt), par, pairing.stepper.tab[None], np.zeros(m, dtype=np.int64), np.arange(m)
        )  # fmt: skip

    def __len__(self) -> int:
        return len(self.z)

    def part(self, members: slice | NDArray[np.bool_]) -> Members:
        """A subset of the members."""
        own = {name: getattr(self, name)[members] for name in ("z", "t0", "dt", "kinds", "numbers")}
        return replace(self, **own)

    def compact(self) -> Members:
        """The same without the rows that none of them uses, to be sent elsewhere."""
        used, kinds = np.unique(self.kinds, return_inverse=True)

        def rows(array: np.ndarray) -> np.ndarray:
            return array[used] if len(array) > 1 else array

        par = {name: rows(array) for name, array in self.par.items()}
        return replace(self, par=par, tab=rows(self.tab), kinds=kinds.astype(np.int64))

    def program(self, program: Program, k: int) -> Program:
        """The program of member k: the same code with its own parameters."""
        kind = self.kinds[k]

        def row(rows: np.ndarray) -> np.ndarray:
            return rows[kind if len(rows) > 1 else 0]

        parameters, scratch = (
            {name: row(self.par[name]) for name in part} for part in (program.arrays.parameters, program.arrays.scratch)
        )
        arrays = Arrays(parameters, scratch)
        return replace(program, arrays=arrays, stepper=replace(program.stepper, tab=row(self.tab)))

    def driver(self, program: Program, k: int, *, every: int) -> Driver:
        """Member k as a single run."""
        own = self.program(program, k)
        of = {"t0": float(self.t0[k]), "dt": float(self.dt[k])}
        return Driver(own, program.view.grown(self.z[k]), **of, every=every, member=int(self.numbers[k]))


class MemberBlock:
    """Members in progress. Each has its own state; all use the same work and scratch, one after the other.

    Parameters
    ----------
    program : from `catena.engine.build.build`, without sections
    members : their numbers identify them in any block
    every : steps between samples
    scale : (m, invariants) zeros, to collect the sizes of the terms of invariants; a new array if None
    """

    def __init__(self, program: Program, members: Members, *, every: int, scale: Array | None = None) -> None:
        m, invariants, stepper = len(members), program.system.invariant_width, program.stepper
        self.program, self.members, self.every = program, members, every
        z = program.view.grown(members.z)
        self.z = np.array(z, dtype=float, order="C", copy=True if z is members.z else None)
        if self.z.shape != (m, program.view.dimension):  # compiled code would access memory beyond it
            raise ValueError(f"z has the shape {self.z.shape}, {m} members need {(m, program.view.dimension)}")
        self.e = np.zeros(self.z.shape)  # not zeros_like, which touches the memory: tiles do not use it
        self.carry = stepper.first_carries(members.numbers)
        self.scale = np.zeros((m, invariants)) if scale is None else scale
        self.looks = np.repeat(unseen(invariants)[None], m, axis=0)
        self._work = np.zeros(stepper.work)
        self._par = {
            name: members.par[name].copy() if name in program.arrays.scratch else members.par[name]
            for name in program.arrays.together
        }  # fmt: skip
        self._rows = np.empty(0)
        none = np.zeros(0)
        self._unwatched = np.zeros(1), none, none, np.zeros((0, 2 + program.width))

    def record(self, part: slice) -> Array:
        """Rows (members, defined_width) of the present states; nan where undefined. At the start they set the scales.

        Raises KernelError as `Driver.record` does.
        """
        m, width = len(self.z[part]), self.program.width
        row = Guarded(m * width, room=self.z.shape[1])
        rows = row.arrays[0].reshape(m, 1, width)
        rows.fill(np.nan)
        outcome = self._call(part, 0, np.zeros(m, dtype=np.int64), rows, self.scale[part])
        if not row.is_sound():
            raise locate(self.members.driver(self.program, part.start or 0, every=self.every), 0)
        rows[outcome[:, 0] == NOT_FINITE] = np.nan
        return rows[:, 0, : self.program.defined_width]

    def advance(self, part: slice, first: int, steps: int, running: NDArray[np.bool_]) -> tuple[Array, Array, Integers]:
        """Make steps after step `first` with the running members of a part.

        Returns the sample rows (members, samples, width), valid until the next call, rows of the states reached
        (members, defined_width), and the outcome for each member: OK, or a failure code from one of these steps.
        """
        samples, defined = (first + steps) // self.every - first // self.every, self.program.defined_width
        rows = self._room(len(running), samples)
        outcome = self._call(part, first, np.where(running, steps, SKIP), rows, self.scale[part])
        status = outcome[:, 0]
        if samples and (first + steps) % self.every == 0:
            return rows, rows[:, -1, :defined], status
        scale = self.scale[part].copy()  # a look at a state that is not sampled must not change the scales
        now = np.full((len(running), 1, self.program.width), np.nan)
        self._call(part, first + steps, np.where(running, 0, SKIP), now, scale)
        reached = now[:, 0, :defined]
        sound = np.isfinite(reached).all(axis=1) & (np.abs(self.z[part]).max(axis=1) < LARGEST)
        return rows, reached, np.where(running & (status == OK) & ~sound, NOT_FINITE, status)

    def _room(self, members: int, rows: int) -> Array:
        """An array for sample rows; reuses the last one if it is large enough."""
        size = members * rows * self.program.width
        if len(self._rows) < size:
            self._rows = np.empty(size)
        return self._rows[:size].reshape(members, rows, self.program.width)

    def _call(self, part: slice, first: int, counts: Integers, rows: Array, scale: Array) -> Integers:
        members = self.members
        outcome = np.zeros((len(counts), 2), dtype=np.int64)
        with np.errstate(all="ignore"):
            self.program.advance_members(
                self.z[part], self.e[part], members.t0[part], members.dt[part], first, counts, self.every,
                members.kinds[part], *self._par.values(), members.tab, self._work, self.carry[part], rows, scale, self.looks[part], *self._unwatched, outcome,
            )  # fmt: skip
        return outcome
