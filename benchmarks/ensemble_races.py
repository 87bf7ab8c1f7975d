"""Ensembles that other programs can run, too: the same starts in their notation, on one core, for final states."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

import catena as ct
from catena.methods.base import Method
from engine import galactic_equations, galactic_field, kepler_equations, kepler_field
from free_body_races import SYMMETRIC, TOP, mujoco_model, rates
from free_body_races import Race as TopRace

Array = NDArray[np.float64]
Runner = Callable[[int], Array]  # number of members -> final states (members, n)
BATCH = 8  # of heyoka
SEED = 20260716


@dataclass(frozen=True)
class Ensemble:
    """Starts of one system: (members, n) numbers, the fields of our state concatenated."""

    name: str
    system: Any
    z: Array
    t_end: float
    equations: Callable[[Any], list[tuple[Any, Any]]]  # for heyoka
    field: Callable[[float, Array], Array]  # compiled by numba, for SciPy

    def starts(self, members: int) -> dict[str, Array]:
        """Starts in the form of `ct.ensemble`."""
        columns, at = {}, 0
        for part in self.system.fields:
            columns[part.name] = self.z[:members, at : at + part.width].reshape(members, *part.shape)
            at += part.width
        return columns


def ours(race: Ensemble, method: Method, steps: int, layout: Literal["members", "lanes"]) -> Runner:
    """A whole call, from arrays to arrays."""

    def run(members: int) -> Array:
        many = ct.ensemble(
            race.system, race.starts(members), method, dt=race.t_end / steps, steps=steps, every=steps, threads=1,
            layout=layout, progress=False,
        )  # fmt: skip
        assert not many.failures
        return np.concatenate(
            [many.final[part.name].values.reshape(members, -1) for part in race.system.fields], axis=1
        )

    return run


def heyoka_batch(race: Ensemble, tolerance: float) -> Runner:
    """Its adaptive Taylor method on batches of eight."""
    import heyoka

    n = race.z.shape[1]
    integrator = heyoka.taylor_adaptive_batch(race.equations(heyoka), np.zeros((n, BATCH)), tol=tolerance)

    def run(members: int) -> Array:
        final = np.empty((members, n))
        for first in range(0, members, BATCH):
            integrator.set_time(0.0)
            integrator.state[:] = race.z[first : first + BATCH].T
            integrator.propagate_until(race.t_end)
            final[first : first + BATCH] = integrator.state.T
        return final

    return run


def scipy_loop(race: Ensemble, tolerance: float) -> Runner:
    """SciPy's DOP853, the field compiled by numba, one member after the other."""
    from numba import njit
    from scipy.integrate import solve_ivp

    field = njit(race.field)
    options = {"method": "DOP853", "rtol": tolerance, "atol": 0.01 * tolerance}

    def run(members: int) -> Array:
        return np.array([solve_ivp(field, (0.0, race.t_end), z, **options).y[:, -1] for z in race.z[:members]])

    return run


def mujoco_rollout(race: Ensemble, top: TopRace, steps: int) -> Runner:
    """MuJoCo's RK4 by its threaded rollout, with one thread."""
    import mujoco
    from mujoco import rollout

    model, data = mujoco_model(top, race.t_end / steps)
    moments, kind = np.array(top.moments), mujoco.mjtState.mjSTATE_FULLPHYSICS
    size = mujoco.mj_stateSize(model, kind)

    def run(members: int) -> Array:
        first = np.empty((members, size))
        for k, z in enumerate(race.z[:members]):
            data.time, data.qpos[:], data.qvel[:] = 0.0, z[:4], z[4:] / moments
            mujoco.mj_getState(model, data, first[k], kind)
        states, _ = rollout.rollout(model, data, first, nstep=steps)
        last = states[:, -1]
        return np.concatenate([last[:, 1:5], last[:, 5:8] * moments], axis=1)

    return run


# The ensembles ---------------------------------------------------------------------------------------------------


def henon_heiles_field(t: float, z: Array) -> Array:
    return np.array([z[2], z[3], -z[0] - 2.0 * z[0] * z[1], z[1] * z[1] - z[1] - z[0] * z[0]])


