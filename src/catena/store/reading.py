"""Read-only inspection of a run store: what it contains, how far the run is, whether everything is intact.

None of this takes the lock, so it works on a run in progress. The arrays themselves are read by
`catena.store.arrays`, or by any reader of Zarr.
"""

from __future__ import annotations

import stat
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from math import inf, prod
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from catena.errors import StoreError
from catena.store.checking import check_list, read_json, table, whole
from catena.store.checkpoint import Checkpoint, Slot, read_given, read_slots, slot_marks, sound_slots
from catena.store.files import explain, read_file
from catena.store.foreign import foreign_entries, special_entries
from catena.store.layout import (
    CHECKSUM_BYTES,
    PRIVATE,
    ROOT_METADATA,
    ROW_TYPE,
    Column,
    Layout,
    check_chunk_size,
    chunk_checksum,
    chunk_path,
    decode_chunk,
    encode_chunk,
)
from catena.text.plain import Json

MOST_NAMED = 100  # damaged chunks listed per column


def read_spec(path: str | Path) -> Mapping[str, Json]:
    """The `spec` with which the caller created the run.

    Raises
    ------
    StoreError : there is no run store, or its spec.json is damaged or has another format
    """
    return read_layout(Path(path)).spec


def read_attributes(path: str | Path) -> Mapping[str, Json]:
    """The attributes with which the store was created, visible to any reader.

    Raises
    ------
    StoreError : as `read_spec`
    """
    return read_layout(Path(path)).attributes


def read_checkpoint(path: str | Path, *, to_read: bool = True) -> Checkpoint | None:
    """The position of the run: its newest intact checkpoint, None before the first commit.

    Parameters
    ----------
    to_read : whether arrays will be read; resuming the run rewrites a damaged zarr.json

    Raises
    ------
    StoreError : there is no run store, no checkpoint is intact, or (`to_read`) the root zarr.json is damaged, so
        that readers of the arrays would fail
    """
    store = Path(path)
    layout = read_layout(store)
    with explain(store):
        slots, damage, root = observe(store, layout)
    wrong = explain_lost_checkpoints(layout, root, slots=slots, damage=damage)
    if wrong:
        raise no_checkpoint(store, wrong)
    wrong = _root_damage(layout, root, slots=slots, certain=not damage)
    if to_read and wrong:
        raise StoreError(wrong, where=str(store / ROOT_METADATA), do=remedy([wrong]))
    return slots[0].checkpoint if slots else None


def is_empty(path: str | Path) -> bool:
    """Whether readers find no rows yet; rows of a first commit are visible once its last file is written."""
    store = Path(path)
    layout = read_layout(store)
    with explain(store):
        return _content(store / ROOT_METADATA) == layout.root_file(layout.first_rows())


def name_foreign(path: str | Path) -> list[str]:
    """Entries of a store that no run with its layout wrote; none of them is opened."""
    layout = read_layout(Path(path))
    with explain(Path(path)):
        return foreign_entries(Path(path), layout)


def remedy(problems: Sequence[str]) -> str:
    """Advice about the damage that `verify` found."""
    if all(problem.split()[0].endswith(ROOT_METADATA) for problem in problems):
        return "resume the run, also if it has ended: that writes it anew (catena resume, or ct.resume)"
    return "restore it from a copy, or run the case again into another directory"


