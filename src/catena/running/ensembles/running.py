"""Running ensembles: `ensemble`, `resume_ensemble`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike

from ...engine.block import Members
from ...engine.lanes import require_lanes
from ...errors import InputError, Interrupted, unknown_word
from ...store import Store, require_place
from ...systems.base import State, System
from ..origin import Origin, going_on, origins_in
from .asking import Asked, Drawn, Methods, Systems, ask, check_axes
from .batch import Batch
from .checking import check_members, job_of, members_of
from .cluster import Client
from .grids import Grid
from .job import Job, Keep, Layout
from .members import LARGEST_BATCH, Batches, on_executor, require_memory, workers_for
from .recording import create_store, origin_here, record
from .reductions import Reduction
from .results import Ensemble, StoredEnsemble
from .starts import Starts
from .tempering import Tempering

Progress = Callable[[int, int, int, int], None]
Shown: TypeAlias = bool | Progress | None


def ensemble(
    systems: Systems,
    starts: Starts | Drawn | None = None,
    method: Methods | None = None,
    *,
    steps: int,
    dt: ArrayLike | None = None,
    every: int = 1,
    keep: Keep = "final",
    members: int | None = None,
    seed: int | None = None,
    reduce: Mapping[str, Reduction] | None = None,
    tempering: Tempering | None = None,
    device: Literal["cpu", "cuda"] = "cpu",
    layout: Layout = "members",
    threads: int | None = None,
    client: Client | None = None,
    out: str | Path | None = None,
    progress: bool | Progress | None = None,
) -> Ensemble:
    """Run a system, or systems that differ in numbers, from many starts.

    Parameters
    ----------
    systems : a System, or a Problem, which also supplies dt; or one for each member, which may differ only in numbers
    starts : a list of states; fields with a leading axis `member`, as a dictionary of arrays (`q` (m, n), `p` (m, n),
        optionally `time`), a State or a Dataset, such as the `final` of another ensemble; one State for all; a function
        that draws a state with the numpy Generator of its member; those of the problems if None
    method : one for all members, or one for each; these may differ in numbers, such as a temperature. The system's default if None
    steps : number of steps of each member
    dt : step size, or one for each member; the problem's or the system's suggestion if None
    every : number of steps between samples, at which the invariants are also checked
    keep : "final": the states at the end; "samples": these and all samples, in memory; "nothing": only the audit
    members, seed : number of members if all have one start or starts are drawn. Member k draws with (seed or 0, k)
    reduce : quantities that the loop keeps, by name: `Mean`, `Extremes`, `Histogram`, `LastCrossing`, or your kernel
    tempering : temperatures between which members exchange their states (`Tempering`), for methods with a temperature
    device : "cpu" or "cuda"
    layout : "members"; or "lanes": sixteen at a time in vector registers, with the same bits, for explicit methods on small systems
    threads, client : number of threads, one for each core if None; or a `dask.distributed.Client` whose workers have catena installed
    out : directory `name.zarr` in which members are stored when they are done. Memory stays constant, and the ensemble survives being
        killed: `ct.resume` continues it to the same bytes. For samples of a few very long runs prefer `simulate`
    progress : True, False, a callable (steps made, steps in all, members done, members failed), or None: a bar if on a terminal

    Returns
    -------
    Ensemble
        A member that fails does not stop the others: see `failures`.

    Raises
    ------
    InputError, CapabilityError, StoreError : something asked for is not possible
    Interrupted : Ctrl-C, if `out` was given; its `run` holds the members stored so far, possibly none
    """
    how = How(device, threads, client, out, progress, layout)
    how.check(keep=keep, tempering=tempering)
    wanted = ask(
        systems, starts, method, steps=steps, dt=dt, every=every, keep=keep, members=members, seed=seed, reduce=reduce,
        tempering=tempering,
    )  # fmt: skip
    return _follow(how.laid_out(wanted), how)


def follow_grid(
    grid: Grid,
    systems: Sequence[System],
    starts: Sequence[State],
    method: Methods | None,
    how: How,
    *,
    steps: int,
    dt: ArrayLike | None,
    every: int,
    keep: Keep,
    reduce: Mapping[str, Reduction] | None,
) -> Ensemble:
    """A system and a start at each point of a grid; the rest as for `ensemble`."""
    how.check(keep=keep)
    wanted = ask(
        systems, starts, method, steps=steps, dt=dt, every=every, keep=keep, members=None, seed=None, reduce=reduce
    )  # fmt: skip
    job = replace(wanted.job, grid=grid)
    check_axes(job, grid)
    return _follow(replace(wanted, job=job), how)


@dataclass(frozen=True)
class How:
    """Where members run, where their results go, and who is notified: arguments of `ensemble`."""

    device: str
    threads: int | None
    client: Client | None
    out: str | Path | None
    progress: Shown
    layout: str = "members"

    def check(self, *, keep: str, tempering: object = None) -> None:
        """InputError for arguments that make no sense, before anything is compiled."""
        if not (tempering is None or isinstance(tempering, Tempering)):
            raise InputError(
                f"tempering = {tempering!r}", where="ensemble.tempering",
                do="give ct.Tempering(temperatures, every=...)",
            )  # fmt: skip
        _check_choices(
            keep=(keep, get_args(Keep)), device=(self.device, ("cpu", "cuda")), layout=(self.layout, get_args(Layout))
        )
        if not (self.out is None or isinstance(self.out, (str, Path))):
            raise InputError(
                f"{self.out!r} is not a path", where="ensemble.out", do="give a new directory, such as many.zarr"
            )
        if self.out is not None:
            require_place(Path(self.out))
        _check_client(self.client)
        if self.device == "cuda":
            lanes = self.layout if self.layout == "lanes" else None
            _check_gpu(threads=self.threads, client=self.client, tempering=tempering, layout=lanes)

    def laid_out(self, wanted: Asked) -> Asked:
        """The members one after the other, or in lanes if these can hold them."""
        if self.layout != "lanes":
            return wanted
        require_lanes(wanted.job.pairing)
        return replace(wanted, job=replace(wanted.job, layout="lanes"))


def _follow(wanted: Asked, how: How) -> Ensemble:
    """Run the members, in memory or with a store."""
    job, members = wanted.job, wanted.members
    require_memory(job, len(members), threads=how.threads, stored=how.out is not None)
    workers = None if how.device == "cuda" else workers_for(job, how.threads)
    if how.out is not None:
        store = create_store(how.out, job, wanted.plan, members, workers=workers)
        return _fill_store(store, how.out, job, members, workers, how.client, how.progress)
    whole = Batch.empty(job, len(members)) if workers is not None else None
    with _follow_members(job, members, workers, how.client, how.progress, whole=whole) as batches:
        return Ensemble.of(job, members, _gather(job, len(members), batches, whole))


def resume_ensemble(
    path: str | Path,
    *,
    threads: int | None = None,
    client: Client | None = None,
    progress: bool | Progress | None = None,
    anyway: bool = False,
) -> StoredEnsemble:
    """Continue a stored ensemble that was stopped; members in the store are not computed again.

    Parameters
    ----------
    path : directory of the store
    threads, client, progress : as for `ensemble`; the device is the one on which it was started
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
            _check_gpu(threads=threads, client=client)
        known = origins_in(store.attributes, checkpoint.head if checkpoint else {}, path=path)
        now = origin_here(job, on_gpu=device == "cuda", step=store.rows("members"))
        origins = going_on(known, now, path=path, anyway=anyway)
        workers = None if device == "cuda" else workers_for(job, threads)
        followed = members_of(path, store, job, members)
    except BaseException:
        store.close()
        raise
    return _fill_store(store, path, job, followed, workers, client, progress, origins)


