"""All rows of an audit: a table for the terminal, for a notebook, and for JSON."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from math import isfinite, isnan
from typing import TYPE_CHECKING, ClassVar

from ...errors import InputError
from ...text.named_rows import NamedRows
from ...text.plain import Json
from .verdicts import AuditRow

if TYPE_CHECKING:
    from rich.console import Group


LARGE = "large: this is another motion than the one asked for; use a shorter step, or a method of higher order."
CLOSING = "This tells what is kept, not how accurate the path is: run.error() estimates that."


@dataclass(frozen=True, repr=False)
class Audit(NamedRows[AuditRow]):
    """All invariants of a run, promised against measured; prints as a table.

    `audit["energy"]` is the row of that quantity; iteration goes over the rows.

    Attributes
    ----------
    rows : one for each quantity
    damage : what happened in the run that changes what it means, such as a torn link; then it is not ok
    remarks : what else must be known to read it, such as why it ended early
    """

    _naming: ClassVar[str] = "quantity"
    _unknown: ClassVar[tuple[str, str]] = ("no quantity {} was audited", "audit")

    rows: tuple[AuditRow, ...]
    damage: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("rows", "damage", "remarks"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        twice = [name for name, count in Counter(row.quantity for row in self.rows).items() if count > 1]
        if twice:
            raise InputError(f"more than one row for {', '.join(twice)}", where="audit", do="give each quantity once")

    @property
    def contradictions(self) -> tuple[AuditRow, ...]:
        """The rows whose verdict is worse than the promise."""
        return tuple(row for row in self.rows if row.contradicts)

    @property
    def ok(self) -> bool:
        """Whether no verdict contradicts its promise, and nothing was damaged."""
        return not self.contradictions and not self.damage

    @property
    def closing(self) -> tuple[str, ...]:
        """The lines below the table but for the damage: remarks, what to do, and what the audit does not say where something is kept."""
        large = any(row.verdict == "large" for row in self.rows)
        conserving = any(row.promised in ("exact", "bounded") for row in self.rows)
        return self.remarks + ((LARGE,) if large else ()) + ((CLOSING,) if conserving else ())

    def to_dict(self) -> dict[str, dict[str, Json]]:
        """Rows by quantity, as plain values for JSON: a number that is not finite becomes None."""

        def plain(value: Json) -> Json:
            return None if isinstance(value, float) and not isfinite(value) else value

        return {
            row.quantity: {name: plain(value) for name, value in vars(row).items() if name != "quantity"}
            | {"contradicts": row.contradicts}
            for row in self.rows
        }

    def __str__(self) -> str:
        lines = [_HEADINGS, *(_cells(row) for row in self.rows)]
        widths = [max(len(line[column]) for line in lines) for column in range(len(_HEADINGS))]

        def aligned(line: tuple[str, ...]) -> str:
            cells = [
                cell.rjust(width) if heading in _NUMBERS else cell.ljust(width)
                for heading, cell, width in zip(_HEADINGS, line, widths, strict=True)
            ]
            return "  ".join(cells).rstrip()

        rule = "  ".join("-" * width for width in widths)
        return "\n".join([aligned(lines[0]), rule, *map(aligned, lines[1:]), *self.damage, *self.closing])

    __repr__ = __str__

    def __rich__(self) -> Group:
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        table = Table()
        for heading in _HEADINGS:
            # broken here, or a narrow terminal would cut names and numbers first
            broken = heading.replace("worst ", "worst\n").replace("drift ", "drift\n")
            table.add_column(broken, justify="right" if heading in _NUMBERS else "left")
        for row in self.rows:
            # Text, because a plain "momentum[x]" would be read as markup.
            table.add_row(*map(Text, _cells(row)), style="red" if row.contradicts else None)
        below = [Text(line, style="red") for line in self.damage] + [Text(line, style="dim") for line in self.closing]
        return Group(table, *below)

    def _repr_html_(self) -> str:
        from html import escape

        def line(tag: str, cells: tuple[str, ...], style: str = "") -> str:
            return f"<tr{style}>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"

        body = [line("td", _cells(row), ' style="color: red"' if row.contradicts else "") for row in self.rows]
        below = [f'<p style="color: red">{escape(text)}</p>' for text in self.damage]
        below += [f"<p>{escape(text)}</p>" for text in self.closing]
        return "\n".join(["<table>", line("th", _HEADINGS), *body, "</table>", *below])


_HEADINGS = ("quantity", "start", "worst deviation", "drift per time", "+- error", "promised", "verdict")
_NUMBERS = _HEADINGS[1:5]


def _cells(row: AuditRow) -> tuple[str, ...]:
    measured = not isnan(row.drift)
    return (
        row.label,
        f"{row.start:.2e}" if row.quantity.endswith("residual") and row.start else f"{row.start:.10g}",
        f"{row.worst:.2e}",
        f"{row.drift:+.2e}" if measured else "-",
        f"{row.drift_error:.1e}" if measured else "-",
        row.promised,
        f"{row.finding} (contradicts)" if row.contradicts else row.finding,
    )
