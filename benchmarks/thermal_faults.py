"""Heat baths with one fault each, as others have shipped them: what the thermal audit must detect."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

import catena as ct
from catena.geometry.vectors import add as add_vectors
from catena.geometry.vectors import load3, times, transposed_times
from catena.kernels.marks import Bound, Filling, Kernel, Numbers, Slot, bind
from catena.kernels.noise import unit_number, words
from catena.kernels.summation import add3
from catena.kernels.views import View, bath, dimension, drift, force, kick
from catena.methods.base import Stepper
from catena.methods.heat.hybrid_monte_carlo import is_accepted, trial_step
from catena.methods.heat.langevin import langevin_step, tally_bath
from catena.methods.heat.sums import Sums
from catena.systems.baths import disturb, draw_six, multiply_rows
from catena.systems.chain.forces import body_rotation
from catena.systems.chain.motion import momentum_place

ROOT_12 = 3.4641016151377544
OF_ONE = "split"  # bodies one by one, where a fault is easily built in


def obabo_step(z, e, dt, par, tab, work, carry):
    """The bath at the ends of the step, with constants of half steps: its configurations have the larger bias."""
    n = dimension(z)
    own = int(tab[0, 0])
    forces = carry[own:]
    force(z, par, forces)
    bath(z, e, par, int(carry[Sums.MEMBER]), 2 * int(carry[Sums.STEP]))
    status = kick(z, e, 0.5 * dt, par, forces)
    status += drift(z, e, dt, par, work[2 * n :])
    force(z, par, forces)
    status += kick(z, e, 0.5 * dt, par, forces)
    bath(z, e, par, int(carry[Sums.MEMBER]), 2 * int(carry[Sums.STEP]) + 1)
    tally_bath(z, par, carry[Sums.TOTAL : Sums.WIDTH], carry[Sums.WIDTH : own])
    carry[Sums.STEP] += 1.0
    carry[Sums.WINDOW] += 1.0
    return status


def published_step(z, e, dt, par, tab, work, carry):
    """The right step, but momenta are measured at its end instead of inside it."""
    n = dimension(z)
    own = int(tab[0, 0])
    forces = carry[own:]
    force(z, par, forces)
    status = kick(z, e, 0.5 * dt, par, forces)
    status += drift(z, e, 0.5 * dt, par, work[2 * n :])
    bath(z, e, par, int(carry[Sums.MEMBER]), int(carry[Sums.STEP]))
    status += drift(z, e, 0.5 * dt, par, work[2 * n :])
    force(z, par, forces)
    status += kick(z, e, 0.5 * dt, par, forces)
    tally_bath(z, par, carry[Sums.TOTAL : Sums.WIDTH], carry[Sums.WIDTH : own])
    carry[Sums.STEP] += 1.0
    carry[Sums.WINDOW] += 1.0
    return status


def uniform_numbers(par, member, step, j, stream):
    """Two numbers of variance 1 that are not normal."""
    w0, w1, w2, w3 = words(int(par.seed[0]), int(par.seed[1]), member, step, j, stream)
    return ROOT_12 * (unit_number(w0, w1) - 0.5), ROOT_12 * (unit_number(w2, w3) - 0.5)


def uniform_chain_bath(z, e, par, member, step):
    """Uniform noise on the bodies of a chain."""
    n = par.mass.shape[0]
    for j in range(n):
        p = momentum_place(n, j)
        for c in range(3):
            a, b = uniform_numbers(par, member, step, j, c)
            disturb(z, e, p + c, par.loss[j, c], par.stir[j, c], a)
            disturb(z, e, p + 3 * n + c, par.loss[j, 3 + c], par.stir[j, 3 + c], b)


def bath_of_two_frames(z, e, par, member, step):
    """Friction along the axes of the bodies, noise along those of space."""
    n = par.mass.shape[0]
    for j in range(n):
        if par.moves[j] + par.turns[j] != 0.0:
            p = momentum_place(n, j)
            y = p + 3 * n
            r = body_rotation(z, n, j)
            a, b, c, d, f, g = draw_six(par, member, step, j)
            push, turn = transposed_times(r, load3(z, p)), load3(z, y)
            loss = par.loss_matrix[j]
            stir = par.stir_matrix[j]
            add3(
                z,
                e,
                p,
                add_vectors(times(r, multiply_rows(loss, 0, push, turn)), multiply_rows(stir, 0, (a, b, c), (d, f, g))),
            )
            add3(z, e, y, add_vectors(multiply_rows(loss, 3, push, turn), multiply_rows(stir, 3, (a, b, c), (d, f, g))))


def accept_everything(error, kT, par, member, step):
    """A decision that always accepts."""
    return True


def with_fault(right: Kernel, step: Kernel, fault: Mapping[Slot, Filling]) -> Kernel:
    """A step with the kernels of the right one, except for the fault; also in kernels bound to bound kernels."""
    fills: dict[Slot, Filling] = {}
    while isinstance(right, Bound):
        fills = dict(right.fills) | fills
        right = right.function
    return bind(step, {**fills, **fault})


@dataclass(frozen=True)
class Faulty(ct.Langevin):
    """Base class of methods with another step, or with another kernel in a slot of the right one."""

    needs: ClassVar[tuple[str, ...]] = (OF_ONE,)
    step: ClassVar[Kernel] = langevin_step
    fault: ClassVar[Mapping[Slot, Filling]] = {}

    def stepper(self, view: View) -> Stepper:
        made = super().stepper(view)
        return replace(made, kernel=with_fault(made.kernel, type(self).step, self.fault))


@dataclass(frozen=True)
class NoiseAtTheEnds(Faulty):
    """`obabo_step` as a method."""

    name: ClassVar[str] = "NoiseAtTheEnds"
    step: ClassVar[Kernel] = obabo_step

    def stepper(self, view: View) -> Stepper:
        made = super().stepper(view)
        whole = made.timed
        assert whole is not None
        return replace(made, timed=lambda dt: whole(0.5 * dt))


@dataclass(frozen=True)
class PublishedMomenta(Faulty):
    """`published_step` as a method."""

    name: ClassVar[str] = "PublishedMomenta"
    step: ClassVar[Kernel] = published_step


@dataclass(frozen=True)
class UniformNoise(Faulty):
    """`uniform_chain_bath` as a method."""

    name: ClassVar[str] = "UniformNoise"
    fault: ClassVar[Mapping[Slot, Filling]] = {bath: uniform_chain_bath}


@dataclass(frozen=True)
class TwoFrames(Faulty):
    """`bath_of_two_frames` as a method; its friction differs along the axes of the bodies."""

    name: ClassVar[str] = "TwoFrames"
    fault: ClassVar[Mapping[Slot, Filling]] = {bath: bath_of_two_frames}


@dataclass(frozen=True)
class Frozen(ct.Langevin):
    """The third angular momentum of the last body but one (of a top: its own) is zero after every bath."""

    name: ClassVar[str] = "Frozen"
    needs: ClassVar[tuple[str, ...]] = (OF_ONE,)

    def stepper(self, view: View) -> Stepper:
        made = super().stepper(view)
        right = made.timed
        assert right is not None

        def timed(dt: float) -> dict[str, Numbers]:
            found = {name: np.array(array) for name, array in right(dt).items()}
            body = max(0, len(found["loss"]) - 2)
            found["loss"][body, -1], found["stir"][body, -1] = -1.0, 0.0
            return found

        return replace(made, timed=timed)


@dataclass(frozen=True)
class EverythingAccepted(ct.HybridMonteCarlo):
    """A twin that accepts every trajectory."""

    name: ClassVar[str] = "EverythingAccepted"

    def stepper(self, view: View) -> Stepper:
        made = super().stepper(view)
        return replace(made, kernel=with_fault(made.kernel, trial_step, {is_accepted: accept_everything}))
