"""Stores that nobody's catena wrote, with valid checksums: each key of a store replaced, and all that is signed signed again.

A store is four kinds of files: spec.json and the checkpoints (JSON with a checksum), the chunks (numbers with a checksum), and
metadata that follows from both. A mutation changes a key or two; then everything that depends on them is written as if that
had been meant, so that what is tested are the checks of values and not those of checksums.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import re
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from catena.store.checking import check_layout
from catena.store.checkpoint import DIGEST_BYTES, LENGTH_BYTES, MAGIC
from catena.store.layout import Layout, encode_chunk

Key = tuple[str, ...]  # file, then the names of the tables; * stands for any place in a list

RAW = {"<infinite>": "1e400", "<not a number>": "NaN", "<deep>": "[" * 5000 + "]" * 5000, "<digits>": "9" * 5000}
ODD: list[Any] = [
    None, True, False, 0, -1, 1, 2, 3, 7, 1000, 10**6, 2**31, 2**53, 2**61, 2**63 - 1, 2**63, 2**64, 10**30,
    -0.0, 0.5, -2.5, 1e-320, 1e18, 1e308, *RAW, "", "x", "q", "..", "../../outside", ".catena", "a" * 300, "a\nb", "\x1b[31m", "\ud800",
    "</script><script>alert(1)</script>", "__import__('os').system('true')", "seconds since 1e9-01-01", "O", "nan", "1",
    [], {}, [[]], [None], [1, 2, 3], [1.0, "x"], {"a": 1}, {"kind": "Gauss"}, {"kind": []}, [0.0] * 1000,
]  # fmt: skip
TYPES = ["<f4", "<i8", "<c16", "|b1", "|O", "<U8", "<M8[s]", "<f8,<f8", "(2,)<f8", "x" * 50, "", "f8", "<f80"]
SHAPES = [[], [-1], [0], [1], [2**62, 4], [2**31, 2**31, 4], [1.5], ["1"], [[1]], [10**30], None, [3]]
NUMBERS = [np.nan, np.inf, -np.inf, -1.0, 0.5, 1.0, 3.0, 1e9, 1e18, 9.3e18, 1e300, -1e300, 5e-324]
WHOLE = [-1, 0, 1, 2, 3, 7, 10**6, 2**31, 2**53, 2**62, 2**63 - 1, -(2**63)]
ENTRIES = ["a link to a file", "a link to a folder", "a pipe", "a folder", "an empty file", "a sparse file", "nothing"]


class Hostile:
    """Makes stores from a few honest ones, each mutated by chance, the keys that had the fewest mutations first.

    Attributes
    ----------
    counts : how often each key was mutated; the numbers of a column are no key, and count four times
    """

    def __init__(self, honest: list[Path], outside: Path, *, seed: int) -> None:
        self.honest = honest
        self.outside = outside
        self.chance = random.Random(seed)
        self.counts: Counter[Key] = Counter()
        self._where: dict[Key, list[Path]] = {}
        for store in honest:
            for key in Opened(store).places():
                self.counts[key] = 0
                self._where.setdefault(key, []).append(store)

    def make(self, path: Path) -> list[str]:
        """A store under this path; what was done to it."""
        honest = self.chance.choice(self._where[self._seldom(set(self.counts))])
        shutil.copytree(honest, path)
        opened, done = Opened(path, [*ODD, str(self.outside), str(self.outside / "inner")]), []
        known = set(opened.places())
        keys = []
        for _ in range(self.chance.choice([1, 2, 2, 3])):
            keys.append(self._seldom(known - {*keys}))
        for key in keys:
            places = opened.places().get(key)  # none if a table above it is gone
            if places:
                done.append(f"{'.'.join(key)}: {opened.change(self.chance.choice(places), self.chance)}")
                self.counts[key] += (
                    4 if key[0] == "chunk" else 1
                )  # which are no keys: the same numbers under many names
        opened.sign(consistently=self.chance.random() < 0.8)
        if self.chance.random() < 0.1:
            done.append(self._replace_an_entry(path))
        return [honest.stem, *done]

    def _seldom(self, known: set[Key]) -> Key:
        """One of the keys that were mutated least often."""
        fewest = min(self.counts[key] for key in known)
        return self.chance.choice(sorted(key for key in known if self.counts[key] == fewest))

    def _replace_an_entry(self, store: Path) -> str:
        """Something else in the place of a file, or beside it."""
        found = sorted(entry for entry in store.rglob("*") if entry.is_file())
        entry, kind = self.chance.choice(found), self.chance.choice(ENTRIES)
        if self.chance.random() < 0.3:
            entry = entry.with_name(self.chance.choice(["foreign", f".{entry.name}.tmp"]))
        entry.unlink(missing_ok=True)
        if kind == "a link to a file":
            entry.symlink_to(self.outside / self.chance.choice(["precious", "new"]))
        elif kind == "a link to a folder":
            entry.symlink_to(self.outside / "inner")
        elif kind == "a pipe":
            os.mkfifo(entry)
        elif kind == "a folder":
            (entry / "inner").mkdir(parents=True)
        elif kind == "an empty file":
            entry.touch()
        elif kind == "a sparse file":
            with entry.open("wb") as file:
                file.truncate(2**42)
        return f"{entry.relative_to(store)} is {kind}"


class Opened:
    """The content of a store, to be changed and signed again."""

    def __init__(self, store: Path, odd: Sequence[Any] = ODD) -> None:
        self.store = store
        self.odd = odd
        self.spec: Any = json.loads((store / ".catena" / "spec.json").read_bytes())
        self.spec.pop("sha256")
        self.states: dict[str, tuple[dict[str, Any], dict[str, np.ndarray]]] = {}
        for file in sorted((store / ".catena").iterdir()):
            if file.name.startswith("state.") or file.name == "given":
                self.states[file.name] = _unpacked(file.read_bytes())
        self.columns = {
            column["name"]: (column["chunk_rows"], column["shape"])
            for stream in self.spec["streams"]
            for column in stream["columns"]
        }

    def places(self) -> dict[Key, list[tuple[Any, ...]]]:
        """Where each key stands."""
        found: dict[Key, list[tuple[Any, ...]]] = {}
        for file, content in [("spec", self.spec), *((name, head) for name, (head, _) in self.states.items())]:
            for place in _walk(content):
                found.setdefault(_key(file, place), []).append((file, *place))
        for file, (_, arrays) in self.states.items():
            for array in arrays:
                found.setdefault(_key(file, ("numbers", array)), []).append((file, "numbers", array))
        for column in self.columns:
            if (self.store / column / "c").is_dir():  # some section was never crossed
                found.setdefault(("chunk", _plain(column)), []).append(("chunk", column))
        return found

    def change(self, place: tuple[Any, ...], chance: random.Random) -> str:
        """Another value at this place; what it was and is."""
        if place[0] == "chunk":
            return self._change_numbers_of_a_chunk(place[1], chance)
        if len(place) == 3 and place[1] == "numbers":
            return _change_numbers(*self.states[place[0]], place[2], chance)
        table: Any = self.spec if place[0] == "spec" else self.states[place[0]][0]
        for name in place[1:-1]:
            table = table[name]
        name, old = place[-1], table[place[-1]]
        if chance.random() < 0.12:
            del table[name]
            return f"{_short(old)} removed"
        if "arrays" in place[-3:-2] and chance.random() < 0.7:
            table[name] = chance.choice(TYPES if name == 1 else SHAPES)
        else:
            table[name] = _odd(old, self.odd, chance)
        return f"{_short(old)} -> {_short(table[name])}"

    def sign(self, *, consistently: bool) -> None:
        """Write everything, with checksums; metadata follows from it where that is possible."""
        text = _signed(self.spec)
        (self.store / ".catena" / "spec.json").write_bytes(text)
        digest = hashlib.sha256(text).hexdigest()
        for name, (head, arrays) in self.states.items():
            if consistently and isinstance(head.get("layout"), str):
                head["layout"] = digest
            (self.store / ".catena" / name).write_bytes(_packed(head, arrays))
        if not consistently:
            return
        with suppress(Exception):  # a layout that cannot be: the old metadata stay
            layout = Layout._from_table(check_layout(json.loads(json.dumps(self.spec))))
            heads = [head for name, (head, _) in self.states.items() if name != "given"]
            rows = max(heads, key=lambda head: head["generation"])["rows"] if heads else layout.first_rows()
            for column, data in layout.array_files(rows).items():
                if column in self.columns:  # and nowhere else, whatever the name leads to
                    (self.store / column / "zarr.json").write_bytes(data)
            (self.store / "zarr.json").write_bytes(layout.root_file(rows))

    def _change_numbers_of_a_chunk(self, column: str, chance: random.Random) -> str:
        files = sorted(file for file in (self.store / column / "c").rglob("*") if file.is_file())
        rows, shape = self.columns[column]
        file = chance.choice(files)
        values = np.frombuffer(file.read_bytes()[:-4], dtype="<f8").reshape(rows, *shape).copy()
        flat, number = values.reshape(-1), chance.choice(NUMBERS)
        count = chance.choice([1, 3, flat.size])
        flat[[chance.randrange(flat.size) for _ in range(count)]] = number
        self._put_chunk(column, file, values)
        return f"{count} numbers of {file.relative_to(self.store)} -> {number}"

    def set_chunk(self, column: str, number: float) -> None:
        """One number in all rows of the first chunk of a column."""
        file = min(file for file in (self.store / column / "c").rglob("*") if file.is_file())
        rows, shape = self.columns[column]
        self._put_chunk(column, file, np.full((rows, *shape), number))

    def _put_chunk(self, column: str, file: Path, values: np.ndarray) -> None:
        file.write_bytes(encode_chunk(values))
        rows = len(values)
        for head, _ in self.states.values():  # the last chunk is signed by the checkpoint, too
            partial, used = head.get("partial"), _rows_of(self.spec, head, column)
            if isinstance(partial, dict) and column in partial and isinstance(used, int) and used % rows:
                signed = values.copy()
                signed[used % rows :] = np.nan
                partial[column] = int.from_bytes(encode_chunk(signed)[-4:], "little")


def _rows_of(spec: Any, head: Any, column: str) -> Any:
    with suppress(LookupError, TypeError, AttributeError):
        for stream in spec["streams"]:
            if any(each["name"] == column for each in stream["columns"]):
                return head["rows"][stream["name"]]
    return None


def _walk(content: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """All places in JSON, and not more than a few of a long list."""
    if isinstance(content, dict):
        items: list[tuple[Any, Any]] = list(content.items())
    elif isinstance(content, list):
        items = list(enumerate(content))[:12]
    else:
        return
    for name, value in items:
        yield (*above, name)
        yield from _walk(value, (*above, name))


def _key(file: str, place: tuple[Any, ...]) -> Key:
    """Places in lists are one key, and so are all that is below the copy of the case that readers see."""
    if file == "spec" and place[:2] == ("attributes", "case") and len(place) > 2:
        place = (*place[:2], "below")
    return (file.split(".")[0], *("*" if isinstance(name, int) else _plain(name) for name in place))


def _plain(name: str) -> str:
    """Columns of sections and events are those of the samples, and so on."""
    return re.sub(r"^(section_[a-z]+_|event_|start_|final_)(?=.)", "section_", str(name))


def _odd(old: Any, odd: Sequence[Any], chance: random.Random) -> Any:
    """Something else: anything, or something near."""
    near: list[Any] = []
    if isinstance(old, bool):
        near = [not old]
    elif isinstance(old, int):
        near = [old + 1, old - 1, -old, 2 * old, float(old), old + 0.5, str(old), old + 2**32, [old]]
    elif isinstance(old, float):
        near = [-old, 2 * old, old + 1e-3, 1e300 * old, str(old), [old], int(old) if abs(old) < 1e15 else 0]
    elif isinstance(old, str):
        near = [
            old + "x",
            old[:-1],
            old.upper(),
            old * 40,
            [old],
            {"kind": old},
            f"({old})",
            old + "**100",
            "-" * 60 + old,
        ]
    elif isinstance(old, list):
        near = [old[:-1], old + old[-1:], old[::-1], [old], old * 3, {"0": old}, {str(k): v for k, v in enumerate(old)}]
    elif isinstance(old, dict):
        near = [{**old, "unknown": 1}, list(old.values()), dict(list(old.items())[:-1]), [old], {**old, "": None}]
    return chance.choice(near) if near and chance.random() < 0.5 else chance.choice(odd)


def _change_numbers(head: Any, arrays: dict[str, np.ndarray], name: str, chance: random.Random) -> str:
    """Other numbers, or more of them; the head then says so as well, more often than not."""
    array = arrays[name]
    number = chance.choice(NUMBERS if array.dtype.kind == "f" else WHOLE)
    if array.size == 0 or chance.random() < 0.15:
        arrays[name] = np.full(chance.choice([1, 5, 100]), number)
        for entry in head["arrays"] if isinstance(head.get("arrays"), list) and chance.random() < 0.8 else ():
            if isinstance(entry, list) and len(entry) == 3 and entry[0] == name:
                entry[2] = [arrays[name].size]
        return f"-> {arrays[name].size} times {number}"
    changed = array.copy()
    flat, at = changed.reshape(-1), chance.choice([0, -1, chance.randrange(array.size), slice(None)])
    flat[at] = number
    arrays[name] = changed
    return f"{at} -> {number}"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _dumped(content: Any) -> str:
    text = json.dumps(content, sort_keys=True)
    for word, raw in RAW.items():
        text = text.replace(json.dumps(word), raw)
    return text


def _signed(content: Any) -> bytes:
    """The text of a spec.json with this content."""
    digest = hashlib.sha256(f"{_dumped(content)}\n".encode()).hexdigest()
    return f"{_dumped({**content, 'sha256': digest})}\n".encode()


def _packed(head: dict[str, Any], arrays: dict[str, np.ndarray]) -> bytes:
    """The bytes of a state file."""
    text = f"{_dumped(head)}\n".encode()
    numbers = b"".join(np.ascontiguousarray(arrays[name]).tobytes() for name in sorted(arrays))
    body = MAGIC + len(text).to_bytes(LENGTH_BYTES, "little") + text + numbers
    return body + hashlib.sha256(body).digest()


def _unpacked(data: bytes) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    start = len(MAGIC) + LENGTH_BYTES
    end = start + int.from_bytes(data[len(MAGIC) : start], "little")
    head, arrays = json.loads(data[start:end]), {}
    for name, kind, shape in head["arrays"]:
        count = int(np.prod(shape))
        arrays[name] = np.frombuffer(data[:-DIGEST_BYTES], dtype=kind, count=count, offset=end).reshape(shape)
        end += arrays[name].nbytes
    return head, arrays
