"""catena plot, and the pictures that `--plots` saves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import InputError, unknown_word
from ..output.files import replacing, write_figure
from .options import Data, Quiet, StoredRun
from .terminal import be, echo, print_message

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ..output.style import Panels
    from ..running.ensembles import Ensemble
    from ..running.runs import Run

FORMATS = ("png", "pdf")


def plot(
    path: StoredRun,
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME]...", help="Names of pictures; by default all that suit the run."),
    ] = None,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="Directory for the pictures.")] = Path(),
    data: Data = False,
    quiet: Quiet = False,
) -> None:
    """Draw a stored run (energy, invariants and what suits its system), or the members of an ensemble or sweep."""
    be(quiet=quiet)
    from ..running.opening import open as open_store

    if out.suffix[1:].lower() in (*FORMATS, "svg", "jpg", "csv"):
        raise InputError(
            f"{out} looks like a file; --out is the directory for the pictures", where=f"--out {out}",
            do=f"name a directory: pictures are saved there under their names, as {' and '.join(FORMATS)}",
        )  # fmt: skip
    drawn = save_pictures(open_store(path), out, names=names or (), data=data)
    for name in drawn:
        for suffix in (*FORMATS, *(("csv",) if data else ())):
            echo(str(out / f"{name}.{suffix}"))


def save_pictures(run: Run | Ensemble, folder: Path, *, names: Sequence[str] = (), data: bool = False) -> list[str]:
    """Draw pictures of a run, or of members, into a directory, all that apply if none is named; returns their names."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    from ..output.style import Panels
    from ..running.runs import Run

    make_folder(folder)
    pictures: dict[str, Callable[[], Axes | Panels]] = {name: getattr(run.plot, name) for name in run.plot.suited()}
    if isinstance(run, Run):
        for section in run.sections:
            pictures[f"section_{section}"] = partial(run.plot.section, section)
    for name in names:
        if name not in pictures:
            raise unknown_word(f"there is no picture {name!r}", name, pictures, "plot")
    drawn = []
    for name, draw in ((name, pictures[name]) for name in names or pictures):
        try:
            picture = draw()
        except InputError as error:  # an orbit of one coordinate, a section without crossings
            print_message(f"no picture {name}: {error.wrong}", style="dim")
            continue
        figure = picture.figure if isinstance(picture, Panels) else picture.get_figure(root=True)
        assert figure is not None
        for suffix in FORMATS:
            write_figure(folder / f"{name}.{suffix}", figure)
        if data:
            _save_numbers(figure, folder / f"{name}.csv")
        pyplot.close(figure)
        drawn.append(name)
    return drawn


def make_folder(folder: Path) -> None:
    """Create the directory for pictures; also called before the computation that they show."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"the directory for pictures cannot be made: {error.strerror}", where=str(folder), do="choose another one"
        ) from None


def _save_numbers(figure: Figure, file: Path) -> None:
    import csv

    from ..output.numbers import HEADINGS, numbers_of

    with replacing(file) as temporary, temporary.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(HEADINGS)
        writer.writerows(numbers_of(figure))
