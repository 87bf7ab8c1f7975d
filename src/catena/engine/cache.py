"""Generated modules, compiled once per machine: the cache finds machine code by the content of the text."""

from __future__ import annotations

import contextlib
import hashlib
import linecache
import marshal
import os
import sys
import types

from .. import disk_cache
from ..disk_cache.forking import hold_forks, lock
from ..disk_cache.tidying import tidy
from ..log import log_message
from ..version import __version__
from .machine_code import MachineCode, identity_of
from .numba_private import PREFIX, keep_code, sparing
from .sharing import without_compiling

MILLISECONDS_EACH = 0.2  # to compile a character of generated text

_loading = lock()
_loaded: dict[str, types.ModuleType] = {}  # by text


def load(text: str, title: str) -> types.ModuleType:
    """The module of a generated text; compiled now unless it is in the cache."""
    with _loading, hold_forks():  # no other thread may see a half-made module, or fork meanwhile
        if text not in _loaded:
            name = PREFIX + hashlib.sha256(f"{__version__}\n{text}".encode()).hexdigest()[:24]
            _loaded[text] = _make(name, text, title)
        return _loaded[text]


def _make(name: str, text: str, title: str) -> types.ModuleType:
    # Intel's vector math library, where installed, would give other bits than libm.
    os.environ.setdefault("NUMBA_DISABLE_INTEL_SVML", "1")
    identity = identity_of(text)
    found = disk_cache.find("code", identity)
    if found is not None:
        program, machine = marshal.loads(found)
        return _execute(name, program, MachineCode(machine), without_compiling())
    log_message(f"compiling {title} (once for this machine, about {seconds_to_compile(text)} s)")
    file = f"<{name}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)  # so that tracebacks show lines
    program, code = compile(text, file, "exec"), MachineCode(None)
    module = _execute(name, program, code, sparing(text))
    if code.new is not None:
        disk_cache.keep("code", identity, marshal.dumps((program, code.new)))
        tidy()
    return module


def _execute(
    name: str, program: types.CodeType, code: MachineCode, spared: contextlib.AbstractContextManager[None]
) -> types.ModuleType:
    """Execute the text as a module, which is importable by name meanwhile."""
    module = types.ModuleType(name)
    sys.modules[name] = module
    try:
        with keep_code(code), spared:
            exec(program, module.__dict__)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def seconds_to_compile(text: str) -> int:
    """Estimated time to compile a generated text on an idle CPU; from 10 s on in steps of 5 s.

    Measured from the oscillator (5.5 kB, 1.2 s) to linkages (55 and 70 kB, 14 and 17 s): 0.14 to 0.26 ms per character.
    """
    seconds = MILLISECONDS_EACH * len(text) / 1000
    return max(1, round(seconds)) if seconds < 10 else 5 * round(seconds / 5)
