"""The collector takes plain functions as they are, and refuses what would not be what it seems, with its place."""

from __future__ import annotations

import ast
import dis
import importlib.util
import json
import shutil
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from catena.engine import collector, headers
from catena.engine.collector import collect
from catena.engine.plain_python import interpret
from catena.errors import InputError
from catena.kernels import views
from catena.kernels.marks import Record, Written, bind, choice, keep_given, optional, size, slot
from processes import SOURCE, run_python

Importer = Callable[..., ModuleType]


@slot
def inner(x, par):
    """What the kernels under test call."""


@slot
def outer(x, par):
    """A second slot, filled with kernels that have slots of their own."""


@optional
def perhaps(x, par):
    """A slot that may stay empty."""
    return 3.0 * x


def entry_of_optional(x, par):
    return perhaps(x, par) + 1.0


def plus_perhaps(x, par):
    return 10.0 + perhaps(x, par)


@size
def length(x):
    """A length that may become a literal."""
    return x.shape[0]


def entry(x, par):
    return inner(x, par)


def twice(x, par):
    return 2.0 * inner(x, par)


def plus_one(x, par):
    return x + 1.0


class Tie(Record):
    """A row of par.ties."""

    ARM = 3
    TENSION = 1


def pulled(x, par):
    return x * par[Tie.TENSION] + Tie.WIDTH


def squared(x, par):
    return x * x


def squared_2(x, par):
    """Has the name that a second variant of `squared` would get."""
    return 10.0 * x


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Importer:
    """Writes a module `plug` and imports it; again and again if wanted."""

    def load(text: str, *, folder: str = "here") -> ModuleType:
        path = tmp_path / folder / "plug.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(textwrap.dedent(text))
        specification = importlib.util.spec_from_file_location("plug", path)
        assert specification is not None and specification.loader is not None
        made = importlib.util.module_from_spec(specification)
        monkeypatch.setitem(sys.modules, "plug", made)
        monkeypatch.setattr(sys, "dont_write_bytecode", True)  # two edits within a second look alike to Python's cache
        specification.loader.exec_module(made)
        return made

    return load


def text_of(kernel: Any, fills: dict[Any, Any]) -> str:
    """The generated module, to be run as plain Python."""
    parts = collect(kernel, fills)
    return headers.module_text("test", parts, [("values", 1, "float64")], header=headers.PYTHON, entry="@_fn")


def value_of(kernel: Any, fills: dict[Any, Any], *arguments: Any) -> Any:
    return interpret(text_of(kernel, fills)).advance(*arguments)


# What is refused. `# HERE` marks the line that the error must name.