def verify(path: str | Path, *, most_bytes: float = inf) -> list[str]:
    """Check every file of a store and list the damage; an empty list if it is intact.

    The store of a run that was killed between two files is intact: resuming it loses nothing that was committed.

    Parameters
    ----------
    most_bytes : stores up to this size are read; in larger ones only presence and size of the full chunks are checked,
        in a time that grows with their number: they are verified when they are read (`catena.store.arrays`)

    Raises
    ------
    StoreError : there is no run store, or its spec.json is damaged or has another format
    """
    store = Path(path)
    layout = read_layout(store)
    with explain(store):
        if special := special_entries(store):  # nothing else is checked: a chunk may be one of them
            return special
        slots, damage, root = observe(store, layout)
        if lost := explain_lost_checkpoints(layout, root, slots=slots, damage=damage):
            return [lost]
        problems = list(damage)
        try:
            read_given(store, layout)
        except ValueError as error:
            problems.append(str(error))
        if wrong := _root_damage(layout, root, slots=slots, certain=not damage):
            problems.append(wrong)
        rows = slots[0].checkpoint.rows if slots else layout.first_rows()
        partial = slots[0].partial if slots else {}
        ended = bool(slots) and slots[0].checkpoint.finished and root == layout.root_file(rows)
        problems += _array_metadata_damage(store, layout, rows=rows, exact=ended)
        read_all = _chunk_bytes(layout, rows) <= most_bytes
        for stream in layout.streams:
            for column in stream.columns:
                chunks = Chunks(store, column, layout.chunk_rows[column.name], rows[stream.name])
                problems += islice(chunks.damage(read_all=read_all), MOST_NAMED)
                try:
                    if column.name in partial:
                        chunks.read_partial(partial[column.name])
                except ValueError as error:
                    problems.append(str(error))
    return problems


class Chunks:
    """The chunk files of a column with this number of committed rows."""

    def __init__(self, store: Path, column: Column, chunk_rows: int, rows: int) -> None:
        self._store = store
        self._column = column
        self._shape = (chunk_rows, *column.shape)
        self._full, self._used = divmod(rows, chunk_rows)

    def damage(self, *, read_all: bool) -> Iterator[str]:
        """Damage of the full chunks: presence and size, and with `read_all` each byte."""
        for index in range(self._full):
            path = chunk_path(self._store, self._column, index)
            try:
                _check_file(path, self._shape)  # before reading that many bytes
                if read_all:
                    decode_chunk(read_file(path), self._shape)
            except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
                yield self._problem(index, "is missing")
            except ValueError as error:
                yield self._problem(index, str(error))

    def read_partial(self, checksum: int | None) -> NDArray[np.float64]:
        """The partly filled last chunk as committed, NaN after its rows; ValueError if it is damaged.

        The file may hold more rows than the checkpoint counts (a kill in the next commit). Fewer or
        different rows change the checksum in the checkpoint; an old copy of the file has a valid checksum of its own.
        """
        if self._used == 0:
            return np.full(self._shape, np.nan, dtype=ROW_TYPE)
        path = chunk_path(self._store, self._column, self._full)
        try:
            check_chunk_size(path.lstat().st_size, self._shape)
            found = decode_chunk(read_file(path), self._shape)
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            raise ValueError(self._problem(self._full, "is missing")) from None
        except ValueError as error:
            raise ValueError(self._problem(self._full, str(error))) from None
        committed = np.full(self._shape, np.nan, dtype=ROW_TYPE)
        committed[: self._used] = found[: self._used]
        if chunk_checksum(encode_chunk(committed)) != checksum:
            raise ValueError(self._problem(self._full, "does not hold the rows of the checkpoint"))
        return committed

    def _problem(self, index: int, wrong: str) -> str:
        return f"chunk {index} of {self._column.name} {wrong}"


def _check_file(path: Path, shape: tuple[int, ...]) -> None:
    """ValueError if this file cannot hold a chunk."""
    found = path.lstat()
    if not stat.S_ISREG(found.st_mode):
        raise ValueError("is not a file")
    check_chunk_size(found.st_size, shape)


