"""Every private name of numba that is used, and what is done without it.

They are private, so they hold for the version that the tests know. With another one the plain way is taken, and said once: numba compiles
with all its passes, which takes twice as long, and code is kept in memory only. None of them changes what is computed, and none
touches what another thread compiles meanwhile.
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
# Passes for what no kernel contains: closures, `with`, array expressions, `literal_unroll`; without them such code is an error.
NEEDLESS = ("WithLifting", "InlineClosureLikes", "MakeFunctionToJitFunction", "LiteralUnroll", "NopythonRewrites")

Replacements = dict[tuple[type, str], object]  # (class, method) -> another method


def is_known() -> bool:
    """Whether the private names of this numba are those that the tests know; if not, that is said once."""
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
    gc.disable()  # numba's many small objects make it run in vain
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
    """Of a generated module only the entry is ever called; the parts become part of it and are optimised there again."""
    from numba.core.codegen import CPUCodeLibrary, JITCPUCodegen

    optimise, finish = CPUCodeLibrary._optimize_final_module, CPUCodeLibrary._finalize_final_module
    set_environment = JITCPUCodegen.set_env

    def optimise_entry(self: CPUCodeLibrary) -> None:
        if self.name not in parts:
            optimise(self)

    def finish_entry(self: CPUCodeLibrary) -> None:
        if self.name not in parts:
            finish(self)
        else:  # it stays as it is, to be linked into others
            self._finalize_dynamic_globals()
            self._finalized = True

    def set_known_environment(self: JITCPUCodegen, name: str, environment: Environment) -> None:
        if self._engine.is_symbol_defined(name):  # a part has none: it was not put into the engine
            set_environment(self, name, environment)

    return {
        (CPUCodeLibrary, "_optimize_final_module"): optimise_entry,
        (CPUCodeLibrary, "_finalize_final_module"): finish_entry,
        (JITCPUCodegen, "set_env"): set_known_environment,
    }


def _remember_signatures() -> Replacements:
    """Numba looks through all its rules for what a product of two numbers is, each time it meets one."""
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
    """Every function goes through all passes, and is analysed anew after many of them."""
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
    """Before each function numba looks for declarations that came up since the last one; a generated module makes none on its way."""
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
    """What numba asks of the cache of a function."""

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """The compiled function, or None."""

    def save_overload(self, signature: Any, result: Any) -> None:
        """Take a compiled function."""


@contextlib.contextmanager
def keep_code(code: Keeper) -> Iterator[None]:
    """Let the entry of the generated module that is made meanwhile keep its code there."""
    from numba.core.dispatcher import Dispatcher

    if not is_known():
        yield
        return
    usual = Dispatcher.enable_caching

    def enable_caching(self: Any) -> None:
        if self.py_func.__module__.startswith(PREFIX):
            self._cache = code
        else:  # of another thread
            usual(self)

    Dispatcher.enable_caching = enable_caching  # type: ignore[method-assign]
    try:
        yield
    finally:
        Dispatcher.enable_caching = usual  # type: ignore[method-assign]


def bytes_of(compiled: Any) -> bytes:
    """A compiled function as bytes.

    Without the environments of its parts: they hold Python objects, which no kernel has, and name the module in which a part stood first.
    """
    from numba.core.serialize import dumps

    *needed, _ = compiled._reduce()
    made: bytes = dumps((*needed, ()))
    return made


def function_of(code: bytes, target_context: Any) -> Any:
    """The compiled function whose bytes these are.

    Numba prepares itself to compile before it looks for code, whatever it finds, which takes half of a warm start; and again (that is, only
    now) if it has to compile. What is loaded here needs no preparation: it uses nothing of numba's runtime (`_nrt=False`).
    """
    from numba.core.compiler import CompileResult

    return CompileResult._rebuild(target_context, *pickle.loads(code))
