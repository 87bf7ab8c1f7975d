"""The digest of a program stands for what it computes: another operation changes it, another name or place does not."""

from __future__ import annotations

import importlib.util
import json
import sys
import types
from pathlib import Path

import numpy as np
import pytest

import broken
import catena as ct
from catena.engine import loop
from catena.engine.collector import collect
from catena.engine.identity import formula_digest, parts_digest, program_digest
from catena.kernels import summation
from catena.running.plan import make_plan
from catena.systems.hamiltonian import Hamiltonian
from processes import run_python

KERNELS = '''
"""A module of kernels."""
import math

FACTOR = 0.5
POINTS = (1.0, 2.0)


def half(x):
    """Half of it."""
    return FACTOR * x  # as it says


def step(z, dt):
    """A step."""
    shift = half(dt)
    for k in range(z.shape[0]):
        z[k] += shift * math.sin(z[k]) + POINTS[0]
    return 0
'''


@pytest.fixture(autouse=True)
def sources_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python would take one text's bytecode for another of the same length that is written within the same second."""
    monkeypatch.setattr(sys, "dont_write_bytecode", True)


def digest_of(text: str, folder: Path, *, module: str = "kernels_of_a_user", entry: str = "step") -> str:
    """Digest of a kernel in a file of its own."""
    file = folder / f"{module}.py"
    file.write_text(text)
    specification = importlib.util.spec_from_file_location(module, file)
    assert specification is not None and specification.loader is not None
    loaded = importlib.util.module_from_spec(specification)
    sys.modules[module] = loaded
    try:
        specification.loader.exec_module(loaded)
        return parts_digest(collect(getattr(loaded, entry), {}))
    finally:
        del sys.modules[module]
        import linecache

        linecache.checkcache()


SAME = {
    "a kernel is renamed": KERNELS.replace("half", "one_half"),
    "a variable is renamed": KERNELS.replace("shift", "by").replace("(z, dt)", "(z, h)").replace("half(dt)", "half(h)"),
    "a constant is renamed": KERNELS.replace("FACTOR", "RATIO"),
    "a constant is written out": KERNELS.replace("FACTOR * x", "0.5 * x"),
    "comments, docstrings and annotations": KERNELS.replace("  # as it says", "")
    .replace("half(x)", "half(x: float) -> float")
    .replace('"""A step."""', '"""Steps."""')
    .replace("    shift =", "    # a comment\n\n    shift: float ="),
    "parentheses": KERNELS.replace("shift * math.sin(z[k]) + POINTS[0]", "(shift * math.sin(z[k])) + POINTS[0]"),
    "functions in another order": KERNELS.replace(
        KERNELS[KERNELS.index("def half") : KERNELS.index("def step")], ""
    ) + "\n\n" + KERNELS[KERNELS.index("def half") : KERNELS.index("def step")],
    "another mark": KERNELS.replace("import math", "import math\nfrom catena.kernels.marks import inline").replace(
        "def half", "@inline\ndef half"
    ),
}  # fmt: skip
OTHER = {
    "an operation": KERNELS.replace("FACTOR * x", "FACTOR + x"),
    "the order of operations": KERNELS.replace("shift * math.sin(z[k])", "math.sin(z[k]) * shift"),
    "a function": KERNELS.replace("math.sin", "math.cos"),
    "a number": KERNELS.replace("0.5", "0.25"),
    "a number by one bit": KERNELS.replace("0.5", "0.5000000000000001"),
    "a whole number for a float": KERNELS.replace("POINTS = (1.0", "POINTS = (1"),
    "an element": KERNELS.replace("POINTS[0]", "POINTS[1]"),
    "another variable": KERNELS.replace("half(dt)", "half(z[0])"),
    "a statement less": KERNELS.replace("+ POINTS[0]", ""),
    "a comparison": KERNELS.replace("    return 0", "    return 0 if dt > 0.0 else 1"),
    "arguments in another order": KERNELS.replace("(z, dt)", "(dt, z)"),
}


@pytest.mark.parametrize("name", SAME)
def test_names_places_and_comments_change_nothing(name: str, tmp_path: Path) -> None:
    assert SAME[name] != KERNELS
    assert digest_of(SAME[name], tmp_path) == digest_of(KERNELS, tmp_path)


@pytest.mark.parametrize("name", OTHER)
def test_another_operation_is_another_program(name: str, tmp_path: Path) -> None:
    assert OTHER[name] != KERNELS
    assert digest_of(OTHER[name], tmp_path) != digest_of(KERNELS, tmp_path)


def test_another_file_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "deeper").mkdir()
    moved = digest_of(
        KERNELS.replace("def step", "def advance"), tmp_path / "deeper", module="elsewhere", entry="advance"
    )
    assert moved == digest_of(KERNELS, tmp_path)


