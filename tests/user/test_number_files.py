"""Files of arrays from strangers: read, or refused with a reason, in a moment."""

from __future__ import annotations

import io
import os
import random
import zipfile
from pathlib import Path

import numpy as np
import pytest

import catena as ct
from catena.errors import InputError
from catena.text.number_files import read_arrays

STIFF = ct.Elastic(np.eye(6), ([0.0, 0.0, 0.1], [0.0, 0.0, 1.0]))


def write_npz(path: Path, header: str, data: bytes = b"\0" * 24) -> Path:
    """One array with this header."""
    text = header.encode() + b"\n"
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr("a.npy", b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + data)
    return path


@pytest.mark.parametrize(
    "header",
    [
        "{'descr': '<f8', 'fortran_order': False, 'shape': (1099511627776, 1024)}",  # eight petabytes
        "{'descr': '<f8', 'fortran_order': False, 'shape': (-3,)}",
        "{'descr': '|O', 'fortran_order': False, 'shape': (3,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': 'xx'}",
        "{'descr': [[]], 'fortran_order': False, 'shape': (3,)}",
        "{[]: 1}", "(" * 5000, "-" * 9000 + "1", "{'descr': '<f8'", "",
    ],
    ids=range(10),
)  # fmt: skip
def test_an_array_that_cannot_be_is_refused(tmp_path: Path, header: str) -> None:
    with pytest.raises(InputError, match="no npz of numbers"):
        read_arrays(write_npz(tmp_path / "a.npz", header), what="starts")


def test_what_is_no_file_of_arrays_is_refused(tmp_path: Path) -> None:
    for name, content in (("empty", b""), ("text", b"q, p"), ("npy", _npy())):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(InputError, match="no npz of numbers"):
            read_arrays(tmp_path / name, what="starts")
    os.mkfifo(tmp_path / "pipe")
    for name in ("pipe", ".", "missing"):
        with pytest.raises(InputError):
            read_arrays(tmp_path / name, what="starts")


def _npy() -> bytes:
    file = io.BytesIO()
    np.save(file, np.zeros(3))
    return file.getvalue()


def test_arrays_are_those_that_were_written(tmp_path: Path) -> None:
    """Also in Fortran's order, and of no dimension."""
    given = {"q": np.arange(6.0).reshape(2, 3), "turned": np.asfortranarray(np.eye(2, 3)), "time": np.array(2.5)}
    np.savez(tmp_path / "a.npz", **given)
    found = read_arrays(tmp_path / "a.npz", what="starts")
    assert set(found) == set(given)
    for name, array in given.items():
        np.testing.assert_array_equal(found[name], array)


def spoiled(data: bytes, chance: random.Random) -> bytes:
    """A few bytes of it changed, cut off, or doubled, those of the archive and of the headers first of all."""
    made = bytearray(data)
    for _ in range(chance.choice([1, 1, 2, 8])):
        place = chance.randrange(len(made))
        made[place] = chance.choice([0, 255, chance.randrange(256), made[place] ^ 1 << chance.randrange(8)])
    if chance.random() < 0.2:
        del made[chance.randrange(len(made)) :]
    return bytes(made)


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["npz", "csv"])
def test_spoiled_tables_are_read_or_refused(tmp_path: Path, suffix: str) -> None:
    """2000 tables of links; the checksums of archives are not looked at, so that the headers are."""
    STIFF.write(tmp_path / f"honest.{suffix}")
    data, chance, path = (tmp_path / f"honest.{suffix}").read_bytes(), random.Random(5), tmp_path / f"gift.{suffix}"
    refused = 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(zipfile.ZipExtFile, "_update_crc", lambda self, data: None)
        for _ in range(2000):
            path.write_bytes(spoiled(data, chance))
            try:
                ct.Elastic.read(path)
            except InputError:
                refused += 1
    assert 200 < refused < 2000
