"""How many steps are made at once: few enough to stop soon, enough to cost nothing."""

from __future__ import annotations

CHUNK_SECONDS = 0.1
CHUNK_BYTES = 2**22  # of the rows of a chunk
SECONDS_PER_BYTE = 2.5e-8  # of the state, which is copied before each chunk: some thirty times as long as that takes
UNLIMITED = 2**62
REST = 1.25  # chunks that are made at once, if nothing is left then: a rest takes a call of its own


class Pace:
    """The length of the next chunk of steps, from the time that those before it took.

    Parameters
    ----------
    first : steps of the first chunk
    most : of any
    every : steps between samples; the row of a chunk that ends with one need not be made for its sake
    state : bytes that are copied before each
    growth : how many times longer than the chunk before it a chunk is at most
    times : as long as others a chunk is to last, besides the time for the state
    """

    def __init__(
        self,
        first: int,
        *,
        every: int,
        most: int = UNLIMITED,
        state: int = 0,
        growth: float = 4.0,
        times: float = 1.0,
    ) -> None:
        self.steps, self._most, self._every, self._growth = first, most, every, growth
        self.seconds = times * CHUNK_SECONDS + SECONDS_PER_BYTE * state

    @staticmethod
    def most_for(width: int, every: int) -> int:
        """Steps whose sample rows of this width are not too large."""
        return max(1, CHUNK_BYTES // (8 * width)) * every

    def after(self, step: int, *limits: int) -> int:
        """Steps of the chunk after a step, if no more than these may be made: up to a sample, if it reaches one."""
        left = min(self._most, *limits)
        most = left if left <= REST * self.steps else self.steps
        return (step + most) // self._every * self._every - step or most if most > self._every else most

    def took(self, made: int, seconds: float) -> None:
        """So many steps took so long: go on with as many as take the time of a chunk, but not with many times more, or less than a quarter."""
        wanted = made * self.seconds / max(seconds, 1e-6)
        self.steps = int(min(max(1.0, 0.25 * self.steps, wanted), self._growth * self.steps, float(UNLIMITED)))
