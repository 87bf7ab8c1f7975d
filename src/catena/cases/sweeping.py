"""`sweep`: a case, or a function that makes problems, at every point of a grid; one Dataset with a dimension for each parameter."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias, TypedDict, TypeGuard, TypeVar, cast

import numpy as np

from ..errors import InputError, nearest
from ..methods.base import Method
from ..running.ensembles.asking import check_names
from ..running.ensembles.grids import Grid
from ..running.ensembles.job import Keep
from ..running.ensembles.kinds import Varied
from ..running.ensembles.reductions import Reduction
from ..running.ensembles.running import How, follow_grid
from ..running.plan import Problem
from ..systems.base import State, System
from .mistakes import CaseError, Mistake
from .reading import Case, read_case
from .source import Giver, Override, Source
from .sweep_tables import AxisTable, SweepTable

if TYPE_CHECKING:
    import xarray

    from ..running.ensembles.cluster import Client
    from ..running.ensembles.results import Ensemble

Made: TypeAlias = "Problem | tuple[System, State] | tuple[Problem, Method] | tuple[System, State, Method]"
Makes: TypeAlias = Callable[..., Made]
Value = TypeVar("Value")
Progress: TypeAlias = "bool | Callable[[int, int, int, int], None] | None"


def sweep(
    case: str | Path | Makes,
    grid: Mapping[str, object] | None = None,
    repeats: int | None = None,
    seed: int | None = None,
    *,
    method: Method | None = None,
    steps: int | None = None,
    dt: float | None = None,
    every: int | None = None,
    keep: Keep | None = None,
    reduce: Mapping[str, Reduction] | None = None,
    device: Literal["cpu", "cuda"] = "cpu",
    threads: int | None = None,
    client: Client | None = None,
    out: str | Path | None = None,
    progress: Progress = None,
) -> xarray.Dataset:
    """Run a case, or problems made by a function, at every point of a grid.

    Parameters
    ----------
    case : path of a case; or a function that takes the names of the grid, and optionally `rng`, and returns a Problem, or a system
        and its start, optionally followed by a method
    grid : values by name; each is a dimension. For a case, a name is a key, such as "run.dt" or "system.right.force.0", or stands for
        one: {"force": ("system.right.force.0", [1, 2, 3])}. None: the axes of the [sweep] table of the case
    repeats : members at each point, 1 if None. They differ in `rng`, a numpy Generator that depends only on the seed and the number
        of the member
    seed : seed of these generators; 0 if None
    method, steps, dt, every, keep, reduce : as for `ensemble`; if None, those of the case or of the function
    device, threads, client, out, progress : as for `ensemble`. A stored sweep survives being killed: `ct.resume(path).study` is the
        same Dataset

    Returns
    -------
    xarray.Dataset
        Along the names of the grid (and `repeat`): fields and invariants at the end, reductions, `status`, `steps`, `failure`.

    Examples
    --------
    >>> import catena as ct
    >>> def pendulum(height, push):
    ...     problem = ct.problems.pendulum()
    ...     return problem.system, problem.system.start(q=height, p=push)
    >>> study = ct.sweep(pendulum, {"height": [0.1, 0.5, 0.9], "push": [0.0, 0.2]}, dt=0.1, steps=100)
    >>> study.q.dims, study.q.shape
    (('height', 'push', 'dof'), (3, 2, 1))
    """
    if not (callable(case) or isinstance(case, (str, Path))):
        raise InputError(
            f"{case!r} is neither a case nor a function", where="sweep, first argument", do="give the path of a case, or a function"
        )  # fmt: skip
    points = _of_function(case, grid, repeats, seed, method) if callable(case) else points_of_case(case, grid, repeats)
    points = points.with_options(method, steps, dt, every, keep, reduce)
    return run_points(points, How(device, threads, client, out, progress)).study


class Options(TypedDict, total=False):
    """Arguments of `ensemble` that a case, or a problem, may provide."""

    method: Method | list[Method] | None
    steps: int
    dt: float | list[float]
    every: int
    keep: Keep
    reduce: Mapping[str, Reduction]


@dataclass(frozen=True, eq=False)
class Points:
    """The systems and starts of all points, in the order of the grid, and the options from the case.

    Attributes
    ----------
    grid : the axes
    systems, starts : one for each member
    options : arguments of `ensemble`
    """

    grid: Grid
    systems: Sequence[System]
    starts: Sequence[State]
    options: Options

    def with_options(
        self, method: Method | None, steps: int | None, dt: float | None, every: int | None, keep: Keep | None,
        reduce: Mapping[str, Reduction] | None,
    ) -> Points:  # fmt: skip
        """The same, with the options that are not None replaced."""
        given = {"method": method, "steps": steps, "dt": dt, "every": every, "keep": keep, "reduce": reduce}
        options = {**self.options, **{name: value for name, value in given.items() if value is not None}}
        return replace(self, options=cast("Options", options))


def run_points(points: Points, how: How) -> Ensemble:
    """The ensemble of all points; systems with equal descriptions are made once."""
    options = points.options
    if "steps" not in options:
        raise InputError("steps is missing", where="sweep.steps", do="say how many steps each member makes")
    known: dict[str, System] = {}
    same: dict[int, System] = {}
    for one in points.systems:
        if id(one) not in same:
            same[id(one)] = known.setdefault(json.dumps(one.describe(), sort_keys=True, default=_plain), one)
    systems = [same[id(one)] for one in points.systems]
    return follow_grid(
        points.grid, systems, points.starts, options.get("method"), how, steps=options["steps"], dt=options.get("dt"),
        every=options.get("every", 1), keep=options.get("keep", "final"), reduce=options.get("reduce"),
    )  # fmt: skip


def _plain(value: object) -> object:
    return value.tolist() if isinstance(value, np.ndarray) else repr(value)


def _of_function(
    make: Makes, given: Mapping[str, object] | None, repeats: int | None, seed: int | None, method: Method | None
) -> Points:
    grid = Grid.of(given, 1 if repeats is None else repeats)
    taken = inspect.signature(make).parameters
    draws = "rng" in taken
    unknown = [name for name in grid.axes if name not in taken]
    if unknown and not any(parameter.kind is parameter.VAR_KEYWORD for parameter in taken.values()):
        raise InputError(
            f"the function takes {', '.join(taken) or 'nothing'}, not {unknown[0]}", where="sweep.grid",
            do="name the axes like its arguments",
        )  # fmt: skip
    made: list[Point] = []
    for point in grid.points():
        for _ in range(grid.repeats):
            more = {"rng": np.random.default_rng([seed or 0, len(made)])} if draws else {}
            made.append(_check(make(**point, **more), point))
    by = method or made[0].method
    if grid.repeats > 1 and not draws and not (by is not None and by.traits.random):
        raise InputError(
            f"repeats = {repeats}, but the method draws nothing, and the function takes no rng: all would be the same", where="sweep.repeats",
            do="give it an argument rng, a numpy Generator",
        )  # fmt: skip
    options: Options = {}
    dts = [one.dt for one in made if one.dt is not None]
    if len(dts) == len(made):
        options["dt"] = _one_or_all(dts)
    methods = [one.method for one in made if one.method is not None]
    if methods and len(methods) < len(made):
        raise InputError(
            "the function gave a method at some points only", where="sweep", do="give one at each, or none"
        )
    if methods:
        options["method"] = _one_or_all(methods)
    return Points(grid, [one.system for one in made], [one.start for one in made], options)


def _one_or_all(values: Sequence[Value]) -> Value | list[Value]:
    return values[0] if all(value == values[0] for value in values) else list(values)


class Point(NamedTuple):
    """The result of a function at a point of its grid."""

    system: System
    start: State
    dt: float | None
    method: Method | None


def _check(made: object, point: Mapping[str, object]) -> Point:
    things = made if isinstance(made, tuple) else (made,)
    method = things[-1] if len(things) > 1 and isinstance(things[-1], Method) else None
    match things if method is None else things[:-1]:
        case (Problem() as problem,):
            return Point(problem.system, problem.start, problem.dt, method)
        case (System() as system, State() as start):
            return Point(system, start, None, method)
    raise InputError(
        f"the function gave {made!r} at {dict(point)}", where="sweep",
        do="return a Problem, or a system and its start; a method may follow",
    )  # fmt: skip


def points_of_case(
    case: str | Path, given: Mapping[str, object] | None, repeats: int | None, *, overrides: Sequence[str] = ()
) -> Points:
    """The points of a case: each is read with its values, as if --set had given them after the overrides."""
    first = read_case(case, overrides=overrides)
    axes, grid = _axes(case, first, given, repeats)
    by_name = {axis.name: axis for axis in axes}
    cases = [
        read_case(case, overrides=[*overrides, *(by_name[name].override(value) for name, value in point.items())])
        for point in grid.points()
    ]
    _require_alike(cases)
    plans = [one.plan for one in cases for _ in range(grid.repeats)]
    table = first.sweep
    options: Options = {
        "method": _one_or_all([plan.method for plan in plans]), "steps": cases[0].steps, "every": plans[0].every, "dt": _one_or_all([plan.dt for plan in plans]),
    }  # fmt: skip
    if table is not None:
        options["keep"], options["reduce"] = table.keep, table.reductions()
    return Points(grid, [plan.system for plan in plans], [plan.start for plan in plans], options)


def check_sweep(case: str | Path, first: Case, *, overrides: Sequence[str] = ()) -> Grid:
    """The grid of a case with a [sweep] table; each value of each axis is tried by itself, and nothing is run.

    Raises
    ------
    CaseError : with every mistake found
    """
    assert first.sweep is not None
    axes, grid = _axes(case, first, None, None)
    mistakes: dict[str, Mistake] = {}
    cases = [first]
    for axis in axes:
        for value in axis.values:
            try:
                cases.append(read_case(case, overrides=[*overrides, axis.override(value)]))
            except CaseError as error:
                mistakes |= {str(mistake): mistake for mistake in error.mistakes}
    if mistakes:
        raise CaseError([*mistakes.values()])
    _require_alike(cases)
    check_names(first.plan, first.steps, first.sweep.keep, first.sweep.reductions(), grid)
    return grid


def _require_alike(cases: Sequence[Case]) -> None:
    """Check that all points are stepped in the same way."""
    for name, values in (("steps", [one.steps for one in cases]), ("every", [one.plan.every for one in cases])):
        if any(value != values[0] for value in values):
            raise InputError(
                f"the points make from {min(values)} to {max(values)} {name}", where="sweep", do=f"give [run] {name}, the same for all"
            )  # fmt: skip
    Varied.of([one.plan.method for one in cases])  # refuses methods that differ in more than numbers


@dataclass(frozen=True)
class Axis:
    """An axis of a sweep over a case: its name, its key, its values, who gave each of them, and who named the key."""

    name: str
    key: str
    values: tuple[object, ...]
    givers: tuple[Giver, ...]
    namer: Giver

    def override(self, value: object) -> Override:
        """The override that sets the key to this value."""
        place = next(k for k, mine in enumerate(self.values) if mine is value)
        return Override(self.key, value, self.givers[place], self.namer)


def _axes(
    path: str | Path, case: Case, given: Mapping[str, object] | None, repeats: int | None
) -> tuple[list[Axis], Grid]:
    """The axes given, or those of the case, and the grid that they make."""
    table = case.sweep
    if given is None and (table is None or not table.axis):
        raise InputError(
            "the case has no axes to sweep", where="[sweep]", do='write [[sweep.axis]] with key and values, or give a grid'
        )  # fmt: skip
    if given is None:
        assert table is not None
        _require_different(path, table)
        axes = [_read_axis(number, axis) for number, axis in enumerate(table.axis)]
    else:
        axes = [_take_axis(name, values) for name, values in given.items()]
    if repeats is None:
        repeats = 1 if table is None else table.repeats
    if repeats > 1 and getattr(case.plan.pairing.stepper, "member_place", None) is None:
        raise InputError(
            f"repeats = {repeats}, but nothing is drawn in this case: all would be the same", where="sweep.repeats",
            do="leave it out, or sweep a key of [start]",
        )  # fmt: skip
    _require_parameters(path, case, axes)
    return axes, Grid.of({axis.name: axis.values for axis in axes}, repeats)


def _read_axis(number: int, axis: AxisTable) -> Axis:
    """An axis of the file: a mistake is reported at the value, or at the key if values are computed."""
    row, at = tuple(axis.row()), ("sweep", "axis", number)
    key: Giver = (*at, "key")
    givers = [key if axis.values is None else (*at, "values", k) for k in range(len(row))]
    return Axis(axis.name or axis.key, axis.key, row, tuple(givers), key)


def _take_axis(name: str, values: object) -> Axis:
    """An axis of an argument: values of a key, or the key and its values."""
    key, row = values if _is_keyed(values) else (name, values)
    plain = tuple(
        value.tolist() if isinstance(value, np.ndarray) else value for value in Grid.of({name: row}).axes[name]
    )
    return Axis(name, key, plain, tuple(f"sweep.grid, {name} = {value!r}" for value in plain), f"sweep.grid, {name}")


def _require_different(path: str | Path, table: SweepTable) -> None:
    """Check that no two axes of a file have the same name, or the same key."""
    seen: set[str] = set()
    for number, axis in enumerate(table.axis):
        for word in dict.fromkeys((axis.name or axis.key, axis.key)):
            if word in seen:
                at: tuple[str | int, ...] = ("sweep", "axis", number, "key" if word == axis.key else "name")
                raise CaseError([Source.read(path).mistake(at, f"two axes are {word}", "remove or rename one")])
        seen |= {axis.name or axis.key, axis.key}


def _require_parameters(path: str | Path, case: Case, axes: Sequence[Axis]) -> None:
    """Check parameters of a Hamiltonian: their names are free, so a misspelt one would be swept without any effect."""
    known = list(getattr(case.plan.system, "given", ()))
    for axis in axes:
        name = axis.key.removeprefix("system.parameters.")
        if name == axis.key or name in known:
            continue
        wrong = f"there is no parameter {name!r}{nearest(name, known)}"
        do = f"choose among {', '.join(known) or 'none'}"
        if isinstance(axis.namer, str):
            raise InputError(wrong, where=axis.namer, do=do)
        raise CaseError([Source.read(path).mistake(axis.namer, wrong, do)])


def _is_keyed(value: object) -> TypeGuard[tuple[str, object]]:
    """Whether an axis is given as (key, values)."""
    return isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], str) and np.iterable(value[1])
