"""The frames of the page: the samples to show, and their numbers as text that a script decodes."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...arrays import Array
from ...systems.scene import Scene
from ...text.plain import Json
from ..showing import scene_or_nothing
from .appearance import bodies_of, has_bodies
from .samples import only, poses

if TYPE_CHECKING:
    import xarray

    from ...running.runs import Run

QUANTISED_FROM = 20_000_000  # characters of poses in single precision; beyond, 16-bit integers
CHARACTERS = 4 * 4 / 3  # of a single in base64
MOST_BYTES = 60_000_000  # of poses as 16-bit integers
LARGEST = 32767
FARTHEST = 1e30  # beyond, single precision overflows


@dataclass(frozen=True, eq=False)
class Frames:
    """The samples of a run that are shown.

    Attributes
    ----------
    data : these samples, in memory
    every : distance between these samples; 1 shows all
    samples : number of samples of the run
    position : (m, n, 3) of bodies, or of the point whose path is drawn
    orientation : (m, n, 4), or None for a path
    axes : names of the axes in which positions are drawn
    stretch : (3,) factors with which positions are drawn, 1 unless an axis is not a length
    """

    data: xarray.Dataset
    every: int
    samples: int
    position: Array
    orientation: Array | None
    axes: tuple[str, ...]
    stretch: tuple[float, ...] = (1.0, 1.0, 1.0)

    @property
    def is_quantised(self) -> bool:
        """Whether there are so many frames that poses are stored as 16-bit integers."""
        return self._numbers * CHARACTERS > QUANTISED_FROM

    @property
    def _numbers(self) -> int:
        return self.position.size + (0 if self.orientation is None else self.orientation.size)

    @property
    def is_sound(self) -> NDArray[np.bool_]:
        """(m, n) whether a pose can be drawn."""
        with np.errstate(invalid="ignore", over="ignore"):
            sound: NDArray[np.bool_] = np.abs(self.position).max(axis=-1) < FARTHEST
            if self.orientation is not None:
                lengths = (self.orientation**2).sum(axis=-1)
                sound &= (lengths > 0.25) & (lengths < 4.0)  # a working method stays much closer to 1
        return sound

    @property
    def drawn(self) -> Array:
        """(m, n, 3) the positions; the origin for poses that cannot be drawn."""
        return np.where(self.is_sound[..., None], self.position, 0.0)

    @property
    def resolution(self) -> float:
        """The largest error of a position."""
        extent = float(np.ptp(self.drawn, axis=(0, 1)).max())
        return 0.5 * extent / (2 * LARGEST) if self.is_quantised else 2.0**-25 * extent


def choose_frames(run: Run, most: int) -> Frames:
    """At most `most` samples of a run, equally spaced from the first on, and fewer if the page could not hold them."""
    system, samples = run.system, run.data.sizes["time"]
    with_bodies = has_bodies(system)
    width = 7 * len(bodies_of(system)) if with_bodies else 3
    most = max(2, min(most, MOST_BYTES // (2 * width)))
    every = max(1, -(-(samples - 1) // (most - 1))) if samples > 1 else 1
    names = ["time", *(part.name for part in (*system.fields, *system.invariants))]
    data = only(run.data, names).isel(time=slice(None, None, every)).load()
    if with_bodies:
        position, orientation = poses(data)
        return Frames(data, every, samples, position, orientation, ("x", "y", "z"))
    scene = scene_or_nothing(system)
    path, axes = _path(scene, data)
    phase = len(scene.coordinates) == 1
    shown = Frames(data, every, samples, path, None, axes)
    if not phase:
        return shown
    return replace(shown, stretch=tuple(1.0 / (x or 1.0) for x in np.ptp(shown.drawn, axis=(0, 1)).tolist()))


def _path(scene: Scene, data: xarray.Dataset) -> tuple[Array, tuple[str, ...]]:
    """The first three coordinates as a point in space, two in a plane, or one against its momentum."""
    q = data["q"].values[:, :3]
    columns, axes = [q], scene.coordinates[:3]
    if len(axes) == 1:
        columns, axes = [q, data["p"].values[:, :1]], (*axes, scene.labels["p"][0])
    columns.append(np.zeros((len(q), 3 - len(axes))))
    return np.hstack(columns)[:, None, :], axes


def encode(frames: Frames) -> tuple[dict[str, Json], dict[str, str]]:
    """Poses as base64: the description for decoding, and the texts.

    Positions are measured from the middle of their range, so that single precision has its digits for the motion.
    """
    drawn = frames.drawn
    low, high = drawn.min(axis=(0, 1)), drawn.max(axis=(0, 1))
    origin, half = 0.5 * (low + high), np.maximum(0.5 * (high - low), 1e-300)
    centred = drawn - origin
    described: dict[str, Json] = {"origin": origin.tolist(), "quantised": frames.is_quantised}
    turned = frames.orientation
    if turned is not None:
        turned = np.where(frames.is_sound[..., None], turned, [1.0, 0.0, 0.0, 0.0])
    if not frames.is_quantised:
        texts = {"position": text_of(centred, "<f4")}
        if turned is not None:
            texts["orientation"] = text_of(turned, "<f4")
        return described, texts
    described["step"] = (half / LARGEST).tolist()
    texts = {"position": text_of(np.round(centred / half * LARGEST), "<i2")}
    if turned is not None:
        texts["orientation"] = text_of(np.round(turned.clip(-1, 1) * LARGEST), "<i2")
    return described, texts


def text_of(array: np.ndarray, kind: str) -> str:
    """Numbers in base64."""
    return b64encode(np.ascontiguousarray(array, dtype=kind).tobytes()).decode("ascii")
