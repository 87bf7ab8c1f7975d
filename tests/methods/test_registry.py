"""The registry is the one list of methods: complete, documented, cited, exported, and open to others."""

from __future__ import annotations

import copy
import importlib
import importlib.metadata
import importlib.util
import inspect
import json
import pickle
import pkgutil
import re
import subprocess
import sys
from dataclasses import dataclass, fields, replace
from pathlib import Path

import numpy as np
import pytest

import catena as ct
import harness
from catena import methods
from catena.engine.pairing import methods_for
from catena.methods.base import METHODS, Method, Stepper, all_methods, method_from, register
from catena.registry import _all_plugins
from harness import each, problem
from places import SUPPORT, TESTS
from processes import run_python

BIBLIOGRAPHY = (Path(inspect.getfile(ct)).parent / "references.bib").read_text()
KEYS = set(re.findall(r"^@\w+\{(\w+),", BIBLIOGRAPHY, re.MULTILINE))
KINDS = [pytest.param(kind, id=kind.name) for kind in all_methods()]


@pytest.mark.parametrize("kind", KINDS)
def test_a_switch_is_true_or_false(kind: type[Method]) -> None:
    """A text is neither: "no" would switch on."""
    for switch in [field.name for field in fields(kind) if field.type == "bool"]:
        with pytest.raises(ct.InputError, match=f"{switch} = 'no'"):
            replace(kind.examples()[0], **{switch: "no"})


@pytest.mark.parametrize("table", [np.zeros(3), np.zeros((1, 3), dtype=int), [[1.0, 2.0]]])
def test_a_table_that_does_not_compile_is_refused(table: object) -> None:
    """Plain Python reads tab[0] of a list of numbers; compiled, it is a row."""
    with pytest.raises(ct.InputError, match="tab has shape"):
        Stepper(lambda z, e, dt, par, tab, work, carry: 0, table, 0, 0)  # type: ignore[arg-type]


# Complete ---------------------------------------------------------------------------------------------------------


def public_methods() -> set[type[Method]]:
    """The classes of the folder that a user could want: methods without an underscore that can be made."""
    modules = [importlib.import_module(m.name) for m in pkgutil.walk_packages(methods.__path__, "catena.methods.")]
    return {
        kind
        for module in modules
        for kind in vars(module).values()
        if inspect.isclass(kind) and issubclass(kind, Method) and kind.__module__ == module.__name__
        if not kind.__name__.startswith("_") and not inspect.isabstract(kind)
    }


def test_every_method_of_the_folder_is_registered():
    assert public_methods() == {kind for kind in all_methods() if kind.__module__.startswith("catena.")}


def test_every_method_is_a_public_name_of_catena():
    for kind in public_methods():
        assert kind.__name__ in ct.__all__
        assert getattr(ct, kind.__name__) is kind


def test_a_method_that_is_not_registered_is_seen(monkeypatch):
    monkeypatch.delitem(METHODS._kinds, "RK4")
    with pytest.raises(AssertionError):
        test_every_method_of_the_folder_is_registered()


def test_an_unknown_method_is_named_with_its_neighbour():
    with pytest.raises(ct.InputError, match="did you mean Gauss"):
        METHODS.find("Gaus")


def test_an_unknown_parameter_is_named_with_its_neighbour():
    with pytest.raises(ct.InputError, match="did you mean stages"):
        method_from({"kind": "Gauss", "stage": 3})


# Written down and read back ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", each())
def test_a_method_survives_pickling_and_copying(method):
    for twin in (pickle.loads(pickle.dumps(method)), copy.deepcopy(method)):
        assert twin == method
        assert hash(twin) == hash(method)


@pytest.mark.parametrize("method", each())
def test_a_method_is_made_again_from_its_description(method):
    """Through JSON, as a store keeps it."""
    assert method_from(json.loads(json.dumps(method.describe()))) == method


@pytest.mark.parametrize("method", each())
def test_a_method_prints_as_it_is_written(method):
    """With the names of the registry; those of catena are public ones, and are tested above."""
    assert eval(str(method), {kind.name: kind for kind in all_methods()}) == method


def test_examples_of_all_methods_print_differently():
    names = [str(method) for method in harness.examples()]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("method", each())
def test_a_method_cannot_be_changed(method):
    for field in fields(method):
        with pytest.raises(AttributeError):
            setattr(method, field.name, None)


@pytest.mark.parametrize("method", each())
def test_traits_are_within_their_ranges(method):
    traits = method.traits
    assert traits.order >= 1
    assert traits.stability >= 0
    assert len(set(traits.keeps)) == len(traits.keeps)
    if traits.symmetric and traits.has_order:  # the order of a symmetric method is even
        assert traits.order % 2 == 0
    assert method.advice()


# Documented --------------------------------------------------------------------------------------------------------------


