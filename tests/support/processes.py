"""Other processes for the tests: Python scripts, forked children, and kills at chosen moments."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

from places import ROOT

SOURCE = ROOT / "src"


def start_python(code: str, *arguments: object, source: Path = SOURCE, **environment: object) -> subprocess.Popen[str]:
    """A new Python that runs a text, with catena taken from `source`."""
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", code, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=source,
        env={**os.environ, "PYTHONPATH": str(source), **{name: str(value) for name, value in environment.items()}},
    )


def finish_python(process: subprocess.Popen[str]) -> tuple[str, str]:
    """Its stdout and stderr, after it has ended successfully."""
    try:
        output, messages = process.communicate(timeout=600)
    except subprocess.TimeoutExpired:
        process.kill()  # otherwise it would slow down all following tests
        process.communicate()
        raise
    assert process.returncode == 0, messages
    return output, messages


def run_python(code: str, *arguments: object, source: Path = SOURCE, **environment: object) -> tuple[str, str]:
    """stdout and stderr of a new Python that runs a text."""
    return finish_python(start_python(code, *arguments, source=source, **environment))


def spawn(action: Callable[[], object]) -> int:
    """Run an action in a forked process; returns its id. Code that was compiled before the fork is shared."""
    with warnings.catch_warnings():
        # Newer Pythons warn about threads of the parent (zarr has one); the child uses none of them.
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        action()
        status = 0
    finally:
        os._exit(status)


def wait_for(action: Callable[[], object]) -> int:
    """Run an action in a forked process; returns its exit status like `os.waitpid`."""
    return os.waitpid(spawn(action), 0)[1]


def kill_at(number: int, action: Callable[[], object]) -> None:
    """Run an action in a forked process that kills itself at a boundary between two changes of the disk, from 0 on."""
    from catena.store import files

    passed = iter(range(number + 1))

    def pass_or_die(name: str) -> None:
        if next(passed) == number:
            os.kill(os.getpid(), signal.SIGKILL)

    def doomed() -> None:
        files.boundary_hook = pass_or_die
        action()

    assert wait_for(doomed) == signal.SIGKILL


def boundaries(action: Callable[[], object]) -> list[str]:
    """The names of the boundaries between changes of the disk that an action passes."""
    from catena.store import files

    passed: list[str] = []
    files.boundary_hook = passed.append
    try:
        action()
    finally:
        files.boundary_hook = None
    return passed


def contents(path: Path) -> dict[str, str]:
    """SHA-256 of every file under a path; also directories, by name."""
    found = {}
    for entry in sorted(path.rglob("*")):
        name = str(entry.relative_to(path))
        found[name] = hashlib.sha256(entry.read_bytes()).hexdigest() if entry.is_file() else "directory"
    return found


def read_plainly(path: Path) -> dict[str, np.ndarray]:
    """All arrays of a store as a user without catena reads them, with warnings as errors."""
    import xarray

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with xarray.open_zarr(path) as dataset:
            return {str(name): np.array(array.values) for name, array in dataset.variables.items()}
