"""The models of the tables of a case.

What a class or function of catena declares is not declared again: the models of methods, sections, events and
problems are made from the dataclasses and signatures themselves, and so are those of systems, potentials, joints and forces of
other packages. Systems of catena have written models, one file each in `kinds`, because Python takes more for them than a file can say.
"""

from __future__ import annotations

import inspect
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import MISSING, fields, is_dataclass
from functools import cache, reduce
from importlib import import_module
from operator import or_
from pkgutil import iter_modules
from types import GenericAlias, UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    ForwardRef,
    Literal,
    NamedTuple,
    TypeAlias,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import numpy as np
from numpy.typing import ArrayLike
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    PydanticSchemaGenerationError,
    Tag,
    TypeAdapter,
    create_model,
    model_validator,
)
from pydantic_core import PydanticCustomError

from .. import problems
from ..errors import InputError
from ..methods.base import Method, registered
from ..registry import Registry
from ..running.crossings import Event, Section
from ..running.ensembles.job import Keep
from ..running.ensembles.reductions import KINDS, Reduction, reduction_from
from ..systems.base import SYSTEMS, State, System
from ..text.plain import Json
from .positions import Path

if TYPE_CHECKING:
    pass

ARRAY_LIKE = set(get_args(ArrayLike)) or {ArrayLike}  # a union; from Python 3.12 on an alias, which has no parts
Nested: TypeAlias = float | list[float] | list[list[float]] | list[list[list[float]]]  # what it is in a case
DRAWN = ("temperature", "seed")  # keys of a start that say how momenta are drawn
TABLE, VALUE = "<table>", "<value>"  # and of a key that takes a table, or something else
MOST_POINTS = 1_000_000  # of an axis
OWN, PROBLEM = "<own>", "<problem>"  # tags of the two ways to give a start; no key is called so


class Table(BaseModel):
    """A table of a case: its keys and no other, each of its type, no number that is not finite."""

    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False, frozen=True)

    def given(self) -> dict[str, Any]:
        """The values that the case gives."""
        return self.model_dump(exclude_unset=True)


class SampledTable(Table):
    """A function of time by its samples: the cubic spline through them."""

    times: list[float] = Field(description="increasing, four or more")
    values: list[float] = Field(description="one for each time")


def _listed(value: object) -> object:
    return value if isinstance(value, list) else [value]


InTime: TypeAlias = float | str | SampledTable
InTimeVector = Annotated[list[InTime], Field(min_length=3, max_length=3)]
Numbers = Annotated[list[float], BeforeValidator(_listed, json_schema_input_type=float | list[float])]
Names = Annotated[list[str], BeforeValidator(_listed, json_schema_input_type=str | list[str])]
Filled = Annotated[str, Field(min_length=1)]
Key: TypeAlias = tuple[object, object]  # of a model: type and default
AnyTable = TypeVar("AnyTable", bound="Table")


class StartTable(Table):
    """[start]: the arguments of the system's `start`, and a temperature at which momenta are drawn (`system.maxwell`)."""

    temperature: float | None = Field(None, ge=0, description="kT at which momenta are drawn, in place of those given")
    seed: int = Field(0, ge=0, lt=2**64, description="of that draw")

    @model_validator(mode="after")
    def _drawn_at_all(self) -> StartTable:
        if "seed" in self.model_fields_set and self.temperature is None:
            raise ValueError(
                "seed is that of momenta which are drawn at a temperature: give temperature, or leave it out"
            )
        return self

    def given(self) -> dict[str, Any]:
        return {name: value for name, value in super().given().items() if name not in DRAWN}

    def make(self, system: System) -> State:
        """The start of a system."""
        return system.start(**self.given())

    def drawn(self, system: System) -> State:
        """That, with momenta of the temperature, if one is given."""
        start = self.make(system)
        return start if self.temperature is None else system.maxwell(start, self.temperature, seed=self.seed)


