"""The public names are there, importing catena is cheap, and imports point one way."""

from __future__ import annotations

import ast
import inspect
import json
import pkgutil
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import numpy as np
import pytest

import catena as ct
from processes import SOURCE, run_python

PACKAGE = SOURCE / "catena"
HEAVY = ("sympy", "xarray", "zarr", "matplotlib", "pydantic", "numba", "scipy", "tqdm", "rich", "typer", "heyoka")

# A module may import those of its own layer and of the layers before it; systems and methods share one, but do
# not know each other, and neither do engine and store.
LAYERS = (
    ("arrays", "errors", "log", "memory", "registry", "text", "version"),
    ("disk_cache",),
    ("kernels", "expressions"),
    ("geometry",),
    ("systems", "methods"),
    ("engine", "store"),
    ("running",),
    ("analysis", "output", "problems"),
    ("cases", "reproduce"),
    ("cli", "__main__"),
)
LAYER = {name: number for number, names in enumerate(LAYERS) for name in names}
STRANGERS = ({"systems", "methods"}, {"engine", "store"})


def modules() -> list[str]:
    return [
        found.name
        for found in pkgutil.walk_packages([str(PACKAGE)], prefix="catena.")
        if not found.name.endswith("__main__")
    ]


def part_of(module: str) -> str:
    """The layer's member that a module of catena belongs to: `catena.engine.loop` -> `engine`."""
    return module.split(".")[1]


def imports(path: Path, module: str) -> Iterator[str]:
    """What a file imports of catena, when it is loaded or when a function is called; not what is for types only.

    Nor what a method of a class imports: it is the door through which a user goes up, from a run to its plots, from a chain to its modes.
    """
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    todo: list[ast.AST] = list(ast.parse(path.read_text()).body)
    while todo:
        node = todo.pop()
        if isinstance(node, ast.ClassDef):
            todo += [part for part in node.body if not isinstance(part, ast.FunctionDef)]
            continue
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            todo += node.orelse
            continue
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names if name.name.startswith("catena."))
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*above, *([base] if base else [])])
            if base == "catena" or base.startswith("catena."):
                yield from (f"{base}.{name.name}" for name in node.names)
        todo += list(ast.iter_child_nodes(node))


def wrong_imports(files: dict[str, Path]) -> list[str]:
    """Imports that point up, or between strangers."""
    found = []
    for module, path in files.items():
        here = part_of(module)
        for target in imports(path, module):
            there = part_of(target)
            strangers = here != there and any({here, there} <= pair for pair in STRANGERS)
            if strangers or LAYER.get(there, 0) > LAYER.get(here, len(LAYERS)):
                found.append(f"{module} imports {target}")
    return found


