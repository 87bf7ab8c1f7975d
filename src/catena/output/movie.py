"""A film of a run: the bodies in space, or the path of a Hamiltonian, drawn by matplotlib frame by frame.

Orthographic projection: parallel edges stay parallel. Faces are drawn from far to near; those that face away are
omitted.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..arrays import Array
from ..errors import CapabilityError, InputError
from ..geometry import rotations
from ..running.plan import positive_integer, positive_number
from .files import path_from, replacing
from .page.appearance import Appearance, appearance_of
from .page.frames import Frames, choose_frames
from .showing import scene_of
from .style import new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ..running.runs import Run

SECONDS, FRAMES_PER_SECOND = 10.0, 30
WIDTH, HEIGHT, DOTS_PER_INCH = 6.4, 4.8, 100  # 640 x 480: video codecs need an even number of pixels
MARGIN = 1.2
LIGHT = np.array([-0.35, 0.5, 0.8])  # from the left, above and behind the viewer
AMBIENT = 0.55
# faces along x, y, z of a single body, paler on the other side; a fourth colour for the octants of a round body
HUES = np.array([[0.835, 0.369, 0.0], [0.0, 0.62, 0.451], [0.0, 0.447, 0.698], [0.902, 0.761, 0.18]])
ROUND = ("ellipsoid", "cone", "disc", "rod")
PATH_POINTS = 4000
FORMATS = (".mp4", ".gif")


def movie(run: Run, path: str | Path, *, seconds: float = SECONDS, fps: int = FRAMES_PER_SECOND) -> Path:
    """Write a film of a run; see `Run.movie`."""
    target = path_from(path)
    if target.suffix.lower() not in FORMATS:
        raise InputError(
            f"{target.name!r} is no film", where="movie.path", do=f"end its name with {' or '.join(FORMATS)}"
        )
    rate = positive_integer(fps, "fps")
    most = max(2, round(positive_number(seconds, "seconds") * rate))
    bodies = bool(scene_of(run.system, where="movie").bodies)
    shown = choose_frames(
        run, most if bodies else max(most, PATH_POINTS)
    )  # a path has corners where samples are omitted
    samples = len(shown.position)
    if samples < 2:
        raise InputError("the run has a single sample", where="movie", do="make some steps")
    picture = _Bodies(run, shown) if bodies else _Path(run, shown)
    frames = np.linspace(0, samples - 1, min(most, samples)).round().astype(int).tolist()
    picture.draw(frames[0])
    with replacing(target) as temporary, _writer(temporary, rate, picture.figure) as grab:
        grab()
        for frame in frames[1:]:
            picture.draw(frame)
            grab()
    return target


@contextmanager
def _writer(path: Path, fps: int, figure: Figure) -> Iterator[Callable[[], None]]:
    """The writer that takes the figure as the next frame."""
    import matplotlib
    from matplotlib.animation import FFMpegWriter, PillowWriter

    coded = path.suffix.lower() == ".mp4"
    settings = matplotlib.RcParams({"savefig.bbox": "standard"})
    if coded:
        settings["animation.ffmpeg_path"] = _ffmpeg()
    with matplotlib.rc_context(settings):  # all frames have the same size, whatever the user's settings
        film = FFMpegWriter(fps=fps, codec="h264") if coded else PillowWriter(fps=fps)
        with film.saving(figure, str(path), DOTS_PER_INCH):
            yield film.grab_frame


def _ffmpeg() -> str:
    """The ffmpeg executable: installed, or from the extra `movie`."""
    found = shutil.which("ffmpeg")
    if found is not None:
        return found
    try:
        from imageio_ffmpeg import get_ffmpeg_exe
    except ImportError:
        raise CapabilityError(
            "no ffmpeg is installed, which writes MP4", where="movie",
            do='install it (pip install "catena[movie]"), or write a .gif',
        ) from None  # fmt: skip
    return str(get_ffmpeg_exe())


class _Picture:
    """A figure that is redrawn for every frame."""

    def __init__(self, run: Run, shown: Frames) -> None:
        self.shown = shown
        self.figure = new_figure(width=WIDTH, height=HEIGHT)
        self.axes: Axes = self.figure.add_axes((0.0, 0.0, 1.0, 1.0))
        unit = run.plan.units.get("time", "")
        self._unit = f" {unit}" if unit else ""
        self._clock = self.figure.text(0.03, 0.95, "", ha="left", va="top", fontsize=11)
        self.figure.text(0.97, 0.04, _words(run), ha="right", va="bottom", fontsize=8, color="0.4")
        self._times = np.asarray(shown.data.time.values)
        shown_every = abs(self._times[-1] - self._times[0]) / len(self._times)
        self._digits = max(0, int(np.ceil(-np.log10(max(shown_every, 1e-12)))))

    def draw(self, frame: int) -> None:
        """Redraw the figure for a frame."""
        self._clock.set_text(f"t = {self._times[frame]:.{self._digits}f}{self._unit}")


class _Bodies(_Picture):
    """Bodies with their links and joints."""

    def __init__(self, run: Run, shown: Frames) -> None:
        from matplotlib.collections import LineCollection, PolyCollection

        super().__init__(run, shown)
        assert shown.orientation is not None
        self._looks: Appearance = appearance_of(run.system)
        self._scale = shown.data["scale"].values if "scale" in shown.data else np.ones(len(shown.position))
        self._turns = np.where(shown.is_sound[..., None], shown.orientation, [1.0, 0.0, 0.0, 0.0])
        extremes = [
            self._corners(frame).reshape(-1, 3)
            for frame in range(0, len(shown.position), 1 + len(shown.position) // 100)
        ]
        low, high = np.min([e.min(axis=0) for e in extremes], axis=0), np.max([e.max(axis=0) for e in extremes], axis=0)
        self._right, self._up, self._back = _camera(high - low)
        flat = [e @ np.stack([self._right, self._up], axis=1) for e in extremes]
        corners = np.concatenate(flat)
        _frame_axes(self.axes, corners.min(axis=0), corners.max(axis=0))
        self._lines = LineCollection([], colors="0.35", linewidths=1.6, zorder=1)
        self._faces = PolyCollection([], linewidths=0.3, zorder=2)
        self.axes.add_collection(self._lines)
        self.axes.add_collection(self._faces)
        (self._joints,) = self.axes.plot([], [], "o", color="#c8702a", markersize=5, zorder=3)
        self._colours = self._face_colours()

    def _corners(self, frame: int) -> Array:
        """(faces, 3, 3) the triangles of all bodies in space."""
        parts = []
        for j, number in enumerate(self._looks.shape_of):
            shape = self._looks.shapes[number]
            turned = rotations.rotate(self._turns[frame, j], self._scale[frame] * shape.vertices)
            parts.append((self.shown.drawn[frame, j] + turned)[shape.faces])
        return np.concatenate(parts)

    def _face_colours(self) -> Array:
        """(faces, 3): for a single body by its side, as on the page; for several by the body."""
        import matplotlib as mpl

        if self._looks.count == 1:
            shape = self._looks.shapes[0]
            a, b, c = shape.vertices[shape.faces].transpose(1, 0, 2)
            if shape.kind in ROUND:  # by octants, whose borders no triangle crosses
                x, y, z = (a + b + c).T
                hue, other_side = (x < 0.0) + 2 * (y < 0.0), z < 0.0
            else:
                along = np.cross(b - a, c - a)
                hue = np.abs(along).argmax(axis=1)
                other_side = np.take_along_axis(along, hue[:, None], axis=1)[:, 0] < 0.0
            return np.where(other_side[:, None], 0.45 + 0.55 * HUES[hue], HUES[hue])
        shades = mpl.colormaps["viridis"](np.linspace(0.15, 0.9, self._looks.count))[:, :3]
        counts = [len(self._looks.shapes[number].faces) for number in self._looks.shape_of]
        return np.repeat(shades, counts, axis=0)

    def draw(self, frame: int) -> None:
        super().draw(frame)
        corners = self._corners(frame)
        normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-300)
        seen = np.flatnonzero(normals @ self._back > 0.0)
        order = seen[np.argsort(corners[seen].mean(axis=1) @ self._back)]
        light = LIGHT[0] * self._right + LIGHT[1] * self._up + LIGHT[2] * self._back
        shade = AMBIENT + (1.0 - AMBIENT) * np.clip(normals[order] @ light / np.linalg.norm(LIGHT), 0.0, 1.0)
        colours = np.clip(self._colours[order] * shade[:, None], 0.0, 1.0)
        self._faces.set_verts(list(self._flat(corners[order])))
        self._faces.set_facecolor(colours)
        self._faces.set_edgecolor(colours)
        self._draw_links(frame)

    def _draw_links(self, frame: int) -> None:
        centres = self.shown.drawn[frame]
        lines = [centres[pair] for pair in self._looks.links]
        meeting = []
        for joint in self._looks.joints:
            point = centres[joint.child] + rotations.rotate(self._turns[frame, joint.child], joint.at_child)
            meeting.append(point)
            lines.append(np.array([centres[joint.child], point]))
            if joint.parent >= 0:
                lines.append(np.array([centres[joint.parent], point]))
        self._lines.set_segments([self._flat(line) for line in lines])
        if meeting:
            self._joints.set_data(*self._flat(np.array(meeting)).T)

    def _flat(self, points: Array) -> Array:
        return points @ np.stack([self._right, self._up], axis=1)


class _Path(_Picture):
    """A moving point, with its path so far."""

    def __init__(self, run: Run, shown: Frames) -> None:
        super().__init__(run, shown)
        points = shown.drawn[:, 0] * shown.stretch
        right, up, _ = _camera(np.ptp(points, axis=0)) if len(shown.axes) == 3 else (*np.eye(3)[:2], None)
        self._points = points @ np.stack([right, up], axis=1)
        _frame_axes(self.axes, self._points.min(axis=0), self._points.max(axis=0))
        self.axes.plot(*self._points.T, color="0.85", linewidth=0.7)
        (self._trail,) = self.axes.plot([], [], color="#0072b2", linewidth=1.2)
        (self._here,) = self.axes.plot([], [], "o", color="#d55e00", markersize=7)
        self.figure.text(0.03, 0.04, ", ".join(shown.axes), ha="left", va="bottom", fontsize=9, color="0.4")

    def draw(self, frame: int) -> None:
        super().draw(frame)
        self._trail.set_data(*self._points[: frame + 1].T)
        self._here.set_data(*self._points[frame : frame + 1].T)


def _camera(extent: Array) -> tuple[Array, Array, Array]:
    """Right, up and towards the viewer: from the front and a little above; the longest extent is horizontal."""
    x, y, _ = extent
    back = np.array([0.38, -1.0, 0.34] if x >= y else [1.0, -0.38, 0.34])
    back /= np.linalg.norm(back)
    right = np.cross([0.0, 0.0, 1.0], back)
    right /= np.linalg.norm(right)
    return right, np.cross(back, right), back


def _frame_axes(axes: Axes, low: Array, high: Array) -> None:
    """Show everything, with equal scales."""
    middle, half = 0.5 * (low + high), np.maximum(0.5 * MARGIN * (high - low), 1e-12)
    tall = max(half[1], half[0] * HEIGHT / WIDTH)
    axes.set_xlim(middle[0] - tall * WIDTH / HEIGHT, middle[0] + tall * WIDTH / HEIGHT)
    axes.set_ylim(middle[1] - tall, middle[1] + tall)
    axes.set_axis_off()


def _words(run: Run) -> str:
    return f"{run.system.in_words}, {run.method}, dt = {run.plan.dt:g}"
