"""Langevin dynamics: half kick, half drift, friction and noise, half drift, half kick.

    B dt/2:  p += dt/2 f       A dt/2:  free motion       O dt:  p := E p + L xi       A dt/2       B dt/2

The O part is the exact flow of friction and noise (`catena.systems.baths`), A and B are the drifts and kicks of
splittings, so each step computes one force. Configurations have the smallest bias of all such schemes [leimkuhler2013];
for bodies it is "Langevin C" of [davidchack2015]. The momenta have the right law directly after O, inside the step: at
the end of the step the variance of a mode of frequency omega is smaller by the part (dt omega)^2/4. So squares are
summed inside the step, in carry, and recorded at each sample.

carry: `Sums`, the sums of squares, then on "split" the force (n) and whether it is known. tab: sizes of the first two.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...arrays import Array
from ...errors import CapabilityError, InputError
from ...kernels.bodies import load_sums, stirred_sweep_body, store_sums
from ...kernels.declarations import Inertia
from ...kernels.marks import Filling, Numbers, Slot, bind, slot, within
from ...kernels.summation import put_back, save
from ...kernels.views import (
    View,
    bath,
    bath_of_bodies,
    bath_of_components,
    bath_of_links,
    bath_of_rates_of_links,
    dimension,
    drift,
    force,
    kick,
    recall,
    rotate,
    stirred_sweep,
    tally,
    tally_of_bodies,
    tally_of_links,
)
from ...text.plain import Json
from ..base import Exact, Method, Stepper, Traits, register
from ..conserving.rattle import Rattle
from ..rotors.rotations import SymmetricRotation
from ..rotors.rotor import check_rotor, lane_table, moments_of, turn_in_lanes, with_rotor
from ..splitting.splitting import Splitting, begin_sweeps, may_fail
from . import constants
from .friction import Friction, Rates, friction_from, list_numbers, rates_of
from .linked import linked_stepper
from .sums import Sums, account_momenta, accounts_of, count_step

Temperature: TypeAlias = float | Sequence[float]
MOST_SEED = 2**64
HELD = (Exact("joint_position"), Exact("joint_velocity"))  # enforced by the joints


@slot
def tally_bath(z, par, total, sums):
    """The `tally` of this bath."""


def langevin_step(z, e, dt, par, tab, work, carry):
    """One step. A failed drift leaves z and e as they were."""
    n = dimension(z)
    own = int(tab[0, 0])
    forces = carry[own:]
    save(z, e, work)
    if forces[n] == 0.0:
        force(z, par, forces)
    forces[n] = 0.0
    status = kick(z, e, 0.5 * dt, par, forces)
    if status == 0:
        status = drift(z, e, 0.5 * dt, par, work[2 * n :])
    if status == 0:
        bath(z, e, par, int(carry[Sums.MEMBER]), int(carry[Sums.STEP]))
        tally_bath(z, par, carry[Sums.TOTAL : Sums.WIDTH], carry[Sums.WIDTH : own])
        status = drift(z, e, 0.5 * dt, par, work[2 * n :])
    if status != 0:
        put_back(z, e, work)
        return status
    count_step(carry)
    force(z, par, forces)
    forces[n] = 1.0
    return kick(z, e, 0.5 * dt, par, forces)


@within
def langevin_sweep(z, e, dt, par, tab, work, carry):
    """The same in tiles. z ends with a flag (forces known) and the length of the kick left to the next step."""
    n = dimension(z)
    begin_sweeps(z, par, tab)
    status = stirred_sweep(
        z, e, z[n - 1] + 0.5 * dt, 0.5 * dt, par, int(carry[Sums.MEMBER]), int(carry[Sums.STEP]),
        carry[Sums.TOTAL : Sums.WIDTH], carry[Sums.WIDTH :],
    )  # fmt: skip
    if status != 0:
        recall(z, par)
        z[n - 2] = 0.0
        return status
    count_step(carry)
    z[n - 1] = 0.5 * dt
    return 0


def langevin_steps_of_body(
    w, i, before, after, j, count, most, dt, pending, par, tab, carry, sums, shown, links, momenta, partial
):
    """The same for one body. Its forces are computed in the round before the first step."""
    status = 0
    push = pending
    parts = int(par.stride[0])
    member = int(carry[Sums.MEMBER])
    step = int(carry[Sums.STEP])
    load_sums(carry, Sums.WIDTH, j, parts, sums)
    sums[7] = carry[Sums.TOTAL]
    for k in range(-1, most):
        moves = 0 <= k < count
        now = stirred_sweep_body(
            w, i, before, after, j, moves, push + 0.5 * dt, 0.5 * dt, par, member, step + k, sums, shown, links, momenta, partial
        )  # fmt: skip
        status = now if status == 0 else status
        push = 0.5 * dt if moves else push
    if count > 0:
        store_sums(sums, carry, Sums.WIDTH, j, parts)
        if j == 0:
            carry[Sums.TOTAL] = sums[7]
            carry[Sums.STEP] += float(count)
            carry[Sums.WINDOW] += float(count)
    return status, push


def no_force(z, par, out):
    """Nothing acts on a free body."""


def no_kick(z, e, h, par, out):
    """No force changes its momenta."""
    return 0


def free_drift(z, e, h, par, work):
    """Rotate a free body."""
    return rotate(z[4:7], z[0:4], e[4:7], e[0:4], par.inertia[0], h, par.rotor[0])


class InBath(Method):
    """Base of the methods at a temperature."""

    asks_for = "it needs a kinetic energy of momenta alone, quadratic in them"
    temperature: float | Sequence[float]
    seed: int

    def _check_bath(self) -> None:
        """The temperatures as numbers, the seed as one of 64 bits."""
        object.__setattr__(self, "temperature", _temperatures(self.temperature, f"{type(self).__name__}.temperature"))
        check_seed(self.seed, f"{type(self).__name__}.seed")

    @property
    def bath_temperature(self) -> float | None:
        given = self.temperature if isinstance(self.temperature, tuple) else (self.temperature,)
        return float(given[0]) if given[0] > 0.0 and len(set(given)) == 1 else None

    def _inertia(self, view: View) -> Inertia:
        if view.inertia is None:
            raise CapabilityError(f"{self} needs a kinetic energy that is quadratic in the momenta")
        return view.inertia()

    def describe(self) -> dict[str, Json]:
        return {name: _as_json(value) for name, value in super().describe().items()}


@register
@dataclass(frozen=True)
class Langevin(InBath):
    """Langevin dynamics in a heat bath: half kick, half drift, friction and noise, half drift, half kick (BAOAB).

    dp = f dt - gamma p dt + sqrt(2 gamma m kT) dW, and likewise for angular momenta about the principal axes of bodies. Averages
    of configurations have errors of order dt^2, some 50 times smaller than with noise at the ends of the step; keep dt times the
    highest frequency below 0.6. Each step needs one force evaluation. Noise is a function of seed, member, step and body: runs
    repeat to the bit, and so does `resume`.

    The law of the momenta holds inside the step. The run records their mean squares there (`equipartition`, `body_temperature`,
    `fourth_moment`, `total_momentum_square`, in units of their expected values). The mean squares in its samples are smaller by
    the part (dt omega)^2/4. Choose `HybridMonteCarlo` for averages without any bias.

    Linked bodies move along their joints, in half steps of `Rattle`. There the bath has one temperature, rates may differ from
    body to body and about their axes, and the run records momentum times velocity of each joint.

    Parameters
    ----------
    temperature : kT, in units of energy: a number, or one for each body
    friction : rate gamma at which momenta decay: a number; one for each body, with 0 for bodies outside the bath; or a `Friction`.
        With 0 for all, the method is `Splitting(2)`; with inf, each step draws fresh momenta: the overdamped limit
    seed : seed of the noise, below 2^64
    rotor : how bodies turn freely; `SymmetricRotation()` by default

    Examples
    --------
    >>> import catena as ct
    >>> spring = ct.Hamiltonian("p**2/2 + q**2/2")
    >>> run = ct.simulate(spring, spring.start(q=0.0, p=0.0), ct.Langevin(2.0, friction=1.0, seed=7), dt=0.5, steps=20_000, every=100)
    >>> bool(abs(run.data.q.values[20:].var() / 2.0 - 1.0) < 0.2)
    True

    References
    ----------
    [leimkuhler2013], [leimkuhler2016], [davidchack2015], [salmon2011], [box1958]
    """

    needs = ("tiles", "split", "rotor", "constrained")
    temperature: float | Sequence[float]
    friction: float | Literal["inf"] | Sequence[float] | Friction
    seed: int = 0
    rotor: Method | None = None

    def __post_init__(self) -> None:
        self._check_bath()
        object.__setattr__(self, "friction", friction_from(self.friction))
        if self.rotor is not None:
            check_rotor(self.rotor, order=2, where="Langevin.rotor")

    @property
    def _is_free(self) -> bool:
        """Whether there is no friction at all."""
        return self.friction.is_nothing if isinstance(self.friction, Friction) else not np.any(self.friction)

    @property
    def _turning(self) -> Method:
        return self.rotor or SymmetricRotation()

    def stepper(self, view: View) -> Stepper:
        inertia = self._inertia(view)
        if self._is_free:
            return self._free(view)
        assert self.friction != "inf"  # checked before: it is a number
        bath_ = Bath.of(inertia, self.temperature, self.friction)
        if view.name == "tiles":
            return self._in_tiles(view, bath_)
        if view.name == "constrained":
            return self._record(linked_stepper(view, self.rotor, bath_.slot), bath_, len(inertia.variances))
        parts, components = inertia.variances.shape
        own, n = Sums.WIDTH + parts * (components + 1), view.dimension
        fills: dict[Slot, Filling] = {bath: bath_.slot, tally_bath: bath_.tally}
        if view.name == "rotor":
            fills |= {force: no_force, kick: no_kick, drift: free_drift}
        stepper = Stepper(bind(langevin_step, fills), np.full((1, 1), float(own)), 3 * n, own + n + 1)
        return with_rotor(self._record(stepper, bath_, parts), self._turning, view)

    def _free(self, view: View) -> Stepper:
        """The step without a bath."""
        if view.name == "rotor":
            return self._turning.stepper(view)
        return (Rattle() if view.name == "constrained" else Splitting(2, self.rotor)).stepper(view)

    def _record(self, stepper: Stepper, bath_: Bath, stride: int) -> Stepper:
        """Add constants, noise and the recorded quantities to the stepper."""
        noise: dict[str, Numbers] = {"seed": seed_words(self.seed), "stride": np.array([float(stride)])}
        parameters = {**bath_.parameters, **noise}
        return replace(
            stepper, parameters={**stepper.parameters, **parameters}, scratch={**stepper.scratch, **bath_.scratch},
            timed=bath_.timed, member_place=Sums.MEMBER, account=account_momenta, accounts=accounts_of(bath_.inertia),
        )  # fmt: skip

    def _in_tiles(self, view: View, bath_: Bath) -> Stepper:
        if bath_.slot is not bath_of_components:
            raise CapabilityError(f"{self} has no form for lanes")
        rotor = self._turning
        lanes, bodies = lane_table(rotor, view), len(moments_of(view))
        kernel = bind(langevin_sweep, {may_fail: int(not rotor.traits.explicit)})
        stepper = Stepper(kernel, np.zeros((1, 1)), 0, Sums.WIDTH + 7 * bodies, of_body=langevin_steps_of_body)
        recorded = self._record(stepper, bath_, bodies)
        timed = partial(_in_lanes, view, lanes, bath_)
        timed(1.0)  # CapabilityError if there is no room
        return turn_in_lanes(replace(recorded, timed=timed), rotor, view)

    @property
    def traits(self) -> Traits:
        return self._traits(Splitting(2, self.rotor).traits)

    def traits_on(self, view: View) -> Traits:
        if view.name != "constrained":
            return self._traits(Splitting(2, self.rotor).traits_on(view))
        made = self._traits(Rattle().traits_on(view))
        return made if self._is_free else replace(made, explicit=False, keeps=(*made.keeps, *HELD))

    def _traits(self, without: Traits) -> Traits:
        if self._is_free:
            return without
        cite = ("leimkuhler2013", "leimkuhler2016", "davidchack2015", "salmon2011", "box1958")
        return Traits(2, False, False, True, (Exact("unit"),), cite, without.stability, random=True)

    @property
    def program(self) -> str:
        return f"Langevin({'' if self.rotor is None else self.rotor})"

    @property
    def reach(self) -> float:
        return 2.0 * self._turning.reach

    def advice(self) -> str:
        return "use a smaller dt; a close approach at this temperature needs one far below the limit of small motions"

    @classmethod
    def examples(cls) -> tuple[Method, ...]:
        return (cls(1.0, 1.0),)


@dataclass(frozen=True, eq=False)
class Bath:
    """A bath on the momenta of a view: its kernels and their constants.

    Attributes
    ----------
    inertia : of the view
    slot, tally : fillings of `bath` and `tally_bath`
    timed : dt -> constants by name
    parameters, scratch : other arrays of its kernels in par
    """

    inertia: Inertia
    slot: Slot
    tally: Slot
    timed: Callable[[float], Mapping[str, Numbers]]
    parameters: Mapping[str, Numbers]
    scratch: Mapping[str, Numbers]

    @classmethod
    def of(cls, inertia: Inertia, temperature: Temperature, friction: Rates | Friction) -> Bath:
        """The simplest bath that has this friction and temperature."""
        kT = constants.temperatures_of(inertia, temperature)
        rates = rates_of(inertia, friction)
        if inertia.freedoms is not None:
            each = constants.rates_of_links(inertia, rates, kT)
            linked: dict[str, Numbers] = {"precision": constants.precision_of_joints(inertia, kT)}
            if (each == each[0, 0]).all():
                timed = partial(constants.of_components, inertia, each, kT)
                return cls(inertia, bath_of_links, tally_of_links, timed, linked, {})
            timed = partial(constants.of_links, inertia, each, kT)
            return cls(inertia, bath_of_rates_of_links, tally_of_links, timed, linked, {})
        shared: dict[str, Numbers] = {
            "precision": constants.precision_of(inertia, kT),
            "total_precision": constants.total_precision_of(inertia, kT),
        }
        if inertia.matrix is not None:
            assert rates is not None
            shared |= constants.of_coupled(inertia, rates, kT, 1.0)[1]
            scratch: dict[str, Numbers] = {"drawn": np.zeros(len(kT) + 1)}
            timed = partial(_first_of_coupled, inertia, rates, kT)
            return cls(inertia, bath_of_bodies, tally_of_bodies, timed, shared, scratch)
        if rates is None:
            assert isinstance(friction, Friction)
            constants.of_bodies(inertia, friction, kT, 1.0)  # raises here what it would raise later
            timed_of_bodies = partial(constants.of_bodies, inertia, friction, kT)
            return cls(inertia, bath_of_bodies, tally, timed_of_bodies, shared, {})
        return cls(inertia, bath_of_components, tally, partial(constants.of_components, inertia, rates, kT), shared, {})


def _first_of_coupled(inertia: Inertia, rates: Array, kT: Array, dt: float) -> dict[str, Numbers]:
    return constants.of_coupled(inertia, rates, kT, dt)[0]


def _in_lanes(view: View, rotor: Array, bath_: Bath, dt: float) -> dict[str, Numbers]:
    """The rotor's constants together with those of the bath, in the form that tiles take."""
    assert view.spread is not None
    made = bath_.timed(dt)
    return {"spin": view.spread(rotor, np.hstack([made["loss"], made["stir"], bath_.parameters["precision"]]))}


