"""Waves along an infinite uniform chain: `chain.dispersion(k)`.

If every body follows from the one before by the same screw, all links are the same in the axes of the bodies, and
xi_j = xi e^(ikj) solves the equations of motion with

    D(k) v = omega^2 M v,      D(k) = H_aa + H_bb + H_ab e^(ik) + H_ab^T e^(-ik)      [brillouin1953].

k is the phase from body to body in their own axes. So a shift across the axis that is constant in space turns by the
screw angle theta: bending starts at k = +-theta (omega = b (k -+ theta)^2), stretch and twist at k = 0 (omega = c k).
Cells of several bodies are folded.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...errors import InputError
from ...systems.base import Array, State
from ...systems.chain.chain import Chain
from ...systems.chain.ends import Force
from ...systems.chain.link_mechanics import geometric_blocks, transports
from ...systems.numbers import finite_numbers, whole_number
from .equilibrium import Equilibrium, state_at
from .poses import Poses
from .problem import constant_force, require_still
from .screws import Screw, screw_of
from .traps import Traps
from .uniform import link_length, pulled_link, relax_links, resting_links, resting_poses
from .units import ScaledLinks, scale_matrices, scale_wrenches, unit_length

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SAME_CELL = 1e-6  # difference of relative positions and rotations in neighbouring cells
DEGENERATE = 1e-7  # of the highest frequency: closer branches count as crossing


@dataclass(frozen=True, eq=False)
class Cell:
    """One period of a uniform chain: relative poses, stiffness and wrench of its links, masses (c, 6) of its bodies; in `unit_length`."""

    d: Array
    q: Array
    stiffness: Array
    wrench: Array
    mass: Array

    def scaled(self, length: float) -> Cell:
        """The same in the user's unit of length, given the unit length of this one."""
        stiffness, mass = scale_matrices(self.stiffness, 1.0 / length), scale_wrenches(self.mass, 1.0 / length**2)
        return Cell(length * self.d, self.q, stiffness, scale_wrenches(self.wrench, 1.0 / length), mass)

    @property
    def screw(self) -> Screw:
        """From one cell to the next."""
        place, turn = np.zeros(3), np.eye(3)
        for d, q in zip(self.d, self.q, strict=True):
            place, turn = place + turn @ d, turn @ q
        return screw_of(place, turn)

    def blocks(self) -> tuple[Array, Array, Array]:
        """H_aa, H_ab and H_bb of each link."""
        a = transports(self.d, self.q)
        own, beside = geometric_blocks(self.d, self.q, self.wrench)
        pulled = a.swapaxes(1, 2) @ self.stiffness
        return pulled @ a + own, beside - pulled, self.stiffness


@dataclass(frozen=True, eq=False)
class Dispersion:
    """Branches of waves.

    Attributes
    ----------
    k : (m,) phases from cell to cell, in radians
    omega : (m, 6 c) frequencies, ascending; imaginary ones, of an unstable state, are given as negative
    velocity : (m, 6 c) group velocities d omega/dk, in cells per time
    angle, rise : of the screw from cell to cell
    """

    k: Array
    omega: Array
    velocity: Array
    angle: float
    rise: float
    cell: int = field(default=1)

    def plot(self, ax: Axes | None = None) -> Axes:
        """The branches."""
        from ...output.static_plots import draw_dispersion

        return draw_dispersion(self, ax)

    def __repr__(self) -> str:
        return (
            f"Dispersion: {self.omega.shape[1]} branches at {len(self.k)} wave numbers, omega up to {self.omega.max():.6g}; "
            f"screw angle {self.angle:.6g}, rise {self.rise:.6g}"
        )  # fmt: skip


def find_dispersion(chain: Chain, k: ArrayLike, cell: int = 1, at: State | Equilibrium | None = None) -> Dispersion:
    """See `Chain.dispersion`."""
    phases = np.atleast_1d(finite_numbers(k, (), (None,), where="dispersion.k"))
    if at is None or not chain.closed:
        period = uniform_cell(chain, cell, at, "dispersion")
    else:
        period = ring_cell(chain, cell, at)
    omega, velocity = branches(period, phases)
    screw = period.screw
    return Dispersion(phases, omega, velocity, screw.angle, unit_length(chain) * screw.rise, cell)


