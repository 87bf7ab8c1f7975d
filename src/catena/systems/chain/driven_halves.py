"""A driven chain in halves, for partitioned methods: z = (r | q | clocks | p | g | works), canonical as a whole.

The kernels of the field know z = (r | q | p | g | clocks | works); par.whole is that, with moved bodies where they are at the time of their clocks.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ...kernels import views
from ...kernels.marks import Filling, Numbers, Slot, bind, slot
from ...kernels.views import View, method_step
from ..base import Array, State
from .drive_kernels import clock_place, place_moved, work_place

if TYPE_CHECKING:
    from .chain import Chain


@slot
def whole_velocity(z, par, out):
    """Rates of r and q, in the order of the field."""


@slot
def whole_rate(z, par, out):
    """Rates of p, g and works, in the order of the field."""


@slot
def publish_whole(z, par, row):
    """`publish` in that order."""


@slot
def measure_whole(z, par, out, scale):
    """`measure` in that order."""


def gather_whole(z, par):
    """par.whole of z."""
    half = 7 * par.mass.shape[0]
    count = par.drive_sort.shape[0]
    for i in range(half):
        par.whole[i] = z[i]
        par.whole[half + i] = z[half + count + i]
    for k in range(count):
        par.whole[clock_place(z, k, par)] = z[half + k]
        par.whole[work_place(z, k, par)] = z[work_place(z, k, par)]
    place_moved(par.whole, par)


def halves_velocity(z, par, out):
    """Of positions, orientations and clocks."""
    gather_whole(z, par)
    whole_velocity(par.whole, par, par.whole_rate)
    half = 7 * par.mass.shape[0]
    for i in range(half):
        out[i] = par.whole_rate[i]
    for k in range(par.drive_sort.shape[0]):
        out[half + k] = 1.0


def halves_rate(z, par, out):
    """Of their momenta."""
    gather_whole(z, par)
    whole_rate(par.whole, par, par.whole_rate)
    half = 7 * par.mass.shape[0]
    count = par.drive_sort.shape[0]
    for i in range(half):
        out[half + count + i] = par.whole_rate[half + i]
    for k in range(count):
        out[work_place(z, k, par)] = par.whole_rate[work_place(z, k, par)]


def halves_field(z, par, out):
    """Both."""
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
    """A step, after which moved bodies stand where they are told to."""
    status = method_step(z, e, dt, par, tab, work, carry)
    if status == 0:
        gather_whole(z, par)
        for i in range(7 * par.mass.shape[0]):
            z[i] = par.whole[i]
    return status


def publish_halves(z, par, row):
    """The public fields."""
    gather_whole(z, par)
    publish_whole(par.whole, par, row)


def measure_halves(z, par, out, scale):
    """The invariants."""
    gather_whole(z, par)
    measure_whole(par.whole, par, out, scale)


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
        views.velocity: bind(halves_velocity, {whole_velocity: view.fills[views.velocity]}),
        views.momentum_rate: bind(halves_rate, {whole_rate: view.fills[views.momentum_rate]}),
        views.publish: bind(publish_halves, {publish_whole: view.fills[views.publish]}),
        views.measure: bind(measure_halves, {measure_whole: view.fills[views.measure]}),
        views.field: bind(
            halves_field,
            {whole_velocity: view.fills[views.velocity], whole_rate: view.fills[views.momentum_rate]},
        ),
        views.field_end: halves_field_end,
    }
    if views.step in fills:
        fills[views.step] = halves_step

    def pack(state: State) -> Array:
        return view.pack(state)[order]

    def unpack(z: Array, time: float) -> State:
        return view.unpack(z[back], time)

    def scratch() -> dict[str, Numbers]:
        return {**view.scratch(), "whole": np.zeros(view.dimension), "whole_rate": np.zeros(view.dimension)}

    def body_of(variable: int) -> int:
        assert view.body_of is not None
        return view.body_of(int(order[variable]))

    return replace(
        view, name="halves", fills=fills, pack=pack, unpack=unpack, scratch=scratch, body_of=body_of, flags=view.flags - {views.Flag.BLOCK_JACOBIAN},
        packs_many=False,
    )  # fmt: skip
