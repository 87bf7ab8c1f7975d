"""Scripts of benchmarks, which take long and run seldom, call functions of catena with the arguments that these have."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"


def misfits(text: str) -> list[str]:
    """Calls of what is imported from catena whose arguments, as far as they are written out, do not fit; and imports of what is not there."""
    found, known = [], dict[str, Any]()
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("catena."):
            module = import_module(node.module or "")
            for one in node.names:
                known[one.asname or one.name] = getattr(module, one.name, None)
                if (
                    not hasattr(module, one.name)
                    and not (Path(module.__file__ or "").parent / f"{one.name}.py").exists()
                ):
                    found.append(f"{node.module} has no {one.name}")
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and callable(known.get(node.func.id))):
            continue
        if any(isinstance(one, ast.Starred) for one in node.args) or any(one.arg is None for one in node.keywords):
            continue
        try:
            inspect.signature(known[node.func.id]).bind(*node.args, **{str(one.arg): one for one in node.keywords})
        except TypeError as trouble:
            found.append(f"line {node.lineno}, {node.func.id}: {trouble}")
    return found


def test_benchmarks_call_functions_with_the_arguments_that_they_have() -> None:
    assert not {
        file.name: wrong for file in FOLDER.glob("*.py") if (wrong := misfits(file.read_text(encoding="utf-8")))
    }


def test_a_call_that_does_not_fit_would_be_noticed() -> None:
    text = "from catena.running.thermal import laws_of_members, laws\nlaws_of_members((), (), (), {})\n"
    assert [wrong.partition(":")[0] for wrong in misfits(text)] == [
        "catena.running.thermal has no laws",
        "line 2, laws_of_members",
    ]


@pytest.mark.slow
def test_laws_under_the_simulator_end_well_if_all_of_it_ran(tmp_path: Path) -> None:
    """Of four members for a moment: no law could hold, and 1 was returned whatever happened. The twins: no such case, and one that fails."""

    def measured(*more: str) -> int:
        script = [sys.executable, str(FOLDER / "heat_laws.py"), "--out", str(tmp_path), "--seconds", "0"]
        return subprocess.run([*script, *more], capture_output=True, timeout=600).returncode

    assert measured("--simulate", "--only", "friction") == 0 and (tmp_path / "heat_laws.json").exists()
    assert measured("--simulate", "--only", "nothing") == 2
    assert measured("--simulate", "--only", "friction", "--seed", str(2**70)) == 1
