"""Stability of an equilibrium: number of unstable motions, lowest eigenvalue of K in the metric of the masses."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...arrays import Array
from ...systems.chain import block_band
from ...systems.chain.link_mechanics import geometric_blocks, transports
from .compliance import MOST_MIXED, Assembled, Compliance, Mixed, RingSweep, Sweep
from .problem import EPS, Balance, StaticProblem, mask_blocks
from .units import power_of_two

FLAT = 1e-11  # of the largest eigenvalue of a link: counts as zero
SHORT = 250  # bodies of a chain whose softest bending is far above rounding
MOST_FLAT = 64  # motions without energy, which are counted one by one
NEAR = 16.0  # times the rounding error of an energy: counts as zero
FEW = 64  # bodies up to which it is fastest to compute all eigenvalues


@dataclass(frozen=True)
class Stability:
    """The number of negative and of zero eigenvalues, the lowest except for rigid motions, its mode (n, 6), a doubt.

    The doubt: whether the residual forces hide more of the eigenvalues near zero than rounding does, or the strains of
    links contradict negative ones.
    """

    negative: int
    flat: int
    lowest: float
    mode: Array
    doubtful: bool = False


def stability(problem: StaticProblem, balance: Balance) -> Stability:
    """Stability of an equilibrium, or of a state near one."""
    diagonal, right = weigh_stiffness(problem, balance)
    motions = len(problem.symmetries(balance.poses))
    noise = round_off(diagonal)
    negative = count_negative(problem, balance, diagonal, right, noise)
    if negative:
        lowest = -block_band.largest_eigenvalue(-diagonal, -right)
        mode = block_band.extreme_vector(-diagonal, -right, -lowest) / np.sqrt(problem.mass)
        mode = np.where(problem.gauge(balance.poses), mode, 0.0)
        told = tell_apart(problem, balance, mode[None])
        leads_down = len(told.values) > 0 and told.values[0] < 0.0
        return Stability(negative, motions, float(told.values[0]) if leads_down else lowest, mode, not leads_down)
    lowest, mode, told = _lowest(problem, balance, diagonal)
    negative = int((told.values < 0.0).sum()) + (lowest < 0.0)
    if len(told.values) and told.values[0] < lowest:
        lowest, mode = float(told.values[0]), told.modes[0]
    return Stability(negative, motions + told.zero, lowest, mode, told.hidden)


def lowest_eigenvalue(problem: StaticProblem, balance: Balance) -> float:
    """omega^2 of the lowest mode, without rigid motions; near zero with digits that the assembled matrix has lost."""
    if len(problem.mass) > FEW:
        return stability(problem, balance).lowest
    diagonal, right = weigh_stiffness(problem, balance)
    values, vectors = np.linalg.eigh(block_band.assemble(diagonal, right))
    noise = round_off(diagonal)
    try:
        near = _nearest_to_zero(compliance(problem, balance), vectors[:, 0])
    except np.linalg.LinAlgError:
        return float(values[0])
    return near if abs(near - values[0]) <= noise else float(values[0])


def _nearest_to_zero(flexible: Compliance, v: Array) -> float:
    """The eigenvalue of the mode v, by inverse iteration."""
    value = 0.0
    for _ in range(3):
        w = flexible.weighted(v[None])[0]
        value = float(v @ w)
        v = w / np.linalg.norm(w)
    return 1.0 / value - getattr(flexible, "shift", 0.0)


def weigh_stiffness(problem: StaticProblem, balance: Balance) -> tuple[Array, Array]:
    """M^-1/2 K M^-1/2 without motions that need no energy; coordinates that are not free get the largest eigenvalue."""
    free = problem.gauge(balance.poses)
    diagonal, right = mask_blocks(*problem.blocks(balance), free)
    bodies, places = np.nonzero(~free)
    diagonal[bodies, places, places] = 0.0
    scale = np.where(free, 1.0 / np.sqrt(problem.mass), 1.0)
    diagonal = diagonal * scale[:, :, None] * scale[:, None]
    diagonal[bodies, places, places] = np.abs(diagonal).max() or 1.0
    left, beside = problem.chain.interactions.sides
    return diagonal, right * scale[left, :, None] * scale[beside, None]


def round_off(diagonal: Array) -> float:
    """Rounding error of a zero eigenvalue of the assembled matrix."""
    return float(8.0 * EPS * np.sqrt(len(diagonal)) * np.abs(diagonal).sum(axis=2).max())


def flat_limit(diagonal: Array) -> float:
    """The size of an eigenvalue that is zero up to rounding.

    Bending of a very long chain is softer than the rounding error of a sum: there only what is zero for a single body
    counts.
    """
    n = len(diagonal)
    return round_off(diagonal) / (1.0 if n <= SHORT else np.sqrt(n))


def count_negative(problem: StaticProblem, balance: Balance, diagonal: Array, right: Array, noise: float) -> int:
    """Number of negative eigenvalues of K.

    If links bear nothing and one end is free, it is exactly that of the links: there K = B^T K_b B with a square B
    [horn2013].
    """
    if is_unstressed(problem, balance) and problem.root is not None and can_sweep(problem):
        sizes = np.linalg.eigvalsh(balance.values.stiffness)
        return int((sizes < -FLAT * sizes[:, -1:]).sum())
    shifted = diagonal + noise * np.eye(6)
    if block_band.Band(shifted, right).factor() is not None:
        return 0
    return block_band.negative_eigenvalues(shifted, right)


def is_unstressed(problem: StaticProblem, balance: Balance) -> bool:
    """Whether links bear no more than rounding errors."""
    return bool(np.abs(balance.values.gradient).max() <= problem.attainable(balance))


def can_sweep(problem: StaticProblem) -> bool:
    """Whether no tweezers hold a body, and every body has three moments of inertia.

    A line or a point leaves displacements without energy.
    """
    return not len(problem.traps) and all(body.kind in ("solid", "planar") for body in problem.chain.alike.distinct)


def compliance(problem: StaticProblem, balance: Balance) -> Compliance:
    """K^-1 in the form that keeps most digits."""
    sizes = np.linalg.eigvalsh(balance.values.stiffness)
    definite = bool((sizes[:, 0] > FLAT * sizes[:, -1]).all())
    if definite and can_sweep(problem) and is_unstressed(problem, balance):
        return (RingSweep if problem.chain.closed else Sweep)(problem, balance)
    if (np.abs(sizes).min(axis=1) > FLAT * sizes[:, -1]).all() and len(problem.mass) <= MOST_MIXED:
        return Mixed(problem, balance)
    return Assembled(problem, balance, shift=0.0 if definite else round_off(weigh_stiffness(problem, balance)[0]))


def _lowest(problem: StaticProblem, balance: Balance, diagonal: Array) -> tuple[float, Array, ToldApart]:
    """The lowest eigenvalue above the rounding of the assembled matrix, its mode, and what is below; from K^-1."""
    try:
        found = compliance(problem, balance)
    except np.linalg.LinAlgError:
        found = Assembled(problem, balance, shift=round_off(diagonal))
    rigid, free = len(found.zero), int(problem.free.sum())
    if not (balance.values.stiffness.any() or balance.values.gradient.any()):
        nothing = tell_apart(problem, balance, np.zeros((0, *problem.mass.shape)))
        return 0.0, np.where(problem.free, 1.0, 0.0), replace(nothing, zero=free - rigid)
    near: list[Array] = []
    while True:
        values, modes = lowest_modes(found, 1)
        # the omitted coordinates feel a shift, and return it several times as large
        cost = _cost(problem, balance, modes[0]) if getattr(found, "shift", 0.0) else values[0]
        if isinstance(found, Sweep) or abs(cost) > flat_limit(diagonal) or len(found.zero) - rigid == MOST_FLAT:
            break
        near.append(modes[0])
        found.leave_out(modes)
    told = tell_apart(problem, balance, np.array(near).reshape(len(near), *problem.mass.shape))
    if not isinstance(found, Sweep) and tell_apart(problem, balance, modes).zero:  # this one may be zero, too
        told = replace(told, hidden=True)
    return float(values[0]), modes[0], told


@dataclass(frozen=True)
class ToldApart:
    """Result of `tell_apart` for motions that need almost no energy.

    Eigenvalues, lowest first, modes (k, n, 6) and uncertainties of those that do need or release energy; the number of
    the others; and whether residual forces exceed rounding in this.
    """

    values: Array
    modes: Array
    noise: Array
    zero: int
    hidden: bool = False

    def among(self, values: Array, modes: Array, error: Array) -> tuple[Array, Array, Array]:
        """Merged with others, and their relative errors, lowest first."""
        values, modes = np.append(self.values, values), np.concatenate([self.modes, modes])
        error = np.append(self.noise / np.abs(self.values), error)
        order = np.argsort(values, kind="stable")
        return values[order], modes[order], error[order]


def tell_apart(problem: StaticProblem, balance: Balance, modes: Array) -> ToldApart:
    """Separate eigenvalues that are zero within the rounding of the assembled matrix, by the strains of the links.

    A motion that needs almost no energy hardly strains them, so there is no cancellation. The remaining errors are
    those of the wrenches from rounded positions, and the residual forces. Eigenvalues are those of the energy
    restricted to these motions.
    """
    poses, values = balance.poses, balance.values
    left, right = problem.sides
    own, beside = geometric_blocks(poses.d, poses.q, values.gradient)
    eta = modes[:, right] - np.einsum("nij,knj->kni", transports(poses.d, poses.q), modes[:, left])
    costs = (
        _products(eta, values.stiffness, eta)
        + _products(modes[:, left], own, modes[:, left])
        + 2.0 * _products(modes[:, left], beside, modes[:, right])
        + _products(modes, problem.traps.stiffness(poses), modes)
    )
    found, among = np.linalg.eigh(0.5 * (costs + costs.T))
    modes, eta = (np.tensordot(among.T, part, 1) for part in (modes, eta))
    rounding, missing = _uncertainty(problem, balance, modes, eta)
    noise = NEAR * (rounding + missing)
    told = np.abs(found) > noise
    return ToldApart(found[told], modes[told], noise[told], int((~told).sum()), bool((missing > rounding).any()))


def _uncertainty(problem: StaticProblem, balance: Balance, modes: Array, eta: Array) -> tuple[Array, Array]:
    """Uncertainty of v^T K v from rounding and residual forces, for motions (k, n, 6) with strains (k, links, 6)."""
    poses, values = balance.poses, balance.values
    left, right = problem.sides
    arm = np.maximum(1.0, np.linalg.norm(poses.d, axis=1))
    shift, turn, size = (np.linalg.norm(part, axis=2) for part in (modes[:, :, :3], modes[:, :, 3:], modes))
    reach = arm * size[:, left] + size[:, right]
    pull = np.linalg.norm(np.einsum("nij,knj->kni", values.stiffness, eta), axis=2)
    trapped = np.abs(problem.traps.stiffness(poses)).sum(axis=2).max(axis=1)
    stiff = np.abs(values.stiffness).sum(axis=2).max(axis=1)
    pull = pull + (np.linalg.norm(values.gradient, axis=1) + EPS * stiff) * reach
    evaluated = (pull * reach).sum(axis=1) + size**2 @ trapped
    placed = (turn[:, left] ** 2 + turn[:, right] ** 2) @ (stiff * arm**2)
    missing = np.linalg.norm(np.where(problem.free, balance.gradient, 0.0), axis=1)
    return EPS * (evaluated + placed), (turn * (shift + turn)) @ missing


def _products(v: Array, blocks: Array, w: Array) -> Array:
    """Sums of v^T block w for all v (k, n, 6) and all w (m, n, 6)."""
    return np.tensordot(v, np.einsum("nij,mnj->mni", blocks, w), ((1, 2), (1, 2)))


def _cost(problem: StaticProblem, balance: Balance, mode: Array) -> float:
    """v^T K v of a mode (n, 6)."""
    return float(np.sum(mode * block_band.product(*problem.blocks(balance), mode)))


def lowest_modes(compliance: Compliance, count: int) -> tuple[Array, Array]:
    """The lowest eigenvalues above those of rigid motions, and their modes (count, n, 6), v^T M v = 1."""
    from scipy.sparse.linalg import LinearOperator, eigsh

    size = compliance.mass.size
    operator = LinearOperator((size, size), matvec=lambda v: compliance.weighted(v.reshape(1, -1))[0], dtype=float)
    some = np.cos(np.arange(size) ** 2.0)  # deterministic, and not aligned with any mode
    if count < size - 1:
        # in a unit of time near that of the modes: ARPACK treats values below about 1e-11 as zero
        unit = power_of_two(float(np.linalg.norm(operator @ some) / np.linalg.norm(some)) or 1.0)
        operator = operator / unit
        inverse, vectors = eigsh(operator, k=count, which="LM", v0=some, tol=0)  # zeros come out with either sign
        inverse = unit * inverse
    else:
        inverse, vectors = np.linalg.eigh(compliance.weighted(np.eye(size)))
    order = np.argsort(-inverse)[:count]
    shift = getattr(compliance, "shift", 0.0)
    with np.errstate(divide="ignore"):
        values = 1.0 / inverse[order] - shift
    return values, (vectors[:, order].T / np.sqrt(compliance.mass.ravel())).reshape(-1, *compliance.mass.shape)
