"""Small tables in HTML, for notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape


def html_table(rows: Iterable[Sequence[str]], *, headings: Sequence[str] = (), title: str = "") -> str:
    """A table of texts; without headings the first cell of each row is its heading."""

    def line(cells: Sequence[str], first: str, others: str) -> str:
        tags = [first, *[others] * (len(cells) - 1)]
        filled = "".join(f"<{tag}>{escape(cell)}</{tag}>" for tag, cell in zip(tags, cells, strict=True))
        return f"<tr>{filled}</tr>"

    caption = f"<caption>{escape(title)}</caption>" if title else ""
    head = line(headings, "th", "th") if headings else ""
    body = "".join(line(row, "td" if headings else "th", "td") for row in rows)
    return f"<table>{caption}{head}{body}</table>"
