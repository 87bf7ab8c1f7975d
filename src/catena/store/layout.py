"""What a run store looks like on the disk: streams of rows as Zarr v3 arrays in one directory.

    name.zarr/
      zarr.json                 group: attributes and the metadata of all arrays; read first, written last
      <column>/zarr.json        the same metadata of one array; exact whenever no writer is at work
      <column>/c/<i>[/0...]     chunk i: rows i K to (i + 1) K - 1, little endian float64, then their CRC-32C
      .catena/spec.json         what is stored and in which chunks; never changes
      .catena/given             arrays given at creation, if there are any; never changes
      .catena/state.0, state.1  checkpoints, written alternately
      .catena/lock              held while a process writes

Readers need only `zarr` or `xarray`. The length of the arrays in the root `zarr.json` is the
number of committed rows, the same for all columns of a stream. No file depends on the host name, the path,
the clock or the number of threads.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import ceil, prod
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from catena.errors import StoreError
from catena.store.checking import LayoutTable, check_layout, read_json, show
from catena.text.plain import NAME, Json

FORMAT = 1
CHUNK_BYTES_AIM = 2**18  # small, because a chunk is rewritten at every commit until it is full
CHUNK_BYTES_LIMIT = 2**20
CHECKSUM_BYTES = 4
ROW_TYPE = np.dtype("<f8")

ROOT_METADATA = "zarr.json"
PRIVATE = ".catena"


@dataclass(frozen=True)
class Column:
    """One array of a stream.

    Parameters
    ----------
    name : name of the array, unique in the store
    shape : shape of one row, () for scalars
    dims : names of the dimensions of one row, as many as `shape` has entries
    attributes : of the array, such as units. Units like "seconds since 2000-01-01" make xarray
        turn numbers into dates; physical units as in "s" are left alone.
    """

    name: str
    shape: tuple[int, ...] = ()
    dims: tuple[str, ...] = ()
    attributes: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True)
class Stream:
    """Columns that grow together, row by row.

    Parameters
    ----------
    name : name for appending rows
    dim : name of the dimension that grows; a scalar column of this name is its coordinate
    columns : the arrays
    fixed : number of rows given at creation, if there will be no others; then other columns may have this dimension,
        too
    """

    name: str
    dim: str
    columns: tuple[Column, ...]
    fixed: int = 0


@dataclass(frozen=True)
class Layout:
    """Everything that is fixed when a store is created: the content of spec.json.

    Parameters
    ----------
    spec : JSON of the caller
    attributes : of the root group, without `format`
    streams : the streams of rows
    rows_per_commit : rows of the first stream between two commits
    chunk_rows : rows in a chunk, by column name
    given : names of the arrays given at creation
    """

    spec: Mapping[str, Json]
    attributes: Mapping[str, Json]
    streams: tuple[Stream, ...]
    rows_per_commit: int
    chunk_rows: dict[str, int]
    given: tuple[str, ...] = ()

    @classmethod
    def plan(
        cls,
        *,
        spec: Mapping[str, Json],
        attributes: Mapping[str, Json],
        streams: tuple[Stream, ...],
        rows_per_commit: int,
        rows_in_all: int | None = None,
        given: Iterable[str] = (),
    ) -> Layout:
        """Choose the chunks and check that readers will accept the names."""
        if rows_per_commit < 1:
            raise StoreError(f"rows_per_commit = {rows_per_commit}", do="use a positive number")
        _check_names(streams, attributes)
        chunk_rows = {
            column.name: stream.fixed
            or choose_chunk_rows(column.shape, rows_per_commit, rows_in_all if stream is streams[0] else None)
            for stream in streams
            for column in stream.columns
        }
        planned = cls(spec, attributes, streams, rows_per_commit, chunk_rows, tuple(sorted(given)))
        return cls.from_bytes(planned.to_bytes(), where="")  # in the form in which it will be read: tuples become lists

    def to_bytes(self) -> bytes:
        """The text of spec.json, with its own checksum."""
        content: dict[str, Json] = {
            "format": FORMAT,
            "spec": self.spec,
            "attributes": self.attributes,
            "rows_per_commit": self.rows_per_commit,
            **({"given": self.given} if self.given else {}),
            "streams": [
                {
                    "name": stream.name,
                    "dim": stream.dim,
                    **({"fixed": stream.fixed} if stream.fixed else {}),
                    "columns": [
                        {
                            "name": column.name,
                            "shape": column.shape,
                            "dims": column.dims,
                            "attributes": column.attributes,
                            "chunk_rows": self.chunk_rows[column.name],
                        }
                        for column in stream.columns
                    ],
                }
                for stream in self.streams
            ],
        }
        return _with_checksum(content)

    @classmethod
    def from_bytes(cls, data: bytes, *, where: str) -> Layout:
        """Read the text of spec.json; StoreError if it has another format or is damaged."""
        try:
            parsed = read_json(data)
        except ValueError as refusal:
            raise _describe_damage(where, f": {refusal}") from None
        if not isinstance(parsed, dict) or "format" not in parsed:
            raise _describe_damage(where)
        content: dict[str, Json] = {name: value for name, value in parsed.items() if name != "sha256"}
        version = content["format"]
        if version != FORMAT:
            raise StoreError(
                f"the store has format {show(version)}, this catena reads format {FORMAT}",
                where=where,
                do="use the version of catena that wrote it; its arrays open in xarray all the same",
            )
        if data != _with_checksum(content):
            raise _describe_damage(where)
        try:  # a checksum does not show who made it
            layout = cls._from_table(check_layout(content))
            _check_names(layout.streams, layout.attributes)
        except StoreError as refusal:
            raise _not_ours(f"{refusal.where + ': ' if refusal.where else ''}{refusal.wrong}", where) from None
        except ValueError as refusal:
            raise _not_ours(str(refusal), where) from None
        return layout

    @classmethod
    def _from_table(cls, parsed: LayoutTable) -> Layout:
        streams = tuple(
            Stream(
                stream.name,
                stream.dim,
                tuple(Column(column.name, column.shape, column.dims, column.attributes) for column in stream.columns),
                stream.fixed,
            )
            for stream in parsed.streams
        )
        chunk_rows = {column.name: column.chunk_rows for stream in parsed.streams for column in stream.columns}
        return cls(parsed.spec, parsed.attributes, streams, parsed.rows_per_commit, chunk_rows, parsed.given)

    def array_metadata(self, stream: Stream, column: Column, *, rows: int) -> dict[str, Json]:
        """The Zarr v3 metadata of a column with this number of rows."""
        return {
            "zarr_format": 3,
            "node_type": "array",
            "shape": [rows, *column.shape],
            "data_type": "float64",
            "chunk_grid": {
                "name": "regular",
                "configuration": {"chunk_shape": [self.chunk_rows[column.name], *column.shape]},
            },
            "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
            "fill_value": "NaN",
            "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}],
            "attributes": column.attributes,
            "dimension_names": [stream.dim, *column.dims],
            "storage_transformers": [],
        }

    def array_files(self, rows: Mapping[str, int]) -> dict[str, bytes]:
        """The zarr.json of each column, by column name, for these numbers of rows of each stream."""
        return {
            column.name: canonical_json(self.array_metadata(stream, column, rows=rows[stream.name]))
            for stream in self.streams
            for column in stream.columns
        }

    def root_file(self, rows: Mapping[str, int]) -> bytes:
        """The zarr.json of the group, with the metadata of all columns for these numbers of rows of each stream."""
        arrays = {
            column.name: self.array_metadata(stream, column, rows=rows[stream.name])
            for stream in self.streams
            for column in stream.columns
        }
        return canonical_json(
            {
                "zarr_format": 3,
                "node_type": "group",
                "attributes": {**self.attributes, "format": FORMAT},
                "consolidated_metadata": {"kind": "inline", "must_understand": False, "metadata": arrays},
            }
        )

    def first_rows(self) -> dict[str, int]:
        """The rows of each stream before the first commit."""
        return {stream.name: stream.fixed for stream in self.streams}

    def digest(self) -> str:
        """SHA-256 of spec.json; ties a checkpoint to its store."""
        return hashlib.sha256(self.to_bytes()).hexdigest()


def choose_chunk_rows(shape: tuple[int, ...], rows_per_commit: int, rows_in_all: int | None = None) -> int:
    """Rows in a chunk of a column; at most the total number of rows, if known, because chunks are written whole.

    A multiple of the rows of one commit, so that commits end at ends of chunks, up to 0.25 MB; one
    commit if its rows alone are up to 1 MB; beyond, one commit is split into equal chunks below 1 MB,
    though never below one row.

    Examples
    --------
    >>> choose_chunk_rows((), 100), choose_chunk_rows((64, 3), 100), choose_chunk_rows((1000, 3), 100)
    (32700, 100, 34)
    >>> choose_chunk_rows((), 100, 8), choose_chunk_rows((64, 3), 100, 250), choose_chunk_rows((1000, 3), 100, 10)
    (8, 100, 10)
    """
    row_bytes = prod(shape) * ROW_TYPE.itemsize
    if rows_in_all is not None and rows_in_all <= rows_per_commit:
        rows_per_commit = rows_in_all
    if rows_per_commit * row_bytes <= CHUNK_BYTES_LIMIT:
        rows = rows_per_commit * max(1, CHUNK_BYTES_AIM // (rows_per_commit * row_bytes))
        return rows if rows_in_all is None else min(rows, rows_in_all)
    pieces = ceil(rows_per_commit / max(1, CHUNK_BYTES_LIMIT // row_bytes))
    return ceil(rows_per_commit / pieces)


def chunk_path(store: Path, column: Column, index: int) -> Path:
    """The file of a chunk: default chunk keys of Zarr v3, `c/<index>` and a 0 for each dimension of a row."""
    return store.joinpath(column.name, "c", str(index), *("0" for _ in column.shape))


def checksum(data: bytes) -> int:
    """CRC-32C, as Zarr's codec of that name computes it."""
    import google_crc32c  # imported here, so that runs in memory do not need it

    return google_crc32c.value(data)


