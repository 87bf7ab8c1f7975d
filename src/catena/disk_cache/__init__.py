"""What was compiled or derived once is kept on disk and found again by its content: a text, or machine code.

All of it lies in one room (`room`), sealed with a digest (`sealed`), and what is no longer used is cleaned away (`tidying`).
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
    """What `make` gives for this request, from the disk if the same code made it before; `also` names a module that it uses."""
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
    """Hash of the code that makes texts: that module and the expressions it works with."""
    own = Path(str(sys.modules[module].__file__))
    files = [own, *sorted((Path(__file__).parents[1] / "expressions").glob("*.py"))]
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()
