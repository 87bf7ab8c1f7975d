"""The ends of a chain: what holds or pulls its first and its last body."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...errors import InputError, nearest
from ...text.plain import Json
from ..many_bodies import vector


@dataclass(frozen=True)
class Free:
    """Nothing acts on the end body but its neighbour (and gravity)."""

    moves = True
    turns = True


@dataclass(frozen=True)
class Clamped:
    """The end body is held in place and orientation."""

    moves = False
    turns = False


@dataclass(frozen=True)
class Force:
    """A constant force acts on the centre of mass of the end body.

    Parameters
    ----------
    force : three numbers, in space
    """

    force: Sequence[float]

    moves = True
    turns = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "force", tuple(vector(self.force, "Force.force").tolist()))


@dataclass(frozen=True)
class Displaced:
    """The end body is held at a place, but turns freely.

    Parameters
    ----------
    position : where its centre of mass is held; None: where it starts
    """

    position: Sequence[float] | None = None

    moves = False
    turns = True

    def __post_init__(self) -> None:
        if self.position is not None:
            object.__setattr__(self, "position", tuple(vector(self.position, "Displaced.position").tolist()))


End = Free | Clamped | Force | Displaced
KINDS: dict[str, type[End]] = {kind.__name__: kind for kind in (Free, Clamped, Force, Displaced)}


def describe_end(end: End) -> dict[str, Json]:
    """An end as a case writes it."""
    values = {name: list(value) for name, value in vars(end).items() if value is not None}
    return {"kind": type(end).__name__, **values}


def end_from(given: object, where: str) -> End:
    """An end, or the one that a case describes."""
    if isinstance(given, (Free, Clamped, Force, Displaced)):
        return given
    arguments = dict(given) if isinstance(given, Mapping) else {}
    kind = arguments.pop("kind", given)
    if kind not in KINDS:
        raise InputError(
            f"{kind!r} is not an end of a chain{nearest(str(kind), list(KINDS))}", where=where,
            do=f"choose one of {', '.join(KINDS)}",
        )  # fmt: skip
    try:
        return KINDS[kind](**arguments)
    except TypeError:
        raise InputError(f"{kind} does not take {', '.join(arguments) or 'no argument'}", where=where) from None
