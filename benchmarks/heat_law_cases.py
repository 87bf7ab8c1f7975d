"""Systems in a heat bath with exactly known averages: the cases of `heat_laws.py`.

If a law depends on numbers of a system that do not appear in it, they are chosen so that steps may be long: stretches
of links are soft when angles are measured. The longer of two steps has dt omega below 0.6 for the fastest motion, so
that the error after extrapolation is smaller than the statistical errors. Squares and energies are in units of their
law; cosines, and lengths of links in units of their rest length, are unscaled.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy import integrate, special

import catena as ct
import thermal_faults as faults
from catena.methods.base import Method
from catena.systems.base import State, System
from catena.systems.laws import langevin_function

Array = NDArray[np.float64]
TETRAHEDRON = ct.Body.tetrahedron()
UPRIGHT = (1.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Quantity:
    """A quantity to average, and its exact average.

    Attributes
    ----------
    text : Python in the names of the state, the invariants and what the method accumulates: it is evaluated where the
        samples are
    law : the exact average; or, if `spread`, the exact variance
    unit : unit of deviations
    spread : whether the variance of the text is wanted, whose mean is near `middle`
    lagged : whether the product of the text at two consecutive samples is wanted
    known : standard error of the law itself, if it was sampled by an independent program
    """

    text: str
    law: float
    unit: float = 1.0
    spread: bool = False
    middle: float = 0.0
    lagged: bool = False
    known: float = 0.0


@dataclass(frozen=True, eq=False)
class Setting:
    """A system whose averages are measured with steps dt and dt/2; with dt alone if every step is exact (`is_exact`).

    gap : time between two samples, two or three correlation times; settle : initial time without samples
    fails : a fault was built in, so that the law must not hold
    order : whether the order of the bias is measured
    """

    system: System
    start: State
    quantities: Mapping[str, Quantity]
    dt: float
    gap: float
    settle: float
    method: Method = field(default_factory=lambda: ct.Langevin(1.0, 1.0))
    is_exact: bool = False
    fails: bool = False
    order: bool = False

    @property
    def steps(self) -> tuple[float, ...]:
        return (self.dt,) if self.is_exact else (self.dt, 0.5 * self.dt)


def mean_over(power: Callable[[Array], Array], weight: Callable[[Array], Array], low: float, high: float) -> float:
    """The average of a function with a weight, by quadrature."""
    whole, part = (
        integrate.quad(f, low, high, epsabs=1e-14, epsrel=1e-13, limit=200)[0]
        for f in (weight, lambda u: power(u) * weight(u))
    )
    return float(part / whole)


# Texts ----------------------------------------------------------------------------------------------------------------------


def added(terms: Sequence[str]) -> str:
    return " + ".join(f"({term})" for term in terms)


def mean_of(terms: Sequence[str]) -> str:
    return f"({added(terms)})/{len(terms)}"


def dot(a: Sequence[str], b: Sequence[str]) -> str:
    return added([f"({x})*({y})" for x, y in zip(a, b, strict=True)])


def difference(a: Sequence[str], b: Sequence[str]) -> list[str]:
    return [f"({x}) - ({y})" for x, y in zip(a, b, strict=True)]


def numbers(name: str, body: int, count: int = 3) -> list[str]:
    """The components of a field for a body of a chain."""
    return [f"{name}[{body},{k}]" for k in range(count)]


def third_axis(body: int) -> list[str]:
    """e3 of a body of a chain, in space."""
    a, b, c, d = numbers("orientation", body, 4)
    return [f"2*({b}*{d} + {a}*{c})", f"2*({c}*{d} - {a}*{b})", f"{a}**2 - {b}**2 - {c}**2 + {d}**2"]


def cosines(bodies: int, apart: int = 1) -> str:
    """T33 between bodies this many links apart, mean over the chain."""
    return mean_of([dot(third_axis(j), third_axis(j + apart)) for j in range(bodies - apart)])


def angle_energy(body: int, bend: float, twist: float) -> str:
    """2 (bend (w1^2 + w2^2) + twist w3^2) of the link after a body, w the vector part of the rotation to the next."""
    a, b, c, d = numbers("orientation", body, 4)
    e, f, g, h = numbers("orientation", body + 1, 4)
    w1, w2, w3 = f"{a}*{f} - {b}*{e} - {c}*{h} + {d}*{g}", f"{a}*{g} - {c}*{e} - {d}*{f} + {b}*{h}", f"{a}*{h} - {d}*{e} - {b}*{g} + {c}*{f}"  # fmt: skip
    return f"2*({bend}*(({w1})**2 + ({w2})**2) + {twist}*({w3})**2)"


def strain(body: int, stretch: float) -> str:
    """stretch |d - d0|^2/3 of the link after a body, d0 = e3."""
    d = difference(difference(numbers("position", body + 1), numbers("position", body)), third_axis(body))
    return f"{stretch}*({dot(d, d)})/3"


def end_to_end(bonds: int) -> str:
    """Squared distance between the first body and the one this many bonds further."""
    d = difference(numbers("position", bonds), numbers("position", 0))
    return dot(d, d)


# Momenta, of every system in a bath -----------------------------------------------------------------------------------------


def momenta(components: int, *, total: bool = False) -> dict[str, Quantity]:
    """Squares over their law, means over all steps since the last sample: each component, fourth powers, the total momentum."""
    names = ("p1", "p2", "p3", "y1", "y2", "y3")[-components:]
    made = {f"{name}^2": Quantity(f"equipartition[{k}]", 1.0) for k, name in enumerate(names)}
    made["fourth powers"] = Quantity("fourth_moment", 1.0)
    if total:
        made["total momentum^2"] = Quantity("total_momentum_square", 1.0)
    return made


# Tops -----------------------------------------------------------------------------------------------------------------------

HEIGHT = "(orientation[0]**2 - orientation[1]**2 - orientation[2]**2 + orientation[3]**2)"  # cos of the angle to the vertical


def top(strength: float, dt: float, *, kind: type[ct.Langevin] = ct.Langevin, **options: bool) -> Setting:
    """A heavy top at kT = 1: the density of cos theta is exp(-b cos theta), whatever the moments are."""
    system = ct.Top(ct.Body(moments=(1.0, 0.8, 0.5)), ct.Gravity(strength, (0, 0, 1)))
    law = langevin_function(strength)
    of = {"cos": Quantity(HEIGHT, -law)}
    if not (options.get("order") or options.get("fails")):
        of["cos^2"] = Quantity(f"{HEIGHT}**2", 1.0 - 2.0 * law / strength)
        variance = strength**2 * (1.0 - 2.0 * law / strength - law**2)
        of["var U"] = Quantity(f"{strength}*{HEIGHT}", variance, variance, spread=True, middle=-strength * law)
        of |= momenta(3)
    start = system.start((0.6, 0.8, 0, 0), angular_momentum=(0, 0, 0))
    is_exact = bool(options.get("fails"))  # with one step, since extrapolation would remove the bias of the fault
    return Setting(system, start, of, dt, 3.0, 40.0, kind(1.0, 1.0), is_exact=is_exact, **options)


# Links that bend, twist and stretch ----------------------------------------------------------------------------------------------


def links(
    count: int, bend: float, twist: float, stretch: float, *, spacing: float = 1.0, force: float = 0.0
) -> tuple[ct.Chain, State]:
    """A clamped tetrahedron and this many more, in line."""
    right = ct.Force((0.0, 0.0, force)) if force else ct.Free()
    chain = ct.Chain([TETRAHEDRON] * (count + 1), ct.BendTwist(stretch, bend, twist, (0, 0, spacing)), right=right)
    places = [[0, 0, spacing * k] for k in range(count + 1)]
    return chain, chain.start(position=places, orientation=[UPRIGHT] * (count + 1))


def weight_of(bend: float, twist: float) -> Callable[[Array], Array]:
    """Weight of u = q0^2 + q3^2, uniform by Haar's measure: exp((2 B - C) u) I_0(C u), over its value near 1."""
    return lambda u: np.exp(2.0 * bend * (u - 1.0)) * special.ive(0, twist * u)


