"""Kernels of a GPU in which no system has a part: a row repeated for all members, and what the audits conclude."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any, Protocol, runtime_checkable

import numpy as np

from ...kernels.marks import Kernel
from .. import collector, headers
from ..folding import conclude

MEASURED = ("worst", "scale", "seen", "lasting", "usual")  # places of what `conclude_members` makes
BLOCK = 128  # threads
THREADS = 4  # of the processor, for what is done while a GPU works


@runtime_checkable
class CudaKernel(Protocol):
    """A compiled kernel: `kernel[blocks, threads](...)` runs it."""

    def __getitem__(self, grid: tuple[int, int, Stream], /) -> Callable[..., None]: ...


class Stream(Protocol):
    """Work of a GPU that goes in order; that of another one may be done meanwhile, the default stream (`DEFAULT`) waits for all, and all for it."""

    def synchronize(self) -> None: ...


DEFAULT: Any = 0


REPEAT = """
from numba import cuda

@cuda.jit
def repeat_rows(rows, kinds, out):
    k = cuda.grid(1)
    if k < out.shape[1]:
        kind = min(kinds[k], rows.shape[0] - 1)
        for i in range(out.shape[0]):
            out[i, k] = rows[kind, i]
"""

CONCLUDE = f"""
@cuda.jit
def conclude_members(samples, status, start, worst, scale, sums, looks, made):
    k = cuda.grid(1)
    if k < status.shape[0] and status[k] == 0:
        for i in range(start.shape[0]):
            made[{MEASURED.index("worst")}, i, k] = worst[i, k]
            made[{MEASURED.index("scale")}, i, k] = scale[i, k]
        advance(
            samples, start[:, k], worst[:, k], scale[:, k], sums[:, :, k], looks[:, :, k],
            made[{MEASURED.index("seen")}, :, k], made[{MEASURED.index("lasting")}, :, k], made[{MEASURED.index("usual")}, :, k],
        )
    elif k < status.shape[0]:
        for what in range(made.shape[0]):
            for i in range(start.shape[0]):
                made[what, i, k] = math.nan
"""


@functools.cache
def repeat_rows() -> CudaKernel:
    """(rows (kinds, n), kinds (m), out (n, m)): out[:, k] becomes the row of member k, or the one that all share."""
    return _load(REPEAT, "repeat_rows")


BEGIN = """
@cuda.jit
def begin_members(start, z):
    k = cuda.grid(1)
    if k < z.shape[1]:
        advance(start[:, k], z[:, k])
"""


@functools.cache
def begin_members(kernel: Kernel) -> CudaKernel:
    """(start (size, m), z (n, m)): the stepped variables of members from their starts, see `catena.kernels.declarations.Begin`."""
    parts = collector.collect(kernel, {})
    text = headers.module_text("where members begin", parts, [], header=headers.CUDA, entry="@_fn")
    return _load(text + BEGIN, "begin_members")


@functools.cache
def conclude_members() -> CudaKernel:
    """(samples, status, start, worst, scale, sums, looks, made): `made` (what, invariant, member), by `MEASURED`; see `folding.conclude_members`."""
    parts = collector.collect(conclude, {})
    text = headers.module_text("what the audits conclude", parts, [], header=headers.CUDA, entry="@_fn")
    return _load(text + CONCLUDE, "conclude_members")


def _load(text: str, name: str) -> CudaKernel:
    namespace: dict[str, object] = {"__name__": "catena_generated_cuda"}
    exec(compile(text, f"<{name}>", "exec"), namespace)
    made = namespace[name]
    assert isinstance(made, CudaKernel)
    return made


class Landing:
    """Arrays into which numbers of a GPU will be copied: threads ask the system for their memory while the GPU works, which takes longer than the copy."""

    def __init__(self, *shapes: tuple[int, ...]) -> None:
        self._arrays = [np.empty(shape) for shape in shapes]
        self._executor = ThreadPoolExecutor(THREADS)
        parts = [part for array in self._arrays for part in np.array_split(array.reshape(-1), THREADS)]
        self._touched = [self._executor.submit(part.fill, 0.0) for part in parts]

    def arrays(self) -> list[np.ndarray]:
        """All of them."""
        wait(self._touched)
        self._executor.shutdown()
        return self._arrays


def launch(kernel: CudaKernel, members: int, *arguments: object, block: int = BLOCK, stream: Stream = DEFAULT) -> None:
    """Run a kernel with a thread for each member, so many of them in a block."""
    threads = min(block, members)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Grid size")  # few members leave the GPU idle: so be it
        kernel[-(-members // threads), threads, stream](*arguments)
