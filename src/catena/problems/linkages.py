"""Linked bodies: hanging chains, pendulums, closed loops, a molecule with one torsion."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..errors import InputError, nearest
from ..geometry import rotations
from ..plan import Problem
from ..systems.body import Body
from ..systems.linkages import start as linkage_start
from ..systems.linkages.joint_forces import Spring
from ..systems.linkages.joints import GROUND, Joint, Revolute, Spherical
from ..systems.linkages.linkage import Linkage

Vector = np.ndarray


def hanging_chain(joint: str = "revolute", n: int = 4) -> Problem:
    """Boxes hanging from a fixed point in gravity, released from rest with the second half raised [nielsen2013].

    Parameters
    ----------
    joint : "revolute": hinges about x, the motion is plane; "spherical": ball joints, turned out of that plane by 45 degrees
    n : number of boxes, with sides (1, 0.5, 3) and mass 12
    """
    if joint not in ("revolute", "spherical"):
        raise InputError(
            f"joint = {joint!r}{nearest(str(joint), ['revolute', 'spherical'])}", where="hanging_chain.joint",
            do='choose "revolute" or "spherical"',
        )  # fmt: skip
    if isinstance(n, bool) or not isinstance(n, int) or n < 1:
        raise InputError(f"n = {n!r}", where="hanging_chain.n", do="give a number of bodies")
    half = n // 2
    angles = [0.25 * math.pi] * half + [0.75 * math.pi] * (n - half)
    return _boxes("hanging_chain", joint, angles, f"{n} boxes on {joint} joints")


def double_pendulum() -> Problem:
    """Two boxes on hinges, released from rest with both horizontal."""
    return _boxes("double_pendulum", "revolute", [0.5 * math.pi] * 2, "two boxes on hinges")


def triple_pendulum() -> Problem:
    """Three boxes on hinges, released from rest: horizontal, hanging down by 45 degrees, standing up by 45 degrees."""
    angles = [0.5 * math.pi, 0.25 * math.pi, 0.75 * math.pi]
    return _boxes("triple_pendulum", "revolute", angles, "three boxes on hinges")


def _boxes(name: str, joint: str, angles: Sequence[float], about: str) -> Problem:
    """Boxes joined end to end, each turned about x by its angle from hanging straight down."""
    top, bottom = (0.0, 0.0, 1.5), (0.0, 0.0, -1.5)
    joints: list[Joint] = []
    for i in range(len(angles)):
        at = ((0.0, 0.0, 0.0) if i == 0 else bottom, top)
        joints.append(Revolute(i - 1, i, at, axis=(1, 0, 0)) if joint == "revolute" else Spherical(i - 1, i, at))
    system = Linkage([Body.box((1.0, 0.5, 3.0), mass=12.0)] * len(angles), joints)
    orientation = np.array([_about_axis(0, angle) for angle in angles])
    if joint == "spherical":
        orientation = rotations.multiply(_about_axis(1, 0.25 * math.pi), orientation)
    return Problem(name, system, system.start(orientation=orientation), 0.01, None, about)


def four_bar() -> Problem:
    """A plane four-bar linkage of uniform rods in gravity, released from rest: one degree of freedom, redundant rows.

    The ground carries A = (0, 0, 0) and D = (0, 2, 0); rods AB = 1, BC = 2 and DC = 1.5 of unit mass per length hang
    from them, AB at 1 rad from straight down. Hinges about x.
    """
    a, d = np.zeros(3), np.array((0.0, 2.0, 0.0))
    lengths = (1.0, 2.0, 1.5)
    b = lengths[0] * np.array((0.0, math.sin(1.0), -math.cos(1.0)))
    c = _lower_crossing(b, lengths[1], d, lengths[2])
    rods = [Body(mass=l, moments=(l**3 / 12.0, l**3 / 12.0, l**3 / 1000.0)) for l in lengths]

    def ends(i: int) -> tuple[tuple[float, float, float], tuple[float, float, float]]:
        return (0.0, 0.0, 0.5 * lengths[i]), (0.0, 0.0, -0.5 * lengths[i])

    hinge = (1.0, 0.0, 0.0)
    joints = [
        Revolute(GROUND, 0, (tuple(a), ends(0)[0]), axis=hinge), Revolute(0, 1, (ends(0)[1], ends(1)[0]), axis=hinge),
        Revolute(GROUND, 2, (tuple(d), ends(2)[0]), axis=hinge), Revolute(1, 2, (ends(1)[1], ends(2)[1]), axis=hinge),
    ]  # fmt: skip
    system = Linkage(rods, joints)
    directions = [(q - p) / np.linalg.norm(q - p) for p, q in ((a, b), (b, c), (d, c))]
    orientation = np.array([_about_axis(0, math.atan2(u[1], -u[2])) for u in directions])
    return Problem("four_bar", system, system.start(orientation=orientation), 0.01, None, "a plane four-bar linkage")


def bricard() -> Problem:
    """Bricard's loop of six hinged bars along edges of a cube, without gravity: movable although it should be rigid.

    Bar 0 is the ground. The start moves along the one free direction, with the bar opposite the ground turning at rate 1.
    """
    corners = np.array([(0, 0, 0), (1, 0, 0), (1, 1, 0), (1, 1, 1), (0, 1, 1), (0, 0, 1)], dtype=float)
    along = np.roll(corners, -1, axis=0) - corners
    middle = corners + 0.5 * along
    bodies = [Body.from_inertia(1.0, (np.eye(3) - np.outer(d, d)) / 12.0 + 1e-3 * np.outer(d, d)) for d in along[1:]]
    joints = []
    for k in (1, 2, 3, 4, 5, 0):
        # the hinge at corner k; the last one closes the loop, with the ground as its parent
        parent, child = (GROUND, 4) if k == 0 else (k - 2, k - 1)
        at = tuple(corners[k] - (np.zeros(3) if body == GROUND else middle[body + 1]) for body in (parent, child))
        joints.append(Revolute(parent, child, at, axis=np.cross(along[k - 1], along[k])))
    system = Linkage(bodies, joints, gravity=(0.0, 0.0, 0.0))
    rest = system.start(middle[1:])
    rows = linkage_start.gradients(
        system, rest.position, rest.orientation, images=linkage_start.images_of(system, rest.orientation)
    )
    motion = np.linalg.svd(rows)[2][-1].reshape(5, 2, 3)
    turning = motion[2, 1]
    motion = motion / (np.linalg.norm(turning) * np.sign(turning[np.argmax(np.abs(turning))]))
    start = system.start(middle[1:], velocity=motion[:, 0], angular_velocity=motion[:, 1], project=True)
    return Problem("bricard", system, start, 0.01, None, "Bricard's loop of six bars on the edges of a cube")


def molecule() -> Problem:
    """Four atoms with fixed bonds and angles and one torsion, their ends held by a spring [kneller1994].

    Two rigid groups share the bond 2-3 and turn about it; the masses of its atoms are halved between them. V = 15 (|r4 - r1| - 3)^2.
    """
    atoms = np.array([(-0.7, 1.2, 0.0), (0.0, 0.0, 0.0), (1.5, 0.0, 0.0), (2.1, -0.5, 1.0)])
    groups = [
        Body.from_particles(atoms[:3], masses=(15.0, 6.0, 6.5)), Body.from_particles(atoms[1:], masses=(6.0, 6.5, 16.0)),
    ]  # fmt: skip
    center = np.array([group.center for group in groups])
    bond = (1.0, 0.0, 0.0)
    hinge = Revolute(0, 1, (atoms[1] - center[0], atoms[1] - center[1]), axis=bond)
    spring = Spring(0, 1, (atoms[0] - center[0], atoms[3] - center[1]), k=30.0, length=3.0)
    system = Linkage(groups, [hinge], [spring], gravity=(0.0, 0.0, 0.0))
    first = np.array((0.4, 0.7, -0.5))
    second = first + 1.1 * np.array(bond)
    drift = np.array((0.1, -0.2, 0.3))  # of atom 1
    on_axis = drift + np.cross(first, atoms[1] - atoms[0])
    velocity = [drift + np.cross(first, center[0] - atoms[0]), on_axis + np.cross(second, center[1] - atoms[1])]
    start = system.start(center, velocity=velocity, angular_velocity=[first, second])
    return Problem("molecule", system, start, 0.01, None, "four atoms with one torsion")


def _about_axis(k: int, angle: float) -> Vector:
    """The unit quaternion of a turn about coordinate axis k."""
    q = np.zeros(4)
    q[0], q[1 + k] = math.cos(0.5 * angle), math.sin(0.5 * angle)
    return q


def _lower_crossing(p: Vector, first: float, q: Vector, second: float) -> Vector:
    """The lower of the two points of the plane x = 0 at these distances from p and q."""
    apart = q - p
    distance = float(np.linalg.norm(apart))
    along = (distance**2 + first**2 - second**2) / (2.0 * distance)
    unit = apart / distance
    normal = np.array((0.0, unit[2], -unit[1]))
    return p + along * unit - math.copysign(math.sqrt(first**2 - along**2), normal[2]) * normal