def bending(bend: float, twist: float, power: int = 1) -> float:
    """<T33^power> of a link at kT = 1."""
    return mean_over(lambda u: (2.0 * u - 1.0) ** power, weight_of(bend, twist), 0.0, 1.0)


def angle_moments(bend: float, twist: float) -> tuple[float, float]:
    """Mean and variance of the energy v = 2 B (1 - u) + 2 C u sin^2(phi) of bend and twist at kT = 1, by Euler's angles."""

    def moment(power: int) -> float:
        def inner(u: float) -> float:
            def of(phi: float) -> float:
                v = 2.0 * bend * (1.0 - u) + 2.0 * twist * u * math.sin(phi) ** 2
                return v**power * math.exp(-v)

            return integrate.quad(of, 0.0, 0.5 * math.pi, epsabs=1e-14, epsrel=1e-12)[0]

        return float(integrate.quad(inner, 0.0, 1.0, epsabs=1e-13, epsrel=1e-12, limit=200)[0])

    whole, first, second = (moment(power) for power in range(3))
    return first / whole, second / whole - (first / whole) ** 2


def one_link(bend: float, twist: float, dt: float, gap: float, **options: bool) -> Setting:
    """One link whose angles are measured."""
    chain, start = links(1, bend, twist, 1.0)
    of = {"T33": Quantity(cosines(2), bending(bend, twist))}
    if not options.get("order"):
        mean, variance = angle_moments(bend, twist)
        energy = angle_energy(0, bend, twist)
        of["T33^2"] = Quantity(f"({cosines(2)})**2", bending(bend, twist, 2))
        of["v"] = Quantity(energy, mean, mean)
        of["var v"] = Quantity(energy, variance, variance, spread=True, middle=mean)
        of["stretch"] = Quantity(strain(0, 1.0), 1.0)
        of |= momenta(6)
    return Setting(chain, start, of, dt, gap, 60.0, **options)


