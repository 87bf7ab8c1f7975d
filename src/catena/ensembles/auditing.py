"""The audit of an ensemble: the verdict that each member would get as a single run, without its samples.

Of each invariant only the largest deviation from the start and the sums of the deviations over the 20 blocks of
`catena.auditing` are kept while the samples come; the drift is fitted to block means, so nothing is lost.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..auditing import BLOCKS, FEWEST_SAMPLES, SEVERITY, Promise, drift_with_error, judge
from ..errors import InputError, nearest
from ..markup import html_table

if TYPE_CHECKING:
    from rich.table import Table

Array = NDArray[np.float64]
Integers = NDArray[np.int64]


def block_edges(samples: int) -> Integers:
    """Numbers of the samples between which the blocks lie, whose sizes differ by one at most; the first are the larger."""
    size, larger = divmod(samples, BLOCKS)
    return np.cumsum([0] + [size + (block < larger) for block in range(BLOCKS)])


def drifts_of(sums: Array, edges: Integers, interval: float) -> tuple[Array, Array]:
    """Drifts and their errors (m, k), from the block sums (m, blocks, k) of samples so far apart in time; nan if too few."""
    if edges[-1] < FEWEST_SAMPLES:
        unknown = np.full((len(sums), sums.shape[2]), np.nan)
        return unknown, unknown
    center = (edges[:-1] + edges[1:] - 1) / 2 * interval
    return drift_with_error(center, np.moveaxis(sums / np.diff(edges)[:, None], 1, 2))


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
class EnsembleAudit:
    """All invariants of an ensemble, promised against measured; prints as a table."""

    rows: tuple[EnsembleAuditRow, ...]
    members: int
    failed: int

    def __getitem__(self, quantity: str) -> EnsembleAuditRow:
        known = [row.quantity for row in self.rows]
        if quantity not in known:
            raise InputError(
                f"no quantity {quantity!r} was audited{nearest(str(quantity), known)}", where="audit",
                do=f"use one of {', '.join(known)}",
            )  # fmt: skip
        return self.rows[known.index(quantity)]

    def __iter__(self) -> Iterator[EnsembleAuditRow]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def ok(self) -> bool:
        """Whether no verdict of a member contradicts the promise."""
        return not any(row.contradicting for row in self.rows)

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """Rows by quantity, as plain values for JSON."""
        return {row.quantity: {k: v for k, v in vars(row).items() if k != "quantity"} for row in self.rows}

    def __str__(self) -> str:
        lines = [HEADINGS, *map(_cells, self.rows)]
        widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
        lines.insert(1, tuple("-" * width for width in widths))
        table = ["  ".join(cell.ljust(w) for cell, w in zip(line, widths, strict=True)).rstrip() for line in lines]
        return "\n".join([*table, f"{self.members} members" + (f", {self.failed} failed" if self.failed else "")])

    __repr__ = __str__

    def __rich__(self) -> Table:
        from rich.table import Table
        from rich.text import Text

        table = Table()
        for heading in HEADINGS:
            table.add_column(heading, justify="right" if heading in ("worst", "member") else "left")
        for row in self.rows:
            table.add_row(*map(Text, _cells(row)), style="red" if row.contradicting else None)
        return table

    def _repr_html_(self) -> str:
        return html_table(map(_cells, self.rows), headings=HEADINGS)


HEADINGS = ("quantity", "worst", "member", "promised", "members by verdict")


def _cells(row: EnsembleAuditRow) -> tuple[str, ...]:
    counts = ", ".join(f"{count} {verdict}" for verdict, count in row.verdicts.items())
    return row.quantity, f"{row.worst:.3e}", str(row.member), row.promised, counts


def assess_members(
    quantity: str,
    members: Integers,
    worst: Array,
    drift: Array,
    drift_error: Array,
    *,
    samples: int,
    steps: int,
    duration: float,
    scale: Array,
    promised: str,
) -> EnsembleAuditRow:
    """Judge one quantity, with k components, of m members, each by the rules of `catena.auditing.assess`.

    Parameters
    ----------
    quantity : name of the invariant
    members : (m,) their numbers
    worst, drift, drift_error : (m, k), as for `catena.auditing.judge`
    samples, steps, duration : of each member
    scale : (m,) largest magnitude of the terms that make the quantity up
    promised : "exact", "bounded", "drifts", "needed" or "none"
    """
    promise = Promise(promised)  # type: ignore[arg-type]  # checked there
    severity = judge(
        worst,
        drift,
        drift_error,
        samples=samples,
        steps=steps,
        duration=duration,
        scale=scale[:, None],
        promise=promise,
    ).max(axis=1)
    largest = worst.max(axis=1)
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