def henon_heiles_equations(heyoka: Any) -> list[tuple[Any, Any]]:
    q1, q2, p1, p2 = heyoka.make_vars("q1", "q2", "p1", "p2")
    return [(q1, p1), (q2, p2), (p1, -q1 - 2.0 * q1 * q2), (p2, -q2 - q1 * q1 + q2 * q2)]


def henon_heiles(members: int) -> Ensemble:
    """Starts at q1 = 0 with the energy 0.1, momenta in all directions."""
    rng = np.random.default_rng(SEED)
    angle, q2 = rng.uniform(0, 2 * np.pi, members), rng.uniform(-0.2, 0.2, members)
    p = np.sqrt(2 * (0.1 - q2**2 / 2 + q2**3 / 3))
    z = np.stack([0 * q2, q2, p * np.cos(angle), p * np.sin(angle)], axis=1)
    return Ensemble(
        "Henon-Heiles", ct.problems.henon_heiles().system, z, 100.0, henon_heiles_equations, henon_heiles_field
    )


def kepler(members: int) -> Ensemble:
    """Ellipses from the pericentre, eccentricities up to 0.6, ten periods."""
    e, zero = np.random.default_rng(SEED).uniform(0.0, 0.6, members), np.zeros(members)
    z = np.stack([1 - e, zero, zero, np.sqrt((1 + e) / (1 - e))], axis=1)
    return Ensemble("Kepler", ct.problems.kepler().system, z, 20 * np.pi, kepler_equations, kepler_field)


def galactic(members: int) -> Ensemble:
    """Momenta near those of the problem."""
    problem, rng = ct.problems.galactic(), np.random.default_rng(SEED)
    z = np.repeat(np.concatenate([problem.start.q, problem.start.p])[None], members, axis=0)
    z[:, 3:] *= 1 + 0.01 * rng.standard_normal((members, 1))
    return Ensemble("galactic orbit", problem.system, z, 100.0, galactic_equations, galactic_field)


def top(members: int, race: TopRace) -> Ensemble:
    """A heavy top, symmetric or not, with momenta near those of the race of single bodies."""
    rng = np.random.default_rng(SEED)
    z = np.repeat(race.start[None], members, axis=0)
    z[:, 4:] *= 1 + 0.01 * rng.standard_normal((members, 1))
    i1, i2, i3, strength = *race.moments, race.strength

    def equations(heyoka: Any) -> list[tuple[Any, Any]]:
        variables = heyoka.make_vars("q0", "q1", "q2", "q3", "y1", "y2", "y3")
        return list(zip(variables, rates(*variables, i1, i2, i3, strength), strict=True))

    from numba import njit

    compiled = njit(rates)

    def field(t: float, z: Array) -> Array:
        return np.array(compiled(z[0], z[1], z[2], z[3], z[4], z[5], z[6], i1, i2, i3, strength))

    return Ensemble(race.name, race.system, z, race.t_end, equations, field)


def ensembles(members: int) -> dict[str, tuple[Ensemble, Sequence[tuple[Method | type[ct.Taylor], str]]]]:
    """Each ensemble with our methods and layouts; `Taylor` with several tolerances instead of steps."""
    return {
        "henon_heiles": (
            henon_heiles(members),
            [(ct.Nystrom6(), "lanes"), (ct.Splitting(6), "lanes"), (ct.Splitting(6), "members"), (ct.Taylor, "lanes")],
        ),
        "kepler": (
            kepler(members),
            [(ct.Splitting(8), "lanes"), (ct.Splitting(6), "lanes"), (ct.Splitting(6), "members"), (ct.Taylor, "lanes")],
        ),
        "galactic": (galactic(members // 4), [(ct.RK4(), "lanes"), (ct.Gauss(6), "members"), (ct.Taylor, "lanes")]),
        "symmetric top": (
            top(members // 8, SYMMETRIC), [(ct.Nystrom6(), "lanes"), (ct.Lagrange(), "members"), (ct.Taylor, "lanes")]
        ),
        "heavy top": (top(members // 8, TOP), [(ct.Nystrom6(), "members"), (ct.Taylor, "lanes")]),
    }  # fmt: skip
