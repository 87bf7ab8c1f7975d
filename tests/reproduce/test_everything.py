"""The page of all reproductions holds every number and picture, and says what disagrees."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from catena.output.style import new_figure
from catena.reproduce import adaptive, everything
from catena.reproduce.errata import formula
from catena.reproduce.everything import write_page
from catena.reproduce.report import Report, Row, compare


def test_the_page_shows_rows_pictures_and_commands_and_escapes_text(tmp_path):
    picture = tmp_path / "one" / "a.png"
    picture.parent.mkdir()
    new_figure(width=4.0, height=2.0).savefig(picture, dpi=100)
    rows = (compare("x < y", 1.5, 1.25, within=0.1, remark="[key]"), Row("free", 2, None, None, "noise"))
    module = SimpleNamespace(NAME="one", ABOUT="about <one>", SOURCE=("A book [hairer2006]", "figure 1"))
    made = [(module, Report("Title & more", rows, (picture,), ("a note",)))]
    text = write_page(tmp_path, made, version="1").read_text()
    for word in (
        "x &lt; y",
        "Title &amp; more",
        "catena reproduce one",
        'src="one/a.png" alt="a" width="260"',
        "A book [hairer2006]: figure 1",
        "[hairer2006] Hairer, E. and Lubich, C. and Wanner, G.: ",
        "[key]",
        "a note",
        "0 of 1",
    ):
        assert word in text
    assert '<tr class="NO">' in text and "something disagrees" in text
    assert not list(tmp_path.glob(".*.new"))


def test_the_page_asks_nothing_of_the_network(tmp_path):
    text = write_page(tmp_path, [], version="1").read_text()
    assert "http" not in text


def test_the_page_holds_all_errata_with_formulas_that_need_no_script(tmp_path):
    """As many rows as the documentation shows, and nothing left of what only MathJax or Sphinx reads."""
    text = write_page(tmp_path, [], version="1").read_text()
    source = (Path(everything.__file__).parent / "errata.md").read_text(encoding="utf-8")
    listed = text[text.index("Errata of the documents") :]
    tables = sum(line.startswith("|---") for line in source.splitlines())
    assert listed.count("<tr>") == sum(line.startswith("|") for line in source.splitlines()) - tables
    assert not re.search(r"[$\\`]|_\w|\{cite|\)=", listed[: listed.index("References")])


@pytest.mark.parametrize(
    ("tex", "shown"),
    [
        (r"\ddot\psi\cos\theta", "\u03c8\u0308 cos \u03b8"),
        (r"\varphi_{h_2}", "\u03c6<sub>h<sub>2</sub></sub>"),
        (r"\{T, \{T, U\}\}", "{T, {T, U}}"),
        (r"0 < k \le 1", "0 &lt; k \u2264 1"),
        (r"\frac12\mathrm{tr}(\hat\omega D^{-1})", "\u00bdtr(\u03c9\u0302 D<sup>\u22121</sup>)"),
    ],
)
def test_a_formula_is_written_in_letters(tex, shown):
    assert formula(tex) == f"<i>{shown}</i>"


def test_an_adaptive_pair_loses_energy_in_proportion_to_time():
    """Twice the time, twice the loss, within a fifth."""
    time = np.linspace(0.0, 2.0 * np.pi * 40, 401)
    curve = adaptive._adaptive(1e-6, time)
    loss = curve.energy - curve.energy[0]
    assert 1.6 < loss[-1] / loss[200] < 2.4
    (row,) = adaptive._rows(curve)
    assert row.agrees and row.ours == "drifts"
    flat = adaptive.Curve("RK45, tolerance 1e-06", time, np.full(401, -0.5) + 1e-9 * np.sin(time), 1, "none")
    assert not adaptive._rows(flat)[0].agrees


def test_every_reproduction_is_listed_once():
    from catena.cli.reproducing import _reproductions

    names = [module.NAME for module in _reproductions()]
    assert len(names) == len(set(names)) and {"chain", "constraint", "adaptive", "vilmart", "top"} <= set(names)
    assert all(Path(str(module.__file__)).stem.replace("_", "-") == module.NAME for module in _reproductions())
    documents = {module.SOURCE[0] for module in _reproductions()}
    assert len(documents) == 5, "each of the five documents, under one name"
