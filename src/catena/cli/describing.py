"""catena new, catena check, catena schema: writing cases."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import InputError
from . import codes
from .keeping import Place
from .options import Json, Quiet, Sets
from .running import introduce
from .terminal import be, facts, print_message, show_json

if TYPE_CHECKING:
    from ..cases import Case
    from ..running.ensembles.grids import Grid


def new(
    kind: Annotated[str, typer.Argument(help="Kind of system; if omitted, the kinds are listed.")] = "",
) -> None:
    """Print a commented case that runs as it is: catena new hamiltonian > case.toml"""
    from ..cases.templates import template, template_names

    typer.echo(template(kind) if kind else "\n".join(template_names()), nl=not kind)


def check(
    case: Annotated[Path, typer.Argument(metavar="CASE.TOML", help="The case.", show_default=False)],
    sets: Sets = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Report all mistakes in a case at once, each with its place, without running it."""
    be(quiet=quiet)
    from ..cases import CaseError, read_case
    from ..running.simulation import check_start

    try:
        described = read_case(case, overrides=sets or ())
        check_start(described.plan)
        points = _points(case, described, sets or ())
    except InputError as error:
        if not as_json:
            raise
        known = error.mistakes if isinstance(error, CaseError) else ()
        unplaced = {"where": error.where, "line": None, "column": None, "wrong": error.wrong, "do": error.do}
        show_json({"ok": False, "mistakes": [mistake.to_dict() for mistake in known] or [unplaced]})
        raise typer.Exit(codes.MISTAKE) from None
    if as_json:
        show_json({"ok": True, "mistakes": [], "case": described.plan.describe(), "steps": described.steps})
        return
    place = Place.asked_for(None, False, described, case.stem)
    introduce(described.plan, described.steps, title=str(case), store=place)
    if points is not None:
        facts([("sweep", f"{len(points)} members: {points}")])
    print_message("no mistakes", style="green")


def _points(path: Path, case: Case, overrides: Sequence[str]) -> Grid | None:
    """The number of points of the [sweep] table, checked as well; None without one."""
    if case.sweep is None:
        return None
    from ..cases.sweeping import check_sweep

    return check_sweep(path, case, overrides=overrides)


def schema() -> None:
    """Print the JSON schema of cases, for editors that complete and check TOML."""
    from ..cases import case_schema

    show_json(case_schema())
