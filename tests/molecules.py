"""Molecules for tests: chains of residues of five atoms each, in rigid groups with hinges at the bonds N-CA and CA-C."""

from __future__ import annotations

import itertools
import math

import numpy as np

import catena as ct

MASSES = {"N": 14.0, "CA": 12.0, "CB": 15.0, "C": 12.0, "O": 16.0}
BOND, TETRAHEDRAL = 1.5, math.acos(-1.0 / 3.0)
PHI, PSI = math.radians(-120.0), math.radians(130.0)


def behind(atoms: list[np.ndarray], bond: float, angle: float, turn: float) -> np.ndarray:
    """An atom bound to the last of three, at an angle with the second and turned about their bond."""
    a, b, c = atoms
    along = (c - b) / np.linalg.norm(c - b)
    normal = np.cross(b - a, along)
    normal /= np.linalg.norm(normal)
    across = np.cross(normal, along)
    step = (-math.cos(angle), math.sin(angle) * math.cos(turn), math.sin(angle) * math.sin(turn))
    return c + bond * (step[0] * along + step[1] * across + step[2] * normal)


def chain_of_residues(residues: int) -> tuple[list[str], np.ndarray]:
    """Names and places of N, CA, CB, C, O of each residue, stretched out."""
    backbone = [np.zeros(3), np.array((BOND, 0.0, 0.0))]
    backbone.append(backbone[1] + BOND * np.array((-math.cos(TETRAHEDRAL), math.sin(TETRAHEDRAL), 0.0)))
    for k in range(3, 3 * residues + 1):  # one N more, for the place of the last O
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


def peptide(residues: int, **arguments: object) -> tuple[ct.Linkage, ct.State]:
    """The chain of residues: groups CA, CB and C, O, N; atoms on hinges give half of their mass to the other group."""
    names, x = chain_of_residues(residues)
    groups, bonds = [[0, 1, 2]], []
    for k in range(residues):
        if k > 0:
            groups.append([5 * k + 1, 5 * k + 2])
            bonds.append((5 * k, 5 * k + 1))
        groups.append([5 * k + 3, 5 * k + 4] + ([5 * k + 5] if k + 1 < residues else []))
        bonds.append((5 * k + 1, 5 * k + 3))
    ends = set(itertools.chain(*bonds))
    bodies = []
    for number, own in enumerate(groups):
        across = {a for k in (number - 1, number) if 0 <= k < len(bonds) for a in bonds[k]} - set(own)
        atoms = [*own, *sorted(across)]
        masses = [MASSES[names[a]] * (0.5 if a in ends and a in across else 1.0) for a in atoms]
        shared = {a for k in (number - 1, number) if 0 <= k < len(bonds) for a in bonds[k]} & set(own)
        times = {a: sum(a in bonds[k] for k in (number - 1, number) if 0 <= k < len(bonds)) for a in shared}
        masses = [m * (1.0 - 0.5 * times.get(a, 0) if a in own else 1.0) for a, m in zip(atoms, masses, strict=True)]
        kept = [k for k, m in enumerate(masses) if m > 0.0 or atoms[k] in own]
        types = [names[a] if a in own else "none" for a in atoms]
        bodies.append(
            ct.Body.from_particles(
                x[[atoms[k] for k in kept]], [max(masses[k], 1e-3) for k in kept], [types[k] for k in kept]
            )
        )
    joints = [
        ct.Revolute(i, i + 1, at=(x[a] - bodies[i].center, x[a] - bodies[i + 1].center), axis=x[b] - x[a])
        for i, (a, b) in enumerate(bonds)
    ]
    linkage = ct.Linkage(bodies, joints, gravity=(0, 0, 0), **arguments)  # type: ignore[arg-type]
    rng = np.random.default_rng(3)
    still = linkage.start([body.center for body in bodies])
    spin = 0.3 * rng.normal(size=(len(bodies), 3))
    return linkage, linkage.start(
        still.position, angular_velocity=spin, velocity=np.zeros((len(bodies), 3)), project=True
    )
