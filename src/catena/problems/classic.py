"""The classic problems of geometric integration: oscillator, pendulum, Kepler, galactic orbit, Henon-Heiles."""

from __future__ import annotations

import math

import numpy as np

from ..errors import InputError
from ..running.plan import Problem
from ..systems.base import State
from ..systems.hamiltonian import Hamiltonian
from ..systems.numbers import finite_number


def harmonic(m: float = 1.0, k: float = 4.0, q: float = 0.0, p: float = 2.0) -> Problem[Hamiltonian]:
    """Harmonic oscillator, H = p^2/(2m) + k q^2/2; exact solution known."""
    m, k = finite_number(m, "harmonic.m"), finite_number(k, "harmonic.k")
    system = Hamiltonian("p**2/(2*m) + k*q**2/2", "q", "p", {"m": m, "k": k})
    start = system.start(q=q, p=p)
    if not k / m > 0.0:
        raise InputError(f"k/m = {k / m:g}", where="harmonic.k, harmonic.m", do="give numbers above zero")
    omega = math.sqrt(k / m)

    def exact(t: float) -> State:
        c, s = math.cos(omega * t), math.sin(omega * t)
        return State({"q": np.array([q * c + p / (m * omega) * s]), "p": np.array([p * c - m * omega * q * s])}, t)

    about = (
        "Harmonic oscillator. In the plane of q and p the state runs round an ellipse once in 2 pi sqrt(m/k), whatever "
        "the size of the ellipse: the force grows like the distance, so a wide swing takes no longer than a narrow one. A "
        "symplectic method draws an ellipse, too, a little deformed, and stays on it for ever; a method like explicit "
        "Euler adds energy in each step and spirals outwards."
    )
    return Problem("harmonic", system, start, 0.01, exact, about)


def pendulum() -> Problem[Hamiltonian]:
    """Perturbed pendulum, H = p^2/2 - cos q (1 - p/6), not separable, H = 0.8.

    [hairer1999]: it lacks the symmetry p -> -p, so methods that are neither symmetric nor symplectic lose its energy.
    """
    system = Hamiltonian("p**2/2 - cos(q)*(1 - p/6)", "q", "p")
    about = (
        "Perturbed pendulum. It swings to and fro on one closed curve of the plane of q and p. The term with p/6 favours "
        "one direction, so the curve is no mirror image of itself, upside down: the swing forth is not the swing back. "
        "Each curve belongs to one energy; a method that is neither symmetric nor symplectic leaves it, a little with "
        "each swing, and the pendulum slowly swings wider or comes to rest."
    )
    return Problem("pendulum", system, system.start(q=-math.acos(-0.8), p=0.0), 0.3, None, about)


def kepler(e: float = 0.6) -> Problem[Hamiltonian]:
    """Planar Kepler problem with eccentricity e, semi-axis 1, started at the pericentre; period 2 pi, H = -1/2.

    The exact solution solves Kepler's equation E - e sin E = t.
    """
    if finite_number(e, "kepler.e") < 0.0 or e >= 1.0:
        raise InputError(f"e = {e!r}", where="kepler.e", do="give an eccentricity 0 <= e < 1")
    system = Hamiltonian(
        "(p1**2 + p2**2)/2 - 1/sqrt(q1**2 + q2**2)", ["q1", "q2"], ["p1", "p2"],
        invariants={"angular_momentum": "q1*p2 - q2*p1"},
    )  # fmt: skip
    start = system.start(q=[1 - e, 0.0], p=[0.0, math.sqrt((1 + e) / (1 - e))])
    side = math.sqrt(1 - e * e)

    def exact(t: float) -> State:
        anomaly = eccentric_anomaly(math.remainder(t, 2 * math.pi), e)
        c, s = math.cos(anomaly), math.sin(anomaly)
        r = 1 - e * c
        return State({"q": np.array([c - e, side * s]), "p": np.array([-s / r, side * c / r])}, t)

    about = (
        f"Kepler problem, eccentricity {e:g}. A planet runs round its sun on an ellipse, fast where it is near and slowly "
        "where it is far: the line between them sweeps equal areas in equal times, because angular momentum is conserved. "
        "The ellipse is closed, which is special to the force 1/r^2. A symplectic method keeps its size and lets it turn "
        "slowly about the sun, which is the error that you see; other methods let the planet spiral inwards or outwards."
    )
    return Problem("kepler", system, start, 0.05, exact, about)


def eccentric_anomaly(t: float, e: float) -> float:
    """Root of E - e sin E = t for |t| <= pi, by Newton's method, started at pi if e is large."""
    anomaly = t if e < 0.8 else math.copysign(math.pi, t)
    for _ in range(100):
        change = (anomaly - e * math.sin(anomaly) - t) / (1 - e * math.cos(anomaly))
        anomaly -= change
        if abs(change) <= 1e-16 * abs(anomaly):
            break
    return anomaly


def galactic() -> Problem[Hamiltonian]:
    """Orbit of a star in a rotating triaxial galaxy with a logarithmic potential, H = 2.

    H = |p|^2/2 + Om (p1 q2 - p2 q1) + A log(C + q1^2/a^2 + q2^2/b^2 + q3^2/c^2); p2 is the larger root of H = 2.
    [hairer2006] section XV.6
    """
    values = {"Om": 0.25, "A": 1.0, "C": 1.0, "a": 1.25, "b": 1.0, "c": 0.75}
    system = Hamiltonian(
        "(p1**2 + p2**2 + p3**2)/2 + Om*(p1*q2 - p2*q1) + A*log(C + q1**2/a**2 + q2**2/b**2 + q3**2/c**2)",
        ["q1", "q2", "q3"], ["p1", "p2", "p3"], values,
    )  # fmt: skip
    p2 = 0.625 + math.sqrt(0.625**2 - 2 * (0.02 + math.log(5.0) - 2.0))
    start = system.start(q=[2.5, 0.0, 0.0], p=[0.0, p2, 0.2])
    about = (
        "Orbit of a star in a rotating triaxial galaxy, seen from axes that turn with it. The orbit never closes and "
        "fills a part of space, since nothing but the energy in these axes is known to be kept. Where it crosses the "
        "plane q2 = 0 upwards, the points tell what it is: a regular orbit marks curves there, a chaotic one scatters. A "
        "method whose energy drifts moves the points from curve to curve."
    )
    return Problem("galactic", system, start, 0.2, None, about)


def henon_heiles() -> Problem[Hamiltonian]:
    """Henon-Heiles system, H = |p|^2/2 + |q|^2/2 + q1^2 q2 - q2^3/3 [henon1964]."""
    system = Hamiltonian(
        "(p1**2 + p2**2)/2 + (q1**2 + q2**2)/2 + q1**2*q2 - q2**3/3", ["q1", "q2"], ["p1", "p2"]
    )  # fmt: skip
    about = (
        "Henon-Heiles system. A star moves in a well with three corners; its energy, 0.1507, lies below the 1/6 of the "
        "saddles there, so it cannot leave. The section q1 = 0 shows why the system is famous: at one energy regular "
        "orbits, which mark closed curves there, and chaotic ones, which scatter over an area, lie side by side. This "
        "start is a regular one."
    )
    return Problem("henon_heiles", system, system.start(q=[0.1, -0.2], p=[0.3, 0.4]), 0.1, None, about)
