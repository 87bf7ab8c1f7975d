"""Of a generated module numba finishes the entry only, and what it computes stays the same."""

from __future__ import annotations

import contextlib
import gc
from pathlib import Path

import pytest

from catena.engine import cache, compiling, headers
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
    for number, spared in enumerate((compiling.sparing, lambda text: contextlib.nullcontext())):
        monkeypatch.setenv("CATENA_CACHE_DIR", str(tmp_path / str(number)))
        monkeypatch.setattr(cache, "sparing", spared)
        finished.clear()
        module = cache.load(f"{TEXT}# {number}", "a test")
        values.append(module.advance(0.7))
        ours = [name for name in finished if name in ("square", "tenth", "advance")]
        assert ours == (["advance"] if number == 0 else ["square", "tenth", "advance"])
    assert values[0] == values[1] == (0.7 * 0.7 + 0.1) / 10.0 - ((0.3 * 0.7) * (0.3 * 0.7) + 0.1)


def test_everything_is_put_back_after_an_error() -> None:
    from numba.core.codegen import CPUCodeLibrary, JITCPUCodegen

    def replaced() -> tuple[object, ...]:
        return CPUCodeLibrary._optimize_final_module, CPUCodeLibrary._finalize_final_module, JITCPUCodegen.set_env

    def fails() -> None:
        with compiling.sparing(TEXT):
            assert not gc.isenabled()
            assert all(new is not old for new, old in zip(replaced(), before, strict=True))
            raise ZeroDivisionError

    before = replaced()
    with pytest.raises(ZeroDivisionError):
        fails()
    assert gc.isenabled()
    assert replaced() == before


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
    """CPU time with every kind of force, on a free core."""
    more = {"count": 3, "more": "", "force": ""}
    if joints == "by multipliers":
        more = {"count": 4, "more": ", ct.Prismatic(2, 3, at, axis=(0, 0, 1))", "force": ", ct.Spring(0, 1, k=2.0)"}
    output, _ = run_python(COMPILE.format(method=method, **more), CATENA_CACHE_DIR=tmp_path)
    assert float(output) < 15.0
