"""Orbits from text by Taylor series, ours and heyoka's: times at equal error of positions and momenta, at all outputs.

Beside the two orbits of `engine`, three texts with sines, exponentials and logarithms in their equations. The reference is heyoka in extended precision.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import catena as ct
from catena.engine.build import build
from catena.engine.driver import Driver
from engine import galactic_equations, kepler_equations
from timing import sampled, time_at

Array = NDArray[np.float64]
OUTPUTS = 100
LEVELS = {1e-6: "1e-6", 1e-8: "1e-8", 1e-10: "1e-10", 1e-12: "1e-12"}
OUR_TOLERANCES = tuple(10.0**-k for k in range(5, 18))
THEIR_TOLERANCES = (1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-11, 1e-12, 1e-13, 1e-14, 1e-15, 1e-16)
TARGETS = {"Kepler, e = 0.6": 1.3, "galactic orbit": 1.3}  # 1 for the others


@dataclass(frozen=True)
class Orbit:
    """A motion and its equations in the notation of heyoka."""

    name: str
    system: ct.Hamiltonian
    start: ct.State
    t_end: float
    equations: Callable[[Any], list[tuple[Any, Any]]]

    @property
    def z(self) -> Array:
        return np.concatenate([self.start.q, self.start.p])


def pendulums(heyoka: Any) -> list[tuple[Any, Any]]:
    q1, q2, p1, p2 = heyoka.make_vars("q1", "q2", "p1", "p2")
    pull = 0.5 * heyoka.sin(q1 - q2)
    return [(q1, p1), (q2, p2), (p1, -heyoka.sin(q1) - pull), (p2, -heyoka.sin(q2) + pull)]


def toda(heyoka: Any) -> list[tuple[Any, Any]]:
    q1, q2, q3, p1, p2, p3 = heyoka.make_vars("q1", "q2", "q3", "p1", "p2", "p3")
    a, b, c = heyoka.exp(q1 - q2), heyoka.exp(q2 - q3), heyoka.exp(q3 - q1)
    return [(q1, p1), (q2, p2), (q3, p3), (p1, c - a), (p2, a - b), (p3, b - c)]


def logarithmic(heyoka: Any) -> list[tuple[Any, Any]]:
    q1, q2, p1, p2 = heyoka.make_vars("q1", "q2", "p1", "p2")
    inner = 1.0 + q1**2 + q2**2
    pull = heyoka.log(inner) + 1.0
    return [(q1, p1), (q2, p2), (p1, -pull * q1), (p2, -2.0 * q2 - pull * q2)]


def orbits() -> list[Orbit]:
    """All of them."""
    kepler, galactic = ct.problems.kepler(e=0.6), ct.problems.galactic()
    two = {"q": ["q1", "q2"], "p": ["p1", "p2"]}
    coupled = ct.Hamiltonian("(p1**2 + p2**2)/2 - cos(q1) - cos(q2) - 0.5*cos(q1 - q2)", **two)
    lattice = ct.Hamiltonian(
        "(p1**2 + p2**2 + p3**2)/2 + exp(q1 - q2) + exp(q2 - q3) + exp(q3 - q1)", q=["q1", "q2", "q3"], p=["p1", "p2", "p3"]
    )  # fmt: skip
    well = ct.Hamiltonian("(p1**2 + p2**2)/2 + q2**2 + (1 + q1**2 + q2**2)*log(1 + q1**2 + q2**2)/2", **two)
    return [
        Orbit("Kepler, e = 0.6", kepler.system, kepler.start, 20.0 * math.pi, kepler_equations),
        Orbit("galactic orbit", galactic.system, galactic.start, 100.0, galactic_equations),
        Orbit("two pendulums (sin)", coupled, coupled.start(q=[1.0, 0.3], p=[0.2, -0.5]), 50.0, pendulums),
        Orbit("Toda lattice (exp)", lattice, lattice.start(q=[0.3, -0.2, 0.1], p=[0.5, -0.8, 0.3]), 50.0, toda),
        Orbit("well of a logarithm (log)", well, well.start(q=[1.0, 0.5], p=[0.3, -0.4]), 50.0, logarithmic),
    ]


def our_run(of: Orbit, tolerance: float) -> Callable[[], Array]:
    """Rows after the start."""
    program = build(of.system, ct.Taylor(tolerance))
    driver = Driver(program, of.z, t0=0.0, dt=of.t_end / OUTPUTS, every=1)
    driver.first_row()
    back = driver.way_back()

    def run() -> Array:
        back()
        made = driver.advance(OUTPUTS)
        assert made.status == 0
        return made.rows[:, : len(of.z)]

    return run


def their_run(of: Orbit, tolerance: float, kind: Any = float) -> Callable[[], Array]:
    """The same by heyoka's dense output."""
    import heyoka

    start, times = of.z.astype(kind), kind(of.t_end) * np.arange(OUTPUTS + 1) / OUTPUTS
    integrator = heyoka.taylor_adaptive(of.equations(heyoka), start, fp_type=kind, tol=kind(tolerance))

    def run() -> Array:
        integrator.time = kind(0)
        integrator.state[:] = start
        return integrator.propagate_grid(times)[-1][1:]

    return run


def race(of: Orbit, rounds: int) -> list[dict[str, Any]]:
    """How many times faster ours are at each level of error."""
    right = their_run(of, 1e-21, np.longdouble)()
    runs = {("ours", t): our_run(of, t) for t in OUR_TOLERANCES}
    runs |= {("theirs", t): their_run(of, t) for t in THEIR_TOLERANCES}
    errors = {key: float(np.abs(run() - right).max()) for key, run in runs.items()}
    seconds = sampled({str(key): run for key, run in runs.items()}, rounds=rounds, slot=0.01)
    row: dict[str, Any] = {"orbit": of.name}
    for level, shown in LEVELS.items():
        mine, other = (
            time_at([(errors[key], seconds[str(key)].best) for key in runs if key[0] == who], level)
            for who in ("ours", "theirs")
        )
        row[shown] = round(other / mine, 2) if mine and other else "-"
    return [row | {"target": TARGETS.get(of.name, 1.0)}]


def taylor_against_heyoka(rounds: int = 11) -> list[dict[str, Any]]:
    """A row for each orbit."""
    return [row for of in orbits() for row in race(of, rounds)]
