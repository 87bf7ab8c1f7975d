"""The verdict on one quantity: what the method promised for it against what was measured.

This module knows only arrays: the samples of a quantity, their times, the number of steps between the first and the
last sample, and the size of the terms that make up the quantity.

The verdict is the first that holds:

- `broken`: a sample or the scale is not finite, or exactness is promised or needed and the largest deviation
  exceeds 1e3 * 50 eps sqrt(steps) scale;
- `too short`: fewer than 200 samples;
- `drifts`: |drift| is at least the number of drift errors that gives a run with this many rows a false alarm in 0.1 %,
  and the drift over the whole run exceeds eps * scale, below which it is only the rounding of the quantity itself, and
  1/25 of the largest deviation, below which it may be the beat of an oscillation with the blocks;
- `exact`: largest deviation <= 50 eps sqrt(steps) scale, or 8 eps |start| if that is larger;
- `jumps`: a jump is found that is larger than a thousandth of the scale;
- `bounded`.

`too short`, `bounded` and `drifts` become `large` if the error is as large as the quantity itself, see
`catena.running.auditing.size`; this applies to quantities that the motion conserves, if their sizes are given.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isfinite, isnan, nan, sqrt
from typing import TYPE_CHECKING, Literal, cast, get_args

import numpy as np

from ...errors import InputError, nearest
from .drift import block_means, fit_drift, significant_ratio
from .jumps import jumps_of, lasting_step
from .size import Sizes, lasting_deviation

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

Kind = Literal["exact", "bounded", "drifts", "needed", "none"]
Verdict = Literal["exact", "bounded", "drifts", "large", "jumps", "broken", "too short"]

EPS = float(np.finfo(np.float64).eps)
FEWEST_SAMPLES = 200
FALSE_ALARMS = 1e-3  # highest probability of a false alarm in a run, whatever the number of its rows and components
WALKS = 1.2  # walks exceed Student's t more often, because lambda is found from the data: 1.15 times in 3 million walks
BEAT = 25.0  # an oscillation as long as a block leaves at most 1/28 in the means: a beat, maybe slower than the run
LEAST_JUMP = 1e-3  # of the scale: a flip, collision or encounter changes a good run by less in a moment
EXACT_FACTOR = 50.0
BROKEN_FACTOR = 1e3
ROUNDED = 8.0  # times eps: rounding of a sum of up to about 16 terms, however many steps were made
SEVERITY: tuple[Verdict, ...] = ("too short", "exact", "bounded", "drifts", "large", "jumps", "broken")


def exact_limit(steps: int, scale: float | Floats, start: float | Floats = 0.0) -> float | Floats:
    """Largest deviation that round-off explains: 50 eps sqrt(steps) scale, or 8 eps |start| if that is larger."""
    return np.maximum(EXACT_FACTOR * EPS * sqrt(steps) * scale, ROUNDED * EPS * np.abs(start))


def alarm_level(rows: int, components: int) -> float:
    """Allowed probability of a false alarm in each component of a row, so that the run as a whole has at most 0.1 %."""
    return FALSE_ALARMS / WALKS / (rows * components)


@dataclass(frozen=True)
class Promise:
    """What a method promises for a quantity.

    Parameters
    ----------
    kind : "exact" (round-off only), "bounded" (no drift), "drifts" (may drift), "needed" (not promised, but without it the
        motion makes no sense) or "none" (nothing is promised)
    """

    kind: Kind

    @classmethod
    def of(cls, word: str) -> Promise:
        """The promise for this word; InputError if there is none."""
        return cls(cast("Kind", word))

    def __post_init__(self) -> None:
        known = list(get_args(Kind))
        if self.kind not in known:
            raise InputError(
                f"promised = {self.kind!r} is no promise{nearest(str(self.kind), known)}",
                do=f"use one of {', '.join(known)}",
            )

    def broken_beyond(self, limit: float | Floats) -> float | Floats:
        """Deviation above which a finite quantity is called broken; inf unless it is promised exactly, or needed.

        `limit` is the largest deviation that round-off explains, see `exact_limit`.
        """
        return BROKEN_FACTOR * limit if self.kind in ("exact", "needed") else inf

    def contradicted_by(self, verdict: Verdict) -> bool:
        """Whether the verdict is worse than promised; "too short" is not; "jumps" and "large" always are."""
        if verdict in ("jumps", "large"):
            return True
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
    worst : largest magnitude of the deviation from the start, in the samples or where the run is checked between them
    drift, drift_error : drift per unit of time and its error; nan when too short or not finite
    promised : kind of the promise
    verdict : "exact", "bounded", "drifts", "large", "jumps", "broken" or "too short"
    component : the component that decided, to which these numbers belong; None for a scalar quantity
    jumps_at : time of the largest jump, if the verdict is "jumps"
    """

    quantity: str
    start: float
    worst: float
    drift: float
    drift_error: float
    promised: Kind
    verdict: Verdict
    component: int | None = None
    jumps_at: float | None = None

    @property
    def contradicts(self) -> bool:
        """Whether the verdict is worse than the promise."""
        return Promise(self.promised).contradicted_by(self.verdict)

    @property
    def label(self) -> str:
        """Quantity, with the component that decided: `total_momentum[2]`."""
        return self.quantity if self.component is None else f"{self.quantity}[{self.component}]"

    @property
    def finding(self) -> str:
        """The verdict, with the time of a jump: `jumps at t = 1.39`."""
        return self.verdict if self.jumps_at is None else f"{self.verdict} at t = {self.jumps_at:.4g}"


