"""What all members of an ensemble have in common, and their progress."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ...engine import bounds, lanes
from ...engine.arrays import Arrays
from ...engine.block import MemberBlock, Members
from ...engine.build import Program, build
from ...engine.folding import settle_edges
from ...engine.reducing import Reducer
from ...methods.base import Method, find_stored_method
from ...methods.heat.langevin import InBath
from ...store.long_arrays import set_apart
from ...systems.base import Array, System, system_from
from ...text.plain import Json
from ..auditing import BLOCKS, block_edges
from ..plan import Stepping
from .grids import Grid, grid_from
from .kinds import Varied
from .reductions import Reductions
from .tempering import Exchange, Tempering, tempering_from

Keep = Literal["final", "samples", "nothing"]
Layout = Literal["members", "lanes"]


class Tally:
    """Progress of the members of an ensemble: threads add to it, and the one that waits for them reads it.

    Attributes
    ----------
    steps : steps that are made, or that a failed member will never make
    members, failed : number of members that are done, and of those that failed
    at_once : length of recent chunks in steps, 0 before the first; a thread that starts other members begins with it
    """

    def __init__(self) -> None:
        self.steps = self.members = self.failed = self.at_once = 0
        self._lock = threading.Lock()

    def add(self, steps: int, *, members: int = 0, failed: int = 0) -> None:
        """Add to the counts."""
        with self._lock:
            self.steps += steps
            self.members += members
            self.failed += failed


@dataclass(frozen=True)
class Job(Stepping):
    """What all members have in common: a plan without a start; it can be sent to another process.

    kinds : the different systems, if there is more than one, or more than one method; `system` is the first. kind_methods : the methods of
    these kinds, if they differ; `method` is the first. own_dt : whether the steps of members differ; dt is
    that of the first. reductions : what is kept of the samples. grid : the sweep of which they are the points, if any.
    tempering : how members exchange their states, if they do. layout : their layout in memory while they are stepped,
    which changes no bit
    """

    system: System
    method: Method
    dt: float
    steps: int
    every: int
    keep: Keep
    kinds: tuple[System, ...] = ()
    own_dt: bool = False
    reductions: Reductions = field(default_factory=Reductions)
    grid: Grid | None = None
    tempering: Tempering | None = None
    kind_methods: tuple[Method, ...] = ()
    layout: Layout = field(default="members", compare=False)
    stop: threading.Event = field(default_factory=threading.Event, compare=False)
    tally: Tally = field(default_factory=Tally, compare=False)
    _lane_programs: dict[frozenset[str], lanes.LaneProgram] = field(default_factory=dict, compare=False, repr=False)
    _making: threading.Lock = field(default_factory=threading.Lock, compare=False, repr=False)

    @cached_property
    def program(self) -> Program:
        """The compiled loop."""
        return build(self.system, self.method)

    def block(self, members: Members, scale: Array) -> MemberBlock:
        """These members before their first step. If every subscript is checked, there are no lanes."""
        if self.layout == "members" or bounds.are_wanted():
            return MemberBlock(self.program, members, every=self.every, scale=scale)
        lane_program = self._lane_program(lanes.find_varied(self.program, members))
        return lanes.LaneBlock(lane_program, self.program, members, every=self.every, scale=scale)

    def _lane_program(self, varied: frozenset[str]) -> lanes.LaneProgram:
        """The compiled loop on lanes; cached."""
        with self._making:
            if varied not in self._lane_programs:
                self._lane_programs[varied] = lanes.build(self.program, varied)
            return self._lane_programs[varied]

    @cached_property
    def reducer(self) -> Reducer | None:
        """Adds samples to the reductions; None if there are none."""
        if not self.reductions.named:
            return None
        pairing = self.pairing
        arrays = Arrays.of(pairing.system, pairing.view, pairing.stepper).parameters
        return Reducer(self.reductions.kernel(self.system), {name: array[None] for name, array in arrays.items()})

    @property
    def pairs(self) -> list[tuple[System, Method]]:
        """What is stepped, and by what: each kind, or the method at each temperature of a ladder."""
        if self.tempering is not None:
            return [(self.system, method) for method in self.tempering.methods(self.method)]
        systems = self.kinds or (self.system,)
        return list(zip(systems, self.kind_methods or (self.method,) * len(systems), strict=True))

    def limits(self, step: int) -> tuple[int, ...]:
        """Limits of the steps that may be made at once: the end, and the next exchange of states."""
        left = self.steps - step
        return (left,) if self.tempering is None else (left, self.tempering.every - step % self.tempering.every)

    @cached_property
    def exchange(self) -> Exchange:
        """Exchanges states between members."""
        assert self.tempering is not None and isinstance(self.method, InBath)
        return Exchange(self.tempering, self.system.inertia(), self.method.seed)

    @property
    def unit(self) -> int:
        """Number of members that must be stepped together: those of a ladder of temperatures."""
        return 1 if self.tempering is None else len(self.tempering)

    @property
    def together(self) -> int:
        """Number of members that should be stepped together: a ladder, or a block of lanes."""
        return lanes.LANES if self.layout == "lanes" else self.unit

    @property
    def rows(self) -> int:
        """Samples of a member that does not fail, including the start."""
        return self.rows_after(self.steps)

    @property
    def kept_rows(self) -> int:
        """Samples that are kept of each member."""
        return self.rows if self.keep == "samples" else 0

    @property
    def edges(self) -> NDArray[np.int64]:
        """Indices of the samples between which the blocks of the audit lie; no block is empty."""
        return block_edges(self.rows, min(BLOCKS, self.rows))

    @property
    def settled(self) -> NDArray[np.int64]:
        """Indices of the samples between which sums of the method are averaged: a fifth, then halves of the rest."""
        return settle_edges(self.rows)

    def describe(self, *, apart: dict[str, Array] | None = None) -> dict[str, Json]:
        """The job as JSON, from which `job_from` makes it again; `apart` as for a `Plan`."""
        run: dict[str, Json] = {"dt": self.dt, "every": self.every, "steps": self.steps, "keep": self.keep}
        if self.own_dt:
            run["own_dt"] = True
        described: dict[str, Json] = {
            "system": self.system.describe(), "method": self.method.describe(), "run": run,
        }  # fmt: skip
        if self.kinds:
            varied = Varied.of(self.kinds)
            described["varied"] = {"places": list(varied.places), "numbers": varied.numbers.tolist()}
        if self.kind_methods:
            methods = Varied.of(self.kind_methods)
            described["varied_methods"] = {"places": list(methods.places), "numbers": methods.numbers.tolist()}
        if self.reductions.named:
            described["reduce"] = self.reductions.describe()
        if self.grid is not None:
            described["sweep"] = self.grid.describe()
        if self.tempering is not None:
            described["tempering"] = self.tempering.describe()
        return described if apart is None else set_apart(described, apart)

    def __reduce__(self) -> tuple[type[Job], tuple[object, ...]]:
        # without the other kinds: the parameters that they are stepped with are sent with the members
        return Job, (
            self.system,
            self.method,
            self.dt,
            self.steps,
            self.every,
            self.keep,
            (),
            self.own_dt,
            self.reductions,
            None,
            self.tempering,
            (),
            self.layout,
        )


def in_units(members: int, unit: int) -> int:
    """About this many members in whole units, at least one unit."""
    return max(1, members // unit) * unit


def job_from(described: Mapping[str, Any]) -> Job:
    """The job from the JSON of `Job.describe`."""
    run = described["run"]
    system, method = system_from(described["system"]), find_stored_method(described["method"])
    kinds = find_varied(described).systems() if "varied" in described else ()
    methods = find_varied(described, "method").methods() if "varied_methods" in described else ()
    reductions = Reductions.made_from(described.get("reduce", ()))
    own_dt = bool(run.get("own_dt", False))
    grid = grid_from(**described["sweep"]) if "sweep" in described else None
    tempering = tempering_from(described["tempering"]) if "tempering" in described else None
    return Job(
        system, method, run["dt"], run["steps"], run["every"], run["keep"], kinds, own_dt, reductions, grid, tempering, methods
    )  # fmt: skip


def find_varied(described: Mapping[str, Any], what: Literal["system", "method"] = "system") -> Varied:
    """The systems, or the methods, that differ from the one described."""
    name = "varied" if what == "system" else "varied_methods"
    varied = described[name]
    numbers = np.array(varied["numbers"], dtype=float)
    if numbers.ndim != 2 or numbers.shape[1] != len(varied["places"]) or not np.isfinite(numbers).all():
        raise ValueError(
            f"{name}.numbers have the shape {numbers.shape} for {len(varied['places'])} places, or are not finite"
        )
    return Varied(described[what], tuple(map(str, varied["places"])), numbers)
