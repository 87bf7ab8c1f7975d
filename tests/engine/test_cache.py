"""A combination is compiled once per machine, by whoever comes first, and again only if its code changes."""

from __future__ import annotations

import contextlib
import json
import shutil
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import catena as ct
from catena.engine import cache
from catena.engine.build import build
from catena.engine.machine_code import identity_of
from processes import SOURCE, finish_python, run_python, start_python

RUN = """
import json, sys
import catena as ct
run = ct.simulate(ct.problems.harmonic(), method=ct.EulerB(), dt=0.01, steps=1000)
generated = [module for name, module in sys.modules.items() if name.startswith("catena_generated_")]
stats = [module.advance_members.stats for module in generated]
print(json.dumps({
    "modules": sorted(module.__name__ for module in generated),
    "hits": sum(sum(s.cache_hits.values()) for s in stats),
    "misses": sum(sum(s.cache_misses.values()) for s in stats),
    "final": [float(x).hex() for x in (*run.final.q, *run.final.p)],
    "sympy": "sympy" in sys.modules,
}))
"""


def told(result: tuple[str, str]) -> tuple[dict[str, Any], int]:
    """What a process found, and how often it said that it compiles."""
    output, messages = result
    return json.loads(output), messages.count("compiling")


def machine_code(folder: Path) -> dict[str, int]:
    """What is kept of it, with times."""
    return {path.name: path.stat().st_mtime_ns for path in (folder / "kept").glob("code-*")}


@pytest.mark.slow
def test_of_three_processes_the_first_compiles_and_all_get_the_same_bits(tmp_path: Path) -> None:
    """A cache directory of numba, whose own files are read without a check, changes nothing and stays empty."""
    chosen = {"CATENA_CACHE_DIR": tmp_path / "a", "NUMBA_CACHE_DIR": tmp_path / "b"}
    result = run_python(RUN, **chosen)
    assert "x EulerB() (once for this machine, about 2 s)\n" in result[1]
    first, compiled = told(result)
    assert (first["hits"], first["misses"], compiled) == (0, 1, 1)
    files = machine_code(tmp_path / "a")
    assert len(files) == 1
    for seed in (1, 2):
        later, compiled = told(run_python(RUN, **chosen, PYTHONHASHSEED=seed))
        assert (later["hits"], later["misses"], compiled) == (1, 0, 0)
        assert later["final"] == first["final"]
        assert later["modules"] == first["modules"]
        assert not later["sympy"]
    assert machine_code(tmp_path / "a") == files
    assert not (tmp_path / "b").exists()


def test_the_time_to_compile_grows_with_the_text_and_is_told_in_round_numbers() -> None:
    told = [cache.seconds_to_compile(" " * length) for length in (0, 5_500, 24_000, 50_700, 70_000, 300_000)]
    assert told == [1, 1, 5, 10, 15, 60]


COMPILED = """
import sys, time
import catena as ct
from catena.engine import cache
make = cache._make
def timed(name, text, title):
    began = time.process_time()
    module = make(name, text, title)
    print(time.process_time() - began, cache.seconds_to_compile(text))
    return module
cache._make = timed
problem = getattr(ct.problems, sys.argv[1])()
ct.simulate(problem, method=eval("ct." + sys.argv[2]) if sys.argv[2] else None, steps=1)
"""


def spent_over_told(folder: Path, problem: str, method: str = "") -> float:
    """Seconds of the processor that compiling took, over those that were announced."""
    output, _ = run_python(COMPILED, problem, method, CATENA_CACHE_DIR=folder)
    spent, told = map(float, output.split())
    return spent / told


@pytest.fixture(scope="module")
def pace(tmp_path_factory: pytest.TempPathFactory) -> float:
    """The same of an orbit: how fast this machine is."""
    return spent_over_told(tmp_path_factory.mktemp("pace"), "kepler", "Gauss(3)")


@pytest.mark.slow
@pytest.mark.parametrize("problem", ["lagrange_top", "helix_chain", "four_bar", "double_pendulum"])
def test_the_time_to_compile_is_what_was_told_within_a_factor_of_two(problem: str, pace: float, tmp_path: Path) -> None:
    """In time of the processor, and in units of an orbit's, as machines differ; measured 0.65 to 0.74."""
    assert 0.5 < spent_over_told(tmp_path, problem) / pace < 2.0


def test_an_edited_helper_is_compiled_anew_and_gives_its_own_result(tmp_path: Path) -> None:
    """The twin that a cache keyed by the calling function alone would miss: the edit is in a callee in another file."""
    package, folder = tmp_path / "package", tmp_path / "cache"
    shutil.copytree(SOURCE / "catena", package / "catena", ignore=shutil.ignore_patterns("__pycache__"))
    here, compiled_here = told(run_python(RUN, CATENA_CACHE_DIR=folder))
    copy, compiled_copy = told(run_python(RUN, source=package, CATENA_CACHE_DIR=folder))
    assert (compiled_here, compiled_copy) == (1, 0)
    assert copy == {**here, "hits": 1, "misses": 0, "sympy": False}
    helper = package / "catena" / "kernels" / "summation.py"
    text = helper.read_text()
    edited = text.replace("e[i] = d - (after - before)", "e[i] = 0.0")
    assert edited != text
    helper.write_text(edited)
    changed, compiled = told(run_python(RUN, source=package, CATENA_CACHE_DIR=folder))
    assert (changed["misses"], compiled) == (1, 1)
    assert changed["modules"] != here["modules"]
    expected = without_compensation()
    assert changed["final"] == expected
    assert here["final"] != expected


