"""Arrays for compiled code, which checks no subscripts, each followed by guard numbers that must not change."""

from __future__ import annotations

import math

import numpy as np

from ..arrays import Array
from ..methods.base import LINE, zeros_at_a_line

GUARD = float.fromhex("0x1.5afe5afe5afep-900")  # a value that no step computes
UNTOUCHED = np.full(2 * LINE, GUARD).tobytes()


class Guarded:
    """Arrays in one block of memory, each aligned to 64 bytes, so that all of them are copied at once.

    Each of them is followed by at least eight guard numbers: a kernel that declares too little memory
    (`Stepper.work`, `Stepper.carry`) writes there first.

    Parameters
    ----------
    arrays : their initial values; a number means an array of zeros of that length
    room : unchecked numbers after all of them, so that a kernel that writes far beyond the last array does no harm

    Attributes
    ----------
    memory : the whole block
    arrays : views of the given arrays, to be modified in place
    """

    def __init__(self, *arrays: Array | int, room: int = 0) -> None:
        shapes = [(array,) if isinstance(array, int) else array.shape for array in arrays]
        ends = [(-(-math.prod(shape) // LINE) + 1) * LINE for shape in shapes]
        self.memory = zeros_at_a_line(sum(ends) + room)[: sum(ends)]
        self.arrays: list[Array] = []
        self._guards: list[Array] = []
        first = 0
        for array, shape, end in zip(arrays, shapes, ends, strict=True):
            behind = first + math.prod(shape)
            place = self.memory[first:behind].reshape(shape)
            if not isinstance(array, int):
                place[...] = array
            self.arrays.append(place)
            self._guards.append(self.memory[behind : first + end])
            self._guards[-1].fill(GUARD)
            first += end

    def is_sound(self) -> bool:
        """Whether all guard numbers are unchanged."""
        return all(
            guard.tobytes() == UNTOUCHED[: guard.nbytes] for guard in self._guards
        )  # more would slow down a short run
