"""What is written comes back, for readers that know nothing of catena, and for the run that goes on."""

from __future__ import annotations

import json
import math
import os
import socket
import tracemalloc
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import toy_run
from hypothesis import given
from hypothesis import strategies as st

from catena.errors import StoreError
from catena.store import Column, Store, Stream, files, read_checkpoint, read_spec, require_place, verify
from catena.store.columns import open_columns
from catena.store.layout import CHUNK_BYTES_AIM, choose_chunk_rows


@pytest.fixture
def finished(tmp_path: Path, small_chunks: None) -> Path:
    path = tmp_path / "run.zarr"
    toy_run.run(path)
    return path


def test_xarray_reads_every_value_with_names_and_attributes(finished: Path) -> None:
    import xarray

    with xarray.open_zarr(finished) as dataset:
        assert dataset.attrs == {"title": "toy", "names": ["a", "b"], "format": 1}
        assert dataset["position"].dims == ("time", "body", "xyz")
        assert dataset["crossing_position"].dims == ("crossing", "xyz")
        assert dataset["position"].attrs == {"long_name": "position of the centre of mass"}
        assert dataset["time"].attrs == {"units": "s"}
        assert set(dataset.coords) == {"time"}
        assert dataset["position"].dtype == np.float64
    expected = toy_run.expected(toy_run.ROWS)
    assert len(expected["crossing_time"]) > 8, "the toy must have crossings in several chunks"
    found = toy_run.read(finished)
    assert found.keys() == expected.keys()
    for name, values in expected.items():
        np.testing.assert_array_equal(found[name], values)


def test_xarray_reads_chunks_only_when_values_are_wanted(finished: Path) -> None:
    import xarray

    chunk = finished / "position" / "c" / "0" / "0" / "0"
    damaged = bytearray(chunk.read_bytes())
    damaged[0] ^= 1
    chunk.write_bytes(damaged)
    with xarray.open_zarr(finished) as dataset:
        rows = len(dataset["position"])
        last = dataset["position"][rows - 1].values
        with pytest.raises(ValueError, match="checksum"):
            dataset["position"][0].values  # noqa: B018
    np.testing.assert_array_equal(last, toy_run.expected(rows)["position"][-1])


@pytest.mark.parametrize("rows", [8, 14, toy_run.ROWS])
def test_columns_have_the_rows_that_xarray_sees(rows: int, tmp_path: Path, small_chunks: None) -> None:
    path = tmp_path / "run.zarr"
    toy_run.run(path, stop=rows)
    columns, expected = open_columns(path), toy_run.expected(rows)
    assert columns.keys() == expected.keys()
    for name, values in expected.items():
        found = columns[name]
        assert found.shape == values.shape and len(found) == len(values)
        np.testing.assert_array_equal(np.asarray(found), values)
        for part in (slice(3, 7), slice(5, None), slice(-2, None), slice(6, 2), slice(0, 10**9), slice(None, None, 3)):
            np.testing.assert_array_equal(found[part], values[part])


@pytest.mark.parametrize(
    ("harm", "wrong"), [(Path.unlink, "is missing"), (lambda path: path.write_bytes(b"\0" * 99), "has 99 bytes")]
)
def test_a_column_names_the_chunk_that_is_damaged(finished: Path, harm: Callable[[Path], None], wrong: str) -> None:
    harm(finished / "position" / "c" / "1" / "0" / "0")
    column = open_columns(finished)["position"]
    first = column[:2]
    np.testing.assert_array_equal(first, toy_run.expected(toy_run.ROWS)["position"][:2])
    with pytest.raises(StoreError, match=f"chunk 1 of position {wrong}"):
        np.asarray(column)


def test_every_array_also_opens_alone_once_the_writer_has_gone(tmp_path: Path, small_chunks: None) -> None:
    import zarr

    path = tmp_path / "run.zarr"
    toy_run.run(path, stop=8)
    for rows in (8, 14):
        toy_run.run(path, stop=rows)
        for name, values in toy_run.expected(rows).items():
            np.testing.assert_array_equal(zarr.open_array(path / name, mode="r")[...], values)


