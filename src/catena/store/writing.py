"""Writing a run store: rows are appended in memory and become visible, and safe, at a commit.

A commit writes, in this order, the chunks with new rows, the checkpoint, and the root zarr.json. Chunks
change only by rows after those committed, so readers see the previous commit until the last of these files is written,
and a killed run resumes from the newest intact checkpoint as if nothing had happened.

A directory can be renamed while it is written, and another store created under its old name. So the writer checks
before each file whether its lock is still the one at its path; if not, it writes nothing more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import mkdtemp
from types import TracebackType

import numpy as np
from numpy.typing import ArrayLike, NDArray

from catena.errors import StoreError
from catena.store.checkpoint import GIVEN, SLOTS, Checkpoint, Slot, pack, pack_given, read_given, slot_path
from catena.store.files import (
    acquire_lock,
    explain,
    is_at,
    make_directory,
    put,
    put_if_different,
    release_lock,
    remove,
    rename_directory,
    sync_directory,
    temporary_of,
)
from catena.store.foreign import refuse_foreign
from catena.store.layout import (
    PRIVATE,
    ROOT_METADATA,
    ROW_TYPE,
    Column,
    Layout,
    Stream,
    chunk_checksum,
    chunk_path,
    encode_chunk,
)
from catena.store.reading import Chunks, explain_lost_checkpoints, no_checkpoint, observe, read_layout
from catena.text.plain import Json

Write = Callable[[Path, bytes], None]


class NameTaken(StoreError):
    """The name of a new store is in use."""


class Store:
    """A run store open for writing; made by `create` or `reopen`, closed by `close` or a with block.

    Memory use is constant: one chunk per column. After a StoreError the store is closed; `reopen` it once
    the cause is removed.
    """

    def __init__(self, path: Path, layout: Layout, *, lock: int, slot: Slot | None, tails: dict[str, _Tail]) -> None:
        self._path = path
        self._layout = layout
        self._digest = layout.digest()
        self._lock: int | None = lock
        self._lock_name = str(path / PRIVATE / "lock")
        self._moved = False
        self._slot = slot
        self._tails = tails

    @classmethod
    def create(
        cls,
        path: str | Path,
        *,
        spec: Mapping[str, Json],
        attributes: Mapping[str, Json],
        streams: tuple[Stream, ...],
        rows_per_commit: int,
        rows_in_all: int | None = None,
        fixed: Mapping[str, NDArray[np.float64]] | None = None,
        given: Mapping[str, np.ndarray] | None = None,
    ) -> Store:
        """Create an empty store.

        It is prepared under a hidden name next to `path` and renamed, so a store appears complete or
        not at all; the next creation cleans up after one that was killed.

        Parameters
        ----------
        path : a name not in use, in an existing directory
        spec : JSON that describes the run; `read_spec` returns it
        attributes : JSON for the readers, attributes of the root group
        streams : the streams of rows
        rows_per_commit : rows of the first stream between two commits; it determines the chunks
        rows_in_all : total number of rows of the first stream, if known: no chunk is longer
        fixed : the columns of streams that do not grow, by name
        given : arrays of any numeric type for resuming the run, not for readers

        Raises
        ------
        NameTaken : the path exists, or another process is about to create it
        StoreError : it cannot be created, or readers would not accept a name
        """
        path = Path(path).absolute()
        fixed, given = fixed or {}, given or {}
        layout = Layout.plan(
            spec=spec, attributes=attributes, streams=streams, rows_per_commit=rows_per_commit,
            rows_in_all=rows_in_all, given=given,
        )  # fmt: skip
        scaffold = path.with_name(f".{path.name}.creating")
        with explain(path, made=False):
            require_free(path)
            make_directory(scaffold / PRIVATE)
            try:
                lock = acquire_lock(scaffold / PRIVATE / "lock")
            except (StoreError, FileNotFoundError):  # held there, or already renamed
                raise NameTaken(
                    f"{path.name} is being created by another process", where=str(path), do="choose another name"
                ) from None
            try:
                _clear(scaffold)
                _furnish(scaffold, layout, fixed, given)
                require_free(path)
                rename_directory(scaffold, path)
            except BaseException:
                with suppress(OSError):
                    remove(scaffold)
                release_lock(lock)
                raise
        return cls(path, layout, lock=lock, slot=None, tails=_read_tails(path, layout, None))

    @classmethod
    def reopen(cls, path: str | Path) -> tuple[Store, Checkpoint | None]:
        """Open a store to continue its run, or to extend a finished one.

        All files are brought to their state right after the commit of the returned checkpoint. Everything
        needed to continue is checked before anything is changed.

        Returns
        -------
        store : the store, open
        checkpoint : the newest intact one; None if there was no commit yet

        Raises
        ------
        StoreError : no store, another process writes it, no checkpoint is intact, a chunk is damaged
        """
        path = Path(path).absolute()
        layout = read_layout(path)
        with explain(path):
            refuse_foreign(path)
            lock = acquire_lock(path / PRIVATE / "lock")
            try:
                slots, damage, root = observe(path, layout)
                if lost := explain_lost_checkpoints(layout, root, slots=slots, damage=damage):
                    raise no_checkpoint(path, lost)
                slot = slots[0] if slots else None
                store = cls(path, layout, lock=lock, slot=slot, tails=_read_tails(path, layout, slot))
                store._roll_back()
            except BaseException:
                release_lock(lock)
                raise
        return store, slot.checkpoint if slot else None

    @property
    def spec(self) -> Mapping[str, Json]:
        """The `spec` with which the store was created."""
        return self._layout.spec

    @property
    def checkpoint(self) -> Checkpoint:
        """The last committed checkpoint, even after the store was closed; its arrays are the caller's own."""
        if self._slot is None:
            raise ValueError("nothing was committed yet")
        return self._slot.checkpoint

    @property
    def attributes(self) -> Mapping[str, Json]:
        """The attributes of the store, visible to any reader."""
        return self._layout.attributes

    @property
    def rows_per_commit(self) -> int:
        """Rows of the first stream between two commits, fixed at creation."""
        return self._layout.rows_per_commit

    @property
    def streams(self) -> tuple[Stream, ...]:
        """The streams of rows."""
        return self._layout.streams

    def given(self) -> dict[str, np.ndarray]:
        """The arrays given at creation; StoreError if they are damaged."""
        with explain(self._path):
            try:
                return read_given(self._path, self._layout)
            except ValueError as error:
                raise StoreError(
                    str(error), where=str(self._path / PRIVATE),
                    do="restore that file from a copy; the arrays still open in xarray, but the run cannot be resumed",
                ) from None  # fmt: skip

    def rows(self, stream: str) -> int:
        """Rows of a stream so far, including those not yet committed."""
        return self._tails[self._stream(stream).columns[0].name].rows

    def committed(self, stream: str) -> int:
        """Committed rows of a stream, even after the store was closed."""
        return self._count_committed_rows()[self._stream(stream).name]

    def append(self, stream: str, columns: Mapping[str, ArrayLike]) -> None:
        """Add rows to a stream.

        Parameters
        ----------
        stream : its name
        columns : for each column of the stream (rows, *shape of the column), all with as many rows

        Raises
        ------
        StoreError : a chunk became full and could not be written; the store is closed
        """
        if self._stream(stream).fixed:
            raise ValueError(f"stream {stream!r} does not grow")
        declared = self._stream(stream).columns
        if set(columns) != {column.name for column in declared}:
            raise ValueError(f"stream {stream!r} has columns {[c.name for c in declared]}, got {sorted(columns)}")
        values = {name: np.asarray(rows, dtype=ROW_TYPE) for name, rows in columns.items()}
        length = len(values[declared[0].name])
        for column in declared:
            if values[column.name].shape != (length, *column.shape):
                raise ValueError(
                    f"column {column.name!r} needs shape {(length, *column.shape)}, got {values[column.name].shape}"
                )
        with self._writing():
            for column in declared:
                self._tails[column.name].extend(values[column.name], self._put)

    def commit(
        self, *, step: int, head: Mapping[str, Json], arrays: Mapping[str, np.ndarray], finished: bool = False
    ) -> None:
        """Make all rows appended so far visible to readers, and the run resumable from here.

        Files depend on where commits are made, so make them at multiples of `rows_per_commit` rows of
        the first stream, and one more at the end.

        Parameters
        ----------
        step : steps made
        head, arrays : everything that the caller needs to continue: JSON, and arrays of any numeric type
        finished : whether this is the end of the run

        Raises
        ------
        StoreError : a file could not be written; the store is closed and stays at the previous commit
        """
        with self._writing():
            for tail in self._tails.values():
                tail.flush(self._put)
            slot = Slot(
                generation=self._slot.generation + 1 if self._slot else 0,
                layout=self._digest,
                partial={name: tail.checksum for name, tail in self._tails.items() if tail.checksum is not None},
                checkpoint=Checkpoint(
                    step, finished, {stream.name: self.rows(stream.name) for stream in self.streams}, head, dict(arrays)
                ),
            )
            self._put(slot_path(self._path, slot.generation), pack(slot))
            self._slot = slot
            if finished:
                self._write_array_metadata()
            self._put(self._path / ROOT_METADATA, self._layout.root_file(slot.checkpoint.rows))

    def require_in_place(self) -> None:
        """StoreError if the store was moved while it was open: its path then leads to nothing, or to another store."""
        if self._lock is not None and not is_at(self._lock, self._lock_name):
            self._moved = True
        if self._moved:
            raise StoreError(
                "the store was moved or renamed while it was written", where=str(self._path),
                do="resume it under its new name; everything until the last commit is there",
            )  # fmt: skip

    def close(self) -> None:
        """Release the store. Rows after the last commit are dropped."""
        if self._lock is None:
            return
        try:
            # Readers of a single array, without the group, get its final length from here.
            with suppress(OSError, StoreError):  # reopen writes them again
                self._write_array_metadata()
        finally:
            lock, self._lock = self._lock, None
            release_lock(lock)

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _stream(self, name: str) -> Stream:
        for stream in self.streams:
            if stream.name == name:
                return stream
        raise ValueError(f"no stream {name!r} in this store, it has {[stream.name for stream in self.streams]}")

    def _count_committed_rows(self) -> dict[str, int]:
        return self._slot.checkpoint.rows if self._slot else self._layout.first_rows()

    def _put(self, path: Path, data: bytes) -> None:
        """Write a file of the store, unless the store was moved."""
        put(path, data, self.require_in_place)

    def _write_array_metadata(self) -> None:
        for name, data in self._layout.array_files(self._count_committed_rows()).items():
            put_if_different(self._path / name / "zarr.json", data, self.require_in_place)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        if self._lock is None:
            raise ValueError("the store is closed")
        try:
            with explain(self._path):
                yield
        except StoreError:
            self.close()
            raise

    def _roll_back(self) -> None:
        """Restore every file to its state right after this commit.

        In the order of a commit: checkpoint, arrays, root. Files written by a killed process may not be on the disk
        yet, although they are visible here, so each is flushed before the next one relies on it. Then the chunks: no
        reader may be directed to a chunk that is being removed.
        """
        sync_directory(self._path / PRIVATE)
        self._write_array_metadata()
        for name in self._tails:
            sync_directory(self._path / name)
        put_if_different(self._path / ROOT_METADATA, self._layout.root_file(self._count_committed_rows()))
        remove(temporary_of(self._path / ROOT_METADATA))
        sync_directory(self._path)
        for tail in self._tails.values():
            remove(temporary_of(self._path / tail.column.name / "zarr.json"))
            tail.roll_back()
        for generation in range(SLOTS):
            remove(temporary_of(slot_path(self._path, generation)))


