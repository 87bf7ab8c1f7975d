"""Shared by systems of several bodies: fields, input and description of bodies, and checked arrays of a start."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias, TypeGuard

import numpy as np

from .. import memory
from ..errors import InputError
from ..text.plain import Json
from .alike import Alike, alike_from, describe_alike
from .base import Array, Field
from .body import Body
from .numbers import finite_numbers, whole_number
from .phase_space import Pair, turning_axes

BYTES = 2000  # least memory of a body in a start, the arrays of its system and the first samples
MOMENTA_OF_BODIES = ("px", "py", "pz", "y1", "y2", "y3")  # in space, and along principal axes
GivenBodies: TypeAlias = Iterable[Body | Mapping[str, object]] | Mapping[str, object]  # from users or cases


def fields_of(n: int) -> tuple[Field, ...]:
    """Position, orientation, momentum and angular momentum of n bodies."""
    return (
        Field("position", (n, 3), ("body", "xyz"), "centres of mass"),
        Field("orientation", (n, 4), ("body", "wxyz"), "orientations, body to space, scalar first"),
        Field("momentum", (n, 3), ("body", "xyz"), "momenta"),
        Field("angular_momentum", (n, 3), ("body", "xyz"), "angular momenta in the bodies"),
    )


def require_memory(count: int, where: str) -> None:
    """Refuse more bodies than fit in memory, before any of them is made."""
    memory.require(count * BYTES, what=f"a system of {count} bodies", where=where, do="give fewer bodies")


def bodies_from(given: GivenBodies, *, least: int, where: str) -> tuple[Body, ...]:
    """Bodies as given, or from `describe_bodies` or a case."""
    if isinstance(given, Mapping) and "which" in given:
        given = alike_from(given, _body_from, where)
    elif isinstance(given, Mapping):
        described = dict(given)
        count = whole_number(described.pop("count", None), f"{where}.count", "give the number of bodies")
        given = [Body.from_description(described)] * count
    if isinstance(given, (str, Body)) or not isinstance(given, Iterable):
        raise InputError(f"bodies = {given!r} is no list of bodies", where=where, do="give one, such as [body] * 8")
    listed = tuple(given)
    if _are_bodies(listed):
        bodies = listed
    else:
        bodies = tuple(_body_from(body, f"{where}[{number}]") for number, body in enumerate(listed))
    if len(bodies) < least:
        wrong = "one body is too few" if bodies else "no body is given"
        raise InputError(wrong, where=where, do=f"give {'one' if least == 1 else 'two'} or more")
    return bodies


def _are_bodies(given: tuple[Body | Mapping[str, object], ...]) -> TypeGuard[tuple[Body, ...]]:
    """Whether all are bodies; of a million, only the class is checked."""
    return set(map(type, given)) == {Body}


def _body_from(given: Body | Mapping[str, object], where: str) -> Body:
    if isinstance(given, Body):
        return given
    if not isinstance(given, Mapping):
        raise InputError(f"{given!r} is no body", where=where, do="give a Body, such as Body.box((1, 1, 2), mass=3.0)")
    try:
        return Body.from_description(given)
    except InputError as trouble:
        _, dot, what = trouble.where.partition(".")  # to "Body.mass", the message adds the number of the body
        raise InputError(trouble.wrong, where=where + dot + what, do=trouble.do) from None


def describe_bodies(bodies: Alike[Body]) -> Json:
    """Descriptions for a case: equal bodies once, with their count."""
    described = [body.describe() for body in bodies.distinct]
    if len(described) == 1 and len(bodies.which) > 1:
        return {"count": len(bodies.which), **described[0]}
    return describe_alike(described, bodies.which)


def vector(values: object, where: str) -> Array:
    """Three finite numbers."""
    return finite_numbers(values, (3,), where=where, do="give three finite numbers")


def start_array(values: object, shape: tuple[int, int], name: str) -> Array:
    """A finite array of a start, one row for each body."""
    return finite_numbers(values, shape, where=f"start.{name}", do=f"give shape {shape}", rows="body")


def start_momenta(
    count: int, made_of: Callable[[Array], Array], *, prefix: str = "", velocity: object, momentum: object
) -> Array | None:
    """Momenta (count, 3) of a start, given directly or as velocities; None if neither is. `prefix` names the kind."""
    if velocity is not None and momentum is not None:
        raise InputError(f"both {prefix}velocity and {prefix}momentum are given", where="start", do="give one of them")
    if momentum is not None:
        return start_array(momentum, (count, 3), f"{prefix}momentum")
    return None if velocity is None else made_of(start_array(velocity, (count, 3), f"{prefix}velocity"))


def pairs_of(bodies: Sequence[Body], moves: Iterable[bool], turns: Iterable[bool]) -> tuple[Pair, Pair]:
    """Positions and orientations with their momenta, of the bodies that may move and turn."""
    there = [np.eye(3)[: 3 * bool(free)] for free in moves]
    round_about = [turning_axes(body)[: 3 * bool(free)] for body, free in zip(bodies, turns, strict=True)]
    return (
        Pair("position", "momentum", there),
        Pair("orientation", "angular_momentum", round_about, turning=True),
    )
