"""Frequencies of small motions of a chain about a state: K v = omega^2 M v, six coordinates for each body.

A body moves by dr and turns by phi; a particle at a from its centre moves by J (dr, phi), J = (1, -^a). With D = x - y and the force
A D of a pair, the second derivatives of V are -J^T (A + 2 A' D D^T) J, and where a body turns under constant forces w also
-(a w^T + w a^T)/2 + a.w, which is the symmetric choice (that of the exponential map); at an equilibrium there is no choice.

In principal axes the mass matrix is diagonal, and M^-1/2 K M^-1/2 is block tridiagonal. Coordinates that are held, or without
moment of inertia, have weight zero.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ... import views
from ...errors import InputError
from ...geometry import rotations
from ..base import Array, State
from ..potentials.pairwise import interpreted
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
    """An upper bound of the largest omega, at little cost: the largest norm of a row of blocks."""
    diagonal, right = weighted_stiffness(chain, state)
    rows = np.linalg.norm(diagonal, 2, axis=(1, 2))
    between = np.linalg.norm(right, 2, axis=(1, 2))
    rows[:-1] += between
    rows[1:] += between
    return float(np.sqrt(rows.max()))


def fastest_spin(chain: Chain, state: State) -> float:
    """|omega| of the body that turns fastest."""
    y = rotations.rotate(rotations.conjugate(_frames(chain)), state.angular_momentum)
    return float(np.linalg.norm(y * [body.inverse_moments for body in chain.bodies], axis=1).max())


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
    for j, body in enumerate(chain.bodies):
        scale[j, :3, :3] = np.eye(3) * moves[j] / np.sqrt(body.mass)
        scale[j, 3:, 3:] = turns[j] * (may_turn[j] * np.sqrt(body.inverse_moments))
    left = scale.transpose(0, 2, 1)
    return left @ diagonal @ scale, left[:-1] @ right @ scale[1:]


def stiffness(chain: Chain, state: State) -> tuple[Array, Array]:
    """K by positions and turns in space: its blocks (n, 6, 6) of the bodies, and those (n - 1, 6, 6) of body j by body j + 1."""
    n = chain.count
    diagonal, right = np.zeros((n, 6, 6)), np.zeros((n - 1, 6, 6))
    placed = chain.particles(state)
    forces = [np.zeros_like(x) for x in placed]
    slopes = _PairSlopes(chain)
    for links in _alike(chain, placed):
        x, y = np.array([placed[j] for j in links]), np.array([placed[j + 1] for j in links])
        d = x[:, :, None] - y[:, None]
        a, b = slopes.at(links, np.einsum("nkli,nkli->nkl", d, d))
        w = a[..., None] * d
        for j, left, opposite in zip(links, w.sum(axis=2), w.sum(axis=1), strict=True):
            forces[j] += left
            forces[j + 1] -= opposite
        h = a[..., None, None] * np.eye(3) + 2.0 * b[..., None, None] * d[..., :, None] * d[..., None, :]
        of_left, of_right = (_arms(z - state.position[links + k][:, None]) for k, z in enumerate((x, y)))
        pushed = np.einsum("nklim,nlmc->nkic", h, of_right)
        diagonal[links] -= np.einsum("nkir,nkim,nkmc->nrc", of_left, h.sum(axis=2), of_left, optimize=True)
        diagonal[links + 1] -= np.einsum("nlir,nlim,nlmc->nrc", of_right, h.sum(axis=1), of_right, optimize=True)
        right[links] += np.einsum("nkir,nkic->nrc", of_left, pushed)
    for j in range(n - 1):
        if chain.interactions.bonds[j] is not None:
            _add_bond(chain, state, j, diagonal, right)
    for j in range(n):
        turned = (placed[j] - state.position[j]).T @ forces[j]
        diagonal[j, 3:, 3:] += np.trace(turned) * np.eye(3) - 0.5 * (turned + turned.T)
    return diagonal, right


def _alike(chain: Chain, placed: list[Array]) -> Iterator[NDArray[np.int64]]:
    """Links whose particles interact, those between bodies of as many particles together, so many that arrays stay small."""
    groups: dict[tuple[int, int], list[int]] = {}
    for j, pairs in enumerate(chain.interactions.pairs):
        if pairs is not None:
            groups.setdefault((len(placed[j]), len(placed[j + 1])), []).append(j)
    for (k, l), links in groups.items():
        at_once = max(1, MOST_PAIRS // (k * l))
        for first in range(0, len(links), at_once):
            yield np.array(links[first : first + at_once])


class _PairSlopes:
    """A = -(dV/dr)/r and dA/ds of the pairs of a link, by the kernels of the chain."""

    def __init__(self, chain: Chain) -> None:
        fills, arrays = chain.interactions.fills(), chain.interactions.arrays()
        self._force, self._slope = (interpreted(fills[slot]) for slot in (views.pair_force, views.pair_slope))
        self._uniform = fills[chain_forces.is_uniform] == 1
        self._which, self._types = arrays["which"], arrays["types"]
        self._par = SimpleNamespace(pair=arrays["pair"].tolist())

    def at(self, links: NDArray[np.int64], s: Array) -> tuple[Array, Array]:
        """Both for the squared distances s (links, k, l) of all pairs."""
        which = np.zeros(s.shape, dtype=np.int64)
        if not self._uniform:
            left, right = self._types[links, : s.shape[1]], self._types[links + 1, : s.shape[2]]
            which = self._which[links[:, None, None], left[:, :, None], right[:, None, :]]
        pairs = list(zip(s.ravel().tolist(), which.ravel().tolist(), strict=True))
        a = [self._force(square, number, self._par) for square, number in pairs]
        b = [self._slope(square, number, self._par) for square, number in pairs]
        return np.reshape(a, s.shape), np.reshape(b, s.shape)


def _arms(a: Array) -> Array:
    """J = (1, -^a) of particles (..., 3)."""
    return np.concatenate([np.broadcast_to(np.eye(3), (*a.shape, 3)), -_hat(a)], axis=-1)


def _hat(a: Array) -> Array:
    """^a v = a x v, for vectors (..., 3)."""
    return np.cross(a[..., None, :], np.eye(3)).swapaxes(-1, -2)


def _add_bond(chain: Chain, state: State, j: int, diagonal: Array, right: Array) -> None:
    """A link potential: differences of its forces by relative position and rotation, taken to the two bodies."""
    bond = chain.interactions.bonds[j]
    assert bond is not None
    a, b = rotations.to_matrix(state.orientation[j : j + 2])
    between = state.position[j + 1] - state.position[j]
    d, q = a.T @ between, a.T @ b
    gap = GAP * (np.linalg.norm(d) or 1.0)
    slope = np.zeros((6, 6))
    for i, e in enumerate(np.eye(3)):
        slope[:, i] = (bond.force(d + gap * e, q) - bond.force(d - gap * e, q)) / (2.0 * gap)
        slope[:, 3 + i] = (bond.force(d, q + GAP * q @ _hat(e)) - bond.force(d, q - GAP * q @ _hat(e))) / (2.0 * GAP)
    found = bond.force(d, q)
    force, torque = _hat(a @ found[:3]), _hat(b @ found[3:])
    zero = np.zeros((3, 3))
    strain = np.block([[-a.T, _hat(d) @ a.T, a.T, zero], [zero, -b.T, zero, b.T]])
    force_by = a @ slope[:3] @ strain - np.block([zero, force, zero, zero])
    torque_by = b @ slope[3:] @ strain - np.block([zero, zero, zero, torque])
    levered = torque_by + np.block([force, zero, -force, zero]) + _hat(between) @ force_by
    k = -np.vstack([-force_by, -levered, force_by, torque_by])
    k = 0.5 * (k + k.T)
    diagonal[j] += k[:6, :6]
    diagonal[j + 1] += k[6:, 6:]
    right[j] += k[:6, 6:]


def _frames(chain: Chain) -> Array:
    return np.array([body.frame for body in chain.bodies])