def several_links(
    count: int, stretch: float, dt: float, gap: float, settle: float, *, friction: float = 1.0, capacity: bool = True
) -> Setting:
    """B, C = 4, 3: <t_0.t_n> = c^n, <R^2> = n (1 + 3/stretch) + 2 sum (n - m) c^m, and the capacity of heat."""
    bend, twist = 4.0, 3.0
    chain, start = links(count, bend, twist, stretch)
    c, (mean, variance) = bending(bend, twist), angle_moments(bend, twist)
    of = {"T33": Quantity(cosines(count + 1), c)}
    of["stretch"] = Quantity(mean_of([strain(j, stretch) for j in range(count)]), 1.0)
    for n in (n for n in (2, 4, 8, 16) if n <= count):
        of[f"t0.t{n}"] = Quantity(cosines(count + 1, n), c**n)
        law = n * (1.0 + 3.0 / stretch) + 2.0 * sum((n - m) * c**m for m in range(1, n))
        of[f"R^2 of {n} bonds"] = Quantity(end_to_end(n), law, law)
    of["v"] = Quantity(mean_of([angle_energy(j, bend, twist) for j in range(count)]), mean, mean)
    if capacity:
        law = count * (0.5 * 6.0 + 1.5 + variance)
        middle = count * (0.5 * 6.0 + 1.5 + mean)
        of["heat capacity"] = Quantity("energy", law, law, spread=True, middle=middle)
    return Setting(chain, start, of | momenta(6, total=True), dt, gap, settle, ct.Langevin(1.0, friction))


def by_monte_carlo(method: ct.HybridMonteCarlo, dt: float, gap: float, **options: bool) -> Setting:
    """Two links, B, C = 4, 3, stretch 100, by trajectories of length dt: no extrapolation."""
    chain, start = links(2, 4.0, 3.0, 100.0)
    of = {"stretch": Quantity(mean_of([strain(j, 100.0) for j in range(2)]), 1.0)}
    if not options.get("fails"):
        mean, variance = angle_moments(4.0, 3.0)
        of["T33"] = Quantity(cosines(3), bending(4.0, 3.0))
        of["v"] = Quantity(mean_of([angle_energy(j, 4.0, 3.0) for j in range(2)]), mean, mean)
        law, middle = 2.0 * (4.5 + variance), 2.0 * (4.5 + mean)
        of["heat capacity"] = Quantity("energy", law, law, spread=True, middle=middle)
        of |= momenta(6)
    return Setting(chain, start, of, dt, gap, 160.0, method, is_exact=True, **options)


def pulled(x: float) -> Setting:
    """Two links without bend and twist, the second of which turns freely: a force stretches it by L(x) + F/stretch."""
    chain, start = links(2, 0.0, 0.0, 4.0, force=x)
    law = langevin_function(x) + x / 4.0
    of = {"extension": Quantity("position[2,2] - position[1,2]", law)}
    return Setting(chain, start, of, 0.16, 6.4, 150.0)


def gaussian(x: float) -> Setting:
    """Stretch alone, d0 = 0: <|r_j - r_0|^2> = 3 j kT/stretch with every dt; here dt omega = x."""
    chain, start = links(3, 0.0, 0.0, 4.0, spacing=0.0)
    highest = math.sqrt(4.0 * math.sin(5.0 * math.pi / 14.0) ** 2 * 4.0 / TETRAHEDRON.mass)  # of three masses on a wall
    of = {f"(r{j} - r0)^2": Quantity(end_to_end(j), 3.0 * j / 4.0, 3.0 * j / 4.0) for j in (1, 2, 3)}
    return Setting(chain, start, of, x / highest, 12.0, 120.0, is_exact=True)


# Friction, and bodies that touch -----------------------------------------------------------------------------------------------

RATES, LAG = (0.2, 0.7, 2.0), 0.5


def sphere() -> Setting:
    """<y_k(t) y_k(0)> = I kT exp(-gamma_k t), also at the times of steps: samples are as far apart as the lag."""
    body = ct.FreeBody(ct.Body(moments=(1.5, 1.5, 1.5)))
    of = {
        f"y{k + 1}(t) y{k + 1}(0)": Quantity(
            f"angular_momentum[{k}]*{1.5**-0.5!r}", math.exp(-LAG * RATES[k]), lagged=True
        )
        for k in range(3)
    }
    method = ct.Langevin(1.0, ct.Friction(rotation=RATES))
    return Setting(body, body.start(angular_momentum=(0, 0, 0)), of, 0.1, LAG, 30.0, method, is_exact=True)


