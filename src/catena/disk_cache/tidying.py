"""Cleaning the cache: files of other versions are removed first, then those not used for the longest time.

Several processes may do this at once, while others read: an open file stays readable, and a removed one is
made again. Files with names that catena did not choose are left alone.
"""

from __future__ import annotations

import os
import re
import time
from contextlib import suppress
from typing import NamedTuple

from ..version import __version__
from .room import DAY, TEMPORARY, open_folder, place

LIMIT = 500_000_000  # bytes; some thousand combinations of system and method
MONTH = 30 * DAY
HOUR = DAY / 24
KEPT = re.compile(r"(?:code|text)-(?P<version>.+)-[0-9a-f]{24}")
UNFINISHED = re.compile(re.escape(TEMPORARY) + r"\d+-\d+-[0-9a-f]{16}")
# Locations of earlier versions: beside the directory, and in __pycache__.
ANCIENT = re.compile(r"catena_(?:made|generated)_[0-9a-f]{24}\.[\w.-]+")


class File(NamedTuple):
    """A file of the cache."""

    name: str
    version: str
    bytes: int
    used: float  # seconds ago


def contents() -> list[File]:
    """The files of the cache, most recently used first; OSError if there is no usable directory."""
    with open_folder(place()) as room:
        return sorted(_files(room), key=lambda file: file.used)


def tidy() -> None:
    """Remove files that are no longer used."""
    with suppress(OSError), open_folder(place()) as room:
        total = 0
        for file in sorted(_files(room), key=lambda file: file.used):
            total += file.bytes
            if total > LIMIT or (file.version != __version__ and file.used > MONTH):
                total -= file.bytes
                _remove(file.name, room)
        _remove_old(UNFINISHED, room, HOUR)  # of a process that was killed
    for folder in (place().parent, place().parent / "__pycache__"):
        with suppress(OSError), open_folder(folder) as before:
            _remove_old(ANCIENT, before, MONTH)


def _files(room: int) -> list[File]:
    found = []
    for name, size, age in _list(KEPT, room):
        match = KEPT.fullmatch(name)
        assert match is not None
        found.append(File(name, match["version"], size, age))
    return found


def _list(pattern: re.Pattern[str], folder: int) -> list[tuple[str, int, float]]:
    """Name, size and age of the files whose names match."""
    now, found = time.time(), []
    with os.scandir(folder) as entries:
        for entry in entries:
            if pattern.fullmatch(entry.name):
                with suppress(FileNotFoundError):  # another process is cleaning, too
                    status = entry.stat(follow_symlinks=False)
                    found.append((entry.name, status.st_size, now - status.st_mtime))
    return found


def _remove_old(pattern: re.Pattern[str], folder: int, age: float) -> None:
    for name, _, used in _list(pattern, folder):
        if used > age:
            _remove(name, folder)


def _remove(name: str, folder: int) -> None:
    with suppress(OSError):
        os.unlink(name, dir_fd=folder)