def seed_words(seed: int) -> NDArray[np.int64]:
    """A seed as two words."""
    return np.array([seed % 2**32, seed >> 32], dtype=np.int64)


def _as_json(value: object) -> Json:
    """A parameter as a case writes it."""
    if isinstance(value, Friction):
        return value.describe()
    return list_numbers(value) if isinstance(value, (float, tuple)) else value  # type: ignore[return-value]


def _temperatures(given: object, where: str) -> float | tuple[float, ...]:
    if isinstance(given, (Sequence, np.ndarray)) and not isinstance(given, str) and np.ndim(given) == 1:
        return tuple(_temperature(one, f"{where}[{k}]") for k, one in enumerate(given))
    return _temperature(given, where)


def _temperature(given: object, where: str) -> float:
    if (
        isinstance(given, bool)
        or not isinstance(given, (int, float, np.integer, np.floating))
        or not 0.0 <= given < np.inf
    ):
        raise InputError(
            f"temperature = {given!r}",
            where=where,
            do="give kT in units of energy: a finite number that is not below zero",
        )
    return float(given)


def check_seed(seed: object, where: str) -> None:
    """A whole number of 64 bits."""
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or not 0 <= seed < MOST_SEED:
        raise InputError(f"seed = {seed!r}", where=where, do="give a whole number from 0 to 2^64 - 1")
