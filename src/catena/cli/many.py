"""catena sweep, catena ensemble: many members at once."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, cast

import typer

from ..errors import InputError, Interrupted
from . import codes
from .keeping import free_names
from .options import Json, Quiet, Sets
from .terminal import be, error_console, facts, print_message, show, show_json

if TYPE_CHECKING:
    from ..running.ensembles import Ensemble
    from ..running.ensembles.starts import Starts
    from ..running.plan import Plan
    from ..text.plain import Json as JsonValue

LISTED_FAILURES = 5

CaseFile = Annotated[Path, typer.Argument(metavar="CASE.TOML", help="The case.", show_default=False)]
Out = Annotated[
    Path | None,
    typer.Option("--out", "-o", metavar="NAME.ZARR", help="Store the members here; by default CASE.zarr, or the next free name."),
]  # fmt: skip
Threads = Annotated[int | None, typer.Option("--threads", help="Number of threads; by default one for each core.")]
Device = Annotated[
    str, typer.Option("--device", metavar="[cpu|cuda]", help="cuda: step the members on a GPU, with the same bits.")
]


def sweep(
    case: CaseFile, out: Out = None, sets: Sets = None, threads: Threads = None, device: Device = "cpu", quiet: Quiet = False,
    as_json: Json = False,
) -> None:  # fmt: skip
    """Run a case at every point of its \\[sweep] table, in one store with a member for each point.

    A sweep survives being stopped or killed: `catena resume` computes the missing members, to the same bytes.
    """
    be(quiet=quiet)
    from ..cases.sweeping import points_of_case, run_points
    from ..running.ensembles.running import How

    points = points_of_case(case, None, None, overrides=sets or ())
    path = out or next(free_names(case.stem))
    print_message(str(case), style="bold")
    facts([("members", f"{len(points.grid)}: {points.grid}"), ("store", str(path))])
    how = How(device, threads, None, path, False if quiet else None)
    _finish(lambda: run_points(points, how), path, as_json=as_json)


def ensemble(
    case: CaseFile,
    starts: Annotated[
        Path | None,
        typer.Option(
            "--starts", metavar="FILE", show_default=False,
            help="Starts of all members: a .npz with the fields, with the leading axis member; or a stored ensemble, whose final states are used.",
        ),
    ] = None,
    members: Annotated[
        int | None,
        typer.Option(
            "--members", metavar="COUNT", show_default=False,
            help="Instead of starts: the number of members, all from the start of the case, with different noise in a heat bath.",
        ),
    ] = None,
    out: Out = None,
    sets: Sets = None,
    threads: Threads = None,
    device: Device = "cpu",
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:  # fmt: skip
    """Run a case from many starts, or from one start with different noise."""
    be(quiet=quiet)
    from ..cases import read_case
    from ..running.ensembles import ensemble as follow

    described = read_case(case, overrides=sets or ())
    plan, path = described.plan, out or next(free_names(case.stem))
    given = _starts_of(plan, starts, members)
    print_message(str(case), style="bold")
    facts([("starts", "that of the case" if starts is None else str(starts)), ("store", str(path))])
    _finish(
        lambda: follow(
            plan.system, given, plan.method, steps=described.steps, dt=plan.dt, every=plan.every, members=members,
            device=cast('Literal["cpu", "cuda"]', device), threads=threads, out=path, progress=False if quiet else None,
        ),
        path, as_json=as_json,
    )  # fmt: skip


def go_on(path: Path, *, anyway: bool, quiet: bool, as_json: bool) -> None:
    """Run the members that a stored ensemble lacks."""
    from ..running.ensembles import resume_ensemble

    print_message(f"resuming {path}", style="bold")
    _finish(
        lambda: resume_ensemble(path, anyway=anyway, progress=False if quiet else None), path, as_json=as_json
    )  # fmt: skip


def _starts_of(plan: Plan, path: Path | None, members: int | None) -> Starts:
    """The starts in a file; or the start of the case for `members` members, which then differ only by noise."""
    from ..running.ensembles.asking import require_noise

    if (path is None) == (members is None):
        raise InputError(
            "it is not said what members there are" if path is None else "starts and members are given",
            where="catena ensemble", do="give --starts FILE, or in a heat bath --members COUNT",
        )  # fmt: skip
    if path is not None:
        return _read_starts(path)
    assert members is not None
    require_noise(plan.pairing, members, where="--members", starts="--starts FILE")
    return plan.start


def _read_starts(path: Path) -> Starts:
    """The fields of a file of starts, every mistake explained."""
    from ..running.ensembles import StoredEnsemble
    from ..text.number_files import read_arrays

    if path.is_dir():
        return StoredEnsemble(path).final
    return read_arrays(path, what="starts in a .npz, or a stored ensemble")


def _finish(execute: Callable[[], Ensemble], path: Path, *, as_json: bool) -> None:
    """Run the members, then show the results."""
    try:
        many = execute()
    except Interrupted as stop:
        error_console().print(str(stop).partition(";")[0], style="bold", markup=False)
        error_console().print(f"resume with: catena resume {shlex.quote(str(path))}", markup=False)
        raise typer.Exit(codes.STOPPED) from None
    audit, failures = many.audit(), many.failures
    if as_json:
        listed: list[JsonValue] = [
            {"member": i, **point_of(many, i), "step": failure.step, "wrong": failure.wrong} for i, failure in failures
        ]
        show_json(
            {"members": len(many), "failures": listed, "audit": audit.to_dict(), "ok": audit.ok, "out": str(path)}
        )
    else:
        show(audit)
    for line in failure_lines(many):
        print_message(line)
    print_message(f"stored in {path}", style="dim")
    if len(failures) == len(many):
        raise typer.Exit(codes.FAILED_STEP)


def failure_lines(many: Ensemble) -> list[str]:
    """The first members that failed, each with its cause, and the number of others."""
    failures = many.failures
    lines = [f"{many.name_of(i)}: {failure.wrong}, step {failure.step}" for i, failure in failures[:LISTED_FAILURES]]
    return lines + ([f"and {len(failures) - LISTED_FAILURES} more"] if len(failures) > LISTED_FAILURES else [])


def point_of(many: Ensemble, member: int) -> dict[str, JsonValue]:
    """The point of a member of a sweep, for JSON; empty for other ensembles."""
    return {} if many.grid is None else {"point": many.grid.at(member)}
