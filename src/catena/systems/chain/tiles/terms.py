"""What acts at the links of a chain in tiles, where links differ: which potentials meet at which particles, and where their constants stand.

Lanes hold links side by side and all do the same, so what differs between links stands in rows: constants, and a number by which a link chooses
among the potentials that occur at the same two particles in some link. Bodies with fewer particles than others hold their last one once more,
and no link chooses what acts there. What is chosen nowhere is not computed at all: bodies of four and of five particles in turn have no pair of two
fifth ones.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....kernels.marks import Kernel

if TYPE_CHECKING:
    from ...base import Array
    from ..interactions import Interactions

NOBODY = -1  # chooses nothing


class Term(NamedTuple):
    """A potential at links that differ in its constants at most."""

    kernel: Kernel
    width: int  # constants
    at: int  # the first of them: among those of all pair potentials, or the first row
    in_rows: bool
    chosen: tuple[int, int] | None  # row and number by which links choose it; None: it acts at all links


class Terms(NamedTuple):
    """All that acts at the links of a chain."""

    pairs: dict[tuple[int, int], tuple[Term, ...]]  # by particle of the left and of the right body
    bonds: tuple[Term, ...]
    rows: Array  # (links, rows): what differs between links

    @property
    def kernels(self) -> list[Kernel]:
        """The different kernels of pairs."""
        return list(dict.fromkeys(term.kernel for terms in self.pairs.values() for term in terms))

    @property
    def evaluations(self) -> int:
        """Pair potentials that are computed for each link, chosen or not."""
        return sum(map(len, self.pairs.values()))


class Rows:
    """Rows of numbers for all links, each kept once."""

    def __init__(self, links: int) -> None:
        self._links = links
        self._columns: list[Array] = []
        self._known: dict[tuple[str, Hashable], int] = {}

    def place(self, key: tuple[str, Hashable], columns: Array) -> int:
        """The first row of these (links, width), which are known by their key: what differs is told by structure, never by value."""
        if key not in self._known:
            self._known[key] = sum(column.shape[1] for column in self._columns)
            self._columns.append(columns)
        return self._known[key]

    @property
    def table(self) -> Array:
        """All of them, (links, rows)."""
        return np.concatenate([np.zeros((self._links, 0)), *self._columns], axis=1)


def terms_of(acting: Interactions) -> Terms:
    """The terms of all links of a chain."""
    rows = Rows(acting.count)
    bonds = _bonds(acting, rows) if acting.has_bonds else ()
    pairs = _pairs(acting, rows) if acting.has_pairs else {}
    return Terms(pairs, bonds, rows.table)


def pairs_that_act(acting: Interactions) -> float:
    """Pairs of particles between which something acts, for a link, on the average."""
    kinds = np.bincount(acting.kinds[1])
    return float(((acting.numbers_of_pairs() >= 0).sum(axis=(1, 2)) * kinds).sum() / acting.count)


def _bonds(acting: Interactions, rows: Rows) -> tuple[Term, ...]:
    which, groups = acting.arrays["link_which"], acting.bond_set.groups
    group = np.searchsorted([one.end for one in groups], which, side="right")
    group[which < 0] = NOBODY
    chosen = None
    if len(groups) > 1 or (which < 0).any():
        chosen = rows.place(("choice of bonds", None), group[:, None].astype(float))
    terms = []
    for number, one in enumerate(groups):
        mine = group == number
        columns = np.zeros((acting.count, one.table.shape[1]))
        columns[mine] = one.table[which[mine] - one.first]
        at = rows.place(("bond", number), columns)
        terms.append(Term(one.force, one.table.shape[1], at, True, None if chosen is None else (chosen, number)))
    return tuple(terms)


def _pairs(acting: Interactions, rows: Rows) -> dict[tuple[int, int], tuple[Term, ...]]:
    """For each two places of particles, in the order in which forces are added up, what acts there."""
    numbers, kind_of_link = acting.numbers_of_pairs(), acting.kinds[1]
    found: dict[tuple[int, int], tuple[Term, ...]] = {}
    known: dict[bytes, tuple[Term, ...]] = {}
    for k, l in np.ndindex(numbers.shape[1:]):
        column = np.ascontiguousarray(numbers[:, k, l])
        if column.tobytes() not in known:
            known[column.tobytes()] = _cell(acting, column, kind_of_link, rows)
        if known[column.tobytes()]:
            found[k, l] = known[column.tobytes()]
    return found


def _cell(
    acting: Interactions, column: NDArray[np.int64], kind_of_link: NDArray[np.int64], rows: Rows
) -> tuple[Term, ...]:
    """The potentials that links of all kinds have at two places, by their numbers for each kind."""
    potentials, places = acting.pair_set.potentials, acting.pair_set.places
    kernels: dict[Kernel, list[int]] = {}
    for number in np.unique(column[column >= 0]).tolist():
        potential = potentials[number]
        assert potential is not None
        kernels.setdefault(potential.kernel("force"), []).append(number)
    if not kernels:
        return ()
    choice = np.full(len(column), NOBODY)
    for k, members in enumerate(kernels.values()):
        choice[np.isin(column, members)] = k
    chosen = None
    if choice.any():
        chosen = rows.place(("choice", choice.tobytes()), choice[kind_of_link, None].astype(float))
    terms = []
    for k, (kernel, members) in enumerate(kernels.items()):
        width, at = places[members[0] + 1] - places[members[0]], places[members[0]]
        if len(members) > 1:
            mine = np.where(choice == k, column, members[0])
            columns = acting.pair_set.values[places[mine][:, None] + np.arange(width)]
            at = rows.place(("pair", mine.tobytes()), columns[kind_of_link])
        terms.append(Term(kernel, int(width), int(at), len(members) > 1, None if chosen is None else (chosen, k)))
    return tuple(terms)
