"""The entry of a program on lanes: a loop over blocks of members, each with the loop of one run on lanes.

The loop of one run is that of `catena.engine.loop`. The lane is the last index of every array here. Arrays that steps
write to are on the stack while a block is advanced, so the compiler can keep them in registers.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from . import headers
from .collector import Part
from .headers import ArrayType, array_type, cpu_function
from .trees import module_tree

ENTRY = "advance_lanes"

BEFORE = {
    "z": array_type(3), "e": array_type(3), "t0": array_type(2), "dt": array_type(2), "first": "types.int64",
    "steps": "types.int64", "every": "types.int64",
}  # fmt: skip
AFTER = {
    "carry": array_type(3), "samples": array_type(4), "scale": array_type(3), "looks": array_type(4), "none": array_type(1),
    "outcome": array_type(2, "int64"),
}  # fmt: skip
BRANCHES = (ast.If, ast.IfExp, ast.While)

# Everything is inlined into the entry: a call would force the stack arrays into memory.
COMPILED = """\
from catena.engine import lane_types as _lane_types
_fn = _apart = _inline = _within = _vector = share(njit(forceinline=True, **_strict, **_inner), "within")
_by_lane = share(_lane_types.by_lane, "by lane")
_multiply_add, _holds, _chosen = _lane_types.multiply_add, _lane_types.holds, _lane_types.chosen
_side_by_side, _room = _lane_types.side_by_side({lanes}), _lane_types.room({lanes})
"""
PLAIN = """\
from catena.engine import plain_lanes as _plain_lanes
from catena.engine.plain_lanes import by_lane as _by_lane, largest as max, smallest as min
from catena.engine.plain_lanes import chosen as _chosen, holds as _holds, multiply_add as _multiply_add, side_by_side as _side_by_side
_fn = _apart = _inline = _within = _vector = lambda function: function
def _room(count):
    return _plain_lanes.room(count, {lanes})
"""


def lane_header(*, compiled: bool, lanes: int) -> str:
    """Text that follows the usual header.

    If compiled, it includes the version of the lane types, which generated text does not contain.
    """
    return f"# lanes {version_of_lanes()}\n{COMPILED.format(lanes=lanes)}" if compiled else PLAIN.format(lanes=lanes)


@cache
def version_of_lanes() -> str:
    """Version of the lane types: generated text does not contain them, so the cache needs it."""
    return hashlib.sha256(Path(__file__).with_name("lane_types.py").read_bytes()).hexdigest()[:16]


def on_lanes(parts: Sequence[Part]) -> list[Part]:
    """The same functions; those that branch and take only numbers are marked to be called lane by lane."""
    return [
        replace(part, mark="by_lane") if part.mark != "table" and _branches_on_numbers(part.text) else part
        for part in parts
    ]


@cache
def _branches_on_numbers(text: str) -> bool:
    function = module_tree(text).body[0]
    assert isinstance(function, ast.FunctionDef)
    names = {argument.arg for argument in function.args.args}
    taken_apart = (ast.Subscript, ast.Attribute)
    parted = any(
        isinstance(node, taken_apart) and isinstance(node.value, ast.Name) and node.value.id in names
        for node in ast.walk(function)
    )
    branches = any(isinstance(node, BRANCHES) for node in ast.walk(function)) or "_as_integer(" in text
    return branches and not parted


def lane_loop(
    par: Sequence[ArrayType],
    *,
    varied: Collection[str],
    scratch: Collection[str],
    sizes: dict[str, int],
    compiled: bool,
) -> str:
    """Text of the entry, which follows that of the functions.

    varied : names of `par`, perhaps "tab", that differ between lanes; the others are common to all
    scratch : names of `par` that kernels write to
    sizes : numbers in z, work and carry
    """

    def own(name: str, dimensions: int, dtype: str) -> str:
        """The type of an argument: block first and lane last, lane last only, or common to all."""
        return array_type(dimensions + (2 if name in varied else 1), dtype)

    def seen(name: str, argument: str) -> str:
        if name in varied:
            return f"_side_by_side({argument}[k])"
        return f"_side_by_side({argument})" if name in scratch else f"{argument}[0]"

    gathered = {f"par_{name}": own(name, dimensions, dtype) for name, dimensions, dtype in par}
    arguments = {**BEFORE, **gathered, "tab": own("tab", 2, "float64"), **AFTER}
    parameters = ", ".join(seen(name, f"par_{name}") for name, _, _ in par)
    n, work, carry = sizes["z"], sizes["work"], sizes["carry"]
    return f"""
{cpu_function("types.void", list(arguments.values())) if compiled else ""}
def {ENTRY}({", ".join(arguments)}):
    state, rest, left, kept = _room({n}), _room({n}), _room({max(1, work)}), _room({max(1, carry)})
    for k in range(z.shape[0]):
        own_z, own_e, own_carry = _side_by_side(z[k]), _side_by_side(e[k]), _side_by_side(carry[k])
        for i in range({n}):
            state[i] = own_z[i]
            rest[i] = own_e[i]
        for i in range({carry}):
            kept[i] = own_carry[i]
        par = Parameters({parameters})
        status, made = advance(
            state, rest, _side_by_side(t0[k]), _side_by_side(dt[k]), first, steps, every, par, {seen("tab", "tab")}, left, kept,
            _side_by_side(samples[k]), _side_by_side(scale[k]), _side_by_side(looks[k]), none, none, none, none,
        )
        for i in range({n}):
            own_z[i] = state[i]
            own_e[i] = rest[i]
        for i in range({carry}):
            own_carry[i] = kept[i]
        outcome[k, 0] = status
        outcome[k, 1] = made
"""


def lane_text(
    title: str, parts: Sequence[Part], par: Sequence[ArrayType], entry: str, *, compiled: bool, lanes: int
) -> str:
    """Text of a module on lanes."""
    header = headers.CPU if compiled else headers.PYTHON
    last = lane_header(compiled=compiled, lanes=lanes)
    return headers.module_text(title, on_lanes(parts), par, header=header, last=last, entry="@_fn") + entry
