"""The thermal audit: whether the averages of a run in a heat bath are those of its temperature.

Each row compares averages with their exact values (laws): squares of momenta, taken inside the steps where their law is
exact (`catena.methods.heat`), and configurational averages that are known for the system. With D the deviation of a
mean, in units of the law, its error, and n independent samples:

- `off`: |D| >= t errors and not too short, or |D| >= 3 t errors and 0.3;
- `too short`: n < 100 (200 for configurations), or (t + 2.33) errors > 0.1: a deviation of 10 % would be missed in more than 1 % of
  such runs;
- `canonical`. The row shows (t + 2.33) errors, the deviation that would have been detected.

t is the two-sided quantile of Student's distribution with 0.4 n degrees of freedom for the probability 0.002 / (rows *
components); 1.5 times that for configurations, which are slow and skewed. For an ensemble the error comes from the
spread of its members, with one degree of freedom less than there are members. There a deviation that differs between
the halves of the runs is `too short`, because the members have not settled; so is a deviation of configurations, which
are slow, that the second half alone does not show.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import isfinite
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple

import numpy as np

from ...text.named_rows import NamedRows
from ...text.plain import Json
from ...text.tables import ShownTable
from .means import Means, means_of, means_of_members

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

Verdict = Literal["canonical", "off", "too short"]

FALSE_ALARMS = 2e-3  # highest probability of a false `off` in a run, whatever the number of its rows and components
FEWEST = {False: 100.0, True: 200.0}  # independent samples, of momenta and of configurations
WIDER = {False: 1.0, True: 1.5}  # times t: if excursions are rare, a run without one has a wrong mean and a small error
FEWEST_MEMBERS = 10
FREEDOM = 0.4  # degrees of freedom for each independent sample
MISSED = 2.3263478740408408  # standard errors above the threshold: a deviation that is missed in 1 % of all runs
COARSE = 0.1  # deviation that must be detected
GROSS = 3.0  # times the threshold and times COARSE: beyond both it is off, however short the run
SETTLED = 0.5  # times t: if the halves of the runs differ by more, the members have not settled
LISTED = 20  # points of a row that are shown


class Point(NamedTuple):
    """Members that have a law of their own, such as those at one point of a sweep.

    Attributes
    ----------
    name : what they have in common: `kT = 0.5`
    law, mean, error : expected mean, measured mean, and its standard error (nan for one member)
    members : number of members
    """

    name: str
    law: float
    mean: float
    error: float
    members: int


class Series(NamedTuple):
    """Averages to compare with a law.

    Attributes
    ----------
    quantity : its name
    values : (n, k) samples of a run; or (m, k) means of members
    law, unit : the expected mean, and the unit of deviations
    configuration : whether it is an average of configurations instead of momenta
    components : names of the components; None for a scalar
    halves : (m, 2, k) means of members over the first and the second half
    points : members with laws of their own, if not all have the same; `law` is the mean of these laws, `values` are
        shifted to it
    """

    quantity: str
    values: Floats
    law: float = 1.0
    unit: float = 1.0
    configuration: bool = False
    components: Sequence[int] | None = None
    halves: Floats | None = None
    points: tuple[Point, ...] = ()


@dataclass(frozen=True)
class CanonicalRow:
    """One law: the expected mean against the measured one.

    Attributes
    ----------
    quantity : name of the quantity
    law, mean, error : expected mean, measured mean, and its standard error; if members have laws of their own, law and
        mean are averages over the members
    effective : number of independent samples with the same error; for an ensemble, its members
    would_see : the deviation that 99 % of such runs would show
    verdict : "canonical", "off" or "too short"
    component : the component that decided; None for a scalar
    points : members with laws of their own, each with its law; empty if all have the same
    """

    quantity: str
    law: float
    mean: float
    error: float
    effective: float
    would_see: float
    verdict: Verdict
    component: int | None = None
    points: tuple[Point, ...] = ()

    @property
    def contradicts(self) -> bool:
        """Whether the average is wrong for this temperature."""
        return self.verdict == "off"

    @property
    def label(self) -> str:
        """Quantity, with the component that decided: `angular_momentum[2]`."""
        return self.quantity if self.component is None else f"{self.quantity}[{self.component}]"

    @property
    def finding(self) -> str:
        """The result in words: `temperature is 1.152 +- 0.004 instead of 1`."""
        return f"{self.label} is {self.mean:.5g} +- {self.error:.1g} instead of {self.law:.5g}"


def judge_runs(series: Sequence[Series]) -> tuple[CanonicalRow, ...]:
    """The rows of one run."""
    return tuple(_row(one, means_of(one.values), len(series), members=False) for one in series)


def judge_members(series: Sequence[Series]) -> tuple[CanonicalRow, ...]:
    """The rows of an ensemble; the spread of its members gives the errors."""
    return tuple(_row(one, means_of_members(one.values), len(series), members=True) for one in series)


@cache
def _threshold(freedom: float, level: float) -> float:
    from scipy.special import stdtrit

    return -float(stdtrit(freedom, level / 2.0))


def _row(one: Series, found: Means, rows: int, *, members: bool) -> CanonicalRow:
    """Judge each component; the worst decides, and among equals the one that deviates by most errors."""
    level = FALSE_ALARMS / (rows * one.values.shape[1])
    freedom = found.effective - 1.0 if members else FREEDOM * found.effective
    wider = 1.0 if members else WIDER[one.configuration]
    t = np.array([wider * _threshold(max(float(f), 1.0), level) for f in freedom])
    deviation, error = (found.mean - one.law) / one.unit, found.error / one.unit
    with np.errstate(invalid="ignore"):
        fewest = FEWEST_MEMBERS if members else FEWEST[one.configuration]
        short = (found.effective < fewest) | ~((t + MISSED) * error <= COARSE)
        far = np.abs(deviation) >= t * error
        gross = np.abs(deviation) >= np.maximum(GROSS * t * error, GROSS * COARSE)
    if one.halves is not None:
        unsettled = far & _differ(one.halves, t)
        if one.configuration:
            unsettled |= far & ~_still_far(one, t)
        short, gross = short | unsettled, gross & ~unsettled
    severity = np.where(far & (~short | gross), 2, np.where(short, 1, 0))
    with np.errstate(over="ignore"):
        away = np.abs(deviation) / np.maximum(error, np.finfo(float).tiny)
    k = max(range(len(t)), key=lambda k: (severity[k], away[k] if isfinite(away[k]) else -1.0))
    words: tuple[Verdict, ...] = ("canonical", "too short", "off")
    return CanonicalRow(
        one.quantity, one.law, float(found.mean[k]), float(found.error[k]), float(found.effective[k]),
        float((t[k] + MISSED) * found.error[k]), words[severity[k]],
        None if one.components is None else one.components[k], one.points,
    )  # fmt: skip


def _differ(halves: Floats, t: Floats) -> NDArray[np.bool_]:
    """Which components differ between the halves of the runs (m, 2, k) by more than half of the threshold."""
    found = means_of_members(halves[:, 1] - halves[:, 0])
    return np.asarray(np.abs(found.mean) > SETTLED * t * found.error)


def _still_far(one: Series, t: Floats) -> NDArray[np.bool_]:
    """Which components are also off in the second half of the runs."""
    assert one.halves is not None
    found = means_of_members(one.halves[:, 1])
    return np.asarray(np.abs(found.mean - one.law) >= t * found.error)


# All rows -----------------------------------------------------------------------------------------------------------------

HEADINGS = ("canonical average", "law", "mean", "+- error", "would\nhave seen", "verdict")
NUMBERS = HEADINGS[1:5]
CERTIFIES = (
    "canonical: no deviation is seen, and the one that would have been seen is in the table. Averages never tell whether the friction is right; "
    "how far they are off with this step is told by a run with half of it."
)
UNBIASED = "canonical: no deviation is seen, and the one that would have been seen is in the table. The method has no error of dt."
OFF = "off: this is not the distribution of this temperature; look at the start and at dt (HybridMonteCarlo has no error of dt)."
SHORT = (
    "too short: a deviation of 10 % would not be seen for sure, or its error is that of too few independent samples, or members have not settled;"
    " make more steps, or more runs (ct.ensemble)."
)


@dataclass(frozen=True, repr=False)
class Canonical(NamedRows[CanonicalRow]):
    """All laws of a run in a heat bath, or of an ensemble; prints as a table.

    Attributes
    ----------
    rows : one for each law
    unbiased : whether the method has neither a friction nor an error of dt
    """

    _naming: ClassVar[str] = "quantity"
    _unknown: ClassVar[tuple[str, str]] = ("no law of {} was looked at", "audit.canonical")

    rows: tuple[CanonicalRow, ...] = ()
    unbiased: bool = False

    @property
    def doubted(self) -> Canonical:
        """The same for a run that has hardly moved: agreement with a law then means nothing."""
        rows = [replace(row, verdict="too short") if row.verdict == "canonical" else row for row in self.rows]
        return replace(self, rows=tuple(rows))

    @property
    def contradictions(self) -> tuple[CanonicalRow, ...]:
        """The rows that are off."""
        return tuple(row for row in self.rows if row.contradicts)

    @property
    def closing(self) -> tuple[str, ...]:
        """The lines below the table that explain its words."""
        verdicts = {row.verdict for row in self.rows}
        words = {"off": OFF, "too short": SHORT, "canonical": UNBIASED if self.unbiased else CERTIFIES}
        return tuple(line for word, line in words.items() if word in verdicts)

    def to_dict(self) -> dict[str, dict[str, Json]]:
        """Rows by quantity, as plain values for JSON: numbers that are not finite become None."""
        found = self.as_json()
        return {
            row.quantity: found[row.quantity]
            | {"contradicts": row.contradicts, "points": list(map(_plain, row.points))}
            for row in self.rows
        }

    @property
    def table(self) -> ShownTable:
        """The rows to show, each followed by the first of its points."""
        lines: list[tuple[Sequence[str], bool]] = []
        for row in self.rows:
            lines += [(cells(row), row.contradicts), *((line, False) for line in _lines_of(row.points))]
        return ShownTable(HEADINGS, lines, NUMBERS)

    def __str__(self) -> str:
        if not self.rows:
            return "no law of a temperature was looked at: print(run.audit()) tells why, if it should have been"
        return "\n".join([*self.table.lines(), *self.closing])

    __repr__ = __str__


def cells(row: CanonicalRow) -> tuple[str, ...]:
    """The cells of a row, as all tables show them."""
    return (
        row.label, f"{row.law:.6g}", f"{row.mean:.6g}",
        *(f"{value:.2g}" if isfinite(value) else "-" for value in (row.error, row.would_see)), row.verdict,
    )  # fmt: skip


def _lines_of(points: Sequence[Point]) -> list[tuple[str, ...]]:
    """The cells of the first points, and the number of the others."""
    lines: list[tuple[str, ...]] = [
        (f"  at {point.name}", f"{point.law:.6g}", f"{point.mean:.6g}", f"{point.error:.2g}" if isfinite(point.error) else "-", "", "")
        for point in points[:LISTED]
    ]  # fmt: skip
    more = len(points) - LISTED
    return [*lines, (f"  and {more} more", *[""] * (len(HEADINGS) - 1))] if more > 0 else lines


def _plain(point: Point) -> dict[str, Json]:
    """The values for JSON."""
    return point._asdict() | {"error": point.error if isfinite(point.error) else None}
