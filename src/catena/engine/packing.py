"""Starts of very many members, looked through and packed by several threads: for these numpy takes longer than a GPU for their steps."""

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
MANY = 2**21  # numbers; fewer are packed in a moment, and nothing has to be compiled for them
MOST_THREADS = 8  # memory has no use for more


def pack_many(begin: Begin, fields: Mapping[str, Array], *, compiled: bool = True) -> Array:
    """(members, size), the starts of members whose fields have a leading axis: the bits of `begin.pack`."""
    arrays, constants = [np.ascontiguousarray(array) for array in fields.values()], begin.constants()
    made = np.empty((len(arrays[0]), begin.size))
    dimensions = *(array.ndim for array in arrays), *(one.ndim for one in constants)
    pack = _compile(begin.many, dimensions) if compiled else begin.many
    _by_threads(len(made), lambda part: pack(*(array[part] for array in arrays), *constants, made[part]))
    return made


def are_small(values: Array) -> bool:
    """Whether all numbers of a contiguous array can be added up: then none is inf or nan."""

    # not by a product: threads of BLAS wait in a loop for the next one, and take time from those that make steps
    def is_small(part: slice) -> bool:
        with np.errstate(all="ignore"):
            return bool(np.isfinite(values[part].sum()))

    return all(_by_threads(len(values), is_small)) if values.size > MANY else is_small(slice(None))


def _by_threads(rows: int, function: Callable[[slice], Made]) -> list[Made]:
    """What a function that holds no lock of the interpreter makes of all rows, some for each thread."""
    threads = min(MOST_THREADS, cores())
    edges = (np.arange(threads + 1) * rows // threads).tolist()
    with ThreadPoolExecutor(threads) as executor:
        return list(executor.map(function, map(slice, edges[:-1], edges[1:])))


def cores() -> int:
    """Those that this process may use."""
    # macOS does not tell which
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@cache
def _compile(kernel: Kernel, dimensions: tuple[int, ...]) -> Callable[..., object]:
    return compile_function(kernel, "types.void", (*dimensions, 2), "starts of many members")
