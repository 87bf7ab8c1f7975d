"""Machine code that an accident changed is never run: it is compiled again, and the numbers are the same."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

import catena as ct
from catena import disk_cache
from catena.disk_cache import room, sealed
from catena.engine import cache, headers
from damage import NO_FILES, damaged, told_by_child

CONSTANT = 0.7310585786300049
TEXT = f"""{headers.CPU}
@njit(types.float64(types.float64), cache=True, **_strict)
def advance(x):
    return x * {CONSTANT} + 0.25
"""


def value_of_the_function() -> str:
    """A generated module, loaded and called."""
    return float(cache.load(f"{TEXT}# damaged", "a test").advance(3.0)).hex()


def end_of_a_run() -> str:
    """A pair of system and method: a derived text and machine code. No other test uses this energy."""
    system = ct.Hamiltonian("p**2/2 + q**6/6 + q**4/8", "q", "p")
    run = ct.simulate(system, system.start(q=0.3, p=0.1), method=ct.EulerB(), dt=0.05, steps=50)
    return " ".join(float(x).hex() for x in (*run.final.q, *run.final.p))


def prepare() -> None:
    """What takes long is done here, once; the code in question is derived, loaded and compiled in children only."""
    import sympy  # noqa: F401
    from numba.core.registry import cpu_target

    cpu_target.typing_context.refresh()
    cpu_target.target_context.refresh()


class Damages:
    """A cache that one action fills; then its files are damaged, one at a time, and children do the action again."""

    def __init__(self, action: Callable[[], str], folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        prepare()
        monkeypatch.setenv(disk_cache.VARIABLE, str(folder / "cache"))
        self.action, self.folder = action, folder
        self.expected = told_by_child(action, folder)
        self.whole = {path: path.read_bytes() for path in disk_cache.place().iterdir()}

    def survive(self, path: Path, what: object) -> None:
        """The same numbers, and a whole file again."""
        assert told_by_child(self.action, self.folder) == self.expected, (path, what)
        assert path.is_dir() or path.read_bytes() == self.whole[path] or path.name.startswith("code"), (path, what)

    def do(self, path: Path, count: int, seed: int) -> int:
        """Damage a file in so many ways; how many differ from the file."""
        other = sealed.seal("another identity", b"other")
        done = 0
        for what, data in damaged(self.whole[path], other, random.Random(seed)):
            if data != self.whole[path]:
                path.write_bytes(data)
                self.survive(path, what)
                done += 1
            if done == count:
                return done
        return done


def test_twenty_damaged_files_of_machine_code_give_the_same_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    damages = Damages(value_of_the_function, tmp_path, monkeypatch)
    assert damages.expected == float(3.0 * CONSTANT + 0.25).hex()
    (path,) = damages.whole
    assert damages.do(path, 20 - len(NO_FILES), seed=20) == 20 - len(NO_FILES)
    for put in NO_FILES:
        put(path)
        damages.survive(path, put)


def test_without_the_digest_one_flipped_bit_is_silently_another_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The deliberate error: a bit of a constant in the machine code, which nothing else notices."""
    damages = Damages(value_of_the_function, tmp_path, monkeypatch)
    (path,) = damages.whole
    constant = struct.pack("<d", CONSTANT)
    assert constant in damages.whole[path]
    path.write_bytes(damages.whole[path].replace(constant, bytes([constant[0] ^ 1]) + constant[1:]))
    changed = path.read_bytes()
    with monkeypatch.context() as blind:
        blind.setattr(room, "unseal", lambda identity, file: file[len(sealed.seal(identity, b"")) :])
        assert told_by_child(value_of_the_function, tmp_path) != damages.expected
        assert path.read_bytes() == changed
    damages.survive(path, "a flipped bit")


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["text", "code"])
def test_five_hundred_damaged_files_give_the_same_numbers(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The derived text and the machine code of a pair, each in 250 ways; 5 min on a free core."""
    damages = Damages(end_of_a_run, tmp_path, monkeypatch)
    assert sorted(path.name.partition("-")[0] for path in damages.whole) == ["code", "text"]
    (path,) = (path for path in damages.whole if path.name.startswith(kind))
    assert damages.do(path, 250, seed=500) == 250