class _Tail:
    """The last, partly filled chunk of a column."""

    def __init__(self, store: Path, column: Column, chunk_rows: int) -> None:
        self.column = column
        self.rows = 0
        self.checksum: int | None = None  # of the chunk file, if the last chunk is partly filled
        self._store = store
        self._chunk_rows = chunk_rows
        self._chunk = np.full((chunk_rows, *column.shape), np.nan, dtype=ROW_TYPE)
        self._changed = False

    def extend(self, values: NDArray[np.float64], write: Write) -> None:
        """Append rows; full chunks are written at once."""
        while len(values):
            used = self.rows % self._chunk_rows
            taken = values[: self._chunk_rows - used]
            self._chunk[used : used + len(taken)] = taken
            self.rows += len(taken)
            values = values[len(taken) :]
            self._changed = True
            if self.rows % self._chunk_rows == 0:
                self.flush(write)
                self._chunk.fill(np.nan)

    def flush(self, write: Write) -> None:
        """Write the chunk if it has new rows."""
        if not self._changed:
            return
        index, used = divmod(self.rows - 1, self._chunk_rows)
        data = encode_chunk(self._chunk)
        write(chunk_path(self._store, self.column, index), data)
        self.checksum = None if used + 1 == self._chunk_rows else chunk_checksum(data)
        self._changed = False

    def restore(self, chunk: NDArray[np.float64], *, rows: int, checksum: int | None) -> None:
        """Continue after this number of rows, the last of them in this partly filled chunk."""
        self._chunk, self.rows, self.checksum = chunk, rows, checksum

    def roll_back(self) -> None:
        """Remove everything written after the restored rows."""
        index, used = divmod(self.rows, self._chunk_rows)
        folder = self._store / self.column.name / "c"
        if self.rows == 0:
            remove(folder)
            return
        for entry in sorted(folder.iterdir()):
            beyond = entry.name.isdecimal() and int(entry.name) >= index + (used > 0)
            if beyond or (entry.name.startswith(".") and entry.name.endswith(".tmp")):
                remove(entry)
        if used:
            path = chunk_path(self._store, self.column, index)
            remove(temporary_of(path))
            put_if_different(path, encode_chunk(self._chunk))