def encode_chunk(rows: NDArray[np.float64]) -> bytes:
    """The bytes of a chunk file: the rows, then the CRC-32C of their bytes."""
    data = rows.astype(ROW_TYPE, copy=False).tobytes()
    return data + checksum(data).to_bytes(CHECKSUM_BYTES, "little")


def decode_chunk(data: bytes, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """The rows in the bytes of a chunk file; ValueError if the checksum is wrong."""
    check_chunk_size(len(data), shape)
    rows = data[:-CHECKSUM_BYTES]
    if checksum(rows) != chunk_checksum(data):
        raise ValueError("fails its checksum")
    return np.frombuffer(rows, dtype=ROW_TYPE).reshape(shape)


def check_chunk_size(size: int, shape: tuple[int, ...]) -> None:
    """ValueError if a chunk file of this shape cannot have this size."""
    expected = prod(shape) * ROW_TYPE.itemsize + CHECKSUM_BYTES
    if size != expected:
        raise ValueError(f"has {size} bytes instead of {expected}")


def chunk_checksum(data: bytes) -> int:
    """The checksum at the end of the bytes of a chunk file."""
    return int.from_bytes(data[-CHECKSUM_BYTES:], "little")


def canonical_json(content: Json) -> bytes:
    """JSON text that is the same for equal content: sorted keys, ASCII, no NaN."""
    return (json.dumps(content, sort_keys=True, allow_nan=False) + "\n").encode("ascii")


def _with_checksum(content: Mapping[str, Json]) -> bytes:
    return canonical_json({**content, "sha256": hashlib.sha256(canonical_json(content)).hexdigest()})


def _describe_damage(where: str, why: str = "") -> StoreError:
    return StoreError(
        f"spec.json is damaged{why}",
        where=where,
        do="restore it from a copy; the arrays still open in xarray, but the run cannot be resumed",
    )


def _not_ours(why: str, where: str) -> StoreError:
    return StoreError(
        f"spec.json was not written by catena: {why}", where=where,
        do="do not trust this store; its arrays may open in xarray all the same",
    )  # fmt: skip


def _check_names(streams: tuple[Stream, ...], attributes: Mapping[str, Json]) -> None:
    """Names that xarray refuses or warns about must not get into a store."""
    if "format" in attributes:
        raise StoreError("the attribute 'format' belongs to the store", do="choose another name")
    if not streams:
        raise StoreError("a store needs a stream", do="give at least one")
    if len({stream.dim for stream in streams}) < len(streams) or len({stream.name for stream in streams}) < len(
        streams
    ):
        raise StoreError("two streams have the same name or the same dimension", do="give each its own")
    sizes = {stream.dim: stream.fixed for stream in streams if stream.fixed}
    seen: set[str] = set()
    growing = {stream.dim for stream in streams if not stream.fixed}
    for stream in streams:
        if not stream.columns:
            raise StoreError(f"the stream {stream.name!r} has no columns", do="give at least one")
        for column in stream.columns:
            where = f"column {show(column.name)} of stream {show(stream.name)}"
            if column.name in seen:
                raise StoreError("two columns have the same name", where=where, do="give each its own")
            seen.add(column.name)
            for name in (column.name, stream.dim, *column.dims):
                if not NAME.fullmatch(name):
                    raise StoreError(
                        f"{show(name)} is no name", where=where, do="start with a letter; use letters, digits, _ and -"
                    )
            if len(column.dims) != len(column.shape) or min(column.shape, default=1) < 1:
                raise StoreError(
                    f"dims {column.dims} do not name the shape {column.shape}", where=where, do="name each dimension"
                )
            if len({stream.dim, *column.dims}) <= len(column.dims):
                raise StoreError(
                    f"a dimension occurs twice in {(stream.dim, *column.dims)}", where=where, do="rename it"
                )
            for dim, size in zip(column.dims, column.shape, strict=True):
                if dim in growing or sizes.setdefault(dim, size) != size:
                    raise StoreError(
                        f"the dimension {dim!r} has size {size} here and another elsewhere", where=where, do="rename it"
                    )
        for column in stream.columns:
            is_coordinate = column.name == stream.dim and not column.shape
            if column.name in {*sizes, *growing} and not is_coordinate:
                raise StoreError(
                    f"{column.name!r} is also a dimension", where=f"stream {stream.name!r}", do="rename it"
                )
