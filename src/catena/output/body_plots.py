"""Pictures of one rigid body, such as `run.plot.polhode()`.

Curves on a sphere are drawn as on a globe: seen from far away, the far side pale. "Body" means the axes in which the
body was given, "space" those of the laboratory.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Unpack

import numpy as np

from ..arrays import Array
from ..errors import InputError
from ..geometry import rotations
from .chain_plots import ENERGY_CHANGE, ManyBodyPictures, less_their_starts
from .style import (
    LineStyle,
    Panels,
    drawing,
    drawing_panels,
    legend_above,
    legend_in_one_row,
    line_style,
    next_line_style,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..running.runs import Run
    from ..systems.top.attitude import Gravity

View = tuple[float, float]

FIELDS = {"orientation", "angular_momentum"}
LEVELS = 5  # energies on each side of the separatrix whose curves are drawn
CIRCLE = np.linspace(0.0, 2.0 * np.pi, 241)
SIDE_VIEW: View = (25.0, 35.0)  # elevation and azimuth of the viewer, degrees
ASIDE = 30.0  # degrees between the line of sight and the curve, so that its shape is visible
FAR_SIDE: LineStyle = {"alpha": 0.35, "linewidth": 0.6}
FAR_LABEL = "_far side"  # the underscore keeps it out of the legend


class BodyPictures(ManyBodyPictures):
    """Pictures of a run of one body. Every method takes `ax`, the axes to draw on (None: new ones), and returns
    them."""

    run: Run
    label: str

    def polhode(self, ax: Axes | None = None, *, view: View | None = None) -> Axes:
        """Angular momentum of a free body, in the body, on the sphere |y| = const; grey: the curves of other energies.

        The dashed grey curve is the separatrix, through the middle axis. `view` is the elevation and the azimuth of the
        viewer in degrees; None: facing the curve.
        """
        self._need_free("polhode")
        y = self._draw("angular_momentum")
        radius = float(np.linalg.norm(y[0]))
        body = self._scene.bodies[0]
        with _square(ax) as ax:
            globe = _Globe(ax, view or _facing(y), radius)
            for curve, style in _polhodes(body.moments):
                globe.draw(radius * curve @ body.frame_matrix.T, label="_other energies", **style | {"color": "0.6"})
            globe.axes_names(("x", "y", "z"))
            globe.draw(y, label="angular momentum in the body\n" + self.label + self._words(), **next_line_style(ax))
            globe.mark(y[0])
            legend_above(ax)
        return ax

    def herpolhode(self, ax: Axes | None = None) -> Axes:
        """Poinsot's construction: the tip of the angular velocity of a free body in the invariable plane, seen along R y.

        The inertia ellipsoid of the body rolls on this plane without slipping; the circles show the smallest and the
        largest distance of the point of contact from the axis R y.
        """
        self._need_free("herpolhode")
        omega = self._omega()
        q, y = self._draw("orientation"), self._draw("angular_momentum")
        axis = rotations.rotate(q[0], y[0])
        first, second = _across(axis / np.linalg.norm(axis))
        turning = rotations.rotate(q, omega)
        points = np.stack([turning @ first, turning @ second], axis=-1)
        distance = np.linalg.norm(points, axis=-1)
        with _square(ax) as ax:
            for radius in (distance.min(), distance.max()):
                ax.plot(radius * np.cos(CIRCLE), radius * np.sin(CIRCLE), color="0.6", linewidth=0.6, label="_limit")
            style = next_line_style(ax) | {"linewidth": 0.9}
            ax.plot(*points.T, label="angular velocity in space\n" + self.label + self._words(), **style)
            ax.plot(*points[0], "o", color=style["color"], markersize=3.5, label="_start")
            ax.plot(0.0, 0.0, "+", color="0.35", label="_axis R y")
            ax.set(aspect="equal", xlabel="across $R y$", ylabel="across both")
            legend_above(ax)
        return ax

    def columns(self, ax: Axes | None = None, *, view: View = SIDE_VIEW) -> Axes:
        """The three axes of the body in space, the columns of R, as curves on the unit sphere."""
        self._need_turning("columns")
        matrices = rotations.to_matrix(self._draw("orientation"))
        with _square(ax) as ax:
            globe = _Globe(ax, view, 1.0)
            globe.axes_names(("X", "Y", "Z"))
            for k, name in enumerate("xyz"):
                globe.draw(matrices[:, :, k], label=f"body's {name}", **line_style(k) | {"linewidth": 0.8})
                globe.mark(matrices[0, :, k], color=line_style(k)["color"])
            legend_above(ax, self.label + self._words())
        return ax

    def path(self, ax: Axes | None = None, *, view: View | None = None) -> Axes:
        """The centre of mass of a top under gravity, in space, on the sphere about the fixed point; `view` as in `polhode`."""
        self._need_body("path")
        gravity = self._gravity()
        if gravity is None:
            raise InputError(
                f"{self.run.system.title} has no centre of mass that falls", where="plot.path",
                do="draw columns() instead; path() is for a Top with Gravity",
            )  # fmt: skip
        center = rotations.rotate(self._draw("orientation"), np.asarray(gravity.center, dtype=float))
        with _square(ax) as ax:
            globe = _Globe(ax, view or _facing(center), float(np.linalg.norm(gravity.center)))
            globe.axes_names(("X", "Y", "Z"))
            globe.draw(center, label="centre of mass\n" + self.label + self._words(), **next_line_style(ax))
            globe.mark(center[0])
            legend_above(ax)
        return ax

    def angular_momentum(self, ax: Sequence[Axes] | None = None) -> Panels:
        """All components of the angular momentum over time: in the body, and in space. Two axes, one above the other."""
        self._need_turning("angular_momentum")
        q, y = self._draw("orientation"), self._draw("angular_momentum")
        with drawing_panels(ax, 2, "angular_momentum") as axes:
            for panel, values, letters, frame in zip(
                axes, (y, rotations.rotate(q, y)), ("xyz", "XYZ"), ("body", "space"), strict=True
            ):
                for k, letter in enumerate(letters):
                    panel.plot(self._draw("time"), values[:, k], label=letter, **line_style(k))
                panel.set_ylabel(
                    f"angular momentum\nin {'the body' if frame == 'body' else frame}{self._unit('angular_momentum')}"
                )
            legend_in_one_row(axes[0], self.label + self._words())
            legend_in_one_row(axes[1], None)
            axes[1].set_xlabel(self._name("time"))
        return axes

    def energy_parts(self, ax: Axes | None = None) -> Axes:
        """Kinetic and potential energy, each minus its start; for a free body, the kinetic energy about each principal axis."""
        if self._has_bodies():
            return self._energy_parts_of_bodies(ax)
        self._need_body("energy_parts")
        body = self._scene.bodies[0]
        momentum = self._draw("angular_momentum") @ body.frame_matrix
        kinetic = 0.5 * momentum**2 * body.inverse_moments
        total = self._draw("energy")
        if self._has_torque():
            return self._draw_energies(ax, less_their_starts(kinetic.sum(axis=1), total), ENERGY_CHANGE)
        parts = {f"about axis {k + 1}": kinetic[:, k] for k in range(3)} | {"total": total}
        return self._draw_energies(ax, parts, "kinetic energy")

    def scale(self, ax: Sequence[Axes] | None = None) -> Panels:
        """Scale of a scaling body, and its rate, over time. Two axes, one above the other."""
        if not self._scales():
            raise InputError(
                f"{self.run.system.title} has no scale",
                where="plot.scale",
                do="draw energy(); scale() is for a ScalingBody",
            )
        with drawing_panels(ax, 2, "scale") as axes:
            for panel, name in zip(axes, ("scale", "scale_rate"), strict=True):
                panel.plot(self._draw("time"), self._draw(name), label=self.label, **next_line_style(panel))
                panel.set_ylabel(self._name(name))
            legend_above(axes[0])
            axes[1].set_xlabel(self._name("time"))
        return axes

    def _suited_to_a_body(self) -> tuple[str, ...]:
        """Names of the pictures above that can be drawn; none if the system is not a body."""
        if self._scales():
            return ("scale", "columns", "angular_momentum", "residuals")
        if not self._is_a_body():
            return ()
        own = ("path",) if self._gravity() else () if self._has_torque() else ("polhode", "herpolhode")
        return (*own, "columns", "angular_momentum", "energy_parts")

    def _is_a_body(self) -> bool:
        return {field.name for field in self.run.system.fields} == FIELDS

    def _scales(self) -> bool:
        return {field.name for field in self.run.system.fields} >= FIELDS | {"scale", "scale_rate"}

    def _has_torque(self) -> bool:
        return self._scene.torque

    def _gravity(self) -> Gravity | None:
        """The gravity that pulls a centre of mass, if there is one."""
        gravity = self._scene.weight
        return gravity if gravity is not None and any(gravity.center) else None

    def _need_body(self, picture: str) -> None:
        if not self._is_a_body():
            raise InputError(
                f"{self.run.system.title} is not a body that turns about a point", where=f"plot.{picture}",
                do="draw phase(), orbit() or energy()",
            )  # fmt: skip

    def _need_turning(self, picture: str) -> None:
        if not self._scales():
            self._need_body(picture)

    def _need_free(self, picture: str) -> None:
        self._need_body(picture)
        if self._has_torque():
            raise InputError(
                f"{self.run.system.title} feels a torque; only a free body has a {picture}", where=f"plot.{picture}",
                do="draw angular_momentum() or path()",
            )  # fmt: skip

    def _omega(self) -> Array:
        """Angular velocity in the body."""
        body = self._scene.bodies[0]
        return (self._draw("angular_momentum") @ body.frame_matrix * body.inverse_moments) @ body.frame_matrix.T


class _Globe:
    """A sphere seen from far away: its far side is drawn pale."""

    def __init__(self, ax: Axes, view: View, radius: float) -> None:
        elevation, azimuth = np.radians(view)
        self.ax, self.radius = ax, radius
        self.right = np.array([-np.sin(azimuth), np.cos(azimuth), 0.0])
        self.eye = np.array(
            [np.cos(elevation) * np.cos(azimuth), np.cos(elevation) * np.sin(azimuth), np.sin(elevation)]
        )
        self.up = np.cross(self.eye, self.right)
        ax.fill(radius * np.cos(CIRCLE), radius * np.sin(CIRCLE), facecolor="0.965", edgecolor="0.6", linewidth=0.7)
        ax.set_aspect("equal")
        ax.set_axis_off()

    def flat(self, points: Array) -> Array:
        """Horizontal and vertical coordinates of points (n, 3) in the picture."""
        return np.stack([points @ self.right, points @ self.up], axis=-1)

    def draw(self, points: Array, *, label: str, **style: Unpack[LineStyle]) -> None:
        """Draw a curve; its pale parts lie on the far side."""
        near, flat = points @ self.eye >= 0.0, self.flat(points)
        for shown, name, how in ((~near, FAR_LABEL, style | FAR_SIDE), (near, label, style)):
            # a segment belongs to the side where it starts, so that the two parts meet
            kept = shown | np.roll(shown, 1)
            self.ax.plot(*np.where(kept[:, None], flat, np.nan).T, label=name, **how)

    def mark(self, point: Array, color: str | None = None) -> None:
        """Draw a dot where the curve starts."""
        color = color or str(self.ax.lines[-1].get_color())
        alpha = 1.0 if point @ self.eye >= 0.0 else 0.35
        self.ax.plot(*self.flat(point), "o", color=color, markersize=3.5, alpha=alpha, label="_start")

    def axes_names(self, names: Sequence[str]) -> None:
        """Draw the axes, from the surface outwards, with their names at the ends."""
        for name, axis in zip(names, np.eye(3), strict=True):
            line = self.flat(self.radius * np.array([axis, 1.22 * axis]))
            dashes = "-" if axis @ self.eye >= 0.0 else ":"
            self.ax.plot(*line.T, color="0.45", linewidth=0.8, linestyle=dashes, label="_axis")
            right, up = self.flat(1.32 * self.radius * axis)
            self.ax.annotate(name, (right, up), ha="center", va="center", color="0.3", fontsize=8)


def _polhodes(moments: Array) -> list[tuple[Array, LineStyle]]:
    """Curves of constant energy on the unit sphere in principal axes, (n, 3) each, closed; the separatrices dashed.

    Around the axis of an extreme moment the curve of energy h is (a1 - a) y1^2 + (a2 - a) y2^2 = const, an ellipse seen along it.
    """
    inverse = np.divide(1.0, moments, out=np.full(3, np.inf), where=moments > 0.0)
    low, middle, high = np.argsort(-inverse, kind="stable")  # axes of the smallest, middle, largest moment
    curves: list[tuple[Array, LineStyle]] = []
    for axis, other in ((low, high), (high, low)):
        span = abs(inverse[axis] - inverse[middle])
        wide = abs(inverse[axis] - inverse[other])
        if not np.isfinite(wide) or span == 0.0:
            continue
        for part in (*np.linspace(0.0, 1.0, LEVELS + 1)[1:-1] ** 2, 1.0):
            # the energy is that of the middle axis when part = 1
            points = np.zeros((len(CIRCLE), 3))
            points[:, middle] = np.sqrt(part) * np.cos(CIRCLE)
            points[:, other] = np.sqrt(part * span / wide) * np.sin(CIRCLE)
            points[:, axis] = np.sqrt(np.maximum(0.0, 1.0 - points[:, middle] ** 2 - points[:, other] ** 2))
            style: LineStyle = (
                {"linewidth": 0.5, "linestyle": "-"} if part < 1.0 else {"linewidth": 0.7, "linestyle": "--"}
            )
            for sign in (1.0, -1.0):
                mirrored = points.copy()
                mirrored[:, axis] *= sign
                curves.append((mirrored, style))
    return curves


def _across(axis: Array) -> tuple[Array, Array]:
    """Two vectors that complete a unit vector to a right-handed frame."""
    first = np.cross(axis, np.eye(3)[int(np.argmin(np.abs(axis)))])
    first /= np.linalg.norm(first)
    return first, np.cross(axis, first)


def _facing(points: Array) -> View:
    """A view of a curve about the origin: from the side where it lies, at an angle."""
    x, y, z = points.mean(axis=0)
    elevation = float(np.degrees(np.arctan2(z, np.hypot(x, y))))
    return elevation - ASIDE if elevation > 0.0 else elevation + ASIDE, float(np.degrees(np.arctan2(y, x))) + ASIDE


def _square(ax: Axes | None) -> AbstractContextManager[Axes]:
    """The axes to draw on: the given ones, or new ones in a square figure."""
    return drawing(ax, size=(4.0, 4.4))