def test_the_metadata_are_those_zarr_itself_writes(finished: Path, tmp_path: Path) -> None:
    import zarr
    from zarr.codecs import BytesCodec, Crc32cCodec

    ours = zarr.open_array(finished / "position", mode="r")
    zarr.create_array(
        tmp_path / "theirs",
        shape=ours.shape,
        chunks=ours.chunks,
        dtype="float64",
        serializer=BytesCodec(endian="little"),
        compressors=[Crc32cCodec()],
        filters=None,
        fill_value=float("nan"),
        dimension_names=("time", "body", "xyz"),
        attributes={"long_name": "position of the centre of mass"},
    )[...] = ours[...]
    theirs = tmp_path / "theirs"
    own_text = json.loads((finished / "position" / "zarr.json").read_text())
    assert own_text == json.loads((theirs / "zarr.json").read_text())
    assert own_text == json.loads((finished / "zarr.json").read_text())["consolidated_metadata"]["metadata"]["position"]
    chunks = {str(chunk.relative_to(theirs)) for chunk in (theirs / "c").rglob("0") if chunk.is_file()}
    assert len(chunks) == toy_run.ROWS // 2
    for chunk in chunks:
        assert (finished / "position" / chunk).read_bytes() == (theirs / chunk).read_bytes()


def test_an_empty_store_opens_without_warning(tmp_path: Path) -> None:
    path = tmp_path / "run.zarr"
    toy_run.run(path, stop=0)
    assert {name: len(values) for name, values in toy_run.read(path).items()} == dict.fromkeys(toy_run.expected(1), 0)
    assert read_checkpoint(path) is None
    assert verify(path) == []


