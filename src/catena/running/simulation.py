"""Running a system: `simulate`, `resume`."""

from __future__ import annotations

import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from math import isfinite, isnan
from pathlib import Path
from typing import Literal, cast

import numpy as np

from .. import memory
from ..engine.build import build
from ..engine.driver import Chunk, Driver
from ..engine.pace import Pace
from ..engine.parts import PartedDriver, require_parts
from ..errors import CatenaWarning, InputError, Interrupted, StepFailure, StoreError
from ..kernels.views import (
    LOOP_LOST,
    NOT_CONVERGED,
    NOT_FINITE,
    NOT_LOCATED,
    OK,
    SINGULAR,
    STEP_TOO_LONG,
    STOPPED,
    UNRESOLVED,
    WORKER_LOST,
)
from ..methods.base import Method, find_stored_method, is_renamed
from ..store import Checkpoint, Store, read_spec, require_place
from ..store.checking import table
from ..systems.base import Moved, State
from ..text.plain import Json
from .control import ControlledDriver, Controller, Steering, Useless
from .crossings import Event, Section
from .origin import Origin, going_on, origins_in
from .plan import Plan, Problem, make_plan, positive_integer, require_drives, step_count
from .progress import reporter
from .recording import MemoryRecorder, StoreRecorder
from .runs import Run, StoredRun
from .trust import blame_description, check_run, run_of, steps_of

FIRST_CHUNK = 16  # steps
EVALUATED_IN_PYTHON = 100_000  # size of a state whose energy plain Python computes within seconds
PATIENCE = 2.0  # seconds that a stop may wait for the next commit

Progress = Callable[[int, int, float, float], None]

FAILURES = {
    NOT_CONVERGED: "the equations of the step have no solution within reach",
    SINGULAR: "the matrix of Newton's method is singular",
    NOT_FINITE: "the state is no longer finite",
    STEP_TOO_LONG: "a body turns too far in one step",
    UNRESOLVED: "the start is too near the unstable axis to tell when the body leaves it",
    LOOP_LOST: "a closed loop cannot be followed through this step",
    NOT_LOCATED: "a crossing could not be located",
    WORKER_LOST: "every worker of the cluster that followed it died",
}


def simulate(
    system: Moved | Problem[Moved],
    start: State | None = None,
    method: Method | None = None,
    dt: float | None = None,
    steps: int | None = None,
    t_end: float | None = None,
    every: int = 1,
    out: str | Path | None = None,
    sections: Sequence[Section] = (),
    events: Sequence[Event] = (),
    progress: bool | Progress | None = None,
    threads: int | None = None,
    control: Controller | None = None,
    device: Literal["cpu", "cuda"] = "cpu",
) -> Run[Moved]:
    """Run a system from a start.

    Parameters
    ----------
    system : a System, or a Problem, which also supplies start and dt
    start : a state of the system
    method : the default of the system if None
    dt : step size; the problem's or the system's suggestion if None
    steps, t_end : the length, one of them; dt must divide t_end - t0
    every : number of steps between samples
    out : directory `name.zarr` into which the run is streamed. Memory then stays constant, and the run survives being killed. Without
        it, samples stay in memory: at most 4 GiB, or half of what is available
    sections, events : crossings and events to detect during the run
    progress : True, False, a callable (step, steps, time, energy error), or None: a bar if on a terminal
    threads : number of threads that share the steps of a long chain (some 10 000 bodies or more, `Splitting`); one if None. The bits
        do not depend on it
    control : a Python function that sets the torques of motors during the run
    device : "cuda": a GPU thread for each body of such a chain (some 100 000 bodies or more). The bits do not depend on it either

    Returns
    -------
    Run

    Raises
    ------
    InputError, CapabilityError : something asked for is not possible
    StepFailure : a step failed; its `run` holds everything up to then
    Interrupted : Ctrl-C or SIGTERM; its `run` holds what was recorded

    Examples
    --------
    >>> import catena as ct
    >>> run = ct.simulate(ct.problems.kepler(e=0.6), dt=0.05, steps=1000)
    >>> run.audit()["angular_momentum"].verdict
    'exact'
    """
    plan, count = make_plan(
        system, start, method, dt=dt, steps=steps, t_end=t_end, every=every, sections=sections, events=events, control=control,
    )  # fmt: skip
    if control is not None and out is not None:
        control.warn_if_lost()
    made = run_plan(plan, count, out=out, progress=progress, threads=threads, device=device)
    return cast("Run[Moved]", made)  # a run of the system that was given


