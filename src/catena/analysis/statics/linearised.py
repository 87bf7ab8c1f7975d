"""The linearised equations of a linkage in the coordinates of its joints: `linkage.linearise(state)`."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ...errors import CapabilityError
from ...systems.base import Array, State
from ...systems.linkage.joint_form.form import pack_state
from ...systems.linkage.joint_form.motion import BALL, Link
from ...systems.linkage.linkage import Linkage
from .linkage_modes import check_rest
from .linkage_problem import LinkageProblem


@dataclass(frozen=True, eq=False)
class Linearised:
    """M du' + (C + G) du + K dphi = 0 for small changes of a motion, and dphi' = du + W dphi.

    dphi are changes of the joint coordinates, du those of their rates. W is zero at rest; where a body on a ball joint turns at the
    rate w, in its own axes, its turns change by dphi x w. About a state at rest in equilibrium this is M q'' + C q' + K q = 0, with
    symmetric K and C, and G is zero. About a steady motion (a spinning top, a turning governor) G and W are not zero. About any other
    state the equations hold at that moment only.

    Attributes
    ----------
    coordinates : names of the coordinates, in the order of rows and columns
    mass, stiffness : (d, d) M, K
    damping, gyroscopic : (d, d) C and G, symmetric and antisymmetric part of minus the derivative of the forces by the rates
    turning : (d, d) W
    force : (d,) residual force on each coordinate at zero acceleration; zero in equilibrium
    """

    coordinates: tuple[str, ...]
    mass: Array = field(repr=False)
    stiffness: Array = field(repr=False)
    damping: Array = field(repr=False)
    gyroscopic: Array = field(repr=False)
    turning: Array = field(repr=False)
    force: Array = field(repr=False)

    def first_order(self) -> Array:
        """(2 d, 2 d): the matrix of (dphi, du)' = A (dphi, du)."""
        moved = np.linalg.solve(self.mass, np.hstack([self.stiffness, self.damping + self.gyroscopic]))
        return np.vstack([np.hstack([self.turning, np.eye(len(self.mass))]), -moved])

    def eigenvalues(self) -> NDArray[np.complex128]:
        """(2 d,): s of all solutions exp(s t), sorted by |Im s|; solutions with a positive real part grow."""
        found = np.linalg.eigvals(self.first_order()).astype(complex)
        return found[np.lexsort((found.imag, found.real, np.abs(found.imag).round(12)))]

    def __repr__(self) -> str:
        names = ", ".join(self.coordinates[:6]) + (", ..." if len(self.coordinates) > 6 else "")
        lines = [f"Linearised: {len(self.coordinates)} coordinates: {names}"]
        if self.force.any():
            lines.append(f"  force       up to {np.abs(self.force).max():.3g} is left")
        for name, matrix in (("damping", self.damping), ("gyroscopic", self.gyroscopic)):
            lines.append(f"  {name:11} {'up to ' + format(np.abs(matrix).max(), '.3g') if matrix.any() else 'none'}")
        return "\n".join(lines)


def linearise(linkage: Linkage, state: State) -> Linearised:
    """See `Linkage.linearise`."""
    problem = LinkageProblem(linkage, state)
    balance = problem.balance(problem.begin)
    mass = problem.mass(balance.z, balance.tangent)
    names = tuple(problem.coordinates[k].name for k in balance.free)
    nothing = np.zeros_like(mass)
    moving = bool(np.abs(state.momentum).max(initial=0.0) or np.abs(state.angular_momentum).max(initial=0.0))
    if linkage.tree.loops:
        if moving:
            raise CapabilityError(
                "a linkage with closed loops is linearised at rest only", where="linearise.state",
                do="give linkage.equilibrium(start).state",
            )  # fmt: skip
        stiffness, damping = problem.matrices(balance)
        check_rest(problem, balance, stiffness, "linearise.state")
        return Linearised(names, mass, stiffness, damping, nothing, nothing, -balance.gradient)
    z = pack_state(problem.linkage, state)
    stiffness, by_rates = (part[np.ix_(balance.free, balance.free)] for part in problem.motion_matrices(z))
    damping, gyroscopic = 0.5 * (by_rates + by_rates.T), 0.5 * (by_rates - by_rates.T)
    turning = _turning(problem, z)[np.ix_(balance.free, balance.free)]
    return Linearised(names, mass, stiffness, damping, gyroscopic, turning, -balance.gradient)


def _turning(problem: LinkageProblem, z: Array) -> Array:
    """W: turns of balls in their own axes, dphi' = du + dphi x w."""
    made, at = np.zeros((problem.count, problem.count)), 0
    for k, node in enumerate(problem.layout.nodes):
        if node.kind == BALL:
            rate = int(problem.layout.links[k, Link.RATE])
            x, y, w = z[rate : rate + 3]
            made[at : at + 3, at : at + 3] = [[0.0, w, -y], [-w, 0.0, x], [y, -x, 0.0]]
        at += node.rates
    return made
