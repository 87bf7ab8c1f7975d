"""Running ensembles: `ensemble`, `resume_ensemble`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import numpy as np

from ...errors import InputError, Interrupted, nearest
from ...methods.base import Method
from ...store import Store, require_free
from ...systems.base import State, System
from ..origin import Origin, going_on, origins_in
from ..plan import Problem, make_plan, require_resolved
from .checking import check_members, job_of, starts_of
from .members import Array, Batch, Batches, Client, Job, Keep, on_card, on_executor, require_memory, workers_for
from .recording import create_store, origin_here, record
from .results import Ensemble, StoredEnsemble
from .starts import Starts, stacked

if TYPE_CHECKING:
    pass

Progress = Callable[[int, int, int, int], None]
Shown: TypeAlias = bool | Progress | None


def ensemble(
    system: System | Problem,
    starts: Starts,
    method: Method | None = None,
    *,
    steps: int,
    dt: float | None = None,
    every: int = 1,
    keep: Keep = "final",
    device: Literal["cpu", "cuda"] = "cpu",
    threads: int | None = None,
    client: Client | None = None,
    out: str | Path | None = None,
    progress: bool | Progress | None = None,
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
    client : a `dask.distributed.Client`, on whose workers the members run; catena must be installed there
    out : directory `name.zarr` to store the members in, in their order; memory stays flat in their number, and the ensemble
        survives being killed: `ct.resume` goes on, to the same bytes. A member is kept once it is done; for the samples of few
        and very long ones prefer `simulate`, which keeps all until the last second
    progress : True, False, a callable (steps made by all members, steps in all, members done, members failed), or None: a bar if on
        a terminal

    Returns
    -------
    Ensemble
        A member that fails stops no other: see its `failures`.

    Raises
    ------
    InputError, CapabilityError, StoreError : something asked for cannot be done
    Interrupted : Ctrl-C, if `out` was given; its `run` holds the members that were stored, None if there are none

    Examples
    --------
    >>> import catena as ct
    >>> from catena.running.ensembles import ensemble
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
    if not (out is None or isinstance(out, (str, Path))):
        raise InputError(f"{out!r} is not a path", where="ensemble.out", do="give a new directory, such as many.zarr")
    if out is not None:
        require_free(Path(out))  # before something is compiled
    fields, times = stacked(bare, starts)
    if keep == "samples" and (times != times[0]).any():
        raise InputError(
            f"the starts have different times, {times.min():g} to {times.max():g}", where="ensemble.starts",
            do='start all members at one time, or use keep="final"',
        )  # fmt: skip
    states = (State({name: array[i] for name, array in fields.items()}, float(t)) for i, t in enumerate(times))
    first = next(states)
    plan, count = make_plan(system, first, method, dt=dt, steps=steps, t_end=None, every=every)
    require_resolved(plan.dt, float(times[np.abs(times).argmax()]), count)
    job = Job(bare, plan.method, plan.dt, count, plan.every, keep)
    require_memory(job, len(times), threads=threads, stored=out is not None)
    pack = job.pairing.view.pack
    z = np.array([pack(first), *map(pack, states)])
    if device == "cuda":
        _check_card(threads=threads, client=client)
    _check_client(client)
    workers = None if device == "cuda" else workers_for(job, threads)
    if out is not None:
        store = create_store(out, job, plan, z, times, workers=workers)
        return _stored(store, out, job, z, times, workers, client, progress)
    with _followed(job, z, times, workers, client, progress) as batches:
        return Ensemble.of(job, times, _gathered(job, len(z), batches))


def resume_ensemble(
    path: str | Path,
    *,
    threads: int | None = None,
    client: Client | None = None,
    progress: bool | Progress | None = None,
    anyway: bool = False,
) -> StoredEnsemble:
    """Go on with a stored ensemble that was stopped: the members that are there are not followed again.

    Parameters
    ----------
    path : directory of the store
    threads, client, progress : as for `ensemble`; the device is that on which it was begun
    anyway : as for `resume`
    """
    _check_client(client)
    job, members, device = job_of(path)
    store, checkpoint = Store.reopen(path)
    try:
        if checkpoint is not None:
            check_members(path, members, checkpoint)
        if checkpoint is not None and checkpoint.finished:
            store.close()
            return StoredEnsemble(path)
        require_memory(job, members, threads=threads, stored=True)
        if device == "cuda":
            _check_card(threads=threads, client=client)
        known = origins_in(store.attributes, checkpoint.head if checkpoint else {}, path=path)
        now = origin_here(job, on_card=device == "cuda", step=store.rows("members"))
        origins = going_on(known, now, path=path, anyway=anyway)
        workers = None if device == "cuda" else workers_for(job, threads)
        z, times = starts_of(path, store, job, members)
    except BaseException:
        store.close()
        raise
    return _stored(store, path, job, z, times, workers, client, progress, origins)


def _stored(
    store: Store,
    path: str | Path,
    job: Job,
    z: Array,
    times: Array,
    workers: int | None,
    client: Client | None,
    progress: Shown,
    origins: Sequence[Origin] = (),
) -> StoredEnsemble:
    """Follow the members that the store does not hold yet."""
    done = store.rows("members")
    try:
        with store, _followed(job, z, times, workers, client, progress, done=done) as batches:
            record(store, job, times, batches, origins)
    except KeyboardInterrupt:
        store.require_in_place()
        made = store.committed("members")
        raise Interrupted(
            f'stopped after {made} of {len(z)} members; continue with ct.resume("{path}")',
            StoredEnsemble(path) if made else None,
        ) from None
    return StoredEnsemble(path)


@contextmanager
def _followed(
    job: Job, z: Array, times: Array, workers: int | None, client: Client | None, progress: Shown, *, done: int = 0
) -> Iterator[Batches]:
    """The members, in batches, after those that are done; without workers on a card. An interrupt reaches threads at once."""
    from ..progress import members_reporter

    job.tally.add(done * job.steps, members=done)
    with members_reporter(progress, job.tally, members=len(z), steps=job.steps) as show:
        z, times = z[done:], times[done:]
        batches = (
            on_card(job, z, times, show, done=done)
            if workers is None
            else on_executor(job, z, times, workers, client, show, done=done)
        )
        with closing(batches):
            yield batches


def _gathered(job: Job, members: int, batches: Batches) -> Batch:
    """All batches as one."""
    whole, first = Batch.empty(job, members), 0
    for batch in batches:
        for name, array in vars(batch).items():
            getattr(whole, name)[first : first + len(array)] = array
        first += len(batch)
    return whole


def _check_choices(**choices: tuple[str, Sequence[str]]) -> None:
    for name, (value, known) in choices.items():
        if value not in known:
            raise InputError(
                f"{name} = {value!r}{nearest(str(value), list(known))}", where=f"ensemble.{name}",
                do=f"use one of {', '.join(known)}",
            )  # fmt: skip


def _check_client(client: object) -> None:
    if not (client is None or hasattr(client, "get_executor")):
        raise InputError(
            f"client = {client!r} is not a client",
            where="ensemble.client",
            do="give a dask.distributed.Client(address)",
        )


def _check_card(**arguments: object) -> None:
    """Refuse what means nothing on a card."""
    for name, value in arguments.items():
        if value is not None:
            raise InputError(f"{name} = {value!r} means nothing on a card", where=f"ensemble.{name}", do="leave it out")
