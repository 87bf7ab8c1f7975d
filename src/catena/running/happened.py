"""What happened in a run: its events, as a list that prints as a short table."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from ..text.markup import html_table
from ..text.tables import align

HEADINGS = ("time", "event", "")
SHOWN = 20  # rows of a table
NAMED = 3  # kinds of damage that are listed one by one


class Happening(NamedTuple):
    """An event of a run: its name, its time, the state and invariants at that time, and further data of the event.

    `grave` events change what the run means, such as a torn link: after it the chain is another system.
    """

    name: str
    time: float
    data: dict[str, np.ndarray]
    about: str = ""
    grave: bool = False

    @property
    def line(self) -> str:
        """One line: `torn, link 1, t = 2.31`."""
        return ", ".join([self.name, *([self.about] if self.about else []), f"t = {self.time:.6g}"])


class Happenings(list[Happening]):
    """The events of a run in order of time; a list that prints as a table of time, name and data."""

    @property
    def grave(self) -> list[Happening]:
        """The events that change what the run means, such as a torn link."""
        return [one for one in self if one.grave]

    def _rows(self) -> list[tuple[str, str, str]]:
        rows = [(f"{one.time:.10g}", one.name, one.about) for one in self[:SHOWN]]
        return rows + ([("...", f"{len(self) - SHOWN} more", "")] if len(self) > SHOWN else [])

    def __repr__(self) -> str:
        if not self:
            return "no events"
        return "\n".join(align([HEADINGS, *self._rows()], right=[0]))

    def _repr_html_(self) -> str:
        return html_table(self._rows(), headings=HEADINGS) if self else "<p>no events</p>"


def damage_lines(happened: Iterable[Happening]) -> list[str]:
    """Events that change the meaning of a run, in a few lines: the first of each kind, and how many more there are."""
    grave = [one for one in happened if one.grave]
    lines = [one.line for one in grave[:NAMED]]
    return lines + ([f"and {len(grave) - NAMED} more"] if len(grave) > NAMED else [])
