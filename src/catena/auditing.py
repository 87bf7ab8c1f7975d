"""The audit of a run: what the method promised for each invariant against what was measured.

Only arrays are known here: the samples of a quantity, their times, the number of steps between the
first and the last sample, and the size of the terms that make the quantity up.

The deviation d(t) = value(t) - value(0) is averaged over 20 blocks of samples, m_1 ... m_20, one block
length L apart, and a line is fitted to the block means:

    drift       = slope of the line
    fit error   = what the residuals of the line say about its slope
    walk error  = std(m_{i+1} - m_i) / sqrt(19) / L
    drift error = max(fit error, walk error)

The fit error alone takes the block means for independent. Those of a random walk, which is how round-off
grows, are not: it calls 62 % of pure random walks a drift. The walk error is made for them, and larger than
needed for noise without memory. For samples evenly spaced in time it is always the larger one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from math import inf, isfinite, isnan, nan, sqrt
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from catena.errors import InputError, nearest

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray
    from rich.table import Table

    Floats = NDArray[np.float64]

Kind = Literal["exact", "bounded", "drifts", "needed", "none"]
Verdict = Literal["exact", "bounded", "drifts", "broken", "too short"]

EPS = float(np.finfo(np.float64).eps)
BLOCKS = 20
FEWEST_SAMPLES = 200
SIGNIFICANT = 3.0  # errors; for one component, see significant_ratio
EXACT_FACTOR = 50.0
BROKEN_FACTOR = 1e3
SEVERITY: tuple[Verdict, ...] = ("too short", "exact", "bounded", "drifts", "broken")


def exact_limit(steps: int, scale: float | Floats) -> float | Floats:
    """Largest deviation that round-off explains: 50 eps sqrt(steps) scale."""
    return EXACT_FACTOR * EPS * sqrt(steps) * scale


@dataclass(frozen=True)
class Promise:
    """What a method promises for a quantity.

    Parameters
    ----------
    kind : "exact" (round-off only), "bounded" (no drift), "drifts" (may drift), "needed" (not promised, but without it the
        motion makes no sense) or "none" (nothing is promised)
    """

    kind: Kind

    def __post_init__(self) -> None:
        known = list(get_args(Kind))
        if self.kind not in known:
            raise InputError(
                f"promised = {self.kind!r} is no promise{nearest(str(self.kind), known)}",
                do=f"use one of {', '.join(known)}",
            )

    def broken_beyond(self, steps: int, scale: float | Floats) -> float | Floats:
        """Deviation above which a finite quantity is called broken; inf unless it is promised exactly, or needed."""
        return BROKEN_FACTOR * exact_limit(steps, scale) if self.kind in ("exact", "needed") else inf

    def contradicted_by(self, verdict: Verdict) -> bool:
        """Whether the verdict is worse than promised; "too short" says nothing, so it contradicts nothing."""
        if self.kind == "drifts" or self.kind == "none":
            return False
        return SEVERITY.index(verdict) > SEVERITY.index("bounded" if self.kind == "needed" else self.kind)


@dataclass(frozen=True)
class AuditRow:
    """One invariant: promised against measured.

    Attributes
    ----------
    quantity : name of the invariant
    start : value of the first sample
    worst : largest magnitude of the deviation from the start
    drift, drift_error : drift per unit of time and its error; nan when too short or not finite
    promised : kind of the promise
    verdict : "exact", "bounded", "drifts", "broken" or "too short"
    component : the component these numbers belong to, the one that decided; None for a scalar quantity
    """

    quantity: str
    start: float
    worst: float
    drift: float
    drift_error: float
    promised: Kind
    verdict: Verdict
    component: int | None = None

    @property
    def contradicts(self) -> bool:
        """Whether the verdict is worse than the promise."""
        return Promise(self.promised).contradicted_by(self.verdict)

    @property
    def label(self) -> str:
        """Quantity, with the component that decided: `total_momentum[2]`."""
        return self.quantity if self.component is None else f"{self.quantity}[{self.component}]"


def assess(quantity: str, time: ArrayLike, values: ArrayLike, *, steps: int, scale: float, promised: str) -> AuditRow:
    """Judge the samples of one quantity.

    The verdict is the first that holds:

    - `broken`: a sample or the scale is not finite, or exactness is promised or needed and the largest deviation
      exceeds 1e3 * 50 eps sqrt(steps) scale;
    - `too short`: fewer than 200 samples;
    - `drifts`: |drift| >= 3 drift errors, and the drift over the whole run exceeds eps * scale, below
      which it is no more than the rounding of the quantity itself;
    - `exact`: largest deviation <= 50 eps sqrt(steps) scale;
    - `bounded`.

    Each component of a vector is judged, and the worst decides (worst verdict, then largest deviation). With
    k components the 3 errors grow so that one false alarm in all of them stays as rare as in a scalar.

    Parameters
    ----------
    quantity : name of the invariant
    time : (n,) times of the samples, increasing or decreasing
    values : (n,) or (n, k) samples
    steps : steps of the method from the first to the last sample
    scale : largest magnitude of the terms that make the quantity up, in its unit
    promised : "exact", "bounded", "drifts", "needed" or "none"

    Returns
    -------
    AuditRow

    Raises
    ------
    InputError
        If the shapes do not match, the times are not monotonic, or steps, scale or promise are impossible.

    Examples
    --------
    >>> time = np.arange(1000) * 0.1
    >>> row = assess("energy", time, 2 + 1e-6 * np.sin(time), steps=999, scale=2.0, promised="bounded")
    >>> row.verdict, f"{row.worst:.1e}"
    ('bounded', '1.0e-06')
    >>> assess("energy", time, 2 + 1e-6 * time, steps=999, scale=2.0, promised="bounded").contradicts
    True
    """
    promise = Promise(promised)  # type: ignore[arg-type]  # checked there
    time, values = _checked(quantity, time, values, steps=steps, scale=scale)
    columns = values.reshape(len(time), -1)
    components = columns.shape[1]

    with np.errstate(over="ignore", invalid="ignore"):  # what overflows is not finite, and so is judged
        deviation = columns - columns[0]
        finite = np.isfinite(deviation).all(axis=0) & isfinite(scale)
        worst = np.where(finite, np.abs(deviation).max(axis=0), nan)
        drift = np.full(components, nan)
        error = np.full(components, nan)
        if len(time) >= FEWEST_SAMPLES and finite.any():
            center = _block_means((time - time[0])[:, None])[0]
            drift[finite], error[finite] = drift_with_error(center, _block_means(deviation[:, finite]))
    severity = judge(
        worst, drift, error, samples=len(time), steps=steps, duration=time[-1] - time[0], scale=scale, promise=promise
    )

    def badness(k: int) -> tuple[int, float]:
        return int(severity[k]), inf if isnan(worst[k]) else float(worst[k])

    k = max(range(components), key=badness)
    return AuditRow(
        quantity=quantity,
        start=float(columns[0, k]),
        worst=float(worst[k]),
        drift=float(drift[k]),
        drift_error=float(error[k]),
        promised=promise.kind,
        verdict=SEVERITY[severity[k]],
        component=None if values.ndim == 1 else k,
    )


def judge(
    worst: Floats,
    drift: Floats,
    drift_error: Floats,
    *,
    samples: int,
    steps: int,
    duration: float,
    scale: float | Floats,
    promise: Promise,
) -> NDArray[np.int64]:
    """The verdict on each component, by the rules of `assess`, as its place in `SEVERITY`.

    Parameters
    ----------
    worst, drift, drift_error : (..., k) of the k components of a quantity: largest deviation, nan if one is not finite; drift and
        its error, nan where they were not fitted
    samples, steps, duration : of the whole run
    scale : a number, or an array that broadcasts with them
    promise : what the method promised
    """
    significant = np.abs(drift) >= significant_ratio(worst.shape[-1]) * drift_error
    resolved = np.abs(drift) * abs(duration) > EPS * scale
    rules: list[tuple[Verdict, Any]] = [  # the first that holds
        ("broken", ~np.isfinite(worst + scale) | (worst > promise.broken_beyond(steps, scale))),
        ("too short", np.full(worst.shape, samples < FEWEST_SAMPLES)),
        ("drifts", significant & resolved),
        ("exact", worst <= exact_limit(steps, scale)),
    ]
    places = [SEVERITY.index(verdict) for verdict, _ in rules]
    return np.select([holds for _, holds in rules], places, default=SEVERITY.index("bounded"))


def _checked(quantity: str, time: ArrayLike, values: ArrayLike, *, steps: int, scale: float) -> tuple[Floats, Floats]:
    """Time and values as arrays, or the error that says why they cannot be judged."""
    times = np.asarray(time, dtype=np.float64)
    samples = np.asarray(values, dtype=np.float64)
    where = f"audit of {quantity}"
    if times.ndim != 1 or samples.ndim not in (1, 2) or len(samples) != len(times) or samples.size == 0:
        raise InputError(
            f"time has shape {times.shape}, values {samples.shape}",
            where=where,
            do="give n >= 1 times and values of shape (n,) or (n, k), k >= 1",
        )
    intervals = np.diff(times)
    if not np.isfinite(times).all() or not ((intervals > 0).all() or (intervals < 0).all()):
        raise InputError(
            "the times are not finite and strictly monotonic", where=where, do="give each sample once, in order"
        )
    if steps < len(times) - 1:
        raise InputError(
            f"steps = {steps} for {len(times)} samples", where=where, do="count the steps, not the samples"
        )
    if scale < 0:
        raise InputError(f"scale = {scale!r} is negative", where=where, do="give a magnitude")
    return times, samples


def drift_with_error(center: Floats, means: Floats) -> tuple[Floats, Floats]:
    """Slope of the 20 block means of each series and its error, per unit of time.

    Every series has its own bits, whichever others it is fitted together with: all sums go along the last axis.

    Parameters
    ----------
    center : (20,) mean times of the blocks
    means : (..., 20) finite means of the deviation
    """
    # A power of two brings each series near 1, so that no square over- or underflows and no digit changes.
    exponent = np.frexp(np.abs(means).max(axis=-1))[1]
    means = np.ascontiguousarray(np.ldexp(means, -exponent[..., None]))
    length = (center[-1] - center[0]) / (BLOCKS - 1)
    x = (center - center.mean()) / length

    slope = (means * x).sum(axis=-1) / (x @ x)
    residual = means - means.mean(axis=-1, keepdims=True) - slope[..., None] * x
    error = np.maximum(fit_error(x, residual), walk_error(means))
    return np.ldexp(slope, exponent) / length, np.ldexp(error, exponent) / abs(length)


def _block_means(samples: Floats) -> Floats:
    """(k, 20) means over blocks that hold all of the samples (n, k); their sizes differ by one at most."""
    exponent = np.frexp(np.abs(samples).max(axis=0))[1]  # so that no sum overflows
    blocks = np.array_split(np.ldexp(samples, -exponent), BLOCKS)
    return np.ldexp(np.stack([block.mean(axis=0) for block in blocks], axis=-1), exponent[:, None])


def fit_error(x: Floats, residual: Floats) -> Floats:
    """Standard error of the slope, per block, if the residuals (..., 20) were independent."""
    return np.sqrt((residual**2).sum(axis=-1) / ((BLOCKS - 2) * (x @ x)))


def walk_error(means: Floats) -> Floats:
    """Standard error of the mean increment, per block, if the block means (..., 20) were a random walk."""
    increments = np.ascontiguousarray(np.diff(means, axis=-1))
    return increments.std(axis=-1, ddof=1) / sqrt(BLOCKS - 1)


@lru_cache
def significant_ratio(components: int) -> float:
    """Number of drift errors from which the drift of one among several components is significant.

    For a random walk, the hardest background, drift / error is c times a Student t with 18 degrees of freedom;
    c > 1 because averaging in blocks takes a third of the variance from the increments. One component: 3, by
    definition. Several: each may alarm falsely with the probability of 3 errors divided by their number.
    """
    if components == 1:
        return SIGNIFICANT
    from scipy.special import stdtr, stdtrit

    # Increments of block means of a walk with variance 1 per block: variance 2/3, covariance of neighbours 1/6.
    own, neighbours = 2 / 3, 1 / 6
    block = np.arange(1, BLOCKS)
    weight = block * (BLOCKS - block) / 2 / ((BLOCKS**3 - BLOCKS) / 12)  # of each increment in the slope
    slope_variance = own * (weight @ weight) + 2 * neighbours * (weight[1:] @ weight[:-1])
    c = sqrt(slope_variance / (own / (BLOCKS - 1)))
    freedom = BLOCKS - 2
    return -c * float(stdtrit(freedom, stdtr(freedom, -SIGNIFICANT / c) / components))


@dataclass(frozen=True, repr=False)
class Audit:
    """All invariants of a run, promised against measured; prints as a table.

    `audit["energy"]` is the row of that quantity; iteration goes over the rows.
    """

    rows: tuple[AuditRow, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", tuple(self.rows))
        twice = [name for name, count in Counter(row.quantity for row in self.rows).items() if count > 1]
        if twice:
            raise InputError(f"more than one row for {', '.join(twice)}", where="audit", do="give each quantity once")

    def __getitem__(self, quantity: str) -> AuditRow:
        for row in self.rows:
            if row.quantity == quantity:
                return row
        known = [row.quantity for row in self.rows]
        raise InputError(
            f"no quantity {quantity!r} was audited{nearest(str(quantity), known)}",
            where="audit",
            do=f"use one of {', '.join(known)}" if known else "record an invariant: this audit has no rows",
        )

    def __contains__(self, quantity: object) -> bool:
        return any(row.quantity == quantity for row in self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[AuditRow]:
        return iter(self.rows)

    @property
    def contradictions(self) -> tuple[AuditRow, ...]:
        """The rows whose verdict is worse than the promise."""
        return tuple(row for row in self.rows if row.contradicts)

    @property
    def ok(self) -> bool:
        """Whether no verdict contradicts its promise."""
        return not self.contradictions

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """Rows by quantity, as plain values for JSON: a number that is not finite becomes None."""

        def plain(value: Any) -> Any:
            return None if isinstance(value, float) and not isfinite(value) else value

        return {
            row.quantity: {name: plain(value) for name, value in vars(row).items() if name != "quantity"}
            | {"contradicts": row.contradicts}
            for row in self.rows
        }

    def __str__(self) -> str:
        lines = [_HEADINGS, *(_cells(row) for row in self.rows)]
        widths = [max(len(line[column]) for line in lines) for column in range(len(_HEADINGS))]

        def aligned(line: tuple[str, ...]) -> str:
            cells = [
                cell.rjust(width) if heading in _NUMBERS else cell.ljust(width)
                for heading, cell, width in zip(_HEADINGS, line, widths, strict=True)
            ]
            return "  ".join(cells).rstrip()

        rule = "  ".join("-" * width for width in widths)
        return "\n".join([aligned(lines[0]), rule, *map(aligned, lines[1:])])

    __repr__ = __str__

    def __rich__(self) -> Table:
        from rich.table import Table
        from rich.text import Text

        table = Table()
        for heading in _HEADINGS:
            # broken here, or a narrow terminal would cut names and numbers first
            broken = heading.replace("worst ", "worst\n").replace("drift ", "drift\n")
            table.add_column(broken, justify="right" if heading in _NUMBERS else "left")
        for row in self.rows:
            # Text, because a plain "momentum[x]" would be read as markup.
            table.add_row(*map(Text, _cells(row)), style="red" if row.contradicts else None)
        return table

    def _repr_html_(self) -> str:
        from html import escape

        def line(tag: str, cells: tuple[str, ...], style: str = "") -> str:
            return f"<tr{style}>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"

        body = [line("td", _cells(row), ' style="color: red"' if row.contradicts else "") for row in self.rows]
        return "\n".join(["<table>", line("th", _HEADINGS), *body, "</table>"])


_HEADINGS = ("quantity", "start", "worst deviation", "drift per time", "+- error", "promised", "verdict")
_NUMBERS = _HEADINGS[1:5]


def _cells(row: AuditRow) -> tuple[str, ...]:
    measured = not isnan(row.drift)
    return (
        row.label,
        f"{row.start:.2e}" if row.quantity.endswith("residual") and row.start else f"{row.start:.10g}",
        f"{row.worst:.2e}",
        f"{row.drift:+.2e}" if measured else "-",
        f"{row.drift_error:.1e}" if measured else "-",
        row.promised,
        f"{row.verdict} (contradicts)" if row.contradicts else row.verdict,
    )
