"""Atomic file writes, and the lock that limits a store to one writer.

`put` writes a hidden temporary file next to its target, flushes it to the disk, renames it over the
target and flushes the directory. This guarantees:

* The process is killed at any moment (SIGKILL, out of memory, Ctrl-C): a file is the old one or the
  new one, never a mixture. The renames alone ensure this; it needs no fsync.
* The machine loses power: when `put` has returned, its file is on the disk, as far as disk and file system
  keep the promise of fsync, so a file written later never survives one that it relies on.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from catena import memory
from catena.errors import StoreError

MOST_UNASKED = 2**28  # files up to this size are read without checking the available memory

boundary_hook: Callable[[str], None] | None = None
"""Called between any two changes of the disk, with the name of this point. The tests kill the process there."""


def put(path: Path, data: bytes, check: Callable[[], None] = lambda: None) -> None:
    """Write a file atomically and durably, and create its directories.

    `check` is called before anything is changed; it raises if nothing may be changed. Flushing takes a while, so it
    is called again before the files get their names.
    """
    if not path.parent.is_dir():
        check()
        make_directory(path.parent)
    check()
    temporary = temporary_of(path)
    try:
        _write(temporary, data)
        check()
        temporary.replace(path)
        _boundary(f"renamed {path.name}")
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_directory(path.parent)


def put_if_different(path: Path, data: bytes, check: Callable[[], None] = lambda: None) -> None:
    """Write a file unless it has this content already; `check` as for `put`."""
    if not path.is_file() or path.stat().st_size != len(data) or path.read_bytes() != data:
        put(path, data, check)


def read_file(path: Path) -> bytes:
    """The bytes of a file of a store.

    Does not follow links or block on pipes; ValueError if it is not a regular file, or too large.
    """
    if not stat.S_ISDIR(path.parent.lstat().st_mode) or not stat.S_ISREG(path.lstat().st_mode):
        raise ValueError("is not a file, or lies behind a link")
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as file:
        size = os.fstat(descriptor).st_size
        if size > MOST_UNASKED and size > memory.allow():
            raise ValueError(f"has {size} bytes, more than the memory allows")
        return file.read(size)


def temporary_of(path: Path) -> Path:
    """The name under which `put` prepares a file; a killed process may leave it behind."""
    return path.with_name(f".{path.name}.tmp")


def make_directory(path: Path) -> None:
    """Create a directory and its parents, durably."""
    if path.is_dir():
        return
    make_directory(path.parent)
    path.mkdir(exist_ok=True)
    _boundary(f"made {path.name}")
    sync_directory(path.parent)


def rename_directory(path: Path, target: Path) -> None:
    """Rename a directory to its final name, durably."""
    path.rename(target)
    _boundary(f"renamed {target.name}")
    sync_directory(target.parent)


def remove(path: Path) -> None:
    """Remove a file, or a directory with its contents, if it exists, durably."""
    if _remove(path):
        sync_directory(path.parent)


def _remove(path: Path) -> bool:
    """Remove a file or a directory; returns whether it existed."""
    if path.is_dir() and not path.is_symlink():
        for entry in sorted(path.iterdir()):
            _remove(entry)
        path.rmdir()
    elif path.exists() or path.is_symlink():  # the link itself, not its target
        path.unlink()
    else:
        return False
    _boundary(f"removed {path.name}")
    return True


def sync_directory(path: Path) -> None:
    """Flush the entries of a directory to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    _boundary(f"synchronised {path.name}")


def acquire_lock(path: Path) -> int:
    """Open the lock file of a store and take the lock; the error says who may have it.

    Returns
    -------
    descriptor : of the open lock file, for `release_lock`
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        if error.errno not in (errno.EWOULDBLOCK, errno.EACCES):
            raise
        raise StoreError(
            "the store is being written by another process",
            where=str(path.parent.parent),
            do="wait until that run has ended, or stop it with Ctrl-C; it can then be resumed",
        ) from None
    if not is_at(descriptor, path):  # moved away between the two calls
        os.close(descriptor)
        raise StoreError("the store was moved just now", where=str(path.parent.parent), do="try again")
    return descriptor


def is_at(descriptor: int, path: str | Path) -> bool:
    """Whether an open file is still the one at this path: an open file stays open when it is renamed."""
    try:
        found = os.lstat(path)  # called twice per file, so without the overhead of Path
    except (FileNotFoundError, NotADirectoryError):
        return False
    return os.path.samestat(found, os.fstat(descriptor))


def release_lock(descriptor: int) -> None:
    """Release the lock, even if a forked child still has the descriptor."""
    fcntl.flock(descriptor, fcntl.LOCK_UN)
    os.close(descriptor)


@contextmanager
def explain(path: Path, *, made: bool = True) -> Iterator[None]:
    """Turn an OSError into a StoreError that says what to do."""
    try:
        yield
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        wrong = "the disk is full" if full else f"the file system refused: {error.strerror or error}"
        first = "free some space" if full else "check permissions and the disk"
        then = ", then resume; everything committed is kept" if made else ", or choose another place; nothing was begun"
        where = str(error.filename or path) if made else str(path)
        raise StoreError(wrong, where=where, do=first + then) from error


def _write(path: Path, data: bytes) -> None:
    _boundary(f"before {path.name}")
    path.unlink(missing_ok=True)  # left by a killed process, or a link that somebody placed there
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o666)
    try:
        rest = memoryview(data)
        if boundary_hook is not None:
            rest = rest[os.write(descriptor, rest[: len(rest) // 2]) :]
            _boundary(f"half of {path.name}")
        while rest:
            rest = rest[os.write(descriptor, rest) :]
        _boundary(f"all of {path.name}")
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _boundary(name: str) -> None:
    if boundary_hook is not None:
        boundary_hook(name)
