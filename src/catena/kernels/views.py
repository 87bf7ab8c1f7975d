"""Every slot of the compiled loop, once: an empty function whose signature is the contract.

A system fills the slots of the views it offers; a method fills `step` and asks for views by name.
Letters: z stepped state, e its compensation (the true state is z + e), par the parameters of the
system, which are never written to, and its scratch (a namedtuple of arrays), tab the coefficients of the
method, work scratch whose content is irrelevant between calls, carry everything a method keeps from
step to step.

Kernels allocate nothing and raise nothing; those that can fail return a status.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from dataclasses import field as _default
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .bodies import Bodies
from .declarations import Begin, Fold, Inertia
from .marks import Filling, Numbers, Slot, Written, choice, size, slot

OK = 0
NOT_CONVERGED = 1  # the stage equations have no solution within reach
SINGULAR = 2  # the matrix of a Newton step cannot be factorised
NOT_FINITE = 3  # the state overflowed or became undefined
STEP_TOO_LONG = 5  # a rotation in the step is beyond the reach of the rotor
UNRESOLVED = 6  # a start so near the unstable axis of a free body that the time of leaving it is unknown
LOOP_LOST = 7  # a closed loop cannot be followed: its degrees of freedom change, or the step is too long
WORKER_LOST = 8  # not a status of a step: every process that stepped a member died
NOT_LOCATED = 4  # a step to a crossing failed
BUFFER_FULL = -1  # not a failure: the caller must empty the buffer of crossings and continue
STOPPED = -2  # not a failure: an event requested a stop


class Flag(StrEnum):
    """A fact about a view that a method may use."""

    SEPARABLE = "separable"  # H = T(p) + V(q)
    QUADRATIC_KINETIC = "quadratic_kinetic"  # T is quadratic in the momenta
    COMMUTATOR_KICK = "commutator_kick"  # that slot is filled
    JACOBIAN = "jacobian"  # that slot is filled
    BLOCK_JACOBIAN = "block_jacobian"  # that slot is filled
    REGISTERS = "registers"  # that slot is filled, by straight-line code
    ROTOR = "rotor"  # free rotations are made by a rotor
    LINEAR_BODIES = "linear_bodies"  # some body has a zero moment about one of its axes
    SCALING = "scaling"  # the body can change its scale
    NONE = "none"  # its scale is free
    EQUALITY = "equality"  # its scale is held
    UNILATERAL = "unilateral"  # its scale is bounded
    FREE = "free"  # nothing acts on it
    DAMPERS = "dampers"  # something dissipates energy
    NEWTON_ON_DEMAND = "newton_on_demand"  # Newton's method takes long to compile: only on request


@dataclass(frozen=True)
class View:
    """What a system shows to a method, and the variables that are stepped.

    Attributes
    ----------
    name : "field", "canonical", "split", ...
    fills : slot -> kernel of the system; `publish` and `measure` among them
    dimension : number of stepped variables
    pack : state -> stepped variables
    unpack : (stepped variables, time) -> state
    flags : facts a method may use
    literal : whether sizes become literals of the compiled code
    moments : (bodies, 3), principal moments of the bodies that a rotor turns
    body_of : number of a stepped variable -> number of its body; None where there are no bodies
    unknowns : number of unknowns of a conserving step
    parameters : arrays in par beyond the parameters of the system; the kernels of this view read them and never change them
    scratch : () -> arrays in par that they write to, as before the first step: each driver and member has its own
    spread : constants of a rotor (bodies, k), and optionally those of a heat bath (bodies, 18: loss, stir, precision; equal for p
        along all axes) -> the same in the layout for kernels on lanes
    withdrawn : tags of invariants that do not have this form in the stepped variables here, so that no promise holds;
        "symplectic" if the variables are not canonical, or not those of a Hamiltonian
    needed : tags of invariants without which the motion makes no sense here, although nothing enforces them
    held : tags of invariants that the stepped variables themselves keep, whatever the method
    factors : number of `factorise_shifted` that are kept at a time -> scratch for them; None if there is no such kernel
    fold : the part of z that a checkpoint holds, without e; None if it holds all of both
    inertia : () -> the inertia of its momenta in a heat bath; None if it has none
    measures : how many numbers `measure` gives, the energy first, if a method asks for it
    packs_many : whether `pack` takes fields with leading axes, with the same bits, and gives z with the same axes
    parts : number of parts into which a sweep can be divided, see `sweep_part`; 0: none
    begin : a smaller set of numbers that gives a start; None if it takes all stepped variables
    bodies : () -> how threads of a GPU share the bodies; None: a thread steps all of them
    side_by_side : names of the scratch that the equations write into, where several evaluations at once, each in a lane of vector registers,
        take less time (kernels that branch are left out by the engine); None where they do not
    """

    name: str
    fills: Mapping[Slot, Filling]
    dimension: int
    pack: Callable[[Any], NDArray[np.float64]]
    unpack: Callable[[NDArray[np.float64], float], Any]
    flags: frozenset[Flag] = _default(default_factory=frozenset)
    literal: bool = True
    moments: NDArray[np.float64] | None = None
    body_of: Callable[[int], int] | None = None
    unknowns: int = 0
    parameters: Mapping[str, Numbers] = _default(default_factory=dict)
    scratch: Callable[[], Mapping[str, Numbers]] = dict
    spread: Callable[..., NDArray[np.float64]] | None = None
    withdrawn: frozenset[str] = _default(default_factory=frozenset)
    needed: frozenset[str] = _default(default_factory=frozenset)
    held: frozenset[str] = _default(default_factory=frozenset)
    factors: Callable[[int], Mapping[str, Numbers]] | None = None
    fold: Fold | None = None
    inertia: Callable[[], Inertia] | None = None
    measures: int = 0
    packs_many: bool = False
    parts: int = 0
    begin: Begin | None = None
    bodies: Callable[[], Bodies] | None = None
    side_by_side: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "flags", frozenset(map(Flag, self.flags)))  # ValueError for an unknown one
        if field in self.fills and field_end not in self.fills:
            object.__setattr__(self, "fills", {**_one_field(self.dimension), **self.fills})

    def pack_members(
        self, state: Callable[..., Any], fields: Mapping[str, NDArray[np.float64]], times: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Starts (m, start_size), see `grown`, of members from fields and times with a leading axis.

        `state` makes states of parts of these.
        """
        if self.begin is not None:
            return np.ascontiguousarray(self.begin.pack(state(fields, times)))
        if self.packs_many:
            return np.ascontiguousarray(self.pack(state(fields, times)))
        states = (state({name: array[k] for name, array in fields.items()}, float(t)) for k, t in enumerate(times))
        return np.array([self.pack(one) for one in states])

    @property
    def start_size(self) -> int:
        """How many numbers give the start of a member."""
        return self.dimension if self.begin is None else self.begin.size

    def grown(self, starts: NDArray[np.float64]) -> NDArray[np.float64]:
        """The stepped variables (..., dimension) of starts; starts of older stores have all of them already."""
        return starts if self.begin is None or starts.shape[-1] == self.dimension else self.begin.grow(starts)

    @property
    def kept_sizes(self) -> tuple[int, int]:
        """Sizes of z and e in a checkpoint."""
        return (self.dimension, self.dimension) if self.fold is None else (self.fold.size, 0)

    def stepped(self, kept: NDArray[np.float64]) -> NDArray[np.float64]:
        """The stepped variables of a checkpoint; older ones hold all of them."""
        return kept if self.fold is None or kept.shape == (self.dimension,) else self.fold.unfold(kept)


