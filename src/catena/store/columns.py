"""The columns of a run store as arrays that read rows on access and verify each chunk.

Zarr can do this, too, but importing it takes longer than auditing a short run.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import cast

import numpy as np
from numpy.typing import NDArray

from ..errors import StoreError
from .files import read_file
from .layout import ROW_TYPE, Column, chunk_path, decode_chunk
from .reading import read_layout, readable_rows


def open_columns(path: Path) -> Mapping[str, NDArray[np.float64]]:
    """All columns by name, with the rows visible to readers."""
    layout = read_layout(path)
    rows = readable_rows(path, layout)
    found = {
        column.name: StoredColumn(path, column, layout.chunk_rows[column.name], rows[stream.name])
        for stream in layout.streams
        for column in stream.columns
    }
    return cast("Mapping[str, NDArray[np.float64]]", found)


class StoredColumn:
    """A column of a store, which numpy can convert, in whole or in part, to an array.

    Attributes
    ----------
    shape : of the whole array
    """

    def __init__(self, store: Path, column: Column, chunk_rows: int, rows: int) -> None:
        self.shape = (rows, *column.shape)
        self._store, self._column, self._chunk_rows = store, column, chunk_rows

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, part: slice) -> NDArray[np.float64]:
        first, end, step = part.indices(len(self))
        if step != 1:
            return self[:][part]
        size = self._chunk_rows
        chunks = [np.empty((0, *self.shape[1:]), ROW_TYPE)]
        for index in range(first // size, -(-end // size) if first < end else 0):
            before = index * size
            chunks.append(self._chunk(index)[max(first - before, 0) : end - before])
        return np.concatenate(chunks)

    def __array__(self, dtype: np.dtype[np.generic] | None = None, copy: bool | None = None) -> np.ndarray:
        return self[:] if dtype is None else self[:].astype(dtype)

    def _chunk(self, index: int) -> NDArray[np.float64]:
        path = chunk_path(self._store, self._column, index)
        try:
            return decode_chunk(read_file(path), (self._chunk_rows, *self.shape[1:]))
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            raise describe_damage(self._column.name, str(index), path, "is missing") from None
        except ValueError as wrong:
            raise describe_damage(self._column.name, str(index), path, str(wrong)) from None


def describe_damage(name: str, index: str, path: Path, wrong: str) -> StoreError:
    """The message about a chunk that differs from what was written."""
    return StoreError(
        f"chunk {index} of {name} {wrong}",
        where=str(path),
        do="restore that file from a copy; the other chunks can be read",
    )
