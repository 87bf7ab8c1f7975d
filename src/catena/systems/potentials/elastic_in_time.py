"""Elastic links that depend on time: numbers, texts and tables, in rows with the names of `list_timed_values`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike

from ...errors import InputError
from ...text.plain import Json
from ..sampled import InTime, Sampled, depends_on_time, describe_in_time
from .pairwise import number_or_in_time


class Moving(NamedTuple):
    """Stiffness and rest in rows: (36,) and (6,)."""

    stiffness: tuple[InTime, ...]
    rest: tuple[InTime, ...]


def numbers_of(stiffness: ArrayLike, rest: Sequence[ArrayLike]) -> Moving | tuple[ArrayLike, Sequence[ArrayLike]]:
    """Rows of numbers, texts in t and tables if any text or table is given; otherwise the values, or matrices again."""
    if _are_numbers(stiffness) and isinstance(rest, Sequence) and all(map(_are_numbers, rest)):
        matrix = np.reshape(stiffness, (6, 6)) if _is_row(stiffness, 36) else stiffness
        return matrix, np.reshape(cast("Sequence[float]", rest), (2, 3)).tolist() if _is_row(rest, 6) else rest
    rows = _flat(stiffness), _flat(rest)
    if not any(isinstance(one, (str, Sampled, Mapping)) for row in rows for one in row):
        return stiffness, rest  # whatever it is
    if len(rows[0]) != 36 or len(rows[1]) != 6:
        raise InputError(
            f"{len(rows[0])} numbers of the stiffness and {len(rows[1])} of the rest, some of which depend on time", where="Elastic",
            do="give 6 rows of 6, three coordinates of the rotation and three of the translation, for all links",
        )  # fmt: skip
    made = Moving(
        tuple(number_or_in_time(one, "Elastic.stiffness") for one in rows[0]),
        tuple(number_or_in_time(one, "Elastic.rest") for one in rows[1]),
    )
    for i in range(6):
        for j in range(i):
            one, other = made.stiffness[6 * i + j], made.stiffness[6 * j + i]
            if one is not other and one != other:
                raise InputError(
                    f"the stiffness is not symmetric: {one!r} and {other!r}", where="Elastic.stiffness",
                    do="write the same on both sides of the diagonal",
                )  # fmt: skip
    return (
        made
        if any(map(depends_on_time, (*made.stiffness, *made.rest)))
        else numbers_of(
            np.array(made.stiffness, dtype=float).reshape(6, 6), np.array(made.rest, dtype=float).reshape(2, 3).tolist()
        )
    )


def _are_numbers(given: object) -> bool:
    """Whether numpy accepts it as an array of numbers; long tables are not checked element by element."""
    try:
        return np.asarray(given).dtype.kind in "fiu"
    except ValueError:
        return False


def _flat(given: object) -> list[object]:
    if isinstance(given, np.ndarray):
        given = given.tolist()
    if isinstance(given, Sequence) and not isinstance(given, str):
        return [one for part in given for one in _flat(part)]
    return [given]


def _is_row(given: object, count: int) -> bool:
    return isinstance(given, tuple) and len(given) == count and all(isinstance(one, float) for one in given)


def constants_of(given: object) -> tuple[float, ...]:
    """The rest, then the upper triangle of the stiffness: numbers, or symbols for them."""
    stiffness, rest = cast("tuple[tuple[float, ...], tuple[float, ...]]", given)
    return (*rest, *(stiffness[6 * i + j] for i in range(6) for j in range(i, 6)))


def describe(given: object) -> dict[str, Json]:
    """The description in a case."""
    stiffness, rest = cast("Moving", given)
    rows = [[describe_in_time(one) for one in stiffness[k : k + 6]] for k in range(0, 36, 6)]
    return {"stiffness": rows, "rest": [[describe_in_time(one) for one in part] for part in (rest[:3], rest[3:])]}
