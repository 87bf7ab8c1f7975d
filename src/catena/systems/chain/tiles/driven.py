"""A driven chain in tiles: the view of `tiles`, with clocks and works after the tiles."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ....kernels import views
from ....kernels.declarations import Fold
from ....kernels.marks import Filling, Numbers, Slot, bind
from ....kernels.views import View
from ...base import Array, State
from ...one_body import NOT_CANONICAL
from .. import drive_kernels, motion
from ..drive_kernels import GRAVITY
from ..driving import at_rest, prescribed_momenta, recorded_fills
from ..gathered import gathered_fills
from . import driven_kernels as kernels
from .driven_kernels import Tail

if TYPE_CHECKING:
    from ..chain import Chain


def driven_tiles(chain: Chain, view: View | None) -> View | None:
    """The view of the chain alone, if there is one, and a tail for each drive after its tiles."""
    if view is None:
        return None
    below, drives = view.fills, chain.drives
    fills: dict[Slot, Filling] = {
        **below,
        drive_kernels.drive_values: drives.values,
        views.settle: bind(kernels.settle_driven, {views.settle: below[views.settle]}),
        views.sweep: bind(kernels.sweep_driven, {views.sweep: below[views.sweep]}),
        views.keep: bind(kernels.keep_driven, {views.keep: below[views.keep]}),
        views.recall: bind(kernels.recall_driven, {views.recall: below[views.recall]}),
        **gathered_fills(
            kernels.gather_driven,
            recorded_fills({views.publish: motion.publish_split, views.measure: motion.measure_split}),
        ),
    }
    tails = Tails(chain, view)

    def scratch() -> dict[str, Numbers]:
        own: dict[str, Numbers] = {
            "gathered": np.zeros(13 * chain.count + 2 * len(drives)),
            "kept_tail": np.zeros(tails.width),
        }
        return {**view.scratch(), **drives.scratch(), **own}

    assert view.fold is not None
    return replace(
        view, fills=fills, dimension=view.dimension + tails.width, pack=tails.pack, unpack=tails.unpack, scratch=scratch,
        withdrawn=view.withdrawn | (frozenset() if drives.has_potential else NOT_CANONICAL),
        parts=0,  # a drive affects all tiles
        begin=None,
        bodies=None,
        inertia=None,  # the sweep with a bath does not support clocks; the plain variables do
        body_of=tails.body_of, fold=Fold(view.fold.size + tails.width, tails.fold, tails.unfold),
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Tails:
    """The variables before the last two numbers of the view of the chain alone."""

    chain: Chain
    view: View

    @property
    def width(self) -> int:
        """Length of all tails."""
        return Tail.WIDTH * len(self.chain.drives)

    def cut(self, z: Array) -> tuple[Array, Array]:
        """Split the variables: those of the chain alone, and the tails."""
        first = self.view.dimension - 2
        return np.concatenate([z[:first], z[-2:]]), z[first:-2]

    def joined(self, z: Array, tails: Array) -> Array:
        """Join both."""
        return np.concatenate([z[:-2], tails, z[-2:]])

    def pack(self, state: State) -> Array:
        """The clocks at the time of the state, and zero works."""
        tails = np.zeros((len(self.chain.drives), Tail.WIDTH))
        tails[:, Tail.CLOCK] = state.time
        return self.joined(self.view.pack(at_rest(self.chain, state)), tails.ravel())

    def unpack(self, z: Array, time: float) -> State:
        """The state, including the contribution of the drives to the pending kick."""
        own, tails = self.cut(z)
        state, par = self.view.unpack(own, time), self.chain.parameter_arrays()
        for acting, row in zip(self.chain.drives.acting, tails.reshape(-1, Tail.WIDTH), strict=True):
            push = z[-1] * row[Tail.PUSH : Tail.PUSH + 3]
            if acting.sort == GRAVITY:
                state.momentum[...] += (par["moves"] * par["mass"])[:, None] * push
            else:
                state.momentum[acting.body] += par["moves"][acting.body] * push
        return prescribed_momenta(self.chain, state)

    def fold(self, z: Array) -> Array:
        """The part that a checkpoint holds."""
        own, tails = self.cut(z)
        assert self.view.fold is not None
        return np.concatenate([self.view.fold.fold(own), tails])

    def unfold(self, kept: Array) -> Array:
        """The variables from a checkpoint."""
        assert self.view.fold is not None
        size = self.view.fold.size
        return self.joined(self.view.fold.unfold(kept[:size]), kept[size:])

    def body_of(self, variable: int) -> int:
        """The body of a variable."""
        first = self.view.dimension - 2
        if first <= variable < first + self.width:
            return self.chain.drives.acting[(variable - first) // Tail.WIDTH].body
        assert self.view.body_of is not None
        return self.view.body_of(min(variable, first - 1))
