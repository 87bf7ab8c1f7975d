"""Jumps of a series: a lasting change of level between neighbours, far larger than the variation on either side.

A method that works changes a conserved quantity by round-off, or by a smooth function of the state. If something inside
it is decided anew (a rank, a branch), the value is another one from then on. So for each sample the four before it and
the four after it are compared: if they leave a gap of at least 20 times the range of either four, and 20 times the
typical change from one sample to the next, the series jumps there. A peak that returns, as at the pericentre of an
orbit, leaves no gap; a slope leaves one smaller than the range. The same test is applied to means over blocks of
samples, in which fast oscillations average out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .drift import BLOCKS, means_between

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

NEIGHBOURS = 4  # on each side, see _of_four
FAR = 20.0  # one in 10 000 random walks, of any length, reaches 9
FINER = 4  # from one size of blocks to the next
ABRUPT = 1000.0  # times the typical change from one sample to the next
LASTING = 0.1  # fraction of the samples that must follow a step; otherwise it may be a peak that has not returned yet
SETTLED = 0.05  # fraction that must precede it: a stiff motion has a boundary layer at the start
COARSER = 1.1  # times as large must a jump be in larger blocks to be taken from them


def largest_jump(means: Floats) -> tuple[Floats, NDArray[np.int64]]:
    """Size of the largest jump of each series, 0 if there is none, and the index of its middle.

    Parameters
    ----------
    means : (..., b) samples, or means over blocks of samples, b > 8
    """
    typical = np.median(np.abs(np.diff(means, axis=-1)), axis=-1)
    high, low = _of_four(np.maximum, means), _of_four(np.minimum, means)
    before, after = slice(None, -NEIGHBOURS - 1), slice(NEIGHBOURS + 1, None)
    gap = np.maximum(low[..., after] - high[..., before], low[..., before] - high[..., after])
    extent = high - low
    varies = np.maximum(np.maximum(extent[..., before], extent[..., after]), typical[..., None])
    size = np.where((gap > 0.0) & (gap >= FAR * varies), gap, 0.0)
    place = size.argmax(axis=-1)
    return np.take_along_axis(size, place[..., None], axis=-1)[..., 0], place + NEIGHBOURS


def _of_four(larger: np.ufunc, values: Floats) -> Floats:
    """Maximum, or minimum, of each four neighbours: of pairs, then of pairs of pairs."""
    pairs = larger(values[..., 1:], values[..., :-1])
    return larger(pairs[..., 2:], pairs[..., :-2])


def jumps_of(time: Floats, deviation: Floats) -> tuple[Floats, Floats]:
    """Size and time of the largest jump of each column of the deviations (n, k); 0 and the first time if there is none.

    It is searched for in the samples, in means over 4, 16, 64 ... of them, and in means over a fortieth of all.
    """
    size, when = np.zeros(deviation.shape[1]), np.full(deviation.shape[1], time[0])
    for edges in resolutions(len(time)):
        found, place = largest_jump(means_between(deviation, edges))
        larger = found > COARSER * size  # the finest blocks that show it give the most accurate time
        size = np.where(larger, found, size)
        when = np.where(larger, time[(edges[place] + edges[place + 1] - 1) // 2], when)
    return size, when


def lasting_step(time: Floats, deviation: Floats) -> tuple[Floats, Floats]:
    """Size and time of the largest change of each column (n, k) between two samples, if it is abrupt and lasts; else 0.

    A quantity that is lost little by little, and then at once, has no quiet neighbours to compare with. Its largest
    step counts if it is 1000 times the typical one and divides the series: all samples before it are on one side, all
    after it on the other.
    """
    changes = np.diff(deviation, axis=0)
    place = np.abs(changes).argmax(axis=0)
    column = np.arange(deviation.shape[1])
    step = changes[place, column]
    middle = deviation[place, column] + 0.5 * step
    after = np.arange(len(deviation))[:, None] > place
    parts = (after == (np.sign(step) * (deviation - middle) > 0.0)).all(axis=0)
    least = ABRUPT * np.median(np.abs(changes), axis=0)
    inside = (after.mean(axis=0) >= LASTING) & ((~after).mean(axis=0) >= SETTLED)
    found = parts & (np.abs(step) >= least) & inside
    return np.where(found, np.abs(step), 0.0), time[place]


def resolutions(samples: int) -> list[NDArray[np.int64]]:
    """Edges of blocks: of one sample each, of 4, 16, 64 ... samples, and of a fortieth of all.

    All blocks of a resolution have the same size; remaining samples at the end are ignored.
    """
    largest, size = max(1, samples // BLOCKS), 1
    sizes = [largest]
    while size < largest:
        sizes.insert(-1, size)
        size *= FINER
    return [np.arange(0, samples + 1, size) for size in sizes]


def left_by_uneven_blocks(edges: NDArray[np.int64]) -> float:
    """The fraction of the largest deviation that may jump in means over blocks of two sizes although the series does
    not.

    An oscillation of exactly the length of the smaller blocks has the same mean in each, until a larger block moves its
    phase by one sample: this changes the means by twice its amplitude over the block size.
    """
    sizes = np.diff(edges)
    return 0.0 if (sizes == sizes[0]).all() else 2.0 / float(sizes.min())
