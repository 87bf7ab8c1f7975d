"""The Cosserat rod limit of a long uniform chain: `chain.rod_limit()`.

The rod lies along the axis of the screw; s counts links, body j is at s = j. The axis frame has a1 along the axis, a2
from it to the body; components are (stretch, shear 2, shear 3, twist, bend 2, bend 3). Its strain in axes that do not
rotate is zeta' + (h e1 x theta, 0), its energy density eta^T F(s)^-1 eta/2, its mass density
M(s) = Rx(theta s) M Rx(-theta s) [antman2005].

F(s) decides the order of convergence. The compliance of a link rotated along, Rx(theta s) F Rx(-theta s), or its mean,
is accurate to first order only. Here the rod has exactly the compliance of the link over every link:

    int_{-1/2}^{1/2} T(x) F(j + 1/2 + x) T(x)^T dx = F of link j at its middle,      T(x) = [[1, x hat(h e1)], [0, 1]],

harmonic by harmonic, Rx(p) F Rx(-p) = sum F_m e^(imp), m = -2..2, with m theta reduced to (-pi, pi]. Static compliance
at the bodies is then exact for every n, frequencies of order 2. Near a half turn the first harmonics cannot be
distinguished from their images, and F(s) may cease to be positive: then they are dropped, and the rod is called
"reduced". If links are much stiffer against shear than against bending over their length (EI/GA < h^2/12, hinges in the
middle of stiff links), no rod has the shear compliance of the link: then F is that of the link itself, and the rod is
called "local"; it is accurate to second order if the chain does not rotate along its axis.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ...geometry.rotations import hat
from ...systems.base import Array, State
from ...systems.chain.chain import Chain
from ...systems.numbers import whole_number
from .dispersion import Cell, uniform_cell
from .equilibrium import Equilibrium
from .newton import positive
from .screws import Screw
from .units import unit_length

if TYPE_CHECKING:
    from .rod_comparison import RodComparison

Complex = NDArray[np.complex128]

HARMONICS = range(-2, 3)
BEAT_SAMPLES = 400
STRAIGHT = 1e-9  # of an angle


@dataclass(frozen=True, eq=False)
class RodLimit:
    """A rod equivalent to a uniform chain. Lengths are counted in links unless stated otherwise; h is the length of a link.

    Attributes
    ----------
    angle, rise, radius : of the screw from link to link; rise is h
    compliance : (6, 6) of a link at its middle, in the axis frame: stretch, shear 2, shear 3, twist, bend 2, bend 3
    inertia : (6, 6) of a body about the axis, in the axis frame
    kind : "exact", "reduced" or "local"
    """

    angle: float
    rise: float
    radius: float
    compliance: Array
    inertia: Array
    kind: str
    harmonics: dict[int, tuple[float, Complex]] = field(repr=False)
    mean: dict[int, Complex] = field(repr=False)
    chain: Chain = field(repr=False)
    cell: Cell = field(repr=False)

    def compliance_at(self, s: Array | float) -> Array:
        """F(s), (..., 6, 6), in axes that do not rotate."""
        s = np.asarray(s, dtype=float)[..., None, None]
        return np.asarray(sum((np.exp(1j * b * s) * p).real for b, p in self.harmonics.values()), dtype=float)

    def inertia_at(self, s: Array | float) -> Array:
        """M(s), (..., 6, 6), in axes that do not rotate."""
        turned = about_axis(self.angle * np.asarray(s, dtype=float))
        return turned @ self.inertia @ turned.swapaxes(-1, -2)

    @property
    def stiffness(self) -> Array:
        """(6, 6) per unit of length at a body: h F(0)^-1."""
        return np.asarray(self.rise * np.linalg.inv(self.compliance_at(0.0)), dtype=float)

    @property
    def stretch_twist(self) -> Array:
        """(2, 2) EA, GJ and their coupling, per unit of length."""
        return np.asarray(self.rise * self._stretch_twist, dtype=float)

    @property
    def bending_stiffness(self) -> float:
        """EI, the harmonic mean of both directions."""
        return float(self.rise / self.mean[0][4, 4].real)

    @property
    def bending_stiffnesses(self) -> Array:
        """(2,) EI of the two directions: they differ only if the chain turns by zero, or by half a turn, from link to link."""
        block = self.mean[0][4:, 4:].real
        if min(abs(self.angle), np.pi - abs(self.angle)) < STRAIGHT:
            block = (self.mean[0] + self.mean[2] + self.mean[-2])[4:, 4:].real
        return np.asarray(self.rise / np.linalg.eigvalsh(block)[::-1], dtype=float)

    @property
    def mass_per_length(self) -> float:
        """m/h."""
        return float(self.inertia[0, 0] / self.rise)

    @property
    def speeds(self) -> Array:
        """(2,) of long stretch-twist waves, links per time."""
        from scipy.linalg import eigh

        masses = np.diag([self.inertia[0, 0], self.inertia[3, 3]])
        return np.asarray(np.sqrt(eigh(self._stretch_twist, masses, eigvals_only=True)), dtype=float)

    @property
    def bending_coefficients(self) -> Array:
        """(2,) b of long bending waves, omega = b kappa^2, kappa in radians per link."""
        return np.asarray(np.sqrt(self.bending_stiffnesses / (self.rise**3 * self.inertia[0, 0])), dtype=float)

    @property
    def _stretch_twist(self) -> Array:
        return np.asarray(np.linalg.inv(self.mean[0][np.ix_([0, 3], [0, 3])].real), dtype=float)

    def modes(self, n: int, left: str = "clamped", right: str = "free", count: int = 6) -> Array:
        """The lowest frequencies of the rod equivalent to a chain of n bodies, except rigid motions.

        Each movable body represents one link length of the rod, so a free end adds half a link.

        Parameters
        ----------
        n : number of bodies, including clamped ones
        left, right : "clamped" or "free"
        count : number of frequencies
        """
        from .rod_modes import rod_frequencies

        for name, end in (("left", left), ("right", right)):
            if end not in ("clamped", "free"):
                raise InputError(f"{name} = {end!r}", where=f"RodLimit.modes.{name}", do='choose "clamped" or "free"')
        n = whole_number(n, "RodLimit.modes.n", "give a number of bodies from 2 on", least=2)
        count = whole_number(count, "RodLimit.modes.count", "give a number from 1 on", least=1)
        begin = 0.0 if left == "clamped" else -0.5
        finish = n - 1.0 if right == "clamped" else n - 0.5
        return rod_frequencies(self, begin, finish, (left == "clamped", right == "clamped"), count)

    def compare(
        self, sizes: tuple[int, ...] = (9, 17, 33, 65), left: str = "clamped", right: str = "free", count: int = 6
    ) -> RodComparison:
        """Frequencies of chains with given numbers of bodies against those of the rod: a table, with the order of convergence."""
        from .rod_comparison import compare_rod

        return compare_rod(self, sizes, left, right, count)

    def __repr__(self) -> str:
        (ea, coupling), (_, gj) = self.stretch_twist
        return (
            f"RodLimit ({self.kind}): screw angle {self.angle:.10g}, rise {self.rise:.10g}, radius {self.radius:.6g}\n"
            f"  per length: EA {ea:.10g}, GJ {gj:.10g}, coupling {coupling:.6g}, EI {self.bending_stiffness:.10g}, "
            f"mass {self.mass_per_length:.10g}\n"
            f"  waves: {self.speeds[0]:.10g} and {self.speeds[1]:.10g} links per time, bending b = "
            f"{', '.join(f'{b:.10g}' for b in self.bending_coefficients)}"
        )


def find_rod(chain: Chain, cell: int = 1, at: State | Equilibrium | None = None) -> RodLimit:
    """See `Chain.rod_limit`."""
    period = uniform_cell(chain, cell, at, "rod_limit")
    if period.wrench.any():
        raise InputError(
            "a chain under a pull: its rod would be one under a pull",
            where="rod_limit.at",
            do="take the chain without it",
        )
    if not np.isfinite(period.mass).all():
        raise InputError(
            "a body without extent has no orientation", where="Chain.bodies", do="give it moments of inertia"
        )
    return rod_of(chain, period)


def rod_of(chain: Chain, cell: Cell) -> RodLimit:
    """The rod of one period, in the user's unit of length."""
    resists = bool((positive(cell.stiffness) == cell.stiffness).all())
    cell = cell.scaled(unit_length(chain))
    screw = cell.screw
    if screw.rise <= 0.0:
        raise InputError(
            "the chain turns in a circle: it has no axis", where="rod_limit", do="give a chain that goes on"
        )
    if not resists:
        raise InputError(
            "the links do not resist some of the strains: there is no rod that does", where="rod_limit",
            do="give them stiffness against all six",
        )  # fmt: skip
    compliance, inertia = link_compliance(cell, screw), cell_inertia(cell, screw)
    mean, harmonics = _harmonics(compliance, screw.angle, screw.rise)
    kind = "exact"
    if not _is_positive(harmonics):
        harmonics = {m: part for m, part in harmonics.items() if m % 2 == 0}
        kind = "reduced"
    if not _is_positive(harmonics):
        kept = HARMONICS if abs(screw.angle) < STRAIGHT else (-2, 0, 2)
        harmonics = {m: (_wrap(m * screw.angle)[0], (-1.0) ** _wrap(m * screw.angle)[1] * mean[m]) for m in kept}
        kind = "local"
    return RodLimit(screw.angle, screw.rise, screw.radius, compliance, inertia, kind, harmonics, mean, chain, cell)