def files_of_the_package() -> dict[str, Path]:
    files = {}
    for path in PACKAGE.rglob("*.py"):
        parts = ["catena", *path.relative_to(PACKAGE).with_suffix("").parts]
        if len(parts) > 2 or parts[-1] != "__init__":
            files[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return files


def test_imports_point_one_way() -> None:
    assert wrong_imports(files_of_the_package()) == []


def knots(files: dict[str, Path]) -> list[str]:
    """Modules that import each other, whenever they do."""
    graph: dict[str, set[str]] = {}
    for module, path in files.items():
        asked = {name if name in files else name.rpartition(".")[0] for name in imports(path, module)}
        graph[module] = {name for name in asked if name in files and name != module}
    try:
        list(TopologicalSorter(graph).static_order())
    except CycleError as knot:
        return list(knot.args[1])
    return []


def test_no_modules_import_each_other() -> None:
    assert knots(files_of_the_package()) == []


def test_a_knot_is_found(tmp_path: Path) -> None:
    files = {f"catena.running.{name}": tmp_path / f"{name}.py" for name in "ab"}
    files["catena.running.a"].write_text("from .b import something")
    files["catena.running.b"].write_text("def f():\n    from .a import something_else")
    assert set(knots(files)) == set(files)
    files["catena.running.b"].write_text("class B:\n    def door(self):\n        from .a import something_else")
    assert knots(files) == []


@pytest.mark.parametrize(
    ("module", "text"),
    [
        ("catena.kernels.views", "from ..engine import loop"),
        ("catena.running.new", "def f():\n    from ..output import plots"),
        ("catena.systems.body", "from ..methods.base import Method"),
        ("catena.methods.new", "from ..systems import base"),
        ("catena.engine.new", "from ..store.files import put"),
        ("catena.store.new", "import catena.engine.build"),
        ("catena.running.plan", "class A:\n    from ..output import plots"),
        ("catena.methods.new", "from .. import systems"),
        ("catena.running.auditing", "try:\n    from catena.cli import main\nexcept ImportError:\n    pass"),
    ],
)
def test_an_import_that_points_up_is_found(module: str, text: str, tmp_path: Path) -> None:
    path = tmp_path / "new.py"
    path.write_text(text)
    assert len(wrong_imports({module: path})) == 1


def test_a_method_of_a_class_may_import_what_is_above(tmp_path: Path) -> None:
    path = tmp_path / "new.py"
    path.write_text(
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from ..cli import a\nclass A:\n    def f(self):\n        import catena.cli"
    )
    assert wrong_imports({"catena.engine.new": path}) == []


def test_every_room_stands_on_the_page_on_architecture() -> None:
    page = (SOURCE.parent / "docs" / "architecture.md").read_text()
    rooms = {found.parent.relative_to(PACKAGE).name for found in PACKAGE.rglob("*/__init__.py")}
    assert {room for room in rooms if f"{room}/`" not in page} == set()


def test_every_part_of_the_package_has_its_layer() -> None:
    parts = {part_of(module) for module in files_of_the_package()}
    assert parts <= set(LAYER), f"say in LAYERS where {parts - set(LAYER)} belong"


def test_importing_catena_imports_nothing_heavy() -> None:
    code = "import sys, json, catena; print(json.dumps(sorted(sys.modules)))"
    loaded = set(json.loads(run_python(code)[0]))
    assert not loaded & set(HEAVY)
    assert "numpy" not in loaded


def test_a_run_in_memory_needs_neither_sympy_nor_the_packages_of_the_store() -> None:
    """Once its energy was derived. What is asked for (`run.data`) may import more."""
    code = (
        "import sys, json, catena as ct; run = ct.simulate(ct.problems.harmonic(), method=ct.StormerVerlet(), dt=0.1, steps=5);"
        "print(json.dumps(sorted(sys.modules)))"
    )
    ct.simulate(ct.problems.harmonic(), method=ct.StormerVerlet(), dt=0.1, steps=5)
    loaded = set(json.loads(run_python(code)[0]))
    assert not loaded & {"sympy", "xarray", "zarr", "matplotlib", "pydantic", "tqdm", "rich", "typer", "heyoka"}


CALLED = """
import importlib, pkgutil, sys, types
import catena as ct
for name in sys.argv[1:]:
    importlib.import_module(name)
for name in ct.__all__:
    value = getattr(ct, name)
    module = isinstance(value, types.ModuleType)
    assert module == (name == "problems"), f"{name} is {value}"
    assert module or name == "__version__" or callable(value), name
problem = ct.problems.harmonic()
run = ct.simulate(problem, method=ct.RK4(), dt=0.1, steps=3)
assert isinstance(run, ct.Run) and isinstance(run.final, ct.State)
for call in (lambda: ct.resume("nowhere"), lambda: ct.open("nowhere")):
    try:
        call()
    except ct.StoreError:
        continue
    raise AssertionError
assert issubclass(ct.StepFailure, ct.CatenaError) and ct.Section("a", "q").name == "a"
assert "Gauss" in str(ct.list_methods())
"""


def test_every_module_is_imported_and_no_public_name_is_hidden_by_one() -> None:
    """A module called like a public function would replace it as soon as it is imported."""
    run_python(CALLED, *modules())
    assert not {part_of(module) for module in modules()} & (set(ct.__all__) - {"problems"})


def test_every_public_name_is_found_and_documented() -> None:
    assert sorted(dir(ct)) == sorted(ct.__all__)
    for name in set(ct.__all__) - {"__version__"}:
        assert inspect.getdoc(getattr(ct, name)), name
    with pytest.raises(AttributeError, match="did you mean Gauss"):
        ct.Gaus  # noqa: B018


def hidden_kinds() -> set[str]:
    """Registered kinds of catena that are no public names. `+` makes sums of potentials."""
    from catena.methods.base import METHODS
    from catena.systems.base import SYSTEMS
    from catena.systems.linkage.joint_forces import FORCES
    from catena.systems.linkage.joints import JOINTS
    from catena.systems.potentials.pairwise import POTENTIALS

    kinds = {kind for registry in (METHODS, SYSTEMS, POTENTIALS, JOINTS, FORCES) for kind in registry}
    return {kind.__name__ for kind in kinds if kind.__module__.startswith("catena.")} - {*ct.__all__, "PotentialSum"}


def test_every_registered_kind_and_error_is_public() -> None:
    from catena import errors

    assert not hidden_kinds(), "import them in src/catena/__init__.pyi, and name them in its __all__"
    raised = [kind.__name__ for kind in (*errors.CatenaError.__subclasses__(), errors.CatenaError, errors.Interrupted)]
    assert set(raised) <= set(ct.__all__)


def test_a_kind_that_was_forgotten_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    forgotten = {"RK4", "Top", "Morse", "Screw", "Torsion"}
    monkeypatch.setattr(ct, "__all__", [name for name in ct.__all__ if name not in forgotten])
    assert hidden_kinds() == forgotten


@pytest.mark.filterwarnings("ignore:particle 1 of body 0")  # printed_chain starts far from equilibrium, and says so
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow if name in ("bricard", "six_ring") else ())
        for name in ct.problems.__all__
    ],
)
def test_every_problem_runs_from_its_start(name: str) -> None:
    """A step of the default method, uncompiled."""
    from catena.engine.build import build
    from catena.engine.driver import Driver
    from catena.methods.base import method_from

    problem = getattr(ct.problems, name)()
    kind, arguments = problem.system.default_method
    program = build(problem.system, method_from({"kind": kind, **arguments}), compiled=False)
    driver = Driver(program, program.view.pack(problem.start), t0=0.0, dt=problem.dt, every=1)
    assert driver.first_row().status == 0
    chunk = driver.advance(2)
    assert chunk.status == 0
    assert np.isfinite(chunk.rows).all()


