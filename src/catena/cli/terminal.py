"""Printing: results to stdout, messages to stderr; tables with rules on a terminal, plain columns in a pipe.

All output passes here. Control characters are shown instead of executed by the terminal, because names and messages may
come from an untrusted store.
"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Sequence
from typing import IO, TYPE_CHECKING

import typer

from ..errors import CatenaError
from ..text.controls import escape_controls
from ..text.plain import Json
from ..text.tables import ShownTable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import Console, ConsoleOptions, RenderableType, RichCast
    from rich.segment import Segment


def safe_console(
    *,
    stderr: bool = False,
    soft_wrap: bool = False,
    file: IO[str] | None = None,
    force_terminal: bool | None = None,
    width: int | None = None,
) -> Console:
    """A console that shows control characters in what it prints; it still emits its own."""
    from rich.console import Console
    from rich.segment import Segment

    class Safe(Console):
        def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
            for text, style, control in super().render(renderable, options):
                yield Segment(text if control else escape_controls(text), style, control)

    return Safe(
        highlight=False, stderr=stderr, soft_wrap=soft_wrap, file=file, force_terminal=force_terminal, width=width
    )


def error_console() -> Console:
    """The console for messages. It is made anew each time, because stderr may have been replaced."""
    # a pipe has no width for wrapping
    return safe_console(stderr=True, soft_wrap=not sys.stderr.isatty())


def echo(text: str, *, nl: bool = True, err: bool = False) -> None:
    """Print a line of a result."""
    typer.echo(escape_controls(text), nl=nl, err=err)


def show(result: RichCast, *, expendable: Sequence[str] = ()) -> None:
    """A result that prints as a table, or as some with lines below them: on a terminal with rules, in a pipe as plain text.

    A terminal that is too narrow gets a table without rules, then without as many of the `expendable` columns as it takes; a word or a
    number that is still too long goes on in the next line.
    """
    from rich.console import Group

    console = safe_console()
    if not console.is_terminal:
        sys.stdout.write(escape_controls(f"{result}\n"))
        sys.stdout.flush()
        return
    made = result.__rich__()
    for part in made.renderables if isinstance(made, Group) else [made]:
        table = part.__rich__() if isinstance(part, ShownTable) else part
        left_out = _narrow(table, console, expendable)
        if left_out:
            print_message(f"left out, because the terminal is narrow: {', '.join(left_out)}", style="dim")
        console.print(table)


def _narrow(table: RenderableType, console: Console, expendable: Sequence[str]) -> list[str]:
    """Take from a table what the terminal has no room for; the headings of columns that are left out."""
    from rich.table import Table

    unbounded = console.options.update(width=10_000)

    def is_wide() -> bool:
        return console.measure(table, options=unbounded).minimum > console.width

    left_out: list[str] = []
    if isinstance(table, Table) and is_wide():
        table.box, table.padding = None, (0, 1, 0, 0)
        for heading in expendable:
            if is_wide():
                table.columns = [column for column in table.columns if column.header != heading]
                left_out.append(heading.replace("\n", " "))
        for column in table.columns if is_wide() else ():
            column.no_wrap, column.min_width, column.overflow = False, None, "fold"
    return left_out


def show_json(result: Json) -> None:
    """Print a result as JSON."""
    text = json.dumps(result, indent=2, ensure_ascii=False)
    sys.stdout.write(escape_controls(text, written=lambda character: json.dumps(character)[1:-1]) + "\n")
    sys.stdout.flush()


def print_message(message: str, *, style: str = "") -> None:
    """Print a line for the user, unless quiet."""
    if _logger.isEnabledFor(logging.INFO):
        error_console().print(message, style=style or None, markup=False)


def facts(pairs: Sequence[tuple[str, str]], *, result: bool = False) -> None:
    """Print names and values, one line each; as messages, or as a result."""
    if not result and not _logger.isEnabledFor(logging.INFO):
        return
    from rich.table import Table
    from rich.text import Text

    console = safe_console() if result else error_console()
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
    """Print an error of the user, without a traceback."""
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


class _ConsoleHandler(logging.Handler):
    """Prints log messages of catena."""

    def emit(self, record: logging.LogRecord) -> None:
        error_console().print(record.getMessage(), style="dim", markup=False)


def be(*, quiet: bool) -> None:
    """Send log messages of catena to the terminal, or nowhere."""
    if not any(isinstance(handler, _ConsoleHandler) for handler in _logger.handlers):
        _logger.addHandler(_ConsoleHandler())
        _logger.propagate = False
    _logger.setLevel(logging.WARNING if quiet else logging.INFO)
