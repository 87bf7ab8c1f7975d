"""Conformation of a chain at a temperature: bond correlation, persistence length, structure factor, with errors.

Errors come from leaving out a twentieth of the run at a time, so they account for correlation in time as long as the
correlation time is short compared with such a part.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Array
from ..errors import InputError
from ..running.auditing import means_of
from ..running.auditing.drift import block_means
from ..systems.numbers import finite_numbers
from .averages import Average

if TYPE_CHECKING:
    import xarray

BLOCKS = 20
CLEAR = 5.0  # errors above zero: smaller correlations say nothing about their logarithm
LEAST_BONDS = 2


def bond_correlations(position: Array) -> Array:
    """<b_j . b_{j+m}> over all pairs of bonds m apart, for each sample: (samples, bonds).

    Positions are (samples, n, 3).
    """
    bonds = np.diff(position, axis=1)
    count = bonds.shape[1]
    return np.stack(
        [(bonds[:, : count - m] * bonds[:, m:]).sum(axis=-1).mean(axis=1) for m in range(count)], axis=1
    )  # fmt: skip


def bond_correlation(position: Array) -> xarray.Dataset:
    """Mean product of bonds `separation` links apart, and its error, along `separation`."""
    import xarray

    series = bond_correlations(_link_neighbours(position))
    found = means_of(series)
    return xarray.Dataset(
        {"correlation": ("separation", found.mean), "error": ("separation", found.error)},
        {"separation": np.arange(series.shape[1])}, {"long_name": "correlation of bonds"},
    )  # fmt: skip


def persistence_length(position: Array) -> Average:
    """l of <b_j . b_{j+m}> = a^2 exp(-m a/l), m = 1, 2, ...: a line is fitted to the logarithms.

    Errors give the weights.
    """
    series = bond_correlations(_link_neighbours(position))
    found = means_of(series)
    clear = found.mean[1:] > CLEAR * found.error[1:]
    last = len(clear) if clear.all() else int(np.argmin(clear))
    if last < LEAST_BONDS:
        raise InputError(
            f"only {last} of the correlations of bonds can be told from zero, and a length needs {LEAST_BONDS}", where="persistence_length",
            do="make a longer run, or take a longer or stiffer chain",
        )  # fmt: skip
    apart = np.arange(1, last + 1)
    weight = found.mean[1 : last + 1] / found.error[1 : last + 1]

    def length(means: Array) -> Array:
        logs = np.log(np.maximum(means[1 : last + 1], np.finfo(float).tiny))
        slope, constant = np.polyfit(apart, logs, 1, w=weight)
        return np.array([-np.exp(0.5 * constant) / slope])

    value, error = left_out(series, length)
    return Average(float(value[0]), float(error[0]), float(found.effective[1]))


def structure_factor(position: Array, wave_numbers: ArrayLike) -> xarray.Dataset:
    """S(k) = (1/n) sum_ij sin(k r_ij)/(k r_ij), averaged over directions of k, and its error, along `wave_number`."""
    import xarray

    k = np.atleast_1d(finite_numbers(wave_numbers, (None,), where="structure_factor.wave_numbers"))
    n = position.shape[1]
    series = np.full((len(position), len(k)), 1.0)
    for m in range(1, n):
        distance = np.linalg.norm(position[:, m:] - position[:, :-m], axis=-1)
        for place, wave in enumerate(k.tolist()):
            series[:, place] += 2.0 / n * np.sinc(wave * distance / np.pi).sum(axis=1)
    found = means_of(series)
    return xarray.Dataset(
        {"structure_factor": ("wave_number", found.mean), "error": ("wave_number", found.error)},
        {"wave_number": k}, {"long_name": "structure factor of the centres of mass"},
    )  # fmt: skip


def left_out(series: Array, function: Callable[[Array], Array]) -> tuple[Array, Array]:
    """A function of the means of the series (n, k), and its error from leaving out one block at a time (jackknife)."""
    means = block_means(series, BLOCKS).T
    whole = function(series.mean(axis=0))
    without = np.array([function((means.sum(axis=0) - one) / (BLOCKS - 1)) for one in means])
    spread = without - without.mean(axis=0)
    return whole, np.sqrt((BLOCKS - 1) / BLOCKS * (spread**2).sum(axis=0))


def _link_neighbours(position: Array) -> Array:
    if position.shape[1] <= LEAST_BONDS + 1:
        raise InputError(
            f"{position.shape[1]} bodies have too few bonds", where="persistence_length", do="take a longer chain"
        )
    return position
