"""How functions of a compiled program call each other: the text, and that no bit depends on it."""

from __future__ import annotations

import re

import pytest

import catena as ct
import linked
from catena.engine import calls
from catena.engine.build import build, program_parts
from catena.engine.collector import Part

TYPES = {"mass": "float64 1", "moments": "float64 2", "node": "float64 3"}


def part(name: str, body: str, arguments: str = "z, par", mark: str = "fn") -> Part:
    return Part(name, mark, "here", f"def {name}({arguments}):\n    {body}")


def test_a_function_gets_what_it_and_its_callees_read() -> None:
    parts = [
        part("weight", "return par.mass[0]"),
        part("nothing", "return 1.0"),
        part("turn", "return par.moments[0, 0] * weight(z[nothing(z, par)], par)"),
        part("advance", "return turn(z, par) + weight(z, par) + par.node[0, 0, 0]"),
    ]
    lines, made = calls.narrow(parts, TYPES)
    texts = {one.name: one.text for one in made}
    one, two = (re.match(r"\w+", line)[0] for line in lines)  # type: ignore[index]
    assert lines == [f"{one} = namedtuple(\"{one}\", ('mass',))", f"{two} = namedtuple(\"{two}\", ('mass', 'moments'))"]
    assert f"weight(z[nothing(z, 0)], {one}(par.mass))" in texts["turn"]
    assert f"turn(z, {two}(par.mass, par.moments)) + weight(z, {one}(par.mass))" in texts["advance"]
    assert calls.narrow(parts, {**TYPES, "mass": "int64 1"})[0] != lines  # other types, other names


def test_what_hands_par_to_who_knows_whom_gets_all_of_it() -> None:
    parts = [part("deep", "return _of_numba(par)"), part("advance", "return deep(z, par)")]
    lines, made = calls.narrow(parts, TYPES)
    assert not lines and [one.text for one in made] == [one.text for one in parts]


def test_what_is_called_once_becomes_part_of_its_caller() -> None:
    parts = [
        part("once", "return 1.0", "z"),
        part("twice", "return 1.0", "z"),
        part("apart", "return 1.0", "z", mark="apart"),
        part("advance", "return once(z) + twice(z) + twice(z) + apart(z)", "z"),
    ]
    assert [one.mark for one in calls.within_their_callers(parts)] == ["within", "fn", "apart", "fn"]


@pytest.mark.parametrize("method", [ct.Rattle(), ct.EnergyMomentum()], ids=lambda method: method.name)
def test_every_function_of_a_linkage_finds_what_it_reads(method: ct.Method) -> None:
    """In plain Python a tuple that lacks an array is an AttributeError; the numbers are those of whole parameters."""
    system, start = linked.two_bodies("Revolute", ())
    program = build(system, method, compiled=False)
    _, _, parts = program_parts(system, method)
    lines, made = calls.narrow(parts, {name: f"{dtype} {n}" for name, n, dtype in program.arrays.types})
    text = program.text
    for before, after in zip(parts[:-1], made[:-1], strict=True):
        assert before.text in text
        text = text.replace(before.text, after.text)
    last = parts[-1].text.replace(f"def {parts[-1].name}(", "def advance(", 1)
    text = text.replace(last, made[-1].text.replace(f"def {parts[-1].name}(", "def advance(", 1))
    text = text.replace("\nParameters = ", "\n" + "\n".join(lines) + "\nParameters = ", 1)
    assert text.count("par.") > program.text.count("par.")
    assert _final(program, text, start) == _final(program, program.text, start)
    broken = text.replace("par.node)", "par.node[::-1])")
    assert broken != text and _final(program, broken, start) != _final(program, text, start)


def _final(program: ct.engine.build.Program, text: str, start: ct.State) -> list[float]:
    from dataclasses import replace

    from catena.engine.driver import Driver
    from catena.engine.plain_python import interpret

    driver = Driver(replace(program, module=interpret(text)), program.view.pack(start), t0=0.0, dt=0.02, every=1)
    driver.advance(2)
    return driver.z.tolist()
