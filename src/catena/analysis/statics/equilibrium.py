"""Equilibrium of a chain: `chain.equilibrium()`.

If it is called converged, its balance and its stability are verified.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ...systems.base import Array, State
from ...systems.chain.chain import Chain
from ...systems.chain.tearing import find_torn_links, link_lengths
from ...systems.potentials.pairwise import check
from ...systems.states import as_state
from .at_rest import AtRest, Status
from .descent import Descent
from .newton import SLIGHT, Newton
from .poses import Poses
from .problem import Balance, StaticProblem
from .stability import Stability, stability
from .uniform import link_length, pulled_start, relaxing_step, resting_poses

if TYPE_CHECKING:
    from .equilibrium_path import Limit

MOST_POLISHES, POLISHES = 400, 3  # largest numbers of steps, by energy and by forces
CALMER = 0.5  # factor of the residual by which a step must improve a balance to count
LENGTHENED = 1.5  # times the longest link at the start: a longer one may be torn


@dataclass(frozen=True, eq=False, repr=False)
class Equilibrium(AtRest):
    """Where a chain is at rest, and how certain that is.

    Attributes
    ----------
    state : at rest
    energy : including the work of the forces
    status : "converged": balanced and stable; "saddle": balanced, but there is a way down that could not be taken; "torn": a link
        came apart on the way; "not_converged": none of these
    residual, tol : largest residual component of force, or of torque divided by a length near that of a link (a power of two); and
        the tolerance
    lowest : lowest eigenvalue omega^2 of small motions, except rigid ones
    negative : number of negative eigenvalues
    flat : number of motions that need no energy, such as those of a chain that nothing holds
    soft : links whose own energy is curved downwards in some direction
    saddles : the lowest eigenvalue omega^2 < 0 of each unstable equilibrium that the search met and left
    moved : largest distance of a body from its start
    iterations : steps of Newton's method
    """

    chain: Chain
    soft: tuple[int, ...]
    forces: Array
    start: State

    @cached_property
    def limit(self) -> Limit | None:
        """The load beyond which there is no equilibrium, as a multiple of the given load; None if the given load can be borne.

        It is found by following the equilibria from the unloaded chain, and computed only when it is asked for.
        """
        from .equilibrium_path import limit_of_load

        return None if self.converged else limit_of_load(self.chain, self.forces, self.start)

    def report(self) -> list[tuple[str, str]]:
        rows = self.common_report()
        if self.soft:
            shown = ", ".join(map(str, self.soft[:12])) + (" ..." if len(self.soft) > 12 else "")
            rows.append(("soft", f"links {shown}"))
        return rows


def find_equilibrium(
    chain: Chain, start: State | None = None, load: ArrayLike | None = None, tol: float | None = None
) -> Equilibrium:
    """A stable equilibrium of a chain under its forces; see `Chain.equilibrium`."""
    problem = StaticProblem.of(chain, load, "equilibrium")
    if tol is not None:
        tol = check(tol, "equilibrium.tol", above=0.0)
    poses = (
        resting_poses(chain) if start is None else Poses.of_state(chain, state_at(chain, start, "equilibrium.start"))
    )
    return solve(problem, poses, tol)


def state_at(chain: Chain, at: object, where: str) -> State:
    """The state given by a state, or by an equilibrium, of this chain."""
    return as_state(chain, at.state if isinstance(at, Equilibrium) else at, where)


def solve(problem: StaticProblem, poses: Poses, tol: float | None = None) -> Equilibrium:
    """Search from these poses: down to a balance, and on from it as long as it is unstable."""
    search = _Search(problem, poses, tol)
    return search.report(*search.settle())


class _Search(Descent[Balance, Stability]):
    """The search for a chain."""

    def __init__(self, problem: StaticProblem, poses: Poses, tol: float | None) -> None:
        super().__init__(problem.balance(poses))
        self.problem, self.begin = problem, poses
        self.polished: Balance | None = None
        self.given = None if tol is None else tol * problem.unit
        self.length, self.longest = link_length(problem.chain, poses.d), float(np.linalg.norm(poses.d, axis=1).max())
        self.newton = Newton(problem, self.length)
        if problem.root is not None:
            pulled = pulled_start(problem.chain, poses, problem.forces, problem.root)
            if pulled is not None and problem.balance(pulled).energy < self.balance.energy:
                self.balance = problem.balance(pulled)

    @property
    def tol(self) -> float:
        return self.problem.attainable(self.balance) if self.given is None else self.given

    def motions(self) -> Stability:
        return stability(self.problem, self.balance)

    def sharper(self, motions: Stability) -> Balance | None:
        lightest = self.problem.mass[self.problem.free].min(initial=np.inf)
        if not motions.doubtful and abs(motions.lowest) > self.balance.residual / lightest:
            return None
        found = self.newton.settled(self.balance)
        if found is not None and found.residual < CALMER * self.balance.residual:
            return found
        return self._polish() if motions.doubtful and self.balance is not self.polished else None

    def _polish(self) -> Balance | None:
        """Descend further as long as that is possible.

        The largest residual force may be the rounding error of stiff links while soft motions are not at rest yet.
        """
        found = self.balance
        for _ in range(MOST_POLISHES):
            further = self.newton.step(found)
            if further is None:
                break
            found = further
        for _ in range(POLISHES):
            further = self.newton.settled(found, SLIGHT[1:])
            if further is None or not further.residual <= self.tol:
                break
            found = further
        self.polished = found
        return found if found is not self.balance and found.residual <= self.tol else None

    def way_down(self, motions: Stability) -> Array:
        eta = self.balance.poses.strains(motions.mode)
        return motions.mode / max(np.abs(eta[:, :3]).max() / self.length, np.abs(eta[:, 3:]).max())

    def displaced(self, motion: Array) -> Balance:
        return self.problem.balance(self.newton.moved(self.balance.poses, motion))

    def report(self, status: Status, stable: Stability | None) -> Equilibrium:
        """The result, with the residual of the very state that is returned."""
        chain, poses = self.problem.chain, self.balance.poses
        state, begin, unit = poses.state(chain), self.begin.state(chain), self.problem.unit
        balance = self.problem.balance(Poses.of_state(chain, state))
        sizes = np.linalg.eigvalsh(np.nan_to_num(balance.values.stiffness))
        soft = np.flatnonzero(sizes[:, 0] < -1e-9 * np.abs(sizes).max(axis=1))
        return Equilibrium(
            state, balance.energy, status, balance.residual / unit, self.tol / unit, np.nan if stable is None else stable.lowest,
            0 if stable is None else stable.negative, 0 if stable is None else stable.flat, tuple(self.saddles),
            float(np.linalg.norm(state.position - begin.position, axis=1).max()), self.iterations, chain,
            tuple(soft.tolist()), self.problem.forces / unit, begin,
        )  # fmt: skip

    def step(self) -> Balance | None:
        problem, poses, values = self.problem, self.balance.poses, self.balance.values
        if not values.stiffness.any() and not values.gradient.any():  # nothing resists
            return None
        if problem.root is None or problem.forces.any():
            return self.newton.step(self.balance)
        d, q, moved = relaxing_step(problem.links, np.arange(len(poses.d)), poses.d, poses.q, self.length)
        if not moved.any():
            return None
        root = problem.root
        return problem.balance(Poses.of_links(d, q, poses.position[root], poses.matrices[root], root=root))

    def is_torn(self, *, surely: bool = False) -> bool:
        poses = self.balance.poses
        if not surely and link_lengths(self.problem.chain, poses.position).max() < LENGTHENED * self.longest:
            return False
        state = poses.state(self.problem.chain)
        return bool(find_torn_links(self.problem.chain, state.position, state.orientation).any())
