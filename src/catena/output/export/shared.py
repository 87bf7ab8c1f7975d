"""What several formats need: frames one after the other, and numbers of types."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...geometry import rotations
from ...systems.body import Body
from ..page.appearance import Appearance
from ..page.samples import blocks, poses

Array = NDArray[np.float64]


class Frame(NamedTuple):
    """One sample of a system with bodies.

    Attributes
    ----------
    number, step, time : of the sample
    position, orientation : (n, 3), (n, 4) scalar first
    fields : all arrays of the sample, by name
    """

    number: int
    step: int
    time: float
    position: Array
    orientation: Array
    fields: dict[str, Array]


def frames(run: Any) -> Iterator[Frame]:
    """The samples of a run with bodies, in order, some of them in memory at a time."""
    number = 0
    for block in blocks(run.data):
        position, orientation = poses(block)
        arrays = {str(name): array.values for name, array in block.variables.items()}
        for k in range(len(position)):
            fields = {name: np.asarray(array[k]) for name, array in arrays.items()}
            yield Frame(number, number * run.plan.every, float(arrays["time"][k]), position[k], orientation[k], fields)
            number += 1


def placed_particles(frame: Frame, looks: Appearance) -> Array:
    """(m, 3) the particles of all bodies in space."""
    turned = rotations.rotate(frame.orientation[looks.particle_body], looks.particle_at)
    return frame.position[looks.particle_body] + turned


def scalars_of(run: Any, frame: Frame) -> dict[str, float]:
    """The invariants that are single numbers; the energy under a name that programs do not take for a potential one."""
    names = [invariant.name for invariant in run.system.invariants if invariant.shape == ()]
    return {("total_energy" if name == "energy" else name): float(frame.fields[name]) for name in names}


def numbered_types(bodies: Sequence[Body]) -> tuple[list[int], list[str]]:
    """The types of all particles as numbers from 1 on, and their names."""
    given = [kind for body in bodies for kind in body.particles.types]
    names = sorted(dict.fromkeys(given), key=lambda kind: (isinstance(kind, str), kind))
    return [1 + names.index(kind) for kind in given], [str(name) for name in names]


def lines_of(columns: Array, heads: Sequence[str] = (), tails: Sequence[str] = ()) -> str:
    """Rows of numbers as text with all their digits, between what stands before and after each."""
    before = heads or [""] * len(columns)
    after = tails or [""] * len(columns)
    rows = (" ".join(map(repr, row)) for row in columns.tolist())
    return "".join(f"{head}{row}{tail}\n" for head, row, tail in zip(before, rows, after, strict=True))
