"""The models of the tables of a case.

Nothing that a class or function of catena declares is declared again: the models of methods, sections, events and
problems are made from the dataclasses and signatures themselves, and so are those of systems, potentials, joints and
forces of other packages. Systems of catena have written models, one file each in `kinds`, because their Python
arguments accept more than a file can express.
"""

from __future__ import annotations

import inspect
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import MISSING, fields, is_dataclass
from functools import cache, reduce
from importlib import import_module
from importlib.util import find_spec
from operator import or_
from types import GenericAlias, UnionType
from typing import (
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
from numpy.typing import ArrayLike, NDArray
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

from ..errors import InputError
from ..methods.base import Method
from ..registry import Registry
from ..systems.base import SYSTEMS, State, System
from ..systems.sampled import TIME
from .positions import Path

ARRAY_LIKE = set(get_args(ArrayLike)) or {ArrayLike}  # a union; from Python 3.12 on an alias without parts
ARRAY = get_origin(NDArray[np.float64])  # the array itself; from Python 3.12 on an alias of it
Nested: TypeAlias = float | list[float] | list[list[float]] | list[list[list[float]]]  # an array in a case
DRAWN = ("temperature", "seed")  # keys of a start that control how momenta are drawn
TABLE, VALUE = "<table>", "<value>"  # tags of a key that takes a table, or something else


class Table(BaseModel):
    """A table of a case: unknown keys are refused, each value has its type, and all numbers are finite."""

    # built on first use: a case names few of all tables
    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False, frozen=True, defer_build=True)

    def given(self) -> dict[str, Any]:
        """The values that the case gives."""
        return self.model_dump(exclude_unset=True)


class SampledTable(Table):
    """A function of time given by samples: the cubic spline through them."""

    times: list[float] = Field(description="increasing, four or more")
    values: list[float] = Field(description="one for each time")


def _list(value: object) -> object:
    return value if isinstance(value, list) else [value]


InTime: TypeAlias = float | str | SampledTable
InTimeVector = Annotated[list[InTime], Field(min_length=3, max_length=3)]
Numbers = Annotated[list[float], BeforeValidator(_list, json_schema_input_type=float | list[float])]
Names = Annotated[list[str], BeforeValidator(_list, json_schema_input_type=str | list[str])]
Filled = Annotated[str, Field(min_length=1)]
Key: TypeAlias = tuple[object, object]  # type and default of a field of a model
AnyTable = TypeVar("AnyTable", bound="Table")


class StartTable(Table):
    """[start]: the arguments of the system's `start`, and a temperature to draw momenta from (`system.maxwell`)."""

    temperature: float | None = Field(None, ge=0, description="kT at which momenta are drawn, in place of those given")
    seed: int = Field(0, ge=0, lt=2**64, description="of that draw")

    @model_validator(mode="after")
    def _check_drawn(self) -> StartTable:
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
        """The start, with momenta drawn at the temperature, if one is given."""
        start = self.make(system)
        return start if self.temperature is None else system.maxwell(start, self.temperature, seed=self.seed)


@contextmanager
def name_the_key(where: str) -> Iterator[None]:
    """Report errors of an object at the key of the case that describes it."""
    try:
        yield
    except InputError as error:
        raise InputError(error.wrong, where=f"{where}.{error.where.split('.', 1)[-1]}", do=error.do) from None


class Text(NamedTuple):
    """An expression of a system: path below [system], names that it may use, whether it may be a long sum."""

    path: Path
    text: str
    names: list[str]
    many_terms: bool = False


def texts_in_time(value: object, path: Path) -> Iterator[Text]:
    """The texts in t that replace a number at this path, or components of a vector."""
    if isinstance(value, str):
        yield Text(path, value, [TIME])
    elif isinstance(value, list):
        for k, part in enumerate(value):
            yield from texts_in_time(part, (*path, k))


class SystemTable(Table):
    """[system]: the arguments of a system; a subclass adds `kind` and one key for each of them."""

    start: ClassVar[type[StartTable]] = StartTable

    def texts(self) -> Iterator[Text]:
        """All expressions, to be checked one by one."""
        yield from ()

    @abstractmethod
    def watched_names(self) -> list[str]:
        """Names that sections and events may use, except the time."""

    @classmethod
    def implied(cls, system: System) -> dict[str, object]:
        """Arguments of a problem that follow from the system."""
        return {}

    @abstractmethod
    def make(self) -> System:
        """The system."""


class RunTable(Table):
    """[run]: step size, length, samples and where they are stored."""

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
    """Register the table of a system under its `kind`."""
    _systems[kind_of(table)] = table
    return table


