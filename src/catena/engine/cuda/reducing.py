"""Reductions of members on a CUDA GPU: the kernel of `catena.engine.reducing`, on sample rows that stay on the GPU."""

from __future__ import annotations

import numpy as np

from ...arrays import Array
from ...kernels.marks import Kernel
from ...kernels.views import OK
from .. import collector, headers
from ..arrays import Arrays
from ..headers import array_type
from ..member_loop import of_member
from .members import MemberDriver, entry_text, load, send, types_of
from .rows import launch


class GpuReducer:
    """A reduction of members in progress.

    Parameters
    ----------
    kernel : takes (row, t, par, kept)
    driver : of the members
    first : (n,) numbers kept for each before the first sample
    """

    def __init__(self, kernel: Kernel, driver: MemberDriver, first: Array) -> None:
        program, par = driver.program, driver.followed.par
        parts = collector.collect(kernel, {})
        given = Arrays.of(program.system, program.view, program.stepper).parameters
        arrays = Arrays(given, {}).used_by(parts)
        text = headers.module_text("reductions of samples", parts, arrays.types, header=headers.CUDA, entry="@_fn")
        self._kernel = load(text + _entry(arrays), "reductions on CUDA", "reduce_members")
        self._driver = driver
        self._par = [send(par[name]) for name in arrays.together]
        self._kept = send(np.repeat(first[:, None], driver.members, axis=1))

    def take(self, number: int, rows: int) -> None:
        """Reduce the rows of the last launch (the first is sample `number`) of members that have not failed."""
        driver = self._driver
        samples, t0, dt, kinds = driver.sampled
        launch(
            self._kernel, driver.members, samples, rows, number, t0, dt, driver.every, kinds, send(driver.status),
            *self._par, self._kept,
        )  # fmt: skip

    def kept(self) -> Array:
        """(m, n) numbers kept for each."""
        return np.ascontiguousarray(self._kept.copy_to_host().T)


def _entry(arrays: Arrays) -> str:
    before = {
        "samples": array_type(3), "rows": "types.int64", "number": "types.int64", "t0": array_type(1), "dt": array_type(1),
        "every": "types.int64", "kinds": array_type(1, "int64"), "status": array_type(1, "int64"),
    }  # fmt: skip
    gathered = types_of(arrays)
    return f"""
{entry_text("reduce_members", {**before, **gathered, "kept": array_type(2)})}
    k = cuda.grid(1)
    if k < status.shape[0] and status[k] == {OK}:
        par = Parameters({", ".join(map(of_member, gathered))})
        for row in range(rows):
            advance(samples[row, :, k], t0[k] + (number + row) * every * dt[k], par, kept[:, k])
"""
