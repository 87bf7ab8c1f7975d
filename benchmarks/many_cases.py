"""Ensembles for the benchmarks: problems with many starts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import catena as ct
from catena.methods.base import Method
from catena.running.ensembles.results import Ensemble
from catena.running.plan import Problem

SEED = 20240607
Starts = dict[str, np.ndarray]


@dataclass(frozen=True)
class Case:
    """A problem, its method, and the number of starts that one core runs in about a second, 1000 steps each."""

    make: Callable[[], Problem]
    starts: Callable[[Problem, int], Starts]
    method: Method
    members: int

    def of(self, members: int) -> tuple[Problem, Starts]:
        """The problem and this many starts."""
        problem = self.make()
        return problem, self.starts(problem, members)


def ellipses(problem: Problem, members: int) -> Starts:
    """Kepler ellipses from the pericentre, eccentricities up to 0.8."""
    e, zero = np.random.default_rng(SEED).uniform(0.0, 0.8, members), np.zeros(members)
    return {"q": np.stack([1 - e, zero], axis=1), "p": np.stack([zero, np.sqrt((1 + e) / (1 - e))], axis=1)}


def nudged(problem: Problem, members: int) -> Starts:
    """The momenta of the problem, up to a per cent larger or smaller."""
    fields = {name: np.repeat(array[None], members, axis=0) for name, array in problem.start.fields.items()}
    factor = 1 + 0.01 * np.random.default_rng(SEED).standard_normal(members)
    for name in ("p", "momentum", "angular_momentum"):
        if name in fields:
            fields[name] *= factor.reshape(-1, *[1] * problem.start.fields[name].ndim)
    return fields


def along(problem: Problem, members: int) -> Starts:
    """States along a run, all consistent with the joints."""
    run = ct.simulate(problem, steps=max(1, members - 1), progress=False)
    return {name: run.data[name].values[:members] for name in problem.start.fields}


def hinges() -> Problem:
    """Four boxes on hinges."""
    return ct.problems.hanging_chain("revolute", 4)


CASES: dict[str, Case] = {
    "kepler, Splitting(6)": Case(ct.problems.kepler, ellipses, ct.Splitting(6), 4096),
    "kepler, Gauss(3)": Case(ct.problems.kepler, ellipses, ct.Gauss(3), 4096),
    "galactic, Gauss(3)": Case(ct.problems.galactic, nudged, ct.Gauss(3), 2048),
    "free body, DMV(10)": Case(ct.problems.book, nudged, ct.DMV(10), 16384),
    "top, Splitting(4)": Case(ct.problems.kovalevskaya, nudged, ct.Splitting(4), 4096),
    "chain of 8, Splitting(2)": Case(lambda: ct.problems.helix_chain(8), nudged, ct.Splitting(2), 2048),
    "chain of 64, Splitting(2)": Case(lambda: ct.problems.helix_chain(64), nudged, ct.Splitting(2), 256),
    "four hinges, EnergyMomentum, position": Case(hinges, along, ct.EnergyMomentum(level="position"), 128),
}


def call(case: Case, problem: Problem, starts: Starts, *, steps: int, **how: Any) -> Ensemble:
    """`catena.ensemble` called for final states: invariants are checked at the start and at the end."""
    return ct.ensemble(
        problem.system, starts, case.method, dt=problem.dt, steps=steps, every=steps, progress=False, **how
    )


def some(starts: Starts, members: int) -> Starts:
    """The first ones."""
    return {name: array[:members] for name, array in starts.items()}
