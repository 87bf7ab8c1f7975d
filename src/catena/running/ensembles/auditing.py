"""The audit of an ensemble: the verdict that each member would get as a single run, without its samples.

Of each invariant only the largest deviation from the start, the sums of the deviations over the 40 blocks of
`catena.running.auditing` and the size of its terms are kept while the samples come; the drift is fitted to block means,
so nothing is lost. Jumps are searched for in these means only: some that a single run finds in its samples, such as
many jumps in a row, are not detected here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ...arrays import Array, Integers
from ...systems.base import Invariant
from ...text.named_rows import NamedRows
from ...text.plain import Json
from ...text.tables import ShownTable
from ..auditing import (
    FEWEST_SAMPLES,
    SEVERITY,
    Canonical,
    Promise,
    Sizes,
    alarm_level,
    fit_drift,
    judge,
    largest_jump,
    left_by_uneven_blocks,
)
from ..auditing.table import SHORT

if TYPE_CHECKING:
    from rich.console import Group

NAMED = 8  # members that are listed in a line


def measure_in(
    sums: Array, worst: Array, edges: Integers, interval: float, invariants: Sequence[Invariant]
) -> tuple[Array, Array, Array]:
    """Drifts, their errors and the sizes of the largest jumps (m, k), from the block sums (m, blocks, k) of samples
    `interval` apart in time, and the largest deviations (m, k); with too few samples, drifts are nan and jumps 0."""
    if edges[-1] < FEWEST_SAMPLES:
        unknown = np.full((len(sums), sums.shape[2]), np.nan)
        return unknown, unknown, np.zeros(unknown.shape)
    center = (edges[:-1] + edges[1:] - 1) / 2 * interval
    means = np.moveaxis(sums / np.diff(edges)[:, None], 1, 2)
    level = np.array([alarm_level(len(invariants), one.width) for one in invariants for _ in range(one.width)])
    continuous = np.array([one.continuous for one in invariants for _ in range(one.width)])
    jump = largest_jump(means)[0]
    resolved = continuous & (jump > left_by_uneven_blocks(edges) * worst)
    return *fit_drift(center, means, level), np.where(resolved, jump, 0.0)


@dataclass(frozen=True)
class EnsembleAuditRow:
    """One invariant over all members that did not fail.

    Attributes
    ----------
    quantity : name of the invariant
    worst, member : largest magnitude of the deviation from the start, and the member that has it; 0 and None if all failed
    promised : kind of the promise, as for a single run
    verdicts : verdict -> number of members; each is the verdict that a single run would get
    contradicting : the members whose verdict is worse than the promise
    """

    quantity: str
    worst: float
    member: int | None
    promised: str
    verdicts: dict[str, int]
    contradicting: tuple[int, ...]


@dataclass(frozen=True, repr=False)
class EnsembleAudit(NamedRows[EnsembleAuditRow]):
    """All invariants of an ensemble, promised against measured; prints as a table.

    Attributes
    ----------
    rows : one for each quantity
    members, failed : number of members, and of those that failed
    damaged : members whose final state means something else than the start, such as a chain with a torn link; unknown,
        and so empty, if the final states were not kept
    remarks : what else a reader must know, such as that two programs computed it
    canonical : in a heat bath, whether averages over the members are those of its temperature
    """

    _naming: ClassVar[str] = "quantity"
    _unknown: ClassVar[tuple[str, str]] = ("no quantity {} was audited", "audit")

    rows: tuple[EnsembleAuditRow, ...]
    members: int
    failed: int
    damaged: tuple[int, ...] = ()
    remarks: tuple[str, ...] = ()
    canonical: Canonical = field(default_factory=Canonical)

    @property
    def ok(self) -> bool:
        """Whether no verdict of a member contradicts the promise, no average is off, none was damaged, not all
        failed."""
        contradicted = any(row.contradicting for row in self.rows) or self.canonical.contradictions
        return not (self.damaged or contradicted or self.failed == self.members)

    def to_dict(self) -> dict[str, dict[str, Json]]:
        """Rows by quantity, as plain values for JSON."""
        return self.as_json() | self.canonical.to_dict()

    @property
    def tables(self) -> tuple[ShownTable, ...]:
        """The tables of conserved quantities and of canonical averages, as far as there are any."""
        kept = ShownTable(HEADINGS, [(_cells(row), bool(row.contradicting)) for row in self.rows])
        both = (*((kept,) if self.rows else ()), *((self.canonical.table,) if self.canonical.rows else ()))
        return both or ((kept,) if self.failed < self.members else ())

    def __str__(self) -> str:
        return "\n\n".join("\n".join(table.lines()) for table in self.tables) + "\n" * bool(self.tables) + self._counts

    @property
    def _counts(self) -> str:
        """How many members there are, failed, and were damaged, with the numbers of the damaged ones."""
        counts = f"{self.members} members" + (f", {self.failed} failed, see failures" if self.failed else "")
        if self.damaged:
            named = ", ".join(map(str, self.damaged[:NAMED])) + (" ..." if len(self.damaged) > NAMED else "")
            counts += f", {len(self.damaged)} torn: {named}"
        short = [SHORT] if any("too short" in row.verdicts for row in self.rows) else []
        return "\n".join([counts, *self.remarks, *short, *self.canonical.closing])

    __repr__ = __str__

    def __rich__(self) -> Group:
        from rich.console import Group
        from rich.text import Text

        return Group(*self.tables, Text(self._counts, style="dim"))

    def _repr_html_(self) -> str:
        return "".join(table._repr_html_() for table in self.tables) + f"<p>{escape(self._counts)}</p>"


HEADINGS = ("quantity", "worst", "member", "promised", "members by verdict")


def _cells(row: EnsembleAuditRow) -> tuple[str, ...]:
    if row.member is None:
        return row.quantity, "", "", row.promised, "no member came to its end"
    counts = ", ".join(f"{count} {verdict}" for verdict, count in row.verdicts.items())
    return row.quantity, f"{row.worst:.3e}", str(row.member), row.promised, counts


def assess_members(
    quantity: str,
    members: Integers,
    worst: Array,
    drift: Array,
    drift_error: Array,
    jump: Array,
    *,
    samples: int,
    steps: int,
    duration: float | Array,
    scale: Array,
    promised: str,
    rows: int,
    start: Array,
    sizes: Sizes,
    lasting: Array,
    continuous: bool,
) -> EnsembleAuditRow:
    """Judge one quantity, with k components, of m members, each by the rules of `catena.running.auditing.assess`.

    Parameters
    ----------
    quantity : name of the invariant
    members : (m,) their numbers
    worst, drift, drift_error, jump : (m, k), as for `catena.running.auditing.judge`
    samples, steps, duration : of each member
    scale : (m,) largest magnitude of the terms that make up the quantity
    promised : "exact", "bounded", "drifts", "needed" or "none"
    rows : number of quantities that are judged
    start : (m, k) first values
    sizes : with `seen` (m, k) and `usual` (m, 1)
    lasting : (m, k) lasting deviations, see `catena.running.auditing.size`; nan if unknown
    continuous : whether the motion conserves the quantity and it is a continuous function of the state
    """
    promise = Promise.of(promised)
    level = alarm_level(rows, worst.shape[1])
    severity = judge(
        worst, drift, drift_error, jump,
        samples=samples, steps=steps, duration=duration, scale=scale[:, None], promise=promise, level=level,
        start=start, seen=sizes.seen, large=continuous & sizes.large(lasting, scale[:, None]),
    ).max(axis=1)  # fmt: skip
    largest = sizes.seen.max(axis=1)
    contradicts = np.array([promise.contradicted_by(verdict) for verdict in SEVERITY])
    return EnsembleAuditRow(
        quantity=quantity,
        worst=float(largest.max(initial=0.0)),
        member=int(members[largest.argmax()]) if len(members) else None,
        promised=promise.kind,
        verdicts={
            v: int(n) for v, n in zip(SEVERITY, np.bincount(severity, minlength=len(SEVERITY)), strict=True) if n
        },
        contradicting=tuple(members[contradicts[severity]].tolist()),
    )
