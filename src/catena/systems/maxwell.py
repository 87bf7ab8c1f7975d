"""Momenta drawn from the Maxwell-Boltzmann distribution: normal, with variance mass or moment times kT."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from ..errors import InputError
from ..geometry import rotations
from ..kernels.declarations import Inertia
from ..kernels.noise import STARTS, normals
from .base import Array, State
from .numbers import finite_number, whole_number

MOMENTA = ("p", "momentum", "angular_momentum")  # fields of a state that are drawn
MOVING, TURNING = 6, 3  # number of momenta of bodies that move and turn, or only turn


def with_momenta(inertia: Inertia, state: State, temperature: float, seed: int, member: int) -> State:
    """The state with new momenta; each is a function of seed, member and body, like the noise of steps."""
    kT = finite_number(temperature, "maxwell.temperature")
    if kT < 0.0:
        raise InputError(
            f"temperature = {temperature!r}", where="maxwell.temperature", do="give kT: a number that is not below zero"
        )
    seed, member = _below_power(seed, 64, "seed"), _below_power(member, 32, "member")
    drawn = math.sqrt(kT) * (_of_coordinates if inertia.part == "dof" else _of_bodies)(inertia, seed, member)
    return State({**state.fields, **_fields(inertia, drawn)}, state.time)


def _below_power(value: object, bits: int, name: str) -> int:
    return whole_number(
        value, f"maxwell.{name}", f"give a whole number from 0 to 2^{bits} - 1", least=0, most=2**bits - 1
    )


def _of_bodies(inertia: Inertia, seed: int, member: int) -> Array:
    """(bodies, components) momenta at kT = 1, along principal axes; streams 200 to 202."""
    components = inertia.variances.shape[1]
    words = seed % 2**32, seed >> 32, member, 0
    drawn = np.array(
        [[x for k in range(3) for x in normals(*words, j, STARTS + k)] for j in range(len(inertia.variances))]
    )
    return np.sqrt(inertia.variances) * drawn[:, MOVING - components :]


def _of_coordinates(inertia: Inertia, seed: int, member: int) -> Array:
    """(coordinates,) momenta at kT = 1."""
    n = len(inertia.variances)
    words = seed % 2**32, seed >> 32, member, 0
    drawn = np.array([x for i in range(-(-n // 2)) for x in normals(*words, i, STARTS)])[:n]
    if inertia.matrix is not None:
        return np.asarray(np.linalg.cholesky(inertia.matrix) @ drawn)
    return np.sqrt(inertia.variances[:, 0]) * drawn


def _fields(inertia: Inertia, drawn: Array) -> dict[str, Array]:
    """Momenta as the public fields of a state, angular momenta in the axes in which bodies were given."""
    if inertia.frames is None:
        return {"p": drawn}
    turning = rotations.rotate(inertia.frames, drawn[:, -TURNING:])
    if drawn.shape[1] == TURNING:
        return {"angular_momentum": turning[0]}
    return {"momentum": drawn[:, :3].copy(), "angular_momentum": turning}


def kinetic_energy(inertia: Inertia, fields: Mapping[str, Array]) -> float:
    """Kinetic energy of the momenta in the fields of a state; the sum is rounded once, independent of the order."""
    if inertia.matrix is not None:
        return 0.5 * math.fsum(fields["p"] * np.linalg.solve(inertia.matrix, fields["p"]))
    if inertia.frames is None:
        momenta = fields["p"][:, None]
    else:
        own = np.atleast_2d(fields["angular_momentum"])
        momenta = rotations.rotate(rotations.conjugate(inertia.frames), own)
        if inertia.variances.shape[1] == MOVING:
            momenta = np.hstack([fields["momentum"], momenta])
    there = inertia.variances > 0.0
    return 0.5 * math.fsum(momenta[there] ** 2 / inertia.variances[there])
