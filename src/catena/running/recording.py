"""Where the samples of a run go: into memory, or into a store that survives being killed."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .. import memory
from ..engine.driver import Chunk, Driver
from ..errors import InputError
from ..store import Store
from ..text.citations import bibtex, readable
from ..text.plain import Json
from .origin import Origin, attributes_of, head_of, origins_in
from .plan import Plan
from .runs import MemoryRun, Run, StoredRun
from .streams import control_columns, crossing_columns, streams_of

ROWS_VARIABLE = "CATENA_ROWS_PER_COMMIT"
COMMIT_SECONDS = 1.0  # between commits of a small system ...
SECONDS_PER_BYTE = 2.5e-7  # ... plus this for each byte of the checkpoint: some fifty times as long as writing it takes
LARGEST_COMMIT = 2**22  # bytes of rows between commits of a small system
ROWS_TO_STATE = 8  # of a large system: bytes of rows for each byte of its checkpoint


class MemoryRecorder:
    """Keeps everything in memory."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.rows: list[np.ndarray] = []
        self.crossings: list[np.ndarray] = []
        self.control = [np.zeros((0, 1 + len(plan.system.controls)))]

    @staticmethod
    def require_memory(plan: Plan, steps: int) -> None:
        """Refuse more samples than fit in memory: rows exist twice while they are concatenated, and times are added."""
        rows, width = 1 + steps // plan.every, sum(field.width for field in plan.pairing.recorded)
        calls = 0 if plan.control is None else 2 * plan.control.calls(steps) * (1 + len(plan.system.controls))
        needed = 8 * (rows * (2 * width + 1) + calls)
        limit = memory.allow(needed)
        fewer = plan.every * math.ceil(needed / limit) if limit else steps
        memory.require(
            needed, what=f"{rows} samples of {width} numbers", where="simulate.out, simulate.every",
            do=f'stream them to disk with out="run.zarr", or keep fewer: every={fewer} fits',
        )  # fmt: skip

    def room(self, step: int) -> int:
        """Steps that may be made before rows must be written."""
        return 2**62

    def take(self, chunk: Chunk, driver: Driver) -> None:
        """Keep a chunk."""
        self.rows.append(chunk.rows)
        self.crossings.append(chunk.crossings)

    def take_control(self, time: float, torques: np.ndarray) -> None:
        """Keep what a controller set."""
        self.control.append(np.array([[time, *torques]]))

    def finish(self, driver: Driver, **ending: Json) -> Run:
        """The run with what was recorded."""
        rows, crossings, control = map(np.concatenate, (self.rows, self.crossings, self.control))
        return make_here(MemoryRun(self.plan, driver.step, driver.state(), rows, crossings, ending, control), driver)

    def drop(self, driver: Driver) -> Run:
        """The run with what was recorded until it was interrupted."""
        return self.finish(driver)

    def close(self) -> None:
        """Nothing is held."""


