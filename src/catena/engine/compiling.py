"""Less work for numba while a generated module is compiled: it takes two thirds of the time.

Numba finishes every function on its own: optimised and as machine code. Of a generated module only the entry is ever called; the others
become part of it and are optimised there again. And its many small objects make Python's garbage collector run in vain.
"""

from __future__ import annotations

import contextlib
import gc
import re
from collections.abc import Iterator
from typing import Any

PART = re.compile(r"^@_(?:fn|apart|inline|within)\ndef (\w+)\(", re.MULTILINE)


@contextlib.contextmanager
def sparing(text: str) -> Iterator[None]:
    """Compile the module of this text with less work; methods that are private in numba, pinned by a test."""
    from numba.core.codegen import CPUCodeLibrary, JITCPUCodegen

    parts = frozenset(PART.findall(text))
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

    library: Any = CPUCodeLibrary
    codegen: Any = JITCPUCodegen
    collects = gc.isenabled()
    gc.disable()
    library._optimize_final_module, library._finalize_final_module = optimise_entry, finish_entry
    codegen.set_env = set_known_environment
    try:
        yield
    finally:
        library._optimize_final_module, library._finalize_final_module = optimise, finish
        codegen.set_env = set_environment
        if collects:
            gc.enable()
