"""What the readme, the pages and the tutorial say is so: their code and their commands run, their tables are complete."""

from __future__ import annotations

import importlib.util
import inspect
import json
import re
import runpy
import shlex
import shutil
import subprocess
import sys
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import catena as ct
from catena.cli.main import app
from catena.running.units import POWERS
from places import ROOT

DOCS = ROOT / "docs"
PAGES = sorted([*DOCS.glob("*.md"), *DOCS.glob("theory/*.md"), ROOT / "src/catena/reproduce/errata.md"])
TUTORIAL = sorted((ROOT / "examples" / "tutorial").glob("[0-9]*_*.py"))
GALLERY = sorted((ROOT / "examples" / "gallery").glob("[0-9]*_*.py"))
LOOPS_OF_THEIR_OWN = {
    "3_linkage",
    "4_potential",
    "6_ensemble",
    "7_pull",
    "7b_arm",
    "8_heat",
    "9_peptide",
}  # 4 to 60 seconds of compiling each

measuring: Any = pytest.importorskip("methods")


def blocks(page: Path, language: str) -> list[str]:
    """The fenced blocks of a language, in their order."""
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S)


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty directory to be in, and no screen."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    return tmp_path


# Code ------------------------------------------------------------------------------------------------------------

# The first page shows the lines of the README, as a test below tells: they run once.
WITH_CODE = [page for page in [ROOT / "README.md", *PAGES] if page.stem != "index" and blocks(page, "python")]


def execute(code: Iterable[str]) -> dict[str, Any]:
    """The blocks of a page, one after the other, in one namespace."""
    names: dict[str, Any] = {}
    for block in code:
        exec(compile(block, "<page>", "exec"), names)
    return names


@pytest.mark.parametrize("page", WITH_CODE, ids=[page.stem for page in WITH_CODE])
def test_the_code_of_a_page_runs(page: Path, workplace: Path):
    pendulum = ct.problems.pendulum()
    ct.simulate(pendulum, steps=10, out="run.zarr")  # what the page on the file format opens
    names = execute(blocks(page, "python"))
    if "run" in names:
        assert names["run"].audit().ok


def test_a_wrong_name_in_a_page_is_noticed(workplace: Path):
    code = blocks(ROOT / "README.md", "python")[0].replace("ct.Clamped()", "ct.Clampd()")
    with pytest.raises(AttributeError, match="Clampd"):
        execute([code])


def test_the_first_page_shows_the_lines_of_the_readme():
    assert blocks(DOCS / "index.md", "python") == blocks(ROOT / "README.md", "python")


SCRIPTS = [
    pytest.param(script, id=script.stem, marks=[pytest.mark.slow] if script.stem in LOOPS_OF_THEIR_OWN else [])
    for script in TUTORIAL
]


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_script_of_the_tutorial_runs_and_its_audits_are_fine(script: Path, workplace: Path):
    import matplotlib.pyplot as plt

    for file in (*script.parent.glob("*.pdb"), *script.parent.glob("*.urdf")):  # scripts are run where they stand
        shutil.copy(file, workplace)
    names = runpy.run_path(str(script))
    plt.close("all")
    runs = [value for value in names.values() if isinstance(value, ct.Run)]
    assert runs or "many" in names
    for run in runs:
        wrong = {row.quantity for row in run.audit().contradictions}
        # the published step of linkages is shown for what it loses
        assert wrong == ({"joint_velocity_residual"} if "position" in str(run.method) else set()), run.audit()


@pytest.mark.slow
@pytest.mark.parametrize("script", GALLERY, ids=[script.stem for script in GALLERY])
def test_a_script_of_the_gallery_runs_and_writes_no_file(script: Path, workplace: Path):
    import matplotlib.pyplot as plt

    names = runpy.run_path(str(script))
    drawn = plt.get_fignums()
    plt.close("all")
    assert drawn and not list(workplace.iterdir())
    rested = [value for value in names.values() if isinstance(value, ct.Equilibrium)]
    assert all(found.converged for found in rested)


# Commands --------------------------------------------------------------------------------------------------------

WITH_COMMANDS = [ROOT / "README.md", DOCS / "start.md", DOCS / "cases.md"]


def commands(page: Path) -> list[list[str]]:
    """The lines that call catena, as words without their comments."""
    lines = [line for block in blocks(page, "sh") for line in block.splitlines()]
    return [shlex.split(line, comments=True)[1:] for line in lines if line.startswith("catena ")]


