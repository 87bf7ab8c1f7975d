"""Files that appear whole or not at all."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkstemp

from ...errors import InputError

FULL = (errno.ENOSPC, errno.EDQUOT)


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """A temporary file beside the target that takes its name at the end; if anything goes wrong, it is removed."""
    target = Path(path)
    if target.is_dir():
        raise InputError(f"{target} is a directory", where="path", do="give the name of a file")
    try:
        descriptor, name = mkstemp(prefix=f".{target.name}.", suffix=".part" + target.suffix, dir=target.parent)
        os.close(descriptor)
    except OSError as error:
        raise InputError(
            f"the file cannot be written: {error.strerror}", where=str(target), do="choose another place"
        ) from None
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(target)
    except OSError as error:
        if error.errno not in FULL and "no space left" not in str(error).lower():  # HDF5 only says it in words
            raise
        raise InputError("the disk is full", where=str(target), do="free some space, or choose another place") from None
    finally:
        temporary.unlink(missing_ok=True)


def _umask() -> int:
    """The permissions that new files lack; it can only be read by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
