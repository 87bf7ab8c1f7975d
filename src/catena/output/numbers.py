"""The numbers behind a picture, as a table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HEADINGS = ("panel", "series", "x", "y", "value")


def numbers_of(figure: Figure) -> Iterator[tuple[int, str, float, float, float | str]]:
    """Every point of a figure: number of the panel, name of the series, x, y and, for a map, its value."""
    from matplotlib.collections import QuadMesh

    drawn = [ax for ax in figure.axes if ax.get_label() != "<colorbar>"]
    for panel, ax in enumerate(drawn):
        for line in ax.lines:
            name = str(line.get_label())
            if name.startswith("_") and not name.startswith("_child"):  # decoration: a floor, a grid
                continue
            series = "" if name.startswith("_child") else name.replace("\n", " ")
            for x, y in zip(np.asarray(line.get_xdata()), np.asarray(line.get_ydata()), strict=True):
                yield panel, series, float(x), float(y), ""
        for mesh in ax.collections:
            if isinstance(mesh, QuadMesh):
                corners = np.asarray(mesh.get_coordinates(), dtype=float)
                centres = 0.25 * (corners[:-1, :-1] + corners[1:, 1:] + corners[:-1, 1:] + corners[1:, :-1])
                values = np.asarray(mesh.get_array()).reshape(centres.shape[:2])
                for place, value in zip(centres.reshape(-1, 2), values.ravel(), strict=True):
                    yield panel, ax.get_ylabel(), float(place[0]), float(place[1]), float(value)
