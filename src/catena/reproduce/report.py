"""The result of a reproduction: numbers beside the published ones, pictures, and files of both."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from ..output.files import replacing, write_figure
from ..output.style import MARKERS, apply_style, legend_above, line_style, new_figure, plain_log_axis
from ..text.tables import ShownTable

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.table import Table

Value = float | int | str
HEADINGS = ("quantity", "ours", "reference", "agrees", "remark")


@dataclass(frozen=True)
class Row:
    """One quantity of a reproduction.

    Attributes
    ----------
    quantity : what it is
    ours, reference : our value and the published or theoretical one; None if there is none
    agrees : whether they agree; None if no agreement can be expected, and `remark` says why
    remark : source of the reference, or why it cannot be met
    digits : significant digits in print
    """

    quantity: str
    ours: Value
    reference: Value | None = None
    agrees: bool | None = None
    remark: str = ""
    digits: int = 7

    def __post_init__(self) -> None:
        if self.agrees is not None:  # numpy.False_ is not False
            object.__setattr__(self, "agrees", bool(self.agrees))

    def cells(self) -> tuple[str, ...]:
        """The row as text."""
        verdict = {True: "yes", False: "NO", None: "-"}[self.agrees]
        return self.quantity, self._text(self.ours), self._text(self.reference), verdict, self.remark

    def _text(self, value: Value | None) -> str:
        if value is None:
            return "-"
        return f"{value:.{self.digits}g}" if isinstance(value, float) else str(value)


def compare(
    quantity: str, ours: float, reference: float, *, within: float = 0.0, remark: str = "", digits: int = 7
) -> Row:
    """A row that agrees if the two values differ by no more than `within`."""
    return Row(quantity, ours, reference, bool(abs(ours - reference) <= within), remark, digits)


def small(quantity: str, value: float, limit: float, *, remark: str = "") -> Row:
    """A row that agrees if the value, which must not be negative, stays below a limit."""
    return Row(quantity, float(value), f"< {limit:.2g}", bool(0.0 <= value < limit), remark, 2)


def power(x: ArrayLike, y: ArrayLike) -> float:
    """The exponent of y = c x^power by least squares on the logarithms."""
    return float(np.polyfit(np.log(np.asarray(x, dtype=float)), np.log(np.asarray(y, dtype=float)), 1)[0])


@dataclass(frozen=True, repr=False)
class Report:
    """A table of the results, and the files that were written; prints as a table.

    Attributes
    ----------
    title : the subject
    rows : the quantities
    files : pictures (PNG and PDF) and numbers (CSV)
    notes : what a reader must know about the comparison
    """

    title: str
    rows: tuple[Row, ...]
    files: tuple[Path, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether nothing disagrees."""
        return all(row.agrees is not False for row in self.rows)

    def __getitem__(self, quantity: str) -> Row:
        return next(row for row in self.rows if row.quantity == quantity)

    @property
    def _table(self) -> ShownTable:
        rows = [(row.cells(), row.agrees is False) for row in self.rows]
        return ShownTable(HEADINGS, rows, right=("ours", "reference"), title=self.title)

    @property
    def _below(self) -> list[str]:
        return [*self.notes, *(f"written: {file}" for file in self.files)]

    def __str__(self) -> str:
        return "\n".join([self.title, "", *self._table.lines(), "", *self._below])

    __repr__ = __str__

    def __rich__(self) -> Table:
        from rich.text import Text

        table = self._table.__rich__()
        table.caption = Text("\n".join(self._below))
        table.title_justify = table.caption_justify = "left"
        return table


@runtime_checkable
class Reproduction(Protocol):
    """A module that reproduces a published result."""

    NAME: str
    ABOUT: str
    SOURCE: tuple[str, str]

    def reproduce(self, out: Path, *, quick: bool = False) -> Report:
        """Pictures, numbers and a table of comparisons."""


class Folder:
    """The directory for the files of a reproduction; keeps a list of these files."""

    def __init__(self, path: Path) -> None:
        self.path = Path(path)
        self.path.mkdir(parents=True, exist_ok=True)
        self.files: list[Path] = []

    @contextmanager
    def picture(self, name: str, *, width: float, height: float) -> Iterator[Figure]:
        """A figure to draw on, saved at the end of the `with` block; sizes in inches."""
        with apply_style():
            figure = new_figure(width=width, height=height)
            yield figure
            self.save(name, figure)

    def save(self, name: str, figure: Figure) -> None:
        """Save a figure as PNG and PDF; the same numbers give the same bytes."""
        for ending, metadata in (("png", {"Software": None}), ("pdf", {"CreationDate": None})):
            self.files.append(self.path / f"{name}.{ending}")
            write_figure(self.files[-1], figure, metadata=metadata)

    def numbers(self, name: str, columns: Mapping[str, ArrayLike], *, digits: int = 17) -> None:
        """Save columns of equal length as CSV; 17 significant digits represent a double exactly."""

        def text(value: object) -> object:
            return f"{value:.{digits}g}" if isinstance(value, float) and digits < 17 else value

        arrays = [np.asarray(column).tolist() for column in columns.values()]
        self._csv(name, list(columns), (map(text, line) for line in zip(*arrays, strict=True)))

    def over_steps(
        self,
        name: str,
        dts: Sequence[float],
        curves: Mapping[str, Sequence[float]],
        what: str,
        *,
        size: tuple[float, float],
        digits: int = 17,
    ) -> None:
        """Draw a quantity of each method over the step, both axes logarithmic, and save the numbers."""
        with self.picture(name, width=size[0], height=size[1]) as figure:
            ax = figure.subplots()
            for number, (method, values) in enumerate(curves.items()):
                marker = MARKERS[number % len(MARKERS)]
                ax.plot(dts, values, marker=marker, label=method, **line_style(number))
            ax.set(xscale="log", yscale="log", xlabel="dt", ylabel=what)
            plain_log_axis(ax.xaxis)
            legend_above(ax)
        self.numbers(name, {"dt": dts, **curves}, digits=digits)

    def report(self, name: str, title: str, rows: Sequence[Row], *, notes: Sequence[str] = ()) -> Report:
        """Save the table as CSV too, and make the report of all files."""
        self._csv(name, HEADINGS, [[row.quantity, row.ours, row.reference, row.agrees, row.remark] for row in rows])
        return Report(title, tuple(rows), tuple(self.files), tuple(notes))

    def _csv(self, name: str, headings: Sequence[str], lines: Iterable[Iterable[object]]) -> None:
        self.files.append(self.path / f"{name}.csv")
        with replacing(self.files[-1]) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(headings)
            writer.writerows(lines)
