"""`catena plot` draws what is named, with the numbers beside, and names what it cannot draw."""

from __future__ import annotations

import csv
import errno
import os
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import catena as ct
from catena.cli import app
from catena.engine.build import build


@pytest.fixture
def stored(tmp_path, monkeypatch):
    monkeypatch.setattr("catena.running.plan.build", partial(build, compiled=False))
    path = tmp_path / "run.zarr"
    ct.simulate(ct.problems.helix_chain(3), method=ct.Splitting(2), dt=0.02, steps=12, out=path, progress=False)
    return path


def call(*arguments: object):
    return CliRunner().invoke(app, ["plot", *map(str, arguments)])


def test_the_numbers_of_a_map_and_of_a_curve_are_those_of_the_run(stored, tmp_path):
    result = call(stored, "energy_parts", "link_lengths", "--out", tmp_path / "p", "--data")
    assert result.exit_code == 0, result.output
    written = {line.rsplit("/", 1)[1] for line in result.stdout.split()}
    assert written == {f"{name}.{s}" for name in ("energy_parts", "link_lengths") for s in ("png", "pdf", "csv")}
    data = ct.open(stored).data
    lengths = np.linalg.norm(np.diff(data.position.values, axis=1), axis=2)
    table = list(csv.DictReader((tmp_path / "p" / "link_lengths.csv").read_text().splitlines()))
    assert len(table) == lengths.size
    for row in table:
        k, link = round(float(row["x"]) / 0.02), round(float(row["y"]))
        assert float(row["value"]) == lengths[k, link]
    parts = csv.DictReader((tmp_path / "p" / "energy_parts.csv").read_text().splitlines())
    total = [row for row in parts if "total" in row["series"]]
    energy = data.energy.values
    assert [float(row["y"]) for row in total] == (energy - energy[0]).tolist()


def test_without_names_all_that_suit_are_drawn(stored, tmp_path):
    result = call(stored, "--out", tmp_path / "p")
    drawn = {file.stem for file in (tmp_path / "p").glob("*.png")}
    assert result.exit_code == 0 and {"energy", "invariants", "snapshots", "momentum"} <= drawn


def test_a_file_as_the_place_for_pictures_is_refused(stored, tmp_path):
    result = call(stored, "energy", "--out", tmp_path / "energy.pdf")
    assert result.exit_code == 2 and "name a directory" in result.stderr
    assert not (tmp_path / "energy.pdf").exists()


def test_an_unknown_picture_is_refused_with_the_nearest_name(stored, tmp_path):
    result = call(stored, "energi", "--out", tmp_path / "p")
    assert result.exit_code == 2 and "did you mean energy?" in result.stderr


def test_a_full_disk_is_told_and_leaves_nothing(stored, tmp_path, monkeypatch):
    """Drawn straight into a file, a PDF ended in an error of zlib."""

    def full(self, data):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "write_bytes", full)
    result = call(stored, "energy", "--out", tmp_path / "p")
    assert isinstance(result.exception, SystemExit) and result.exit_code == 2
    assert "the disk is full" in result.stderr and "energy.png" in result.stderr
    assert list((tmp_path / "p").iterdir()) == []