def run_plan(
    plan: Plan,
    count: int,
    *,
    out: str | Path | None,
    progress: bool | Progress | None = None,
    threads: int | None = None,
    device: Literal["cpu", "cuda"] = "cpu",
) -> Run:
    """Run a plan from its start for `count` steps; `out`, `progress`, `threads` and `device` as for `simulate`."""
    if not (out is None or isinstance(out, (str, Path))):
        raise InputError(f"{out!r} is not a path", where="out", do="give the name of a new directory, such as run.zarr")
    if out is not None:  # before anything is compiled
        require_place(Path(out))
    else:
        MemoryRecorder.require_memory(plan, count)
    driver = _driver(plan, threads=threads, device=device)
    first = check_defined(plan, driver)
    recorder = MemoryRecorder(plan) if out is None else StoreRecorder.create(plan, out, driver, steps=count)
    return _run(plan, driver, recorder, count, progress, first=first)


def check_defined(plan: Plan, driver: Driver) -> Chunk:
    """The row of the start; refused if the energy, or another invariant, has no finite value there."""
    first = driver.first_row()
    if first.status != OK:
        raise InputError(
            "the energy, or another invariant, is not defined at the start", where=plan.system.undefined_at(plan.start),
            do="start away from singular points and inside the domain of every function",
        )  # fmt: skip
    return first


def check_start(plan: Plan) -> None:
    """The same without compiling, for a plan that is only inspected; large states are left to the run itself."""
    if plan.system.public_width <= EVALUATED_IN_PYTHON:
        check_defined(plan, _driver(plan, compiled=False))


class StoppedRun:
    """A stored run, opened to continue it: its plan and its checkpoint. `close` it, or call `go_on`, which closes it.

    Attributes
    ----------
    path, plan : its directory, and what is run
    checkpoint : its last checkpoint; None before the first commit
    """

    def __init__(self, path: Path, plan: Plan, planned: int, store: Store, checkpoint: Checkpoint | None) -> None:
        self.path, self.plan, self.checkpoint = path, plan, checkpoint
        self._planned, self._store = planned, store

    @classmethod
    def reopened(cls, path: str | Path) -> StoppedRun:
        """Read, check and lock the store; StoreError if it is damaged, or another process is writing it."""
        require_same_names(read_spec(path), path)
        plan, planned = run_of(path)
        store, checkpoint = Store.reopen(path)
        try:
            if checkpoint is not None:
                check_run(path, plan, checkpoint)
                planned = steps_of(checkpoint, planned)
        except BaseException:
            store.close()
            raise
        return cls(Path(path), plan, planned, store, checkpoint)

    @property
    def made(self) -> int:
        """Number of steps made so far."""
        return 0 if self.checkpoint is None else self.checkpoint.step

    def steps(self, *, t_end: float | None = None, steps: int | None = None) -> int:
        """Total number of steps, as planned if neither is given."""
        given = steps is not None or t_end is not None
        total = step_count(self.plan.dt, self.plan.t0, steps=steps, t_end=t_end, begun=True) if given else self._planned
        if self.made > total:
            raise InputError(
                f"the run has made {self.made} steps already, more than the {total} asked for",
                where="resume", do="ask for more; `catena info` or ct.open shows what there is",
            )  # fmt: skip
        if given:
            require_drives(self.plan, total)
        return total

    def _steer(self, control: Steering | str | None, *, anyway: bool) -> Plan:
        """The plan with the function of its controller."""
        plan = self.plan
        if plan.control is None:
            if control is not None:
                raise InputError("the run has no controller", where="resume.control", do="leave it out")
            return plan
        return replace(plan, control=plan.control.with_function(control, anyway=anyway))

    def close(self) -> None:
        """Unlock the store."""
        self._store.close()

    def go_on(
        self,
        *,
        t_end: float | None,
        steps: int | None,
        progress: bool | Progress | None,
        anyway: bool = False,
        threads: int | None = None,
        control: Steering | str | None = None,
        device: Literal["cpu", "cuda"] = "cpu",
    ) -> Run:
        """Make the remaining steps; arguments as for `resume`."""
        plan, store, path, checkpoint = self.plan, self._store, self.path, self.checkpoint
        try:
            count = self.steps(t_end=t_end, steps=steps)
            head = checkpoint.head if checkpoint is not None else {}
            known = origins_in(store.attributes, head, path=path)
            done = self.made == count or ("stopped_by" in head and steps is t_end is None)
            if checkpoint is not None and checkpoint.finished and done:
                store.close()
                return StoredRun(
                    path, plan, checkpoint, planned_steps=positive_integer(store.spec["steps"], "steps"), origins=known
                )
            plan = self._steer(control, anyway=anyway)
            now = Origin.here(plan.program_digest(), step=self.made)
            origins = going_on(known, now, path=path, anyway=anyway, command="catena resume --anyway")
            driver = _driver(plan, threads=threads, device=device)
            recorder = StoreRecorder(plan, store, path, steps=count, origins=origins)
            if checkpoint is not None:
                driver.restore(checkpoint.step, checkpoint.arrays)
            first = driver.first_row() if checkpoint is None else None
        except BaseException:
            store.close()
            raise
        return _run(plan, driver, recorder, count, progress, first=first)


