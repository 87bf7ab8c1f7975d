"""A child that is started while threads compile can compile, too: no lock is held for ever, nothing is half made."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from catena.disk_cache import forking
from catena.engine import cache
from catena.engine.build import Program
from places import SUPPORT
from processes import SOURCE, spawn

WAITED = 0.3  # seconds that a thread is busy at least
PATIENCE = 60  # seconds after which a child is said to hang
IMPATIENCE = 2  # the same, where it must hang


@pytest.mark.parametrize(
    ("ways", "trials"),
    [
        ("fork", 4),
        ("spawn,forkserver", 1),
        pytest.param("fork,fork,spawn,forkserver", 100, marks=pytest.mark.slow),
    ],
)
def test_no_child_waits_for_ever_however_it_is_started(ways: str, trials: int, tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), "CATENA_CACHE_DIR": str(tmp_path)}
    script = SUPPORT / "forks.py"
    command = [sys.executable, str(script), ways, str(trials), "1"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    children = trials * len(ways.split(","))
    assert done.stdout == f"{children} of {children} children are right, 0 wait for ever\n", done.stderr


class Busy:
    """A thread in the midst of something; it goes on for a while after it was found there."""

    def __init__(self, action: Callable[[Callable[[], None]], object]) -> None:
        self.inside, self.done = threading.Event(), False
        self.thread = threading.Thread(target=lambda: action(self.stay))
        self.thread.start()
        assert self.inside.wait(60)

    def stay(self) -> None:
        self.inside.set()
        time.sleep(WAITED)
        self.done = True


def ending_of(action: Callable[[], object], patience: int = PATIENCE) -> int:
    """How a forked child ends that does something: 0, or a signal if it hangs."""

    def within_patience() -> None:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(patience)
        action()

    return os.waitpid(spawn(within_patience), 0)[1]


def load_module(stay: Callable[[], None] | None = None) -> object:
    """Make a generated module that has no machine code, and stay there for a while."""
    text = f"# {time.monotonic_ns()}\n"
    if stay is None:
        return cache.load(text, "a test")
    sys.modules["stay_of_the_test"] = stay  # type: ignore[assignment]
    return cache.load(f"{text}import sys\nsys.modules['stay_of_the_test']()\n", "a test")


def hold_the_lock_of_numba(stay: Callable[[], None]) -> None:
    from numba.core.compiler_lock import global_compiler_lock

    with global_compiler_lock:  # a function of the user's own is being compiled
        stay()


def take_the_lock_of_numba() -> None:
    hold_the_lock_of_numba(lambda: None)


@pytest.mark.parametrize(
    ("busy", "later"), [(load_module, load_module), (hold_the_lock_of_numba, take_the_lock_of_numba)]
)
def test_a_fork_waits_until_nothing_is_being_compiled(
    busy: Callable[[Callable[[], None]], object], later: Callable[[], object]
) -> None:
    other = Busy(busy)
    assert ending_of(later) == 0
    assert other.done
    other.thread.join()


def test_a_fork_that_does_not_wait_has_a_child_that_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The deliberate error."""
    monkeypatch.setattr(forking, "LONGEST", 0.0)
    monkeypatch.setattr(forking, "_locks", [])
    other = Busy(load_module)
    assert ending_of(load_module, IMPATIENCE) == signal.SIGALRM
    other.thread.join()


def test_a_fork_waits_in_no_circle(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread that waits for the one that forks: after a while it forks all the same, and the child can go on."""
    monkeypatch.setattr(forking, "LONGEST", WAITED / 3)
    other = Busy(load_module)
    assert ending_of(load_module) == 0
    other.thread.join()


def test_whoever_is_undisturbed_can_fork() -> None:
    with forking.hold_forks():
        assert ending_of(load_module) == 0
    assert not forking._undisturbed


class Slow:
    """Stands for a system that takes its time to say how wide its samples are."""

    invariant_width = 1

    def __init__(self, stay: Callable[[], None]) -> None:
        self.stay = stay

    @property
    def public_width(self) -> int:
        self.stay()
        return 1


def use_property(stay: Callable[[], None] = lambda: None) -> None:
    assert Program(Slow(stay), None, SimpleNamespace(account_width=0), *6 * [None]).width == 2  # type: ignore[arg-type]


def test_a_property_that_another_thread_computes_is_not_locked_in_the_child() -> None:
    other = Busy(use_property)
    assert ending_of(use_property) == 0
    other.thread.join()


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="cached properties have no locks")
def test_a_lock_of_a_property_that_stays_held_makes_the_child_hang(monkeypatch: pytest.MonkeyPatch) -> None:
    """The deliberate error."""
    monkeypatch.setattr(forking, "_of_properties", list)
    other = Busy(use_property)
    assert ending_of(use_property, IMPATIENCE) == signal.SIGALRM
    other.thread.join()
