"""The mean of a correlated series and its uncertainty.

The error is the larger of two estimates. Block means: the standard deviation of 20 of them over sqrt(20). Initial
sequence: sqrt(variance * g/n), where g = 1 + 2 (sum of the autocorrelation) is the statistical inefficiency; the sum
ends where pairs of neighbouring correlations are no longer positive, and no pair may be larger than the one before it
[geyer1992]. n/g independent samples would have the same error.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .drift import block_means

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

BLOCKS = 20
LEAST_OF_A_BLOCK = 2  # samples
FEWEST = 4  # samples; fewer give no error


@dataclass(frozen=True, eq=False)
class Means:
    """For k series: mean, error, and the number of independent samples with the same error."""

    mean: Floats
    error: Floats
    effective: Floats


def autocovariance(series: Floats, lags: int) -> Floats:
    """(lags, k) autocovariance of the series (n, k), from lag 0 on, each sum divided by n."""
    n = len(series)
    size = 1 << (n + lags - 1).bit_length()  # long enough to avoid wrap-around
    transform = np.fft.rfft(series - series.mean(axis=0), size, axis=0)
    found: Floats = np.fft.irfft(transform.real**2 + transform.imag**2, size, axis=0)[:lags] / n
    return found


def inefficiency(series: Floats) -> Floats:
    """g (k,) of the series (n, k), by the initial monotone positive sequence; at least 1."""
    n = len(series)
    covariance = autocovariance(series, 2 * (n // 2))
    varies = covariance[0] > 0.0
    correlation = covariance / np.where(varies, covariance[0], 1.0)
    pairs = correlation[0::2] + correlation[1::2]
    positive = np.logical_and.accumulate(pairs > 0.0, axis=0)
    decreasing = np.minimum.accumulate(np.where(positive, pairs, 0.0), axis=0)
    return np.where(varies, np.maximum(2.0 * decreasing.sum(axis=0) - 1.0, 1.0), 1.0)


def means_of(series: Floats) -> Means:
    """Means of the series (n, k), with errors; nan if there are fewer than four samples."""
    n, k = series.shape
    if n < FEWEST:
        return Means(series.mean(axis=0) if n else np.full(k, np.nan), np.full(k, np.nan), np.full(k, float(n)))
    with np.errstate(over="ignore", invalid="ignore"):  # squares after a blow-up: the error is not finite then
        g = inefficiency(series)
        blocks = min(BLOCKS, n // LEAST_OF_A_BLOCK)
        of_blocks = block_means(series, blocks).std(axis=1, ddof=1) / np.sqrt(blocks)
        of_sequence = np.sqrt(series.var(axis=0, ddof=1) * g / n)
    return Means(series.mean(axis=0), np.maximum(of_blocks, of_sequence), n / g)


def means_of_members(values: Floats) -> Means:
    """Means over members, (m, k), which are independent of each other: the error comes from their spread."""
    m, k = values.shape
    error = values.std(axis=0, ddof=1) / np.sqrt(m) if m > 1 else np.full(k, np.nan)
    return Means(values.mean(axis=0) if m else np.full(k, np.nan), error, np.full(k, float(m)))
