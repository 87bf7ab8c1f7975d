"""One thread for each body of a chain, which shows to its neighbours what they need: what a system and a method say of it, for a GPU.

The view that has `Bodies` is one in sweeps (`catena.kernels.views.sweep`), and the bits are those of its sweeps.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .marks import Filling, Kernel, Slot, slot


@dataclass(frozen=True)
class Bodies:
    """How a thread for each body follows a chain, where its neighbours are all that a body sees.

    Attributes
    ----------
    count : bodies
    rows : numbers that are kept of each from launch to launch, the pending kick the last of them
    numbers : of a body while it is followed
    shown, linked : of these, what other bodies see of it, and of its link
    fills : slot -> kernel, of those for single bodies; and `publish` and `measure` for what is kept, z (rows, bodies)
    gathered : numbers of each that make up the state of a chain, see `gather_body`
    terms : of the energy of each link, see `terms_of_body`
    recorded : `publish` and `measure` for what is gathered, if par.link_terms (terms, bodies) are known
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
    """What is kept of body j, into column j of z (rows, bodies), from the numbers with which a start is given (`Begin`)."""


@slot
def load_body(z, j, w):
    """The numbers of body j from there, to be followed by a thread."""


@slot
def store_body(w, z, j):
    """Back to there."""


@slot
def sweep_body(w, i, before, after, j, moves, push, glide, par, shown, links):
    """`sweep` of body j, whose column among those that its block shares is i; those of its neighbours are `before` (-1: there is none) and
    `after` (i: there is none). If it does not move, only its forces are found. A status."""


@slot
def move_body(z, j, before, moves, push, glide, par, w, shown, links):
    """The first half of a sweep of body j, up to what it shows, where columns are bodies and a chain is too long for a block. A status."""


@slot
def join_body(z, j, after, par, w, shown, links):
    """The other half, when all bodies have shown themselves."""


@slot
def gather_body(z, j, par, out):
    """The state of body j, with the pending kick made, into out, which has that of all bodies."""


@slot
def place_body_of(z, j, par):
    """Prepare what the energies of links ask of body j; z: what was gathered."""


@slot
def terms_of_body(gathered, j, par, out):
    """The terms of the energy of the link of body j, into column j of out."""


@slot
def stirred_sweep_body(
    w, i, before, after, j, moves, push, glide, par, member, step, sums, shown, links, momenta, partial
):
    """`stirred_sweep` of body j, alike; sums: those of the body, the last of them that of its chain."""


@slot
def load_sums(carry, first, j, parts, sums):
    """The sums of body j, which stand in carry from `first` on, see `tally`."""


@slot
def store_sums(sums, carry, first, j, parts):
    """Back to there."""


@slot
def follow_body(
    w, i, before, after, j, count, most, dt, pending, par, tab, carry, sums, shown, links, momenta, partial
):
    """Of a method: `count` steps of body j, where some body of the block makes `most`; a status, and the length of the kick that is pending."""
