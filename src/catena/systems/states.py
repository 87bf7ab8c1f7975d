"""Check that an object is a state of the system: one check for all functions that accept states."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import wraps
from inspect import signature
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeGuard, TypeVar

import numpy as np

from ..errors import InputError, nearest
from .base import State, System
from .numbers import are_finite, finite_number, real_array

if TYPE_CHECKING:
    from ..running.runs import Run

SHOWN = 60  # characters of a wrong object in messages
HELD_AS = ("start", "state", "final")  # attributes that hold the state of problems, equilibria and runs

Started = TypeVar("Started", bound=System)
Given = ParamSpec("Given")


def naming_arguments(
    start: Callable[Concatenate[Started, Given], State],
) -> Callable[Concatenate[Started, Given], State]:
    """Wrap `start` of a system: called with wrong or missing arguments, it raises an error that lists what it takes."""

    @wraps(start)
    def named(system: Started, /, *given: Given.args, **by_name: Given.kwargs) -> State:
        try:
            return start(system, *given, **by_name)
        except TypeError:
            try:
                signature(start).bind(system, *given, **by_name)
            except TypeError as misfit:
                raise _explain_misnamed(system, list(signature(start).parameters)[1:], by_name, str(misfit)) from None
            raise

    return named


def _explain_misnamed(system: System, takes: list[str], given: Mapping[str, object], misfit: str) -> InputError:
    """The error for a start whose arguments do not fit; `misfit` is Python's message."""
    scene = system.scene()
    labels = {} if scene is None else scene.labels
    spelt = [f"{name} = [{', '.join(labels[name])}]" if name in labels else name for name in takes]
    unknown = [name for name in given if name not in takes]
    if unknown:
        misfit = f"start takes no {unknown[0]!r}{nearest(unknown[0], takes)}"
    return InputError(misfit, where=f"start of {system.title}", do=f"it takes {', '.join(spelt)}")


def as_state(system: System, given: object, where: str) -> State:
    """A state with its fields as arrays: the fields of the system, with their shapes, finite.

    Parameters
    ----------
    where : the argument, such as "simulate.start"
    """
    if is_shaped(given, system) and all(are_finite(values) for values in given.fields.values()):
        return given
    name = where.rpartition(".")[2]
    if not isinstance(given, State):
        held = next((part for part in HELD_AS if isinstance(getattr(given, part, None), State)), None)
        raise InputError(
            f"{name} = {_shortly(given)} is not a state", where=where,
            do=f"give its .{held}" if held else "make one with system.start(...)",
        )  # fmt: skip
    wanted = {f.name: f.shape for f in system.fields}
    try:
        arrays = {field: real_array(values) for field, values in given.fields.items()}
    except (TypeError, ValueError):
        arrays = {}
    seen = {field: array.shape for field, array in arrays.items()}
    if seen != wanted:
        raise InputError(
            f"the {name} has {_show(seen)}; this system needs {_show(wanted)}", where=where, do="make it with start() of this system"
        )  # fmt: skip
    if not all(np.isfinite(array).all() for array in arrays.values()):
        raise InputError(f"the {name} is not finite", where=where, do="give finite numbers")
    return State(arrays, finite_number(given.time, f"{where}.time"))


def is_shaped(given: object, system: System) -> TypeGuard[State]:
    """Whether an object is a state of the system except for numbers that are not finite, as most are: a motion in
    closed form takes microseconds, and this check a tenth of that."""
    if not isinstance(given, State) or type(given.time) is not float or not math.isfinite(given.time):
        return False
    fields, wanted = given.fields, system.fields
    if len(fields) != len(wanted):
        return False
    for field in wanted:
        values = fields.get(field.name)
        if type(values) is not np.ndarray or values.dtype != np.float64 or values.shape != field.shape:
            return False
    return True


def as_start(system: System, given: object, where: str) -> State:
    """A state from which the system can start: one of its own states, allowed by its constraints."""
    state = as_state(system, given, where)
    system.check_start(state)
    return state


def as_run(system: System, run: Run[System], where: str) -> Run[System]:
    """A run whose states are those of this system."""
    moved = getattr(run, "system", None)
    if not isinstance(moved, System) or (moved.kind, moved.fields) != (system.kind, system.fields):
        raise InputError(
            f"{_shortly(run)} is not a run of {system!r}", where=where, do="give one, made by ct.simulate with this system"
        )  # fmt: skip
    return run


def _show(shapes: Mapping[str, tuple[int, ...]]) -> str:
    return ", ".join(f"{name} {shape}" for name, shape in shapes.items()) or "no numbers"


def _shortly(given: object) -> str:
    first, *more = repr(given).splitlines() or [""]
    return f"{first[:SHOWN]} ..." if more or len(first) > SHOWN else first
