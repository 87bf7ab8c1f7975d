"""Shared by several formats: frames in order, names, and rows of numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...arrays import Array
from ..page.appearance import Appearance
from ..page.samples import blocks, poses

if TYPE_CHECKING:
    from ...running.runs import Run


class Frame(NamedTuple):
    """One sample of a system with bodies.

    Attributes
    ----------
    number, step, time : of the sample
    position, orientation : (n, 3), (n, 4) scalar first
    scale : scale of a scaling body, 1 for all others
    fields : all arrays of the sample, by name
    """

    number: int
    step: int
    time: float
    position: Array
    orientation: Array
    scale: float
    fields: dict[str, Array]


def frames(run: Run) -> Iterator[Frame]:
    """The samples of a run with bodies, in order, a block of them in memory at a time."""
    number = 0
    for block in blocks(run.data):
        position, orientation = poses(block)
        arrays = {str(name): array.values for name, array in block.variables.items()}
        for k in range(len(position)):
            fields = {name: np.asarray(array[k]) for name, array in arrays.items()}
            time, scale = float(fields["time"]), float(fields.get("scale", 1.0))
            yield Frame(number, number * run.plan.every, time, position[k], orientation[k], scale, fields)
            number += 1


def scalars_of(run: Run, frame: Frame) -> dict[str, float]:
    """The invariants that are single numbers; other programs must not take the energy for a potential one."""
    names = [invariant.name for invariant in run.system.invariants if invariant.shape == ()]
    return {("total_energy" if name == "energy" else name): float(frame.fields[name]) for name in names}


def names_of_shapes(looks: Appearance) -> list[str]:
    """A name for each distinct shape: its kind and its number."""
    return [f"{shape.kind}{k}" for k, shape in enumerate(looks.shapes)]


def lines_of(columns: Array, heads: Sequence[str] = (), tails: Sequence[str] = ()) -> str:
    """Rows of numbers as text with all digits, each between a head and a tail."""
    before = heads or [""] * len(columns)
    after = tails or [""] * len(columns)
    rows = (" ".join(map(repr, row)) for row in columns.tolist())
    return "".join(f"{head}{row}{tail}\n" for head, row, tail in zip(before, rows, after, strict=True))
