"""The second column of the table of the galactic orbit: crossings with the implicit equations solved only to 1e-10.

It is not printed to what a tolerance of 1e-10 applies (stages or their rates, largest component or norm), nor where the
iteration starts, and each reading gives another count: the error of the solver acts like noise with a sign. So all
readings are counted, and the published number has to lie among them.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..methods.runge_kutta.implicit import Gauss, RadauIIA, SunGeng
from ..output.style import MARKERS, legend_above, line_style
from ..problems.classic import galactic
from .galactic import CASES, NOISY, Case, follow
from .report import Folder, Report, Row, compare
from .stopped import Stopped

if TYPE_CHECKING:
    pass

NAME = "galactic-tolerance"
ABOUT = "galactic orbit: the repeated column of the table, implicit equations solved to 1e-10 only"
SOURCE = ("A thesis on chains of rigid bodies", "table 2.1, second column")

TOLERANCE = 1e-10
# A change of the rates by 1 changes the stages by dt times a row of the tableau, about dt/2; a norm of all
# components is at most four times the largest.
READINGS = {
    "stages": (1.0, 0.0), "norm of all stages": (0.25, 0.0), "rates": (0.0, 0.5), "norm of all rates": (0.0, 0.125),
}  # fmt: skip
STARTS = {"last polynomial": False, "from the state": True}
SHORT, LONG = 1e4, 1e6
IMPLICIT = tuple(case for case in CASES if case.row not in (NOISY, "e", "f"))
EXPLICIT = tuple(case for case in CASES if case.row in ("e", "f"))
NOTES = (
    "Counts without the start, which the repetition does not count (row e). A reading is a tolerance of 1e-10 on the largest change",
    "of a stage, on the norm of all changes, on the rates at the stages, or on their norm; iterated from the last step's polynomial,",
    "or from the state itself. A row agrees if the published count lies in the range of all readings. Row b is noise (see galactic).",
    "Row f has one crossing more than was published: its last one is 3 units of time before the end; why it was not counted is not",
    "known.",
)


@dataclass(frozen=True)
class Reading:
    """A reading of the tolerance: the change of stages is at most this, or this times dt; start of the iteration."""

    name: str
    of_stages: float
    of_rates: float
    afresh: bool

    def tolerance(self, dt: float) -> float:
        """The tolerance at which iterations stop."""
        return TOLERANCE * (self.of_stages + self.of_rates * dt)


def readings() -> list[Reading]:
    """All readings."""
    return [
        Reading(f"{word}, {start}", *factors, afresh)
        for word, factors in READINGS.items()
        for start, afresh in STARTS.items()
    ]


def reproduce(out: Path, *, quick: bool = False) -> Report:
    """Rows a, c and d by all readings over t = 1e6, e and f as they are; over 1e4 if `quick`."""
    t_end = SHORT if quick else LONG
    counts = {case.row: count(case, t_end) for case in IMPLICIT}
    rows = [_implicit_row(case, counts[case.row], quick=quick) for case in IMPLICIT]
    rows += [_explicit_row(case, t_end, quick=quick) for case in EXPLICIT]
    folder = Folder(out)
    _draw(folder, counts, quick=quick)
    return folder.report(NAME, f"Galactic orbit, iterations stopped at {TOLERANCE:g}", rows, notes=NOTES)


def count(case: Case, t_end: float) -> dict[str, int]:
    """Crossings, without the start, for each reading."""
    method = case.method
    assert isinstance(method, (Gauss, RadauIIA, SunGeng))
    return {
        r.name: follow(
            galactic(), Stopped(method, r.tolerance(case.dt), r.afresh), dt=case.dt, t_end=t_end
        ).count - 1
        for r in readings()
    }  # fmt: skip


def _implicit_row(case: Case, counts: dict[str, int], *, quick: bool) -> Row:
    least, most = min(counts.values()), max(counts.values())
    published = case.short - 1 if quick else case.repeated
    remark = f"{', '.join(map(str, counts.values()))}; to round-off {(case.short if quick else case.published) - 1}"
    return Row(f"{case}: crossings", f"{least}..{most}", published, least <= published <= most, remark)


def _explicit_row(case: Case, t_end: float, *, quick: bool) -> Row:
    ours = follow(galactic(), case.method, dt=case.dt, t_end=t_end).count - 1
    published = case.short - 1 if quick else case.repeated
    if case.row == "f" and not quick:
        remark = "one more than published, by two programs: see the errata"
        return Row(f"{case}: crossings", ours, published, None, remark)
    return compare(f"{case}: crossings", ours, published, remark="no iteration")


def _draw(folder: Folder, counts: dict[str, dict[str, int]], *, quick: bool) -> None:
    with folder.picture("galactic_tolerance", width=7.2, height=3.4) as figure:
        for ax, case in zip(figure.subplots(1, len(IMPLICIT)), IMPLICIT, strict=True):
            values = list(counts[case.row].values())
            places = np.arange(len(values))
            ax.plot(places, values, label="stopped", linestyle="none", marker=MARKERS[0], color=line_style(0)["color"])
            ax.axhline(case.short - 1 if quick else case.repeated, label="published", **line_style(1))
            ax.axhline((case.short if quick else case.published) - 1, label="to round-off", **line_style(2))
            ax.set_xlabel("reading")
            legend_above(ax, str(case))
        figure.axes[0].set_ylabel("crossings")
    names = [r.name for r in readings()]
    folder.numbers(
        "galactic_tolerance", {"reading": names} | {row: [found[n] for n in names] for row, found in counts.items()}
    )