def require_same_names(spec: Mapping[str, Json], path: str | Path) -> None:
    """Refuse to continue with a method whose name stands for another method today."""
    with blame_description(path, "spec.json"):
        name = "ensemble" if "ensemble" in spec else "plan"
        described = table(table(spec[name], name)["method"], "method")
        renamed = is_renamed(described)
    if renamed:
        old, new = described["kind"], find_stored_method(described)
        raise StoreError(
            f"what was called {old} when this was written is {new} today", where=str(path),
            do=f"open it with ct.open, and start another run with {new} from its final state",
        )  # fmt: skip


def _driver(
    plan: Plan, *, compiled: bool = True, threads: int | None = None, device: Literal["cpu", "cuda"] = "cpu"
) -> Driver:
    memory.require(
        8 * plan.pairing.stepper.work, what=f"what {plan.method} works in, with {plan.system.title},", where="method",
        do='use an explicit method, or solver="fixed-point", which has no matrix',
    )  # fmt: skip
    _require_shared(plan, threads, device)
    program = plan.program() if compiled else build(plan.system, plan.method, compiled=False)
    z = program.view.pack(plan.start)
    if device == "cuda":
        from ..engine.cuda.long_chain import GpuDriver

        return GpuDriver(program, z, t0=plan.t0, dt=plan.dt, every=plan.every, compiled=compiled)
    if plan.control is not None:
        return ControlledDriver(program, z, t0=plan.t0, dt=plan.dt, every=plan.every, controller=plan.control)
    if threads is None or threads == 1:
        return Driver(program, z, t0=plan.t0, dt=plan.dt, every=plan.every)
    return PartedDriver(program, z, t0=plan.t0, dt=plan.dt, every=plan.every, threads=threads, compiled=compiled)