def _one_field(dimension: int) -> dict[Slot, Filling]:
    """Defaults of `field_count` and `field_end`: all variables have one magnitude."""
    return {
        field_count: 1,
        field_end: Written("field_end", f"def field_end(b, par):\n    return {dimension}", __name__),
    }


# Sizes -----------------------------------------------------------------------------------------


@size
def dimension(z):
    """Number of stepped variables."""
    return z.shape[0]


@size
def field_count(par):
    """Number of fields in z with different magnitudes (q and p; positions, quaternions, ...); by default one."""
    return par.field_ends.shape[0]


@slot
def field_end(b, par):
    """Index in z where field b ends."""


@choice
def has_clock():
    """1 if the time is among the stepped variables, so that forces may arise from zero within a step; else 0."""
    return 0


# The method ------------------------------------------------------------------------------------


@slot
def step(z, e, dt, par, tab, work, carry):
    """One step of length dt, z and e in place; 0 or a failure code (then z and e are untouched)."""


@slot
def method_step(z, e, dt, par, tab, work, carry):
    """The step of the method only, for a system that fills `step` itself to complete it."""


@slot
def rewind(carry):
    """Go back to the start of the step made with this carry: zeros, or what is known of the solution from there."""


# View "field" ----------------------------------------------------------------------------------


