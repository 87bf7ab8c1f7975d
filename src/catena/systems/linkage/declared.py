"""What joints and forces have in common: frozen dataclasses whose fields say what they take, described and made again alike."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import Field, fields
from functools import partial
from typing import ClassVar, TypeAlias, TypeGuard, TypeVar, cast

import numpy as np

from ...errors import InputError
from ...registry import Registry
from ...text.plain import Json
from ..numbers import Vector, finite_number, finite_numbers
from ..potentials.pairwise import Pairwise, check
from ..sampled import Sampled

Check: TypeAlias = Callable[[object, str], object]
Made = TypeVar("Made")


class Declared:
    """Base of both. A field whose metadata is `takes(check)` keeps what check(given, where) makes of what is given."""

    __dataclass_fields__: ClassVar[dict[str, Field[object]]]

    def __post_init__(self) -> None:
        for f in fields(self):
            if "check" in f.metadata:
                made = f.metadata["check"](getattr(self, f.name), f"{type(self).__name__}.{f.name}")
                object.__setattr__(self, f.name, made)

    def describe(self) -> dict[str, Json]:
        """As a case writes it."""
        return {"kind": type(self).__name__} | {f.name: _plain(getattr(self, f.name)) for f in fields(self)}


def takes(check: Check) -> Mapping[str, Check]:
    """The metadata of a field that is checked so, or made into what is kept."""
    return {"check": check}


def unless_none(check: Check) -> Mapping[str, Check]:
    """The same of one that may be left out."""
    return takes(lambda given, where: None if given is None else check(given, where))


def numbers_of(what: str, least: int = 0) -> Mapping[str, Check]:
    """A whole number by which something is known."""

    def check(given: object, where: str) -> int:
        if not is_number(given, least):
            raise InputError(f"{where.rpartition('.')[2]} = {given!r}", where=where, do=f"give the number of {what}")
        return int(given)

    return takes(check)


def _points(given: object, where: str) -> tuple[Vector, ...]:
    points = finite_numbers(given, (2, 3), where=where, do="give two points, one on each body")
    return tuple(map(tuple, points.tolist()))


NUMBER = takes(finite_number)
FROM_ZERO = takes(partial(check, least=0.0))
ABOVE_ZERO = takes(partial(check, above=0.0))
POINTS = takes(_points)
BODY = numbers_of("a body")
BODY_OR_GROUND = numbers_of("a body, or -1 for the ground", least=-1)


def is_number(given: object, least: int) -> TypeGuard[int | np.integer]:
    """Whether it can be the number of something: a whole one, `least` or more; truth values and durations are none."""
    return isinstance(given, int | np.integer) and not isinstance(given, bool | np.timedelta64) and bool(given >= least)


def require_below(count: int, number: int, what: str, where: str) -> None:
    """InputError if there is no body, joint or atom of a number."""
    if number >= count:
        wrong = f"there is no {what} {number}: there {'is' if count == 1 else 'are'} {count}, counted from 0"
        raise InputError(wrong, where=where, do=f"give a number below {count}")


def check_list(given: object, where: str) -> tuple[object, ...]:
    """What a list holds; something that stands alone is refused, with the way to write it."""
    if isinstance(given, (str, Mapping)) or not isinstance(given, Iterable):
        raise InputError(f"{given!r} is no list", where=where, do="write it in brackets: [...]")
    return tuple(given)


def made_from(given: object, base: type[Made], registry: Registry[type[Made]], *, such_as: str) -> Made:
    """The joint or force itself, or the one that `describe` (or a case) wrote down."""
    if isinstance(given, base):
        return given
    if not isinstance(given, Mapping):
        what = registry.what
        raise InputError(f"{given!r} is no {what}", where=f"Linkage.{what}s", do=f"give {such_as}(...), ...")
    kind, arguments = registry.described(given)
    return kind(**arguments)


def _plain(value: object) -> Json:
    """As a case writes it; tuples are lists, all the way down."""
    if isinstance(value, (Pairwise, Sampled)):
        return value.describe()
    if isinstance(value, Mapping):
        return dict(value)
    return (
        [_plain(one) for one in value]
        if isinstance(value, Sequence) and not isinstance(value, str)
        else cast(Json, value)
    )
