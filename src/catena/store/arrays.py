"""The arrays of a run store; each chunk is verified when it is read.

Zarr treats a missing chunk as one that was never written, and returns NaN; for a wrong checksum it does not name the
chunk. In a run store every chunk was written, so both cases are damage, and the error names the chunk.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from zarr.storage import LocalStore

from catena.store.columns import describe_damage
from catena.store.layout import decode_chunk
from catena.store.reading import read_layout

if TYPE_CHECKING:
    import xarray
    from zarr.abc.store import ByteRequest
    from zarr.core.buffer import Buffer, BufferPrototype

BETWEEN = "/c/"  # in the key of a chunk: between the name of its array and its number


def open_arrays(path: Path) -> xarray.Dataset:
    """All arrays of a store; reading damaged data from them raises StoreError, wherever they are used."""
    import xarray

    return xarray.open_zarr(VerifiedStore(path, read_only=True), chunks=None)


class VerifiedStore(LocalStore):
    """The files of a run store, through the interface that Zarr uses."""

    def __init__(self, root: Path | str, *, read_only: bool = True) -> None:
        super().__init__(root, read_only=read_only)
        layout = read_layout(self.root)
        self._shapes = {
            column.name: (layout.chunk_rows[column.name], *column.shape)
            for stream in layout.streams
            for column in stream.columns
        }

    async def get(
        self, key: str, prototype: BufferPrototype | None = None, byte_range: ByteRequest | None = None
    ) -> Buffer | None:
        """The content of a file; None if it is missing and may be."""
        return self._verify(key, await super().get(key, prototype, byte_range))

    def get_sync(
        self, key: str, *, prototype: BufferPrototype | None = None, byte_range: ByteRequest | None = None
    ) -> Buffer | None:
        """Synchronous `get`."""
        return self._verify(key, super().get_sync(key, prototype=prototype, byte_range=byte_range))

    def _verify(self, key: str, data: Buffer | None) -> Buffer | None:
        name, between, place = key.partition(BETWEEN)
        if not between:
            return data
        try:
            if data is None:
                raise ValueError("is missing")
            decode_chunk(data.to_bytes(), self._shapes[name])
        except ValueError as wrong:
            raise describe_damage(name, place.partition("/")[0], self.root / key, str(wrong)) from None
        return data
