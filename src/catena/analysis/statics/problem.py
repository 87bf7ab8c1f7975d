"""The problem of statics of a chain: its free displacements, the forces on its bodies, and its distance from balance.

Fixed tweezers add their springs (`traps`). Dead forces F_j act at the centres of mass, in space: gravity, ends, and
`load`. In the displacements of `link_mechanics` their potential -F.r has no second derivatives. The wrench that a link
must bear follows from the forces beyond it, whatever the potential, unless both ends are held.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...arrays import Array
from ...errors import CapabilityError, InputError
from ...geometry.rotations import hat
from ...systems.chain.chain import Chain
from ...systems.chain.ends import Clamped, Displaced, Force, Free, Tweezers
from ...systems.chain.link_mechanics import LinkValues, assemble_blocks, transports
from ...systems.chain.spectrum import mobilities
from ...systems.numbers import finite_numbers
from .poses import Poses
from .traps import Traps
from .units import ScaledLinks, scale_wrenches

Mask = NDArray[np.bool_]

EPS = float(np.finfo(float).eps)
ROUND_OFFS = 64  # in the attainable balance: positions have errors eps L, which a link multiplies by its stiffness
NOTHING = 1e-9  # of the largest singular value: nothing resists motions below it
BALANCED = 1e-12  # of the sum of magnitudes: smaller total forces count as zero


@dataclass(frozen=True)
class Balance:
    """Loads of a chain in some poses: energy, gradient (n, 6) by displacements of the bodies, values of its links."""

    poses: Poses
    values: LinkValues
    energy: float
    noise: float  # of the energy
    gradient: Array
    residual: float  # largest free component of the gradient, in energy per `unit_length` and radian

    def scaled(self, factor: float) -> Balance:
        """With all energies times a factor."""
        values = LinkValues(*(factor * part for part in self.values))
        energy, noise, residual = (factor * part for part in (self.energy, self.noise, self.residual))
        return Balance(self.poses, values, energy, noise, factor * self.gradient, residual)


class StaticProblem:
    """A chain, and the dead forces on its bodies.

    Parameters
    ----------
    chain : its ends are clamped, displaced, free, held by fixed tweezers, or pulled by a constant force
    forces : (n, 3) in space, all that act on bodies that can move; in `unit_length`, like all lengths
    """

    def __init__(self, chain: Chain, forces: Array) -> None:
        self.chain = chain
        self.links = ScaledLinks(chain)
        self.unit = self.links.unit
        self.free: Mask = mobilities(chain) > 0.0
        mass = chain.alike.each(lambda body: [body.mass] * 3 + np.where(body.moments > 0.0, body.moments, 1.0).tolist())
        self.mass = scale_wrenches(mass, self.unit**2)
        self.left_held, self.right_held = (not end.moves for end in (chain.left, chain.right))
        self.sides = chain.interactions.sides
        self.traps = Traps.of(chain)
        self.forces = self._check(self.unit * forces)

    def under(self, forces: Array) -> StaticProblem:
        """The same chain under other forces, in `unit_length`."""
        other = copy(self)
        other.forces = self._check(forces)
        return other

    def scaled(self, factor: float) -> StaticProblem:
        """The same chain with all energies times a factor; its links are reused."""
        other = copy(self)
        other.forces, other.traps = factor * self.forces, replace(self.traps, k=factor * self.traps.k)
        return other

    def _check(self, given: Array) -> Array:
        forces = given * self.chain.held[0][:, None]
        total, size = forces.sum(axis=0), np.abs(forces).sum()
        if not (self.left_held or self.right_held or len(self.traps)) and np.abs(total).max() > BALANCED * size:
            raise InputError(
                f"nothing holds the {'ring' if self.chain.closed else 'chain'} against the force {', '.join(f'{part:.3g}' for part in total / self.unit)}: "
                "it has no equilibrium", where="equilibrium.load" if self.chain.closed else "Chain.left, Chain.right",
                do="balance the forces" if self.chain.closed else "clamp or displace an end, or balance the forces",
            )  # fmt: skip
        return forces

    @classmethod
    def of(cls, chain: Chain, load: ArrayLike | None, where: str) -> StaticProblem:
        """The problem with the chain's own forces, and a load: (n, 3), or (3,) for the last body."""
        return cls(chain, own_forces(chain) + load_array(chain, load, f"{where}.load"))

    @property
    def root(self) -> int | None:
        """The held body, from which links are computed one by one.

        None if both ends are held, if tweezers hold a body, and in a ring, which would not close.
        """
        if self.chain.closed or (self.left_held and self.right_held) or len(self.traps):
            return None
        return -1 if self.right_held else 0

    def balance(self, poses: Poses) -> Balance:
        """Energy, gradient and residual in these poses."""
        values = self.links.values(poses.d, poses.q)
        gradient = np.zeros((self.chain.count, 6))
        gradient[self.sides[1]] = values.gradient
        gradient[self.sides[0]] -= np.einsum("nji,nj->ni", transports(poses.d, poses.q), values.gradient)
        gradient[:, :3] -= np.einsum("nji,nj->ni", poses.matrices, self.forces)
        self.traps.add_gradient(poses, gradient)
        work, stored = self.forces * poses.position, self.traps.energies(poses).sum()
        energy = float(values.energy.sum() - work.sum() + stored)
        # an energy near zero may be the difference of larger ones, as large as the stiffness against rotations
        sizes = np.abs(values.energy) + 0.01 * np.abs(values.stiffness[:, 3:, 3:]).max(axis=(1, 2))
        noise = 1e-13 * float(sizes.sum() + np.abs(work).sum() + stored)
        residual = float(np.abs(gradient[self.free]).max(initial=0.0))
        return Balance(poses, values, energy, noise, gradient, residual)

    def attainable(self, balance: Balance) -> float:
        """The residual caused by rounding positions and rotations."""
        size = max(np.abs(balance.poses.position).max(), np.abs(balance.poses.d).max())
        stiffest = np.abs(balance.values.stiffness).sum(axis=2).max()  # no eigenvalue is larger
        return float(
            ROUND_OFFS * EPS * max(size * stiffest, np.abs(self.forces).sum(), self.traps.noise(balance.poses))
        )

    def wrenches(self, poses: Poses) -> Array:
        """Wrench of each link in balance with the forces beyond it, on its right body in its axes, (n - 1, 6).

        Summed from the end that is not the root.
        """
        r = poses.position - poses.position[-1 if self.root == 0 else 0]  # moments near the free end keep their digits
        moments = np.cross(r, self.forces)
        if self.root == 0:
            force, moment = (np.cumsum(a[::-1], axis=0)[::-1][1:] for a in (self.forces, moments))
        else:
            force, moment = (-np.cumsum(a, axis=0)[:-1] for a in (self.forces, moments))
        moment = moment - np.cross(r[1:], force)
        return np.concatenate([np.einsum("nji,nj->ni", poses.matrices[1:], a) for a in (force, moment)], axis=1)

    def blocks(
        self, balance: Balance, *, stiffness: Array | None = None, wrench: Array | None = None
    ) -> tuple[Array, Array]:
        """K: second derivatives by all displacements; optionally with other stiffnesses or wrenches of the links."""
        values, poses = balance.values, balance.poses
        diagonal, right = assemble_blocks(
            poses.d, poses.q, values.stiffness if stiffness is None else stiffness,
            values.gradient if wrench is None else wrench, closed=self.chain.closed,
        )  # fmt: skip
        return diagonal + self.traps.stiffness(poses, stressed=stiffness is None), right

    def symmetries(self, poses: Poses) -> Array:
        """Rigid motions that neither ends nor forces resist, (k, n, 6), as displacements of all bodies."""
        middle = poses.position[self.root or 0]
        rows = [np.zeros((0, 6))]
        for j in (0, -1):
            moves, turns = self.chain.held[0][j], (self.chain.left, self.chain.right)[j].turns
            if not moves:
                rows.append(np.hstack([np.eye(3), -hat(poses.position[j] - middle)]))
            if not turns:
                solid = self.chain.bodies[j].moments > 0.0
                rows.append(np.hstack([np.zeros((int(solid.sum()), 3)), poses.matrices[j].T[solid]]))
        # rotations about its anchor leave the length of tweezers unchanged
        rows += [np.hstack([np.eye(3), -hat(anchor - middle)]) for anchor in self.traps.anchors]
        if self.forces.any():
            directions = np.linalg.svd(self.forces, full_matrices=False)
            for size, axis in zip(directions[1], directions[2], strict=True):
                if size > NOTHING * directions[1][0]:
                    rows.append(np.hstack([np.zeros((3, 3)), hat(axis)]))
        motions = _null_space(np.concatenate(rows))
        back = poses.matrices.swapaxes(1, 2)
        moved = motions[:, None, :3] + np.cross(motions[:, None, 3:], poses.position - middle)
        found = np.zeros((len(motions), self.chain.count, 6))
        found[:, :, :3] = np.einsum("nij,knj->kni", back, moved)
        found[:, :, 3:] = np.einsum("nij,kj->kni", back, motions[:, 3:])
        return _that_move(found * self.free, float(np.abs(poses.position - middle).max()) or 1.0)

    def gauge(self, poses: Poses) -> Mask:
        """`free` without as many coordinates as there are motions of the whole chain that need no energy."""
        from scipy.linalg import qr

        motions = self.symmetries(poses)
        free = self.free.copy()
        if len(motions):
            j = self.root or 0
            own, bodies = motions[:, j], motions.reshape(len(motions), -1)
            _, r, order = qr(own, mode="economic", pivoting=True)
            sizes = np.abs(np.diag(r))
            if len(sizes) == len(motions) and sizes[-1] > NOTHING * sizes[0]:
                free[j, order[: len(motions)]] = False
            else:
                _, r, order = qr(bodies, mode="economic", pivoting=True)
                rank = int((np.abs(np.diag(r)) > NOTHING * abs(r[0, 0])).sum()) if r[0, 0] else 0
                free.reshape(-1)[order[:rank]] = False
        return free


