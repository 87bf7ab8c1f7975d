"""Energy, gradient and second derivatives of all links of a chain at once, and their assembly for the chain.

A body is displaced by xi = (u, theta) in its own principal axes, r -> r + R u, R -> R exp(hat theta). A link between
bodies a and b depends only on Q = R_a^T R_b and d = R_a^T (r_b - r_a), so that its strain

    eta = xi_b - A xi_a,      A = [[Q^T, -Q^T hat(d)], [0, Q^T]],

its gradient g = (g_u, g_t) by xi_b and its stiffness K_b, the second derivatives by xi_b alone (6 x 6), are sufficient:
the gradient by xi_a is -A^T g, and the second derivatives (12 x 12) are exactly B^T K_b B + G(g), B = (-A, 1), also
away from equilibrium, with

    F = Q g_u,   G[ta, ua] = -hat(F),   G[ta, ta] = S(F, d),   G[ta, ub] = hat(F) Q,   G[ta, tb] = Q hat(g_t)/2,

S(F, d) = (F d^T + d F^T)/2 - F.d, G symmetric, other blocks zero. (This is the symmetric choice, that of the
exponential map; at an equilibrium all choices agree.) A pair of particles at X of a and Y of b, with D = x - y in the
axes of b and the force A D on x, adds

    g += J^T A D,      K_b += -J^T (A + 2 A' D D^T) J + S(A D, Y) for the rotations,      J = (1, -hat Y).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import FunctionType, SimpleNamespace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...geometry import rotations
from ...geometry.rotations import hat
from ...kernels import views
from ..base import Array, State
from ..potentials.link_set import LinkGroup
from ..potentials.pairwise import at_once, interpret
from . import forces as chain_forces
from .interactions import SOME_LINKS

if TYPE_CHECKING:
    from .chain import Chain

MOST_PAIRS = 2**16  # computed at once
STEP = 1e-100  # of an imaginary displacement: its square is negligible, so no digit is lost
GAP = 1e-3  # of differences of fourth order, relative to |d| and in radians: truncation and round-off errors of 1e-12
FEW_ROWS = 50  # rows of constants of a kernel, that is links, with which it is tested for being analytic
AGREES = 1e-6  # agreement of imaginary displacements with differences


class LinkValues(NamedTuple):
    """Energy (links,), gradient (links, 6) and stiffness (links, 6, 6) by displacements of the right bodies."""

    energy: Array
    gradient: Array
    stiffness: Array


class LinkMechanics:
    """Energies and derivatives of the links of a chain at relative positions d (links, 3) and rotations Q (links, 3, 3)
    in principal axes.

    Pairs of particles are computed kind by kind, link potentials kernel by kernel: links that differ only in their
    constants, at once.

    Parameters
    ----------
    chain : any chain; derivatives are exact unless a link potential branches
    """

    def __init__(self, chain: Chain) -> None:
        self.chain = chain
        self._pairs = Pairs(chain)
        self._bonds = [Bond(group) for group in chain.interactions.bond_set.groups]
        self._which = chain.interactions.arrays["link_which"].astype(np.int64)
        self.frames = chain.alike.each(lambda body: body.frame_matrix)

    def values(self, d: Array, q: Array, links: NDArray[np.int64] | None = None) -> LinkValues:
        """Values of all links, or of those with these numbers: row k of d and q belongs to `links[k]`; repetitions
        allowed."""
        numbers = np.arange(len(d)) if links is None else links
        found = LinkValues(np.zeros(len(d)), np.zeros((len(d), 6)), np.zeros((len(d), 6, 6)))
        with np.errstate(all="ignore"):
            if self.chain.interactions.has_pairs:
                self._add_pairs(numbers, d, q, found)
            which = self._which[numbers]
            for bond in self._bonds:
                rows = np.flatnonzero((which >= bond.group.first) & (which < bond.group.end))
                if rows.size:
                    self._add_bond(bond, which[rows], numbers[rows], rows, d, q, found)
        return found

    def _add_pairs(self, numbers: NDArray[np.int64], d: Array, q: Array, found: LinkValues) -> None:
        kind_of_row = self.chain.interactions.kinds[1][numbers]
        for kind in np.unique(kind_of_row).tolist():
            rows = np.flatnonzero(kind_of_row == kind)
            link = int(numbers[rows[0]])
            if self.chain.interactions.pairs[link] is not None:
                self._pairs.add(link, rows, d, q, found)

    def _add_bond(
        self,
        bond: Bond,
        which: NDArray[np.int64],
        links: NDArray[np.int64],
        rows: NDArray[np.int64],
        d: Array,
        q: Array,
        found: LinkValues,
    ) -> None:
        """Link potentials, in the axes in which the bodies were given: g_u = -Q^T f, g_t = -c."""
        left, right = self.frames[links], self.frames[self.chain.interactions.sides[1][links]]
        given, turned = np.einsum("nij,nj->ni", left, d[rows]), left @ q[rows] @ right.swapaxes(1, 2)
        constants = bond.group.table[which - bond.group.first]
        to_right = np.zeros(
            (len(rows), 6, 6)
        )  # (dd, dtheta) by the displacement of the right body, in its principal axes
        to_right[:, :3, :3], to_right[:, 3:, 3:] = turned @ right, right
        slope = to_right.swapaxes(1, 2) @ bond.slopes(given, turned, constants) @ to_right
        found.energy[rows] += bond.energies(given, turned, constants)
        found.gradient[rows] -= np.einsum("nij,ni->nj", to_right, bond.forces(given, turned, constants))
        found.stiffness[rows] -= 0.5 * (slope + slope.swapaxes(1, 2))


class Pairs:
    """Pairs of particles: with D = x - y in the axes of b and f = A D on x; displacing b changes D by -J xi_b."""

    def __init__(self, chain: Chain) -> None:
        fills, arrays = chain.interactions.fills(), chain.interactions.arrays
        self.chain = chain
        slots = (views.pair_energy, views.pair_force, views.pair_slope)
        self._kernels = [(interpret(fills[slot], np), interpret(fills[slot])) for slot in slots]
        self._uniform = fills[chain_forces.is_uniform] == 1
        self._which, self._types = arrays["which"], arrays["types"]
        self._par = SimpleNamespace(pair=arrays["pair"].tolist())

    def add(self, link: int, rows: NDArray[np.int64], d: Array, q: Array, found: LinkValues) -> None:
        """Add to the rows, which all belong to links of the kind of this one."""
        x, y = (body.principal_particles.positions for body in self.chain.interactions.joined(link))
        arms = np.concatenate([np.broadcast_to(np.eye(3), (len(y), 3, 3)), -hat(y)], axis=-1)
        for some in self._blocks(rows, len(x) * len(y)):
            apart = ((x - d[some, None]) @ q[some])[:, :, None] - y  # (links, left, right, 3)
            energy, a, b = self.at(link, np.einsum("nkli,nkli->nkl", apart, apart))
            force = np.einsum("nkl,nkli->nli", a, apart)  # minus the force on each right particle
            slope = np.einsum("nkl,nkli,nklj->nlij", 2.0 * b, apart, apart, optimize=True)
            slope += a.sum(axis=1)[:, :, None, None] * np.eye(3)
            found.energy[some] += energy.sum(axis=(1, 2))
            found.gradient[some] += np.einsum("lic,nli->nc", arms, force)
            found.stiffness[some] -= np.einsum("lir,nlij,ljc->nrc", arms, slope, arms, optimize=True)
            found.stiffness[some, 3:, 3:] += symmetric_turn(force, y).sum(axis=1)

    def at(self, link: int, s: Array) -> list[Array]:
        """V, A = -(dV/dr)/r and dA/ds for the squared distances s (rows, k, l) of all pairs of links of one kind."""
        return [self._values(kernels, link, s) for kernels in self._kernels]

    def slopes(self, link: int, s: Array) -> list[Array]:
        """A and dA/ds alone."""
        return [self._values(kernels, link, s) for kernels in self._kernels[1:]]

    def _values(self, kernels: tuple[FunctionType, FunctionType], link: int, s: Array) -> Array:
        """The values of the kernel of a pair for all of them; the first of the two kernels takes arrays."""
        if self._uniform:
            return self._of_one(kernels, 0, s)
        left, right = self._types[link, : s.shape[1]], self._types[(link + 1) % len(self._types), : s.shape[2]]
        which = self._which[link, left[:, None], right[None, :]]
        found = np.zeros_like(s)
        for number in np.unique(which).tolist():
            mine = which == number
            found[:, mine] = self._of_one(kernels, number, s[:, mine])
        return found

    def _of_one(self, kernels: tuple[FunctionType, FunctionType], number: int, s: Array) -> Array:
        many, one = kernels
        values = at_once(many, s, number, self._par)
        if values is None:
            values = np.array([_or_nan(one, square, number, self._par) for square in s.ravel().tolist()])
        return values.reshape(s.shape)

    def _blocks(self, rows: NDArray[np.int64], pairs: int) -> Iterator[NDArray[np.int64]]:
        many = max(1, MOST_PAIRS // max(1, pairs))
        for begin in range(0, len(rows), many):
            yield rows[begin : begin + many]


def _or_nan(kernel: Callable[..., object], *arguments: object) -> float:
    return _numbers_or_nan(kernel, 1, *arguments)[0]


def _numbers_or_nan(kernel: Callable[..., object], count: int, *arguments: object) -> tuple[float, ...]:
    """The values of a kernel, one number or several; nan where it is undefined."""
    try:
        found = kernel(*arguments)
    except (ZeroDivisionError, ValueError, OverflowError):
        return (np.nan,) * count
    return found if isinstance(found, tuple) else (found,)


class Bond:
    """Link potentials of one kernel: energies, forces and their slopes by relative position and rotation, for links
    with constants (links, k).

    Slopes are exact, by imaginary displacements [squire1998], if V is analytic. If it is not (|x|, or branches),
    imaginary parts are lost or refused: then differences of fourth order are used. A test at some relative positions
    decides.
    """

    def __init__(self, group: LinkGroup) -> None:
        self.group = group
        self._energy, self._force = ((interpret(part, np), interpret(part)) for part in (group.energy, group.force))
        some = group.table[:: max(1, len(group.table) // FEW_ROWS)]
        d = np.array([position for _, position in SOME_LINKS])
        q = rotations.to_matrix(rotations.from_euler([angles for angles, _ in SOME_LINKS]))
        places = [np.tile(part.reshape(len(d), -1), (len(some), 1)) for part in (d, q)]
        self.analytic = self._is_analytic(places[0], places[1].reshape(-1, 3, 3), np.repeat(some, len(d), axis=0))

    def energies(self, d: Array, q: Array, constants: Array) -> Array:
        """V, (links,); nan where it is undefined."""
        found = self._at(self._energy, 1, d, q, constants)[:, 0]
        return np.where(np.isfinite(found), found, np.nan)

    def forces(self, d: Array, q: Array, constants: Array) -> Array:
        """f and c, (links, 6)."""
        return self._at(self._force, 6, d, q, constants)

    def slopes(self, d: Array, q: Array, constants: Array) -> Array:
        """(f, c) by (dd, dtheta), (links, 6, 6)."""
        return self._imaginary(d, q, constants) if self.analytic else self._differences(d, q, constants)

    def _at(
        self,
        kernel: tuple[Callable[..., object], Callable[..., object]],
        width: int,
        d: Array,
        q: Array,
        constants: Array,
    ) -> Array:
        """The values of a kernel, (links, width): by one call, or link by link if it takes single numbers."""
        found = self._at_once(kernel[0], d, q, constants)
        if found is not None:
            return found
        arguments = np.concatenate([d, q.reshape(-1, 9)], axis=1).tolist()
        pars = (SimpleNamespace(link=row) for row in constants.tolist())
        each = [_numbers_or_nan(kernel[1], width, *row, 0, par) for row, par in zip(arguments, pars, strict=True)]
        return np.array(each, dtype=float).reshape(-1, width)

    def _at_once(self, kernel: Callable[..., object], d: Array, q: Array, constants: Array) -> Array | None:
        try:
            with np.errstate(all="ignore"):
                found = kernel(*d.T, *q.reshape(-1, 9).T, 0, SimpleNamespace(link=constants.T))
        except (TypeError, ValueError):  # branches take only one number
            return None
        parts = found if isinstance(found, tuple) else (found,)
        return np.stack([np.broadcast_to(part, len(d)) for part in parts], axis=1)

    def _is_analytic(self, d: Array, q: Array, constants: Array) -> bool:
        if self._at_once(self._force[0], d.astype(complex), q.astype(complex), constants) is None:
            return False
        exact, rough = self._imaginary(d, q, constants), self._differences(d, q, constants)
        known = np.isfinite(rough).all(axis=(1, 2))
        size = np.abs(rough).max(axis=(1, 2), initial=0.0)[:, None, None]
        return bool(known.any() and (np.abs(exact - rough) <= AGREES * size)[known].all())

    def _imaginary(self, d: Array, q: Array, constants: Array) -> Array:
        slopes = np.zeros((len(d), 6, 6))
        for i, e in enumerate(np.eye(6)):
            found = self._at_once(self._force[0], d + 1j * STEP * e[:3], q + 1j * STEP * (q @ hat(e[3:])), constants)
            assert found is not None
            slopes[:, :, i] = found.imag / STEP
        return slopes

    def _differences(self, d: Array, q: Array, constants: Array) -> Array:
        length = np.linalg.norm(d, axis=1)
        gap = GAP * np.where(length > 0.0, length, 1.0)[:, None]
        slopes = np.zeros((len(d), 6, 6))
        for i, e in enumerate(np.eye(6)):
            turn = q @ hat(e[3:])
            h = gap if i < 3 else np.full_like(gap, GAP)
            near, far = (
                self.forces(d + k * h * e[:3], q + k * h[:, :, None] * turn, constants)
                - self.forces(d - k * h * e[:3], q - k * h[:, :, None] * turn, constants)
                for k in (1.0, 2.0)
            )
            slopes[:, :, i] = (8.0 * near - far) / (12.0 * h)
        return slopes


# The geometry of links ---------------------------------------------------------------------------------------------------


def symmetric_turn(force: Array, arm: Array) -> Array:
    """S(F, X) = (F X^T + X F^T)/2 - F.X, (..., 3, 3)."""
    outer = force[..., :, None] * arm[..., None, :]
    along = (force * arm).sum(axis=-1)[..., None, None]
    return 0.5 * (outer + outer.swapaxes(-1, -2)) - along * np.eye(3)


def principal_rotations(chain: Chain, state: State) -> Array:
    """Rotations from principal axes to space, (n, 3, 3)."""
    frames = chain.alike.each(lambda body: body.frame)
    return rotations.to_matrix(rotations.multiply(state.orientation, frames))


def relative_poses(position: Array, matrices: Array, *, closed: bool) -> tuple[Array, Array]:
    """d and Q of all links, from positions (n, 3) and principal rotations (n, 3, 3); `closed`: a ring."""
    if closed:
        position, matrices = (np.concatenate([given, given[:1]]) for given in (position, matrices))
    back = matrices[:-1].swapaxes(1, 2)
    return (back @ np.diff(position, axis=0)[:, :, None])[:, :, 0], back @ matrices[1:]


def transports(d: Array, q: Array) -> Array:
    """A of all links, (links, 6, 6)."""
    back = q.swapaxes(1, 2)
    a = np.zeros((len(d), 6, 6))
    a[:, :3, :3] = a[:, 3:, 3:] = back
    a[:, :3, 3:] = -back @ hat(d)
    return a


def geometric_blocks(d: Array, q: Array, wrench: Array) -> tuple[Array, Array]:
    """G of all links with wrenches (links, 6) on their right bodies: its blocks (a, a) and (a, b), (links, 6, 6)."""
    force = np.einsum("nij,nj->ni", q, wrench[:, :3])
    own, beside = np.zeros((len(d), 6, 6)), np.zeros((len(d), 6, 6))
    across = hat(force)
    own[:, 3:, :3], own[:, :3, 3:] = -across, across
    own[:, 3:, 3:] = symmetric_turn(force, d)
    beside[:, 3:, :3] = across @ q
    beside[:, 3:, 3:] = 0.5 * q @ hat(wrench[:, 3:])
    return own, beside


def assemble_blocks(d: Array, q: Array, stiffness: Array, wrench: Array, *, closed: bool) -> tuple[Array, Array]:
    """The sum of B^T K_b B + G over all links: blocks (n, 6, 6), and (links, 6, 6) of body j by the next."""
    a = transports(d, q)
    own, beside = geometric_blocks(d, q, wrench)
    pulled = a.swapaxes(1, 2) @ stiffness
    diagonal = np.zeros((len(d) + (not closed), 6, 6))
    diagonal[: len(d)] = pulled @ a + own
    diagonal[1:] += stiffness[: len(diagonal) - 1]
    if closed:
        diagonal[0] += stiffness[-1]
    return diagonal, beside - pulled
