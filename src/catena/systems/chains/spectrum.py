"""Frequencies of small motions of a chain about a state: K v = omega^2 M v, six coordinates for each body.

A body moves by dr and turns by phi; a particle at a from its centre moves by J (dr, phi), J = (1, -^a). With D = x - y and the force
A D of a pair, the second derivatives of V are -J^T (A + 2 A' D D^T) J, and where a body turns under constant forces w also
-(a w^T + w a^T)/2 + a.w, which is the symmetric choice (that of the exponential map); at an equilibrium there is no choice.

In principal axes the mass matrix is diagonal, and M^-1/2 K M^-1/2 is block tridiagonal. Coordinates that are held, or without
moment of inertia, have weight zero.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ... import views
from ...errors import InputError
from ...geometry import rotations
from ..base import Array, State
from ..body import Body
from ..potentials.pairwise import at_once, interpreted
from . import forces as chain_forces

if TYPE_CHECKING:
    from .chain import Chain

SAFETY = 0.2  # of the limit of stability: at 0.4 / omega the period of the fastest mode is right to 0.7 per cent
RESOLVED = 1.0  # dt omega of methods that are stable at any step
DENSE = 120  # coordinates up to which all eigenvalues are computed at once
MOST_PAIRS = 2**16  # taken at once
GAP = 1e-5  # of the differences of link potentials, relative to |d| and in radians
PRECISION = 1e-9  # relative change of the largest eigenvalue between two looks at which Lanczos ends
LOOK_EVERY = 20  # steps of Lanczos
MOST_STEPS = 400


def suggested_step(chain: Chain, method: Any, start: State | None) -> float:
    """A step for accurate motion from this start: a fifth of the limit of stability, or 1 / omega where there is no limit."""
    if start is None:
        raise InputError(
            "the frequencies of a chain depend on where it is",
            where="suggest_dt",
            do="give start=, a state of the chain",
        )
    limit = method.traits.stability
    if limit <= 0.0:
        raise InputError(f"{method} has no stable step for a motion without damping", where="suggest_dt", do="give dt")
    fastest = max(highest_frequency(chain, start), fastest_spin(chain, start))
    if fastest == 0.0:
        raise InputError("nothing oscillates or turns at this start", where="suggest_dt", do="give dt")
    return (SAFETY * limit if np.isfinite(limit) else RESOLVED) / fastest


def highest_frequency(chain: Chain, state: State) -> float:
    """Largest omega; 0 if the potential is curved downwards everywhere."""
    diagonal, right = weighted_stiffness(chain, state)
    small = 6 * chain.count <= DENSE
    largest = np.linalg.eigvalsh(assembled(diagonal, right))[-1] if small else largest_eigenvalue(diagonal, right)
    return float(np.sqrt(max(0.0, largest)))


def largest_eigenvalue(diagonal: Array, right: Array) -> float:
    """By Lanczos without reorthogonalisation: that spoils inner eigenvalues, not the largest.

    The frequencies of a long chain crowd below the highest one, and the vector of that mode takes as many steps as there are
    bodies; its eigenvalue is right to 1e-4 after some hundred steps whatever the length is.
    """
    v = np.cos(np.arange(diagonal.shape[0] * 6) ** 2.0).reshape(-1, 6, 1)  # definite, and along no mode in particular
    v /= np.linalg.norm(v)
    before, coupling = np.zeros_like(v), 0.0
    alphas: list[float] = []
    betas: list[float] = []
    known = -np.inf
    while len(alphas) < MOST_STEPS:
        w = diagonal @ v - coupling * before
        w[:-1] += right @ v[1:]
        w[1:] += right.transpose(0, 2, 1) @ v[:-1]
        alphas.append(float((w * v).sum()))
        w -= alphas[-1] * v
        coupling = float(np.linalg.norm(w))
        if len(alphas) % LOOK_EVERY == 0 or coupling == 0.0:
            ritz = np.linalg.eigvalsh(np.diag(alphas) + np.diag(betas, 1) + np.diag(betas, -1))[-1]
            if ritz - known <= PRECISION * abs(ritz) or coupling == 0.0:
                return float(ritz)
            known = ritz
        betas.append(coupling)
        before, v = v, w / coupling
    return float(known)


def frequency_bound(chain: Chain, state: State) -> float:
    """An upper bound of the largest omega, at less cost: the largest norm of a row of blocks."""
    diagonal, right = weighted_stiffness(chain, state)
    rows = np.linalg.norm(diagonal, 2, axis=(1, 2))
    between = np.linalg.norm(right, 2, axis=(1, 2))
    rows[:-1] += between
    rows[1:] += between
    return float(np.sqrt(rows.max()))


def rough_bound(chain: Chain, state: State) -> float:
    """A wider upper bound at the cost of the forces, without a matrix; inf where there are link potentials.

    A pair with the stiffness -A - 2 A' D D^T adds at most its largest eigenvalue times |J M^-1/2|^2 of its two particles to the link, a
    body that turns under its forces what the trace and the norm of sum a w^T allow. Links of even numbers touch no body twice, so
    that together they are no stiffer than the stiffest of them; neither are those of odd numbers.
    """
    if chain.interactions.has_bonds:
        return np.inf
    links, turned = np.zeros(chain.count - 1), np.zeros((chain.count, 3, 3))
    slopes = _PairSlopes(chain)
    mobility = [_mobility(body) for body in chain.alike.distinct]
    for block in _alike(chain):
        (x, _), (y, _), d = _placed(chain, state, block)
        s = np.einsum("nkli,nkli->nkl", d, d)
        a, b = slopes.at(block, s)
        stiff = np.maximum(0.0, np.maximum(-a, -(a + 2.0 * b * s)))
        left, right = (mobility[chain.alike.which[block[0] + k]] for k in (0, 1))
        links[block] = np.einsum("nkl,kl->n", stiff, left[:, None] + right)
        w = a[..., None] * d
        turned[block] += np.einsum("nki,nkj->nij", x, w.sum(axis=2))
        turned[block + 1] -= np.einsum("nli,nlj->nij", y, w.sum(axis=1))
    bodies = np.abs(np.trace(turned, axis1=1, axis2=2)) + np.linalg.norm(turned, axis=(1, 2))
    bodies *= chain.alike.each(lambda body: body.inverse_moments.max())
    return float(np.sqrt(links[::2].max() + links[1::2].max(initial=0.0) + bodies.max()))


def _mobility(body: Body) -> Array:
    """|J M^-1/2|^2 of each particle: the largest eigenvalue of 1/m - ^a I^-1 ^a."""
    arms = _hat(body.principal_particles.positions)
    moved = np.eye(3) / body.mass + arms @ (body.inverse_moments[:, None] * arms.swapaxes(-1, -2))
    return np.linalg.eigvalsh(moved)[:, -1].astype(float) if len(arms) else np.zeros(0)


def fastest_spin(chain: Chain, state: State) -> float:
    """|omega| of the body that turns fastest."""
    y = rotations.rotate(rotations.conjugate(_frames(chain)), state.angular_momentum)
    return float(np.linalg.norm(y * chain.alike.each(lambda body: body.inverse_moments), axis=1).max())


def assembled(diagonal: Array, right: Array) -> Array:
    """The dense matrix of these blocks."""
    n = len(diagonal)
    matrix = np.zeros((n, 6, n, 6))
    for j in range(n):
        matrix[j, :, j] = diagonal[j]
    for j in range(n - 1):
        matrix[j, :, j + 1], matrix[j + 1, :, j] = right[j], right[j].T
    return matrix.reshape(6 * n, 6 * n)


def weighted_stiffness(chain: Chain, state: State) -> tuple[Array, Array]:
    """M^-1/2 K M^-1/2: its blocks (n, 6, 6) of the bodies, and those (n - 1, 6, 6) of body j by body j + 1."""
    diagonal, right = stiffness(chain, state)
    if not (np.isfinite(diagonal).all() and np.isfinite(right).all()):
        raise InputError(
            "the energy, or a derivative of it, is not defined at the start", where=chain.undefined_at(state),
            do="start away from singular points and inside the domain of every function",
        )  # fmt: skip
    turns = rotations.to_matrix(rotations.multiply(state.orientation, _frames(chain)))
    moves, may_turn = chain.held
    scale = np.zeros((chain.count, 6, 6))
    scale[:, :3, :3] = np.eye(3) * (moves / np.sqrt(chain.alike.each(lambda body: body.mass)))[:, None, None]
    inverse = np.sqrt(chain.alike.each(lambda body: body.inverse_moments))
    scale[:, 3:, 3:] = turns * (may_turn[:, None] * inverse)[:, None, :]
    left = scale.transpose(0, 2, 1)
    return left @ diagonal @ scale, left[:-1] @ right @ scale[1:]


def stiffness(chain: Chain, state: State) -> tuple[Array, Array]:
    """K by positions and turns in space: its blocks (n, 6, 6) of the bodies, and those (n - 1, 6, 6) of body j by body j + 1."""
    n = chain.count
    diagonal, right = np.zeros((n, 6, 6)), np.zeros((n - 1, 6, 6))
    turned = np.zeros((n, 3, 3))
    slopes = _PairSlopes(chain)
    for links in _alike(chain):
        (x, of_left), (y, of_right), d = _placed(chain, state, links)
        a, b = slopes.at(links, np.einsum("nkli,nkli->nkl", d, d))
        w = a[..., None] * d
        turned[links] += np.einsum("nki,nkj->nij", x, w.sum(axis=2))
        turned[links + 1] -= np.einsum("nli,nlj->nij", y, w.sum(axis=1))
        h = a[..., None, None] * np.eye(3) + 2.0 * b[..., None, None] * d[..., :, None] * d[..., None, :]
        pushed = np.einsum("nklim,nlmc->nkic", h, of_right())
        diagonal[links] -= np.einsum("nkir,nkim,nkmc->nrc", of_left(), h.sum(axis=2), of_left(), optimize=True)
        diagonal[links + 1] -= np.einsum("nlir,nlim,nlmc->nrc", of_right(), h.sum(axis=1), of_right(), optimize=True)
        right[links] += np.einsum("nkir,nkic->nrc", of_left(), pushed)
    first, kind_of_link = chain.interactions.kinds
    for kind, j in enumerate(first.tolist()):
        if chain.interactions.bonds[j] is not None:
            _add_bonds(chain, state, np.flatnonzero(kind_of_link == kind), diagonal, right)
    trace = np.trace(turned, axis1=1, axis2=2)[:, None, None]
    diagonal[:, 3:, 3:] += trace * np.eye(3) - 0.5 * (turned + turned.swapaxes(1, 2))
    return diagonal, right


def _placed(chain: Chain, state: State, links: NDArray[np.int64]) -> tuple[Any, Any, Array]:
    """For links of one kind: the arms of the left particles and J of them, the same of the right ones, and all x - y."""
    arms = [
        rotations.rotate(state.orientation[links + k, None], chain.bodies[links[0] + k].particles.positions)
        for k in (0, 1)
    ]
    x, y = (state.position[links + k, None] + arms[k] for k in (0, 1))
    left, right = ((arm, partial(_arms, arm)) for arm in arms)
    return left, right, x[:, :, None] - y[:, None]


def _alike(chain: Chain) -> Iterator[NDArray[np.int64]]:
    """Links of one kind whose particles interact, so many that arrays stay small."""
    first, kind_of_link = chain.interactions.kinds
    for kind, j in enumerate(first.tolist()):
        if chain.interactions.pairs[j] is None:
            continue
        links = np.flatnonzero(kind_of_link == kind)
        at_once = max(1, MOST_PAIRS // (len(chain.bodies[j].particles) * len(chain.bodies[j + 1].particles)))
        for begin in range(0, len(links), at_once):
            yield links[begin : begin + at_once]


class _PairSlopes:
    """A = -(dV/dr)/r and dA/ds of the pairs of a link, by the kernels of the chain."""

    def __init__(self, chain: Chain) -> None:
        fills, arrays = chain.interactions.fills(), chain.interactions.arrays()
        self._kernels = [fills[slot] for slot in (views.pair_force, views.pair_slope)]
        self._uniform = fills[chain_forces.is_uniform] == 1
        self._which, self._types = arrays["which"], arrays["types"]
        self._par = SimpleNamespace(pair=arrays["pair"].tolist())

    def at(self, links: NDArray[np.int64], s: Array) -> tuple[Array, Array]:
        """Both for the squared distances s (links, k, l) of all pairs."""
        which = np.zeros(s.shape, dtype=np.int64)
        if not self._uniform:
            left, right = self._types[links, : s.shape[1]], self._types[links + 1, : s.shape[2]]
            which = self._which[links[:, None, None], left[:, :, None], right[:, None, :]]
        a, b = np.zeros(s.shape), np.zeros(s.shape)
        for number in np.unique(which).tolist():
            mine = which == number
            for kernel, out in zip(self._kernels, (a, b), strict=True):
                found = at_once(interpreted(kernel, np), s[mine], number, self._par)
                if found is None:
                    plain = interpreted(kernel)
                    found = np.array([plain(square, number, self._par) for square in s[mine].tolist()])
                out[mine] = found
        return a, b


def _arms(a: Array) -> Array:
    """J = (1, -^a) of particles (..., 3)."""
    return np.concatenate([np.broadcast_to(np.eye(3), (*a.shape, 3)), -_hat(a)], axis=-1)


def _hat(a: Array) -> Array:
    """^a v = a x v, for vectors (..., 3)."""
    return np.cross(a[..., None, :], np.eye(3)).swapaxes(-1, -2)


def _add_bonds(chain: Chain, state: State, links: NDArray[np.int64], diagonal: Array, right: Array) -> None:
    """A link potential: differences of its forces by relative position and rotation, taken to the two bodies of each link."""
    bond = chain.interactions.bonds[links[0]]
    assert bond is not None
    a, b = (rotations.to_matrix(state.orientation[links + k]) for k in (0, 1))
    a_t, b_t = a.swapaxes(1, 2), b.swapaxes(1, 2)
    between = state.position[links + 1] - state.position[links]
    d, q = (a_t @ between[:, :, None])[:, :, 0], a_t @ b
    length = np.linalg.norm(d, axis=1)
    gap = GAP * np.where(length > 0.0, length, 1.0)[:, None]
    slope = np.zeros((len(links), 6, 6))
    for i, e in enumerate(np.eye(3)):
        slope[:, :, i] = (bond.forces(d + gap * e, q) - bond.forces(d - gap * e, q)) / (2.0 * gap)
        turn = GAP * q @ _hat(e)
        slope[:, :, 3 + i] = (bond.forces(d, q + turn) - bond.forces(d, q - turn)) / (2.0 * GAP)
    found = bond.forces(d, q)[:, :, None]
    force, torque = _hat((a @ found[:, :3])[:, :, 0]), _hat((b @ found[:, 3:])[:, :, 0])
    zero = np.zeros_like(a)
    strain = np.block([[-a_t, _hat(d) @ a_t, a_t, zero], [zero, -b_t, zero, b_t]])
    force_by = a @ slope[:, :3] @ strain - np.block([zero, force, zero, zero])
    torque_by = b @ slope[:, 3:] @ strain - np.block([zero, zero, zero, torque])
    levered = torque_by + np.block([force, zero, -force, zero]) + _hat(between) @ force_by
    k = -np.concatenate([-force_by, -levered, force_by, torque_by], axis=1)
    k = 0.5 * (k + k.swapaxes(1, 2))
    diagonal[links] += k[:, :6, :6]
    diagonal[links + 1] += k[:, 6:, 6:]
    right[links] += k[:, :6, 6:]


def _frames(chain: Chain) -> Array:
    return chain.alike.each(lambda body: body.frame)
