"""Outputs of the ends and loads of a chain along a run: force, torque, power and work of each."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..arrays import Array
from ..geometry import rotations
from ..systems.chain.chain import Chain
from ..systems.chain.drive_kernels import Now
from ..systems.chain.ends import Clamped, Displaced, Force, Moved, Torque, Tweezers

if TYPE_CHECKING:
    import xarray


class Doing(NamedTuple):
    """One end or load along time: force, torque (about the centre of mass, in space), power, work since the start."""

    force: Array
    torque: Array
    power: Array
    work: Array


def sources(chain: Chain) -> list[str]:
    """Names of the ends and loads."""
    return ["left", "right", *(f"loads[{number}]" for number in range(len(chain.loads)))]


def doings(chain: Chain, data: xarray.Dataset, reactions: tuple[Array, Array]) -> list[Doing]:
    """Outputs of each of `sources`; reactions are force and torque of holds on the end bodies, (samples, 2, 3)."""
    last = chain.count - 1
    ends = [("left", 0, chain.left), ("right", last, chain.right)]
    loads = [(f"loads[{number}]", body, load) for number, (body, load) in enumerate(chain.loads)]
    now = chain.drives.at(data.time.values)
    found = []
    for name, j, source in [*ends, *loads]:
        bodily = _Body(chain, data, j)
        row = now[:, chain.drives.names.index(name)] if name in chain.drives.names else None
        done = data.work.values[:, chain.drives.names.index(name)] if row is not None else bodily.nothing
        if isinstance(source, (Force, Tweezers)):
            found.append(_pulling(bodily, source, row, done))
        elif isinstance(source, Torque) and row is not None:
            torque = row[:, Now.VALUE : Now.QUATERNION]
            found.append(Doing(0.0 * torque, torque, _along(torque, bodily.spin), done))
        elif isinstance(source, (Clamped, Displaced, Moved)):
            force, torque = (
                which[:, 0 if j == 0 else 1] * held
                for which, held in zip(reactions, (1.0, not source.turns), strict=True)
            )
            power = bodily.nothing
            if isinstance(source, Moved) and row is not None:
                power = _moving(source, row, force, torque)
            found.append(Doing(force, torque, power, done))
        else:
            found.append(Doing(0.0 * bodily.position, 0.0 * bodily.position, bodily.nothing, bodily.nothing))
    return found


class _Body:
    """The motion of a body along a run, in space."""

    def __init__(self, chain: Chain, data: xarray.Dataset, j: int) -> None:
        body = chain.bodies[j]
        self.position, self.orientation = data.position.values[:, j], data.orientation.values[:, j]
        self.velocity = data.momentum.values[:, j] / body.mass
        own = data.angular_momentum.values[:, j] @ body.frame_matrix * body.inverse_moments
        self.spin = rotations.rotate(self.orientation, own @ body.frame_matrix.T)
        self.nothing = np.zeros(len(self.position))


def _pulling(body: _Body, source: Force | Tweezers, row: Array | None, done: Array) -> Doing:
    """A force at a point of the body: energy given is energy received minus the energy kept in its potential."""
    arm = rotations.rotate(body.orientation, np.broadcast_to(np.array(source.at), body.position.shape))
    point, speed = body.position + arm, body.velocity + np.cross(body.spin, arm)
    if row is None:
        value = (
            np.broadcast_to(np.array(source.force, dtype=float), point.shape) if isinstance(source, Force) else point
        )
    else:
        value = row[:, Now.VALUE : Now.QUATERNION]
    if isinstance(source, Tweezers):
        force = source.k * (value - point)
        stored = 0.5 * source.k * ((value - point) ** 2).sum(axis=1)
    else:
        force, stored = value, -_along(value, point)
    return Doing(force, np.cross(arm, force), _along(force, speed), done - (stored - stored[0]))


def _moving(source: Moved, row: Array, force: Array, torque: Array) -> Array:
    """The power of an end that moves a body."""
    power = np.zeros(len(row))
    if source.position is not None:
        power += _along(force, row[:, Now.SLOPE : Now.QUATERNION_SLOPE])
    if source.orientation is not None:
        u, rate = row[:, Now.QUATERNION : Now.SLOPE], row[:, Now.QUATERNION_SLOPE : Now.CURVATURE]
        turn = rotations.multiply(rate, rotations.conjugate(u))[:, 1:] * (2.0 / (u**2).sum(axis=1))[:, None]
        power += _along(torque, turn)
    return power


def _along(a: Array, b: Array) -> Array:
    return np.einsum("ti,ti->t", a, b)