def test_a_reader_sees_all_rows_of_the_last_commit_and_no_other(tmp_path: Path, small_chunks: None) -> None:
    path = tmp_path / "run.zarr"
    toy = toy_run.Toy()
    with Store.create(path, spec={}, attributes={}, streams=toy_run.STREAMS, rows_per_commit=4) as store:
        for row in range(1, 11):
            samples, crossings = toy.advance()
            store.append("samples", samples)
            store.append("crossings", crossings)
            if row % 4 == 0:
                store.commit(step=row, head={}, arrays={})
            for name, values in toy_run.expected(max(row // 4 * 4, 1)).items():
                np.testing.assert_array_equal(toy_run.read(path)[name], values if row >= 4 else values[:0])
            assert verify(path) == []


def test_a_checkpoint_comes_back_bit_for_bit(tmp_path: Path) -> None:
    path = tmp_path / "run.zarr"
    arrays = {
        "state": np.array([0.1, -0.0, np.nan, np.inf, 5e-324]),
        "counter": np.array([2**64 - 1], dtype=np.uint64),
        "valid": np.array([[True], [False]]),
        "other_order": np.arange(6, dtype=">f8").reshape(2, 3).T,
        "none": np.zeros((0, 3)),
        "scalar": np.float64(1 / 3),
    }
    head = {"time": 0.1, "names": ["é"], "nested": {"a": [1, 2.5e-300]}}
    with Store.create(path, spec={"x": (1, 2)}, attributes={}, streams=toy_run.STREAMS, rows_per_commit=4) as store:
        assert store.spec == {"x": [1, 2]}
        store.commit(step=7, head=head, arrays=arrays)
    found = read_checkpoint(path)
    assert found is not None
    assert (found.step, found.finished, found.rows, found.head) == (7, False, {"samples": 0, "crossings": 0}, head)
    assert found.arrays.keys() == arrays.keys()
    for name, array in arrays.items():
        back = found.arrays[name]
        assert back.shape == np.shape(array)
        assert back.tobytes() == np.asarray(array).astype(np.asarray(array).dtype.newbyteorder("<")).tobytes()
        assert back.flags.writeable
    assert read_spec(path) == {"x": [1, 2]}


def test_an_extended_run_has_the_arrays_of_the_long_run(tmp_path: Path, small_chunks: None) -> None:
    """All files but the checkpoints, which count one commit more."""
    extended, long = tmp_path / "extended.zarr", tmp_path / "long.zarr"
    for rows in (toy_run.ROWS, 21, 30):
        toy_run.run(extended, rows=rows)
    toy_run.run(long, rows=30)
    ours, theirs = ({k: v for k, v in toy_run.contents(p).items() if "state." not in k} for p in (extended, long))
    assert ours == theirs
    assert verify(extended) == []


def test_files_do_not_depend_on_place_time_or_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = tmp_path / "here.zarr", tmp_path / "deep" / "there.zarr"
    second.parent.mkdir()
    toy_run.run(first)
    monkeypatch.chdir(second.parent)
    os.utime(second.parent, (0, 0))
    toy_run.run(Path("there.zarr"))
    assert toy_run.contents(first) == toy_run.contents(second)
    for path in first.rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            assert socket.gethostname().encode() not in data
            assert str(tmp_path).encode() not in data


def test_memory_does_not_grow_with_the_run(tmp_path: Path) -> None:
    """A chunk per column in memory, and the same bytes once more while it is written: bound 4 chunks a column."""
    column = Column("position", (3,), ("xyz",))
    rows = np.zeros((1000, 3))
    peaks = []
    with Store.create(
        tmp_path / "run.zarr",
        spec={},
        attributes={},
        streams=(Stream("samples", "time", (column,)),),
        rows_per_commit=1000,
    ) as store:
        tracemalloc.start()
        try:
            for _ in range(2):
                tracemalloc.reset_peak()
                for _ in range(50):
                    store.append("samples", {"position": rows})
                    store.commit(step=0, head={}, arrays={})
                peaks.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
    assert rows.nbytes * 50 > 4 * CHUNK_BYTES_AIM, "the run must not fit into the bound"
    assert max(peaks) < 4 * CHUNK_BYTES_AIM, peaks


@given(
    shape=st.lists(st.integers(1, 300), max_size=3).map(tuple),
    rows_per_commit=st.integers(1, 10_000_000),
)
def test_chunks_hold_whole_commits_or_a_commit_holds_several(shape: tuple[int, ...], rows_per_commit: int) -> None:
    """A single row above 1 MB is a chunk of its own."""
    row = 8 * math.prod(shape)
    rows = choose_chunk_rows(shape, rows_per_commit)
    assert rows >= 1
    assert rows * row <= max(2**20, row)
    if rows_per_commit * row <= 2**20:
        assert rows % rows_per_commit == 0
        assert rows * row > 2**17, "no smaller than half of the aim"
    else:
        pieces = -(-rows_per_commit // rows)
        assert pieces * rows - rows_per_commit < pieces, "equal but for one row"


def test_ctrl_c_drops_back_to_the_last_commit(tmp_path: Path, small_chunks: None) -> None:
    """At each boundary of the third commit; the fourth row after a commit may be half appended too."""
    stopped = tmp_path / "stopped.zarr"
    toy_run.run(stopped, stop=8)
    before = toy_run.contents(stopped)
    whole = tmp_path / "whole.zarr"
    toy_run.run(whole)

    for number in range(12):
        path = tmp_path / f"{number}.zarr"
        toy_run.run(path, stop=8)
        countdown = iter([None] * number)

        def interrupt(name: str, countdown: object = countdown) -> None:
            if next(countdown, "now") == "now":  # type: ignore[call-overload]
                raise KeyboardInterrupt

        files.boundary_hook = interrupt
        try:
            with pytest.raises(KeyboardInterrupt):
                toy_run.run(path)
        finally:
            files.boundary_hook = None
        assert not list(path.rglob("*.tmp"))
        assert {k: v for k, v in toy_run.contents(path).items() if "zarr.json" in k} == {
            k: v for k, v in before.items() if "zarr.json" in k
        }
        toy_run.run(path)
        assert toy_run.contents(path) == toy_run.contents(whole)


def test_rows_of_the_wrong_shape_or_name_are_refused(tmp_path: Path) -> None:
    with Store.create(
        tmp_path / "run.zarr", spec={}, attributes={}, streams=toy_run.STREAMS, rows_per_commit=4
    ) as store:
        with pytest.raises(ValueError, match="position"):
            store.append("samples", {"time": np.zeros(2), "position": np.zeros((3, 2, 3))})
        with pytest.raises(ValueError, match="position"):
            store.append("samples", {"time": np.zeros(2)})
        with pytest.raises(ValueError, match="no stream 'sample'"):
            store.append("sample", {})
        with pytest.raises(TypeError, match="numeric"):
            store.commit(step=0, head={}, arrays={"a": np.array(["text"])})
        assert store.rows("samples") == 0
    with pytest.raises(ValueError, match="closed"):
        store.commit(step=0, head={}, arrays={})


TIME = Column("time")
REFUSED = {
    "no streams": (),
    "no columns": (Stream("s", "time", ()),),
    "same column twice": (Stream("s", "time", (TIME, TIME)),),
    "same dimension twice": (Stream("s", "time", (Column("r", (3, 3), ("xyz", "xyz")),)),),
    "growing dimension in a row": (Stream("s", "time", (Column("r", (3,), ("time",)),)),),
    "two sizes of a dimension": (Stream("s", "time", (Column("a", (3,), ("x",)), Column("b", (4,), ("x",)))),),
    "two streams along a dimension": (Stream("a", "time", (TIME,)), Stream("b", "time", (Column("x"),))),
    "column named as a dimension of a row": (Stream("s", "time", (Column("xyz", (3,), ("xyz",)),)),),
    "column named as another stream": (Stream("a", "time", (Column("n"),)), Stream("b", "n", (TIME,))),
    "vector named as its stream": (Stream("a", "time", (Column("time", (3,), ("xyz",)),)),),
    "slash": (Stream("s", "time", (Column("a/b"),)),),
    "hidden": (Stream("s", "time", (Column(".catena"),)),),
    "file of the group": (Stream("s", "time", (Column("zarr.json"),)),),
    "unnamed dimension": (Stream("s", "time", (Column("a", (3,)),)),),
    "empty rows": (Stream("s", "time", (Column("a", (0,), ("x",)),)),),
}


@pytest.mark.parametrize("name", REFUSED)
def test_names_that_readers_would_stumble_over_are_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="do: ") as caught:
        Store.create(tmp_path / "run.zarr", spec={}, attributes={}, streams=REFUSED[name], rows_per_commit=4)
    assert caught.value.__cause__ is None, "found by looking at the names, not by the file system"
    assert not list(tmp_path.iterdir())


def test_opening_the_toy_gives_no_warning_even_from_zarr(finished: Path) -> None:
    import zarr

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        group = zarr.open_group(finished, mode="r")
        assert sorted(group.array_keys()) == sorted(toy_run.expected(1))


FIXED = (
    Stream("rows", "member", (Column("path", (3, 2), ("time", "xy")),)),
    Stream("times", "time", (Column("time"),), fixed=3),
)


def test_a_stream_of_fixed_length_is_a_coordinate_of_others_at_any_moment(tmp_path: Path) -> None:
    import xarray

    path, times = tmp_path / "run.zarr", np.array([0.0, 0.5, 1.0])
    store = Store.create(
        path, spec={}, attributes={}, streams=FIXED, rows_per_commit=2, fixed={"time": times}, given={"z": np.arange(4)}
    )
    for rows in (0, 2):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with xarray.open_zarr(path) as data:
                assert dict(data.sizes) == {"member": rows, "time": 3, "xy": 2}
                assert data["path"].coords["time"].values.tolist() == times.tolist()
        assert verify(path) == []
        if rows == 0:
            store.append("rows", {"path": np.ones((2, 3, 2))})
            store.commit(step=2, head={}, arrays={})
    with pytest.raises(ValueError, match="stream 'times' does not grow"):
        store.append("times", {"time": [2.0]})
    store.close()
    store, checkpoint = Store.reopen(path)
    with store:
        assert checkpoint is not None and checkpoint.rows == {"rows": 2, "times": 3}
        assert store.given()["z"].tolist() == [0, 1, 2, 3]
        assert (store.rows("rows"), store.committed("times")) == (2, 3)
    chunk = path / "time" / "c" / "0"
    data = bytearray(chunk.read_bytes())
    data[0] ^= 1
    chunk.write_bytes(data)
    assert verify(path) == ["chunk 0 of time fails its checksum"]


def test_a_fixed_length_that_does_not_fit_the_columns_is_refused(tmp_path: Path) -> None:
    streams = (FIXED[0], Stream("times", "time", (Column("time"),), fixed=4))
    with pytest.raises(StoreError, match="the dimension 'time' has size 3 here and another elsewhere"):
        Store.create(
            tmp_path / "run.zarr",
            spec={},
            attributes={},
            streams=streams,
            rows_per_commit=2,
            fixed={"time": np.ones(4)},
        )


def test_a_place_is_refused_for_no_name_that_a_store_can_have(tmp_path: Path) -> None:
    """File systems take names of 255 bytes; that of a store in the making has 10 more than its own."""
    longest = tmp_path / ("x" * 245)
    require_place(longest)
    with Store.create(longest, spec={}, attributes={}, streams=toy_run.STREAMS, rows_per_commit=4):
        assert longest.is_dir()
    with pytest.raises(StoreError, match="File name too long"):
        require_place(tmp_path / ("x" * 246))
