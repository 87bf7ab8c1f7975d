"""Equilibrium of a linkage: `linkage.equilibrium()`.

If it is called converged, its balance and its stability are verified.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...errors import CapabilityError
from ...systems.base import Array, State
from ...systems.linkage.linkage import Linkage
from ...systems.linkage.thin import is_thin
from ...systems.potentials.pairwise import check
from ...systems.states import as_start
from .at_rest import AtRest, Status, is_better
from .descent import Descent
from .linkage_coordinates import describe_motion, list_motions, simplest
from .linkage_loads import refuse_fall, with_load
from .linkage_problem import LinkageBalance, LinkageProblem

EPS = float(np.finfo(float).eps)
ROUND_OFFS = 64  # in the attainable tolerance, and in what counts as zero
MOST_STEP = 0.5  # in radians, and in sizes of the linkage
FLOOR = 1e-10  # of the largest eigenvalue: lower bound for modified eigenvalues
HALVINGS = 25
INERT = 1e-13  # of a motion's inertia if every body were as large as the linkage: below it, there is none


@dataclass(frozen=True, eq=False, repr=False)
class LinkageEquilibrium(AtRest):
    """Where a linkage is at rest, and how certain that is.

    Attributes
    ----------
    linkage : the linkage with the load, its angles counted from the start: simulate this one if torsions act
    state : at rest
    energy : including that of constant loads
    status : "converged": balanced and stable, or free to move where nothing resists; "saddle": balanced, but there is a way down
        that could not be taken; "not_converged": neither
    residual, tol : largest residual torque on a joint coordinate (for a shift: force times the size of the linkage); and the tolerance
    lowest : lowest eigenvalue omega^2 of small motions, except those that need no energy
    negative : number of negative eigenvalues
    flat : number of motions that need no energy
    flat_motions : descriptions of these motions
    saddles : the lowest eigenvalue omega^2 < 0 of each unstable equilibrium that the search met and left
    moved : largest distance of a body from its start
    iterations : steps of Newton's method
    """

    linkage: Linkage
    flat_motions: tuple[str, ...]
    problem: LinkageProblem
    balance: LinkageBalance

    def report(self) -> list[tuple[str, str]]:
        return [*self.common_report(), *list_motions(self.flat_motions, "flat")]


@dataclass(frozen=True)
class LinkageStability:
    """Eigenvalues omega^2 of small motions about a position, and their motions.

    Attributes
    ----------
    stiffness, damping, mass : (d, d) by the free coordinates
    values, vectors : (d,), (d, d): K v = value M v, columns with v^T M v = 1
    noise : (d,) rounding error of each value
    """

    stiffness: Array
    damping: Array
    mass: Array
    values: Array
    vectors: Array
    noise: Array

    @property
    def is_flat(self) -> NDArray[np.bool_]:
        """Which values are zero up to rounding."""
        return np.abs(self.values) <= self.noise

    @property
    def is_negative(self) -> NDArray[np.bool_]:
        """Which motions are unstable."""
        return self.values < -self.noise

    @property
    def negative(self) -> int:
        """Number of unstable motions."""
        return int(self.is_negative.sum())

    @property
    def lowest(self) -> float:
        """The lowest value of the motions that need energy; 0 if there is none."""
        return float(next(iter(self.values[~self.is_flat]), 0.0))


def linkage_stability(problem: LinkageProblem, balance: LinkageBalance) -> LinkageStability:
    """Stability of an equilibrium, or of a position near one."""
    stiffness, damping = problem.matrices(balance)
    mass = problem.mass(balance.z, balance.tangent)
    _require_inertia(problem, balance, mass)
    values, vectors = _eigen(stiffness, mass)
    turns = np.array([problem.coordinates[k].turns for k in balance.free], dtype=bool)
    size = np.maximum(np.abs(np.diag(stiffness)), np.where(turns, balance.gross, 0.0))
    largest = np.abs(values).max(initial=0.0)  # error of the eigensolver
    noise = ROUND_OFFS * EPS * np.maximum((np.abs(vectors).T @ np.sqrt(size)) ** 2, largest)
    if len(values) and (values > noise).all():
        low = _refine_lowest(stiffness, mass, values, vectors)
        noise[:low] = ROUND_OFFS * EPS * values[:low] ** 2 / values[0]
    return LinkageStability(stiffness, damping, mass, values, vectors, noise)


def _require_inertia(problem: LinkageProblem, balance: LinkageBalance, mass: Array) -> None:
    """CapabilityError if a line or point rotates about itself and nothing else moves: this motion has no frequency."""
    thin = np.array([is_thin(body) for body in problem.linkage.bodies])
    if not (thin.any() and len(mass)):
        return
    shares, motions = _eigen(mass, problem.mass(balance.z, balance.tangent, girth=problem.extent))
    if shares[0] <= INERT:
        turning = np.abs(problem.body_motions(balance.z) @ balance.tangent @ motions[:, 0])[:, 3:].max(axis=1)
        number = int(np.argmax(np.where(thin, turning, -1.0)))
        raise CapabilityError(
            f"nothing resists the turn of body {number} about its joint: it is a line or a point there", where=f"Linkage.bodies[{number}]",
            do="turn the axis away from the line, or give the body some thickness",
        )  # fmt: skip


def _eigen(matrix: Array, metric: Array) -> tuple[Array, Array]:
    """values and columns v of A v = value B v, ascending, v^T B v = 1.

    B is first scaled to a diagonal of ones: the tiny inertia of a thin body about its own axis must not spoil the
    others.
    """
    unit = 1.0 / np.sqrt(np.diag(metric))
    root = np.linalg.cholesky(metric * unit[:, None] * unit)
    scaled = np.linalg.solve(root, np.linalg.solve(root, matrix * unit[:, None] * unit).T)
    values, turned = np.linalg.eigh(0.5 * (scaled + scaled.T))
    return values, unit[:, None] * np.linalg.solve(root.T, turned)


def _refine_lowest(stiffness: Array, mass: Array, values: Array, vectors: Array) -> int:
    """Replace the lower half, on a logarithmic scale, by solutions of M v = omega^-2 K v; returns how many.

    The error of an eigensolver is relative to the largest value, here that of omega^-2, so the lowest frequencies have
    all their digits.
    """
    inverse, found = _eigen(mass, stiffness)
    inverse, found = inverse[::-1], found[:, ::-1]
    low = int((inverse > 1.0 / np.sqrt(values[-1] / inverse[0])).sum())
    values[:low] = 1.0 / inverse[:low]
    vectors[:, :low] = found[:, :low] / np.sqrt(inverse[:low])
    return low


def find_linkage_equilibrium(
    linkage: Linkage, start: State | None = None, load: ArrayLike | None = None, tol: float | None = None
) -> LinkageEquilibrium:
    """A stable equilibrium of a linkage under its forces; see `Linkage.equilibrium`."""
    if tol is not None:
        tol = check(tol, "equilibrium.tol", above=0.0)
    loaded = with_load(linkage, load, "equilibrium.load")
    begin = linkage.start() if start is None else as_start(linkage, start, "equilibrium.start")
    search = _Search(LinkageProblem(loaded, begin), tol)
    return search.report(*search.settle())


class _Search(Descent[LinkageBalance, LinkageStability]):
    """The search for a linkage."""

    def __init__(self, problem: LinkageProblem, tol: float | None) -> None:
        super().__init__(problem.balance(problem.begin))
        self.problem, self.given = problem, tol
        self.begin = problem.state(problem.begin)
        self.stiffness, _ = problem.matrices(self.balance)
        refuse_fall(problem, self.balance, self.stiffness)

    @property
    def tol(self) -> float:
        """The requested tolerance, or the one attainable with rounded coordinates."""
        if self.given is not None:
            return self.given
        return ROUND_OFFS * EPS * self.problem.force_size(self.balance, self.stiffness)

    def take(self, found: LinkageBalance) -> None:
        super().take(found)
        self.stiffness, _ = self.problem.matrices(found)

    def motions(self) -> LinkageStability:
        return linkage_stability(self.problem, self.balance)

    def way_down(self, motions: LinkageStability) -> Array:
        mode = motions.vectors[:, int(motions.values.argmin())]
        return mode / np.abs(mode / self.problem.units(self.balance.free)).max()

    def displaced(self, motion: Array) -> LinkageBalance | None:
        z = self.problem.moved(self.balance, motion)
        return None if z is None else self.problem.balance(z)

    def report(self, status: Status, stable: LinkageStability | None) -> LinkageEquilibrium:
        """The result."""
        problem, state = self.problem, self.problem.state(self.balance.z)
        if problem.without_direction(state) is not None:
            status = "not_converged"
        lowest, negative = np.nan, 0
        motions: tuple[str, ...] = ()
        if stable is not None:
            lowest, negative = stable.lowest, stable.negative
            motions = flat_motions(problem, self.balance, stable)
        far = float(np.linalg.norm(state.position - self.begin.position, axis=1).max())
        return LinkageEquilibrium(
            state, self.balance.energy, status, self.balance.residual, self.tol, lowest, negative, len(motions), tuple(self.saddles), far,
            self.iterations, problem.linkage, motions, problem, self.balance,
        )  # fmt: skip

    def step(self) -> LinkageBalance | None:
        """The next position with less energy, or less residual where the energy is lost in rounding; None if none.

        Eigenvalues of the stiffness are replaced by their magnitudes, so the step leads down from a saddle, too
        [dauphin2014].
        """
        if not np.isfinite(self.stiffness).all():
            return None
        unit = self.problem.units(self.balance.free)
        values, axes = np.linalg.eigh(self.stiffness * unit[:, None] * unit)
        size = np.abs(values).max(initial=0.0)
        slope = axes.T @ (unit * self.balance.gradient)
        p = -unit * (axes @ (slope / np.maximum(np.abs(values), FLOOR * size or 1.0)))
        scale = min(1.0, MOST_STEP / np.abs(p / unit).max() if p.any() else 1.0)
        predicted = float(self.balance.gradient @ p)
        for _ in range(HALVINGS):
            found = self.displaced(scale * p)
            if found is not None and is_better(found, self.balance, scale * predicted):
                return found
            scale *= 0.5
        return None


def flat_motions(problem: LinkageProblem, balance: LinkageBalance, stable: LinkageStability) -> tuple[str, ...]:
    """The motions that need no energy, in words; those of single joints are separate."""
    space = balance.tangent @ stable.vectors[:, stable.is_flat]
    names = [coordinate.name for coordinate in problem.coordinates]
    return tuple(describe_motion(motion, names) for motion in simplest(space).T)
