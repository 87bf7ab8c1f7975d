"""Printing: results to stdout, talk to stderr; tables with rules on a terminal, plain columns in a pipe."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..errors import CatenaError

if TYPE_CHECKING:
    from rich.console import Console


def error_console() -> Console:
    """Where talk goes. It is made anew each time, because stderr may be another one."""
    from rich.console import Console

    # a pipe has no width to wrap at
    return Console(stderr=True, highlight=False, soft_wrap=not sys.stderr.isatty())


def show(result: Any, *, expendable: Sequence[str] = ()) -> None:
    """A result that prints as a table: on a terminal with rules, in a pipe as plain text.

    A terminal that is too narrow gets the table without rules and without the `expendable` columns.
    """
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    if not console.is_terminal:
        sys.stdout.write(f"{result}\n")
        sys.stdout.flush()
        return
    table = result.__rich__()
    unbounded = console.options.update(width=10_000)
    if isinstance(table, Table) and console.measure(table, options=unbounded).minimum > console.width:
        table.box, table.padding = None, (0, 1, 0, 0)
        table.columns = [column for column in table.columns if column.header not in expendable]
        for column in table.columns:
            column.overflow = "fold"
        if expendable:
            talk(f"left out, because the terminal is narrow: {', '.join(expendable)}", style="dim")
    console.print(table)


def show_json(result: Any) -> None:
    """A result as JSON."""
    sys.stdout.write(json.dumps(result, indent=2, ensure_ascii=False) + "\n")
    sys.stdout.flush()


def talk(message: str, *, style: str = "") -> None:
    """A line for the user, unless told to be quiet."""
    if _logger.isEnabledFor(logging.INFO):
        error_console().print(message, style=style or None, markup=False)


def facts(pairs: Sequence[tuple[str, str]], *, talk: bool = True) -> None:
    """Short names and what they are, one line each; as talk, or as a result."""
    if talk and not _logger.isEnabledFor(logging.INFO):
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = error_console() if talk else Console(highlight=False)
    width = max(len(name) for name, _ in pairs)
    if not console.is_terminal:
        for name, value in pairs:
            console.print(f"  {name:{width}}  {value}", markup=False, soft_wrap=True)
        return
    grid = Table.grid(padding=(0, 0, 0, 2), pad_edge=True)
    for name, value in pairs:
        grid.add_row(Text(name, "dim"), Text(value))
    console.print(grid)


def size(count: int) -> str:
    """Bytes in decimal units."""
    power = min(4, (len(str(count)) - 1) // 3)
    return f"{count / 1000**power:.3g} {('bytes', 'kB', 'MB', 'GB', 'TB')[power]}"


def complain(error: CatenaError) -> None:
    """An error of the user, without a traceback."""
    from rich.text import Text

    console = error_console()
    mistakes = getattr(error, "mistakes", ())
    for mistake in mistakes:
        console.print(Text.assemble((mistake.location, "bold"), ": ", (mistake.wrong, "red")))
        line, marks = mistake.quoted()
        if line:
            console.print(Text.assemble(f"    {line}\n    ", (marks, "bold red")), soft_wrap=True)
        if mistake.do:
            console.print(Text.assemble(("  do: ", "dim"), mistake.do))
    if len(mistakes) > 1:
        console.print(f"{len(mistakes)} mistakes", style="bold")
    if not mistakes:
        console.print(Text.assemble(("error: ", "bold red"), str(error)), soft_wrap=True)
    for note in getattr(error, "__notes__", ()):
        console.print(note, markup=False)


_logger = logging.getLogger("catena")


class _Talk(logging.Handler):
    """What catena says while it works."""

    def emit(self, record: logging.LogRecord) -> None:
        error_console().print(record.getMessage(), style="dim", markup=False)


def be(*, quiet: bool) -> None:
    """Send what catena says to the terminal, or nowhere."""
    if not any(isinstance(handler, _Talk) for handler in _logger.handlers):
        _logger.addHandler(_Talk())
        _logger.propagate = False
    _logger.setLevel(logging.WARNING if quiet else logging.INFO)
