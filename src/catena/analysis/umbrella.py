"""Free energies from runs with different biases: umbrella sampling with optimal weights for all samples.

Run k has the energy H + B_k(x), B_k a function of a coordinate x. With u_k = B_k/kT and N_k samples of run k, the free
energies f_k of the biased systems, in units of kT, satisfy

    sum_n W_k(x_n) = 1,    W_k = exp(f_k - u_k) / sum_j N_j exp(f_j - u_j),

over all samples of all runs, and each sample has the weight w = 1 / sum_j N_j exp(f_j - u_j) for the system without a
bias: the estimate of smallest variance (MBAR, which is WHAM with bins of zero width) [shirts2008]. The f_k are the
minimum of a convex function, found by Newton's method. Errors come from leaving out a tenth of each run at a time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import CapabilityError, InputError
from ..expressions import parse
from ..expressions.values import values_along
from ..kernels.declarations import Field
from ..methods.base import Method
from ..running.ensembles import Ensemble
from ..running.runs import Run
from ..systems.base import Array, Samples, System
from ..systems.numbers import finite_number
from .averages import BINS, edges_for, require_some
from .quantities import at_samples, first_sample

if TYPE_CHECKING:
    import xarray

COORDINATE = "x"
BLOCKS = 10  # one of them is left out at a time for the errors
MOST_STEPS = 100
CONVERGED = 1e-10  # change of a free energy, in kT
LEAST_OVERLAP = 1e-3  # of 1 - second eigenvalue of the runs' overlap: below it two groups are disjoint


Source = tuple[System, Method, tuple[Field, ...], Samples]


class Window(NamedTuple):
    """The coordinate along a run, and the parameters of its bias."""

    values: Array
    numbers: Mapping[str, float]


def free_energy(
    runs: Sequence[Run] | Ensemble,
    coordinate: str,
    bias: str,
    numbers: Sequence[Mapping[str, float]] | None = None,
    *,
    bins: int = BINS,
    range: tuple[float, float] | None = None,
    after: float | None = None,
) -> xarray.Dataset:
    """Free energy along a coordinate, without bias, from runs that were biased along it (umbrella sampling).

    Parameters
    ----------
    runs : runs in a heat bath of one temperature; or an ensemble or a sweep of them with `keep="samples"`
    coordinate : text in the names of the state
    bias : energy that was added to that of the system, text in x, the coordinate, and in names of numbers: "k/2*(x - c)**2"
    numbers : the values of these names for each run; the parameters of its system if None
    bins, range : bins of equal width, over all values if no range is given
    after : time from which samples count; None: all but the first fifth

    Returns
    -------
    Dataset
        `free_energy`, 0 at its minimum, and `error` along `value`; `density` of the system without bias

    Examples
    --------
    >>> import catena as ct
    >>> wells = ct.Hamiltonian("p**2/2 + (q**2 - 1)**2 + k/2*(q - c)**2", parameters={"k": 4.0, "c": 0.0})
    >>> method = ct.Langevin(0.5, friction=1.0, seed=3)
    >>> runs = [
    ...     ct.simulate(wells.with_parameters(c=c), wells.start(q=c, p=0.0), method, dt=0.1, steps=4000, every=4)
    ...     for c in (-1.0, -0.5, 0.0, 0.5, 1.0)
    ... ]
    >>> profile = ct.free_energy(runs, "q", "k/2*(x - c)**2", bins=20, range=(-1.0, 1.0))
    >>> bool(abs(profile.free_energy.sel(value=0.05, method="nearest") - 1.0) < 0.4)
    True

    References
    ----------
    [shirts2008]
    """
    import xarray

    windows, kT = _windows(runs, coordinate, numbers, after)
    everything = np.concatenate([window.values for window in windows])
    edges = edges_for(everything, bins, range, "free_energy")
    require_some(np.histogram(everything, edges)[0])
    reduced = _bias_energies(windows, bias, kT)
    density, energy = _profile(windows, reduced, edges, kT, None)
    left_out = [_profile(windows, reduced, edges, kT, block)[1] for block in np.arange(BLOCKS).tolist()]
    with np.errstate(invalid="ignore"):
        spread = np.array(left_out) - np.mean(left_out, axis=0)
        error = np.sqrt((BLOCKS - 1) / BLOCKS * (spread**2).sum(axis=0))
    return xarray.Dataset(
        {"free_energy": ("value", energy), "error": ("value", np.where(np.isfinite(energy), error, np.inf)), "density": ("value", density)},
        {"value": 0.5 * (edges[:-1] + edges[1:])}, {"long_name": f"free energy along {coordinate}"},
    )  # fmt: skip


def _bias_energies(windows: Sequence[Window], bias: str, kT: float) -> list[Array]:
    """For each window (windows, samples): the bias energy of each window at its samples, over kT."""
    tree = parse(bias, [COORDINATE, *windows[0].numbers], what="free_energy.bias")
    energies = [
        np.array([
            np.broadcast_to(values_along(tree, {**dict(other.numbers), COORDINATE: window.values}), window.values.shape) / kT
            for other in windows
        ])
        for window in windows
    ]  # fmt: skip
    if not all(np.isfinite(part).all() for part in energies):
        raise InputError("the bias is not finite at every sample", where="free_energy.bias", do="correct its text")
    return energies


def _windows(
    runs: Sequence[Run] | Ensemble, coordinate: str, numbers: Sequence[Mapping[str, float]] | None, after: float | None
) -> tuple[list[Window], float]:
    """The coordinate along each run, with the parameters of its bias; and the common temperature."""
    where = "free_energy"
    sources: list[Source]
    if not isinstance(runs, Ensemble) and (not isinstance(runs, Sequence) or not runs):
        raise InputError(
            f"runs = {runs!r} is no list of runs",
            where=f"{where}.runs",
            do="give them in a list, or an ensemble of them",
        )
    sources = _of_members(runs) if isinstance(runs, Ensemble) else [
        (run.system, run.method, run.plan.pairing.recorded, run.data) for run in runs
    ]  # fmt: skip
    temperatures = {method.bath_temperature for _, method, _, _ in sources}
    if len(temperatures) != 1 or None in temperatures:
        raise CapabilityError(
            "the runs have no temperature, or more than one", where=where, do="run all in a bath of one temperature"
        )
    if numbers is not None and len(numbers) != len(sources):
        raise InputError(
            f"numbers are given for {len(numbers)} of {len(sources)} runs", where=f"{where}.numbers", do="give them for each"
        )  # fmt: skip
    windows = []
    for k, (system, _, recorded, samples) in enumerate(sources):
        first = first_sample(np.asarray(samples["time"]), after, where)
        values = at_samples(system, recorded, samples, coordinate, slice(first, None), f"{where}.coordinate")
        given = _parameters(system) if numbers is None else numbers[k]
        windows.append(Window(values, {name: finite_number(value, name) for name, value in given.items()}))
    (kT,) = temperatures
    assert kT is not None
    return windows, kT


def _of_members(many: Ensemble) -> list[Source]:
    """The samples of each member of an ensemble."""
    pairing, data = many._job.pairing, many.data
    kinds = many._column("kind").astype(int) if many._job.kinds else np.zeros(len(many), dtype=int)
    own = [str(name) for name, values in data.items() if values.dims[:1] == ("member",)]
    return [
        (
            many.systems[kind], many.methods[kind], pairing.recorded,
            {"time": data.time.values, **{name: data[name].values[k] for name in own}},
        )
        for k, kind in enumerate(kinds.tolist())
    ]  # fmt: skip


def _parameters(system: System) -> Mapping[str, float]:
    """The named numbers in the energy of a system."""
    own = getattr(system, "parameters", None) or getattr(getattr(system, "potential", None), "parameters", None)
    if not own:
        raise InputError(
            f"{system.title} has no named parameters", where="free_energy.numbers", do="give the numbers of each bias"
        )
    return dict(own)


def _profile(
    windows: Sequence[Window], reduced: Sequence[Array], edges: Array, kT: float, without: int | None
) -> tuple[Array, Array]:
    """Density and free energy in the bins, optionally without one block of each run."""
    kept = [_keep(len(window.values), without) for window in windows]
    values = np.concatenate([window.values[keep] for window, keep in zip(windows, kept, strict=True)])
    u = np.concatenate([part[:, keep] for part, keep in zip(reduced, kept, strict=True)], axis=1)
    log_weight = log_weights(u, np.array([keep.sum() for keep in kept]))
    weight = np.exp(log_weight - log_weight.max())
    inside = np.histogram(values, edges, weights=weight)[0]
    density = inside / weight.sum() / (edges[1] - edges[0])
    with np.errstate(divide="ignore"):
        energy = -kT * np.log(density)
    return density, energy - energy.min()


def _keep(samples: int, without: int | None) -> NDArray[np.bool_]:
    keep = np.ones(samples, dtype=bool)
    if without is not None:
        keep[without * samples // BLOCKS : (without + 1) * samples // BLOCKS] = False
    return keep


def log_weights(u: Array, counts: NDArray[np.int64]) -> Array:
    """Log weights of all samples (n,) without bias, from reduced biases (runs, n) and the numbers of samples."""
    f = _free_energies(u, counts)
    return -np.logaddexp.reduce((f + np.log(counts))[:, None] - u, axis=0)


def _free_energies(u: Array, counts: NDArray[np.int64]) -> Array:
    """f_k, with f_0 = 0, by Newton's method with steps that never increase the convex function."""
    f = np.zeros(len(u))
    value, gradient, hessian, shares = _convex(f, u, counts)
    for _ in np.arange(MOST_STEPS):
        step = np.zeros(len(f))
        step[1:] = np.linalg.lstsq(hessian[1:, 1:], gradient[1:], rcond=None)[0]
        length = 1.0
        found = _convex(f - step, u, counts)
        while found[0] > value + 1e-12 * abs(value) and length > 1e-6:
            length *= 0.5
            found = _convex(f - length * step, u, counts)
        f = f - length * step
        value, gradient, hessian, shares = found
        if np.abs(length * step).max(initial=0.0) < CONVERGED:
            break
    _require_overlap(shares, counts)
    return f


