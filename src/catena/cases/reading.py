"""From a source to a case: a plan, its length and its store; or all mistakes at once."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, NamedTuple, ParamSpec, TypeVar

from pydantic import ValidationError

from ..engine.pairing import Pairing
from ..errors import CapabilityError, InputError, nearest
from ..expressions import parse
from ..methods.base import Method, method_from
from ..running.crossings import Event, Section
from ..running.plan import Plan, make_plan, step_count
from ..systems.base import State, System
from .mistakes import CaseError, Mistake
from .positions import Path
from .source import Override, Source
from .tables import RunTable, StartTable, SystemTable, Table, system_tables
from .whole_case import Named, case_table
from .wording import refusals, show

if TYPE_CHECKING:
    from .sweep_tables import SweepTable

P = ParamSpec("P")
T = TypeVar("T")
Watched = TypeVar("Watched", Section, Event)
LISTED = {"section", "event"}
MOST_NAMED = 100_000  # bodies of a system that cannot be made: up to this number, names are listed all the same
EXPRESSIONS = {"text": False, "where": True}  # keys of a section or event -> whether it is a condition


@dataclass(frozen=True, eq=False)
class Case:
    """A case that can be run.

    Attributes
    ----------
    plan, steps : what is run, and how many steps
    out : directory of the stored run, if the case names one
    sweep : its [sweep] table, None if there is none
    """

    plan: Plan
    steps: int
    out: str | None = None
    sweep: SweepTable | None = None


def read_case(
    file: str | FilePath | None, *, text: str = "", label: str = "", overrides: Sequence[str | Override] = ()
) -> Case:
    """The case in a file, or in a text if the file is None.

    Parameters
    ----------
    file : path of the case
    text, label : the text of the case, and its name in messages
    overrides : keys to set: "run.dt=0.01" with the value in TOML syntax, or `Override` objects

    Raises
    ------
    CaseError : with every mistake found
    """
    source = Source.read(file, overrides) if file is not None else Source(text, label, overrides)
    return _Reading(source).case()


def read_system(file: str | FilePath, *, overrides: Sequence[str] = ()) -> tuple[System, State | None]:
    """The system of a case, and its start if there is one, for statics. Other tables are checked, and may be missing.

    Raises
    ------
    CaseError : with every mistake found
    """
    reading = _Reading(Source.read(file, overrides), optional=True)
    tables = reading.tables()
    if tables.system is None and not reading.mistakes:
        reading.mistakes.append(reading.source.mistake((), "the case has no [system]", "add it; catena new shows how"))
    system = reading.system(tables.system) if isinstance(tables.system, SystemTable) else None
    start = reading.start(tables.start, system)
    if reading.mistakes or system is None:
        raise CaseError(reading.mistakes)
    return system, start


class _Tables(NamedTuple):
    """The tables of a case; None for those with mistakes."""

    system: object
    start: object
    method: Table | None
    run: RunTable | None
    section: Sequence[Table | None]
    event: Sequence[Table | None]
    units: Table
    sweep: SweepTable | None = None


class _Reading:
    """Collects mistakes while tables become objects; whatever does not depend on a failed part is still checked."""

    def __init__(self, source: Source, *, optional: bool = False) -> None:
        self.source, self.optional = source, optional  # `optional`: any table may be missing
        self.mistakes: list[Mistake] = []
        self.pairing: Pairing | None = None  # cached for the plan
        self.misspelt: set[str | int] = set()  # tables with unknown keys: a key that seems missing may be among these

    def case(self) -> Case:
        made = self.objects(self.tables())
        if self.mistakes or made is None:
            raise CaseError(self.mistakes)
        return made

    def tables(self) -> _Tables:
        """The tables that fit their models, None for the others; unknown keys are reported and dropped."""
        data = self.source.data
        named = Named.by(data)
        try:
            if named is not None:
                return _Tables(**dict(case_table(named, optional=self.optional).model_validate(data)))
        except (ValidationError, InputError):
            pass  # the tables of all kinds show what was meant
        named = Named(self.kind())
        model = case_table(named, optional=self.optional)
        try:
            return _Tables(**dict(model.model_validate(data)))
        except ValidationError as error:
            found = list(refusals(error, model, self.source))
        self.mistakes += [refusal.mistake for refusal in found if refusal.mistake]
        unknown = [refusal.path for refusal in found if refusal.unknown_key]
        self.misspelt |= {path[0] for path in unknown}
        good: object = data
        for path in unknown:
            good = _without(good, path)
        for refusal in found:
            # if a key of the system is misspelt, expressions may only seem wrong
            if refusal.path and (not refusal.unknown_key or refusal.path[0] == "system"):
                good = _without(good, refusal.path[: 2 if refusal.path[0] in LISTED else 1])
        return _Tables(**dict(case_table(named, optional=True).model_validate(good)))

    def kind(self) -> str | None:
        """The kind of the system; None (and a mistake) if there is none."""
        system = self.source.data.get("system")
        if not isinstance(system, dict):
            return None
        known = list(system_tables())
        kind = system.get("kind")
        if isinstance(kind, str) and kind in known:
            return kind
        path: Path = ("system", "kind") if "kind" in system else ("system",)
        wrong = f"kind = {show(kind)} is not a system{nearest(str(kind), known)}"
        if kind is None:
            wrong = "[system] lacks the key kind"
        self.mistakes.append(self.source.mistake(path, wrong, f"use one of {', '.join(known)}"))
        return None

    def objects(self, tables: _Tables) -> Case | None:
        """The case; None after a mistake."""
        described, given, run = tables.system, tables.start, tables.run
        system = self.system(described) if isinstance(described, SystemTable) else None
        start = self.start(given, system)
        method = self.method(tables.method, system)
        names = self.watched_names(described, system, tables) if isinstance(described, SystemTable) else None
        sections = self.watched(Section, "section", tables.section, names)
        events = self.watched(Event, "event", tables.event, names)
        self.different_names([("section", s) for s in sections] + [("event", e) for e in events])
        if self.mistakes or system is None or start is None or run is None:
            self.length(run, start)
            return None
        wanted = (
            [section for section in sections if section is not None],
            [event for event in events if event is not None],
        )
        made = self.attempt(("run",), _case, system, start, method, run, *wanted, tables.units)
        return made if made is None else replace(made, sweep=tables.sweep)

    def length(self, run: RunTable | None, start: State | None) -> None:
        """Check that the number of steps fits the length of a run, if there is no plan that would do so."""
        unclear = "run" in self.misspelt and run is not None and run.steps is run.t_end is None
        if run is not None and run.dt is not None and not unclear:
            t0 = start.time if start is not None else self.time_given()
            self.attempt(("run",), step_count, run.dt, t0, steps=run.steps, t_end=run.t_end)

    def watched_names(self, described: SystemTable, system: System | None, tables: _Tables) -> list[str] | None:
        """Names that sections and events may use; None without any, or if a refused system has too many bodies."""
        bodies = getattr(described, "bodies", ())
        count = len(bodies) if isinstance(bodies, (list, tuple)) else bodies.count
        too_many = system is None and count > MOST_NAMED
        return [*described.watched_names(), "t"] if (tables.section or tables.event) and not too_many else None

    def time_given(self) -> float:
        """The time of a start that may have other mistakes."""
        start = self.source.data.get("start")
        time = start.get("time", 0.0) if isinstance(start, dict) else 0.0
        return time if isinstance(time, float) and math.isfinite(time) else 0.0

    def system(self, table: SystemTable) -> System | None:
        before = len(self.mistakes)
        for path, text, names, many_terms in table.texts():
            self.expression(("system", *path), text, names, many_terms=many_terms)
        return self.attempt(("system",), table.make) if len(self.mistakes) == before else None

    def start(self, given: object, system: System | None) -> State | None:
        if system is None or not isinstance(given, StartTable):
            return None
        return self.attempt(("start",), given.drawn, system)

    def method(self, table: Table | None, system: System | None) -> Method | None:
        if table is None:
            return None
        method = self.attempt(("method",), method_from, table.given())
        if method is not None and system is not None:
            self.pairing = self.attempt(("method", "kind"), Pairing.of, system, method)
        return method

    def watched(
        self, kind: type[Watched], name: str, tables: Sequence[Table | None], names: list[str] | None
    ) -> list[Watched | None]:
        """The sections or events."""
        made: list[Watched | None] = []
        for index, table in enumerate(tables):
            path: Path = (name, index)
            if table is None:
                made.append(None)
                continue
            made.append(self.attempt(path, kind, **table.given()))
            for key, condition in EXPRESSIONS.items():
                text = getattr(table, key, "")
                if names is not None and (text or key == "text"):
                    self.expression((*path, key), text, names, conditions=condition)
        return made

    def different_names(self, watched: list[tuple[str, Section | Event | None]]) -> None:
        """Check that sections and events have different names."""
        seen: set[str] = set()
        count = {"section": -1, "event": -1}
        for table, item in watched:
            count[table] += 1
            if item is not None and item.name in seen:
                wrong = f"two sections or events are called {item.name!r}"
                self.mistakes.append(self.source.mistake((table, count[table], "name"), wrong, "rename one"))
            seen.add(getattr(item, "name", ""))

    def expression(
        self, path: Path, text: str, names: list[str], *, conditions: bool = False, many_terms: bool = False
    ) -> None:
        what = f"{path[-2]}[{path[-1]}]" if isinstance(path[-1], int) else path[-1]
        self.attempt(path, parse, text, names, what=what, conditions=conditions, many_terms=many_terms)

    def attempt(self, path: Path, make: Callable[P, T], /, *given: P.args, **named: P.kwargs) -> T | None:
        """The object that `make` returns, or None and a mistake."""
        try:
            return make(*given, **named)
        except (InputError, CapabilityError) as error:
            self.mistakes.append(self.source.explained(path, error))
            return None


def _without(value: object, path: Path) -> object:
    """A copy of a table without a key, or of a list with None for an element; only the path to it is copied."""
    first, *rest = path
    if isinstance(value, list) and isinstance(first, int):
        return [*value[:first], _without(value[first], tuple(rest)) if rest else None, *value[first + 1 :]]
    if not isinstance(value, dict) or first not in value:
        return value
    if not rest:
        return {key: part for key, part in value.items() if key != first}
    return value | {first: _without(value[first], tuple(rest))}


def _case(
    system: System,
    start: State,
    method: Method | None,
    run: RunTable,
    sections: Sequence[Section],
    events: Sequence[Event],
    units: Table,
) -> Case:
    plan, steps = make_plan(
        system, start, method, dt=run.dt, steps=run.steps, t_end=run.t_end, every=run.every, sections=sections, events=events,
        units=units.given(),
    )  # fmt: skip
    return Case(plan, steps, run.out)