def call(words: list[str]) -> Any:
    """Call catena; `> file` is what a shell makes of it."""
    target = words[words.index(">") + 1] if ">" in words else None
    result = CliRunner().invoke(app, words[: words.index(">")] if target else words)
    if target and result.exit_code == 0:
        Path(target).write_text(result.stdout, encoding="utf-8")
    return result


@pytest.mark.parametrize("page", WITH_COMMANDS, ids=[page.stem for page in WITH_COMMANDS])
def test_the_commands_of_a_page_run_in_their_order(page: Path, workplace: Path):
    for words in commands(page):
        result = call(words)
        assert result.exit_code == 0, (words, result.output[-600:])


def test_a_wrong_option_in_a_page_is_noticed(workplace: Path):
    assert call([*commands(ROOT / "README.md")[0][:2], "--loud"]).exit_code == 2


def test_the_targets_of_make_that_pages_name_exist():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    text = "\n".join(page.read_text(encoding="utf-8") for page in [ROOT / "README.md", *PAGES])
    named = set(re.findall(r"^make (\w+)|`make (\w+)`", text, re.M))
    assert {"run", "test"} <= {a or b for a, b in named} <= set(re.findall(r"^(\w+):", makefile, re.M))


def test_every_reproduction_and_race_that_pages_name_exists(workplace: Path):
    text = "\n".join(page.read_text(encoding="utf-8") for page in [ROOT / "README.md", *PAGES])
    for command in ("reproduce", "bench"):
        known = {line.split()[0] for line in call([command]).stdout.splitlines()}
        assert set(re.findall(rf"catena {command} ([\w-]+)", text)) <= known


# Tables ----------------------------------------------------------------------------------------------------------

MEASURED = {
    problem["name"]: problem
    for problem in json.loads((ROOT / "benchmarks/results/methods.json").read_text(encoding="utf-8"))["problems"]
}


@pytest.mark.parametrize("name", MEASURED)
def test_every_row_of_a_measured_problem_is_that_of_a_method_that_can_treat_it(name: str):
    able = {str(method) for method in ct.list_methods(measuring.SUBJECTS[name].problem().system)}
    assert {row["method"] for row in MEASURED[name]["rows"]} <= able


