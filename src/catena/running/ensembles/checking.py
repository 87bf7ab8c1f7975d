"""The job and the starts of a stored ensemble, each part checked before it is used; see `catena.running.trust`."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from ...arrays import Array
from ...engine.block import Members
from ...errors import StoreError
from ...kernels.views import OK
from ...store import Checkpoint, Store, read_given, read_layout
from ...store.checking import show, table, whole
from ..plan import positive_integer, positive_number
from ..simulation import FAILURES
from ..trust import (
    blame_description,
    check_arrays,
    check_attributes,
    check_described,
    check_streams,
    require_finite,
    require_usable,
    whole_description,
)
from .job import Job, Keep, find_varied, job_from
from .kinds import Kinds
from .recording import STARTS
from .results import older_streams_of, streams_of


def job_of(path: str | Path) -> tuple[Job, int, str]:
    """The job of a stored ensemble, number of members and device; StoreError if catena cannot have written this."""
    layout = read_layout(Path(path))
    with blame_description(path, "spec.json"):
        spec = table(layout.spec, "spec", needs=("ensemble", "members", "device"))
        given = {name: array for name, array in read_given(Path(path), layout).items() if name not in STARTS}
        content = whole_description(spec["ensemble"], given, "ensemble", needs=("system", "method", "run"))
        check_described(content, layout.streams)
        run = table(content["run"], "run", needs=("dt", "every", "steps", "keep"))
        positive_number(run["dt"], "run.dt")
        for name in ("every", "steps"):
            positive_integer(run[name], f"run.{name}")
        for name, value, known in (
            ("run.keep", run["keep"], get_args(Keep)),
            ("device", spec["device"], ("cpu", "cuda")),
        ):
            if value not in known:
                raise ValueError(f"{name} = {show(value)} is not one of {', '.join(known)}")
        members = whole(spec["members"], "members", least=1)
        for name, kind in {
            "varied": dict,
            "varied_methods": dict,
            "reduce": list,
            "sweep": dict,
            "tempering": dict,
        }.items():
            if not isinstance(content.get(name, kind()), kind):
                raise ValueError(f"{name} = {show(content[name])}")
        for described in find_varied(content).descriptions() if "varied" in content else ():
            check_described({**content, "system": described}, layout.streams)
        for described in find_varied(content, "method").descriptions() if "varied_methods" in content else ():
            check_described({**content, "method": described}, layout.streams)
        job = job_from(content)
        if job.kind_methods and len(job.kind_methods) != len(job.kinds):
            raise ValueError(f"{len(job.kind_methods)} methods for {len(job.kinds)} systems")
        if job.grid is not None and len(job.grid) != members:
            raise ValueError(f"the sweep has {len(job.grid)} points, but there are {members} members")
        if job.tempering is not None:
            job.tempering.check(job.system, view=job.pairing.view.name, members=members, every=job.every)
        require_usable(job, job.describe(apart={}))
        columns = {column.name for stream in layout.streams for column in stream.columns}
        older = not any(f"{invariant.name}_seen" in columns for invariant in job.system.invariants)
        check_streams(layout.streams, older_streams_of(job) if older else streams_of(job))
        check_attributes(layout.attributes)
    return job, members, str(spec["device"])


def check_members(path: str | Path, members: int, checkpoint: Checkpoint) -> None:
    """StoreError unless a checkpoint can belong to an ensemble of this many members."""
    with blame_description(path, "the checkpoint"):
        made = checkpoint.rows["members"]
        if checkpoint.step != made or made > members or checkpoint.finished != (made == members):
            raise ValueError(
                f"step = {checkpoint.step}, finished = {checkpoint.finished}, rows.members = {made} of {members} members"
            )


def members_of(path: str | Path, store: Store, job: Job, count: int) -> Members:
    """All members of a stored ensemble."""
    given = store.given()
    numbers = {name: given[name] for name in STARTS if name in given and name != "kinds"}
    with blame_description(path, "given"):
        view = job.pairing.view
        width = view.dimension if numbers["z"].shape[1:] == (view.dimension,) else view.start_size
        shapes = {"z": (count, width), "times": (count,)}
        check_arrays(numbers, shapes | ({"dt": (count,)} if job.own_dt else {}))
        for name, array in numbers.items():
            require_finite(array, name)
        if job.kept_rows and (numbers["times"] != numbers["times"][0]).any():
            raise ValueError("times differ between members whose samples are kept")
        if job.own_dt and not (numbers["dt"] > 0).all():
            raise ValueError("a step is not above zero")
        kinds = _check_kinds(given.get("kinds"), job, count)
        if job.tempering is not None:
            kinds = np.arange(count) % job.unit
        shared = Kinds.of(job.pairs)
    return shared.members(numbers["z"], numbers["times"], kinds=kinds, dt=numbers.get("dt", job.dt))


def _check_kinds(kinds: np.ndarray | None, job: Job, count: int) -> NDArray[np.int64] | None:
    """Which system each member has; ValueError if there is no such system."""
    if (kinds is None) != (not job.kinds):
        raise ValueError(f"kinds are {'missing' if kinds is None else 'given, but there is one system'}")
    if kinds is None:
        return None
    if kinds.dtype != np.int64 or kinds.shape != (count,) or (kinds < 0).any() or (kinds >= len(job.kinds)).any():
        raise ValueError(f"kinds are not numbers of the {len(job.kinds)} systems")
    return kinds


def check_column(path: str | Path, job: Job, name: str, values: Array) -> Array:
    """A column of a store; StoreError for an impossible status or number of steps."""
    if name == "status":
        odd = ~np.isin(values, [OK, *FAILURES])
    elif name == "steps":
        odd = ~((values >= 0) & (values <= job.steps) & (values == np.floor(values)))
    elif name == "kind":
        odd = ~np.isin(values, np.arange(len(job.kinds)))
    else:
        return values
    for member in np.flatnonzero(odd).tolist():
        wrong = f"{name} = {values[member]} of member {member} cannot be"
        raise StoreError(wrong, where=str(path), do="do not trust this store")
    return values