def two_tetrahedra() -> Setting:
    """One clamped, 16 pairs of Lennard-Jones (5, 1) and a tether, kT = 5: averages from 3e9 samples of configurations."""
    chain = ct.Chain(
        [TETRAHEDRON] * 2, ct.BendTwist(2.0, 0.0, 0.0, (0, 0, 0)), pairs=ct.LennardJones(5.0, 1.0), exclude=0
    )
    start = chain.start(position=[[0, 0, 0], [0, 0, 2.2]], orientation=[UPRIGHT] * 2)
    p, y = numbers("momentum", 1), numbers("angular_momentum", 1)
    turning = added([f"{y[k]}**2/{float(TETRAHEDRON.moments[k])!r}" for k in range(3)])
    pairs = f"energy - ({dot(p, p)})/{2.0 * TETRAHEDRON.mass} - ({turning})/2 - ({end_to_end(1)})"
    of = {
        "V": Quantity(pairs, -11.6490, 11.6490, known=8e-4),
        "length of r": Quantity(f"math.sqrt({end_to_end(1)})", 2.17851, 2.17851, known=4e-5),
        "r^2": Quantity(end_to_end(1), 5.2462, 5.2462, known=2e-4),
        "R33^2": Quantity(f"({cosines(2)})**2", 0.33352, known=2e-5),
        "V^2": Quantity(f"({pairs})**2", 200.071, 200.071, known=0.026),
    }
    return Setting(chain, start, of, 0.005, 2.0, 40.0, ct.Langevin(5.0, 1.0), is_exact=True)


BENDING = (
    (4.0, 3.0, 0.22, 4.4),
    (10.0, 5.0, 0.15, 3.6),
    (50.0, 30.0, 0.07, 2.8),
    (1.0, 0.0, 0.3, 6.0),
    (0.5, 2.0, 0.3, 6.0),
)

CASES: dict[str, Callable[[], dict[str, Setting]]] = {
    "tops": lambda: {"top, b = 1": top(1.0, 0.3), "top, b = 1.5": top(1.5, 0.3), "top, b = 3": top(3.0, 0.2)},
    "bending": lambda: {f"link, B, C = {b:g}, {c:g}": one_link(b, c, dt, gap) for b, c, dt, gap in BENDING},
    "stiff chain": lambda: {"2 links, stretch 100": several_links(2, 100.0, 0.036, 6.0, 80.0)},
    "chain": lambda: {"4 links, stretch 25": several_links(4, 25.0, 0.072, 15.0, 200.0)},
    "long chain": lambda: {
        "8 links, stretch 25": several_links(8, 25.0, 0.1, 50.0, 1000.0, friction=0.3, capacity=False)
    },
    "longest chain": lambda: {
        "16 links, stretch 100": several_links(16, 100.0, 0.04, 50.0, 600.0, friction=0.1, capacity=False)
    },
    "pulled": lambda: {f"free link, F a/kT = {x:g}": pulled(x) for x in (0.5, 1.0, 2.0, 5.0)},
    "gaussian": lambda: {f"Gaussian chain, dt omega = {x:g}": gaussian(x) for x in (0.45, 1.35)},
    "friction": lambda: {"sphere, three rates of friction": sphere()},
    "tetrahedra": lambda: {"two tetrahedra": two_tetrahedra()},
    "order of tops": lambda: {"order, top": top(1.5, 0.5, order=True)},
    "order of chains": lambda: {"order, link B, C = 1, 0": one_link(1.0, 0.0, 0.5, 6.0, order=True)},
    "faults": lambda: {"fault: noise at the ends of the step": top(1.5, 0.4, kind=faults.NoiseAtTheEnds, fails=True)},
    "Monte Carlo, long trajectories": lambda: {
        "hybrid Monte Carlo, 8 steps of 0.1": by_monte_carlo(ct.HybridMonteCarlo(1.0, substeps=8), 0.8, 8.0),
        "hybrid Monte Carlo, 6 steps of 0.14": by_monte_carlo(ct.HybridMonteCarlo(1.0, substeps=6), 0.84, 8.4),
    },
    "Monte Carlo, single steps": lambda: {
        "guided Monte Carlo, steps of 0.1": by_monte_carlo(
            ct.HybridMonteCarlo(1.0, substeps=1, refresh=-math.expm1(-0.1)), 0.1, 8.0
        )
    },
    "Monte Carlo, all accepted": lambda: {
        "fault: hybrid Monte Carlo that accepts everything": by_monte_carlo(
            faults.EverythingAccepted(1.0, substeps=8), 0.8, 8.0, fails=True
        )
    },
}