REFUSED = {
    "a lambda": ("kernel = lambda x, par: x  # HERE", "a lambda cannot be a kernel"),
    "a closure": (
        """
        def make(c):
            def kernel(x, par):  # HERE
                return c * x
            return kernel
        kernel = make(2.0)
        """,
        "defined inside a function",
    ),
    "default arguments": ("def kernel(x, par=None):  # HERE\n    return x", "default arguments"),
    "keyword-only arguments": ("def kernel(x, *, par):  # HERE\n    return x", "only plain positional"),
    "star arguments": ("def kernel(*x):  # HERE\n    return x", "has parameters"),
    "an njit-ed kernel": ("from numba import njit\n@njit  # HERE\ndef kernel(x, par):\n    return x", "take the njit off"),
    "an njit-ed helper": (
        "from numba import njit\n@njit\ndef f(x):\n    return x\ndef kernel(x, par):\n    return f(x)  # HERE",
        "f is a CPUDispatcher; take the njit off",
    ),
    "a wrapped kernel": (
        """
        import functools
        def twice(f):
            @functools.wraps(f)  # HERE
            def wrapped(x, par):
                return 2 * f(x, par)
            return wrapped
        @twice
        def kernel(x, par):
            return x
        """,
        "wrapped by a decorator",
    ),
    "a partial": (
        "from functools import partial\ndef f(c, x, par):  # HERE\n    return c * x\nkernel = partial(f, 2.0)",
        "is a partial, not a plain Python function",
    ),
    "a numpy ufunc": ("import numpy as np\ndef kernel(x, par):\n    return np.sin(x)  # HERE", "np.sin is a ufunc; use math"),
    "a numpy function": ("import numpy as np\ndef kernel(x, par):\n    return np.dot(x, x)  # HERE", "np.dot"),
    "a scipy function": (
        "from scipy.special import comb\ndef kernel(x, par):\n    return comb(3, 2)  # HERE", "comes from scipy"
    ),
    "a function of the standard library": (
        "import statistics\ndef kernel(x, par):\n    return statistics.mean(x)  # HERE", "comes from statistics"
    ),
    "an array as a constant": (
        "import numpy as np\nC = np.ones(3)\ndef kernel(x, par):\n    return C[0] * x  # HERE", "pass arrays through par"
    ),
    "a list as a constant": ("C = [1.0, 2.0]\ndef kernel(x, par):\n    return C[0] * x  # HERE", "C is a list"),
    "a tuple with a string": ("C = (1.0, 'a')\ndef kernel(x, par):\n    return C[0] * x  # HERE", "C is a tuple"),
    "a string as a constant": ("C = 'abc'\ndef kernel(x, par):\n    return len(C)  # HERE", "C is a str"),
    "an attribute of a class": (
        "class Settings:\n    c = 2.0\ndef kernel(x, par):\n    return Settings.c * x  # HERE", "only modules and records may be looked into"
    ),
    "a string": ("def kernel(x, par):\n    y = 'a'  # HERE\n    return x", "a string"),
    "an f-string": ("def kernel(x, par):\n    y = f'{x}'  # HERE\n    return x", "an f-string"),
    "a list": ("def kernel(x, par):\n    return [x][0]  # HERE", "a list"),
    "a comprehension": ("def kernel(x, par):\n    return sum(y for y in x)  # HERE", "not allowed"),
    "a lambda inside": ("def kernel(x, par):\n    f = lambda y: y  # HERE\n    return f(x)", "a lambda"),
    "a function inside": (
        "def kernel(x, par):\n    def f(y):  # HERE\n        return y\n    return f(x)", "a function in a function"
    ),
    "try": ("def kernel(x, par):\n    try:  # HERE\n        return x\n    finally:\n        pass", "try"),
    "raise": ("def kernel(x, par):\n    raise ValueError  # HERE", "raise"),
    "assert": ("def kernel(x, par):\n    assert x > 0  # HERE\n    return x", "assert"),
    "with": ("def kernel(x, par):\n    with x:  # HERE\n        return x", "with"),
    "an import": ("def kernel(x, par):\n    import math  # HERE\n    return x", "an import"),
    "global": ("C = 1\ndef kernel(x, par):\n    global C  # HERE\n    return x", "global"),
    "a star": ("def kernel(x, par):\n    return max(*x)  # HERE", "a star"),
    "a walrus": ("def kernel(x, par):\n    return (y := x) + y  # HERE", "a walrus"),
    "print": ("def kernel(x, par):\n    print(x)  # HERE\n    return x", "print is not defined, or not allowed"),
    "an unknown name": ("def kernel(x, par):\n    return x + omega  # HERE", "omega is not defined"),
    "recursion": ("def kernel(x, par):  # HERE\n    return kernel(x - 1, par)", "recursion"),
    "mutual recursion": (
        "def kernel(x, par):  # HERE\n    return other(x, par)\ndef other(x, par):\n    return kernel(x, par)", "recursion"
    ),
    "parameters in another order": ("def kernel(par, x):  # HERE\n    return x", "slot inner promises ('x', 'par')"),
    "a parameter too many": ("def kernel(x, par, h):  # HERE\n    return x", "slot inner promises ('x', 'par')"),
    "a local name that hides a callee": (
        "def f(x):\n    return x\ndef kernel(x, par):\n    plug_f = 1.0\n    return plug_f * f(x)  # HERE",
        "the local name plug_f hides what f becomes",
    ),
    "a local name that hides math": (
        "from math import sqrt\ndef kernel(x, par):\n    math = 1.0\n    return math * sqrt(x)  # HERE",
        "the local name math hides what sqrt becomes",
    ),
    "a slot that nothing fills": (
        "from catena.kernels.marks import slot\n@slot\ndef open_slot(x):\n    '''What turns.'''\ndef kernel(x, par):\n    return open_slot(x)  # HERE",
        "calls the slot open_slot, which nothing fills: What turns.",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_a_kernel_is_refused_with_its_place_for(name: str, module: Importer) -> None:
    source, message = REFUSED[name]
    made = module(source)
    text = textwrap.dedent(source)
    line = next(number for number, row in enumerate(text.splitlines(), 1) if "# HERE" in row)
    with pytest.raises(InputError) as caught:
        collect(entry, {inner: made.kernel})
    assert message in caught.value.wrong
    assert caught.value.where == f"{made.__file__}:{line}"


def test_a_sound_kernel_passes_where_all_these_are_refused(module: Importer) -> None:
    made = module("import math\nC = (1.0, -2.5)\ndef kernel(x, par):\n    return C[1] * math.sqrt(x)")
    assert value_of(entry, {inner: made.kernel}, 4.0, None) == -5.0


def test_a_kernel_without_source_is_refused() -> None:
    namespace: dict[str, Any] = {"__name__": "prompt"}
    exec("def kernel(x, par):\n    return x", namespace)
    with pytest.raises(InputError, match="has no source; a kernel must live in a file"):
        collect(entry, {inner: namespace["kernel"]})


def test_a_written_kernel_must_keep_the_contract_too() -> None:
    with pytest.raises(InputError, match="slot inner promises"):
        collect(entry, {inner: Written("kernel", "def kernel(x, work):\n    return x", "somewhere")})
    assert (
        value_of(entry, {inner: Written("kernel", "def kernel(x, par):\n    return -x", "somewhere")}, 2.0, None)
        == -2.0
    )


def test_a_size_must_be_a_number() -> None:
    def use(value: Any) -> Any:
        return collect(length, {length: value})

    assert "return 3" in use(3)[0].text
    for wrong in ("3", np.int64(3)):  # the second would be written as `np.int64(3)`
        with pytest.raises(InputError, match="only a number can be a size"):
            use(wrong)


@pytest.mark.parametrize(
    "edited",
    ["def kernel(x, par):\n    return 3.0 * x\n", "\n\ndef kernel(x, par):\n    return 2.0 * x\n", ""],
    ids=["another body", "moved", "gone"],
)
def test_a_file_edited_since_it_was_imported_is_refused(
    edited: str, module: Importer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its new text would stand for the old function. What was collected before still stands for it."""
    made = module("def kernel(x, par):\n    return 2.0 * x\n")
    assert value_of(entry, {inner: made.kernel}, 1.0, None) == 2.0
    Path(str(made.__file__)).write_text(edited)
    assert value_of(entry, {inner: made.kernel}, 1.0, None) == 2.0
    monkeypatch.setattr(collector, "_collected", {})
    with pytest.raises(InputError, match=r"has changed since it was imported; restart Python|has no source"):
        collect(entry, {inner: made.kernel})


def test_a_constant_that_was_replaced_is_collected_again(module: Importer) -> None:
    """What was collected is used again only while every name in it stands for the same thing; again once that is put back."""
    made = module("FACTOR = 2.0\n\n\ndef kernel(x, par):\n    return FACTOR * x\n")
    first = collect(entry, {inner: made.kernel})
    assert value_of(entry, {inner: made.kernel}, 1.0, None) == 2.0
    before, made.FACTOR = made.FACTOR, 3.0
    assert value_of(entry, {inner: made.kernel}, 1.0, None) == 3.0
    made.FACTOR = before
    assert all(a is b for a, b in zip(first, collect(entry, {inner: made.kernel}), strict=True))


def test_a_kernel_is_unparsed_once_for_the_same_names(module: Importer, monkeypatch: pytest.MonkeyPatch) -> None:
    """In another program its text is found again; under other names, or with another constant, it is not."""
    unparsed: list[str] = []
    unparse = ast.unparse
    monkeypatch.setattr(collector.ast, "unparse", lambda tree: (unparsed.append(tree.name), unparse(tree))[1])
    made = module(
        """
        FACTOR = 2.0

        def helper(x):
            return FACTOR * x

        def first(x, par):
            return helper(x) + 1.0

        def second(x, par):
            return helper(x) + 2.0
        """
    )
    assert value_of(made.first, {}, 1.0, None) == 3.0 and len(unparsed) == 2
    assert value_of(made.second, {}, 1.0, None) == 4.0 and len(unparsed) == 3
    made.FACTOR = 3.0
    assert value_of(made.second, {}, 1.0, None) == 5.0 and len(unparsed) == 4


# What is collected.


def test_names_in_a_record_become_numbers() -> None:
    """The twin, a class that is no record, is refused above."""
    assert value_of(entry, {inner: pulled}, 2.0, (0.0, 0.0, 0.0, 5.0)) == 2.0 * 5.0 + 4.0
    assert "Tie" not in text_of(entry, {inner: pulled})


def test_slots_nest_and_a_filling_never_sees_itself() -> None:
    """twice(twice(plus_one)), as a composition of a composition; each level is a function of its own."""
    nested = bind(twice, {inner: bind(twice, {inner: plus_one})})
    assert value_of(entry, {inner: nested}, 3.0, None) == 2.0 * (2.0 * (3.0 + 1.0))
    around = bind(twice, {inner: outer})
    assert value_of(entry, {inner: around, outer: squared}, 3.0, None) == 2.0 * 9.0
    text = text_of(entry, {inner: nested})
    assert "def test_collector_twice(" in text and "def test_collector_twice_2(" in text


def test_an_optional_slot_does_what_it_says_where_nothing_fills_it() -> None:
    """Around itself, too: a filling never sees itself. The twin, a slot that is not optional, is refused above."""
    assert value_of(entry_of_optional, {}, 2.0, None) == 3.0 * 2.0 + 1.0
    assert value_of(entry_of_optional, keep_given({perhaps: None}), 2.0, None) == 3.0 * 2.0 + 1.0
    assert value_of(entry_of_optional, {perhaps: plus_one}, 2.0, None) == 2.0 + 1.0 + 1.0
    assert value_of(entry_of_optional, {perhaps: plus_perhaps}, 2.0, None) == 10.0 + 3.0 * 2.0 + 1.0


def both(x, par):
    return squared(x, par) + squared_2(x, par) + inner(x, par)


def test_the_name_of_a_second_variant_never_hides_another_kernel(module: Importer) -> None:
    """`squared` of another file with the same path, then `squared_2`: three functions, three names."""
    made = module("def squared(x, par):\n    return -x * x")
    made.squared.__module__ = __name__
    assert value_of(both, {inner: made.squared}, 3.0, None) == 9.0 + 30.0 - 9.0


def measured(x, par):
    total = 0.0
    for k in range(length(x)):
        total += x[k]
    return total


def test_a_size_becomes_a_literal_and_gives_the_same_value() -> None:
    x = np.arange(4.0)
    assert value_of(measured, {}, x, None) == value_of(measured, {length: 4}, x, None) == 6.0
    assert value_of(measured, {length: 3}, x, None) == 3.0
    assert "return 4" in text_of(measured, {length: 4})
    assert "shape" not in text_of(measured, {length: 4})


@choice
def doubled():
    return 1


def chosen(x, par):
    if doubled():
        x *= 2.0
    else:
        x = missing_for_one(x, par)
        x += 1.0
    return x * (3 + doubled())


def missing_for_one(x, par):
    return x + par.nowhere


def test_a_choice_becomes_a_literal_where_it_is_called() -> None:
    """Python drops what stands behind `if 1:` when it compiles: a branch that is not taken costs nothing, in any compiler."""
    assert value_of(chosen, {}, 5.0, None) == 40.0
    assert "if 1:" in text_of(chosen, {})
    assert "if 0:" in text_of(chosen, {doubled: 0}) and "* (3 + 0)" in text_of(chosen, {doubled: 0})
    made = interpret(text_of(chosen, {doubled: True})).advance
    assert not any("missing_for_one" in str(step.argval) for step in dis.get_instructions(made))
    with pytest.raises(InputError, match="only a number can be a choice"):
        collect(chosen, {doubled: "1"})


CONSTANTS = """
import math
from math import inf
NOTHING, SMALL, NEGATIVE, FLAG, NESTED = float("nan"), 5e-324, -0.0, True, ((1, 2), (3.5, -inf))
def kernel(x, par):
    return (NOTHING, SMALL, NEGATIVE, FLAG, NESTED, math.pi, -inf, 2 ** -NESTED[0][1])
"""


def test_constants_are_exact(module: Importer) -> None:
    made = module(CONSTANTS)
    expected, found = made.kernel(1.0, None), value_of(entry, {inner: made.kernel}, 1.0, None)
    assert repr(found) == repr(expected)


PLUG = """
def helper(x):
    return 3.0 * x

def kernel(x, par):
    y = helper(x)
    return y + 1.0
"""
COSMETIC = '''
"""A docstring of the module."""
# a comment
def helper(x: float) -> float:
    """What it does."""
    return 3.0 * x  # why

def unrelated(x):
    return [x]

def kernel(x, par):
    """Another
    docstring."""

    y: float = helper(x)
    return (y
            + 1.0)
'''


def test_comments_docstrings_annotations_layout_and_folder_do_not_change_the_text(module: Importer) -> None:
    plain = text_of(entry, {inner: module(PLUG).kernel})
    assert text_of(entry, {inner: module(COSMETIC, folder="elsewhere").kernel}) == plain


@pytest.mark.parametrize(("old", "new"), [("3.0 * x", "3.5 * x"), ("y + 1.0", "y + 1")], ids=["helper", "kernel"])
def test_editing_a_kernel_or_its_helper_gives_another_text(old: str, new: str, module: Importer) -> None:
    plain = text_of(entry, {inner: module(PLUG).kernel})
    assert text_of(entry, {inner: module(PLUG.replace(old, new)).kernel}) != plain


def test_a_constant_changed_in_a_module_gives_another_text(module: Importer) -> None:
    made = module("C = 2.0\ndef kernel(x, par):\n    return C * x")
    plain = text_of(entry, {inner: made.kernel})
    made.C = 3.0
    assert text_of(entry, {inner: made.kernel}) != plain
    assert value_of(entry, {inner: made.kernel}, 1.0, None) == 3.0


def test_every_slot_says_what_it_is() -> None:
    slots = [value for value in vars(views).values() if getattr(value, "__mark__", "") == "slot"]
    assert len(slots) > 10
    assert all(kernel.__doc__ for kernel in slots)


PROGRAMS = """
import hashlib
import catena as ct
from catena.engine.build import build
from catena.running.crossings import crossing_of
for problem, method in (
    (ct.problems.galactic(), ct.Gauss(3)),
    (ct.problems.kepler(), ct.RK4()),
    (ct.problems.henon_heiles(), ct.Composition(ct.StormerVerlet(), "yoshida4")),
):
    watched = crossing_of(problem.system, [ct.Section("a", "q2*p1 - p2*sin(q1)", where="q1 > 0 and p2 < 1")], [])
    text = build(problem.system, method, crossing=watched, compiled=False).text
    print(hashlib.sha256(text.encode()).hexdigest())
"""


def test_the_text_is_the_same_for_every_hash_seed_and_folder(tmp_path: Path) -> None:
    """Each process derives everything itself: it has a cache of its own."""
    shutil.copytree(SOURCE / "catena", tmp_path / "copy" / "catena", ignore=shutil.ignore_patterns("__pycache__"))
    found = [
        run_python(PROGRAMS, source=source, PYTHONHASHSEED=seed, CATENA_CACHE_DIR=tmp_path / f"cache{seed}")[0]
        for seed, source in ((1, SOURCE), (2, SOURCE), (3, tmp_path / "copy"))
    ]
    assert len(set(found[0].split())) == 3
    assert found[0] == found[1] == found[2]


def test_a_kernel_of_a_script_that_is_run_has_a_name_that_can_be_written() -> None:
    """`runpy` calls the module of a script <run_path>."""

    def kernel(): ...

    kernel.__module__ = "<run_path>"
    assert collector.stem_of(kernel).isidentifier()


THREADS = """
import gc, json, sys, threading
from catena.engine import collector, folding, looks
if sys.argv[1] == "together":
    from catena.engine import trees
    class Nobody:
        def __enter__(self): pass
        def __exit__(self, *error): pass
    trees._alone = Nobody()
sys.setswitchinterval(1e-6)
gc.set_threshold(20)
gc.callbacks.append(lambda *happened: [None for _ in range(100)])  # other threads go on here
wrong = []
def read(entry):
    for _ in range(10):
        for kept in (collector._known, collector._collected):
            kept.clear()
        collector._definitions.cache_clear()
        try:
            collector.collect(entry, {})
        except SystemError as error:
            wrong.append(str(error))
entries = (folding.fold, folding.fold_members, folding.conclude, looks.look_after)
threads = [threading.Thread(target=read, args=(entry,)) for entry in entries]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(json.dumps(wrong))
"""


def test_threads_read_kernels_one_after_the_other() -> None:
    """Python 3.11 counts the depth of trees for all threads together; it is seen if they are let in at the same time."""
    assert json.loads(run_python(THREADS, "alone")[0]) == []
    if sys.version_info < (3, 12):
        assert json.loads(run_python(THREADS, "together")[0])
