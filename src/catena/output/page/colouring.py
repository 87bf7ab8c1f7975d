"""Scalars by which bodies can be coloured: of each body, or of the whole system, in every frame."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...geometry import rotations
from ...systems.alike import Alike
from ...systems.base import Array, System
from ..showing import scene_or_nothing
from .appearance import bodies_of, has_bodies
from .samples import poses
from .tension import MOST_PAIRS, link_forces, pairs_in

if TYPE_CHECKING:
    import xarray

    from ...systems.chain.interactions import Interactions

LEVELS = 255  # a colour map has 256 colours
TAIL = 0.01  # fraction of the numbers at each end that may be cut off ...
MUCH = 1.5  # ... if this makes the range so many times smaller


@dataclass(frozen=True, eq=False)
class Scalar:
    """A number for each body in each frame, as one of 256 levels from `low` to `high`.

    `is_cut`: some numbers lie outside this range; they have the colour of the nearer end.
    """

    name: str
    low: float
    high: float
    is_cut: bool
    levels: NDArray[np.uint8]


def scalars(system: System, frames: xarray.Dataset) -> list[Scalar]:
    """All varying scalars by which bodies, or a path, can be coloured, for the frames that are shown."""
    found = dict((_of_bodies if has_bodies(system) else _of_coordinates)(system, frames))
    found |= dict(_find_stored(frames, known=set(found)))
    listed = [_level(name, values) for name, values in found.items()]
    return [scalar for scalar in listed if scalar is not None]


def _of_bodies(system: System, frames: xarray.Dataset) -> Iterator[tuple[str, Array]]:
    bodies = Alike(bodies_of(system))
    position, orientation = poses(frames)
    if "position" in frames:
        yield "distance from the start", np.linalg.norm(position - position[0], axis=-1)
    if "scale" in frames:  # then momenta include those of the change of scale
        return
    count = len(bodies.which)
    y = frames["angular_momentum"].values.reshape(len(position), count, 3)
    principal = rotations.rotate(rotations.conjugate(bodies.each(lambda body: body.frame)), y)
    omega = principal * bodies.each(lambda body: body.inverse_moments)
    kinetic = 0.5 * (principal * omega).sum(axis=-1)
    if "momentum" in frames:
        p = frames["momentum"].values.reshape(len(position), count, 3)
        mass = bodies.each(lambda body: body.mass)
        kinetic = kinetic + 0.5 * (p * p).sum(axis=-1) / mass
        yield "speed", np.linalg.norm(p, axis=-1) / mass
    yield "kinetic energy", kinetic
    links = scene_or_nothing(system).links
    pairwise = links is not None and not links.has_bonds  # only potentials between pairs of particles
    if links and pairwise and pairs_in(links) * len(position) <= MOST_PAIRS and np.isfinite(kinetic).all():
        tension, energy = link_forces(links, position, orientation)
        yield "energy, with half of its links", kinetic + 0.5 * _of_both_sides(links, energy)
        yield (
            "tension, mean of its links",
            _of_both_sides(links, tension) / _of_both_sides(links, np.ones_like(tension)),
        )
    yield "angular speed", np.linalg.norm(omega, axis=-1)


def _of_both_sides(links: Interactions, values: Array) -> Array:
    """The sum of numbers of the links (m, links) over the links of each body, (m, n); an end body has only one link."""
    bodies = np.zeros((len(values), len(links.bodies)))
    for side in links.sides:
        bodies[:, side] += values
    return bodies


def _of_coordinates(system: System, frames: xarray.Dataset) -> Iterator[tuple[str, Array]]:
    for field, names in scene_or_nothing(system).labels.items():
        for k, name in enumerate(names):
            yield name, frames[field].values[:, k]


def _find_stored(frames: xarray.Dataset, known: set[str]) -> Iterator[tuple[str, Array]]:
    """The stored fields: scalars, and components of vectors, of each body or of the whole system."""
    yield "time", frames["time"].values
    for name, array in frames.data_vars.items():
        label = str(name).replace("_", " ")
        if label in known or name in ("orientation", "position", "q", "p"):
            continue
        values = array.values
        inner = array.dims[1:] if "body" not in array.dims else array.dims[2:]
        if not inner:
            yield label, values
        elif len(inner) == 1:
            for k in range(values.shape[-1]):
                yield f"{label} {'xyz'[k] if values.shape[-1] == 3 else k}", values[..., k]


def _level(name: str, values: Array) -> Scalar | None:
    """Numbers as levels; None if there is nothing to see: constant, or nowhere finite."""
    finite = np.isfinite(values)
    if not finite.any():
        return None
    least, largest = float(values[finite].min()), float(values[finite].max())
    if not least < largest:
        return None
    low, high = (float(x) for x in np.quantile(values[finite], (TAIL, 1.0 - TAIL)))
    is_cut = (largest - least) > MUCH * (high - low) > 0.0
    if not is_cut:
        low, high = least, largest
    with np.errstate(invalid="ignore"):
        levels = np.clip(np.round((values - low) / (high - low) * LEVELS), 0, LEVELS)
    return Scalar(name, low, high, is_cut, np.where(finite, levels, 0).astype(np.uint8).reshape(len(values), -1))
