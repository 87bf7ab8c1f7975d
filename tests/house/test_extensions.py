"""A package of one's own adds one of each kind with one file, and all that is tested of registered kinds is tested of them, and passes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from places import ROOT, TESTS
from processes import SOURCE

PLUGIN = ROOT / "examples" / "plugin"
ADDED = ("Ruth3", "Buckingham", "Bump", "MagneticTrap")
QUICK = (
    "methods/test_registry.py",
    "systems/potentials/test_every_potential.py",
    "systems/linkage/test_every_force.py",
    "systems/test_every_system.py",
    "engine/test_every_program.py",
)
LONG = ("methods/test_order.py", "methods/test_structure.py", "user/test_reprs.py")
LEAST = {"Ruth3": 6, "Buckingham": 1, "Bump": 3, "MagneticTrap": 5}  # of the quick tests, those that look at each
KNOWN = """
import catena as ct
from catena.cases.reading import read_case
from catena.cases import case_schema
schema = str(case_schema())
assert all(name in schema for name in ("Ruth3", "Buckingham", "Bump", "MagneticTrap"))
assert "Ruth3" in str(ct.list_methods())
case = read_case(None, text='''
[system]
kind = "MagneticTrap"
field = 2.0
[start]
position = [1.0, 0.0]
velocity = [0.0, 1.0]
[run]
dt = 0.1
steps = 4
''', label="case")
assert case.plan.system.field == 2.0
"""


def install(folder: Path, text: str) -> dict[str, str]:
    """The package in a folder as an installer leaves it there; the environment in which it is found."""
    (folder / "catena_extras.py").write_text(text)
    project = tomllib.loads((PLUGIN / "pyproject.toml").read_text())["project"]
    about = folder / "catena_extras-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
    points = [
        f"[{group}]\n" + "".join(f"{name} = {module}\n" for name, module in given.items())
        for group, given in project["entry-points"].items()
    ]
    (about / "entry_points.txt").write_text("\n".join(points))
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), str(SOURCE)])}


def judged(environment: dict[str, str], *files: str) -> tuple[dict[str, list[str]], str]:
    """What the tests of all registered kinds say of each that was added, and all they said."""
    options = ["-rpfE", "-p", "no:cacheprovider", "-p", "no:xdist", "-k", " or ".join(ADDED)]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *files],
        cwd=TESTS, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    found = {name: re.findall(rf"^([A-Z]+) .*\[.*{name}.*\]", done.stdout, re.MULTILINE) for name in ADDED}
    return found, done.stdout


def test_what_a_package_adds_is_known_and_passes_every_test_of_its_kind(tmp_path: Path) -> None:
    environment = install(tmp_path, (PLUGIN / "catena_extras.py").read_text())
    known = subprocess.run(
        [sys.executable, "-W", "error", "-c", KNOWN], env=environment, capture_output=True, text=True, check=False
    )
    assert known.returncode == 0, known.stderr
    found, output = judged(environment, *QUICK)
    assert all(set(words) == {"PASSED"} and len(words) >= LEAST[name] for name, words in found.items()), output


@pytest.mark.slow
def test_the_long_tests_of_its_kind_pass_too(tmp_path: Path) -> None:
    """Order, structure, what is kept, resuming."""
    found, output = judged(install(tmp_path, (PLUGIN / "catena_extras.py").read_text()), *LONG)
    assert set(found["Ruth3"]) == {"PASSED"} and len(found["Ruth3"]) >= 10, output


WRONG = {
    "Ruth3": ("order=3", "order=4"),
    "Buckingham": ("24.0 * par.pair[at + 2]", "12.0 * par.pair[at + 2]"),
    "Bump": ("3.0 * par.torsion[at] * over * over if", "par.torsion[at] * over * over if"),
    "MagneticTrap": ("flux = 0.5 *", "flux = 0.25 *"),
}


@pytest.mark.slow
def test_a_mistake_in_any_of_them_is_found(tmp_path: Path) -> None:
    text = (PLUGIN / "catena_extras.py").read_text()
    for right, wrong in WRONG.values():
        assert text.count(right) == 1
        text = text.replace(right, wrong)
    found, output = judged(install(tmp_path, text), *QUICK, *LONG)
    assert all("FAILED" in words for words in found.values()), output
