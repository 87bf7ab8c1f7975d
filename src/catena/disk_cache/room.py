"""The cache directory: private to its owner, written atomically, and never required.

Machine code and pickles are executed when they are loaded, so they must not come from anybody else. The directory and
each file in it must belong to the user or to root, and nobody else may have write permission; otherwise nothing is read
from there. Everything is opened relative to the directory that was checked, so a user who can write to a parent
directory can remove the cache, but not replace it.

If the disk refuses (full, read-only, no such place), results are kept in memory, with one log message.
"""

from __future__ import annotations

import errno
import functools
import hashlib
import os
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ..log import log_message
from ..version import __version__
from .sealed import Damaged, seal, unseal

VARIABLE = "CATENA_CACHE_DIR"
ROOM = "kept"
LARGEST = 2**30  # limit for a file in bytes; cached files have some megabytes at most
DAY = 86400.0
TEMPORARY = ".new-"  # in the name of a file until it is complete

_memory: dict[str, bytes] = {}  # name -> data that the disk refused
_logged: set[str] = set()


def place() -> Path:
    """$CATENA_CACHE_DIR, else the user's cache directory."""
    return _choose(os.environ.get(VARIABLE, "")) / ROOM


@functools.cache
def _choose(chosen: str) -> Path:
    if chosen:
        return Path(chosen).absolute()
    import platformdirs

    return Path(platformdirs.user_cache_dir("catena"))


def name_of(kind: str, identity: str) -> str:
    """The name of a file: kind of content, version of catena, and a hash of its identity."""
    return f"{kind}-{__version__}-{hashlib.sha256(identity.encode()).hexdigest()[:24]}"


def find(kind: str, identity: str) -> bytes | None:
    """The cached data for this identity, verified; None if there are none."""
    name = name_of(kind, identity)
    if name in _memory:
        return _memory[name]
    try:
        with open_folder(place()) as room:
            return unseal(identity, _read(name, room))
    except FileNotFoundError:
        return None
    except Damaged as problem:
        _log_once("damaged", f"a file of the cache, {place() / name}, {problem}; it is made again")
    except OSError as problem:
        _log_refused(problem)
    return None


def keep(kind: str, identity: str, data: bytes) -> None:
    """Keep data on disk, or in memory if that fails."""
    name = name_of(kind, identity)
    try:
        with open_folder(place(), make=True) as room:
            _write(name, seal(identity, data), room)
    except OSError as problem:
        _memory[name] = data
        _log_refused(problem)


@contextmanager
def open_folder(folder: Path, *, make: bool = False) -> Iterator[int]:
    """A descriptor of a directory that only the user or root can write to; PermissionError if others can."""
    if make and not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with suppress(FileExistsError):
            folder.mkdir(mode=0o700)
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        wrong = _why_untrusted(os.fstat(descriptor))
        if wrong:
            raise PermissionError(errno.EACCES, wrong, str(folder))
        yield descriptor
    finally:
        os.close(descriptor)


def _why_untrusted(found: os.stat_result) -> str:
    """Why a file or a directory may come from somebody else; empty if it cannot."""
    if found.st_uid not in (os.geteuid(), 0):
        return "it belongs to another user"
    return "others may write to it, so remove it" if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH) else ""


def _read(name: str, room: int) -> bytes:
    """Read a regular file that belongs to nobody else."""
    # non-blocking: somebody may have put a pipe there
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        descriptor = os.open(name, flags, dir_fd=room)
    except OSError as problem:
        if problem.errno in (errno.ELOOP, errno.ENXIO):
            raise Damaged("is not a file") from None
        raise
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_size > LARGEST:
            raise Damaged("is not a file that catena wrote")
        if wrong := _why_untrusted(found):
            raise Damaged(f"is not trusted: {wrong}")
        _note_use(descriptor, found)
        return b"".join(iter(lambda: os.read(descriptor, found.st_size + 1), b""))
    finally:
        os.close(descriptor)


def _note_use(descriptor: int, found: os.stat_result) -> None:
    """Record the use of a file, with the precision of a day, because unused files are removed."""
    import time

    if time.time() - found.st_mtime > DAY:
        with suppress(OSError):  # a cache that is not writable is not cleaned either
            os.utime(descriptor)


def _write(name: str, data: bytes, room: int) -> None:
    """Write a file atomically and durably. If several processes do, the last one wins; all write the same."""
    temporary = f"{TEMPORARY}{os.getpid()}-{threading.get_ident()}-{os.urandom(8).hex()}"
    descriptor = os.open(
        temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=room
    )
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(descriptor)
        os.replace(temporary, name, src_dir_fd=room, dst_dir_fd=room)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary, dir_fd=room)
        raise
    with suppress(OSError):  # some file systems cannot flush a directory; a lost name is made again
        os.fsync(room)


def _log_refused(problem: OSError) -> None:
    _log_once(
        "refused",
        f"the cache {place()} is of no use ({problem.strerror}); what is compiled serves this process only",
    )


def _log_once(key: str, message: str) -> None:
    if key not in _logged:
        _logged.add(key)
        log_message(message)