def without_compensation() -> list[str]:
    """EulerB on the oscillator of `RUN` (H = p^2/2 + 2 q^2) with plain sums, written out."""
    q, p = 0.0, 2.0
    for _ in range(1000):
        p += 0.01 * -(4.0 * q)
        q += 0.01 * p
    return [q.hex(), p.hex()]


@pytest.mark.slow
def test_two_processes_that_compile_at_once_both_succeed(tmp_path: Path) -> None:
    both = [start_python(RUN, CATENA_CACHE_DIR=tmp_path) for _ in range(2)]
    results = [told(finish_python(process))[0] for process in both]
    assert results[0]["final"] == results[1]["final"]
    again, compiled = told(run_python(RUN, CATENA_CACHE_DIR=tmp_path))
    assert (again["hits"], again["misses"], compiled) == (1, 0, 0)
    assert again["final"] == results[0]["final"]


def test_an_unwritable_cache_is_said_once_and_survived(tmp_path: Path) -> None:
    """A path below a file cannot be made, not even by root. Nothing is left behind anywhere."""
    (tmp_path / "file").write_text("")
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    output, messages = run_python(RUN, CATENA_CACHE_DIR=tmp_path / "file" / "cache", TMPDIR=scratch)
    assert messages.count("is of no use") == 1
    assert "Not a directory" in messages
    assert json.loads(output)["final"] == told(run_python(RUN))[0]["final"]
    assert list(scratch.iterdir()) == []


def test_settings_of_numba_that_change_the_code_have_code_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise a run with bounds checks would silently do without them. A setting that changes no code compiles nothing."""
    import numba

    usual = identity_of("a text")
    monkeypatch.setattr(numba.config, "DEBUG_CACHE", 1)
    assert identity_of("a text") == usual
    monkeypatch.setattr(numba.config, "BOUNDSCHECK", 1)
    assert identity_of("a text") != usual


def test_parameters_step_size_and_lengths_compile_nothing_new() -> None:
    """The twin: another method does."""

    def generated() -> set[str]:
        return {name for name in sys.modules if name.startswith("catena_generated_")}

    oscillator = ct.problems.harmonic()
    ct.simulate(oscillator, method=ct.StormerVerlet(), dt=0.01, steps=10)
    before = generated()
    for system in (oscillator.system, oscillator.system.with_parameters(k=7.0, m=0.3)):
        for dt, steps, every in ((0.01, 10, 1), (0.5, 33, 4), (1e-3, 7, 7)):
            ct.simulate(system, system.start(q=0.3, p=-1.0), ct.StormerVerlet(), dt=dt, steps=steps, every=every)
    assert generated() == before
    ct.simulate(oscillator, method=ct.ExplicitEuler(), dt=0.01, steps=10)
    assert len(generated() - before) <= 1
    assert build(oscillator.system, ct.ExplicitEuler(), compiled=False).text != build(
        oscillator.system, ct.StormerVerlet(), compiled=False
    ).text  # fmt: skip


def test_other_parameters_move_otherwise() -> None:
    """With the same machine code: omega = sqrt(k/m) is read from the values."""
    system = ct.problems.harmonic().system.with_parameters(k=9.0, m=1.0)
    run = ct.simulate(system, system.start(q=1.0, p=0.0), ct.StormerVerlet(), dt=1e-3, steps=1000)
    assert run.final.q[0] == pytest.approx(np.cos(3.0), abs=3e-6)  # (omega dt)^2/24 omega t


class Gate:
    """Lets a generated module be watched while it is being made."""

    def __init__(self) -> None:
        self.entered, self.go, self.passed = threading.Event(), threading.Event(), 0

    def __call__(self) -> None:
        self.passed += 1
        self.entered.set()
        assert self.go.wait(60)


def loaded_while_it_is_made(name: str, monkeypatch: pytest.MonkeyPatch) -> tuple[bool, int]:
    """A second thread asks for a module while the first makes it: whether it had to wait, and how often it was made."""
    gate, found = Gate(), []
    monkeypatch.setitem(sys.modules, "gate_of_the_test", gate)  # type: ignore[arg-type]
    text = f"import sys\nsys.modules['gate_of_the_test']()\nadvance = 1\n# {name}\n"
    threads = [threading.Thread(target=lambda: found.append(cache.load(text, name).advance)) for _ in range(2)]
    threads[0].start()
    assert gate.entered.wait(60)
    threads[1].start()
    threads[1].join(0.3)
    waited = threads[1].is_alive() and gate.passed == 1
    gate.go.set()
    for thread in threads:
        thread.join()
    assert found == [1, 1]
    return waited, gate.passed


def test_a_second_thread_waits_until_the_module_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    assert loaded_while_it_is_made("locked", monkeypatch) == (True, 1)


def test_without_the_lock_the_second_thread_makes_it_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "_loading", contextlib.nullcontext())
    monkeypatch.setattr(
        cache, "sparing", lambda text: contextlib.nullcontext()
    )  # two at once would leave numba changed
    assert loaded_while_it_is_made("unlocked", monkeypatch) == (False, 2)
