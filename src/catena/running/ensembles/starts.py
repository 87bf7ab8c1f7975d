"""The starts of an ensemble, in any of the accepted forms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Sized
from typing import TYPE_CHECKING, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import ArrayLike

from ...engine.packing import are_small
from ...errors import InputError
from ...systems.base import Array, State, System
from ...systems.numbers import finite_numbers

if TYPE_CHECKING:
    import xarray

Starts: TypeAlias = "Sequence[State] | State | Mapping[str, ArrayLike] | xarray.Dataset"


def stack(system: System, starts: Starts) -> tuple[dict[str, Array], Array]:
    """The fields of all starts, leading axis member, and their times, every mistake explained."""
    given, times = _read(starts, [f.name for f in system.fields])
    try:
        members = max(len(value) for value in given.values())
    except TypeError as problem:
        raise InputError(f"the starts are not arrays of numbers: {problem}", where="ensemble.starts") from None
    of_one = all(getattr(given[f.name], "shape", None) == f.shape for f in system.fields)
    if of_one and any(f.width > 1 for f in system.fields):
        raise InputError(
            "this is the start of one member", where="ensemble.starts",
            do="give a list of starts; or members=, if they differ in something else, such as their noise",
        )  # fmt: skip
    if members == 0:
        raise InputError("there are no starts", where="ensemble.starts", do="give one at least")
    fields = {}
    for f in system.fields:
        shape = (members, *f.shape)
        shapes = (shape, (members,)) if f.width == 1 else (shape,)
        where, do = f"ensemble.starts.{f.name}", f"give {shape}: a row per member"
        fields[f.name] = _rows(given[f.name], *shapes, where=where, do=do).reshape(shape)
    at = _rows(times, (), (members,), where="ensemble.starts.time")
    return fields, np.broadcast_to(at, (members,))


def is_repeated(*arrays: Array) -> bool:
    """Whether the arrays repeat one row, which is stored once."""
    return all(array.strides[0] == 0 for array in arrays)


def _rows(values: object, *shapes: tuple[int, ...], where: str, do: str = "") -> Array:
    """The values as `finite_numbers` returns them, but without a copy if they are valid: nobody writes to starts."""
    if type(values) is np.ndarray and values.dtype == float and values.shape in shapes and values.ndim:
        if is_repeated(values):
            finite_numbers(values[:1], where=where, rows="member")
            return values
        if values.flags.c_contiguous and are_small(values):
            return values
    return finite_numbers(values, *shapes, where=where, do=do, rows="member")


def _is_dataset(starts: object) -> TypeGuard[xarray.Dataset]:
    return hasattr(starts, "data_vars")  # without importing xarray


def _read(starts: object, names: list[str]) -> tuple[dict[str, Sized], object]:
    """The fields and the times of the starts, from any of the accepted forms."""
    if isinstance(starts, Sequence) and not isinstance(starts, str):
        for i, state in enumerate(starts):
            if not isinstance(state, State) or set(state.fields) != set(names):
                raise InputError(
                    f"start {i} = {state!r} is not a state of this system", where="ensemble.starts",
                    do="make it with system.start(...)",
                )  # fmt: skip
        return {name: [state.fields[name] for state in starts] for name in names}, [state.time for state in starts]
    if isinstance(starts, State):
        starts = {**starts.fields, "time": starts.time}
    elif _is_dataset(starts):  # it may contain more than the fields
        ordered = starts.transpose("member", ..., missing_dims="ignore")
        starts = {name: ordered[name].values for name in (*names, "time") if name in ordered}
    if not isinstance(starts, Mapping) or not set(names) <= set(starts) <= {*names, "time"}:
        seen = (
            f"the starts have {', '.join(map(str, starts))}" if isinstance(starts, Mapping) else f"starts = {starts!r}"
        )
        raise InputError(
            seen, where="ensemble.starts",
            do=f"give a list of states, or {', '.join(names)} (and perhaps time) as arrays with a leading axis member",
        )  # fmt: skip
    return {name: starts[name] for name in names}, starts.get("time", 0.0)
