"""A fork does not cut in two what one thread is making: it waits, a compilation or a derivation at most.

A forked child has all the locks of its parent, but only one of its threads: a lock that another thread holds stays held for ever,
and what that thread was changing stays half changed (LLVM's engine, numba's tables, a module that is being imported). So
a fork waits for whoever holds it off (`hold_forks`), and takes the locks of the compiler, whoever uses it. What can be held for a
moment elsewhere, without anything being half done, is made free again in the child.

The functions are called by os.fork, and so by multiprocessing with the start method "fork"; "spawn" and "forkserver" start anew.
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
    """One of `threading`."""

    def acquire(self, blocking: bool = ..., timeout: float = ...) -> bool: ...

    def release(self) -> None: ...

    def __enter__(self) -> bool: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None: ...


RENEWAL = "_at_fork_reinit"  # of a lock, which no stub of Python knows
LONGEST = 120.0  # seconds that a fork waits, then it forks all the same: a wait in a circle must end

_gate = threading.Condition()
_undisturbed: dict[int, int] = {}  # thread -> how deep
_locks: list[Lock] = []
_taken = threading.local()


def lock() -> Lock:
    """A lock that no child finds held by a thread that it does not have; what it protects is done within `hold_forks`."""
    made: Lock = threading.RLock()
    _locks.append(made)
    return made


@contextmanager
def hold_forks() -> Iterator[None]:
    """Meanwhile no other thread forks."""
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
    _gate = threading.Condition()  # nobody waits at it here
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
    """The locks of numba and of LLVM, in the order in which they are taken; none before numba is there."""
    compiler = getattr(sys.modules.get("numba.core.compiler_lock"), "global_compiler_lock", None)
    library = getattr(sys.modules.get("llvmlite.binding.ffi"), "lib", None)
    found = (getattr(compiler, "_lock", None), getattr(getattr(library, "_lock", None), "_lock", None))
    return [one for one in found if one is not None and hasattr(one, RENEWAL)]


def _of_properties() -> list[Lock]:
    """Until Python 3.12 each cached property has a lock, for all objects of its class; those of catena."""
    if sys.version_info >= (3, 12):
        return []
    modules = [vars(module) for name, module in sys.modules.items() if name.startswith("catena.")]
    classes = {found for names in modules for found in names.values() if isinstance(found, type)}
    members = [found for one in classes for found in vars(one).values()]
    return [vars(found)["lock"] for found in members if isinstance(found, functools.cached_property)]


os.register_at_fork(before=_before, after_in_parent=_release, after_in_child=_in_the_child)
