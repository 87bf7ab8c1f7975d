"""Forces between particles of bodies that no link joins: a chain cannot pass through itself. Added to link forces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ...geometry.vectors import add3, load3, subtract
from ...kernels.marks import Filling, Numbers, Slot, bind
from ...kernels.views import Flag, View
from ..particles.kernels import find_energies, find_wrenches, place_body
from ..particles.layout import Center, Particle
from . import forces as chain_forces
from .forces import body_rotation, torque_in_body

if TYPE_CHECKING:
    from .chain import Chain


def place_chain(z, par):
    """Compute the positions of all particles."""
    n = par.mass.shape[0]
    for j in range(n):
        place_body(j, subtract(load3(z, 3 * j), load3(z, 0)), body_rotation(z, n, j), 0, par)


def add_distant_forces(z, par):
    """Forces of the links, and of the pairs of bodies that no link joins."""
    chain_forces.add_link_forces(z, par)
    place_chain(z, par)
    find_wrenches(par)
    n = par.mass.shape[0]
    for j in range(n):
        own = par.particle_center[j]
        u = load3(own, Center.TORQUE)
        add3(par.f[j], 0, load3(own, Center.FORCE))
        add3(par.tau[j], 0, torque_in_body(z, n, j, u[0], u[1], u[2], par))


def energy_of_distant(z, par):
    """Energy of the pairs of bodies that no link joins."""
    place_chain(z, par)
    for a in range(par.particle.shape[0]):
        par.particle[a, Particle.ENERGY] = 0.0
    find_energies(par)
    total = 0.0
    for a in range(par.particle.shape[0]):
        total += par.particle[a, Particle.ENERGY]
    return total


def distant_fills(chain: Chain, below: Filling) -> dict[Slot, Filling]:
    """Kernels for the slots of the forces, on top of those of the links."""
    return chain.acting.fills(len(chain.interactions.arrays["pair"])) | {
        chain_forces.add_link_forces: bind(add_distant_forces, {chain_forces.add_link_forces: below}),
        chain_forces.distant_energy: energy_of_distant,
    }


def distant_arrays(chain: Chain) -> dict[str, Numbers]:
    """The parameters of the kernels; constants of the potentials follow those of the links."""
    if chain.acting.pairs is None:
        return {}
    return {**chain.acting.arrays, "pair": np.concatenate([chain.interactions.arrays["pair"], chain.acting.constants])}


def distant_view(chain: Chain, view: View | None) -> View | None:
    """A view with these forces; the blocks of neighbours are then only a part of its Jacobian."""
    if view is None or chain.acting.pairs is None:
        return view
    fills = {**view.fills, **distant_fills(chain, view.fills[chain_forces.add_link_forces])}
    return replace(
        view, fills=fills, flags=view.flags - {Flag.BLOCK_JACOBIAN},
        scratch=lambda: {**view.scratch(), **chain.acting.scratch()},
    )  # fmt: skip


def near_bodies(count: int, exclude: int, *, closed: bool) -> Sequence[set[int]]:
    """For each body, the bodies after it that are at most `exclude` links away."""
    near: list[set[int]] = [set() for _ in range(count)]
    for i in range(count):
        for hop in range(1, min(exclude, count - 1) + 1):
            j = i + hop
            if j < count or closed:
                first, second = sorted((i, j % count))
                near[first].add(second)
    return [{j for j in others if j != i} for i, others in enumerate(near)]
