"""Frequencies of small motions of a chain about a state: K v = omega^2 M v, six coordinates for each body.

K are the second derivatives of V by displacements of the bodies in their principal axes (`link_mechanics`), where the mass matrix is
diagonal; M^-1/2 K M^-1/2 is block tridiagonal. Coordinates that are held, or without moment of inertia, have weight zero.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ...geometry import rotations
from ..base import Array, State
from ..body import Body
from ..states import checked_state
from . import block_band, link_mechanics

if TYPE_CHECKING:
    from ...methods.base import Method
    from .chain import Chain

SAFETY = 0.2  # of the limit of stability: at 0.4 / omega the period of the fastest mode is right to 0.7 per cent
RESOLVED = 1.0  # dt omega of methods that are stable at any step
MOST_PAIRS = 2**16  # taken at once

Arms: TypeAlias = tuple[Array, Callable[..., Array]]  # of particles, and J of them


def suggested_step(chain: Chain, method: Method, start: State | None, safety: float) -> float:
    """A step for accurate motion from this start: a part of the limit of stability, or of 5 / omega where there is no limit."""
    if start is None:
        raise InputError(
            "the frequencies of a chain depend on where it is",
            where="suggest_dt",
            do="give start=, a state of the chain",
        )
    start = checked_state(chain, start, "suggest_dt.start")
    limit = getattr(getattr(method, "traits", None), "stability", None)
    if limit is None:
        raise InputError(
            f"{method!r} is not a method", where="suggest_dt.method", do="give one, such as ct.Splitting(4)"
        )
    if limit <= 0.0:
        raise InputError(f"{method} has no stable step for a motion without damping", where="suggest_dt", do="give dt")
    fastest = max(highest_frequency(chain, start), fastest_spin(chain, start))
    if fastest == 0.0:
        raise InputError("nothing oscillates or turns at this start", where="suggest_dt", do="give dt")
    return safety * (limit if np.isfinite(limit) else RESOLVED / SAFETY) / fastest


def frequency_above(chain: Chain, threshold: float, state: State) -> float | None:
    """The largest omega if it is above the threshold."""
    for bound in (rough_bound, frequency_bound):  # each sharper, and dearer
        if bound(chain, state) <= threshold:
            return None
    omega = highest_frequency(chain, state)
    return omega if omega > threshold else None


def highest_frequency(chain: Chain, state: State) -> float:
    """Largest omega; 0 if the potential is curved downwards everywhere."""
    diagonal, right = weighted_stiffness(chain, state)
    largest = block_band.largest_eigenvalue(diagonal, right)
    return float(np.sqrt(largest)) if largest > block_band.CLOSE * np.abs(diagonal).max() else 0.0


def frequency_bound(chain: Chain, state: State) -> float:
    """An upper bound of the largest omega, at less cost: the largest norm of a row of blocks."""
    diagonal, right = weighted_stiffness(chain, state)
    rows = np.linalg.norm(diagonal, 2, axis=(1, 2))
    between = np.linalg.norm(right, 2, axis=(1, 2))
    for side in chain.interactions.sides:
        rows[side] += between
    return float(np.sqrt(rows.max()))


def rough_bound(chain: Chain, state: State) -> float:
    """A wider upper bound at the cost of the forces, without a matrix; inf where there are link potentials.

    A pair with the stiffness -A - 2 A' D D^T adds at most its largest eigenvalue times |J M^-1/2|^2 of its two particles to the link, a
    body that turns under its forces what the trace and the norm of sum a w^T allow. Links of even numbers touch no body twice, so
    that together they are no stiffer than the stiffest of them; neither are those of odd numbers. In a ring of an odd number of bodies
    the last link touches the first one's body again, and counts by itself.
    """
    if chain.interactions.has_bonds:
        return np.inf
    links, turned = np.zeros(chain.interactions.count), np.zeros((chain.count, 3, 3))
    pairs = link_mechanics.Pairs(chain)
    mobility = [_mobility(body) for body in chain.alike.distinct]
    for block in _alike(chain):
        x, y, d = _placed(chain, state, block)
        s = np.einsum("nkli,nkli->nkl", d, d)
        _, a, b = pairs.at(int(block[0]), s)
        stiff = np.maximum(0.0, np.maximum(-a, -(a + 2.0 * b * s)))
        left, right = (mobility[chain.alike.which[side[block[0]]]] for side in chain.interactions.sides)
        links[block] = np.einsum("nkl,kl->n", stiff, left[:, None] + right)
        w = a[..., None] * d
        turned[block] += np.einsum("nki,nkj->nij", x, w.sum(axis=2))
        turned[chain.interactions.sides[1][block]] -= np.einsum("nli,nlj->nij", y, w.sum(axis=1))
    bodies = np.abs(np.trace(turned, axis1=1, axis2=2)) + np.linalg.norm(turned, axis=(1, 2))
    bodies *= chain.alike.each(lambda body: body.inverse_moments.max())
    odd = links[len(links) - 1 :] if chain.closed and len(links) % 2 else links[:0]
    paired = links[: len(links) - len(odd)]
    return float(np.sqrt(paired[::2].max() + paired[1::2].max(initial=0.0) + odd.sum() + bodies.max()))


def _mobility(body: Body) -> Array:
    """|J M^-1/2|^2 of each particle: the largest eigenvalue of 1/m - ^a I^-1 ^a."""
    arms = link_mechanics.hat(body.principal_particles.positions)
    moved = np.eye(3) / body.mass + arms @ (body.inverse_moments[:, None] * arms.swapaxes(-1, -2))
    return np.linalg.eigvalsh(moved)[:, -1].astype(float) if len(arms) else np.zeros(0)


def fastest_spin(chain: Chain, state: State) -> float:
    """|omega| of the body that turns fastest."""
    y = rotations.rotate(rotations.conjugate(_frames(chain)), state.angular_momentum)
    return float(np.linalg.norm(y * chain.alike.each(lambda body: body.inverse_moments), axis=1).max())


def weighted_stiffness(chain: Chain, state: State) -> tuple[Array, Array]:
    """M^-1/2 K M^-1/2: its blocks (n, 6, 6) of the bodies, and those (links, 6, 6) of body j by the next one."""
    diagonal, right = stiffness(chain, state)
    if not (np.isfinite(diagonal).all() and np.isfinite(right).all()):
        raise InputError(
            "the energy, or a derivative of it, is not defined at the start", where=chain.undefined_at(state),
            do="start away from singular points and inside the domain of every function",
        )  # fmt: skip
    weights = np.sqrt(mobilities(chain))
    left, beside = chain.interactions.sides
    return diagonal * weights[:, :, None] * weights[:, None], right * weights[left, :, None] * weights[beside, None]


def mobilities(chain: Chain) -> Array:
    """1/m and 1/I of the displacements of each body in its principal axes, (n, 6); 0 where it is held or has no moment of inertia."""
    moves, turns = chain.held
    inverse = chain.alike.each(lambda body: [1.0 / body.mass] * 3 + body.inverse_moments.tolist())
    return inverse * np.repeat(np.column_stack([moves, turns]), 3, axis=1)


def stiffness(chain: Chain, state: State) -> tuple[Array, Array]:
    """K by displacements in principal axes: its blocks (n, 6, 6) of the bodies, and those (links, 6, 6) of body j by the next one."""
    matrices = link_mechanics.principal_rotations(chain, state)
    d, q = link_mechanics.relative_poses(state.position, matrices, closed=chain.closed)
    values = link_mechanics.LinkMechanics(chain).values(d, q)
    return link_mechanics.assembled_blocks(d, q, values.stiffness, values.gradient, closed=chain.closed)


def _placed(chain: Chain, state: State, links: NDArray[np.int64]) -> tuple[Array, Array, Array]:
    """For links of one kind: the arms of the left and of the right particles, in space, and all x - y."""
    sides, bodies = chain.interactions.sides, chain.interactions.joined(int(links[0]))
    left, right = (
        rotations.rotate(state.orientation[side[links], None], body.particles.positions)
        for side, body in zip(sides, bodies, strict=True)
    )
    x, y = (state.position[side[links], None] + arms for side, arms in zip(sides, (left, right), strict=True))
    return left, right, x[:, :, None] - y[:, None]


def _alike(chain: Chain) -> Iterator[NDArray[np.int64]]:
    """Links of one kind whose particles interact, so many that arrays stay small."""
    first, kind_of_link = chain.interactions.kinds
    for kind, j in enumerate(first.tolist()):
        if chain.interactions.pairs[j] is None:
            continue
        links = np.flatnonzero(kind_of_link == kind)
        left, right = (len(body.particles) for body in chain.interactions.joined(j))
        at_once = max(1, MOST_PAIRS // (left * right))
        for begin in range(0, len(links), at_once):
            yield links[begin : begin + at_once]


def _frames(chain: Chain) -> Array:
    return chain.alike.each(lambda body: body.frame)
