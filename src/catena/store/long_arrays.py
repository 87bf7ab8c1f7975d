"""Long rows of numbers in the description of a run: stored as arrays next to the JSON, which refers to them.

For a chain of a hundred thousand bodies the start alone would be 45 MB of digits. Each array is named by its place in
the description, so no array can be used twice, and none can be left unused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from catena.store.checking import show

LONG = 1000  # largest number of values of a row that stays in the JSON
KEY = "given"  # key of a table that refers to an array
NUMBERS = (np.dtype("<f8"), np.dtype("<i8"))


def set_apart(described: Any, arrays: dict[str, NDArray[Any]], place: str = "") -> Any:
    """The description as JSON without its long rows of numbers, which are added to the arrays.

    Parameters
    ----------
    described : tables and lists of JSON values, and arrays of numbers
    arrays : by place, such as "start.position"

    Examples
    --------
    >>> apart = {}
    >>> set_apart({"few": np.arange(3), "many": [0.5] * 2000}, apart)
    {'few': [0, 1, 2], 'many': {'given': 'many'}}
    >>> apart["many"].shape
    (2000,)
    """
    if isinstance(described, Mapping):
        return {
            name: set_apart(value, arrays, f"{place}.{name}" if place else name) for name, value in described.items()
        }
    numbers = described if isinstance(described, np.ndarray) else _numbers_in(described)
    if numbers is not None and numbers.size > LONG:
        arrays[place] = numbers.astype(NUMBERS[numbers.dtype.kind == "i"], copy=False)
        return {KEY: place}
    if isinstance(described, np.ndarray):
        return described.tolist()
    if isinstance(described, (list, tuple)):
        return [set_apart(value, arrays, f"{place}[{number}]") for number, value in enumerate(described)]
    return described


def _numbers_in(described: Any) -> NDArray[Any] | None:
    """A list of numbers, or of equally long lists of numbers, as an array; None if it is anything else."""
    first = described
    while isinstance(first, (list, tuple)) and first:
        first = first[0]
    if first is described or isinstance(first, bool) or not isinstance(first, (int, float)):
        return None
    try:
        found = np.array(described)
    except ValueError:  # lists of different lengths
        return None
    return found if found.dtype in NUMBERS else None


def put_back(described: Any, arrays: Mapping[str, NDArray[Any]]) -> Any:
    """The description with its long rows of numbers; ValueError unless each array is finite and used exactly once."""
    if not arrays:
        return described
    left = dict(arrays)
    whole = _put_back(described, left, "")
    if left:
        raise ValueError(f"{show(sorted(left)[0])} is given, but stands nowhere")
    return whole


def _put_back(described: Any, left: dict[str, NDArray[Any]], place: str) -> Any:
    if isinstance(described, list):
        return [_put_back(value, left, f"{place}[{number}]") for number, value in enumerate(described)]
    if not isinstance(described, dict):
        return described
    if described == {KEY: place}:
        found = left.pop(place, None)
        if found is None:
            raise ValueError(f"{show(place)} is not given")
        if found.dtype not in NUMBERS or not np.isfinite(found).all():
            raise ValueError(f"{show(place)} holds {found.dtype}, or what is not finite")
        return found
    return {name: _put_back(value, left, f"{place}.{name}" if place else name) for name, value in described.items()}


def as_lists(described: Any) -> Any:
    """The description with lists in place of arrays."""
    if isinstance(described, dict):
        return {name: as_lists(value) for name, value in described.items()}
    if isinstance(described, list):
        return [as_lists(value) for value in described]
    return described.tolist() if isinstance(described, np.ndarray) else described
