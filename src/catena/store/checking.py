"""Stores come from anywhere: every table and every number of their own files is looked at before it is used.

A checksum tells that a file is as somebody wrote it, not who did. What is refused here is a ValueError that names the field,
the value that was seen and what belongs there; who reads the file says which one it is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from math import isfinite, prod
from typing import Any, TypeVar

MOST = 2**48  # of any count in a store: bytes of it are still a whole number of 64 bits
WHOLE = 2**63  # of any whole number
DEEPEST = 100  # tables inside each other
ROW_BYTES = 8  # of a number
CHUNK_BYTES = 2**20  # of a chunk of several rows
NUMERIC = re.compile(r"\|b1|\|[iu]1|<[iu][248]|<f[248]|<c(8|16)")  # types of the arrays of a checkpoint
SHOWN = 60  # characters of a value in a message

Seen = TypeVar("Seen")


def read_json(data: bytes) -> Any:
    """The content of a JSON text as catena writes it: finite numbers, whole ones of 64 bits, text without halves of letters."""
    try:
        content = json.loads(data)
    except RecursionError:
        raise ValueError(f"holds more than {DEEPEST} tables inside each other") from None
    _check_plain(content)
    return content


def _check_plain(content: Any) -> None:
    """One level after the other, without recursion: tables inside each other must not end the program."""
    level = [content]
    for _ in range(DEEPEST):
        inner: list[Any] = []
        for one in level:
            kind = type(one)
            if kind is float:
                if one - one != 0.0:
                    raise ValueError(f"holds {one}, which is no finite number")
            elif kind is list:
                inner += one
            elif kind is dict:
                inner += one  # its keys
                inner += one.values()
            elif kind is int:
                if not -WHOLE <= one < WHOLE:
                    raise ValueError(f"holds {shown(one)}, which has more than 64 bits")
            elif kind is str and not one.isascii() and any("\ud800" <= letter <= "\udfff" for letter in one):
                raise ValueError(f"holds {shown(one)}, which has half of a letter")
        if not inner:
            return
        level = inner
    raise ValueError(f"holds more than {DEEPEST} tables inside each other")


def shown(value: Any) -> str:
    """A value in a message: on one line, and not all of a long one."""
    text = ascii(value) if not isinstance(value, str) or not value.isprintable() else repr(value)
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 3]}..."


def table(value: Any, field: str, *, needs: Iterable[str] = ()) -> dict[str, Any]:
    """A table with at least these keys."""
    if not isinstance(value, dict):
        raise ValueError(f"{field} = {shown(value)} is not a table")
    for name in needs:
        if name not in value:
            raise ValueError(f"{field} has no {name}")
    return value


def listed(value: Any, field: str) -> list[Any]:
    """A list."""
    if not isinstance(value, list):
        raise ValueError(f"{field} = {shown(value)} is not a list")
    return value


def text(value: Any, field: str) -> str:
    """A text."""
    if not isinstance(value, str):
        raise ValueError(f"{field} = {shown(value)} is not a text")
    return value


def truth(value: Any, field: str) -> bool:
    """true or false."""
    if not isinstance(value, bool):
        raise ValueError(f"{field} = {shown(value)} is not true or false")
    return value


def whole(value: Any, field: str, *, least: int = 0, below: int = MOST) -> int:
    """A whole number in a range."""
    if type(value) is not int or not least <= value < below:
        raise ValueError(f"{field} = {shown(value)} is not a whole number from {least} to {below - 1}")
    return value


def number(value: Any, field: str) -> float:
    """A finite number."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not isfinite(value):
        raise ValueError(f"{field} = {shown(value)} is not a finite number")
    return float(value)


def all_of(check: Callable[[Any, str], Seen], values: Any, field: str) -> list[Seen]:
    """A list of things that each pass a check."""
    return [check(value, f"{field}[{place}]") for place, value in enumerate(listed(values, field))]


