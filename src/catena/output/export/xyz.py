"""Extended XYZ, for OVITO and ASE: quaternions scalar last, shapes as semi-axes.

The species is the name of a type, whatever it is. ASE knows only elements and reads the atomic number Z if it is there:
0 for other types.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..page.appearance import appearance_of
from .atoms import atomic_number, atoms_of
from .shared import Frame, frames, lines_of, names_of_shapes, scalars_of

if TYPE_CHECKING:
    from ...running.runs import Run

VECTORS = {"momentum": "momenta", "angular_momentum": "angular_momentum"}  # the first is the name in ASE


def write_bodies(run: Run, path: Path) -> None:
    """Write a particle for each body, with its orientation (x, y, z, w) and the semi-axes of its shape along its axes.

    Its species names the shape: bodies of equal shape have the same type.
    """
    looks = appearance_of(run.system)
    semi_axes = np.array([looks.shapes[k].half_extents for k in looks.shape_of])
    present = [name for name in VECTORS if name in run.data]
    layout = "species:S:1:Z:I:1:pos:R:3:orientation:R:4:aspherical_shape:R:3" + "".join(
        f":{VECTORS[name]}:R:3" for name in present
    )
    names = names_of_shapes(looks)
    heads = [f"{names[k]} 0 " for k in looks.shape_of.tolist()]
    with path.open("w", encoding="utf-8") as file:
        for frame in frames(run):
            scalar_last = np.roll(frame.orientation, -1, axis=1)
            vectors = [frame.fields[name].reshape(-1, 3) for name in present]
            columns = np.hstack([frame.position, scalar_last, frame.scale * semi_axes, *vectors])
            file.write(f"{looks.count}\n{_comment(run, frame, layout)}\n{lines_of(columns, heads)}")


def write_particles(run: Run, path: Path) -> None:
    """Write the particles of all bodies, each once, with the name of its type, and the numbers of its body and type."""
    looks, atoms = appearance_of(run.system), atoms_of(run)
    heads = [f"{name} {atomic_number(name)} " for name in atoms.species]
    tails = [f" {body} {kind}" for body, kind in zip(atoms.body.tolist(), atoms.kind.tolist(), strict=True)]
    with path.open("w", encoding="utf-8") as file:
        for frame in frames(run):
            text = lines_of(atoms.placed(frame, looks), heads, tails)
            file.write(f"{len(tails)}\n{_comment(run, frame, 'species:S:1:Z:I:1:pos:R:3:body:I:1:type:I:1')}\n{text}")


def _comment(run: Run, frame: Frame, layout: str) -> str:
    facts = {"Time": frame.time, "Step": frame.step, **scalars_of(run, frame)}
    return f'Properties={layout} pbc="F F F" ' + " ".join(f"{name}={value!r}" for name, value in facts.items())
