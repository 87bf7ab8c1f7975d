"""Natural frequencies and modes of a chain about an equilibrium: `chain.normal_modes()`.

K v = omega^2 M v. The lowest frequencies come from K^-1 (`compliance`), the highest from K: both have all digits at
their own end of the spectrum, and lose them towards the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ...errors import InputError
from ...geometry import rotations
from ...systems.alike import Alike
from ...systems.base import Array, State
from ...systems.chain import block_band
from ...systems.chain.chain import Chain
from ...systems.numbers import finite_number, finite_numbers, number_of_one, whole_number
from ...systems.potentials.pairwise import check
from ...systems.states import as_run
from .compliance import Assembled, Compliance, Sweep
from .equilibrium import Equilibrium, find_equilibrium, state_at
from .poses import Poses
from .problem import EPS, Balance, StaticProblem
from .stability import compliance, flat_limit, lowest_modes, round_off, stability, tell_apart, weigh_stiffness
from .units import scale_wrenches, unit_length

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes

    from ...output.page.page import Page
    from ...output.style import Panels
    from ...running.runs import Run
    from ...systems.linkage.linkage import Linkage

DENSE = 1500  # coordinates up to which all modes are computed
USUAL = 20  # default number of modes of a longer chain
VISIBLE = 0.1  # of the overall size: a clearly visible displacement
TURNED = 0.3  # between neighbours, in radians
NOT_AT_REST = 1e-7  # of stiffness times length: larger residual forces make frequencies meaningless


class Displacement(NamedTuple):
    """Motion of the bodies in a mode: displacements and rotation vectors (n, 3) each, in space."""

    position: Array
    turn: Array


@dataclass(frozen=True, eq=False)
class Modes:
    """Natural frequencies and modes, the lowest first.

    Attributes
    ----------
    system : what oscillates
    omega : (k,) frequencies in radians per time; for an unstable mode, with omega^2 < 0, -sqrt(-omega^2)
    vectors : (k, n, 6) displacements (u, theta) of the bodies in the axes in which they were given, v^T M v = 1
    zero : number of rigid motions that need no energy; they are not among the modes
    method : how the lowest modes were found: "sweep", "mixed", "assembled" or "dense"
    error : (k,) expected relative error of each frequency
    state : the equilibrium
    """

    system: Chain | Linkage = field(repr=False)
    state: State = field(repr=False)
    omega: Array
    vectors: Array = field(repr=False)
    zero: int
    method: str
    error: Array = field(repr=False)

    @property
    def unstable(self) -> int:
        """Number of modes that grow."""
        return int((self.omega < 0.0).sum())

    def displacement(self, mode: int) -> Displacement:
        """Displacements of all bodies in one mode, in space."""
        vectors = self.vectors[number_of_one(mode, len(self.omega), "Modes.displacement.mode")]
        turned = rotations.to_matrix(self.state.orientation)
        u, theta = (np.einsum("nij,nj->ni", turned, part) for part in np.split(vectors, 2, axis=1))
        return Displacement(u, theta)

    def start(self, velocities: ArrayLike | dict[int, float]) -> State:
        """The equilibrium, set in motion: a modal velocity for each mode, or for some modes by their numbers.

        Energies of small motions add up: velocity a in mode i contributes a^2/2.
        """
        if isinstance(velocities, dict):
            some = np.zeros(len(self.omega))
            for mode, rate in velocities.items():
                some[number_of_one(mode, len(some), "Modes.start.mode")] = finite_number(rate, "Modes.start.velocities")
            velocities = some
        rates = finite_numbers(velocities, (len(self.omega),), where="Modes.start.velocities")
        moved = np.tensordot(rates, self.vectors, 1)
        velocity, place = (
            rotations.rotate(self.state.orientation, moved[:, :3]),
            (self.state.position, self.state.orientation),
        )
        if isinstance(self.system, Chain):
            return self.system.start(*place, velocity=velocity, angular_velocity=moved[:, 3:], check=False)
        return self.system.start(*place, velocity=velocity, angular_velocity=moved[:, 3:])

    def amplitudes(self, run: Run) -> tuple[Array, Array]:
        """Modal displacements and velocities along a run (samples, k): v^T M xi and v^T (m R^T dr/dt, y)."""
        data = as_run(self.system, run, "Modes.amplitudes.run").data
        turned = rotations.to_matrix(self.state.orientation)
        alike = Alike(self.system.bodies)
        tensor, mass = alike.each(lambda body: body.tensor), alike.each(lambda body: body.mass)
        u = np.einsum("nji,tnj->tni", turned, np.asarray(data.position.values) - self.state.position)
        relative = rotations.multiply(rotations.conjugate(self.state.orientation), np.asarray(data.orientation.values))
        theta = _rotation_vectors(relative)
        p = np.einsum("nji,tnj->tni", turned, np.asarray(data.momentum.values))
        y = np.asarray(data.angular_momentum.values)
        first, second = self.vectors[:, :, :3], self.vectors[:, :, 3:]
        place = np.einsum("kni,n,tni->tk", first, mass, u) + np.einsum("kni,nij,tnj->tk", second, tensor, theta)
        return place, np.einsum("kni,tni->tk", first, p) + np.einsum("kni,tni->tk", second, y)

    def energy(self, run: Run) -> xarray.DataArray:
        """Energy of each mode along a run, (velocity^2 + omega^2 displacement^2)/2, for motions that stay small."""
        import xarray

        place, rate = self.amplitudes(run)
        values = 0.5 * (rate**2 + np.sign(self.omega) * self.omega**2 * place**2)
        coords = {"time": run.data.time.values, "mode": np.arange(len(self.omega)), "omega": ("mode", self.omega)}
        return xarray.DataArray(values, coords, ("time", "mode"), "mode_energy", {"long_name": "energy of a mode"})

    def displaced(self, mode: int, amplitudes: ArrayLike) -> tuple[Array, Array]:
        """Positions (m, n, 3) and orientations (m, n, 4) of the bodies, displaced by amplitudes (m,) along a mode.

        Links of an open chain are strained, so a large amplitude bends them and does not stretch them.
        """
        assert isinstance(self.system, Chain)
        poses, frames = Poses.of_state(self.system, self.state), self.system.alike.each(lambda body: body.frame_matrix)
        parts = [np.einsum("nji,nj->ni", frames, part) for part in np.split(self.vectors[mode], 2, axis=1)]
        xi = scale_wrenches(np.concatenate(parts, axis=1), 1.0 / unit_length(self.system))
        left, right = self.system.left.moves, self.system.right.moves
        open_ended = (left or right) and not self.system.closed
        made = [
            poses.strained(size * xi, root=-1 if left and not right else 0)
            if open_ended
            else poses.displaced(size * xi)
            for size in np.asarray(amplitudes, dtype=float)
        ]
        states = [one.state(self.system) for one in made]
        return np.array([state.position for state in states]), np.array([state.orientation for state in states])

    def visible_amplitude(self, mode: int) -> float:
        """A visible amplitude: displaced by a tenth of the overall size, or a third of a radian between neighbours."""
        moved = self.displacement(mode)
        extent = float(np.ptp(self.state.position, axis=0).max()) or 1.0
        apart = np.diff(np.concatenate([np.zeros((1, 3)), moved.turn]), axis=0)
        sizes = [
            np.linalg.norm(moved.position, axis=1).max() / (VISIBLE * extent),
            np.linalg.norm(apart, axis=1).max() / TURNED,
        ]
        return float(1.0 / (max(sizes) or 1.0))

    def view(
        self, path: str | Path | None = None, *, mode: int = 0, amplitude: float | None = None, title: str | None = None
    ) -> Page:
        """A page in which a mode oscillates, for a browser or a notebook.

        Parameters
        ----------
        path : HTML file to write; None: only return the page, which a notebook shows
        mode : number of the mode, from 0
        amplitude : of the modal displacement; None: one that is easy to see
        title : heading; by default the mode with its frequency
        """
        from ...output.page.pose_pages import mode_page

        mode = number_of_one(mode, len(self.omega), "Modes.view.mode")
        if amplitude is not None:
            amplitude = check(amplitude, "Modes.view.amplitude", above=0.0)
        page = mode_page(self, mode, amplitude, title)
        if path is not None:
            page.save(path)
        return page

    def plot(self, modes: Sequence[int] = (0, 1, 2, 3), ax: Sequence[Axes] | None = None) -> Panels:
        """All frequencies, and how far the bodies move and turn in some modes."""
        from ...output.static_plots import draw_modes

        return draw_modes(self, modes, ax)

    def __repr__(self) -> str:
        shown = ", ".join(f"{w:.10g}" for w in self.omega[:6]) + (", ..." if len(self.omega) > 6 else "")
        lines = [f"Modes: {len(self.omega)} of {self.system}", f"  omega   {shown}"]
        lines.append(
            "  zero    1 motion that costs nothing"
            if self.zero == 1
            else f"  zero    {self.zero} motions that cost nothing"
        )
        if self.unstable:
            lines.append(f"  growing {self.unstable}: this is no stable equilibrium")
        lines.append(f"  method  {self.method}, relative error below {self.error.max(initial=0.0):.1g}")
        return "\n".join(lines)


def find_modes(chain: Chain, at: State | Equilibrium | None = None, count: int | Literal["all"] | None = None) -> Modes:
    """See `Chain.normal_modes`."""
    found = find_equilibrium(chain) if at is None else at
    state = state_at(chain, found, "normal_modes.at")
    if isinstance(found, Equilibrium):
        problem = StaticProblem(chain, found.forces)
    else:
        problem = StaticProblem.of(chain, None, "normal_modes")
    balance = problem.balance(Poses.of_state(chain, state))
    _check_rest(problem, balance)
    return _Solver(problem, balance, state).modes(_count(problem, count))


def _count(problem: StaticProblem, count: int | Literal["all"] | None) -> int | None:
    """How many modes; None for all."""
    freedom = int(problem.free.sum())
    if count is None:
        return None if freedom <= DENSE else USUAL
    if count == "all":
        return None
    return whole_number(
        count, "normal_modes.count", f'give a number from 1 to {freedom}, or "all"', least=1, most=freedom
    )


def _check_rest(problem: StaticProblem, balance: Balance) -> None:
    stiff = np.abs(balance.values.stiffness).max() * np.linalg.norm(balance.poses.d, axis=1).max()
    if not balance.residual <= NOT_AT_REST * stiff:
        raise InputError(
            f"this is no equilibrium: a force or torque of {balance.residual / problem.unit:.3g} is left", where="normal_modes.at",
            do="give chain.equilibrium(start)",
        )  # fmt: skip


class _Solver:
    """Computes the modes of one equilibrium."""

    def __init__(self, problem: StaticProblem, balance: Balance, state: State) -> None:
        self.problem, self.balance, self.state = problem, balance, state
        self.diagonal, self.right = weigh_stiffness(problem, balance)
        self.largest = float(np.abs(self.diagonal).sum(axis=2).max())

    def modes(self, count: int | None) -> Modes:
        if count is None or int(self.problem.free.sum()) <= DENSE:
            return self._all(count)
        shift = 0.0
        try:
            found: Compliance = compliance(self.problem, self.balance)
            if not isinstance(found, Sweep):  # a Sweep needs stable links, so the chain is stable, too
                stable = stability(self.problem, self.balance)
                shift = round_off(self.diagonal) - 1.01 * stable.lowest if stable.negative else 0.0
        except np.linalg.LinAlgError:
            shift = round_off(self.diagonal)
        if shift > 0.0:
            found = Assembled(self.problem, self.balance, shift)
        values, vectors = lowest_modes(found, count)
        flat = np.abs(values) <= flat_limit(self.diagonal)
        if not flat.any() or isinstance(found, Sweep):
            return self._make(values, vectors, found.name, found.error(values, self.largest), len(found.zero))
        told = tell_apart(self.problem, self.balance, vectors[flat])
        found.leave_out(vectors[flat])
        values, vectors = lowest_modes(found, count)
        spectrum = told.among(values, vectors, found.error(values, self.largest))
        values, vectors, error = (part[:count] for part in spectrum)
        return self._make(values, vectors, found.name, error, len(found.zero) - len(told.values))

    def _all(self, count: int | None) -> Modes:
        """All modes of a short chain: the lower half, on a logarithmic scale, from K^-1, the others from K."""
        free, mass = self.problem.free, self.problem.mass
        zero = len(self.problem.symmetries(self.balance.poses))
        values, vectors = self._from_stiffness(zero)
        flexible, costless = self._flexible(), 0
        error = EPS * self.largest / np.maximum(np.abs(values), EPS * self.largest)
        if not isinstance(flexible, Sweep):  # motions that are zero up to rounding need no energy, too
            flat = np.abs(values) <= flat_limit(self.diagonal)
            told = tell_apart(self.problem, self.balance, vectors[flat])
            costless, zero = told.zero, zero + told.zero
            values, vectors, error = told.among(values[~flat], vectors[~flat], error[~flat])
        method = "dense"
        if flexible is not None and len(values) and (isinstance(flexible, Sweep) or values[0] > 0.0):
            inverse, modes = self._inverse(flexible, costless)
            low = int((inverse > 1.0 / np.sqrt(self.largest / inverse[-1])).sum())
            order = np.argsort(-inverse)[:low]
            values[:low] = 1.0 / inverse[order]
            vectors[:low] = (modes[:, order].T / np.sqrt(mass.ravel())).reshape(-1, *mass.shape)
            error[:low] = np.minimum(
                error[:low], flexible.error(values[:low], self.largest) + EPS * values[:low] / values[0]
            )
            method = flexible.name
        kept = slice(0, count)
        return self._make(values[kept], np.where(free, vectors[kept], 0.0), method, error[kept], zero)

    def _inverse(self, flexible: Compliance, costless: int) -> tuple[Array, Array]:
        """Eigenvalues and vectors of M^1/2 K^-1 M^1/2, without motions whose energy is zero up to rounding.

        With these, the others would lose their digits.
        """
        mass = self.problem.mass
        inverse, modes = np.linalg.eigh(_symmetric(flexible.weighted(np.eye(mass.size))))
        if costless:
            flat = np.argsort(-np.abs(inverse))[:costless]
            flexible.leave_out((modes[:, flat].T / np.sqrt(mass.ravel())).reshape(-1, *mass.shape))
            inverse, modes = np.linalg.eigh(_symmetric(flexible.weighted(np.eye(mass.size))))
        return inverse, modes

    def _flexible(self) -> Compliance | None:
        """K^-1, unless this needs a singular matrix."""
        try:
            found = compliance(self.problem, self.balance)
        except np.linalg.LinAlgError:
            return None
        return None if getattr(found, "shift", 0.0) else found

    def _from_stiffness(self, zero: int) -> tuple[Array, Array]:
        problem = self.problem
        free = problem.free.ravel()
        matrix = block_band.assemble(*problem.blocks(self.balance))[np.ix_(free, free)]
        root = np.sqrt(problem.mass.ravel()[free])
        values, modes = np.linalg.eigh(_symmetric(matrix / root[:, None] / root))
        order = np.argsort(np.abs(values))[zero:]  # rigid motions have the values nearest to zero
        order = order[np.argsort(values[order])]
        vectors = np.zeros((len(order), problem.mass.size))
        vectors[:, free] = modes[:, order].T / root
        return values[order], vectors.reshape(-1, *problem.mass.shape)

    def _make(self, values: Array, vectors: Array, method: str, error: Array, zero: int) -> Modes:
        chain = self.problem.chain
        frames = chain.alike.each(lambda body: body.frame_matrix)
        given = np.concatenate(
            [np.einsum("nij,knj->kni", frames, part) for part in np.split(vectors, 2, axis=2)], axis=2
        )
        omega = np.sign(values) * np.sqrt(np.abs(values))
        given = scale_wrenches(given, self.problem.unit)
        return Modes(chain, self.state, omega, given, zero, method, 0.5 * error)


def _symmetric(matrix: Array) -> Array:
    return 0.5 * (matrix + matrix.T)


def _rotation_vectors(q: Array) -> Array:
    """Axis times angle, for quaternions (..., 4)."""
    q = q * np.where(q[..., :1] < 0.0, -1.0, 1.0)
    sine = np.linalg.norm(q[..., 1:], axis=-1, keepdims=True)
    angle = 2.0 * np.arctan2(sine, q[..., :1])
    return q[..., 1:] * np.where(sine > 0.0, angle / np.where(sine > 0.0, sine, 1.0), 2.0)
