"""The style of all pictures: one style sheet, applied while drawing and never left behind."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

import numpy as np

from ..errors import InputError

if TYPE_CHECKING:
    from matplotlib import RcParams
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

SHEET = Path(__file__).with_name("catena.mplstyle")
MARKERS = "os^Dv<>"
LETTER = 0.065  # inches: width of a character in a legend
SAMPLE = 6  # width of the sample of a line in a legend, in characters
PLAIN_RANGE = 300.0  # largest ratio of the limits of an axis with plain numbers
ROUND_OFF = "_round-off"  # the underscore keeps the line out of the legend


class LineStyle(TypedDict, total=False):
    """Arguments of matplotlib for a line or its markers."""

    color: str
    linestyle: str
    linewidth: float
    marker: str
    markersize: float
    markeredgewidth: float
    alpha: float
    rasterized: bool


@contextmanager
def apply_style() -> Iterator[None]:
    """Apply the style sheet within a `with` block.

    Settings that the sheet does not name are left alone, unlike in `matplotlib.style.context`: the first figure of a
    notebook loads its backend, which switches the interactive mode on; if that were reset at the end, no later figure
    would be shown.
    """
    import matplotlib

    settings, sheet = matplotlib.rcParams, _sheet()
    before = {name: settings[name] for name in sheet}
    settings.update(sheet)
    try:
        yield
    finally:
        settings.update(before)


@cache
def _sheet() -> RcParams:
    from matplotlib import rc_params_from_file

    return rc_params_from_file(SHEET, use_default_template=False)


def axes_for(ax: Axes | None, *, projection: str | None = None, size: tuple[float, float] | None = None) -> Axes:
    """The given axes, or those of a new pyplot figure, so that notebooks and `plt.show()` show it; its size in
    inches."""
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.figure(figsize=size).add_subplot(projection=projection)


class Panels(list["Axes"]):
    """The axes of a picture with several panels: a list with a `figure`, like single axes."""

    @property
    def figure(self) -> Figure:
        """The figure of the panels."""
        figure = self[0].get_figure(root=True)
        assert figure is not None
        return figure


def panels_for(ax: Sequence[Axes], count: int, picture: str) -> Panels:
    """The axes given for the panels of a picture; InputError if their number is wrong."""
    given = list(ax) if isinstance(ax, Iterable) else [ax]
    if len(given) != count:
        raise InputError(
            f"{len(given)} axes for {count} panels", where=f"plot.{picture}", do=f"give a list of {count}, one for each"
        )
    return Panels(given)


def stack_axes(count: int, *, shared: bool = True) -> Panels:
    """Axes of a new pyplot figure, one above the other, with one horizontal axis or each with its own."""
    import matplotlib.pyplot as plt

    figure = plt.figure(figsize=(5.4, 1.9 * count + 0.6))
    return Panels(figure.subplots(count, 1, sharex=shared, squeeze=False)[:, 0])


@contextmanager
def drawing(
    ax: Axes | None, *, projection: str | None = None, size: tuple[float, float] | None = None
) -> Iterator[Axes]:
    """The axes to draw on, from `axes_for`, with the style sheet."""
    with apply_style():
        yield axes_for(ax, projection=projection, size=size)


@contextmanager
def drawing_panels(ax: Sequence[Axes] | None, count: int, picture: str, *, shared: bool = True) -> Iterator[Panels]:
    """The panels to draw on, given or new, with the style sheet."""
    with apply_style():
        yield stack_axes(count, shared=shared) if ax is None else panels_for(ax, count, picture)


def new_figure(*, width: float, height: float) -> Figure:
    """A figure that pyplot does not know, for programs that only save it. Sizes in inches."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height))


def line_style(number: int) -> LineStyle:
    """Colour and dashes of the line with this number; when colours repeat, the dashes differ."""
    import matplotlib

    cycle = list(matplotlib.rcParams["axes.prop_cycle"])
    turn, place = divmod(number, len(cycle))
    style: LineStyle = {}
    style.update(cycle[place])
    if turn and "linestyle" in style:
        style["linestyle"] = cycle[(place + turn) % len(cycle)]["linestyle"]
    return style


