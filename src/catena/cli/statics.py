"""catena equilibrium, catena modes: where the chain or linkage of a case rests, and how it oscillates about that."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import CapabilityError, InputError
from ..text.plain import Json as JsonValue
from ..text.tables import ShownTable, align
from . import codes
from .options import Json, Quiet, Sets
from .terminal import be, facts, print_message, show, show_json

if TYPE_CHECKING:
    import numpy as np
    from rich.table import Table

    from ..analysis.statics.equilibrium import Equilibrium
    from ..analysis.statics.linkage_equilibrium import LinkageEquilibrium
    from ..analysis.statics.modes import Modes
    from ..systems.base import State
    from ..systems.chain.chain import Chain
    from ..systems.linkage.linkage import Linkage

    Rest = Equilibrium | LinkageEquilibrium

USUAL = 12  # modes that are listed
NAMED = 6  # zero modes that are named
DIGITS = {"omega": ".12g", "frequency": ".9g", "period": ".9g", "error": ".1e", "damping": ".3g"}
CaseFile = Annotated[
    Path,
    typer.Argument(
        metavar="CASE.TOML", help="The case; of it only \\[system] and \\[start] are used.", show_default=False
    ),
]
Load = Annotated[
    str | None,
    typer.Option("--load", metavar="FX,FY,FZ", help="A force on the last body, added to those of the case."),
]
Tol = Annotated[
    float | None,
    typer.Option(
        "--tol",
        help="Residual that is accepted. For a chain: the largest force, with torques divided by about the length of a link. For a linkage: the largest torque, with forces times its size. By default what rounding leaves.",
    ),
]


def equilibrium(
    case: CaseFile,
    load: Load = None,
    tol: Tol = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="FILE", help="Write the state: .toml, a \\[start] for a case; .npz, arrays."
        ),
    ] = None,
    sets: Sets = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Find where the chain or linkage of a case rests, searching from its start, and whether that is stable.

    A converged equilibrium is balanced and stable. The exit code is 3 if none was found.
    """
    be(quiet=quiet)
    _check_out(out, (".toml", ".npz"), "catena equilibrium --out")
    found = _find(case, load, tol, sets)
    if as_json:
        show_json(_describe(found))
    else:
        _show(found)
    if out is not None:
        _write_state(found.state, out)
        print_message(f"written: {out}", style="green")
    if not found.converged:
        raise typer.Exit(codes.FAILED_STEP)


