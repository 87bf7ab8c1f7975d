"""The unit of length for the statics of a chain.

Forces and torques, shifts and rotations are in one vector, and sizes decide which of its components are small or zero.
In metres the stiffness of a molecule against a shift is 1e20 times that against a rotation. So poses, forces, masses
and values of links are converted to a unit near the length of a link, in which they have comparable sizes. It is a
power of two: the conversion does not round, and if the user's unit is near the length of a link, it is 1.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ...arrays import Array
from ...systems.chain.chain import Chain
from ...systems.chain.link_mechanics import LinkMechanics, LinkValues


def unit_length(chain: Chain) -> float:
    """The power of two nearest to the longest declared rest length of a link, or to the size of the largest body."""
    gyration = max(math.sqrt(body.moments.max() / body.mass) for body in chain.alike.distinct)
    return power_of_two(chain.interactions.length or gyration or 1.0)


def power_of_two(size: float) -> float:
    """The power of two nearest to a positive number."""
    return math.ldexp(1.0, round(math.log2(size)))


def scale_wrenches(wrench: Array, length: float) -> Array:
    """Scale the first three components of forces and torques (..., 6), or of masses and moments, by this factor."""
    return wrench * np.array([length] * 3 + [1.0] * 3)


def scale_matrices(matrix: Array, length: float) -> Array:
    """Scale matrices (..., 6, 6) of two such wrenches, or shifts and rotations, by this factor for each of the two."""
    return scale_wrenches(scale_wrenches(matrix, length).swapaxes(-1, -2), length).swapaxes(-1, -2)


class ScaledLinks(LinkMechanics):
    """`LinkMechanics` by relative positions, and displacements, in that unit."""

    def __init__(self, chain: Chain) -> None:
        super().__init__(chain)
        self.unit = unit_length(chain)

    def values(self, d: Array, q: Array, links: NDArray[np.int64] | None = None) -> LinkValues:
        energy, gradient, stiffness = super().values(self.unit * d, q, links)
        return LinkValues(energy, scale_wrenches(gradient, self.unit), scale_matrices(stiffness, self.unit))
