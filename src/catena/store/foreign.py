"""Foreign entries: what a store contains that no run wrote.

They are never opened, followed or waited for, only named.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from catena.errors import StoreError
from catena.store.checking import show
from catena.store.checkpoint import GIVEN, SLOTS, slot_path
from catena.store.files import temporary_of
from catena.store.layout import PRIVATE, ROOT_METADATA, Layout

OWN = ("spec.json", "lock", GIVEN, *(slot_path(Path(), k).name for k in range(SLOTS)))  # in the private folder
INDEX = re.compile(r"0|[1-9][0-9]*")
DEEPEST = 40  # limit for nested folders; numpy supports 32 dimensions


def refuse_foreign(store: Path) -> None:
    """StoreError if a store contains links, pipes or devices: they could lead out of it, or block forever."""
    for special in special_entries(store):
        raise StoreError(
            f"{special}: no run wrote it", where=str(store),
            do="do not trust this store; remove that entry if you know where it came from",
        )  # fmt: skip


def special_entries(store: Path) -> list[str]:
    """Entries of a store that are neither files nor folders."""
    return [f"{show(name)} is {kind}" for name, kind in _entries(store) if kind not in ("file", "folder")]


def foreign_entries(store: Path, layout: Layout) -> list[str]:
    """Entries that a run with this layout did not write, judging by names and kinds."""
    found: list[str] = []
    for name, kind in _entries(store):
        if (
            kind in ("file", "folder")
            and not _belongs(Path(name).parts, kind, layout)
            and not any(name.startswith(f"{known}/") for known in found)
        ):
            found.append(name)
    return [*map(show, found), *special_entries(store)]


def _belongs(parts: tuple[str, ...], kind: str, layout: Layout) -> bool:
    """Whether a run writes entries with this name; it may have been killed before the last rename."""
    if len(parts) == 1:
        return _is_own(parts[0], (ROOT_METADATA,)) if kind == "file" else parts[0] in (PRIVATE, *layout.chunk_rows)
    if parts[0] == PRIVATE:
        return len(parts) == 2 and kind == "file" and _is_own(parts[1], OWN)
    if len(parts) == 2:
        return _is_own(parts[1], (ROOT_METADATA,)) if kind == "file" else parts[1] == "c"
    row = next((column.shape for stream in layout.streams for column in stream.columns if column.name == parts[0]), ())
    if parts[1] != "c" or len(parts) > 3 + len(row) or any(part != "0" for part in parts[3:-1]):
        return False
    last = len(parts) == 3 + len(row)
    names = (parts[-1],) if len(parts) == 3 and INDEX.fullmatch(_bare(parts[-1])) else ("0",)
    if len(parts) > 3 and not INDEX.fullmatch(parts[2]):
        return False
    return (kind == "file") == last and (_is_own(parts[-1], names) or _is_own(parts[-1], tuple(map(_bare, names))))


def _bare(name: str) -> str:
    """The final name of a temporary file."""
    return name[1:-4] if name.startswith(".") and name.endswith(".tmp") else name


def _is_own(name: str, known: tuple[str, ...]) -> bool:
    return name in known or any(name == temporary_of(Path(one)).name for one in known)


def _entries(store: Path) -> Iterator[tuple[str, str]]:
    """Every entry below a store, with its kind; only folders are opened."""
    waiting = [""]
    while waiting:
        folder = waiting.pop()
        try:
            with os.scandir(store / folder) as entries:
                listed = sorted(entries, key=lambda entry: entry.name)
        except FileNotFoundError:  # a run in progress has just removed it
            continue
        for entry in listed:
            name = f"{folder}/{entry.name}" if folder else entry.name
            if entry.is_symlink():
                yield name, "a link"
            elif entry.is_dir(follow_symlinks=False):
                yield name, "folder"
                if name.count("/") < DEEPEST:
                    waiting.append(name)
                else:
                    yield name, "a folder too deep"
            elif entry.is_file(follow_symlinks=False):
                yield name, "file"
            else:
                yield name, "neither a file nor a directory"
