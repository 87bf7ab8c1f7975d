"""The entry of every program: a loop over members, each with the loop of one run (`catena.engine.loop`).

A run is one member. Members of an ensemble are advanced one after the other without the interpreter, so threads that do
so do not wait for each other. Each has its own row of the state (z, e, carry, scale, looks) and of the sample rows;
work, marks and crossings are those of the caller. Parameters, scratch and tables also have a leading axis: one row that
all members share, or one for each kind of member; kinds[k] is that of member k.
"""

from __future__ import annotations

from collections.abc import Sequence

from .headers import ArrayType, array_type, cpu_function

ENTRY = "advance_members"

BEFORE = {
    "z": array_type(2), "e": array_type(2), "t0": array_type(1), "dt": array_type(1), "first": "types.int64",
    "counts": array_type(1, "int64"), "every": "types.int64", "kinds": array_type(1, "int64"),
}  # fmt: skip
AFTER = {
    "tab": array_type(3), "work": array_type(1), "carry": array_type(2), "samples": array_type(3), "scale": array_type(2),
    "looks": array_type(3), "marks": array_type(1), "copies": array_type(1), "spare": array_type(1), "crossings": array_type(2),
    "outcome": array_type(2, "int64"),
}  # fmt: skip


def member_loop(par: Sequence[ArrayType], *, compiled: bool, packed: bool = False) -> str:
    """Text of the entry, which follows that of the functions.

    Member k makes counts[k] steps after step number `first`; outcome[k] receives its status and the steps made, see
    `loop.advance`.
    """
    gathered = {f"par_{name}": array_type(dimensions + 1, dtype) for name, dimensions, dtype in par}
    arguments = {**BEFORE, **gathered, **AFTER}
    own = ", ".join(map(of_member, gathered))
    return f"""
{_decorator(list(arguments.values()), packed=packed) if compiled else ""}
def {ENTRY}({", ".join(arguments)}):
    for k in range(z.shape[0]):
        par = Parameters({own})
        status, made = advance(
            z[k], e[k], t0[k], dt[k], first, counts[k], every, par, {of_member("tab")}, work, carry[k], samples[k],
            scale[k], looks[k], marks, copies, spare, crossings,
        )
        outcome[k, 0] = status
        outcome[k, 1] = made
"""


def of_member(name: str, *places: str) -> str:
    """A member's view of an array: the row of its kind or the shared row, either all of it or these places.

    Without `if`: numba supports no control flow inside a call with more than thirty arguments, which many systems have.
    """
    return f"{name}[{', '.join([f'min(kinds[k], {name}.shape[0] - 1)', *places])}]"


def _decorator(arguments: Sequence[str], *, packed: bool) -> str:
    """One explicit signature, compiled at import."""
    entry = cpu_function("types.void", arguments)
    return f"@_packed({entry.removeprefix('@')})" if packed else entry
