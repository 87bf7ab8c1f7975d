"""CSV: a row for each sample, a column for each number that does not belong to a single body."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ...systems.base import Field, System
from ..page.samples import blocks, only
from ..showing import scene_or_nothing

if TYPE_CHECKING:
    from ...running.runs import Run


def write(run: Run, path: Path) -> None:
    """Time, fields without a dimension of bodies, invariants; all digits, so that reading gives the same numbers."""
    system = run.system
    parts = [part for part in (*system.fields, *system.invariants) if "body" not in part.dims]
    heads = ["time", *(name for part in parts for name in _columns(system, part))]
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(heads)
        for block in blocks(only(run.data, ["time", *(part.name for part in parts)])):
            count = block.sizes["time"]
            columns = [block[name].values.reshape(count, -1) for name in ("time", *(part.name for part in parts))]
            rows.writerows(np.hstack(columns).tolist())


def _columns(system: System, part: Field) -> list[str]:
    """Names of the numbers of a field: those of the system, or that of the field with an index."""
    labels = scene_or_nothing(system).labels
    if part.name in labels:
        return list(labels[part.name])
    if part.shape == ():
        return [part.name]
    return [f"{part.name}[{','.join(map(str, index))}]" for index in np.ndindex(*part.shape)]
