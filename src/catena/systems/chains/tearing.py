"""When the links of a chain tear: a link is torn when all particles that attract each other are out of reach.

Two particles are out of reach beyond the `torn_distance` of their potential: 4 sigma for Lennard-Jones, in general where the force
has fallen to 1e-3 of its largest. So this is a question to the samples of a run, and costs the run itself nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...geometry import rotations
from ..base import Array

if TYPE_CHECKING:
    from .chain import Chain

SAMPLES = 4096  # looked at together


class Tear(NamedTuple):
    """A link that tore: when, which, and the first sample that shows it."""

    time: float
    link: int
    sample: int


def link_lengths(position: Array) -> Array:
    """Distances of neighbouring centres of mass, (..., n - 1), of positions (..., n, 3)."""
    return np.linalg.norm(np.diff(position, axis=-2), axis=-1)


def distances(chain: Chain, position: Array, orientation: Array, link: int) -> Array:
    """Between all particles of a link, (..., left, right)."""
    left, right = (
        position[..., j, None, :] + rotations.rotate(orientation[..., j, None, :], chain.bodies[j].particles.positions)
        for j in (link, link + 1)
    )
    return np.linalg.norm(left[..., :, None, :] - right[..., None, :, :], axis=-1)


def link_gaps(chain: Chain, position: Array, orientation: Array) -> Array:
    """The shortest distance of two particles of each link, (..., n - 1); inf where a body has none."""
    gaps = [
        distances(chain, position, orientation, j).min(axis=(-2, -1), initial=np.inf) for j in range(chain.count - 1)
    ]
    return np.stack(gaps, axis=-1)


class _Reach:
    """How far apart the two bodies of a link may be before it is torn."""

    def __init__(self, chain: Chain, link: int) -> None:
        self.chain, self.link = chain, link
        rows = [
            [-np.inf if one is None or one.cohesion <= 0.0 else one.torn_distance for one in row]
            for row in chain.interactions.between(link)
        ]
        self.pairs = np.array(rows).reshape([len(body.particles) for body in chain.bodies[link : link + 2]])
        bond = chain.interactions.bonds[link]
        self.bond = -np.inf if bond is None else bond.torn_distance
        radii = [np.linalg.norm(b.particles.positions, axis=1).max(initial=0.0) for b in chain.bodies[link : link + 2]]
        # no pair is farther apart than the centres and both radii
        self.surely_whole = max(self.bond, self.pairs.max(initial=-np.inf) - sum(radii))

    @property
    def can_tear(self) -> bool:
        """Whether anything holds, and not at every distance."""
        return bool(np.isfinite(max(self.bond, self.pairs.max(initial=-np.inf))))

    def excess(self, position: Array, orientation: Array) -> Array:
        """Positive where the link is torn: by how much the last particles that attract are out of reach."""
        apart = distances(self.chain, position, orientation, self.link) - self.pairs
        pairs = apart.min(axis=(-2, -1), initial=np.inf)
        return np.minimum(pairs, link_lengths(position)[..., self.link] - self.bond)


def torn_links(chain: Chain, position: Array, orientation: Array) -> NDArray[np.bool_]:
    """Which links are torn, (..., n - 1), in states (..., n, 3) and (..., n, 4)."""
    reaches = [_Reach(chain, link) for link in range(chain.count - 1)]
    torn = [
        reach.excess(position, orientation) > 0.0 if reach.can_tear else np.zeros(position.shape[:-2], dtype=bool)
        for reach in reaches
    ]
    return np.stack(torn, axis=-1) if torn else np.zeros((*position.shape[:-2], 0), dtype=bool)


def tears(chain: Chain, samples: Any) -> Iterator[Tear]:
    """The links that tear between two samples; the time is interpolated linearly between them.

    Parameters
    ----------
    samples : time, position and orientation of a run by name, a Dataset or arrays
    """
    reaches = [reach for reach in (_Reach(chain, link) for link in range(chain.count - 1)) if reach.can_tear]
    time = np.asarray(samples["time"])
    for first in range(0, len(time) if reaches else 0, SAMPLES):
        begin = max(first - 1, 0)  # the last of the block before
        position = np.asarray(samples["position"][begin : first + SAMPLES])
        lengths = link_lengths(position)
        if not any((lengths[:, reach.link] > reach.surely_whole).any() for reach in reaches):
            continue
        orientation = np.asarray(samples["orientation"][begin : first + SAMPLES])
        for reach in reaches:
            for i in _torn_at(reach, position, orientation, lengths[:, reach.link]):
                before, after = reach.excess(position[i - 1 : i + 1], orientation[i - 1 : i + 1])
                t0, t1 = time[begin + i - 1 : begin + i + 1]
                yield Tear(float(t0 - (t1 - t0) * before / (after - before)), reach.link, begin + i)


def _torn_at(reach: _Reach, position: Array, orientation: Array, lengths: Array) -> NDArray[np.intp]:
    """The samples at which a link is torn that was whole at the sample before."""
    torn = lengths > reach.surely_whole
    torn[torn] = reach.excess(position[torn], orientation[torn]) > 0.0
    return np.flatnonzero(torn[1:] & ~torn[:-1]) + 1
