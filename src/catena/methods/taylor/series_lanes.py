"""Where the sums of a series are formed: the columns of its table, and groups of four products.

A row of the table holds the coefficients of one order: of the variables first, then of what else is multiplied. A sum
sum_k a_k b_{n-k} is a *lane*; four lanes are one instruction if their factors are neighbours, or one of them is the same for all. So lanes are
gathered into groups: a column times four neighbours, or four neighbours times four. Places of a group that nobody asked for are computed, too.
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
        """What the coefficients are called in the text."""
        return f"{'k' if self.weighted else 'x'}{self.place}"


Lane = tuple[Operand, Operand]


@dataclass(frozen=True)
class Group:
    """Four products: of column `first` with the columns from `second` on, or of both side by side if `abreast`."""

    first: int
    second: int
    abreast: bool = False

    def columns(self) -> list[tuple[int, int]]:
        """The two columns of each product."""
        return [(self.first + (k if self.abreast else 0), self.second + k) for k in range(FOUR)]


@dataclass(frozen=True)
class Layout:
    """Columns of the table: the variables, then other operands; both begin where a vector may.

    Attributes
    ----------
    variables : how many columns the variables take, padded
    columns : operand -> its column
    used, width : how many columns hold something, and how many there are: rows begin at lines of memory
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
        """For variables, None where one stands in no equation, and the lanes that are wanted."""
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
        """Where groups of four columns begin that are no variables."""
        return range(self.variables, self.used, FOUR)

    def is_of_variables(self, group: Group) -> bool:
        """Whether all its factors are variables, whose newest coefficients are known before anything else of their order."""
        return max(group.first, group.second) < self.variables


def _gather(
    lanes: Sequence[Lane], columns: dict[Operand, int]
) -> tuple[tuple[Group, ...], dict[Lane, tuple[int, int]]]:
    """Groups that hold all lanes: again and again the one that holds most of what is left."""
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
    """The groups in which a product of two columns could stand."""
    found = [Group(a, b - b % FOUR), Group(b, a - a % FOUR)]
    if a % FOUR == b % FOUR:
        low, high = sorted((a - a % FOUR, b - b % FOUR))
        found.append(Group(low, high, abreast=True))
    return list(dict.fromkeys(found))


def _pad(count: int, step: int) -> int:
    return -(-max(count, 1) // step) * step
