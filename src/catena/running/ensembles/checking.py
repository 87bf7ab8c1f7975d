"""A stored ensemble made into a job and starts again, each part looked at first; see `catena.running.trust`."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import numpy as np

from ...errors import StoreError
from ...kernels.views import OK
from ...store import Checkpoint, Store, read_given, read_layout
from ...store.checking import shown, table, whole
from ..plan import positive_integer, positive_number
from ..simulation import FAILURES
from ..trust import (
    check_arrays,
    check_attributes,
    check_described,
    check_streams,
    described_in,
    require_finite,
    require_usable,
    whole_description,
)
from .members import Array, Job, Keep, job_from
from .recording import STARTS
from .results import older_streams_of, streams_of


def job_of(path: str | Path) -> tuple[Job, int, str]:
    """The job of a stored ensemble, its number of members and its device; StoreError if catena cannot have written that."""
    layout = read_layout(Path(path))
    with described_in(path, "spec.json"):
        spec = table(layout.spec, "spec", needs=("ensemble", "members", "device"))
        given = {name: array for name, array in read_given(Path(path), layout).items() if name not in STARTS}
        told = whole_description(spec["ensemble"], given, "ensemble", needs=("system", "method", "run"))
        check_described(told, layout.streams)
        run = table(told["run"], "run", needs=("dt", "every", "steps", "keep"))
        positive_number(run["dt"], "run.dt")
        for name in ("every", "steps"):
            positive_integer(run[name], f"run.{name}")
        for name, value, known in (
            ("run.keep", run["keep"], get_args(Keep)),
            ("device", spec["device"], ("cpu", "cuda")),
        ):
            if value not in known:
                raise ValueError(f"{name} = {shown(value)} is not one of {', '.join(known)}")
        members = whole(spec["members"], "members", least=1)
        job = job_from(told)
        require_usable(job, job.describe(apart={}))
        columns = {column.name for stream in layout.streams for column in stream.columns}
        older = not any(f"{invariant.name}_seen" in columns for invariant in job.system.invariants)
        check_streams(layout.streams, older_streams_of(job) if older else streams_of(job))
        check_attributes(layout.attributes)
    return job, members, str(spec["device"])


def check_members(path: str | Path, members: int, checkpoint: Checkpoint) -> None:
    """StoreError unless a checkpoint can be one of an ensemble of so many members."""
    with described_in(path, "the checkpoint"):
        made = checkpoint.rows["members"]
        if checkpoint.step != made or made > members or checkpoint.finished != (made == members):
            raise ValueError(
                f"step = {checkpoint.step}, finished = {checkpoint.finished}, rows.members = {made} of {members} members"
            )


def starts_of(path: str | Path, store: Store, job: Job, members: int) -> tuple[Array, Array]:
    """The stepped variables and times that all members of a stored ensemble start from."""
    all_given = store.given()
    given: dict[str, Any] = {name: all_given[name] for name in STARTS if name in all_given}
    with described_in(path, "given"):
        check_arrays(given, {"z": (members, job.pairing.view.dimension), "times": (members,)})
        for name, array in given.items():
            require_finite(array, name)
        if job.kept_rows and (given["times"] != given["times"][0]).any():
            raise ValueError("times differ between members whose samples are kept")
    return given["z"], given["times"]


def checked_column(path: str | Path, job: Job, name: str, values: Array) -> Array:
    """A column of a store; StoreError if a member ended in a way that there is not, or after steps that nobody makes."""
    if name == "status":
        odd = ~np.isin(values, [OK, *FAILURES])
    elif name == "steps":
        odd = ~((values >= 0) & (values <= job.steps) & (values == np.floor(values)))
    else:
        return values
    for member in np.flatnonzero(odd).tolist():
        wrong = f"{name} = {values[member]} of member {member} cannot be"
        raise StoreError(wrong, where=str(path), do="do not trust this store")
    return values
