"""Twist, writhe and linking number of a chain: for a state, or for the samples of a run; see `geometry.ribbons`."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Array
from ..engine.build import compile_function
from ..errors import CapabilityError, InputError
from ..geometry import rotations
from ..geometry.ribbons import twist_of, writhe_of
from ..systems.chain.chain import Chain
from ..systems.numbers import finite_numbers

WORTH_COMPILING = 64  # bodies; for fewer, plain Python is faster


@cache
def _compiled_writhe() -> Callable[..., float]:
    return compile_function(writhe_of, "types.float64", (2, 0), "writhe of a polygon")


def writhe(chain: Chain, position: Array) -> float:
    """Writhe of the polygon through the centres of mass, (n, 3)."""
    _check_links(chain, position)
    writhe_of_many = _compiled_writhe() if chain.count > WORTH_COMPILING else writhe_of
    return float(writhe_of_many(np.ascontiguousarray(position, dtype=float), int(chain.closed)))


def twist(chain: Chain, position: Array, orientation: Array, director: Array) -> float:
    """Twist of a direction fixed in all bodies about the polygon through their centres of mass, in turns."""
    _check_links(chain, position)
    return twist_of(position, rotations.rotate(orientation, director), closed=chain.closed)


def linking_number(chain: Chain, position: Array, orientation: Array, director: Array) -> int:
    """Sum of twist and writhe, an integer for a ring."""
    if not chain.closed:
        raise CapabilityError(
            "an open chain has no linking number: it can be unlinked over its ends", where="Chain.closed",
            do="make the chain with closed=True, or ask for its twist and its writhe",
        )  # fmt: skip
    return round(twist(chain, position, orientation, director) + writhe(chain, position))


def director_from(given: ArrayLike) -> Array:
    """A direction in the axes of the bodies."""
    director = finite_numbers(given, (3,), where="director", do="give three numbers, in the axes of the bodies")
    if not director.any():
        raise InputError("the director is zero", where="director", do="give a direction in the axes of the bodies")
    return director


def _check_links(chain: Chain, position: Array) -> None:
    left, right = chain.interactions.sides
    same = np.flatnonzero((position[left] == position[right]).all(axis=1))
    if same.size:
        raise InputError(
            f"bodies {left[same[0]]} and {right[same[0]]} are at one place: nothing is between them that could be twisted",
            where=f"position[{left[same[0]]}]", do="move them apart",
        )  # fmt: skip
