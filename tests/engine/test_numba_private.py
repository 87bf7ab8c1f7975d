"""Numba does less while it compiles a generated module, and what it computes stays the same."""

from __future__ import annotations

import contextlib
import gc
import threading
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest

from catena.engine import cache, headers, numba_private, sharing
from processes import run_python

TEXT = (
    headers.CPU
    + """
@_fn
def square(x):
    return x * x + 0.1

@_apart
def tenth(x):
    return square(x) / 10.0

@njit(types.float64(types.float64), cache=True, **_strict)
def advance(x):
    return tenth(x) - square(0.3 * x)
"""
)


@pytest.fixture(autouse=True)
def nothing_is_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test compiles all functions itself."""
    monkeypatch.setattr(sharing, "_made", {})


@pytest.fixture
def finished(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of what is made into machine code."""
    from numba.core.codegen import JitEngine

    names: list[str] = []
    add = JitEngine.add_module

    def noted(self, module):
        names.append(module.name)
        return add(self, module)

    monkeypatch.setattr(JitEngine, "add_module", noted)
    return names


def test_parts_are_not_finished_and_the_bits_stay(finished, tmp_path: Path, monkeypatch) -> None:
    """Without `sparing` each of the two parts is finished, too."""
    values = []
    for number, spared in enumerate((numba_private.sparing, lambda text: contextlib.nullcontext())):
        monkeypatch.setenv("CATENA_CACHE_DIR", str(tmp_path / str(number)))
        monkeypatch.setattr(cache, "sparing", spared)
        sharing._made.clear()
        finished.clear()
        module = cache.load(f"{TEXT}# {number}", "a test")
        values.append(module.advance(0.7))
        ours = [name for name in finished if name in ("square", "tenth", "advance")]
        assert ours == (["advance"] if number == 0 else ["square", "tenth", "advance"])
    assert values[0] == values[1] == (0.7 * 0.7 + 0.1) / 10.0 - ((0.3 * 0.7) * (0.3 * 0.7) + 0.1)


def replaced() -> tuple[object, ...]:
    from numba.core.base import BaseContext
    from numba.core.codegen import CPUCodeLibrary, JITCPUCodegen
    from numba.core.compiler import DefaultPassBuilder
    from numba.core.types.functions import BaseFunction

    return (
        CPUCodeLibrary._optimize_final_module, CPUCodeLibrary._finalize_final_module, JITCPUCodegen.set_env,
        BaseFunction.get_call_type, DefaultPassBuilder.__dict__["define_nopython_pipeline"], BaseContext.refresh,
    )  # fmt: skip


def test_a_version_of_numba_that_is_not_known_is_left_alone(monkeypatch) -> None:
    monkeypatch.setattr(numba_private, "KNOWN", (0, 1))
    before = replaced()
    with numba_private.sparing(TEXT):
        assert replaced() == before


NEXT = """
import numba, sys
if sys.argv[1] == "next":
    from numba.core import base, codegen, compiler, dispatcher
    from numba.core.types import functions
    numba.version_info = (0, 69, 0)
    numba.__version__ = "0.69.0"
    # what could be renamed is: nothing of it may be asked for
    for owner, name in ((compiler.CompileResult, "_rebuild"), (compiler.CompileResult, "_reduce")):
        delattr(owner, name)
    njit = numba.njit
    def without_private_options(*args, **options):
        assert "_nrt" not in options, options
        return njit(*args, **options)
    numba.njit = without_private_options
import catena as ct
for _ in range(2):
    run = ct.simulate(ct.problems.harmonic(), method=ct.EulerB(), dt=0.01, steps=1000)
print([float(x).hex() for x in (*run.final.q, *run.final.p)])
"""


def test_the_next_version_of_numba_takes_the_plain_way_and_says_so_once(tmp_path: Path) -> None:
    now, _ = run_python(NEXT, "this", CATENA_CACHE_DIR=tmp_path)
    later, messages = run_python(NEXT, "next", CATENA_CACHE_DIR=tmp_path)
    assert later == now
    assert messages.count("numba 0.69.0 is not known here") == 1
    assert len(list((tmp_path / "kept").glob("code-*"))) == 1  # nothing was kept that a private name had made


def test_the_version_that_is_known_is_the_newest_that_is_allowed() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    [numba] = [one for one in project["dependencies"] if one.startswith("numba")]
    assert numba == f"numba>=0.{numba_private.KNOWN[1]},<0.{numba_private.KNOWN[1] + 1}"


def test_everything_is_put_back_after_an_error() -> None:
    def fails() -> None:
        with numba_private.sparing(TEXT):
            assert not gc.isenabled()
            assert all(new is not old for new, old in zip(replaced(), before, strict=True))
            raise ZeroDivisionError

    before = replaced()
    with pytest.raises(ZeroDivisionError):
        fails()
    assert gc.isenabled()
    assert replaced() == before


