"""Arrays of numbers in untrusted NumPy files (.npz)."""

from __future__ import annotations

import io
import math
import tokenize
import zipfile
import zlib
from pathlib import Path

import numpy as np

from ..errors import InputError
from .input_files import read_regular

LARGEST = 2**30  # limit for a file, and for its unpacked size, in bytes
LONGEST = 200  # characters of a reader's message: a header may be long
# exceptions of the readers of archives and headers
UNREADABLE = (
    zipfile.BadZipFile, zlib.error, ValueError, TypeError, SyntaxError, LookupError, EOFError, OSError, OverflowError,
    MemoryError, RuntimeError, tokenize.TokenError,
)  # fmt: skip


def read_arrays(path: str | Path, *, what: str) -> dict[str, np.ndarray]:
    """The arrays of a .npz, by name. Nothing is unpickled, and no array larger than the file's data is allocated.

    Parameters
    ----------
    path : the file
    what : expected content, for the message

    Raises
    ------
    InputError : it is not a regular file, too large, or not readable
    """
    try:
        data = read_regular(path, LARGEST, do="divide it")
    except OSError as trouble:
        raise InputError(
            f"the file cannot be read: {trouble.strerror}", where=str(path), do=f"give {what}"
        ) from None  # fmt: skip
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as packed:
            size = sum(part.file_size for part in packed.infolist())
            if size > LARGEST:
                raise InputError(f"the file unpacks to {size} bytes", where=str(path), do="divide it")
            return {part.filename.removesuffix(".npy"): _array(packed.read(part)) for part in packed.infolist()}
    except UNREADABLE as trouble:
        raise InputError(
            f"this is no npz of numbers: {str(trouble)[:LONGEST]}", where=str(path), do=f"give {what}, written with numpy.savez"
        ) from None  # fmt: skip


def _array(data: bytes) -> np.ndarray:
    """One array. Its size is checked first, because NumPy allocates what a header says before it reads the data."""
    file = io.BytesIO(data)
    version = np.lib.format.read_magic(file)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, kind = read(file)
    wanted = math.prod(shape) * kind.itemsize
    if min(shape, default=0) < 0 or wanted > len(data) - file.tell():
        raise ValueError(f"an array of {wanted} bytes in {len(data)}")
    file.seek(0)
    return np.lib.format.read_array(file, allow_pickle=False)
