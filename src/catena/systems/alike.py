"""Sequences with many equal things: properties are computed once for each distinct one.

A chain of a million bodies has a handful of different ones. Python must do nothing a million times for a body.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cached_property
from typing import Any, Generic, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InputError

Thing = TypeVar("Thing", bound=Hashable)
Scalar = TypeVar("Scalar", bound=np.generic)
LISTED = 1000  # things that are described one by one


class Alike(Generic[Thing]):
    """Things in their order, and which of them are equal.

    Parameters
    ----------
    things : anything with a hash; identical objects are compared once

    Attributes
    ----------
    distinct : the different ones, in order of first appearance
    which : (n,) for each thing, its index in `distinct`

    Examples
    --------
    >>> row = Alike(["a", "b", "a", "a"])
    >>> row.distinct, row.which.tolist(), row.first.tolist()
    (('a', 'b'), [0, 1, 0, 0], [0, 1])
    >>> row.each(ord, np.int64).tolist()
    [97, 98, 97, 97]
    """

    def __init__(self, things: Sequence[Thing]) -> None:
        addresses = np.fromiter(map(id, things), dtype=np.int64, count=len(things))
        _, first, objects = np.unique(addresses, return_index=True, return_inverse=True)
        number: dict[Thing, int] = {}
        place = np.zeros(len(first), dtype=np.int64)
        for k in np.argsort(first):
            place[k] = number.setdefault(things[first[k]], len(number))
        self.distinct = tuple(number)
        self.which: NDArray[np.int64] = place[objects]

    @cached_property
    def first(self) -> NDArray[np.int64]:
        """Index of the first occurrence of each distinct thing."""
        return np.unique(self.which, return_index=True)[1].astype(np.int64)

    @overload
    def each(self, of: Callable[[Thing], ArrayLike]) -> NDArray[np.float64]: ...

    @overload
    def each(self, of: Callable[[Thing], ArrayLike], dtype: type[Scalar]) -> NDArray[Scalar]: ...

    def each(self, of: Callable[[Thing], ArrayLike], dtype: type[np.generic] = np.float64) -> np.ndarray:
        """The results of a function for all things, along the leading axis; it is called once for each distinct one."""
        return np.array([of(thing) for thing in self.distinct], dtype=dtype)[self.which]


def alike_together(*numbers: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Group rows that are equal in all columns: the first row of each group, and the group of each row.

    Examples
    --------
    >>> first, which = alike_together(np.array([0, 1, 0, 0]), np.array([5, 5, 5, 6]))
    >>> first.tolist(), which.tolist()
    ([0, 1, 3], [0, 1, 0, 2])
    """
    code = np.zeros(len(numbers[0]), dtype=np.int64)
    for column in numbers:
        code = code * (int(column.max(initial=0)) + 1) + column
        _, code = np.unique(code, return_inverse=True)  # keeps the products of the next columns small
    _, first, which = np.unique(code, return_index=True, return_inverse=True)
    order = np.argsort(first)
    return first[order].astype(np.int64), np.argsort(order)[which]


def describe_alike(described: Sequence[Any], which: NDArray[np.int64]) -> Any:
    """Descriptions of things in their order: a list; if long, the distinct ones and the indices of all things."""
    if len(which) <= LISTED:
        return [described[k] for k in which.tolist()]
    return {"kinds": list(described), "which": which.tolist()}


def alike_from(given: Mapping[str, Any], make: Callable[[Any, str], Any], where: str) -> list[Any]:
    """The long sequence from `describe_alike`; `make` gets each distinct description and its place once."""
    kinds, which = given["kinds"], given["which"]
    if set(given) != {"kinds", "which"} or not isinstance(kinds, list) or not isinstance(which, list):
        raise InputError(
            f"a table with {', '.join(map(str, given))} is not a row",
            where=where,
            do="give lists: kinds, and which of them stands where",
        )
    places = np.array(which)
    if places.ndim != 1 or places.dtype.kind != "i" or not ((places >= 0) & (places < len(kinds))).all():
        raise InputError(
            f"which names more than the {len(kinds)} kinds", where=f"{where}.which", do="count them from 0"
        )
    made = [make(kind, f"{where}.kinds[{k}]") for k, kind in enumerate(kinds)]
    return list(map(made.__getitem__, which))
