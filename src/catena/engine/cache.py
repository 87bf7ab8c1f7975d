"""Generated modules, compiled once per machine: text and machine code are found again by the content of the text."""

from __future__ import annotations

import importlib.util
import os
import sys
import types

from ..disk_cache import directory, keep, key
from ..talk import say


def load(text: str, title: str) -> types.ModuleType:
    """The module of a generated text, compiled now unless this machine has done so before."""
    name = f"catena_generated_{key(text)}"
    if name in sys.modules:
        return sys.modules[name]
    path = directory() / f"{name}.py"
    keep(path, text)
    # Intel's vector math library, where installed, would give other bits than libm.
    os.environ.setdefault("NUMBA_DISABLE_INTEL_SVML", "1")
    if not any((path.parent / "__pycache__").glob(f"{name}.*.nbi")):
        say(f"compiling {title} (once for this machine, a few seconds)")
    specification = importlib.util.spec_from_file_location(name, path)
    assert specification is not None and specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules[name] = module
    try:
        specification.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
