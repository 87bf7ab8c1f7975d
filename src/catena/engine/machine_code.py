"""Machine code as bytes: what numba would keep in files of its own, handed over to be kept with a digest.

Numba's files are read without a check, so a wrong bit in them is a crash or, worse, another number.
"""

from __future__ import annotations

import contextlib
import hashlib
import pickle
import sys
from collections.abc import Iterator
from typing import Any

from .compiling import PREFIX

# What changes the code that numba makes, apart from the processor: settings of its environment.
SETTINGS = ("OPT", "LOOP_VECTORIZE", "SLP_VECTORIZE", "USING_SVML", "BOUNDSCHECK", "ENABLE_AVX", "DEBUGINFO_DEFAULT")


class MachineCode:
    """Stands where numba's own cache of a function would: gives the code that was found, takes that which is new."""

    cache_path = "the cache of catena"

    def __init__(self, found: bytes | None) -> None:
        self.found = found
        self.new: bytes | None = None

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """The compiled function that was found, or None.

        Numba prepares itself to compile before it looks, whatever it finds, which takes half of a warm start; and again (that is,
        only now) if it has to compile. What is loaded here needs no preparation: it uses nothing of numba's runtime (`_nrt=False`).
        """
        from numba.core.compiler import CompileResult

        found, self.found = self.found, None
        return None if found is None else CompileResult._rebuild(target_context, *pickle.loads(found))

    def save_overload(self, signature: Any, result: Any) -> None:
        """Take a compiled function; all that is generated can be kept."""
        from numba.core.serialize import dumps

        self.new = dumps(result._reduce())

    def enable(self) -> None:
        """Part of what numba expects."""

    disable = flush = enable


def identity_of(text: str) -> str:
    """All that machine code depends on: the text, the versions that compile it, their settings, and the processor."""
    import llvmlite
    import numba
    from numba.core.registry import cpu_target

    settings = [f"{name}={getattr(numba.config, name, None)}" for name in SETTINGS]
    versions = (
        f"{sys.implementation.cache_tag} {sys.hexversion:x} numba {numba.__version__} llvmlite {llvmlite.__version__}"
    )
    processor = map(str, cpu_target.target_context.codegen().magic_tuple())
    return "\n".join([hashlib.sha256(text.encode()).hexdigest(), versions, *settings, *processor])


@contextlib.contextmanager
def kept_by(code: MachineCode) -> Iterator[None]:
    """Let the entry of the generated module that is made meanwhile keep its code there."""
    from numba.core.dispatcher import Dispatcher

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
