"""Pictures of several bodies, such as `run.plot.link_lengths()`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..arrays import Array
from ..errors import InputError
from ..geometry import rotations
from ..running.units import unit_of
from ..systems.alike import Alike
from ..systems.body import Body
from ..systems.scene import Scene
from .linkage_plots import JointPictures
from .page.shapes import shape_of
from .pull_plots import PullPictures
from .showing import scene_or_nothing
from .style import (
    LineStyle,
    Panels,
    apply_style,
    drawing,
    drawing_panels,
    legend_above,
    legend_in_one_row,
    line_style,
    log_error_axis,
    next_line_style,
    panels_for,
)
from .thinning import largest

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..analysis.statics.modes import Modes
    from ..running.runs import Run

MAP_COLUMNS = 2000  # of a space-time map: more cannot be distinguished on a page
POINTS = 20_000  # of a curve, for the same reason
SNAPSHOTS = 5
FLAT = 0.6  # height over width above which snapshots stand side by side
EPS = float(np.finfo(float).eps)
ROUNDING = 64.0 * EPS  # smaller changes of a field, relative to its largest value, are round-off
DEEPEST = EPS**2  # of a spectrum, relative to its maximum: anything below is rounding of the largest component
ENERGY_CHANGE = "energy less its start"


class ManyBodyPictures(JointPictures, PullPictures):
    """Pictures of a run of several bodies. Every method takes `ax`, the axes to draw on (None: new ones)."""

    run: Run
    label: str

    def link_lengths(self, ax: Axes | None = None) -> Axes:
        """Distance between the centres of neighbours, as a map over time and along the chain."""
        self._need_bodies("link_lengths")
        if self._scene.joints is not None:
            raise InputError(
                f"the bodies of {self.run.system.title} are held by joints",
                where="plot.link_lengths",
                do="draw residuals()",
            )
        time, position = self._columns_of_map("position")
        lengths = np.linalg.norm(np.diff(position, axis=1), axis=2)
        return self._map(ax, time, lengths, "link", f"length{self._unit('position')}")

    def body_energies(self, ax: Axes | None = None) -> Axes:
        """Kinetic energy of each body, as a map over time and along the chain: it shows how motion spreads."""
        self._need_bodies("body_energies")
        time, kinetic = self._columns_of_map("momentum", kinetic=True)
        return self._map(ax, time, kinetic, "body", f"kinetic energy{self._unit('energy')}")

    def snapshots(self, times: Sequence[float] | None = None, ax: Sequence[Axes] | None = None) -> Panels:
        """The bodies at chosen times, a panel for each, projected onto the two axes along which they extend most.

        Bodies made of particles are drawn as particles, others as the outline of their shape; dots are centres of mass.

        Parameters
        ----------
        times : the nearest samples are drawn; None: five, equally spaced over the run
        ax : as many axes as times
        """
        self._need_bodies("snapshots")
        known = np.asarray(self.run.data.time.values)
        wanted = np.linspace(known[0], known[-1], SNAPSHOTS) if times is None else np.asarray(times, dtype=float)
        outside = [t for t in wanted if not known[0] <= t <= known[-1]]
        if outside or not len(wanted):
            raise InputError(
                f"the run has no sample at t = {outside[0]:g}" if outside else "no times", where="plot.snapshots",
                do=f"choose times from {known[0]:g} to {known[-1]:g}",
            )  # fmt: skip
        chosen = [int(np.abs(known - t).argmin()) for t in wanted]
        given = None if ax is None else panels_for(ax, len(chosen), "snapshots")
        data = self.run.data.isel(time=chosen)
        centres, turned = np.asarray(data.position.values), np.asarray(data.orientation.values)
        across, up = _plane(centres)
        with apply_style():
            axes = given or self._strip(len(chosen), centres, across, up)
            for panel, r, q, index in zip(axes, centres, turned, chosen, strict=True):
                if self._scene.links is not None:
                    line = np.concatenate([r, r[:1]]) if self._scene.links.closed else r
                    panel.plot(line[:, across], line[:, up], color="0.55", linewidth=0.8, zorder=1)
                _draw_bodies(panel, Alike(self._scene.bodies), r, q, [across, up])
                panel.plot(r[:, across], r[:, up], **_dots(0, "0.2", 1.6))
                panel.set_aspect("equal", adjustable="box")
                panel.annotate(
                    f"t = {known[index]:g}{self._unit('time', braces=False)}", (1.0, 1.0), (0, 2), xycoords="axes fraction",
                    textcoords="offset points", ha="right", va="bottom", fontsize=8,
                )  # fmt: skip
                panel.set(xlabel="xyz"[across] + self._unit("position"), ylabel="xyz"[up] + self._unit("position"))
                panel.label_outer()
            axes[0].set_title(self.label, fontsize=8.5, loc="left", pad=14)
        return axes

    def momentum(self, ax: Sequence[Axes] | None = None) -> Panels:
        """Total momentum and total angular momentum, component by component, over time. Two axes, one above the other."""
        self._need_bodies("momentum")
        p, r = self._draw("momentum"), self._draw("position")
        spin = rotations.rotate(self._draw("orientation"), self._draw("angular_momentum"))
        parts = {"momentum": p.sum(axis=1), "angular_momentum": (np.cross(r, p) + spin).sum(axis=1)}
        with drawing_panels(ax, 2, "momentum") as axes:
            for panel, (name, values) in zip(axes, parts.items(), strict=True):
                for k in range(3):
                    panel.plot(self._draw("time"), values[:, k], label="xyz"[k], **line_style(k))
                panel.set_ylabel(f"total {name.replace('_', ' ')}" + self._unit(name).replace(" (", "\n(", 1))
            legend_in_one_row(axes[0], self.label + self._words())
            axes[-1].set_xlabel(self._name("time"))
        return axes

    def residuals(self, ax: Axes | None = None) -> Axes:
        """Constraint residuals over time, on a logarithmic axis: unit length, tangency, orthogonality, joints."""
        names = [i.name for i in self.run.system.invariants if i.name.endswith("residual")]
        if not names:
            raise InputError(
                f"{self.run.system.title} has no constraints",
                where="plot.residuals",
                do="draw energy() or invariants()",
            )
        time = np.asarray(self.run.data.time.values)
        curves = {name: (time, np.abs(np.asarray(self.run.data[name].values))) for name in names}
        return self._small(ax, curves, "residual")

    def _small(self, ax: Axes | None, curves: Mapping[str, tuple[Array, Array]], what: str) -> Axes:
        """Quantities that should be nearly zero: times and magnitudes, by name, on a logarithmic axis."""
        thinning = ""
        with drawing(ax) as ax:
            for name, given in curves.items():
                time, values, thinning = largest(*given)
                ax.plot(time, values, label=name.replace("_", " "), **next_line_style(ax))
            log_error_axis(ax, EPS)
            ax.set(xlabel=self._name("time"), ylabel=what)
            legend_above(ax, self.label + thinning)
        return ax

    def spectrum(
        self, name: str | None = None, *, body: int | None = None, modes: Modes | None = None, ax: Axes | None = None
    ) -> Axes:
        """Power spectrum of a field of one body, component by component, or of an invariant; see `run.spectrum`.

        Parameters
        ----------
        name : field or invariant; None: the motion itself, represented by scale, positions, coordinates or angular
            momentum
        body : number of the body, from 0, or from the end: -1; None: the one that moves most
        modes : from `chain.normal_modes()`; their frequencies are marked
        """
        fields = [field.name for field in self.run.system.fields]
        name = name or next(known for known in ("scale", "position", "q", "angular_momentum") if known in fields)
        density = self.run.spectrum(name)
        of = ""
        if "body" in density.dims:
            count = density.sizes["body"]
            if body is None:
                body = int(density.sum([dim for dim in density.dims if dim != "body"]).values.argmax())
            if not -count <= body < count:
                raise InputError(f"there is no body {body}", where="plot.spectrum", do="count from 0; -1 is the last")
            density, of = density.isel(body=body), f" of body {body % count}"
        columns = density.values.reshape(density.sizes["frequency"], -1)[1:]
        series = self.run.data[name].isel(body=body) if of else self.run.data[name]
        moved = np.ptp(series.values, axis=0).reshape(-1)
        if not moved.any():
            raise InputError(f"{name}{of} does not change", where="plot.spectrum", do="name something that does")
        letters: Sequence[str] = {3: "xyz", 4: "wxyz"}.get(columns.shape[1], [name.replace("_", " ")])
        labels: Sequence[str] = self._scene.labels.get(name, tuple(letters))
        with drawing(ax) as ax:
            shown = moved > ROUNDING * np.abs(series.values).max()  # all others are rounding, tens of decades below
            for k, label in enumerate(labels):
                if shown.any() and not shown[k]:
                    continue
                ax.plot(density.frequency.values[1:], columns[:, k], label=label, **line_style(k) | {"linewidth": 0.8})
            ax.set_yscale("log", nonpositive="mask")
            low, high = ax.get_ylim()
            ax.set_ylim(max(low, DEEPEST * high))
            if modes is not None:
                known = modes.omega[modes.omega > 0.0] / (2.0 * np.pi)
                for frequency in known[known <= density.frequency.values[-1]]:
                    ax.axvline(frequency, ymax=0.06, color="0.2", linewidth=0.8)
                ax.set_xlim(0.0, min(1.1 * known.max(), density.frequency.values[-1]))
            unit = self.run.plan.units.get("time", "")
            ax.set(
                xlabel=f"frequency (1/{unit})" if unit else "frequency (cycles per unit of time)",
                ylabel=f"power spectral density\nof {name.replace('_', ' ')}{of}",
            )
            legend_above(ax, self.label)
        return ax

    def _suited_to_bodies(self) -> tuple[str, ...]:
        if not self._has_bodies():
            return ()
        residuals = any(i.name.endswith("residual") for i in self.run.system.invariants)
        lengths = () if self._scene.joints is not None else ("link_lengths",)
        return (
            "energy_parts", *lengths, *self._suited_to_joints(), "body_energies", "snapshots", "momentum",
            *(("residuals",) if residuals else ()), *self._suited_to_pulls(),
        )  # fmt: skip

    def _has_bodies(self) -> bool:
        """Whether the run has several bodies: fields along `body`."""
        dims = {field.name: field.dims for field in self.run.system.fields}
        return bool(self._scene.bodies) and all("body" in dims.get(name, ()) for name in ("position", "momentum"))

    @property
    def _scene(self) -> Scene:
        return scene_or_nothing(self.run.system)

    def _need_bodies(self, picture: str) -> None:
        if not self._has_bodies():
            raise InputError(
                f"{self.run.system.title} is not made of several bodies", where=f"plot.{picture}",
                do="draw energy() or invariants()",
            )  # fmt: skip

    def _kinetic(self, momentum: Array, spin: Array) -> Array:
        """(time, body) kinetic energies of bodies with angular momenta in the axes in which the bodies were given."""
        bodies = Alike(self._scene.bodies)
        principal = rotations.rotate(rotations.conjugate(bodies.each(lambda body: body.frame)), spin)
        inverse, masses = bodies.each(lambda body: body.inverse_moments), bodies.each(lambda body: body.mass)
        return 0.5 * ((momentum**2).sum(axis=2) / masses + (inverse * principal**2).sum(axis=2))

    def _energy_parts_of_bodies(self, ax: Axes | None = None) -> Axes:
        """Kinetic and potential energy separately, each minus its start."""
        kinetic = self._kinetic(self._draw("momentum"), self._draw("angular_momentum")).sum(axis=1)
        total = self._draw("energy")
        return self._draw_energies(ax, less_their_starts(kinetic, total), ENERGY_CHANGE)

    def _draw_energies(self, ax: Axes | None, parts: Mapping[str, Array], what: str) -> Axes:
        """Energies over time, by name."""
        with drawing(ax) as ax:
            for number, (name, values) in enumerate(parts.items()):
                ax.plot(self._draw("time"), values, label=name, **line_style(number))
            ax.set(xlabel=self._name("time"), ylabel=what + self._unit("energy"))
            legend_above(ax, self.label + self._words())
        return ax

    def _columns_of_map(self, name: str, *, kinetic: bool = False) -> tuple[Array, Array]:
        stride = -(-self.run.data.sizes["time"] // MAP_COLUMNS)
        data = self.run.data.isel(time=slice(None, None, stride))
        values = np.asarray(data[name].values)
        if kinetic:
            values = self._kinetic(values, np.asarray(data.angular_momentum.values))
        return np.asarray(data.time.values), values

    def _map(self, ax: Axes | None, time: Array, values: Array, along: str, name: str) -> Axes:
        from matplotlib.ticker import MaxNLocator

        with drawing(ax) as ax:
            rows = np.arange(values.shape[1] + 1) - 0.5
            cells = ax.pcolormesh(_edges(time), rows, values.T, cmap="viridis", rasterized=True)
            bar = ax.figure.colorbar(cells, ax=ax, pad=0.02)
            bar.set_label(name)
            ax.grid(visible=False)
            ax.set(xlabel=self._name("time"), ylabel=along)
            ax.yaxis.set_major_locator(MaxNLocator(integer=True))
            ax.set_title(self.label, fontsize=8.5, loc="left")
        return ax

    def _strip(self, count: int, centres: Array, across: int, up: int) -> Panels:
        """Axes with the proportions of the bodies, one below the other; side by side for a tall system."""
        import matplotlib.pyplot as plt

        reach = max((shape_of(body).reach for body in Alike(self._scene.bodies).distinct), default=1.0)
        spans = np.ptp(centres.reshape(-1, 3), axis=0) + 2.0 * reach
        flatness = spans[up] / spans[across]
        if flatness > FLAT:
            width = 6.8 / count
            figure = plt.figure(figsize=(7.2, float(np.clip(width * flatness, 1.0, 4.5)) + 0.9))
            return Panels(np.atleast_1d(figure.subplots(1, count, sharex=True, sharey=True)))
        figure = plt.figure(figsize=(6.4, float(np.clip(5.4 * flatness, 0.6, 2.5)) * count + 0.9))
        return Panels(np.atleast_1d(figure.subplots(count, 1, sharex=True, sharey=True)))

    @property
    def _stride(self) -> int:
        return -(-self.run.data.sizes["time"] // POINTS)

    def _draw(self, name: str) -> Array:
        return np.asarray(self.run.data[name].isel(time=slice(None, None, self._stride)).values)

    def _words(self) -> str:
        return "" if self._stride == 1 else f"\n(one of {self._stride} samples)"

    def _unit(self, name: str, *, braces: bool = True) -> str:
        """The unit after the name of a quantity, if the case gives one."""
        unit = unit_of(self.run.system, name, self.run.plan.units, raised=True)
        return "" if not unit else f" ({unit})" if braces else f" {unit}"

    def _name(self, name: str) -> str:
        """The name of a quantity as an axis label."""
        return name.replace("_", " ") + self._unit(name)


def less_their_starts(kinetic: Array, total: Array) -> dict[str, Array]:
    """Kinetic, potential and total energy, each minus its start, which may be far larger than what they exchange."""
    whole = {"kinetic": kinetic, "potential": total - kinetic, "total": total}
    return {f"{name}, from {values[0]:.7g}": values - values[0] for name, values in whole.items()}


def _plane(centres: Array) -> tuple[int, int]:
    """The two axes along which the bodies extend most, horizontal and vertical; z is vertical if it is one of them."""
    first, second = sorted(np.argsort(-np.ptp(centres.reshape(-1, 3), axis=0), kind="stable")[:2])
    return int(first), int(second)


def _draw_bodies(panel: Axes, bodies: Alike[Body], centres: Array, q: Array, axes: list[int]) -> None:
    """Draw particles, or the outlines of shapes; bodies alternate between two colours, each drawn in one call."""
    from matplotlib.collections import PolyCollection
    from scipy.spatial import ConvexHull

    for parity in (0, 1):
        dots, outlines, color = [], [], str(line_style(parity)["color"])
        for kind, body in enumerate(bodies.distinct):
            mine = np.flatnonzero((bodies.which == kind) & (np.arange(len(centres)) % 2 == parity))
            corners = body.particles.positions if len(body.particles) else shape_of(body).vertices
            places = (centres[mine, None] + rotations.rotate(q[mine, None], corners))[:, :, axes]
            if len(body.particles):
                dots.append(places.reshape(-1, 2))
            else:
                outlines += [place[ConvexHull(place).vertices] for place in places]
        if dots:
            panel.plot(*np.concatenate(dots).T, **_dots(parity))
        if outlines:
            panel.add_collection(PolyCollection(outlines, facecolors=(color, 0.3), edgecolors=color, linewidths=0.8))
            panel.autoscale_view()


def _edges(centres: Array) -> Array:
    """Borders of cells around equally spaced positions; for a single one, half a unit to each side."""
    half = 0.5 * (centres[1] - centres[0]) if len(centres) > 1 else 0.5
    return np.append(centres - half, centres[-1] + half)


def _dots(number: int, color: str | None = None, size: float = 2.6) -> LineStyle:
    color = color or str(line_style(number % 2)["color"])
    return {"linestyle": "none", "marker": "o", "markersize": size, "markeredgewidth": 0, "color": color}
