"""The plan of a run: a system with a start (a problem), and everything else about a run except its length."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Generic, TypeGuard, overload

import numpy as np
from numpy.typing import NDArray

from ..engine.build import Crossing, Program, build
from ..engine.identity import program_digest
from ..engine.pairing import Pairing
from ..errors import CapabilityError, CatenaWarning, InputError, warn_once
from ..methods.base import Method, all_methods, find_stored_method, method_from
from ..store.long_arrays import set_apart
from ..systems.base import Moved, State, System, system_from
from ..systems.numbers import NO_NUMBERS, is_whole
from ..systems.sampled import Sampled
from ..systems.states import as_start
from ..text.plain import Json
from .control import Controller, check_control, controller_from
from .crossings import Event, Section, crossing_of

MOST_LOOKS = 2_000_000  # steps at which a prescribed motion is checked before the run
LOOKED_AT_ONCE = 100_000
SMALL_BIAS = 0.6  # dt omega up to which averages of stiff chains in a heat bath are right to 4e-4
NEAR_THE_LIMIT = 0.75  # of the linear limit of stability; beyond it energy errors are large, and runs may blow up


@dataclass(frozen=True, eq=False)
class Problem(Generic[Moved]):
    """A system with a start, a suitable step size, and the exact solution if it is known.

    Attributes
    ----------
    name : its name
    about : one paragraph: what it is, what it shows, and why
    system, start, dt : the system, its start, and the step
    exact : time -> State, or None
    facts : known numbers about the motion, such as a period, by name
    """

    name: str
    system: Moved
    start: State
    dt: float
    exact: Callable[[float], State] | None = field(default=None, repr=False)
    about: str = field(default="", repr=False)
    facts: Mapping[str, float] = field(default_factory=dict)


class Stepping:
    """What runs and ensembles have in common: a system that a method steps by dt, with a sample every `every` steps."""

    system: System
    method: Method
    dt: float
    every: int

    @cached_property
    def pairing(self) -> Pairing:
        """The pair of system and method; cached, so that it is made once."""
        return Pairing.of(self.system, self.method)

    def rows_after(self, steps: int) -> int:
        """Number of samples after this many steps, including the start."""
        return 1 + steps // self.every


@dataclass(frozen=True, eq=False)
class Plan(Stepping, Generic[Moved]):
    """Everything that determines the numbers of a run, except its length."""

    system: Moved
    start: State
    method: Method
    dt: float
    every: int = 1
    sections: tuple[Section, ...] = ()
    events: tuple[Event, ...] = ()
    units: Mapping[str, str] = field(default_factory=dict)  # labels only: time, length, mass
    name: str = ""  # of the problem, and what it shows; for readers only
    about: str = ""
    control: Controller | None = None

    @property
    def t0(self) -> float:
        """Time of the start."""
        return self.start.time

    def program(self) -> Program:
        """The compiled loop of this plan."""
        return build(self.system, self.method, crossing=self._crossing)

    @cached_property
    def _crossing(self) -> Crossing | None:
        return crossing_of(self.system, self.sections, self.events)

    def program_digest(self) -> str:
        """Digest of the program, without compiling it."""
        return program_digest(self.system, self.method, crossing=self._crossing)

    @overload
    def times(self, steps: int) -> np.float64: ...

    @overload
    def times(self, steps: NDArray[np.int64]) -> NDArray[np.float64]: ...

    def times(self, steps: int | NDArray[np.int64]) -> np.float64 | NDArray[np.float64]:
        """Time after a number of steps: computed as a product, so round-off does not accumulate."""
        return self.t0 + np.asarray(steps) * self.dt

    def describe(self, *, apart: dict[str, np.ndarray] | None = None) -> dict[str, Json]:
        """The plan as JSON, from which `plan_from` makes it again.

        Parameters
        ----------
        apart : receives the long rows of numbers, which the JSON then only names, see `catena.store.long_arrays`
        """
        described = self._describe()
        if apart is not None:
            start = set_apart({"time": self.t0, **self.start.fields}, apart, "start")
            return {**set_apart(described, apart), "start": start}
        start = {name: array.tolist() for name, array in self.start.fields.items()}
        return {**described, "start": {"time": self.t0, **start}}

    def _describe(self) -> dict[str, Json]:
        """Everything except the arrays of the start."""
        return {
            "system": self.system.describe(),
            "start": {},
            "method": self.method.describe(),
            "run": {"dt": self.dt, "every": self.every},
            "section": [vars(section) for section in self.sections],
            "event": [vars(event) for event in self.events],
            "units": dict(self.units),
            **({"problem": {"name": self.name, "about": self.about}} if self.name else {}),
            **({"control": self.control.describe()} if self.control else {}),
        }


def plan_from(described: Mapping[str, Any]) -> Plan:
    """The plan from the JSON of `Plan.describe`."""
    start = dict(described["start"])
    time = start.pop("time")
    return Plan(
        system_from(described["system"]),
        State({name: np.array(values, dtype=float) for name, values in start.items()}, time),
        find_stored_method(described["method"]),
        described["run"]["dt"],
        described["run"]["every"],
        tuple(Section(**section) for section in described["section"]),
        tuple(Event(**event) for event in described["event"]),
        described.get("units", {}),
        **described.get("problem", {}),
        control=controller_from(described["control"]) if "control" in described else None,
    )


def make_plan(
    system: System | Problem,
    start: State | None,
    method: Method | None,
    *,
    dt: float | None,
    steps: int | None,
    t_end: float | None,
    every: int = 1,
    sections: Sequence[Section] = (),
    events: Sequence[Event] = (),
    units: Mapping[str, str] | None = None,
    control: Controller | None = None,
) -> tuple[Plan, int]:
    """The plan and the number of steps from the arguments of a user, with every mistake explained."""
    suggested, called, about = None, "", ""
    if isinstance(system, Problem):
        if start is None:  # from another start the description of the problem may not hold
            called, about = system.name, system.about
        suggested, start, system = system.dt, start or system.start, system.system
    if not isinstance(system, System):
        do = "call it first, with brackets" if callable(system) else "give a System or a Problem"
        raise InputError(f"{system!r} is not a system", where="simulate, first argument", do=do)
    start = as_start(system, start, "simulate.start")
    _check_watched(sections, events)
    check_control(system, control)
    if method is None:
        kind, arguments = system.default_method
        method = method_from({"kind": kind, **arguments})
    if not isinstance(method, Method):
        named = method if isinstance(method, str) else getattr(method, "__name__", "")
        known = next((str(kind.examples()[0]) for kind in all_methods() if kind.__name__ == named), "Gauss(3)")
        raise InputError(
            f"{method!r} is not a method", where="simulate.method",
            do=f"give one, such as ct.{known}; ct.list_methods(system) and `catena methods` name them",
        )  # fmt: skip
    _refuse_crossings_of_noise(method, sections, events)
    if dt is None and suggested is None and hasattr(system, "suggest_dt"):
        suggested = system.suggest_dt(method, start)
    given = dt is not None
    if dt is None and suggested is None:
        raise InputError("dt is missing, and this system suggests none", where="simulate.dt", do="give dt")
    step = positive_number(dt if given else suggested, "dt")
    count = step_count(step, start.time, steps=steps, t_end=t_end, adjust=not given)
    if not given and t_end is not None:
        step = (t_end - start.time) / count
    _warn_of_kinks(system, method, start.time, step, count)
    plan = Plan(
        system, start, method, step, positive_integer(every, "every"), tuple(sections), tuple(events), units or {},
        name=called, about=about, control=control,
    )  # fmt: skip
    _warn_of_no_samples(plan, count)
    require_drives(plan, count)
    _warn_of_stops(plan, count)
    _check_stability(plan)
    return plan, count


def _check_watched(sections: Sequence[Section], events: Sequence[Event]) -> None:
    """Refuse anything that is not a list of sections, or of events."""
    watched = (("sections", sections, Section), ("events", events, Event))
    for name, given, kind in watched:
        if not isinstance(given, Sequence) or not all(isinstance(one, kind) for one in given):
            raise InputError(
                f"{name} = {given!r}",
                where=f"simulate.{name}",
                do=f'give a list, such as [ct.{kind.__name__}("name", "q")]',
            )


def require_drives(plan: Plan, steps: int) -> None:
    """Refuse a run that leaves the tables of functions of time that drive its system, and prescribed motions that jump in a step.

    For very long runs only some steps, evenly spread, are checked; if another one fails, its message mentions the jump.
    """
    end = float(plan.times(steps))
    for table in plan.system.time_tables:
        first, last = float(table.knots[0]), float(table.knots[-1])
        room = 1e-9 * plan.dt  # times are rounded products
        if plan.t0 < first - room or end > last + room:
            raise InputError(
                f"the run goes from t = {plan.t0:g} to {end:g}, but a table has values from {first:g} to {last:g} only",
                where="Sampled.times", do="give a longer table, or end the run within it",
            )  # fmt: skip
    if plan.system.is_prescribed:
        looks = min(steps, MOST_LOOKS)
        for first in range(0, looks, LOOKED_AT_ONCE):
            looked_at = np.arange(first, min(first + LOOKED_AT_ONCE, looks)) * steps // looks
            jump = plan.system.first_jump(plan.times(looked_at), plan.dt, plan.start)
            if jump is not None:
                raise InputError(
                    jump.wrong, where=jump.where, do="give a smooth path, a shorter step, or an earlier end"
                )


def _refuse_crossings_of_noise(method: Method, sections: Sequence[Section], events: Sequence[Event]) -> None:
    """Crossings are located by repeating part of a step; with noise this is another path, without that point."""
    if method.traits.random and (sections or events):
        named = "sections" if sections else "events"
        raise CapabilityError(
            f"{method} draws random numbers: between two steps its path is not defined, so no crossing can be located there",
            where=f"simulate.{named}", do=f"leave out {named}, and look for crossings among samples with every=1",
        )  # fmt: skip


def _warn_of_kinks(system: System, method: Method, t0: float, dt: float, steps: int) -> None:
    """With a kink in a derivative of order k + 1 the motion is computed with order k + 1 at most."""
    supported = system.smoothness + 1
    if method.traits.order <= supported or not method.traits.has_order:
        return
    knots = [knot for table in system.time_tables for knot in table.inner_knots]
    between = [knot for knot in knots if _is_inside(knot, t0, dt, steps)]
    if between:
        warnings.warn(
            f"{method} has order {method.traits.order}, but a table in t is a cubic spline with {Sampled.smoothness} continuous derivatives: expect order "
            f"{Sampled.smoothness + 1} at knots that are no ends of steps, such as t = {between[0]:g}",
            CatenaWarning, stacklevel=4,
        )  # fmt: skip
    elif not system.time_tables:
        warnings.warn(
            f"{method} has order {method.traits.order}, but the potential has only {system.smoothness:g} continuous derivatives: "
            f"expect order {supported:g} where a motion passes its end (a larger smoothness of Switched allows more)",
            CatenaWarning, stacklevel=4,
        )  # fmt: skip


def _warn_of_no_samples(plan: Plan, steps: int) -> None:
    """Warn only: the run may be extended later, so it is not refused."""
    if plan.every > steps:
        warn_once(
            plan.system, f"every {plan.every} of {steps}",
            f"every = {plan.every} is more than the {steps} step{'' if steps == 1 else 's'} of the run: no sample follows the start, so there is "
            f"little to judge or draw. Give every = {steps} or less",
        )  # fmt: skip


def _warn_of_stops(plan: Plan, steps: int) -> None:
    """Warn only: a target that passes a stop may be intended, since the motor then presses against it."""
    looks = min(steps + 1, LOOKED_AT_ONCE)
    passed = plan.system.passed_stop(plan.times(np.arange(looks) * steps // max(1, looks - 1)))
    if passed:
        warnings.warn(passed, CatenaWarning, stacklevel=4)


def _is_inside(knot: float, t0: float, dt: float, steps: int) -> bool:
    """Whether a time lies inside one of these steps, not at an end."""
    number = (knot - t0) / dt
    return 0.0 < number < steps and abs(number - round(number)) > 1e-9 * max(1.0, number)


def _check_stability(plan: Plan) -> None:
    """Refuse a step beyond the linear stability limit at the start; warn close to it: nonlinearity may exceed it."""
    limit, method, dt = plan.pairing.limit, plan.method, plan.dt
    if not 0.0 < limit < math.inf:
        return
    omega = plan.system.frequency_above(NEAR_THE_LIMIT * limit / dt, plan.start)
    if omega is None:
        return
    allowed = f"{limit / omega:.4g} (dt omega = {limit:.4g}, highest frequency omega = {omega:.6g})"
    if dt * omega > limit:
        raise InputError(
            f"dt = {dt:g} is unstable for {method}: at this start the stiffest mode allows at most {allowed}", where="dt",
            do=_shorter(plan, omega),
        )  # fmt: skip
    warn_once(
        plan.system, f"{method} near its limit at {dt!r}",
        f"dt = {dt:g} is near the limit of {method}: at this start the stiffest mode allows at most {allowed}, and a chain "
        "that is compressed allows less",
    )  # fmt: skip


def _shorter(plan: Plan, omega: float) -> str:
    """The advice for a step that is too long for the highest frequency."""
    traits = plan.pairing.promises.traits
    if not traits.random:
        return f"use dt = {_round_down(0.5 * traits.stability / omega):g}, or a method without limit, such as Gauss(3)"
    if traits.unbiased:
        return f"use dt = {_round_down(0.5 * traits.stability / omega):g}, or more substeps"
    return f"use dt = {_round_down(SMALL_BIAS / omega):g}: up to dt omega = {SMALL_BIAS:g} averages have small errors"


def _round_down(value: float) -> float:
    """Round down to two digits."""
    unit = 10.0 ** (math.floor(math.log10(value)) - 1)
    return math.floor(value / unit) * unit


def step_count(
    dt: float, t0: float, *, steps: int | None, t_end: float | None, adjust: bool = False, begun: bool = False
) -> int:
    """Number of steps from t0: `steps`, or (t_end - t0) / dt, whole unless dt may be adjusted or the run has begun."""
    if (steps is None) == (t_end is None):
        seen = "both steps and t_end are" if steps is not None else "neither steps nor t_end is"
        raise InputError(f"{seen} given", where="steps, t_end", do="give one of them")
    if steps is not None:
        whole = positive_integer(steps, "steps")
        require_resolved(dt, t0, whole)
        return whole
    assert t_end is not None
    if not _is_finite_number(t_end) or t_end <= t0:
        raise InputError(f"t_end = {t_end!r}", where="t_end", do=f"give a finite time after the start, {t0:g}")
    ratio = (t_end - t0) / dt
    if ratio > 1e15:
        raise InputError(f"t_end / dt = {ratio:.3g} steps are too many", where="dt, t_end", do="use a larger dt")
    require_resolved(dt, t0, ratio)
    whole = max(1, math.ceil(ratio * (1 - 1e-9)) if adjust else round(ratio))
    if not adjust and abs(ratio - whole) > 1e-9 * whole:
        raise InputError(
            f"dt = {dt!r} does not divide t_end - t0 = {t_end - t0!r}: {ratio:.9g} steps", where="dt, t_end",
            do=("use " if begun else f"use dt = {(t_end - t0) / whole!r}, or ") + f"t_end = {t0 + whole * dt!r}",
        )  # fmt: skip
    return whole


def require_resolved(dt: float, t0: float, steps: float) -> None:
    """Refuse times that cannot be distinguished: t, t + dt/2 and t + dt must be different doubles all along."""
    latest = max(abs(t0), abs(t0 + steps * dt))
    apart = math.ulp(latest)
    if not apart <= 0.5 * dt:
        raise InputError(
            f"dt = {dt:g} is too short at t = {latest:g}, where doubles are {apart:.2g} apart", where="dt",
            do="count the time from a later moment (start.time = 0), use a larger dt, or fewer steps",
        )  # fmt: skip


def positive_number(value: object, name: str) -> float:
    """A finite number above zero."""
    if not _is_finite_number(value) or value <= 0:
        raise InputError(f"{name} = {value!r}", where=name, do="give a finite number above zero")
    return float(value)


def positive_integer(value: object, name: str) -> int:
    """A whole number above zero."""
    if not is_whole(value) or not 0 < value < 2**62:
        large = isinstance(value, int) and value >= 2**62
        raise InputError(
            f"{name} = {value!r}", where=name, do=f"give a whole number {'below 2^62' if large else 'above zero'}"
        )
    return int(value)


def _is_finite_number(value: object) -> TypeGuard[int | float]:
    if isinstance(value, NO_NUMBERS) or not isinstance(value, (int, float, np.integer, np.floating)):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number beyond the doubles
        return False
