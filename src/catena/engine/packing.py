"""Starts of very many members, packed by compiled code that several threads run: for these numpy takes longer than a GPU for their steps."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import numpy as np
from numpy.typing import NDArray

from ..kernels.declarations import Begin
from ..kernels.marks import Kernel
from .build import compiled_function

Array = NDArray[np.float64]
MANY = 2**21  # numbers; fewer are packed in a moment, and nothing has to be compiled for them
MOST_THREADS = 8  # memory has no use for more


def pack_many(begin: Begin, fields: Mapping[str, Array], *, compiled: bool = True) -> Array:
    """(members, size), what members whose fields have a leading axis are told by: the bits of `begin.pack`."""
    arrays, constants = [np.ascontiguousarray(array) for array in fields.values()], begin.constants()
    made = np.empty((len(arrays[0]), begin.size))
    dimensions = *(array.ndim for array in arrays), *(one.ndim for one in constants)
    pack = _compiled(begin.many, dimensions) if compiled else begin.many
    threads = min(MOST_THREADS, len(os.sched_getaffinity(0)))
    edges = np.arange(threads + 1) * len(made) // threads

    def some(first: int, last: int) -> None:
        pack(*(array[first:last] for array in arrays), *constants, made[first:last])

    with ThreadPoolExecutor(threads) as executor:
        list(executor.map(some, edges[:-1].tolist(), edges[1:].tolist()))
    return made


@cache
def _compiled(kernel: Kernel, dimensions: tuple[int, ...]) -> Callable[..., object]:
    return compiled_function(kernel, "types.void", (*dimensions, 2), "starts of many members")
