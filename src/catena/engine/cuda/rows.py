"""GPU kernels that depend on no system: a row repeated for all members, and the conclusions of audits."""

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

MEASURED = ("worst", "scale", "seen", "lasting", "usual")  # places of the results of `conclude_members`
BLOCK = 128  # threads
THREADS = 4  # on the CPU, for work while the GPU is busy


@runtime_checkable
class CudaKernel(Protocol):
    """A compiled kernel: `kernel[blocks, threads](...)` runs it."""

    def __getitem__(self, grid: tuple[int, int, Stream], /) -> Callable[..., None]: ...


class Stream(Protocol):
    """A stream of GPU work, done in order.

    Other streams may run meanwhile; the default one (`DEFAULT`) waits for all, and all for it.
    """

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
    """Kernel (rows (kinds, n), kinds (m), out (n, m)): out[:, k] becomes the row of member k, or the shared row."""
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
    """Kernel (start (size, m), z (n, m)): the stepped variables of members from their starts, see `Begin`."""
    parts = collector.collect(kernel, {})
    text = headers.module_text("where members begin", parts, [], header=headers.CUDA, entry="@_fn")
    return _load(text + BEGIN, "begin_members")


@functools.cache
def conclude_members() -> CudaKernel:
    """Kernel (samples, status, start, worst, scale, sums, looks, made): see `folding.conclude_members`.

    It writes `made` (result, invariant, member), with results ordered as in `MEASURED`.
    """
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
    """Host arrays for copies from a GPU.

    Threads touch their memory while the GPU works, because the first access takes longer than the copy.
    """

    def __init__(self, *shapes: tuple[int, ...]) -> None:
        self._arrays = [np.empty(shape) for shape in shapes]
        self._executor = ThreadPoolExecutor(THREADS)
        parts = [part for array in self._arrays for part in np.array_split(array.reshape(-1), THREADS)]
        self._touched = [self._executor.submit(part.fill, 0.0) for part in parts]

    def arrays(self) -> list[np.ndarray]:
        """All arrays."""
        wait(self._touched)
        self._executor.shutdown()
        return self._arrays


def launch(kernel: CudaKernel, members: int, *arguments: object, block: int = BLOCK, stream: Stream = DEFAULT) -> None:
    """Run a kernel with a thread for each member, in blocks of `block` threads."""
    threads = min(block, members)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Grid size")  # a few members cannot fill the GPU, and that is fine
        kernel[-(-members // threads), threads, stream](*arguments)
