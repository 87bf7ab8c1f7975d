"""Generated kernels over the particles of a tile, unrolled for their number.

A loop over particles inside a loop over bodies is not vectorised: written as a loop, the forces of 16 pairs take 5.5
times as long.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple, Protocol

from ....geometry.quaternion import product, rotation
from ....kernels import elementary
from ....kernels.elementary.exponential import exp_in_lanes
from ....kernels.fused import held, linked
from ....kernels.marks import Filling, Written, bind
from ....kernels.views import multiply_add
from .bonds import bond_force, push_of_bond
from .kernels import LINKED, PADDING, SHAPE, F, Q, R, S, T, X, shift_lane, turn_lane
from .terms import Term, Terms

AXES = 4  # components of a quaternion
USES: tuple[tuple[str, Filling], ...] = (
    ("multiply_add", multiply_add),
    ("rotation", rotation),
    ("product", product),
    ("held", held),
    ("linked", linked),
    ("shift_lane", shift_lane),
    ("turn_lane", turn_lane),
)
TURNED = ((0, 1, 2), (1, 2, 0), (2, 0, 1))  # (c, a, b): component c of a cross product is u_a v_b - u_b v_a


class Shape(NamedTuple):
    """What is placed of a body, and what a link reads: interacting particles and potentials."""

    particles: int  # largest number of particles of a body; 0: there is no pair potential
    terms: Terms

    @property
    def has_bonds(self) -> bool:
        """Whether there are link potentials."""
        return bool(self.terms.bonds)

    @property
    def placed(self) -> int:
        """Rows of x: three for each particle, and the quaternion of the axes in which the body was given."""
        return 3 * self.particles + AXES * self.has_bonds

    @property
    def constants(self) -> int:
        """Rows of constants: as many, and those in which links differ."""
        return self.placed + self.terms.rows.shape[1]

    @property
    def rows_of_links(self) -> int:
        """The first row of the latter."""
        return SHAPE + self.placed


class Places(Protocol):
    """Names of the numbers in a row, for the body of a text."""

    def own(self, row: int) -> str:
        """A number of the body."""

    def next(self, row: int) -> str:
        """A number of the next body: rows of r and x."""

    def fixed(self, row: int) -> str:
        """A constant of the body; rows are counted from the first constant."""


class Lanes(NamedTuple):
    """For body i of a tile with rows of this length."""

    stride: int
    first: int  # row of the first constant

    def own(self, row: int) -> str:
        """A number of the body."""
        return f"w[{row * self.stride} + i]"

    def next(self, row: int) -> str:
        """A number of the next body."""
        return f"w[{row * self.stride + 1} + i]"

    def fixed(self, row: int) -> str:
        """A constant of the body."""
        return self.own(self.first + row)


def in_lanes(lanes: int, shape: Shape) -> Lanes:
    """The places of a tile."""
    return Lanes(lanes + PADDING, X + shape.placed)


def place_text(lanes: int, shape: Shape) -> Written:
    """x_k = R X_k, and the axes in which the body was given."""
    return _lanes_text("place_lanes", "w", lanes, place_lines(in_lanes(lanes, shape), shape))


def drift_text(lanes: int, shape: Shape) -> Written:
    """Free motion, then the particles."""
    n, at = lanes + PADDING, in_lanes(lanes, shape)
    fixed = (X + shape.placed) * n
    spin = fixed + (SHAPE + shape.constants) * n
    moved = [
        f"shift_lane(w, i, {n}, {fixed}, glide)",
        f"turn_lane(w, i, {n}, {fixed}, {spin}, glide)",
    ]
    return _lanes_text("drift_lanes", "w, glide", lanes, [*moved, *place_lines(at, shape)])


def link_text(lanes: int, shape: Shape) -> Written:
    """f, t and s of the links between body i and body i + 1.

    Constants that are equal for all links are copied before the loop: in memory they could alias what it writes.
    """
    lines = link_lines(in_lanes(lanes, shape), shape)
    return _lanes_text("link_lanes", "w, pair", lanes, lines, copy_constants(shape), acting(shape))


def acting(shape: Shape) -> Iterator[tuple[str, Filling]]:
    """The names of the potentials in the text; those of particles with an exp that is faster on lanes."""
    for number, kernel in enumerate(shape.terms.kernels):
        yield f"force{number}", bind(kernel, {elementary.exp: exp_in_lanes})
    for number, term in enumerate(shape.terms.bonds):
        yield f"bond{number}", bind(push_of_bond, {bond_force: term.kernel})


def copy_constants(shape: Shape) -> Iterator[str]:
    """Constants of pairs that are equal for all links, in registers."""
    same = {term for terms in shape.terms.pairs.values() for term in terms if not term.in_rows}
    for at, width in sorted({(term.at, term.width) for term in same}):
        yield f"pair{at} = held(({''.join(f'pair[{at + k}], ' for k in range(width))}))"


def _lanes_text(
    name: str,
    arguments: str,
    lanes: int,
    lines: Iterable[str],
    before: Iterable[str] = (),
    uses: Iterable[tuple[str, Filling]] = (),
) -> Written:
    text = [f"def {name}({arguments}):", *(f"    {line}" for line in before), f"    for i in range({lanes}):"]
    return Written(name, "\n".join([*text, *(f"        {line}" for line in lines)]), __name__, (*USES, *uses))


def place_lines(at: Places, shape: Shape) -> Iterator[str]:
    """x_k = R X_k of a body, and the axes in which it was given."""
    q = ", ".join(at.own(Q + c) for c in range(4))
    if shape.particles:
        yield f"{', '.join(f'r{a}{c}' for a in range(3) for c in range(3))} = rotation(({q}))"
    for k in range(shape.particles):
        for c in range(3):
            yield f"b{c} = {at.fixed(SHAPE + 3 * k + c)}"
        for a in range(3):
            product = f"multiply_add(r{a}2, b2, multiply_add(r{a}1, b1, r{a}0 * b0))"
            yield f"{at.own(X + 3 * k + a)} = {product}"
    if shape.has_bonds:
        first = 3 * shape.particles
        frame = ", ".join(at.fixed(SHAPE + first + c) for c in range(4))
        yield f"g0, g1, g2, g3 = product(({q}), ({frame}))"
        for c in range(4):
            yield f"{at.own(X + first + c)} = g{c}"


def link_lines(at: Places, shape: Shape) -> Iterator[str]:
    """f, t and s of the link between a body and the next one."""
    for c in range(3):
        yield f"d{c} = {at.own(R + c)} - {at.next(R + c)}"
    if not shape.terms.pairs and not shape.has_bonds:
        yield from (f"{name}{c} = 0.0" for name in "ft" for c in range(3))
    yield from _pair_lines(at, shape)
    yield from _bond_lines(at, shape)
    # values beyond the last body may not even be finite
    yield f"linked_on = {at.fixed(LINKED)} > 0.0"
    for c, a, b in TURNED:
        yield f"s{c} = multiply_add(d{b}, f{a}, multiply_add(-d{a}, f{b}, t{c}))"
    for row, name in ((F, "f"), (T, "t"), (S, "s")):
        for c in range(3):
            yield f"{at.own(row + c)} = {name}{c} if linked_on else 0.0"


def _is_chosen(term: Term, at: Places, shape: Shape) -> str:
    """Whether a link selects a term that not all links select."""
    assert term.chosen is not None
    row, number = term.chosen
    return f"{at.fixed(shape.rows_of_links + row)} == {float(number)}"


def _row(term: Term, at: Places, shape: Shape) -> str:
    """The constants of a term in which links differ."""
    first = shape.rows_of_links + term.at
    return "".join(f"{at.fixed(first + k)}, " for k in range(term.width)) or "0.0, "


def _pair_lines(at: Places, shape: Shape) -> Iterator[str]:
    pairs = shape.terms.pairs
    for l in sorted({l for _, l in pairs}):
        for c in range(3):
            yield f"b{l}{c} = {at.next(X + 3 * l + c)}"
    first_of_all = True
    for k in sorted({k for k, _ in pairs}):
        for c in range(3):
            yield f"a{c} = {at.own(X + 3 * k + c)} + d{c}"
        first = True
        for l in (l for j, l in pairs if j == k):
            yield from _push_lines(pairs[k, l], l, at, shape)
            for c in range(3):
                yield f"w{c} = " + (f"g * x{c}" if first else f"multiply_add(g, x{c}, w{c})")
            first = False
        for c, a, b in TURNED:
            if first_of_all:
                yield f"f{c} = w{c}"
                yield f"t{c} = multiply_add(-a{b}, w{a}, a{a} * w{b})"
            else:
                yield f"f{c} += w{c}"
                yield f"t{c} = multiply_add(-a{b}, w{a}, multiply_add(a{a}, w{b}, t{c}))"
        first_of_all = False


def _push_lines(terms: tuple[Term, ...], l: int, at: Places, shape: Shape) -> Iterator[str]:
    """g: the interaction of a with particle l of the next body. All terms are computed and one selected: no branch, or
    no vectors."""
    for c in range(3):
        yield f"x{c} = a{c} - b{l}{c}"
    yield "x = multiply_add(x2, x2, multiply_add(x1, x1, x0 * x0))"
    kernels = shape.terms.kernels
    for number, term in enumerate(terms):
        constants = f"held(({_row(term, at, shape)}))" if term.in_rows else f"pair{term.at}"
        yield f"g{number} = force{kernels.index(term.kernel)}(x, 0, {constants})"
    chosen = "0.0" if terms[0].chosen else "g0"
    for number, term in enumerate(terms):
        if term.chosen:
            chosen = f"g{number} if {_is_chosen(term, at, shape)} else {chosen}"
    yield f"g = {chosen}"


def _bond_lines(at: Places, shape: Shape) -> Iterator[str]:
    """Contribution of the link potentials to f and t."""
    axes = X + 3 * shape.particles
    own = ", ".join(at.own(axes + c) for c in range(4))
    other = ", ".join(at.next(axes + c) for c in range(4))
    first = not shape.terms.pairs
    for number, term in enumerate(shape.terms.bonds):
        found = "g0, g1, g2, h0, h1, h2"
        yield f"{found} = bond{number}(({own}), ({other}), (d0, d1, d2), linked(({_row(term, at, shape)})))"
        for c in range(3):
            for total, part in (("f", "g"), ("t", "h")):
                value = f"({part}{c} if {_is_chosen(term, at, shape)} else 0.0)" if term.chosen else f"{part}{c}"
                yield f"{total}{c} = {value}" if first else f"{total}{c} += {value}"
        first = False