@contextmanager
def placed(where: str) -> Iterator[None]:
    """What is wrong with an object is said of the key of the case that describes it."""
    try:
        yield
    except InputError as error:
        raise InputError(error.wrong, where=f"{where}.{error.where.split('.', 1)[-1]}", do=error.do) from None


class Text(NamedTuple):
    """An expression of a system: its path below [system], the names that it may be written in, whether it may be a long sum."""

    path: Path
    text: str
    names: list[str]
    many_terms: bool = False


class SystemTable(Table):
    """[system]: the arguments of a system; a subclass adds `kind` and one key for each of them."""

    start: ClassVar[type[StartTable]] = StartTable

    def texts(self) -> Iterator[Text]:
        """Each expression, to be checked one by one."""
        yield from ()

    @abstractmethod
    def watched_names(self) -> list[str]:
        """What a section or event may be written in, the time apart."""

    @classmethod
    def implied(cls, system: System) -> dict[str, object]:
        """Arguments of a problem that the system has settled already."""
        return {}

    @abstractmethod
    def make(self) -> System:
        """The system."""


class RunTable(Table):
    """[run]: step size, length, samples and where they go."""

    dt: float | None = Field(None, gt=0, description="step size; left out where the system suggests one")
    steps: int | None = Field(None, gt=0, description="number of steps; or give t_end")
    t_end: float | None = Field(None, description="time of the end; dt must divide the length")
    every: int = Field(1, gt=0, description="a sample is kept every so many steps")
    out: Filled | None = Field(None, description="directory name.zarr that the run is streamed into")


def _no_date(label: str) -> str:
    if "since" in label:
        raise PydanticCustomError("unit_label", "a date")
    return label


Label = Annotated[str, AfterValidator(_no_date)]


class UnitsTable(Table):
    """[units]: labels that are kept with the run, for axes and for readers of its arrays; nothing is converted."""

    time: Label = ""
    length: Label = ""
    mass: Label = ""


_systems: dict[str, type[SystemTable]] = {}


def register(table: type[SystemTable]) -> type[SystemTable]:
    """Make the table of a system known, under its `kind`."""
    _systems[kind_of(table)] = table
    return table


def kind_of(table: type[Table]) -> str:
    """The `kind` that a table stands for."""
    (kind,) = get_args(table.model_fields["kind"].annotation)
    return str(kind)


@cache
def system_tables() -> dict[str, type[SystemTable]]:
    """The table of each kind of system."""
    from . import kinds

    for module in iter_modules(kinds.__path__):
        import_module(f"{kinds.__name__}.{module.name}")
    for system in SYSTEMS:
        if system.kind not in _systems:
            _systems[system.kind] = plain_system_table(system)
    return dict(sorted(_systems.items()))


def plain_system_table(system: type[System]) -> type[SystemTable]:
    """The table of a system for which none is written: the arguments of its class, and of its `start`."""
    made: Any = system

    class Plain(SystemTable):
        """[system]: the arguments of the class."""

        start: ClassVar[type[StartTable]] = _model("Start", StartTable, StartTable.__doc__ or "", _plainly(made.start))

        def watched_names(self) -> list[str]:
            return list(self.make().names())

        def make(self) -> System:
            return system(**{name: value for name, value in self.given().items() if name != "kind"})

    kind: dict[str, Key] = {"kind": (Literal[system.kind], ...)}
    return _model(system.__name__, Plain, _title(system), kind | _plainly(system.__init__))


def _arguments(function: Any) -> dict[str, Any]:
    """Type and default of each argument of a function, `self` apart."""
    hints = get_type_hints(function)
    return {
        parameter.name: (
            hints.get(parameter.name, Any),
            ... if parameter.default is parameter.empty else parameter.default,
        )
        for parameter in inspect.signature(function).parameters.values()
        if parameter.name != "self"
    }


def _plainly(function: Callable[..., object]) -> dict[str, Key]:
    """`_arguments` in lists of numbers where arrays are taken; what no table can check is left to the function itself."""
    made: dict[str, Key] = {}
    for name, (hint, default) in _arguments(function).items():
        plain = _without_arrays(hint)
        try:
            TypeAdapter(plain)
        except PydanticSchemaGenerationError:
            plain = object
        made[name] = (plain, default)
    return made


