"""Validation of untrusted stores: every table and every number of our own files is checked before it is used.

A checksum shows that a file is unchanged, not who wrote it. A refusal is a ValueError that names the field,
the value found and the value expected; the caller adds the file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from math import isfinite, prod
from typing import NamedTuple, TypeVar

from ..text.plain import Json

MOST = 2**48  # largest count in a store: the size in bytes still fits into 64 bits
WHOLE = 2**63  # limit for integers
DEEPEST = 100  # limit for nested tables
ROW_BYTES = 8  # per number
CHUNK_BYTES = 2**20  # limit for a chunk of several rows
NUMERIC = re.compile(r"\|b1|\|[iu]1|<[iu][248]|<f[248]|<c(8|16)")  # types of the arrays of a checkpoint
SHOWN = 60  # characters of a value in a message

Seen = TypeVar("Seen")


def read_json(data: bytes) -> Json:
    """The content of a JSON text as catena writes it: finite numbers, 64-bit integers, text without lone surrogates."""
    try:
        content: Json = json.loads(data)
    except RecursionError:
        raise ValueError(f"holds more than {DEEPEST} tables inside each other") from None
    _check_plain(content)
    return content


def _check_plain(content: Json) -> None:
    """Check level by level, without recursion: deeply nested tables must not crash the program."""
    level = [content]
    for _ in range(DEEPEST):
        inner: list[Json] = []
        for one in level:
            if isinstance(one, float):
                if one - one != 0.0:
                    raise ValueError(f"holds {one}, which is no finite number")
            elif isinstance(one, list):
                inner += one
            elif isinstance(one, dict):
                inner += one  # its keys
                inner += one.values()
            elif isinstance(one, int):
                if not -WHOLE <= one < WHOLE:
                    raise ValueError(f"holds {show(one)}, which has more than 64 bits")
            elif isinstance(one, str) and not one.isascii() and any("\ud800" <= letter <= "\udfff" for letter in one):
                raise ValueError(f"holds {show(one)}, which has half of a letter")
        if not inner:
            return
        level = inner
    raise ValueError(f"holds more than {DEEPEST} tables inside each other")


def show(value: object) -> str:
    """A value as shown in a message: on one line, abbreviated if long."""
    text = ascii(value) if not isinstance(value, str) or not value.isprintable() else repr(value)
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 3]}..."


def table(value: object, field: str, *, needs: Iterable[str] = ()) -> dict[str, Json]:
    """A table with at least these keys."""
    if not isinstance(value, dict):
        raise ValueError(f"{field} = {show(value)} is not a table")
    for name in needs:
        if name not in value:
            raise ValueError(f"{field} has no {name}")
    return value


def check_list(value: object, field: str) -> list[Json]:
    """A list."""
    if not isinstance(value, list):
        raise ValueError(f"{field} = {show(value)} is not a list")
    return value


def text(value: object, field: str) -> str:
    """A text."""
    if not isinstance(value, str):
        raise ValueError(f"{field} = {show(value)} is not a text")
    return value


def truth(value: object, field: str) -> bool:
    """true or false."""
    if not isinstance(value, bool):
        raise ValueError(f"{field} = {show(value)} is not true or false")
    return value


def whole(value: object, field: str, *, least: int = 0, below: int = MOST) -> int:
    """An integer in a range."""
    if type(value) is not int or not least <= value < below:
        raise ValueError(f"{field} = {show(value)} is not a whole number from {least} to {below - 1}")
    return value


def number(value: object, field: str) -> float:
    """A finite number."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not isfinite(value):
        raise ValueError(f"{field} = {show(value)} is not a finite number")
    return float(value)


def all_of(check: Callable[[object, str], Seen], values: object, field: str) -> list[Seen]:
    """A list whose items each pass a check."""
    return [check(value, f"{field}[{place}]") for place, value in enumerate(check_list(values, field))]


class ColumnTable(NamedTuple):
    """Description of a column in spec.json."""

    name: str
    shape: tuple[int, ...]
    dims: tuple[str, ...]
    attributes: dict[str, Json]
    chunk_rows: int


class StreamTable(NamedTuple):
    """Description of a stream in spec.json."""

    name: str
    dim: str
    fixed: int
    columns: list[ColumnTable]


class LayoutTable(NamedTuple):
    """Content of spec.json."""

    spec: dict[str, Json]
    attributes: dict[str, Json]
    rows_per_commit: int
    given: tuple[str, ...]
    streams: list[StreamTable]


def check_layout(content: Json) -> LayoutTable:
    """Check types and ranges of everything in spec.json about arrays; `Layout` checks the names."""
    fields = table(content, "it", needs=("spec", "attributes", "rows_per_commit", "streams"))
    spec = table(fields["spec"], "spec")
    attributes = table(fields["attributes"], "attributes")
    rows_per_commit = whole(fields["rows_per_commit"], "rows_per_commit", least=1)
    given = tuple(all_of(text, fields.get("given", []), "given"))
    if len(set(given)) < len(given):
        raise ValueError(f"given = {show(list(given))} names an array twice")
    return LayoutTable(spec, attributes, rows_per_commit, given, all_of(_check_stream, fields["streams"], "streams"))


