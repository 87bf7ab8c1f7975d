"""Tearing of links: a link is torn when all particles that attract each other are out of reach.

Two particles are out of reach beyond the `torn_distance` of their potential: 4 sigma for Lennard-Jones, in general where the force
has fallen to 1e-3 of its maximum. This is evaluated from the samples of a run, so it costs the run itself nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...geometry import rotations
from ..base import Array, Samples

if TYPE_CHECKING:
    from .chain import Chain

SAMPLES, FEW_BODIES = 4096, 64  # evaluated together: fewer samples of longer chains,
MOST_SAMPLES = 2**13  # and not many more of short ones
MOST_PAIRS = 2**18  # of particles, evaluated together


class Tear(NamedTuple):
    """A torn link: time, link, and the first sample that shows it."""

    time: float
    link: int
    sample: int


def link_lengths(chain: Chain, position: Array) -> Array:
    """Distances between neighbouring centres of mass, (..., links), from positions (..., n, 3)."""
    if chain.closed:
        position = np.concatenate([position, position[..., :1, :]], axis=-2)
    return np.linalg.norm(np.diff(position, axis=-2), axis=-1)


def distances_of(
    chain: Chain, position: Array, orientation: Array, links: NDArray[np.int64]
) -> Iterator[tuple[slice, Array]]:
    """Distances between all particles of links of one kind, in states with any leading axes: the links, and (...,
    links, left, right).

    Links come in groups, small enough that arrays stay small.
    """
    particles = [body.particles.positions for body in chain.interactions.joined(int(links[0]))]
    pairs = max(1, len(particles[0]) * len(particles[1])) * max(1, int(np.prod(position.shape[:-2])))
    at_once = max(1, MOST_PAIRS // pairs)
    for first in range(0, len(links), at_once):
        block = links[first : first + at_once]
        left, right = (
            position[..., side[block], None, :] + rotations.rotate(orientation[..., side[block], None, :], places)
            for side, places in zip(chain.interactions.sides, particles, strict=True)
        )
        yield slice(first, first + at_once), np.linalg.norm(left[..., :, None, :] - right[..., None, :, :], axis=-1)


def link_gaps(chain: Chain, position: Array, orientation: Array) -> Array:
    """The shortest distance between two particles of each link, (..., links); inf if a body has none."""
    gaps = np.full((*position.shape[:-2], chain.interactions.count), np.inf)
    first, kind_of_link = chain.interactions.kinds
    for kind in range(len(first)):
        links = np.flatnonzero(kind_of_link == kind)
        for part, between in distances_of(chain, position, orientation, links):
            gaps[..., links[part]] = between.min(axis=(-2, -1), initial=np.inf)
    return gaps


class _Reach:
    """The distance up to which two bodies of links of one kind can be apart before the link is torn."""

    def __init__(self, chain: Chain, links: NDArray[np.int64]) -> None:
        self.chain, self.links = chain, links
        bodies = chain.interactions.joined(int(links[0]))
        rows = [
            [-np.inf if one is None or one.cohesion <= 0.0 else one.torn_distance for one in row]
            for row in chain.interactions.between(int(links[0]))
        ]
        self.pairs = np.array(rows).reshape([len(body.particles) for body in bodies])
        bond = chain.interactions.bonds[links[0]]
        self.bond = -np.inf if bond is None else bond.torn_distance
        radii = [np.linalg.norm(body.particles.positions, axis=1).max(initial=0.0) for body in bodies]
        reach, both = self.pairs.min(initial=np.inf), sum(radii)
        # no pair is farther apart than the centres plus both radii; and since the centre of mass lies among the
        # particles, each body has one on the side of the other: along the line of centres these are no farther apart
        # than the centres, across it no more than both radii
        facing = np.sqrt(reach**2 - both**2) if both < np.sqrt(0.5) * reach < np.inf else -np.inf
        self.surely_whole = max(self.bond, self.pairs.max(initial=-np.inf) - both, facing)

    @property
    def can_tear(self) -> bool:
        """Whether something holds the link, and does not hold it at every distance."""
        return bool(np.isfinite(max(self.bond, self.pairs.max(initial=-np.inf))))

    def excess(self, position: Array, orientation: Array, links: NDArray[np.int64]) -> Array:
        """Positive where a link, (..., links), is torn: how far the last attracting particles are out of reach."""
        found = link_lengths(self.chain, position)[..., links] - self.bond
        for part, between in distances_of(self.chain, position, orientation, links):
            pairs = (between - self.pairs).min(axis=(-2, -1), initial=np.inf)
            found[..., part] = np.minimum(pairs, found[..., part])
        return found

    def suspects(self, lengths: Array) -> NDArray[np.int64]:
        """Links that are long enough to be torn in one of the states with these lengths, (..., links)."""
        mine = lengths[..., self.links].reshape(-1, len(self.links))
        return self.links[(mine > self.surely_whole).any(axis=0)]


def _reaches(chain: Chain) -> list[_Reach]:
    """The reaches of all links that can tear."""
    first, kind_of_link = chain.interactions.kinds
    reaches = [_Reach(chain, np.flatnonzero(kind_of_link == kind)) for kind in range(len(first))]
    return [reach for reach in reaches if reach.can_tear]


def find_torn_links(chain: Chain, position: Array, orientation: Array) -> NDArray[np.bool_]:
    """Which links are torn, (..., links), in states (..., n, 3) and (..., n, 4)."""
    torn = np.zeros((*position.shape[:-2], chain.interactions.count), dtype=bool)
    for reach in _reaches(chain):
        links = reach.suspects(link_lengths(chain, position))
        if links.size:
            torn[..., links] = reach.excess(position, orientation, links) > 0.0
    return torn


def tears(chain: Chain, samples: Samples) -> Iterator[Tear]:
    """The links that tear between two samples, with a time interpolated linearly between these.

    Parameters
    ----------
    samples : time, position and orientation of a run by name, a Dataset or arrays
    """
    reaches = _reaches(chain)
    at_once = min(MOST_SAMPLES, max(2, SAMPLES * FEW_BODIES // chain.count))
    for first in range(0, samples["time"].shape[0] if reaches else 0, at_once):
        begin = max(first - 1, 0)  # the last sample of the previous block
        position = np.asarray(samples["position"][begin : first + at_once])
        lengths = link_lengths(chain, position)
        suspects = [(reach, links) for reach in reaches if (links := reach.suspects(lengths)).size]
        if not suspects:
            continue
        orientation, time = (np.asarray(samples[name][begin : first + at_once]) for name in ("orientation", "time"))
        found = []
        for reach, links in suspects:
            excess = reach.excess(position, orientation, links)
            torn = excess > 0.0
            for i, k in np.argwhere(torn[1:] & ~torn[:-1]).tolist():
                t0, t1 = time[i : i + 2]
                before, after = excess[i : i + 2, k]
                found.append(Tear(float(t0 - (t1 - t0) * before / (after - before)), int(links[k]), begin + i + 1))
        yield from sorted(found, key=lambda tear: (tear.link, tear.sample))
