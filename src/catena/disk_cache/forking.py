"""Fork safety: a fork waits until no thread is compiling or deriving.

A forked child has copies of all locks of its parent, but only one of its threads: a lock held by another thread stays
locked forever, and data that this thread was changing stay inconsistent (LLVM's engine, numba's tables, a module that
is being imported). So a fork waits for every thread inside `hold_forks`, and takes the locks of the compiler, whoever
uses it. Other locks, which are held only briefly and protect nothing inconsistent, are reset in the child.

os.fork calls these functions, and so does multiprocessing with the start method "fork"; "spawn" and "forkserver" start
fresh processes.
"""

from __future__ import annotations

import functools
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Protocol

from .. import log  # its logger has functions for forks, too, which must run while nobody waits for us  # noqa: F401


class Lock(Protocol):
    """A lock of `threading`."""

    def acquire(self, blocking: bool = ..., timeout: float = ...) -> bool: ...

    def release(self) -> None: ...

    def __enter__(self) -> bool: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None: ...


RENEWAL = "_at_fork_reinit"  # method of a lock that Python's type stubs do not list
LONGEST = 120.0  # seconds that a fork waits before it forks anyway: a deadlock must end

_gate = threading.Condition()
_undisturbed: dict[int, int] = {}  # thread -> nesting depth
_locks: list[Lock] = []
_taken = threading.local()


def lock() -> Lock:
    """A lock that no child inherits locked by a missing thread; what it protects must be done inside `hold_forks`."""
    made: Lock = threading.RLock()
    _locks.append(made)
    return made


@contextmanager
def hold_forks() -> Iterator[None]:
    """No other thread forks inside this context."""
    me = threading.get_ident()
    with _gate:
        _undisturbed[me] = _undisturbed.get(me, 0) + 1
    try:
        yield
    finally:
        with _gate:
            _undisturbed[me] -= 1
            if not _undisturbed[me]:
                del _undisturbed[me]
            _gate.notify_all()


def _before() -> None:
    me = threading.get_ident()
    _taken.alone = threading.active_count() == 1
    _taken.locks = []
    _gate.acquire()
    _taken.locks.append(_gate)
    _gate.wait_for(lambda: not _undisturbed.keys() - {me}, timeout=LONGEST)
    for found in _of_the_compiler():
        if found.acquire(timeout=LONGEST):
            _taken.locks.append(found)


def _release() -> None:
    for found in reversed(_taken.locks):
        found.release()
    _taken.locks = []


def _in_the_child() -> None:
    global _gate
    _release()
    _gate = threading.Condition()  # nobody waits at it in the child
    me = threading.get_ident()
    for thread in _undisturbed.keys() - {me}:
        del _undisturbed[thread]
    if _taken.alone:
        return
    for held in [*_locks, *_of_the_compiler(), *_of_properties()]:
        if held.acquire(blocking=False):
            held.release()
        else:
            getattr(held, RENEWAL)()


def _of_the_compiler() -> list[Lock]:
    """The locks of numba and of LLVM, in the order in which they are taken; empty before numba is imported."""
    compiler = getattr(sys.modules.get("numba.core.compiler_lock"), "global_compiler_lock", None)
    library = getattr(sys.modules.get("llvmlite.binding.ffi"), "lib", None)
    found = (getattr(compiler, "_lock", None), getattr(getattr(library, "_lock", None), "_lock", None))
    return [one for one in found if one is not None and hasattr(one, RENEWAL)]


def _of_properties() -> list[Lock]:
    """Before Python 3.12 each cached property has a lock, common to all objects of its class; those of catena."""
    if sys.version_info >= (3, 12):
        return []
    modules = [vars(module) for name, module in sys.modules.items() if name.startswith("catena.")]
    classes = {found for names in modules for found in names.values() if isinstance(found, type)}
    members = [found for one in classes for found in vars(one).values()]
    return [vars(found)["lock"] for found in members if isinstance(found, functools.cached_property)]


os.register_at_fork(before=_before, after_in_parent=_release, after_in_child=_in_the_child)
