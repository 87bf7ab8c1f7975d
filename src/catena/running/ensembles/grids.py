"""Points of a sweep: named axes, every combination of their values, each repeated; members are numbered in that order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np
from numpy.typing import NDArray

from ... import memory
from ...errors import InputError
from ...text.plain import Json
from ..plan import positive_integer

LEAST_BYTES = 96.0  # of memory for a member of a sweep: index, plan and kind, start, time and step
REPEAT = "repeat"  # the axis of members with the same values
RESERVED = (REPEAT, "member", "time", "rng")


@dataclass(frozen=True, eq=False)
class Grid:
    """The axes of a sweep, in their order.

    Parameters
    ----------
    axes : values by name; each a row of numbers, of texts, or of anything that the function accepts
    repeats : number of members at each point
    """

    axes: Mapping[str, tuple[object, ...]]
    repeats: int = 1

    @classmethod
    def of(cls, given: object, repeats: object = 1) -> Grid:
        """From a dictionary of rows of values, every mistake explained."""
        if not isinstance(given, Mapping) or not given:
            raise InputError(
                f"grid = {given!r}", where="sweep.grid", do='give values by name, such as {"force": [1.0, 2.0, 3.0]}'
            )  # fmt: skip
        axes = {name: cls._values(name, values) for name, values in given.items()}
        grid = cls(axes, positive_integer(repeats, "repeats"))
        count = prod(grid.shape)  # len() is limited to sys.maxsize
        memory.require_room(
            LEAST_BYTES * count, what=f"the {count} members of the sweep", where="sweep.grid, sweep.repeats",
            do="give fewer values, or fewer repeats",
        )  # fmt: skip
        return grid

    @staticmethod
    def _values(name: object, values: object) -> tuple[object, ...]:
        if not isinstance(name, str) or not name or name in RESERVED:
            raise InputError(
                f"{name!r} cannot name an axis", where="sweep.grid", do=f"use a word other than {', '.join(RESERVED)}"
            )  # fmt: skip
        if isinstance(values, (str, bytes, Mapping)) or not isinstance(values, Iterable):
            raise InputError(
                f"{name} = {values!r} is not a row of values", where="sweep.grid", do="give a list or an array"
            )
        row = tuple(value.item() if isinstance(value, np.generic) else value for value in values)
        if not row:
            raise InputError(f"{name} has no values", where="sweep.grid", do="give one at least")
        return row

    def __len__(self) -> int:
        return prod(len(values) for values in self.axes.values()) * self.repeats

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the axes; that of the repeats comes last if there is more than one."""
        return (*(len(values) for values in self.axes.values()), *((self.repeats,) if self.repeats > 1 else ()))

    @property
    def dims(self) -> tuple[str, ...]:
        """Names of the axes, in that order."""
        return (*self.axes, *((REPEAT,) if self.repeats > 1 else ()))

    def __str__(self) -> str:
        return " x ".join(f"{length} {name}" for name, length in zip(self.dims, self.shape, strict=True))

    def points(self) -> Iterator[dict[str, object]]:
        """The values at each point, the last axis fastest; each point once, however often it is repeated."""
        for values in product(*self.axes.values()):
            yield dict(zip(self.axes, values, strict=True))

    def at(self, member: int) -> dict[str, Json]:
        """The coordinates of a member, by the names of the axes."""
        places = np.unravel_index(member, self.shape)
        along = {**self.coordinates(), REPEAT: np.arange(self.repeats)}
        return {name: along[name][place].item() for name, place in zip(self.dims, places, strict=True)}

    def shared(self, members: NDArray[np.int64]) -> dict[str, Json]:
        """The coordinates that these members share, by name, along the axes that have more than one value."""
        places = np.unravel_index(members, self.shape)
        along = {**self.coordinates(), REPEAT: np.arange(self.repeats)}
        return {
            name: along[name][place[0]].item()
            for name, place in zip(self.dims, places, strict=True)
            if len(along[name]) > 1 and (place == place[0]).all()
        }

    def coordinates(self) -> dict[str, np.ndarray]:
        """Values along each axis; indices if the values are neither numbers nor texts."""
        return {name: _coordinate(values) for name, values in self.axes.items()}

    def describe(self) -> dict[str, Json]:
        """The coordinates as JSON."""
        return {
            "axes": [{"name": name, "values": values.tolist()} for name, values in self.coordinates().items()],
            "repeats": self.repeats,
        }  # fmt: skip


def grid_from(axes: Sequence[Mapping[str, object]], repeats: object) -> Grid:
    """The grid from the JSON of `Grid.describe`."""
    return Grid.of({axis["name"]: axis["values"] for axis in axes}, repeats)


def _coordinate(values: tuple[object, ...]) -> np.ndarray:
    numbers = all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values)
    if numbers or all(isinstance(value, str) for value in values):
        return np.array(values)
    return np.arange(len(values))
