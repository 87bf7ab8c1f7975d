"""Pair potentials: V(r) of two particles at distance r.

Each is a frozen dataclass with `energy(r)` and `force(r)`; they add with +. `PairSet` turns them into kernels. In a
chain, the parameters listed in `timed` may be texts in t, or tables `Sampled(times, values)`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...errors import InputError
from ...kernels.marks import Kernel
from . import pair_kernels as kernels
from .pair_expression import PairPotential
from .pair_set import PairSet
from .pair_table import PairTable, pair_potential_from
from .pairwise import Pairwise, PotentialSum, Quantity, register, require_numbers
from .switched import Switched
from .wells import FALLEN, Well

if TYPE_CHECKING:
    from ..sampled import GivenInTime

__all__ = [
    "WCA",
    "Harmonic",
    "LennardJones",
    "Morse",
    "PairPotential",
    "PairSet",
    "PairTable",
    "Pairwise",
    "PotentialSum",
    "Switched",
    "Yukawa",
    "pair_potential_from",
]


@dataclass(frozen=True)
class _WithSigma(Pairwise):
    """Base class of potentials with an energy and a size of particles."""

    epsilon: float
    sigma: float

    timed = ("epsilon", "sigma")

    def __post_init__(self) -> None:
        self._take("epsilon", "sigma", above=0.0)


@register
@dataclass(frozen=True)
class LennardJones(_WithSigma):
    """V = 4 epsilon ((sigma/r)^12 - (sigma/r)^6): minimum -epsilon at 2^(1/6) sigma.

    Parameters
    ----------
    epsilon : depth of the well
    sigma : distance at which V = 0

    Examples
    --------
    >>> LennardJones(5.0, 1.0).energy([1.0, 2.0**(1/6)]).round(12).tolist()
    [0.0, -5.0]
    """

    if TYPE_CHECKING:

        def __init__(self, epsilon: GivenInTime, sigma: GivenInTime) -> None: ...

    @property
    def constants(self) -> tuple[float, ...]:
        return self.sigma * self.sigma, 24.0 * self.epsilon, 4.0 * self.epsilon

    def kernel(self, quantity: Quantity) -> Kernel:
        return {
            "energy": kernels.lennard_jones_energy,
            "force": kernels.lennard_jones_force,
            "slope": kernels.lennard_jones_slope,
        }[quantity]

    def mean_kernel(self) -> Kernel:
        return kernels.lennard_jones_mean

    def _find_well(self) -> Well:
        """The attraction is largest at r = (26/7)^(1/6) sigma; at 4 sigma it is 6e-4 of that."""
        u3 = 7.0 / 26.0
        cohesion = 24.0 * self.epsilon / self.sigma * (u3 - 2.0 * u3 * u3) * u3 ** (1.0 / 6.0)
        return Well(self.sigma, cohesion, 4.0 * self.sigma)


@register
@dataclass(frozen=True)
class WCA(_WithSigma):
    """The repulsion of Lennard-Jones alone: V + epsilon for r < 2^(1/6) sigma, else 0 [Weeks, Chandler & Andersen 1971].

    The second derivative jumps at the end (by 57.1 epsilon/sigma^2), so no method converges beyond order 2.

    Parameters
    ----------
    epsilon, sigma : as of `LennardJones`

    Examples
    --------
    >>> WCA(5.0, 1.0).energy([1.0, 1.2]).tolist()
    [5.0, 0.0]
    """

    if TYPE_CHECKING:

        def __init__(self, epsilon: GivenInTime, sigma: GivenInTime) -> None: ...

    @property
    def constants(self) -> tuple[float, ...]:
        square = self.sigma * self.sigma
        return square, 24.0 * self.epsilon, self.epsilon, 2.0 ** (1.0 / 3.0) * square

    def kernel(self, quantity: Quantity) -> Kernel:
        return {"energy": kernels.wca_energy, "force": kernels.wca_force, "slope": kernels.wca_slope}[quantity]

    @property
    def smoothness(self) -> float:
        return 1

    @property
    def reach(self) -> float:
        require_numbers(self)
        return 2.0 ** (1.0 / 6.0) * self.sigma

    def _find_well(self) -> Well:
        return Well(self.sigma, 0.0, math.inf)


@register
@dataclass(frozen=True)
class Morse(Pairwise):
    """V = depth (1 - exp(-a (r - r0)))^2 - depth [Morse 1929].

    Parameters
    ----------
    depth : of the well
    a : inverse width of the well
    r0 : distance of the minimum

    Examples
    --------
    >>> float(Morse(5.0, 3.0, 1.1).energy(1.1))
    -5.0
    """

    depth: float
    a: float
    r0: float

    timed = ("depth", "a", "r0")

    if TYPE_CHECKING:

        def __init__(self, depth: GivenInTime, a: GivenInTime, r0: GivenInTime) -> None: ...

    def __post_init__(self) -> None:
        self._take("depth", "a", "r0", above=0.0)

    @property
    def constants(self) -> tuple[float, ...]:
        return self.depth, self.a, self.r0

    def kernel(self, quantity: Quantity) -> Kernel:
        return {"energy": kernels.morse_energy, "force": kernels.morse_force, "slope": kernels.morse_slope}[quantity]

    def _find_well(self) -> Well:
        """The attraction is largest where e = exp(-a (r - r0)) = 1/2; it ends where 4 e (1 - e) = 1e-3."""
        end = self.r0 - math.log(0.5 * FALLEN / (1.0 + math.sqrt(1.0 - FALLEN))) / self.a
        return Well(self.r0, 0.5 * self.depth * self.a, end)


@register
@dataclass(frozen=True)
class Yukawa(Pairwise):
    """V = strength exp(-kappa r)/r: screened charges; repulsion for positive strength.

    Parameters
    ----------
    strength : product of the charges
    kappa : inverse screening length; 0 for bare charges

    Examples
    --------
    >>> float(Yukawa(2.0, 0.0).energy(4.0))
    0.5
    """

    strength: float
    kappa: float

    timed = ("strength", "kappa")

    if TYPE_CHECKING:

        def __init__(self, strength: GivenInTime, kappa: GivenInTime) -> None: ...

    def __post_init__(self) -> None:
        self._take("strength")
        if self.strength == 0.0:
            raise InputError("strength = 0", where="Yukawa.strength", do="leave the potential out")
        self._take("kappa", least=0.0)

    @property
    def constants(self) -> tuple[float, ...]:
        return self.strength, self.kappa

    def kernel(self, quantity: Quantity) -> Kernel:
        return {"energy": kernels.yukawa_energy, "force": kernels.yukawa_force, "slope": kernels.yukawa_slope}[quantity]

    def _find_well(self) -> Well:
        """No well: no distance is too small."""
        return Well(0.0, 0.0 if self.strength > 0 else math.inf, math.inf)


@register
@dataclass(frozen=True)
class Harmonic(Pairwise):
    """V = k (r - r0)^2/2: a spring that never tears.

    Parameters
    ----------
    k : stiffness
    r0 : length at rest

    Examples
    --------
    >>> Harmonic(3.0, 1.5).force([1.0, 2.0]).tolist()
    [1.5, -1.5]
    """

    k: float
    r0: float

    timed = ("k", "r0")

    if TYPE_CHECKING:

        def __init__(self, k: GivenInTime, r0: GivenInTime) -> None: ...

    def __post_init__(self) -> None:
        if self.r0 == 0:
            raise InputError(
                "a spring of no length has no direction at rest", where="Harmonic.r0",
                do='use PairPotential("k*r**2/2", {"k": ...})',
            )  # fmt: skip
        self._take("k", "r0", above=0.0)

    @property
    def constants(self) -> tuple[float, ...]:
        return self.k, self.r0

    def kernel(self, quantity: Quantity) -> Kernel:
        return {
            "energy": kernels.harmonic_energy,
            "force": kernels.harmonic_force,
            "slope": kernels.harmonic_slope,
        }[quantity]

    def _find_well(self) -> Well:
        return Well(self.r0, math.inf, math.inf)
