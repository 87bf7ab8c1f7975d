"""Power spectra of motions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..errors import InputError

if TYPE_CHECKING:
    import xarray

    from ..running.runs import Run

LEAST_SAMPLES = 8


def spectrum(run: Run, name: str) -> xarray.DataArray:
    """Power spectral density of a field or invariant of a run, one-sided, along `frequency` (cycles per unit of time).

    Linear trends are removed and a Hann window is applied, so that motion which does not fit the length of the run
    leaks little into other frequencies. The integral over the frequency is the variance.

    Parameters
    ----------
    run : with samples at equal distances in time
    name : a name of `run.data`
    """
    import xarray
    from scipy.signal import periodogram

    data = run.data
    if name not in data or name == "time":
        known = [str(key) for key in data if key != "time"]
        raise InputError(f"the run has no {name!r}", where="spectrum", do=f"choose one of {', '.join(known)}")
    values = np.asarray(data[name].values)
    if len(values) < LEAST_SAMPLES:
        raise InputError(
            f"{len(values)} samples have no spectrum", where="spectrum", do=f"keep at least {LEAST_SAMPLES} samples"
        )
    rate = 1.0 / (run.plan.dt * run.plan.every)
    frequency, density = periodogram(values, rate, window="hann", detrend="linear", axis=0)
    return xarray.DataArray(
        density, {"frequency": frequency}, ("frequency", *data[name].dims[1:]), f"{name}_spectrum",
        {"long_name": f"power spectral density of {name}"},
    )  # fmt: skip
