"""Files that appear complete or not at all, and only where a file may be: the only way in which results leave catena.

A target is a new name or a regular file. A link could lead anywhere, and a pipe or a device would be lost if a file
took its name: they are refused. Only the last part of a path is checked; the directories above it are the user's
choice.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from tempfile import mkstemp
from typing import TYPE_CHECKING

from ..errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FULL = (errno.ENOSPC, errno.EDQUOT)


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """A temporary file beside the target that takes its name at the end; after an exception it is removed."""
    target = path_from(path)
    temporary = _begin(target)
    try:
        yield temporary
        temporary.chmod(0o666 & ~_umask())
        refuse_special(target)  # it may have appeared while the file was written
        temporary.replace(target)
    except OSError as error:
        if error.errno not in FULL and "no space left" not in str(error).lower():  # HDF5 says so only in words
            raise
        raise InputError("the disk is full", where=str(target), do="free some space, or choose another place") from None
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def new_file(path: str | Path) -> Iterator[Path]:
    """The same for files that must not exist yet: InputError if the name is taken."""
    refuse_taken(path_from(path))
    with replacing(path) as temporary:
        yield temporary
        refuse_taken(Path(path))


def require_writable(path: str | Path) -> None:
    """Check before a long computation: InputError if `replacing` would not be able to write the file."""
    _begin(path_from(path)).unlink()


def _begin(target: Path) -> Path:
    """The temporary file, empty."""
    refuse_special(target)
    try:
        descriptor, name = mkstemp(prefix=f".{target.name}.", suffix=".part" + target.suffix, dir=target.parent)
        os.close(descriptor)
    except OSError as error:
        raise InputError(
            f"the file cannot be written: {error.strerror}", where=str(target), do="choose another place"
        ) from None
    return Path(name)


def path_from(given: object) -> Path:
    """The path of a file to write; InputError if it is not one."""
    if not isinstance(given, (str, os.PathLike)):
        raise InputError(f"{given!r} is not a path", where="path", do="give the name of a file")
    return Path(given)


def refuse_taken(target: Path) -> None:
    """InputError if the name is taken."""
    if os.path.lexists(target):
        raise InputError(f"{target.name} exists; nothing is overwritten", where=str(target), do="choose another name")


def write_text(path: str | Path, text: str) -> None:
    """Write a text to a file in UTF-8."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_figure(path: Path, figure: Figure, *, metadata: dict[str, None] | None = None) -> None:
    """Draw into memory, then write: matplotlib reports a full disk in many ways."""
    drawn = BytesIO()
    figure.savefig(drawn, format=path.suffix[1:], metadata=metadata)
    with replacing(path) as temporary:
        temporary.write_bytes(drawn.getvalue())


def refuse_special(target: Path) -> None:
    """InputError if the name belongs to something other than a regular file."""
    try:
        mode = os.lstat(target).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return  # other problems with the path show when a file is made there
    except (OSError, ValueError) as error:
        raise InputError(
            f"the file cannot be written: {getattr(error, 'strerror', None) or error}", where=str(target),
            do="choose another place",
        ) from None  # fmt: skip
    if stat.S_ISREG(mode):
        return
    if stat.S_ISDIR(mode):
        raise InputError(f"{target} is a directory", where="path", do="give the name of a file")
    if stat.S_ISLNK(mode):
        do = "remove the link, or give the name of the file that it leads to"
        raise InputError("a link is there, which is neither followed nor replaced", where=str(target), do=do)
    raise InputError(
        "a pipe, a socket or a device is there, which is neither written to nor replaced", where=str(target),
        do="give the name of a file",
    )  # fmt: skip


def _umask() -> int:
    """The umask of the process; it can only be read by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
