"""The drift of a series and its uncertainty: a line through block means, with noise that is part random walk, part
white.

The samples are averaged over 40 blocks. The model of their means is

    constant + drift * time + walk + white noise,

because round-off grows as a random walk, while rounding at the end, or a fast oscillation, has no memory. With lambda
the variance that the walk gathers in a block, in units of the variance of the white part, the covariance of the means
is

    S(lambda) = lambda K + 1,    K_ij = min(i, j) + 1/2 (i /= j),  i + 1/3 (i = j),    i, j = 0 ... 39,

where K is the covariance of means of Brownian motion over blocks of length one. lambda is estimated from the data, as
far as they determine it: the line is fitted by generalised least squares for each of 27 values, and among the plausible
ones the value counts that makes the drift least significant. A lambda is plausible if its restricted log likelihood is
within 2 of the best; if less than one false alarm in 5000 is allowed, as among many components, the 2 grows, because an
implausible lambda would decide too often.

All S have the eigenvectors of K. After rotation to these, the means are independent of each other for every lambda, and
each fit is a weighted regression.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

BLOCKS = 40
FREEDOM = BLOCKS - 2
RATIOS = np.concatenate([[0.0], np.logspace(-4, 2, 25), [np.inf]])  # lambda; inf: a walk without white noise
PLAUSIBLE = 2.0  # largest distance of the log likelihood from the best ...
PLAUSIBLE_TO = 2e-4  # ... down to this probability of a false alarm; below it, this much more for each factor e:
PLAUSIBLE_GROWTH = 0.5
TINY, EPS = float(np.finfo(np.float64).tiny), float(np.finfo(np.float64).eps)


def block_means(samples: Floats, blocks: int = BLOCKS) -> Floats:
    """(k, blocks) means over blocks that contain all samples (n, k); block sizes differ by at most one."""
    return means_between(samples, block_edges(len(samples), blocks))


def means_between(samples: Floats, edges: NDArray[np.int64]) -> Floats:
    """(k, blocks) means of the samples (n, k) over the blocks between the edges."""
    exponent = np.frexp(np.abs(samples).max(axis=0))[1]  # so that no sum overflows
    sums = np.add.reduceat(np.ldexp(samples[: edges[-1]], -exponent), edges[:-1], axis=0)
    return np.ldexp(np.ascontiguousarray((sums / np.diff(edges)[:, None]).T), exponent[:, None])


def block_edges(samples: int, blocks: int = BLOCKS) -> NDArray[np.int64]:
    """Indices of the samples between which the blocks lie; block sizes differ by at most one.

    The larger blocks are spread evenly: if they came first, the mean of an oscillation as long as a block would jump
    where they end.
    """
    return np.arange(blocks + 1) * samples // blocks


@lru_cache(maxsize=1)
def walk_modes() -> tuple[Floats, Floats]:
    """Eigenvalues and eigenvectors (in rows) of K, the covariance of block means of Brownian motion."""
    i = np.arange(BLOCKS)
    covariance = np.minimum.outer(i, i) + 0.5
    covariance[i, i] = i + 1 / 3
    values, vectors = np.linalg.eigh(covariance)
    return values, np.ascontiguousarray(vectors.T)


@lru_cache
def significant_ratio(level: float) -> float:
    """Number of drift errors that a series without drift exceeds with this probability: Student's t, two-sided, by
    bisection."""
    low, high = 0.0, 1.0
    while _probability_beyond(high) > level:
        low, high = high, 2.0 * high
    while low < (middle := 0.5 * (low + high)) < high:
        low, high = (middle, high) if _probability_beyond(middle) > level else (low, middle)
    return high


def _probability_beyond(t: float) -> float:
    """Probability that the magnitude of Student's t exceeds t > 0; closed form, because FREEDOM is even.

    With tan a = t/sqrt(FREEDOM) it is sin a times the tail that the finite sum of [abramowitz1964] (26.7.4) omits from
    the series 1/sin a = 1 + (1/2) cos^2 a + (1/2) (3/4) cos^4 a + ...: there is no cancellation.
    """
    square, k = FREEDOM / (FREEDOM + t * t), FREEDOM // 2
    term = math.comb(2 * k, k) * (0.25 * square) ** k
    rest = 0.0
    while term > EPS * rest:
        rest += term
        k += 1
        term *= (1.0 - 0.5 / k) * square
    return math.sqrt(1.0 - square) * rest


def plausible_within(level: Floats | float) -> Floats:
    """Largest distance of a plausible log likelihood from the best, if false alarms have this probability."""
    return PLAUSIBLE + PLAUSIBLE_GROWTH * np.maximum(0.0, np.log(PLAUSIBLE_TO / np.asarray(level)))


def fit_drift(center: Floats, means: Floats, level: Floats | float) -> tuple[Floats, Floats]:
    """Drift of each series and its error, per unit of time.

    The bits of a series do not depend on the others that are fitted with it: all sums go along the last axis.

    Parameters
    ----------
    center : (40,) mean times of the blocks
    means : (..., 40) finite means of the deviation
    level : allowed probability of a false alarm in each series, a number or an array that broadcasts with (...)
    """
    # Subtract the first mean, then scale each series by a power of two to about 1: exact, and no square overflows.
    means = means - means[..., :1]
    exponent = np.frexp(np.abs(means).max(axis=-1))[1]
    means = np.ascontiguousarray(np.ldexp(means, -exponent[..., None]))
    length = (center[-1] - center[0]) / (BLOCKS - 1)
    modes = walk_modes()[1]
    turned = np.stack([(means * mode).sum(axis=-1) for mode in modes], axis=-1)
    line = np.stack([modes.sum(axis=1), modes @ ((center - center[0]) / length)])

    found = [_fit(turned, line, *_weights(ratio)) for ratio in RATIOS]
    slope, error, likelihood = (np.stack(parts) for parts in zip(*found, strict=True))
    plausible = likelihood >= likelihood.max(axis=0) - plausible_within(level)
    significance = np.where(plausible, np.abs(slope) / (error + TINY), np.inf)
    chosen = significance.argmin(axis=0)[None]
    slope, error = (np.take_along_axis(values, chosen, axis=0)[0] for values in (slope, error))
    return np.ldexp(slope, exponent) / length, np.ldexp(error, exponent) / abs(length)


def _weights(ratio: float) -> tuple[Floats, float]:
    """Inverse variances of the rotated means, and log det S."""
    walk = walk_modes()[0]
    variance = walk if np.isinf(ratio) else ratio * walk + 1.0
    return 1.0 / variance, float(np.log(variance).sum())


def _fit(turned: Floats, line: Floats, weight: Floats, log_determinant: float) -> tuple[Floats, Floats, Floats]:
    """Slope, its error, and the restricted log likelihood of a weighted regression [patterson1971]."""
    normal = (line * weight) @ line.T
    inverse = np.linalg.inv(normal)
    constant, slope = (
        (turned * coefficients).sum(axis=-1) for coefficients in np.ascontiguousarray(inverse @ (line * weight))
    )
    residual = turned - constant[..., None] * line[0] - slope[..., None] * line[1]
    variance = (residual**2 * weight).sum(axis=-1) / FREEDOM
    likelihood = -(FREEDOM * np.log(variance + TINY) + log_determinant + np.linalg.slogdet(normal)[1]) / 2
    return slope, np.sqrt(variance * inverse[1, 1]), likelihood