def undocumented(kind: type) -> list[str]:
    """What the documentation of a method lacks."""
    text = inspect.cleandoc(kind.__doc__ or "")
    lines = text.splitlines()
    missing = []
    if not lines or not lines[0].endswith((".", ":")) or len(lines[0]) > 120:
        missing.append("a first line that says what it is")
    if "rder" not in text:
        missing.append("its order")
    parameters = text.split("Parameters\n---", 1)[-1] if "Parameters\n---" in text else ""
    for field in fields(kind):  # type: ignore[arg-type]
        if not re.search(rf"^{field.name}\b.* : ", parameters, re.MULTILINE):
            missing.append(f"parameter {field.name}")
    references = text.split("References\n---", 1)
    if len(references) < 2 or not re.search(r"\[\w+\]", references[1]):
        missing.append("a reference")
    missing += [f"an entry for [{key}]" for key in re.findall(r"\[([a-z]+\d{4})\]", text) if key not in KEYS]
    return missing


@pytest.mark.parametrize("kind", KINDS)
def test_the_documentation_is_complete(kind):
    """What it is, its order, every parameter, and references whose keys are in the bibliography."""
    assert undocumented(kind) == []


@pytest.mark.parametrize("kind", KINDS)
def test_every_citation_is_in_the_bibliography_and_in_the_documentation(kind):
    cited = {key for method in kind.examples() for key in method.traits.cite}
    assert cited
    assert cited <= KEYS
    in_the_text = set(re.findall(r"\[(\w+)\]", kind.__doc__))
    assert in_the_text & cited


def test_missing_documentation_is_seen():
    @dataclass(frozen=True)
    class Silent(Method):
        """A method that does not end as a sentence, see [nobody1900]"""

        speed: float

    assert undocumented(Silent) == [
        "a first line that says what it is", "its order", "parameter speed", "a reference", "an entry for [nobody1900]",
    ]  # fmt: skip


# Open ---------------------------------------------------------------------------------------------------------------------

PLUGIN = '''
from dataclasses import dataclass

import numpy as np

from catena.methods.base import Drifts, Exact, Method, Stepper, Traits, register
from catena.kernels.summation import add
from catena.kernels.views import dimension, field


def two_thirds_step(z, e, dt, par, tab, work, carry):
    """work: two rates and a stage, n numbers each."""
    n = dimension(z)
    field(z, par, work[:n])
    for k in range(n):
        work[2 * n + k] = z[k] + dt * (2.0 / 3.0) * work[k]
    field(work[2 * n : 3 * n], par, work[n : 2 * n])
    for k in range(n):
        add(z, e, k, dt * (0.25 * work[k] + 0.75 * work[n + k]))
    return 0


@register
@dataclass(frozen=True)
class TwoThirds(Method):
    """Runge-Kutta method with a stage at two thirds of the step.

    Order 2, two evaluations per step; the energy drifts.

    References
    ----------
    [kutta1901]
    """

    needs = ("field",)

    def stepper(self, view):
        return Stepper(two_thirds_step, np.zeros((1, 1)), 3 * view.dimension, 0)

    @property
    def traits(self):
        return Traits(2, False, False, True, (Exact("linear"), Drifts("energy")), ("kutta1901",), 0.0)
'''


@pytest.fixture
def plugin(tmp_path, monkeypatch):
    """A method in a package of its own, found by its entry point."""
    (tmp_path / "third_party.py").write_text(PLUGIN)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(METHODS, "_kinds", dict(METHODS._kinds))
    monkeypatch.setattr(METHODS, "_loaded", False)
    entry = importlib.metadata.EntryPoint("two_thirds", "third_party", "catena.methods")
    found = importlib.metadata.EntryPoints([entry])
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda **which: found.select(**which))
    yield
    sys.modules.pop("third_party", None)


INTERRUPTED = """
import importlib
from catena.methods import base
whole = importlib.import_module
def interrupted(name, *more):
    if name.endswith(".splitting"):
        raise KeyboardInterrupt
    return whole(name, *more)
importlib.import_module = interrupted
try:
    base.all_methods()
except KeyboardInterrupt:
    print(len(base.METHODS._kinds))
importlib.import_module = whole
print(len(base.all_methods()))
"""


def test_an_interrupted_import_of_the_methods_is_made_up_for():
    """Ctrl-C while they are read for the first time: some are there, and all of them when they are asked for again."""
    some, then = map(int, run_python(INTERRUPTED)[0].split())
    assert 0 < some < then == sum(METHODS.is_own(kind) for kind in all_methods())


