"""Frequencies of small motions of a chain about a state: K v = omega^2 M v, six coordinates for each body.

K are the second derivatives of V by displacements of the bodies in their principal axes (`link_mechanics`), in which
the mass matrix is diagonal; M^-1/2 K M^-1/2 is block tridiagonal. Coordinates that are held, or have no moment of
inertia, get weight zero.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ...geometry import rotations
from ..base import Array, State
from ..body import Body
from ..states import as_state
from . import block_band, link_mechanics
from .views import in_principal_axes

if TYPE_CHECKING:
    from ...methods.base import Method
    from .chain import Chain

SAFETY = 0.2  # of the stability limit: at 0.4 / omega the period of the fastest mode has an error of 0.7 per cent
RESOLVED = 1.0  # dt omega of methods that are stable at any step
MOST_PAIRS = 2**14  # computed at once


def suggest_step(chain: Chain, method: Method, start: State | None, safety: float) -> float:
    """A step for accurate motion from this start: a fraction of the stability limit, or of 5 / omega without one."""
    if start is None:
        raise InputError(
            "the frequencies of a chain depend on where it is",
            where="suggest_dt",
            do="give start=, a state of the chain",
        )
    start = as_state(chain, start, "suggest_dt.start")
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
    for bound in (rough_bound, frequency_bound):  # each sharper and more expensive
        if bound(chain, state) <= threshold:
            return None
    omega = highest_frequency(chain, state)
    return omega if omega > threshold else None


def highest_frequency(chain: Chain, state: State) -> float:
    """Largest omega; 0 if the potential is curved downwards everywhere."""
    diagonal, right = weigh_stiffness(chain, state)
    largest = block_band.largest_eigenvalue(diagonal, right)
    return float(np.sqrt(largest)) if largest > block_band.CLOSE * np.abs(diagonal).max() else 0.0


def frequency_bound(chain: Chain, state: State) -> float:
    """A cheaper upper bound of the largest omega: the largest norm of a row of blocks."""
    diagonal, right = weigh_stiffness(chain, state)
    rows = np.linalg.norm(diagonal, 2, axis=(1, 2))
    between = np.linalg.norm(right, 2, axis=(1, 2))
    for side in chain.interactions.sides:
        rows[side] += between
    return float(np.sqrt(rows.max()))


def rough_bound(chain: Chain, state: State) -> float:
    """A wider upper bound at the cost of the forces, without a matrix; inf with link potentials.

    A pair with the stiffness -A - 2 A' D D^T adds to the link at most its largest eigenvalue times |J M^-1/2|^2 of its
    two particles; a body that rotates under its forces adds what the trace and the norm of sum a w^T allow. Links with
    even numbers share no body, so together they are no stiffer than the stiffest of them; the same holds for odd
    numbers. In a ring with an odd number of bodies the last link shares a body with the first one, and counts
    separately.
    """
    if chain.interactions.has_bonds:
        return np.inf
    links, turned = np.zeros(chain.interactions.count), np.zeros((3, 3, chain.count))
    pairs = link_mechanics.Pairs(chain)
    mobility = [_mobility(body) for body in chain.alike.distinct]
    matrices = rotations.to_matrix(state.orientation)
    for block in _alike(
        chain
    ):  # the link is the last index, so that sums over particles and components run over long rows
        x, y, shift = _place(chain, state.position, matrices, block)
        there = y + shift[:, None]  # relative to the centre of the left body, like x
        apart = x[:, :, None] - there[:, None]
        s = np.einsum("ikln,ikln->kln", apart, apart)
        a, b = (each.transpose(1, 2, 0) for each in pairs.slopes(int(block[0]), s.transpose(2, 0, 1)))
        stiff = np.maximum(0.0, np.maximum(-a, -(a + 2.0 * b * s)))
        left, right = (mobility[chain.alike.which[side[block[0]]]] for side in chain.interactions.sides)
        links[block] = np.einsum("kl,kln->n", left[:, None] + right, stiff)
        on_left = a.sum(axis=1) * x - np.einsum(
            "kln,iln->ikn", a, there
        )  # sum of a (x - y) over the particles of the other body
        on_right = np.einsum("kln,ikn->iln", a, x) - a.sum(axis=0) * there
        turned[..., block] += np.einsum("ikn,jkn->ijn", x, on_left)
        turned[..., chain.interactions.sides[1][block]] -= np.einsum("iln,jln->ijn", y, on_right)
    bodies = np.abs(np.trace(turned)) + np.linalg.norm(turned, axis=(0, 1))
    bodies *= chain.alike.each(lambda body: body.inverse_moments.max())
    odd = links[len(links) - 1 :] if chain.closed and len(links) % 2 else links[:0]
    paired = links[: len(links) - len(odd)]
    return float(np.sqrt(paired[::2].max() + paired[1::2].max(initial=0.0) + odd.sum() + bodies.max()))


def _mobility(body: Body) -> Array:
    """|J M^-1/2|^2 of each particle: the largest eigenvalue of 1/m - ^a I^-1 ^a."""
    arms = rotations.hat(body.principal_particles.positions)
    moved = np.eye(3) / body.mass + arms @ (body.inverse_moments[:, None] * arms.swapaxes(-1, -2))
    return np.linalg.eigvalsh(moved)[:, -1].astype(float) if len(arms) else np.zeros(0)


def fastest_spin(chain: Chain, state: State) -> float:
    """|omega| of the fastest body."""
    y = in_principal_axes(chain, state.angular_momentum)
    return float(np.linalg.norm(y * chain.alike.each(lambda body: body.inverse_moments), axis=1).max())


def weigh_stiffness(chain: Chain, state: State) -> tuple[Array, Array]:
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
    """1/m and 1/I for the displacements of each body in its principal axes, (n, 6); 0 if held or without inertia."""
    moves, turns = chain.held
    inverse = chain.alike.each(lambda body: [1.0 / body.mass] * 3 + body.inverse_moments.tolist())
    return inverse * np.repeat(np.column_stack([moves, turns]), 3, axis=1)


def stiffness(chain: Chain, state: State) -> tuple[Array, Array]:
    """K by displacements in principal axes: its blocks (n, 6, 6) of the bodies, and those (links, 6, 6) of body j by the next one."""
    matrices = link_mechanics.principal_rotations(chain, state)
    d, q = link_mechanics.relative_poses(state.position, matrices, closed=chain.closed)
    values = link_mechanics.LinkMechanics(chain).values(d, q)
    return link_mechanics.assemble_blocks(d, q, values.stiffness, values.gradient, closed=chain.closed)


def _place(chain: Chain, positions: Array, matrices: Array, links: NDArray[np.int64]) -> tuple[Array, Array, Array]:
    """For n links of one kind: the arms (3, particles, n) of left and right bodies in space, and the vector (3, n)
    between."""
    before, after = (side[links] for side in chain.interactions.sides)
    left, right = (
        np.einsum("ijn,kj->ikn", np.ascontiguousarray(matrices[rows].transpose(1, 2, 0)), body.particles.positions)
        for rows, body in zip((before, after), chain.interactions.joined(int(links[0])), strict=True)
    )
    return left, right, (positions[after] - positions[before]).T


def _alike(chain: Chain) -> Iterator[NDArray[np.int64]]:
    """Links of one kind whose particles interact, few enough at a time that arrays stay small."""
    first, kind_of_link = chain.interactions.kinds
    for kind, j in enumerate(first.tolist()):
        if chain.interactions.pairs[j] is None:
            continue
        links = np.flatnonzero(kind_of_link == kind)
        left, right = (len(body.particles) for body in chain.interactions.joined(j))
        at_once = max(1, MOST_PAIRS // (left * right))
        for begin in range(0, len(links), at_once):
            yield links[begin : begin + at_once]
