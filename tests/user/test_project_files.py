"""The files around the package agree with each other."""

from __future__ import annotations

import re
import time
import tomllib
from collections.abc import Callable

import hypothesis
import pytest
import yaml
from hypothesis import strategies as st

import catena as ct
from places import ROOT


def test_hooks_run_the_same_commands_as_make_check():
    hooks = [
        hook
        for repo in yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
        for hook in repo["hooks"]
    ]
    entries = {hook["entry"].removeprefix(".venv/bin/") for hook in hooks}
    recipe = re.search(r"^check:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(), re.M)
    assert recipe is not None
    commands = {
        line.strip().removeprefix("$(BIN)/").removesuffix(" src tests benchmarks") for line in recipe[1].splitlines()
    }
    assert entries == commands


def test_the_version_is_the_same_everywhere():
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert ct.__version__ == declared == citation["version"]
    assert citation["cff-version"] and citation["title"] and citation["authors"]


def test_the_oldest_releases_tried_are_the_oldest_allowed() -> None:
    allowed = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    tried = re.findall(r"^([\w-]+)==([\d.]+)\.\*$", (ROOT / "constraints-oldest.txt").read_text(), re.M)
    assert sorted(re.fullmatch(r"([\w-]+)>=([\d.]+)(,<[\d.]+)?", one).groups()[:2] for one in allowed) == sorted(tried)  # type: ignore[union-attr]


def test_the_workflow_runs_what_runs_on_every_submission() -> None:
    """The oldest and the newest Python and requirements, on both systems that the classifiers promise."""
    workflow = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())
    everything = workflow["jobs"]["everything"]
    assert ".ci/run" in [step.get("run") for step in everything["steps"]]
    tried = everything["strategy"]["matrix"]["include"]
    assert {one["system"].partition("-")[0] for one in tried} == {"ubuntu", "macos"}
    oldest = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"].removeprefix(">=")
    assert oldest in {one["python"] for one in tried}
    assert {"constraints.txt", "constraints-oldest.txt", "newest"} == {one["requirements"] for one in tried}


def missing_files(text: str) -> list[str]:
    """Files of the project that a text names and that are not there."""
    named = re.findall(r"`((?:src|tests|docs|benchmarks|examples)/[\w./-]+\.\w+)`", text)
    return sorted({name for name in named if "//" in name or not (ROOT / name).is_file()})


@pytest.mark.parametrize(
    "page", ["CONTRIBUTING.md", "RELEASING.md", "README.md", *(f"docs/{p.name}" for p in ROOT.glob("docs/*.md"))]
)
def test_files_that_a_page_names_are_there(page: str) -> None:
    assert missing_files((ROOT / page).read_text(encoding="utf-8")) == []


def test_a_file_that_was_moved_is_noticed() -> None:
    assert missing_files("see `src/catena/kernel.py`, `src/catena//errors.py` and `src/catena/errors.py`") == [
        "src/catena//errors.py",
        "src/catena/kernel.py",
    ]


def test_no_file_of_the_project_names_a_place_on_a_machine_or_a_registry():
    """Paths of one machine and addresses of package registries make a checkout depend on where it was made."""
    places = re.compile(r"/(?:home|root|work|Users)/\w|registry\.npmjs|pypi\.org/simple|file:///\w")
    checked = [
        *(file for file in ROOT.glob("*.*") if file.name != ".git"),  # which says where a worktree was made
        *ROOT.glob("src/**/*.py"),
        *ROOT.glob("viewer/*.*"),
        *ROOT.glob("docs/*.md"),
        ROOT / "Makefile",
    ]
    found = [file.name for file in checked if file.is_file() and places.search(file.read_text(errors="replace"))]
    assert found == []


def test_a_loaded_machine_fails_no_property() -> None:
    """Examples that take long to draw pass under the profile of the suite, and fail under hypothesis' own."""

    @st.composite
    def slow_numbers(draw: st.DrawFn) -> int:
        time.sleep(0.13)
        return draw(st.integers())

    def property_of(settings: hypothesis.settings) -> Callable[[], None]:
        return settings(hypothesis.given(slow_numbers())(lambda number: None))

    suite = hypothesis.settings(max_examples=11)
    property_of(suite)()
    with pytest.raises(hypothesis.errors.FailedHealthCheck, match="too_slow"):
        property_of(hypothesis.settings(suite, deadline=200, suppress_health_check=[]))()
