"""The length in which statics of a chain is done.

Forces and torques, shifts and turns stand in one vector, and what is small or zero among them is judged by sizes. In metres the stiffness of a
molecule against a shift is 1e20 times that against a turn: so poses, forces, masses and what links are worth are taken in a length near
that of a link, in which they are of one size. It is a power of two: nothing is rounded by it, and in a unit near the length of a link it is 1.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ...arrays import Array
from ...systems.chain.chain import Chain
from ...systems.chain.link_mechanics import LinkMechanics, LinkValues


def unit_length(chain: Chain) -> float:
    """The power of two nearest to the longest link that is known to rest, or to the size of the largest body."""
    gyration = max(math.sqrt(body.moments.max() / body.mass) for body in chain.alike.distinct)
    return power_of_two(chain.interactions.length or gyration or 1.0)


def power_of_two(size: float) -> float:
    """The one nearest to a positive number."""
    return math.ldexp(1.0, round(math.log2(size)))


def scale_wrenches(wrench: Array, length: float) -> Array:
    """Forces and torques (..., 6), or masses of shifts and turns, with this factor on the first three."""
    return wrench * np.array([length] * 3 + [1.0] * 3)


def scale_matrices(matrix: Array, length: float) -> Array:
    """Matrices (..., 6, 6) of two such wrenches, or shifts and turns, with this factor for each of both."""
    return scale_wrenches(scale_wrenches(matrix, length).swapaxes(-1, -2), length).swapaxes(-1, -2)


class ScaledLinks(LinkMechanics):
    """`LinkMechanics` by relative positions, and displacements, in that length."""

    def __init__(self, chain: Chain) -> None:
        super().__init__(chain)
        self.unit = unit_length(chain)

    def values(self, d: Array, q: Array, links: NDArray[np.int64] | None = None) -> LinkValues:
        energy, gradient, stiffness = super().values(self.unit * d, q, links)
        return LinkValues(energy, scale_wrenches(gradient, self.unit), scale_matrices(stiffness, self.unit))
