"""The start of a linkage: where its bodies are and how they move, from what a user gives of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from ...geometry import rotations
from ..base import Array, State
from ..many_bodies import start_array, start_momenta
from ..numbers import finite_number
from ..orientations import orientations
from . import constraints
from .fit import check_start
from .joints import GROUND, Turned

if TYPE_CHECKING:
    from .linkage import Linkage

Motion: TypeAlias = tuple[Array, Array]  # positions, or displacements, and their rates
Slides: TypeAlias = Mapping[int, Motion]


@dataclass(frozen=True)
class Given:
    """What a start is made of, as `Linkage.start` is given it."""

    position: ArrayLike | None
    orientation: ArrayLike | None
    velocity: ArrayLike | None
    angular_velocity: ArrayLike | None
    momentum: ArrayLike | None = None
    angular_momentum: ArrayLike | None = None
    time: float = 0.0
    project: bool = False


def make_start(linkage: Linkage, given: Given) -> State:
    """A state that fits the joints; see `Linkage.start`."""
    n = linkage.count
    q, nothing = orientations(given.orientation, n), np.zeros((n, 3))
    masses, tensors = np.array([[body.mass] for body in linkage.bodies]), [body.tensor for body in linkage.bodies]
    turning = {"velocity": given.angular_velocity, "momentum": given.angular_momentum}
    y = start_momenta(n, lambda w: rotations.apply(tensors, w), prefix="angular_", **turning)
    p = start_momenta(n, lambda v: masses * v, velocity=given.velocity, momentum=given.momentum)
    r = None if given.position is None else start_array(given.position, (n, 3), "position")
    y = nothing if y is None else y
    if r is None or p is None:
        spun = State({"orientation": q, "momentum": nothing, "angular_momentum": y})
        motion = constraints.velocities_of_momenta(linkage, spun)
        if given.angular_velocity is not None:  # no momentum tells a spin of lines and points, but what it moves does
            motion = motion + _thin_spins(linkage, q, np.asarray(given.angular_velocity, dtype=float))
        places, v = carry(linkage, q, motion.reshape(n, 2, 3)[:, 1], (nothing, nothing), {})
        r, p = places if r is None else r, masses * v if p is None else p
    fields = {"position": r, "orientation": q, "momentum": p, "angular_momentum": y}
    return check_start(linkage, State(fields, finite_number(given.time, "start.time")), project=given.project)


def _thin_spins(linkage: Linkage, orientation: Array, angular_velocity: Array) -> Array:
    """(6 n,): the part of angular velocities, in the axes of the bodies, about axes without a moment of inertia."""
    motion = np.zeros((linkage.count, 2, 3))
    motion[:, 1] = rotations.rotate(orientation, angular_velocity)
    lines = constraints.thin_axes(linkage, orientation)
    return (lines @ motion.ravel()) @ lines


def count_from_start(linkage: Linkage, start: State) -> Linkage:
    """The linkage with the image of every joint where it is at a start: its angles count from there, wherever it is later."""
    images = constraints.images_of(linkage, start.orientation)
    joints = [
        replace(joint, image=tuple(rotations.normalise(image).tolist()))
        if isinstance(joint, Turned) and joint.image is None
        else joint
        for joint, image in zip(linkage.joints, images, strict=True)
    ]
    return linkage.with_parts(joints=joints)


def carry(linkage: Linkage, orientation: Array, omega: Array, free: Motion, slides: Slides) -> Motion:
    """Positions at which the points of every carrying joint coincide, and velocities that keep them together.

    Parameters
    ----------
    omega : angular velocities, in space
    free : positions and velocities, of which those of bodies that no joint carries are taken
    slides : by bodies, how far the point of the parent is displaced, and how fast, in the axes of the parent; others are not
    """
    still, (r, v) = np.zeros(3), (one.copy() for one in free)
    for j in linkage.tree.order:
        if linkage.tree.carriers[j] < 0:
            continue
        joint = linkage.joints[linkage.tree.carriers[j]]
        slide, opening = slides.get(j, (still, still))
        place, speed, spin = (still if joint.parent == GROUND else one[joint.parent] for one in (r, v, omega))
        arm = constraints.turn_vectors(orientation, joint.parent, np.add(joint.at[0], slide))
        back = constraints.turn_vectors(orientation, j, joint.at[1])
        r[j] = place + arm - back
        v[j] = (
            speed
            + np.cross(spin, arm)
            + constraints.turn_vectors(orientation, joint.parent, opening)
            - np.cross(omega[j], back)
        )
    return r, v
