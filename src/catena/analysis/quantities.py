"""A quantity along a run: text in the names of the state, evaluated at the samples."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ..engine.folding import first_settled
from ..errors import InputError
from ..expressions import parse
from ..expressions.values import values_along
from ..kernels.declarations import Field
from ..running.ensembles.reductions import names_in_rows
from ..systems.base import Array, Samples, System
from ..systems.numbers import finite_number

if TYPE_CHECKING:
    from ..running.runs import Run

IN_ROW, IN_PAR = re.compile(r"row\[(\d+)\]"), re.compile(r"par\.(\w+)\[(\d+)\]")
LEAST_SAMPLES = 20


def along_run(run: Run, quantity: str | ArrayLike, *, after: float | None, where: str) -> tuple[Array, Array]:
    """Times and values (n,) of a quantity after a time; None: all but the first fifth of the run.

    Parameters
    ----------
    quantity : text in the names of the state, the invariants, and what the method records; or a number for each sample
    """
    times = run.data.time.values
    first = first_sample(times, after, where)
    if isinstance(quantity, str):
        values = at_samples(run.system, run.plan.pairing.recorded, run.data, quantity, slice(first, None), where)
    else:
        values = np.asarray(quantity, dtype=float)
        if values.shape != times.shape:
            raise InputError(
                f"the quantity has the shape {values.shape} for {len(times)} samples", where=where,
                do="give a text, or one number for each sample",
            )  # fmt: skip
        values = values[first:]
    if not np.isfinite(values).all():
        what = repr(quantity) if isinstance(quantity, str) else "the quantity"
        raise InputError(
            f"{what} is not finite in every sample", where=where, do="name another, or choose a later `after`"
        )
    return times[first:], values


def first_sample(times: Array, after: float | None, where: str) -> int:
    """The first sample that counts."""
    if after is None:
        first = first_settled(len(times))
    else:
        first = int(np.searchsorted(times, finite_number(after, f"{where}.after")))
    if len(times) - first < LEAST_SAMPLES:
        raise InputError(
            f"{len(times) - first} samples are left", where=where,
            do=f"record {LEAST_SAMPLES} at least, by more steps or a smaller `every`; or choose an earlier `after`",
        )  # fmt: skip
    return first


def at_samples(
    system: System, recorded: tuple[Field, ...], samples: Samples, text: str, part: slice, where: str
) -> Array:
    """The values of a text for a range of samples; only the columns that it names are read."""
    known = _names(system, recorded)
    tree = parse(text, list(known), what=where)
    places = _places(recorded)
    parameters = system.parameter_arrays()
    values: dict[str, Array | float] = {}
    for name in tree.names:
        code = known[name]
        if found := IN_ROW.fullmatch(code):
            field, number = places[int(found[1])]
            column = np.asarray(samples[field][part])
            values[name] = column.reshape(len(column), -1)[:, number]
        elif found := IN_PAR.fullmatch(code):
            values[name] = float(parameters[found[1]][int(found[2])])
        else:
            assert code == "t", code
            values[name] = np.asarray(samples["time"][part])
    count = len(np.asarray(samples["time"][part]))
    return np.array(np.broadcast_to(values_along(tree, values), (count,)))


def _names(system: System, recorded: tuple[Field, ...]) -> dict[str, str]:
    """Name -> code on a row: state, invariants, then what the method records."""
    known = names_in_rows(system)
    place = system.public_width + system.invariant_width
    for field in recorded[len(system.fields) + len(system.invariants) :]:
        for index in np.ndindex(*field.shape):
            name = f"{field.name}[{','.join(map(str, index))}]" if index else field.name
            known.setdefault(name, f"row[{place}]")
            place += 1
    return known


def _places(recorded: tuple[Field, ...]) -> list[tuple[str, int]]:
    """For each number of a row: its field, and its index in the field."""
    return [(field.name, number) for field in recorded for number in range(field.width)]
