"""catena run, catena resume."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import InputError, Interrupted, StepFailure
from ..text.plain import clip
from . import codes
from .keeping import Place
from .options import Data, Json, Page, Plots, Quiet, Sets, StoredRun
from .terminal import be, echo, error_console, facts, print_message, show, show_json

LONGEST_SYSTEM = 100  # characters of the system in the line before a run
DEFAULT_NAME = "pull"  # of the run without a case

if TYPE_CHECKING:
    from ..running.auditing import AuditRow
    from ..running.plan import Plan
    from ..running.runs import Run
    from ..systems.base import System


def run(
    case: Annotated[
        Path | None,
        typer.Argument(metavar="[CASE.TOML]", help="The case; if omitted, a pulled chain of 64 bodies is run."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="NAME.ZARR",
            help="Stream the run into this directory; by default CASE.zarr here, CASE-2.zarr if that exists, and so on.",
        ),
    ] = None,
    no_out: Annotated[bool, typer.Option("--no-out", help="Store nothing: keep the run in memory.")] = False,
    sets: Sets = None,
    plots: Plots = None,
    data: Data = False,
    page: Page = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Run a case and print its audit.

    The audit compares, for each conserved quantity, what the method promises with what was measured.

    The run is stored and survives being stopped or killed: `catena resume` continues it to the same bytes.
    """
    be(quiet=quiet)
    from ..cases import default_case, read_case

    if case is None:
        described = read_case(None, text=default_case(), label="default case", overrides=sets or ())
    else:
        described = read_case(case, overrides=sets or ())
    place = Place.asked_for(out, no_out, described, case.stem if case else DEFAULT_NAME)
    introduce(described.plan, described.steps, title=str(case or "default case"), store=place)
    progress = False if quiet else None
    _require_places(plots, page, described.plan.system)
    finish(
        lambda: place.run(described, progress=progress), place=place, plots=plots, data=data, page=page, as_json=as_json
    )


