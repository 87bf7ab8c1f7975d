"""A disk that loses its power: what was not flushed may be there, or not, or in part, whatever came before or after it.

`Disk` watches all changes of the files under a folder and notes them. `remains` makes the folder again as a loss of power at some
moment may leave it. The rules are those of POSIX at its worst:

* The data of a file are safe once the file was flushed; until then it may be empty, cut off, or hold zeros.
* Names (a file made, renamed or removed) are safe once their directory was flushed; until then each of them may be the old one or
  the new one, independently of the others and of the data.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

ROOT = 0  # the node of the folder
Tree = dict[str, Any]  # name -> bytes of a file, or another tree


@dataclass(frozen=True)
class Change:
    """One change: names it takes away and gives in a directory, or data that it adds to a file."""

    node: int  # the directory or the file, which must be flushed
    data: bytes | None = None
    taken: str = ""
    given: str = ""
    moved: int = -1  # what has the name


@dataclass(frozen=True)
class Flush:
    """Brings a file or the names in a directory to the disk."""

    node: int


@dataclass(frozen=True)
class Promise:
    """The writer was told that so many rows are safe; 0: that the store exists."""

    rows: int


class Killed(BaseException):
    """The process is no more."""


@dataclass
class Disk:
    """All changes under a folder, in their order."""

    folder: Path
    log: list[Change | Flush | Promise] = field(default_factory=list)
    directories: set[int] = field(default_factory=lambda: {ROOT})
    death: int | None = None  # length of the log at which the process is killed
    _names: dict[str, int] = field(default_factory=dict)
    _open: dict[int, int] = field(default_factory=dict)  # descriptor -> node

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Note what happens meanwhile."""
        try:
            with pytest.MonkeyPatch.context() as patch:
                for name in ("open", "close", "write", "fsync", "mkdir", "rmdir", "unlink", "replace", "rename"):
                    patch.setattr(os, name, getattr(self, name)(getattr(os, name)))
                yield
        finally:
            for descriptor in self._open:  # as the death of a process does
                os.close(descriptor)
            self._open.clear()

    def promise(self, rows: int) -> None:
        """Note what the writer was told."""
        self.log.append(Promise(rows))

    def open(self, real: Callable[..., int]) -> Callable[..., int]:
        def opened(path: Any, flags: int, *mode: int, **options: Any) -> int:
            name = self._name(path)
            made = name is not None and flags & os.O_CREAT and name not in self._names
            if made:
                self._live()
            descriptor = real(path, flags, *mode, **options)
            if name is not None:
                if made:
                    self._give(name, self._node(), directory=False)
                self._open[descriptor] = self._names[name]
            return descriptor

        return opened

    def close(self, real: Callable[[int], None]) -> Callable[[int], None]:
        def closed(descriptor: int) -> None:
            self._open.pop(descriptor, None)
            real(descriptor)

        return closed

    def write(self, real: Callable[..., int]) -> Callable[..., int]:
        def written(descriptor: int, data: Any) -> int:
            if descriptor not in self._open:
                return real(descriptor, data)
            self._live()
            count = real(descriptor, data)
            self.log.append(Change(self._open[descriptor], data=bytes(data[:count])))
            return count

        return written

    def fsync(self, real: Callable[[int], None]) -> Callable[[int], None]:
        def flushed(descriptor: int) -> None:
            if descriptor not in self._open:
                return
            self._live()
            self.log.append(Flush(self._open[descriptor]))

        return flushed

    def mkdir(self, real: Callable[..., None]) -> Callable[..., None]:
        def made(path: Any, *mode: int, **options: Any) -> None:
            name = self._name(path)
            if name is None:
                return real(path, *mode, **options)
            self._live()
            real(path, *mode, **options)
            self._give(name, self._node(), directory=True)
            return None

        return made

    def unlink(self, real: Callable[..., None]) -> Callable[..., None]:
        def removed(path: Any, **options: Any) -> None:
            name = self._name(path)
            if name is None:
                return real(path, **options)
            self._live()
            real(path, **options)
            folder, own = self._split(name)
            self.log.append(Change(folder, taken=own, moved=self._names.pop(name)))
            return None

        return removed

    rmdir = unlink

    def replace(self, real: Callable[..., None]) -> Callable[..., None]:
        def moved(source: Any, target: Any, **options: Any) -> None:
            old, new = self._name(source), self._name(target)
            if old is None or new is None:
                return real(source, target, **options)
            self._live()
            real(source, target, **options)
            folder, own = self._split(old)
            there, given = self._split(new)
            assert folder == there, "a rename between two directories is not safe: which of them is flushed first?"
            node = self._names.pop(old)
            below = {name: self._names.pop(name) for name in list(self._names) if name.startswith(f"{old}/")}
            self._names[new] = node
            self._names |= {new + name.removeprefix(old): inner for name, inner in below.items()}
            self.log.append(Change(folder, taken=own, given=given, moved=node))
            return None

        return moved

    rename = replace

    def _live(self) -> None:
        if self.death is not None and len(self.log) >= self.death:
            raise Killed

    def _name(self, path: Any) -> str | None:
        """The name inside of the folder; None for other files."""
        if not isinstance(path, (str, Path)):
            return None
        absolute = Path(path)
        if absolute == self.folder:
            return ""
        return str(absolute.relative_to(self.folder)) if absolute.is_relative_to(self.folder) else None

    def _split(self, name: str) -> tuple[int, str]:
        folder, _, own = name.rpartition("/")
        return (self._names[folder] if folder else ROOT), own

    def _node(self) -> int:
        return 1 + max([ROOT, *self._names.values(), *(c.moved for c in self.log if isinstance(c, Change))])

    def _give(self, name: str, node: int, *, directory: bool) -> None:
        folder, own = self._split(name)
        self.log.append(Change(folder, given=own, moved=node))
        self._names[name] = node
        if directory:
            self.directories.add(node)

    def __post_init__(self) -> None:
        self._names[""] = ROOT


