"""Positions of the keys and texts of a TOML file, by tree-sitter: tomllib returns values without positions."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node

Path = tuple[str | int, ...]

# What represents one character of a quoted text, or none (a backslash at the end of a line).
SYMBOL = re.compile(r"(?P<none>\\[ \t]*\n\s*)|\\u.{4}|\\U.{8}|\\.|.", re.DOTALL)


@dataclass(frozen=True)
class Place:
    """Line and column (in characters, both from 1) and the number of characters to mark."""

    line: int
    column: int
    width: int = 1


class Positions:
    """Positions of the keys, tables, array elements and texts of a TOML text; line ends must be plain newlines.

    The position of a table is its header, that of a key its name, that of an array element its value.
    """

    def __init__(self, text: str) -> None:
        import tree_sitter
        import tree_sitter_toml

        self._data = text.encode()
        self._lines = self._data.split(b"\n")
        self._places: dict[Path, Place] = {}
        self._strings: dict[Path, Node] = {}
        self._counts: dict[Path, int] = {}
        parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_toml.language()))
        for node in parser.parse(self._data).root_node.children:
            if node.type == "pair":
                self._pair(node, ())
            elif node.type in ("table", "table_array_element"):
                self._table(node)

    def __contains__(self, path: Path) -> bool:
        return path in self._places

    def place(self, path: Path) -> Place:
        """Position of a key; for a missing one, the innermost table around it."""
        while path and path not in self._places:
            path = path[:-1]
        return self._places.get(path, Place(1, 1))

    def inside(self, path: Path, offset: int) -> Place:
        """Position of a character of a text value: `offset` counts from 0 in the value, not in the source text."""
        node = self._strings.get(path)
        if node is None:
            return self.place(path)
        raw = self._data[node.start_byte : node.end_byte].decode()
        quotes = 3 if raw[:3] in ('"""', "'''") else 1
        written = raw[quotes:-quotes]
        at = quotes
        if quotes == 3 and written.startswith("\n"):  # the first newline of such a text does not count
            written, at = written[1:], at + 1
        if raw[0] == "'":
            at += offset
        else:
            at += _written_offset(written, offset)
        before = raw[:at]
        start = self._place(node)
        line = start.line + before.count("\n")
        column = len(before) - before.rfind("\n") if "\n" in before else start.column + len(before)
        return Place(line, column)

    def _place(self, node: Node) -> Place:
        """The position of a node; tree-sitter counts columns in bytes."""
        (row, begin), (last, end) = node.start_point, node.end_point
        line = self._lines[row]
        shown = line[begin : end if last == row else len(line)].decode().rstrip()
        return Place(row + 1, len(line[:begin].decode()) + 1, max(1, len(shown)))

    def _table(self, node: Node) -> None:
        keys = _key_nodes(next(child for child in node.children if child.type.endswith("key")))
        path: Path = ()
        for key in keys[:-1]:
            path = self._current((*path, _name(key)))
            self._places.setdefault(path, self._place(key))
        path = (*path, _name(keys[-1]))
        opening, closing = (c for c in node.children if c.type in ("[", "]", "[[", "]]"))
        header = Place(
            self._place(opening).line,
            self._place(opening).column,
            self._place(closing).column - self._place(opening).column + len(closing.type),
        )
        if node.type == "table_array_element":
            self._places.setdefault(path, header)
            self._counts[path] = self._counts.get(path, 0) + 1
        path = self._current(path)
        self._places[path] = header
        for child in node.children:
            if child.type == "pair":
                self._pair(child, path)

    def _current(self, path: Path) -> Path:
        """Paths with arrays of tables replaced by their last element."""
        return (*path, self._counts[path] - 1) if path in self._counts else path

    def _pair(self, node: Node, table: Path) -> None:
        path = table
        for key in _key_nodes(node.children[0]):
            path = (*path, _name(key))
            self._places.setdefault(path, self._place(key))
        values = [child for child in node.children[1:] if child.is_named and child.type != "comment"]
        if values:
            self._value(values[0], path)

    def _value(self, node: Node, path: Path) -> None:
        if node.type == "string":
            self._strings[path] = node
        elif node.type == "inline_table":
            for child in node.children:
                if child.type == "pair":
                    self._pair(child, path)
        elif node.type == "array":
            elements = (child for child in node.children if child.is_named and child.type != "comment")
            for index, element in enumerate(elements):
                self._places[(*path, index)] = self._place(element)
                self._value(element, (*path, index))


def _key_nodes(node: Node) -> list[Node]:
    """The parts of a key, in order; the grammar nests a.b.c as ((a.b).c), too deep for recursion."""
    parts: list[Node] = []
    while node.type == "dotted_key":
        named = [child for child in node.children if child.is_named]
        parts += reversed(named[1:])
        node = named[0]
    return [node, *reversed(parts)]


def _name(key: Node) -> str:
    text = (key.text or b"").decode()
    return next(iter(tomllib.loads(f"{text} = 0"))) if key.type == "quoted_key" else text


def _written_offset(written: str, offset: int) -> int:
    """Offset, in the source text between double quotes, of a character of the value."""

    def starts() -> Iterator[int]:
        for symbol in SYMBOL.finditer(written):
            if symbol["none"] is None:
                yield symbol.start()

    for count, start in enumerate(starts()):
        if count == offset:
            return start
    return len(written)
