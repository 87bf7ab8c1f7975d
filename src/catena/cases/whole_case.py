"""The model of a whole case, from the tables that it names; from those of all kinds only after a mistake."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, reduce
from operator import or_
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Discriminator, Field, Tag, TypeAdapter

from .. import problems
from ..errors import InputError
from ..methods.base import METHODS, all_methods
from ..running.crossings import Event, Section
from ..systems.base import State, System
from ..text.plain import Json
from .tables import (
    Key,
    RunTable,
    StartTable,
    SystemTable,
    Table,
    UnitsTable,
    arguments_of,
    model_of,
    system_table,
    system_tables,
    table_of,
    title_of,
)

OWN, PROBLEM = "<own>", "<problem>"  # tags of the two ways to give a start; no key has such a name


@cache
def method_table(names: frozenset[str] | None) -> Any:
    """A method with one of these names (any if None), or none: a table with its `kind` and its parameters."""
    if names is not None and not names:
        return type(None)
    tables: list[type[Table]] = []
    for method in all_methods() if names is None else [METHODS.find(name) for name in sorted(names)]:
        stated = {name: (Literal[value], value) for name, value in method.stated.items()}
        tables.append(table_of(method, kind=(Literal[method.name], ...), **stated))
    union = _one_of(tables, "kind")
    for table in tables:
        table.model_rebuild(_types_namespace={"AnyMethod": union})
    return union | None


def _one_of(tables: Sequence[type[Table]], key: str) -> Any:
    """Any of these tables, distinguished by a key."""
    return Annotated[reduce(or_, tables), Field(discriminator=key)] if len(tables) > 1 else tables[0]


class ProblemStart(StartTable):
    """[start]: the start of a built-in problem."""

    def make(self, system: System) -> State:
        arguments = self.given()
        problem = getattr(problems, name := arguments.pop("problem"))
        implied = system_table(system.kind).implied(system)
        taken = inspect.signature(problem).parameters
        made = problem(**{key: value for key, value in implied.items() if key in taken} | arguments)
        start = made.start
        if made.system is system:
            return start
        needed = [field.name for field in system.fields]
        if set(start.fields) != set(needed):
            raise InputError(
                f"the start of {name} has {', '.join(start.fields)}", where="problem",
                do=f"choose a problem of a {system.kind}: its start has {', '.join(needed)}",
            )  # fmt: skip
        try:
            return system.start(**start.fields, time=start.time)
        except InputError as trouble:
            wrong = f"the start of {name} does not fit this system: {trouble.wrong}"
            raise InputError(
                wrong, where="problem", do="give a start of its own, or the system of that problem"
            ) from None


def start_table(system: type[SystemTable], problem: str | None) -> Any:
    """[start]: of the system, or of a built-in problem (any if None): its name and the arguments of its function."""
    if problem == "":
        return system.start
    tables: list[type[Table]] = []
    for name in problems.__all__ if problem is None else [problem]:
        function = getattr(problems, name)
        keys: dict[str, Key] = {"problem": (Literal[name], ...)} | arguments_of(function)
        tables.append(model_of(name, ProblemStart, title_of(function), keys))
    own, of_problem = Annotated[system.start, Tag(OWN)], Annotated[_one_of(tables, "problem"), Tag(PROBLEM)]
    return Annotated[own | of_problem, Discriminator(_way)]


def _way(value: object) -> str:
    return PROBLEM if isinstance(value, dict) and "problem" in value else OWN


class Named(NamedTuple):
    """The kinds that a case names: tables are made only for these.

    Attributes
    ----------
    kind : of the system; None if system and start are not checked
    methods, problem : None for all of them
    sweep : whether it has a [sweep]
    """

    kind: str | None
    methods: frozenset[str] | None = None
    problem: str | None = None
    sweep: bool = True

    @classmethod
    def by(cls, data: Mapping[str, object]) -> Named | None:
        """The kinds that a case names; None if it lacks a name that is needed."""
        system, start = data.get("system"), data.get("start")
        kind = system.get("kind") if isinstance(system, dict) else None
        problem = start.get("problem", "") if isinstance(start, dict) else ""
        if not isinstance(kind, str) or problem not in ("", *problems.__all__):
            return None
        return cls(kind, frozenset(_kinds_in(data.get("method"))), problem, "sweep" in data)


def _kinds_in(method: object) -> Iterator[str]:
    """The kinds of a method and of those inside it."""
    if isinstance(method, dict):
        if "kind" in method:
            yield str(method["kind"])
        for value in method.values():
            yield from _kinds_in(value)


@cache
def case_table(named: Named, *, optional: bool = False) -> type[Table]:
    """The whole case of a kind of system.

    Parameters
    ----------
    named : what the case names
    optional : whether any table may be missing, and any section or event None
    """
    system: Any = dict[str, object]
    start: Any = dict[str, object]
    if named.kind is not None:
        system = system_table(named.kind)
        start = start_table(system, named.problem)
    section: Any = table_of(Section)
    event: Any = table_of(Event)
    needed = None if optional else ...
    if optional:
        section, event = section | None, event | None
    tables: dict[str, Key] = {
        "system": (system, needed),
        "start": (start, needed),
        "method": (method_table(named.methods), Field(None, description="the default of the system if left out")),
        "run": (RunTable, needed),
        "section": (list[section], []),
        "event": (list[event], []),
        "units": (UnitsTable, UnitsTable()),
    }
    if named.sweep:
        from .sweep_tables import SweepTable

        tables["sweep"] = (SweepTable | None, Field(None, description="the points of `catena sweep`"))
    return model_of(f"{named.kind or 'Any'}Case", Table, "A case of catena.", tables)


def case_schema() -> dict[str, Json]:
    """JSON schema of a case, for editors."""
    schema = TypeAdapter(reduce(or_, (case_table(Named(kind)) for kind in system_tables()))).json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema"} | schema | {"title": "catena case"}
