"""Tables of elastic links: read as they were written, in the convention that they name, and no other."""

from __future__ import annotations

import csv
import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import catena as ct
from catena.systems.potentials.elastic import COMPONENTS
from catena.text import number_files
from elastic_links import CONVENTIONS, elastic, row_of_links

ROW = row_of_links(5)


@pytest.mark.parametrize("suffix", ["csv", "npz"])
@pytest.mark.parametrize("names", CONVENTIONS, ids=" ".join)
def test_links_are_read_as_they_were_written(tmp_path, names, suffix):
    for number, links in enumerate((row_of_links(5, *names), elastic(*names))):
        path = tmp_path / f"links{number}.{suffix}"
        links.write(path)
        assert ct.Elastic.read(path) == links
        assert ct.Elastic.read(path, coordinates=names[0]) == links
        wrong = {"cayley": "exponential", "exponential": "cayley"}[names[0]]
        with pytest.raises(ct.InputError, match=f"says coordinates = {names[0]}, not {wrong}"):
            ct.Elastic.read(path, coordinates=wrong)


def rows_of(links: ct.Elastic, order: tuple[str, ...], unit: float) -> list[list[Any]]:
    """Another code's table: components in its own order, angles in its own unit, both triangles, a name for each link."""
    scale = {name: unit if name.startswith("r") else 1.0 for name in COMPONENTS}
    place = {name: k for k, name in enumerate(COMPONENTS)}
    rest, stiffness = np.hstack(links.rest), links.stiffness
    pairs = list(itertools.product(order, order))
    rows: list[list[Any]] = [["name", *order, *(f"k_{a}_{b}" for a, b in pairs)]]
    for j in range(len(rest)):
        x = [rest[j, place[a]] / scale[a] for a in order]
        k = [stiffness[j, place[a], place[b]] * scale[a] * scale[b] for a, b in pairs]
        rows.append([f"AT {j}", *x, *k])
    return rows


@pytest.mark.parametrize("unit", [0.2, np.pi / 180.0])
def test_other_orders_and_units_are_understood(tmp_path, unit):
    """Translation first, angles in fifths of a radian or in degrees; 1e-15 is what scaling rounds."""
    order = ("t1", "t2", "t3", "r1", "r2", "r3")
    rows = rows_of(ROW, order, unit)
    table = tmp_path / "other.csv"
    with table.open("w", newline="") as file:
        file.write(f"# steps of something\n# frame: middle\n# angle_unit: {unit!r}\n")
        csv.writer(file).writerows(rows)
    numbers = np.array([row[1:] for row in rows[1:]], dtype=float)
    packed = tmp_path / "other.npz"
    np.savez(
        packed, translation=numbers[:, :3], rotation=numbers[:, 3:6], stiffness=numbers[:, 6:].reshape(-1, 6, 6),
        components=np.array(order), coordinates="exponential", angle_unit=unit,
    )  # fmt: skip
    for found in (
        ct.Elastic.read(table, coordinates="exponential"),
        ct.Elastic.read(packed, frame="middle"),
    ):
        assert (found.coordinates, found.frame) == ("exponential", "middle")
        np.testing.assert_allclose(found.table, ROW.table, rtol=1e-14, atol=1e-15)
    with pytest.raises(ct.InputError, match="does not say its coordinates"):
        ct.Elastic.read(table)
    with pytest.raises(ct.InputError, match="does not say its frame"):
        ct.Elastic.read(packed)


def test_a_table_in_the_wrong_order_is_seen(tmp_path):
    """The twin: translation first without saying so is another link."""
    order = [3, 4, 5, 0, 1, 2]
    np.savez(
        tmp_path / "silent.npz", rotation=ROW.rest[0], translation=ROW.rest[1],
        stiffness=np.asarray(ROW.stiffness)[:, order][:, :, order], coordinates="exponential", frame="middle",
    )  # fmt: skip
    assert np.abs(ct.Elastic.read(tmp_path / "silent.npz").table - ROW.table).max() > 1.0


