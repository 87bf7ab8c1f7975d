"""Natural frequencies and modes of a linkage about an equilibrium: `linkage.normal_modes()`.

K v = omega^2 M v in the free joint coordinates. Spins of round bodies on ball joints, and other motions that no force
resists, have omega = 0: they are named, and left out.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from ...errors import InputError
from ...geometry import rotations
from ...systems.base import Array, State
from ...systems.linkage.linkage import Linkage
from ...systems.numbers import whole_number
from ...systems.states import as_start
from .linkage_coordinates import list_motions
from .linkage_equilibrium import (
    LinkageEquilibrium,
    LinkageStability,
    find_linkage_equilibrium,
    flat_motions,
    linkage_stability,
)
from .linkage_problem import LinkageBalance, LinkageProblem
from .modes import Modes

EXPECTED = 0.125  # of the rounding limit: a comparison with 30 digits showed no more, with 2 to 50 bodies
NOT_AT_REST = 1e-7  # of the applied forces: largest residual


@dataclass(frozen=True, eq=False)
class LinkageModes(Modes):
    """Natural frequencies and modes of a linkage, the lowest first.

    Attributes
    ----------
    system : the linkage, its angles counted as in the equilibrium
    coordinates : names of the joint coordinates
    joint_vectors : (k, coordinates) the modes in these coordinates, v^T M v = 1
    zero_motions : descriptions of the motions that need no energy; they are not among the modes
    damping : (k,) v^T C v/(2 |omega|): damping as a fraction of the critical damping, if it is small; `linearise` has the exact decay
    """

    coordinates: tuple[str, ...] = field(repr=False)
    joint_vectors: Array = field(repr=False)
    zero_motions: tuple[str, ...] = field(repr=False)
    damping: Array = field(repr=False)
    problem: LinkageProblem = field(repr=False)
    balance: LinkageBalance = field(repr=False)

    def displaced(self, mode: int, amplitudes: ArrayLike) -> tuple[Array, Array]:
        """Positions (m, n, 3) and orientations (m, n, 4) of the bodies, displaced by amplitudes (m,) along a mode; no joint comes apart."""
        y = self.joint_vectors[mode][self.balance.free]
        states = []
        for size in np.asarray(amplitudes, dtype=float):
            z = self.problem.moved(self.balance, size * y)
            if z is None:
                raise InputError(
                    f"the loops cannot be closed at the amplitude {size:.3g}",
                    where="displaced.amplitudes",
                    do="give smaller ones",
                )
            states.append(self.problem.state(z))
        return np.array([state.position for state in states]), np.array([state.orientation for state in states])

    def __repr__(self) -> str:
        lines = [
            super().__repr__(),
            *(f"  {name:7} {motion}" for name, motion in list_motions(self.zero_motions, "free")),
        ]
        if self.damping.any():
            lines.append(
                f"  damping up to {self.damping.max():.3g} of the critical one, left out of the frequencies: see linearise(state).eigenvalues()"
            )
        return "\n".join(lines)


def find_linkage_modes(
    linkage: Linkage, at: State | LinkageEquilibrium | None = None, count: int | None = None
) -> LinkageModes:
    """See `Linkage.normal_modes`."""
    found = find_linkage_equilibrium(linkage) if at is None else at
    if isinstance(found, LinkageEquilibrium):
        _require_same(linkage, found.linkage)
        problem, balance = found.problem, found.balance
    else:
        problem = LinkageProblem(linkage, as_start(linkage, found, "normal_modes.at"))
        balance = problem.balance(problem.begin)
    stable = linkage_stability(problem, balance)
    check_rest(problem, balance, stable.stiffness, "normal_modes.at")
    return _modes(problem, balance, stable, _count(count, len(balance.free)))


def _require_same(linkage: Linkage, other: Linkage) -> None:
    """An equilibrium may add loads, and angles counted from it, but must have the bodies and joints of the linkage."""

    def parts(one: Linkage) -> list[object]:
        return [*one.bodies, *((type(joint), joint.parent, joint.child, joint.at) for joint in one.joints)]

    if parts(linkage) != parts(other):
        raise InputError(
            f"this is an equilibrium of another system, {other!r}", where="normal_modes.at", do="give one of this linkage"
        )  # fmt: skip


def check_rest(problem: LinkageProblem, balance: LinkageBalance, stiffness: Array, where: str) -> None:
    """An error if the forces do not balance."""
    if not balance.residual <= NOT_AT_REST * problem.force_size(balance, stiffness):
        raise InputError(
            f"this is no equilibrium: a force or torque of {balance.residual:.3g} is left", where=where,
            do="give linkage.equilibrium(start)",
        )  # fmt: skip


def _count(count: int | None, freedom: int) -> int:
    if count is None:
        return freedom
    return whole_number(count, "normal_modes.count", f"give a number from 1 to {freedom}", least=1, most=freedom)


def _modes(problem: LinkageProblem, balance: LinkageBalance, stable: LinkageStability, count: int) -> LinkageModes:
    kept = np.flatnonzero(~stable.is_flat)[:count]
    values, vectors = stable.values[kept], stable.vectors[:, kept]
    omega = np.sign(values) * np.sqrt(np.abs(values))
    whole = (balance.tangent @ vectors).T
    state = problem.state(balance.z)
    moved = np.einsum("nir,kr->kni", problem.body_motions(balance.z), whole)
    back = rotations.to_matrix(state.orientation).swapaxes(1, 2)
    given = np.concatenate([np.einsum("nij,knj->kni", back, part) for part in np.split(moved, 2, axis=2)], axis=2)
    taken = np.einsum("ik,ij,jk->k", vectors, stable.damping, vectors) / np.maximum(2.0 * np.abs(omega), 1e-300)
    motions = flat_motions(problem, balance, stable)
    return LinkageModes(
        problem.linkage, state, omega, given, len(motions), "dense", EXPECTED * stable.noise[kept] / np.abs(values),
        tuple(coordinate.name for coordinate in problem.coordinates), whole, motions, taken, problem, balance,
    )  # fmt: skip