def test_a_method_of_another_package_is_listed_run_and_tested_like_our_own(plugin):
    """The recipe of CONTRIBUTING: one file, and every check applies."""
    assert "TwoThirds" not in METHODS._kinds
    method = method_from({"kind": "TwoThirds"})
    assert type(method) in all_methods()
    assert method in harness.examples()
    assert "TwoThirds" in methods_for(problem("kepler").system)
    assert undocumented(type(method)) == []
    of = problem("henon_heiles")
    assert harness.check_order(method, of).slope == pytest.approx(2, abs=0.05)
    harness.check_never_iterates(method, of)
    harness.check_cold_start(method, of)
    harness.check_resumes(method, of)
    harness.check_keeps_exactly(method, problem("whirl"))
    harness.check_promises(method, of, dt=0.05, steps=2000)
    run = ct.simulate(of, method=method, dt=0.01, steps=500)
    assert np.array_equal(np.concatenate([run.final.q, run.final.p]), harness.final(method, of, dt=0.01, steps=500))


def test_a_third_party_method_that_boasts_is_caught(plugin):
    """The same file with a claim that is not true."""
    from dataclasses import replace

    kind = METHODS.find("TwoThirds")

    @register
    @dataclass(frozen=True)
    class Boaster(kind):
        @property
        def traits(self):
            return replace(kind.traits.fget(self), order=3, symplectic=True, symmetric=True)

    for check in (harness.check_order, harness.check_symplectic, harness.check_symmetric):
        with pytest.raises(AssertionError):
            check(Boaster(), problem("henon_heiles"))


# The budget of the suite ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("count", "code"), [(120, 0), (121, 1)])
def test_a_suite_that_compiles_too_much_fails(tmp_path, monkeypatch, count, code):
    """The plug-in of this folder, in a session that pretends to have compiled so many combinations."""
    monkeypatch.delenv("CATENA_TEST_CACHE", raising=False)
    for file in (TESTS / "conftest.py", SUPPORT / "quick_functions.py"):
        (tmp_path / file.name).write_text(file.read_text())
    (tmp_path / "test_pretence.py").write_text(
        "import os, pathlib\n"
        "def test_pretend():\n"
        "    folder = pathlib.Path(os.environ['CATENA_CACHE_DIR'], 'kept')\n"
        "    folder.mkdir()\n"
        f"    for k in range({count}):\n"
        "        (folder / f'code-0.1.0-{k}').touch()\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--rootdir", "."]
    done = subprocess.run([*command, "."], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stdout
    assert f"{count} combinations of system and method compiled" in done.stdout


# Plug-ins that fail -----------------------------------------------------------------------------------------------------

SHADOW = PLUGIN.replace("TwoThirds", "Gauss")
BROKEN = {
    "raises": "raise RuntimeError('no \\x1b[2J such device')",
    "exits": "import sys; sys.exit(3)",
    "lacks a module": "import surely_not_installed",
    "is no Python": "def (",
    "shadows": SHADOW,
    "shadows after a good one": PLUGIN + SHADOW,
}


@pytest.fixture(params=BROKEN)
def bad_plugin(request, tmp_path, monkeypatch):
    """A package with a plug-in that cannot be used, beside a good one."""
    sources = {"bad_party": BROKEN[request.param], "third_party": PLUGIN}
    for name, text in sources.items():
        (tmp_path / f"{name}.py").write_text(text)
        about = tmp_path / f"{name}-1.0.dist-info"
        about.mkdir()
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name.replace('_', '-')}\nVersion: 1.0\n")
        (about / "entry_points.txt").write_text(f"[catena.methods]\n{name} = {name}\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(METHODS, "_kinds", dict(METHODS._kinds))
    monkeypatch.setattr(METHODS, "_loaded", False)
    _all_plugins.cache_clear()
    yield request.param
    _all_plugins.cache_clear()
    for name in sources:
        sys.modules.pop(name, None)


def test_a_plug_in_that_fails_is_named_and_left_out(bad_plugin):
    """Its distribution and the reason are told; built-in methods and other plug-ins are as they were."""
    own = METHODS._kinds["Gauss"]
    with pytest.warns(ct.CatenaWarning) as told:
        known = all_methods()
    (message,) = (str(warning.message) for warning in told)
    assert "bad_party" in message and "the distribution bad-party is left out" in message
    assert "\x1b" not in message
    assert METHODS.find("Gauss") is own
    if "shadows" in bad_plugin:
        assert "Gauss is a method of catena" in message
    assert [kind.__module__ for kind in known if kind.__name__ == "TwoThirds"] == ["third_party"]


def test_a_class_with_the_name_of_a_built_in_method_is_refused(monkeypatch):
    monkeypatch.setattr(METHODS, "_kinds", dict(METHODS._kinds))
    with pytest.raises(ct.InputError, match="RK4 is a method of catena"):

        @register
        class RK4(ct.RK4):
            """The same name."""

    assert METHODS.find("RK4") is ct.RK4