@slot
def field(z, par, out):
    """dz/dt at z, into out."""


@slot
def jacobian(z, par, out):
    """Derivative of `field` at z, into out[i * n + j] = d field_i / d z_j."""


@choice
def is_closed():
    """Whether bodies form a ring: the last one is the neighbour of the first."""
    return 0


@slot
def block_jacobian(z, par, out):
    """Derivative of `field` at z for bodies that interact with their neighbours only, into out (bodies, 6, 7, 7).

    For body j with positions x = (r, q) and momenta m = (p, g): dx'/dx, dx'/dm, dm'/dx, dm'/dm, and dm'/dx by the
    positions of bodies j - 1 and j + 1, round the ring if `is_closed`. All other derivatives are zero.
    """


@slot
def block_entry(j, a, par):
    """Index in z of entry a of body j, ordered (r, q, p, g)."""


@slot
def linearise(z, par):
    """Store in par the derivative J of `field` at z, in the form that the next two need."""


@slot
def factorise_shifted(c, h, par):
    """Store in par the factors number c, of 1 - h J for a complex h; a status."""


@slot
def solve_shifted(c, h, x, par):
    """Solve (1 - h J) x = x in place, by the factors number c.

    Variables that never change may be treated as constants, and those on which nothing depends may be left unchanged.
    """


@slot
def registers(*z_and_par):
    """`field` on scalars: (z0, z1, ..., par) -> tuple.

    For small systems: no intermediate result goes through memory.
    """


@slot
def held_parameters(par):
    """Replacement for `par` in `registers` on lanes: its numbers, loaded once, so that no store can change them."""


# View "canonical": z = (q, p) ----------------------------------------------------------------------


@slot
def velocity(z, par, out):
    """dq/dt = H_p into the first half of out."""


@slot
def momentum_rate(z, par, out):
    """dp/dt = -H_q into the second half of out."""


# View "split": H = T(p) + V(q), or the free motion of bodies + V --------------------------------------


@slot
def force(z, par, out):
    """Force of the potential on the momenta; it depends on positions only, so several kicks may use it."""


@slot
def kick(z, e, h, par, out):
    """Exact flow of V over h, with the force `out` at z; returns a status."""


@slot
def drift(z, e, h, par, work):
    """Exact flow of T over h; returns a status."""


@slot
def commutator_kick(z, e, s, par, out):
    """Flow over s of the commutator {V, {V, T}}, a function of positions, with the force `out` at z."""


@slot
def bath(z, e, par, member, step):
    """Exact flow of friction and noise over a step, on all momenta: p += (E - 1) p + L xi, xi drawn for this member and step."""


@slot
def bath_of_components(z, e, par, member, step):
    """`bath` for E and L without coupling: par.loss = E - 1 and par.stir = L, (parts, components)."""


@slot
def bath_of_bodies(z, e, par, member, step):
    """`bath` with par.loss_matrix and par.stir_matrix, (parts, k, k): for bodies on (R^T p, y), momenta along principal axes."""


@slot
def reverse(z, e, par):
    """Reverse all momenta."""


@slot
def tally(z, par, total, sums):
    """Add the squares of the momenta over their variances (par.precision), and the sum of their squares, to sums.

    sums[c * parts + j] is that of component c of part j; one more row is for the fourth moments. total[0] receives the
    square of the total momentum, in units of its variance; the 24 numbers after it are room for partial sums.
    """


@slot
def tally_of_bodies(z, par, total, sums):
    """`tally` if `bath_of_bodies` has matrices of coordinates: for the independent par.whitening p."""


# View "tiles": the bodies of a chain side by side, each quantity in lanes; one pass over memory for each stage ----------


@slot
def multiply_add(a, b, c):
    """a b + c, rounded once."""


@slot
def settle(z, par):
    """Particles and forces for the positions in z, before the first sweep."""


@slot
def sweep(z, e, push, glide, par):
    """A kick over `push` with the forces in z, free motion over `glide`, then the new forces; a status."""


@slot
def sweep_part(z, push, glide, par, begin, end):
    """`sweep` of the parts begin to end - 1 only, without joining the last of them to the next; thread-safe.

    A status.
    """


@slot
def join_part(z, par, part):
    """Join a part to the next, or the last one to nothing, after the parts of a sweep."""


@slot
def stirred_sweep(z, e, push, glide, par, member, step, total, sums):
    """`sweep` with the bath, and the `tally` after it, in the middle: free motion over `glide` before and after."""


