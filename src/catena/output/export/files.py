"""Files that appear whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkstemp

from ...errors import InputError


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
    finally:
        temporary.unlink(missing_ok=True)


def _umask() -> int:
    """The permissions that new files lack; it can only be read by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
