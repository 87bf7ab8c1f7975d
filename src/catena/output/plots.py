"""Pictures of a run, such as `run.plot.energy()`.

Each function draws on the given axes, or on new ones, and returns them; it shows and saves nothing, and changes no
setting of matplotlib. Long runs are thinned for drawing, and the legend says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..engine.folding import first_settled
from ..errors import InputError, unknown_word
from ..methods.base import Method
from ..running.crossings import Section
from ..running.plan import Problem
from ..running.thermal import is_lawful, require_lawful, temperature_of
from ..systems.base import Invariant, State
from ..text.plain import ordinal
from .body_plots import BodyPictures
from .efficiency import Cost, measure_work, natural_cost
from .showing import scene_or_nothing
from .style import (
    MARKERS,
    drawing,
    legend_above,
    line_style,
    log_error_axis,
    next_line_style,
    plain_log_axis,
    with_error,
)
from .thinning import after_start, largest

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from ..running.runs import Run

EPS = float(np.finfo(float).eps)
CURVE_POINTS = 20_000
DENSE_POINTS = 3000  # with more points, lines and markers are drawn finer
RASTER_POINTS = 5000  # more markers are rasterised: a vector file would be slow to open
NARROW = 1e-3  # of the extent of a variable in the run: points of a section that are closer count as one
WINDOW = 0.1  # of that extent: the window around them
RELATIVE_FROM = 1e-6  # of the size of the terms of the energy: if it is smaller, a relative error means nothing


class RunPlots(BodyPictures):
    """Pictures of one run. Every method takes `ax`, the axes to draw on (None: new ones), and returns the axes.

    Calling a method of several runs with the same axes compares them.
    """

    def __init__(self, run: Run) -> None:
        self.run = run
        self.label = f"{run.method}, dt = {run.plan.dt:g}"

    def __repr__(self) -> str:
        return f"<pictures of {self.run!r}: {', '.join(self.suited())}>"

    def suited(self) -> tuple[str, ...]:
        """Names of the pictures that suit the system, except sections."""
        own = self._suited_to_a_body() or self._suited_to_bodies()
        coordinates = scene_or_nothing(self.run.system).coordinates
        if coordinates:
            own = ("phase", "orbit") if len(coordinates) > 1 else ("phase",)
        bath = ("temperature",) if is_lawful(self.run.plan.pairing) else ()
        kept = ("invariants",) if self._find_kept() else ()
        return ("energy", *bath, *kept, *own, "spectrum")

    def energy(self, ax: Axes | None = None) -> Axes:
        """Energy error over time, on a logarithmic axis with its round-off floor: eps times the largest term of the energy, or times the
        energy itself if that is larger, as for many bodies with small terms.

        Relative to the energy at the start; absolute if that is below 1e-6 of the terms of the energy. The start, whose
        error is zero, is omitted. Work done on the system, W, does not count as an error. If the energy is not
        conserved, as in a heat bath: the energy itself.
        """
        if "energy" not in self._find_kept():
            return self._over_time("energy", ax)
        energy, scale = self._values("energy"), self._scale("energy")
        start = abs(float(energy[0]))
        unit = start if start > RELATIVE_FROM * scale else 1.0
        with drawing(ax) as ax:
            time, error, thinning = largest(after_start(self._time()), after_start(np.abs(energy - energy[0]) / unit))
            ax.plot(time, error, label=self.label + thinning, **next_line_style(ax))
            log_error_axis(ax, EPS * max(scale, start) / unit)
            ax.set_xlabel(self._name("time"))
            works = any("work" in invariant.tags for invariant in self.run.system.invariants)
            error_of = r"$|H-W-H_0|" if works else r"$|H-H_0|"
            ax.set_ylabel("energy error  " + error_of + (r"\,/\,|H_0|$" if unit != 1.0 else "$" + self._unit("energy")))
            legend_above(ax)
        return ax

    def _over_time(self, name: str, ax: Axes | None) -> Axes:
        with drawing(ax) as ax:
            ax.plot(self._time(), self._values(name), label=self.label, **next_line_style(ax))
            ax.set(xlabel=self._name("time"), ylabel=self._name(name))
            legend_above(ax)
        return ax

    def temperature(self, ax: Axes | None = None) -> Axes:
        """In a heat bath: the temperature of the momenta inside the steps, mean since the previous sample, over that of the bath.

        Also its mean after the first fifth of the run, in which it settles, with the standard error, as in
        `run.audit()`.
        """
        pairing = self.run.plan.pairing
        require_lawful(pairing, "plot.temperature")
        values = temperature_of(pairing, self.run.data)
        time, row = self._time(), self.run.audit().canonical["temperature"]
        with drawing(ax) as ax:
            style = next_line_style(ax)
            ax.plot(after_start(time), after_start(values), label=self.label, lw=0.6, alpha=0.6, **style)
            ax.axhline(1.0, color="0.3", ls=":", lw=1.0, label="law")
            settled = time[first_settled(len(time))]
            ax.fill_between(
                [settled, time[-1]], row.mean - row.error, row.mean + row.error, color=style["color"], alpha=0.7, lw=1.0, zorder=3,
                label=f"mean {with_error(row.mean, row.error)}",
            )  # fmt: skip
            ax.set(xlabel=self._name("time"), ylabel="temperature of the momenta / kT")
            legend_above(ax)
        return ax

    def _find_kept(self) -> dict[str, Invariant]:
        """The invariants that the motion conserves, by name: in a heat bath those that are promised; never recorded
        work."""
        judged = self.run.plan.pairing.promises.judged(self.run.system.invariants)
        return {invariant.name: invariant for invariant in judged if invariant.constant}

    def invariants(self, ax: Axes | None = None) -> Axes:
        """Deviation of every invariant from its start over time, relative to the largest of its terms.

        In this measure the round-off floor of all invariants is eps. For a vector, the largest component is drawn.
        Quantities that the motion itself changes are not included: work, and in a heat bath the energy.
        """
        if not self._find_kept():
            raise InputError(
                "nothing is kept in this run", where="plot.invariants", do="draw plot.energy(), or what run.data has"
            )  # fmt: skip
        times = after_start(self._time())
        curves = {}
        for name in self._find_kept():
            values = self._values(name).reshape(len(self._time()), -1)
            deviation = np.abs(values - values[0]).max(axis=1) / self._scale(name)
            curves[name] = times, after_start(deviation)
        return self._small(ax, curves, "deviation / largest term")

    def phase(self, dof: int = 0, ax: Axes | None = None) -> Axes:
        """A coordinate against its momentum."""
        names, momenta = self._canonical()
        self._check_dof(dof)
        with drawing(ax) as ax:
            self._curve(ax, [("q", dof), ("p", dof)])
            ax.set(xlabel=names[dof], ylabel=momenta[dof])
            legend_above(ax)
        return ax

    def orbit(self, dofs: Sequence[int] = (0, 1), ax: Axes | None = None) -> Axes:
        """Two coordinates against each other, or three in space: `orbit(dofs=(0, 1, 2))`."""
        names, _ = self._canonical()
        if len(dofs) not in (2, 3):
            raise InputError(f"dofs = {tuple(dofs)!r}", where="plot.orbit", do="give two or three coordinates")
        for dof in dofs:
            self._check_dof(dof)
        with drawing(ax, projection="3d" if len(dofs) == 3 else None) as ax:
            self._curve(ax, [("q", dof) for dof in dofs])
            if len(dofs) == 2:  # in 3D, a flat orbit would leave no room for the numbers of its thin axis
                ax.set_aspect("equal", adjustable="datalim")
            for letter, dof in zip("xyz", dofs, strict=False):
                getattr(ax, f"set_{letter}label")(names[dof])
            legend_above(ax)
        return ax

    def section(self, name: str | None = None, ax: Axes | None = None, *, x: str = "", y: str = "") -> Axes:
        """The crossings of a section, all of them, as points.

        Parameters
        ----------
        name : name of the section; may be omitted if there is only one
        x, y : names of the state to draw; if empty, the first coordinate and its momentum that do not occur in the text
            of the section, or two such components of an angular momentum
        """
        section = self._section(name)
        free = [pair for pair in self._pairs() if not _words(section.text) & set(pair)] or self._pairs()
        x, y = x or free[0][0], y or free[0][1]
        crossings = self.run.sections[section.name]
        points = [self._column(crossings, variable) for variable in (x, y)]
        way = {1: " upwards", -1: " downwards", 0: ""}[section.direction]
        where = f", {section.where}" if section.where else ""
        with drawing(ax) as ax:
            style = next_line_style(ax) | {"linestyle": "none"}
            count = len(points[0])
            ax.plot(
                *points, marker="o", markersize=3.0 if count < DENSE_POINTS else 1.2, markeredgewidth=0,
                label=f"{section.text} = 0{way}{where}: {count} crossing{'' if count == 1 else 's'}\n{self.label}",
                rasterized=count > RASTER_POINTS, **style,
            )  # fmt: skip
            for letter, name, values in zip("xy", (x, y), points, strict=True):
                words = _widen(getattr(ax, f"set_{letter}lim"), values, self._column(self.run.data, name))
                getattr(ax, f"set_{letter}label")(name + words)
            legend_above(ax)
        return ax

    def histogram(
        self, quantity: str, ax: Axes | None = None, *, bins: int = 50, range: tuple[float, float] | None = None, after: float | None = None
    ) -> Axes:  # fmt: skip
        """Density of a quantity, with its standard error; see `Run.histogram`."""
        found = self.run.histogram(quantity, bins, range, after=after)
        return self._with_errors(ax, found.value.values, found.density.values, found.error.values, quantity, "density")

    def autocorrelation(
        self, quantity: str, lags: int | None = None, ax: Axes | None = None, *, after: float | None = None
    ) -> Axes:
        """Autocorrelation of a quantity over the lag, with its standard error; see `Run.autocorrelation`."""
        found = self.run.autocorrelation(quantity, lags, after=after)
        ax = self._with_errors(
            ax, found.lag.values, found.correlation.values, found.error.values, "lag", f"autocorrelation of {quantity}"
        )  # fmt: skip
        ax.axhline(0.0, color="0.7", linewidth=0.8, zorder=0)
        return ax

    def free_energy(
        self, quantity: str, ax: Axes | None = None, *, bins: int = 50, range: tuple[float, float] | None = None, after: float | None = None
    ) -> Axes:  # fmt: skip
        """Free energy along a coordinate, with its standard error; see `Run.free_energy`. Bins without samples are
        omitted."""
        found = self.run.free_energy(quantity, bins, range, after=after)
        return self._with_errors(
            ax, found.value.values, found.free_energy.values, found.error.values, quantity, "free energy"
        )  # fmt: skip

    def _with_errors(
        self, ax: Axes | None, x: NDArray[np.float64], y: NDArray[np.float64], error: NDArray[np.float64], across: str, up: str
    ) -> Axes:  # fmt: skip
        """Points with error bars of one standard error, as far as these are known."""
        known = np.isfinite(y) & np.isfinite(error)
        with drawing(ax) as ax:
            ax.errorbar(
                x[known], y[known], error[known], fmt="o-", markersize=2.5, linewidth=0.8, elinewidth=0.8, label=self.label
            )  # fmt: skip
            ax.set(xlabel=across, ylabel=up)
            legend_above(ax)
        return ax

    def work_precision(
        self, methods: Sequence[Method], dts: Sequence[float], ax: Axes | None = None, *, cost: Cost | None = None
    ) -> Axes:
        """Error of several methods at the end of this run against their cost; see `work_precision`."""
        plan = self.run.plan
        problem = Problem("run", plan.system, plan.start, plan.dt)
        return work_precision(problem, methods, dts, t_end=self.run.final.time, cost=cost, ax=ax)

    def _time(self) -> NDArray[np.float64]:
        return self._values("time")

    def _values(self, name: str) -> NDArray[np.float64]:
        if name not in self.run.data:
            known = [str(variable) for variable in self.run.data.variables]
            raise InputError(f"the run has no {name!r}", where="plot", do=f"it has {', '.join(known)}")
        return np.asarray(self.run.data[name].values)

    def _scale(self, name: str) -> float:
        """Largest magnitude, during the run, of the terms of an invariant; 1 if all vanish."""
        start = 0
        for invariant in self.run.system.invariants:
            if invariant.name == name:
                return float(self.run._scale[start : start + invariant.width].max()) or 1.0
            start += invariant.width
        raise KeyError(name)

    def _canonical(self) -> tuple[Sequence[str], Sequence[str]]:
        """Names of the coordinates and of the momenta."""
        labels = scene_or_nothing(self.run.system).labels
        if not {"q", "p"} <= labels.keys():
            raise InputError(
                f"{self.run.system.title} has no coordinates q, p to draw", where="plot",
                do="draw from run.data, which has " + ", ".join(field.name for field in self.run.system.fields),
            )  # fmt: skip
        return labels["q"], labels["p"]

    def _check_dof(self, dof: int) -> None:
        names, _ = self._canonical()
        if not 0 <= dof < len(names):
            raise InputError(f"dof = {dof}", where="plot", do=f"count from 0 to {len(names) - 1}: {', '.join(names)}")

    def _curve(self, ax: Axes, coordinates: Sequence[tuple[str, int]]) -> None:
        """The samples as a curve of these components of the fields; as points if there are too many."""
        step = -(-self.run.data.sizes["time"] // CURVE_POINTS)
        data = self.run.data.isel(time=slice(None, None, step))
        columns = [np.asarray(data[field].isel(dof=dof).values) for field, dof in coordinates]
        style, thinning = next_line_style(ax), ""
        if step == 1:
            style["linewidth"] = 0.9 if len(columns[0]) < DENSE_POINTS else 0.5
        else:  # lines between distant samples would cross regions where the run never was
            thinning = f"\n(every {ordinal(step)} sample, as points)"
            style |= {"linestyle": "none", "marker": "o", "markersize": 1.0, "markeredgewidth": 0, "rasterized": True}
        ax.plot(*columns, label=self.label + thinning, **style)

    def _pairs(self) -> list[tuple[str, str]]:
        """Pairs that can be drawn against each other: coordinates and their momenta, or components of an angular
        momentum."""
        if self._is_a_body():
            a, b, c = (f"angular_momentum[{k}]" for k in range(3))
            return [(a, b), (b, c), (a, c)]
        return list(zip(*self._canonical(), strict=True))

    def _column(self, table: xarray.Dataset, variable: str) -> NDArray[np.float64]:
        """The column of a table of states for a name of the state, such as "p1"."""
        columns: dict[str, tuple[str, int]] = {}
        labels = scene_or_nothing(self.run.system).labels
        for field in self.run.system.fields:
            own = [f"{field.name}[{k}]" for k in range(field.width)]
            columns |= {name: (field.name, k) for k, name in enumerate(labels.get(field.name, own))}
        if variable not in columns:
            raise unknown_word(f"there is no {variable!r}", variable, columns, "plot.section")
        field_name, k = columns[variable]
        return np.asarray(table[field_name].values)[:, k]

    def _section(self, name: str | None) -> Section:
        sections = {section.name: section for section in self.run.plan.sections}
        if not sections:
            raise InputError("the run watched no section", where="plot.section", do="simulate(..., sections=[...])")
        if name is None and len(sections) == 1:
            return next(iter(sections.values()))
        if name not in sections:
            raise unknown_word(f"section {name!r} is not known", name, sections, "plot.section")
        return sections[name]


def work_precision(
    problem: Problem,
    methods: Sequence[Method],
    dts: Sequence[float],
    *,
    t_end: float,
    cost: Cost | None = None,
    reference: State | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Error at t_end against cost, one line per method, one point per step size; down and to the left is better.

    Parameters
    ----------
    problem : the problem to solve
    methods, dts : methods and steps to compare; each dt must divide t_end
    t_end : time at which the error is measured: the largest deviation of a component of the state
    cost : "evaluations" of dp/dt, or "time" in seconds of the compiled loop; None: evaluations if they can be counted,
        as for a Hamiltonian, otherwise time
    reference : the correct state at t_end; None: the exact solution if known, otherwise Gauss(6) with half the smallest
        dt
    ax : axes to draw on; new ones if None

    Returns
    -------
    Axes; if a method failed at a step size, the point is missing and the legend says so
    """
    cost = cost or natural_cost(problem.system)
    work = measure_work(problem, methods, dts, t_end=t_end, cost=cost, reference=reference)
    with drawing(ax) as ax:
        for number, (method, points) in enumerate(work.by_method.items()):
            failed = len(dts) - len(points)
            label = str(method) + (f" (failed at {failed} of {len(dts)} dt)" if failed else "")
            style = line_style(number) | {"marker": MARKERS[number % len(MARKERS)]}
            ax.plot([p.cost for p in points], [p.error for p in points], label=label, **style)
        ax.set(xscale="log", yscale="log")
        plain_log_axis(ax.xaxis)
        ax.set(
            xlabel={"evaluations": "evaluations of dp/dt", "time": "time in the compiled loop (s)"}[cost],
            ylabel=f"error at t = {t_end:g}\nagainst {work.against}",
        )
        legend_above(ax)
    return ax


def _widen(
    set_limits: Callable[[float, float], object], values: NDArray[np.float64], samples: NDArray[np.float64]
) -> str:
    """Draw points that are equal on the scale of the run as one: digits behind an offset are unreadable. No points:
    show the range of the run."""
    whole = float(np.ptp(samples))
    if not len(values):
        if whole:
            set_limits(float(samples.min()), float(samples.max()))
        return ""
    spread = float(np.ptp(values))
    if spread >= NARROW * whole:
        return ""
    middle = float(np.mean(values))
    set_limits(middle - 0.5 * WINDOW * whole, middle + 0.5 * WINDOW * whole)
    return f"  (all within {spread:.1g})" if spread else ""


def _words(text: str) -> set[str]:
    import re

    return set(re.findall(r"[A-Za-z_]\w*(?:\[\d+\])?", text.replace(" ", "")))