def mask_blocks(diagonal: Array, right: Array, free: Mask) -> tuple[Array, Array]:
    """The blocks, with rows and columns of coordinates that are not free replaced by those of the unit matrix."""
    kept = free.astype(float)
    left = np.arange(len(right))
    diagonal = diagonal * kept[:, :, None] * kept[:, None]
    bodies, places = np.nonzero(~free)
    diagonal[bodies, places, places] = 1.0
    return diagonal, right * kept[left, :, None] * kept[(left + 1) % len(kept), None]


def own_forces(chain: Chain) -> Array:
    """Gravity, and the forces of the ends, (n, 3); refuses an end that is not at rest, or has no potential."""
    forces = chain.alike.each(lambda body: body.mass)[:, None] * np.asarray(chain.gravity, dtype=float)
    if "gravity" in chain.drives.names:
        raise CapabilityError(
            "gravity changes with time: there is no equilibrium to look for", where="Chain.gravity", do="give numbers"
        )
    require_still(chain)
    for j, end in ((0, chain.left), (-1, chain.right), *chain.loads):
        if isinstance(end, Force):
            forces[j] += constant_force(end)
        elif not isinstance(end, (Clamped, Displaced, Free, Tweezers)):  # these are `Traps`
            raise CapabilityError(
                f"{end} changes with time, or has no potential: there is no equilibrium to look for",
                where=f"Chain.{'right' if j else 'left'}", do="clamp or displace that end, pull it by a constant force, or hold it by Tweezers",
            )  # fmt: skip
    return forces


