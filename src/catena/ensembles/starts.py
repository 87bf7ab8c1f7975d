"""The starts of an ensemble, in whatever form they are given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..systems.base import State, System
from ..systems.numbers import real_array

Array = NDArray[np.float64]


def stacked(system: System, starts: Any) -> tuple[dict[str, Array], Array]:
    """The fields of all starts, leading axis member, and their times, every mistake explained."""
    given, times = _read(starts, [f.name for f in system.fields])
    try:
        fields = {name: real_array(value) for name, value in given.items()}
        members = max(len(array) for array in fields.values())
        times = np.broadcast_to(real_array(times), (members,))
    except (TypeError, ValueError) as problem:
        raise InputError(f"the starts are not arrays of numbers: {problem}", where="ensemble.starts") from None
    if members == 0:
        raise InputError("there are no starts", where="ensemble.starts", do="give one at least")
    for f in system.fields:
        array, where = fields[f.name], f"ensemble.starts.{f.name}"
        if f.width == 1 and array.shape == (members,):
            array = fields[f.name] = array.reshape(members, *f.shape)
        if array.shape != (members, *f.shape):
            shape = (members, *f.shape)
            raise InputError(f"{f.name} has shape {array.shape}", where=where, do=f"give {shape}: a row per member")
        undefined = ~np.isfinite(array.reshape(members, -1)).all(axis=1)
        if undefined.any():
            raise InputError(f"{f.name} of member {np.argmax(undefined)} is not finite", where=where)
    if not np.isfinite(times).all():
        raise InputError(
            f"the time of member {np.argmin(np.isfinite(times))} is not finite", where="ensemble.starts.time"
        )
    return fields, times


def _read(starts: Any, names: list[str]) -> tuple[dict[str, Any], Any]:
    """The fields and the times of the starts, from whatever form they are in."""
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
    elif hasattr(starts, "data_vars"):  # a Dataset, which may hold more than the fields
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
