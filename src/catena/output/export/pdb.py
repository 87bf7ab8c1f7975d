"""PDB: atoms with their elements, a MODEL for each sample; a body is a residue, as the groups of a molecule are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ...errors import InputError
from ..page.appearance import appearance_of
from .atoms import atomic_number, atoms_of
from .shared import frames

if TYPE_CHECKING:
    from ...running.runs import Run

SMALLEST = 0.1  # extent: with three decimals, anything smaller would be lost
FARTHEST = 999.9995  # the columns of a coordinate hold this, with either sign


def write(run: Run, path: Path) -> None:
    """Write all samples; positions in the unit of the run (PDB means angstrom) to three decimals, the format's
    limit."""
    looks, atoms = appearance_of(run.system), atoms_of(run)
    heads = []
    for k, (name, body) in enumerate(zip(atoms.species, atoms.body.tolist(), strict=True)):
        shown = f" {name:<3.3s}" if len(name) < 4 else name[:4]
        heads.append(f"ATOM  {(k + 1) % 100_000:5d} {shown} UNK A{(body + 1) % 10_000:4d}    ")
    tails = [f"  1.00  0.00          {name if atomic_number(name) else '':>2s}" for name in atoms.species]
    with path.open("w", encoding="utf-8") as file:
        for frame in frames(run):
            places = atoms.placed(frame, looks)
            if not np.abs(places).max(initial=0.0) < FARTHEST:
                raise InputError(
                    f"an atom is {np.abs(places).max():.6g} from the origin at t = {frame.time:g}, and PDB has room for 999.999",
                    where="export", do="use xyz-particles or gsd-particles",
                )  # fmt: skip
            if 0.0 < np.ptp(places, axis=0).max(initial=0.0) < SMALLEST:
                raise InputError(
                    f"all atoms are within {np.ptp(places, axis=0).max():.3g} at t = {frame.time:g}, and PDB has places in angstrom to 0.001",
                    where="export", do="use xyz-particles or gsd-particles, or a unit of length near an angstrom",
                )  # fmt: skip
            file.write(f"MODEL     {frame.step % 10_000:4d}\n")
            for head, (x, y, z), tail in zip(heads, places.tolist(), tails, strict=True):
                file.write(f"{head}{x:8.3f}{y:8.3f}{z:8.3f}{tail}\n")
            file.write("ENDMDL\n")
        file.write("END\n")