def check_layout(content: Any) -> None:
    """The kinds and ranges of all that spec.json says about arrays; names are looked at by `Layout`."""
    table(content, "it", needs=("spec", "attributes", "rows_per_commit", "streams"))
    table(content["spec"], "spec")
    table(content["attributes"], "attributes")
    whole(content["rows_per_commit"], "rows_per_commit", least=1)
    given = all_of(text, content.get("given", []), "given")
    if len(set(given)) < len(given):
        raise ValueError(f"given = {shown(given)} names an array twice")
    for place, stream in enumerate(listed(content["streams"], "streams")):
        field = f"streams[{place}]"
        table(stream, field, needs=("name", "dim", "columns"))
        text(stream["name"], f"{field}.name")
        text(stream["dim"], f"{field}.dim")
        fixed = whole(stream.get("fixed", 0), f"{field}.fixed")
        for number_, column in enumerate(listed(stream["columns"], f"{field}.columns")):
            _check_column(column, f"{field}.columns[{number_}]", fixed)


def _check_column(column: Any, field: str, fixed: int) -> None:
    table(column, field, needs=("name", "shape", "dims", "attributes", "chunk_rows"))
    text(column["name"], f"{field}.name")
    all_of(text, column["dims"], f"{field}.dims")
    table(column["attributes"], f"{field}.attributes")
    shape = all_of(lambda size, where: whole(size, where, least=1), column["shape"], f"{field}.shape")
    rows = whole(column["chunk_rows"], f"{field}.chunk_rows", least=1)
    if prod(shape) >= MOST:
        raise ValueError(f"{field}.shape = {shown(shape)} has too many numbers")
    if fixed and rows != fixed:
        raise ValueError(f"{field}.chunk_rows = {rows} is not the length {fixed} of its stream")
    if not fixed and rows > 1 and rows * prod(shape) * ROW_BYTES > CHUNK_BYTES:
        raise ValueError(f"{field}.chunk_rows = {rows} makes chunks of more than {CHUNK_BYTES} bytes")


def check_head(head: Any) -> None:
    """The kinds and ranges of all that stands before the arrays of a state file."""
    table(head, "it", needs=("generation", "layout", "partial", "step", "finished", "rows", "head", "arrays"))
    whole(head["generation"], "generation", below=2**62)
    whole(head["step"], "step", below=2**62)
    truth(head["finished"], "finished")
    text(head["layout"], "layout")
    table(head["head"], "head")
    for name, rows in table(head["rows"], "rows").items():
        whole(rows, f"rows.{name}")
    for name, crc in table(head["partial"], "partial").items():
        whole(crc, f"partial.{name}", below=2**32)
    names = []
    for place, entry in enumerate(listed(head["arrays"], "arrays")):
        field = f"arrays[{place}]"
        if len(listed(entry, field)) != 3:
            raise ValueError(f"{field} = {shown(entry)} is not a name, a type and a shape")
        names.append(text(entry[0], f"{field}[0]"))
        if not NUMERIC.fullmatch(text(entry[1], f"{field}[1]")):
            raise ValueError(f"{field}[1] = {shown(entry[1])} is not a type of numbers")
        if prod(all_of(whole, entry[2], f"{field}[2]")) >= MOST:
            raise ValueError(f"{field}[2] = {shown(entry[2])} has too many numbers")
    if len(set(names)) < len(names):
        raise ValueError(f"arrays names one of {shown(names)} twice")


def check_rows(
    rows: Mapping[str, int],
    partial: Mapping[str, int],
    *,
    fixed: Mapping[str, int],
    chunks: Mapping[str, tuple[str, int]],
) -> None:
    """Whether what a checkpoint counts can be, in the store that it lies in.

    Parameters
    ----------
    rows, partial : of the checkpoint
    fixed : length of each stream, 0 for one that grows
    chunks : stream and rows of a chunk, for each column
    """
    if set(rows) != set(fixed):
        raise ValueError(f"rows = {shown(dict(rows))} does not count the streams {', '.join(fixed)}")
    for name, length in fixed.items():
        if length and rows[name] != length:
            raise ValueError(f"rows.{name} = {rows[name]}, but that stream has {length} rows for ever")
    wanted = {column for column, (stream, chunk_rows) in chunks.items() if rows[stream] % chunk_rows}
    if set(partial) != wanted:
        odd = sorted(set(partial) ^ wanted)[0]
        raise ValueError(f"partial.{odd} {'is missing' if odd in wanted else 'signs a chunk that is full'}")
