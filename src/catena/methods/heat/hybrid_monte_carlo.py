"""Hybrid Monte Carlo: trajectories of a splitting, accepted or rejected by their energy error.

    refresh:  p := c p + sqrt(1 - c^2) M^1/2 xi          then `substeps` steps of a splitting, from H0 to H1
    accept if -log(u) kT >= H1 - H0; else back to the start, with reversed momenta

Averages have no bias at any step, since every splitting is reversible and keeps volume, whatever its rotor: a rotor
moves y along a curve of constant T by a time that depends on the curve alone [duane1987], [horowitz1991].

carry: `Sums`, the sums of squares, then that of the splitting. tab: sizes of the first two, steps of a trajectory, kT;
below them the table of the splitting. work: the state after the refresh (2 n), the invariants and their scales, then
that of the splitting.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...errors import CapabilityError, InputError
from ...kernels import views
from ...kernels.declarations import Inertia
from ...kernels.marks import Filling, Numbers, Record, Slot, bind, size, slot
from ...kernels.noise import ACCEPT, minus_log, unit_number, words
from ...kernels.summation import put_back, save
from ...kernels.views import (
    View,
    bath,
    bath_of_bodies,
    bath_of_components,
    dimension,
    measure,
    reverse,
    tally,
    tally_of_bodies,
)
from ..base import Exact, Method, Stepper, Traits, register
from ..rotors.rotor import check_rotor
from ..splitting.splitting import Splitting
from . import constants
from .langevin import InBath, seed_words, tally_bath
from .sums import Sums, account_momenta, accounts_of

LEAST_ACCEPTED = 0.01  # of the trajectories: with a smaller share the run hardly moves


class Plan(Record):
    """Places of the first row of the table."""

    OWN = 1
    SUBSTEPS = 1
    TEMPERATURE = 1


@size
def invariant_count(work):
    """Number of values of `measure`; always replaced by a literal."""
    return work.shape[0]


@slot
def is_accepted(error, kT, par, member, step):
    """Whether a trajectory with this error of the energy is accepted."""


def metropolis(error, kT, par, member, step):
    """True with the probability min(1, exp(-error/kT)); never for an error that is nan."""
    w0, w1, _, _ = words(int(par.seed[0]), int(par.seed[1]), member, step, 0, ACCEPT)
    return minus_log(unit_number(w0, w1)) * kT >= error


def energy_of(z, par, out):
    """H, from the invariants of the system."""
    k = invariant_count(out)
    measure(z, par, out[:k], out[k : 2 * k])
    return out[0]


def trial_step(z, e, dt, par, tab, work, carry):
    """Refresh the momenta, follow a trajectory of length dt, and decide.

    A step that fails leaves z and e as after the refresh.
    """
    n = dimension(z)
    own = int(tab[0, Plan.OWN])
    substeps = int(tab[0, Plan.SUBSTEPS])
    known = carry[own:]
    room = work[2 * n :]
    free = work[2 * n + 2 * invariant_count(work) :]
    member = int(carry[Sums.MEMBER])
    step = int(carry[Sums.STEP])
    bath(z, e, par, member, step)
    tally_bath(z, par, carry[Sums.TOTAL : Sums.WIDTH], carry[Sums.WIDTH : own])
    save(z, e, work)
    before = energy_of(z, par, room)
    for _ in range(substeps):
        status = views.step(z, e, dt / substeps, par, tab[1:], free, known)
        if status != 0:
            put_back(z, e, work)
            return status
    if is_accepted(energy_of(z, par, room) - before, tab[0, Plan.TEMPERATURE], par, member, step):
        carry[Sums.ACCEPTED] += 1.0
    else:
        put_back(z, e, work)
        reverse(z, e, par)
        for k in range(known.shape[0]):
            known[k] = 0.0  # its force belongs to another position
    carry[Sums.STEP] += 1.0
    carry[Sums.WINDOW] += 1.0
    return 0


@register
@dataclass(frozen=True)
class HybridMonteCarlo(InBath):
    """Averages at a temperature without any bias: trajectories that are accepted or rejected by their energy error.

    A step draws momenta, follows a trajectory of length dt in `substeps` steps of a splitting, and accepts it with the probability
    min(1, exp(-error of H/kT)). Otherwise the state goes back, with reversed momenta. The path has no meaning in time. Choose
    substeps so that 60 to 90 % are accepted (`run.counts`). The error grows with the number of bodies, so prefer `Langevin` for
    long chains.

    Parameters
    ----------
    temperature : kT, in units of energy
    substeps : steps of a trajectory
    order : order of the splitting: 2, 4, 6 or 8
    refresh : part of the momenta that is drawn anew: 1 for all; less keeps c = 1 - refresh of them. With substeps = 1 this is
        guided Monte Carlo (GHMC), close to `Langevin` with a friction of refresh/dt
    seed : seed of the noise, below 2^64
    rotor : how bodies turn freely, as for `Splitting`

    Examples
    --------
    >>> import catena as ct
    >>> spring = ct.Hamiltonian("p**2/2 + q**2/2")
    >>> run = ct.simulate(spring, spring.start(q=0.0, p=0.0), ct.HybridMonteCarlo(2.0, substeps=2, seed=7), dt=2.0, steps=4000)
    >>> bool(abs(run.data.q.values.var() / 2.0 - 1.0) < 0.2), run.counts["accepted"] > 2000
    (True, True)

    References
    ----------
    [duane1987], [horowitz1991], [salmon2011], [box1958]
    """

    needs = ("split",)
    temperature: float
    substeps: int = 8
    order: int = 2
    refresh: float = 1.0
    seed: int = 0
    rotor: Method | None = None

    def __post_init__(self) -> None:
        self._check_bath()
        if isinstance(self.temperature, tuple) or self.temperature == 0.0:
            raise InputError(
                f"temperature = {self.temperature!r}",
                where="HybridMonteCarlo.temperature",
                do="give one number above zero",
            )
        if isinstance(self.substeps, bool) or not isinstance(self.substeps, int) or not 0 < self.substeps < 2**31:
            raise InputError(
                f"substeps = {self.substeps!r}", where="HybridMonteCarlo.substeps", do="give a whole number above zero"
            )
        if (
            isinstance(self.refresh, bool)
            or not isinstance(self.refresh, (int, float))
            or not 0.0 < self.refresh <= 1.0
        ):
            raise InputError(
                f"refresh = {self.refresh!r}", where="HybridMonteCarlo.refresh", do="give a number above 0, at most 1"
            )
        Splitting(self.order)
        if self.rotor is not None:
            check_rotor(self.rotor, order=2, where="HybridMonteCarlo.rotor")

    @property
    def _splitting(self) -> Splitting:
        return Splitting(self.order, self.rotor)

    def stepper(self, view: View) -> Stepper:
        inertia = self._inertia(view)
        if not view.measures:
            raise CapabilityError(f"{self} needs an energy to accept or reject by")
        base = self._splitting.stepper(view)
        parts, components = inertia.variances.shape
        own, k = Sums.WIDTH + parts * (components + 1), view.measures
        tab = np.zeros((1 + len(base.tab), max(Plan.WIDTH, base.tab.shape[1])))
        tab[0, : Plan.WIDTH] = own, self.substeps, self.temperature
        tab[1:, : base.tab.shape[1]] = base.tab
        coupled = inertia.matrix is not None
        fills: dict[Slot, Filling] = {
            views.step: base.kernel, invariant_count: k, is_accepted: metropolis,
            bath: bath_of_bodies if coupled else bath_of_components, tally_bath: tally_of_bodies if coupled else tally,
        }  # fmt: skip
        made, scratch = self._constants(inertia)
        parameters: dict[str, Numbers] = {**made, "seed": seed_words(self.seed), "stride": np.array([float(parts)])}
        return replace(
            base, kernel=bind(trial_step, fills), tab=tab, work=2 * view.dimension + 2 * k + base.work, carry=own + base.carry,
            parameters={**base.parameters, **parameters}, scratch={**base.scratch, **scratch}, member_place=Sums.MEMBER,
            account=account_momenta, accounts=accounts_of(inertia),
        )  # fmt: skip

    def _constants(self, inertia: Inertia) -> tuple[Mapping[str, Numbers], Mapping[str, Numbers]]:
        """Arrays of the refresh in par; none of them depends on dt."""
        kT = constants.temperatures_of(inertia, self.temperature)
        gained = math.sqrt(self.refresh * (2.0 - self.refresh) * self.temperature)
        shared: dict[str, Numbers] = {
            "precision": constants.precision_of(inertia, kT), "total_precision": constants.total_precision_of(inertia, kT),
        }  # fmt: skip
        if inertia.matrix is not None:
            lower = np.linalg.cholesky(inertia.matrix)
            shared["loss"] = np.full((1, 1), -self.refresh)
            shared["stir_matrix"] = np.asarray(gained * lower[None])
            shared["whitening"] = np.asarray(np.linalg.inv(lower)[None] / math.sqrt(self.temperature))
            return shared, {"drawn": np.zeros(len(kT) + 1)}
        there = inertia.variances > 0.0
        shared["loss"] = np.where(there, -self.refresh, 0.0)
        shared["stir"] = np.asarray(gained * np.sqrt(inertia.variances))
        return shared, {}

    def counts(self, carry: NDArray[np.float64]) -> dict[str, int]:
        return {"trajectories": int(carry[Sums.STEP]), "accepted": int(carry[Sums.ACCEPTED])}

    def doubt(self, carry: NDArray[np.float64]) -> str:
        made, accepted = self.counts(carry).values()
        if accepted >= LEAST_ACCEPTED * made:
            return ""
        return f"{accepted} of {made} trajectories were accepted, so the run has hardly moved: {self.advice()}"

    @property
    def traits(self) -> Traits:
        return self._traits(self._splitting.traits)

    def traits_on(self, view: View) -> Traits:
        return self._traits(self._splitting.traits_on(view))

    def _traits(self, base: Traits) -> Traits:
        cite = ("duane1987", "horowitz1991", "salmon2011", "box1958")
        return Traits(
            base.order, False, False, base.explicit, (Exact("unit"),), cite, self.substeps * base.stability, random=True,
            unbiased=True,
        )  # fmt: skip

    @property
    def program(self) -> str:
        return f"HybridMonteCarlo({self.order}, {self.rotor or ''})"

    @property
    def reach(self) -> float:
        return self.substeps * self._splitting.reach

    def advice(self) -> str:
        return "use more substeps, or a smaller dt"

    @classmethod
    def examples(cls) -> tuple[Method, ...]:
        return (cls(1.0),)
