"""Checkpoints: everything that a run needs to continue, in two files written alternately.

A file `state.<n>` holds

    magic | length of the head, 8 bytes | head, JSON | arrays | SHA-256 of everything before it

Commit g goes to slot g mod 2, so the previous commit stays intact while this one is written. The start of a run may be
too large to be written again with each commit: it is given once, at creation, in a file of the same form.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path

import numpy as np

from catena.store.checking import check_head, check_rows, read_json
from catena.store.files import read_file
from catena.store.layout import PRIVATE, Layout, canonical_json
from catena.text.plain import Json

MAGIC = b"catena state 1\n"
LENGTH_BYTES = 8
DIGEST_BYTES = hashlib.sha256().digest_size
SLOTS = 2
GIVEN = "given"


@dataclass(frozen=True)
class Checkpoint:
    """The position of a run.

    Parameters
    ----------
    step : steps made
    finished : whether the run reached its end
    rows : committed rows of each stream
    head : JSON of the caller
    arrays : arrays of the caller, any numeric type
    """

    step: int
    finished: bool
    rows: dict[str, int]
    head: Mapping[str, Json]
    arrays: dict[str, np.ndarray]


@dataclass(frozen=True)
class Slot:
    """A checkpoint as stored in a state file.

    Parameters
    ----------
    generation : number of the commit, from 0
    layout : digest of spec.json
    partial : checksum of the partly filled last chunk of each column that has one
    checkpoint : the committed checkpoint
    """

    generation: int
    layout: str
    partial: dict[str, int]
    checkpoint: Checkpoint


def slot_path(store: Path, generation: int) -> Path:
    """The state file of a commit."""
    return store / PRIVATE / f"state.{generation % SLOTS}"


def pack(slot: Slot) -> bytes:
    """The bytes of a state file."""
    checkpoint = slot.checkpoint
    arrays = {name: _portable(name, checkpoint.arrays[name]) for name in sorted(checkpoint.arrays)}
    head = canonical_json(
        {
            "generation": slot.generation,
            "layout": slot.layout,
            "partial": slot.partial,
            "step": checkpoint.step,
            "finished": checkpoint.finished,
            "rows": checkpoint.rows,
            "head": checkpoint.head,
            "arrays": [[name, array.dtype.str, list(array.shape)] for name, array in arrays.items()],
        }
    )
    parts: list[bytes | memoryview] = [MAGIC, len(head).to_bytes(LENGTH_BYTES, "little"), head]
    parts += [array.data for array in arrays.values()]
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return b"".join([*parts, digest.digest()])


def unpack(data: bytes) -> Slot:
    """Read the bytes of a state file; ValueError if they are damaged."""
    body, digest = memoryview(data)[:-DIGEST_BYTES], data[-DIGEST_BYTES:]  # a state may be large, so it is not copied
    if not data.startswith(MAGIC) or hashlib.sha256(body).digest() != digest:
        raise ValueError("fails its checksum")
    start = len(MAGIC) + LENGTH_BYTES
    end = start + int.from_bytes(body[len(MAGIC) : start], "little")
    head = check_head(read_json(bytes(body[start:end])))
    sizes = [np.dtype(kind).itemsize * prod(shape) for _, kind, shape in head.arrays]
    if end + sum(sizes) != len(body):
        raise ValueError(f"has {len(body) - end} bytes of arrays instead of {sum(sizes)}")
    arrays = {}
    for (name, kind, shape), size in zip(head.arrays, sizes, strict=True):
        arrays[name] = np.frombuffer(body, dtype=kind, count=prod(shape), offset=end).reshape(shape).copy()
        end += size
    checkpoint = Checkpoint(head.step, head.finished, head.rows, head.head, arrays)
    return Slot(head.generation, head.layout, head.partial, checkpoint)


def pack_given(arrays: Mapping[str, np.ndarray], *, layout: Layout) -> bytes:
    """The bytes of the file of the arrays given at creation, in the form of a checkpoint before the first step."""
    start = Checkpoint(0, False, layout.first_rows(), {}, dict(arrays))
    return pack(Slot(0, layout.digest(), {}, start))


def read_given(store: Path, layout: Layout) -> dict[str, np.ndarray]:
    """The arrays given at creation; ValueError if the file is damaged."""
    if not layout.given:
        return {}
    try:
        slot = unpack(read_file(store / PRIVATE / GIVEN))
    except FileNotFoundError:
        raise ValueError(f"{GIVEN} is missing") from None
    except ValueError as error:
        raise ValueError(f"{GIVEN} {error}") from None
    if slot.layout != layout.digest():
        raise ValueError(f"{GIVEN} belongs to another run")
    if sorted(slot.checkpoint.arrays) != sorted(layout.given):
        raise ValueError(
            f"{GIVEN}: arrays = {sorted(slot.checkpoint.arrays)}, but spec.json tells of {sorted(layout.given)}"
        )
    return slot.checkpoint.arrays


def read_slots(store: Path, *, layout: str) -> tuple[list[Slot], list[str]]:
    """The intact checkpoints of a store, newest first, and what is wrong with the others.

    Parameters
    ----------
    store : directory of the store
    layout : digest of its spec.json
    """
    slots, damage = [], []
    for generation in range(SLOTS):
        path = slot_path(store, generation)
        try:
            slot = unpack(read_file(path))
            if slot_path(store, slot.generation) != path:
                raise ValueError(f"generation = {slot.generation} belongs into the other state file")
        except FileNotFoundError:
            continue
        except ValueError as error:
            damage.append(f"{path.name} {error}")
            continue
        if slot.layout != layout:
            damage.append(f"{path.name} belongs to another run")
            continue
        slots.append(slot)
    return sorted(slots, key=lambda slot: -slot.generation), damage


def slot_marks(store: Path) -> list[tuple[int, int, int] | None]:
    """Marks that change if a state file is replaced: a commit writes a new file, and renames it."""
    marks: list[tuple[int, int, int] | None] = []
    for generation in range(SLOTS):
        try:
            found = slot_path(store, generation).lstat()
            marks.append((found.st_ino, found.st_mtime_ns, found.st_size))
        except FileNotFoundError:
            marks.append(None)
    return marks


def sound_slots(slots: list[Slot], damage: list[str], layout: Layout) -> tuple[list[Slot], list[str]]:
    """The checkpoints whose counts are possible in a store with this layout, and what is wrong with the others."""
    fixed = {stream.name: stream.fixed for stream in layout.streams}
    chunks = {c.name: (stream.name, layout.chunk_rows[c.name]) for stream in layout.streams for c in stream.columns}
    sound, wrong = [], list(damage)
    for slot in slots:
        try:
            check_rows(slot.checkpoint.rows, slot.partial, fixed=fixed, chunks=chunks)
            sound.append(slot)
        except ValueError as error:
            wrong.append(f"{slot_path(Path(), slot.generation).name} {error}")
    return sound, wrong


def _portable(name: str, array: np.ndarray) -> np.ndarray:
    array = np.asarray(array, order="C")
    if array.dtype.kind not in "biufc":
        raise TypeError(f"checkpoint array {name!r} has type {array.dtype}, not a numeric one")
    return array.astype(array.dtype.newbyteorder("<"), copy=False)
