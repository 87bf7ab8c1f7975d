"""What is released works where nothing else of the project is: wheel and source archive are made, and the wheel is installed and used."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from places import ROOT


def run(*command: str | Path, cwd: Path, path: Path | None = None) -> str:
    """What a command says; packages of `path` come before all others."""
    environment = os.environ | ({"PYTHONPATH": str(path)} if path else {})
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the source archive, and the wheel that was made from it, as a release is."""
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT, cwd=folder)
    return folder


def test_the_source_archive_holds_what_is_needed_and_nothing_that_was_built(released: Path) -> None:
    [archive] = released.glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        names = [name.partition("/")[2] for name in opened.getnames()]
    assert {"LICENSE", "CHANGELOG.md", "Makefile", "src/catena/__init__.pyi", "tests/conftest.py"} <= set(names)
    assert [name for name in names if "node_modules" in name or name.endswith((".pyc", ".nbi", ".nbc"))] == []


def test_the_wheel_works_alone(released: Path, tmp_path: Path) -> None:
    """A case from a template of the package, a compiled run, and the page, whose script and style are files of the package."""
    [wheel] = released.glob("*.whl")
    place = tmp_path / "installed"
    run(sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", place, wheel, cwd=tmp_path)
    assert str(place) in run(sys.executable, "-c", "import catena; print(catena.__file__)", cwd=tmp_path, path=place)
    catena = (sys.executable, "-m", "catena")
    (tmp_path / "case.toml").write_text(run(*catena, "new", "hamiltonian", cwd=tmp_path, path=place))
    output = run(*catena, "run", "case.toml", "--page", "page.html", cwd=tmp_path, path=place)
    assert "energy" in output
    assert (tmp_path / "page.html").stat().st_size > 100_000
