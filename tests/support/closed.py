"""Rings for the tests: elastic ones twisted by their links, and linking numbers counted independently."""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import root

import catena as ct
from catena.geometry import rotations
from catena.systems.chain.link_mechanics import LinkMechanics, relative_poses, transports
from catena.systems.chain.rod_chain import STRAINS

TWISTED = (
    f"h*(ea*{STRAINS[0]} + ga*{STRAINS[1]} + ga*{STRAINS[2]})/2"
    " + (c*(1 + Q11 - cosine*(Q22 + Q33) - sine*(Q32 - Q23)) + 2*b*(1 - Q11))/(2*h)"
)  # the energy of `ct.Rod`, with equal bending stiffnesses, whose links rest turned about their axis


def twisted_rod(
    n: int, excess: float, *, torsion: float = 1.5, slender: float = 2000.0, elastic: bool = False
) -> ct.Chain:
    """A closed rod of length 1, bending stiffness 1, that is straight at rest and twisted by `excess` radians in all.

    Its links are those of `ct.Rod`, or those of `ct.Elastic` with rotation vectors.
    """
    h, radius = 1.0 / n, 1.0 / slender
    stretch, turn = 4.0 / radius**2, -excess / n
    numbers = {"h": h, "ea": stretch, "ga": 0.4 * stretch, "b": 1.0, "c": torsion}
    link: ct.LinkPotential | ct.Elastic
    if elastic:
        stiffness = np.diag([torsion, 1.0, 1.0, stretch, 0.4 * stretch, 0.4 * stretch]) / h
        link = ct.Elastic(stiffness, ([turn, 0.0, 0.0], [h, 0.0, 0.0]), "exponential", "middle")
    else:
        link = ct.LinkPotential(TWISTED, numbers | {"cosine": math.cos(turn), "sine": math.sin(turn)})
    return ct.Chain([ct.Body(h, tuple(h * radius**2 * np.array([0.5, 0.25, 0.25])))] * n, link, closed=True)


def circle_of(chain: ct.Chain, linking_number: int = 0) -> ct.State:
    """The balanced circle of a closed rod of length 1, stable or not: all bodies are equivalent, so there are two
    unknowns.

    A twisted ring bears a force across its plane, under which its sections lean out of the plane.
    """
    n, mechanics = chain.count, LinkMechanics(chain)
    chord = 1.0 / n / math.cos(math.pi / n)
    half = math.pi * linking_number * np.arange(n) / n
    turn = np.column_stack([np.cos(half), np.sin(half), np.zeros(n), np.zeros(n)])
    near = np.array([-1, 0, 1])  # the first body and its neighbours
    flat = chain.ring(1.0)

    def leaning(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        lean = np.array([math.cos(0.5 * x[1]), 0.0, math.sin(0.5 * x[1]), 0.0])
        orientation = rotations.multiply(rotations.multiply(flat.orientation, lean), turn)
        return chord * (1.0 + x[0]) * flat.position, orientation

    def excess(x: np.ndarray) -> np.ndarray:
        """Force on the first body towards the centre, and torque about that direction."""
        position, orientation = (part[near] for part in leaning(x))
        d, q = relative_poses(position, rotations.to_matrix(orientation), closed=False)
        before, behind = mechanics.values(d, q, near[:2] % n).gradient
        return (before - transports(d, q)[1].T @ behind)[[1, 4]]

    return chain.start(*leaning(root(excess, np.zeros(2), tol=1e-15).x))


def counted_links(first: np.ndarray, second: np.ndarray, view: np.ndarray) -> float:
    """Half the sum of the signs of all crossings of two closed polygons (n, 3), seen along a direction."""
    away = view / np.linalg.norm(view)
    across = np.cross(away, np.eye(3)[int(np.argmin(np.abs(away)))])
    across /= np.linalg.norm(across)
    frame = np.stack([across, np.cross(away, across), away])
    a, b = first @ frame.T, second @ frame.T
    da, db = np.roll(a, -1, axis=0) - a, np.roll(b, -1, axis=0) - b
    total = 0.0
    for start, edge in zip(a, da, strict=True):
        apart = b - start
        turn = edge[0] * db[:, 1] - edge[1] * db[:, 0]
        with np.errstate(all="ignore"):
            s = (apart[:, 0] * db[:, 1] - apart[:, 1] * db[:, 0]) / turn
            t = (apart[:, 0] * edge[1] - apart[:, 1] * edge[0]) / turn
        hit = np.flatnonzero((s >= 0.0) & (s < 1.0) & (t >= 0.0) & (t < 1.0))
        above = start[2] + s[hit] * edge[2] - b[hit, 2] - t[hit] * db[hit, 2]
        total += float((np.sign(turn[hit]) * np.sign(above)).sum())
    return 0.5 * total
