"""A stored ensemble: a member is a row, and a commit makes the members before it safe.

The store is that of a run (`catena.store`); its rows are members, in their order, instead of samples. If the process is
killed, the members under way and those after the last commit are lost: they are run again from their starts, with the
same bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from ...engine.block import Members
from ...engine.folding import fold, fold_accounts
from ...engine.identity import program_digest
from ...store import Store
from ..origin import Origin, head_of
from ..plan import Plan
from ..recording import commit_rows, store_attributes
from .auditing import measure_in
from .batch import Batch, bytes_each
from .job import Job, in_units
from .results import columns_of, sample_times, streams_of

STARTS = ("z", "times", "kinds", "dt")  # what members start from, and the numbers in which they differ
LARGEST_COMMIT = 2**26  # bytes of members between commits, whatever the speed; each writes many files


def create_store(path: str | Path, job: Job, plan: Plan, members: Members, *, workers: int | None) -> Store:
    """A new store for these members; its directory must not exist.

    Parameters
    ----------
    plan : that of the first member
    workers : number of members that run at the same time; None on a GPU, where commits are as large as possible
    """
    origin = origin_here(job, on_gpu=workers is None)
    given: dict[str, np.ndarray] = {}
    described = job.describe(apart=given)
    driver = members.driver(job.program, 0, every=job.every) if workers else None
    starts: dict[str, np.ndarray] = {"z": members.z, "times": members.t0}
    starts |= {"kinds": members.kinds} if job.kinds else {}
    starts |= {"dt": members.dt} if job.own_dt else {}
    return Store.create(
        path,
        spec={"ensemble": described, "members": len(members), "device": "cpu" if workers else "cuda"},
        attributes=store_attributes(plan, origin, described),
        streams=streams_of(job),
        rows_per_commit=in_units(
            commit_rows(driver, steps=job.steps / (workers or 1), most=max(1, LARGEST_COMMIT // bytes_each(job))),
            job.unit,
        ),
        rows_in_all=len(members),
        fixed={"time": sample_times(job, members.t0)} if job.kept_rows else {},
        given={**given, **starts},
    )


def origin_here(job: Job, *, on_gpu: bool, step: int = 0) -> Origin:
    """What computes members here, from member `step` on: the loop, and the formulas of the audit."""
    formulas = (measure_in,)
    if not on_gpu:
        kernels = (fold, *((fold_accounts,) if job.pairing.stepper.account_width else ()))
        kernels += (job.reductions.kernel(job.system),) if job.reductions.named else ()
        return Origin.here(program_digest(job.system, job.method, kernels=kernels, formulas=formulas), step=step)
    from ...engine.cuda.bodies import kernels_of
    from ...engine.cuda.members import advance_member, gpu_name

    kernels = kernels_of(job.pairing)
    kernels += (job.reductions.kernel(job.system),) if job.reductions.named else ()
    digest = program_digest(job.system, job.method, entry=advance_member, kernels=kernels, formulas=formulas)
    return Origin.here(digest, step=step, processor=gpu_name())


def record(store: Store, job: Job, members: Members, batches: Iterable[Batch], origins: Sequence[Origin] = ()) -> None:
    """Append batches of members to the store, and commit if it is due; `members` are all of them."""
    made = store.rows("members")
    known = {column.name for stream in store.streams for column in stream.columns}  # older stores have fewer
    for batch in batches:
        taken = 0
        while taken < len(batch):
            count = min(len(batch) - taken, store.rows_per_commit - made % store.rows_per_commit)
            part = batch.part(slice(taken, taken + count))
            columns = columns_of(job, members.part(slice(made, made + count)), part)
            store.append("members", {name: values for name, values in columns.items() if name in known})
            taken, made = taken + count, made + count
            if made == len(members) or made % store.rows_per_commit == 0:
                store.commit(step=made, head=head_of(origins), arrays={}, finished=made == len(members))