def assess(
    quantity: str,
    time: ArrayLike,
    values: ArrayLike,
    *,
    steps: int,
    scale: float,
    promised: str,
    rows: int = 1,
    continuous: bool = True,
    sizes: Sizes | None = None,
) -> AuditRow:
    """Judge the samples of one quantity by the rules at the top of this module.

    Each component of a vector is judged, and the worst decides (worst verdict, then largest deviation).

    Parameters
    ----------
    quantity : name of the invariant
    time : (n,) times of the samples, increasing or decreasing
    values : (n,) or (n, k) samples
    steps : steps of the method from the first to the last sample
    scale : largest magnitude of the terms that make up the quantity, in its unit
    promised : "exact", "bounded", "drifts", "needed" or "none"
    rows : number of quantities of the run that are judged; they share the false alarms
    continuous : whether the motion conserves the quantity and it is a continuous function of the state; if not, as for
        a work, or for the residual of the worst body, jumps are not searched for
    sizes : what is known of its size beside the samples; nothing if None

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
    promise = Promise.of(promised)
    time, values = _check(quantity, time, values, steps=steps, scale=scale)
    columns = values.reshape(len(time), -1)
    level = alarm_level(rows, columns.shape[1])
    with np.errstate(over="ignore", invalid="ignore"):  # values that overflow are judged as not finite
        found = _features(time, columns, scale=scale, level=level, continuous=continuous, sizes=sizes)
    severity = judge(
        found.worst, found.drift, found.drift_error, found.jump,
        samples=len(time), steps=steps, duration=time[-1] - time[0], scale=scale, promise=promise, level=level,
        start=columns[0], seen=found.seen, large=found.large,
    )  # fmt: skip

    k = max(range(columns.shape[1]), key=lambda k: (severity[k], inf if isnan(found.seen[k]) else found.seen[k]))
    verdict = SEVERITY[severity[k]]
    return found.row(quantity, k, None if values.ndim == 1 else k, float(columns[0, k]), promise, verdict)


@dataclass(frozen=True, slots=True)
class _Features:
    """The inputs of the verdicts, one number for each component; nan if unknown."""

    worst: Floats
    seen: Floats
    drift: Floats
    drift_error: Floats
    jump: Floats
    jump_time: Floats
    large: NDArray[np.bool_]

    def row(
        self, quantity: str, k: int, component: int | None, start: float, promise: Promise, verdict: Verdict
    ) -> AuditRow:
        """The numbers of column k, with the verdict on them."""
        return AuditRow(
            quantity=quantity,
            start=start,
            worst=float(self.seen[k]),
            drift=float(self.drift[k]),
            drift_error=float(self.drift_error[k]),
            promised=promise.kind,
            verdict=verdict,
            component=component,
            jumps_at=float(self.jump_time[k]) if verdict == "jumps" else None,
        )


def _features(
    time: Floats, columns: Floats, *, scale: float, level: float, continuous: bool, sizes: Sizes | None
) -> _Features:
    components = columns.shape[1]
    deviation = columns - columns[0]
    finite = np.isfinite(deviation).all(axis=0) & isfinite(scale)
    worst = np.where(finite, np.abs(deviation).max(axis=0), nan)
    drift, error = np.full(components, nan), np.full(components, nan)
    seen = worst if sizes is None else np.where(finite, sizes.seen, nan)
    large = np.zeros(components, dtype=bool)
    if sizes is not None and continuous:
        large = finite & sizes.large(lasting_deviation(deviation), scale)
    jump, when = np.zeros(components), np.full(components, time[0])
    if len(time) >= FEWEST_SAMPLES and finite.any():
        center = block_means((time - time[0])[:, None])[0]
        drift[finite], error[finite] = fit_drift(center, block_means(deviation[:, finite]), level)
        if continuous and (2.0 * worst > LEAST_JUMP * scale).any():  # no jump is larger than the range
            found = [jumps_of(time, deviation[:, finite]), lasting_step(time, deviation[:, finite])]
            larger = np.argmax([size for size, _ in found], axis=0)
            jump[finite], when[finite] = (np.choose(larger, list(part)) for part in zip(*found, strict=True))
    return _Features(worst, seen, drift, error, jump, when, large)


def judge(
    worst: Floats,
    drift: Floats,
    drift_error: Floats,
    jump: Floats,
    *,
    samples: int,
    steps: int,
    duration: float | Floats,
    scale: float | Floats,
    promise: Promise,
    level: float,
    start: Floats,
    seen: Floats,
    large: NDArray[np.bool_],
) -> NDArray[np.int64]:
    """The verdict on each component, by the rules above, as its index in `SEVERITY`.

    Parameters
    ----------
    worst, drift, drift_error, jump : (..., k) of the k components of a quantity: largest deviation, nan if one is not finite; drift
        and its error, nan if they were not fitted; size of the largest jump, 0 if there is none
    samples, steps, duration : of the whole run; the last a number, or an array that broadcasts with them
    scale : a number, or an array that broadcasts with them
    promise : what the method promised
    level : allowed probability of a false alarm in each component, see `alarm_level`
    start : (..., k) first values
    seen : (..., k) largest deviation in the samples or between them
    large : (..., k) whether the error is as large as the quantity itself
    """
    limit, rounding = exact_limit(steps, scale, start), EPS * np.maximum(scale, np.abs(start))
    significant = np.zeros(worst.shape, dtype=bool)
    if samples >= FEWEST_SAMPLES:
        significant = np.abs(drift) >= significant_ratio(level) * drift_error
    resolved = np.abs(drift) * np.abs(duration) > np.maximum(rounding, worst / BEAT)
    rules: list[tuple[Verdict, NDArray[np.bool_]]] = [  # the first that holds
        ("broken", ~np.isfinite(seen + scale) | (seen > promise.broken_beyond(limit))),
        ("too short", np.full(worst.shape, samples < FEWEST_SAMPLES)),
        ("drifts", significant & resolved),
        ("exact", seen <= limit),
        ("jumps", jump > np.maximum(limit, LEAST_JUMP * scale)),
    ]
    places = [SEVERITY.index(verdict) for verdict, _ in rules]
    found = np.select([holds for _, holds in rules], places, default=SEVERITY.index("bounded"))
    return np.where(large, np.maximum(found, SEVERITY.index("large")), found)


def _check(quantity: str, time: ArrayLike, values: ArrayLike, *, steps: int, scale: float) -> tuple[Floats, Floats]:
    """Time and values as arrays; InputError if they cannot be judged."""
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
