"""Reduce sample rows of members, as they arrive, to a few numbers per member; compiled apart from the loop.

Each kernel here adds one value of a quantity to its numbers in `kept`; its docstring lists them.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..arrays import Array, Integers
from ..kernels.marks import Kernel, Numbers
from . import bounds, cache, collector, headers
from .arrays import Arrays
from .headers import array_type, cpu_function
from .member_loop import of_member
from .plain_python import interpret

ENTRY = "reduce_members"


def take_mean(value, t, kept):
    """Number of samples, their sum, and its compensation."""
    kept[0] += 1.0
    value += kept[2]
    before = kept[1]
    after = before + value
    kept[2] = value - (after - before)
    kept[1] = after


def take_extremes(value, t, kept):
    """Lowest value and its time, highest value and its time."""
    if value < kept[0]:
        kept[0] = value
        kept[1] = t
    if value > kept[2]:
        kept[2] = value
        kept[3] = t


def take_histogram(value, t, kept):
    """Start of the bins, bins per unit, number of values below, in each bin, and above."""
    bins = kept.shape[0] - 4
    place = (value - kept[0]) * kept[1]
    if place < 0.0:
        kept[2] += 1.0
    elif place < bins:
        kept[3 + int(place)] += 1.0
    else:
        kept[3 + bins] += 1.0


def take_crossing(value, t, kept):
    """Direction wanted, whether a previous value is known, that value, its time, number of crossings, time of the last.

    The quantity is interpolated linearly between samples.
    """
    if kept[1] != 0.0:
        before = kept[2]
        rises = before <= 0.0 and value > 0.0 and kept[0] >= 0.0
        falls = before >= 0.0 and value < 0.0 and kept[0] <= 0.0
        if rises or falls:
            kept[4] += 1.0
            kept[5] = kept[3] + (t - kept[3]) * (before / (before - value))
    kept[1] = 1.0
    kept[2] = value
    kept[3] = t


class Reducer:
    """A compiled loop over sample rows of members.

    Parameters
    ----------
    kernel : takes (row, t, par, kept)
    par : arrays of parameters by name, leading axis kind
    compiled : compiled or plain Python
    checked : whether to check every subscript; None: as set in the environment (`catena.engine.bounds`)
    """

    def __init__(
        self, kernel: Kernel, par: Mapping[str, Numbers], *, compiled: bool = True, checked: bool | None = None
    ) -> None:
        if checked is None:
            checked = bounds.are_wanted()
        parts = collector.collect(kernel, {})
        rows = {name: array[0] for name, array in par.items()}
        arrays = Arrays(rows, {}).used_by(parts)
        self._names = list(arrays.together)
        title = "reductions of samples"
        header = headers.CPU if compiled else headers.PYTHON
        text = headers.module_text(title, parts, arrays.types, header=header, entry="@_fn", checked=checked)
        entry = _entry(arrays, compiled=compiled)
        text += bounds.add_checks_to_text(entry) if checked else entry
        module = cache.load(text, title) if compiled else interpret(text)
        self._run = getattr(module, ENTRY)

    def __call__(
        self, rows: Array, number: int, t0: Array, dt: Array, every: int, kinds: Integers, status: Integers,
        par: Mapping[str, Numbers], kept: Array,
    ) -> None:  # fmt: skip
        """Reduce rows (members, samples, width) of members that have not failed; the first is sample `number`."""
        self._run(rows, number, t0, dt, every, kinds, status, *(par[name] for name in self._names), kept)


def _entry(arrays: Arrays, *, compiled: bool) -> str:
    before = {
        "rows": array_type(3), "number": "types.int64", "t0": array_type(1), "dt": array_type(1), "every": "types.int64",
        "kinds": array_type(1, "int64"), "status": array_type(1, "int64"),
    }  # fmt: skip
    gathered = {f"par_{name}": array_type(dimensions + 1, dtype) for name, dimensions, dtype in arrays.types}
    arguments = {**before, **gathered, "kept": array_type(2)}
    return f"""
{cpu_function("types.void", list(arguments.values())) if compiled else ""}
def {ENTRY}({", ".join(arguments)}):
    for k in range(rows.shape[0]):
        if status[k] == 0:
            par = Parameters({", ".join(map(of_member, gathered))})
            for row in range(rows.shape[1]):
                advance(rows[k, row], t0[k] + (number + row) * every * dt[k], par, kept[k])
"""
