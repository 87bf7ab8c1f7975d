"""All private names of numba that are used, and what happens without them.

They are tied to the version that the tests know. With another version the public way is used, with one log message:
numba runs all its compiler passes, which takes twice as long, and caches code in memory only. None of these names
changes results, and none affects what another thread compiles meanwhile.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import pickle
import re
import threading
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from numba.core.compiler import StateDict
    from numba.core.environment import Environment
    from numba.core.types import Type
    from numba.core.typing.context import Context
    from numba.core.typing.templates import Signature

from ..log import log_message

KNOWN = (0, 68)  # version of numba; `pyproject.toml` and the header of generated code name it, too
PREFIX = "catena_generated_"  # of the names of generated modules
PART = re.compile(r"^@_(?:fn|apart|inline|within)\ndef (\w+)\(", re.MULTILINE)
# Passes for constructs that no kernel contains: closures, `with`, array expressions, `literal_unroll`; without them
# such code is an error.
NEEDLESS = ("WithLifting", "InlineClosureLikes", "MakeFunctionToJitFunction", "LiteralUnroll", "NopythonRewrites")

Replacements = dict[tuple[type, str], object]  # (class, method) -> another method


def is_known() -> bool:
    """Whether this is the version of numba that the tests know; logs once if not."""
    import numba

    found = numba.version_info[:2]
    if found != KNOWN:
        _log_unknown(numba.__version__)
    return found == KNOWN


@functools.cache
def _log_unknown(version: str) -> None:
    log_message(
        f"numba {version} is not known here: compiling takes longer, and is done anew in each process; "
        f"numba {KNOWN[0]}.{KNOWN[1]} keeps what is compiled"
    )


@contextlib.contextmanager
def sparing(text: str) -> Iterator[None]:
    """Compile the module of this text with less work."""
    new: Replacements = {}
    if is_known():
        parts = frozenset(PART.findall(text))
        new = _finish_the_entry_only(parts) | _remember_signatures() | _fewer_passes() | _refresh_once()
    usual = {(owner, name): owner.__dict__[name] for owner, name in new}
    collects = gc.isenabled()
    gc.disable()  # numba's many small objects trigger it in vain
    _replace(new)
    try:
        yield
    finally:
        _replace(usual)
        if collects:
            gc.enable()


def _replace(methods: Replacements) -> None:
    for (owner, name), method in methods.items():
        setattr(owner, name, method)


def _finish_the_entry_only(parts: frozenset[str]) -> Replacements:
    """Only the entry of a generated module is called; other functions are linked into it and optimised there again."""
    from numba.core.codegen import CPUCodeLibrary, JITCPUCodegen

    optimise, finish = CPUCodeLibrary._optimize_final_module, CPUCodeLibrary._finalize_final_module
    set_environment = JITCPUCodegen.set_env

    def optimise_entry(self: CPUCodeLibrary) -> None:
        if self.name not in parts:
            optimise(self)

    def finish_entry(self: CPUCodeLibrary) -> None:
        if self.name not in parts:
            finish(self)
        else:  # unoptimised, to be linked into others
            self._finalize_dynamic_globals()
            self._finalized = True

    def set_known_environment(self: JITCPUCodegen, name: str, environment: Environment) -> None:
        if self._engine.is_symbol_defined(name):  # parts have none: they were not added to the engine
            set_environment(self, name, environment)

    return {
        (CPUCodeLibrary, "_optimize_final_module"): optimise_entry,
        (CPUCodeLibrary, "_finalize_final_module"): finish_entry,
        (JITCPUCodegen, "set_env"): set_known_environment,
    }


def _remember_signatures() -> Replacements:
    """Cache resolved signatures: numba searches all its rules for the type of a product each time it meets one."""
    from numba.core.types.functions import BaseFunction

    find = BaseFunction.get_call_type
    known: dict[tuple[BaseFunction, tuple[Type, ...]], Signature | None] = {}

    def recall(
        self: BaseFunction, context: Context, args: tuple[Type, ...], kws: Mapping[str, Type]
    ) -> Signature | None:
        if kws:
            return find(self, context, args, kws)
        if (self, args) not in known:
            known[self, args] = find(self, context, args, kws)
        return known[self, args]

    return {(BaseFunction, "get_call_type"): recall}


def _fewer_passes() -> Replacements:
    """Skip passes: by default every function goes through all of them, and is analysed anew after many."""
    from numba.core.compiler import DefaultPassBuilder
    from numba.core.compiler_machinery import PassManager

    define = DefaultPassBuilder.define_nopython_pipeline

    def define_fewer(state: StateDict, name: str = "nopython") -> PassManager:
        usual = define(state, name)
        if not state.func_id.modname.startswith(PREFIX):
            return usual
        fewer = PassManager(name)
        for compiler_pass, about in usual.passes:
            if compiler_pass.__name__ not in NEEDLESS:
                fewer.add_pass(compiler_pass, about)
        fewer.finalize()
        return fewer

    return {(DefaultPassBuilder, "define_nopython_pipeline"): staticmethod(define_fewer)}


def _refresh_once() -> Replacements:
    """Before each function numba looks for new declarations; a generated module makes none while it is compiled."""
    from numba.core.base import BaseContext

    refresh = BaseContext.refresh
    mine, refreshed = threading.get_ident(), set[BaseContext]()

    def refresh_once(self: BaseContext) -> None:
        if threading.get_ident() != mine:
            refresh(self)
        elif self not in refreshed:
            refreshed.add(self)
            refresh(self)

    return {(BaseContext, "refresh"): refresh_once}


class Keeper(Protocol):
    """The part of a function's cache that numba calls."""

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """The compiled function, or None."""

    def save_overload(self, signature: Any, result: Any) -> None:
        """Receive a compiled function."""


@contextlib.contextmanager
def keep_code(code: Keeper) -> Iterator[None]:
    """Let the entry of the generated module that is compiled inside this context use this cache."""
    from numba.core.dispatcher import Dispatcher

    if not is_known():
        yield
        return
    usual = Dispatcher.enable_caching

    def enable_caching(self: Any) -> None:
        if self.py_func.__module__.startswith(PREFIX):
            self._cache = code
        else:  # compiled by another thread
            usual(self)

    Dispatcher.enable_caching = enable_caching  # type: ignore[method-assign]
    try:
        yield
    finally:
        Dispatcher.enable_caching = usual  # type: ignore[method-assign]


def bytes_of(compiled: Any) -> bytes:
    """Serialise a compiled function.

    The environments of its parts are left out: they hold Python objects, which no kernel has, and name the module in
    which a part was compiled first.
    """
    from numba.core.serialize import dumps

    *needed, _ = compiled._reduce()
    made: bytes = dumps((*needed, ()))
    return made


def function_of(code: bytes, target_context: Any) -> Any:
    """Restore a compiled function from its bytes.

    Numba initialises its compiler before it looks into the cache, which takes half of a warm start, and again when it
    has to compile. Here only the latter happens: loaded code needs no such preparation, because it uses nothing of
    numba's runtime (`_nrt=False`).
    """
    from numba.core.compiler import CompileResult

    return CompileResult._rebuild(target_context, *pickle.loads(code))