def next_line_style(ax: Axes) -> LineStyle:
    """Colour and dashes of the next line, so that several runs can share axes."""
    return line_style(sum(not str(line.get_label()).startswith("_") for line in ax.lines))


def legend_above(ax: Axes, title: str | None = None) -> None:
    """Put the legend above the axes, where it hides nothing."""
    from matplotlib.lines import Line2D

    handles, labels = ax.get_legend_handles_labels()
    figure = ax.get_figure(root=True)
    room = ax.get_position().width * figure.get_figwidth() if figure else 0.0
    longest = max((len(line) for label in labels for line in label.split("\n")), default=0)
    columns = 2 if len(handles) > 1 and 2 * LETTER * (longest + SAMPLE) <= room else 1
    legend = ax.legend(
        loc="lower left", bbox_to_anchor=(0.0, 1.0), borderaxespad=0.2, ncols=columns,
        title=title, title_fontsize=8.5, alignment="left",
    )  # fmt: skip
    for handle in legend.legend_handles:
        if isinstance(handle, Line2D):  # small points would be invisible in the legend
            handle.set_markersize(max(handle.get_markersize(), 4.0))
    _move_power(ax)


def legend_in_one_row(ax: Axes, title: str | None, *, columns: int = 3) -> None:
    """Put the legend above the axes, with entries side by side; those of further runs below."""
    ax.legend(
        loc="lower left", bbox_to_anchor=(0.0, 1.0), borderaxespad=0.2, ncols=columns, title=title, title_fontsize=8.5, alignment="left"
    )  # fmt: skip
    _move_power(ax)


def _move_power(ax: Axes) -> None:
    """Move the power of ten of an axis to the left of the legend, which would cover it."""
    ax.yaxis.get_offset_text().set_horizontalalignment("right")


def with_error(value: float, error: float) -> str:
    """A number and its error as text, with the digits that one digit of the error justifies; the number alone if its
    error is unknown."""
    if not math.isfinite(error):
        return f"{value:.3g}"
    digits = max(0, math.ceil(-math.log10(error))) if error > 0.0 else 3
    return f"{value:.{digits}f} ± {error:.{digits}f}"


def plain_log_axis(axis: Axis) -> None:
    """A logarithmic axis over a few decades: 1, 2, 5, 10, ... in plain numbers; powers of ten if the range is
    larger."""
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    low, high = axis.get_view_interval()
    axis.set_minor_formatter(NullFormatter())
    if high < PLAIN_RANGE * low:
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axis.set_major_formatter(StrMethodFormatter("{x:g}"))


def log_error_axis(ax: Axes, floor: float) -> None:
    """A logarithmic axis for errors, down to a decade below the round-off floor, which is drawn; smaller errors are not
    shown."""
    floors = [_heights(line)[0] for line in ax.lines if line.get_label() == ROUND_OFF]
    if not any(0.5 < known / floor < 2.0 for known in floors):
        ax.axhline(floor, color="0.45", linewidth=0.9, linestyle=(0, (2, 2)), label=ROUND_OFF)
        ax.annotate(
            "round-\noff", (1.0, floor), (2, 0), xycoords=ax.get_yaxis_transform(), textcoords="offset points",
            ha="left", va="center", fontsize=7.5, color="0.35",
        )  # fmt: skip
    lowest = min([floor, *floors])
    highest = max(np.nanmax(_heights(line), initial=lowest) for line in ax.lines)
    ax.set_ylim(lowest / 10, max(3.0 * highest, 100.0 * lowest))
    ax.set_yscale("log", nonpositive="clip")  # after the limits: if all errors are zero, there is no logarithm


def _heights(line: Line2D) -> np.ndarray:
    return np.asarray(line.get_ydata(), dtype=float)
