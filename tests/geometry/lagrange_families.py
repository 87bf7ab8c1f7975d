"""Families of motions of Lagrange's top: ordinary ones, and every corner in which digits could be lost."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
from lagrange_reference import Case

Random = np.random.Generator
Family = Callable[[Random], Case]


def body(rng: Random) -> tuple[float, float]:
    return float(rng.uniform(0.3, 2.0)), float(rng.uniform(0.2, 2.0))


def tilted(rng: Random, theta: float) -> list[float]:
    """An orientation whose axis leans by theta, else random."""
    phi, psi = rng.uniform(-3.0, 3.0, 2)
    plus, minus = 0.5 * (phi + psi), 0.5 * (phi - psi)
    c, s = math.cos(0.5 * theta), math.sin(0.5 * theta)
    return [float(x) for x in (c * math.cos(plus), s * math.cos(minus), s * math.sin(minus), c * math.sin(plus))]


def sideways(q: list[float]) -> complex:
    """n1 + i n2."""
    return 2j * complex(q[0], -q[3]) * complex(q[1], q[2])


def when(rng: Random, longest: float) -> float:
    return float(rng.uniform(-longest, longest))


def gaussian(rng: Random, size: float, count: int = 3) -> list[float]:
    return [float(x) for x in size * rng.normal(size=count)]


def generic(longest: float, *, gravity: float = 1.0, fast: float = 1.0, disc: bool = False) -> Family:
    def case(rng: Random) -> Case:
        a, c = body(rng)
        g = gravity * float(rng.uniform(-2.0, 2.0))
        return a, 2.0 * a if disc else c, g, gaussian(rng, 1.0, 4), gaussian(rng, 1.5 * fast), when(rng, longest)

    return case


def steady(off: float, longest: float) -> Family:
    """Steady precession, and that much off it."""

    def case(rng: Random) -> Case:
        a, c = body(rng)
        g = float(rng.uniform(0.1, 2.0))
        while True:
            theta, spin = rng.uniform(0.2, 2.9), 3.0 * rng.normal()
            inside = spin * spin - 4 * a * g * math.cos(theta)
            if inside > 0.0:
                break
        rate = (spin + rng.choice([-1, 1]) * math.sqrt(inside)) / (2 * a * math.cos(theta))
        q = tilted(rng, theta)
        eta = a * rate * sideways(q) + off * complex(*rng.normal(size=2))
        return a, c, g, q, [eta.real, eta.imag, float(spin)], when(rng, longest)

    return case


def upright(off: float, longest: float, *, spin: tuple[float, float], marginal: bool = False) -> Family:
    """Leaning by `off`, with a spin in units of that below which it is unstable; marginal: within `off` of it."""

    def case(rng: Random) -> Case:
        a, c = body(rng)
        g = float(rng.uniform(0.1, 2.0))
        factor = 1.0 + off * rng.normal() if marginal else rng.choice([-1, 1]) * rng.uniform(*spin)
        y = [*gaussian(rng, off, 2), float(2.0 * math.sqrt(g * a) * factor)]
        return a, c, g, tilted(rng, off * rng.uniform(0.3, 1.0)), y, when(rng, longest)

    return case


def homoclinic(off: float, longest: float) -> Family:
    """Near the orbit that leaves the upright position and returns, anywhere on it: momentum and energy off by that part."""

    def case(rng: Random) -> Case:
        while True:
            a, c = body(rng)
            g = float(rng.uniform(0.5, 2.0))
            spin = float(rng.uniform(-1.9, 1.9)) * math.sqrt(g * a)
            w = float(rng.uniform(0.1, 0.95)) * (1.0 - spin * spin / (4 * g * a))
            theta = 2.0 * math.asin(math.sqrt(w))
            q, u = tilted(rng, theta), math.cos(theta)
            across = spin * (1.0 - u) * (1.0 + off * rng.normal())
            left = 2 * a * g * (1.0 + off * rng.normal() - u) - across**2 / (1.0 - u * u)
            if left >= 0.0:
                break
        eta = sideways(q) * complex(across, rng.choice([-1, 1]) * math.sqrt(left * (1.0 - u * u))) / (1.0 - u * u)
        return a, c, g, q, [eta.real, eta.imag, spin], when(rng, longest)

    return case


def bottom(off: float, longest: float) -> Family:
    def case(rng: Random) -> Case:
        a, c = body(rng)
        q = tilted(rng, math.pi - off * rng.uniform(0.3, 1.0))
        return (
            a,
            c,
            float(rng.uniform(0.1, 1.0)),
            q,
            [*gaussian(rng, off, 2), *gaussian(rng, 2.0, 1)],
            when(rng, longest),
        )

    return case


def vertical(below: bool, off: float, longest: float) -> Family:
    """A start that passes through the vertical, or so near it."""

    def case(rng: Random) -> Case:
        a, c = body(rng)
        angle = rng.uniform(-3.0, 3.0)
        along = [float(math.cos(angle)), float(math.sin(angle))]
        q = [0.3 * off, *along, 0.2 * off] if below else [along[0], 0.3 * off, 0.2 * off, along[1]]
        return a, c, float(rng.uniform(0.2, 2.0)), q, gaussian(rng, 1.0), when(rng, longest)

    return case


def cuspidal(longest: float) -> Family:
    def case(rng: Random) -> Case:
        a, c = body(rng)
        g, q = float(rng.uniform(0.1, 2.0)), gaussian(rng, 1.0, 4)
        return a, c, g, q, [0.0, 0.0, *gaussian(rng, 2.0, 1)], when(rng, longest)

    return case


def spherical(longest: float) -> Family:
    def case(rng: Random) -> Case:
        a, c = body(rng)
        g, q = float(rng.uniform(-2.0, 2.0)), gaussian(rng, 1.0, 4)
        return a, c, g, q, [*gaussian(rng, 1.0, 2), 0.0], when(rng, longest)

    return case


def planar(speed: float, longest: float) -> Family:
    def case(rng: Random) -> Case:
        a, c = body(rng)
        half = 0.5 * rng.uniform(0.2, 2.9)
        q = [math.cos(half), math.sin(half), 0.0, 0.0]
        return a, c, float(rng.uniform(0.2, 2.0)), q, [*gaussian(rng, speed, 1), 0.0, 0.0], when(rng, longest)

    return case


UNSTABLE, STABLE = (0.0, 0.95), (1.05, 3.0)

# The digits that the closed form needs.
CLOSED: dict[str, tuple[Family, int]] = {
    **{f"random, t {t:g}": (generic(t), 20) for t in (1.0, 100.0, 1e6)},
    **{f"steady within {d:g}": (steady(d, 1e3 if d == 1e-12 else 100.0), 50) for d in (0.0, 1e-3, 1e-6, 1e-9, 1e-12)},
    **{
        f"upright within {d:g}, unstable": (upright(d, t, spin=UNSTABLE), 30 - round(4 * math.log10(d)))
        for d, t in ((1e-2, 30.0), (1e-4, 50.0), (1e-6, 50.0), (1e-8, 100.0), (1e-12, 100.0))
    },
    **{
        f"homoclinic within {d:g}": (homoclinic(d, t), 60)
        for d, t in ((1e-3, 50.0), (1e-6, 50.0), (1e-9, 50.0), (1e-12, 100.0), (1e-15, 100.0))
    },
    **{f"upright within {d:g}, stable": (upright(d, 100.0, spin=STABLE), 60) for d in (1e-2, 1e-6, 1e-10)},
    **{
        f"marginal within {d:g}": (upright(d, 100.0, spin=(1.0, 1.0), marginal=True), 60)
        for d in (1e-2, 1e-4, 1e-6, 1e-8)
    },
    **{f"lowest point within {d:g}": (bottom(d, 100.0), 60) for d in (1e-2, 1e-6, 1e-10)},
    "spherical pendulum": (spherical(100.0), 20),
    **{
        f"{d:g} from theta = {'pi' if below else '0'}": (vertical(below, d, 100.0), 50)
        for below in (False, True)
        for d in (1e-9, 1e-5)
    },
    "fast": (generic(10.0, fast=50.0), 25),
    "very fast": (generic(1.0, fast=1e4), 40),
    "weak": (generic(100.0, gravity=1e-6), 40),
    "very weak": (generic(100.0, gravity=1e-12), 60),
    "disc": (generic(100.0, disc=True), 20),
}
INTEGRATED: dict[str, Family] = {
    "cuspidal": cuspidal(4.0),
    "planar, slow": planar(0.5, 4.0),
    "planar, fast": planar(4.0, 4.0),
    "through theta = 0": vertical(False, 0.0, 4.0),
    "through theta = pi": vertical(True, 0.0, 4.0),
    "weightless": generic(4.0, gravity=0.0),
}


def cases(family: Family, count: int) -> Iterator[Case]:
    """The first cases of a family."""
    rng = np.random.default_rng(27)
    for _ in range(count):
        yield family(rng)