class StoreRecorder:
    """Streams into a store. Commits come after fixed numbers of rows, so that the bytes do not depend on speed."""

    def __init__(
        self, plan: Plan, store: Store, path: str | Path, *, steps: int, origins: Sequence[Origin] = ()
    ) -> None:
        self.plan = plan
        self.store = store
        self.path = Path(path)
        # in every checkpoint: a run may be extended, or continue with another program, and then be killed
        self.head = {"steps": steps, **head_of(origins)}

    @classmethod
    def create(cls, plan: Plan, path: str | Path, driver: Driver, *, steps: int) -> StoreRecorder:
        """A new store; its directory must not exist."""
        given: dict[str, np.ndarray] = {}
        described = plan.describe(apart=given)
        store = Store.create(
            path,
            spec={"plan": described, "steps": steps},
            attributes=store_attributes(plan, Origin.here(plan.program_digest()), described),
            streams=streams_of(plan),
            rows_per_commit=commit_rows(
                driver, steps=plan.every, most=max(1, largest_commit(driver) // (8 * driver.program.width))
            ),
            given=given,
        )
        return cls(plan, store, path, steps=steps)

    def room(self, step: int) -> int:
        """Steps that may be made before rows must be written."""
        every, commit = self.plan.every, self.store.rows_per_commit
        rows = 1 + step // every
        return ((rows // commit + 1) * commit - 1) * every - step

    def take(self, chunk: Chunk, driver: Driver) -> None:
        """Append a chunk that ends at the driver's step, and commit if it is due."""
        plan, count = self.plan, len(chunk.rows)
        last = driver.step // plan.every
        self.store.append("samples", {"time": plan.times(np.arange(last - count + 1, last + 1) * plan.every)}
                          | plan.pairing.columns(chunk.rows))  # fmt: skip
        for name, columns in crossing_columns(plan, chunk.crossings).items():
            self.store.append(name, columns)
        if count and self.store.rows("samples") % self.store.rows_per_commit == 0:
            self._commit(driver, {})

    def take_control(self, time: float, torques: np.ndarray) -> None:
        """Append what a controller set."""
        self.store.append("control_", control_columns(np.array([[time, *torques]])))

    def finish(self, driver: Driver, **ending: Json) -> Run:
        """Commit the rest and close."""
        self._commit(driver, ending, finished=True)
        origins = origins_in(self.store.attributes, self.store.checkpoint.head, path=self.path)
        self.store.close()
        known: dict[str, Any] = {"planned_steps": self.store.spec["steps"], "origins": origins}
        return make_here(StoredRun(self.path, self.plan, self.store.checkpoint, **known), driver)

    def drop(self, driver: Driver) -> Run:
        """Close at the last commit; `resume` makes the rows after it again, with the same bytes."""
        self.store.close()
        return make_here(StoredRun.opened(self.path, self.plan), driver)

    def close(self) -> None:
        """Unlock the store, whatever happened."""
        self.store.close()

    def _commit(self, driver: Driver, ending: Mapping[str, Json], *, finished: bool = False) -> None:
        self.store.commit(step=driver.step, head={**self.head, **ending}, arrays=driver.state(), finished=finished)


def make_here(run: Run, driver: Driver) -> Run:
    """A run with the program that made it, so that its audit can repeat parts of it."""
    run._program = driver.program
    return run


def largest_commit(driver: Driver) -> int:
    """Bytes of rows between commits, whatever the speed: many more than the checkpoint that each commit writes."""
    return max(LARGEST_COMMIT, ROWS_TO_STATE * driver.state_bytes)


def commit_rows(driver: Driver | None, *, steps: float, most: int) -> int:
    """Rows for about a second between commits, timed on some steps; $CATENA_ROWS_PER_COMMIT overrides.

    Parameters
    ----------
    driver : a run at its start, to which it is reset afterwards; None if it cannot be timed
    steps : steps for each row
    most : largest number of rows, whatever the speed
    """
    chosen = os.environ.get(ROWS_VARIABLE)
    if chosen is not None:
        if not chosen.isdigit() or int(chosen) < 1:
            raise InputError(f"{ROWS_VARIABLE} = {chosen!r}", where="environment", do="give a whole number above zero")
        return int(chosen)
    if driver is None:
        return most
    begin = {name: array.copy() for name, array in driver.state().items()}
    tried, began, failed = 1, time.perf_counter(), False
    while time.perf_counter() - began < 0.03 and not failed:
        failed = driver.attempt(min(tried, 2**16)).status > 0
        tried *= 2
    made, spent = driver.step, time.perf_counter() - began
    driver.restore(0, begin)
    if made == 0:
        return most
    rate = made / spent
    seconds = COMMIT_SECONDS + SECONDS_PER_BYTE * driver.state_bytes
    return int(min(max(1, round(seconds * rate / steps)), most))


def store_attributes(plan: Plan, origin: Origin, described: Mapping[str, Any]) -> dict[str, Any]:
    """Attributes of the root of the store: all that a reader needs to know about the run, and its description."""
    promised = plan.pairing.promises
    cite = promised.traits.cite
    return {
        "conventions": "time = t0 + k dt; quaternions scalar first (wxyz); orientation maps body to space; "
        "angular_momentum is in the axes of the body, all else in space",
        "quaternion_order": "wxyz",
        **attributes_of(origin),
        "case": dict(described),
        "traits": promised.to_dict(),
        "cite": list(cite),
        "references": [readable(entry) for entry in bibtex(cite).values()],
    }
