"""From links and joints of a robot description to the bodies, joints and forces of a linkage.

A body is a link with all links that fixed joints weld to it; its axes are those of that link, its origin is the common centre of
mass. The root link is the ground. The angles of all joints are zero where the file puts the links.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ....arrays import Array
from ....errors import InputError, unknown_word
from ....geometry import rotations
from ...body import Body
from ...numbers import finite_number
from ..joint_forces import Torsion
from ..joints import GROUND, Joint, Planar, Prismatic, Revolute
from .document import Document, Inertial, Link, UrdfJoint, read_document

Pose = tuple[Array, Array]  # position and rotation matrix


@dataclass(frozen=True, eq=False)
class Robot:
    """What a robot description becomes.

    Attributes
    ----------
    name : of the robot
    bodies, body_names : the moving bodies, each named after the link that moves
    joints, joint_names : between them, parents before children; a floating joint leaves none
    forces : the damping of the joints
    position, orientation : (n, 3), (n, 4) where the bodies start
    limits : revolute or prismatic joint -> (lower, upper) where the file has a <limit>; of both, one that is not given is 0.
        `Linkage.from_urdf` makes stops of them
    efforts, speeds, frictions : joint -> largest torque of its motor, largest speed, dry friction, where the file gives them
    """

    name: str
    bodies: tuple[Body, ...]
    body_names: tuple[str, ...]
    joints: tuple[Joint, ...]
    joint_names: tuple[str, ...]
    forces: tuple[Torsion, ...]
    position: Array
    orientation: Array
    limits: Mapping[str, tuple[float, float]]
    efforts: Mapping[str, float]
    speeds: Mapping[str, float]
    frictions: Mapping[str, float]


@dataclass
class _Group:
    """Links welded together, in the frame of the first of them; `pose` is that frame in space."""

    link: Link
    pose: Pose
    number: int
    parts: list[tuple[Inertial, Pose]]


Mover = tuple[UrdfJoint, _Group, _Group, Pose]  # a joint, what it joins, and where it stands in the first


def read_urdf(path: str | Path, *, angles: Mapping[str, float] | None = None) -> Robot:
    """Read a tree of bodies from a URDF file.

    Shapes, materials and transmissions are passed over; limits, efforts and dry friction are only kept. Nothing is loaded but the file itself.

    Parameters
    ----------
    path : the file
    angles : start of joints, by name: angle of a revolute, displacement of a prismatic joint; others start at zero

    Returns
    -------
    Robot

    Raises
    ------
    InputError : the file cannot be read, is malformed, or is no tree of bodies with mass; with the line
    """
    document = read_document(path)
    start, here = _check_angles(document, angles or {}), (np.zeros(3), np.eye(3))
    root, order = _outward(document)
    home: dict[str, tuple[_Group, Pose]] = {root: (_Group(document.links[root], here, GROUND, []), here)}
    groups: list[_Group] = []
    movers: list[Mover] = []
    for joint in order:
        parent, inside = home[joint.parent]
        group, frame = parent, _then(inside, (joint.origin, joint.turn))
        link = document.links[joint.child]
        if joint.kind != "fixed":
            moved = _then(_then(parent.pose, frame), _motion(joint, start.get(joint.name, 0.0)))
            group = _Group(link, moved, len(groups), [])
            groups.append(group)
            if joint.kind != "floating":
                movers.append((joint, parent, group, frame))
            frame = here
        home[joint.child] = group, frame
        if link.inertial is not None and link.inertial.mass > 0.0:
            group.parts.append((link.inertial, frame))
    if not groups:
        raise InputError("no link of this robot can move", where=document.path, do="give it a joint that is not fixed")
    bodies = [_body(group) for group in groups]
    centers = [center for _, center in bodies]
    every = document.joints.values()
    return Robot(
        document.name,
        tuple(body for body, _ in bodies),
        tuple(group.link.name for group in groups),
        tuple(_joint_of(mover, centers) for mover in movers),
        tuple(joint.name for joint, *_ in movers),
        tuple(Torsion(k, damping=joint.damping) for k, (joint, *_) in enumerate(movers) if joint.damping > 0.0),
        np.array([group.pose[0] + group.pose[1] @ center for group, center in zip(groups, centers, strict=True)]),
        rotations.from_matrix(np.array([group.pose[1] for group in groups])),
        {joint.name: joint.limit for joint in every if joint.limit is not None},
        {joint.name: joint.effort for joint in every if joint.effort > 0.0},
        {joint.name: joint.velocity for joint in every if joint.velocity > 0.0},
        {joint.name: joint.friction for joint in every if joint.friction > 0.0},
    )


def _outward(document: Document) -> tuple[str, list[UrdfJoint]]:
    """The root, and the joints, parents first; what is not a tree is refused."""
    by_parent: dict[str, list[UrdfJoint]] = {}
    owner: dict[str, str] = {}
    for joint in document.joints.values():
        for end in (joint.parent, joint.child):
            if end not in document.links:
                raise unknown_word(f"joint {joint.name!r} names the link {end!r}", end, document.links, joint.place)
        if joint.child in owner:
            wrong = f"link {joint.child!r} is the child of {owner[joint.child]!r} and of {joint.name!r}"
            raise InputError(wrong, where=joint.place, do="cut the loop: only trees can be imported")
        owner[joint.child] = joint.name
        by_parent.setdefault(joint.parent, []).append(joint)
    if not document.links:
        raise InputError("the file has no link", where=document.path, do="give a URDF file with links")
    roots = [name for name in document.links if name not in owner]
    if len(roots) != 1:
        wrong = ", ".join(map(repr, roots[:4])) or "none: the joints go round in a circle"
        do = "a tree has exactly one, its root"
        raise InputError(f"links that are nobody's child: {wrong}", where=document.path, do=do)
    order: list[UrdfJoint] = []
    waiting = list(roots)
    while waiting:
        here = by_parent.pop(waiting.pop(0), [])
        order += here
        waiting += [joint.child for joint in here]
    for joint in (joint for joints in by_parent.values() for joint in joints):
        wrong = f"joint {joint.name!r} is part of a circle that the root does not reach"
        raise InputError(wrong, where=joint.place, do="cut the circle: only trees can be imported")
    return roots[0], order


def _check_angles(document: Document, angles: Mapping[str, float]) -> dict[str, float]:
    movable = [j.name for j in document.joints.values() if j.kind in ("revolute", "continuous", "prismatic")]
    for name in angles:
        if name not in movable:
            raise unknown_word(f"there is no revolute or prismatic joint {name!r}", name, movable, "read_urdf.angles")
    return {name: finite_number(value, f"read_urdf.angles.{name}") for name, value in angles.items()}


def _then(first: Pose, second: Pose) -> Pose:
    """The pose `second` seen from where `first` is seen."""
    return first[0] + first[1] @ second[0], first[1] @ second[1]


def _motion(joint: UrdfJoint, value: float) -> Pose:
    if joint.kind == "prismatic":
        return value * joint.axis, np.eye(3)
    half = 0.5 * value
    return np.zeros(3), rotations.to_matrix(np.array([np.cos(half), *(np.sin(half) * joint.axis)]))


def _body(group: _Group) -> tuple[Body, Array]:
    """The body of a group and its centre of mass in the frame of the group."""
    if not group.parts:
        wrong, do = "moves, but has no mass", "give it an <inertial> with mass and inertia, or fix it to its parent"
        raise InputError(f"link {group.link.name!r} {wrong}", where=group.link.place, do=do)
    masses = np.array([part.mass for part, _ in group.parts])
    centers = np.array([position + turn @ part.center for part, (position, turn) in group.parts])
    center = masses @ centers / masses.sum()
    tensor = np.zeros((3, 3))
    for (part, (_, turn)), mass, x in zip(group.parts, masses, centers - center, strict=True):
        tensor += turn @ part.tensor @ turn.T + mass * (x @ x * np.eye(3) - np.outer(x, x))
    try:
        return Body.from_inertia(float(masses.sum()), 0.5 * (tensor + tensor.T)), center
    except InputError as trouble:
        wrong = f"link {group.link.name!r}: {trouble.wrong}"
        raise InputError(wrong, where=group.parts[0][0].place, do=trouble.do) from None


def _joint_of(mover: Mover, centers: list[Array]) -> Joint:
    """The joint between two groups."""
    joint, parent, child, (position, turn) = mover
    at = (position - (0.0 if parent.number == GROUND else centers[parent.number]), -centers[child.number])
    kind = {"prismatic": Prismatic, "planar": Planar}.get(joint.kind, Revolute)
    # as the directions lie at angle zero, whatever the start
    image = rotations.from_matrix(turn)
    return kind(parent.number, child.number, at, image, turn @ joint.axis, name=joint.name)
