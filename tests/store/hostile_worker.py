"""A process that uses stores from strangers as their finder would: opens, checks, draws, exports, resumes; a line for each.

It is started by `hostile_pool` and reads from stdin, a line of JSON for each store; what it does next and what came out goes to
stdout, so that whoever waits knows what hung or died. Ctrl-C comes by itself a while after a run began: a long run is no hang
as long as it can be stopped.
"""

from __future__ import annotations

import faulthandler
import json
import os
import resource
import shutil
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Callable
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any

MEMORY = 6 * 2**30  # bytes of address space; what wants more shows as a MemoryError
RUNNING = 1.5  # seconds until Ctrl-C, which comes again and again
LOOKS = [
    ["view", "{store}", "-o", "{out}/page.html"], ["export", "{store}", "{out}/run.csv"], ["export", "{store}", "{out}/run.nc"],
    ["export", "{store}", "{out}/run.xyz"], ["export", "{store}", "{out}/run.glb"], ["plot", "{store}", "energy", "-o", "{out}"],
["info", "--json", "{store}"], ["cite", "{store}"],
]  # fmt: skip
RESUMES = [["resume", "{store}"], ["resume", "{store}", "--steps", "70"], ["resume", "{store}", "--json"]]


class NotCompiled(Exception):
    """This machine has no machine code of a program."""


class Building(threading.local):
    """Whether this thread makes a program."""

    now = False


def prepare() -> None:
    """Compile nothing: a program that is not in the cache runs as plain Python. What is written outside is told."""
    import numba.core.caching  # noqa: F401  # an import that Ctrl-C cut off would fail ever after

    from catena import disk_cache
    from catena.engine import build, cache
    from catena.engine.machine_code import identity_of
    from catena.running import plan
    from catena.running.ensembles import job

    load, made, building = cache.load, build.build, Building()

    def load_only(text: str, title: str) -> Any:
        if building.now and disk_cache.find("code", identity_of(text)) is None:
            raise NotCompiled  # what is no program, such as the fold of an ensemble, is small
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})  # LLVM aborts if Ctrl-C cuts off the loading of code
        try:
            return load(text, title)
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGALRM})

    def build_cheaply(*arguments: Any, **options: Any) -> Any:
        building.now = True
        try:
            return made(*arguments, **options)
        except NotCompiled:
            return made(*arguments, **options, compiled=False)
        finally:
            building.now = False

    cache.load = load_only
    for module in (plan, job):
        module.build = build_cheaply  # type: ignore[attr-defined]
    os.fsync = lambda descriptor: None  # type: ignore[assignment]


def honest_stores(folder: Path) -> None:
    """A few stores of all kinds, most of them interrupted, so that there is something to resume."""
    import numpy as np

    import catena as ct
    from catena.store import layout

    os.environ["CATENA_ROWS_PER_COMMIT"] = "16"
    layout.CHUNK_BYTES_AIM = 64

    def stop(step: int, *rest: Any) -> None:
        if step >= 40:
            raise InterruptedError

    def run(
        name: str, problem: Any, *, steps: int = 52, dt: float | None = None, progress: Any = stop, **options: Any
    ) -> None:
        with suppress(InterruptedError):
            ct.simulate(problem, dt=dt, steps=steps, out=folder / f"{name}.zarr", progress=progress, **options)

    zero = [ct.Section("zero", "q", 0)]
    run("harmonic", ct.problems.harmonic(), dt=0.1, method=ct.Gauss(2), sections=zero)
    run("finished", ct.problems.harmonic(), dt=0.1, method=ct.Gauss(2), sections=zero, progress=False)
    events = {
        "sections": [ct.Section("plane", "q2", where="q1 > 0")],
        "events": [ct.Event("far", "q1 + 1.5", stop=True), ct.Event("low", "p1")],
    }
    run("kepler", ct.problems.kepler(e=0.3), dt=0.1, method=ct.Splitting(6), every=2, **events)
    run("body", ct.problems.book(), dt=0.1, method=ct.Jacobi())
    run("chain", ct.problems.helix_chain(n=3), method=ct.Splitting(2))
    run("linkage", ct.problems.double_pendulum(), method=ct.Rattle())
    run("top", ct.problems.lagrange_top(), method=ct.Splitting(2))
    e = np.linspace(0.0, 0.8, 14)
    zeros = np.zeros(14)
    starts = {"q": np.stack([1 - e, zeros], axis=1), "p": np.stack([zeros, np.sqrt((1 + e) / (1 - e))], axis=1)}
    os.environ["CATENA_ROWS_PER_COMMIT"] = "4"
    for name, keep, at in (("many", "samples", 5), ("finals", "final", 5), ("done", "final", 99)):
        with suppress(InterruptedError):
            ct.ensemble(
                ct.problems.kepler(), starts, ct.Splitting(6), dt=0.05, steps=10, every=3, keep=keep, threads=1,
                out=folder / f"{name}.zarr", progress=lambda *seen, at=at: stop(0) if seen[2] < at else stop(40),
            )  # fmt: skip


