"""Kernels over the particles of a tile, written out for their number.

A loop over particles inside one over bodies is not turned into vector instructions: written as a loop, the forces of 16 pairs
take 5.5 times as long.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ...geometry.quaternion import product, rotation
from ...kernels.fused import held, linked
from ...kernels.marks import Written
from ...kernels.views import multiply_add, pair_force
from .tile_bonds import push_of_bond
from .tile_kernels import LINKED, PADDING, SHAPE, F, Q, R, S, T, X, shift_lane, turn_lane

AXES = 4  # numbers of a quaternion
USES = (
    ("multiply_add", multiply_add),
    ("pair_force", pair_force),
    ("push_of_bond", push_of_bond),
    ("rotation", rotation),
    ("product", product),
    ("held", held),
    ("linked", linked),
    ("shift_lane", shift_lane),
    ("turn_lane", turn_lane),
)
TURNED = ((0, 1, 2), (1, 2, 0), (2, 0, 1))  # (c, a, b): component c of a cross product is u_a v_b - u_b v_a


class Shape(NamedTuple):
    """What is placed of a body, and what a link reads: particles that interact, and constants of a link potential."""

    particles: int  # of a body; 0: there is no pair potential
    pair: int  # constants of the pair potential
    bond: int  # constants of the link potential; 0: there is none
    has_bonds: bool

    @property
    def placed(self) -> int:
        """Rows of x: three for each particle, and the quaternion of the axes in which the body was given."""
        return 3 * self.particles + AXES * self.has_bonds

    @property
    def constants(self) -> int:
        """Rows of constants: as many, and those of the link potential."""
        return self.placed + self.bond


def place_text(lanes: int, shape: Shape) -> Written:
    """x_k = R X_k, and the axes in which the body was given."""
    return _lanes_text("place_lanes", "w", lanes, _place_lines(lanes + PADDING, shape))


def drift_text(lanes: int, shape: Shape) -> Written:
    """Free motion, then the particles."""
    n = lanes + PADDING
    fixed = (X + shape.placed) * n
    spin = fixed + (SHAPE + shape.constants) * n
    moved = [f"shift_lane(w, i, {n}, {fixed}, glide)", f"turn_lane(w, i, {n}, {fixed}, {spin}, glide)"]
    return _lanes_text("drift_lanes", "w, glide", lanes, [*moved, *_place_lines(n, shape)])


def link_text(lanes: int, shape: Shape) -> Written:
    """f, t and s of the links between body i and body i + 1.

    The constants of a pair potential are copied before the loop: they could overlap with what it writes.
    """
    copied = f"constants = held(({''.join(f'pair[{k}], ' for k in range(shape.pair))}))"
    return _lanes_text(
        "link_lanes", "w, pair", lanes, _link_lines(lanes + PADDING, shape), copied if shape.particles else "pass"
    )


def _lanes_text(name: str, arguments: str, lanes: int, lines: Iterable[str], before: str = "pass") -> Written:
    body = "\n".join(f"        {line}" for line in lines)
    text = f"def {name}({arguments}):\n    {before}\n    for i in range({lanes}):\n{body}"
    return Written(name, text, __name__, USES)


def _place_lines(stride: int, shape: Shape) -> Iterator[str]:
    q = ", ".join(f"w[{(Q + c) * stride} + i]" for c in range(4))
    fixed = X + shape.placed + SHAPE
    if shape.particles:
        yield f"{', '.join(f'r{a}{c}' for a in range(3) for c in range(3))} = rotation(({q}))"
    for k in range(shape.particles):
        for c in range(3):
            yield f"b{c} = w[{(fixed + 3 * k + c) * stride} + i]"
        for a in range(3):
            product = f"multiply_add(r{a}2, b2, multiply_add(r{a}1, b1, r{a}0 * b0))"
            yield f"w[{(X + 3 * k + a) * stride} + i] = {product}"
    if shape.has_bonds:
        at = 3 * shape.particles
        frame = ", ".join(f"w[{(fixed + at + c) * stride} + i]" for c in range(4))
        yield f"g0, g1, g2, g3 = product(({q}), ({frame}))"
        for c in range(4):
            yield f"w[{(X + at + c) * stride} + i] = g{c}"


def _link_lines(stride: int, shape: Shape) -> Iterator[str]:
    for c in range(3):
        yield f"d{c} = w[{(R + c) * stride} + i] - w[{(R + c) * stride + 1} + i]"
    if shape.particles:
        yield from _pair_lines(stride, shape.particles)
    if shape.has_bonds:
        yield from _bond_lines(stride, shape)
    # what is beyond the last body may not even be finite
    yield f"linked_on = w[{(X + shape.placed + LINKED) * stride} + i] > 0.0"
    for c, a, b in TURNED:
        yield f"s{c} = multiply_add(d{b}, f{a}, multiply_add(-d{a}, f{b}, t{c}))"
    for row, name in ((F, "f"), (T, "t"), (S, "s")):
        for c in range(3):
            yield f"w[{(row + c) * stride} + i] = {name}{c} if linked_on else 0.0"


def _pair_lines(stride: int, particles: int) -> Iterator[str]:
    for l in range(particles):
        for c in range(3):
            yield f"b{l}{c} = w[{(X + 3 * l + c) * stride + 1} + i]"
    for k in range(particles):
        for c in range(3):
            yield f"a{c} = w[{(X + 3 * k + c) * stride} + i] + d{c}"
        for l in range(particles):
            for c in range(3):
                yield f"x{c} = a{c} - b{l}{c}"
            yield "g = pair_force(multiply_add(x2, x2, multiply_add(x1, x1, x0 * x0)), 0, constants)"
            for c in range(3):
                yield f"w{c} = " + (f"g * x{c}" if l == 0 else f"multiply_add(g, x{c}, w{c})")
        for c, a, b in TURNED:
            if k == 0:
                yield f"f{c} = w{c}"
                yield f"t{c} = multiply_add(-a{b}, w{a}, a{a} * w{b})"
            else:
                yield f"f{c} += w{c}"
                yield f"t{c} = multiply_add(-a{b}, w{a}, multiply_add(a{a}, w{b}, t{c}))"


def _bond_lines(stride: int, shape: Shape) -> Iterator[str]:
    at = X + 3 * shape.particles
    own = ", ".join(f"w[{(at + c) * stride} + i]" for c in range(4))
    other = ", ".join(f"w[{(at + c) * stride + 1} + i]" for c in range(4))
    first = X + 2 * shape.placed + SHAPE
    row = "".join(f"w[{(first + k) * stride} + i], " for k in range(max(shape.bond, 1)))
    targets = "g0, g1, g2, h0, h1, h2" if shape.particles else "f0, f1, f2, t0, t1, t2"
    yield f"{targets} = push_of_bond(({own}), ({other}), (d0, d1, d2), linked(({row})))"
    if shape.particles:
        for c in range(3):
            yield f"f{c} += g{c}"
            yield f"t{c} += h{c}"
