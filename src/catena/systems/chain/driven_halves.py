"""A driven chain in halves, for partitioned methods: z = (r | q | clocks | p | g | works), canonical as a whole.

The kernels of the field use z = (r | q | p | g | clocks | works); par.gathered has this order, with prescribed bodies
at the times of their clocks.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ...kernels import views
from ...kernels.marks import Filling, Numbers, Slot, bind
from ...kernels.views import View
from ..base import Array, State
from .drive_kernels import clock_place, place_moved, work_place
from .gathered import gathered_fills

if TYPE_CHECKING:
    from .chain import Chain


def gather_whole(z, par):
    """par.gathered of z."""
    half = 7 * par.mass.shape[0]
    count = par.drive_sort.shape[0]
    for i in range(half):
        par.gathered[i] = z[i]
        par.gathered[half + i] = z[half + count + i]
    for k in range(count):
        par.gathered[clock_place(z, k, par)] = z[half + k]
        par.gathered[work_place(z, k, par)] = z[work_place(z, k, par)]
    place_moved(par.gathered, par)


def halves_velocity(z, par, out):
    """Rates of positions, orientations and clocks."""
    gather_whole(z, par)
    views.velocity(par.gathered, par, par.gathered_rate)
    half = 7 * par.mass.shape[0]
    for i in range(half):
        out[i] = par.gathered_rate[i]
    for k in range(par.drive_sort.shape[0]):
        out[half + k] = 1.0


def halves_rate(z, par, out):
    """Rates of their momenta."""
    gather_whole(z, par)
    views.momentum_rate(par.gathered, par, par.gathered_rate)
    half = 7 * par.mass.shape[0]
    count = par.drive_sort.shape[0]
    for i in range(half):
        out[half + count + i] = par.gathered_rate[half + i]
    for k in range(count):
        out[work_place(z, k, par)] = par.gathered_rate[work_place(z, k, par)]


def halves_field(z, par, out):
    """Both halves."""
    halves_velocity(z, par, out)
    halves_rate(z, par, out)


def halves_field_end(b, par):
    """r, q, clocks, p, g, works."""
    n = par.mass.shape[0]
    count = par.drive_sort.shape[0]
    if b < 3:
        return 3 * n if b == 0 else (7 * n if b == 1 else 7 * n + count)
    return 10 * n + count if b == 3 else (14 * n + count if b == 4 else 14 * n + 2 * count)


def halves_step(z, e, dt, par, tab, work, carry):
    """A step, after which prescribed bodies are exactly on their path."""
    status = views.method_step(z, e, dt, par, tab, work, carry)
    if status == 0:
        gather_whole(z, par)
        for i in range(7 * par.mass.shape[0]):
            z[i] = par.gathered[i]
    return status


def halves_view(chain: Chain, view: View | None) -> View | None:
    """The view "field" of a driven chain, in halves."""
    if view is None:
        return None
    half, count = 7 * chain.count, len(chain.drives)
    order = np.concatenate(
        [np.arange(half), 2 * half + np.arange(count), half + np.arange(half), 2 * half + count + np.arange(count)]
    )
    back = np.argsort(order)
    left_out = (views.block_jacobian, views.block_entry)
    fills: dict[Slot, Filling] = {slot_: fill for slot_, fill in view.fills.items() if slot_ not in left_out}
    fills |= {
        views.velocity: bind(halves_velocity, {views.velocity: view.fills[views.velocity]}),
        views.momentum_rate: bind(halves_rate, {views.momentum_rate: view.fills[views.momentum_rate]}),
        views.field: bind(
            halves_field,
            {views.velocity: view.fills[views.velocity], views.momentum_rate: view.fills[views.momentum_rate]},
        ),
        views.field_end: halves_field_end,
    }
    fills |= gathered_fills(gather_whole, view.fills)
    if views.step in fills:
        fills[views.step] = halves_step

    def pack(state: State) -> Array:
        return view.pack(state)[order]

    def unpack(z: Array, time: float) -> State:
        return view.unpack(z[back], time)

    def scratch() -> dict[str, Numbers]:
        return {**view.scratch(), "gathered": np.zeros(view.dimension), "gathered_rate": np.zeros(view.dimension)}

    def body_of(variable: int) -> int:
        assert view.body_of is not None
        return view.body_of(int(order[variable]))

    return replace(
        view, name="halves", fills=fills, pack=pack, unpack=unpack, scratch=scratch, body_of=body_of, flags=view.flags - {views.Flag.BLOCK_JACOBIAN},
        packs_many=False,
    )  # fmt: skip
