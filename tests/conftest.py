"""Every test session compiles into its own cache, prints nothing, and has a limit on compilations."""

from __future__ import annotations

import gc
import logging
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

# before anything imports numpy: with a thread for each core in each of as many workers, threads mostly wait
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import hypothesis
import pytest

# as for users, and before anything imports catena: without bytecode, hundreds of processes would compile all sources
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

MOST_COMPILED = 120
KEPT_CACHE = "CATENA_TEST_CACHE"  # a folder that persists between test sessions, for running a few tests repeatedly
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

pytest.register_assert_rewrite("harness")
cache_folder = pytest.StashKey[Path]()


def pytest_configure(config: pytest.Config) -> None:
    """A fresh cache, chosen before anything is imported; workers and subprocesses inherit it.

    A loaded machine must not make a property test fail: no deadline, no check of the time to generate examples; always
    the same examples.
    """
    logging.getLogger("catena").setLevel(logging.WARNING)
    os.environ["SYMPY_GROUND_TYPES"] = "python"  # gmpy2 is only for tests: sympy computes as for users
    hypothesis.settings.register_profile(
        "catena", deadline=None, derandomize=True, suppress_health_check=[hypothesis.HealthCheck.too_slow]
    )
    hypothesis.settings.load_profile("catena")
    if not is_worker(config):
        kept = os.environ.get(KEPT_CACHE)
        folder = Path(kept or tempfile.mkdtemp(prefix="catena-tests-"))
        os.environ["CATENA_CACHE_DIR"] = str(folder)
        if not kept:
            config.stash[cache_folder] = folder


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Without Chromium the tests of the page are skipped, and the summary says so."""
    if CHROMIUM is not None:
        return
    left_out = [item for item in items if item.get_closest_marker("browser")]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]


def pytest_collection_finish(session: pytest.Session) -> None:
    """Thousands of tests and modules live to the end: the garbage collector would spend a tenth of the time on them."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Too many compilations are a failure: they make a suite, and a first run, slow."""
    if cache_folder in session.config.stash and compiled(session.config.stash[cache_folder]) > MOST_COMPILED:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if cache_folder in config.stash:
        count = compiled(config.stash[cache_folder])
        excess = f", more than the {MOST_COMPILED} allowed: FAILED" if count > MOST_COMPILED else ""
        if CHROMIUM is None:
            terminalreporter.write_line("no Chromium is installed: the tests of the page in a browser were left out")
        terminalreporter.write_line(f"{count} combinations of system and method compiled{excess}")


def pytest_unconfigure(config: pytest.Config) -> None:
    if cache_folder in config.stash:
        shutil.rmtree(config.stash[cache_folder], ignore_errors=True)


@pytest.fixture(scope="session", autouse=True)
def quick_sines() -> None:
    """Sines of programs in plain Python are compiled: the same bits (`test_elementary.py`), fifty times as fast."""
    from catena.engine import plain_python
    from quick_functions import quick_functions

    plain_python.quick = quick_functions()


@pytest.fixture(scope="session")
def chromium() -> str | None:
    """The command of the browser for tests of the page."""
    return CHROMIUM


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Ctrl-C raises KeyboardInterrupt, even if the tests were started in the background, where it is ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def plain_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs run as plain Python with the same bits, nothing is compiled; small parts of a store are written
    together."""
    from catena.engine.build import build
    from catena.running import plan

    monkeypatch.setattr(plan, "build", partial(build, compiled=False))
    monkeypatch.setenv("CATENA_ROWS_PER_COMMIT", "3")
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


def is_worker(config: pytest.Config) -> bool:
    """Whether this process is one of several workers."""
    return hasattr(config, "workerinput")


def compiled(folder: Path) -> int:
    """Generated modules whose machine code is in the cache."""
    return len(list(folder.glob("kept/code-*")))
