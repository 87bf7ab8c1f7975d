"""Functions that several generated modules have in common: compiled once per process.

Methods step the same system, systems use the same elementary functions, and every module has the same loop. Numba takes
about 50 ms for each small function, mostly for type inference, even if it has compiled the same before. So a function
with the same operations, constants and callees as an earlier one is replaced by that one.
"""

from __future__ import annotations

import builtins
import collections
import contextlib
import dis
from collections.abc import Callable, Hashable, Iterator
from types import CodeType, FunctionType, ModuleType
from typing import TypeAlias

import numpy as np

Decorator: TypeAlias = Callable[[FunctionType], object]

_made: dict[
    Hashable, tuple[object, list[object]]
] = {}  # the compiled function, and the objects that it refers to, which must stay alive
_tuples: dict[Hashable, type] = {}
_code_is_there = False


def namedtuple(name: str, fields: tuple[str, ...]) -> type:
    """A namedtuple class shared by all modules: numba treats equal classes of two modules as two types.

    The class is a global with this name in this module; otherwise it would be pickled by value, and cached code that
    takes it would not be found.
    """
    if (name, fields) not in _tuples:
        made = collections.namedtuple(name, fields, module=__name__)  # type: ignore[misc]
        globals()[name] = _tuples[name, fields] = made
    return _tuples[name, fields]


def share(decorate: Decorator, how: str) -> Decorator:
    """`decorate` with a cache: a function met before returns the earlier result. `how` distinguishes decorations."""

    def found(function: FunctionType) -> object:
        if _code_is_there:
            return function
        meant = _read_globals(function)
        if meant is None:
            return decorate(function)
        key = how, function.__name__, function.__defaults__, _operations(function.__code__), *map(_meaning, meant)
        if key not in _made:
            _made[key] = decorate(function), meant
        return _made[key][0]

    return found


@contextlib.contextmanager
def without_compiling() -> Iterator[None]:
    """Execute the module of an entry whose code is cached: its parts are never called, so they stay plain functions."""
    global _code_is_there
    _code_is_there = True
    try:
        yield
    finally:
        _code_is_there = False


def _read_globals(function: FunctionType) -> list[object] | None:
    """The globals that a function reads; None if one is not defined yet."""
    steps = dis.get_instructions(function.__code__)
    names = sorted({step.argval for step in steps if step.opname == "LOAD_GLOBAL"})
    known = function.__globals__
    if any(name not in known and not hasattr(builtins, name) for name in names):
        return None
    return [known[name] for name in names if name in known]


def _meaning(thing: object) -> Hashable:
    """A key that distinguishes globals of the same name; shared objects are identical."""
    if isinstance(thing, bool | int | float | str):
        return repr(thing)
    if isinstance(thing, np.ndarray):
        return thing.dtype.str, thing.shape, thing.tobytes()
    return thing if isinstance(thing, type | ModuleType) else id(thing)


def _operations(code: CodeType) -> Hashable:
    constants = [_operations(c) if isinstance(c, CodeType) else repr(c) for c in code.co_consts]
    return code.co_code, *constants, code.co_names, code.co_varnames, code.co_freevars, code.co_exceptiontable