def _check_stream(value: object, field: str) -> StreamTable:
    stream = table(value, field, needs=("name", "dim", "columns"))
    name = text(stream["name"], f"{field}.name")
    dim = text(stream["dim"], f"{field}.dim")
    fixed = whole(stream.get("fixed", 0), f"{field}.fixed")
    columns = all_of(lambda column, place: _check_column(column, place, fixed), stream["columns"], f"{field}.columns")
    return StreamTable(name, dim, fixed, columns)


def _check_column(value: object, field: str, fixed: int) -> ColumnTable:
    column = table(value, field, needs=("name", "shape", "dims", "attributes", "chunk_rows"))
    name = text(column["name"], f"{field}.name")
    dims = all_of(text, column["dims"], f"{field}.dims")
    attributes = table(column["attributes"], f"{field}.attributes")
    shape = all_of(lambda size, where: whole(size, where, least=1), column["shape"], f"{field}.shape")
    rows = whole(column["chunk_rows"], f"{field}.chunk_rows", least=1)
    if prod(shape) >= MOST:
        raise ValueError(f"{field}.shape = {show(shape)} has too many numbers")
    if fixed and rows != fixed:
        raise ValueError(f"{field}.chunk_rows = {rows} is not the length {fixed} of its stream")
    if not fixed and rows > 1 and rows * prod(shape) * ROW_BYTES > CHUNK_BYTES:
        raise ValueError(f"{field}.chunk_rows = {rows} makes chunks of more than {CHUNK_BYTES} bytes")
    return ColumnTable(name, tuple(shape), tuple(dims), attributes, rows)


class HeadTable(NamedTuple):
    """Header of a state file: for each array its name, type and shape."""

    generation: int
    layout: str
    partial: dict[str, int]
    step: int
    finished: bool
    rows: dict[str, int]
    head: dict[str, Json]
    arrays: list[tuple[str, str, list[int]]]


def check_head(content: Json) -> HeadTable:
    """Check types and ranges of the header of a state file."""
    fields = table(
        content, "it", needs=("generation", "layout", "partial", "step", "finished", "rows", "head", "arrays")
    )
    generation = whole(fields["generation"], "generation", below=2**62)
    step = whole(fields["step"], "step", below=2**62)
    finished = truth(fields["finished"], "finished")
    layout = text(fields["layout"], "layout")
    head = table(fields["head"], "head")
    rows = {name: whole(count, f"rows.{name}") for name, count in table(fields["rows"], "rows").items()}
    partial = {
        name: whole(crc, f"partial.{name}", below=2**32) for name, crc in table(fields["partial"], "partial").items()
    }
    arrays = all_of(_check_array, fields["arrays"], "arrays")
    names = [name for name, _, _ in arrays]
    if len(set(names)) < len(names):
        raise ValueError(f"arrays names one of {show(names)} twice")
    return HeadTable(generation, layout, partial, step, finished, rows, head, arrays)


def _check_array(value: object, field: str) -> tuple[str, str, list[int]]:
    entry = check_list(value, field)
    if len(entry) != 3:
        raise ValueError(f"{field} = {show(entry)} is not a name, a type and a shape")
    name, kind = text(entry[0], f"{field}[0]"), text(entry[1], f"{field}[1]")
    if not NUMERIC.fullmatch(kind):
        raise ValueError(f"{field}[1] = {show(kind)} is not a type of numbers")
    shape = all_of(whole, entry[2], f"{field}[2]")
    if prod(shape) >= MOST:
        raise ValueError(f"{field}[2] = {show(shape)} has too many numbers")
    return name, kind, shape


def check_rows(
    rows: Mapping[str, int],
    partial: Mapping[str, int],
    *,
    fixed: Mapping[str, int],
    chunks: Mapping[str, tuple[str, int]],
) -> None:
    """Check that the counts of a checkpoint are possible in its store.

    Parameters
    ----------
    rows, partial : of the checkpoint
    fixed : length of each stream, 0 for one that grows
    chunks : stream and rows of a chunk, for each column
    """
    if set(rows) != set(fixed):
        raise ValueError(f"rows = {show(dict(rows))} does not count the streams {', '.join(fixed)}")
    for name, length in fixed.items():
        if length and rows[name] != length:
            raise ValueError(f"rows.{name} = {rows[name]}, but that stream has {length} rows for ever")
    wanted = {column for column, (stream, chunk_rows) in chunks.items() if rows[stream] % chunk_rows}
    if set(partial) != wanted:
        odd = sorted(set(partial) ^ wanted)[0]
        raise ValueError(f"partial.{odd} {'is missing' if odd in wanted else 'signs a chunk that is full'}")
