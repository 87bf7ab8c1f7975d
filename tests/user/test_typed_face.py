"""What editors and type checkers see is what is there. `make check` runs mypy and pyright on the script."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import catena as ct
from catena.methods.base import METHODS
from catena.systems.base import SYSTEMS
from catena.systems.linkage.joint_forces import FORCES
from catena.systems.linkage.joints import JOINTS
from catena.systems.potentials.pairwise import POTENTIALS

SCRIPT = Path(__file__).with_name("typed_script.py")
PACKAGE = Path(ct.__file__).parent


def kinds() -> set[str]:
    """The names of everything that is registered: the stub types them, and a new one needs no place in the script."""
    return {name for registry in (SYSTEMS, METHODS, POTENTIALS, JOINTS, FORCES) for name in registry.names()}


def test_the_script_uses_every_public_name_and_some_of_every_registry() -> None:
    used = {
        node.attr
        for node in ast.walk(ast.parse(SCRIPT.read_text()))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "ct"
    }
    assert set(ct.__all__) - kinds() <= used <= set(ct.__all__)
    assert all(used & set(registry.names()) for registry in (SYSTEMS, METHODS, POTENTIALS, JOINTS, FORCES))


@pytest.mark.parametrize("folder", [PACKAGE, PACKAGE / "problems"])
def test_the_names_of_a_stub_are_those_it_imports(folder: Path) -> None:
    """lazy_loader goes by the imports, type checkers by `__all__`."""
    tree = ast.parse((folder / "__init__.pyi").read_text())
    imported = [name.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for name in node.names]
    stated = [ast.literal_eval(node.value) for node in tree.body if isinstance(node, ast.Assign)]
    assert [sorted(imported)] == [sorted(names) for names in stated]
    assert len(imported) == len(set(imported))


def test_three_mistakes_are_marked_for_both_checkers() -> None:
    marked = [
        line for line in SCRIPT.read_text().splitlines() if "# type: ignore[" in line and "# pyright: ignore[" in line
    ]
    assert len(marked) == 3


@pytest.mark.parametrize(("word", "limit"), [(r"\bAny\b", 100), ("type: ignore", 20)])
def test_what_a_type_checker_is_not_told_stays_rare(word: str, limit: int) -> None:
    """Lines of the package, imports and comments included; kernels carry no annotations, which is another matter."""
    lines = [line for path in PACKAGE.rglob("*.py") for line in path.read_text().splitlines() if re.search(word, line)]
    assert len(lines) < limit, "\n".join(lines)
