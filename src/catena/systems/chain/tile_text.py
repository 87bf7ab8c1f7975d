"""Kernels over the particles of a tile, written out for their number.

A loop over particles inside one over bodies is not turned into vector instructions: written as a loop, the forces of 16 pairs
take 5.5 times as long.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...geometry.quaternion import rotation
from ...kernels.fused import held
from ...kernels.marks import Written
from ...kernels.views import multiply_add, pair_force
from .tile_kernels import LINKED, PADDING, PARTICLES, F, Q, R, S, T, X, shift_lane, turn_lane

USES = (
    ("multiply_add", multiply_add),
    ("pair_force", pair_force),
    ("rotation", rotation),
    ("held", held),
    ("shift_lane", shift_lane),
    ("turn_lane", turn_lane),
)
TURNED = ((0, 1, 2), (1, 2, 0), (2, 0, 1))  # (c, a, b): component c of a cross product is u_a v_b - u_b v_a


def place_text(lanes: int, particles: int) -> Written:
    """x_k = R X_k."""
    return _lanes_text("place_lanes", "w", lanes, _place_lines(lanes + PADDING, particles))


def drift_text(lanes: int, particles: int) -> Written:
    """Free motion, then the particles."""
    n = lanes + PADDING
    fixed = (X + 3 * particles) * n
    spin = fixed + (PARTICLES + 3 * particles) * n
    moved = [f"shift_lane(w, i, {n}, {fixed}, glide)", f"turn_lane(w, i, {n}, {fixed}, {spin}, glide)"]
    return _lanes_text("drift_lanes", "w, glide", lanes, [*moved, *_place_lines(n, particles)])


def link_text(lanes: int, particles: int, constants: int) -> Written:
    """f, t and s of the links between body i and body i + 1; the potential has so many constants.

    The constants are copied before the loop: they could overlap with what it writes.
    """
    copied = f"constants = held(({''.join(f'pair[{k}], ' for k in range(constants))}))"
    return _lanes_text("link_lanes", "w, pair", lanes, _link_lines(lanes + PADDING, particles), copied)


def _lanes_text(name: str, arguments: str, lanes: int, lines: Iterable[str], before: str = "pass") -> Written:
    body = "\n".join(f"        {line}" for line in lines)
    text = f"def {name}({arguments}):\n    {before}\n    for i in range({lanes}):\n{body}"
    return Written(name, text, __name__, USES)


def _place_lines(stride: int, particles: int) -> Iterator[str]:
    q = ", ".join(f"w[{(Q + c) * stride} + i]" for c in range(4))
    yield f"{', '.join(f'r{a}{c}' for a in range(3) for c in range(3))} = rotation(({q}))"
    for k in range(particles):
        for c in range(3):
            yield f"b{c} = w[{(X + 3 * particles + PARTICLES + 3 * k + c) * stride} + i]"
        for a in range(3):
            product = f"multiply_add(r{a}2, b2, multiply_add(r{a}1, b1, r{a}0 * b0))"
            yield f"w[{(X + 3 * k + a) * stride} + i] = {product}"


def _link_lines(stride: int, particles: int) -> Iterator[str]:
    for c in range(3):
        yield f"d{c} = w[{(R + c) * stride} + i] - w[{(R + c) * stride + 1} + i]"
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
    # what is beyond the last body may not even be finite
    yield f"linked = w[{(X + 3 * particles + LINKED) * stride} + i] > 0.0"
    for c, a, b in TURNED:
        yield f"s{c} = multiply_add(d{b}, f{a}, multiply_add(-d{a}, f{b}, t{c}))"
    for row, name in ((F, "f"), (T, "t"), (S, "s")):
        for c in range(3):
            yield f"w[{(row + c) * stride} + i] = {name}{c} if linked else 0.0"
