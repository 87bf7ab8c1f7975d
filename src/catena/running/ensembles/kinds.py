"""Systems and methods that differ only in numbers: one program for all of them, a row of parameters for each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...arrays import Array, Integers
from ...engine.arrays import Arrays
from ...engine.block import Members
from ...engine.build import program_parts
from ...engine.pairing import Pairing
from ...errors import InputError
from ...kernels.marks import Numbers
from ...methods.base import Method, find_stored_method
from ...systems.base import System, system_from
from ...text.plain import Json

WHERE = "ensemble.systems"
ROWS = (list, tuple, np.ndarray)
NUMBERS = (int, float, np.integer, np.floating)


@dataclass(frozen=True, eq=False)
class Kinds:
    """The different pairs of system and method of an ensemble, and the arrays for compiled code: a row for each, or a
    single row if all are equal.

    Attributes
    ----------
    pairings : each system with its method
    arrays : parameters and scratch of each
    tab : tables of the method, leading axis kind
    """

    pairings: tuple[Pairing, ...]
    arrays: tuple[Arrays, ...]
    tab: Array

    @classmethod
    def of(cls, pairs: Iterable[tuple[System, Method]]) -> Kinds:
        """InputError unless all of them share a program."""
        pairings = tuple(Pairing.of(system, method) for system, method in pairs)
        first, *others = pairings
        for number, other in enumerate(others, 1):
            _require_one_program(first, other, number)
        arrays = tuple(Arrays.of(one.system, one.view, one.stepper) for one in pairings)
        return cls(pairings, arrays, _rows([one.stepper.tab for one in pairings], "the tables of the method"))

    def members(self, z: Array, times: Array, *, kinds: Integers | None, dt: Array | float) -> Members:
        """Members with these stepped variables (m, n), start times, kinds (None: all the first) and steps."""
        count = len(z)
        which = np.zeros(count, dtype=np.int64) if kinds is None else kinds
        steps = np.array(np.broadcast_to(np.asarray(dt, dtype=float), (count,)))
        return Members(z, np.array(times, dtype=float), steps, self._par(steps), self.tab, which, np.arange(count))

    def _par(self, dt: Array) -> dict[str, Numbers]:
        """Parameters and scratch by name, leading axis kind."""
        method = self.pairings[0].method
        if self.arrays[0].timed is not None and (dt != dt[0]).any():
            raise InputError(
                f"{method} has tables for one step, but dt is {dt.min():g} to {dt.max():g}", where="ensemble.dt",
                do="give all members one dt; an ensemble for each dt is as fast",
            )  # fmt: skip
        each = [{**arrays.at(float(dt[0])), **arrays.scratch} for arrays in self.arrays]
        return {name: _rows([one[name] for one in each], f"par.{name}") for name in each[0]}


def _rows(arrays: Sequence[np.ndarray], what: str) -> np.ndarray:
    """A row for each kind, or one if all are equal."""
    first = arrays[0]
    if all(array is first or np.array_equal(array, first) for array in arrays):
        return first[None]
    for number, array in enumerate(arrays):
        if array.shape != first.shape:
            raise InputError(
                f"system {number} has {array.shape} numbers in {what}, system 0 has {first.shape}", where=WHERE,
                do="give systems that differ in the values of their numbers only; others make an ensemble of their own",
            )  # fmt: skip
    return np.stack(arrays)


def _require_one_program(first: Pairing, other: Pairing, number: int) -> None:
    """InputError if two pairs run different code."""

    def described_parts(pairing: Pairing) -> list[str]:
        _, stepper, parts = program_parts(pairing.system, pairing.method)
        return [pairing.view.name, str((stepper.work, stepper.carry)), *(part.text for part in parts)]

    def quickly(pairing: Pairing) -> tuple[object, ...]:  # fast, because most kernels are the same objects
        view, stepper = pairing.view, pairing.stepper
        return view.name, view.dimension, dict(view.fills), stepper.kernel, stepper.work, stepper.carry, stepper.rewind

    if quickly(first) != quickly(other) and described_parts(first) != described_parts(other):
        raise InputError(
            f"{other.method} on system {number}, {other.system.title}, makes its steps by other code than {first.method} on system 0, "
            f"{first.system.title}", where=WHERE, do="give systems and methods that differ in numbers only; others make an ensemble of their own",
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Varied:
    """Descriptions of systems, or of methods, that differ in numbers: one of them, the places where they differ, and the numbers there
    (kinds, places)."""

    base: Mapping[str, Json]
    places: tuple[str, ...]
    numbers: Array

    @classmethod
    def of(cls, things: Sequence[System] | Sequence[Method]) -> Varied:
        """InputError if they differ in anything else."""
        described = [thing.describe() for thing in things]
        found: dict[str, list[float]] = {}
        _compare(described, "", found, "method" if isinstance(things[0], Method) else "system")
        numbers = np.array(list(found.values()), dtype=float).reshape(len(found), len(things)).T
        return cls(described[0], tuple(found), numbers)

    def descriptions(self) -> Iterator[dict[str, Json]]:
        """The description of each system."""
        for row in self.numbers.tolist():
            numbers = dict(zip(self.places, row, strict=True))
            yield {name: _place(value, numbers, name) for name, value in self.base.items()}

    def overview(self) -> dict[str, Json]:
        """The common description, with the range of the numbers that differ: "1 to 4"."""
        ranges = {place: between(row) for place, row in zip(self.places, self.numbers.T, strict=True)}
        return {name: _place(value, ranges, name) for name, value in self.base.items()}

    def systems(self) -> tuple[System, ...]:
        """All systems."""
        return tuple(map(system_from, self.descriptions()))

    def methods(self) -> tuple[Method, ...]:
        """All methods."""
        return tuple(map(find_stored_method, self.descriptions()))


def between(numbers: Array) -> str:
    """The range, from lowest to highest."""
    return f"{numbers.min():g} to {numbers.max():g}"


def _compare(values: Sequence[object], place: str, found: dict[str, list[float]], what: str) -> None:
    first = values[0]
    tables = [
        value for value in values if isinstance(value, Mapping) and value.keys() == getattr(first, "keys", dict)()
    ]
    rows = [
        value for value in values if isinstance(value, ROWS) and isinstance(first, ROWS) and len(value) == len(first)
    ]
    if len(tables) == len(values):
        for name in tables[0]:
            _compare([table[name] for table in tables], f"{place}.{name}" if place else name, found, what)
    elif len(rows) == len(values):
        for number in range(len(rows[0])):
            _compare([row[number] for row in rows], f"{place}[{number}]", found, what)
    elif any(value != first for value in values):
        numbers = [value for value in values if isinstance(value, NUMBERS) and not isinstance(value, bool)]
        if len(numbers) < len(values):
            number = next(k for k, value in enumerate(values) if value != first)
            raise InputError(
                f"{place or 'the description'} of {what} {number} is {values[number]!r}, that of {what} 0 is {first!r}",
                where=f"ensemble.{what}s", do=f"give {what}s that differ in numbers only; others make an ensemble of their own",
            )  # fmt: skip
        found[place] = list(map(float, numbers))


def _place(described: Json, numbers: Mapping[str, float] | Mapping[str, str], place: str) -> Json:
    """A description with other numbers in some places; integers stay integers."""
    if isinstance(described, Mapping):
        return {name: _place(value, numbers, f"{place}.{name}") for name, value in described.items()}
    if isinstance(described, ROWS):
        return [_place(value, numbers, f"{place}[{number}]") for number, value in enumerate(described)]
    if place not in numbers:
        return described
    number = numbers[place]
    whole = isinstance(described, int) and not isinstance(number, str) and number == int(number)
    return int(number) if whole else number
