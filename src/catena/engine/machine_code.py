"""Machine code as bytes: what numba would keep in files of its own, handed over to be kept with a digest.

Numba's files are read without a check, so a wrong bit in them is a crash or, worse, another number.
"""

from __future__ import annotations

import hashlib
import sys
from typing import TYPE_CHECKING

from .numba_private import bytes_of, function_of

if TYPE_CHECKING:
    from numba.core.base import BaseContext
    from numba.core.compiler import CompileResult

# What changes the code that numba makes, apart from the processor: settings of its environment.
SETTINGS = (
    "OPT",
    "LOOP_VECTORIZE",
    "SLP_VECTORIZE",
    "USING_SVML",
    "BOUNDSCHECK",
    "ENABLE_AVX",
    "DEBUGINFO_DEFAULT",
    "CPU_NAME",
    "CPU_FEATURES",
)


class MachineCode:
    """Stands where numba's own cache of a function would: gives the code that was found, takes that which is new."""

    cache_path = "the cache of catena"

    def __init__(self, found: bytes | None) -> None:
        self.found = found
        self.new: bytes | None = None

    def load_overload(self, signature: object, target_context: BaseContext) -> CompileResult | None:
        """The compiled function that was found, or None."""
        found, self.found = self.found, None
        return None if found is None else function_of(found, target_context)

    def save_overload(self, signature: object, result: CompileResult) -> None:
        """Take a compiled function; all that is generated can be kept."""
        self.new = bytes_of(result)

    def enable(self) -> None:
        """Part of what numba expects."""

    disable = flush = enable


def identity_of(text: str) -> str:
    """All that machine code depends on: the text, the versions that compile it, their settings, and the processor."""
    import llvmlite
    import numba
    from llvmlite import binding

    settings = [f"{name}={getattr(numba.config, name, None)}" for name in SETTINGS]
    versions = (
        f"{sys.implementation.cache_tag} {sys.hexversion:x} numba {numba.__version__} llvmlite {llvmlite.__version__}"
    )
    processor = (binding.get_process_triple(), binding.get_host_cpu_name(), binding.get_host_cpu_features().flatten())
    return "\n".join([hashlib.sha256(text.encode()).hexdigest(), versions, *settings, *processor])
