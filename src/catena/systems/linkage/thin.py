"""Lines and points among linked bodies: spins that no momentum tells.

A line has no moment of inertia about itself, a point none at all; the other spins of a rod are two freedoms, as its one director on the unit
sphere has. Two kinds of spin have no moment:

guided  a joint turns with it (a hinge across the line, a point of a ball joint beside the mass): it has a rate, but no inertia, so the torque
        about it is zero. Its momentum is counted with the moment THIN, which keeps the rate among the stepped variables and adds nothing
idle    no joint and no force notices it: it has no rate. Whatever moment is taken there, nothing ever turns the body about that axis;
        a moment of the size of the others keeps the equations of a step regular
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...errors import CapabilityError
from ...geometry import rotations
from ..base import Array, State
from ..body import Body, point_with_axes
from ..numbers import Vector
from . import constraints
from .held import RANK
from .joints import AXIS, DOT, GROUND, PLANE, SCREW, Joint

if TYPE_CHECKING:
    from .linkage import Linkage

THIN = 2.0**-300  # moment of inertia that turns a spin into a momentum: its energy is none
ON_LINE = 1e-12  # part of its length by which a point may lie beside a line


def is_thin(body: Body) -> bool:
    """Whether it is a line or a point."""
    return body.kind in ("linear", "point")


def align(bodies: Sequence[Body], joints: Sequence[Joint]) -> tuple[Body, ...]:
    """The bodies; a point that is held along one line gets it for its third axis, about which it does not turn."""
    made = list(bodies)
    points: dict[int, list[Vector]] = defaultdict(list)
    for joint in joints:
        for number, point in zip((joint.parent, joint.child), joint.at, strict=True):
            points[number].append(point)
    for number, body in enumerate(bodies):
        if body.kind == "point":
            arms = np.array(points[number]).reshape(-1, 3)
            longest = max(arms, key=lambda arm: float(arm @ arm), default=np.zeros(3))
            beside = np.abs(np.cross(arms, longest)).max(initial=0.0)
            if np.count_nonzero(longest) > 1 and beside <= ON_LINE * float(longest @ longest):
                across = _across(longest)[0]
                along = longest / np.linalg.norm(longest)
                made[number] = point_with_axes(body, np.column_stack([across, np.cross(along, across), along]))
    return tuple(made)


@dataclass(frozen=True)
class ThinBodies:
    """The spins without moments of the bodies of a linkage, in principal axes.

    Attributes
    ----------
    none : (n, 3) whether there is no moment about an axis
    idle : (n, 3) those that nothing notices
    """

    none: NDArray[np.bool_]
    idle: NDArray[np.bool_]

    @property
    def guided(self) -> NDArray[np.bool_]:
        """(n, 3) those that joints turn."""
        return self.none & ~self.idle

    def moments(self, linkage: Linkage) -> Array:
        """(n, 3) those of the equations of a step in director form."""
        made = np.array([body.moments for body in linkage.bodies], dtype=float)
        thin = np.array([is_thin(body) for body in linkage.bodies])
        stand_in = np.where(thin, constraints.sizes_of_inertia(linkage), 0.0)[:, None]
        return np.where(self.guided, THIN, np.where(self.idle, stand_in, made))


def thin_bodies(linkage: Linkage) -> ThinBodies | None:
    """Which spins have no moment; None if all have."""
    none = np.array([body.moments == 0.0 for body in linkage.bodies])
    if not none.any():
        return None
    noticed: dict[int, list[Array]] = defaultdict(list)
    for joint in linkage.joints:
        for is_child, j in enumerate((joint.parent, joint.child)):
            if j != GROUND and none[j].any():
                noticed[j] += _find_noticed(joint, is_child)
    idle = none.copy()
    for j, rows in noticed.items():
        turns = np.array(rows).reshape(-1, 3) @ linkage.bodies[j].frame_matrix
        idle[j] &= np.abs(turns).max(axis=0, initial=0.0) <= ON_LINE
    return ThinBodies(none, idle)


def _find_noticed(joint: Joint, is_child: int) -> list[Array]:
    """Unit vectors, in the given axes of its parent (0) or child (1), that span all turns of it that a row may notice, wherever the joint stands."""
    found: list[Array] = []
    if any(kind != DOT for kind, *_ in joint.rows):
        found += _across(joint.at[is_child])
    for kind, first, second in joint.rows:
        if kind == DOT:
            found += _across_image(joint, second) if is_child else _across(joint.triad[first])
        elif kind == SCREW:
            found += list(np.eye(3))
        elif kind == PLANE and not is_child:  # points stay apart along the axis, or normal to it
            found += _across(joint.triad[AXIS])
    return found


def _across_image(joint: Joint, which: int) -> list[Array]:
    """Unit vectors normal to the image of a direction in the child; all where a start will tell what that is."""
    if joint.image is None:
        return list(np.eye(3))
    return _across(rotations.rotate(rotations.conjugate(np.array(joint.image)), joint.triad[which]))


def _across(vector: Vector | Array) -> list[Array]:
    """Two unit vectors normal to a vector; none if it is zero."""
    v = np.array(vector, dtype=float)
    length = float(np.linalg.norm(v))
    if length == 0.0:
        return []
    across = np.cross(v / length, np.eye(3)[int(np.argmin(np.abs(v)))])
    across /= np.linalg.norm(across)
    return [across, np.cross(v / length, across)]


def require_resisted(linkage: Linkage, state: State, applied: Array) -> None:
    """CapabilityError where `applied` forces (n, 2, 3) turn a line about itself, or a point, and no joint holds against it."""
    rows, lines = constraints.rows_in_units(linkage, state), constraints.thin_axes(linkage, state.orientation)
    torques = lines @ applied.ravel()
    if len(rows):
        spins = constraints.seen_spins(rows, lines)[2]
        torques = torques - spins.T @ (spins @ torques)
    arms = [np.abs(np.array(getattr(part, "at", 0.0))).max() for part in (*linkage.joints, *linkage.forces)]
    reach = max(*arms, *(math.sqrt(body.moments.max() / body.mass) for body in linkage.bodies))
    if np.abs(torques).max() > ON_LINE * (reach * np.abs(applied[:, 0]).max() + np.abs(applied[:, 1]).max()):
        number = int(np.flatnonzero(lines[np.argmax(np.abs(torques))])[0]) // 6
        raise CapabilityError(
            f"forces turn body {number} where it is a line or a point: nothing resists", where=f"Linkage.bodies[{number}]",
            do="let them act on its line, or give the body some thickness",
        )  # fmt: skip


def spins_of_joints(linkage: Linkage, thin: ThinBodies, state: State) -> Array:
    """(n, 3) rates of the spins that joints tell, in principal axes, 0 elsewhere; CapabilityError where they do not tell them here."""
    rows, lines = constraints.rows_in_units(linkage, state), constraints.thin_axes(linkage, state.orientation)
    bodies, axes = np.nonzero(thin.none)  # in the order of `thin_axes`
    asked = thin.guided[bodies, axes]
    _, sizes, spins = np.linalg.svd(rows @ lines[asked].T)
    quiet = np.ones(len(spins), dtype=bool)
    quiet[: len(sizes)] = sizes <= RANK * constraints.largest_of_turns(rows)
    if quiet.any():
        number = int(bodies[asked][np.argmax(np.abs(spins[quiet][0]))])
        raise nothing_resists(number, f"Linkage.bodies[{number}]")
    spinning = constraints.velocities(linkage, state).reshape(-1, 2, 3)[:, 1]
    own = [spin_of_body(linkage, state, j, spin) for j, spin in enumerate(spinning)]
    return np.where(thin.guided, own, 0.0)


def spin_of_body(linkage: Linkage, state: State, body: int, spin: Array) -> Array:
    """An angular velocity in space, in the principal axes of a body."""
    return constraints.principal(linkage, body, rotations.rotate(rotations.conjugate(state.orientation[body]), spin))


def nothing_resists(body: int, where: str) -> CapabilityError:
    """A joint turns a line about itself, or a point, and no inertia answers."""
    wrong = f"nothing resists the turn of body {body} about its joint: it is a line or a point there"
    return CapabilityError(wrong, where=where, do="turn the axis away from the line, or give the body some thickness")
