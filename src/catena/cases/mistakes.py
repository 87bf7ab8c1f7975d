"""Mistakes of a user in a case: each with its position, its line, and what to do; all of them at once."""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import InputError
from .positions import Place

SHOWN = 74  # characters of a source line: with the indent, it fits a narrow terminal


@dataclass(frozen=True)
class Mistake:
    """One mistake.

    Attributes
    ----------
    wrong, do : what is wrong, with the value, and what to do about it
    where : the file, or the option that gave the value
    place : line and column in the file, None for an option
    line : the source line
    """

    wrong: str
    do: str
    where: str
    place: Place | None = None
    line: str = ""

    @property
    def location(self) -> str:
        """`case.toml:9:1`, or the option."""
        return f"{self.where}:{self.place.line}:{self.place.column}" if self.place else self.where

    def quoted(self) -> tuple[str, str]:
        """The source line, cut around the column if it is long, and the line with the marks below it."""
        if self.place is None or not self.line.strip():
            return "", ""
        column = min(self.place.column - 1, len(self.line))
        indent = len(self.line) - len(self.line.lstrip())
        begin = min(column, indent if len(self.line) <= SHOWN else max(indent, column - SHOWN // 2))
        text = "".join(c if c.isprintable() else " " for c in self.line[begin : begin + SHOWN]).rstrip()
        width = max(1, min(self.place.width, len(text) - (column - begin)))
        return text, " " * (column - begin) + "^" * width

    def to_dict(self) -> dict[str, str | int | None]:
        """The mistake as plain values for JSON."""
        line, column = (self.place.line, self.place.column) if self.place else (None, None)
        return {"where": self.where, "line": line, "column": column, "wrong": self.wrong, "do": self.do}

    def __str__(self) -> str:
        lines = [f"{self.location}: {self.wrong}", *(f"    {text}" for text in self.quoted() if text)]
        return "\n".join([*lines, *([f"  do: {self.do}"] if self.do else [])])


class CaseError(InputError):
    """All mistakes in a case.

    Attributes
    ----------
    mistakes : in the order of the file
    """

    def __init__(self, mistakes: list[Mistake]) -> None:
        self.mistakes = tuple(sorted(mistakes, key=_order))
        super().__init__("\n".join(map(str, self.mistakes)))


def _order(mistake: Mistake) -> tuple[bool, int, int]:
    place = mistake.place
    return (place is None, place.line, place.column) if place else (True, 0, 0)
