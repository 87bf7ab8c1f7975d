"""Where generated texts are kept on disk: found again by their content, written once, never rewritten."""

from __future__ import annotations

import functools
import hashlib
import os
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
        return Path(tempfile.mkdtemp(prefix="catena-cache-"))


def key(text: str) -> str:
    """Name of a text: the hash of its content and of catena's version."""
    return hashlib.sha256(f"{__version__}\n{text}".encode()).hexdigest()[:24]


def keep(path: Path, text: str) -> None:
    """Write a file that is not there yet, atomically: whoever comes first wins, all write the same."""
    if path.exists():
        return
    handle, temporary = tempfile.mkstemp(dir=path.parent)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
    Path(temporary).replace(path)


def remembered(request: str, make: Callable[[], str]) -> str:
    """What `make` gives for this request, from the disk if it was made before."""
    path = directory() / f"catena_made_{key(request)}.txt"
    try:
        return path.read_text(encoding="utf-8")
    except OSError:
        made = make()
        keep(path, made)
        return made