def modes(
    case: CaseFile,
    count: Annotated[
        int | None, typer.Option("--count", "-n", help="Number of modes, from the lowest; by default 12.")
    ] = None,
    load: Load = None,
    tol: Tol = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="FILE", help="Write them to a file: .csv has the frequencies, .npz also the modes."
        ),
    ] = None,
    page: Annotated[
        Path | None, typer.Option("--page", metavar="FILE.HTML", help="Write a page in which a mode oscillates.")
    ] = None,
    mode: Annotated[
        int | None, typer.Option("--mode", help="The mode that the page shows, counted from 0; by default the lowest.")
    ] = None,
    sets: Sets = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Find the natural frequencies and modes of a case about the equilibrium that its start leads to.

    If no stable equilibrium is found, there are no modes, and the exit code is 3.
    """
    be(quiet=quiet)
    _check_out(out, (".csv", ".npz"), "catena modes --out")
    if page is not None:
        from ..output.files import require_writable

        require_writable(page)
    elif mode is not None:
        raise InputError("--mode is given without --page", where="catena modes --mode", do="give --page FILE.HTML, too")
    if count is not None and count < 1:
        raise InputError(f"count = {count}", where="catena modes --count", do="give a number from 1 on")
    found = _find(case, load, tol, sets)
    if not found.converged:
        _show(found)
        print_message("there is no stable equilibrium, and so no frequency", style="bold red")
        raise typer.Exit(codes.FAILED_STEP)
    made = _modes(found, count)
    if page is not None:
        made.view(page, mode=mode or 0)
    wanted = len(made.omega) if count is None else count
    table = ModeTable(made, min(wanted, USUAL) if count is None else wanted)
    if as_json:
        listed: list[JsonValue] = [{**row} for row in table.described()]
        show_json({"equilibrium": _describe(found), "zero": made.zero, "modes": listed})
    else:
        show(table)
    if out is not None:
        _write_modes(made, out)
        print_message(f"written: {out}", style="green")
    if page is not None:
        print_message(f"page: {page}", style="dim")


@dataclass(frozen=True)
class ModeTable:
    """Frequencies as a table."""

    modes: Modes
    count: int

    @property
    def headings(self) -> tuple[str, ...]:
        """The headings of the columns."""
        return ("mode", "omega", "frequency", "period", "error", *(("damping",) if self._damping is not None else ()))

    @property
    def _damping(self) -> np.ndarray | None:
        found = getattr(self.modes, "damping", None)
        return found if found is not None and found.any() else None

    def described(self) -> list[dict[str, float]]:
        """Each mode as names and values."""
        made: list[dict[str, float]] = []
        for number, omega in enumerate(self.modes.omega[: self.count].tolist()):
            row = {
                "mode": number, "omega": omega, "frequency": omega / (2.0 * math.pi), "period": 2.0 * math.pi / omega,
                "error": float(self.modes.error[number]),
            }  # fmt: skip
            made.append(row if self._damping is None else row | {"damping": float(self._damping[number])})
        return made

    def rows(self) -> list[tuple[str, ...]]:
        """The rows as text."""
        return [tuple(format(value, DIGITS.get(name, "")) for name, value in row.items()) for row in self.described()]

    @property
    def below(self) -> list[str]:
        """The text below the table."""
        lines, more = [], len(self.modes.omega) - self.count
        if more > 0:
            lines.append(f"{more} more: --count {len(self.modes.omega)} lists all")
        if self.modes.zero:
            named = getattr(self.modes, "zero_motions", ())
            free = "1 motion costs nothing" if self.modes.zero == 1 else f"{self.modes.zero} motions cost nothing"
            more_named = f"; and {len(named) - NAMED} more" if len(named) > NAMED else ""
            lines.append(free + (": " + "; ".join(named[:NAMED]) + more_named if named else ""))
        if self._damping is not None:
            lines.append("damping: a part of the critical one; it is left out of the frequencies")
        return lines

    def __str__(self) -> str:
        table = align([self.headings, *self.rows()], right=range(len(self.headings)))
        return "\n".join([*table, *self.below])

    def __rich__(self) -> Table:
        from rich.text import Text

        table = ShownTable(self.headings, [(row, False) for row in self.rows()], right=self.headings).__rich__()
        table.caption, table.caption_justify = Text("\n".join(self.below)), "left"
        return table


def _find(case: Path, load: str | None, tol: float | None, sets: list[str] | None) -> Rest:
    from ..cases import read_system

    system, start = read_system(case, overrides=sets or ())
    forces = _load(load)
    print_message(str(case), style="bold")
    return _static(system).equilibrium(start, forces, tol)


def _static(system: object) -> Chain | Linkage:
    from ..systems.chain.chain import Chain
    from ..systems.linkage.linkage import Linkage

    if isinstance(system, Chain | Linkage):
        return system
    raise CapabilityError(
        f"{type(system).__name__} has no statics", where="system.kind", do="give a case of a Chain or a Linkage"
    )


def _modes(found: Rest, count: int | None) -> Modes:
    from ..analysis.statics.equilibrium import Equilibrium

    if isinstance(found, Equilibrium):
        return found.chain.normal_modes(found, count)
    return found.linkage.normal_modes(found, count)


def _load(text: str | None) -> list[float] | None:
    """Parse a force from the command line."""
    if text is None:
        return None
    try:
        force = [float(part) for part in text.split(",")]
    except ValueError:
        force = []
    if len(force) != 3 or not all(map(math.isfinite, force)):
        raise InputError(f"--load {text}", where="catena --load", do="give three numbers, as --load 1,0,-2.5")
    return force


def _check_out(out: Path | None, known: tuple[str, ...], where: str) -> None:
    """Check, before anything is computed, that the file can be written and does not exist yet."""
    if out is None:
        return
    if out.suffix not in known:
        raise InputError(
            f"{out} ends with none of {', '.join(known)}", where=where, do=f"choose a name such as rest{known[0]}"
        )
    from ..output.files import refuse_taken, require_writable

    refuse_taken(out)
    require_writable(out)


def _describe(found: Rest) -> dict[str, JsonValue]:
    names = ("status", "energy", "residual", "tol", "lowest", "negative", "flat", "moved", "iterations")
    plain: dict[str, JsonValue] = {name: getattr(found, name) for name in names}
    if not math.isfinite(found.lowest):
        plain["lowest"] = None
    plain["saddles"] = list(found.saddles)
    plain["flat_motions"] = list(getattr(found, "flat_motions", ()))
    plain["position"], plain["orientation"] = found.state.position.tolist(), found.state.orientation.tolist()
    return plain


def _show(found: Rest) -> None:
    """Print the report of an equilibrium."""
    place = ", ".join(f"{x:.10g}" for x in found.state.position[-1])
    facts([*found.report(), ("last body", f"at ({place})")], result=True)


def _write_state(state: State, out: Path) -> None:
    """Write the state as the start of a case, or as arrays."""
    from ..output.files import new_file

    if out.suffix == ".npz":
        import numpy as np

        with new_file(out) as temporary:
            np.savez(temporary, position=state.position, orientation=state.orientation)
        return
    lines = ["# where the system rests: the [start] of a case", "[start]"]
    for name in ("position", "orientation"):
        rows = ",\n".join(f"  [{', '.join(map(repr, row))}]" for row in state.fields[name].tolist())
        lines.append(f"{name} = [\n{rows},\n]")
    with new_file(out) as temporary:
        temporary.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _write_modes(made: Modes, out: Path) -> None:
    from ..output.files import new_file

    if out.suffix == ".csv":
        rows = ModeTable(made, len(made.omega)).described()
        headings = list(rows[0]) if rows and isinstance(rows[0], dict) else ["mode"]
        lines = [
            ",".join(headings),
            *(",".join(repr(v) for v in row.values()) for row in rows if isinstance(row, dict)),
        ]
        with new_file(out) as temporary:
            temporary.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return
    import numpy as np

    with new_file(out) as temporary:
        np.savez(
            temporary, omega=made.omega, error=made.error, vectors=made.vectors, position=made.state.position,
            orientation=made.state.orientation,
        )  # fmt: skip