def adjoint(matrix: Array, place: Array) -> Array:
    """Map of twists (v, w) from a frame with this position and these axes to the frame in which both are given."""
    out = np.zeros((6, 6))
    out[:3, :3] = out[3:, 3:] = matrix
    out[:3, 3:] = hat(np.asarray(place, dtype=float)) @ matrix
    return out


def about_axis(angle: Array | float) -> Array:
    """Rx applied to both halves of a twist, (..., 6, 6)."""
    angle = np.asarray(angle, dtype=float)
    out = np.zeros((*angle.shape, 6, 6))
    out[..., 0, 0] = out[..., 3, 3] = 1.0
    for k in (1, 4):
        out[..., k, k] = out[..., k + 1, k + 1] = np.cos(angle)
        out[..., k + 1, k] = np.sin(angle)
        out[..., k, k + 1] = -np.sin(angle)
    return out


def link_compliance(cell: Cell, screw: Screw) -> Array:
    """Compliance of a cell at the middle of its axis: the sum of those of its links, each carried along rigidly."""
    to_axis = _to_axis(screw)
    total, beyond = np.zeros((6, 6)), np.eye(6)
    for d, q, stiffness in zip(cell.d[::-1], cell.q[::-1], cell.stiffness[::-1], strict=True):
        total += beyond @ np.linalg.inv(stiffness) @ beyond.T
        beyond = beyond @ adjoint(q.T, -q.T @ d)
    middle = about_axis(0.5 * screw.angle)
    middle[:3, 3:] = hat(np.array([0.5 * screw.rise, 0.0, 0.0])) @ middle[3:, 3:]
    carried = middle @ to_axis
    return carried @ total @ carried.T