@pytest.fixture(scope="module")
def generated() -> Any:
    """The extension of the documentation, which needs docutils."""
    pytest.importorskip("docutils")
    spec = importlib.util.spec_from_file_location("generated", DOCS / "generated.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of docutils
        spec.loader.exec_module(module)
    return module


def test_the_decision_table_joins_traits_and_measurements(generated: Any):
    """A row in words; the cheapest method at the coarsest error is the unit of its column."""
    at = {
        "0.001": {"cost": 1.0, "dt": 0.1, "energy_error": 2e-4},
        "1e-06": {"cost": 3.456, "dt": 0.01, "energy_error": 2e-7},
    }
    problem = {"rows": [{"method": "Gauss(2)", "at": at}, {"method": "RK4()", "at": {}}]}
    headings, rows = generated.decision_table(problem, ct.list_methods())
    assert headings == ["method", "order", "symplectic", "to 1e-03", "to 1e-06", "energy error"]
    assert rows[:2] == [["Gauss(2)", "4", "yes", "1 (0.1)", "3.46 (0.01)", "2e-07"], ["RK4()", "4", "-", "-", "-", "-"]]
    assert ["StormerVerlet()", "2", "yes", "not measured yet", "-", "-"] in rows
    without_noise = [method for method in ct.list_methods() if not method.traits.random]
    assert len(rows) == len({row[0] for row in rows}) == len(without_noise)
    assert generated.measured_problems() == list(MEASURED.values())


def test_every_public_name_has_its_place_in_the_reference(generated: Any):
    """Once; what is registered and stands nowhere is added by the registries, without a place of its own."""
    page = (DOCS / "api.md").read_text(encoding="utf-8")
    found = re.findall(r"auto\w+:: catena\.(\w+)$", generated.with_others(page), re.MULTILINE)
    listed = set(found) | {"problems"}
    assert len(found) == len(set(found))
    shorter = generated.with_others(
        page.replace(".. autoclass:: catena.Morse\n", "").replace(".. autoclass:: catena.Load\n", "")
    )
    assert all(f".. autoclass:: catena.{name}\n" in shorter for name in ("Morse", "Load"))
    assert set(ct.__all__) - {"__version__"} == listed & set(ct.__all__) - {"__version__"}


def test_the_conventions_name_everything_in_the_data_of_a_run():
    page = (DOCS / "conventions.md").read_text(encoding="utf-8")
    systems = [
        getattr(ct.problems, name)().system
        for name in ct.problems.__all__
        if name != "printed_chain"  # a helix with other numbers, which warns
    ]
    systems.append(ct.ScalingBody(ct.Body(moments=(1.0, 2.0, 2.5))))
    every = {"time"}
    for system in systems:
        named = {part.name for part in (*system.fields, *system.invariants)}
        assert {name for name in named if f"`{name}`" not in page} == set(), system
        every |= named
    # of what depends on time, of dampers and loads, which no problem has, and of reactions
    others = {"work", "damping_work", "load_work", "force", "torque"}
    assert set(POWERS) - every <= others


# References ------------------------------------------------------------------------------------------------------


def cited(text: str) -> set[str]:
    return {key.strip() for keys in re.findall(r"\{cite\}`([^`]+)`", text) for key in keys.split(",")}


def test_every_citation_of_the_pages_has_its_entry():
    entries = set(re.findall(r"^@\w+\{(\w+),", (ROOT / "src/catena/references.bib").read_text(encoding="utf-8"), re.M))
    used = {key for page in PAGES for key in cited(page.read_text(encoding="utf-8"))}
    assert used and used - entries == set()
    assert cited("{cite}`nobody1900,hairer2006`") - entries == {"nobody1900"}


def test_pages_name_only_public_names_that_exist():
    text = "\n".join(page.read_text(encoding="utf-8") for page in [ROOT / "README.md", *PAGES])
    named = set(re.findall(r"\bct\.(\w+)", text))
    assert named and named - set(ct.__all__) == set()


# The build -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pages as `make docs` builds them, from a copy: a build writes the tutorial beside its sources."""
    import shutil

    pytest.importorskip("sphinx")
    copy = tmp_path_factory.mktemp("docs")
    for part in ("docs", "examples", "benchmarks", "src"):
        shutil.copytree(
            ROOT / part, copy / part, ignore=shutil.ignore_patterns("_build", "tutorial.zip", "__pycache__")
        )
    shutil.copy(ROOT / "CONTRIBUTING.md", copy)
    options = ["-W", "--keep-going", "-q", "-b", "html"]
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", *options, str(copy / "docs"), str(copy / "html")],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return copy / "html"


@pytest.mark.slow
def test_the_pages_are_built_without_a_warning(built: Path):
    assert (built / "index.html").exists() and (built / "tutorial" / "1_body.html").exists()
    assert (built / "gallery" / "1_cantilever.html").exists()


OVERLAPS = """() => [...document.querySelectorAll("div.math")].filter(math => {
    const formula = math.querySelector("mjx-container svg"), number = math.querySelector(".eqno");
    return formula && number && formula.getBoundingClientRect().right > number.getBoundingClientRect().left;
}).map(math => math.id)"""


@pytest.mark.slow
@pytest.mark.browser
def test_no_page_asks_the_network_and_formulas_are_drawn(built: Path, chromium: str):
    from playwright.sync_api import sync_playwright

    pages = [page for page in built.rglob("*.html") if page.name not in ("genindex.html", "py-modindex.html")]
    with sync_playwright() as player:
        browser = player.chromium.launch(executable_path=chromium)
        context = browser.new_context(offline=True)
        asked: list[str] = []
        missed: list[str] = []
        context.on("request", lambda request: asked.append(request.url))
        context.on("requestfailed", lambda request: missed.append(request.url))
        for page in pages:
            tab = context.new_page()
            tab.goto(page.as_uri())
            if page.parent.name == "theory":
                tab.wait_for_selector("mjx-container svg", timeout=20_000)
                assert tab.locator("mjx-merror").count() == 0, page.name
                assert tab.evaluate(OVERLAPS) == [], page.name
            tab.close()
        browser.close()
    assert len(pages) > 20
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []
    assert missed == []


def test_docstrings_of_public_classes_are_written_for_the_reference():
    """The reference shows nothing else: a line at least, for every public name that is a class or a function."""
    for name in set(ct.__all__) - {"__version__", "problems"}:
        assert (inspect.getdoc(getattr(ct, name)) or "").strip(), name