def _read_tails(store: Path, layout: Layout, slot: Slot | None) -> dict[str, _Tail]:
    """The last chunks of all columns; StoreError if a chunk is damaged."""
    tails = {}
    for stream in layout.streams:
        for column in stream.columns:
            chunk_rows = layout.chunk_rows[column.name]
            rows = slot.checkpoint.rows[stream.name] if slot else stream.fixed
            checksum = slot.partial.get(column.name) if slot else None
            chunks = Chunks(store, column, chunk_rows, rows)
            try:
                for wrong in chunks.damage(read_all=False):
                    raise ValueError(wrong)
                chunk = chunks.read_partial(checksum)
            except ValueError as error:
                raise StoreError(
                    str(error),
                    where=str(store),
                    do="restore that file from a copy, or run again under another name; the rest can be read",
                ) from None
            tails[column.name] = tail = _Tail(store, column, chunk_rows)
            tail.restore(chunk, rows=rows, checksum=checksum)
    return tails


def require_place(path: Path) -> None:
    """Refuse a place where no store can be created, before computing: a directory next to it is created and removed."""
    with explain(path, made=False):
        require_free(path)
        try:
            made = mkdtemp(prefix=f".{path.name}.", dir=path.parent)  # a name as long as the temporary name of a store
        except ValueError as error:
            raise StoreError(f"no name of a directory: {error}", where=str(path), do="choose another name") from None
        Path(made).rmdir()


