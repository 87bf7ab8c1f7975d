"""Stores too large to be read when they are opened: damage shows as an error with the file, never as numbers."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray
from typer.testing import CliRunner

import catena as ct
from catena.cli import app
from catena.running import runs
from catena.running.recording import ROWS_VARIABLE
from catena.store import layout, reading, verify
from processes import contents

CHUNK = "energy/c/1"  # full, in the middle


@pytest.fixture(autouse=True)
def _every_store_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is small enough to be read when it is opened; several chunks in a short run."""
    monkeypatch.setattr(runs, "VERIFIED_BYTES", 0)
    monkeypatch.setenv(ROWS_VARIABLE, "16")
    monkeypatch.setattr(layout, "CHUNK_BYTES_AIM", 64)
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "run.zarr"
    ct.simulate(ct.problems.harmonic(), method=ct.Gauss(2), dt=0.1, steps=70, out=path, progress=False)
    return path


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[11] ^= 1
    path.write_bytes(data)


def replace_by_a_directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


SEEN_ON_OPENING: dict[str, tuple[Callable[[Path], Any], str]] = {
    "missing": (Path.unlink, "is missing"),
    "truncated": (lambda path: path.write_bytes(path.read_bytes()[:-9]), r"has \d+ bytes instead of \d+"),
    "a directory": (replace_by_a_directory, "is not a file"),
}


@pytest.mark.parametrize("name", SEEN_ON_OPENING)
def test_a_chunk_that_cannot_be_right_is_found_on_opening(name: str, store: Path) -> None:
    harm, wrong = SEEN_ON_OPENING[name]
    harm(store / CHUNK)
    with pytest.raises(ct.StoreError, match=f"the store is damaged: chunk 1 of energy {wrong}"):
        ct.open(store)


def test_opening_looks_at_each_chunk_and_reads_the_partly_filled_ones_only(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """71 rows in chunks of 16: four full ones and one partly filled, of four arrays."""
    looked, read = [], []
    check, decode = reading._check_file, reading.decode_chunk
    monkeypatch.setattr(reading, "_check_file", lambda *arguments: (looked.append(arguments), check(*arguments)))
    monkeypatch.setattr(reading, "decode_chunk", lambda *arguments: (read.append(arguments), decode(*arguments))[1])
    ct.open(store)
    assert (len(looked), len(read)) == (16, 4)


USES: dict[str, Callable[[ct.Run, Path], Any]] = {
    "values": lambda run, folder: run.data.energy.values,
    "one value": lambda run, folder: float(run.data.energy[20]),
    "audit": lambda run, folder: run.audit(),
    "csv": lambda run, folder: run.export(folder / "run.csv"),
    "netcdf": lambda run, folder: run.export(folder / "run.nc"),
    "page": lambda run, folder: run.view(folder / "run.html"),
    "picture": lambda run, folder: run.plot.energy(),
    "spectrum": lambda run, folder: run.spectrum("energy"),
}


@pytest.mark.parametrize("harm", [flip, Path.unlink])
@pytest.mark.parametrize("name", USES)
def test_damage_is_an_error_with_the_file_wherever_it_is_read(
    name: str, harm: Callable[[Path], Any], store: Path, tmp_path: Path
) -> None:
    """Also after the run was opened, by whatever happened to the disk meanwhile; nothing is left of what was to be written."""
    run, results = ct.open(store), tmp_path / "results"
    results.mkdir()
    harm(store / CHUNK)
    wrong = "fails its checksum" if harm is flip else "is missing"
    with pytest.raises(ct.StoreError, match=rf"chunk 1 of energy {wrong}\n  at .*run\.zarr/energy/c/1\n  do: restore"):
        USES[name](run, results)
    assert list(results.iterdir()) == []


def test_what_is_whole_can_be_read_beside_the_damage(store: Path) -> None:
    whole = ct.open(store)
    q, energy = whole.data.q.values, whole.data.energy.values
    flip(store / CHUNK)
    run = ct.open(store)
    assert np.array_equal(run.data.q, q)
    assert np.array_equal(run.data.energy[:16], energy[:16]) and np.array_equal(run.data.energy[32:], energy[32:])


def test_plain_zarr_gives_numbers_for_a_missing_chunk(store: Path) -> None:
    """The broken twin: this is how the method was blamed."""
    run = ct.open(store)
    (store / CHUNK).unlink()
    run._all = xarray.open_zarr(store, chunks=None)  # type: ignore[misc]
    assert np.isnan(run.data.energy.values).sum() == 16


def test_commands_end_with_the_code_of_stores(store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    flip(store / CHUNK)
    for arguments in ("info {}", "export {} x.csv", "view {} --out x.html", "plot {} energy --out pictures"):
        result = CliRunner().invoke(app, arguments.format("run.zarr").split(), catch_exceptions=False)
        assert result.exit_code == 4, result.output
        assert "chunk 1 of energy fails its checksum" in " ".join(result.output.split()), result.output
    assert not (tmp_path / "x.csv").exists() and not (tmp_path / "x.html").exists()


def test_a_stored_ensemble_likewise(tmp_path: Path) -> None:
    path = tmp_path / "many.zarr"
    starts = {"q": np.linspace(0.1, 1.0, 40), "p": np.zeros(40)}
    ct.ensemble(ct.problems.harmonic(), starts, ct.Gauss(2), steps=5, out=path)
    many, chunk = ct.open(path), path / "final_energy" / "c" / "1"
    flip(chunk)
    for use in (lambda: many.final.energy.values, lambda: ct.open(path).final.energy.values):
        with pytest.raises(ct.StoreError, match=r"chunk 1 of final_energy fails its checksum\n  at .*final_energy/c/1"):
            use()
    chunk.unlink()
    with pytest.raises(ct.StoreError, match="damaged: chunk 1 of final_energy is missing"):
        ct.open(path)


@pytest.mark.parametrize("name", ["zarr.json", "q/zarr.json"])
@pytest.mark.parametrize("harm", [flip, Path.unlink, lambda path: path.write_text("")], ids=["flip", "remove", "empty"])
@pytest.mark.parametrize("large", [True, False])
def test_resuming_heals_damaged_metadata_as_the_message_says(
    name: str, harm: Callable[[Path], Any], large: bool, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On the command line, too, where the advice once was a circle; also of a run that has ended."""
    if not large:
        monkeypatch.undo()
    whole = contents(store)
    harm(store / name)
    for use in (["info", str(store)], ["info", "--check", str(store)]):
        refused = CliRunner().invoke(app, use, catch_exceptions=False)
        assert refused.exit_code == 4 and "resume the run" in " ".join(refused.output.split()), refused.output
    healed = CliRunner().invoke(app, ["resume", "--quiet", str(store)], catch_exceptions=False)
    assert healed.exit_code == 0, healed.output
    assert contents(store) == whole and verify(store) == []
