"""Elastic links with full coupling, and chains of them."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

import catena as ct
from catena.geometry import rotations

CONVENTIONS = list(itertools.product(("cayley", "exponential"), ("first", "middle")))
BOX = ct.Body.box((1.0, 1.2, 0.8))
TILTED = ct.Body.from_inertia(2.0, [[1.5, 0.2, 0.1], [0.2, 1.2, -0.1], [0.1, -0.1, 1.8]])


def stiffness(seed: int = 1, links: int | None = None) -> np.ndarray:
    """Stiffnesses with full coupling."""
    root = np.random.default_rng(seed).normal(size=(6, 6) if links is None else (links, 6, 6))
    return root @ np.swapaxes(root, -1, -2) + np.diag([3.0, 2.0, 5.0, 40.0, 30.0, 60.0])


def elastic(coordinates: Any = "cayley", frame: Any = "first") -> ct.Elastic:
    """A link that is rotated and shifted at rest."""
    return ct.Elastic(stiffness(), ([0.3, -0.2, 0.6], [0.2, -0.1, 1.1]), coordinates, frame)


def row_of_links(links: int, coordinates: Any = "exponential", frame: Any = "middle") -> ct.Elastic:
    """A row of different links."""
    chance = np.random.default_rng(7)
    turn, shift = chance.normal(scale=0.3, size=(links, 3)), chance.normal((0.0, 0.0, 1.0), 0.2, (links, 3))
    return ct.Elastic(stiffness(3, links), (turn, shift), coordinates, frame)


def disturbed(chain: ct.Chain, seed: int = 11) -> ct.State:
    """A state near rest."""
    chance = np.random.default_rng(seed)
    rest = chain.equilibrium().state
    turned = rotations.multiply(
        rest.orientation, rotations.from_vector(chance.normal(scale=0.05, size=(chain.count, 3)))
    )
    return chain.start(rest.position + chance.normal(scale=0.05, size=(chain.count, 3)), turned)
