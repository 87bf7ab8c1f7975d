"""A pair potential for each pair of particle types."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ...errors import InputError
from ...text.plain import Json
from .pairwise import NO_TYPE, Pairwise, potential_from, register

Type = int | str
NONE = "none"


@register
@dataclass(frozen=True)
class PairTable:
    """The potentials between particles, by their types.

    Parameters
    ----------
    pairs : (type, type) -> potential, in either order of the types; None for no interaction

    Examples
    --------
    >>> from catena.systems.potentials.pair_potentials import WCA, LennardJones, PairTable
    >>> table = PairTable({("A", "A"): LennardJones(1.0, 1.0), ("A", "B"): WCA(1.0, 1.0), ("B", "B"): None})
    >>> table.between("B", "A")
    WCA(epsilon=1.0, sigma=1.0)
    """

    pairs: Mapping[tuple[Type, Type], Pairwise | None] = field(hash=False)

    def __post_init__(self) -> None:
        if not isinstance(self.pairs, Mapping) or not self.pairs:
            raise InputError(
                f"pairs = {self.pairs!r}", where="PairTable", do='write {("A", "B"): LennardJones(1.0, 1.0), ...}'
            )
        pairs: dict[tuple[Type, Type], Pairwise | None] = {}
        for types, potential in self.pairs.items():
            if not isinstance(types, tuple) or len(types) != 2 or not all(_is_type(name) for name in types):
                raise InputError(f"{types!r} are no two types", where="PairTable", do="give two integers or names")
            if potential is not None and not isinstance(potential, Pairwise):
                raise InputError(
                    f"{potential!r} is no pair potential", where=f"PairTable{types!r}", do="give one, or None"
                )
            ordered = _order(*types)
            if ordered in pairs and pairs[ordered] != potential:
                raise InputError(
                    f"two potentials for {ordered[0]!r} and {ordered[1]!r}", where="PairTable", do="give one of them"
                )
            pairs[ordered] = potential
        object.__setattr__(self, "pairs", dict(sorted(pairs.items(), key=lambda pair: [_rank(t) for t in pair[0]])))

    def __hash__(self) -> int:
        return hash(tuple(self.pairs.items()))

    def between(self, first: Type, second: Type) -> Pairwise | None:
        """The potential between particles of two types; None means no interaction, as always with type "none"."""
        if NO_TYPE in (first, second):
            return None
        try:
            return self.pairs[_order(first, second)]
        except KeyError:
            raise InputError(
                f"there is no potential for particles of types {first!r} and {second!r}", where="PairTable",
                do=f"add ({first!r}, {second!r}): a potential, or None for no interaction",
            ) from None  # fmt: skip

    @property
    def potentials(self) -> tuple[Pairwise, ...]:
        """The potentials that act, each once."""
        return tuple(dict.fromkeys(potential for potential in self.pairs.values() if potential is not None))

    @property
    def smoothness(self) -> float:
        """That of the least smooth one."""
        return min((potential.smoothness for potential in self.potentials), default=math.inf)

    @property
    def reach(self) -> float:
        """The longest reach."""
        return max((potential.reach for potential in self.potentials), default=0.0)

    @property
    def length(self) -> float:
        """The smallest length; `between(...).length` is that of a pair."""
        return min((potential.length for potential in self.potentials if potential.length > 0), default=0.0)

    @property
    def cohesion(self) -> float:
        """The largest cohesion."""
        return max((potential.cohesion for potential in self.potentials), default=0.0)

    @property
    def torn_distance(self) -> float:
        """The largest distance at which one of the attracting potentials still holds."""
        reaches = (potential.torn_distance for potential in self.potentials if potential.cohesion > 0)
        return max(reaches, default=math.inf)

    def __add__(self, other: Pairwise | PairTable) -> PairTable:
        if isinstance(other, Pairwise):
            return PairTable({types: _sum(potential, other) for types, potential in self.pairs.items()})
        if not isinstance(other, PairTable):
            return NotImplemented
        for types in {**self.pairs, **other.pairs}:
            self.between(*types)
            other.between(*types)
        return PairTable({types: _sum(potential, other.pairs[types]) for types, potential in self.pairs.items()})

    def __radd__(self, other: Pairwise) -> PairTable:
        if not isinstance(other, Pairwise):
            return NotImplemented
        return PairTable({types: _sum(other, potential) for types, potential in self.pairs.items()})

    def describe(self) -> dict[str, Json]:
        """The description in a case: a list of [type, type, potential or "none"]."""
        pairs = [[*types, NONE if p is None else p.describe()] for types, p in self.pairs.items()]
        return {"kind": "PairTable", "pairs": pairs}

    @classmethod
    def from_arguments(cls, arguments: Mapping[str, object]) -> PairTable:
        """The table from the JSON of `describe`, without its kind."""
        return cls(dict(_entries(arguments["pairs"])))


def _entries(listed: object) -> Iterable[tuple[tuple[Type, Type], Pairwise | None]]:
    for entry in listed if isinstance(listed, (list, tuple)) else [listed]:
        if not isinstance(entry, (list, tuple)) or len(entry) != 3:
            raise InputError(
                f"{entry!r} is no entry of a table", where="PairTable.pairs",
                do='write ["A", "B", { kind = "WCA", epsilon = 1.0, sigma = 1.0 }], or "none" for no interaction',
            )  # fmt: skip
        first, second, description = entry
        yield (first, second), None if description == NONE else _pair_potential(description, (first, second))


def _pair_potential(description: object, types: tuple[object, object]) -> Pairwise:
    potential = pair_potential_from(description)
    if isinstance(potential, PairTable):
        raise InputError(f"{potential!r} is no pair potential", where=f"PairTable{types!r}", do="give one, or None")
    return potential


def _sum(first: Pairwise | None, second: Pairwise | None) -> Pairwise | None:
    return first + second if first is not None and second is not None else first or second


def _is_type(name: object) -> bool:
    return isinstance(name, (int, str)) and not isinstance(name, bool)


def _order(first: Type, second: Type) -> tuple[Type, Type]:
    return (first, second) if _rank(first) <= _rank(second) else (second, first)


def _rank(name: Type) -> tuple[bool, int, str]:
    """Integers before names."""
    return (True, 0, name) if isinstance(name, str) else (False, name, "")


def pair_potential_from(description: object) -> Pairwise | PairTable:
    """The pair potential, or table of them, from the JSON of `describe` or from a case.

    Examples
    --------
    >>> from catena.systems.potentials.pair_potentials import pair_potential_from
    >>> pair_potential_from({"kind": "LennardJones", "epsilon": 5.0, "sigma": 1.0})
    LennardJones(epsilon=5.0, sigma=1.0)
    """
    made = potential_from(description)
    if not isinstance(made, (Pairwise, PairTable)):
        raise InputError(
            f"{type(made).__name__} is no pair potential", where="potential.kind", do="give a potential of the distance"
        )
    return made