def _chunk_bytes(layout: Layout, rows: dict[str, int]) -> int:
    """Total size of the chunk files."""
    return sum(
        -(-rows[stream.name] // layout.chunk_rows[column.name])
        * (layout.chunk_rows[column.name] * prod(column.shape) * ROW_TYPE.itemsize + CHECKSUM_BYTES)
        for stream in layout.streams
        for column in stream.columns
    )


def read_layout(store: Path) -> Layout:
    """The content of spec.json; StoreError if this is not a run store."""
    path = store / PRIVATE / "spec.json"
    with explain(store):
        try:
            data = read_file(path)
        except (FileNotFoundError, NotADirectoryError):
            wrong = "this is not a run store of catena" if store.exists() else "there is no run store here"
            raise StoreError(wrong, where=str(store), do="check the path") from None
        except ValueError as error:
            raise StoreError(f"spec.json {error}", where=str(path), do="do not trust this store") from None
    return Layout.from_bytes(data, where=str(path))


def observe(store: Path, layout: Layout) -> tuple[list[Slot], list[str], bytes]:
    """Intact checkpoints (newest first), damage of others, root metadata: a consistent snapshot of a run at work."""
    digest = layout.digest()
    root = store / ROOT_METADATA
    while True:
        before = slot_marks(store)
        slots, damage = read_slots(store, layout=digest)
        data = _content(root)
        if slot_marks(store) == before:
            return *sound_slots(slots, damage, layout), data


def _content(path: Path) -> bytes:
    """The bytes of a file; empty if it is missing or not a regular file."""
    try:
        return read_file(path)
    except (FileNotFoundError, ValueError):
        return b""


def explain_lost_checkpoints(layout: Layout, root: bytes, *, slots: list[Slot], damage: list[str]) -> str:
    """Why no checkpoint is intact; "" if one is, or if the run never committed."""
    if slots or (not damage and root == layout.root_file(layout.first_rows())):
        return ""
    return "no checkpoint is whole: " + (" and ".join(damage) or "state.0 and state.1 are missing")


def no_checkpoint(store: Path, wrong: str) -> StoreError:
    """The error for a store without an intact checkpoint."""
    return StoreError(
        wrong,
        where=str(store / PRIVATE),
        do="restore a state file from a copy, or read the arrays with xarray; the run cannot be resumed",
    )


def _root_damage(layout: Layout, root: bytes, *, slots: list[Slot], certain: bool) -> str:
    """What is wrong with the root metadata, or "".

    They are written after the checkpoint, so they match the newest one or the one before it.
    """
    candidates = [slot.checkpoint.rows for slot in slots]
    if len(slots) < 2:
        candidates.append(layout.first_rows())
    if not certain:  # the damaged checkpoint may be the matching one
        candidates += _count_claimed_rows(layout, root)
    if any(root == layout.root_file(rows) for rows in candidates):
        return ""
    return f"{ROOT_METADATA} is damaged" if root else f"{ROOT_METADATA} is missing"


def readable_rows(store: Path, layout: Layout) -> dict[str, int]:
    """The rows of each stream visible to readers; StoreError if the metadata do not say."""
    found = next(_count_claimed_rows(layout, _content(store / ROOT_METADATA)), None)
    if found is None:
        raise StoreError(f"{ROOT_METADATA} is damaged", where=str(store), do=remedy([ROOT_METADATA]))
    return found


def _count_claimed_rows(layout: Layout, root: bytes) -> Iterator[dict[str, int]]:
    try:
        consolidated = table(table(read_json(root), "it")["consolidated_metadata"], "consolidated_metadata")
        arrays = table(consolidated["metadata"], "metadata")
        yield {stream.name: _length(arrays[stream.columns[0].name]) for stream in layout.streams}
    except (ValueError, KeyError, IndexError):
        return


def _length(metadata: Json) -> int:
    """Number of rows in the metadata of an array; ValueError, KeyError or IndexError if there is none."""
    return whole(check_list(table(metadata, "it")["shape"], "shape")[0], "shape[0]")


def _array_metadata_damage(store: Path, layout: Layout, *, rows: dict[str, int], exact: bool) -> Iterator[str]:
    """The file of a single array may lag behind until the run has ended, but only in its length."""
    for stream in layout.streams:
        for column in stream.columns:
            name = f"{column.name}/{ROOT_METADATA}"
            try:
                data = read_file(store / name)
                length = _length(read_json(data))
            except FileNotFoundError:
                yield f"{name} is missing"
                continue
            except (ValueError, KeyError, IndexError):
                yield f"{name} is damaged"
                continue
            committed = rows[stream.name]
            plausible = length == committed if exact else 0 <= length <= committed
            if not plausible or data != layout.array_files({**rows, stream.name: length})[column.name]:
                yield f"{name} is damaged"
