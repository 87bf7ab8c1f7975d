"""Files that users and strangers hand over: regular ones, of a size that can be read."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from ..errors import InputError


def read_regular(path: str | Path, largest: int, *, do: str) -> bytes:
    """What a regular file holds. A pipe may never deliver, a device never end, so neither is read; links are followed.

    Parameters
    ----------
    path : the file
    largest : bytes that it may have
    do : what to do about one that has more

    Raises
    ------
    InputError : no regular file, or more bytes
    OSError : it cannot be read
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # a plain one waits for the writer of a pipe
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
        if len(data) > largest:  # it grows, or does not tell its size
            raise InputError(f"the file has more than {largest} bytes", where=str(path), do=do)
        return data
    finally:
        os.close(descriptor)
