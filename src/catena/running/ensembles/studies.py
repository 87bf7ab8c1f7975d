"""The members of a sweep as one Dataset with a dimension for each parameter."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...errors import InputError
from ...kernels.views import OK
from ..simulation import FAILURES

if TYPE_CHECKING:
    import xarray

    from .results import Ensemble


def study_of(many: Ensemble) -> xarray.Dataset:
    """What was kept of each member, along the axes of its grid; members that are not done yet are nan."""
    import xarray

    grid = many.grid
    if grid is None:
        raise InputError("these members are not the points of a sweep", where="Ensemble.study", do="use ct.sweep")
    parts = [_bookkeeping(many)]
    if many.keep != "nothing":
        final = many.final
        parts.append(
            final if many.keep == "final" else final.rename({name: f"final_{name}" for name in final.variables})
        )
    if many.keep == "samples":
        parts.append(many.data)
    if many._job.reductions.named:
        parts.append(many.reduced)
    rows = xarray.merge(parts, compat="no_conflicts")
    whole = rows.reindex(member=np.arange(len(grid))) if len(many) < len(grid) else rows
    made = {}
    for name, column in whole.data_vars.items():
        ordered = column.transpose("member", ...)
        values = ordered.values.reshape(*grid.shape, *ordered.shape[1:])
        made[name] = ((*grid.dims, *ordered.dims[1:]), values, column.attrs)
    kept = {name: column for name, column in whole.coords.items() if "member" not in column.dims}
    return xarray.Dataset(
        made, coords={**kept, **grid.coordinates()}, attrs={"method": str(many.method), "dt": many.dt}
    )


def _bookkeeping(many: Ensemble) -> xarray.Dataset:
    """How each member ended, after how many steps, and why."""
    import xarray

    status, steps = many._column("status"), many._column("steps")
    causes = np.full(len(status), "", dtype=object)
    for member, failure in many.failures:
        causes[member] = f"{failure.wrong}, step {failure.step}"
    flags = {
        "flag_values": [OK, *FAILURES],
        "flag_meanings": "done " + " ".join(w.replace(" ", "_") for w in FAILURES.values()),
    }
    return xarray.Dataset(
        {"status": ("member", status, flags), "steps": ("member", steps), "failure": ("member", causes.astype(str))},
        coords={"member": np.arange(len(status))},
    )
