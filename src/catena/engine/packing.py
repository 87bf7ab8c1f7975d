"""Check and pack the starts of very many members on several threads: numpy would take longer than a GPU's steps."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TypeVar

import numpy as np

from ..arrays import Array
from ..kernels.declarations import Begin
from ..kernels.marks import Kernel
from .build import compile_function

Made = TypeVar("Made")
MANY = 2**21  # numbers; fewer are packed quickly, without compiling anything
MOST_THREADS = 8  # more do not increase memory bandwidth


def pack_many(begin: Begin, fields: Mapping[str, Array], *, compiled: bool = True) -> Array:
    """(members, size), the starts of members whose fields have a leading axis: the same bits as `begin.pack`."""
    arrays, constants = [np.ascontiguousarray(array) for array in fields.values()], begin.constants()
    made = np.empty((len(arrays[0]), begin.size))
    dimensions = *(array.ndim for array in arrays), *(one.ndim for one in constants)
    pack = _compile(begin.many, dimensions) if compiled else begin.many
    _by_threads(len(made), lambda part: pack(*(array[part] for array in arrays), *constants, made[part]))
    return made


def are_small(values: Array) -> bool:
    """Whether the sum of all numbers of a contiguous array is finite: then none is inf or nan."""

    # not by a product: idle BLAS threads spin, and take time from those that step
    def is_small(part: slice) -> bool:
        with np.errstate(all="ignore"):
            return bool(np.isfinite(values[part].sum()))

    return all(_by_threads(len(values), is_small)) if values.size > MANY else is_small(slice(None))


def _by_threads(rows: int, function: Callable[[slice], Made]) -> list[Made]:
    """Apply a function that releases the GIL to all rows, some on each thread."""
    threads = min(MOST_THREADS, cores())
    edges = (np.arange(threads + 1) * rows // threads).tolist()
    with ThreadPoolExecutor(threads) as executor:
        return list(executor.map(function, map(slice, edges[:-1], edges[1:])))


def cores() -> int:
    """Number of cores that this process may use."""
    # macOS does not report which
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@cache
def _compile(kernel: Kernel, dimensions: tuple[int, ...]) -> Callable[..., object]:
    return compile_function(kernel, "types.void", (*dimensions, 2), "starts of many members")
