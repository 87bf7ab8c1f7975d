"""catena info, catena methods, catena cite: information about stores, methods and this installation."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import InputError, StoreError, nearest
from ..text.plain import Json as JsonValue
from ..version import __version__
from .many import failure_lines, point_of
from .options import Json
from .running import show_run
from .terminal import be, echo, facts, print_message, show, show_json, size

if TYPE_CHECKING:
    from ..methods.base import Method
    from ..running.ensembles import StoredEnsemble
    from ..running.runs import StoredRun
    from ..systems.base import System

LISTED_VALUES = 8  # of an axis
LISTED_FOREIGN = 20  # entries of the cache that no run wrote


def info(
    path: Annotated[
        Path | None,
        typer.Argument(metavar="[RUN.ZARR]", help="A stored run; if omitted, this installation is described."),
    ] = None,
    whole: Annotated[bool, typer.Option("--check", help="Verify the checksums of all files first.")] = False,
    error: Annotated[
        bool,
        typer.Option(
            "--error", help="Also measure how accurate the path is: repeat the run with half and with twice the step."
        ),
    ] = False,
    as_json: Json = False,
) -> None:
    """Show the content, progress and audit of a stored run or ensemble; or describe this installation and its cache."""
    be(quiet=False)
    if path is None:
        if whole or error:
            asked = "--check checks" if whole else "--error looks at"
            raise InputError(f"{asked} a stored run", where="catena info", do="give the directory of a run")
        _show_installation(as_json=as_json)
        return
    from ..store import name_foreign, read_spec, remedy, verify

    if whole:
        problems = verify(path)
        if problems:
            raise StoreError(
                "the store is damaged: " + "; ".join(problems[:10]), where=str(path), do=remedy(problems),
            )  # fmt: skip
        print_message("every file is whole", style="green")
        for name in name_foreign(path)[:LISTED_FOREIGN]:
            print_message(f"no run wrote {name}", style="yellow")
    spec = read_spec(path)
    stored = [file.stat().st_size for file in path.rglob("*") if file.is_file()]
    if "ensemble" not in spec:
        _show_stored_run(path, stored, error=error, as_json=as_json)
    elif error:
        raise InputError("--error looks at one path", where=str(path), do="leave it out: this is a stored ensemble")
    else:
        _show_stored_ensemble(path, spec, stored, as_json=as_json)


def _show_installation(*, as_json: bool) -> None:
    """Versions, and the directory of compiled code."""
    from importlib.metadata import version
    from platform import python_version

    from ..disk_cache import place
    from ..disk_cache.tidying import LIMIT, contents

    versions = {"catena": __version__, "Python": python_version()}
    versions |= {name: version(name.lower()) for name in ("NumPy", "Numba")}
    try:
        files, state = contents(), ""
    except FileNotFoundError:
        files, state = [], "nothing is kept yet"
    except OSError as problem:
        files, state = [], f"not used: {problem.strerror}"
    kept = sum(file.bytes for file in files)
    if as_json:
        cache: dict[str, JsonValue] = {
            "path": str(place()),
            "bytes": kept,
            "files": len(files),
            "limit": LIMIT,
            "state": state,
        }
        show_json({"versions": versions, "cache": cache})
        return
    state = state or f"{size(kept)} in {len(files)} files, at most {size(LIMIT)}; remove it whenever you like"
    facts([*versions.items(), ("cache", str(place())), ("", state)], result=True)


def _show_stored_run(path: Path, stored: list[int], *, error: bool, as_json: bool) -> None:
    from ..output.page.facts import rhythm
    from ..running.runs import StoredRun as Opened

    run = Opened.opened(path)
    planned = run.planned
    if as_json:
        facts_of: dict[str, JsonValue] = {
            "path": str(path), "catena_version": run.origins[0].catena, "origins": list(map(asdict, run.origins)),
            "case": run.plan.describe(), "steps": run.steps,
            "planned_steps": planned, "finished": run.finished, "ending": run.ending.get("reason", ""),
            "time": float(run.final.time), "samples": run.data.sizes["time"], "bytes": sum(stored),
            "files": len(stored), "cite": list(run.method.traits.cite),
            "audit": run.audit().to_dict(), "damage": list(run.damage),
        }  # fmt: skip
        facts_of |= {"error": run.error().to_dict()} if error else {}
        show_json(facts_of)
        return
    echo(str(path))
    facts(
        [
            *_name_what_moved(run.system, run.method, run.plan.dt),
            ("steps", _progress(run, planned, path)),
            ("time", f"{run.plan.t0:.10g} to {float(run.final.time):.10g}"),
            *([("ended", str(run.ending["reason"]))] if "reason" in run.ending else []),
            ("samples", f"{run.data.sizes['time']}, {rhythm(run.plan.every)}"),
            *((f"unit of {name}", unit) for name, unit in run.plan.units.items()),
            ("size", f"{size(sum(stored))} in {len(stored)} files"),
            ("written by", str(run.origins[0])),
            *(("", line) for line in run.changes),
        ],
        result=True,
    )
    show_run(run, as_json=False)
    if error:
        print_message("following the path again, which takes two and a half times as long as the run did", style="dim")
        echo(f"\n{run.error()}")


def _show_stored_ensemble(path: Path, spec: Mapping[str, JsonValue], stored: list[int], *, as_json: bool) -> None:
    from ..output.page.facts import rhythm
    from ..running.ensembles import StoredEnsemble

    many = StoredEnsemble(path)
    planned, failures = many.planned, many.failures
    if as_json:
        facts_of: dict[str, JsonValue] = {
            "path": str(path), "catena_version": many.origins[0].catena, "origins": list(map(asdict, many.origins)),
            "case": spec["ensemble"], "members": len(many),
            "planned_members": planned, "finished": many.finished, "device": many.device, "bytes": sum(stored),
            "files": len(stored), "cite": list(many.method.traits.cite),
            "failures": [
                {"member": i, **point_of(many, i), "step": failure.step, "time": failure.time, "wrong": failure.wrong}
                for i, failure in failures
            ],
            "audit": many.audit().to_dict(),
        }  # fmt: skip
        show_json(facts_of)
        return
    echo(str(path))
    done = (
        f"{planned}, all done"
        if many.finished
        else f"{len(many)} of {planned} done: `catena resume {shlex.quote(str(path))}` follows the rest"
    )
    facts(
        [
            *_name_what_moved_in_members(many),
            ("members", done),
            ("steps", f"{many.steps} of each, looked at {rhythm(many.every)}"),
            ("kept", {"nothing": "the numbers of the audit"}.get(many.keep, many.keep)),
            ("failed", str(len(failures)) if failures else "none"),
            *(("", line) for line in failure_lines(many)),
            ("size", f"{size(sum(stored))} in {len(stored)} files"),
            ("written by", str(many.origins[0])),
            *(("", line) for line in many.changes),
        ],
        result=True,
    )
    show(many.audit())


def _name_what_moved(system: System, method: Method, dt: float) -> list[tuple[str, str]]:
    """The system and the method."""
    from ..output.page.facts import in_short

    described = ((key, in_short(value)) for key, value in system.describe().items() if key != "kind")
    return [("system", system.title), *described, ("method", str(method)), ("dt", repr(dt))]


def _name_what_moved_in_members(many: StoredEnsemble) -> list[tuple[str, str]]:
    """The systems and methods of an ensemble: where they differ, the ranges; and the axes of a sweep."""
    from ..output.page.facts import in_short
    from ..running.ensembles.kinds import Varied, between

    rows = dict(_name_what_moved(many.system, many.method, many.dt))
    if len(many.systems) > 1:
        rows |= {key: in_short(value) for key, value in Varied.of(many.systems).overview().items() if key != "kind"}
    if len(set(many.methods)) > 1:
        overview = Varied.of(many.methods).overview()
        rows["method"] = (
            f"{overview['kind']}, {in_short({key: value for key, value in overview.items() if key != 'kind'})}"
        )
    steps = many.step_sizes
    if (steps != many.dt).any():
        rows["dt"] = between(steps)
    axes = many.grid.axes.items() if many.grid is not None else ()
    return [*rows.items(), *((f"axis {name}", _along(values)) for name, values in axes)]


def _along(values: Sequence[object]) -> str:
    """The values of an axis; for many numbers, the first and the last."""
    from ..output.page.facts import in_short

    numbers = len(values) > LISTED_VALUES and all(isinstance(value, (int, float)) for value in values)
    listed = f"{values[0]} to {values[-1]}" if numbers else in_short(list(values))
    return f"{len(values)} values: {listed}"


def _progress(run: StoredRun, planned: int, path: Path) -> str:
    if run.finished:
        return f"{run.steps}, finished"
    return f"{run.steps} of {planned}, not finished: catena resume {shlex.quote(str(path))}"


def methods(
    case: Annotated[
        Path | None, typer.Argument(metavar="[CASE.TOML]", help="List only methods that can treat its system.")
    ] = None,
    as_json: Json = False,
) -> None:
    """List the methods and what they promise."""
    be(quiet=False)
    from ..running.catalogue import list_methods

    system = None
    if case is not None:
        from ..cases import read_case

        system = read_case(case).plan.system
    table = list_methods(system)
    if as_json:
        show_json(table.to_dict())
    else:
        show(table, expendable=("keeps exactly", "cite"))


def cite(
    what: Annotated[str, typer.Argument(metavar="RUN.ZARR | METHOD", help="A stored run, or a method.")],
) -> None:
    """Print the BibTeX entries of what a run used, or of a method."""
    be(quiet=False)
    if Path(what).exists():
        from ..running.runs import read_run_spec
        from ..running.trust import run_of

        read_run_spec(what)
        keys = list(run_of(what)[0].method.traits.cite)
    else:
        keys = _keys_of_method(what)
    from ..text.citations import bibtex

    found = bibtex(keys)
    echo("\n\n".join(found.values()))
    unknown = [key for key in dict.fromkeys(keys) if key not in found]
    if unknown:
        print_message(f"not among the references of catena: {', '.join(unknown)}")


def _keys_of_method(name: str) -> list[str]:
    """Citations of a method as `catena methods` writes it, or of all methods of a kind: "Splitting(4)", "Splitting"."""
    from ..methods.base import all_methods

    examples = [method for kind in all_methods() for method in kind.examples()]
    chosen = [m for m in examples if name in (str(m), str(m).removesuffix("()"))]
    chosen = chosen or [method for method in examples if method.name == name]
    if not chosen:
        known = list(dict.fromkeys(method.name for method in examples))
        raise InputError(
            f"there is no stored run and no method {name!r}{nearest(name, known)}", where="catena cite",
            do="give the directory of a run, or a method that `catena methods` lists",
        )  # fmt: skip
    return [key for method in chosen for key in method.traits.cite]
