"""All rows of an audit: a table for the terminal, for a notebook, and for JSON."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from math import isnan
from typing import TYPE_CHECKING, ClassVar

from ...errors import InputError
from ...text.named_rows import NamedRows
from ...text.plain import Json
from ...text.tables import ShownTable
from .canonical import Canonical
from .verdicts import FEWEST_SAMPLES, AuditRow

if TYPE_CHECKING:
    from rich.console import Group


LARGE = "large: this is another motion than the one asked for; use a shorter step, or a method of higher order."
SHORT = (
    f"too short to judge what is kept: fewer than {FEWEST_SAMPLES} samples; make more steps, or give a smaller `every`."
)
CLOSING = (
    "This tells what is kept, not how accurate the path is: run.error() (catena info RUN.zarr --error) shows that."
)


@dataclass(frozen=True, repr=False)
class Audit(NamedRows[AuditRow]):
    """All invariants of a run, promised against measured; prints as a table.

    `audit["energy"]` is the row of that quantity; iteration goes over the rows.

    Attributes
    ----------
    rows : one for each quantity
    damage : events that change what the run means, such as a torn link; then it is not ok
    remarks : what else a reader must know, such as why the run ended early
    canonical : in a heat bath, whether averages are those of its temperature: `audit.canonical["temperature"]`
    random : whether the method draws random numbers: its path is one of many, and its accuracy is undefined
    """

    _naming: ClassVar[str] = "quantity"
    _unknown: ClassVar[tuple[str, str]] = ("no quantity {} was audited", "audit")

    rows: tuple[AuditRow, ...]
    damage: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    canonical: Canonical = field(default_factory=Canonical)
    random: bool = False

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
        """Whether no verdict contradicts its promise, no average is off, and no damage happened."""
        return not (self.contradictions or self.canonical.contradictions or self.damage)

    @property
    def closing(self) -> tuple[str, ...]:
        """The lines below the table, except the damage: remarks, advice, and what the audit cannot show."""
        advice = {"large": LARGE, "too short": SHORT}
        remedies = tuple(text for verdict, text in advice.items() if any(row.verdict == verdict for row in self.rows))
        conserving = not self.random and any(row.promised in ("exact", "bounded") for row in self.rows)
        return self.remarks + remedies + ((CLOSING,) if conserving else ()) + self.canonical.closing

    def to_dict(self) -> dict[str, dict[str, Json]]:
        """Rows by quantity, as plain values for JSON: numbers that are not finite become None."""
        found = self.as_json()
        kept = {row.quantity: found[row.quantity] | {"contradicts": row.contradicts} for row in self.rows}
        return kept | self.canonical.to_dict()

    @property
    def tables(self) -> tuple[ShownTable, ...]:
        """The tables of conserved quantities and of canonical averages, as far as there are any."""
        kept = ShownTable(HEADINGS, [(cells(row), row.contradicts) for row in self.rows], NUMBERS)
        both = (*((kept,) if self.rows else ()), *((self.canonical.table,) if self.canonical.rows else ()))
        return both or (kept,)

    def __str__(self) -> str:
        tables = "\n\n".join("\n".join(table.lines()) for table in self.tables)
        return "\n".join([tables, *self.damage, *self.closing])

    __repr__ = __str__

    def __rich__(self) -> Group:
        from rich.console import Group
        from rich.text import Text

        below = [Text(line, style="red") for line in self.damage] + [Text(line, style="dim") for line in self.closing]
        return Group(*self.tables, *below)

    def _repr_html_(self) -> str:
        from html import escape

        below = [f'<p style="color: red">{escape(text)}</p>' for text in self.damage]
        below += [f"<p>{escape(text)}</p>" for text in self.closing]
        return "\n".join([*(table._repr_html_() for table in self.tables), *below])


# columns to wrap, so that a narrow terminal does not cut names and numbers first
HEADINGS = ("quantity", "start", "worst\ndeviation", "drift\nper time", "+- error", "promised", "verdict")
NUMBERS = HEADINGS[1:5]
EXPENDABLE = "+- error", "drift\nper time"  # where a terminal has no room for all


def cells(row: AuditRow) -> tuple[str, ...]:
    """The cells of a row, as all tables show them; -0.0 is 0."""
    measured = not isnan(row.drift)
    return (
        row.label,
        f"{row.start:.2e}" if row.quantity.endswith("residual") and row.start else f"{row.start + 0.0:.10g}",
        f"{row.worst:.2e}",
        f"{row.drift:+.2e}" if measured else "-",
        f"{row.drift_error:.1e}" if measured else "-",
        row.promised,
        f"{row.finding} (contradicts)" if row.contradicts else row.finding,
    )
