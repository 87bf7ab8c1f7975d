"""The ends of a chain: boundary conditions and loads of its first and its last body."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from ...errors import InputError, unknown_word
from ...text.plain import Json
from ..many_bodies import vector
from ..numbers import number_of_one
from ..potentials.pairwise import check
from ..sampled import GivenInTime, components, depends_on_time, describe_in_time

ORIGIN = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Free:
    """Nothing acts on the end body except its neighbour (and gravity)."""

    moves = True
    turns = True


@dataclass(frozen=True)
class Clamped:
    """The end body is held in place and orientation."""

    moves = False
    turns = False


@dataclass(frozen=True)
class Force:
    """A force on a point of a body, constant or a function of time.

    Parameters
    ----------
    force : three components in space, each a number, a text in t such as "3*sin(t)", or `Sampled(times, values)`
    at : the point where it acts, in the coordinates of the body; by default its centre of mass
    """

    force: Sequence[GivenInTime]
    at: Sequence[float] = ORIGIN

    moves = True
    turns = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "force", components(self.force, 3, "Force.force"))
        object.__setattr__(self, "at", tuple(vector(self.at, "Force.at").tolist()))

    @property
    def constant(self) -> bool:
        """Whether it is a constant force on the centre of mass."""
        return self.at == ORIGIN and not any(map(depends_on_time, self.force))


@dataclass(frozen=True)
class Torque:
    """A torque on a body, constant in space or a function of time. It has no potential; its work is recorded.

    Parameters
    ----------
    torque : three components in space, each a number, a text in t, or `Sampled(times, values)`
    """

    torque: Sequence[GivenInTime]

    moves = True
    turns = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "torque", components(self.torque, 3, "Torque.torque"))


@dataclass(frozen=True)
class Tweezers:
    """A spring from a point of a body to a fixed or moving point, as in optical tweezers: V = k/2 |x - anchor|^2.

    Parameters
    ----------
    k : stiffness
    anchor : three components in space, each a number, a text in t such as "12 + 0.1*t", or `Sampled(times, values)`
    at : the point, in the coordinates of the body; by default its centre of mass
    """

    k: float
    anchor: Sequence[GivenInTime]
    at: Sequence[float] = ORIGIN

    moves = True
    turns = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", check(self.k, "Tweezers.k", least=0.0))
        object.__setattr__(self, "anchor", components(self.anchor, 3, "Tweezers.anchor"))
        object.__setattr__(self, "at", tuple(vector(self.at, "Tweezers.at").tolist()))


@dataclass(frozen=True)
class Moved:
    """The motion of the end body is prescribed. Its kinetic energy is therefore not part of the energy of the chain.

    Parameters
    ----------
    position : of its centre of mass, three components in space, each a number, a text in t, or `Sampled(times, values)`; None:
        it stays at its start
    orientation : four components of a quaternion, scalar first, in the same forms, normalised. None: it does not turn

    Examples
    --------
    >>> import catena as ct
    >>> ct.Moved(position=("10 + t/5", 0, 0), orientation=("cos(t/2)", "sin(t/2)", 0, 0)).moves
    False
    """

    position: Sequence[GivenInTime] | None = None
    orientation: Sequence[GivenInTime] | None = None

    moves = False
    turns = False

    def __post_init__(self) -> None:
        for name, count in (("position", 3), ("orientation", 4)):
            given = getattr(self, name)
            if given is not None:
                object.__setattr__(self, name, components(given, count, f"Moved.{name}"))
        if self.orientation is not None and all(part == 0.0 for part in self.orientation):
            raise InputError("the orientation is 0", where="Moved.orientation", do="give a quaternion, as (1, 0, 0, 0)")


@dataclass(frozen=True)
class Displaced:
    """The position of the end body is fixed, but it turns freely.

    Parameters
    ----------
    position : of its centre of mass; None: that of its start
    """

    position: Sequence[float] | None = None

    moves = False
    turns = True

    def __post_init__(self) -> None:
        if self.position is not None:
            object.__setattr__(self, "position", tuple(vector(self.position, "Displaced.position").tolist()))


End = Free | Clamped | Force | Displaced | Moved | Tweezers | Torque
Loading = Force | Tweezers | Torque
KINDS: dict[str, type[End]] = {
    kind.__name__: kind for kind in (Free, Clamped, Force, Displaced, Moved, Tweezers, Torque)
}
LOADS: dict[str, type[Loading]] = {kind.__name__: kind for kind in (Force, Tweezers, Torque)}
GivenLoad: TypeAlias = "tuple[int, Loading] | Mapping[str, object]"


def describe_end(end: End) -> dict[str, Json]:
    """The description of an end or a load in a case."""
    left_out = end.at == ORIGIN if isinstance(end, (Force, Tweezers)) else False
    values = {name: value for name, value in vars(end).items() if value is not None and not (name == "at" and left_out)}
    return {"kind": type(end).__name__} | {
        name: value if isinstance(value, float) else [describe_in_time(part) for part in value]
        for name, value in values.items()
    }


def end_from(given: object, where: str) -> End:
    """An end, or the one that a case describes."""
    return _make(given, KINDS, "an end of a chain", where)


def loads_from(given: Sequence[GivenLoad], bodies: int) -> tuple[tuple[int, Loading], ...]:
    """Loads on bodies by index, as pairs or as described in a case; -1 is the last body."""
    if not isinstance(given, (list, tuple)):
        raise InputError(
            f"loads = {given!r} is no list", where="Chain.loads", do='give one, as in [(3, ct.Force(("t", 0, 0)))]'
        )
    found = []
    for number, one in enumerate(given):
        where = f"Chain.loads[{number}]"
        body: object
        what: object
        if isinstance(one, Mapping):
            body, what = one.get("body"), {name: value for name, value in one.items() if name != "body"}
        elif isinstance(one, (tuple, list)) and len(one) == 2:
            body, what = one
        else:
            raise InputError(
                f"{one!r} is no load", where=where, do='give (body, load), as in (3, ct.Force(("t", 0, 0)))'
            )
        found.append((number_of_one(body, bodies, f"{where}.body"), _make(what, LOADS, "a load on a body", where)))
    return tuple(found)


AnyEnd = TypeVar("AnyEnd", bound=End)


def _make(given: object, kinds: Mapping[str, type[AnyEnd]], what: str, where: str) -> AnyEnd:
    for known in kinds.values():
        if isinstance(given, known):
            return given
    arguments = dict(given) if isinstance(given, Mapping) else {}
    kind = arguments.pop("kind", given)
    if not isinstance(kind, str) or kind not in kinds:
        raise unknown_word(f"{kind!r} is not {what}", kind, kinds, where)
    try:
        return kinds[kind](**arguments)
    except TypeError:
        raise InputError(f"{kind} does not take {', '.join(arguments) or 'no argument'}", where=where) from None