def use(store: str, out: str, look: int) -> None:
    """What a finder would do with a store; it is resumed by the command or, as ensembles can only be, in Python."""
    steps: list[tuple[str, Callable[[], str]]] = [("opening", lambda: _opened(store))]
    commands = [["info", "--check", "{store}"], LOOKS[look % len(LOOKS)]]
    by_command = look // len(LOOKS) % 2 == 0 and not _is_ensemble(Path(store, ".catena", "spec.json"))
    for words in [*commands, *([RESUMES[look % len(RESUMES)]] if by_command else [])]:
        filled = [word.format(store=store, out=out) for word in words]
        steps.append((" ".join(words), lambda filled=filled: _command(filled)))  # type: ignore[misc]
    steps += [] if by_command else [("ct.resume", lambda: _resumed(store))]
    for name, action in steps:
        _tell({"begin": name})
        _tell({"end": name, "came": _tried(action)})


def _is_ensemble(spec: Path) -> bool:
    try:
        return (
            not spec.is_symlink()
            and spec.is_file()
            and spec.stat().st_size < 2**24
            and b'"ensemble"' in spec.read_bytes()
        )
    except OSError:
        return False


def _tried(action: Callable[[], str]) -> str:
    from catena.errors import CatenaError

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return action()
    except CatenaError as error:
        return f"refused by {type(error).__name__}: {error}"[:600]
    except KeyboardInterrupt:
        return "stopped"
    except BaseException:
        return "TRACEBACK " + traceback.format_exc()


def _opened(store: str) -> str:
    import catena as ct

    found = ct.open(store)
    repr(found)
    str(found.audit())
    if hasattr(found, "failures"):
        len(found.failures)
        if found.keep != "nothing":
            found.final.load()
        if found.keep == "samples":
            found.data.load()
        return "ok"
    found._repr_html_()
    repr(found.final)
    found.data.load()
    for crossings in found.sections.values():
        crossings.load()
    list(found.events)
    dict(found.counts)
    return "ok"


def _resumed(store: str) -> str:
    import catena as ct

    with _interrupted():
        ct.resume(store, progress=False)
    return "ok"


def _command(words: list[str]) -> str:
    from typer.testing import CliRunner

    from catena.cli.main import app

    with _interrupted() if words[0] == "resume" else nullcontext():
        result = CliRunner().invoke(app, words)
    if result.exit_code in (0, 2, 3, 4, 130):
        return f"exit {result.exit_code}: {result.output[-300:]}" if result.exit_code else "ok"
    trace = "".join(traceback.format_exception(result.exception)) if result.exception else ""
    return f"TRACEBACK exit {result.exit_code}\n{result.output[-3000:]}\n{trace}"


class _interrupted:
    """Ctrl-C after a while, and again until it is heard."""

    def __enter__(self) -> None:
        signal.signal(signal.SIGALRM, lambda number, frame: signal.raise_signal(signal.SIGINT))
        signal.setitimer(signal.ITIMER_REAL, RUNNING, 0.1)

    def __exit__(self, *rest: Any) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0.0)


def _tell(what: dict[str, Any]) -> None:
    os.write(ANSWERS, (json.dumps(what) + "\n").encode())


TWINS: dict[str, Callable[[], Any]] = {  # what a store must not make this process do
    "dies": os.abort,
    "hangs": lambda: [None for _ in iter(int, 1)],
    "fails": lambda: 1 / 0,
    "touches": lambda: Path.home().joinpath("precious").write_text("no longer mine"),
}


if __name__ == "__main__":
    ANSWERS = os.dup(1)  # what is printed goes elsewhere
    os.dup2(2, 1)
    faulthandler.enable()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    signal.signal(signal.SIGINT, signal.default_int_handler)
    prepare()
    honest = Path(sys.argv[1])
    if not honest.exists():
        honest.mkdir(parents=True)
        honest_stores(honest)
    shutil.copytree(honest / "harmonic.zarr", "own.zarr", dirs_exist_ok=True)
    use("own.zarr", ".", 0)  # what is imported is imported now, undisturbed by Ctrl-C
    _tell({"done": True})
    for line in sys.stdin:
        asked = json.loads(line)
        if asked["store"] in TWINS:
            _tell({"begin": "a twin"})
            _tell({"end": "a twin", "came": _tried(lambda name=asked["store"]: str(TWINS[name]()))})  # type: ignore[misc]
        else:
            use(asked["store"], asked["out"], asked["look"])
        _tell({"done": True})