def _require_shared(plan: Plan, threads: int | None, device: str) -> None:
    """Refuse threads and GPUs that cannot be used, before anything is compiled."""
    if device not in ("cpu", "cuda"):
        raise InputError(f"device = {device!r}", where="simulate.device", do="use one of cpu, cuda")
    watched = bool(plan.sections or plan.events)
    if device == "cuda":
        if threads is not None or plan.control is not None:
            raise InputError(
                f"{'control' if threads is None else f'threads = {threads!r}'} means nothing on a GPU", where="simulate.device",
                do="leave it out",
            )  # fmt: skip
        from ..engine.cuda.long_chain import require_bodies  # slow to import

        require_bodies(plan.pairing, watched=watched)
    elif threads is not None and positive_integer(threads, "threads") > 1 and plan.control is None:
        require_parts(plan.pairing, watched=watched)


def _run(
    plan: Plan,
    driver: Driver,
    recorder: MemoryRecorder | StoreRecorder,
    count: int,
    progress: bool | Progress | None,
    *,
    first: Chunk | None,
) -> Run:
    """Make the steps until `count` and record them; with the row of the start if it is not there yet."""
    report = reporter(progress, plan, count)
    most = Pace.most_for(driver.program.width, plan.every)
    pace = Pace(FIRST_CHUNK, every=plan.every, most=most, state=driver.state_bytes)
    try:
        with stop_requests() as asked, report as shown:
            if first is not None:
                recorder.take(first, driver)
            while driver.step < count:
                room = recorder.room(driver.step)
                if asked and (len(asked) > 1 or room > pace.steps * PATIENCE / pace.seconds):
                    raise _interruption(recorder, driver)
                began = time.perf_counter()
                chunk, made = _chunk(driver, recorder, pace, min(room, count - driver.step))
                recorder.take(chunk, driver)
                if chunk.status > OK:
                    raise _failure(plan, recorder, driver, chunk.status)
                shown(driver, chunk)
                if chunk.status == STOPPED:
                    names = _stopping(plan, chunk)
                    return _with_warning(
                        recorder.finish(driver, reason=f"stopped by {', '.join(names)}", stopped_by=names)
                    )
                if asked and chunk_committed(recorder, driver):
                    raise _interruption(recorder, driver)
                pace.took(made, time.perf_counter() - began)
            return _with_warning(recorder.finish(driver))
    finally:
        recorder.close()


def _chunk(driver: Driver, recorder: MemoryRecorder | StoreRecorder, pace: Pace, most: int) -> tuple[Chunk, int]:
    """Make the next chunk, as many steps as `pace` asks for; if a controller is due, call it first."""
    if not isinstance(driver, ControlledDriver):
        made = pace.after(driver.step, most)
        return driver.advance(made), made
    first, time, torques = driver.step, driver.time, None
    if first % driver.controller.every == 0:
        try:
            torques = driver.consult()
        except Exception as trouble:
            raise _explain_lost_control(driver, recorder, trouble) from trouble
    made = pace.after(first, most, driver.controller.room(first))
    chunk = driver.advance(made)
    if torques is not None and driver.step > first:
        recorder.take_control(time, torques)
    return chunk, made


def _explain_lost_control(
    driver: ControlledDriver, recorder: MemoryRecorder | StoreRecorder, trouble: Exception
) -> StepFailure:
    """The message for a controller that did not return torques."""
    reason = str(trouble) if isinstance(trouble, Useless) else f"it raised {type(trouble).__name__}: {trouble}"
    failure = StepFailure(
        f"the controller set no torques: {reason}", step=driver.step + 1, time=driver.time, where="control",
        do="repair the function; what was recorded until then is kept",
    )  # fmt: skip
    return _keep(failure, recorder, driver)


def _keep(failure: StepFailure, recorder: MemoryRecorder | StoreRecorder, driver: Driver) -> StepFailure:
    """Attach the run so far to the failure."""
    if isinstance(driver, ControlledDriver):
        driver.forget_unused()
    try:
        failure.run = recorder.finish(driver, reason=failure.wrong, failed_at=driver.step + 1)
    except StoreError as trouble:
        failure.add_note(str(trouble))
    return failure


def _with_warning(run: Run) -> Run:
    """The run, with a warning if an event changed what it means."""
    if run.damage:
        warnings.warn(f"{'; '.join(run.damage)}: from then on this is another system", CatenaWarning, stacklevel=5)
    if run.doubt:
        warnings.warn(run.doubt, CatenaWarning, stacklevel=5)
    return run