def require_free(path: Path) -> None:
    """Refuse a path that exists or cannot be created."""
    if path.exists() or path.is_symlink():
        ours = (path / PRIVATE / "spec.json").is_file()
        raise NameTaken(
            f"{path.name or path} exists; nothing is ever overwritten",
            where=str(path),
            do="choose another name" + (", or resume it" if ours else ", or move it away"),
        )
    if not path.parent.is_dir():
        raise StoreError(f"there is no directory {path.parent}", where=str(path), do="make it, or choose another path")


def _furnish(
    path: Path, layout: Layout, fixed: Mapping[str, NDArray[np.float64]], given: Mapping[str, np.ndarray]
) -> None:
    """Write the files of a store without rows; the root metadata come last, because they make it a store."""
    put(path / PRIVATE / "spec.json", layout.to_bytes())
    for name, data in layout.array_files(layout.first_rows()).items():
        put(path / name / "zarr.json", data)
    for column in (column for stream in layout.streams if stream.fixed for column in stream.columns):
        rows = fixed[column.name].reshape(layout.chunk_rows[column.name], *column.shape)
        put(chunk_path(path, column, 0), encode_chunk(rows))
    if given:
        put(path / PRIVATE / GIVEN, pack_given(given, layout=layout))
    put(path / ROOT_METADATA, layout.root_file(layout.first_rows()))


def _clear(scaffold: Path) -> None:
    """Remove the remains of a killed creation; the lock file stays, because it is held."""
    for entry in [*scaffold.iterdir(), *(scaffold / PRIVATE).iterdir()]:
        if entry.name not in (PRIVATE, "lock"):
            remove(entry)
