"""What a user asked for: systems, starts, steps; every mistake is explained before anything is compiled."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike

from ... import memory
from ...arrays import Array, Integers
from ...engine.block import Members
from ...engine.packing import MANY, pack_many
from ...engine.pairing import Pairing
from ...errors import InputError
from ...methods.base import Method
from ...systems.base import State, System
from ...systems.numbers import finite_numbers
from ..plan import Plan, Problem, make_plan, positive_integer, require_resolved
from .grids import Grid
from .job import Job, Keep
from .kinds import Kinds, Varied
from .reductions import Reduction, Reductions
from .results import names_that_come_out, reduce_columns
from .starts import Starts, is_repeated, stack
from .tempering import Tempering

Systems: TypeAlias = "System | Problem | Sequence[System | Problem]"
Methods: TypeAlias = "Method | Sequence[Method]"
Drawn: TypeAlias = "Callable[[np.random.Generator], State]"
WHERE = "ensemble, first argument"


@dataclass(frozen=True, eq=False)
class Asked:
    """An ensemble, ready to run: what all members share, the plan of the first one, and the members."""

    job: Job
    plan: Plan
    members: Members


@dataclass(frozen=True, eq=False)
class Given:
    """The different systems or problems, in order of appearance, and which of them each member has (None: one for
    all)."""

    distinct: tuple[System | Problem, ...]
    kinds: Integers | None

    @classmethod
    def of(cls, systems: object) -> Given:
        """From one, or one for each member; identical objects are one kind."""
        if isinstance(systems, (System, Problem)):
            return cls((systems,), None)
        if not isinstance(systems, Sequence) or isinstance(systems, str) or not len(systems):
            raise InputError(
                f"{systems!r} is not a system", where=WHERE, do="give a System or a Problem, or one for each member"
            )
        numbers: dict[int, int] = {}
        distinct: list[System | Problem] = []
        kinds = np.zeros(len(systems), dtype=np.int64)
        for k, one in enumerate(systems):
            if not isinstance(one, (System, Problem)):
                raise InputError(f"{one!r} is not a system", where=f"{WHERE}[{k}]", do="give a System or a Problem")
            if id(one) not in numbers:
                numbers[id(one)] = len(distinct)
                distinct.append(one)
            kinds[k] = numbers[id(one)]
        return cls(tuple(distinct), kinds)

    @property
    def systems(self) -> tuple[System, ...]:
        """The systems themselves."""
        return tuple(one.system if isinstance(one, Problem) else one for one in self.distinct)

    def with_methods(self, methods: Sequence[Method], count: int) -> tuple[Given, tuple[Method, ...]]:
        """The same with a method for each member: the different pairs (systems may repeat), and their methods."""
        if len(methods) != count:
            raise InputError(
                f"{len(methods)} methods, but {count} members", where="ensemble.method", do="give one for each member, or one for all"
            )  # fmt: skip
        own = np.zeros(len(methods), dtype=np.int64) if self.kinds is None else self.kinds
        pairs: dict[tuple[int, Method], int] = {}
        numbers = [pairs.setdefault(pair, len(pairs)) for pair in zip(own.tolist(), methods, strict=True)]
        distinct = tuple(self.distinct[system] for system, _ in pairs)
        return Given(distinct, np.array(numbers, dtype=np.int64)), tuple(method for _, method in pairs)


def ask(
    systems: Systems,
    starts: Starts | Drawn | None,
    method: Methods | None,
    *,
    steps: int,
    dt: ArrayLike | None,
    every: int,
    keep: Keep,
    members: int | None,
    seed: int | None,
    reduce: Mapping[str, Reduction] | None,
    tempering: Tempering | None = None,
) -> Asked:
    """The ensemble that the arguments of `catena.ensemble` describe."""
    given = Given.of(systems)
    first = given.systems[0]
    _require_alike_states(given.systems)
    own = None if method is None or isinstance(method, Method) else _check_methods(method, members)
    asked_for = len(own) if own and given.kinds is None and isinstance(starts, State) else members
    fields, times = stack(first, _starts(given, starts, asked_for, seed))
    count = len(times)
    if given.kinds is not None and len(given.kinds) != count:
        raise InputError(
            f"{len(given.kinds)} systems, but {count} starts", where="ensemble.systems, ensemble.starts",
            do="give one system for each start, or one for all",
        )  # fmt: skip
    one_for_all = method if isinstance(method, Method) else None
    methods: Sequence[Method | None] = (one_for_all,) * len(given.distinct)
    if own is not None:
        given, methods = given.with_methods(own, count)
        Varied.of(methods)  # refuses methods that differ in more than numbers
    kinds = np.zeros(count, dtype=np.int64) if given.kinds is None else given.kinds
    own_dt = (
        None if dt is None or np.ndim(dt) == 0 else finite_numbers(dt, (count,), where="ensemble.dt", rows="member")
    )
    plans, made = _plans(
        given, methods, kinds, fields, times, dt if own_dt is None else own_dt, steps=steps, every=every
    )
    each = np.array([plan.dt for plan in plans])[kinds] if own_dt is None else own_dt
    _require_times(times, each, made, keep=keep)
    differ = bool((each != each[0]).any())
    varied = given.systems if len(given.systems) > 1 else ()
    job = Job(
        first, plans[0].method, float(each[0]), made, plans[0].every, keep, varied, differ, Reductions.of(reduce),
        tempering=tempering, kind_methods=tuple(plan.method for plan in plans) if len(set(methods)) > 1 else (),
    )  # fmt: skip
    _check_reductions(job)
    if is_repeated(times, *fields.values()) and not (job.kinds or job.own_dt or tempering):
        require_noise(plans[0].pairing, count, where="ensemble.members", starts="starts")
    shared = Kinds.of(job.pairs)
    z = _pack(shared, kinds, fields, times)
    if tempering is not None:
        _check_tempering(tempering, job, members=count)
        kinds = np.arange(count) % len(tempering)
    followed = shared.members(z, times, kinds=kinds if varied or tempering else None, dt=each)
    plan = plans[0]  # it caches the pairing
    return Asked(job, plan if plan.dt == job.dt else replace(plan, dt=job.dt), followed)


def require_noise(pairing: Pairing, members: int, *, where: str, starts: str) -> None:
    """Refuse identical members, unless the method draws random numbers; `starts` says how to give other starts."""
    if members > 1 and not pairing.promises.traits.random:
        raise InputError(
            f"with {pairing.method} all members would be the same", where=where,
            do=f"give {starts}, or a method with noise, such as Langevin",
        )  # fmt: skip


def _plans(
    given: Given, methods: Sequence[Method | None], kinds: Integers, fields: Mapping[str, Array], times: Array, dt: ArrayLike | None,
    *, steps: int, every: int,
) -> tuple[list[Plan], int]:  # fmt: skip
    """The plan of the first member of each kind, and its number of steps."""
    plans: list[Plan] = []
    made = 0
    for number, (one, method) in enumerate(zip(given.distinct, methods, strict=True)):
        k = int(np.argmax(kinds == number))
        step = dt if dt is None or np.ndim(dt) == 0 else float(np.asarray(dt)[k])
        start = State({name: array[k].copy() for name, array in fields.items()}, float(times[k]))
        by = method or (plans[0].method if plans else None)  # the method of the first, if none is given
        plan, made = make_plan(one, start, by, dt=cast("float | None", step), steps=steps, t_end=None, every=every)
        plans.append(plan)
    return plans, made


def _check_methods(given: Sequence[Method], members: int | None) -> Sequence[Method]:
    """A method for each member."""
    if not isinstance(given, Sequence) or isinstance(given, str) or not len(given):
        raise InputError(
            f"{given!r} is not a method", where="ensemble.method", do="give one, such as ct.Splitting(4), or one for each member"
        )  # fmt: skip
    for k, one in enumerate(given):
        if not isinstance(one, Method):
            raise InputError(
                f"{one!r} is not a method", where=f"ensemble.method[{k}]", do="give one, such as ct.Splitting(4)"
            )
    if members is not None and members != len(given):
        raise InputError(
            f"members = {members}, but {len(given)} methods", where="ensemble.members", do="leave members out"
        )
    return given


def _check_tempering(tempering: Tempering, job: Job, *, members: int) -> None:
    """Refuse anything but one system with one step, and members that form whole ladders."""
    for differs, what in ((bool(job.kind_methods), "methods"), (bool(job.kinds), "systems"), (job.own_dt, "dt")):
        if differs:
            raise InputError(
                f"members differ in {what}, and those of a ladder differ in their temperatures only",
                where="ensemble.tempering", do="give one system, one method and one dt",
            )  # fmt: skip
    if tempering.every >= job.steps:
        raise InputError(
            f"exchanges every {tempering.every} steps, but {job.steps} steps in all: none would be made", where="Tempering.every",
            do="give fewer, or make more steps",
        )  # fmt: skip
    tempering.check(job.system, view=job.pairing.view.name, members=members, every=job.every)


def check_names(plan: Plan, steps: int, keep: Keep, reduce: Mapping[str, Reduction], grid: Grid) -> None:
    """Check that every text can be parsed, and that no name is that of another column; `grid`: of a sweep."""
    job = Job(plan.system, plan.method, plan.dt, steps, plan.every, keep, reductions=Reductions.of(reduce), grid=grid)
    _check_reductions(job)
    check_axes(job, grid)


def check_axes(job: Job, grid: Grid) -> None:
    """Check that no axis of a sweep has the name of a variable or dimension of the result."""
    made = {name for column in reduce_columns(job) for name in (column.name, *column.dims)}
    for name in grid.axes.keys() & (names_that_come_out(job) | made):
        raise InputError(f"the axis {name} has the name of what comes out", where="sweep.grid", do="call it otherwise")


def _check_reductions(job: Job) -> None:
    if not job.reductions.named:
        return
    job.reductions.kernel(job.system)
    taken = names_that_come_out(job)
    for column in reduce_columns(job):
        for name in {column.name, *column.dims} & taken:
            raise InputError(
                f"the reduction {name} has the name of what comes out anyway", where="ensemble.reduce", do="call it otherwise"
            )  # fmt: skip


def _require_alike_states(systems: Sequence[System]) -> None:
    """Check that all systems have the same fields and invariants."""
    first = systems[0]
    for number, other in enumerate(systems[1:], 1):
        if (other.kind, other.fields, other.invariants) != (first.kind, first.fields, first.invariants):
            raise InputError(
                f"system {number}, {other.title}, has other states than system 0, {first.title}", where="ensemble.systems",
                do="give systems of one kind that differ in numbers only; others make an ensemble of their own",
            )  # fmt: skip


def _starts(given: Given, starts: Starts | Drawn | None, members: int | None, seed: int | None) -> Starts:
    """The starts of all members: as given, those of the problems, one for all, or drawn one by one."""
    if seed is not None and not callable(starts):
        raise InputError(
            f"seed = {seed!r}, but nothing is drawn", where="ensemble.seed", do="leave it out, or give starts as a function"
        )  # fmt: skip
    if callable(starts):
        count = _members(given, members)
        _require_drawing(starts)
        return [starts(np.random.default_rng([seed or 0, k])) for k in range(count)]
    if starts is None:
        if not all(isinstance(one, Problem) for one in given.distinct):
            raise InputError(
                "there are no starts", where="ensemble.starts", do="give them, or problems, which have one"
            )
        begins = [one.start for one in given.distinct if isinstance(one, Problem)]
        if given.kinds is None:
            return _repeat(begins[0], 1 if members is None else _members(given, members))
        starts = [begins[k] for k in given.kinds]
    elif isinstance(starts, State) and (members is not None or given.kinds is not None):
        one = starts
        if _is_one(one, given.systems[0]):
            starts = _repeat(one, _members(given, members))
    if members is not None and isinstance(starts, Sequence) and len(starts) != members:
        raise InputError(
            f"members = {members}, but {len(starts)} starts", where="ensemble.members", do="leave members out"
        )  # fmt: skip
    return starts


def _require_drawing(draw: Callable[..., object]) -> None:
    """A function of the random generator of a member, and of nothing else."""
    try:
        inspect.signature(draw).bind(None)
    except TypeError as refusal:
        raise InputError(
            f"the function of the starts does not take one random generator: {refusal}", where="ensemble.starts",
            do="give one such as lambda rng: system.start(...)",
        ) from None  # fmt: skip
    except ValueError:  # of some built-in functions nothing is known
        pass


def _repeat(start: State, members: int) -> dict[str, Array]:
    """One start for all members, stored once."""
    fields = {**start.fields, "time": np.asarray(start.time, dtype=float)}
    return {name: np.broadcast_to(array, (members, *np.shape(array))) for name, array in fields.items()}


def _members(given: Given, asked_for: int | None) -> int:
    """Number of members, after checking that their starts fit in memory: variables, time, step, kind and index."""
    if asked_for is None and given.kinds is None:
        raise InputError("members is missing", where="ensemble.members", do="say how many there are to be")
    count = (
        len(given.kinds) if asked_for is None and given.kinds is not None else positive_integer(asked_for, "members")
    )
    each = 8.0 * (sum(field.width for field in given.systems[0].fields) + 4)
    memory.require_room(
        each * count, what=f"the starts of {count} members", where="ensemble.members", do="make fewer at once"
    )
    return count


def _is_one(state: State, system: System) -> bool:
    """Whether it is the state of one member, without a leading axis."""
    return all(f.name in state.fields and np.shape(state.fields[f.name]) == f.shape for f in system.fields)


def _require_times(times: Array, dt: Array, steps: int, *, keep: Keep) -> None:
    """Refuse times that cannot be distinguished, and samples at times that differ between members."""
    late = int(np.abs(times).argmax())
    require_resolved(float(dt.min()), float(times[late]), steps)
    if keep != "samples":
        return
    for name, values in (("times", times), ("steps", dt)):
        if (values != values[0]).any():
            raise InputError(
                f"the starts have different {name}, {values.min():g} to {values.max():g}", where="ensemble.starts",
                do='start all members at one time, with one dt, or use keep="final"',
            )  # fmt: skip


def _pack(shared: Kinds, kinds: Integers, fields: Mapping[str, Array], times: Array) -> Array:
    """The stepped variables of all starts (m, n), packed kind by kind."""
    view, members = shared.pairings[0].view, len(times)
    if not kinds.any():
        if is_repeated(times, *fields.values()):
            one = view.pack_members(State, {name: array[:1] for name, array in fields.items()}, times[:1])
            return np.broadcast_to(one, (members, view.start_size))
        if view.begin is not None and members * view.begin.size > MANY:
            return pack_many(view.begin, fields)
        return view.pack_members(State, fields, times)
    z = np.empty((len(times), shared.pairings[0].view.start_size))
    order = np.argsort(kinds, kind="stable")
    for pairing, some in zip(
        shared.pairings, np.split(order, np.searchsorted(kinds[order], np.arange(1, len(shared.pairings)))), strict=True
    ):
        z[some] = pairing.view.pack_members(State, {name: array[some] for name, array in fields.items()}, times[some])
    return z
