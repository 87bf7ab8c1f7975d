"""Molecules for tests: chains of residues of five atoms each, in rigid groups with hinges at the bonds N-CA and CA-C."""

from __future__ import annotations

import math
import tempfile
from typing import Any

import numpy as np

import catena as ct

BOND, TETRAHEDRAL = 1.5, math.acos(-1.0 / 3.0)
PHI, PSI = math.radians(-120.0), math.radians(130.0)


def behind(atoms: list[np.ndarray], bond: float, angle: float, turn: float) -> np.ndarray:
    """An atom bound to the last of three, at an angle with the second and rotated about their bond."""
    a, b, c = atoms
    along = (c - b) / np.linalg.norm(c - b)
    normal = np.cross(b - a, along)
    normal /= np.linalg.norm(normal)
    across = np.cross(normal, along)
    step = (-math.cos(angle), math.sin(angle) * math.cos(turn), math.sin(angle) * math.sin(turn))
    return c + bond * (step[0] * along + step[1] * across + step[2] * normal)


def chain_of_residues(residues: int) -> tuple[list[str], np.ndarray]:
    """Names and positions of N, CA, CB, C, O of each residue, stretched out."""
    backbone = [np.zeros(3), np.array((BOND, 0.0, 0.0))]
    backbone.append(backbone[1] + BOND * np.array((-math.cos(TETRAHEDRAL), math.sin(TETRAHEDRAL), 0.0)))
    for k in range(3, 3 * residues + 1):  # one more N, for the position of the last O
        turn = math.pi if k % 3 == 1 else PSI if k % 3 == 0 else PHI
        backbone.append(behind(backbone[-3:], BOND, TETRAHEDRAL if k % 3 else math.radians(116.0), turn))
    names, places = [], []
    for k in range(residues):
        n, ca, c, after = backbone[3 * k : 3 * k + 4]
        back, out = (n + c) / 2 - ca, np.cross(c - ca, n - ca)
        cb = ca - 0.58 * BOND * back / np.linalg.norm(back) + 0.81 * BOND * out / np.linalg.norm(out)
        o = c + 1.23 * -((ca - c) / np.linalg.norm(ca - c) + (after - c) / np.linalg.norm(after - c))
        names += ["N", "CA", "CB", "C", "O"]
        places += [n, ca, cb, c, o]
    return names, np.array(places)


def peptide(residues: int, of: type[ct.Linkage] = ct.Linkage, **arguments: Any) -> tuple[ct.Linkage, ct.State]:
    """The chain of residues with hinges at N-CA and CA-C, and a start in which all groups turn."""
    names, x = chain_of_residues(residues)
    rows = [f"{name[0]} {a:.6f} {b:.6f} {c:.6f}" for name, (a, b, c) in zip(names, x.tolist(), strict=True)]
    bonds = [bond for k in range(0, 5 * residues, 5) for bond in ((k, k + 1), (k + 1, k + 3))][1:]
    with tempfile.NamedTemporaryFile("w", suffix=".xyz") as file:
        file.write("\n".join([str(len(rows)), "", *rows, ""]))
        file.flush()
        linkage, still = of.from_molecule(file.name, bonds, **arguments)
    spin = 0.3 * np.random.default_rng(3).normal(size=(linkage.count, 3))
    moving = {"angular_velocity": spin, "velocity": np.zeros((linkage.count, 3))}
    return linkage, linkage.start(still.position, **moving, project=True)
