"""What may be wrong with a store that something happened to: nothing is ""."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import toy_run

from catena.store import Store, verify


def reader_trouble(path: Path, reference: dict[str, np.ndarray]) -> str:
    """What a reader meets in a store just killed; nothing: ""."""
    if not path.exists():
        return ""
    try:
        found = toy_run.read(path)
    except Exception as error:
        return f"does not open: {error!r}"
    for stream in toy_run.STREAMS:
        lengths = {len(found[column.name]) for column in stream.columns}
        if len(lengths) > 1:
            return f"lengths {lengths} in {stream.name}"
    if problems := verify(path):
        return f"verify says {problems}"
    wrong = [name for name, values in found.items() if not np.array_equal(values, reference[name][: len(values)])]
    return f"wrong values in {wrong}" if wrong else ""


def files_after_each_commit(path: Path, rows: int = toy_run.ROWS) -> dict[int, dict[str, str]]:
    """What lies in a store right after the commit of so many rows."""
    snapshots = {}
    for stop in [*range(0, rows, toy_run.ROWS_PER_COMMIT), rows]:
        toy_run.run(path, rows=rows, stop=stop)
        snapshots[stop] = toy_run.contents(path)
    return snapshots


def trouble_of_resuming(path: Path, snapshots: dict[int, dict[str, str]]) -> str:
    """What goes wrong when a killed run is opened again, and then goes on; nothing: ""."""
    last = max(snapshots)
    try:
        if path.exists():
            store, checkpoint = Store.reopen(path)
            store.close()
            rows = checkpoint.rows["samples"] if checkpoint else 0
            if toy_run.contents(path) != snapshots[rows]:
                return f"reopening does not bring back the files of the commit of {rows} rows"
        toy_run.run(path, rows=last)
    except Exception as error:
        return f"does not resume: {error!r}"
    if [entry.name for entry in path.parent.iterdir()] != [path.name]:
        return "other files next to the store"
    return "" if toy_run.contents(path) == snapshots[last] else "other bytes after resuming"
