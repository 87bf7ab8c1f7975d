"""catena view, catena export: a stored run for the eye, and for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .options import Quiet, StoredRun
from .terminal import be, print_message, size


def view(
    path: StoredRun,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="PAGE.HTML", help="The page; by default RUN.html here.")
    ] = None,
    title: Annotated[str | None, typer.Option("--title", help="Heading; by default the name of the run.")] = None,
    frames: Annotated[
        int | None, typer.Option("--frames", help="Largest number of samples to show; by default 2000.")
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Write a page that shows a stored run: one HTML file that any browser opens, without network access."""
    be(quiet=quiet)
    from ..running.runs import open_run

    target = out or Path(f"{path.stem}.html")
    open_run(path).view(target, title=title, frames=frames)
    print_message(f"written: {target} ({size(target.stat().st_size)})", style="green")


def export(
    path: StoredRun,
    target: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="The file; its suffix chooses the format: .xyz .dump .gsd .pdb .glb .nc .csv.",
            show_default=False,
        ),
    ],
    format: Annotated[
        str | None,
        typer.Option("--format", "-f", help="xyz, dump or gsd, also with -particles; pdb, gltf, netcdf or csv."),
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Write a stored run for other programs: OVITO, ASE, LAMMPS, HOOMD-blue, Blender, xarray, spreadsheets."""
    be(quiet=quiet)
    from ..running.runs import open_run

    open_run(path).export(target, format)
    print_message(f"written: {target} ({size(target.stat().st_size)})", style="green")
