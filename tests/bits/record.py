"""Run the pairs and keep every number that they store: `python record.py numbers.npz [part of a name ...]`.

The numbers are taken from the files themselves, arrays by zarr and checkpoints by their documented form, so that nothing of the
library stands between what was written and what is compared.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import zarr

import catena as ct

sys.path.insert(0, str(Path(__file__).parent))
from pairs import PAIRS, Pair

MAGIC = b"catena state 1\n"
COUNTED = ("step", "finished", "rows")


def run(pair: Pair, out: Path) -> None:
    """Run a pair into a store."""
    if pair.many is not None:
        ct.ensemble(
            pair.system, pair.many, pair.method, dt=pair.dt, steps=pair.steps, threads=1, out=out, **pair.options
        )
        return
    ct.simulate(
        pair.system, pair.start, pair.method, dt=pair.dt, steps=pair.steps, out=out, progress=False, **pair.options
    )


def checkpoint_numbers(path: Path) -> dict[str, np.ndarray]:
    """The arrays of a state file and what it counts."""
    data = path.read_bytes()
    begin = len(MAGIC) + 8
    end = begin + int.from_bytes(data[len(MAGIC) : begin], "little")
    head = json.loads(data[begin:end])
    numbers = {}
    for name, kind, shape in head["arrays"]:
        numbers[name] = np.frombuffer(data, kind, int(np.prod(shape)), end).reshape(shape)
        end += numbers[name].nbytes
    counted = json.dumps({name: head[name] for name in COUNTED}, sort_keys=True)
    return numbers | {"counted": np.frombuffer(counted.encode(), np.uint8)}


def numbers_of(store: Path) -> dict[str, np.ndarray]:
    """Every array of a store and of its newest checkpoint."""
    group = zarr.open_group(store, mode="r")
    numbers = {name: np.asarray(array[...]) for name, array in group.arrays()}
    newest = max((store / ".catena").glob("state.*"), key=lambda path: path.stat().st_mtime_ns)
    return numbers | {f"checkpoint.{name}": array for name, array in checkpoint_numbers(newest).items()}


def main(out: Path, wanted: list[str]) -> None:
    """Run what is wanted, all if nothing is named; a pair that cannot be run is kept as its error."""
    kept: dict[str, np.ndarray] = {}
    chosen = [name for name in PAIRS if not wanted or any(part in name for part in wanted)]
    with tempfile.TemporaryDirectory() as folder:
        for k, name in enumerate(chosen):
            began = time.perf_counter()
            store = Path(folder) / f"{k}.zarr"
            try:
                run(PAIRS[name](), store)
                found = numbers_of(store)
            except Exception as error:  # also what a checkout of another age cannot do is a result
                found = {"refused": np.frombuffer(f"{type(error).__name__}: {error}".encode(), np.uint8)}
            kept |= {f"{name}|{what}": array for what, array in found.items()}
            how = bytes(found["refused"]).decode() if "refused" in found else f"{time.perf_counter() - began:.1f} s"
            print(f"{k + 1:3} of {len(chosen)}  {name}: {how}", flush=True)
    np.savez(out, **kept)  # type: ignore[arg-type]


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