def tables_of(registry: Registry[Any], written: Sequence[type[Table]]) -> tuple[type[Table], ...]:
    """The tables of all kinds of a registry: those that are written, and of the fields of the dataclass where none is."""
    known = {kind_of(table): table for table in written}
    return tuple(
        known.get(kind.__name__) or table_of(kind, kind=(Literal[kind.__name__], ...)) for kind in registry
    )  # fmt: skip


def table_of(described: type, **first: Any) -> type[Table]:
    """The table with the fields of a dataclass."""
    hints = get_type_hints(described) | dict.fromkeys(getattr(described, "timed", ()), InTime)
    keys: dict[str, Key] = {
        f.name: (_in_case(hints[f.name]), ... if f.default is MISSING else f.default)
        for f in fields(described)
    }  # fmt: skip
    return _model(described.__name__, Table, _title(described), first | keys)


def _model(name: str, base: type[AnyTable], title: str, keys: Mapping[str, Key]) -> type[AnyTable]:
    definitions: dict[str, Any] = dict(keys)  # as pydantic wants them
    return create_model(name, __base__=base, __doc__=title, **definitions)


def _in_case(hint: object) -> object:
    """A method inside a method is a table again."""
    nested = ForwardRef("AnyMethod")
    hint = _without_arrays(hint)
    return nested if hint is Method else nested | None if hint == Method | None else hint


def _without_arrays(hint: Any) -> Any:
    """A case has lists where Python takes arrays, too, and tables for what is described by its fields."""
    origin, parts = (Union, (hint,)) if {hint} == ARRAY_LIKE else (get_origin(hint), get_args(hint))
    if origin in (Union, UnionType):
        if set(parts) >= ARRAY_LIKE:
            parts = (*(part for part in parts if part not in ARRAY_LIKE), *get_args(Nested))
        described = [part for part in parts if _is_described(part)]
        if described:
            others = reduce(or_, (part for part in parts if part not in described))
            value = Annotated[_without_arrays(others), Tag(VALUE)]  # type: ignore[valid-type]
            return Annotated[Annotated[table_of(described[0]), Tag(TABLE)] | value, Discriminator(_table_or_value)]
        return reduce(or_, (_without_arrays(part) for part in parts if get_origin(part) is not np.ndarray))
    return GenericAlias(Sequence, (_without_arrays(parts[0]),)) if origin is Sequence else hint


def _is_described(hint: object) -> bool:
    """Whether it is an object that its fields describe, and no method."""
    return is_dataclass(hint) and isinstance(hint, type) and not issubclass(hint, Method)


def _table_or_value(given: object) -> str:
    return TABLE if isinstance(given, dict) else VALUE


def _title(described: Callable[..., object]) -> str:
    return (inspect.getdoc(described) or described.__name__).splitlines()[0]


class AxisTable(Table):
    """[[sweep.axis]]: a key of the case and its values, listed or equally far apart."""

    key: Filled = Field(description="key of the case, such as system.right.force.0")
    name: Filled | None = Field(None, description="name of the dimension; the key if left out")
    values: list[object] | None = Field(None, min_length=1, description="or give first, last and count")
    first: float | None = None
    last: float | None = None
    count: int | None = Field(None, gt=0, le=MOST_POINTS)

    @model_validator(mode="after")
    def _one_way(self) -> AxisTable:
        apart = [self.first, self.last, self.count]
        if (self.values is None) == (None in apart) or (self.values is not None and apart != [None] * 3):
            raise ValueError("give values, or first, last and count")
        return self

    def row(self) -> list[object]:
        """The values."""
        if self.values is not None:
            return self.values
        assert self.first is not None and self.last is not None and self.count is not None
        return [*np.linspace(self.first, self.last, self.count).tolist()]


