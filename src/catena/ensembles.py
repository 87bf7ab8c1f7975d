"""Ensembles: one system, one method, many starts.

Members are independent: on the processor threads take them in batches, each member with its own driver, so its numbers
are those of a single run to the bit; on a card each member has a thread (`engine.cuda`). The audit needs no samples to be
kept: the deviations of the invariants are folded, as they come, into their largest magnitude and their sums over the 20
blocks from which the drift is fitted, so that memory does not grow with the length of the runs.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor, as_completed
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from .auditing import BLOCKS
from .engine.build import Program, build, choose_view, promised
from .engine.driver import Driver
from .ensemble_auditing import EnsembleAudit, assess_members, block_edges, fold
from .errors import CapabilityError, InputError, StepFailure, nearest
from .methods.base import Method
from .plan import Problem, make_plan, positive_integer
from .simulation import CHUNK_BYTES, CHUNK_SECONDS, explained
from .systems.base import State, System
from .views import OK

if TYPE_CHECKING:
    import xarray

Array = NDArray[np.float64]
Keep = Literal["final", "samples", "nothing"]

LARGEST_BATCH = 256  # members that a task takes
TASKS_PER_WORKER = 8  # so that all workers end at about the same time
FIRST_CHUNK = 256  # steps


class Failure(NamedTuple):
    """A member that could not be followed to the end, and why."""

    member: int
    failure: StepFailure


def ensemble(
    system: System | Problem,
    starts: Sequence[State] | State | Mapping[str, Any] | xarray.Dataset,
    method: Method | None = None,
    *,
    steps: int,
    dt: float | None = None,
    every: int = 1,
    keep: Keep = "final",
    device: Literal["cpu", "cuda"] = "cpu",
    threads: int | None = None,
    client: Any = None,
    out: str | Path | None = None,
) -> Ensemble:
    """Run a system from many starts.

    Parameters
    ----------
    system : a System, or a Problem, which brings dt
    starts : a list of states; or the fields with a leading axis `member`, as a dictionary of arrays (`q` (m, n), `p` (m, n)
        and perhaps `time`), a State or a Dataset, such as the `final` of another ensemble
    method : the system's default if None
    steps : number of steps of each member
    dt : step size; the problem's or the system's suggestion if None
    every : the invariants are looked at, and a sample is taken, every so many steps
    keep : "final", the states at the end; "samples", these and all samples, in memory; "nothing", the audit alone
    device : "cpu" or "cuda"
    threads : number of threads; as many as there are cores if None
    client : a `dask.distributed.Client` (anything whose `get_executor()` is a `concurrent.futures.Executor`) to run on
    out : not available yet

    Returns
    -------
    Ensemble
        A member that fails stops no other: see its `failures`.

    Examples
    --------
    >>> import catena as ct
    >>> from catena.ensembles import ensemble
    >>> starts = {"q": [[0.4, 0.0], [0.7, 0.0], [1.0, 0.0]], "p": [[0.0, 2.0], [0.0, 1.4], [0.0, 1.0]]}
    >>> many = ensemble(ct.problems.kepler(), starts, steps=400)
    >>> many.final.q.shape
    (3, 2)
    >>> many.audit()["angular_momentum"].verdicts
    {'exact': 3}
    """
    bare = system.system if isinstance(system, Problem) else system
    if not isinstance(bare, System):
        raise InputError(f"{bare!r} is not a system", where="ensemble, first argument", do="give a System or a Problem")
    _check_choices(keep=(keep, get_args(Keep)), device=(device, ("cpu", "cuda")))
    fields, times = _stacked(bare, starts)
    if keep == "samples" and (times != times[0]).any():
        raise InputError(
            f"the starts have different times, {times.min():g} to {times.max():g}", where="ensemble.starts",
            do='start all members at one time, or use keep="final"',
        )  # fmt: skip
    if out is not None:
        raise CapabilityError("ensembles cannot be stored yet", where="ensemble.out", do='use keep="samples" in memory')
    states = (State({name: array[i] for name, array in fields.items()}, float(t)) for i, t in enumerate(times))
    first = next(states)
    plan, count = make_plan(system, first, method, dt=dt, steps=steps, t_end=None, every=every)
    pack = choose_view(bare, plan.method)[0].pack
    z = np.array([pack(first), *map(pack, states)])
    job = Job(bare, plan.method, plan.dt, count, plan.every, keep == "samples")
    if device == "cuda":
        _check_absent(threads=threads, client=client)
        if bare.works_in_parameters:
            raise CapabilityError(
                f"a {bare.kind} works in arrays that members on a card would share", where="ensemble.device",
                do='use device="cpu"',
            )  # fmt: skip
        results = _on_card(job, z, times)
    else:
        results = _on_executor(job, z, times, threads, client)
    with closing(results):  # an interrupt must reach the threads at once
        return Ensemble(job, times, _gathered(job, len(z), results), keep)


@dataclass(frozen=True)
class Job:
    """What all members have in common; it can be sent to another process."""

    system: System
    method: Method
    dt: float
    steps: int
    every: int
    samples: bool
    stop: threading.Event = field(default_factory=threading.Event, compare=False)

    @cached_property
    def program(self) -> Program:
        """The compiled loop."""
        return build(self.system, self.method)

    @property
    def rows(self) -> int:
        """Samples of a member that does not fail, the start among them."""
        return 1 + self.steps // self.every

    @property
    def edges(self) -> NDArray[np.int64]:
        """Numbers of the samples between which the blocks of the audit lie."""
        return block_edges(self.rows)

    def __reduce__(self) -> Any:
        return Job, (self.system, self.method, self.dt, self.steps, self.every, self.samples)


@dataclass(frozen=True)
class Batch:
    """What came out of some members, leading axis member.

    final : row of the last state; status, made : how it ended after how many steps; worst, sums, scale : of the
    invariants, largest deviation, sums over the blocks and magnitude; samples : all rows, none if they are not kept
    """

    final: Array
    status: NDArray[np.int64]
    made: NDArray[np.int64]
    worst: Array
    sums: Array
    scale: Array
    samples: Array

    @classmethod
    def empty(cls, job: Job, members: int) -> Batch:
        """Room for so many members; a sample that is not made is nan."""
        k = job.system.invariant_width
        width = job.system.public_width + k
        return cls(
            np.empty((members, width)), np.zeros(members, dtype=np.int64), np.zeros(members, dtype=np.int64),
            np.zeros((members, k)), np.zeros((members, BLOCKS, k)), np.zeros((members, k)),
            np.full((members, job.rows if job.samples else 0, width), np.nan),
        )  # fmt: skip


Batches = Generator[tuple[int, Batch]]  # each with the number of its first member


def follow(job: Job, z: Array, times: Array) -> Batch:
    """Members, one after the other, each as a single run would go."""
    batch = Batch.empty(job, len(z))
    edges, public = job.edges, job.system.public_width
    most = max(1, CHUNK_BYTES // (8 * job.program.width)) * job.every
    chunk_steps = FIRST_CHUNK
    for i in range(len(z)):
        driver = Driver(job.program, z[i], t0=times[i], dt=job.dt, every=job.every)
        chunk = driver.first_row()
        start = chunk.rows[0]
        if job.samples:
            batch.samples[i, 0] = start
        while chunk.status == OK and driver.step < job.steps and not job.stop.is_set():
            began, number = time.perf_counter(), 1 + driver.step // job.every
            chunk = driver.advance(min(chunk_steps, most, job.steps - driver.step))
            if job.samples:
                batch.samples[i, number : number + len(chunk.rows)] = chunk.rows
            fold(chunk.rows[:, public:] - start[public:], number, edges, batch.worst[i], batch.sums[i])
            chunk_steps = _next_chunk(min(chunk_steps, most), time.perf_counter() - began)
        batch.status[i], batch.made[i], batch.scale[i] = chunk.status, driver.step, driver.scale
        sampled = chunk.status == OK and driver.step % job.every == 0
        batch.final[i] = chunk.rows[-1] if sampled else driver.first_row().rows[0]
    return batch


def _next_chunk(steps: int, seconds: float) -> int:
    """Steps for about CHUNK_SECONDS, after so many took so long: short enough to stop soon, long enough to cost nothing."""
    return max(1, int(steps * min(4.0, max(0.25, CHUNK_SECONDS / max(seconds, 1e-9)))))


def _on_executor(job: Job, z: Array, times: Array, threads: int | None, client: Any) -> Batches:
    """Batches of members as they are done, on threads of this process or wherever the client runs them."""
    workers = len(os.sched_getaffinity(0)) if threads is None else positive_integer(threads, "threads")
    if job.program.stepper.outside is not None:
        workers = 1  # the library behind it keeps the state of one integrator
    size = min(LARGEST_BATCH, -(-len(z) // (TASKS_PER_WORKER * workers)))
    with _executor(job, workers, client) as executor:
        tasks = {
            executor.submit(follow, job, z[i : i + size], times[i : i + size]): i for i in range(0, len(z), size)
        }  # fmt: skip
        for task in as_completed(tasks):
            yield tasks.pop(task), task.result()


@contextmanager
def _executor(job: Job, workers: int, client: Any) -> Iterator[Executor]:
    """What runs the members; on the way out by an error it stops at the end of a chunk of steps."""
    executor = ThreadPoolExecutor(workers) if client is None else client.get_executor()
    try:
        yield executor
    except BaseException:
        job.stop.set()
        raise
    finally:
        executor.shutdown(wait=True, cancel_futures=True)


def _on_card(job: Job, z: Array, times: Array) -> Batches:
    """Batches of as many members as the card holds."""
    from .engine.cuda import MemberDriver, members_at_once
    from .engine.cuda import build as build_for_card

    program = build_for_card(job.system, job.method)
    size = members_at_once(program)
    for i in range(0, len(z), size):
        driver = MemberDriver(
            program, z[i : i + size], t0=times[i : i + size], dt=job.dt, every=job.every, edges=job.edges
        )
        batch = Batch.empty(job, driver.members)
        first = driver.first_rows()
        if job.samples:
            batch.samples[:, 0] = first
        chunk_steps = FIRST_CHUNK
        while driver.step < job.steps and (driver.status == OK).any():
            began, number = time.perf_counter(), 1 + driver.step // job.every
            rows = driver.advance(min(chunk_steps, job.steps - driver.step), keep=job.samples)
            batch.samples[:, number : number + rows.shape[1]] = rows
            chunk_steps = _next_chunk(min(chunk_steps, job.steps), time.perf_counter() - began)
        worst, sums, scale = driver.tallies()
        yield (
            i,
            replace(
                batch, final=driver.rows(), status=driver.status, made=driver.made, worst=worst, sums=sums, scale=scale
            ),
        )


def _gathered(job: Job, members: int, results: Batches) -> Batch:
    """All batches as one."""
    whole = Batch.empty(job, members)
    for first, batch in results:
        for name, array in vars(batch).items():
            getattr(whole, name)[first : first + len(array)] = array
    return whole


class Ensemble:
    """What came out of many starts: read by `final` and `data`, judged by `audit`; `failures` tells who fell out."""

    def __init__(self, job: Job, times: Array, batch: Batch, keep: Keep) -> None:
        self.system, self.method = job.system, job.method
        self.dt, self.steps, self.every = job.dt, job.steps, job.every
        self.keep = keep
        self._job, self._times, self._batch = job, times, batch

    def __len__(self) -> int:
        return len(self._times)

    @cached_property
    def final(self) -> xarray.Dataset:
        """The last states, fields, invariants and time along `member`; of a failed member that before the failing step."""
        if self.keep == "nothing":
            raise InputError("the states were not kept", where="Ensemble.final", do='run it with keep="final"')
        reached = self._times + self._batch.made * self.dt
        return self._dataset(("member",), self._batch.final, {"time": (("member",), reached, {"long_name": "time"})})

    @cached_property
    def data(self) -> xarray.Dataset:
        """The samples, fields and invariants along `member` and `time`; nan where a member had failed."""
        if self.keep != "samples":
            raise InputError("the samples were not kept", where="Ensemble.data", do='run it with keep="samples"')
        sampled = self._times[0] + np.arange(self._job.rows) * self.every * self.dt
        return self._dataset(
            ("member", "time"), self._batch.samples, {"time": (("time",), sampled, {"long_name": "time"})}
        )

    @cached_property
    def failures(self) -> list[Failure]:
        """The members that failed, in their order."""
        return [
            Failure(
                int(i),
                StepFailure(
                    explained(int(self._batch.status[i]), self.method, self.dt),
                    step=int(self._batch.made[i]) + 1, time=float(self._times[i] + self._batch.made[i] * self.dt),
                    do=self.method.advice(), where=f"member {i}",
                ),
            )
            for i in np.flatnonzero(self._batch.status != OK)
        ]  # fmt: skip

    def audit(self) -> EnsembleAudit:
        """Promised against measured, one row per invariant, over the members that did not fail."""
        sound = np.flatnonzero(self._batch.status == OK)
        rows, start = [], 0
        for invariant in self.system.invariants:
            part = slice(start, start + invariant.width)
            start += invariant.width
            rows.append(
                assess_members(
                    invariant.name, sound, self._batch.worst[sound, part], self._batch.sums[sound, :, part],
                    samples=self._job.rows, every=self.every, dt=self.dt,
                    scale=self._batch.scale[sound, part].max(axis=1), promised=promised(self.system, self.method, invariant.tags),
                )
            )  # fmt: skip
        return EnsembleAudit(tuple(rows), len(self), len(self) - len(sound))

    def _dataset(self, leading: tuple[str, ...], rows: Array, further: Mapping[str, Any]) -> xarray.Dataset:
        import xarray

        variables = dict(further)
        start = 0
        for f in (*self.system.fields, *self.system.invariants):
            values = rows[..., start : start + f.width].reshape(*rows.shape[:-1], *f.shape)
            variables[f.name] = ((*leading, *f.dims), values, {"long_name": f.about or f.name})
            start += f.width
        return xarray.Dataset(variables)

    def __repr__(self) -> str:
        failed = int((self._batch.status != OK).sum())
        return (
            f"Ensemble({len(self)} members of {self.system.title}, {self.method}, dt={self.dt:g}, {self.steps} steps"
            + (f", {failed} failed)" if failed else ")")
        )


def _check_choices(**choices: tuple[Any, Sequence[str]]) -> None:
    for name, (value, known) in choices.items():
        if value not in known:
            raise InputError(
                f"{name} = {value!r}{nearest(str(value), list(known))}", where=f"ensemble.{name}",
                do=f"use one of {', '.join(known)}",
            )  # fmt: skip


def _check_absent(**arguments: Any) -> None:
    for name, value in arguments.items():
        if value is not None:
            raise InputError(f"{name} = {value!r} means nothing on a card", where=f"ensemble.{name}", do="leave it out")


def _stacked(system: System, starts: Any) -> tuple[dict[str, Array], Array]:
    """The fields of all starts, leading axis member, and their times, every mistake explained."""
    given, times = _read(starts, [f.name for f in system.fields])
    try:
        fields = {name: np.array(value, dtype=float) for name, value in given.items()}
        members = max(len(array) for array in fields.values())
        times = np.broadcast_to(np.array(times, dtype=float), (members,))
    except (TypeError, ValueError) as problem:
        raise InputError(f"the starts are not arrays of numbers: {problem}", where="ensemble.starts") from None
    if members == 0:
        raise InputError("there are no starts", where="ensemble.starts", do="give one at least")
    for f in system.fields:
        array, where = fields[f.name], f"ensemble.starts.{f.name}"
        if f.width == 1 and array.shape == (members,):
            array = fields[f.name] = array.reshape(members, *f.shape)
        if array.shape != (members, *f.shape):
            shape = (members, *f.shape)
            raise InputError(f"{f.name} has shape {array.shape}", where=where, do=f"give {shape}: a row per member")
        undefined = ~np.isfinite(array.reshape(members, -1)).all(axis=1)
        if undefined.any():
            raise InputError(f"{f.name} of member {np.argmax(undefined)} is not finite", where=where)
    if not np.isfinite(times).all():
        raise InputError(
            f"the time of member {np.argmin(np.isfinite(times))} is not finite", where="ensemble.starts.time"
        )
    return fields, times


def _read(starts: Any, names: list[str]) -> tuple[dict[str, Any], Any]:
    """The fields and the times of the starts, from whatever form they are in."""
    if isinstance(starts, Sequence) and not isinstance(starts, str):
        for i, state in enumerate(starts):
            if not isinstance(state, State) or set(state.fields) != set(names):
                raise InputError(
                    f"start {i} = {state!r} is not a state of this system", where="ensemble.starts",
                    do="make it with system.start(...)",
                )  # fmt: skip
        return {name: [state.fields[name] for state in starts] for name in names}, [state.time for state in starts]
    if isinstance(starts, State):
        starts = {**starts.fields, "time": starts.time}
    elif hasattr(starts, "data_vars"):  # a Dataset, which may hold more than the fields
        ordered = starts.transpose("member", ..., missing_dims="ignore")
        starts = {name: ordered[name].values for name in (*names, "time") if name in ordered}
    if not isinstance(starts, Mapping) or not set(names) <= set(starts) <= {*names, "time"}:
        seen = (
            f"the starts have {', '.join(map(str, starts))}" if isinstance(starts, Mapping) else f"starts = {starts!r}"
        )
        raise InputError(
            seen, where="ensemble.starts",
            do=f"give a list of states, or {', '.join(names)} (and perhaps time) as arrays with a leading axis member",
        )  # fmt: skip
    return {name: starts[name] for name in names}, starts.get("time", 0.0)
