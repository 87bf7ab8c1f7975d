"""Linked bodies whose particles interact by their types."""

from __future__ import annotations

from typing import Any

import numpy as np

import catena as ct
from catena.systems.base import State
from catena.systems.linkage.linkage import Linkage

TABLE = ct.PairTable(
    {
        ("A", "A"): ct.LennardJones(0.5, 1.5),
        ("A", "B"): ct.Yukawa(2.0, 0.3),
        ("B", "B"): None,
        ("A", "C"): ct.Morse(0.8, 1.1, 2.0),
        ("B", "C"): ct.LennardJones(0.3, 1.2),
        ("C", "C"): ct.LennardJones(0.2, 1.0),
    }
)
CORNERS = np.array([[-0.5, -0.3, -0.2], [0.6, -0.3, -0.3], [0.1, 0.7, 0.25]])


def bent(of: type[Linkage] = Linkage, **arguments: Any) -> tuple[Linkage, State]:
    """Two bodies of three particles on a hinge, and a free one beside them, moving."""
    types = (["A", "B", "none"], ["B", "A", "C"], ["C", "none", "B"])
    bodies = [ct.Body.from_particles(CORNERS * (1 + 0.1 * k), [2.0, 1.0, 1.5], own) for k, own in enumerate(types)]
    joints = [ct.Revolute(0, 1, at=((1.2, 0, 0.1), (-1.2, 0, 0)), axis=(0, 1, 0.2))]
    linkage = of(bodies, joints, gravity=(0, 0, 0), **arguments)
    turns = [(1, 0, 0, 0), (0.9, 0.1, 0.3, 0.2), (0.5, 0.5, -0.1, 0.2)]
    still = linkage.start(orientation=[np.array(q) / np.linalg.norm(q) for q in turns], check=False)
    place = still.position.copy()
    place[2] = place[1] + (0.4, -1.9, 1.1)
    spin = 0.4 * np.random.default_rng(1).normal(size=(3, 3))
    return linkage, linkage.start(place, still.orientation, angular_velocity=spin, project=True)
