"""How accurate the path of a run is: the measurement behind `run.error()`.

The audit shows what is conserved; a method may conserve everything and still be far from the true path. So the motion
is integrated again from the same start with half the step and with twice the step. With x_h the path for step h and p
the order of the method

    x_h - x(t) = (x_h - x_{h/2}) / (1 - 2^-p) + higher powers of h        (Richardson's extrapolation)

as long as the step is short enough. Then each halving shrinks the differences by 2^p, and this is checked: if they
shrink by less (the step is too long, or the motion is chaotic), the difference is reported as it is. They may shrink by
more: the energy of `RK4` falls with h^5, so a phase is off by h^4 t + h^5 t^2, and in a long run the second term is the
larger. Even then all further halvings together move the path by no more than the formula says.

A method that chooses its own steps has the same path for every dt. For such a method the tolerance is varied instead.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import inf, log2, pi
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from ..arrays import Array
from ..errors import CapabilityError, CatenaWarning, InputError, StepFailure
from ..text.named_rows import NamedRows
from ..text.plain import Json
from ..text.tables import align

if TYPE_CHECKING:
    from .plan import Plan
    from .runs import Run

Regime = Literal["asymptotic", "faster", "tolerance", "unchecked", "pre-asymptotic", "separated", "round-off"]

ORDER_WITHIN = 0.5  # the measured order is accepted if it is this close to the declared one
NEAR = 0.1  # of the extent of a field: paths farther apart have separated, however fast their difference shrinks
ROUND_OFF = 1e-12  # of that extent: smaller differences are round-off, not the error of the method
SHRINKS = 3.0  # powers of 2 by which a difference must shrink if the tolerance shrinks by a factor of 100

EXPLANATIONS = {
    "asymptotic": "the difference shrinks with the order of the method: the errors are extrapolated",
    "faster": "the difference shrinks faster than the order of the method promises: the errors are at most about as large",
    "tolerance": "the difference shrinks with the tolerance: the errors are at most about as large",
    "unchecked": "the run with twice the step failed: the errors are extrapolated, but not checked",
    "pre-asymptotic": "the difference does not shrink as the method promises: the step or tolerance is too large, or the motion "
    "chaotic or not smooth; these are differences, not errors",
    "separated": "the paths have separated: the step is too long, or the motion chaotic; these are differences, not errors",
    "round-off": "the difference is that of rounding: the errors are at most about as large",
}
SAME_BITS = "the paths agree to the last bit: what is left is rounding, which a comparison of steps does not show"


@dataclass(frozen=True)
class FieldError:
    """Error of one field: at the end, and the largest along the run; for an orientation, the angle in rad."""

    field: str
    end: float
    worst: float
    unit: str


@dataclass(frozen=True, repr=False)
class PathError(NamedRows[FieldError]):
    """How accurate a path is; prints as a short table. `error["position"]` is the row of a field.

    Attributes
    ----------
    rows : one for each field
    t_end : time of the end
    regime : "asymptotic": the errors are extrapolated; "faster": also extrapolated with the order, but the differences
        shrink by more than it promises; "unchecked": as "asymptotic", but the run with twice the step failed;
        "tolerance": for a method with its own steps, the differences shrink with its tolerance; "pre-asymptotic": the
        differences do not shrink as they should; "separated": the differences are as large as the motion; "round-off"
    order, measured_order : of the method, and as measured from the three paths; None if it cannot be measured
    """

    _naming: ClassVar[str] = "field"
    _unknown: ClassVar[tuple[str, str]] = ("there is no field {}", "error")

    rows: tuple[FieldError, ...]
    t_end: float
    regime: Regime
    order: int
    measured_order: float | None

    def to_dict(self) -> dict[str, Json]:
        """Everything as plain values, for JSON: numbers that are not finite become None."""
        told: dict[str, Json] = {"t_end": self.t_end, "regime": self.regime, "means": self._below()}
        return told | {"order": self.order, "measured_order": self.measured_order, "fields": dict(self.as_json())}

    @property
    def _headings(self) -> tuple[str, str, str]:
        return "error of", f"at t = {self.t_end:.6g}", "largest"

    def _lines(self) -> list[tuple[str, str, str]]:
        named = [(f"{row.field} ({row.unit})" if row.unit else row.field, row) for row in self.rows]
        return [(name, f"{row.end:.2e}", f"{row.worst:.2e}") for name, row in named]

    def _below(self) -> str:
        found = "" if self.measured_order is None else f" (order {self.order}, measured {self.measured_order:.1f})"
        if not any(row.worst for row in self.rows):
            return SAME_BITS
        return EXPLANATIONS[self.regime] + found

    def __repr__(self) -> str:
        return "\n".join([*align([self._headings, *self._lines()], right=(1, 2)), self._below()])

    def _repr_html_(self) -> str:
        from ..text.markup import html_table

        table = html_table(self._lines(), headings=self._headings)
        return f"{table}<p>{self._below()}</p>"


def path_error(run: Run, *, t_end: float | None = None) -> PathError:
    """Integrate the motion of a run again with half and with twice the step, or with other tolerances, and compare.

    This costs two and a half times the run. Positions and similar fields are compared by distance, orientations by the
    angle between them (so the sign of a quaternion does not matter), other fields by their largest component; if there
    are several bodies, the worst counts.

    Parameters
    ----------
    run : a run, in memory or stored
    t_end : time up to which the path is compared (to the last sample before it); the end of the run if None
    Examples
    --------
    >>> import catena as ct
    >>> run = ct.simulate(ct.problems.kepler(e=0.3), method=ct.RK4(), dt=0.05, t_end=5.0)
    >>> error = run.error()
    >>> error.regime, f"{error['q'].end:.0e}"
    ('asymptotic', '9e-06')
    """
    every, plan = run.plan.every, run.plan
    if plan.pairing.promises.traits.random:
        raise CapabilityError(
            f"{plan.method} draws random numbers: with another step the path is another one, not a better one", where="error",
            do="compare averages of ensembles with dt and dt/2",
        )  # fmt: skip
    samples = _samples_until(run, t_end)
    names = [field.name for field in plan.system.fields]
    here = {name: np.asarray(run._samples()[name][: samples + 1]) for name in names}
    better, worse = _compare(plan)
    fine = _again(better, plan.dt / 2, 2 * every, 2 * samples * every)
    if fine is None:
        raise InputError(
            "the run with half the step failed", where="error", do="look at an earlier t_end, or use another method"
        )
    coarse = _again(worse, 2 * plan.dt, every, samples // 2 * every)
    differences = {name: _distance(name, plan, here[name], fine[name]) for name in names}
    wide = {} if coarse is None else {name: _distance(name, plan, here[name][::2], coarse[name]) for name in names}
    extents = {name: _extent(name, here[name]) for name in names}
    measured = _measure_order(wide, differences, extents)
    regime = _regime(plan, _apart(differences, extents), _apart(wide, extents), measured)
    order = plan.method.traits.order
    rows = []
    for name, d in differences.items():
        # a field may converge faster than the others; its error is never more than the difference
        own = _measure_order(wide, {name: d}, extents)
        power = order if regime == "faster" else max(order, own or 0.0)
        factor = 1.0 / (1.0 - 2.0**-power) if regime in ("asymptotic", "faster", "unchecked") else 1.0
        unit = "rad" if name == "orientation" else ""
        rows.append(FieldError(name, factor * float(d[-1]), factor * float(d.max()), unit))
    told = measured if plan.method.traits.has_order else None
    return PathError(tuple(rows), float(plan.times(samples * every)), regime, order, told)


def _compare(plan: Plan) -> tuple[Plan, Plan]:
    """The plans to compare with: half and twice the step, or other tolerances if a method makes its own steps."""
    better, worse = plan.method.other_tolerances()
    return replace(plan, method=better), replace(plan, method=worse)


def _samples_until(run: Run, t_end: float | None) -> int:
    """Number of samples after the start to compare."""
    plan, steps = run.plan, run.steps
    if t_end is not None:
        if not isinstance(t_end, (int, float)) or not plan.t0 < t_end < inf:
            raise InputError(f"t_end = {t_end!r}", where="error.t_end", do=f"give a time after the start, {plan.t0:g}")
        steps = int((t_end - plan.t0) / plan.dt * (1.0 + 1e-9))
    if steps > run.steps:
        raise InputError(
            f"t_end = {t_end:g} is beyond the end of the run, {float(plan.times(run.steps)):g}", where="error.t_end",
            do="leave it out, or continue the run first",
        )  # fmt: skip
    samples = steps // plan.every
    if samples < 2:
        raise InputError(
            f"there are {samples} samples after the start",
            where="error",
            do="look at a longer part, or sample more often",
        )
    return samples


def _again(plan: Plan, dt: float, every: int, steps: int) -> dict[str, Array] | None:
    """The samples of the same motion with another step; None if the run failed."""
    from .simulation import run_plan

    control = plan.control
    if control is not None:
        calls = control.every * plan.dt / dt  # at the same times
        if calls != int(calls):
            return None
        control = replace(control, every=int(calls))
    other = replace(plan, dt=dt, every=every, sections=(), events=(), control=control)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CatenaWarning)  # the run itself has warned already
        try:
            found = run_plan(other, steps, out=None, progress=False)._samples()
            return {field.name: np.asarray(found[field.name]) for field in plan.system.fields}
        except StepFailure:
            return None


def _distance(name: str, plan: Plan, one: Array, other: Array) -> Array:
    """Distance between two paths in a field, along time; of several bodies the worst."""
    dims = next(field.dims for field in plan.system.fields if field.name == name)
    apart: Array
    if name == "orientation":
        # |q - r| = 2 sin(angle/4) for the nearer of r and -r
        chord = np.minimum(np.linalg.norm(one - other, axis=-1), np.linalg.norm(one + other, axis=-1))
        apart = 4.0 * np.arcsin(np.minimum(chord / 2.0, 1.0))
    elif dims and dims[-1] == "xyz":
        apart = np.linalg.norm(one - other, axis=-1)
    else:
        apart = np.abs(one - other)
    return apart.reshape(len(one), -1).max(axis=1)


def _measure_order(
    wide: Mapping[str, Array], narrow: Mapping[str, Array], extents: Mapping[str, float]
) -> float | None:
    """log2 of the ratio of both differences, over the samples that all three paths share; None if unknown."""
    shared = [(wide[name], d[::2], extents[name]) for name, d in narrow.items() if name in wide]
    both = [float(np.linalg.norm([np.linalg.norm(pair[k]) / pair[2] for pair in shared])) for k in (0, 1)]
    return log2(both[0] / both[1]) if min(both) > 0.0 and np.isfinite(both).all() else None


def _extent(name: str, values: Array) -> float:
    """Size of a field along a path."""
    return pi if name == "orientation" else float(np.abs(values).max()) or 1.0


def _apart(differences: Mapping[str, Array], extents: Mapping[str, float]) -> float | None:
    """The largest difference of two paths, in units of the extent of its field; None if there is no second path."""
    return max((float(d.max()) / extents[name] for name, d in differences.items()), default=None)


def _regime(plan: Plan, apart: float | None, apart_twice: float | None, measured: float | None) -> Regime:
    """How to interpret the difference from the path with half the step; `apart_twice`: with twice the step."""
    method = plan.method
    if apart is not None and apart <= (NEAR if method.traits.exact else ROUND_OFF):
        return "round-off"
    if apart is None or not apart <= NEAR:  # nan, too
        return "separated"
    if apart_twice is None:
        return "unchecked"
    if measured is None:
        return "pre-asymptotic"
    if method.traits.adaptive:
        return "tolerance" if measured >= SHRINKS else "pre-asymptotic"
    if measured < method.traits.order - ORDER_WITHIN:
        return "pre-asymptotic"
    # the compared samples may include ends of steps and points between them
    if measured <= method.order_at_ends + ORDER_WITHIN:
        return "asymptotic"
    return "faster" if apart_twice <= NEAR else "pre-asymptotic"  # no order can be measured from a path that was lost
