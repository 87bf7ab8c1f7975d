"""Untrusted input files: only regular files of limited size are read."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from ..errors import InputError


def read_regular(path: str | Path, largest: int, *, do: str) -> bytes:
    """The content of a regular file. Pipes and devices, which may block or never end, are not read; links are followed.

    Parameters
    ----------
    path : the file
    largest : limit for its size in bytes
    do : advice for a larger file

    Raises
    ------
    InputError : not a regular file, or too large
    OSError : it cannot be read
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # never waits for a pipe
    try:
        known = os.fstat(descriptor)
        if stat.S_ISDIR(known.st_mode):
            raise InputError("this is a directory", where=str(path), do="give the path of a file")
        if not stat.S_ISREG(known.st_mode):
            raise InputError(
                "this is a pipe, a socket or a device, which may have no end", where=str(path),
                do="write it into a file first",
            )  # fmt: skip
        if known.st_size > largest:
            raise InputError(f"the file has {known.st_size} bytes", where=str(path), do=do)
        with os.fdopen(os.dup(descriptor), "rb") as file:
            data = file.read(largest + 1)
        if len(data) > largest:  # it grows, or does not report its size
            raise InputError(f"the file has more than {largest} bytes", where=str(path), do=do)
        return data
    finally:
        os.close(descriptor)