def cell_inertia(cell: Cell, screw: Screw) -> Array:
    """Inertia of the bodies of a cell about the point of the axis beside the first one."""
    to_axis, from_first = _to_axis(screw), np.eye(6)
    total = np.zeros((6, 6))
    for d, q, mass in zip(cell.d, cell.q, cell.mass, strict=True):
        back = np.linalg.inv(to_axis @ from_first)
        total += back.T @ np.diag(mass) @ back
        from_first = from_first @ adjoint(q, d)
    return total


def _to_axis(screw: Screw) -> Array:
    """Map from the axes of a body to the axis frame beside it."""
    return adjoint(screw.frame.T, np.array([0.0, screw.radius, 0.0]))


def _harmonics(
    compliance: Array, angle: float, rise: float
) -> tuple[dict[int, Complex], dict[int, tuple[float, Complex]]]:
    """F_m of the rotated link, and (b_m, P_m) of the rod that has its compliance over every link."""
    from scipy.linalg import expm

    turned = about_axis(np.asarray(2.0 * np.pi * np.arange(8) / 8.0, dtype=float))
    transform = np.fft.fft(turned @ compliance @ turned.swapaxes(-1, -2), axis=0) / 8.0
    shift = np.zeros((6, 6))
    shift[:3, 3:] = hat(np.array([rise, 0.0, 0.0]))
    carried = np.kron(shift, np.eye(6)) + np.kron(np.eye(6), shift)
    mean, harmonics = {}, {}
    for m in HARMONICS:
        b, turns = _wrap(m * angle)
        mean[m] = transform[m % 8]
        # int_{-1/2}^{1/2} expm(x X) dx = expm(-X/2) times the corner of the exponential of [[X, 1], [0, 0]]
        generator = carried + 1j * b * np.eye(36)
        augmented = np.zeros((72, 72), dtype=complex)
        augmented[:36, :36], augmented[:36, 36:] = generator, np.eye(36)
        integral = expm(-0.5 * generator) @ expm(augmented)[:36, 36:]
        harmonics[m] = b, np.linalg.solve(integral, (-1.0) ** turns * mean[m].ravel()).reshape(6, 6)
    return mean, harmonics


def _wrap(angle: float) -> tuple[float, int]:
    """An angle in [-pi, pi], and the number of turns removed."""
    turns = round(angle / (2.0 * np.pi))
    return angle - 2.0 * np.pi * turns, turns


def _is_positive(harmonics: dict[int, tuple[float, Complex]]) -> bool:
    """Whether F(s) is positive definite over one beat period of its harmonics."""
    slowest = min((abs(b) for b, _ in harmonics.values() if abs(b) > STRAIGHT), default=np.pi)
    s = np.linspace(0.0, 2.0 * np.pi / slowest, BEAT_SAMPLES)[:, None, None]
    f = sum(((np.exp(1j * b * s) * p).real for b, p in harmonics.values()), start=np.zeros((1, 1, 1)))
    size = np.sqrt(np.abs(np.einsum("nii->ni", f)).max(axis=0))  # shifts and rotations have different units
    f = f / np.where(size > 0.0, size, 1.0)[:, None] / np.where(size > 0.0, size, 1.0)
    return bool(np.linalg.eigvalsh(0.5 * (f + f.swapaxes(1, 2)))[:, 0].min() > 0.0)
