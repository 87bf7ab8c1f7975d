"""The pictures that `--plots` saves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from ..errors import InputError
from .terminal import talk

FORMATS = ("png", "pdf")


def save_pictures(run: Any, folder: Path) -> list[str]:
    """Draw the pictures that suit a run, and its sections, into a directory; gives their names."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"the directory cannot be made: {error.strerror}", where=f"--plots {folder}", do="choose another one"
        ) from None
    pictures: dict[str, Callable[[], Any]] = {name: getattr(run.plot, name) for name in run.plot.suited()}
    for section in run.sections:
        pictures[f"section_{section}"] = partial(run.plot.section, section)
    drawn = []
    for name, draw in pictures.items():
        try:
            axes = draw()
        except InputError as error:  # an orbit of one coordinate, a section without crossings
            talk(f"no picture {name}: {error.wrong}", style="dim")
            continue
        figure = (axes[0] if isinstance(axes, Sequence) else axes).figure
        for suffix in FORMATS:
            figure.savefig(folder / f"{name}.{suffix}")
        pyplot.close(figure)
        drawn.append(name)
    return drawn
