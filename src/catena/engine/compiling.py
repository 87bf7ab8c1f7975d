"""Less work for numba while a generated module is compiled: it takes half of the time.

Each replacement stands for a method that is private in numba, so they are for the version that the tests know; with another one
compiling only takes longer. None changes what is computed, and none touches what another thread compiles meanwhile.
"""

from __future__ import annotations

import contextlib
import gc
import re
import threading
from collections.abc import Iterator
from typing import Any

KNOWN = (0, 68)  # version of numba
PREFIX = "catena_generated_"  # of the names of generated modules
PART = re.compile(r"^@_(?:fn|apart|inline|within)\ndef (\w+)\(", re.MULTILINE)
# Passes for what no kernel contains: closures, `with`, array expressions, `literal_unroll`; without them such code is an error.
NEEDLESS = ("WithLifting", "InlineClosureLikes", "MakeFunctionToJitFunction", "LiteralUnroll", "NopythonRewrites")

Replacements = dict[tuple[Any, str], Any]  # (class, method) -> another method


@contextlib.contextmanager
def sparing(text: str) -> Iterator[None]:
    """Compile the module of this text with less work."""
    import numba

    new: Replacements = {}
    if numba.version_info[:2] == KNOWN:
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

    def optimise_entry(self: Any) -> None:
        if self.name not in parts:
            optimise(self)

    def finish_entry(self: Any) -> None:
        if self.name not in parts:
            finish(self)
        else:  # it stays as it is, to be linked into others
            self._finalize_dynamic_globals()
            self._finalized = True

    def set_known_environment(self: Any, name: str, environment: Any) -> None:
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
    known: dict[Any, Any] = {}

    def recall(self: Any, context: Any, args: Any, kws: Any) -> Any:
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

    def define_fewer(state: Any, name: str = "nopython") -> Any:
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
    mine, refreshed = threading.get_ident(), set[Any]()

    def refresh_once(self: Any) -> None:
        if threading.get_ident() != mine:
            refresh(self)
        elif self not in refreshed:
            refreshed.add(self)
            refresh(self)

    return {(BaseContext, "refresh"): refresh_once}
