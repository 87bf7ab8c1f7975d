"""A table that can be shown as plain text, in a terminal and in a notebook; rows that are wrong are red where there are colours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table


@dataclass(frozen=True)
class ShownTable:
    """Headings and rows of cells.

    Parameters
    ----------
    headings : of the columns; a line break is where a narrow terminal may break them
    rows : cells, and whether the row is wrong
    right : headings of the columns that stand on the right, as numbers do

    Examples
    --------
    >>> table = ShownTable(("name", "value"), [(("energy", "-0.5"), False), (("q", "12"), True)], right=("value",))
    >>> print(*table.lines(), sep="\\n")
    name    value
    ------  -----
    energy   -0.5
    q          12
    """

    headings: Sequence[str]
    rows: Sequence[tuple[Sequence[str], bool]]
    right: Sequence[str] = ()

    def lines(self) -> list[str]:
        """As plain text: headings, a rule, the rows."""
        headings = [heading.replace("\n", " ") for heading in self.headings]
        lines = [headings, *(cells for cells, _ in self.rows)]
        widths = [max(len(line[column]) for line in lines) for column in range(len(headings))]

        def aligned(line: Sequence[str]) -> str:
            cells = [
                cell.rjust(width) if heading in self.right else cell.ljust(width)
                for heading, cell, width in zip(self.headings, line, widths, strict=True)
            ]
            return "  ".join(cells).rstrip()

        return [aligned(headings), "  ".join("-" * width for width in widths), *map(aligned, lines[1:])]

    def __rich__(self) -> Table:
        from rich.table import Table
        from rich.text import Text

        table = Table()
        for heading in self.headings:
            table.add_column(heading, justify="right" if heading in self.right else "left")
        for cells, wrong in self.rows:
            # Text, because a plain "momentum[x]" would be read as markup.
            table.add_row(*map(Text, cells), style="red" if wrong else None)
        return table

    def _repr_html_(self) -> str:
        def line(tag: str, cells: Sequence[str], style: str = "") -> str:
            return f"<tr{style}>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"

        body = [line("td", cells, ' style="color: red"' if wrong else "") for cells, wrong in self.rows]
        return "\n".join(["<table>", line("th", [h.replace("\n", " ") for h in self.headings]), *body, "</table>"])
