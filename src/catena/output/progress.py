"""Progress of a run: a bar with rate, time to go and energy error, silent where there is no terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ..engine.driver import Chunk, Driver
from ..plan import Plan

Show = Callable[[Driver, Chunk], None]


@contextmanager
def reporter(progress: Any, plan: Plan, count: int) -> Iterator[Show]:
    """A function that shows how far the run is, called after each chunk of steps."""
    error = _EnergyError(plan)
    if callable(progress):
        yield lambda driver, chunk: progress(driver.step, count, driver.time, error(chunk))
        return
    if progress is False or (progress is None and not sys.stderr.isatty() and "ipykernel" not in sys.modules):
        yield lambda driver, chunk: None
        return
    from tqdm.auto import tqdm

    with tqdm(total=count, unit=" steps", unit_scale=True, mininterval=0.2, leave=False) as bar:

        def show(driver: Driver, chunk: Chunk) -> None:
            bar.set_postfix_str(f"t = {driver.time:.6g}, energy error {error(chunk):.1e}", refresh=False)
            bar.update(driver.step - bar.n)

        yield show


class _EnergyError:
    """Relative deviation of the energy of the last sample from the first one seen."""

    def __init__(self, plan: Plan) -> None:
        names = [f.name for f in plan.system.invariants]
        widths = [f.width for f in plan.system.invariants]
        self.column = plan.system.public_width + sum(widths[: names.index("energy")]) if "energy" in names else None
        self.start: float | None = None
        self.last = 0.0

    def __call__(self, chunk: Chunk) -> float:
        if self.column is not None and len(chunk.rows):
            value = float(chunk.rows[-1, self.column])
            if self.start is None:
                self.start = float(chunk.rows[0, self.column])
            self.last = abs(value - self.start) / (abs(self.start) or 1.0)
        return self.last
