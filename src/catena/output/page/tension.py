"""The tension of the links of a chain, from the poses of its bodies."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...arrays import Array
from ...geometry import rotations

if TYPE_CHECKING:
    from ...systems.potentials.pairwise import Pairwise
from ...systems.chain.interactions import Interactions
from ...systems.potentials.pair_potentials import Pairwise

NODES = 4096  # of the table of a potential: a hundred times finer than 256 colours
FARTHEST = 1000  # octaves from 1: the range of powers of two
CLOSEST = 1e-6  # of the largest distance: below it, a potential counts as constant
MOST_PAIRS = 5e7  # pairs of particles in all frames: a few seconds
AT_ONCE = 2**18  # pairs in one array

Tables: TypeAlias = "dict[tuple[Pairwise, tuple[int, int]], tuple[Callable[[Array], Array], Callable[[Array], Array]]]"


def pairs_in(links: Interactions) -> int:
    """Pairs of particles in all links."""
    counts = links.alike.each(lambda body: len(body.particles))
    left, right = links.sides
    return int((counts[left] * counts[right]).sum())


def link_forces(acting: Interactions, position: Array, orientation: Array) -> tuple[Array, Array]:
    """Tension and energy of each link.

    The tension is the force with which the next body pulls body j, along the line from centre to centre; it is negative
    where they push each other.

    Parameters
    ----------
    acting : pair potentials between each body and the next
    position, orientation : (m, n, 3), (m, n, 4)

    Returns
    -------
    tension, energy : (m, links)
    """
    tabulated: Tables = {}
    tension, energy = (np.zeros((len(position), acting.count)) for _ in range(2))
    first, kind_of_link = acting.kinds
    for kind, j in enumerate(first.tolist()):
        links = np.flatnonzero(kind_of_link == kind)
        pairs = len(position) * int(np.prod([len(body.particles) for body in acting.joined(j)]))
        at_once = max(1, AT_ONCE // max(1, pairs))
        for begin in range(0, len(links), at_once):
            block = links[begin : begin + at_once]
            _add_links(acting, position, orientation, block, tabulated, tension, energy)
    return tension, energy


def _add_links(
    acting: Interactions,
    position: Array,
    orientation: Array,
    links: NDArray[np.int64],
    tabulated: Tables,
    tension: Array,
    energy: Array,
) -> None:
    """Tension and energy of links between equal bodies with equal potentials."""
    ends = [side[links] for side in acting.sides]
    left, right = (
        position[:, end, None] + rotations.rotate(orientation[:, end, None], body.particles.positions)
        for end, body in zip(ends, acting.joined(int(links[0])), strict=True)
    )
    gap = right[:, :, None, :, :] - left[:, :, :, None, :]  # (m, links, particles, particles, 3)
    distance = np.linalg.norm(gap, axis=-1)
    between = position[:, ends[1]] - position[:, ends[0]]
    line = between / np.linalg.norm(between, axis=-1, keepdims=True)
    lean = np.einsum("mjkli,mji->mjkl", gap, line) / distance
    for potential, chosen in _distinct(acting.between(int(links[0]))):
        if potential is None:
            continue
        at = distance[:, :, chosen]
        force, value = _tables(potential, at, tabulated)
        tension[:, links] -= (force(at) * lean[:, :, chosen]).sum(axis=-1)
        energy[:, links] += value(at).sum(axis=-1)


def _distinct(table: list[list[Pairwise | None]]) -> list[tuple[Pairwise | None, NDArray[np.bool_]]]:
    """The potentials of a link, and which pairs of particles each acts on."""
    distinct = list(dict.fromkeys(entry for row in table for entry in row))
    return [(one, np.array([[entry is one or entry == one for entry in row] for row in table])) for one in distinct]


def _tables(potential: Pairwise, r: Array, known: Tables) -> tuple[Callable[[Array], Array], Callable[[Array], Array]]:
    """Force and energy as functions of arrays, from a table that covers these distances.

    Potentials are evaluated one number at a time; there may be millions here, and they only become colours.
    """
    seen = r[np.isfinite(r) & (r > 0.0)]  # a store may hold any positions
    high = float(seen.max()) if seen.size else 1.0
    low = max(float(seen.min()) if seen.size else 1.0, CLOSEST * high)
    octave = (max(int(np.floor(np.log2(low))), -FARTHEST), min(int(np.ceil(np.log2(high))), FARTHEST))
    if (potential, octave) not in known:
        nodes = np.geomspace(2.0 ** octave[0], 2.0 ** max(octave[1], octave[0] + 1), NODES)
        force, energy = potential.force(nodes), potential.energy(nodes)
        known[potential, octave] = (
            lambda x: np.interp(x, nodes, force),
            lambda x: np.interp(x, nodes, energy),
        )
    return known[potential, octave]