AnyReduction: Any = Annotated[
    reduce(or_, (table_of(kind, kind=(Literal[name], ...)) for name, kind in KINDS.items())), Field(discriminator="kind")
]  # fmt: skip


class SweepTable(Table):
    """[sweep]: every combination of the values of its axes is run, each a member of one ensemble."""

    axis: list[AxisTable] = Field([], description="the dimensions, the last one fastest")
    repeats: int = Field(1, gt=0, description="members at each point")
    keep: Keep = Field("final", description="states at the end, all samples, or nothing but the audit")
    reduce: dict[str, AnyReduction] = Field({}, description="what else is kept of the samples, by name")

    def reductions(self) -> dict[str, Reduction]:
        """The reductions, by name."""
        return {name: reduction_from(table.given()) for name, table in self.reduce.items()}


@cache
def method_tables() -> Any:
    """A method of the registry: a table with its `kind` and its parameters."""
    tables = []
    for method in registered():
        stated = {name: (Literal[value], value) for name, value in method.stated.items()}
        tables.append(table_of(method, kind=(Literal[method.name], ...), **stated))
    union: Any = Annotated[reduce(or_, tables), Field(discriminator="kind")]
    for table in tables:
        table.model_rebuild(_types_namespace={"AnyMethod": union})
    return union


@cache
def problem_tables() -> Any:
    """The start of any built-in problem: its name and the arguments of its function."""
    tables = []
    for name in problems.__all__:
        function = getattr(problems, name)
        keys: dict[str, Any] = {"problem": (Literal[name], ...)} | _arguments(function)
        tables.append(create_model(name, __base__=ProblemStart, __doc__=_title(function), **keys))
    return Annotated[reduce(or_, tables), Field(discriminator="problem")]


class ProblemStart(StartTable):
    """[start]: that of a built-in problem."""

    def make(self, system: System) -> State:
        arguments = self.given()
        problem = getattr(problems, name := arguments.pop("problem"))
        implied = system_tables()[system.kind].implied(system)
        taken = inspect.signature(problem).parameters
        start = problem(**{key: value for key, value in implied.items() if key in taken} | arguments).start
        needed = [field.name for field in system.fields]
        if set(start.fields) != set(needed):
            raise InputError(
                f"the start of {name} has {', '.join(start.fields)}", where="problem",
                do=f"choose a problem of a {system.kind}: its start has {', '.join(needed)}",
            )  # fmt: skip
        return system.start(**start.fields, time=start.time)


def _way(value: object) -> str:
    return PROBLEM if isinstance(value, dict) and "problem" in value else OWN


@cache
def case_table(kind: str | None, *, optional: bool = False) -> type[Table]:
    """The whole case of a kind of system.

    Parameters
    ----------
    kind : None for a system and a start that are not looked into
    optional : any table may be missing, and any section or event None
    """
    system: Any = dict[str, object]
    start: Any = dict[str, object]
    if kind is not None:
        system = system_tables()[kind]
        own, problem = Annotated[system.start, Tag(OWN)], Annotated[problem_tables(), Tag(PROBLEM)]
        start = Annotated[own | problem, Discriminator(_way)]
    section: Any = table_of(Section)
    event: Any = table_of(Event)
    needed = None if optional else ...
    if optional:
        section, event = section | None, event | None
    tables: dict[str, Key] = {
        "system": (system, needed),
        "start": (start, needed),
        "method": (method_tables() | None, Field(None, description="the default of the system if left out")),
        "run": (RunTable, needed),
        "section": (list[section], []),
        "event": (list[event], []),
        "units": (UnitsTable, UnitsTable()),
        "sweep": (SweepTable | None, Field(None, description="the points of `catena sweep`")),
    }
    return _model(f"{kind or 'Any'}Case", Table, "A case of catena.", tables)


def case_schema() -> dict[str, Json]:
    """JSON schema of a case, for editors."""
    schema = TypeAdapter(reduce(or_, (case_table(kind) for kind in system_tables()))).json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema"} | schema | {"title": "catena case"}
