"""Slots for a GPU with one thread for each body of a chain, which shows its neighbours what they need.

The view that has `Bodies` also has sweeps (`catena.kernels.views.sweep`), and the bits are those of its sweeps.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .marks import Filling, Kernel, Slot, slot


@dataclass(frozen=True)
class Bodies:
    """How one thread for each body steps a chain in which a body sees only its neighbours.

    Attributes
    ----------
    count : number of bodies
    rows : numbers per body that are kept between launches, the pending kick last
    numbers : numbers per body while its thread steps it
    shown, linked : how many of these are visible to other bodies: of the body itself, and of its link
    fills : slot -> kernel, for single bodies; and `publish` and `measure` for the kept numbers, z (rows, bodies)
    gathered : numbers per body in the state of a chain, see `gather_body`
    terms : number of terms of the energy of each link, see `terms_of_body`
    recorded : `publish` and `measure` for the gathered state, if par.link_terms (terms, bodies) are known
    """

    count: int
    rows: int
    numbers: int
    shown: int
    linked: int
    fills: Mapping[Slot, Filling]
    gathered: int
    terms: int
    recorded: tuple[Kernel, Kernel]


@slot
def begin_body(start, j, z):
    """Write the kept numbers of body j into column j of z (rows, bodies), from those of a start (`Begin`)."""


@slot
def load_body(z, j, w):
    """Load the numbers of body j from column j of z, for its thread."""


@slot
def store_body(w, z, j):
    """Store the numbers of body j into column j of z."""


@slot
def sweep_body(w, i, before, after, j, moves, push, glide, par, shown, links):
    """`sweep` of body j; returns a status. If it does not move, only its forces are computed.

    Its column in the memory shared by the block is i; the columns of its neighbours are `before` (-1: none) and `after`
    (i: none).
    """


@slot
def move_body(z, j, before, moves, push, glide, par, w, shown, links):
    """First half of a sweep, up to what body j shows, if a chain is too long for a block (columns are bodies)."""


@slot
def join_body(z, j, after, par, w, shown, links):
    """Second half of the sweep, after all bodies have shown themselves."""


@slot
def gather_body(z, j, par, out):
    """Write the state of body j, including the pending kick, into out, the state of all bodies."""


@slot
def place_body_of(z, j, par):
    """Prepare what the energies of links need of body j; z: the gathered state."""


@slot
def terms_of_body(gathered, j, par, out):
    """The terms of the energy of the link of body j, into column j of out."""


@slot
def stirred_sweep_body(
    w, i, before, after, j, moves, push, glide, par, member, step, sums, shown, links, momenta, partial
):
    """`stirred_sweep` of body j, in the same way; sums: those of the body, the last one that of its chain."""


@slot
def load_sums(carry, first, j, parts, sums):
    """Load the sums of body j, which are in carry from `first` on, see `tally`."""


@slot
def store_sums(sums, carry, first, j, parts):
    """Store the sums of body j back into carry."""


@slot
def follow_body(
    w, i, before, after, j, count, most, dt, pending, par, tab, carry, sums, shown, links, momenta, partial
):
    """Filled by a method: `count` steps of body j, if some body of the block makes `most`.

    Returns a status, and the length of the pending kick.
    """