def written(folder: Path) -> str:
    ROW.write(folder / "good.csv")
    return (folder / "good.csv").read_text()


WRONG: dict[str, tuple[Any, str]] = {
    "a column too many": (lambda text: text.replace("t3,k_r1_r1", "t4,k_r1_r1"), "a column 't4'"),
    "a column twice": (lambda text: text.replace("t2,t3,k_r1_r1", "t2,t2,k_r1_r1"), "two columns 't2'"),
    "no rest": (lambda text: "r1,r2\n1,2\n", "there is no column r3"),
    "half a stiffness": (lambda text: text.replace("k_r1_r2", "name"), "there is no column k_r1_r2"),
    "a word": (lambda text: text.replace(repr(float(ROW.table[0, 0])), "much"), "line 5 does not have 27 numbers"),
    "nan": (lambda text: text.replace(repr(float(ROW.table[0, 0])), "nan"), "is not finite"),
    "no rows": (lambda text: "\n".join(text.splitlines()[:4]), "a table of no links"),
    "nothing": (lambda text: "", "there is no column r1"),
    "unit": (lambda text: text.replace("angle_unit: 1.0", "angle_unit: degrees"), "angle_unit: degrees"),
    "negative unit": (lambda text: text.replace("angle_unit: 1.0", "angle_unit: -1"), "angle_unit = -1"),
    "frame": (lambda text: text.replace("frame: middle", "frame: mid"), "choose one of first, middle"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_with_a_table_is_said(case, tmp_path):
    change, fragment = WRONG[case]
    text = change(written(tmp_path))
    (tmp_path / "bad.csv").write_text(text)
    with pytest.raises(ct.InputError) as caught:
        ct.Elastic.read(tmp_path / "bad.csv")
    assert fragment in str(caught.value) and "do:" in str(caught.value)


def test_files_that_are_no_tables_are_refused(tmp_path, monkeypatch):
    for name, data, fragment in (
        ("a.npz", b"PK no", "no npz of numbers"),
        ("a.csv", b"\xff\xfe", "no text"),
        ("a.txt", b"", "neither npz nor csv"),
    ):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(ct.InputError, match=fragment):
            ct.Elastic.read(tmp_path / name)
    with pytest.raises(ct.InputError, match="cannot be read"):
        ct.Elastic.read(tmp_path / "none.csv")
    np.savez(tmp_path / "objects.npz", stiffness=np.array([None]), rotation=0.0, translation=0.0)
    with pytest.raises(ct.InputError, match="no npz of numbers"):
        ct.Elastic.read(tmp_path / "objects.npz")
    np.savez(tmp_path / "few.npz", stiffness=np.eye(6))
    with pytest.raises(ct.InputError, match="no array 'rotation'"):
        ct.Elastic.read(tmp_path / "few.npz")
    np.savez_compressed(tmp_path / "bomb.npz", stiffness=np.zeros((20, 6, 6)))
    monkeypatch.setattr(number_files, "LARGEST", 3000)
    with pytest.raises(ct.InputError, match="unpacks to"):
        ct.Elastic.read(tmp_path / "bomb.npz")


def test_a_table_of_a_spreadsheet_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    folder = tmp_path
    ROW.write(folder / "plain.csv")
    (folder / "marked.csv").write_bytes(b"\xef\xbb\xbf" + (folder / "plain.csv").read_bytes())
    assert ct.Elastic.read(folder / "marked.csv") == ct.Elastic.read(folder / "plain.csv")


@pytest.mark.parametrize("name", ["links.csv", "links.npz"])
def test_a_table_takes_the_place_of_nothing(tmp_path: Path, name: str) -> None:
    folder = tmp_path
    (folder / name).write_text("mine")
    with pytest.raises(ct.InputError, match="exists; nothing is overwritten"):
        ROW.write(folder / name)
    assert (folder / name).read_text() == "mine" and len(list(folder.iterdir())) == 1
    with pytest.raises(ct.InputError, match="cannot be written"):
        ROW.write(folder / "nowhere" / name)
