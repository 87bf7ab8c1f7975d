"""Progress of a run or an ensemble: a bar with rate and remaining time, silent without a terminal."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NoReturn, Protocol

from ..engine.driver import Chunk, Driver
from .plan import Plan

if TYPE_CHECKING:
    from tqdm import tqdm

Show = Callable[[Driver, Chunk], None]

UNSEEN = 0.5  # seconds before a bar appears: a shorter one would leave an empty line in a notebook


class Tally(Protocol):
    """Progress of an ensemble."""

    steps: int
    members: int
    failed: int


@contextmanager
def reporter(
    progress: bool | Callable[[int, int, float, float], None] | None, plan: Plan, count: int
) -> Iterator[Show]:
    """A function that shows the progress of a run, called after each chunk; its bar also shows the energy error."""
    error = _EnergyError(plan)
    if callable(progress):
        yield lambda driver, chunk: progress(driver.step, count, driver.time, error(chunk))
        return
    with _bar(progress, count) as bar:

        def show(driver: Driver, chunk: Chunk) -> None:
            if bar is not None:
                bar.set_postfix_str(f"t = {driver.time:.6g}, energy error {error(chunk):.1e}", refresh=False)
                bar.update(driver.step - bar.n)

        yield show


@contextmanager
def members_reporter(
    progress: bool | Callable[[int, int, int, int], None] | None, tally: Tally, *, members: int, steps: int
) -> Iterator[Callable[[], None] | None]:
    """A function that shows the progress of an ensemble; None if no progress is wanted.

    Parameters
    ----------
    progress : True, False, None or a callable, as for `catena.ensemble`
    tally : how many `steps` were made, how many `members` are done, and how many have `failed`
    members, steps : number of members, and of steps of each
    """
    if callable(progress):
        yield lambda: progress(tally.steps, members * steps, tally.members, tally.failed)
        return
    with _bar(progress, members * steps) as bar:

        def show() -> None:
            assert bar is not None
            failed = f", {tally.failed} failed" if tally.failed else ""
            bar.set_postfix_str(f"{tally.members} of {members} members{failed}", refresh=False)
            bar.update(tally.steps - bar.n)

        yield None if bar is None else show


@contextmanager
def _bar(progress: bool | None, steps: int) -> Iterator[tqdm[NoReturn] | None]:
    """A bar, or None if none is wanted; if None, on a terminal or in a notebook if the run takes a while."""
    if progress is False or (progress is None and not sys.stderr.isatty() and not _in_a_notebook()):
        yield None
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a notebook without widgets warns and gets a bar of text
        from tqdm.auto import tqdm

    delay = 0.0 if progress else UNSEEN
    with tqdm(total=steps, unit=" steps", unit_scale=True, mininterval=0.2, leave=False, delay=delay) as bar:
        yield bar


def _in_a_notebook() -> bool:
    """Whether a notebook kernel executes this process; that its package was imported does not prove it."""
    interactive = sys.modules.get("IPython")
    return interactive is not None and hasattr(interactive.get_ipython(), "kernel")


class _EnergyError:
    """Relative deviation of the energy of the last sample from the first one."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.start: float | None = None
        self.last = 0.0

    def __call__(self, chunk: Chunk) -> float:
        energy = self.plan.pairing.columns(chunk.rows).get("energy")
        if energy is not None and len(energy):
            if self.start is None:
                self.start = float(energy[0])
            self.last = abs(float(energy[-1]) - self.start) / (abs(self.start) or 1.0)
        return self.last
