"""The views of a chain: the stepped variables of each form, and the kernels that act on them.

quaternion: (r, q, p, y) for splittings and RATTLE, (r, q, p, g) for Runge-Kutta and partitioned methods;
multiplier: (r, q, p, g); rotation: (r, R, p, y). Principal axes throughout.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ...geometry import rotations
from ...kernels import views
from ...kernels.marks import Filling, Numbers, Slot
from ...kernels.views import Flag, View
from ..base import Array, State
from ..one_body import NOT_CANONICAL
from . import bath as chain_bath
from . import forces as chain_forces
from . import hessian as chain_hessian
from . import motion as chain_motion
from . import multiplier as chain_multiplier
from . import rotation as chain_rotation

if TYPE_CHECKING:
    from .chain import Chain


def quaternion_view(chain: Chain, name: str) -> View | None:
    """The canonical equations, and their splitting."""
    fills: dict[Slot, Filling] = {chain_forces.body_rotation: chain_forces.rotation_of_quaternion}
    if name in ("split", "constrained"):
        fills |= {
            chain_motion.turn_freely: chain_motion.turn_quaternion, views.publish: chain_motion.publish_split,
            views.measure: chain_motion.measure_split,
        }  # fmt: skip
        return _split_view(chain, name, fills, (3, 4, 3, 3), to_split, from_split)
    if name in ("canonical", "field"):
        fills |= {
            views.field: chain_motion.canonical_field, views.velocity: chain_motion.canonical_velocity,
            views.momentum_rate: chain_motion.canonical_rate, views.measure: chain_motion.measure_canonical,
            views.block_jacobian: chain_hessian.chain_jacobian, views.block_entry: chain_hessian.chain_entry,
        }  # fmt: skip
        view = _canonical_view(chain, name, fills, Flag.BLOCK_JACOBIAN)
        return replace(view, scratch=lambda: {**chain.interactions.scratch(), **chain_hessian.scratch(chain.count)})
    return None


def multiplier_view(chain: Chain, name: str) -> View | None:
    """The equations with a multiplier, in halves."""
    if name not in ("canonical", "field"):
        return None
    fills: dict[Slot, Filling] = {
        chain_forces.body_rotation: chain_multiplier.rotation_not_normalised,
        views.field: chain_multiplier.multiplier_field, views.velocity: chain_multiplier.multiplier_velocity,
        views.momentum_rate: chain_multiplier.multiplier_rate, views.measure: chain_multiplier.measure_multiplier,
    }  # fmt: skip

    def scratch() -> dict[str, Numbers]:
        return {**chain.interactions.scratch(), "matrix": np.zeros((chain.count, 3, 3))}

    # off the unit spheres these equations are not Hamiltonian
    return replace(
        _canonical_view(chain, name, fills), withdrawn=NOT_CANONICAL, scratch=scratch,
        parameters={"inverse_augmented": np.array([1.0 / chain.J0])},
    )  # fmt: skip


def rotation_view(chain: Chain, name: str) -> View | None:
    """Rotation matrices, with kicks and rotations."""
    if name not in ("split", "constrained"):
        return None
    fills: dict[Slot, Filling] = {
        chain_forces.body_rotation: chain_rotation.rotation_of_matrix,
        chain_motion.turn_freely: chain_rotation.turn_rotation, chain_motion.orientation_width: 9,
        views.publish: chain_rotation.publish_matrices, views.measure: chain_rotation.measure_matrices,
    }  # fmt: skip
    view = _split_view(chain, name, fills, (3, 9, 3, 3), to_matrices, from_matrices)
    return replace(view, scratch=lambda: {**chain.interactions.scratch(), "turn": np.zeros((2, 4))})


def _split_view(
    chain: Chain,
    name: str,
    fills: dict[Slot, Filling],
    widths: tuple[int, ...],
    pack: Callable[[Chain, State], Array],
    unpack: Callable[[Chain, Array, float], State],
) -> View:
    # a point never turns, but a rotor has a row for it
    moments = chain.alike.each(lambda body: body.rotor_moments if body.kind != "point" else np.ones(3))
    flags = frozenset({Flag.ROTOR, Flag.QUADRATIC_KINETIC, *_kinds_of_bodies(chain)})
    moving: dict[Slot, Filling] = {
        views.force: chain_motion.chain_force, views.kick: chain_motion.chain_kick, views.drift: chain_motion.chain_drift,
        views.bath_of_components: chain_bath.chain_bath, views.bath_of_bodies: chain_bath.chain_bath_of_bodies,
        views.tally: chain_bath.chain_tally, views.reverse: chain_bath.chain_reverse,
    }  # fmt: skip
    fills = {**chain.interactions.fills(), **moving, **fills}
    body_of = partial(_body_of, chain.count, widths)
    return View(
        name, fills, sum(widths) * chain.count, partial(pack, chain), partial(unpack, chain), flags, False, moments, body_of,
        scratch=chain.interactions.scratch, inertia=chain.inertia, measures=chain.invariant_width,
        packs_many=True,
    )  # fmt: skip


def _canonical_view(chain: Chain, name: str, fills: dict[Slot, Filling], *flags: Flag) -> View:
    more: dict[Slot, Filling] = {
        views.publish: chain_motion.publish_canonical, views.field_count: 4,
        views.field_end: chain_motion.canonical_field_end,
    }  # fmt: skip
    fills = {**chain.interactions.fills(), **fills, **more}
    pack, unpack = partial(to_canonical, chain), partial(from_canonical, chain)
    flags_of_all = frozenset({*flags, *_kinds_of_bodies(chain)})
    body_of = partial(_body_of, chain.count, (3, 4, 3, 4))
    return View(
        name, fills, 14 * chain.count, pack, unpack, flags_of_all, False, body_of=body_of, packs_many=True,
        side_by_side=("x", "f", "tau"),
    )  # fmt: skip


def _body_of(bodies: int, widths: tuple[int, ...], variable: int) -> int:
    """The body of a variable, if each body has this many of each kind."""
    start = 0
    for width in widths:
        if variable < start + width * bodies:
            return (variable - start) // width
        start += width * bodies
    raise IndexError(variable)


def _kinds_of_bodies(chain: Chain) -> set[Flag]:
    return {Flag.LINEAR_BODIES} if any(body.kind == "linear" for body in chain.alike.distinct) else set()


def _frames(chain: Chain) -> Array:
    return chain.alike.each(lambda body: body.frame)


def to_split(chain: Chain, state: State) -> Array:
    """r, q, p, y; the momentum along the line of a linear body is zero."""
    q = rotations.multiply(state.orientation, _frames(chain))
    y = in_principal_axes(chain, state.angular_momentum)
    y[..., chain.alike.each(lambda body: body.moments == 0.0, np.bool_)] = 0.0
    return in_a_row(state.position, q, state.momentum, y)


def in_principal_axes(chain: Chain, vectors: Array) -> Array:
    """Vectors (..., bodies, 3) given in the axes of the bodies, in principal axes; one rotation per kind of body."""
    matrices = chain.alike.each(lambda body: rotations.to_matrix(rotations.conjugate(body.frame)))
    return np.sum(matrices * vectors[..., None, :], axis=-1)


def split_constants(chain: Chain) -> tuple[Array, Array, Array]:
    """The constants for `packing.split_members`, which does the same for many states."""
    axes = rotations.to_matrix(rotations.conjugate(_frames(chain))).reshape(chain.count, 9)
    return _frames(chain), axes, chain.alike.each(lambda body: body.moments == 0.0)


def in_a_row(*fields: Array) -> Array:
    """Fields (..., bodies, width) concatenated: (..., bodies * all widths)."""
    return np.concatenate([field.reshape(*field.shape[:-2], -1) for field in fields], axis=-1)


def from_split(chain: Chain, z: Array, time: float) -> State:
    """The public state of r, q, p, y."""
    n = chain.count
    q = rotations.multiply(z[3 * n : 7 * n].reshape(n, 4), rotations.conjugate(_frames(chain)))
    y = rotations.rotate(_frames(chain), z[10 * n : 13 * n].reshape(n, 3))
    r, p = z[: 3 * n].reshape(n, 3).copy(), z[7 * n : 10 * n].reshape(n, 3).copy()
    return State({"position": r, "orientation": q, "momentum": p, "angular_momentum": y}, time)


def to_canonical(chain: Chain, state: State) -> Array:
    """r, q, p, g = 2 G(q)^T y."""
    n = chain.count
    z = to_split(chain, state)
    many = z.shape[:-1]
    y = np.concatenate([np.zeros((*many, n, 1)), z[..., 10 * n :].reshape(*many, n, 3)], axis=-1)
    g = 2.0 * rotations.multiply(z[..., 3 * n : 7 * n].reshape(*many, n, 4), y)
    return np.concatenate([z[..., : 10 * n], in_a_row(g)], axis=-1)


def from_canonical(chain: Chain, z: Array, time: float) -> State:
    """The public state of r, q, p, g."""
    n = chain.count
    q, g = z[3 * n : 7 * n].reshape(n, 4), z[10 * n :].reshape(n, 4)
    y = 0.5 * rotations.multiply(rotations.conjugate(q), g)[:, 1:]
    return from_split(chain, np.concatenate([z[: 10 * n], y.ravel()]), time)


def to_matrices(chain: Chain, state: State) -> Array:
    """r, R, p, y."""
    n = chain.count
    z = to_split(chain, state)
    many = z.shape[:-1]
    matrices = rotations.to_matrix(rotations.normalise(z[..., 3 * n : 7 * n].reshape(*many, n, 4)))
    return np.concatenate([z[..., : 3 * n], matrices.reshape(*many, 9 * n), z[..., 7 * n :]], axis=-1)


def from_matrices(chain: Chain, z: Array, time: float) -> State:
    """The public state of r, R, p, y."""
    n = chain.count
    q = rotations.from_matrix(z[3 * n : 12 * n].reshape(n, 3, 3))
    return from_split(chain, np.concatenate([z[: 3 * n], q.ravel(), z[12 * n :]]), time)
