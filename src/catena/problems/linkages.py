"""Linked bodies: hanging chains, pendulums, closed loops, a molecule with one torsion."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..errors import InputError, nearest
from ..geometry import rotations
from ..running.plan import Problem
from ..systems.base import State
from ..systems.body import Body
from ..systems.linkage import constraints
from ..systems.linkage.joint_forces import Spring
from ..systems.linkage.joints import GROUND, Joint, Revolute, Spherical
from ..systems.linkage.linkage import Linkage
from ..systems.many_bodies import require_memory
from ..systems.numbers import whole_number

Vector = np.ndarray


def hanging_chain(joint: str = "revolute", n: int = 4) -> Problem[Linkage]:
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
    n = whole_number(n, "hanging_chain.n", "give a number of bodies", least=1)
    require_memory(n, "hanging_chain.n")
    half = n // 2
    angles = [0.25 * math.pi] * half + [0.75 * math.pi] * (n - half)
    about = (
        f"{n} boxes on {joint} joints, hanging from a fixed point and let go from rest with the second half raised. It "
        "falls and whips, and soon moves without any order: the joints hand the motion from box to box, and small "
        "differences grow. What stays is the energy, and that no joint comes apart: both are what a method is judged by "
        "here."
    )
    return _boxes("hanging_chain", joint, angles, about)


def double_pendulum() -> Problem[Linkage]:
    """Two boxes on hinges, released from rest with both horizontal."""
    about = (
        "Two boxes on hinges, let go with both horizontal. One of the simplest machines that are chaotic: two starts that "
        "nobody can tell apart soon move differently, so that nobody can foretell for long how the lower box will turn. "
        "Energy is conserved all the same, and it is the check that remains when the path itself cannot be trusted any "
        "more."
    )
    return _boxes("double_pendulum", "revolute", [0.5 * math.pi] * 2, about)


def triple_pendulum() -> Problem[Linkage]:
    """Three boxes on hinges, released from rest: horizontal, hanging down by 45 degrees, standing up by 45 degrees."""
    angles = [0.5 * math.pi, 0.25 * math.pi, 0.75 * math.pi]
    about = (
        "Three boxes on hinges, let go from a bent position. As with the double pendulum no order is left after a few "
        "swings, but now the energy wanders between three bodies, and now and then most of it is in the last one, which "
        "then turns fast. A step that is long enough for the rest of the motion is too long there: this is where methods "
        "differ."
    )
    return _boxes("triple_pendulum", "revolute", angles, about)


def _boxes(name: str, joint: str, angles: Sequence[float], about: str) -> Problem[Linkage]:
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


def four_bar() -> Problem[Linkage]:
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
    about = (
        "A plane four-bar linkage. Three rods and the ground form a loop that has a single freedom: one angle decides all "
        "others. Let go from rest it swings to a second position of rest, with its centre of mass as high as in the "
        "first, and back, for ever, as anything with one freedom and no friction does. The twenty conditions of its "
        "hinges in space are not independent, which a method must be able to bear."
    )
    return Problem("four_bar", system, system.start(orientation=orientation), 0.01, None, about)


def bricard() -> Problem[Linkage]:
    """Bricard's loop of six hinged bars along edges of a cube, without gravity: movable although it should be rigid.

    Bar 0 is the ground. The start moves along the one free direction, with the bar opposite the ground turning at rate 1.
    """
    corners = np.array([(0, 0, 0), (1, 0, 0), (1, 1, 0), (1, 1, 1), (0, 1, 1), (0, 0, 1)], dtype=float)
    along = np.roll(corners, -1, axis=0) - corners
    axes = np.cross(np.roll(along, 1, axis=0), along)
    system, middle = _ring_of_bars(corners, axes, gravity=(0.0, 0.0, 0.0))
    start = _along_the_free_direction(system, middle, 2)
    about = (
        "Bricard's loop of six bars on the edges of a cube. Counting freedoms and hinges, it should be rigid: thirty of "
        "one and thirty of the other. It moves nevertheless, because its lengths and angles are special. Without gravity "
        "its kinetic energy stays the same, so it goes through its shapes quickly where they are easy to move and slowly "
        "where they are not."
    )
    return Problem("bricard", system, start, 0.01, None, about)


def bennett() -> Problem[Linkage]:
    """Bennett's loop of four hinged bars, in gravity: the hinges are neither parallel nor through one point, yet the loop moves.

    Opposite bars are equal: lengths a and b, with angles alpha and beta between the hinges at their ends; the loop is
    movable because a / sin(alpha) = b / sin(beta). Bar 0 is the ground; the hinge at its end is turned to 1 rad. At the
    start the bar opposite the ground turns at rate 4, fast enough to turn over and over.

    References
    ----------
    [bennett1903]
    """
    alpha, beta = 0.7, 1.3
    lengths = np.array((1.0, math.sin(beta) / math.sin(alpha)) * 2)
    twists = (alpha, beta) * 2
    first = 1.0
    second = 2.0 * math.atan2(math.sin(0.5 * (beta + alpha)), math.sin(0.5 * (beta - alpha)) * math.tan(0.5 * first))
    turns = (second, first, -second, -first)
    frame, corner = np.eye(3), np.zeros(3)
    corners, axes = [], []
    for length, twist, turn in zip(lengths, twists, turns, strict=True):
        frame = frame @ rotations.to_matrix(_about_axis(2, turn))
        corners.append(corner)
        axes.append(frame[:, 2])
        corner = corner + length * frame[:, 0]
        frame = frame @ rotations.to_matrix(_about_axis(0, twist))
    system, middle = _ring_of_bars(np.array(corners), np.array(axes), gravity=(0.0, 0.0, -9.81))
    start = _along_the_free_direction(system, middle, 1, rate=4.0)
    about = (
        "Bennett's loop of four bars with skew hinges. Counting freedoms and hinges it should be rigid, and twice over; it "
        "moves because opposite bars are equal and their lengths and angles fit each other. One freedom in gravity is a "
        "pendulum: this start is fast enough for the loop to turn over and over, faster where its weight is low. Rounding "
        "breaks the fit by some 1e-16, which a method must not mistake for rigidity."
    )
    return Problem("bennett", system, start, 0.005, None, about)


def six_ring() -> Problem[Linkage]:
    """The ring of cyclohexane in its boat form, free in space: six CH2 groups that turn about the bonds between them.

    Bonds and their angles (tetrahedral) are rigid. As a rule, six hinges leave a ring no freedom, and the chair has
    none; the boat moves through all its twists and back. Lengths in angstrom, masses in u. The start has no momentum,
    and its first group turns at rate 1.
    """
    bond, to_hydrogen = 1.53, 1.09
    side, top = math.sqrt(2.0 / 3.0), math.sqrt(2.0) / 3.0
    carbon = bond * np.array(
        [(-5 / 6, 0, top), (-0.5, side, 0), (0.5, side, 0), (5 / 6, 0, top), (0.5, -side, 0), (-0.5, -side, 0)]
    )
    before, after = np.roll(carbon, 1, axis=0) - carbon, np.roll(carbon, -1, axis=0) - carbon
    outward, across = -(before + after), np.cross(before, after)
    outward *= to_hydrogen / math.sqrt(3.0) / np.linalg.norm(outward, axis=1)[:, None]
    across *= to_hydrogen * side / np.linalg.norm(across, axis=1)[:, None]
    bodies = [
        Body.from_particles(np.array([c, c + o + a, c + o - a]), masses=(12.011, 1.008, 1.008))
        for c, o, a in zip(carbon, outward, across, strict=True)
    ]
    center = np.array([body.center for body in bodies])
    # along the bond after each group; the last hinge closes the ring, with the first group as its parent
    pairs = [(k, k + 1) for k in range(5)] + [(0, 5)]
    joints = [
        Revolute(i, j, (carbon[i] - center[i], carbon[i] - center[j]), axis=carbon[j] - carbon[i]) for i, j in pairs
    ]
    system = Linkage(bodies, joints, gravity=(0.0, 0.0, 0.0))
    start = _along_the_free_direction(system, center, 0)
    about = (
        "The boat form of cyclohexane, twisting. Bonds and their angles are rigid, so only the turns about the six bonds are "
        "left, and the closed ring takes all of these but one: the boat runs through its twisted forms and back, while the "
        "chair could not move at all. Nothing outside acts and no force within, so that the kinetic energy and both total "
        "momenta stay what they were."
    )
    return Problem("six_ring", system, start, 0.005, None, about)


def _ring_of_bars(corners: Vector, axes: Vector, *, gravity: tuple[float, float, float]) -> tuple[Linkage, Vector]:
    """Bars of unit mass per length from corner to corner, hinged there; bar 0 is the ground. Also the midpoints of the
    others."""
    along = np.roll(corners, -1, axis=0) - corners
    middle = corners + 0.5 * along
    last = len(corners) - 1
    bodies = []
    for bar in along[1:]:
        length = float(np.linalg.norm(bar))
        d = np.outer(bar, bar) / length**2
        bodies.append(Body.from_inertia(length, length**3 * (np.eye(3) - d) / 12.0 + 1e-3 * d))
    joints = []
    for k in (*range(1, last + 1), 0):
        # the hinge at corner k; the last one closes the loop, with the ground as its parent
        parent, child = (GROUND, last - 1) if k == 0 else (k - 2, k - 1)
        at = tuple(corners[k] - (np.zeros(3) if body == GROUND else middle[body + 1]) for body in (parent, child))
        joints.append(Revolute(parent, child, at, axis=axes[k]))
    return Linkage(bodies, joints, gravity=gravity), middle[1:]


def _along_the_free_direction(system: Linkage, position: Vector, body: int, *, rate: float = 1.0) -> State:
    """A start with the only motion that the joints allow, without momentum if nothing holds the linkage.

    The angular velocity of `body` has the length `rate` and a positive largest component.
    """
    rest = system.start(position)
    images = constraints.images_of(system, rest.orientation)
    rows = constraints.gradients(system, rest.position, rest.orientation, images=images)
    if all(joint.parent != GROUND for joint in system.joints):
        together = np.zeros((system.count, 2, 3, 6))  # the rigid motions of the whole linkage
        together[:, 0, :, :3] = together[:, 1, :, 3:] = np.eye(3)
        together[:, 0, :, 3:] = np.cross(np.eye(3), position[:, None]).transpose(0, 2, 1)
        rows = np.concatenate([rows, together.reshape(-1, 6).T @ constraints.mass_matrix(system, rest.orientation)])
    motion = np.linalg.svd(rows)[2][-1].reshape(system.count, 2, 3)
    turning = motion[body, 1]
    motion = rate * motion / (np.linalg.norm(turning) * np.sign(turning[np.argmax(np.abs(turning))]))
    return system.start(position, velocity=motion[:, 0], angular_velocity=motion[:, 1], project=True)


def molecule() -> Problem[Linkage]:
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
    about = (
        "Four atoms with one torsion. Bonds and angles are rigid, so two groups are left that turn against each other "
        "about the bond they share, driven by a spring between the outer atoms. The molecule drifts and tumbles while the "
        "torsion swings; nothing outside acts, so total momentum and total angular momentum are conserved together with "
        "the energy."
    )
    return Problem("molecule", system, start, 0.01, None, about)


def _about_axis(k: int, angle: float) -> Vector:
    """The unit quaternion of a rotation about coordinate axis k."""
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
