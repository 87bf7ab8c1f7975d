"""A chain in tiles: the view in which splittings run at the speed of vector registers.

Bodies lie side by side in tiles (`kernels` has the layout, `terms` the interactions of their links). Offered to chains
of bodies with few particles.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ....errors import CapabilityError
from ....geometry import rotations
from ....geometry.quaternion import to_body
from ....kernels import bodies as one_by_one
from ....kernels import fused, views
from ....kernels.bodies import Bodies
from ....kernels.declarations import Begin, Fold
from ....kernels.marks import Filling, Numbers, Slot, bind
from ....kernels.views import View
from ...base import Array, State
from .. import bath as chain_bath
from .. import forces as chain_forces
from ..gathered import gathered_fills
from ..motion import measure_split, publish_split
from ..packing import split_members
from ..views import from_split, quaternion_view, split_constants, to_split
from . import body_kernels, body_text
from . import kernels as kernels
from .kernels import FAR, LOAD, LOW, PADDING, SHAPE, SPIN_ROWS, F, P, Q, R, S, T, X, Y
from .terms import pairs_that_act, terms_of
from .text import Shape, drift_text, link_text, place_text

if TYPE_CHECKING:
    from ...body import Body
    from ..chain import Chain

MOST_PARTICLES = 8
MOST_EVALUATIONS = 96  # of pair potentials for a link, unrolled: more would take long to compile
MOST_IN_VAIN = 4.0  # evaluations for each one that acts; the plain view takes about eight times as long for each
WIDE, NARROW = 64, 8  # bodies of a tile; each takes 1.27 times as long in narrow tiles
NARROW_COST = 1.27


def tile_width(count: int) -> int:
    """Bodies of a tile, chosen for the least work including the bodies that fill up the last one."""
    wide, narrow = (-(-count // width) * width for width in (WIDE, NARROW))
    return WIDE if wide <= NARROW_COST * narrow else NARROW


def shape_of(chain: Chain) -> Shape | None:
    """What is placed and read for the links of a chain; None if that would be too much."""
    acting, bodies = chain.interactions, chain.alike.distinct
    particles = max(len(body.particles) for body in bodies) if acting.has_pairs else 0
    if particles > MOST_PARTICLES or (acting.has_bonds and not all(body.moments.all() for body in bodies)):
        return None
    terms = terms_of(acting)
    if acting.has_pairs and terms.evaluations > min(MOST_EVALUATIONS, MOST_IN_VAIN * pairs_that_act(acting)):
        return None
    return Shape(particles, terms)


def tiles_view(chain: Chain, width: int | None = None) -> View | None:
    """The view, with tiles of `width` bodies; None if it does not suit the chain."""
    m = shape_of(chain)
    if m is None:
        return None
    split = quaternion_view(chain, "split")
    assert split is not None and split.moments is not None
    lanes = width or tile_width(chain.count)
    shape = -(-chain.count // lanes), lanes
    fills: dict[Slot, Filling] = {
        **split.fills,
        kernels.lane_count: lanes, kernels.count_placed: m.placed, kernels.shape_count: m.constants,
        kernels.place_lanes: place_text(lanes, m), kernels.drift_lanes: drift_text(lanes, m),
        kernels.link_lanes: link_text(lanes, m), views.multiply_add: fused.multiply_add,
        views.settle: kernels.settle_tiles, views.keep: kernels.keep_tiles, views.recall: kernels.recall_tiles,
        views.sweep_part: kernels.sweep_some_tiles, views.join_part: kernels.link_one_tile,
        views.sweep: kernels.sweep_tiles, views.stirred_sweep: chain_bath.stirred_sweep_of_tiles,
        **gathered_fills(kernels.gather, split.fills),
    }  # fmt: skip

    def scratch() -> dict[str, Numbers]:
        kept = np.zeros((shape[0], X * (lanes + PADDING)))
        return {**split.scratch(), "gathered": np.zeros(13 * chain.count), "alone": np.zeros(14), "kept": kept}

    return View(
        "tiles", fills, shape[0] * row_count(m) * (lanes + PADDING) + 2, partial(to_tiles, chain, shape, m),
        partial(from_tiles, chain, shape, m), split.flags, literal=False,
        moments=split.moments[np.minimum(np.arange(shape[0] * lanes), chain.count - 1)],
        body_of=partial(body_of_variable, chain.count, shape, m), parameters={"lanes": body_lanes(chain, shape, m)},
        scratch=scratch, spread=partial(spin_lanes, shape=shape),
        fold=Fold(
            X * chain.count + 1, partial(fold_tiles, chain.count, shape, m), partial(unfold_tiles, chain, shape, m)
        ),
        inertia=chain.inertia,
        packs_many=True,
        parts=shape[0],
        bodies=partial(bodies_of, chain.count, lanes, m, fills),
        begin=Begin(13 * chain.count, partial(to_split, chain), partial(tiles_of_split, chain, shape, m), bind(kernels.begin_tiles, fills), split_members, partial(split_constants, chain)),
    )  # fmt: skip


def bodies_of(count: int, lanes: int, m: Shape, fills: Mapping[Slot, Filling]) -> Bodies:
    """The same with a thread for each body."""
    own: dict[Slot, Filling] = {
        body_kernels.count_tiled: lanes, body_kernels.chain_count: count, body_kernels.place_body: body_text.place_body_text(lanes, m),
        body_kernels.link_body: body_text.link_body_text(lanes, m), body_kernels.see_before: body_text.see_text(),
        one_by_one.begin_body: body_kernels.begin_body, one_by_one.load_body: body_text.load_text(), one_by_one.store_body: body_text.store_text(),
        one_by_one.sweep_body: body_kernels.sweep_body, one_by_one.stirred_sweep_body: body_kernels.stirred_sweep_body,
        one_by_one.move_body: body_kernels.move_chained, one_by_one.join_body: body_kernels.join_chained,
        one_by_one.place_body_of: chain_forces.place_particles_of, one_by_one.terms_of_body: body_kernels.terms_of_link,
        one_by_one.gather_body: body_kernels.gather_one, body_kernels.load_whole: body_text.load_whole_text(),
        body_kernels.load_shown: body_text.load_shown_text(m), body_kernels.store_moved: body_text.store_text(), body_kernels.store_link: body_text.store_link_text(),
        one_by_one.load_sums: body_kernels.load_sums, one_by_one.store_sums: body_kernels.store_sums,
        **gathered_fills(body_kernels.gather_bodies, {views.publish: publish_split, views.measure: measure_split}),
    }  # fmt: skip
    return Bodies(
        count, body_kernels.PENDING + 1, body_text.numbers_of_body(m), body_text.SHOWN + m.placed, body_text.LINK,
        {**fills, **own}, 13, 2, (publish_split, bind(measure_split, {chain_forces.links_are_known: 1})),
    )  # fmt: skip


def body_of_variable(count: int, shape: tuple[int, int], m: Shape, variable: int) -> int:
    """The body of a variable; numbers beside the bodies belong to the last."""
    tile, rest = divmod(variable, row_count(m) * (shape[1] + PADDING))
    return min(tile * shape[1] + rest % (shape[1] + PADDING), count - 1)


def row_count(m: Shape) -> int:
    """Number of rows of a tile."""
    return X + m.placed + SHAPE + m.constants + SPIN_ROWS


def body_lanes(chain: Chain, shape: tuple[int, int], m: Shape) -> Array:
    """The constants: masses, what is held, loads, particles, axes and links; zero for bodies that fill up."""
    par = chain.parameter_arrays()
    table = np.zeros((shape[0] * shape[1], SHAPE + m.constants))
    rows = table[: chain.count]
    rows[:, kernels.INVERSE_MASS] = par["moves"] / par["mass"]
    rows[:, kernels.MOVES], rows[:, kernels.TURNS] = par["moves"], par["turns"]
    rows[: chain.interactions.count, kernels.LINKED] = 1.0
    rows[:, LOAD:SHAPE] = par["load"]
    axes, links = SHAPE + 3 * m.particles, SHAPE + m.placed
    if m.particles:
        rows[:, SHAPE:axes] = chain.alike.each(partial(fill_up, count=m.particles)).reshape(chain.count, -1)
    if m.has_bonds:
        rows[:, axes:links] = rotations.conjugate(par["frame"])
    rows[: chain.interactions.count, links:] = m.terms.rows
    return as_lanes(table, shape)


def fill_up(body: Body, count: int) -> Array:
    """`count` particles in principal axes: a body with fewer repeats its last one, a body without any its centre."""
    positions = body.principal_particles.positions if len(body.particles) else np.zeros((1, 3))
    return positions[np.minimum(np.arange(count), len(positions) - 1)]


def as_lanes(table: Array, shape: tuple[int, int]) -> Array:
    """Rows of constants for bodies (tiles * lanes, c) as one row for each tile."""
    return side_by_side(table, shape).reshape(shape[0], -1)


def spin_lanes(table: Array, bath: Array | None = None, *, shape: tuple[int, int]) -> Array:
    """The same for constants of rotors, whose number of rows is fixed; a bath has the last of them."""
    room = SPIN_ROWS if bath is None else chain_bath.BATH
    if table.shape[1] > room:
        beside = "" if bath is None else " beside those of a bath"
        raise CapabilityError(f"tiles have room for {room} constants of a rotor{beside}, not for {table.shape[1]}")
    if bath is None:
        return as_lanes(table, shape)
    both = np.zeros((len(table), SPIN_ROWS))
    both[:, : table.shape[1]] = table
    alike = np.delete(bath, [1, 2, 7, 8, 13, 14], axis=1)  # p2 and p3 are like p1
    both[: len(bath), room:] = alike  # zero for the bodies that fill up
    return as_lanes(both, shape)


def side_by_side(table: Array, shape: tuple[int, int]) -> Array:
    """Rows for bodies (tiles * lanes, c) as lanes (tiles, c, lanes + padding)."""
    tiles, lanes = shape
    out = np.zeros((tiles, table.shape[1], lanes + PADDING))
    out[:, :, :lanes] = table.reshape(tiles, lanes, -1).transpose(0, 2, 1)
    return out


def to_tiles(chain: Chain, shape: tuple[int, int], m: Shape, state: State) -> Array:
    """r, q, p, y in tiles; forces are unknown, no kick is pending."""
    return tiles_of_split(chain, shape, m, to_split(chain, state))


def tiles_of_split(chain: Chain, shape: tuple[int, int], m: Shape, z: Array) -> Array:
    """The same from the variables (..., 13 n) of the view "split"."""
    n, many = chain.count, z.shape[:-1]
    kept = np.zeros((*many, X * n + 1))
    for row, first, width in ((R, 0, 3), (Q, 3, 4), (P, 7, 3), (Y, 10, 3)):
        field = z[..., first * n : (first + width) * n].reshape(*many, n, width)
        for k in range(width):
            kept[..., (row + k) * n : (row + k + 1) * n] = field[..., k]
    return unfold_tiles(chain, shape, m, kept)


def fold_tiles(count: int, shape: tuple[int, int], m: Shape, z: Array) -> Array:
    """What a chain continues from, row by row for all bodies: everything that moves, and forces for the pending
    kick."""
    rows = z[:-2].reshape(shape[0], row_count(m), shape[1] + PADDING)[:, :X, : shape[1]]
    kept = np.empty(X * count + 1)
    of_bodies = kept[:-1].reshape(X, count)
    whole, more = divmod(count, shape[1])
    if whole:  # copied directly: these are many megabytes for a long chain
        of_bodies[:, : count - more].reshape(X, whole, -1, copy=False)[...] = rows[:whole].transpose(1, 0, 2)
    of_bodies[:, count - more :] = rows[-1, :, :more]
    kept[-1] = z[-1]
    return kept


def unfold_tiles(chain: Chain, shape: tuple[int, int], m: Shape, kept: Array) -> Array:
    """The tiles from a checkpoint; the next step computes constants, particles and forces, with the same bits."""
    count, (tiles, lanes), many = chain.count, shape, kept.shape[:-1]
    table, whole = kept[..., :-1].reshape(*many, X, count), tiles - 1
    last = np.zeros((*many, X, lanes))
    more = count - whole * lanes  # bodies of the last tile
    last[..., :more] = table[..., whole * lanes :]
    last[..., R:Q, more:] = table[..., R:Q, count - 1 :]
    last[..., R, more:] += FAR * np.arange(1, lanes - more + 1)
    last[..., Q, more:] = 1.0
    z = np.zeros((*many, tiles * row_count(m) * (lanes + PADDING) + 2))
    rows = z[..., :-2].reshape(*many, tiles, row_count(m), lanes + PADDING)
    before = table[..., : whole * lanes].reshape(*many, X, whole, lanes)
    rows[..., :whole, :X, :lanes] = np.moveaxis(before, -3, -2)
    rows[..., whole, :X, :lanes] = last
    rows[..., -1, R:Q, lanes] = rows[..., -1, R:Q, lanes - 1] + FAR
    # the last link of the previous tile, see `kernels`
    rows[..., 1:, F - 1 : S - 1, -1] = rows[..., :-1, F:S, lanes - 1]
    if chain.closed:
        rows[..., 0, F - 1 : S - 1, -1] = table[..., F:S, count - 1]
    z[..., -1] = kept[..., -1]
    if not np.may_share_memory(rows, z):  # for several states they are a copy
        z[..., :-2] = rows.reshape(*many, -1)
    return z


def from_tiles(chain: Chain, shape: tuple[int, int], m: Shape, z: Array, time: float) -> State:
    """The public state, with the pending kick applied as in `gather`."""
    n, (tiles, lanes) = chain.count, shape
    rows = z[:-2].reshape(tiles, row_count(m), lanes + PADDING)

    def of_bodies(first: int, last: int) -> Array:
        return rows[:, first:last, :lanes].transpose(0, 2, 1).reshape(-1, last - first)[:n]

    def change(upper: int, lower: int) -> Array:
        """Row `upper` of each link minus row `lower` of the previous link."""
        before = np.roll(of_bodies(lower, lower + 3), 1, axis=0)
        before[0] *= chain.closed
        return of_bodies(upper, upper + 3) - before

    par = chain.parameter_arrays()
    force, torque, q = change(F, F) + par["load"], change(S, T), of_bodies(Q, X)
    p = of_bodies(P, Y) + z[-1] * par["moves"][:, None] * force
    y = of_bodies(Y, LOW) + (z[-1] * par["turns"] * np.array(to_body(q.T, *torque.T))).T
    return from_split(chain, np.concatenate([of_bodies(R, Q).ravel(), q.ravel(), p.ravel(), y.ravel()]), time)