def kind_of(table: type[Table]) -> str:
    """The `kind` that a table stands for."""
    (kind,) = get_args(table.model_fields["kind"].annotation)
    return str(kind)


@cache
def system_tables() -> dict[str, type[SystemTable]]:
    """The table of each kind of system."""
    return {kind: system_table(kind) for kind in sorted(system.kind for system in SYSTEMS)}


def system_table(kind: str) -> type[SystemTable]:
    """The table of a kind of system: from the module in `kinds` with its name, or the arguments of its class."""
    system = SYSTEMS.find(kind)
    written = f"{__package__}.kinds.{system.__module__.rpartition('.')[2]}"
    if SYSTEMS.is_own(system) and find_spec(written):
        import_module(written)
    if kind not in _systems:
        _systems[kind] = plain_system_table(system)
    return _systems[kind]


def plain_system_table(system: type[System]) -> type[SystemTable]:
    """The table of a system without a written one: the arguments of its class, and of its `start`."""
    made: Any = system

    class Plain(SystemTable):
        """[system]: the arguments of the class."""

        start: ClassVar[type[StartTable]] = model_of(
            "Start", StartTable, StartTable.__doc__ or "", _plainly(made.start)
        )

        def watched_names(self) -> list[str]:
            return list(self.make().names())

        def make(self) -> System:
            return system(**{name: value for name, value in self.given().items() if name != "kind"})

    kind: dict[str, Key] = {"kind": (Literal[system.kind], ...)}
    return model_of(system.__name__, Plain, title_of(system), kind | _plainly(system.__init__))


def arguments_of(function: Any) -> dict[str, Any]:
    """Type and default of each argument of a function, except `self` and `system`, which is [system] in a case."""
    hints = get_type_hints(function)
    return {
        parameter.name: (
            hints.get(parameter.name, Any),
            ... if parameter.default is parameter.empty else parameter.default,
        )
        for parameter in inspect.signature(function).parameters.values()
        if parameter.name not in ("self", "system")
    }


def _plainly(function: Callable[..., object]) -> dict[str, Key]:
    """`arguments_of` with lists of numbers instead of arrays; the rest is checked by the function itself."""
    made: dict[str, Key] = {}
    for name, (hint, default) in arguments_of(function).items():
        plain = _without_arrays(hint)
        try:
            TypeAdapter(plain)
        except PydanticSchemaGenerationError:
            plain = object
        made[name] = (plain, default)
    return made


def tables_of(registry: Registry[Any], written: Sequence[type[Table]]) -> tuple[type[Table], ...]:
    """The tables of all kinds of a registry: those written, otherwise made from the fields of the dataclass."""
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
    return model_of(described.__name__, Table, title_of(described), first | keys)


def model_of(name: str, base: type[AnyTable], title: str, keys: Mapping[str, Key]) -> type[AnyTable]:
    """A table with these keys."""
    definitions: dict[str, Any] = dict(keys)  # in the form of pydantic
    return create_model(name, __base__=base, __doc__=title, **definitions)


def _in_case(hint: object) -> object:
    """Replace a method inside a method by a table."""
    nested = ForwardRef("AnyMethod")
    hint = _without_arrays(hint)
    return nested if hint is Method else nested | None if hint == Method | None else hint


def _without_arrays(hint: Any) -> Any:
    """Replace arrays by lists, and objects that their fields describe by tables."""
    origin, parts = (Union, (hint,)) if {hint} == ARRAY_LIKE else (get_origin(hint), get_args(hint))
    if origin in (Union, UnionType):
        if set(parts) >= ARRAY_LIKE:
            parts = (*(part for part in parts if part not in ARRAY_LIKE), *get_args(Nested))
        described = [part for part in parts if _is_described(part)]
        if described:
            others = reduce(or_, (part for part in parts if part not in described))
            value = Annotated[_without_arrays(others), Tag(VALUE)]  # type: ignore[valid-type]
            return Annotated[Annotated[table_of(described[0]), Tag(TABLE)] | value, Discriminator(_table_or_value)]
        return reduce(or_, (_without_arrays(part) for part in parts if get_origin(part) is not ARRAY))
    return GenericAlias(Sequence, (_without_arrays(parts[0]),)) if origin is Sequence else hint


def _is_described(hint: object) -> bool:
    """Whether a type is described by its fields and is not a method."""
    return is_dataclass(hint) and isinstance(hint, type) and not issubclass(hint, Method)


def _table_or_value(given: object) -> str:
    return TABLE if isinstance(given, dict) else VALUE


def title_of(described: Callable[..., object]) -> str:
    """The first line of the docstring."""
    return (inspect.getdoc(described) or described.__name__).splitlines()[0]
