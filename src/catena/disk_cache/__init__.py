"""A cache on disk for results of compilation and derivation, found by content: texts and machine code.

Everything is in one directory (`room`), sealed with a digest (`sealed`), and old files are removed (`tidying`).
"""

from __future__ import annotations

import functools
import hashlib
import sys
from collections.abc import Callable
from pathlib import Path

from .forking import hold_forks
from .room import VARIABLE, find, keep, place

__all__ = ["VARIABLE", "find", "keep", "place", "remember"]


def remember(request: str, make: Callable[[], str], *, also: str = "") -> str:
    """The result of `make` for this request, cached as long as its code, and that of the module `also`, is the same."""
    makers = "".join(_makers(module) for module in (make.__module__, also) if module)
    identity = f"{makers}\n{request}"
    found = find("text", identity)
    if found is not None:
        return found.decode()
    with hold_forks():
        made = make()
    keep("text", identity, made.encode())
    return made


@functools.cache
def _makers(module: str) -> str:
    """Hash of the code that makes texts: that module and the expressions package."""
    own = Path(str(sys.modules[module].__file__))
    files = [own, *sorted((Path(__file__).parents[1] / "expressions").glob("*.py"))]
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()
