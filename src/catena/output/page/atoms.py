"""Colours and radii of atoms, by the symbols of their elements, if all particles of a system have such types."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...systems.alike import Alike
from ...systems.body import Body
from ...systems.potentials.pairwise import NO_TYPE

# colours of Jmol, covalent radii in angstrom
ELEMENTS: dict[str, tuple[int, float]] = {
    "H": (0xFFFFFF, 0.31), "C": (0x909090, 0.76), "N": (0x3050F8, 0.71), "O": (0xFF0D0D, 0.66), "F": (0x90E050, 0.57),
    "Na": (0xAB5CF2, 1.66), "Mg": (0x8AFF00, 1.41), "Si": (0xF0C8A0, 1.11), "P": (0xFF8000, 1.07), "S": (0xFFFF30, 1.05),
    "Cl": (0x1FF01F, 1.02), "K": (0x8F40D4, 2.03), "Ca": (0x3DFF00, 1.76), "Fe": (0xE06633, 1.32), "Zn": (0x7D80B0, 1.22),
    "Br": (0xA62929, 1.20), "I": (0x940094, 1.39),
}  # fmt: skip
BALL = 0.45  # drawn radius of an atom, relative to its covalent radius
BOND = 1.5  # angstrom: median distance between the nearest atoms of a group


def looks_of_atoms(bodies: Alike[Body]) -> tuple[list[int], NDArray[np.float64]] | None:
    """Colours and radii of all particles, or None unless each is an atom. Particles that only add mass are not
    drawn."""
    named = {kind for body in bodies.distinct for kind in body.particles.types} - {NO_TYPE}
    if not named or not named <= set(ELEMENTS):
        return None
    kinds = [str(kind) for number in bodies.which for kind in bodies.distinct[number].particles.types]
    looks = [ELEMENTS.get(kind, (0, 0.0)) for kind in kinds]
    return [colour for colour, _ in looks], BALL * _angstrom(bodies) * np.array([radius for _, radius in looks])


def _angstrom(bodies: Alike[Body]) -> float:
    """Length of an angstrom in the unit of the run, estimated from the bonds."""
    nearest: list[float] = []
    for body in bodies.distinct:
        places = body.particles.positions
        apart = np.linalg.norm(places[:, None] - places[None], axis=2) + np.diag(np.full(len(places), np.inf))
        nearest += apart.min(axis=1)[np.isfinite(apart.min(axis=1))].tolist() if len(places) > 1 else []
    return float(np.median(nearest)) / BOND if nearest else 1.0
