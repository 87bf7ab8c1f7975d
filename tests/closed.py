"""Rings for the tests: elastic ones that are twisted by their links, and the linking number counted from crossings, independently."""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import root

import catena as ct
from catena.analysis.poses import Poses
from catena.analysis.static_problem import StaticProblem
from catena.geometry import rotations
from catena.systems.chain.rod_chain import STRAINS

TWISTED = (
    f"h*(ea*{STRAINS[0]} + ga*{STRAINS[1]} + ga*{STRAINS[2]})/2"
    " + (c*(1 + Q11 - cosine*(Q22 + Q33) - sine*(Q32 - Q23)) + 2*b*(1 - Q11))/(2*h)"
)  # the energy of `ct.Rod`, with equal bending stiffnesses, whose links rest turned about their axis: 2 sin of half the excess as strain


def twisted_rod(n: int, excess: float, *, torsion: float = 1.5, slender: float = 2000.0) -> ct.Chain:
    """A closed rod of length 1, bending stiffness 1, that is straight at rest and twisted by `excess` radians in all."""
    h, radius = 1.0 / n, 1.0 / slender
    stretch = 4.0 / radius**2
    numbers = {"h": h, "ea": stretch, "ga": 0.4 * stretch, "b": 1.0, "c": torsion}
    numbers |= {"cosine": math.cos(excess * h), "sine": -math.sin(excess * h)}
    body = ct.Body(h, tuple(h * radius**2 * np.array([0.5, 0.25, 0.25])))
    return ct.Chain([body] * n, ct.LinkPotential(TWISTED, numbers), closed=True)


def circle_of(chain: ct.Chain, linking_number: int = 0) -> ct.State:
    """The balanced circle of a closed rod of length 1, stable or not: all bodies alike, so that two numbers are unknown.

    A twisted ring bears a force across its plane, under which its sections lean out of it.
    """
    n, problem = chain.count, StaticProblem.of(chain, None, "test")
    chord = 1.0 / n / math.cos(math.pi / n)
    half = math.pi * linking_number * np.arange(n) / n
    turn = np.column_stack([np.cos(half), np.sin(half), np.zeros(n), np.zeros(n)])

    def leaning(x: np.ndarray) -> ct.State:
        start = chain.ring(chord * (1.0 + x[0]))
        lean = np.array([math.cos(0.5 * x[1]), 0.0, math.sin(0.5 * x[1]), 0.0])
        orientation = rotations.multiply(rotations.multiply(start.orientation, lean), turn)
        return chain.start(start.position, orientation)

    def excess(x: np.ndarray) -> np.ndarray:
        """Force on the first body towards the centre, and torque about that direction."""
        return problem.balance(Poses.of_state(chain, leaning(x))).gradient[0][[1, 4]]

    return leaning(root(excess, np.zeros(2), tol=1e-15).x)


def counted_links(first: np.ndarray, second: np.ndarray, view: np.ndarray) -> float:
    """Half the sum of the signs of all crossings of two closed polygons (n, 3), as they are seen along a direction."""
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