def require_still(chain: Chain) -> None:
    """Refuse links whose potential changes with time."""
    if chain.drives.moving:
        raise CapabilityError(
            "a potential changes with time: there is no equilibrium to look for", where="Chain.potential",
            do="give numbers, such as those of potential.at(t)",
        )  # fmt: skip


def constant_force(end: Force) -> Array:
    """The force of an end, if it is constant."""
    if not end.constant:
        raise CapabilityError(
            f"{end} changes with time, or acts off the centre of mass: no equilibrium is looked for with it",
            where="Chain.left, Chain.right, Chain.loads", do="pull at the centre of mass by a constant force",
        )  # fmt: skip
    return np.array(end.force, dtype=float)


def load_array(chain: Chain, load: ArrayLike | None, where: str) -> Array:
    """Forces (n, 3): none, those given, or one on the last body."""
    forces = np.zeros((chain.count, 3))
    if load is None:
        return forces
    given = np.asarray(load)
    if given.shape == (3,):
        forces[-1] = finite_numbers(given, (3,), where=where)
        if not chain.right.moves:
            raise InputError(
                "the last body is held: a force on it does nothing", where=where, do="give forces on all bodies, (n, 3)"
            )
        return forces
    return forces + finite_numbers(given, (chain.count, 3), where=where)


def _that_move(motions: Array, size: float) -> Array:
    """Displacements (k, n, 6) without combinations that move nothing, such as rotating points on a line about it."""
    if not len(motions):
        return motions
    sizes = (motions / np.array([size] * 3 + [1.0] * 3)).reshape(len(motions), -1)
    lengths = np.linalg.norm(sizes, axis=1)
    moving = lengths > NOTHING
    combined, strengths, _ = np.linalg.svd(sizes[moving] / lengths[moving, None], full_matrices=False)
    if moving.all() and strengths.min(initial=1.0) > NOTHING:
        return motions
    units = motions[moving] / lengths[moving, None, None]
    return np.tensordot(combined.T[strengths > NOTHING], units, 1)


def _null_space(rows: Array) -> Array:
    """A basis, (k, 6), of the null space of all rows (m, 6)."""
    padded = np.concatenate([rows, np.zeros((6, 6))])
    _, sizes, basis = np.linalg.svd(padded)
    return basis[sizes <= NOTHING * max(1.0, sizes[0])]
