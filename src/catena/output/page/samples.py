"""The samples of a run in blocks, so that runs of any length need little memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from ...arrays import Array

if TYPE_CHECKING:
    import xarray

BLOCK_BYTES = 2**24


def blocks(data: xarray.Dataset, *, every: int = 1, multiple: int = 1) -> Iterator[xarray.Dataset]:
    """Every k-th sample, block by block, in memory.

    Parameters
    ----------
    data : samples along `time`
    every : distance between the samples that are used
    multiple : all blocks except the last begin at a multiple of this number of samples
    """
    count = data.sizes["time"]
    row = sum(array.dtype.itemsize * array.size // count for array in data.variables.values()) if count else 1
    unit = int(np.lcm(every, multiple))
    length = unit * max(1, BLOCK_BYTES // (row * unit))
    for start in range(0, count, length):
        yield data.isel(time=slice(start, start + length, every)).load()


def poses(block: xarray.Dataset) -> tuple[Array, Array]:
    """Positions (m, n, 3) and unit quaternions, scalar first, (m, n, 4) of the bodies of a block of samples."""
    turns = np.asarray(block["orientation"].values, dtype=float)
    orientation = turns.reshape(len(turns), -1, 4)
    if "position" not in block:
        return np.zeros((*orientation.shape[:2], 3)), orientation
    return np.asarray(block["position"].values, dtype=float).reshape(*orientation.shape[:2], 3), orientation


def only(data: xarray.Dataset, names: Iterable[str]) -> xarray.Dataset:
    """The arrays with these names, as far as they exist."""
    return data[[name for name in names if name in data.variables]]