def test_rules_are_asked_once_for_each_operation(tmp_path: Path, monkeypatch) -> None:
    """Three products of two numbers are one question; without `sparing` they are three and more."""
    from numba.core.types.functions import BaseFunction

    asked: list[object] = []
    find = BaseFunction.get_call_type

    def noted(self, context, args, kws):
        asked.append((self, args))
        return find(self, context, args, kws)

    monkeypatch.setattr(BaseFunction, "get_call_type", noted)
    repeated = []
    for number, spared in enumerate((numba_private.sparing, lambda text: contextlib.nullcontext())):
        monkeypatch.setenv("CATENA_CACHE_DIR", str(tmp_path / str(number)))
        monkeypatch.setattr(cache, "sparing", spared)
        sharing._made.clear()
        asked.clear()
        cache.load(f"{TEXT}# asked {number}", "a test")
        repeated.append(len(asked) - len(set(asked)))
    assert repeated[0] == 0 < 5 < repeated[1]


def passes_for(module: str) -> list[str]:
    from numba.core.compiler import DefaultPassBuilder, Flags

    state = SimpleNamespace(flags=Flags(), func_ir=None, func_id=SimpleNamespace(modname=module))
    return [one.__name__ for one, _ in DefaultPassBuilder.define_nopython_pipeline(state).passes]


def test_only_generated_modules_skip_passes() -> None:
    """All of NEEDLESS are passes of numba, and a module of somebody else goes through them meanwhile."""
    usual = passes_for("catena_generated_0")
    with numba_private.sparing(TEXT):
        assert passes_for("somebody.else") == usual
        fewer = passes_for("catena_generated_0")
    assert set(usual) - set(fewer) == set(numba_private.NEEDLESS)
    assert [one for one in usual if one in fewer] == fewer


@pytest.mark.parametrize(
    "line", ["return (z + z)[0]", "return (lambda y: y + z[0])(z[1])", "return sum([v for v in z])"]
)
def test_what_a_skipped_pass_would_treat_is_an_error(line, tmp_path: Path, monkeypatch) -> None:
    """Array expressions and closures: never other code, always no code."""
    from numba.core.errors import NumbaError

    monkeypatch.setenv("CATENA_CACHE_DIR", str(tmp_path))
    entry = "@njit(types.float64(types.float64[::1]), cache=True, **_strict)"
    with pytest.raises((NumbaError, NotImplementedError)):
        cache.load(f"{headers.CPU}\n{entry}\ndef advance(z):\n    {line}\n", "a test")


def test_declarations_are_looked_for_once_and_by_other_threads_as_ever(monkeypatch) -> None:
    from numba.core.base import BaseContext

    looked: list[object] = []
    monkeypatch.setattr(BaseContext, "refresh", lambda self: looked.append(self))
    context = object.__new__(BaseContext)
    with numba_private.sparing(TEXT):
        for _ in range(3):
            context.refresh()
        assert len(looked) == 1
        other = threading.Thread(target=lambda: [context.refresh() for _ in range(3)])
        other.start()
        other.join()
    assert len(looked) == 4


COMPILE = """
from time import process_time
import catena as ct
from catena.engine.build import build
rod = ct.Body.box((0.1, 0.2, 1.0))
at = ((0.0, 0.0, -0.5), (0.0, 0.0, 0.5))
joints = [ct.Revolute(-1, 0, axis=(1, 0, 0)), ct.Spherical(0, 1, at), ct.Rigid(1, 2, at){more}]
forces = [ct.Torsion(0, "1 - cos(theta)", damping=0.1), ct.Load(2, force=("sin(t)", 0.0, 1.0)), ct.Spring(-1, 2, k=2.0){force}]
linkage = ct.Linkage([rod] * {count}, joints, forces)
build(linkage, ct.{method}, compiled=False)
begun = process_time()
build(linkage, ct.{method})
print(process_time() - begun)
"""


@pytest.mark.slow
@pytest.mark.parametrize("method", ["EnergyMomentum()", 'EnergyMomentum(level="position")'])
@pytest.mark.parametrize("joints", ["in increments", "by multipliers"])
def test_compiling_a_linkage_step_takes_at_most_15_seconds(joints, method, tmp_path: Path) -> None:
    """CPU time with every kind of force; 9 to 13 s on a free core."""
    more = {"count": 3, "more": "", "force": ""}
    if joints == "by multipliers":
        more = {"count": 4, "more": ", ct.Prismatic(2, 3, at, axis=(0, 0, 1))", "force": ", ct.Spring(0, 1, k=2.0)"}
    seconds = []
    for number in range(2):  # the core is not always free
        output, _ = run_python(COMPILE.format(method=method, **more), CATENA_CACHE_DIR=tmp_path / str(number))
        seconds.append(float(output))
    assert min(seconds) < 15.0, seconds
