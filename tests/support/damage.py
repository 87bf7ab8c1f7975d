"""Files left by an accident of disk, power or copying, and child processes that must get the same numbers with them."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from processes import spawn


def damaged(whole: bytes, other: bytes, numbers: random.Random) -> Iterator[tuple[str, bytes]]:
    """Possible damages of a file, without end; `other` is another file of the same cache."""
    place = lambda: numbers.randrange(len(whole))  # noqa: E731
    while True:
        at, bit = place(), 1 << numbers.randrange(8)
        yield "a flipped bit", whole[:at] + bytes([whole[at] ^ bit]) + whole[at + 1 :]
        yield "cut off", whole[: place()]
        first, last = sorted((place(), place()))
        yield "zeros inside", whole[:first] + bytes(last - first + 1) + whole[last + 1 :]
        yield "zeros to the end", whole[:first] + bytes(len(whole) - first)
        yield "more at the end", whole + numbers.randbytes(1 + place())
        yield "a block moved", whole[last:] + whole[first:last] + whole[:first]
        yield "empty", b""
        yield "zeros", bytes(len(whole))
        yield "another file", other
        yield "another format", whole.replace(b"catena cache 1", b"catena cache 2", 1)
        yield "noise", numbers.randbytes(len(whole))


def put_pipe(path: Path) -> None:
    """A pipe in place of a file: opening it blocks."""
    path.unlink()
    os.mkfifo(path)


def put_link(path: Path) -> None:
    """A link to the whole file in place of the file."""
    shutil.copy(path, path.parent.parent / "elsewhere")
    path.unlink()
    path.symlink_to(path.parent.parent / "elsewhere")


def put_device(path: Path) -> None:
    """A link to a device that never ends."""
    path.unlink()
    path.symlink_to("/dev/zero")


def put_directory(path: Path) -> None:
    """A directory in place of a file."""
    path.unlink()
    path.mkdir()
    (path / "inside").touch()


NO_FILES = (put_pipe, put_link, put_device, put_directory)


def told_by_child(action: Callable[[], str], results: Path) -> str:
    """The result of an action in a forked child, whose crash does not affect the test."""
    told = results / "told"
    status = os.waitpid(spawn(lambda: told.write_text(action())), 0)[1]
    assert status == 0, f"the child ended with {status}"
    text = told.read_text()
    told.unlink()
    return text
