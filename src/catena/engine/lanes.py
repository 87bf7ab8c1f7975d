"""Members in lanes: one instruction steps as many members as fit side by side, each with the same bits as alone.

This requires that no kernel branches on numbers that differ between members: explicit methods on small systems. If a
member fails, the members of its block continue one by one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from ..arrays import Integers
from ..errors import CapabilityError
from ..kernels.marks import Numbers
from ..kernels.views import OK
from ..methods.base import Method
from ..systems.base import Array, System
from . import cache, lane_loop
from .arrays import Arrays
from .block import MemberBlock, Members
from .build import Program, program_parts
from .pairing import Pairing
from .plain_lanes import interpret_on_lanes

LANES = 16  # the same as in `lane_types`, which imports numba
DO = 'use layout="members"'


@dataclass(frozen=True)
class LaneProgram:
    """The entry of a generated module on lanes; `varied` as in `lane_loop`."""

    module: ModuleType
    varied: frozenset[str]

    @property
    def advance_lanes(self) -> Callable[..., None]:
        """The loop over blocks, see `catena.engine.lane_loop`."""
        return self.module.advance_lanes


def refuse(system: System, method: Method, why: str) -> CapabilityError:
    """The error if lanes are not possible."""
    return CapabilityError(f"{method} has no lanes for {system.title}: {why}", where="ensemble.layout", do=DO)


def require_lanes(pairing: Pairing | Program) -> None:
    """CapabilityError for what is known to be impossible before compiling."""
    system, method, view = pairing.system, pairing.method, pairing.view
    traits = method.traits_on(view)
    if traits.random:
        raise refuse(system, method, "its random numbers are drawn one by one")
    if traits.exact or not traits.explicit:
        raise refuse(system, method, "how much a step has to do differs from member to member")
    if not view.literal:
        raise refuse(system, method, "it is stepped by loops over its parts, on lanes already where these allow it")
    for name, array in Arrays.of(system, view, pairing.stepper).scratch.items():
        if array.dtype != np.float64:
            raise refuse(system, method, f"its scratch par.{name} has no numbers of members")


def find_varied(program: Program, members: Members) -> frozenset[str]:
    """Names of the arrays that differ between members; CapabilityError if one of them cannot be in lanes."""
    names = {name for name in program.arrays.parameters if len(members.par[name]) > 1}
    for name in names:
        if members.par[name].dtype != np.float64:
            raise refuse(program.system, program.method, f"members differ in par.{name}, which is no number of theirs")
    return frozenset(names | ({"tab"} if len(members.tab) > 1 else set()))


def build(program: Program, varied: frozenset[str] = frozenset(), *, compiled: bool = True) -> LaneProgram:
    """The program of the same pair on lanes; CapabilityError if it has none."""
    require_lanes(program)
    system, method = program.system, program.method
    view, stepper, parts = program_parts(system, method)
    arrays = Arrays.of(system, view, stepper).used_by(parts)
    sizes = {"z": view.dimension, "work": stepper.work, "carry": stepper.carry}
    entry = lane_loop.lane_loop(
        arrays.types, varied=varied, scratch=arrays.scratch.keys(), sizes=sizes, compiled=compiled
    )  # fmt: skip
    text = lane_loop.lane_text(
        f"{system.kind} x {method.program} on lanes", parts, arrays.types, entry, compiled=compiled, lanes=LANES
    )
    if not compiled:
        return LaneProgram(interpret_on_lanes(text), varied)
    from numba.core.errors import NumbaError

    try:
        return LaneProgram(cache.load(text, f"{program.title} on lanes"), varied)
    except NumbaError as fault:
        raise refuse(system, method, "its steps branch on what members differ in") from fault


class LaneBlock(MemberBlock):
    """Members in progress, in lanes; otherwise like a `MemberBlock`."""

    def __init__(
        self, lanes: LaneProgram, program: Program, members: Members, *, every: int, scale: Array | None = None
    ) -> None:
        super().__init__(program, members, every=every, scale=scale)
        self._lanes = lanes
        scratch = program.arrays.scratch
        self._shared: dict[str, Numbers] = {
            name: np.repeat(self._par[name][0][..., None], LANES, axis=-1) if name in scratch else self._par[name]
            for name in program.arrays.together
        }

    def _call(self, part: slice, first: int, counts: Integers, rows: Array, scale: Array) -> Integers:
        """Advance blocks in lanes; if a member of a block does not run, or fails, its members one by one."""
        steps = int(counts.max(initial=0))
        if steps == 0:
            return super()._call(part, first, counts, rows, scale)
        blocks = -(-len(counts) // LANES)
        places = np.minimum(np.arange(blocks * LANES), len(counts) - 1).reshape(blocks, LANES)
        running = (counts[places] == steps).all(axis=1)
        outcome = np.zeros((len(counts), 2), dtype=np.int64)
        if running.any():
            done = self._in_lanes(part, places[running], first, steps, rows, scale, outcome)
            running[running] = done
        begin = part.start or 0
        for block in np.flatnonzero(~running).tolist():
            own = slice(block * LANES, min(len(counts), (block + 1) * LANES))
            there = slice(begin + own.start, begin + own.stop)
            outcome[own] = super()._call(there, first, counts[own], rows[own], scale[own])
        return outcome

    def _in_lanes(
        self, part: slice, places: Integers, first: int, steps: int, rows: Array, scale: Array, outcome: Integers
    ) -> NDArray[np.bool_]:
        """Make steps with these members (blocks, lanes) of a part.

        Returns which blocks made all steps; the others are unchanged.
        """
        members, state = self.members, [self.z[part], self.e[part], self.carry[part], rows, scale, self.looks[part]]
        z, e, carry, samples, terms, looks = (_lanes_last(array[places]) for array in state)
        t0, dt = members.t0[part][places], members.dt[part][places]
        kinds, ended = members.kinds[part][places], np.zeros((len(places), 2), dtype=np.int64)

        def given(name: str, array: Numbers) -> Numbers:
            return _lanes_last(array[kinds]) if name in self._lanes.varied else array

        par = [given(name, array) for name, array in self._shared.items()]
        with np.errstate(all="ignore"):
            self._lanes.advance_lanes(
                z, e, t0, dt, first, steps, self.every, *par, given("tab", members.tab), carry, samples, terms, looks,
                np.zeros(0), ended,
            )  # fmt: skip
        done: NDArray[np.bool_] = ended[:, 0] == OK
        for before, after in zip(state, (z, e, carry, samples, terms, looks), strict=True):
            before[places[done]] = np.moveaxis(after[done], -1, 1)
        outcome[places[done], 1] = steps
        return done


def _lanes_last(array: np.ndarray) -> np.ndarray:
    """(blocks, lanes, ...) -> (blocks, ..., lanes)."""
    return np.ascontiguousarray(np.moveaxis(array, 1, -1))
