"""A report compares honestly, prints what it compared, and writes every number."""

from __future__ import annotations

import csv
from io import StringIO

import numpy as np
import pytest
from rich.console import Console

from catena.output.style import apply_style, new_figure
from catena.reproduce.report import Folder, Report, Row, compare, power, small


@pytest.mark.parametrize(("ours", "agrees"), [(1.0, True), (1.09, True), (1.11, False), (float("nan"), False)])
def test_values_agree_within_what_is_asked_for(ours, agrees):
    assert compare("x", ours, 1.0, within=0.1).agrees is agrees


def test_counts_agree_only_if_equal():
    assert compare("n", 47093, 47093).agrees and not compare("n", 47092, 47093).agrees


def test_a_report_is_ok_unless_a_row_disagrees():
    noise = Row("b", 46885, 46852, None, "noise")
    assert Report("t", (compare("a", 1, 1), noise)).ok
    assert not Report("t", (compare("a", 1, 2), noise)).ok


def test_a_false_of_numpy_disagrees_like_any_other():
    """It is not the object False, and a report that asks for that one would be ok."""
    row = Row("x", 2.0, "< 1", np.float64(2.0) < 1.0)
    assert row.agrees is False and not Report("t", (row,)).ok and row.cells()[3] == "NO"


def test_a_report_prints_as_text_and_as_a_table_with_citations_intact():
    report = Report("A title", (compare("x", 1.5, 1.25, within=0.1, remark="[hairer2006]"),), notes=("A note.",))
    console = Console(width=100, file=StringIO())
    console.print(report)
    for text in (str(report), console.file.getvalue()):
        for word in ("A title", "x", "1.5", "1.25", "NO", "[hairer2006]", "A note."):
            assert word in text


def test_a_folder_writes_pictures_twice_and_numbers_to_the_last_digit(tmp_path):
    folder = Folder(tmp_path / "new" / "place")
    with apply_style():
        figure = new_figure(width=3, height=2)
        figure.subplots().plot([0, 1], [0, 1])
        folder.save("line", figure)
    folder.numbers("line", {"x": [0.1, 1 / 3], "name": ["a", "b"]})
    report = folder.report("table", "T", [compare("x", 0.1 + 0.2, 0.3, within=1e-15)])
    assert [file.name for file in report.files] == ["line.png", "line.pdf", "line.csv", "table.csv"]
    assert all(file.stat().st_size > 0 for file in report.files)
    with (folder.path / "line.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert float(rows[1]["x"]) == 1 / 3 and rows[1]["name"] == "b"
    assert "0.30000000000000004" in (folder.path / "table.csv").read_text()


def test_columns_of_unequal_length_are_refused(tmp_path):
    with pytest.raises(ValueError, match="shorter"):
        Folder(tmp_path).numbers("bad", {"x": [1, 2], "y": [1]})


def test_the_same_picture_gives_the_same_bytes(tmp_path):
    written = []
    for name in ("first", "second"):
        folder = Folder(tmp_path / name)
        with apply_style():
            figure = new_figure(width=3, height=2)
            figure.subplots().plot([0, 1], [0, 1])
            folder.save("line", figure)
        written.append([file.read_bytes() for file in folder.files])
    assert written[0] == written[1]


@pytest.mark.parametrize(
    ("value", "agrees"), [(0.0, True), (0.9, True), (1.0, False), (-0.1, False), (float("nan"), False)]
)
def test_a_small_value_is_neither_negative_nor_undefined(value, agrees):
    assert small("x", value, 1.0).agrees is agrees


def test_a_power_is_found():
    assert power([1, 2, 4, 8], [3.0 * x**1.5 for x in (1, 2, 4, 8)]) == pytest.approx(1.5, abs=1e-12)