def resume(
    path: StoredRun,
    t_end: Annotated[float | None, typer.Option("--t-end", help="Time at which the extended run ends.")] = None,
    steps: Annotated[int | None, typer.Option("--steps", help="Total number of steps of the extended run.")] = None,
    anyway: Annotated[
        bool,
        typer.Option(
            "--anyway",
            help="Continue even if another program computed the run so far; the store notes from which step on.",
        ),
    ] = False,
    control: Annotated[
        str | None,
        typer.Option(
            "--control",
            metavar="MODULE:FUNCTION",
            help="The function of the controller, if it has one; it is imported and run.",
        ),
    ] = None,
    plots: Plots = None,
    data: Data = False,
    page: Page = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Continue a stopped run, extend a finished one, or compute the missing members of a sweep or an ensemble."""
    be(quiet=quiet)
    from ..running.runs import read_run_spec
    from ..store import read_spec

    if "ensemble" in read_spec(path):
        from .many import go_on

        for name, value in {
            "--t-end": t_end,
            "--steps": steps,
            "--control": control,
            "--plots": plots,
            "--page": page,
        }.items():
            if value is not None:
                raise InputError(
                    f"{name} {value}", where=str(path), do="leave it out: this is a stored ensemble, not a run"
                )
        go_on(path, anyway=anyway, quiet=quiet, as_json=as_json)
        return
    from ..running.simulation import StoppedRun

    read_run_spec(path)
    progress = False if quiet else None
    with closing(StoppedRun.reopened(path)) as stopped:
        total = stopped.steps(t_end=t_end, steps=steps)
        introduce(stopped.plan, total, title=f"resuming {path}", store=path, made=stopped.made)
        if stopped.made == total:
            print_message("every step is made: --t-end or --steps extends the run")
        _require_places(plots, page, stopped.plan.system)
        finish(
            lambda: stopped.go_on(t_end=t_end, steps=steps, progress=progress, anyway=anyway, control=control),
            place=Place(path), plots=plots, data=data, page=page, as_json=as_json,
        )  # fmt: skip


def introduce(plan: Plan, steps: int, *, title: str, store: object, made: int = 0) -> None:
    """Announce the run."""
    print_message(title, style="bold")
    samples = "" if plan.every == 1 else f", a sample every {plan.every}"
    done = f", {made} of them made" if made else ""
    facts(
        [
            ("system", clip(repr(plan.system), LONGEST_SYSTEM)),
            ("method", str(plan.method)),
            ("steps", f"{steps} of dt = {plan.dt:.10g} to t = {float(plan.times(steps)):.10g}{done}{samples}"),
            ("store", str(store)),
        ]
    )


def finish(
    execute: Callable[[], Run], *, place: Place, plots: Path | None, data: bool, page: Path | None, as_json: bool
) -> None:
    """Execute, then show the results, even if the run failed or was stopped."""
    stopped: StepFailure | Interrupted | None = None
    try:
        made: Run | None = execute()
    except (StepFailure, Interrupted) as stop:
        from ..running.runs import Run

        stopped, made = stop, stop.run if isinstance(stop.run, Run) else None
    if made is not None:
        show_run(made, as_json=as_json)
        if plots is not None:
            from .pictures import save_pictures

            names = save_pictures(made, plots, data=data)
            print_message(f"pictures in {plots}: {', '.join(names)}", style="dim")
        if page is not None:
            made.view(page)
            print_message(f"page: {page}", style="dim")
    if isinstance(stopped, StepFailure):
        raise stopped
    if stopped is not None:
        show_interruption(stopped, place.path)
        raise typer.Exit(codes.STOPPED)
    if made is not None and "reason" in made.ending:
        print_message(f"ended at t = {float(made.final.time):.10g}: {made.ending['reason']}")
    if place.path is not None:
        print_message(f"stored in {place}", style="dim")


def _require_places(plots: Path | None, page: Path | None, system: System) -> None:
    """Check before the run that pictures and page can be made and written."""
    if plots is not None:
        from .pictures import make_folder

        make_folder(plots)
    if page is not None:
        from ..output.files import require_writable
        from ..output.showing import scene_of

        scene_of(system, where="--page")
        require_writable(page)


def show_run(run: Run, *, as_json: bool) -> None:
    """The audit, what the sections and events saw, and where the run is; contradictions in red."""
    from ..running.auditing.table import EXPENDABLE

    audit = run.audit()
    counts = {name: int(crossings.sizes[f"crossing_{name}"]) for name, crossings in run.sections.items()}
    happened = [(event.name, event.time) for event in run.events]
    if as_json:
        show_json(
            {
                "case": run.plan.describe(), "steps": run.steps, "time": float(run.final.time),
                "ending": run.ending.get("reason", ""), "out": None if run.path is None else str(run.path),
                "audit": audit.to_dict(), "ok": audit.ok, "damage": list(audit.damage), "sections": counts,
                "events": [{"name": name, "time": time} for name, time in happened],
            }
        )  # fmt: skip
    else:
        show(audit, expendable=EXPENDABLE)
        for name, count in counts.items():
            echo(f"section {name}: {count} crossing{'' if count == 1 else 's'}")
        for name in dict.fromkeys(name for name, _ in happened):
            times = [time for other, time in happened if other == name]
            often = "once," if len(times) == 1 else f"{len(times)} times, first"
            echo(f"event {name}: {often} at t = {times[0]:.10g}")
    for row in audit.contradictions:
        error_console().print(
            f"{_describe_promise(run, row)} {_describe_measurement(row)}: it deviates by {row.worst:.2g}",
            style="bold red", markup=False,
        )  # fmt: skip
    for law in audit.canonical.contradictions:
        error_console().print(
            f"averages are not those of the temperature: {law.finding}", style="bold red", markup=False
        )


def _describe_promise(run: Run, row: AuditRow) -> str:
    known = {"exact": "is exact", "bounded": "is bounded", "drifts": "may drift"}
    if row.promised not in known:
        return row.quantity
    return f"{run.method} promises that {row.quantity} {known[row.promised]}, but it"


def _describe_measurement(row: AuditRow) -> str:
    return row.finding if row.verdict in ("drifts", "jumps") else f"is {row.verdict}"


def show_interruption(stop: Interrupted, store: Path | None) -> None:
    """Print where a run was stopped, and how to continue."""
    where = str(stop).partition(";")[0]
    if store is None:
        where += "; nothing is kept of a run in memory: without --no-out it can be resumed"
    error_console().print(where, style="bold", markup=False)
    if store is not None:
        error_console().print(f"resume with: catena resume {shlex.quote(str(store))}", markup=False)
