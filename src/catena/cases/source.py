"""The text of a case and the overrides of the command line: values, and where each of them was given."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path as FilePath
from typing import TypeAlias

from ..errors import CatenaError, InputError
from ..text.input_files import read_regular
from .mistakes import CaseError, Mistake
from .positions import Path, Place, Positions

LARGEST_FILE = 10_000_000  # bytes
AT = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")
# for a key that an override gives: the key of the file that is dropped
INSTEAD: dict[Path, str] = {("run", "steps"): "t_end", ("run", "t_end"): "steps"}
Giver: TypeAlias = "str | Path"  # origin of a value: an option or argument, or another key of the file, such as an axis
SINGULAR = {"bodies": "body", "joints": "joint", "forces": "force"}  # in a case, lists have the names of their tables
WATCHED: dict[str, Path] = {"simulate.sections": ("section", 0), "simulate.events": ("event", 0)}
LISTS = re.compile(rf"\b({'|'.join(SINGULAR)})(?=\.\d)")
COLUMN = re.compile(r", column (\d+):")  # in the position that the expression parser reports


@dataclass(frozen=True)
class Override:
    """A value that replaces that of a key, such as "run.dt", who gave it, and who named the key."""

    key: str
    value: object
    giver: Giver
    namer: Giver


class Source:
    """A case as it was given.

    Attributes
    ----------
    label : its name in messages, usually the path of the file
    data : its values, including overrides

    Raises
    ------
    CaseError : the text is not TOML, or an override cannot be applied
    """

    def __init__(self, text: str, label: str, overrides: Sequence[str | Override] = ()) -> None:
        self.label = label
        text = text.removeprefix("\ufeff").replace("\r\n", "\n")
        self._text, self._lines = text, text.split("\n")
        self._given: dict[Path, Giver] = {}
        try:
            self.data: dict[str, object] = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise CaseError([self._syntax(str(error))]) from None
        except RecursionError:
            raise CaseError([Mistake("the values are nested too deeply", "", label)]) from None
        except ValueError as error:  # an impossible date, an integer of thousands of digits
            raise CaseError([Mistake(f"a value cannot be read: {error}", "", label)]) from None
        for override in overrides:
            self._override(_parse(override) if isinstance(override, str) else override)

    @classmethod
    def read(cls, file: str | FilePath, overrides: Sequence[str | Override] = ()) -> Source:
        """The source in a file."""
        try:
            data = read_regular(file, LARGEST_FILE, do="give a case, not data")
        except (OSError, ValueError) as error:
            raise InputError(
                f"the case cannot be read: {getattr(error, 'strerror', None) or error}", where=str(file),
                do="check the path; `catena new hamiltonian` writes a case to start from",
            ) from None  # fmt: skip
        try:
            text = data.decode()
        except UnicodeDecodeError as error:
            line = data[: error.start].count(b"\n") + 1
            raise InputError("the text is not UTF-8", where=f"{file}, line {line}", do="save it as UTF-8") from None
        return cls(text, str(file), overrides)

    @cached_property
    def _positions(self) -> Positions:
        """Positions of all keys; computed only for messages."""
        return Positions(self._text)

    def __contains__(self, path: Path) -> bool:
        value: object = self.data
        try:
            for part in path:
                value = _inside(value, part)
        except KeyError:
            return False
        return True

    def mistake(self, path: Path, wrong: str, do: str = "") -> Mistake:
        """A mistake in the value of a key, or in the table around a missing key."""
        given = self._override_of(path)
        if given:
            return self._by(given, wrong, do)
        if not path:  # the case as a whole, without a line
            return Mistake(wrong, do, self.label, Place(1, 1))
        return self._at(self._positions.place(path), wrong, do)

    def explained(self, table: Path, error: CatenaError) -> Mistake:
        """The mistake that an error describes: at the key of the table that its `where` names, if possible."""
        column = COLUMN.search(error.where)
        where = re.sub(r"\[(\d+)\]", r".\1", error.where[: column.start() if column else None])
        where = LISTS.sub(lambda found: SINGULAR[found[0]], where)
        named = re.findall(r"\w+(?:\.\w+)*", where)
        if named and named[0].split(".")[0] == _kind(self.data.get("system")):  # it may be wrong only for a run
            table = ("system",)
        path = WATCHED.get(error.where, table)
        for word in [*named, *re.findall(r"^\w+(?= = )", error.wrong)]:
            parts = [int(part) if part.isdecimal() else part for part in word.split(".")]
            candidates = [(*table, *parts[first:]) for first in range(len(parts))]
            candidates += [(*table, *parts[:end]) for end in range(len(parts) - 1, 0, -1)]  # a missing key
            path = next((candidate for candidate in candidates if candidate in self), path)
            if path != table:
                break
        given = self._override_of(path)
        if column is None or given:
            hint = f", column {column[1]} of the text" if column else ""
            return self.mistake(path, error.wrong + hint, error.do)
        return self._at(self._positions.inside(path, int(column[1]) - 1), error.wrong, error.do)

    def _by(self, giver: Giver, wrong: str, do: str) -> Mistake:
        """A mistake in a value from an option or argument."""
        if isinstance(giver, str):
            return Mistake(wrong, do, giver)
        return self._at(self._positions.place(giver), wrong, do)

    def _at(self, place: Place, wrong: str, do: str) -> Mistake:
        return Mistake(wrong, do, self.label, place, self._lines[place.line - 1])

    def _syntax(self, message: str) -> Mistake:
        at = AT.search(message)
        wrong = f"this is not TOML: {AT.sub('', message)}"
        if at is None or at[1] is None:
            return self._at(Place(len(self._lines), len(self._lines[-1]) + 1), wrong, "complete the file")
        place = Place(int(at[1]), int(at[2]))
        line = self._lines[place.line - 1]
        if message.startswith("Cannot overwrite a value"):
            do = "remove one: a key of a table stands once"
        elif re.match(r"[\w.\s]+=\s*[+-]?\d+,\d", line):
            do = "write decimals with a point: 0.02"
        else:
            do = "see https://toml.io; text stands in double quotes"
        return self._at(place, wrong, do)

    def _override_of(self, path: Path) -> Giver:
        """Who gave a value or, for a table that is not in the file, one of its keys; "" if the file itself did."""
        for length in range(len(path), 0, -1):
            if path[:length] in self._given:
                return self._given[path[:length]]
        if not path or path in self._positions:
            return ""
        return next((given for key, given in self._given.items() if key[: len(path)] == path), "")

    def _override(self, override: Override) -> None:
        path = _keys(override.key)
        table: object = self.data
        reached: list[str | int] = []
        try:
            for part in path[:-1]:
                reached.append(part)
                if isinstance(table, dict) and isinstance(part, str):
                    table = table.setdefault(part, {})
                else:
                    table = _inside(table, part)
            reached.append(path[-1])
            _set(table, path[-1], override.value)
        except KeyError:
            wrong = f"there is no {'.'.join(map(str, reached))}"
            raise CaseError([self._by(override.namer, wrong, "set a key that the case can have")]) from None
        other = INSTEAD.get(path)
        if other is not None and (*path[:-1], other) not in self._given and isinstance(table, dict):
            table.pop(other, None)
        self._given[path] = override.giver


def _kind(table: object) -> object:
    return table.get("kind") if isinstance(table, dict) else None


def _keys(key: str) -> Path:
    return tuple(int(part) if part.isdecimal() else part for part in key.strip().split("."))


def _parse(text: str) -> Override:
    """Parse an option such as "run.dt=0.01", with the value in TOML syntax."""
    where = f"--set {text}"
    key, equals, value = text.partition("=")
    if not equals or "" in _keys(key):
        raise CaseError([Mistake("this sets nothing", "write --set table.key=value, such as --set run.dt=0.01", where)])
    try:
        parsed = tomllib.loads(f"value = {value}")
    except (ValueError, RecursionError):
        parsed = {}
    if set(parsed) != {"value"}:
        quoted = value.strip().replace('"', "")
        advice = f"text stands in quotes: --set '{key.strip()}=\"{quoted}\"'"
        if re.fullmatch(r"[-+]?\d+,\d+", value.strip()):
            advice = f"numbers have a point: --set {key.strip()}={value.strip().replace(',', '.')}"
        raise CaseError([Mistake(f"{value.strip()!r} is not a TOML value", advice, where)])
    return Override(key, parsed["value"], where, where)


def _inside(value: object, part: str | int) -> object:
    """The value of a table or list at a key or index; KeyError if there is none."""
    if isinstance(value, dict):
        return value[part]
    if isinstance(value, list) and isinstance(part, int) and 0 <= part < len(value):
        return value[part]
    raise KeyError(part)


def _set(table: object, part: str | int, value: object) -> None:
    """Set a key or an element; KeyError if that is impossible."""
    if isinstance(table, list) and isinstance(part, int) and 0 <= part < len(table):
        table[part] = value
        return
    if not isinstance(table, dict) or not (isinstance(part, str) or part in table):
        raise KeyError(part)
    table[part] = value
