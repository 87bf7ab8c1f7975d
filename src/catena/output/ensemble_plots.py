"""Pictures of an ensemble, such as `many.plot.invariants()`. A point is a member, or all at a point of a sweep."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..errors import InputError
from ..kernels.views import OK
from ..running.thermal import is_lawful, require_lawful
from .style import Panels, drawing, drawing_panels, legend_above, line_style, log_error_axis, with_error

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from ..arrays import Array
    from ..running.ensembles.results import Ensemble

EPS = float(np.finfo(float).eps)
MOST_CURVES = 5  # of members over time
MOST_LINES = 12  # of points along the other axes of a sweep
MOST_PANELS = 8


class EnsemblePlots:
    """Pictures of one ensemble, without failed members. Every method takes `ax`, the axes to draw on (None: new
    ones)."""

    def __init__(self, many: Ensemble) -> None:
        self.many = many
        sizes = np.unique(many.step_sizes)
        step = f"{sizes[0]:g}" if len(sizes) == 1 else f"{sizes[0]:g} to {sizes[-1]:g}"
        self.label = f"{many.method if len(many.methods) == 1 else type(many.method).__name__}, dt = {step}"

    def __repr__(self) -> str:
        return f"<pictures of {self.many!r}: {', '.join(self.suited())}>"

    def suited(self) -> tuple[str, ...]:
        """Names of the pictures that can be drawn."""
        many = self.many
        bath = ("temperature",) if is_lawful(many._job.pairing) else ()
        kept = ("invariants",) if self._find_kept() else ()
        return (
            *(("energy",) if many.keep != "nothing" else ()),
            *bath,
            *kept,
            *(("reduced",) if self._find_reduced() else ()),
        )

    def energy(self, ax: Axes | None = None) -> Axes:
        """Energy of each member: over time if samples were kept, otherwise at the end."""
        many = self.many
        with drawing(ax) as ax:
            if many.keep == "samples":
                shown = np.flatnonzero(self._sound())[:MOST_CURVES]
                for number, member in enumerate(shown):
                    energies = many.data.energy.isel(member=member)
                    ax.plot(
                        many.data.time,
                        energies,
                        label=many.name_of(int(member)),
                        **line_style(number) | {"linewidth": 0.8},
                    )
                ax.set(xlabel="time", ylabel="energy")
            else:
                self._across(ax, self._found(many.final.energy.values), "energy at the end")
            more = (
                f" ({MOST_CURVES} of {len(many)} members)" if many.keep == "samples" and len(many) > MOST_CURVES else ""
            )
            legend_above(ax, self.label + more)
        return ax

    def temperature(self, ax: Axes | None = None) -> Axes:
        """In a heat bath: the temperature of the momenta of each member over that of its bath, without the first fifth of the run.

        Also the mean over all members and its standard error, as in `many.audit()`.
        """
        pairing = self.many._job.pairing
        require_lawful(pairing, "plot.temperature")
        row = self.many.audit().canonical["temperature"]
        values = np.full(len(self.many), np.nan)
        values[self._sound()] = self.many._momenta(np.flatnonzero(self._sound()))[0].values[:, 0]
        with drawing(ax) as ax:
            self._across(ax, values, "temperature of the momenta / kT")
            ax.axhline(1.0, color="0.3", ls=":", lw=1.0, label="law")
            ax.axhspan(
                row.mean - row.error, row.mean + row.error, color="0.5", alpha=0.4, lw=0,
                label=f"mean {with_error(row.mean, row.error)}",
            )  # fmt: skip
            legend_above(ax, self.label)
        return ax

    def invariants(self, ax: Axes | None = None) -> Axes:
        """Largest deviation of every invariant in each member, relative to the largest of its terms; at each point of a
        sweep, that of its worst member."""
        many = self.many
        if not self._find_kept():
            raise InputError("nothing is kept in these runs", where="plot.invariants", do="draw plot.energy()")
        with drawing(ax) as ax:
            for number, name in enumerate(self._find_kept()):
                worst = many._read_measured(name, "worst").reshape(len(many), -1).max(axis=1)
                scale = many._read_measured(name, "scale")
                relative = worst / np.where(scale > 0.0, scale, 1.0)
                self._across(
                    ax,
                    self._found(relative),
                    "worst deviation / largest term",
                    name.replace("_", " "),
                    number,
                    worst=True,
                )
            log_error_axis(ax, EPS)
            legend_above(ax, self.label)
        return ax

    def reduced(self, ax: Sequence[Axes] | None = None) -> Panels:
        """Results of the reductions, a panel for each; over the values of a sweep with the standard error of
        repeats."""
        names = self._find_reduced()[:MOST_PANELS]
        if not names:
            raise InputError(
                "no number was reduced", where="plot.reduced", do='run it with reduce={"name": ct.Mean("q1")}, for example'
            )  # fmt: skip
        with drawing_panels(ax, len(names), "reduced") as panels:
            for panel, name in zip(panels, names, strict=True):
                self._across(panel, self._found(self.many.reduced[name].values), name)
                panel.label_outer()
            legend_above(panels[0], self.label)
        return panels

    def _across(
        self, ax: Axes, values: Array, words: str, label: str = "", number: int = 0, *, worst: bool = False
    ) -> None:
        """Values of members as points over their numbers; for a sweep, over its first axis, a line per point of the
        others."""
        grid = self.many.grid
        ax.set_ylabel(words)
        if grid is None:
            ax.plot(
                np.arange(len(values)),
                values,
                label=label or "members",
                **line_style(number) | {"linestyle": "none", "marker": "o", "markersize": 2.5},
            )
            ax.set_xlabel("member")
            return
        whole = np.full(len(grid), np.nan)  # a stopped sweep lacks some members
        whole[: len(values)] = values
        means, errors = _over_repeats(
            whole.reshape(*(len(row) for row in grid.axes.values()), grid.repeats), worst=worst
        )
        (first, along), *others = grid.coordinates().items()
        lines = list(np.ndindex(means.shape[1:]))
        for k, place in enumerate(lines[:MOST_LINES]):
            named = [f"{name} = {row[at]}" for (name, row), at in zip(others, place, strict=True)]
            style = line_style(number * len(lines) + k) | {"marker": "o", "markersize": 3.0}
            text = ", ".join(([label] if label else []) + named) or "all members"
            ax.errorbar(along, means[:, *place], None if errors is None else errors[:, *place], label=text, **style)
        ax.set_xlabel(first + (f"  ({MOST_LINES} of {len(lines)} lines)" if len(lines) > MOST_LINES else ""))

    def _sound(self) -> NDArray[np.bool_]:
        """Which members did not fail; InputError if all did."""
        sound: NDArray[np.bool_] = self.many._column("status") == OK
        if not sound.any():
            raise InputError(
                "all members failed, and only others are drawn", where="plot", do="look at many.failures for the causes"
            )
        return sound

    def _found(self, values: Array) -> Array:
        """Values of members; nan for those that failed."""
        return np.where(self._sound(), values, np.nan)

    def _find_kept(self) -> list[str]:
        """The invariants that the motion conserves, as in the pictures of a run."""
        judged = self.many._job.pairing.promises.judged(self.many.system.invariants)
        return [invariant.name for invariant in judged if invariant.constant]

    def _find_reduced(self) -> list[str]:
        """The reductions that give one number for each member."""
        if not self.many._job.reductions.named:
            return []
        return [str(name) for name, column in self.many.reduced.data_vars.items() if column.dims == ("member",)]


def _over_repeats(values: Array, *, worst: bool) -> tuple[Array, Array | None]:
    """Mean over the last axis, and its standard error if there are repeats; or the maximum."""
    there = np.isfinite(values)
    count = there.sum(axis=-1)
    if worst or values.shape[-1] == 1:
        found = np.where(there, values, -np.inf).max(axis=-1)
        return np.where(count > 0, found, np.nan), None
    with np.errstate(invalid="ignore", divide="ignore"):
        means = np.where(there, values, 0.0).sum(axis=-1) / count
        spread = np.where(there, values - means[..., None], 0.0)
        return means, np.sqrt((spread**2).sum(axis=-1) / (count - 1) / count)
