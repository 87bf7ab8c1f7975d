"""Generated kernels of a chain with one thread for each body: what a body shows to others, and its link to the next
one.

Numbers of a body have the places of a tile (`kernels`) with one body, whose rows have two numbers: the second is what
the kernels of tiles read beside a body. Every subscript is a literal, so that everything can stay in registers; the
constants of a body are read from memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ....kernels.marks import Filling, Written
from .kernels import FAR, PADDING, F, R, X
from .text import USES, Shape, acting, copy_constants, link_lines, place_lines

STRIDE = 2
SHOWN = 3  # of r, before those of x
LINK = 6  # f and t


class OneBody(NamedTuple):
    """Names for the numbers of a body; its constants lie in tiles of `count_tiled` bodies."""

    lanes: int

    def own(self, row: int) -> str:
        """A number of the body."""
        return f"w[{row * STRIDE}]"

    def next(self, row: int) -> str:
        """A number of the next body: the last body sees one far away."""
        if row >= X:
            return f"shown[{SHOWN + row - X}, after]"
        return f"(shown[{row - R}, after] if after != i else {self.own(row)} + {FAR})"

    def fixed(self, row: int) -> str:
        """A constant of the body."""
        return f"fixed[{row * (self.lanes + PADDING)} + at]"


def numbers_of_body(shape: Shape) -> int:
    """Count of the numbers of a body in registers."""
    return (X + shape.placed) * STRIDE


def load_text() -> Written:
    """Load everything that moves."""
    rows = (*range(F), *range(R, X))
    return _text("load_body", "z, j, w", (f"w[{row * STRIDE}] = z[{row}, j]" for row in rows))


def load_whole_text() -> Written:
    """Load the same, and the forces."""
    return _text("load_whole", "z, j, w", (f"w[{row * STRIDE}] = z[{row}, j]" for row in range(X)))


def load_shown_text(shape: Shape) -> Written:
    """Load what a body has shown."""
    rows = (*range(R, R + SHOWN), *range(X, X + shape.placed))
    return _text("load_shown", "shown, j, w", (f"w[{row * STRIDE}] = shown[{k}, j]" for k, row in enumerate(rows)))


def store_link_text() -> Written:
    """Store the forces of its link."""
    return _text("store_link", "w, z, j", (f"z[{row}, j] = w[{row * STRIDE}]" for row in range(F, R)))


def store_text() -> Written:
    """Store everything that moves, and the forces, with which the pending kick is made."""
    return _text("store_body", "w, z, j", (f"z[{row}, j] = w[{row * STRIDE}]" for row in range(X)))


def place_body_text(lanes: int, shape: Shape) -> Written:
    """Place the particles of a body, and show them with its position to the previous body."""
    at = OneBody(lanes)
    rows = (*range(R, R + SHOWN), *range(X, X + shape.placed))
    shown = (f"shown[{k}, i] = {at.own(row)}" for k, row in enumerate(rows))
    return _text("place_body", "w, i, fixed, at, shown", (*place_lines(at, shape), *shown))


def link_body_text(lanes: int, shape: Shape) -> Written:
    """Compute the link to the next body, and show it to that body."""
    at = OneBody(lanes)
    lines = (*copy_constants(shape), *link_lines(at, shape), *(f"links[{c}, i] = {at.own(F + c)}" for c in range(LINK)))
    return _text("link_body", "w, i, after, pair, fixed, at, shown, links", lines, acting(shape))


def see_text() -> Written:
    """Read the previous link into the place where kicks expect it; zero if there is none."""
    return _text("see_before", "w, before, links", _find_seen())


def _find_seen() -> Iterator[str]:
    yield "there = before >= 0"
    yield "at = before if there else 0"
    for c in range(LINK):
        yield f"w[{(F + c) * STRIDE - 1}] = links[{c}, at] if there else 0.0"


def _text(name: str, arguments: str, lines: Iterable[str], uses: Iterable[tuple[str, Filling]] = ()) -> Written:
    text = "\n".join([f"def {name}({arguments}):", *(f"    {line}" for line in lines)])
    return Written(name, text, __name__, (*USES, *uses))
