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
    for name, (problem, method) in heated_and_driven().items():
        run(name, problem, method=method, steps=50)
    honest_ensembles(folder, stop)


def heated_and_driven() -> dict[str, tuple[Any, Any]]:
    """Runs at a temperature, runs that depend on time, and a ring."""
    import numpy as np

    import catena as ct

    times = np.linspace(0.0, 9.0, 10)
    shake = ct.Sampled(times, 0.2 + 0.1 * np.sin(times))
    swing = ct.Hamiltonian("p**2/2 - k*cos(q) + a*q", parameters={"k": "1 + 0.2*sin(t)", "a": shake})
    bodies, lj = [ct.Body.tetrahedron()] * 3, ct.LennardJones(5.0, 1.0)
    pulled = ct.Chain(
        bodies, lj, ct.Moved(position=("0.1*sin(t)", 0, 0), orientation=(1, "sin(t/3)", 0, 0)),
        ct.Tweezers(2.0, anchor=("4.2 + t/10", shake, 0), at=(0.1, 0.2, 0.3)), gravity=(0, "0.1*cos(t)", 0),
        loads=[(1, ct.Force(("t/5", 0, 0), at=(0.1, 0, 0))), (1, ct.Torque((0, "0.1*t", 0)))],
    )  # fmt: skip
    changing = ct.Chain(
        bodies, ct.LennardJones("5*(1 + 0.1*sin(t))", 1.0) + ct.BendTwist(shake, "1 + t", 1.0, (2.1, 0, 0))
    )
    elastic = ct.Elastic(np.eye(6), ([0.0, 0.0, 0.1], [2.0, 0.0, 0.0]))
    ring = ct.Chain(bodies, elastic, closed=True)
    helix, oscillator = ct.problems.helix_chain(n=3), ct.problems.henon_heiles()
    return {
        "warm": (ct.Problem("warm", helix.system, helix.start, 0.02), ct.Langevin(0.1, ct.Friction(0.2, 0.3), seed=3)),
        "drawn": (ct.Problem("drawn", oscillator.system, oscillator.start, 0.1), ct.HybridMonteCarlo(0.1, substeps=2, seed=4)),
        "swing": (ct.Problem("swing", swing, swing.start(q=1.0, p=0.0), 0.1), ct.Splitting(4)),
        "pulled": (ct.Problem("pulled", pulled, pulled.straight(2.1), 0.02), ct.Splitting(2)),
        "changing": (ct.Problem("changing", changing, changing.straight(2.1), 0.02), ct.StormerVerlet()),
        "ring": (ct.Problem("ring", ring, ring.ring(2.0, 1), 0.02), ct.Splitting(2)),
    }  # fmt: skip


def honest_ensembles(folder: Path, stop: Callable[..., None]) -> None:
    """From many starts; reduced, of systems that differ, with steps of their own; over a grid."""
    import numpy as np

    import catena as ct

    os.environ["CATENA_ROWS_PER_COMMIT"] = "4"

    def until(at: int) -> Callable[..., None]:
        return lambda *seen: stop(0 if seen[2] < at else 40)

    e = np.linspace(0.0, 0.8, 14)
    zeros = np.zeros(14)
    starts = {"q": np.stack([1 - e, zeros], axis=1), "p": np.stack([zeros, np.sqrt((1 + e) / (1 - e))], axis=1)}
    for name, keep, at in (("many", "samples", 5), ("finals", "final", 5), ("done", "final", 99)):
        with suppress(InterruptedError):
            ct.ensemble(
                ct.problems.kepler(), starts, ct.Splitting(6), dt=0.05, steps=10, every=3, keep=keep, threads=1,
                out=folder / f"{name}.zarr", progress=until(at),
            )  # fmt: skip
    springs = [ct.Hamiltonian("p**2/(2*m) + k*q**2/2", parameters={"m": 1.0, "k": 1.0 + 0.1 * k}) for k in range(12)]
    reduce: dict[str, Any] = {
        "size": ct.Mean("q**2"), "ends": ct.Extremes("k*q"), "bins": ct.Histogram("q", -1.0, 1.0, bins=4),
        "passed": ct.LastCrossing("p"),
    }  # fmt: skip
    with suppress(InterruptedError):
        ct.ensemble(
            springs, [spring.start(q=1.0, p=0.0) for spring in springs], ct.EulerB(), dt=0.1 - 0.001 * np.arange(12), steps=12,
            every=3, reduce=reduce, threads=1, out=folder / "reduced.zarr", progress=until(5),
        )  # fmt: skip

    def spring(k: float, shape: str) -> Any:
        start = springs[0].start(q=1.0 if shape == "wide" else 0.1, p=0.0)
        return springs[0].with_parameters(k=k), start, ct.Langevin(0.5 * k, 1.0, seed=2)

    with suppress(InterruptedError):
        ct.sweep(
            spring, {"k": [1.0, 2.0, 3.0], "shape": ["wide", "narrow"]}, repeats=2, seed=1, dt=0.1, steps=12, every=3,
            reduce={"size": ct.Mean("q**2")}, threads=1, out=folder / "sweep.zarr", progress=until(5),
        )  # fmt: skip


def use(store: str, out: str, look: int) -> None:
    """What a finder would do with a store; it is resumed by the command or in Python."""
    steps: list[tuple[str, Callable[[], str]]] = [("opening", lambda: _opened(store))]
    commands = [["info", "--check", "{store}"], LOOKS[look % len(LOOKS)]]
    by_command = look // len(LOOKS) % 2 == 0
    for words in [*commands, *([RESUMES[look % len(RESUMES)]] if by_command else [])]:
        filled = [word.format(store=store, out=out) for word in words]
        steps.append((" ".join(words), lambda filled=filled: _command(filled)))  # type: ignore[misc]
    steps += [] if by_command else [("ct.resume", lambda: _resumed(store))]
    for name, action in steps:
        _tell({"begin": name})
        _tell({"end": name, "came": _tried(action)})


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
    from catena.errors import InputError

    found = ct.open(store)
    repr(found)
    str(found.audit())
    if hasattr(found, "failures"):
        len(found.failures)
        if found.keep != "nothing":
            found.final.load()
        if found.keep == "samples":
            found.data.load()
        for asked in ("reduced", "study"):
            with suppress(InputError):  # there are none in it
                getattr(found, asked).load()
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
