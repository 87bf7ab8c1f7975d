"""Interactions of the links of a chain in tiles, if links differ: which potentials act between which particles, and the
places of their constants.

Lanes hold links side by side and all execute the same code, so whatever differs between links is stored in rows:
constants, and a number by which a link selects among the potentials that occur at the same two particles in some link.
Bodies with fewer particles than others repeat their last one, and no link selects an interaction there. What no link
selects is not computed at all: bodies that alternate between four and five particles have no pair of two fifth
particles.
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
    """A potential at links that differ at most in its constants."""

    kernel: Kernel
    width: int  # constants
    at: int  # the first of them: among those of all pair potentials, or the first row
    in_rows: bool
    chosen: tuple[int, int] | None  # row and number by which links select it; None: it acts at all links


class Terms(NamedTuple):
    """All interactions at the links of a chain."""

    pairs: dict[tuple[int, int], tuple[Term, ...]]  # by particle of the left and of the right body
    bonds: tuple[Term, ...]
    rows: Array  # (links, rows): whatever differs between links

    @property
    def kernels(self) -> list[Kernel]:
        """The different kernels of pairs."""
        return list(dict.fromkeys(term.kernel for terms in self.pairs.values() for term in terms))

    @property
    def evaluations(self) -> int:
        """Number of pair potentials that are computed for each link, selected or not."""
        return sum(map(len, self.pairs.values()))


class Rows:
    """Rows of numbers for all links, each stored once."""

    def __init__(self, links: int) -> None:
        self._links = links
        self._columns: list[Array] = []
        self._known: dict[tuple[str, Hashable], int] = {}

    def place(self, key: tuple[str, Hashable], columns: Array) -> int:
        """The first row of these (links, width), identified by their key: by structure, never by value."""
        if key not in self._known:
            self._known[key] = sum(column.shape[1] for column in self._columns)
            self._columns.append(columns)
        return self._known[key]

    @property
    def table(self) -> Array:
        """All rows, (links, rows)."""
        return np.concatenate([np.zeros((self._links, 0)), *self._columns], axis=1)


def terms_of(acting: Interactions) -> Terms:
    """The terms of all links of a chain."""
    rows = Rows(acting.count)
    bonds = _bonds(acting, rows) if acting.has_bonds else ()
    pairs = _pairs(acting, rows) if acting.has_pairs else {}
    return Terms(pairs, bonds, rows.table)


def pairs_that_act(acting: Interactions) -> float:
    """Mean number per link of pairs of particles that interact."""
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
    """For each two places of particles, in the order in which forces are summed, the interactions there."""
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
    """The potentials of links of all kinds at two places, by their numbers for each kind."""
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