@slot
def keep(z, par):
    """Save the state, for `recall`."""


@slot
def recall(z, par):
    """Restore the saved state; its forces must be computed again with `settle`."""


@slot
def rotate_lane(y1, y2, y3, h, constants, at, stride):
    """Free rotation over h without branches: rho - 1 (four numbers) and the change of y (three).

    The constants of the body are at constants[at], constants[at + stride], ...; the first of them is c such that this
    works for c h^2 |y|^2 < 1.
    """


# Rotors: the free rotation of a body, the method of a free body and part of the drift of others ---------------------


@slot
def rotate(y, q, ey, eq, inertia, h, tab):
    """Free rotation over h: body angular momentum y and orientation q with their compensations, in place; a status."""


# View "flow": a motion in closed form -------------------------------------------------------------------------------------


@slot
def flow(t, start, par, out):
    """The state at time t after `start`, into out; a status."""


# View "quat_em": a potential of orientation, on the nine elements of R (principal axes), row by row -------------------


@slot
def attitude_potential(r, par):
    """U(R)."""


@slot
def attitude_gradient(r, par):
    """dU/dR_ij as nine numbers."""


# Pair potentials, on s = r^2 ------------------------------------------------------------------------------------------


@slot
def pair_force(s, which, par):
    """A = -(dV/dr)/r of potential number `which`: the force on the first particle is A (x_a - x_b)."""


@slot
def pair_energy(s, which, par):
    """V(r)."""


@slot
def pair_slope(s, which, par):
    """dA/ds."""


@slot
def pair_mean(s0, s1, which, par):
    """A in a step that keeps the energy, between two squared distances: -2 (V1 - V0)/(s1 - s0)."""


# View "energy_momentum": a conserving step as equations for unknowns x that vanish with the step h ---------------------


@slot
def begin_increment(z, h, par, x):
    """Prepare a step of length h from z."""


@slot
def guess_increment(par, x):
    """A first guess of x: the motion without forces."""


@slot
def correct_increment(z, h, par, x):
    """One Newton correction of x in place.

    Returns its size relative to the motion, 0 if it is noise, or -1 if there is none.
    """


@slot
def accept_increment(z, e, h, par, x):
    """The state after the step, z and e in place; a status (z and e are untouched if it is not OK)."""


@slot
def share_forces(par, first, last):
    """Fractions of the forces that act at the start of the following increments, and at their end; 1 is all of them."""


@slot
def bath_of_links(z, e, par, member, step):
    """`bath` if joints hold the bodies: par.loss and par.stir (bodies, 6) for a single rate; a status."""


@slot
def bath_of_rates_of_links(z, e, par, member, step):
    """The same for several rates; a status.

    par.loss and par.stir act on bodies that friction makes heavier, par.heavier (bodies, 6).
    """


@slot
def tally_of_links(z, par, total, sums):
    """`tally` right after it: per body, momentum times velocity of its joint (par.precision, (bodies, 1))."""


@slot
def blame(par):
    """Note in par which equation the last correction could not satisfy, for the message of a failed step."""


# What a run records --------------------------------------------------------------------------------


@slot
def publish(z, par, row):
    """The public fields of the state, one after the other, into row."""


@slot
def measure(z, par, out, scale):
    """The invariants into out; scale keeps the largest magnitude of their terms."""


@slot
def account(par, carry, row):
    """Write what the method has accumulated in carry since the last sample into row, and reset it."""


@size
def account_width(carry):
    """How many numbers `account` writes; always replaced by a literal."""
    return carry.shape[0]


# Sections and events -------------------------------------------------------------------------------


@slot
def remember(z, e, copies):
    """Save what is needed to repeat the next step."""


@slot
def observe(z, e, t, dt, par, tab, work, marks, copies, spare, crossings):
    """Look for crossings in the step just made from time t; 0, a failure code, BUFFER_FULL or STOPPED."""


@slot
def observe_part(z, e, t, dt, par, tab, work, marks, copies, spare, crossings):
    """The same in a part of a step, for a method that fills `observe` itself because a step has several parts."""


@size
def crossing_count(marks):
    """Number of sections and events; always replaced by a literal."""
    return (marks.shape[0] - 1) // 3


@slot
def crossing_value(i, row, t, par):
    """The function whose sign change is crossing i, on a published row."""


@slot
def crossing_wanted(i, row, t, par):
    """Whether the side condition of crossing i holds."""
