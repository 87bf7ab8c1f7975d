"""LAMMPS dump: quaternions scalar first, named by their columns; shapes as diameters."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ...arrays import Array
from ..page.appearance import appearance_of, bodies_of
from .atoms import DUMMY, atomic_number, atoms_of
from .shared import Frame, frames, lines_of

if TYPE_CHECKING:
    from ...running.runs import Run

ORIENTED = "id type x y z quatw quati quatj quatk shapex shapey shapez"


def write_bodies(run: Run, path: Path) -> None:
    """Write an ellipsoid for each body, as wide as its shape along its axes; equal shapes have the same type."""
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
            columns = np.hstack([frame.position, frame.orientation, frame.scale * diameters, *velocity])
            file.write(_head(frame, frame.position, frame.scale * reach[:, None], names) + lines_of(columns, heads))


def write_particles(run: Run, path: Path) -> None:
    """Write the particles of all bodies, each once; a body is a molecule. Types that are elements also have names."""
    looks, atoms = appearance_of(run.system), atoms_of(run)
    elements = [name if atomic_number(name) else DUMMY for name in atoms.species]
    named = any(element != DUMMY for element in elements)
    numbered = zip(atoms.body.tolist(), atoms.kind.tolist(), elements, strict=True)
    heads = [
        f"{i + 1} {body + 1} {kind} {element + ' ' if named else ''}"
        for i, (body, kind, element) in enumerate(numbered)
    ]
    names = f"id mol type {'element ' if named else ''}x y z"
    reach = looks.particle_size[atoms.index, None]
    with path.open("w", encoding="utf-8") as file:
        for frame in frames(run):
            places = atoms.placed(frame, looks)
            file.write(_head(frame, places, reach, names) + lines_of(places, heads))


def _head(frame: Frame, places: Array, reach: Array, names: str) -> str:
    """Everything before the rows; the box contains everything in this frame."""
    bounds = np.column_stack([(places - reach).min(axis=0), (places + reach).max(axis=0)])
    return (
        f"ITEM: TIME\n{frame.time!r}\nITEM: TIMESTEP\n{frame.step}\nITEM: NUMBER OF ATOMS\n{len(places)}\n"
        f"ITEM: BOX BOUNDS ff ff ff\n{lines_of(bounds)}ITEM: ATOMS {names}\n"
    )
