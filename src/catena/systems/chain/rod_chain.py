"""Rods as chains: `ct.Rod`, the chain of n bodies that converges to a given rod.

Bodies lie at equal distances h = L/(n - 1) along their first axis, the first and the last exactly at the ends of the
rod, where forces act. A body has the mass and the rotary inertia of the length h around it; those at the ends have half
of it, unless they are held. A closed rod has no ends, and h = L/n.
Strains of a link are those at the middle between its bodies,

    gamma = (d + Q^T d)/(2 h) - e1,      w = 2 q_vector(Q),      q_k^2 = (1 + 2 Q_kk - tr Q)/4,
    V = h/2 (EA gamma_1^2 + k G A (gamma_2^2 + gamma_3^2)) + 1/(2 h) (G J w_1^2 + E I_2 w_2^2 + E I_3 w_3^2),

a polynomial of d and Q. The error is of second order in h, in statics (also for large displacements) and in the lowest
frequencies; with the strains in the axes of one of the bodies it would be of first order. The two ends are equivalent.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike

from ...errors import InputError
from ..base import State
from ..body import Body
from ..numbers import whole_number
from ..potentials.link_potentials import LinkPotential
from ..potentials.pairwise import check
from .chain import CLAMPED, FREE, Chain
from .ends import End, end_from

STRAINS = tuple(f"((d{i} + d1*Q1{i} + d2*Q2{i} + d3*Q3{i})/(2*h){' - 1' if i == 1 else ''})**2" for i in (1, 2, 3))
TURNS = ("1 + Q11 - Q22 - Q33", "1 - Q11 + Q22 - Q33", "1 - Q11 - Q22 + Q33")
TEXT = (
    f"h*(stretch*{STRAINS[0]} + shear2*{STRAINS[1]} + shear3*{STRAINS[2]})/2"
    f" + (twist*({TURNS[0]}) + bend2*({TURNS[1]}) + bend3*({TURNS[2]}))/(2*h)"
)
TERMS = 40  # of the series for a rectangle: the first omitted one is 1e-10 of it


class Ends(TypedDict, total=False):
    """What the constructors for sections pass on to `Rod`."""

    closed: bool
    left: End | str | Mapping[str, object]
    right: End | str | Mapping[str, object]
    shear_factor: float | Sequence[float]
    gravity: Sequence[float]


class Rod(Chain):
    """A straight elastic rod along x, as a chain of n bodies that converges to it with the second power of 1/n.

    The axis of the rod is the first axis of the bodies; its section has axes 2 and 3. `rod.straight()` is its state at
    rest.

    Parameters
    ----------
    length : from end to end
    E, G : Young's modulus and shear modulus
    area : area of the section
    I : second moment of area about both axes of the section, or two numbers, about axis 2 and about axis 3
    J : torsion constant
    density : mass per volume
    n : number of bodies, including those at the ends
    left, right : as for a chain; a force acts exactly at the end of the rod
    shear_factor : fraction of the area that resists shear; one number, or two, along axis 2 and axis 3
    gravity : acceleration
    closed : True joins the two ends of the straight rod to a ring, which is then under stress. `rod.ring()` makes a
        circle of it

    Examples
    --------
    >>> import catena as ct
    >>> rod = ct.Rod.circular(1.0, 0.01, E=2.1e11, G=8.1e10, density=7800.0, n=17)
    >>> bent = rod.equilibrium(load=(0.0, -100.0, 0.0))
    >>> deflection = -bent.state.position[-1, 1]
    >>> bent.status, round(float(deflection * 3 * rod.bending[0] / 100.0), 2)  # P L^3/(3 EI), for small P
    ('converged', 1.0)
    """

    kind = "Chain"  # its kind in stores and cases

    def __init__(
        self,
        length: float,
        E: float,
        G: float,
        area: float,
        I: float | Sequence[float],  # the usual symbol
        J: float,
        density: float,
        n: int,
        *,
        left: End | str | Mapping[str, object] = CLAMPED,
        right: End | str | Mapping[str, object] = FREE,
        shear_factor: float | Sequence[float] = 5.0 / 6.0,
        gravity: Sequence[float] = (0.0, 0.0, 0.0),
        closed: bool = False,
    ) -> None:
        n = whole_number(n, "Rod.n", "give a number of bodies from 2 on", least=2)
        numbers = {"length": length, "E": E, "G": G, "area": area, "J": J, "density": density}
        self.length, e, g, a, j, rho = (check(value, f"Rod.{name}", above=0.0) for name, value in numbers.items())
        second, factors = _two(I, "Rod.I"), _two(shear_factor, "Rod.shear_factor")
        self.spacing = self.length / (n if closed else n - 1)
        self.stretch, self.torsion = e * a, g * j
        self.bending = (e * second[0], e * second[1])
        self.shear = (factors[0] * g * a, factors[1] * g * a)
        self.mass_per_length = rho * a
        stiffnesses = {
            "h": self.spacing, "stretch": self.stretch, "shear2": self.shear[0], "shear3": self.shear[1],
            "twist": self.torsion, "bend2": self.bending[0], "bend3": self.bending[1],
        }  # fmt: skip
        inertia = rho * np.array([sum(second), *second])
        whole, half = (Body(part * rho * a * self.spacing, part * self.spacing * inertia) for part in (1.0, 0.5))
        potential = LinkPotential(TEXT, stiffnesses)
        if closed:
            super().__init__([whole] * n, potential, left, right, gravity, closed=True)
            return
        ends = [end_from(left, "Rod.left"), end_from(right, "Rod.right")]
        first, last = (half if end.moves or end.turns else whole for end in ends)
        bodies = [first, *[whole] * (n - 2), last]
        super().__init__(bodies, potential, ends[0], ends[1], gravity)

    @classmethod
    def circular(
        cls, length: float, radius: float, *, E: float, G: float, density: float, n: int, **more: Unpack[Ends]
    ) -> Rod:
        """A round bar. Its shear factor is Cowper's, 6 (1 + nu)/(7 + 6 nu) [cowper1966]."""
        return cls.tube(length, (radius, 0.0), E=E, G=G, density=density, n=n, **more)

    @classmethod
    def tube(
        cls,
        length: float,
        radii: tuple[float, float],
        *,
        E: float,
        G: float,
        density: float,
        n: int,
        **more: Unpack[Ends],
    ) -> Rod:
        """A tube with given outer and inner radii."""
        outer, inner = check(radii[0], "Rod.radii", above=0.0), check(radii[1], "Rod.radii", least=0.0)
        if inner >= outer:
            raise InputError(f"radii = {outer:g}, {inner:g}", where="Rod.radii", do="give the outer radius first")
        nu, m = _poisson(E, G), (inner / outer) ** 2
        factor = 6.0 * (1.0 + nu) * (1.0 + m) ** 2 / ((7.0 + 6.0 * nu) * (1.0 + m) ** 2 + (20.0 + 12.0 * nu) * m)
        second = 0.25 * math.pi * (outer**4 - inner**4)
        area = math.pi * (outer**2 - inner**2)
        return cls(length, E, G, area, second, 2.0 * second, density, n, **{"shear_factor": factor} | more)

    @classmethod
    def rectangular(
        cls,
        length: float,
        sides: tuple[float, float],
        *,
        E: float,
        G: float,
        density: float,
        n: int,
        **more: Unpack[Ends],
    ) -> Rod:
        """A bar with given sides, along axis 2 and axis 3.

        Torsion constant by Saint-Venant's series; shear factor 10 (1 + nu)/(12 + 11 nu) [cowper1966].
        """
        b, c = (check(side, "Rod.sides", above=0.0) for side in sides)
        short, long = sorted((b, c))
        odd = range(1, 2 * TERMS, 2)
        series = sum(math.tanh(0.5 * k * math.pi * long / short) / k**5 for k in odd)
        torsion = long * short**3 / 3.0 * (1.0 - 192.0 * short / (math.pi**5 * long) * series)
        nu = _poisson(E, G)
        factor = 10.0 * (1.0 + nu) / (12.0 + 11.0 * nu)
        seconds = (b * c**3 / 12.0, c * b**3 / 12.0)
        return cls(length, E, G, b * c, seconds, torsion, density, n, **{"shear_factor": factor} | more)

    def straight(self, spacing: float | None = None, *, check: bool = True) -> State:
        """The rod at rest, along x, starting at the origin."""
        return super().straight(self.spacing if spacing is None else spacing, check=check)

    def ring(
        self,
        spacing: float | None = None,
        linking_number: int = 0,
        *,
        axis: ArrayLike = (1.0, 0.0, 0.0),
        check: bool = True,
    ) -> State:
        """A closed rod as a circle, twisted evenly. By default its links have their rest length."""
        return super().ring(self.spacing if spacing is None else spacing, linking_number, axis=axis, check=check)

    def resting_state(self) -> State | None:
        return None if self.closed else self.straight()

    def __repr__(self) -> str:
        ends = ", closed" if self.closed else f", left {self.left}, right {self.right}"
        return f"Rod of length {self.length:g}, {self.count} bodies{ends}"


def _two(value: float | Sequence[float], where: str) -> tuple[float, float]:
    """One number for both axes, or two."""
    given = list(value) if isinstance(value, (Sequence, np.ndarray)) else [value, value]
    if len(given) != 2:
        raise InputError(f"{len(given)} numbers", where=where, do="give one number, or one for each axis")
    return check(given[0], where, above=0.0), check(given[1], where, above=0.0)


def _poisson(E: float, G: float) -> float:
    return check(E, "Rod.E", above=0.0) / (2.0 * check(G, "Rod.G", above=0.0)) - 1.0
