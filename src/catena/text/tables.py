"""A table as plain text, in a terminal and in a notebook; wrong rows are red where colours are available."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table


def align(lines: Sequence[Sequence[str]], *, right: Collection[int] = ()) -> list[str]:
    """Lines of cells in aligned columns, those with the numbers `right` aligned right.

    Examples
    --------
    >>> align([("energy", "-0.5"), ("q", "12")], right=[1])
    ['energy  -0.5', 'q         12']
    """
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return [
        "  ".join(cell.rjust(w) if k in right else cell.ljust(w) for k, (cell, w) in enumerate(zip(line, widths, strict=True))).rstrip()
        for line in lines
    ]  # fmt: skip


@dataclass(frozen=True)
class ShownTable:
    """Headings and rows of cells.

    Parameters
    ----------
    headings : of the columns; a narrow terminal may break them at a line break
    rows : cells, and whether the row is wrong
    right : headings of the columns that are aligned right, such as numbers
    title : shown above the table if it has a frame; plain text has none

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
    title: str = ""

    def lines(self) -> list[str]:
        """As plain text: headings, a rule, the rows."""
        headings = [heading.replace("\n", " ") for heading in self.headings]
        lines = [headings, *(cells for cells, _ in self.rows)]
        rule = ["-" * max(map(len, column)) for column in zip(*lines, strict=True)]
        right = [k for k, heading in enumerate(self.headings) if heading in self.right]
        return align([headings, rule, *lines[1:]], right=right)

    def __rich__(self) -> Table:
        from rich.cells import cell_len
        from rich.table import Table
        from rich.text import Text

        table = Table(title=Text(self.title) if self.title else None)
        for k, heading in enumerate(self.headings):
            texts = [heading, *(cells[k] for cells, _ in self.rows)]
            whole = not any(" " in text for text in texts[1:])  # only words may be broken: half a number is another one
            parts = [part for text in texts for part in (text.split("\n") if whole else text.split())]
            table.add_column(
                heading, justify="right" if heading in self.right else "left", no_wrap=whole, min_width=max(map(cell_len, parts)),
            )  # fmt: skip
        for cells, wrong in self.rows:
            # Text, because a plain "momentum[x]" would be read as markup.
            table.add_row(*map(Text, cells), style="red" if wrong else None)
        return table

    def _repr_html_(self) -> str:
        def line(tag: str, cells: Sequence[str], style: str = "") -> str:
            return f"<tr{style}>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"

        body = [line("td", cells, ' style="color: red"' if wrong else "") for cells, wrong in self.rows]
        title = [f"<caption>{escape(self.title)}</caption>"] if self.title else []
        head = line("th", [heading.replace("\n", " ") for heading in self.headings])
        return "\n".join(["<table>", *title, head, *body, "</table>"])
