"""Pictures of statics: modes, paths of equilibria, branches of waves, chains against rods."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..systems.numbers import each_of, number_of_one
from .style import Panels, drawing, drawing_panels, legend_above, line_style, plain_log_axis

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..analysis.statics.dispersion import Dispersion
    from ..analysis.statics.equilibrium_path import EquilibriumPath
    from ..analysis.statics.modes import Modes
    from ..analysis.statics.rod_comparison import RodComparison


def draw_modes(modes: Modes, chosen: Sequence[int], ax: Sequence[Axes] | None) -> Panels:
    """Three panels: all frequencies, and the displacement and rotation of the bodies in some modes, each relative to
    the largest."""
    count = len(modes.omega)
    chosen = [number_of_one(mode, count, "Modes.plot.mode") for mode in each_of(chosen, "Modes.plot.modes", "(0, 1)")]
    with drawing_panels(ax, 3, "modes", shared=False) as axes:
        top, middle, bottom = axes
        top.plot(np.arange(count), modes.omega, color="0.5", linewidth=0.7, marker="o", markersize=2.0)
        top.set_ylabel(r"$\omega$")
        top.set_xlabel("mode", labelpad=1.0)
        for number, mode in enumerate(chosen):
            moved = modes.displacement(mode)
            sizes = [np.linalg.norm(part, axis=1) for part in moved]
            top.plot(
                [mode],
                [modes.omega[mode]],
                **line_style(number) | {"marker": "o", "linestyle": "none", "markersize": 5.0},
            )
            for panel, size in zip((middle, bottom), sizes, strict=True):
                label = rf"{mode}: $\omega$ = {modes.omega[mode]:.6g}"
                panel.plot(np.arange(len(size)), size, label=label if panel is middle else "_", **line_style(number))
        middle.set_ylabel("moved\n" + r"($v^T M v = 1$)")
        bottom.set(ylabel="turned", xlabel="body")
        legend_above(middle)
        middle.get_figure(root=True).align_ylabels(list(axes))  # type: ignore[union-attr]
    return axes


def draw_path(path: EquilibriumPath, ax: Axes | None) -> Axes:
    """Load against extension, and the end of stability."""
    with drawing(ax) as ax:
        ax.plot(path.extension, path.load, marker="o", markersize=3.0, label="stable equilibria", **line_style(0))
        if path.limit is not None:
            limit = path.limit
            ax.plot([path.extension[-1], limit.extension], [path.load[-1], limit.load], **line_style(0), label="_")
            ax.plot(
                [limit.extension],
                [limit.load],
                "D",
                color="0.2",
                markersize=6.0,
                label=f"{limit.kind}, {limit.load:.8g}",
            )
        ax.set(xlabel="extension", ylabel="load")
        legend_above(ax)
    return ax


def draw_dispersion(waves: Dispersion, ax: Axes | None) -> Axes:
    """Frequency against wave number, branch by branch; a mark shows where bending begins."""
    with drawing(ax) as ax:
        order = np.argsort(waves.k)
        ax.plot(waves.k[order], waves.omega[order], **line_style(0) | {"linewidth": 1.0})
        if waves.k.min() <= waves.angle <= waves.k.max():
            ax.axvline(waves.angle, color="0.6", linewidth=0.8, linestyle=(0, (2, 2)))
            left = waves.angle < 0.9 * waves.k.max()  # of the room beside the mark
            ax.annotate(
                r"$k=\theta$", (waves.angle, 1.0), (2 if left else -2, -2), xycoords=ax.get_xaxis_transform(),
                textcoords="offset points", ha="left" if left else "right", va="top", fontsize=8, color="0.35",
            )  # fmt: skip
        ax.set(xlabel=r"phase per " + ("body" if waves.cell == 1 else "cell") + r"  $k$", ylabel=r"$\omega$")
    return ax


def draw_comparison(compared: RodComparison, ax: Axes | None) -> Axes:
    """Error of the frequencies of the rod against the number of bodies, with the slope of order 2."""
    with drawing(ax) as ax:
        worst = np.abs(compared.error).max(axis=1)
        ax.plot(
            compared.sizes,
            worst,
            marker="o",
            label=f"largest of {compared.chain.shape[1]}, {compared.ends}",
            **line_style(0),
        )
        ax.plot(compared.sizes, np.abs(compared.error[:, 0]), marker="s", label="first", **line_style(1))
        guide = worst[-1] * (compared.sizes[-1] / compared.sizes) ** 2
        ax.plot(compared.sizes, guide, color="0.6", linewidth=0.8, linestyle=(0, (2, 2)), label="order 2")
        ax.set(xscale="log", yscale="log", xlabel="bodies", ylabel="relative error of the rod")
        plain_log_axis(ax.xaxis)
        legend_above(ax)
    return ax
