"""The page of all reproductions holds every number and picture, and says what disagrees."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np

from catena.reproduce import adaptive
from catena.reproduce.everything import write_page
from catena.reproduce.report import Report, Row, compared


def test_the_page_shows_rows_pictures_and_commands_and_escapes_text(tmp_path):
    picture = tmp_path / "one" / "a.png"
    rows = (compared("x < y", 1.5, 1.25, within=0.1, remark="[key]"), Row("free", 2, None, None, "noise"))
    made = [(SimpleNamespace(NAME="one", ABOUT="about <one>"), Report("Title & more", rows, (picture,), ("a note",)))]
    text = write_page(tmp_path, made, version="1").read_text()
    for word in (
        "x &lt; y",
        "Title &amp; more",
        "catena reproduce one",
        'src="one/a.png"',
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
