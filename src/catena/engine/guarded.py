"""Arrays for compiled code, which checks no subscript: behind each stand numbers that nobody may change."""

from __future__ import annotations

import math

import numpy as np

from ..arrays import Array
from ..methods.base import LINE, zeros_at_a_line

GUARD = float.fromhex("0x1.5afe5afe5afep-900")  # no step computes it
UNTOUCHED = np.full(2 * LINE, GUARD).tobytes()


class Guarded:
    """Arrays in one piece of memory, each from a line of 64 bytes on, so that all of them are copied at once.

    Behind each of them stand at least eight numbers that are nobody's: a kernel that declares too little memory
    (`Stepper.work`, `Stepper.carry`) writes there first.

    Parameters
    ----------
    arrays : what they begin with; a number is one of so many zeros
    room : numbers behind all of them that nobody looks at: what a kernel writes far beyond the last array does no harm there

    Attributes
    ----------
    memory : all of it
    arrays : those that were given, to be written into
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
        """Whether nobody wrote behind an array."""
        return all(
            guard.tobytes() == UNTOUCHED[: guard.nbytes] for guard in self._guards
        )  # a short run would feel more
