"""Averages along a run, with errors for correlated samples: means, autocorrelations, histograms, free energies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Array
from ..errors import InputError
from ..running.auditing import means_of
from ..running.auditing.means import autocovariance
from ..running.ensembles.reductions import MOST_BINS
from ..running.plan import positive_integer
from ..systems.numbers import finite_numbers
from .quantities import along_run

if TYPE_CHECKING:
    import xarray

    from ..running.runs import Run

BINS = 50
SEGMENTS = 20  # parts of a run, whose autocorrelations are compared
AT_ONCE = 2**22  # samples times bins processed at a time


@dataclass(frozen=True)
class Average:
    """The mean of a quantity.

    Attributes
    ----------
    mean, error : the mean, and its standard error
    effective : number of independent samples that would have this error
    correlation_time : half of the time between two of these; nan if this is not a mean along time

    Examples
    --------
    >>> Average(0.7208161, 0.0042, 812.4, 0.61)
    0.7208 +- 0.0042 (812 independent samples, correlation time 0.61)
    >>> Average(8.3031e-21, 4.87e-23, 16000.0, 7.9e-14)
    8.303e-21 +- 4.9e-23 (16000 independent samples, correlation time 7.9e-14)
    """

    mean: float
    error: float
    effective: float
    correlation_time: float = float("nan")

    def __repr__(self) -> str:
        text = f"{_as_known(self.mean, self.error)} +- {self.error:.2g} ({self.effective:.0f} independent samples"
        time = f", correlation time {self.correlation_time:.3g}" if np.isfinite(self.correlation_time) else ""
        return f"{text}{time})"


def _as_known(mean: float, error: float) -> str:
    """A mean, rounded to the digits that its error supports."""
    if not (np.isfinite(mean) and 0.0 < error < np.inf):
        return f"{mean:.6g}"
    last = int(np.floor(np.log10(error))) - 1
    first = max(int(np.floor(np.log10(abs(mean)))) if mean else last, last)
    if -5 < first < 9:
        return f"{mean:.{max(1 if error >= 1.0 else 0, -last)}f}"
    return f"{mean:.{first - last}e}"


def average(run: Run, quantity: str | ArrayLike, *, after: float | None = None) -> Average:
    """The mean of a quantity along a run, with its error; see `catena.running.auditing.means`."""
    times, values = along_run(run, quantity, after=after, where="average")
    found = means_of(values[:, None])
    between = float(times[1] - times[0])
    effective = float(found.effective[0])
    return Average(
        float(found.mean[0]), float(found.error[0]), effective, 0.5 * between * len(values) / effective
    )  # fmt: skip


def autocorrelation(
    run: Run, quantity: str | ArrayLike, lags: int | None = None, *, after: float | None = None
) -> xarray.Dataset:
    """Autocorrelation of a quantity about its mean, with errors from the parts of the run."""
    import xarray

    times, values = along_run(run, quantity, after=after, where="autocorrelation")
    segment = len(values) // SEGMENTS
    most = max(2, segment // 2)
    count = min(most, 101) if lags is None else positive_integer(lags, "autocorrelation.lags")
    if count > most:
        raise InputError(
            f"lags = {count}, but a twentieth of the run has {segment} samples", where="autocorrelation.lags",
            do=f"give {most} at most, or make a longer run",
        )  # fmt: skip
    if np.ptp(values) == 0.0:
        raise InputError(
            f"{quantity if isinstance(quantity, str) else 'the quantity'} is the same in every sample",
            where="autocorrelation", do="name something that changes",
        )  # fmt: skip
    whole = autocovariance(values[:, None], count)[:, 0]
    deviation = values - values.mean()
    parts = deviation[: SEGMENTS * segment].reshape(SEGMENTS, segment)
    own = np.array([[(p[: segment - k] * p[k:]).mean() for k in range(count)] for p in parts])
    # relative to the variance of the whole run, so that common errors of the two cancel
    ratio = own - np.outer(own[:, 0], whole / whole[0]) if whole[0] > 0.0 else own
    scale = whole[0] if whole[0] > 0.0 else 1.0
    error = ratio.std(axis=0, ddof=1) / np.sqrt(SEGMENTS) / scale
    lag = np.arange(count) * float(times[1] - times[0])
    name = quantity if isinstance(quantity, str) else "quantity"
    return xarray.Dataset(
        {"correlation": ("lag", whole / scale), "error": ("lag", error), "covariance": ("lag", whole)},
        {"lag": lag}, {"long_name": f"autocorrelation of {name}"},
    )  # fmt: skip


def histogram(
    run: Run,
    quantity: str | ArrayLike,
    bins: int = BINS,
    range: tuple[float, float] | None = None,
    *,
    after: float | None = None,
) -> xarray.Dataset:
    """Density of a quantity along a run, in equally wide bins, with errors."""
    import xarray

    _, values = along_run(run, quantity, after=after, where="histogram")
    edges = edges_for(values, bins, range, "histogram")
    density, error = density_of(values, edges)
    name = quantity if isinstance(quantity, str) else "quantity"
    return xarray.Dataset(
        {"density": ("value", density), "error": ("value", error)},
        {"value": 0.5 * (edges[:-1] + edges[1:])}, {"long_name": f"density of {name}"},
    )  # fmt: skip


def edges_for(values: Array, bins: int, given: tuple[float, float] | None, where: str) -> Array:
    """Edges of equal bins over a range, or over all values."""
    count = positive_integer(bins, f"{where}.bins")
    if count > MOST_BINS:
        raise InputError(f"bins = {count}", where=f"{where}.bins", do=f"use {MOST_BINS} at most")
    if given is None and values.min() == values.max():
        raise InputError(
            f"the quantity is {values[0]:g} in every sample", where=where, do="name another, or give the range of the bins"
        )  # fmt: skip
    low, high = (values.min(), values.max()) if given is None else finite_numbers(given, (2,), where=f"{where}.range")
    if not low < high:
        raise InputError(
            f"there is nothing between {low:g} and {high:g}", where=f"{where}.range", do="give the lower end first"
        )
    return np.linspace(float(low), float(high), count + 1)


def require_some(inside: Array) -> None:
    """Refuse empty bins: a free energy is 0 at its minimum."""
    if not inside.any():
        raise InputError("no sample lies in any bin", where="free_energy.range", do="give a range where some are")


def density_of(values: Array, edges: Array) -> tuple[Array, Array]:
    """Density in each bin, relative to all values, and its error: each bin is a series of ones and zeros."""
    bins = len(edges) - 1
    place = np.searchsorted(edges, values, side="right") - 1
    place[values == edges[-1]] = bins - 1
    shares, errors = np.empty(bins), np.empty(bins)
    together = max(1, AT_ONCE // len(values))
    for some in np.array_split(np.arange(bins), -(-bins // together)):
        found = means_of((place[:, None] == some).astype(float))
        shares[some], errors[some] = found.mean, found.error
    width = edges[1] - edges[0]
    return shares / width, errors / width


def require_temperature(run: Run) -> float:
    """The kT of its bath; refused if there is none, or more than one."""
    kT = run.method.bath_temperature
    if not kT:
        raise InputError(
            f"{run.method} has no temperature, or more than one", where="free_energy",
            do="use Langevin or HybridMonteCarlo with one temperature",
        )  # fmt: skip
    return kT


def free_energy(run: Run, density: xarray.Dataset) -> xarray.Dataset:
    """Free energy along the coordinate of a histogram, -kT log(density), 0 at its minimum; inf without samples."""
    kT = require_temperature(run)
    seen = density.density.values
    require_some(seen)
    with np.errstate(divide="ignore", invalid="ignore"):
        energy = -kT * np.log(seen)
        error = kT * density.error.values / seen
    made = density.assign(free_energy=("value", energy - np.nanmin(energy))).drop_vars("density")
    made["error"] = ("value", np.where(seen > 0.0, error, np.inf))
    made.attrs["long_name"] = str(density.attrs.get("long_name", "")).replace("density of", "free energy along")
    return made
