"""Pictures of several bodies: `run.plot.link_lengths()` and its like."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..geometry import rotations
from .style import axes_for, legend_above, legend_in_one_row, line_style, log_error_axis, next_line_style, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..runs import Run

Array = NDArray[np.float64]

MAP_COLUMNS = 2000  # of a space-time map: more cannot be told apart on a page
POINTS = 10_000  # of a curve
SNAPSHOTS = 5
EPS = float(np.finfo(float).eps)


class ManyBodyPictures:
    """Pictures of a run of several bodies. Every method takes `ax`, the axes to draw into (None: new ones)."""

    run: Run
    label: str

    def link_lengths(self, ax: Axes | None = None) -> Axes:
        """Distance of the centres of neighbours, as a map over time and along the chain."""
        time, position = self._columns_of_map("position")
        lengths = np.linalg.norm(np.diff(position, axis=1), axis=2)
        return self._map(ax, time, lengths, "link", f"length{self._unit('length')}")

    def body_energies(self, ax: Axes | None = None) -> Axes:
        """Kinetic energy of each body, as a map over time and along the chain: where the motion is, and where it goes."""
        time, kinetic = self._columns_of_map("momentum", kinetic=True)
        return self._map(ax, time, kinetic, "body", "kinetic energy")

    def snapshots(self, times: Sequence[float] | None = None, ax: Sequence[Axes] | None = None) -> Sequence[Axes]:
        """The bodies at chosen times, one panel below the other, seen across the plane in which they extend most.

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
        if ax is not None and len(ax) != len(chosen):
            raise InputError(f"{len(ax)} axes for {len(chosen)} times", where="plot.snapshots", do="give one for each")
        data = self.run.data.isel(time=chosen)
        centres, turned = np.asarray(data.position.values), np.asarray(data.orientation.values)
        across, up = _plane(centres)
        with styled():
            axes = self._strip(len(chosen), centres, across, up) if ax is None else ax
            for panel, r, q, index in zip(axes, centres, turned, chosen, strict=True):
                panel.plot(r[:, across], r[:, up], color="0.55", linewidth=0.8, zorder=1)
                for j, body in enumerate(self.run.system.bodies):
                    points = r[j] + rotations.rotate(q[j], body.particles.positions)
                    panel.plot(points[:, across], points[:, up], **_dots(j))
                panel.plot(r[:, across], r[:, up], **_dots(0, "0.2", 1.6))
                panel.set_aspect("equal", adjustable="box")
                panel.annotate(
                    f"t = {known[index]:g}", (1.0, 0.5), (6, 0), xycoords="axes fraction", va="center", fontsize=8,
                    textcoords="offset points",
                )  # fmt: skip
                panel.set_ylabel("xyz"[up] + self._unit("length"))
            axes[-1].set_xlabel("xyz"[across] + self._unit("length"))
            axes[0].set_title(self.label, fontsize=8.5, loc="left")
        return axes

    def momentum(self, ax: Sequence[Axes] | None = None) -> Sequence[Axes]:
        """Total momentum and total angular momentum, component by component, over time. Two axes, one above the other."""
        self._need_bodies("momentum")
        p, r = self._drawn("momentum"), self._drawn("position")
        spin = rotations.rotate(self._drawn("orientation"), self._drawn("angular_momentum"))
        parts = {"momentum": p.sum(axis=1), "angular momentum": (np.cross(r, p) + spin).sum(axis=1)}
        with styled():
            axes = stacked(2) if ax is None else ax
            for panel, (name, values) in zip(axes, parts.items(), strict=True):
                for k in range(3):
                    panel.plot(self._drawn("time"), values[:, k], label="xyz"[k], **line_style(k))
                panel.set_ylabel(name)
            legend_in_one_row(axes[0], self.label)
            axes[-1].set_xlabel("time" + self._unit("time"))
        return axes

    def residuals(self, ax: Axes | None = None) -> Axes:
        """What must be zero, over time, on a logarithmic axis: unit length, tangency, orthogonality, joints."""
        names = [i.name for i in self.run.system.invariants if i.name.endswith("residual")]
        if not names:
            raise InputError(
                f"{self.run.system.title} has no constraints",
                where="plot.residuals",
                do="draw energy() or invariants()",
            )
        with styled():
            ax = axes_for(ax)
            for name in names:
                values = np.abs(self._drawn(name))
                ax.plot(self._drawn("time"), values, label=name.replace("_", " "), **next_line_style(ax))
            log_error_axis(ax, EPS)
            ax.set_xlabel("time" + self._unit("time"))
            ax.set_ylabel("residual")
            legend_above(ax, self.label)
        return ax

    def spectrum(self, name: str, *, body: int = -1, ax: Axes | None = None) -> Axes:
        """Power spectrum of a field of one body, component by component, or of an invariant; see `run.spectrum`."""
        density = self.run.spectrum(name)
        if "body" in density.dims:
            if not -density.sizes["body"] <= body < density.sizes["body"]:
                raise InputError(f"there is no body {body}", where="plot.spectrum", do="count from 0; -1 is the last")
            density = density.isel(body=body)
        columns = density.values.reshape(density.sizes["frequency"], -1)[1:]
        letters = {3: "xyz", 4: "wxyz"}.get(columns.shape[1], "")
        with styled():
            ax = axes_for(ax)
            for k in range(columns.shape[1]):
                label = letters[k] if letters else name.replace("_", " ")
                ax.plot(density.frequency.values[1:], columns[:, k], label=label, **line_style(k) | {"linewidth": 0.8})
            ax.set_yscale("log")
            unit = self.run.plan.units.get("time", "")
            ax.set_xlabel(f"frequency (1/{unit})" if unit else "frequency (cycles per unit of time)")
            of = f" of body {body % self.run.system.count}" if "body" in self.run.data[name].dims else ""
            ax.set_ylabel(f"power spectral density\nof {name.replace('_', ' ')}{of}")
            legend_above(ax, self.label)
        return ax

    def _suited_to_bodies(self) -> tuple[str, ...]:
        if not self._has_bodies():
            return ()
        residuals = any(i.name.endswith("residual") for i in self.run.system.invariants)
        return (
            "energy_parts", "link_lengths", "body_energies", "snapshots", "momentum", *(("residuals",) if residuals else ())
        )  # fmt: skip

    def _has_bodies(self) -> bool:
        return {"position", "momentum"} <= {field.name for field in self.run.system.fields} and hasattr(
            self.run.system, "bodies"
        )

    def _need_bodies(self, picture: str) -> None:
        if not self._has_bodies():
            raise InputError(
                f"{self.run.system.title} is not made of several bodies", where=f"plot.{picture}",
                do="draw energy() or invariants()",
            )  # fmt: skip

    def _kinetic(self, momentum: Array, spin: Array) -> Array:
        """(time, body) kinetic energies of bodies whose angular momenta are in the axes in which they were given."""
        bodies = self.run.system.bodies
        frames = np.array([body.frame for body in bodies])
        principal = rotations.rotate(rotations.conjugate(frames), spin)
        inverse = np.array([body.inverse_moments for body in bodies])
        masses = np.array([body.mass for body in bodies])
        return 0.5 * ((momentum**2).sum(axis=2) / masses + (inverse * principal**2).sum(axis=2))

    def _energy_parts_of_bodies(self, ax: Axes | None = None) -> Axes:
        """Kinetic and potential energy apart, each less its start."""
        kinetic = self._kinetic(self._drawn("momentum"), self._drawn("angular_momentum")).sum(axis=1)
        total = self._drawn("energy")
        parts = {"kinetic": kinetic, "potential": total - kinetic, "total": total}
        with styled():
            ax = axes_for(ax)
            for number, (name, values) in enumerate(parts.items()):
                label = f"{name} - ({values[0]:.7g})"
                ax.plot(self._drawn("time"), values - values[0], label=label, **line_style(number))
            ax.set_xlabel("time" + self._unit("time"))
            ax.set_ylabel("energy less its start")
            legend_above(ax, self.label)
        return ax

    def _columns_of_map(self, name: str, *, kinetic: bool = False) -> tuple[Array, Array]:
        self._need_bodies("link_lengths")
        stride = -(-self.run.data.sizes["time"] // MAP_COLUMNS)
        data = self.run.data.isel(time=slice(None, None, stride))
        values = np.asarray(data[name].values)
        if kinetic:
            values = self._kinetic(values, np.asarray(data.angular_momentum.values))
        return np.asarray(data.time.values), values

    def _map(self, ax: Axes | None, time: Array, values: Array, along: str, name: str) -> Axes:
        with styled():
            ax = axes_for(ax)
            cells = ax.pcolormesh(
                time, np.arange(values.shape[1]), values.T, cmap="viridis", shading="nearest", rasterized=True
            )
            bar = ax.figure.colorbar(cells, ax=ax, pad=0.02)
            bar.set_label(name)
            ax.grid(visible=False)
            ax.set_xlabel("time" + self._unit("time"))
            ax.set_ylabel(along)
            ax.set_title(self.label, fontsize=8.5, loc="left")
        return ax

    def _strip(self, count: int, centres: Array, across: int, up: int) -> Sequence[Axes]:
        """Axes below each other, each as flat as the bodies are."""
        import matplotlib.pyplot as plt

        spans = np.ptp(centres.reshape(-1, 3), axis=0) + 2.0
        height = float(np.clip(5.4 * spans[up] / spans[across], 0.6, 2.5))
        figure = plt.figure(figsize=(6.4, height * count + 0.7))
        return list(np.atleast_1d(figure.subplots(count, 1, sharex=True, sharey=True)))

    def _drawn(self, name: str) -> Array:
        stride = -(-self.run.data.sizes["time"] // POINTS)
        return np.asarray(self.run.data[name].isel(time=slice(None, None, stride)).values)

    def _unit(self, quantity: str) -> str:
        unit = self.run.plan.units.get(quantity, "")
        return f" ({unit})" if unit else ""


def _plane(centres: Array) -> tuple[int, int]:
    """The two axes along which the bodies extend most: the first to the right, the second up."""
    first, second = np.argsort(-np.ptp(centres.reshape(-1, 3), axis=0), kind="stable")[:2]
    return int(first), int(second)


def _dots(number: int, color: str | None = None, size: float = 2.6) -> dict[str, Any]:
    color = color or str(line_style(number % 2)["color"])
    return {"linestyle": "none", "marker": "o", "markersize": size, "markeredgewidth": 0, "color": color}


def stacked(count: int) -> Sequence[Axes]:
    """Axes of a new pyplot figure, one above the other."""
    import matplotlib.pyplot as plt

    return list(plt.figure(figsize=(5.4, 1.9 * count + 0.6)).subplots(count, 1, sharex=True))
