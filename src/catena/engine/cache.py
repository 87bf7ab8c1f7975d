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

from ..disk_cache import directory, keep, key
from ..talk import say

_loading = threading.Lock()


def load(text: str, title: str) -> types.ModuleType:
    """The module of a generated text, compiled now unless this machine has done so before."""
    with _loading:  # another thread must not see a module that is still being made
        name = f"catena_generated_{key(text)}"
        return sys.modules.get(name) or _make(name, text, title)


def _make(name: str, text: str, title: str) -> types.ModuleType:
    path = directory() / f"{name}.py"
    keep(path, text)
    # Intel's vector math library, where installed, would give other bits than libm.
    os.environ.setdefault("NUMBA_DISABLE_INTEL_SVML", "1")
    if not is_compiled(path):
        say(f"compiling {title} (once for this machine, a few seconds)")
    specification = importlib.util.spec_from_file_location(name, path)
    assert specification is not None and specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules[name] = module
    try:
        with _no_search_for_blas():
            specification.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


@contextlib.contextmanager
def _no_search_for_blas() -> Iterator[None]:
    """Spare numba the import of scipy.linalg, a third of a warm start.

    The first module it loads makes it import that, only to know whether BLAS is there. It is: catena requires SciPy.
    """
    from numba.np import linalg

    search = getattr(linalg, "ensure_blas", None)
    if search is None or "numba.np.arraymath" in sys.modules:
        yield
        return
    linalg.ensure_blas = lambda: None
    try:
        yield
    finally:
        linalg.ensure_blas = search
        if "numba.np.arraymath" in sys.modules:
            sys.modules["numba.np.arraymath"].ensure_blas = search  # type: ignore[attr-defined]


def is_compiled(path: Path) -> bool:
    """Whether numba keeps machine code of a generated module: beside it, or where NUMBA_CACHE_DIR says."""
    elsewhere = os.environ.get("NUMBA_CACHE_DIR")
    places = Path(elsewhere).glob("*") if elsewhere else [path.parent / "__pycache__"]
    return any(index for place in places for index in place.glob(f"{path.stem}.*.nbi"))