def uniform_cell(chain: Chain, cell: int, at: State | Equilibrium | None, where: str) -> Cell:
    """The uniform state of a chain: links at rest, or as in the middle of a state, under the pull of its ends."""
    require_still(chain)
    links = chain.interactions.count
    cell = whole_number(cell, f"{where}.cell", f"give a number of bodies from 1 to {links}", least=1, most=links)
    state = None if at is None else state_at(chain, at, f"{where}.at")
    first = (links - cell) // 2
    numbers = np.arange(first, first + cell)
    _check_period(chain, cell, where)
    mechanics = ScaledLinks(chain)
    tension = 0.0
    if state is None and chain.closed:
        d, q = (part[numbers] for part in resting_links(chain))
    else:
        poses = resting_poses(chain) if state is None else Poses.of_state(chain, state)
        d, q = poses.d[numbers], poses.q[numbers]
        forces = at.forces if isinstance(at, Equilibrium) else _end_forces(chain)
        tension = _tension(mechanics.unit * forces + Traps.of(chain).forces(poses), poses, d, q, first)
    length = link_length(chain, d)
    if tension == 0.0:
        d, q, rests = relax_links(mechanics, numbers, d, q, length)
        if not rests.all():
            raise InputError(
                "the links of this state do not come to rest", where=f"{where}.at", do="give an equilibrium"
            )
    else:
        if cell > 1:
            raise InputError(
                "a chain under a pull", where=f"{where}.cell", do="take cell=1, or the chain without the pull"
            )
        found = pulled_link(mechanics, d[0], q[0], tension, link=first)
        if found is None:
            raise InputError(
                f"there is no uniform state under the pull {tension / mechanics.unit:g}",
                where=f"{where}.at",
                do="give an equilibrium",
            )
        d, q = (part[None] for part in found)
    values = mechanics.values(d, q, numbers)
    wrench = values.gradient if tension else np.zeros_like(values.gradient)
    return Cell(d, q, values.stiffness, wrench, _masses(chain, first, cell))


def ring_cell(chain: Chain, cell: int, at: State | Equilibrium) -> Cell:
    """The first cell of a ring that repeats from cell to cell, with its present stress: waves travel round the ring."""
    divides = f"give a number that divides {chain.count} bodies"
    if chain.count % whole_number(cell, "dispersion.cell", divides, least=1):
        raise InputError(f"cell = {cell!r}", where="dispersion.cell", do=divides)
    _check_period(chain, cell, "dispersion")
    poses = Poses.of_state(chain, state_at(chain, at, "dispersion.at"))
    size = np.linalg.norm(poses.d, axis=1).max()
    later = [np.abs(part - np.roll(part, -cell, axis=0)).max() for part in (poses.d / size, poses.q)]
    if max(later) > SAME_CELL:
        raise InputError(
            f"the ring does not repeat after {cell} bodies: its waves are not plain ones", where="dispersion.at",
            do="give a uniform ring, or ask for normal_modes()",
        )  # fmt: skip
    numbers = np.arange(cell)
    values = ScaledLinks(chain).values(poses.d[:cell], poses.q[:cell], numbers)
    return Cell(poses.d[:cell], poses.q[:cell], values.stiffness, values.gradient, _masses(chain, 0, cell))


def _masses(chain: Chain, first: int, cell: int) -> Array:
    """Masses of the bodies to the right of some links, (cell, 6); infinite where a moment of inertia is zero."""
    bodies = [chain.bodies[(link + 1) % chain.count] for link in range(first, first + cell)]
    mass = scale_wrenches(
        np.array([[body.mass] * 3 + body.moments.tolist() for body in bodies]), unit_length(chain) ** 2
    )
    return np.where(mass > 0.0, mass, np.inf)


