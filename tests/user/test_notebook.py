"""A notebook without any setting: a kernel executes it, and what it shows is counted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from processes import SOURCE

RUN = """\
import catena as ct
run = ct.simulate(ct.problems.kepler(), method=ct.Splitting(6), dt=0.05, steps=100)
"""
OF_THE_USER = """\
import matplotlib
import matplotlib.pyplot as plt
plt.plot([1, 2], [3, 5])
print(plt.rcParams["font.size"] == matplotlib.rcParamsDefault["font.size"])
"""
BAR = "ct.simulate(ct.problems.kepler(), method=ct.Splitting(6), dt=0.05, steps=100, progress=True);"
CELLS = [
    RUN,
    BAR,
    "run.plot.energy();",
    "run.plot.orbit()",
    "run.plot.phase();",
    OF_THE_USER,
    "run",
    "run.audit()",
    "run.view()",
]


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Any]]:
    """The outputs of each cell."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("MPLBACKEND", raising=False)
        patch.setenv("PYTHONPATH", str(SOURCE))
        folder: Path = tmp_path_factory.mktemp("notebook")
        client = NotebookClient(notebook, timeout=600, startup_timeout=600, kernel_name="python3")
        client.execute(cwd=str(folder))
    return {cell.source: cell.outputs for cell in notebook.cells}


def forms(outputs: list[Any], kind: str) -> list[str]:
    """What the outputs of a cell hold of one kind."""
    return [output.data[kind] for output in outputs if kind in output.get("data", {})]


def printed(outputs: list[Any], stream: str) -> str:
    return "".join(output.text for output in outputs if output.get("name") == stream)


def test_every_picture_is_shown_ours_and_the_users(shown):
    """One for each of four cells; the first one of ours loads what shows them, and must leave it on. The user's has no style of ours."""
    counts = {cell: len(forms(outputs, "image/png")) for cell, outputs in shown.items()}
    assert counts == {cell: int("plot" in cell) for cell in CELLS}
    assert printed(shown[OF_THE_USER], "stdout") == "True\n"


def test_a_run_its_audit_and_its_page_are_shown_as_html(shown):
    assert "<td>Splitting(6)</td>" in forms(shown["run"], "text/html")[0]
    assert "angular_momentum" in forms(shown["run.audit()"], "text/html")[0]
    assert forms(shown["run.view()"], "text/html")[0].startswith('<iframe srcdoc="&lt;!doctype html&gt;')


def test_nothing_else_is_said(shown):
    """No complaint of the bar, where there are no widgets for it; asked for, it is there."""
    messages = {cell: printed(outputs, "stderr") for cell, outputs in shown.items()}
    assert {cell for cell, text in messages.items() if text} <= {RUN, BAR}
    assert "arning" not in "".join(messages.values())
    assert "steps/s" in messages[BAR] or forms(shown[BAR], "application/vnd.jupyter.widget-view+json")
