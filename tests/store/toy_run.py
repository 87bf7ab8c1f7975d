"""A small deterministic run that writes a store: rows, rare crossings, exact state in the checkpoint."""

from __future__ import annotations

import hashlib
import warnings
from pathlib import Path

import numpy as np

from catena.store import Column, Store, Stream

ROWS_PER_COMMIT = 4
ROWS = 14  # the last commit is partial, and so is the last chunk of each column

STREAMS = (
    Stream(
        "samples",
        "time",
        (
            Column("time", attributes={"units": "s"}),
            Column("position", (2, 3), ("body", "xyz"), {"long_name": "position of the centre of mass"}),
        ),
    ),
    Stream("crossings", "crossing", (Column("crossing_time"), Column("crossing_position", (3,), ("xyz",)))),
)


class Toy:
    """A recurrence with a counter: the next row depends on all rows before it, to the last bit."""

    def __init__(self) -> None:
        self.z = np.linspace(0.1, 0.9, 6)
        self.count = np.array([0], dtype=np.uint64)

    def advance(self) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
        """One row, and the crossings in it: none, or three at once."""
        time = float(self.count[0])
        self.z = 3.9 * self.z * (1 - self.z) + 1e-3 * np.roll(self.z, 1) * (1 - self.z)
        self.count += np.uint64(1)
        crossings = 3 if self.z[0] > 0.6 else 0
        return (
            {"time": np.array([time]), "position": self.z.reshape(1, 2, 3)},
            {
                "crossing_time": time + 0.1 * np.arange(crossings),
                "crossing_position": np.outer(np.arange(crossings), self.z[:3]),
            },
        )


def expected(rows: int) -> dict[str, np.ndarray]:
    """All arrays of a run of so many rows, without a store."""
    toy = Toy()
    parts = [toy.advance() for _ in range(rows)]
    streams = [{name: np.concatenate([part[k][name] for part in parts]) for name in parts[0][k]} for k in (0, 1)]
    return streams[0] | streams[1]


def run(path: Path, *, rows: int = ROWS, stop: int | None = None) -> None:
    """Run to so many rows: create the store, resume it, or extend it; give up once `stop` rows are there."""
    toy = Toy()
    if path.exists():
        store, checkpoint = Store.reopen(path)
        if checkpoint is not None:
            toy.z, toy.count = checkpoint.arrays["z"], checkpoint.arrays["count"]
            assert checkpoint.step == checkpoint.head["step"] == checkpoint.rows["samples"] == int(toy.count[0])
    else:
        store, checkpoint = (
            Store.create(
                path,
                spec={"system": "toy", "start": [0.1, 0.9]},
                attributes={"title": "toy", "names": ["a", "b"]},
                streams=STREAMS,
                rows_per_commit=ROWS_PER_COMMIT,
            ),
            None,
        )
    with store:
        if checkpoint is not None and checkpoint.finished and checkpoint.rows["samples"] == rows:
            return
        while store.rows("samples") not in (rows, stop):
            samples, crossings = toy.advance()
            store.append("samples", samples)
            store.append("crossings", crossings)
            done = store.rows("samples")
            if done % store.rows_per_commit == 0 or done == rows:
                arrays = {"z": toy.z, "count": toy.count}
                store.commit(step=done, head={"step": done}, arrays=arrays, finished=done == rows)


def contents(path: Path) -> dict[str, str]:
    """SHA-256 of every file under a path; directories too, by name."""
    found = {}
    for entry in sorted(path.rglob("*")):
        name = str(entry.relative_to(path))
        if entry.is_file():
            found[name] = hashlib.sha256(entry.read_bytes()).hexdigest()
        else:
            found[name] = "directory" if entry.is_dir() else "link to nowhere"
    return found


def read(path: Path) -> dict[str, np.ndarray]:
    """All arrays as a user without catena gets them, with warnings as errors."""
    import xarray

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with xarray.open_zarr(path) as dataset:
            return {str(name): np.array(array.values) for name, array in dataset.variables.items()}
