"""LAMMPS dump: quaternions scalar first, named by their columns; shapes as diameters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ..page.appearance import appearance_of, bodies_of
from .shared import Array, Frame, frames, lines_of, numbered_types, placed_particles

ORIENTED = "id type x y z quatw quati quatj quatk shapex shapey shapez"


def write_bodies(run: Any, path: Path) -> None:
    """An ellipsoid for each body, as wide as its shape along its axes; bodies of one shape are of one type."""
    looks = appearance_of(run.system)
    diameters = np.array([2.0 * looks.shapes[k].half_extents for k in looks.shape_of])
    reach = np.array([looks.shapes[k].reach for k in looks.shape_of])
    mass = np.array([[body.mass] for body in bodies_of(run.system)])
    moves = "momentum" in run.data
    names = ORIENTED + (" vx vy vz" if moves else "")
    heads = [f"{j + 1} {kind + 1} " for j, kind in enumerate(looks.shape_of.tolist())]
    with path.open("w", encoding="utf-8") as file:
        for frame in frames(run):
            velocity = [frame.fields["momentum"].reshape(-1, 3) / mass] if moves else []
            columns = np.hstack([frame.position, frame.orientation, diameters, *velocity])
            file.write(_head(frame, frame.position, reach[:, None], names) + lines_of(columns, heads))


def write_particles(run: Any, path: Path) -> None:
    """The particles of all bodies; a body is a molecule."""
    looks = appearance_of(run.system)
    types, _ = numbered_types(bodies_of(run.system))
    heads = [f"{i + 1} {body + 1} {types[i]} " for i, body in enumerate(looks.particle_body.tolist())]
    with path.open("w", encoding="utf-8") as file:
        for frame in frames(run):
            places = placed_particles(frame, looks)
            file.write(
                _head(frame, places, looks.particle_size[:, None], "id mol type x y z") + lines_of(places, heads)
            )


def _head(frame: Frame, places: Array, reach: Array, names: str) -> str:
    """Everything before the rows; the box holds all there is in this frame."""
    bounds = np.column_stack([(places - reach).min(axis=0), (places + reach).max(axis=0)])
    return (
        f"ITEM: TIME\n{frame.time!r}\nITEM: TIMESTEP\n{frame.step}\nITEM: NUMBER OF ATOMS\n{len(places)}\n"
        f"ITEM: BOX BOUNDS ff ff ff\n{lines_of(bounds)}ITEM: ATOMS {names}\n"
    )
