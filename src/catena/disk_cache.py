"""Where generated texts are kept on disk: found again by their content, written once, never rewritten."""

from __future__ import annotations

import atexit
import functools
import hashlib
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from .talk import say
from .version import __version__

VARIABLE = "CATENA_CACHE_DIR"


def directory() -> Path:
    """$CATENA_CACHE_DIR, else the user's cache directory, else one for this process."""
    return _usable(os.environ.get(VARIABLE, ""))


@functools.cache
def _usable(chosen: str) -> Path:
    if chosen:
        folder = Path(chosen)
    else:
        import platformdirs

        folder = Path(platformdirs.user_cache_dir("catena"))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError as problem:
        say(f"cannot write to the cache {folder} ({problem.strerror}); what is compiled serves this process only")
        own = Path(tempfile.mkdtemp(prefix="catena-cache-"))
        atexit.register(shutil.rmtree, own, ignore_errors=True)
        return own


def key(text: str) -> str:
    """Name of a text: the hash of its content and of catena's version."""
    return hashlib.sha256(f"{__version__}\n{text}".encode()).hexdigest()[:24]


def keep(path: Path, text: str) -> None:
    """Write a file unless it is there, atomically: whoever comes first wins, all write the same."""
    data = text.encode()
    if path.exists() and path.read_bytes() == data:  # other bytes: a crash of the machine cut it off
        return
    handle, temporary = tempfile.mkstemp(dir=path.parent)
    with os.fdopen(handle, "wb") as file:
        file.write(data)
    Path(temporary).replace(path)


def remembered(request: str, make: Callable[[], str], *, also: str = "") -> str:
    """What `make` gives for this request, from the disk if the same code made it before; `also` names a module that it uses."""
    makers = "".join(_makers(module) for module in (make.__module__, also) if module)
    path = directory() / f"catena_made_{key(makers + request)}.txt"
    try:
        checksum, _, found = path.read_text(encoding="utf-8").partition("\n")
    except (OSError, UnicodeDecodeError):
        checksum, found = "", ""
    if checksum == key(found):
        return found
    made = make()
    keep(path, f"{key(made)}\n{made}")
    return made


@functools.cache
def _makers(module: str) -> str:
    """Hash of the code that makes texts: that module and the expressions it works with."""
    own = Path(str(sys.modules[module].__file__))
    files = [own, *sorted((Path(__file__).parent / "expressions").glob("*.py"))]
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()