def _convex(f: Array, u: Array, counts: NDArray[np.int64]) -> tuple[float, Array, Array, Array]:
    """sum_n log sum_k N_k exp(f_k - u_k) - sum_k N_k f_k, its gradient and Hessian, and the shares N_k W_k (runs, n)."""
    exponent = (f + np.log(counts))[:, None] - u
    log_sum = np.logaddexp.reduce(exponent, axis=0)
    shares = np.exp(exponent - log_sum)
    totals = shares.sum(axis=1)
    return float(log_sum.sum() - counts @ f), totals - counts, np.diag(totals) - shares @ shares.T, shares


def _require_overlap(shares: Array, counts: NDArray[np.int64]) -> None:
    """InputError if the runs fall into groups that have no samples in common."""
    if len(counts) == 1:
        return
    root = np.sqrt(counts)
    overlap = shares @ shares.T / np.outer(root, root)
    if 1.0 - np.linalg.eigvalsh(overlap)[-2] < LEAST_OVERLAP:
        shared = shares @ shares.T / counts
        apart = int(np.argmin(np.diagonal(shared, offset=1)))
        raise InputError(
            f"the samples of runs {apart} and {apart + 1} do not overlap: nothing tells how deep one lies below the other",
            where="free_energy.runs", do="add runs between them, or weaken the biases",
        )  # fmt: skip
