"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No messages and no progress; results and errors only.")]
Sets = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Override a key of the case, as in --set run.dt=0.01; repeatable."),
]
Plots = Annotated[
    Path | None, typer.Option("--plots", metavar="DIR", help="Save pictures (PNG and PDF) in this directory.")
]
Page = Annotated[
    Path | None, typer.Option("--page", metavar="FILE.HTML", help="Write a page that shows the run in any browser.")
]
Data = Annotated[bool, typer.Option("--data", help="Write the numbers of each picture beside it, as CSV.")]
StoredRun = Annotated[Path, typer.Argument(metavar="RUN.ZARR", help="Directory of a stored run.", show_default=False)]