KEPT, DROPPED, CUT, ZEROS = "kept", "dropped", "cut", "zeros"
Fate = Callable[[Change], str]
FATES: dict[str, Fate] = {
    "nothing more is there": lambda change: DROPPED,
    "names without data": lambda change: DROPPED if change.data is not None else KEPT,
    "names with half of the data": lambda change: CUT,
    "names with zeros for data": lambda change: ZEROS,
    "data without names": lambda change: KEPT if change.data is not None else DROPPED,
}


def by_chance(seed: int) -> Fate:
    """Each change by itself."""
    dice = random.Random(seed)
    return lambda change: dice.choice([KEPT, DROPPED, CUT, ZEROS])


def remains(disk: Disk, moment: int, fate: Fate) -> tuple[Tree, int | None]:
    """The folder after a loss of power right after so many changes, and the rows that were promised until then."""
    log, promised = disk.log[:moment], None
    flushed: dict[int, int] = {}  # node -> when it was flushed last
    for number, entry in enumerate(log):
        if isinstance(entry, Flush):
            flushed[entry.node] = number
        elif isinstance(entry, Promise):
            promised = entry.rows
    files: dict[int, bytes] = {}
    names: dict[int, dict[str, int]] = {node: {} for node in disk.directories}
    for number, change in enumerate(log):
        if not isinstance(change, Change):
            continue
        end = KEPT if flushed.get(change.node, -1) > number else fate(change)
        if change.data is not None:
            data = {KEPT: change.data, CUT: change.data[: len(change.data) // 2], ZEROS: bytes(len(change.data))}
            files[change.node] = files.get(change.node, b"") + data.get(end, b"")
        elif end != DROPPED:
            entries = names[change.node]
            if change.taken and entries.get(change.taken) == change.moved:
                del entries[change.taken]
            if change.given:
                entries[change.given] = change.moved

    def tree(node: int) -> Tree:
        return {
            name: tree(inner) if inner in disk.directories else files.get(inner, b"")
            for name, inner in sorted(names[node].items())
        }

    return tree(ROOT), promised


def lay_out(tree: Tree, folder: Path) -> None:
    """Make the files."""
    folder.mkdir(exist_ok=True)
    for name, content in tree.items():
        if isinstance(content, bytes):
            (folder / name).write_bytes(content)
        else:
            lay_out(content, folder / name)
