"""The appearance of a system: the shapes of its bodies, their particles, links and joints; or the path of a point."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...systems.alike import Alike
from ...systems.base import Array, System
from ...systems.body import Body
from ...systems.linkage.joints import Joint as Held
from ...systems.scene import Scene
from ..showing import scene_or_nothing
from .atoms import looks_of_atoms
from .shapes import Shape, cone_of, shape_of

if TYPE_CHECKING:
    pass

JOINT = 1.25  # radius of a joint, relative to the smallest half extent of its bodies ...
LARGEST_JOINT, LEAST_JOINT = 0.3, 0.03  # ... and its limits, relative to the largest
PIN = 0.4  # largest radius of a hinge between atoms, relative to the largest atom
PARTICLE = 0.11  # radius of a particle, relative to the mean distance of particles from the centre of their body


@dataclass(frozen=True, eq=False)
class Joint:
    """The connection of two bodies: a point of each, in its own axes. Body -1 is the ground.

    `axis` is the direction, in the axes of the parent, about or along which the joint lets its child move, if there is
    one; `size` is the radius with which it is drawn.
    """

    parent: int
    child: int
    at_parent: Array
    at_child: Array
    axis: Array | None
    size: float


@dataclass(frozen=True, eq=False)
class Appearance:
    """What is drawn at the poses of the bodies.

    Attributes
    ----------
    shapes : distinct shapes
    shape_of : (n,) the shape of each body
    particle_body, particle_at : (m,), (m, 3) the body of each particle, and its position in the axes of that body
    particle_size : (m,) radius
    particle_colour : (m,) red, green and blue, if they are atoms
    links : (l, 2) neighbours connected by a line
    joints : points that two bodies share
    traced : (n, 3) the point of each body, in its axes, that leaves a trail
    """

    shapes: tuple[Shape, ...]
    shape_of: NDArray[np.int64]
    particle_body: NDArray[np.int64]
    particle_at: Array
    particle_size: Array
    links: NDArray[np.int64]
    traced: Array
    joints: tuple[Joint, ...] = field(default=())
    particle_colour: list[int] | None = None

    @property
    def count(self) -> int:
        """Number of bodies."""
        return len(self.shape_of)


def has_bodies(system: System) -> bool:
    """Whether a system has bodies to show."""
    return bool(scene_or_nothing(system).bodies)


def bodies_of(system: System) -> tuple[Body, ...]:
    """The bodies of a system that has some to show."""
    return scene_or_nothing(system).bodies


def appearance_of(system: System) -> Appearance:
    """The appearance of a system with bodies."""
    scene = scene_or_nothing(system)
    bodies = Alike(scene.bodies)
    shapes = tuple(_shape(body, scene) for body in bodies.distinct)
    number, count = bodies.which, len(bodies.which)
    counts = bodies.each(lambda body: len(body.particles), np.int64)
    joints = tuple(_joint(joint, shapes, number) for joint in scene.joints or ())
    sizes = np.repeat(bodies.each(_particle_size), counts)
    atoms = looks_of_atoms(bodies)
    if atoms is not None:
        sizes = atoms[1]
        joints = tuple(replace(joint, size=min(joint.size, PIN * float(sizes.max()))) for joint in joints)
    linked = np.zeros((2, 0), dtype=np.int64) if scene.links is None else np.array(scene.links.sides)
    return Appearance(
        shapes=shapes,
        shape_of=number,
        particle_body=np.repeat(np.arange(count), counts),
        particle_at=_particles_of(bodies, counts),
        particle_size=sizes,
        links=linked.T,
        traced=_trace(system, count, shapes),
        joints=joints,
        particle_colour=None if atoms is None else atoms[0],
    )


def _shape(body: Body, scene: Scene) -> Shape:
    if scene.weight is not None and body.shape in ("moments", "inertia"):
        cone = cone_of(body, np.array(scene.weight.center))
        if cone is not None:
            return cone
    return shape_of(body)


def _particles_of(bodies: Alike[Body], counts: NDArray[np.int64]) -> Array:
    """The particles of all bodies, body after body."""
    places = np.concatenate([body.particles.positions for body in bodies.distinct])
    begins = np.cumsum([0, *(len(body.particles) for body in bodies.distinct)])[bodies.which]
    within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    return places[np.repeat(begins, counts) + within]


def _trace(system: System, bodies: int, shapes: Sequence[Shape]) -> Array:
    """The traced points: centres of moving bodies; for a body that only turns, the tip of its longest axis."""
    if any(f.name == "position" for f in system.fields):
        return np.zeros((bodies, 3))
    vertices = shapes[0].vertices
    if shapes[0].kind == "cone":  # just above the middle of its base, where it is visible
        return 1.02 * vertices[-2].reshape(1, 3)
    extents = np.abs(vertices).max(axis=0)
    return 1.02 * np.where(np.arange(3) == np.argmax(extents), extents, 0.0).reshape(1, 3)


def _particle_size(body: Body) -> float:
    if not len(body.particles):
        return 0.0
    spread = float(np.linalg.norm(body.particles.positions, axis=1).mean())
    return PARTICLE * spread if spread > 0.0 else 0.05


def _joint(joint: Held, shapes: Sequence[Shape], shape_of_body: NDArray[np.int64]) -> Joint:
    """A joint to draw: it sticks out of the thinner of its two bodies, and its size is limited by their extents."""
    at_parent, at_child = (np.array(point, dtype=float) for point in joint.at)
    extents = [shapes[shape_of_body[j]].half_extents for j in (joint.parent, joint.child) if j >= 0]
    size = min(min(JOINT * float(e.min()), LARGEST_JOINT * float(e.max())) for e in extents)
    size = max(size, LEAST_JOINT * max(float(e.max()) for e in extents))
    axis = np.array(joint.triad[0], dtype=float) if joint.has_axis else None
    return Joint(joint.parent, joint.child, at_parent, at_child, axis, size)
