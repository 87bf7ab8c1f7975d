"""Machine code as bytes: numba's cache entries, passed to our own cache, which stores them with a digest.

Numba reads its cache files without a check, so one wrong bit in them causes a crash or, worse, a wrong number.
"""

from __future__ import annotations

import hashlib
import sys
from typing import TYPE_CHECKING

from .numba_private import bytes_of, function_of

if TYPE_CHECKING:
    from numba.core.base import BaseContext
    from numba.core.compiler import CompileResult

# Settings of the environment that change the code that numba generates, apart from the CPU.
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
    """Replaces numba's cache of a function: supplies the code that was found, and receives new code."""

    cache_path = "the cache of catena"

    def __init__(self, found: bytes | None) -> None:
        self.found = found
        self.new: bytes | None = None

    def load_overload(self, signature: object, target_context: BaseContext) -> CompileResult | None:
        """The compiled function from the cache, or None."""
        found, self.found = self.found, None
        return None if found is None else function_of(found, target_context)

    def save_overload(self, signature: object, result: CompileResult) -> None:
        """Receive a compiled function; all generated code can be cached."""
        self.new = bytes_of(result)

    def enable(self) -> None:
        """Part of numba's interface."""

    disable = flush = enable


def identity_of(text: str) -> str:
    """Everything on which machine code depends: the text, the versions that compile it, their settings, and the CPU."""
    import llvmlite
    import numba
    from llvmlite import binding

    settings = [f"{name}={getattr(numba.config, name, None)}" for name in SETTINGS]
    versions = (
        f"{sys.implementation.cache_tag} {sys.hexversion:x} numba {numba.__version__} llvmlite {llvmlite.__version__}"
    )
    processor = (binding.get_process_triple(), binding.get_host_cpu_name(), binding.get_host_cpu_features().flatten())
    return "\n".join([hashlib.sha256(text.encode()).hexdigest(), versions, *settings, *processor])