def _check_period(chain: Chain, cell: int, where: str) -> None:
    """Bodies and potentials must repeat from cell to cell, except at the ends, which may be truncated."""
    bodies, kinds = chain.alike.which, chain.interactions.alike_links[1]
    if chain.closed:
        bodies, kinds = (np.concatenate([given, given[:cell]]) for given in (bodies, kinds))
    elif chain.count > cell + 3:
        bodies, kinds = bodies[1:-1], kinds[1:-1]
    if (bodies[cell:] != bodies[:-cell]).any() or (kinds[cell:] != kinds[:-cell]).any():
        raise InputError(
            f"bodies and potentials do not repeat after {cell}",
            where=f"{where}.cell",
            do="give the period of the chain",
        )


def _end_forces(chain: Chain) -> Array:
    forces = np.zeros((chain.count, 3))
    for j, end in ((0, chain.left), (-1, chain.right)):
        if isinstance(end, Force):
            forces[j] += constant_force(end)
    return forces


def _tension(forces: Array, poses: Poses, d: Array, q: Array, first: int) -> float:
    """The pull of the ends along the axis: far from them the axis is parallel to it, so all of it is axial."""
    if forces[1:-1].any():
        raise InputError(
            "forces act on bodies inside the chain: no state of it is uniform", where="Chain.gravity",
            do="take the chain without them",
        )  # fmt: skip
    pull = forces[-1] if forces[-1].any() else -forces[0]
    if not pull.any():
        return 0.0
    place, turn = np.zeros(3), np.eye(3)
    for one, another in zip(d, q, strict=True):
        place, turn = place + turn @ one, turn @ another
    along = pull @ poses.matrices[first] @ screw_of(place, turn).axis
    return float(np.copysign(np.linalg.norm(pull), along))


def branches(cell: Cell, k: Array) -> tuple[Array, Array]:
    """Frequencies and group velocities at all wave numbers."""
    c = len(cell.d)
    scale = 1.0 / np.sqrt(cell.mass).ravel()
    inside, across = np.zeros((6 * c, 6 * c)), np.zeros((6 * c, 6 * c))
    for j, (aa, ab, bb) in enumerate(zip(*cell.blocks(), strict=True)):
        a, b = slice(6 * j, 6 * j + 6), slice(6 * ((j + 1) % c), 6 * ((j + 1) % c) + 6)
        inside[a, a] += aa
        inside[b, b] += bb
        if j + 1 < c:
            inside[a, b] += ab
            inside[b, a] += ab.T
        else:
            across[a, b] += ab
    inside, across = (scale[:, None] * matrix * scale for matrix in (inside, across))
    phase = np.exp(1j * k)[:, None, None]
    matrix = np.asarray(inside + across * phase + across.T / phase, dtype=np.complex128)
    slope = np.asarray(1j * (across * phase - across.T / phase), dtype=np.complex128)
    values, vectors = np.linalg.eigh(matrix)
    omega = np.sign(values) * np.sqrt(np.abs(values))
    return omega, _velocities(values, omega, vectors, slope)


def _velocities(values: Array, omega: Array, vectors: NDArray[np.complex128], slope: NDArray[np.complex128]) -> Array:
    """d omega/dk = v^H D' v/(2 omega); where branches cross, eigenvalues of D' in the order of the branches beyond."""
    along = vectors.conj().swapaxes(1, 2) @ slope @ vectors
    rates = np.einsum("kii->ki", along).real.copy()
    close = DEGENERATE * np.abs(values).max()
    for row in range(len(values)):
        first = 0
        for last in range(1, values.shape[1] + 1):
            if last == values.shape[1] or values[row, last] - values[row, last - 1] > close:
                if last - first > 1:
                    rates[row, first:last] = np.linalg.eigvalsh(along[row, first:last, first:last])
                first = last
    small = np.abs(omega) <= 1e-7 * np.abs(omega).max()
    # where omega starts from zero it has no derivative
    return np.where(small, np.nan, rates / (2.0 * np.where(small, 1.0, omega)))
