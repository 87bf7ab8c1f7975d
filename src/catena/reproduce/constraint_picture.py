"""Errors of |q|^2 = 1 and q.g = 0 over the step, one row of axes for each form of the equations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ..methods.base import Method
from ..output.style import MARKERS, line_style, plain_log_axis
from .report import Folder

Residuals = Mapping[Method, NDArray[np.float64]]
NAMES = ("|q|^2 - 1", "q.g")
SMALLEST = 1e-17  # drawn for a residual of zero


def draw_constraint_errors(folder: Folder, name: str, dts: Sequence[float], studies: Mapping[str, Residuals]) -> None:
    """Draw the largest residuals (step sizes, 2) of each method, by the title of the form, and keep the numbers."""
    with folder.picture(name, width=7.6, height=0.6 + 3.0 * len(studies)) as figure:
        axes = figure.subplots(len(studies), 2, squeeze=False, sharex=True, sharey=True)
        for line, (title, residuals) in zip(axes, studies.items(), strict=True):
            for k, ax in enumerate(line):
                for number, (method, values) in enumerate(residuals.items()):
                    again, place = divmod(number, len(MARKERS))  # colours repeat with the markers
                    style = line_style(number) | {"marker": MARKERS[(place + 3 * again) % len(MARKERS)]}
                    ax.plot(dts, np.maximum(values[:, k], SMALLEST), label=str(method), **style)
                ax.set(xscale="log", yscale="log", ylabel=f"largest error of {NAMES[k]}", title=title)
                plain_log_axis(ax.xaxis)
        for ax in axes[-1]:
            ax.set_xlabel("dt")
        axes[0, 1].legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    columns: dict[str, list[float]] = {"dt": list(dts)}
    for title, residuals in studies.items():
        for method, values in residuals.items():
            columns |= {f"{title}, {method}: {part}": values[:, k].tolist() for k, part in enumerate(NAMES)}
    folder.numbers(f"{name}_errors", columns, digits=5)
