"""The bath on linked bodies: kick and half the motion along the joints, friction and noise, the other half, kick.

    B A dt/2:  RATTLE over dt/2, with all of the force at its start      O dt      A B dt/2:  the same, force at its end

Motion along the joints without forces is a step of RATTLE, symplectic in the joints' degrees of freedom, so the scheme
and its errors are those of `langevin`; configurations have the density exp(-V/kT) sqrt(det M) of joint coordinates with
mass matrix M [leimkuhler2016]. A kick needs no projection of its own: the multipliers of the motion that follows, or
those at the end, include it.

work: the state (2 n), unknowns and the memory of the search for roots. tab: number of carry's numbers for the bath,
number of unknowns.
"""

from __future__ import annotations

import numpy as np

from ...errors import CapabilityError
from ...kernels.marks import Record, Slot, apart, bind, slot
from ...kernels.summation import put_back, save
from ...kernels.views import (
    OK,
    Flag,
    View,
    accept_increment,
    begin_increment,
    blame,
    dimension,
    guess_increment,
    share_forces,
    tally_of_links,
)
from ..base import Method, Stepper
from ..conserving.energy_momentum import CONVERGED, SURE, follow, increment_stepper, solve_increment
from .sums import Sums, count_step


@slot
def stir_links(z, e, par, member, step):
    """The bath on linked bodies; a status."""


class Sizes(Record):
    """Places of the table."""

    OWN = 1
    UNKNOWNS = 1


def linked_step(z, e, dt, par, tab, work, carry):
    """One step. One that fails leaves z and e as they were."""
    n = dimension(z)
    own = int(tab[0, Sizes.OWN])
    unknowns = int(tab[0, Sizes.UNKNOWNS])
    x = work[2 * n : 2 * n + unknowns]
    kept = work[2 * n + unknowns : 2 * n + 4 * unknowns]
    save(z, e, work)
    share_forces(par, 1.0, 0.0)
    status = glide(z, e, 0.5 * dt, par, x, kept)
    if status == OK:
        status = stir_links(z, e, par, int(carry[Sums.MEMBER]), int(carry[Sums.STEP]))
    if status == OK:
        tally_of_links(z, par, carry[Sums.TOTAL : Sums.WIDTH], carry[Sums.WIDTH : own])
        share_forces(par, 0.0, 1.0)
        status = glide(z, e, 0.5 * dt, par, x, kept)
    if status != OK:
        blame(par)
        put_back(z, e, work)
        return status
    count_step(carry)
    return OK


@apart
def glide(z, e, h, par, x, kept):
    """Motion along the joints over h, from fresh velocities: earlier steps say nothing about where it leads."""
    begin_increment(z, h, par, x)
    guess_increment(par, x)
    status, first, fall = solve_increment(z, h, par, x, CONVERGED)
    if status == OK and max(first, fall) > SURE:
        status = follow(z, h, par, x, kept)
    if status == OK:
        status = accept_increment(z, e, h, par, x)
    return status


def linked_stepper(view: View, rotor: Method | None, bath: Slot) -> Stepper:
    """The step with this bath, without the parts common to all baths."""
    if rotor is not None:
        raise CapabilityError("linked bodies turn as RATTLE turns them", do="leave rotor out")
    if Flag.DAMPERS in view.flags:
        raise CapabilityError(
            "dampers take energy that nothing gives back, so that it has no temperature",
            do="leave the dampers out: a bath has a friction of its own",
        )
    if Flag.LINEAR_BODIES in view.flags:
        raise CapabilityError(
            "it needs bodies with three moments of inertia, and one of these is a line or a point",
            do="give the body some thickness",
        )
    base = increment_stepper(view, parts=1)
    assert view.inertia is not None
    own = Sums.WIDTH + 2 * len(view.inertia().variances)
    return Stepper(
        bind(linked_step, {stir_links: bath}), np.array([[float(own), float(view.unknowns)]]), base.work, own
    )
