"""The charts of the page: the deviation of each invariant from its start, over all samples of the run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...text.plain import Json
from .frames import text_of
from .samples import blocks, only

if TYPE_CHECKING:
    from ...running.runs import Run

POINTS = 1200  # of a curve: more cannot be distinguished on a screen


def charts(run: Run) -> tuple[list[dict[str, Json]], int]:
    """The deviation of each invariant from its start, and the number of samples for each point of a curve.

    If a point stands for several samples, it is their minimum and maximum, so no peak is lost.
    """
    invariants = run.system.invariants
    count = run.data.sizes["time"]
    length = max(1, -(-count // POINTS))
    starts: dict[str, np.ndarray] = {}
    lows: dict[str, list[np.ndarray]] = {i.name: [] for i in invariants}
    highs: dict[str, list[np.ndarray]] = {i.name: [] for i in invariants}
    for block in blocks(only(run.data, ["time", *lows]), multiple=length):
        edges = np.arange(0, block.sizes["time"], length)
        for name in lows:
            values = block[name].values.reshape(block.sizes["time"], -1)
            deviation = values - starts.setdefault(name, values[0])
            lows[name].append(np.fmin.reduceat(deviation, edges))
            highs[name].append(np.fmax.reduceat(deviation, edges))
    drawn: list[dict[str, Json]] = []
    for invariant in invariants:
        low, high = np.concatenate(lows[invariant.name]), np.concatenate(highs[invariant.name])
        both = np.stack([low, high])
        finite = np.abs(both[np.isfinite(both)])
        unit = float(finite.max(initial=0.0)) or 1.0
        drawn.append(
            {
                "name": invariant.name.replace("_", " "),
                "about": invariant.about,
                "start": [_plain(x) for x in starts[invariant.name]],
                "labels": _labels(invariant.width),
                "unit": unit,
                "low": text_of((low / unit).T, "<f4"),
                "high": text_of((high / unit).T, "<f4"),
            }
        )
    return drawn, length


def _labels(width: int) -> list[str]:
    return [""] if width == 1 else list("xyz") if width == 3 else [str(k) for k in range(width)]


def _plain(x: float) -> float | None:
    return float(x) if np.isfinite(x) else None
