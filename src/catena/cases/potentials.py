"""The potentials of a case: of pairs of particles, of links, and their sums."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Annotated, Any, ForwardRef, Literal, TypeAlias

from pydantic import Discriminator, Field, Tag

from ..systems.potentials.link_potentials import POSITION, ROTATION, Potential
from ..systems.potentials.pair_table import PairTable, pair_potential_from
from ..systems.potentials.pairwise import POTENTIALS, Pairwise, potential_from
from ..systems.sampled import TIME
from .bodies import Quaternion
from .positions import Path
from .tables import Filled, InTime, InTimeVector, Table, Text, name_the_key, tables_of

SINGLE, PER_LINK = "<single>", "<per link>"  # tags of the two ways to give a potential; no key has such a name
if TYPE_CHECKING:
    NESTED = Table
else:
    NESTED = ForwardRef("AnyPotential")


class PairPotentialTable(Table):
    """V(r) as text."""

    kind: Literal["PairPotential"]
    text: Filled = Field(description="V in r, t and the parameters")
    parameters: dict[str, InTime] = Field(
        {}, description="name -> value: a number, a text in t, or a table of times and values"
    )


class LinkPotentialTable(Table):
    """V of relative position and rotation, as text."""

    kind: Literal["LinkPotential"]
    text: Filled = Field(description="V in d1 d2 d3, Q11 .. Q33, t and the parameters")
    parameters: dict[str, InTime] = Field(
        {}, description="name -> value: a number, a text in t, or a table of times and values"
    )


class BendTwistTable(Table):
    """The energy of a rod: stretching, bending and twisting."""

    kind: Literal["BendTwist"]
    stretch: InTime = Field(description="a number, a text in t, or a table of times and values; so are the next ones")
    bend: InTime
    twist: InTime
    d0: InTimeVector = Field(description="relative position at rest; numbers, texts in t, or tables")
    q0: Quaternion = Field([1.0, 0.0, 0.0, 0.0], description="relative orientation at rest")


def _depth(value: object) -> str:
    """Nesting depth of lists, as a tag; None if the value is no list."""
    count = 0
    while isinstance(value, list) and value:
        count, value = count + 1, value[0]
    return f"<{count}>"


Six = Annotated[list[InTime], Field(min_length=6, max_length=6)]
SixBySix = Annotated[list[Six], Field(min_length=6, max_length=6)]
Part: TypeAlias = Annotated[
    Annotated[list[InTime], Tag("<1>")] | Annotated[list[list[float]], Tag("<2>")] | Annotated[list[list[list[float]]], Tag("<3>")],
    Discriminator(lambda value: {"<2>": "<2>", "<3>": "<3>"}.get(_depth(value), "<1>")),
]  # fmt: skip


class ElasticTable(Table):
    """An energy quadratic in six coordinates of the relative pose: rotation first, then translation."""

    kind: Literal["Elastic"]
    stiffness: Annotated[
        Annotated[SixBySix, Tag("<2>")] | Annotated[list[SixBySix], Tag("<3>")],
        Discriminator(lambda value: "<3>" if _depth(value) == "<3>" else "<2>"),
    ] = Field(
        description="six rows of six numbers, symmetric, or texts in t, or tables of times and values; or rows of numbers for each link"
    )
    rest: list[Part] = Field(
        min_length=2, max_length=2,
        description="rotation (coordinates, a quaternion or a matrix) and translation at rest; or rows of them, one for each link",
    )  # fmt: skip
    coordinates: Literal["cayley", "exponential"] = Field(
        "cayley", description="of the rotation: 2 tan(phi/2) n, or phi n"
    )
    frame: Literal["first", "middle"] = Field(
        "first", description="axes of the translation: of the first body, or half-way"
    )


class SwitchedTable(Table):
    """A potential that ends smoothly at r_cut."""

    kind: Literal["Switched"]
    potential: NESTED = Field(description="a potential of the distance")
    r_on: InTime = Field(description="where it begins to fall: a number, a text in t, or a table of times and values")
    r_cut: InTime = Field(description="where it is zero; alike")
    smoothness: int = Field(2, ge=1, description="continuous derivatives")


class PairTableTable(Table):
    """A potential for each pair of particle types."""

    kind: Literal["PairTable"]
    pairs: list[Annotated[tuple[str | int, str | int, NESTED | Literal["none"]], Field(strict=False)]] = Field(
        description='[type, type, potential or "none"], one for each two types'
    )


class PotentialSumTable(Table):
    """Potentials that add."""

    kind: Literal["PotentialSum"]
    terms: list[NESTED] = Field(min_length=1)


WRITTEN = (
    PairPotentialTable,
    LinkPotentialTable,
    BendTwistTable,
    ElasticTable,
    SwitchedTable,
    PairTableTable,
    PotentialSumTable,
)
TABLES = tables_of(POTENTIALS, WRITTEN)
AnyPotential: Any = Annotated[reduce(or_, TABLES), Field(discriminator="kind")]

Potentials: TypeAlias = Annotated[
    Annotated[AnyPotential, Tag(SINGLE)] | Annotated[list[AnyPotential], Tag(PER_LINK)],
    Discriminator(lambda value: PER_LINK if isinstance(value, list) else SINGLE),
]


def texts_of(table: Table | Sequence[Table], path: Path) -> Iterator[Text]:
    """The expressions inside a potential."""
    if not isinstance(table, Table):
        for j, inner in enumerate(table):
            yield from texts_of(inner, (*path, j))
    elif isinstance(table, PairPotentialTable):
        yield Text((*path, "text"), table.text, ["r", *table.parameters, TIME])
    elif isinstance(table, LinkPotentialTable):
        yield Text((*path, "text"), table.text, [*POSITION, *ROTATION, *table.parameters, TIME])
    elif isinstance(table, SwitchedTable):
        yield from texts_of(table.potential, (*path, "potential"))
    elif isinstance(table, PotentialSumTable):
        yield from texts_of(table.terms, (*path, "terms"))
    elif isinstance(table, PairTableTable):
        for j, (_, _, acting) in enumerate(table.pairs):
            if isinstance(acting, Table):
                yield from texts_of(acting, (*path, "pairs", j, 2))


def make_potential(given: Table | Sequence[Table], where: str) -> Potential | list[Potential]:
    """The potential, or one for each link; errors are reported at its key in the case."""
    if not isinstance(given, Table):
        return [_potential(table, f"{where}.{j}") for j, table in enumerate(given)]
    return _potential(given, where)


def make_pairs(given: Table, where: str) -> Pairwise | PairTable:
    """The potential between the particles of all bodies."""
    with name_the_key(where):
        return pair_potential_from(given.given())


def _potential(table: Table, where: str) -> Potential:
    with name_the_key(where):
        return potential_from(table.given())