def _fill_store(
    store: Store,
    path: str | Path,
    job: Job,
    members: Members,
    workers: int | None,
    client: Client | None,
    progress: Shown,
    origins: Sequence[Origin] = (),
) -> StoredEnsemble:
    """Run the members that the store does not hold yet."""
    done = store.rows("members")
    try:
        commit = store.rows_per_commit
        with store, _follow_members(job, members, workers, client, progress, done=done, commit=commit) as batches:
            record(store, job, members, batches, origins)
    except KeyboardInterrupt:
        store.require_in_place()
        made = store.committed("members")
        raise Interrupted(
            f'stopped after {made} of {len(members)} members; continue with ct.resume("{path}")',
            StoredEnsemble(path),
        ) from None
    return StoredEnsemble(path)


@contextmanager
def _follow_members(
    job: Job,
    members: Members,
    workers: int | None,
    client: Client | None,
    progress: Shown,
    *,
    done: int = 0,
    whole: Batch | None = None,
    commit: int = LARGEST_BATCH,
) -> Iterator[Batches]:
    """The remaining members, in batches; without workers on a GPU. An interrupt stops threads at once.

    whole, commit : see `on_executor`
    """
    from ..progress import members_reporter

    job.tally.add(done * job.steps, members=done)
    with members_reporter(progress, job.tally, members=len(members), steps=job.steps) as show:
        left = members.part(slice(done, None))
        if workers is None:
            from .gpus import on_gpus

            batches = on_gpus(job, left, show)
        else:
            batches = on_executor(job, left, workers, client, show, whole, commit=commit)
        with closing(batches):
            yield batches


def _gather(job: Job, members: int, batches: Batches, whole: Batch | None) -> Batch:
    """All batches as one; parts of `whole` are in place already."""
    first = 0
    for batch in batches:
        if len(batch) == members:
            whole = batch
        elif whole is None:
            whole = Batch.empty(job, members)
        if not np.may_share_memory(batch.status, whole.status):
            whole.take(batch, first)
        first += len(batch)
    assert whole is not None
    return whole


def _check_choices(**choices: tuple[str, Sequence[str]]) -> None:
    for name, (value, known) in choices.items():
        if value not in known:
            raise unknown_word(f"{name} = {value!r}", value, known, f"ensemble.{name}")


def _check_client(client: object) -> None:
    if not (client is None or hasattr(client, "submit")):
        raise InputError(
            f"client = {client!r} is not a client",
            where="ensemble.client",
            do="give a dask.distributed.Client(address)",
        )


def _check_gpu(**arguments: object) -> None:
    """Refuse options that mean nothing on a GPU, and a missing GPU."""
    for name, value in arguments.items():
        if value is not None:
            raise InputError(f"{name} = {value!r} means nothing on a GPU", where=f"ensemble.{name}", do="leave it out")
    from ...engine.cuda.members import require_cuda  # slow to import

    require_cuda()
