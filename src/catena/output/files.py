"""Files that appear whole or not at all, and only where a file may be: the one way in which results leave catena.

A target is a new name or a regular file. A link there could lead anywhere, and a pipe or a device would be gone after a file took its
name: they are refused. That looks at the last part of a path; the directories above are the user's choice.
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
    """A temporary file beside the target that takes its name at the end; if anything goes wrong, it is removed."""
    target = path_from(path)
    temporary = _begin(target)
    try:
        yield temporary
        temporary.chmod(0o666 & ~_umask())
        refuse_special(target)  # it may have come while the file was written
        temporary.replace(target)
    except OSError as error:
        if error.errno not in FULL and "no space left" not in str(error).lower():  # HDF5 only says it in words
            raise
        raise InputError("the disk is full", where=str(target), do="free some space, or choose another place") from None
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def new_file(path: str | Path) -> Iterator[Path]:
    """The same for data of a user's own, which takes the place of nothing: InputError if something has the name."""
    refuse_taken(path_from(path))
    with replacing(path) as temporary:
        yield temporary
        refuse_taken(Path(path))


def require_writable(path: str | Path) -> None:
    """Before something takes long: InputError where `replacing` will find that no file can be written."""
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
    """A path of a file to write; InputError for what is none."""
    if not isinstance(given, (str, os.PathLike)):
        raise InputError(f"{given!r} is not a path", where="path", do="give the name of a file")
    return Path(given)


def refuse_taken(target: Path) -> None:
    """InputError if anything has this name."""
    if os.path.lexists(target):
        raise InputError(f"{target.name} exists; nothing is overwritten", where=str(target), do="choose another name")


def write_text(path: str | Path, text: str) -> None:
    """Write a text into a file in UTF-8."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_figure(path: Path, figure: Figure, *, metadata: dict[str, None] | None = None) -> None:
    """Draw into memory, then write: where a disk is full, matplotlib fails in ways of its own."""
    drawn = BytesIO()
    figure.savefig(drawn, format=path.suffix[1:], metadata=metadata)
    with replacing(path) as temporary:
        temporary.write_bytes(drawn.getvalue())


def refuse_special(target: Path) -> None:
    """InputError if something stands at this name that is not a regular file."""
    try:
        mode = os.lstat(target).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return  # what is wrong with the place itself is told when a file is made there
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
    """The permissions that new files lack; it can only be read by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
