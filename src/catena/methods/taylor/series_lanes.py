"""Layout of the sums of a series: the columns of its table, and groups of four products.

A row of the table holds the coefficients of one order: first those of the variables, then those of the other factors. A
sum sum_k a_k b_{n-k} is a *lane*; four lanes are one instruction if their factors are in adjacent columns, or if one
factor is common to all four. So lanes are gathered into groups: a column times four adjacent columns, or four adjacent
columns times four. Places of a group that no sum needs are computed, too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

FOUR = 4


@dataclass(frozen=True)
class Operand:
    """A factor of a lane: the coefficients of a node, times their order if `weighted`."""

    place: int
    weighted: bool = False

    @property
    def name(self) -> str:
        """Name of the coefficients in the text."""
        return f"{'k' if self.weighted else 'x'}{self.place}"


Lane = tuple[Operand, Operand]


@dataclass(frozen=True)
class Group:
    """Four products: column `first` times the columns from `second` on; both run in parallel if `abreast`."""

    first: int
    second: int
    abreast: bool = False

    def columns(self) -> list[tuple[int, int]]:
        """The two columns of each product."""
        return [(self.first + (k if self.abreast else 0), self.second + k) for k in range(FOUR)]


@dataclass(frozen=True)
class Layout:
    """Columns of the table: the variables, then other operands; both start at an aligned vector.

    Attributes
    ----------
    variables : number of columns of the variables, padded
    columns : operand -> its column
    used, width : number of columns in use, and number of all columns: rows start at cache lines
    groups : products that are summed
    where : lane -> its group, and the place in it
    """

    variables: int
    columns: dict[Operand, int]
    used: int
    width: int
    groups: tuple[Group, ...]
    where: dict[Lane, tuple[int, int]]

    @classmethod
    def of(cls, variables: Sequence[Operand | None], lanes: Sequence[Lane]) -> Layout:
        """The layout for variables (None if no equation contains it) and the lanes that are needed."""
        first = _pad(len(variables), FOUR)
        columns = {operand: k for k, operand in enumerate(variables) if operand is not None}
        operands = dict.fromkeys(operand for lane in lanes for operand in lane)
        for operand in operands:
            columns.setdefault(operand, first + sum(column >= first for column in columns.values()))
        used = _pad(max(first, 1 + max(columns.values(), default=0)), FOUR)
        groups, where = _gather(lanes, columns)
        return cls(first, columns, used, _pad(used, 2 * FOUR), groups, where)

    @property
    def others(self) -> range:
        """First columns of the fours that are not variables."""
        return range(self.variables, self.used, FOUR)

    def is_of_variables(self, group: Group) -> bool:
        """Whether all its factors are variables: their newest coefficients are the first known of their order."""
        return max(group.first, group.second) < self.variables


def _gather(
    lanes: Sequence[Lane], columns: dict[Operand, int]
) -> tuple[tuple[Group, ...], dict[Lane, tuple[int, int]]]:
    """Groups that hold all lanes, chosen greedily: each time the group that holds most of the remaining lanes."""
    pairs = {lane: (columns[lane[0]], columns[lane[1]]) for lane in lanes}
    left, groups, where = dict(pairs), list[Group](), dict[Lane, tuple[int, int]]()
    while left:
        counts = Counter(group for pair in set(left.values()) for group in _groups_of(*pair))
        best = max(counts, key=lambda group: counts[group])  # the first of several: the same text on every machine
        places = {pair: k for k, pair in reversed(list(enumerate(best.columns())))}
        for lane, (a, b) in list(left.items()):
            place = places.get((a, b), places.get((b, a)))
            if place is not None:
                where[lane] = (len(groups), place)
                del left[lane]
        groups.append(best)
    return tuple(groups), where


def _groups_of(a: int, b: int) -> list[Group]:
    """The groups that could contain the product of two columns."""
    found = [Group(a, b - b % FOUR), Group(b, a - a % FOUR)]
    if a % FOUR == b % FOUR:
        low, high = sorted((a - a % FOUR, b - b % FOUR))
        found.append(Group(low, high, abreast=True))
    return list(dict.fromkeys(found))


def _pad(count: int, step: int) -> int:
    return -(-max(count, 1) // step) * step
