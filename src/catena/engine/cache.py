"""Generated modules, compiled once per machine: text and machine code are found again by the content of the text."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import sys
import threading
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..disk_cache import directory, keep, key
from ..talk import say
from .compiling import PREFIX, sparing

MILLISECONDS_EACH = 0.2  # to compile a character of generated text

_loading = threading.Lock()


def load(text: str, title: str) -> types.ModuleType:
    """The module of a generated text, compiled now unless this machine has done so before."""
    with _loading:  # another thread must not see a module that is still being made
        name = f"{PREFIX}{key(text)}"
        return sys.modules.get(name) or _make(name, text, title)


def _make(name: str, text: str, title: str) -> types.ModuleType:
    path = directory() / f"{name}.py"
    keep(path, text)
    # Intel's vector math library, where installed, would give other bits than libm.
    os.environ.setdefault("NUMBA_DISABLE_INTEL_SVML", "1")
    spared: contextlib.AbstractContextManager[None] = contextlib.nullcontext()
    if not is_compiled(path):
        say(f"compiling {title} (once for this machine, about {seconds_to_compile(text)} s)")
        spared = sparing(text)
    specification = importlib.util.spec_from_file_location(name, path)
    assert specification is not None and specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules[name] = module
    try:
        with _unprepared(), spared:
            specification.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def seconds_to_compile(text: str) -> int:
    """About how long compiling a generated text takes a processor that does nothing else; from 10 s on in steps of 5 s.

    Measured from the oscillator (5.5 kB, 1.2 s) to linkages (55 and 70 kB, 14 and 17 s): 0.14 to 0.26 ms for each character.
    """
    seconds = MILLISECONDS_EACH * len(text) / 1000
    return max(1, round(seconds)) if seconds < 10 else 5 * round(seconds / 5)


@contextlib.contextmanager
def _unprepared() -> Iterator[None]:
    """Let numba look for machine code before it prepares itself to compile, which takes half of a warm start.

    It prepares first, whatever it finds; and again (that is, only now) if it has to compile. What is loaded here needs
    no preparation: it uses nothing of numba's runtime (`_nrt=False`).
    """
    from numba.core.caching import Cache

    usual = Cache.load_overload

    def load_overload(self: Any, sig: Any, target_context: Any) -> Any:
        if not self._py_func.__module__.startswith(PREFIX):
            return usual(self, sig, target_context)
        with self._guard_against_spurious_io_errors():
            return self._load_overload(sig, target_context)

    Cache.load_overload = load_overload  # type: ignore[method-assign]
    try:
        yield
    finally:
        Cache.load_overload = usual  # type: ignore[method-assign]


def is_compiled(path: Path) -> bool:
    """Whether numba keeps machine code of a generated module: beside it, or where NUMBA_CACHE_DIR says."""
    elsewhere = os.environ.get("NUMBA_CACHE_DIR")
    places = Path(elsewhere).glob("*") if elsewhere else [path.parent / "__pycache__"]
    return any(index for place in places for index in place.glob(f"{path.stem}.*.nbi"))
