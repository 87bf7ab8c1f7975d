"""What kind a linkage is, as its steps need to know: which forces act where along the tree, and which equations that makes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .joint_forces import BetweenPoints, Damper, OnAngle
from .joints import AXIS, DOT, GROUND, PLANE, SCREW, SECOND, Revolute, Rigid, Row, Spherical

if TYPE_CHECKING:
    from .linkage import Linkage


def has_angle(linkage: Linkage) -> bool:
    """Whether the angle of a joint matters."""
    return bool(torsions_of(linkage)) or any(joint.pitch != 0.0 for joint in linkage.joints)


def has_dampers(linkage: Linkage) -> bool:
    """Whether a force takes energy away."""
    return any(isinstance(f, Damper) or (isinstance(f, OnAngle) and f.dissipates) for f in linkage.forces)


def has_screws(linkage: Linkage) -> bool:
    """Whether a joint turns as it slides."""
    return any(joint.rows[-1][0] == SCREW for joint in linkage.joints)


def unknown_count(linkage: Linkage, *, both: bool) -> int:
    """Unknowns of a step."""
    return (6 * linkage.count + row_count(linkage)) * (2 if both else 1)


def rows_of(linkage: Linkage, k: int) -> tuple[Row, ...]:
    """Those of joint k, behind that of its drive: the advance of a screw stays the last."""
    joint = linkage.joints[k]
    if k not in linkage.signals.driven:
        return joint.rows
    return ((DOT, AXIS, SECOND) if joint.has_angle else (PLANE, AXIS, 0), *joint.rows)


def row_count(linkage: Linkage) -> int:
    """Rows of all joints, and of their drives."""
    return sum(len(joint.rows) for joint in linkage.joints) + len(linkage.signals.driven)


def is_dense(linkage: Linkage) -> bool:
    """Whether loops, or forces between bodies that no carrying joint connects, need one dense matrix."""
    return bool(linkage.tree.loops) or any(place_of(linkage, f) == ("nowhere", -1) for f in point_forces(linkage))


def is_recursive(linkage: Linkage) -> bool:
    """Whether the joints' increments can be the only unknowns: a tree of hinges, ball joints and rigid joints."""
    return (
        not linkage.tree.loops
        and not linkage.signals.driven
        and all(isinstance(joint, Revolute | Spherical | Rigid) for joint in linkage.joints)
        and all(place_of(linkage, force)[0] == "ground" for force in point_forces(linkage))
    )


def joint_freedoms(linkage: Linkage) -> NDArray[np.int64]:
    """Degrees of freedom of the joint that carries each body; 6 where none does."""
    driven = linkage.signals.driven
    return np.array([6 if k < 0 else linkage.joints[k].degrees - (k in driven) for k in linkage.tree.carriers])


def point_forces(linkage: Linkage) -> list[BetweenPoints]:
    """Those between two points, in their order."""
    return [force for force in linkage.forces if isinstance(force, BetweenPoints)]


def place_of(linkage: Linkage, force: BetweenPoints) -> tuple[str, int]:
    """Where along the tree a force belongs: to a body (and the ground), to a joint, or nowhere."""
    for a, b in ((force.i, force.j), (force.j, force.i)):
        if a == GROUND:
            return "ground", b
        if a == linkage.tree.parents[b] if b != GROUND else False:
            return "joint", linkage.tree.carriers[b]
    return "nowhere", -1


def torsions_of(linkage: Linkage) -> dict[int, list[OnAngle]]:
    """What acts on the angle of each joint, for those on which something does."""
    found: dict[int, list[OnAngle]] = {}
    for force in linkage.forces:
        if isinstance(force, OnAngle):
            found.setdefault(force.joint, []).append(force)
    return found