def _stopping(plan: Plan, chunk: Chunk) -> list[str]:
    """Names of the events that stopped the run in the last step of a chunk, without repetition."""
    watched = (*plan.sections, *plan.events)
    happened = [watched[int(which)] for which in dict.fromkeys(chunk.crossings[:, 0].tolist())]
    return [event.name for event in happened if isinstance(event, Event) and event.stop]


def chunk_committed(recorder: MemoryRecorder | StoreRecorder, driver: Driver) -> bool:
    """Whether stopping here loses nothing: a store has just committed; memory keeps everything anyway."""
    if isinstance(recorder, MemoryRecorder):
        return True
    rows = 1 + driver.step // driver.every
    return driver.step % driver.every == 0 and rows % recorder.store.rows_per_commit == 0


def _interruption(recorder: MemoryRecorder | StoreRecorder, driver: Driver) -> Interrupted:
    if isinstance(recorder, StoreRecorder):
        recorder.store.require_in_place()
    run = recorder.drop(driver) if _anything(recorder) else None
    hint = f'; continue with ct.resume("{recorder.path}")' if isinstance(recorder, StoreRecorder) else ""
    return Interrupted(f"stopped at step {driver.step}, t = {driver.time:.10g}{hint}", run)


def _anything(recorder: MemoryRecorder | StoreRecorder) -> bool:
    from ..store import read_checkpoint

    return isinstance(recorder, MemoryRecorder) or read_checkpoint(recorder.path) is not None


def explain(status: int, method: Method, dt: float, *, speed: float | None = None) -> str:
    """Why a step failed; `speed` is the |omega| of the fastest body at its start, if known."""
    facts = []
    if status == STEP_TOO_LONG and speed is not None:
        facts.append(f"is {abs(dt) * speed:.3g}")
    if status == STEP_TOO_LONG and isfinite(method.reach):
        facts.append(f"must stay below {method.reach:.3g}")
    turn = f": dt |omega| {' and '.join(facts)}" if facts else ""
    return f"{FAILURES[status]}{turn} ({method}, dt = {dt:g})"


def _failure(plan: Plan, recorder: MemoryRecorder | StoreRecorder, driver: Driver, status: int) -> StepFailure:
    speed = plan.system.angular_speed(driver.program.view.unpack(driver.variables(), driver.time))
    variable, changes = driver.trace() if status == NOT_CONVERGED else (None, [])
    details = f"; last relative changes {', '.join(f'{change:.1e}' for change in changes)}" if changes else ""
    if changes and isnan(changes[-1]):
        status = NOT_FINITE
    if status == NOT_FINITE:
        variable, change = driver.jump()
        if change > 0.0:
            details = f"; a variable changes by {change:.1e} in this step"
        else:
            variable = None
    body_of = driver.program.view.body_of
    body = None if body_of is None or variable is None else body_of(variable)
    if status == STEP_TOO_LONG:
        body = plan.system.fastest_body(driver.program.view.unpack(driver.variables(), driver.time))
    jump = plan.system.first_jump(np.array([driver.time]), plan.dt, plan.start)
    failure = StepFailure(
        f"{jump.wrong}: {FAILURES[status]}" if jump else explain(status, plan.method, plan.dt, speed=speed) + details,
        step=driver.step + 1, time=driver.time, where=plan.system.blamed(driver.par) or ("" if body is None else f"body {body}"),
        do="give a smooth path, or end the run before" if jump else plan.method.advice(),
    )  # fmt: skip
    failure.body, failure.changes = body, tuple(changes)
    return _keep(failure, recorder, driver)


@contextmanager
def stop_requests() -> Iterator[list[int]]:
    """A list that grows with each Ctrl-C or SIGTERM, so that a run stops only where nothing is lost."""
    asked: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield asked
        return
    before = {s: signal.signal(s, lambda number, frame: asked.append(number)) for s in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