@pytest.mark.parametrize("name", [name for name in ct.__all__ if name not in ("__version__", "problems")])
def test_every_public_signature_is_annotated(name: str) -> None:
    """Public functions, and public methods of public classes, say what they take and what they give."""
    thing = getattr(ct, name)
    functions = {name: thing} if inspect.isfunction(thing) else {}
    if inspect.isclass(thing):
        members = [*vars(thing).items(), ("__init__", thing.__init__)]
        for key, member in members:
            function = getattr(member, "__func__", getattr(member, "fget", member))
            if inspect.isfunction(function) and (key == "__init__" or not key.startswith("_")):
                functions[key] = function
    for key, function in functions.items():
        if function.__module__ == "builtins" or function.__qualname__.startswith("object."):
            continue
        signature = inspect.signature(function)
        untyped = [
            p.name for p in signature.parameters.values() if p.annotation is p.empty and p.name not in ("self", "cls")
        ]
        assert not untyped and (key == "__init__" or signature.return_annotation is not signature.empty), (key, untyped)


@pytest.mark.parametrize(("package", "wrong", "meant"), [(ct, "simulat", "simulate"), (ct.problems, "keplr", "kepler")])
def test_a_misspelt_name_is_told_what_it_may_mean(package, wrong, meant):
    with pytest.raises(AttributeError, match=rf"has no '{wrong}' \(did you mean {meant}\?\)"):
        getattr(package, wrong)
    assert not hasattr(package, "__wrapped__")