def test_a_callee_counts_where_it_is_called_whether_it_is_one_or_two_of_the_same(tmp_path: Path) -> None:
    """Two kernels that compute the same may become one."""
    twice = KERNELS.replace("half(dt)", "half(dt) + another(dt)") + "\n\ndef another(x):\n    return FACTOR * x\n"
    once = KERNELS.replace("half(dt)", "half(dt) + half(dt)")
    assert digest_of(twice, tmp_path) == digest_of(once, tmp_path)


HARMONIC = ct.problems.harmonic().system


def test_parameters_tables_sections_and_methods_are_part_of_a_program() -> None:
    def made(stiffness: float) -> Hamiltonian:
        return ct.Hamiltonian("p**2/2 + k*q**2/2", q=["q"], p=["p"], parameters={"k": stiffness})

    base = program_digest(made(1.0), ct.Gauss(2))
    plan = make_plan(
        made(1.0), made(1.0).start(q=1.0, p=0.0), ct.Gauss(2), dt=0.1, steps=1, t_end=None, sections=[ct.Section("a", "q")]
    )[0]  # fmt: skip
    others = [
        program_digest(made(1.0 + 2**-52), ct.Gauss(2)),
        program_digest(made(1.0), ct.Gauss(3)),
        program_digest(made(1.0), ct.StormerVerlet()),
        program_digest(ct.Hamiltonian("p**2/2 + k*q**4/2", q=["q"], p=["p"], parameters={"k": 1.0}), ct.Gauss(2)),
        plan.program_digest(),
    ]
    assert program_digest(made(1.0), ct.Gauss(2)) == base
    assert len({base, *others}) == 6


def test_a_coefficient_of_a_table_is_part_of_a_program(monkeypatch: pytest.MonkeyPatch) -> None:
    before = program_digest(HARMONIC, ct.Gauss(2))
    stepper = ct.Gauss.stepper

    def off_by_a_bit(self: ct.Gauss, view: object) -> object:
        made = stepper(self, view)
        table = np.array(made.tab)
        table.flat[0] = np.nextafter(table.flat[0], 2.0)
        return type(made)(**{**vars(made), "tab": table})

    monkeypatch.setattr(ct.Gauss, "stepper", off_by_a_bit)
    assert program_digest(HARMONIC, ct.Gauss(2)) != before


def test_names_of_coordinates_and_titles_are_not_part_of_a_program() -> None:
    first = ct.Hamiltonian("p**2/2 + q**2/2", q=["q"], p=["p"])
    second = ct.Hamiltonian("momentum**2/2 + place**2/2", q=["place"], p=["momentum"])
    assert program_digest(first, ct.Gauss(2)) == program_digest(second, ct.Gauss(2))


def test_a_kernel_of_ours_that_changes_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sum that methods add with, replaced by one that forgets the compensation."""
    before = program_digest(HARMONIC, ct.RK4())
    broken.forget_compensation(monkeypatch)
    assert program_digest(HARMONIC, ct.RK4()) != before


PROBLEMS = ("kepler", "lagrange_top", "book", "helix_chain(n=4)", "double_pendulum", "four_bar", "flip")
TELL = """
import json, sys
import catena as ct
from catena.engine.identity import program_digest
from catena.methods.base import method_from
told = []
for text in sys.argv[1:]:
    system = eval(f"ct.problems.{text if '(' in text else text + '()'}").system
    kind, arguments = system.default_method
    told.append(program_digest(system, method_from({"kind": kind, **arguments})))
print(json.dumps(told))
"""


def test_digests_are_the_same_in_another_process_and_differ_from_each_other() -> None:
    here = types.SimpleNamespace(told=[])
    exec(
        TELL.replace("sys.argv[1:]", repr(list(PROBLEMS))).replace("print(json.dumps(told))", "here.told = told"),
        {"here": here},
    )
    there = json.loads(run_python(TELL, *PROBLEMS, PYTHONHASHSEED=7)[0])
    assert here.told == there and len(set(there)) == len(PROBLEMS)


SCALE = 2.0


def summed(values, factor=1.0):
    """A formula."""
    return factor * SCALE * inner(np.asarray(values))


def inner(values):
    return sum(value * value for value in values)


def test_a_formula_is_what_it_computes_with_all_it_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    before = formula_digest(summed)
    monkeypatch.setattr(sys.modules[__name__], "SCALE", 3.0)
    scaled = formula_digest(summed)
    monkeypatch.undo()
    assert formula_digest(summed) == before != scaled


def test_the_loop_itself_is_part_of_a_program() -> None:
    assert parts_digest(collect(loop.remember_nothing, {})) != parts_digest(collect(summation.save, {}))
